(** What the verifier asks (docs/soundness.md, sections 5 to 8): obligations over one generic block, and over two copies
    of it, for arbitrary values of what is read.  Each is written as its code's formula says: no solution. *)

From Coq Require Import ZArith List Bool.
From TileVerify Require Import Machine.

Section Obligations.
  Context {L : launch}.
  Variable written : array L -> Prop. (* the arrays that some block of the launch may write, as was found *)

  (** A byte of no array that the launch writes. *)
  Definition read_only (x : addr) : Prop := forall A, written A -> ~ region A x.

  (** Section 5: what may be read.  A weak load finds the launch's beginning where nobody writes; everything else that
      is read may be anything, and need not have come yet. *)
  Definition allowed (b : block) (r : results (id L)) : Prop :=
    forall i a l, does b r i = Some a -> r i = Some l -> kind_of a = Load -> scoped a = None ->
      Forall2 (fun x v => read_only x -> v = initial L x) (bytes a) l.

  (** One access of one generic block. *)
  Definition one_access (b : block) (r : results (id L)) (i : id L) a : Prop :=
    in_grid L b /\ allowed b r /\ does b r i = Some a.

  (** ** Single accesses *)

  Definition TV301 : Prop := forall b r i a, one_access b r i a -> demands a TV301_in_index_space.
  Definition TV302_inside : Prop := forall b r i a, one_access b r i a -> inside a.
  Definition TV302_aligned : Prop := forall b r i a, one_access b r i a -> aligned a.
  Definition TV303 : Prop := forall b r i a, one_access b r i a -> demands a TV303_promised_in_bounds.
  Definition TV401 : Prop := forall b r i a, one_access b r i a -> demands a TV401_assumed.
  Definition TV402 : Prop := forall b r i a, one_access b r i a -> demands a TV402_arithmetic.

  (** The points-to pass over-approximates (written.py). *)
  Definition only_written : Prop := forall b r i a,
    one_access b r i a -> writes a = true -> written (origin a).

  (** ** Between blocks: two copies that share the launch alone *)

  Definition one_writes (a a' : access (array L)) : Prop := writes a = true \/ writes a' = true.
  Definition both_write (a a' : access (array L)) : Prop := writes a = true /\ writes a' = true.

  Definition two_blocks b r i a b' r' i' a' : Prop :=
    one_access b r i a /\ one_access b' r' i' a' /\ b <> b' /\ share_a_byte a a'.

  (** What a question may assume besides: what holds if the two accesses race ("protocols"). *)
  Variable learnt : block -> results (id L) -> id L -> block -> results (id L) -> id L -> Prop.

  (** Two weak writes. *)
  Definition TV101 : Prop := forall b r i a b' r' i' a',
    two_blocks b r i a b' r' i' a' -> learnt b r i b' r' i' -> weak a -> weak a' -> both_write a a' -> False.

  (** A weak read and a weak write. *)
  Definition TV102 : Prop := forall b r i a b' r' i' a',
    two_blocks b r i a b' r' i' a' -> learnt b r i b' r' i' ->
    weak a -> weak a' -> one_writes a a' -> ~ both_write a a' -> False.

  (** A scoped access, and one whose scope, or width, or lack of a scope does not exclude it. *)
  Definition TV103 : Prop := forall b r i a b' r' i' a',
    two_blocks b r i a b' r' i' a' -> learnt b r i b' r' i' ->
    ~ (weak a /\ weak a') -> one_writes a a' -> morally_strong b a b' a'.

  (** ** Inside a block: two accesses that share the block and what it has read *)

  Definition two_accesses b r i a i' a' : Prop :=
    one_access b r i a /\ one_access b r i' a' /\ i <> i' /\ share_a_byte a a'.

  (** Accesses of different op executions, unless both are scoped and of one width. *)
  Definition TV201 : Prop := forall b r i a i' a',
    two_accesses b r i a i' a' -> same_op i i' = false -> one_writes a a' ->
    ~ (scoped a <> None /\ scoped a' <> None /\ width a = width a') ->
    waits b r i i' \/ waits b r i' i.

  (** Lanes of one weak store. *)
  Definition TV202 : Prop := forall b r i a i' a',
    two_accesses b r i a i' a' -> same_op i i' = true -> kind_of a = Store -> weak a -> False.

  (** What an op is, is the same for its lanes: kind, scope, width. *)
  Definition lanes_alike : Prop := forall b r i a i' a',
    one_access b r i a -> one_access b r i' a' -> same_op i i' = true ->
    kind_of a = kind_of a' /\ scoped a = scoped a' /\ width a = width a'.

  Record obligations_hold_with : Prop := {
    tv101 : TV101; tv102 : TV102; tv103 : TV103; tv201 : TV201; tv202 : TV202;
    tv301 : TV301; tv302_inside : TV302_inside; tv302_aligned : TV302_aligned; tv303 : TV303;
    tv401 : TV401; tv402 : TV402;
    written_over_approximated : only_written;
    ops_of_one_kind : lanes_alike
  }.
End Obligations.

(** Without protocols nothing is assumed. *)
Definition obligations_hold {L : launch} (written : array L -> Prop) : Prop :=
  obligations_hold_with written (fun _ _ _ _ _ _ => True).
