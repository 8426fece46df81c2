(** Theorem (a): if the obligations hold, no execution of any number of blocks has a race.

    Races do not enter into what blocks may read: the argument needs of an execution only that it is [possible].  So it
    holds for every model of memory that keeps that, however weak. *)

From Coq Require Import ZArith List Bool Relations Wellfounded.
From TileVerify Require Import Machine Obligations.

Section Reads.
  Context {L : launch}.
  Variable written : array L -> Prop.
  Hypothesis inside_arrays : TV302_inside written.
  Hypothesis over_approximated : only_written written.
  Variable E : execution L.
  Hypothesis is_possible : possible E.

  (** ** Section 3: memory that nobody writes is what it was, by induction along what causes what *)

  (** The results on which op execution [i] depends; nothing else has come yet. *)
  Definition before_it (i : id L) (r : results (id L)) : results (id L) :=
    fun j => if depends i j then r j else None.

  Lemma does_the_same_before_it : forall b r i, does b (before_it i r) i = does b r i.
  Proof.
    intros b r i. apply does_by_dependencies. intros j H. unfold before_it. now rewrite H.
  Qed.

  Lemma does_the_same_further_before : forall b r i j,
    depends i j = true -> does b (before_it i r) j = does b r j.
  Proof.
    intros b r i j H. apply does_by_dependencies. intros k Hk. unfold before_it.
    now rewrite (depends_transitive L i j k H Hk).
  Qed.

  (** What the reads of an access may be in the obligations. *)
  Definition finds_the_beginning (e : event L) : Prop := forall a l,
    is_access E e a -> got E (fst e) (snd e) = Some l -> kind_of a = Load -> scoped a = None ->
    Forall2 (fun x v => read_only written x -> v = initial L x) (bytes a) l.

  Definition stays_in_its_array (e : event L) : Prop := forall a,
    is_access E e a -> inside a /\ (writes a = true -> written (origin a)).

  Lemma before_it_allowed : forall e,
    (forall c, causes E c e -> finds_the_beginning c) -> performed E e ->
    allowed written (fst e) (before_it (snd e) (got E (fst e))).
  Proof.
    intros e past He j a l Hdoes Hgot Hload Hweak.
    unfold before_it in Hgot. destruct (depends (snd e) j) eqn:Hdep; [|discriminate].
    rewrite (does_the_same_further_before _ _ _ _ Hdep) in Hdoes.
    assert (Hj : performed E (fst e, j)) by (eapply nothing_from_nowhere; eauto).
    apply (past (fst e, j)); auto.
    - repeat split; auto.
    - split; auto.
  Qed.

  Lemma stays_in_its_array_if_the_past_does : forall e,
    (forall c, causes E c e -> finds_the_beginning c) -> stays_in_its_array e.
  Proof.
    intros e past a [He Ha].
    assert (Hone : one_access written (fst e) (before_it (snd e) (got E (fst e))) (snd e) a).
    { repeat split.
      - now apply (only_blocks_of_the_grid E).
      - now apply before_it_allowed.
      - now rewrite does_the_same_before_it. }
    split.
    - exact (inside_arrays _ _ _ _ Hone).
    - intros Hw. exact (over_approximated _ _ _ _ Hone Hw).
  Qed.

  Lemma finds_the_beginning_if_the_past_stays : forall e,
    (forall c, causes E c e -> stays_in_its_array c) -> finds_the_beginning e.
  Proof.
    intros e past a l Ha Hgot Hload Hweak.
    destruct (values_have_sources E is_possible e a Ha) as (l' & Hgot' & Hfinds).
    rewrite Hgot in Hgot'. injection Hgot' as <-.
    assert (Hreads : reads a = true) by (unfold reads; now rewrite Hload).
    rewrite Hreads in Hfinds.
    assert (Hin : forall x, In x (bytes a) -> reads_at E e x) by (intros x Hx; exists a; auto).
    clear Hgot. revert Hin. induction Hfinds as [|x v xs vs Hx Hrest IH]; intros Hin; constructor.
    - intros Hro. unfold finds in Hx. destruct (source E e x) as [w|] eqn:Hs; [exfalso|exact Hx].
      destruct Hx as (aw & lw & Hw & Hwrites & Hxin & _).
      assert (Hcause : causes E w e).
      { split; [apply Hw|]. split; [apply Ha|]. right. exists x. split; [|exact Hs]. apply Hin. now left. }
      destruct (past w Hcause aw Hw) as [Hinside Hwritten].
      exact (Hro _ (Hwritten Hwrites) (Hinside _ Hxin)).
    - apply IH. intros y Hy. apply Hin. now right.
  Qed.

  Lemma every_access_is_sound : forall e, finds_the_beginning e /\ stays_in_its_array e.
  Proof.
    intros e. induction (no_thin_air E is_possible e) as [e _ IH]. split.
    - apply finds_the_beginning_if_the_past_stays. intros c Hc. now apply IH.
    - apply stays_in_its_array_if_the_past_does. intros c Hc. now apply IH.
  Qed.

  (** What a block reads in an execution is among what the obligations were asked for. *)
  Theorem what_is_read_is_allowed : forall b, allowed written b (got E b).
  Proof.
    intros b i a l Hdoes Hgot Hload Hweak.
    apply (proj1 (every_access_is_sound (b, i))); auto.
    split; auto. eapply nothing_from_nowhere; eauto.
  Qed.

  Lemma what_happens_is_one_access : forall e a,
    is_access E e a -> one_access written (fst e) (got E (fst e)) (snd e) a.
  Proof.
    intros e a [He Ha]. repeat split; auto.
    - now apply (only_blocks_of_the_grid E).
    - apply what_is_read_is_allowed.
  Qed.
End Reads.

Section RaceFree.
  Context {L : launch}.
  Variable written : array L -> Prop.
  Variable learnt : block -> results (id L) -> id L -> block -> results (id L) -> id L -> Prop.
  Hypothesis obligations : obligations_hold_with written learnt.
  Variable E : execution L.
  Hypothesis is_possible : possible E.

  Definition learnt_of (e e' : event L) : Prop :=
    learnt (fst e) (got E (fst e)) (snd e) (fst e') (got E (fst e')) (snd e').

  Lemma reads_allowed : forall b, allowed written b (got E b).
  Proof.
    apply (what_is_read_is_allowed written (tv302_inside _ _ obligations) (written_over_approximated _ _ obligations) E
      is_possible).
  Qed.

  Lemma is_one_access : forall e a,
    is_access E e a -> one_access written (fst e) (got E (fst e)) (snd e) a.
  Proof.
    apply (what_happens_is_one_access written (tv302_inside _ _ obligations) (written_over_approximated _ _ obligations)
      E is_possible).
  Qed.

  (** ** Sections 7 and 8: what conflicts is ordered, or morally strong *)

  (** A conflict, but that lanes of one atomic op are not excepted. *)
  Definition meet (e : event L) a (e' : event L) a' : Prop :=
    e <> e' /\ is_access E e a /\ is_access E e' a' /\ share_a_byte a a' /\ one_writes a a'.

  Lemma between_blocks : forall e a e' a',
    meet e a e' a' -> fst e <> fst e' -> learnt_of e e' -> morally_strong (fst e) a (fst e') a'.
  Proof.
    intros e a e' a' (_ & Ha & Ha' & Hshare & Hwrite) Hblocks Hlearnt.
    assert (Htwo : two_blocks written (fst e) (got E (fst e)) (snd e) a (fst e') (got E (fst e')) (snd e') a').
    { split; [now apply is_one_access|]. split; [now apply is_one_access|auto]. }
    destruct (scoped a) as [s|] eqn:Hs, (scoped a') as [s'|] eqn:Hs'.
    1-3: apply (tv103 _ _ obligations _ _ _ _ _ _ _ _ Htwo Hlearnt);
      [unfold weak; intros [? ?]; congruence | exact Hwrite].
    exfalso.
    destruct (bool_dec (writes a && writes a') true) as [Hboth|Hnot].
    - apply andb_true_iff in Hboth. now apply (tv101 _ _ obligations _ _ _ _ _ _ _ _ Htwo Hlearnt).
    - apply (tv102 _ _ obligations _ _ _ _ _ _ _ _ Htwo Hlearnt); auto.
      intros Hboth. now apply Hnot, andb_true_iff.
  Qed.

  (** Scopes include a block's own accesses. *)
  Lemma scoped_in_one_block : forall b (a a' : access (array L)),
    scoped a <> None -> scoped a' <> None -> width a = width a' -> morally_strong b a b a'.
  Proof.
    intros b a a' Ha Ha' Hwidth. unfold morally_strong, scope_includes.
    destruct (scoped a) as [[]|]; destruct (scoped a') as [[]|]; auto; congruence.
  Qed.

  Lemma inside_a_block : forall e a e' a',
    meet e a e' a' -> fst e = fst e' ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof.
    intros [b i] a [b' i'] a' (Hneq & Ha & Ha' & Hshare & Hwrite) Hblocks.
    simpl in *. subst b'.
    pose proof (is_one_access _ _ Ha) as H. pose proof (is_one_access _ _ Ha') as H'. simpl in *.
    assert (Htwo : two_accesses written b (got E b) i a i' a').
    { repeat split; auto; try apply H; try apply H'. intros ->. now apply Hneq. }
    destruct (same_op i i') eqn:Hop.
    - (* lanes of one op *)
      destruct (ops_of_one_kind _ _ obligations _ _ _ _ _ _ H H' Hop) as (Hkind & Hscope & Hwidth).
      destruct (scoped a) as [s|] eqn:Hs.
      + left. apply scoped_in_one_block; auto; congruence.
      + exfalso. destruct (kind_of a) eqn:Hk.
        * unfold one_writes, writes in Hwrite. rewrite Hk, <- Hkind in Hwrite. destruct Hwrite; discriminate.
        * now apply (tv202 _ _ obligations _ _ _ _ _ _ Htwo).
        * exact (rmw_is_scoped L b (got E b) i a (proj2 (proj2 H)) Hk Hs).
        * unfold one_writes, writes in Hwrite. rewrite Hk, <- Hkind in Hwrite. destruct Hwrite; discriminate.
    - (* different ops *)
      assert (Hms : (scoped a <> None /\ scoped a' <> None /\ width a = width a')
                    \/ ~ (scoped a <> None /\ scoped a' <> None /\ width a = width a')).
      { destruct (scoped a), (scoped a'), (PeanoNat.Nat.eq_dec (width a) (width a'));
          ((left; repeat split; congruence) || (right; intros (? & ? & ?); congruence)). }
      destruct Hms as [(Hs & Hs' & Hwidth)|Hms].
      + left. now apply scoped_in_one_block.
      + right. destruct (tv201 _ _ obligations _ _ _ _ _ _ Htwo Hop Hwrite Hms) as [Hw|Hw].
        * right. repeat split; auto; try apply Ha; apply Ha'.
        * left. repeat split; auto; try apply Ha; apply Ha'.
  Qed.

  Lemma same_block : forall b b' : block, b = b' \/ b <> b'.
  Proof. intros [[x y] z] [[x' y'] z']. destruct (Z.eq_dec x x'), (Z.eq_dec y y'), (Z.eq_dec z z');
    ((left; congruence) || (right; congruence)). Qed.

  Theorem meetings_excused : forall e a e' a',
    meet e a e' a' -> (fst e <> fst e' -> learnt_of e e') ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof.
    intros e a e' a' H Hlearnt. destruct (same_block (fst e) (fst e')).
    - now apply inside_a_block.
    - left. now apply between_blocks; auto.
  Qed.

  (** What is learnt holds if the two race (Protocols.v, Counters.v). *)
  Hypothesis learnt_if_they_race : forall e e', fst e <> fst e' -> race E e e' -> learnt_of e e'.

  Theorem no_race : forall e e', ~ race E e e'.
  Proof.
    intros e e' Hrace. pose proof Hrace as (a & a' & Hconflict & Hbefore & Hafter & Hstrong).
    destruct Hconflict as (Hneq & Ha & Ha' & Hshare & Hwrite & _).
    destruct (meetings_excused e a e' a') as [H|[H|H]].
    - exact (conj Hneq (conj Ha (conj Ha' (conj Hshare Hwrite)))).
    - intros Hblocks. now apply learnt_if_they_race.
    - contradiction.
    - apply Hbefore. now apply by_token.
    - apply Hafter. now apply by_token.
  Qed.
End RaceFree.

Section WithoutProtocols.
  Context {L : launch}.
  Variable written : array L -> Prop.
  Hypothesis obligations : obligations_hold written.
  Variable E : execution L.
  Hypothesis is_possible : possible E.

  Theorem reads_are_allowed : forall b, allowed written b (got E b).
  Proof. exact (reads_allowed written _ obligations E is_possible). Qed.

  Lemma an_event_is_one_access : forall e a,
    is_access E e a -> one_access written (fst e) (got E (fst e)) (snd e) a.
  Proof. exact (is_one_access written _ obligations E is_possible). Qed.

  Theorem meetings_are_excused : forall e a e' a', meet E e a e' a' ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Proof.
    intros e a e' a' H. apply (meetings_excused written _ obligations E is_possible e a e' a' H). intros _. exact I.
  Qed.
End WithoutProtocols.

(** The theorem in one line, for the reader: what is on the left speaks of one or two copies of a generic block, what is
    on the right of all executions of all blocks. *)
Theorem race_free : forall (L : launch) (written : array L -> Prop),
  obligations_hold written -> forall E : execution L, possible E -> forall e e', ~ race E e e'.
Proof.
  intros L written obligations E is_possible. apply (no_race written _ obligations E is_possible).
  intros e e' _ _. exact I.
Qed.

(** The same with protocols: a question between blocks may assume what holds in every execution in which the two
    accesses race. *)
Theorem race_free_with_protocols : forall (L : launch) (written : array L -> Prop) learnt,
  obligations_hold_with written learnt -> forall E : execution L, possible E ->
  (forall e e', fst e <> fst e' -> race E e e' -> learnt_of learnt E e e') ->
  forall e e', ~ race E e e'.
Proof.
  intros L written learnt obligations E is_possible sound.
  exact (no_race written learnt obligations E is_possible sound).
Qed.
