(** Two copies of a generic block stand for all blocks (docs/soundness.md, section 7): answers to the questions of a
    summary are the obligations of every launch that it covers. *)

From Coq Require Import ZArith List Bool.
From TileVerify Require Import Machine Obligations RaceFree Bounds Summary.

Section Reduction.
  Variable S : summary.
  Hypothesis answered : questions_answered S.
  Variable L : launch.
  Variable v : of_launch S.
  Variable written : array L -> Prop.
  Hypothesis covered : covers S L v written.

  Lemma writes_as_its_site : forall (a : access (array L)) s,
    kind_of a = site_kind s -> writes a = site_writes S s.
  Proof. intros a s H. unfold writes, site_writes. now rewrite H. Qed.

  (** Two accesses of different blocks are two copies. *)
  Lemma two_copies : forall b r i a b' r' i' a', two_blocks written b r i a b' r' i' a' ->
    exists s o k l s' o' k' l', block_copies S s v o k l s' o' k' l' /\
      kind_of a = site_kind s /\ scoped a = site_scope s /\ width a = site_width s /\
      kind_of a' = site_kind s' /\ scoped a' = site_scope s' /\ width a' = site_width s'.
  Proof.
    intros b r i a b' r' i' a' ((Hg & Hr & Hd) & (Hg' & Hr' & Hd') & Hneq & x & Hx & Hx').
    destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
    destruct (assignment _ _ _ _ covered b' r' Hg' Hr') as (o' & Ho' & Hall' & _).
    destruct (Hall i a Hd) as (G & B & K & C & W & _). destruct (Hall' i' a' Hd') as (G' & B' & K' & C' & W' & _).
    exists (site_of _ _ _ _ covered i), o, (iteration_of _ _ _ _ covered i), (lane_of _ _ _ _ covered i).
    exists (site_of _ _ _ _ covered i'), o', (iteration_of _ _ _ _ covered i'), (lane_of _ _ _ _ covered i').
    split; [|tauto]. split; [apply covered|]. split; [exact G|]. split; [exact G'|]. split; [congruence|].
    exists x. rewrite B in Hx. rewrite B' in Hx'. auto.
  Qed.

  Theorem obligations_of_the_launch : obligations_hold written.
  Proof.
    constructor.
    - intros b r i a b' r' i' a' H _ Hw Hw' [Hwr Hwr'].
      destruct (two_copies _ _ _ _ _ _ _ _ H) as (s & o & k & l & s' & o' & k' & l' & C & K & Sc & _ & K' & Sc' & _).
      apply (answered_TV101 S answered s v o k l s' o' k' l'); auto; unfold is_weak, weak in *; try congruence.
      + now rewrite <- (writes_as_its_site a).
      + now rewrite <- (writes_as_its_site a').
    - intros b r i a b' r' i' a' H _ Hw Hw' Hone Hnot.
      destruct (two_copies _ _ _ _ _ _ _ _ H) as (s & o & k & l & s' & o' & k' & l' & C & K & Sc & _ & K' & Sc' & _).
      apply (answered_TV102 S answered s v o k l s' o' k' l'); auto; unfold is_weak, weak in *; try congruence.
      rewrite <- (writes_as_its_site a s K), <- (writes_as_its_site a' s' K').
      unfold one_writes, both_write in *. destruct (writes a), (writes a'); try congruence; [tauto|].
      destruct Hone; discriminate.
    - intros b r i a b' r' i' a' H _ Hnot Hone. pose proof H as (_ & _ & Hneq & _).
      destruct (two_copies _ _ _ _ _ _ _ _ H) as (s & o & k & l & s' & o' & k' & l' & C & K & Sc & W & K' & Sc' & W').
      assert (Hcover : covering_scope S s /\ covering_scope S s' /\ site_width s = site_width s' \/
                       ~ (covering_scope S s /\ covering_scope S s' /\ site_width s = site_width s')).
      { unfold covering_scope. destruct (site_scope s) as [[]|], (site_scope s') as [[]|],
          (PeanoNat.Nat.eq_dec (site_width s) (site_width s')); tauto. }
      destruct Hcover as [(V & V' & Hwidth)|Hcover].
      + unfold morally_strong, scope_includes, covering_scope in *. rewrite Sc, Sc'. repeat split; try congruence.
        * destruct (site_scope s) as [[]|]; tauto.
        * destruct (site_scope s') as [[]|]; tauto.
      + exfalso. apply (answered_TV103 S answered s v o k l s' o' k' l'); auto.
        * unfold is_weak, weak in *. intros [? ?]. apply Hnot. split; congruence.
        * rewrite <- (writes_as_its_site a s K), <- (writes_as_its_site a' s' K'). exact Hone.
    - intros b r i a i' a' ((Hg & Hr & Hd) & (_ & _ & Hd') & Hneq & x & Hx & Hx') Hop Hone Hms.
      destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & Hwait).
      destruct (Hall i a Hd) as (G & B & K & C & W & _). destruct (Hall i' a' Hd') as (G' & B' & K' & C' & W' & _).
      assert (Haw : awaits (site_of _ _ _ _ covered i) (site_of _ _ _ _ covered i') v o
                      (iteration_of _ _ _ _ covered i) (iteration_of _ _ _ _ covered i') \/
                    awaits (site_of _ _ _ _ covered i') (site_of _ _ _ _ covered i) v o
                      (iteration_of _ _ _ _ covered i') (iteration_of _ _ _ _ covered i)).
      { eapply (answered_TV201 S answered); [| |apply covered|exact G|exact G'| |].
        - rewrite <- (writes_as_its_site a _ K), <- (writes_as_its_site a' _ K'). exact Hone.
        - intros (? & ? & ?). apply Hms. repeat split; congruence.
        - intros Heq. injection Heq as Hs Hk.
          assert (same_op i i' = true) by (apply (one_op _ _ _ _ covered); auto). congruence.
        - exists x. rewrite <- B, <- B'. auto. }
      destruct Haw as [Haw|Haw]; [left|right]; apply Hwait; auto; congruence.
    - intros b r i a i' a' ((Hg & Hr & Hd) & (_ & _ & Hd') & Hneq & x & Hx & Hx') Hop Hstore Hweak.
      destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & Hwait).
      destruct (Hall i a Hd) as (G & B & K & C & W & _). destruct (Hall i' a' Hd') as (G' & B' & _).
      apply (one_op _ _ _ _ covered) in Hop. destruct Hop as [Hs Hk].
      rewrite <- Hs, <- Hk in G', B'.
      eapply (answered_TV202 S answered); [ | |apply covered|exact G|exact G'| |].
      + congruence.
      + unfold is_weak, weak in *. congruence.
      + intros Hl. apply Hneq. eapply (ids_are_told_apart _ _ _ _ covered); eauto.
      + exists x. rewrite <- B, <- B'. auto.
    - intros b r i a (Hg & Hr & Hd). destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply D. apply answered; auto. apply covered.
    - intros b r i a (Hg & Hr & Hd) x Hx. destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply (regions _ _ _ _ covered). rewrite N.
      apply (answered_TV302 S answered _ v o _ _ (launch_in_contract _ _ _ _ covered) G). now rewrite <- B.
    - intros b r i a (Hg & Hr & Hd). destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). unfold aligned. rewrite B, W.
      apply (answered_TV302 S answered _ v o _ _ (launch_in_contract _ _ _ _ covered) G).
    - intros b r i a (Hg & Hr & Hd). destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply D. apply answered; auto. apply covered.
    - intros b r i a (Hg & Hr & Hd). destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply D. apply answered; auto. apply covered.
    - intros b r i a (Hg & Hr & Hd). destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply D. apply answered; auto. apply covered.
    - intros b r i a (Hg & Hr & Hd) Hw. destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & N & D). apply (written_arrays _ _ _ _ covered). rewrite N.
      apply (answered_written S answered). now rewrite <- (writes_as_its_site a).
    - intros b r i a i' a' (Hg & Hr & Hd) (_ & _ & Hd') Hop.
      destruct (assignment _ _ _ _ covered b r Hg Hr) as (o & Ho & Hall & _).
      destruct (Hall i a Hd) as (G & B & K & C & W & _). destruct (Hall i' a' Hd') as (G' & B' & K' & C' & W' & _).
      apply (one_op _ _ _ _ covered) in Hop. destruct Hop as [Hs Hk]. rewrite <- Hs in *. repeat split; congruence.
  Qed.
End Reduction.

(** What `proved` says: no launch that the summary covers is faulty. *)
Theorem proved : forall S, questions_answered S ->
  forall (L : launch) (v : of_launch S) (written : array L -> Prop), covers S L v written ->
  forall E : execution L, possible E -> (forall e e', ~ race E e e') /\ (forall e, ~ fault E e).
Proof.
  intros S answered L v written covered E is_possible.
  pose proof (obligations_of_the_launch S answered L v written covered) as obligations.
  split; [eapply race_free|eapply fault_free]; eauto.
Qed.
