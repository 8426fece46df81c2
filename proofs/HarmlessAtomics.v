(** What is asked of atomics besides the obligations, so that they do no harm to determinism
    (verifier/obligations/determinism.py): of one or two copies of the generic block, for arbitrary values, like those. *)

From Coq Require Import ZArith List Bool.
From TileVerify Require Import Machine Obligations.

Section Asked.
  Context {L : launch}.
  Variable written : array L -> Prop.

  (** All scoped accesses are atomic read-modify-writes. *)
  Definition only_atomics_are_scoped : Prop := forall b r i a,
    one_access written b r i a -> ~ weak a -> kind_of a = Rmw.

  (** Nothing uses what they give back. *)
  Definition results_of_atomics_unused : Prop := forall b r i a,
    one_access written b r i a -> kind_of a = Rmw ->
    forall j, depends j i = false /\ ~ steers j i.

  (** Two that meet commute. *)
  Definition atomics_commute : Prop := forall b r i a b' r' i' a',
    one_access written b r i a -> one_access written b' r' i' a' ->
    kind_of a = Rmw -> kind_of a' = Rmw -> share_a_byte a a' ->
    forall m x, perform a (perform a' m) x = perform a' (perform a m) x.

  (** What meets an atomic read-modify-write is an access to the same element: of other atomics by their width and
      alignment, of weak accesses (of the same block, by TV103) as far as arrays are accessed by elements. *)
  Definition whole_elements : Prop :=
    forall b r i a b' r' i' a',
      one_access written b r i a -> one_access written b' r' i' a' ->
      kind_of a = Rmw -> share_a_byte a a' -> bytes a' = bytes a.

  Record atomics_are_harmless : Prop := {
    scoped_are_atomic : only_atomics_are_scoped;
    unused : results_of_atomics_unused;
    commuting : atomics_commute;
    by_elements : whole_elements
  }.
End Asked.
