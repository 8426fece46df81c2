(** Theorem (b): without scoped accesses, all complete executions do the same, every load has the same value in all of
    them, and they end in the same memory. *)

From Coq Require Import ZArith List Bool.
From TileVerify Require Import Machine Obligations HarmlessAtomics RaceFree Values Atomics.

(** No access of the generic block is scoped. *)
Definition nothing_is_scoped {L : launch} (written : array L -> Prop) : Prop :=
  forall b r i a, one_access written b r i a -> weak a.

Lemma no_atomics : forall (L : launch) (written : array L -> Prop), nothing_is_scoped written ->
  forall b r i a, one_access written b r i a -> kind_of a <> Rmw.
Proof.
  intros L written weak_all b r i a H Hrmw.
  apply (rmw_is_scoped L b r i a (proj2 (proj2 H)) Hrmw). now apply (weak_all _ _ _ _ H).
Qed.

Lemma harmless_without_scopes : forall (L : launch) (written : array L -> Prop),
  nothing_is_scoped written -> atomics_are_harmless written.
Proof.
  intros L written weak_all. pose proof (no_atomics _ _ weak_all) as none. constructor.
  - intros b r i a H Hscoped. exfalso. apply Hscoped. now apply (weak_all _ _ _ _ H).
  - intros b r i a H Hrmw. exfalso. exact (none _ _ _ _ H Hrmw).
  - intros b r i a b' r' i' a' H _ Hrmw. exfalso. exact (none _ _ _ _ H Hrmw).
  - intros b r i a b' r' i' a' H _ Hrmw. exfalso. exact (none _ _ _ _ H Hrmw).
Qed.

Theorem deterministic :
  forall (L : launch) (written : array L -> Prop),
  obligations_hold written -> nothing_is_scoped written ->
  forall E F : execution L, proper E -> proper F ->
    (forall e, performed E e <-> performed F e) /\
    (forall e, performed E e -> got E (fst e) (snd e) = got F (fst e) (snd e)) /\
    (forall x, exists v, finally E x v /\ finally F x v).
Proof.
  intros L written obligations weak_all E F HE HF.
  destruct (same_but_for_results_of_atomics L written obligations (harmless_without_scopes _ _ weak_all) E F HE HF)
    as (Hperformed & _ & Hgot & Hend).
  repeat split; try apply Hperformed; auto.
  intros e He.
  destruct (access_of E e) as [a|] eqn:Ha.
  - apply (Hgot e a); [now split|].
    apply (no_atomics L written weak_all (fst e) (got E (fst e)) (snd e)).
    apply (an_event_is_one_access written obligations E (proper_possible _ HE)). now split.
  - exfalso. exact (only_what_blocks_do E (proper_possible _ HE) e He Ha).
Qed.

(** What a byte holds in the end is one value. *)
Corollary one_end :
  forall (L : launch) (written : array L -> Prop),
  obligations_hold written -> nothing_is_scoped written ->
  forall E F : execution L, proper E -> proper F ->
  forall x v v', finally E x v -> finally F x v' -> v = v'.
Proof.
  intros L written obligations weak_all E F HE HF x v v'.
  apply (same_end written obligations (harmless_without_scopes _ _ weak_all)); auto.
Qed.
