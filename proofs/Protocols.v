(** Protocols between blocks (verifier/obligations/protocols): the arithmetic of tickets and counters, and the arguments from
    the order of modifications of one location.  What a rule asks of a kernel is a hypothesis here. *)

From Coq Require Import ZArith List Bool Lia.
From TileVerify Require Import Machine Words.
Import ListNotations.
Open Scope Z_scope.

(** ** Counters (counters.py) *)

(** A location of [bits] bits that held [first] and is changed by atomic additions of [step] alone.  Each reads what the
    one before it in the order of modifications wrote. *)
Section Counter.
  Variables bits step first : Z.
  Hypothesis some_bits : 0 < bits.
  Hypothesis step_positive : 0 < step.

  (** What the addition number [n] gives back; a load that [n] additions precede finds the same. *)
  Fixpoint given_back (n : nat) : Z :=
    match n with O => first | S n => signed bits (given_back n + step) end.

  Lemma signed_of_signed : forall z d, signed bits (signed bits z + d) = signed bits (z + d).
  Proof.
    intros z d. destruct (signed_differs bits z some_bits) as [k ->]. unfold signed.
    replace (z - k * 2 ^ bits + d + 2 ^ (bits - 1)) with (z + d + 2 ^ (bits - 1) + (- k) * 2 ^ bits) by ring.
    rewrite Z.mod_add; [reflexivity|]. pose proof (Z.pow_pos_nonneg 2 bits). lia.
  Qed.

  (** (count): r_n = v0 + c * n, as far as nothing wraps; where it does, wrapped. *)
  Theorem count : forall n, (0 < n)%nat -> given_back n = signed bits (first + step * Z.of_nat n).
  Proof.
    induction n as [|[|n] IH]; [lia| |]; intros _.
    - simpl. f_equal. lia.
    - change (given_back (S (S n))) with (signed bits (given_back (S n) + step)).
      rewrite IH by lia. rewrite signed_of_signed. f_equal. lia.
  Qed.

  Theorem count_that_fits : forall n,
    - 2 ^ (bits - 1) <= first -> first + step * Z.of_nat n < 2 ^ (bits - 1) ->
    given_back n = first + step * Z.of_nat n.
  Proof.
    intros [|n] Hlow Hhigh; [simpl; lia|].
    rewrite count by lia. apply signed_fits; [assumption|]. nia.
  Qed.

  (** (bounds), with at most [total] additions: of what an addition gives back, and of what a load finds. *)
  Theorem bounds_of_additions : forall n total,
    - 2 ^ (bits - 1) <= first -> first + step * total < 2 ^ (bits - 1) -> Z.of_nat n < total ->
    first <= given_back n <= first + step * (total - 1).
  Proof. intros n total Hlow Hhigh Hn. rewrite count_that_fits by nia. nia. Qed.

  Theorem bounds_of_loads : forall n total,
    - 2 ^ (bits - 1) <= first -> first + step * total < 2 ^ (bits - 1) -> Z.of_nat n <= total ->
    first <= given_back n <= first + step * total.
  Proof. intros n total Hlow Hhigh Hn. rewrite count_that_fits by nia. nia. Qed.

  (** (tickets): two different additions give back different values, even if they wrap. *)
  Theorem tickets : forall n m total,
    - 2 ^ (bits - 1) <= first < 2 ^ (bits - 1) -> step * total <= 2 ^ bits ->
    Z.of_nat n < total -> Z.of_nat m < total -> n <> m -> given_back n <> given_back m.
  Proof.
    assert (Hcount : forall n, - 2 ^ (bits - 1) <= first < 2 ^ (bits - 1) ->
              given_back n = signed bits (first + step * Z.of_nat n)).
    { intros [|n] Hfirst; [|now apply count; lia]. simpl. replace (first + step * 0) with first by ring.
      symmetry. now apply signed_fits. }
    assert (Hless : forall n m total, - 2 ^ (bits - 1) <= first < 2 ^ (bits - 1) -> step * total <= 2 ^ bits ->
              Z.of_nat m < total -> (n < m)%nat -> given_back n <> given_back m).
    { intros n m total Hfirst Htotal Hm Hlt Heq. rewrite !Hcount in Heq by assumption.
      destruct (signed_differs bits (first + step * Z.of_nat n) some_bits) as [k Hk].
      destruct (signed_differs bits (first + step * Z.of_nat m) some_bits) as [k' Hk'].
      rewrite Hk, Hk' in Heq.
      assert (Hd : step * (Z.of_nat m - Z.of_nat n) = (k' - k) * 2 ^ bits) by lia.
      assert (step * Z.of_nat m < step * total) by (apply Z.mul_lt_mono_pos_l; lia).
      assert (0 <= step * Z.of_nat n) by (apply Z.mul_nonneg_nonneg; lia).
      assert (0 < step * (Z.of_nat m - Z.of_nat n)) by (apply Z.mul_pos_pos; lia).
      assert (0 < 2 ^ bits) by (apply Z.pow_pos_nonneg; lia).
      assert (0 < k' - k) by nia. assert (2 ^ bits <= (k' - k) * 2 ^ bits) by nia. nia. }
    intros n m total Hfirst Htotal Hn Hm Hneq. destruct (Nat.lt_total n m) as [H|[H|H]].
    - eapply Hless; eauto.
    - contradiction.
    - intros Heq. symmetry in Heq. revert Heq. eapply Hless; eauto.
  Qed.

  (** A queue (drawn): a block draws again only if what it drew was below [bound].  Additions beyond the first
      [bound - first] give back [bound] or more; so if at most [idle] of those take place, there are no more additions
      than [max (bound - first) 0 + idle]. *)
  Theorem drawn_beyond : forall n bound, bound - first <= Z.of_nat n -> bound <= first + step * Z.of_nat n.
  Proof. intros n bound H. nia. Qed.
End Counter.

(** (count) between blocks (order.py): each block adds at most once and at most [K] do.  What a reading found tells how
    many had added; if that is more than the others are, block [A] was among them. *)
Theorem enough_have_added : forall (added adders : list block) (A : block) (K : nat),
  NoDup added -> incl added adders -> NoDup adders -> (length adders <= K)%nat -> In A adders ->
  (length added > K - 1)%nat -> In A added.
Proof.
  intros added adders A K Hadded Hincl Hadders HK HA Hmany.
  assert (Hdec : forall x y : block, {x = y} + {x <> y}) by (repeat decide equality).
  destruct (in_dec Hdec A added) as [H|H]; auto. exfalso.
  assert (Hless : (length (A :: added) <= length adders)%nat).
  { apply NoDup_incl_length; [now constructor|]. intros b [<-|Hb]; auto. }
  simpl in Hless. lia.
Qed.

(** (all), (order.py): adders whose ranks differ and lie below [n].  Once [n] have added, one of each rank has. *)
Theorem one_of_each_rank : forall {A : Type} (rank : A -> nat) (added : list A) (n r : nat),
  NoDup (map rank added) -> (forall a, In a added -> (rank a < n)%nat) -> (n <= length added)%nat -> (r < n)%nat ->
  exists a, In a added /\ rank a = r.
Proof.
  intros A rank added n r Hranks Hbelow Hmany Hr.
  assert (Hincl : incl (seq 0 n) (map rank added)).
  { apply NoDup_length_incl; auto.
    - now rewrite seq_length, map_length.
    - intros q Hq. apply in_map_iff in Hq. destruct Hq as (a & <- & Ha). apply in_seq. specialize (Hbelow a Ha). lia. }
  assert (Hin : In r (map rank added)) by (apply Hincl, in_seq; lia).
  apply in_map_iff in Hin. destruct Hin as (a & Ha & Hadded). now exists a.
Qed.

(** If the reading is itself an addition, of another block that had not added before, one less is enough. *)
Theorem enough_have_added_besides : forall (added adders : list block) (A B : block) (K : nat),
  NoDup added -> incl added adders -> NoDup adders -> (length adders <= K)%nat -> In A adders ->
  In B adders -> A <> B -> ~ In B added -> (length added > K - 2)%nat -> In A added.
Proof.
  intros added adders A B K Hadded Hincl Hadders HK HA HB Hneq HnotB Hmany.
  assert (Hdec : forall x y : block, {x = y} + {x <> y}) by (repeat decide equality).
  destruct (in_dec Hdec A added) as [H|H]; auto. exfalso.
  assert (Hless : (length (A :: B :: added) <= length adders)%nat).
  { apply NoDup_incl_length.
    - constructor; [|now constructor]. intros [Heq|Hin]; auto.
    - intros b [<-|[<-|Hb]]; auto. }
  simpl in Hless. lia.
Qed.

(** (phase), (phases.py): additions in the order of modifications, at most [g] of one phase, each of which waited until
    [g] times its phase others were made. *)
Section Phases.
  Context {A : Type}.
  Variables (order : list A) (phase : A -> nat) (g : nat).
  Hypothesis each_once : NoDup order.
  Hypothesis few : forall q, (length (filter (fun u => phase u =? q)%nat order) <= g)%nat.
  Hypothesis waited : forall p t r, order = p ++ t :: r -> (g * phase t <= length p)%nat.

  Lemma of_phases_up_to : forall q l, NoDup l -> incl l order -> (forall u, In u l -> (phase u <= q)%nat) ->
    (length l <= g * (q + 1))%nat.
  Proof.
    induction q as [|q IH]; intros l Hl Hincl Hall.
    - assert (H : (length l <= length (filter (fun u => (phase u =? 0)%nat) order))%nat).
      { apply NoDup_incl_length; auto. intros u Hu. apply filter_In. split; auto.
        apply Nat.eqb_eq. specialize (Hall u Hu). lia. }
      specialize (few 0%nat). lia.
    - assert (Hsplit : length l = (length (filter (fun u => (phase u =? S q)%nat) l) +
        length (filter (fun u => negb (phase u =? S q)%nat) l))%nat).
      { clear. induction l as [|u t Ht]; simpl; auto. destruct (phase u =? S q)%nat; simpl; lia. }
      assert (Hlast : (length (filter (fun u => (phase u =? S q)%nat) l) <= g)%nat).
      { eapply Nat.le_trans; [|apply (few (S q))]. apply NoDup_incl_length; [now apply NoDup_filter|].
        intros u Hu. apply filter_In in Hu. destruct Hu. apply filter_In. auto. }
      assert (Hrest : (length (filter (fun u => negb (phase u =? S q)%nat) l) <= g * (q + 1))%nat).
      { apply IH; [now apply NoDup_filter| |].
        - intros u Hu. apply filter_In in Hu. destruct Hu. auto.
        - intros u Hu. apply filter_In in Hu. destruct Hu as [Hu Hne]. specialize (Hall u Hu).
          apply Bool.negb_true_iff, Nat.eqb_neq in Hne. lia. }
      nia.
  Qed.

  Lemma without : forall s p r, order = p ++ r -> In s order -> ~ In s p ->
    (forall u, In u p -> (phase u <= phase s)%nat) -> (length p < g * (phase s + 1))%nat.
  Proof.
    intros s p r Hsplit Hs Hnot Hall.
    assert (H : (length (s :: p) <= g * (phase s + 1))%nat).
    { apply of_phases_up_to.
      - constructor; auto. rewrite Hsplit in each_once. clear - each_once. induction p as [|u t Ht]; [constructor|].
        simpl in each_once. inversion each_once as [|? ? Hu Hrest]; subst. constructor; auto.
        intros Hin. apply Hu, in_or_app. auto.
      - intros u [<-|Hu]; auto. rewrite Hsplit. apply in_or_app. auto.
      - intros u [<-|Hu]; auto. }
    simpl in H. lia.
  Qed.

  (** Whoever finds fewer additions than these does not find [s] among them, and the other way round. *)
  Theorem by_phase : forall s p r, order = p ++ r -> In s order -> ~ In s p -> (length p < g * (phase s + 1))%nat.
  Proof.
    intros s p r Hsplit Hs Hnot. apply (without s p r); auto.
    assert (H : forall n p1 p2, (length p1 <= n)%nat -> p = p1 ++ p2 -> forall u, In u p1 -> (phase u <= phase s)%nat).
    { induction n as [|n IH]; intros p1 p2 Hn Hp u Hu.
      - destruct p1; [contradiction|simpl in Hn; lia].
      - destruct (exists_last (l := p1)) as (p1' & t & ->); [intros ->; contradiction|].
        rewrite app_length in Hn. simpl in Hn.
        assert (Hbefore : forall v, In v p1' -> (phase v <= phase s)%nat).
        { apply (IH p1' ([t] ++ p2)); [lia|]. rewrite Hp, <- app_assoc. reflexivity. }
        apply in_app_or in Hu. destruct Hu as [Hu|[<-|[]]]; auto.
        assert (Horder : order = p1' ++ t :: (p2 ++ r)).
        { rewrite Hsplit, Hp. repeat rewrite <- app_assoc. reflexivity. }
        assert (Hlength : (length p1' < g * (phase s + 1))%nat).
        { apply (without s p1' (t :: p2 ++ r)); auto. intros Hin. apply Hnot. rewrite Hp.
          apply in_or_app. left. apply in_or_app. auto. }
        specialize (waited p1' t (p2 ++ r) Horder). nia. }
    intros u Hu. apply (H (length p) p [] (Nat.le_refl _)); auto. now rewrite app_nil_r.
  Qed.
End Phases.

(** (reserved), (counters.py): additions of numbers of their own, none negative, in the order of modifications. *)
Theorem reserved : forall (c : nat -> Z) (first : Z) (n m : nat), (forall k, 0 <= c k) -> (n < m)%nat ->
  let given_back k := first + fold_right Z.add 0 (map c (seq 0 k)) in given_back n + c n <= given_back m.
Proof.
  intros c first n m Hc Hlt. simpl.
  assert (H : forall k, (S n <= k)%nat ->
    fold_right Z.add 0 (map c (seq 0 n)) + c n <= fold_right Z.add 0 (map c (seq 0 k))).
  { assert (Hadd : forall k, fold_right Z.add 0 (map c (seq 0 (S k))) = fold_right Z.add 0 (map c (seq 0 k)) + c k).
    { intros k. rewrite seq_S, map_app. simpl.
      assert (Hfold : forall l z, fold_right Z.add 0 (l ++ [z]) = fold_right Z.add 0 l + z).
      { induction l as [|y l IHl]; intros z; simpl; [lia|]. rewrite IHl. lia. }
      apply Hfold. }
    induction 1 as [|k Hk IH].
    - rewrite Hadd. lia.
    - rewrite Hadd. specialize (Hc k). lia. }
  specialize (H m Hlt). lia.
Qed.

(** ** Orders between blocks (order.py) *)

Section Orders.
  Context {L : launch}.
  Variable E : execution L.

  (** What a release publishes comes before what waits for an acquire that observes it. *)
  Theorem published : forall x s r y,
    token_before E x s -> synchronises E s r -> token_before E r y -> happens_before E x y.
  Proof.
    intros x s r y Hx Hs Hy. eapply by_both; [apply by_token; eassumption|].
    eapply by_both; [apply by_synchronisation; eassumption|apply by_token; eassumption].
  Qed.

  (** (source): a read gives what a location held at first, or what some write left.  If every write that could have
      left this releases and waits for [x], then [x] comes before what waits for the read. *)
  Theorem by_source : forall x r a v y l n, possible E -> is_access E r a -> reads a = true ->
    got E (fst r) (snd r) = Some l -> nth_error (bytes a) n = Some v ->
    nth_error l n <> Some (initial L v) ->
    (forall w value, leaves E w v value -> nth_error l n = Some value ->
      token_before E x w /\ exists b, is_access E w b /\ releases b = true /\ acquires a = true /\
        scope_includes b (fst w) (fst r) /\ scope_includes a (fst r) (fst w)) ->
    token_before E r y -> happens_before E x y.
  Proof.
    intros x r a v y l n HE Ha Hreads Hgot Hbyte Hnot Hall Hy.
    destruct (values_have_sources E HE r a Ha) as (l' & Hgot' & Hfinds).
    rewrite Hgot in Hgot'. injection Hgot' as <-. rewrite Hreads in Hfinds.
    assert (Hfind : exists value, nth_error l n = Some value /\ finds E r v value).
    { clear - Hfinds Hbyte. revert n Hbyte. induction Hfinds as [|z u zs us Hz _ IH]; intros [|n] H; try discriminate.
      - injection H as <-. exists u. auto.
      - now apply IH. }
    destruct Hfind as (value & Hvalue & Hfind). unfold finds in Hfind.
    assert (Hat : reads_at E r v) by (exists a; repeat split; try apply Ha; auto; eapply nth_error_In; eauto).
    destruct (Machine.source E r v) as [w|] eqn:Hs.
    - destruct (Hall w value Hfind Hvalue) as (Hx & b & Hb & Hrel & Hacq & Hs1 & Hs2).
      apply (published x w r y); auto. exists b, a. repeat split; try apply Hb; try apply Ha; auto.
      eapply reads_from_it; eauto.
    - exfalso. apply Hnot. now rewrite Hvalue, Hfind.
  Qed.

  (** (turn): whoever writes [u] has acquired [u - 1] or more before, and waited for it.  What was acquired goes down by
      one at most, so it comes to the write of [w]: a reading of [v >= w] comes behind what that write waited for.
      Nothing happens before itself, and an execution has an end: so there is no endless way back. *)
  Variable writes_turn : Z -> event L -> Prop.
  Hypothesis begins : well_founded (happens_before E).

  Theorem by_turn : forall x s w,
    token_before E x s -> (forall e, writes_turn w e -> e = s) ->
    (forall u e, w < u -> writes_turn u e ->
      exists r e' u', u - 1 <= u' /\ writes_turn u' e' /\ synchronises E e' r /\ token_before E r e) ->
    forall v e, w <= v -> writes_turn v e ->
    forall r y, synchronises E e r -> token_before E r y -> happens_before E x y.
  Proof.
    intros x s w Hx Honly Hchain v e Hv He r y Hr Hy.
    assert (Hbefore : happens_before E x e).
    { clear Hr Hy r y. revert v Hv He. induction e as [e IH] using (well_founded_induction begins). intros v Hv He.
      destruct (Z.eq_dec v w) as [->|Hneq]; [rewrite (Honly e He); now apply by_token|].
      assert (Hlater : w < v) by lia.
      destruct (Hchain v e Hlater He) as (r & e' & u & Hu & He' & Hsync & Htoken).
      assert (Hafter : happens_before E e' e).
      { eapply by_both; [apply by_synchronisation; eassumption|apply by_token; eassumption]. }
      eapply by_both; [|exact Hafter]. apply (IH e' Hafter u); [lia|assumption]. }
    eapply by_both; [exact Hbefore|].
    eapply by_both; [apply by_synchronisation; eassumption|apply by_token; eassumption].
  Qed.
End Orders.

(** ** Locks (locks.py) *)

(** The changes of a lock's location in the order of its modifications: takes that succeeded, and gives, each for the
    take that it waits for. *)
Section Lock.
  Variable take : Type. (* takes that succeeded *)
  Inductive change := Taken (t : take) | Given (t : take).

  (** What the location holds after a change. *)
  Definition is_free (c : change) : Prop := match c with Taken _ => False | Given _ => True end.

  (** A history, the latest change first.  A take finds the location free: the change before it is a give, or it is the
      first one.  A give comes behind the take that it waits for, and is the only one for it. *)
  Inductive history : list change -> Prop :=
    | nothing_yet : history nil
    | then_taken : forall h t, history h -> (forall c rest, h = c :: rest -> is_free c) ->
        ~ In (Taken t) h -> history (Taken t :: h)
    | then_given : forall h t, history h -> In (Taken t) h -> ~ In (Given t) h -> history (Given t :: h).

  Definition all_given (h : list change) : Prop := forall t, In (Taken t) h -> In (Given t) h.

  (** Behind a take nothing is free, and all takes but this one have been given back; behind a give, or at first, all
      have. *)
  Lemma alternate : forall h, history h ->
    match h with
    | Taken t :: rest => all_given rest
    | _ => all_given h
    end.
  Proof.
    induction 1 as [|h t Hh IH Hfree Hnew|h t Hh IH Htaken Hnot].
    - intros t [].
    - destruct h as [|[u|u] rest]; auto. exfalso. exact (Hfree _ _ eq_refl).
    - destruct h as [|[u|u] rest].
      + contradiction.
      + intros s [Hs|[Hs|Hs]]; [discriminate| |].
        * injection Hs as ->. destruct Htaken as [Ht|Ht]; [injection Ht as ->; now left|].
          exfalso. apply Hnot. right. now apply IH.
        * right. right. now apply IH.
      + exfalso. apply Hnot. now apply IH.
  Qed.

  (** Between two takes stands the give for the first. *)
  Theorem given_between : forall h t t', history (Taken t' :: h) -> In (Taken t) h -> In (Given t) h.
  Proof. intros h t t' Hh. exact (alternate _ Hh t). Qed.

  (** Two accesses that are held do not race: [before] is happens-before; a take synchronises with the give that it
      reads from, and a give waits for its take. *)
  Variable before : change -> change -> Prop.
  Hypothesis transitive : forall a b c, before a b -> before b c -> before a c.
  Hypothesis give_waits : forall t, before (Taken t) (Given t).
  Hypothesis take_acquires : forall h t t', history (Taken t' :: Given t :: h) -> before (Given t) (Taken t').

  Theorem given_before_taken : forall h t t', history (Taken t' :: h) -> In (Taken t) h ->
    before (Given t) (Taken t').
  Proof.
    intros h. remember (length h) as n eqn:Hn. revert h Hn.
    induction n as [n IH] using (well_founded_induction Wf_nat.lt_wf). intros h Hn t t' Hh Hin.
    pose proof (given_between _ _ _ Hh Hin) as Hgiven.
    inversion Hh as [|h0 t0 Hrest Hfree Hnew|]; subst.
    destruct h as [|[u|u] rest]; [contradiction|exfalso; exact (Hfree _ _ eq_refl)|].
    pose proof (take_acquires _ _ _ Hh) as Hlast.
    destruct Hgiven as [Heq|Hgiven]; [injection Heq as ->; exact Hlast|].
    (* an earlier one: its give comes before the last take, whose give was read *)
    inversion Hrest as [| |h1 t1 Hrest' Hutaken Hnot]; subst.
    apply in_split in Hutaken. destruct Hutaken as (p & q & ->).
    assert (Hsuffix : forall p l, history (p ++ l) -> history l).
    { clear. induction p as [|c p IHp]; simpl; intros l H; auto. apply IHp. now inversion H. }
    assert (Hp : p = []).
    { pose proof (alternate _ Hrest') as Halt. destruct p as [|[v|v] p]; auto; exfalso; simpl in *.
      - apply Hnot. right. apply Halt. apply in_or_app. simpl. auto.
      - apply Hnot. apply Halt. right. apply in_or_app. simpl. auto. }
    subst p. simpl in *.
    destruct Hin as [Hbad|[Heq|Hin]]; [discriminate| |].
    - injection Heq as ->. exact Hlast.
    - apply (transitive _ (Taken u)); [|apply (transitive _ (Given u)); auto].
      apply (IH (length q)) with (h := q); auto.
  Qed.
End Lock.
