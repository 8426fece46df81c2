(** The definitions are about something: a launch of any number of blocks, each of which copies one byte, keeps the
    obligations and has a complete execution; the same launch with one target for all blocks has a race. *)

From Coq Require Import ZArith List Bool Lia.
From TileVerify Require Import Machine Obligations RaceFree HarmlessAtomics Values Atomics Determinism.
Import ListNotations.
Open Scope Z_scope.
Local Arguments Z.mul : simpl never.
Local Arguments Z.add : simpl never.
Local Arguments Z.of_nat : simpl never.

Inductive op_of_copy := the_load | the_store.
Inductive array_of_copy := the_input | the_output. (* even bytes; odd bytes *)

Section Copy.
  Variable blocks : nat. (* the grid is (blocks, 1, 1) *)
  Variable target : Z -> Z. (* where block k stores: at byte 2 * target k + 1 *)
  Variable contents : memory.

  Definition copy_grid (b : block) : Prop :=
    0 <= fst (fst b) < Z.of_nat blocks /\ snd (fst b) = 0 /\ snd b = 0.

  Definition copy_access (k : kind) (x : addr) (A : array_of_copy) (v : val) : access array_of_copy :=
    {| kind_of := k; bytes := [x]; origin := A; scoped := None; acquires := false; releases := false;
       written_by := fun _ _ => v; demands := fun _ => True |}.

  Definition copy_does (b : block) (r : results op_of_copy) (i : op_of_copy) : option (access array_of_copy) :=
    match i with
    | the_load => Some (copy_access Load (2 * fst (fst b)) the_input 0)
    | the_store =>
        match r the_load with
        | Some [v] => Some (copy_access Store (2 * target (fst (fst b)) + 1) the_output v)
        | _ => None
        end
    end.

  Definition copy_earlier (j i : op_of_copy) : Prop := j = the_load /\ i = the_store.
  Definition copy_depends (i j : op_of_copy) : bool :=
    match i, j with the_store, the_load => true | _, _ => false end.

  Lemma copy_does_by_dependencies : forall b r r' i,
    (forall j, copy_depends i j = true -> r j = r' j) -> copy_does b r i = copy_does b r' i.
  Proof. intros b r r' [] H; simpl; auto. now rewrite (H the_load eq_refl). Qed.

  Lemma copy_depends_transitive : forall i j k,
    copy_depends i j = true -> copy_depends j k = true -> copy_depends i k = true.
  Proof. intros [] [] []; simpl; congruence. Qed.

  Lemma copy_depends_earlier : forall i j, copy_depends i j = true -> copy_earlier j i.
  Proof. intros [] []; simpl; try discriminate. now split. Qed.

  Lemma copy_earlier_transitive : forall i j k, copy_earlier i j -> copy_earlier j k -> copy_earlier i k.
  Proof. intros i j k [-> ->] [H _]. discriminate. Qed.

  Lemma copy_earlier_well_founded : well_founded copy_earlier.
  Proof.
    assert (Acc copy_earlier the_load) by (constructor; intros y [_ H]; discriminate).
    intros []; auto. constructor. intros y [-> _]. assumption.
  Qed.

  Lemma copy_accesses : forall b r i a, copy_does b r i = Some a ->
    (i = the_load /\ a = copy_access Load (2 * fst (fst b)) the_input 0) \/
    (i = the_store /\ exists v, a = copy_access Store (2 * target (fst (fst b)) + 1) the_output v).
  Proof.
    intros b r [] a H; simpl in H.
    - left. injection H as <-. auto.
    - right. destruct (r the_load) as [[|v [|? ?]]|]; try discriminate. injection H as <-. eauto.
  Qed.

  Lemma copy_rmw_is_scoped : forall b r i a, copy_does b r i = Some a -> kind_of a = Rmw -> scoped a <> None.
  Proof. intros b r i a H. apply copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; discriminate. Qed.

  Definition copy_launch : launch := {|
    id := op_of_copy;
    same_op := fun i j => match i, j with the_load, the_load | the_store, the_store => true | _, _ => false end;
    array := array_of_copy;
    region := fun A x => match A with the_input => Z.even x = true | the_output => Z.odd x = true end;
    initial := contents;
    in_grid := copy_grid;
    does := copy_does;
    waits := fun _ _ _ _ => False;
    depends := copy_depends;
    steers := fun _ _ => False;
    earlier := copy_earlier;
    does_by_dependencies := copy_does_by_dependencies;
    waits_by_steering := fun _ _ _ _ _ _ H => H;
    depends_transitive := copy_depends_transitive;
    depends_earlier := copy_depends_earlier;
    steers_earlier := fun _ _ H => match H with end;
    waits_earlier := fun _ _ _ _ H => match H with end;
    waits_transitive := fun _ _ _ _ _ H _ => H;
    earlier_transitive := copy_earlier_transitive;
    earlier_well_founded := copy_earlier_well_founded;
    rmw_is_scoped := copy_rmw_is_scoped
  |}.

  Definition copy_written (A : array_of_copy) : Prop := A = the_output.

  (** ** The execution in which all blocks have run *)

  Definition in_copy_grid (b : block) : bool :=
    (0 <=? fst (fst b)) && (fst (fst b) <? Z.of_nat blocks) && (snd (fst b) =? 0) && (snd b =? 0).

  Lemma in_copy_grid_true : forall b, in_copy_grid b = true <-> copy_grid b.
  Proof.
    intros b. unfold in_copy_grid, copy_grid. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt, !Z.eqb_eq. tauto.
  Qed.

  Definition block_number (k : nat) : block := (Z.of_nat k, 0, 0).

  Definition copy_got (b : block) (i : op_of_copy) : option (list val) :=
    if in_copy_grid b
    then Some (match i with the_load => [contents (2 * fst (fst b))] | the_store => [] end)
    else None.
  Arguments copy_got b i /.

  Definition copy_execution : execution copy_launch :=
    @Build_execution copy_launch (fun e => copy_grid (fst e)) copy_got (fun _ _ => None)
      (map (fun k => (block_number k, the_store)) (seq 0 blocks)).

  Lemma copy_possible : possible copy_execution.
  Proof.
    constructor.
    - auto.
    - intros [b []] He; [discriminate|]. unfold access_of. simpl in *.
      apply in_copy_grid_true in He. rewrite He. discriminate.
    - intros b i l H. simpl in *. apply in_copy_grid_true. destruct (in_copy_grid b); [reflexivity|discriminate].
    - intros [b i] a [He Ha]. unfold access_of in Ha. simpl in *. apply in_copy_grid_true in He.
      eexists. split; [now rewrite He|].
      destruct i; simpl in Ha; [|rewrite He in Ha]; injection Ha as <-; simpl; auto.
      constructor; [reflexivity|constructor].
    - assert (Hload : forall b, Acc (causes copy_execution) (b, the_load)).
      { intros b. constructor. intros [b' j] (_ & _ & [[_ Hd]|(x & _ & Hs)]); discriminate. }
      intros [b []]; auto. constructor. intros [b' j] (_ & _ & [[Hb Hd]|(x & _ & Hs)]); [|discriminate].
      simpl in *. destruct j; [apply Hload|discriminate].
  Qed.

  Lemma copy_complete : complete copy_execution.
  Proof. intros b i Hb _. exact Hb. Qed.

  Lemma no_order_between_them : forall c e, ~ happens_before copy_execution c e.
  Proof.
    intros c e H. induction H as [c e (_ & _ & _ & H)|s r H|]; auto.
    destruct H as (a & a' & [_ Ha] & _ & Hrel & _). unfold access_of in Ha. destruct s as [b i]. simpl in *.
    destruct i; simpl in Ha; [injection Ha as <-; discriminate|].
    destruct (in_copy_grid b); [injection Ha as <-|]; discriminate.
  Qed.

  (** ** One target for two blocks is a race *)

  Theorem copy_race : (2 <= blocks)%nat -> target 0 = target 1 ->
    race copy_execution (block_number 0, the_store) (block_number 1, the_store).
  Proof.
    intros Hblocks Htarget.
    assert (Hgrid : forall k, (k < blocks)%nat -> copy_grid (block_number k)).
    { intros k Hk. unfold copy_grid, block_number. simpl. lia. }
    assert (Haccess : forall k, (k < blocks)%nat ->
              is_access copy_execution (block_number k, the_store)
                (copy_access Store (2 * target (Z.of_nat k) + 1) the_output (contents (2 * Z.of_nat k)))).
    { intros k Hk. split; [now apply Hgrid|]. unfold access_of. simpl.
      pose proof (Hgrid k Hk) as Hg. apply in_copy_grid_true in Hg. now rewrite Hg. }
    do 2 eexists. split; [|split; [apply no_order_between_them|split; [apply no_order_between_them|]]].
    - split; [discriminate|]. split; [apply Haccess; lia|]. split; [apply Haccess; lia|]. split; [|split].
      + exists (2 * target 0 + 1). split; left; [reflexivity|]. change (Z.of_nat 1) with 1. now rewrite Htarget.
      + left. reflexivity.
      + intros (H & _). discriminate.
    - intros (H & _). exact H.
  Qed.

  (** ** Targets of their own keep the obligations *)

  Hypothesis own_target : forall k k', 0 <= k -> 0 <= k' -> target k = target k' -> k = k'.

  Theorem copy_obligations : @obligations_hold copy_launch copy_written.
  Proof.
    assert (Hone : forall b r i a, @one_access copy_launch copy_written b r i a -> copy_does b r i = Some a).
    { intros b r i a (_ & _ & H). exact H. }
    assert (Hweak : forall b r i a, copy_does b r i = Some a -> scoped a = None).
    { intros b r i a H. apply copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; reflexivity. }
    assert (Hblocks : forall b r i a b' r' i' a', @two_blocks copy_launch copy_written b r i a b' r' i' a' ->
              writes a = true \/ writes a' = true -> False).
    { intros b r i a b' r' i' a' (H & H' & Hneq & x & Hx & Hx') Hw.
      destruct H as ((Hg & Hy & Hz) & _ & Hd), H' as ((Hg' & Hy' & Hz') & _ & Hd'). simpl in Hd, Hd'.
      apply copy_accesses in Hd, Hd'.
      destruct Hd as [[_ ->]|[_ [v ->]]], Hd' as [[_ ->]|[_ [v' ->]]]; simpl in *; try lia.
      - destruct Hw; discriminate.
      - apply Hneq. destruct b as [[k y] z], b' as [[k' y'] z']. simpl in *.
        assert (k = k') by (apply own_target; lia). congruence. }
    constructor.
    - intros b r i a b' r' i' a' H _ _ _ [Hw _]. eapply Hblocks; eauto.
    - intros b r i a b' r' i' a' H _ _ _ Hw _. eapply Hblocks; eauto.
    - intros b r i a b' r' i' a' H _ _ Hw. exfalso. eapply Hblocks; eauto.
    - intros b r i a i' a' (H & H' & Hneq & x & Hx & Hx') Hop _ _. apply Hone, copy_accesses in H, H'. exfalso.
      destruct H as [[-> ->]|[-> [v ->]]], H' as [[-> ->]|[-> [v' ->]]]; simpl in *; try discriminate; lia.
    - intros b r i a i' a' (H & H' & Hneq & _) Hop _ _. apply Hone, copy_accesses in H, H'.
      destruct H as [[-> ->]|[-> [v ->]]], H' as [[-> ->]|[-> [v' ->]]]; simpl in *; try discriminate; now apply Hneq.
    - intros b r i a H. apply Hone, copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; exact I.
    - intros b r i a H x Hx. apply Hone, copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; simpl in *.
      + destruct Hx as [<-|[]]. now rewrite Z.even_mul.
      + destruct Hx as [<-|[]]. now rewrite Z.odd_add, Z.odd_mul.
    - intros b r i a H. apply Hone, copy_accesses in H.
      destruct H as [[_ ->]|[_ [v ->]]]; unfold aligned, element, width; simpl.
      + exists (2 * fst (fst b)). f_equal. lia.
      + exists (2 * target (fst (fst b)) + 1). f_equal. lia.
    - intros b r i a H. apply Hone, copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; exact I.
    - intros b r i a H. apply Hone, copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; exact I.
    - intros b r i a H. apply Hone, copy_accesses in H. destruct H as [[_ ->]|[_ [v ->]]]; exact I.
    - intros b r i a H Hw. apply Hone, copy_accesses in H.
      destruct H as [[_ ->]|[_ [v ->]]]; [discriminate|reflexivity].
    - intros b r i a i' a' H H' Hop. apply Hone, copy_accesses in H, H'.
      destruct H as [[-> ->]|[-> [v ->]]], H' as [[-> ->]|[-> [v' ->]]]; simpl in *; try discriminate; auto.
  Qed.

  Lemma copy_writes_to : forall e x, writes_to copy_execution e x <->
    copy_grid (fst e) /\ snd e = the_store /\ x = 2 * target (fst (fst (fst e))) + 1.
  Proof.
    intros [b i] x. split.
    - intros (a & [He Ha] & Hw & Hx). unfold access_of in Ha. simpl in *. split; auto.
      apply copy_accesses in Ha. destruct Ha as [[-> ->]|[-> [v ->]]]; [discriminate|]. simpl in *. intuition.
    - intros (He & Hi & ->). simpl in *. subst i.
      exists (copy_access Store (2 * target (fst (fst b)) + 1) the_output (contents (2 * fst (fst b)))).
      split; [split; auto|split; simpl; auto]. unfold access_of. simpl.
      apply in_copy_grid_true in He. now rewrite He.
  Qed.

  Lemma copy_one_writer : forall w w' x, writes_to copy_execution w x -> writes_to copy_execution w' x -> w = w'.
  Proof.
    intros [[[k y] z] i] [[[k' y'] z'] i'] x H H'. apply copy_writes_to in H, H'. unfold copy_grid in *. simpl in *.
    destruct H as ((? & ? & ?) & -> & ?), H' as ((? & ? & ?) & -> & ?).
    assert (k = k') by (apply own_target; lia). congruence.
  Qed.

  Lemma copy_no_atomics : forall e a, is_access copy_execution e a -> kind_of a <> Rmw.
  Proof.
    intros [b i] a [_ Ha]. unfold access_of in Ha. simpl in Ha. apply copy_accesses in Ha.
    destruct Ha as [[-> ->]|[-> [v ->]]]; discriminate.
  Qed.

  Theorem copy_coherent : coherent copy_execution.
  Proof.
    constructor.
    - intros [b i]. simpl. rewrite in_map_iff. split.
      + intros (k & Heq & Hk). injection Heq as <- <-. apply in_seq in Hk.
        exists (2 * target (Z.of_nat k) + 1). split; [exact I|]. apply copy_writes_to.
        unfold copy_grid. simpl. repeat split; lia.
      + intros (x & _ & Hx). apply copy_writes_to in Hx. destruct Hx as ((Hk & Hy & Hz) & Hi & _). simpl in *.
        exists (Z.to_nat (fst (fst b))). split.
        * destruct b as [[k y] z]. unfold block_number. simpl in *. subst. now rewrite Z2Nat.id by lia.
        * apply in_seq. lia.
    - simpl. apply FinFun.Injective_map_NoDup; [|apply seq_NoDup].
      intros k k' H. injection H as H. lia.
    - intros w w' x _ _ _ H. now apply no_order_between_them in H.
    - intros e x w w' _ _ H. discriminate.
    - intros e x w w' _ _ H. discriminate.
    - intros e x w' _ _ _ _. apply no_order_between_them.
    - intros e a x w a' _ _ _ _ H. discriminate.
    - intros e a x w w' a' _ _ _ _ H. discriminate.
    - intros e a x w' a' _ Ha Hrmw. exfalso. exact (copy_no_atomics e a Ha Hrmw).
  Qed.

  (** So the theorems speak of it: it is race-free, and all its executions end as this one does. *)
  Theorem copy_ends_as_written : forall E : execution copy_launch, proper E ->
    forall k v, 0 <= k < Z.of_nat blocks -> finally E (2 * target k + 1) v -> v = contents (2 * k).
  Proof.
    intros E HE k v Hk Hv.
    assert (Hproper : proper copy_execution) by
      (constructor; [apply copy_possible|apply copy_coherent|apply copy_complete]).
    apply (one_end copy_launch copy_written copy_obligations) with (E := E) (F := copy_execution)
      (x := 2 * target k + 1); auto.
    - intros b r i a H. destruct H as (_ & _ & H). apply copy_accesses in H.
      destruct H as [[_ ->]|[_ [u ->]]]; reflexivity.
    - left. set (w := (block_number (Z.to_nat k), the_store)).
      assert (Hw : writes_to copy_execution w (2 * target k + 1)).
      { apply copy_writes_to. unfold copy_grid. simpl. rewrite Z2Nat.id by lia. repeat split; lia. }
      assert (Hin : In w (modifications copy_execution)).
      { apply (all_writes _ _ copy_coherent). exists (2 * target k + 1). split; [exact I|exact Hw]. }
      apply in_split in Hin. destruct Hin as (p & q & Hsplit). exists p, w, q. split; [exact Hsplit|]. split.
      + exists (copy_access Store (2 * target k + 1) the_output (contents (2 * k))), [].
        assert (Hg : in_copy_grid (block_number (Z.to_nat k)) = true).
        { apply in_copy_grid_true. unfold copy_grid. simpl. rewrite Z2Nat.id by lia. repeat split; lia. }
        split; [split|].
        * now apply in_copy_grid_true.
        * unfold access_of. simpl. rewrite Hg. now rewrite Z2Nat.id by lia.
        * repeat split; simpl; auto. now rewrite Hg.
      + intros w' Hw' Hx. assert (w = w') by (eapply copy_one_writer; eauto). subst w'.
        pose proof (each_write_once _ _ copy_coherent) as Hnodup. rewrite Hsplit in Hnodup.
        apply NoDup_remove_2 in Hnodup. apply Hnodup. apply in_or_app. auto.
  Qed.
End Copy.
