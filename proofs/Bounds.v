(** Theorem (d): what holds of one generic block under arbitrary read values holds in every execution: bounds,
    alignment, promises, defined arithmetic. *)

From Coq Require Import ZArith List Bool Wellfounded Lia.
From TileVerify Require Import Machine Obligations RaceFree.
Import ListNotations.

(** Whatever is shown of every access of the generic block. *)
Theorem holds_in_every_execution :
  forall (L : launch) (written : array L -> Prop) (holds : block -> results (id L) -> id L -> access (array L) -> Prop),
  obligations_hold written ->
  (forall b r i a, one_access written b r i a -> holds b r i a) ->
  forall E : execution L, possible E ->
  forall e a, is_access E e a -> holds (fst e) (got E (fst e)) (snd e) a.
Proof.
  intros L written holds obligations shown E is_possible e a Ha.
  apply shown. eapply an_event_is_one_access; eauto.
Qed.

(** No access leaves its array or is misaligned, no demand of the semantics is broken. *)
Theorem fault_free :
  forall (L : launch) (written : array L -> Prop), obligations_hold written ->
  forall E : execution L, possible E -> forall e, ~ fault E e.
Proof.
  intros L written obligations E is_possible e (a & Ha & Hbad). apply Hbad.
  pose proof (an_event_is_one_access written obligations E is_possible _ _ Ha) as H.
  repeat split.
  - exact (tv302_inside _ _ obligations _ _ _ _ H).
  - exact (tv302_aligned _ _ obligations _ _ _ _ H).
  - intros []; [eapply (tv301 _ _ obligations)|eapply (tv303 _ _ obligations)|eapply (tv401 _ _ obligations)
      |eapply (tv402 _ _ obligations)]; eauto.
Qed.

(** Section 3: the promises of the generic block are decided in program order, each under those before it.  By
    induction each holds without them, so that using them as facts loses no solution of any question. *)
Theorem promises_in_program_order :
  forall (L : launch) (promise : block -> results (id L) -> id L -> Prop) (may_read : block -> results (id L) -> Prop),
  (forall b r i, may_read b r -> (forall j, earlier j i -> promise b r j) -> promise b r i) ->
  forall b r, may_read b r -> forall i, promise b r i.
Proof.
  intros L promise may_read step b r Hr i.
  induction (earlier_well_founded L i) as [i _ IH]. now apply step.
Qed.

(** Aligned elements of one width are the same one or do not meet: why one width is enough for [morally_strong], where
    PTX asks for operations that overlap completely. *)
Theorem one_width_is_one_element : forall (L : launch) (a a' : access (array L)),
  aligned a -> aligned a' -> width a = width a' -> share_a_byte a a' -> bytes a = bytes a'.
Proof.
  intros L a a' [n Hn] [n' Hn'] Hwidth (x & Hx & Hx').
  rewrite Hn in Hx. rewrite Hn' in Hx'. rewrite Hn, Hn', <- Hwidth in *.
  unfold element in Hx, Hx'. apply in_map_iff in Hx, Hx'.
  destruct Hx as (k & <- & Hk), Hx' as (k' & Heq & Hk').
  apply in_seq in Hk, Hk'. f_equal. f_equal.
  assert (n = n'); [|congruence].
  destruct (Z.lt_trichotomy n n') as [H|[H|H]]; [nia|assumption|nia].
Qed.
