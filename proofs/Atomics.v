(** Theorem (c): with atomics that commute, and whose results nothing uses, all complete executions do the same, read
    the same and end in the same memory, but for what the atomics themselves give back. *)

From Coq Require Import ZArith List Bool Permutation Wellfounded.
From TileVerify Require Import Machine Obligations HarmlessAtomics RaceFree Orders Values.
Import ListNotations.

(** ** Two executions agree *)

Definition not_atomic {L : launch} (o : option (access (array L))) : Prop :=
  forall a, o = Some a -> kind_of a <> Rmw.

(** An op execution does the same in both, and has given back the same, if it is no atomic. *)
Definition agree {L : launch} (E F : execution L) (b : block) (i : id L) : Prop :=
  does b (got E b) i = does b (got F b) i /\
  (not_atomic (does b (got E b) i) -> got E b i = got F b i).

Record proper {L : launch} (E : execution L) : Prop := {
  proper_possible : possible E;
  proper_coherent : coherent E;
  proper_complete : complete E
}.

Section TwoExecutions.
  Context {L : launch}.
  Variable written : array L -> Prop.
  Hypothesis obligations : obligations_hold written.
  Hypothesis harmless : atomics_are_harmless written.

  (** ** What the obligations give of one execution, for Values.v *)

  Lemma excused_everywhere : forall (E : execution L), possible E ->
    forall e a e' a' x, everywhere x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof.
    intros E PE e a e' a' x _ Ha Ha' Hneq Hx Hx' Hw.
    apply (meetings_are_excused written obligations E PE e a e' a').
    split; [exact Hneq|]. split; [exact Ha|]. split; [exact Ha'|]. split; [exists x; auto|]. now right.
  Qed.

  Lemma writes_excused_everywhere : forall (E : execution L), possible E ->
    forall e a e' a' x, everywhere x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> writes a = true -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof. intros E PE e a e' a' x Hplace Ha Ha' Hneq Hx Hx' _. now apply (excused_everywhere E PE e a e' a' x). Qed.

  Lemma loads_excused_everywhere : forall (E : execution L), possible E ->
    forall e a e' a' x, everywhere x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> kind_of a = Load -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof. intros E PE e a e' a' x Hplace Ha Ha' Hneq Hx Hx' _. now apply (excused_everywhere E PE e a e' a' x). Qed.

  Lemma elements_everywhere : forall (E : execution L), possible E ->
    forall e a e' a' x, everywhere x -> is_access E e a -> is_access E e' a' ->
    kind_of a = Rmw -> writes a' = true -> In x (bytes a) -> In x (bytes a') -> bytes a' = bytes a.
  Proof.
    intros E PE e a e' a' x _ Ha Ha' Hrmw _ Hx Hx'.
    pose proof (an_event_is_one_access written obligations E PE _ _ Ha) as H.
    pose proof (an_event_is_one_access written obligations E PE _ _ Ha') as H'.
    apply (by_elements _ harmless _ _ _ _ _ _ _ _ H H' Hrmw). exists x. auto.
  Qed.

  Lemma all_lie_there : forall (E : execution L) e a x y, is_access E e a -> kind_of a = Rmw -> everywhere x ->
    In x (bytes a) -> In y (bytes a) -> everywhere y.
  Proof. intros. exact I. Qed.

  Lemma agree_symmetric : forall (E F : execution L) b i, agree E F b i -> agree F E b i.
  Proof. intros E F b i [H H']. split; auto. intros Hn. symmetry. apply H'. now rewrite H. Qed.

  Lemma performed_in_both : forall (E F : execution L) b i, possible E -> complete F ->
    agree E F b i -> performed E (b, i) -> performed F (b, i).
  Proof.
    intros E F b i HE HF [H _] He. apply HF.
    - exact (only_blocks_of_the_grid E HE _ He).
    - rewrite <- H. exact (only_what_blocks_do E HE _ He).
  Qed.

  Lemma atomics_influence_nothing : forall (E : execution L) b i j, possible E -> in_grid L b ->
    depends i j = true \/ steers i j -> not_atomic (does b (got E b) j).
  Proof.
    intros E b i j HE Hb Hdep a Ha Hrmw.
    assert (H : one_access written b (got E b) j a).
    { repeat split; auto. now apply reads_are_allowed. }
    destruct (unused _ harmless _ _ _ _ H Hrmw i) as [H1 H2].
    destruct Hdep; [congruence|contradiction].
  Qed.

  Lemma token_in_both : forall (E F : execution L) b i j, possible E -> complete F -> in_grid L b ->
    agree E F b i -> agree E F b j -> (forall k, earlier k i -> agree E F b k) ->
    token_before E (b, j) (b, i) -> token_before F (b, j) (b, i).
  Proof.
    intros E F b i j HE HF Hb Hi Hj Hearlier (Hpj & Hpi & _ & Hw). simpl in *.
    repeat split; eauto using performed_in_both. simpl.
    eapply waits_by_steering; [|exact Hw]. intros k Hk.
    apply (Hearlier k); [now apply steers_earlier|]. eapply atomics_influence_nothing; eauto.
  Qed.

  Lemma access_in_both : forall (E F : execution L) b i,
    agree E F b i -> access_of E (b, i) = access_of F (b, i).
  Proof. intros E F b i [H _]. exact H. Qed.

  Lemma writes_at_in_both : forall (E F : execution L) b i x, agree E F b i ->
    writes_at E x (b, i) = writes_at F x (b, i).
  Proof. intros. unfold writes_at. now rewrite (access_in_both E F). Qed.

  (** Writes to one byte in two orders: what changes places commutes. *)
  Lemma changed_places_commute : forall (E F : execution L) u v x,
    proper E -> proper F ->
    (forall k, agree E F (fst u) k) \/
      (fst u = fst v /\ agree E F (fst u) (snd u) /\ agree E F (fst u) (snd v) /\
       (forall k, earlier k (snd u) \/ earlier k (snd v) -> agree E F (fst u) k)) ->
    writes_to E u x -> writes_to E v x -> writes_to F u x -> writes_to F v x -> u <> v ->
    in_order E u v -> in_order F v u -> commute (run E) u v.
  Proof.
    intros E F u v x HE HF Hagree Hu Hv HFu HFv Hneq Horder Hreverse.
    pose proof (proper_possible _ HE) as PE. pose proof (proper_coherent _ HE) as CE.
    pose proof (proper_possible _ HF) as PF. pose proof (proper_coherent _ HF) as CF.
    destruct Hu as (a & Ha & Hw & Hx).
    destruct (writes_of_one_byte_meet E everywhere (writes_excused_everywhere E PE) u a v x I Ha Hw Hx Hv Hneq)
      as (a' & Ha' & Hx' & Hw' & Hcase).
    pose proof (an_event_is_one_access written obligations E PE _ _ Ha) as H.
    pose proof (an_event_is_one_access written obligations E PE _ _ Ha') as H'.
    assert (Htoken : ~ token_before E u v /\ ~ token_before E v u).
    { assert (Hblock : token_before E u v \/ token_before E v u -> fst u = fst v).
      { intros [T|T]; destruct T as (_ & _ & T & _); congruence. }
      assert (Hall : fst u = fst v -> agree E F (fst u) (snd u) /\ agree E F (fst u) (snd v) /\
          (forall k, earlier k (snd u) \/ earlier k (snd v) -> agree E F (fst u) k)).
      { intros Hb. destruct Hagree as [A|(_ & A)]; auto. }
      destruct u as [b i], v as [b' j]. simpl in *. split; intros T.
      - assert (b = b') by auto. subst b'. destruct (Hall eq_refl) as (A1 & A2 & A3).
        assert (T' : token_before F (b, i) (b, j)).
        { eapply (token_in_both E F); eauto using proper_complete. apply (only_blocks_of_the_grid E PE (b, i)), Ha. }
        apply (not_in_order F everywhere CF _ _ Hreverse). apply (ordered_by_token F everywhere CF _ _ x I HFu HFv T').
      - assert (b = b') by auto. subst b'.
        apply (not_in_order E everywhere CE _ _ Horder). apply (ordered_by_token E everywhere CE _ _ x I); auto.
        exists a. auto. }
    destruct Hcase as [Hms|Hcase]; [|tauto].
    assert (Hrmw : kind_of a = Rmw /\ kind_of a' = Rmw).
    { destruct Hms as (S & S' & _). unfold scope_includes in S, S'. split.
      - apply (scoped_are_atomic _ harmless _ _ _ _ H). unfold weak. intros E0. now rewrite E0 in S.
      - apply (scoped_are_atomic _ harmless _ _ _ _ H'). unfold weak. intros E0. now rewrite E0 in S'. }
    intros m y. unfold run. rewrite (proj2 Ha), (proj2 Ha').
    apply (commuting _ harmless _ _ _ _ _ _ _ _ H H'); try apply Hrmw. exists x. auto.
  Qed.

  Lemma run_in_both : forall (E F : execution L) l,
    (forall u, In u l -> agree E F (fst u) (snd u)) ->
    forall m x, runs (run E) l m x = runs (run F) l m x.
  Proof.
    intros E F l H. apply runs_alike.
    - apply run_pointwise.
    - intros u m x Hu. unfold run. destruct u as [b i].
      rewrite (access_in_both E F); [reflexivity|]. exact (H _ Hu).
  Qed.

  Lemma weak_load_in_both : forall (E F : execution L) b i a x v v',
    proper E -> proper F -> in_grid L b ->
    (forall k, earlier k i -> agree E F b k) ->
    is_access E (b, i) a -> is_access F (b, i) a -> kind_of a = Load -> weak a -> In x (bytes a) ->
    finds E (b, i) x v -> finds F (b, i) x v' -> v = v'.
  Proof.
    intros E F b i a x v v' HE HF Hb Hearlier Ha Ha' Hload Hweak Hx Hv Hv'.
    pose proof (proper_possible _ HE) as PE. pose proof (proper_coherent _ HE) as CE.
    pose proof (proper_possible _ HF) as PF. pose proof (proper_coherent _ HF) as CF.
    destruct (weak_load_finds E PE everywhere CE (writes_excused_everywhere E PE)
      (loads_excused_everywhere E PE) (elements_everywhere E PE) (all_lie_there E)
      _ _ _ _ I Ha Hload Hweak Hx Hv)
      as (l & (Hnodup & Horder & Hin) & ->).
    destruct (weak_load_finds F PF everywhere CF (writes_excused_everywhere F PF)
      (loads_excused_everywhere F PF) (elements_everywhere F PF) (all_lie_there F)
      _ _ _ _ I Ha' Hload Hweak Hx Hv')
      as (l' & (Hnodup' & Horder' & Hin') & ->).
    assert (Hback : forall k, earlier k i -> agree F E b k) by (intros; now apply agree_symmetric, Hearlier).
    assert (Htok : forall (P Q : execution L) j, proper P -> proper Q -> (forall k, earlier k i -> agree P Q b k) ->
              performed Q (b, i) -> writes_to P (b, j) x -> token_before P (b, j) (b, i) ->
              writes_to Q (b, j) x /\ token_before Q (b, j) (b, i)).
    { intros P Q j HP HQ Hag Hperf Hwj (T1 & T2 & T3 & T4). simpl in *.
      assert (Hj : earlier j i) by (eapply waits_earlier; eauto).
      assert (Hperfj : performed Q (b, j)).
      { eapply (performed_in_both P Q); eauto using proper_possible, proper_complete. }
      split.
      - apply writes_to_at. split; auto. rewrite <- (writes_at_in_both P Q); auto. now apply writes_to_at in Hwj.
      - repeat split; auto. simpl. eapply waits_by_steering; [|exact T4]. intros k Hk.
        apply (Hag k); [now apply steers_earlier|].
        eapply atomics_influence_nothing; eauto using proper_possible. }
    assert (Hsame : forall w, In w l <-> In w l').
    { intros [b' j]. rewrite Hin, Hin'. split; intros [W T]; assert (b' = b) by (now destruct T as (_ & _ & T & _)).
      - subst b'. apply (Htok E F); auto. apply Ha'.
      - subst b'. apply (Htok F E); auto. apply Ha. }
    assert (Hbefore : forall u, In u l -> fst u = b /\ earlier (snd u) i).
    { intros [b' j] Hu. apply Hin in Hu. destruct Hu as [_ (_ & _ & T & W)]. simpl in *. subst b'. split; auto.
      eapply waits_earlier; eauto. }
    transitivity (runs (run E) l' (initial L) x).
    - apply reordered.
      + apply run_pointwise.
      + apply NoDup_Permutation; auto.
      + intros u w Huw Hwu.
        assert (Hu : In u l) by (now apply precedes_in in Huw).
        assert (Hw : In w l) by (now apply precedes_in in Huw).
        assert (Hneq : u <> w).
        { intros ->. apply (precedes_antisymmetric l w w Hnodup); auto. }
        destruct (Hbefore u Hu) as [Hbu Hiu], (Hbefore w Hw) as [Hbw Hiw].
        apply (changed_places_commute E F u w x); auto.
        * right. rewrite Hbu, Hbw. split; [reflexivity|]. split; [now apply Hearlier|]. split; [now apply Hearlier|].
          intros k [Hk|Hk]; apply Hearlier; eapply earlier_transitive; eauto.
        * now apply Hin.
        * now apply Hin.
        * now apply Hin', Hsame.
        * now apply Hin', Hsame.
    - apply run_in_both. intros u Hu. apply Hsame in Hu. destruct (Hbefore u Hu) as [Hbu Hiu].
      rewrite Hbu. now apply Hearlier.
  Qed.

  Theorem executions_agree : forall (E F : execution L), proper E -> proper F ->
    forall b, in_grid L b -> forall i, agree E F b i.
  Proof.
    intros E F HE HF b Hb i. induction (earlier_well_founded L i) as [i _ Hearlier].
    pose proof (proper_possible _ HE) as PE. pose proof (proper_possible _ HF) as PF.
    assert (Hdoes : does b (got E b) i = does b (got F b) i).
    { apply does_by_dependencies. intros j Hj. apply (Hearlier j); [now apply depends_earlier|].
      eapply atomics_influence_nothing; eauto. }
    split; auto. intros Hatomic.
    destruct (does b (got E b) i) as [a|] eqn:Ha.
    - assert (He : is_access E (b, i) a).
      { split; auto. apply (proper_complete _ HE); auto. congruence. }
      assert (Hf : is_access F (b, i) a).
      { split; [|now symmetry]. apply (proper_complete _ HF); auto. congruence. }
      destruct (values_have_sources E PE _ _ He) as (l & Hl & Hvalues).
      destruct (values_have_sources F PF _ _ Hf) as (l' & Hl' & Hvalues'). simpl in *.
      rewrite Hl, Hl'. f_equal.
      destruct (reads a) eqn:Hreads; [|congruence].
      assert (Hload : kind_of a = Load).
      { specialize (Hatomic a eq_refl). unfold reads in Hreads. destruct (kind_of a); congruence. }
      assert (Hweak : weak a).
      { unfold weak. destruct (scoped a) eqn:Hs; auto. exfalso. apply (Hatomic a eq_refl).
        apply (scoped_are_atomic _ harmless b (got E b) i); [|unfold weak; congruence].
        apply (an_event_is_one_access written obligations E PE (b, i)); auto. }
      assert (Hsame : forall x v v', In x (bytes a) ->
                finds E (b, i) x v -> finds F (b, i) x v' -> v = v').
      { intros x v v' Hx. apply (weak_load_in_both E F b i a); auto. }
      clear - Hvalues Hvalues' Hsame. revert l' Hvalues'.
      induction Hvalues as [|x v xs vs Hv _ IH]; intros l' Hl'; inversion Hl' as [|? v' ? vs' Hv' Hrest]; subst; auto.
      f_equal; [eapply Hsame; simpl; eauto|]. apply IH; auto. intros; eapply Hsame; simpl; eauto.
    - assert (Hnone : forall P : execution L, possible P -> does b (got P b) i = None -> got P b i = None).
      { intros P HP Hp. destruct (got P b i) eqn:Hg; auto. exfalso.
        apply (only_what_blocks_do P HP (b, i)); auto. eapply nothing_from_nowhere; eauto. }
      rewrite (Hnone E), (Hnone F); auto.
  Qed.

  Theorem same_end : forall (E F : execution L), proper E -> proper F ->
    forall x v v', finally E x v -> finally F x v' -> v = v'.
  Proof.
    intros E F HE HF x v v' Hv Hv'.
    pose proof (proper_possible _ HE) as PE. pose proof (proper_coherent _ HE) as CE.
    pose proof (proper_possible _ HF) as PF. pose proof (proper_coherent _ HF) as CF.
    rewrite (remains E PE everywhere CE (writes_excused_everywhere E PE) (elements_everywhere E PE)
      (all_lie_there E) x v I Hv).
    rewrite (remains F PF everywhere CF (writes_excused_everywhere F PF) (elements_everywhere F PF)
      (all_lie_there F) x v' I Hv').
    unfold after. set (l := filter (writes_at E x) (modifications E)).
    set (l' := filter (writes_at F x) (modifications F)).
    assert (Hin : forall (P : execution L), coherent P -> forall w,
              In w (filter (writes_at P x) (modifications P)) <-> writes_to P w x).
    { intros P CP w. rewrite filter_In, writes_to_at. split.
      - intros [Hm Hw]. split; auto. apply (all_writes P everywhere CP) in Hm.
        destruct Hm as (z & _ & a & [Hp _] & _). exact Hp.
      - intros Hw. split; [|apply Hw]. apply (all_writes P everywhere CP). exists x. split; [exact I|].
        now apply writes_to_at. }
    assert (Hsame : forall w, In w l <-> In w l').
    { assert (Hone : forall (P Q : execution L) w, proper P -> proper Q -> writes_to P w x -> writes_to Q w x).
      { intros P Q [b i] HP HQ Hw. apply writes_to_at in Hw. destruct Hw as [Hp Hw].
        assert (Hag : agree P Q b i).
        { apply executions_agree; auto. apply (only_blocks_of_the_grid P (proper_possible _ HP) _ Hp). }
        apply writes_to_at. rewrite <- (writes_at_in_both P Q); auto. split; auto.
        eapply (performed_in_both P Q); eauto using proper_possible, proper_complete. }
      intros w. unfold l, l'. rewrite !Hin by assumption. split; apply Hone; auto. }
    assert (Hgrid : forall w, In w l -> in_grid L (fst w)).
    { intros w Hw. apply Hin in Hw; auto. destruct Hw as (a & [Hp _] & _). exact (only_blocks_of_the_grid E PE _ Hp). }
    assert (Hnodup : NoDup l) by (apply NoDup_filter, (each_write_once E everywhere CE)).
    assert (Hnodup' : NoDup l') by (apply NoDup_filter, (each_write_once F everywhere CF)).
    transitivity (runs (run E) l' (initial L) x).
    - apply reordered.
      + apply run_pointwise.
      + apply NoDup_Permutation; auto.
      + intros u w Huw Hwu.
        assert (Hu : In u l) by (now apply precedes_in in Huw).
        assert (Hw : In w l) by (now apply precedes_in in Huw).
        assert (Hneq : u <> w).
        { intros ->. apply (precedes_antisymmetric l w w Hnodup); auto. }
        apply (changed_places_commute E F u w x); auto.
        * left. intros k. apply executions_agree; auto.
        * now apply Hin.
        * now apply Hin.
        * apply Hin; auto. now apply Hsame.
        * apply Hin; auto. now apply Hsame.
        * now apply precedes_of_filter in Huw.
        * now apply precedes_of_filter in Hwu.
    - apply run_in_both. intros u Hu. apply executions_agree; auto. apply Hgrid. now apply Hsame.
  Qed.
End TwoExecutions.

(** Theorem (c). *)
Theorem same_but_for_results_of_atomics :
  forall (L : launch) (written : array L -> Prop),
  obligations_hold written -> atomics_are_harmless written ->
  forall E F : execution L, proper E -> proper F ->
    (forall e, performed E e <-> performed F e) /\
    (forall e a, is_access E e a -> is_access F e a) /\
    (forall e a, is_access E e a -> kind_of a <> Rmw -> got E (fst e) (snd e) = got F (fst e) (snd e)) /\
    (forall x, exists v, finally E x v /\ finally F x v).
Proof.
  intros L written obligations harmless E F HE HF.
  assert (Hagree : forall P Q : execution L, proper P -> proper Q ->
            forall e, performed P e -> agree P Q (fst e) (snd e)).
  { intros P Q HP HQ e He. eapply executions_agree; eauto.
    exact (only_blocks_of_the_grid P (proper_possible _ HP) _ He). }
  assert (Hboth : forall P Q : execution L, proper P -> proper Q -> forall e, performed P e -> performed Q e).
  { intros P Q HP HQ [b i] He. eapply (performed_in_both P Q); eauto using proper_possible, proper_complete.
    apply (Hagree P Q HP HQ (b, i) He). }
  repeat split.
  - now apply Hboth.
  - now apply Hboth.
  - now apply (Hboth E F), H.
  - destruct e as [b i]. rewrite <- (access_in_both E F); [apply H|]. apply (Hagree E F HE HF (b, i)), H.
  - intros e a [He Ha] Hrmw. apply (Hagree E F HE HF e He). intros a' Ha'. unfold access_of in Ha. congruence.
  - intros x.
    destruct (something_remains E (proper_possible _ HE) everywhere (proper_coherent _ HE) x I) as [v Hv].
    destruct (something_remains F (proper_possible _ HF) everywhere (proper_coherent _ HF) x I) as [v' Hv'].
    exists v. split; auto. now rewrite (same_end written obligations harmless E F HE HF x v v' Hv Hv').
Qed.
