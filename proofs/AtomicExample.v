(** The same for atomics: a launch of any number of blocks, each of which adds 1 to one counter, keeps the obligations,
    does no harm by its atomics, and has a complete execution.  So the axioms of [coherent] can be kept together. *)

From Coq Require Import ZArith List Bool Wellfounded Lia.
From TileVerify Require Import Machine Obligations HarmlessAtomics Atomics.
Import ListNotations.
Open Scope Z_scope.
Local Arguments Z.add : simpl never.
Local Arguments Z.of_nat : simpl never.

Section Counting.
  Variable blocks : nat. (* the grid is (blocks, 1, 1) *)
  Variable contents : memory.

  Definition counting_grid (b : block) : Prop :=
    0 <= fst (fst b) < Z.of_nat blocks /\ snd (fst b) = 0 /\ snd b = 0.

  Definition add_one : access unit :=
    {| kind_of := Rmw; bytes := [0]; origin := tt; scoped := Some DeviceScope; acquires := false; releases := false;
       written_by := fun l _ => hd 0 l + 1; demands := fun _ => True |}.

  Lemma nothing_is_earlier : well_founded (fun _ _ : unit => False).
  Proof. intros i. constructor. contradiction. Qed.

  Lemma add_one_is_scoped : forall a, Some add_one = Some a -> kind_of a = Rmw -> scoped a <> None.
  Proof. intros a H _. injection H as <-. discriminate. Qed.

  Definition counting : launch := {|
    id := unit;
    same_op := fun _ _ => true;
    array := unit;
    region := fun _ x => x = 0;
    initial := contents;
    in_grid := counting_grid;
    does := fun _ _ _ => Some add_one;
    waits := fun _ _ _ _ => False;
    depends := fun _ _ => false;
    steers := fun _ _ => False;
    earlier := fun _ _ => False;
    does_by_dependencies := fun _ _ _ _ _ => eq_refl;
    waits_by_steering := fun _ _ _ _ _ _ H => H;
    depends_transitive := fun _ _ _ H _ => H;
    depends_earlier := fun _ _ H => match Bool.diff_false_true H with end;
    steers_earlier := fun _ _ H => H;
    waits_earlier := fun _ _ _ _ H => H;
    waits_transitive := fun _ _ _ _ _ H _ => H;
    earlier_transitive := fun _ _ _ H _ => H;
    earlier_well_founded := nothing_is_earlier;
    rmw_is_scoped := fun _ _ _ => add_one_is_scoped
  |}.

  Theorem counting_obligations : @obligations_hold counting (fun _ => True).
  Proof.
    assert (Hone : forall b r i a, @one_access counting (fun _ => True) b r i a -> a = add_one).
    { intros b r i a (_ & _ & H). simpl in H. congruence. }
    constructor.
    - intros b r i a b' r' i' a' (H & _) _ Hw. apply Hone in H. subst a. discriminate.
    - intros b r i a b' r' i' a' (H & _) _ Hw. apply Hone in H. subst a. discriminate.
    - intros b r i a b' r' i' a' (H & H' & _) _ _ _. apply Hone in H, H'. subst a a'. repeat split.
    - intros b r [] a [] a' (_ & _ & Hneq & _). now exfalso.
    - intros b r [] a [] a' (_ & _ & Hneq & _). now exfalso.
    - intros b r i a H. apply Hone in H. subst a. exact I.
    - intros b r i a H x Hx. apply Hone in H. subst a. destruct Hx as [<-|[]]. reflexivity.
    - intros b r i a H. apply Hone in H. subst a. exists 0. reflexivity.
    - intros b r i a H. apply Hone in H. subst a. exact I.
    - intros b r i a H. apply Hone in H. subst a. exact I.
    - intros b r i a H. apply Hone in H. subst a. exact I.
    - intros b r i a H _. exact I.
    - intros b r i a i' a' H H' _. apply Hone in H, H'. subst a a'. auto.
  Qed.

  Theorem counting_is_harmless : @atomics_are_harmless counting (fun _ => True).
  Proof.
    assert (Hone : forall b r i a, @one_access counting (fun _ => True) b r i a -> a = add_one).
    { intros b r i a (_ & _ & H). simpl in H. congruence. }
    constructor.
    - intros b r i a H _. apply Hone in H. now subst a.
    - intros b r i a _ _ j. split; [reflexivity|]. intros [].
    - intros b r i a b' r' i' a' H H' _ _ _ m x. apply Hone in H, H'. now subst a a'.
    - intros b r i a b' r' i' a' H H' _ _. apply Hone in H, H'. now subst a a'.
  Qed.

  (** ** The execution in which they add in the order of their numbers *)

  Definition in_counting_grid (b : block) : bool :=
    (0 <=? fst (fst b)) && (fst (fst b) <? Z.of_nat blocks) && (snd (fst b) =? 0) && (snd b =? 0).

  Lemma in_counting_grid_true : forall b, in_counting_grid b = true <-> counting_grid b.
  Proof.
    intros b. unfold in_counting_grid, counting_grid. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt, !Z.eqb_eq. tauto.
  Qed.

  Definition of_block (k : Z) : event counting := ((k, 0, 0), tt).

  Definition counting_got (b : block) (i : unit) : option (list val) :=
    if in_counting_grid b then Some [contents 0 + fst (fst b)] else None.

  Definition counting_source (e : event counting) (x : addr) : option (event counting) :=
    if fst (fst (fst e)) =? 0 then None else Some (of_block (fst (fst (fst e)) - 1)).

  Definition counted : execution counting :=
    @Build_execution counting (fun e => counting_grid (fst e)) counting_got counting_source
      (map (fun k => of_block (Z.of_nat k)) (seq 0 blocks)).

  Lemma event_of_grid : forall e, counting_grid (fst e) -> e = of_block (fst (fst (fst e))).
  Proof. intros [[[k y] z] []] (_ & Hy & Hz). simpl in *. now subst. Qed.

  Lemma got_in_grid : forall b, counting_grid b -> counting_got b tt = Some [contents 0 + fst (fst b)].
  Proof. intros b H. unfold counting_got. apply in_counting_grid_true in H. now rewrite H. Qed.

  Lemma counted_possible : possible counted.
  Proof.
    constructor.
    - auto.
    - discriminate.
    - intros b i l H. simpl in *. unfold counting_got in H. apply in_counting_grid_true.
      destruct (in_counting_grid b); congruence.
    - intros [b []] a [He Ha]. unfold access_of in Ha. simpl in *. injection Ha as <-.
      eexists. split; [now apply got_in_grid|]. simpl. constructor; [|constructor].
      unfold finds. simpl. unfold counting_source. simpl. destruct (Z.eqb_spec (fst (fst b)) 0) as [Hk|Hk].
      + rewrite Hk. apply Z.add_0_r.
      + assert (Hgrid : counting_grid (fst (of_block (fst (fst b) - 1)))).
        { unfold counting_grid, of_block in *. simpl. lia. }
        exists add_one, [contents 0 + (fst (fst b) - 1)]. split; [now split|]. split; [reflexivity|].
        split; [simpl; auto|]. split; [exact (got_in_grid _ Hgrid)|]. simpl. unfold val. ring.
    - apply (well_founded_lt_compat _ (fun e : event counting => Z.to_nat (fst (fst (fst e))))).
      intros c e (Hc & He & [[_ H]|(x & _ & Hs)]); [discriminate|].
      simpl in *. unfold counting_source in Hs. destruct (Z.eqb_spec (fst (fst (fst e))) 0); [discriminate|].
      injection Hs as <-. unfold counting_grid, of_block in *. simpl in *. lia.
  Qed.

  Lemma counted_complete : complete counted.
  Proof. intros b i Hb _. exact Hb. Qed.

  Lemma nothing_before : forall c e, ~ happens_before counted c e.
  Proof.
    intros c e H. induction H as [c e (_ & _ & _ & H)|s r H|]; auto.
    destruct H as (a & a' & [_ Ha] & _ & Hrel & _). unfold access_of in Ha. simpl in Ha.
    injection Ha as <-. discriminate.
  Qed.

  Lemma ordered_by_number : forall n s j k,
    precedes (map (fun k => of_block (Z.of_nat k)) (seq s n)) (of_block j) (of_block k) <->
    (Z.of_nat s <= j < k /\ k < Z.of_nat (s + n)).
  Proof.
    assert (Hin : forall n s k, In (of_block k) (map (fun k => of_block (Z.of_nat k)) (seq s n)) <->
              Z.of_nat s <= k < Z.of_nat (s + n)).
    { intros n s k. rewrite in_map_iff. split.
      - intros (m & Hm & Hs). apply in_seq in Hs. injection Hm as <-. lia.
      - intros H. exists (Z.to_nat k). split; [unfold of_block; now rewrite Z2Nat.id by lia|]. apply in_seq. lia. }
    induction n as [|n IH]; intros s j k; simpl; [split; [contradiction|lia]|].
    rewrite IH, Hin. split.
    - intros [[Hj Hk]|H]; [injection Hj as <-|]; lia.
    - intros H. destruct (Z.eq_dec (Z.of_nat s) j) as [<-|Hneq]; [left; split; [reflexivity|lia]|right; lia].
  Qed.

  Lemma in_order_by_number : forall j k, in_order counted (of_block j) (of_block k) <->
    0 <= j < k /\ k < Z.of_nat blocks.
  Proof. intros j k. unfold in_order. simpl. rewrite ordered_by_number. simpl. lia. Qed.

  Theorem counted_coherent : coherent counted.
  Proof.
    constructor.
    - intros w. simpl. rewrite in_map_iff. split.
      + intros (k & <- & Hk). apply in_seq in Hk. exists 0. split; [exact I|]. exists add_one.
        split; [split; [|reflexivity]|]; simpl; auto. unfold counting_grid. simpl. lia.
      + intros (x & _ & a & [Hw _] & _). rewrite (event_of_grid w Hw). destruct w as [[[k y] z] i].
        destruct Hw as (Hk & _). simpl in *. exists (Z.to_nat k).
        split; [now rewrite Z2Nat.id by lia|]. apply in_seq. lia.
    - simpl. apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros k k' H. injection H as H. lia.
    - intros w w' x _ _ _ H. now apply nothing_before in H.
    - intros e x w w' _ _ _ _ H. now apply nothing_before in H.
    - intros e x w w' _ _ _ _ H. now apply nothing_before in H.
    - intros e x w' _ _ _ _. apply nothing_before.
    - intros e a x w a' _ [He _] _ _ Hs _ _. rewrite (event_of_grid e He). destruct e as [[[k y] z] i].
      destruct He as (Hk & _). simpl in *. unfold counting_source in Hs. simpl in *.
      destruct (Z.eqb_spec k 0); [discriminate|].
      assert (Hw : of_block (k - 1) = w) by congruence. subst w.
      apply in_order_by_number. lia.
    - intros e a x w w' a' _ [He _] _ _ Hs [Hw' _] _ _ _ Horder.
      rewrite (event_of_grid e He), (event_of_grid w' Hw') in Horder. rewrite (event_of_grid w' Hw').
      destruct e as [[[k y] z] i], w' as [[[k' y'] z'] i']. destruct He as (Hk & _), Hw' as (Hk' & _).
      simpl in *. unfold counting_source in Hs. simpl in *.
      apply in_order_by_number in Horder.
      destruct (Z.eqb_spec k 0); [discriminate|].
      assert (Hw : of_block (k - 1) = w) by congruence. subst w.
      destruct (Z.eq_dec k' (k - 1)) as [->|Hneq]; [now left|right]. apply in_order_by_number. lia.
    - intros e a x w' a' _ [He _] _ _ Hs [Hw' _] _ _ _ Horder.
      rewrite (event_of_grid e He), (event_of_grid w' Hw') in Horder.
      destruct e as [[[k y] z] i], w' as [[[k' y'] z'] i']. destruct He as (Hk & _), Hw' as (Hk' & _).
      simpl in *. unfold counting_source in Hs. simpl in *.
      apply in_order_by_number in Horder.
      destruct (Z.eqb_spec k 0); [lia|discriminate].
  Qed.

  Theorem counted_proper : proper counted.
  Proof. constructor; [apply counted_possible|apply counted_coherent|apply counted_complete]. Qed.
End Counting.
