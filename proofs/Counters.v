(** Counters between blocks, in executions (verifier/obligations/protocols/counters.py, order.py): what additions to one
    location give back, and what is ordered by it.  Of the execution nothing is asked but the model's axioms at that
    location; elsewhere it may race. *)

From Coq Require Import ZArith List Bool Wellfounded Lia.
From TileVerify Require Import Machine Words Orders Values Commuting Protocols.
Import ListNotations.
Open Scope Z_scope.

Section Counter.
  Context {L : launch}.
  Variable E : execution L.
  Hypothesis is_possible : possible E.

  (** The element [elem] holds machine integers of [bits] bits, and all that writes to it adds [step] to it, by atomic
      operations whose scope covers the launch. *)
  Variable elem : list addr.
  Variable T : element_type.
  Variables bits step : Z.
  Definition there (x : addr) : Prop := In x elem.
  Definition addition (a : access (array L)) : Prop :=
    updates T elem (fun v => signed bits (v + step)) a /\ (forall b b', scope_includes a b b').

  Hypothesis is_coherent : coherent_at E there.
  Hypothesis reads_back_there : reads_back T elem.
  Hypothesis stays_integer : forall z, machine_integer T z -> machine_integer T (signed bits (z + step)).
  Hypothesis only_additions : forall e a x, there x -> is_access E e a -> In x (bytes a) -> writes a = true ->
    addition a.

  Lemma additions_are_strong : forall e a e' a' x, there x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> writes a = true -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof.
    intros e a e' a' x Hx Ha Ha' _ Hin Hin' Hw Hw'. left.
    destruct (only_additions e a x Hx Ha Hin Hw) as ((_ & B & _) & S).
    destruct (only_additions e' a' x Hx Ha' Hin' Hw') as ((_ & B' & _) & S').
    split; [apply S|]. split; [apply S'|]. unfold width. congruence.
  Qed.

  Lemma additions_of_one_element : forall e a e' a' x, there x -> is_access E e a -> is_access E e' a' ->
    kind_of a = Rmw -> writes a' = true -> In x (bytes a) -> In x (bytes a') -> bytes a' = bytes a.
  Proof.
    intros e a e' a' x Hx Ha Ha' Hrmw Hw' Hin Hin'.
    assert (Hw : writes a = true) by (unfold writes; now rewrite Hrmw).
    destruct (only_additions e a x Hx Ha Hin Hw) as ((_ & B & _) & _).
    destruct (only_additions e' a' x Hx Ha' Hin' Hw') as ((_ & B' & _) & _). congruence.
  Qed.

  Lemma their_bytes_lie_there : forall e a x y, is_access E e a -> kind_of a = Rmw -> there x ->
    In x (bytes a) -> In y (bytes a) -> there y.
  Proof.
    intros e a x y Ha Hrmw Hx Hin Hy.
    assert (Hw : writes a = true) by (unfold writes; now rewrite Hrmw).
    destruct (only_additions e a x Hx Ha Hin Hw) as ((_ & B & _) & _). unfold there. now rewrite <- B.
  Qed.

  (** ** What they give back *)

  (** The additions among [l]. *)
  Definition additions (x : addr) (l : list (event L)) : list (event L) := filter (writes_at E x) l.
  Definition at_first : Z := read_as T (map (initial L) elem).

  Lemma after_additions : forall l, (forall u, In u l -> exists a, access_of E u = Some a /\ addition a) ->
    read_as T (map (runs (run E) l (initial L)) elem) = given_back bits step at_first (length l).
  Proof.
    intros l. induction l as [|u l IH] using rev_ind; intros H; [reflexivity|].
    rewrite runs_app, app_length, PeanoNat.Nat.add_comm. simpl.
    destruct (H u) as (a & Ha & Hadd & _); [apply in_or_app; simpl; auto|].
    unfold run at 1. rewrite Ha.
    rewrite (read_after_update _ T elem _ a reads_back_there stays_integer Hadd). simpl. do 2 f_equal.
    apply IH. intros w Hw. apply H. apply in_or_app. auto.
  Qed.

  (** (count): an addition that [n] others precede gives back what the number [n] gives back. *)
  Theorem addition_gives_back : forall p w q a x l, there x ->
    modifications E = p ++ w :: q -> is_access E w a -> In x (bytes a) -> writes a = true ->
    got E (fst w) (snd w) = Some l ->
    read_as T l = given_back bits step at_first (length (additions x p)).
  Proof.
    intros p w q a x l Hx Hsplit Ha Hin Hw Hgot.
    destruct (only_additions w a x Hx Ha Hin Hw) as ((Hrmw & B & _) & _).
    rewrite (atomic_gives_back E is_possible there is_coherent additions_are_strong additions_of_one_element
      their_bytes_lie_there p w q a x l Hx Hsplit Ha Hrmw Hin Hgot).
    rewrite B. apply after_additions. intros u Hu. apply filter_In in Hu. destruct Hu as [Hu Hwu].
    assert (Hmod : In u (modifications E)) by (rewrite Hsplit; apply in_or_app; auto).
    apply (all_writes E there is_coherent) in Hmod. destruct Hmod as (z & _ & au & [Hp _] & _).
    assert (Hux : writes_to E u x) by (now apply writes_to_at).
    destruct Hux as (b & Hb & Hwb & Hinb). exists b. split; [apply Hb|]. exact (only_additions u b x Hx Hb Hinb Hwb).
  Qed.

  (** (tickets): two of at most [total] additions give back different values. *)
  Theorem different_tickets : forall total w w' a a' x l l', there x -> 0 < bits -> 0 < step ->
    - 2 ^ (bits - 1) <= at_first < 2 ^ (bits - 1) ->
    Z.of_nat (length (additions x (modifications E))) <= total -> step * total <= 2 ^ bits ->
    is_access E w a -> In x (bytes a) -> writes a = true -> got E (fst w) (snd w) = Some l ->
    is_access E w' a' -> In x (bytes a') -> writes a' = true -> got E (fst w') (snd w') = Some l' ->
    w <> w' -> read_as T l <> read_as T l'.
  Proof.
    intros total w w' a a' x l l' Hx Hbits Hstep Hfirst Htotal Hfits Ha Hin Hw Hl Ha' Hin' Hw' Hl' Hneq.
    assert (Hplace : forall u b, is_access E u b -> In x (bytes b) -> writes b = true ->
              exists p q, modifications E = p ++ u :: q /\ writes_at E x u = true).
    { intros u b Hb Hinb Hwb. assert (Hux : writes_to E u x) by (exists b; auto).
      assert (Hmod : In u (modifications E)) by (apply (all_writes E there is_coherent); eauto).
      apply in_split in Hmod. destruct Hmod as (p & q & H). exists p, q. split; auto. now apply writes_to_at in Hux. }
    assert (Hlength : forall p u q, modifications E = p ++ u :: q -> writes_at E x u = true ->
              (length (additions x (modifications E)) = length (additions x p) + S (length (additions x q)))%nat).
    { intros p u q H Hu. rewrite H. unfold additions. rewrite filter_app, app_length. simpl. now rewrite Hu. }
    destruct (Hplace w a Ha Hin Hw) as (p & q & Hsplit & Hwx).
    destruct (Hplace w' a' Ha' Hin' Hw') as (p' & q' & Hsplit' & Hwx').
    rewrite (addition_gives_back p w q a x l Hx Hsplit Ha Hin Hw Hl).
    rewrite (addition_gives_back p' w' q' a' x l' Hx Hsplit' Ha' Hin' Hw' Hl').
    pose proof (Hlength p w q Hsplit Hwx) as Hn. pose proof (Hlength p' w' q' Hsplit' Hwx') as Hn'.
    apply tickets with (total := total); auto; [lia|lia|].
    (* whoever comes first is among those that precede the other *)
    assert (Hless : forall p u q p' u' q', modifications E = p ++ u :: q -> modifications E = p' ++ u' :: q' ->
              writes_at E x u = true -> In u p' ->
              (length (additions x p) < length (additions x p'))%nat).
    { clear - is_coherent. intros p u q p' u' q' H H' Hu Hin. apply in_split in Hin. destruct Hin as (r & s & ->).
      assert (Hp : p = r).
      { assert (Hnodup : NoDup (p ++ u :: q)) by (rewrite <- H; now apply (each_write_once E there)).
        rewrite H in H'. rewrite <- app_assoc in H'. simpl in H'.
        assert (Hu1 : ~ In u p) by (intros Hin; apply NoDup_remove_2 in Hnodup; apply Hnodup, in_or_app; auto).
        assert (Hu2 : ~ In u r).
        { rewrite H' in Hnodup. intros Hin. apply NoDup_remove_2 in Hnodup. apply Hnodup, in_or_app. auto. }
        clear - H' Hu1 Hu2. revert r H' Hu2. induction p as [|c p IH]; intros [|d r] H' Hu2; simpl in *; auto.
        - injection H' as ->. exfalso. apply Hu2. auto.
        - injection H' as <- _. exfalso. apply Hu1. auto.
        - injection H' as <- H'. f_equal. apply IH; auto. }
      subst r. unfold additions. rewrite filter_app, app_length. simpl. rewrite Hu. simpl. lia. }
    destruct (precedes_total (modifications E) w w') as [H|[H|H]].
    - rewrite Hsplit. apply in_or_app. simpl. auto.
    - rewrite Hsplit'. apply in_or_app. simpl. auto.
    - contradiction.
    - pose proof (each_write_once E there is_coherent) as Hnodup. rewrite Hsplit' in H, Hnodup.
      pose proof (left_of _ _ _ _ Hnodup H) as Hleft.
      pose proof (Hless p w q p' w' q' Hsplit Hsplit' Hwx Hleft). lia.
    - pose proof (each_write_once E there is_coherent) as Hnodup. rewrite Hsplit in H, Hnodup.
      pose proof (left_of _ _ _ _ Hnodup H) as Hleft.
      pose proof (Hless p' w' q' p w q Hsplit' Hsplit Hwx' Hleft). lia.
  Qed.

  (** ** What they order *)

  (** An addition observes all that precede it: it reads what a chain of additions made of theirs. *)
  Lemma observes_all_before : forall p w q a x, there x ->
    modifications E = p ++ w :: q -> is_access E w a -> In x (bytes a) -> writes a = true ->
    forall s, In s (additions x p) -> observes E s w.
  Proof.
    intros p. induction p as [p IH] using (well_founded_induction (wf_inverse_image _ _ _ (@length _) Wf_nat.lt_wf)).
    intros w q a x Hx Hsplit Ha Hin Hw s Hs. apply filter_In in Hs. destruct Hs as [Hs Hsx].
    destruct (only_additions w a x Hx Ha Hin Hw) as ((Hrmw & B & _) & _).
    assert (Hnodup : NoDup (p ++ w :: q)) by (rewrite <- Hsplit; now apply (each_write_once E there)).
    assert (Hwrites : forall u, In u p -> writes_at E x u = true -> writes_to E u x).
    { intros u Hu Hux. apply writes_to_at. split; auto.
      assert (Hmod : In u (modifications E)) by (rewrite Hsplit; apply in_or_app; auto).
      apply (all_writes E there is_coherent) in Hmod. destruct Hmod as (z & _ & au & [Hp _] & _). exact Hp. }
    assert (Hread : reads_at E w x) by (exists a; unfold reads; rewrite Hrmw; auto).
    assert (Horder : in_order E s w) by (unfold in_order; rewrite Hsplit; apply precedes_middle; simpl; auto).
    pose proof (nothing_between E is_possible there is_coherent additions_are_strong w a x s Hx Ha Hrmw Hin
      (Hwrites s Hs Hsx) Horder) as Hsource.
    destruct (source E w x) as [m|] eqn:Hm; [|contradiction].
    destruct Hsource as [->|Hbefore]; [now apply (reads_from_it E m w x)|].
    assert (Hmx : writes_to E m x).
    { destruct (values_have_sources E is_possible _ _ Ha) as (l & _ & Hl). unfold reads in Hl. rewrite Hrmw in Hl.
      clear - Hl Hin Hm. induction Hl as [|y v ys vs Hy _ IH]; [contradiction|].
      destruct Hin as [->|Hin]; [|auto]. unfold finds in Hy. rewrite Hm in Hy.
      destruct Hy as (b & ls & H1 & H2 & H3 & _). exists b. auto. }
    pose proof (source_before E is_possible there is_coherent additions_are_strong w a x m Hx Ha Hrmw Hin Hm Hmx)
      as Hmw.
    unfold in_order in Hmw. rewrite Hsplit in Hmw. apply left_of in Hmw; auto.
    apply in_split in Hmw. destruct Hmw as (p1 & p2 & ->).
    pose proof Hmx as (b & Hb & Hwb & Hinb).
    destruct (only_additions m b x Hx Hb Hinb Hwb) as ((Hrmw' & _) & _).
    apply (reads_from_chain E s m b w x); auto.
    assert (Hsplit1 : modifications E = p1 ++ m :: (p2 ++ w :: q)) by (rewrite Hsplit, <- app_assoc; reflexivity).
    apply (IH p1) with (q := p2 ++ w :: q) (a := b) (x := x); auto.
    - rewrite app_length. simpl. lia.
    - apply filter_In. split; auto. unfold in_order in Hbefore. rewrite Hsplit1 in Hbefore.
      apply left_of in Hbefore; auto. rewrite <- Hsplit1, Hsplit. exact Hnodup.
  Qed.

  (** (count) between blocks: [K] blocks at most add, each once.  If the addition [r], of another block than [A], gives
      back more than [first + step * (K - 2)], then the addition [s] of [A] is among those before it; so what [s]
      releases comes before what waits for [r]. *)
  Theorem by_count : forall p r q a s as_ x y z l K (adders : list block), there z ->
    0 < bits -> 0 < step -> - 2 ^ (bits - 1) <= at_first -> at_first + step * Z.of_nat K < 2 ^ (bits - 1) ->
    (2 <= K)%nat -> (length adders <= K)%nat -> NoDup adders ->
    modifications E = p ++ r :: q ->
    (forall u v, In u (additions z (p ++ [r])) -> In v (additions z (p ++ [r])) -> fst u = fst v -> u = v) ->
    (forall u, In u (additions z (p ++ [r])) -> In (fst u) adders) ->
    is_access E r a -> In z (bytes a) -> writes a = true -> got E (fst r) (snd r) = Some l -> acquires a = true ->
    In (fst s) adders -> fst s <> fst r -> is_access E s as_ -> In z (bytes as_) -> writes as_ = true ->
    releases as_ = true ->
    (forall u, In u (additions z p) -> fst u = fst s -> u = s) ->
    read_as T l > at_first + step * (Z.of_nat K - 2) ->
    token_before E x s -> token_before E r y -> happens_before E x y.
  Proof.
    intros p r q a s as_ x y z l K adders Hz Hbits Hstep Hlow Hhigh HK Hadders Hnodup Hsplit Honce Hamong
      Ha Hin Hw Hl Hacq HA Hneq Has Hins Hws Hrel Hs Hvalue Hx Hy.
    assert (Hsr : In s (additions z p)).
    { assert (Hprefix : forall u, In u (additions z p) -> In u (additions z (p ++ [r]))).
      { intros u Hu. unfold additions. rewrite filter_app. apply in_or_app. auto. }
      assert (Hlist : NoDup (p ++ r :: q)) by (rewrite <- Hsplit; now apply (each_write_once E there)).
      assert (Hr : In r (additions z (p ++ [r]))).
      { apply filter_In. split; [apply in_or_app; simpl; auto|].
        assert (Hrz : writes_to E r z) by (exists a; auto). now apply writes_to_at in Hrz. }
      set (blocks := map (@fst block (id L)) (additions z p)).
      assert (Hblocks : NoDup blocks).
      { assert (Hall : NoDup (additions z p)) by (apply NoDup_filter; now apply nodup_prefix in Hlist).
        assert (Hinjective : forall u v, In u (additions z p) -> In v (additions z p) -> fst u = fst v -> u = v)
          by auto.
        unfold blocks. clear - Hall Hinjective. revert Hall Hinjective. generalize (additions z p).
        induction l as [|u t IH]; intros Ht H; simpl; [constructor|]. inversion Ht; subst. constructor.
        - intros Hin. apply in_map_iff in Hin. destruct Hin as (v & Hv & Hvt).
          assert (v = u) by (apply H; simpl; auto). subst. contradiction.
        - apply IH; auto. intros; apply H; simpl; auto. }
      assert (Hincl : incl blocks adders).
      { intros b Hb. apply in_map_iff in Hb. destruct Hb as (u & <- & Hu). auto. }
      assert (Hblock : In (fst s) blocks).
      { apply (enough_have_added_besides blocks adders (fst s) (fst r) K); auto.
        - intros Hb. apply in_map_iff in Hb. destruct Hb as (u & Hu & Hup).
          assert (u = r) by auto. subst u. apply filter_In in Hup. destruct Hup as [Hup _].
          apply NoDup_remove_2 in Hlist. apply Hlist, in_or_app. auto.
        - pose proof (NoDup_incl_length Hblocks Hincl) as Hbound.
          assert (Hlength : length blocks = length (additions z p)) by apply map_length. rewrite Hlength in *.
          rewrite (addition_gives_back p r q a z l Hz Hsplit Ha Hin Hw Hl) in Hvalue.
          assert (step * Z.of_nat (length (additions z p)) <= step * Z.of_nat K) by (apply Z.mul_le_mono_nonneg_l; lia).
          rewrite count_that_fits in Hvalue by lia.
          assert (Z.of_nat K - 2 < Z.of_nat (length (additions z p))) by (apply (Z.mul_lt_mono_pos_l step); lia).
          lia. }
      apply in_map_iff in Hblock. destruct Hblock as (u & Hu & Hup). assert (u = s) by auto. now subst u. }
    apply (published E x s r y); auto. exists as_, a.
    destruct (only_additions s as_ z Hz Has Hins Hws) as (_ & S).
    destruct (only_additions r a z Hz Ha Hin Hw) as (_ & S').
    repeat split; try apply Has; try apply Ha; auto. eapply observes_all_before; eauto.
  Qed.
End Counter.
