(** What is read, and what remains, as a function of an order of writes.  Where what meets is ordered, or morally
    strong,
    - what a write leaves at a byte is what its predecessors leave, performed one after the other;
    - what a weak load finds is what the writes leave for which it waits. *)

From Coq Require Import ZArith List Bool Permutation Wellfounded Lia.
From TileVerify Require Import Machine Orders.
Import ListNotations.

Section Values.
  Context {L : launch}.
  Variable E : execution L.
  Hypothesis is_possible : possible E.
  Variable place : addr -> Prop.
  Hypothesis is_coherent : coherent_at E place.

  (** Two writes that meet at [place], and a load and a write, are ordered by tokens or morally strong; and writes that
      meet an atomic there are of the same element. *)
  Hypothesis writes_excused : forall e a e' a' x, place x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> writes a = true -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Hypothesis loads_excused : forall e a e' a' x, place x -> is_access E e a -> is_access E e' a' -> e <> e' ->
    In x (bytes a) -> In x (bytes a') -> kind_of a = Load -> writes a' = true ->
    morally_strong (fst e) a (fst e') a' \/ token_before E e e' \/ token_before E e' e.
  Hypothesis elements : forall e a e' a' x, place x -> is_access E e a -> is_access E e' a' ->
    kind_of a = Rmw -> writes a' = true -> In x (bytes a) -> In x (bytes a') -> bytes a' = bytes a.
  Hypothesis elements_lie_there : forall e a x y, is_access E e a -> kind_of a = Rmw -> place x ->
    In x (bytes a) -> In y (bytes a) -> place y.

  (** ** Writes to a byte, performed *)

  Definition writes_at (x : addr) (e : event L) : bool :=
    match access_of E e with Some a => writes a && touches a x | None => false end.

  Definition run (e : event L) (m : memory) : memory :=
    match access_of E e with Some a => perform a m | None => m end.

  (** What byte [x] holds after the writes of [l] to it. *)
  Definition after (x : addr) (l : list (event L)) : memory := runs run (filter (writes_at x) l) (initial L).

  Lemma touches_in : forall (a : access (array L)) x, touches a x = true <-> In x (bytes a).
  Proof.
    intros a x. unfold touches. rewrite existsb_exists. split.
    - intros (y & Hy & Heq). apply Z.eqb_eq in Heq. now subst.
    - intros H. exists x. split; auto. apply Z.eqb_refl.
  Qed.

  Lemma writes_to_at : forall e x, writes_to E e x <-> performed E e /\ writes_at x e = true.
  Proof.
    intros e x. unfold writes_at. split.
    - intros (a & [He Ha] & Hw & Hx). rewrite Ha. split; auto. apply andb_true_iff. split; auto. now apply touches_in.
    - intros [He H]. destruct (access_of E e) as [a|] eqn:Ha; [|discriminate].
      apply andb_true_iff in H. destruct H as [Hw Hx]. exists a. split; [now split|]. split; auto. now apply touches_in.
  Qed.

  Lemma perform_pointwise : forall (a : access (array L)) m m',
    (forall x, m x = m' x) -> forall x, perform a m x = perform a m' x.
  Proof.
    intros a m m' H x. unfold perform. destruct (writes a && touches a x); auto.
    destruct (reads a); auto. now rewrite (map_ext m m' H).
  Qed.

  Lemma run_pointwise : forall e m m', (forall x, m x = m' x) -> forall x, run e m x = run e m' x.
  Proof. intros e m m' H x. unfold run. destruct (access_of E e); auto using perform_pointwise. Qed.

  (** ** Meetings *)

  Lemma writes_of_one_byte_meet : forall e a w x, place x ->
    is_access E e a -> writes a = true -> In x (bytes a) -> writes_to E w x -> e <> w ->
    exists a', is_access E w a' /\ In x (bytes a') /\ writes a' = true /\
      (morally_strong (fst e) a (fst w) a' \/ token_before E e w \/ token_before E w e).
  Proof.
    intros e a w x Hplace Ha Hwrites Hx (a' & Ha' & Hw & Hx') Hneq. exists a'. repeat (split; auto).
    apply (writes_excused e a w a' x); auto.
  Qed.

  Lemma not_in_order : forall u v, in_order E u v -> in_order E v u -> False.
  Proof. intros u v. apply precedes_antisymmetric. now apply (each_write_once E place). Qed.

  Lemma no_cause_of_itself : forall e, ~ causes E e e.
  Proof.
    intros e. induction (no_thin_air E is_possible e) as [e _ IH]. intros H. now apply (IH e H).
  Qed.

  Lemma ordered_by_token : forall u v x, place x ->
    writes_to E u x -> writes_to E v x -> token_before E u v -> in_order E u v.
  Proof.
    intros u v x Hplace Hu Hv H. apply (order_of_writes E place is_coherent u v x); auto. now apply by_token.
  Qed.

  (** Before [w], which reads and writes byte [x] at once, no write of [x] comes after its source. *)
  Lemma nothing_between : forall w a x w', place x -> is_access E w a -> kind_of a = Rmw -> In x (bytes a) ->
    writes_to E w' x -> in_order E w' w ->
    match source E w x with Some s => w' = s \/ in_order E w' s | None => False end.
  Proof.
    intros w a x w' Hplace Ha Hrmw Hx Hw' Hbefore.
    assert (Hneq : w <> w') by (intros ->; exact (not_in_order _ _ Hbefore Hbefore)).
    assert (Hwx : writes_to E w x) by (exists a; unfold writes; rewrite Hrmw; auto).
    assert (Hread : reads_at E w x) by (exists a; unfold reads; rewrite Hrmw; auto).
    assert (Hwrites : writes a = true) by (unfold writes; now rewrite Hrmw).
    destruct (writes_of_one_byte_meet _ _ _ _ Hplace Ha Hwrites Hx Hw' Hneq) as (a' & Ha' & Hx' & Hwr' & Hcase).
    destruct (source E w x) as [s|] eqn:Hs; destruct Hcase as [Hms|[Htok|Htok]].
    - exact (atomicity E place is_coherent w a x s w' a' Hplace Ha Hrmw Hx Hs Ha' Hw' Hneq Hms Hbefore).
    - exfalso. exact (not_in_order _ _ Hbefore (ordered_by_token _ _ _ Hplace Hwx Hw' Htok)).
    - assert (Hsx : writes_to E s x).
      { destruct (values_have_sources E is_possible _ _ Ha) as (l & _ & Hl). unfold reads in Hl. rewrite Hrmw in Hl.
        clear - Hl Hx Hs. induction Hl as [|y v ys vs Hy _ IH]; [contradiction|].
        destruct Hx as [->|Hx]; [|auto]. unfold finds in Hy. rewrite Hs in Hy.
        destruct Hy as (as' & ls & H1 & H2 & H3 & _). exists as'. auto. }
      destruct (precedes_total (modifications E) w' s) as [H|[H|H]]; auto.
      + apply (all_writes E place is_coherent). eauto.
      + apply (all_writes E place is_coherent). eauto.
      + exfalso. exact (reads_the_latest E place is_coherent w x s w' Hplace Hread Hs Hw' (by_token _ _ _ Htok) H).
    - exact (atomicity_at_first E place is_coherent w a x w' a' Hplace Ha Hrmw Hx Hs Ha' Hw' Hneq Hms Hbefore).
    - exfalso. exact (not_in_order _ _ Hbefore (ordered_by_token _ _ _ Hplace Hwx Hw' Htok)).
    - exact (reads_the_beginning E place is_coherent w x w' Hplace Hread Hs Hw' (by_token _ _ _ Htok)).
  Qed.

  (** The source of an atomic read-modify-write comes before it. *)
  Lemma source_before : forall w a x s, place x -> is_access E w a -> kind_of a = Rmw -> In x (bytes a) ->
    source E w x = Some s -> writes_to E s x -> in_order E s w.
  Proof.
    intros w a x s Hplace Ha Hrmw Hx Hs Hsx.
    assert (Hwx : writes_to E w x) by (exists a; unfold writes; rewrite Hrmw; auto).
    assert (Hread : reads_at E w x) by (exists a; unfold reads; rewrite Hrmw; auto).
    assert (Hneq : w <> s).
    { intros ->. apply (no_cause_of_itself s). split; [apply Ha|]. split; [apply Ha|]. right. eauto. }
    assert (Hwrites : writes a = true) by (unfold writes; now rewrite Hrmw).
    destruct (writes_of_one_byte_meet _ _ _ _ Hplace Ha Hwrites Hx Hsx Hneq)
      as (a' & Ha' & Hx' & Hwr' & [Hms|[Htok|Htok]]).
    - exact (atomic_source E place is_coherent w a x s a' Hplace Ha Hrmw Hx Hs Ha' Hms).
    - exfalso. pose proof (reads_nothing_later E place is_coherent w x s s Hplace Hread Hs Hsx (by_token _ _ _ Htok))
        as H.
      exact (not_in_order _ _ H H).
    - exact (ordered_by_token _ _ _ Hplace Hsx Hwx Htok).
  Qed.

  Lemma same_writers : forall w a x y, place x -> is_access E w a -> kind_of a = Rmw ->
    In x (bytes a) -> In y (bytes a) ->
    forall l, (forall u, In u l -> In u (modifications E)) -> filter (writes_at y) l = filter (writes_at x) l.
  Proof.
    intros w a x y Hplace Ha Hrmw Hx Hy l Hl. apply filter_ext_in. intros u Hu.
    assert (Hplace' : place y) by (eapply elements_lie_there; eauto).
    assert (Hperf : performed E u).
    { apply Hl, (all_writes E place is_coherent) in Hu. destruct Hu as (z & _ & a' & [H _] & _). exact H. }
    unfold writes_at. destruct (access_of E u) as [au|] eqn:Hau; auto.
    assert (Hu' : is_access E u au) by now split.
    destruct (writes au) eqn:Hwu; auto. simpl.
    destruct (touches au x) eqn:Hux, (touches au y) eqn:Huy; auto; exfalso.
    - apply touches_in in Hux. pose proof (elements _ _ _ _ _ Hplace Ha Hu' Hrmw Hwu Hx Hux) as H.
      rewrite <- H in Hy. apply touches_in in Hy. congruence.
    - apply touches_in in Huy. pose proof (elements _ _ _ _ _ Hplace' Ha Hu' Hrmw Hwu Hy Huy) as H.
      rewrite <- H in Hx. apply touches_in in Hx. congruence.
  Qed.

  Lemma after_write : forall x p w a, is_access E w a -> writes a = true -> In x (bytes a) ->
    after x (p ++ [w]) x = written_by a (if reads a then map (after x p) (bytes a) else []) x.
  Proof.
    intros x p w a [_ Ha] Hw Hx. apply touches_in in Hx. unfold after. rewrite filter_app, runs_app. simpl.
    assert (H : writes_at x w = true) by (unfold writes_at; rewrite Ha, Hw, Hx; reflexivity).
    rewrite H. simpl. unfold run at 1. rewrite Ha. unfold perform. now rewrite Hw, Hx.
  Qed.

  Lemma filter_right : forall x p q, (forall u, In u q -> writes_at x u = false) -> after x (p ++ q) = after x p.
  Proof. intros x p q H. unfold after. rewrite filter_app, (filter_nothing _ q H), app_nil_r. reflexivity. Qed.

  (** ** What a write leaves *)

  (** The writes before [w], when what each of them left is known: what an atomic read-modify-write finds. *)
  Lemma finds_what_its_predecessors_left : forall p w q a x y v,
    modifications E = p ++ w :: q -> place x -> is_access E w a -> kind_of a = Rmw ->
    In x (bytes a) -> In y (bytes a) ->
    (forall p1 s p2 u, p = p1 ++ s :: p2 -> leaves E s y u -> u = after y (p1 ++ [s]) y) ->
    finds E w y v -> v = after x p y.
  Proof.
    intros p w q a x y v Hsplit Hplace Ha Hrmw Hx Hy Hleft Hfind.
    assert (Hplace' : place y) by (eapply elements_lie_there; eauto).
    assert (Hnodup : NoDup (p ++ w :: q)) by (rewrite <- Hsplit; now apply (each_write_once E place)).
    assert (Hmods : forall u, In u p -> In u (modifications E)) by (intros u Hu; rewrite Hsplit; apply in_or_app; auto).
    assert (Heq : after x p = after y p) by (unfold after; erewrite same_writers; eauto).
    rewrite Heq.
    assert (Hbetween : forall u, In u p -> writes_at y u = true ->
              match source E w y with Some s => u = s \/ in_order E u s | None => False end).
    { intros u Hu Hwu. eapply nothing_between; eauto.
      - apply writes_to_at. split; auto. apply Hmods, (all_writes E place is_coherent) in Hu.
        destruct Hu as (z & _ & au & [H _] & _). exact H.
      - unfold in_order. rewrite Hsplit. apply precedes_middle; simpl; auto. }
    unfold finds in Hfind. destruct (source E w y) as [s|] eqn:Hs.
    - assert (Hsy : writes_to E s y) by (destruct Hfind as (? & ? & ? & ? & ? & _); eexists; eauto).
      pose proof (source_before _ _ _ _ Hplace' Ha Hrmw Hy Hs Hsy) as Horder.
      unfold in_order in Horder. rewrite Hsplit in Horder. apply left_of in Horder; auto.
      apply in_split in Horder. destruct Horder as (p1 & p2 & ->).
      rewrite (Hleft p1 s p2 v eq_refl Hfind).
      replace (p1 ++ s :: p2) with ((p1 ++ [s]) ++ p2) by (rewrite <- app_assoc; reflexivity).
      rewrite (filter_right y (p1 ++ [s]) p2); auto.
      intros u Hu. destruct (writes_at y u) eqn:Hwu; auto. exfalso.
      assert (Hin : In u (p1 ++ s :: p2)) by (apply in_or_app; simpl; auto).
      assert (Hlater : in_order E s u).
      { unfold in_order. rewrite Hsplit. apply precedes_of_prefix. now apply right_of. }
      destruct (Hbetween u Hin Hwu) as [->|H].
      + exact (not_in_order _ _ Hlater Hlater).
      + exact (not_in_order _ _ Hlater H).
    - rewrite Hfind. unfold after. rewrite filter_nothing; [reflexivity|].
      intros u Hu. destruct (writes_at y u) eqn:Hwu; auto. exfalso. now apply (Hbetween u).
  Qed.

  Theorem leaves_what_its_predecessors_make : forall p w q x v, place x ->
    modifications E = p ++ w :: q -> leaves E w x v -> v = after x (p ++ [w]) x.
  Proof.
    intros p. induction p as [p IH] using (well_founded_induction (wf_inverse_image _ _ _ (@length _) Wf_nat.lt_wf)).
    intros w q x v Hplace Hsplit (a & l & Ha & Hw & Hx & Hgot & ->).
    rewrite (after_write x p w a Ha Hw Hx). f_equal.
    destruct (values_have_sources E is_possible _ _ Ha) as (l' & Hgot' & Hfinds).
    rewrite Hgot in Hgot'. injection Hgot' as <-.
    destruct (reads a) eqn:Hreads; [|exact Hfinds].
    assert (Hrmw : kind_of a = Rmw).
    { unfold reads in Hreads. unfold writes in Hw. destruct (kind_of a); auto; discriminate. }
    assert (Hvalue : forall y vy, In y (bytes a) -> finds E w y vy -> vy = after x p y).
    { intros y vy Hy. apply (finds_what_its_predecessors_left p w q a x y vy Hsplit Hplace Ha Hrmw Hx Hy).
      intros p1 s p2 u -> Hleaves. apply (IH p1) with (q := p2 ++ w :: q); auto.
      - rewrite app_length. simpl. lia.
      - eapply elements_lie_there; eauto.
      - rewrite Hsplit, <- app_assoc. reflexivity. }
    clear - Hfinds Hvalue. induction Hfinds as [|y vy ys vs Hy _ IH]; simpl; auto. f_equal.
    - apply Hvalue; simpl; auto.
    - apply IH. intros. apply Hvalue; simpl; auto.
  Qed.

  (** An atomic read-modify-write gives back what all before it make, performed one after the other. *)
  Theorem atomic_gives_back : forall p w q a x l, place x ->
    modifications E = p ++ w :: q -> is_access E w a -> kind_of a = Rmw -> In x (bytes a) ->
    got E (fst w) (snd w) = Some l -> l = map (after x p) (bytes a).
  Proof.
    intros p w q a x l Hplace Hsplit Ha Hrmw Hx Hgot.
    destruct (values_have_sources E is_possible _ _ Ha) as (l' & Hgot' & Hfinds).
    rewrite Hgot in Hgot'. injection Hgot' as <-. unfold reads in Hfinds. rewrite Hrmw in Hfinds.
    assert (Hvalue : forall y vy, In y (bytes a) -> finds E w y vy -> vy = after x p y).
    { intros y vy Hy. apply (finds_what_its_predecessors_left p w q a x y vy Hsplit Hplace Ha Hrmw Hx Hy).
      intros p1 s p2 u -> Hleaves. apply (leaves_what_its_predecessors_make p1 s (p2 ++ w :: q)); auto.
      - eapply elements_lie_there; eauto.
      - rewrite Hsplit, <- app_assoc. reflexivity. }
    clear - Hfinds Hvalue. induction Hfinds as [|y vy ys vs Hy _ IH]; simpl; auto. f_equal.
    - apply Hvalue; simpl; auto.
    - apply IH. intros. apply Hvalue; simpl; auto.
  Qed.

  (** ** What a weak load finds *)

  Definition waited_for (e : event L) (x : addr) (l : list (event L)) : Prop :=
    NoDup l /\ (forall u v, precedes l u v -> in_order E u v) /\
    (forall w, In w l <-> writes_to E w x /\ token_before E w e).

  Theorem weak_load_finds : forall e a x v, place x ->
    is_access E e a -> kind_of a = Load -> weak a -> In x (bytes a) ->
    finds E e x v -> exists l, waited_for e x l /\ v = runs run l (initial L) x.
  Proof.
    intros e a x v Hplace Ha Hload Hweak Hx Hfind.
    assert (Hread : reads_at E e x) by (exists a; unfold reads; rewrite Hload; auto).
    assert (Hcase : forall w, writes_to E w x -> token_before E e w \/ token_before E w e).
    { intros w Hw. assert (Hneq : e <> w).
      { intros <-. destruct Hw as (a' & [_ Ha'] & Hw & _). destruct Ha as [_ Ha]. rewrite Ha in Ha'.
        injection Ha' as <-. unfold writes in Hw. rewrite Hload in Hw. discriminate. }
      destruct Hw as (a' & Ha' & Hwr & Hx').
      destruct (loads_excused e a w a' x Hplace Ha Ha' Hneq Hx Hx' Hload Hwr) as [(Hms & _)|H]; auto.
      unfold scope_includes in Hms. rewrite Hweak in Hms. contradiction. }
    unfold finds in Hfind. destruct (source E e x) as [s|] eqn:Hs.
    - assert (Hsx : writes_to E s x) by (destruct Hfind as (? & ? & ? & ? & ? & _); eexists; eauto).
      assert (Hin : In s (modifications E)) by (apply (all_writes E place is_coherent); eauto).
      apply in_split in Hin. destruct Hin as (p & q & Hsplit).
      assert (Hnodup : NoDup (p ++ s :: q)) by (rewrite <- Hsplit; now apply (each_write_once E place)).
      assert (Hre : p ++ s :: q = (p ++ [s]) ++ q) by (rewrite <- app_assoc; reflexivity).
      exists (filter (writes_at x) (p ++ [s])). split; [split; [|split]|].
      + apply NoDup_filter. rewrite Hre in Hnodup. now apply nodup_prefix in Hnodup.
      + intros u w H. unfold in_order. rewrite Hsplit, Hre. apply precedes_of_prefix.
        now apply precedes_of_filter in H.
      + intros w. rewrite filter_In, writes_to_at. split.
        * intros [Hw Hwx].
          assert (Hmod : In w (modifications E)) by (rewrite Hsplit, Hre; apply in_or_app; auto).
          assert (Hperf : performed E w).
          { apply (all_writes E place is_coherent) in Hmod. destruct Hmod as (z & _ & aw & [H _] & _). exact H. }
          split; auto. destruct (Hcase w) as [H|H]; auto; [now apply writes_to_at|]. exfalso.
          assert (Hlater : in_order E s w).
          { apply (reads_nothing_later E place is_coherent e x s w Hplace Hread Hs);
              [now apply writes_to_at|now apply by_token]. }
          apply in_app_iff in Hw. destruct Hw as [Hw|[->|[]]].
          -- apply (not_in_order s w Hlater). unfold in_order. rewrite Hsplit. apply precedes_middle; simpl; auto.
          -- exact (not_in_order _ _ Hlater Hlater).
        * intros [[Hperf Hwx] Htok]. split; auto.
          assert (Hmod : In w (p ++ s :: q)).
          { rewrite <- Hsplit. apply (all_writes E place is_coherent). exists x. split; auto. now apply writes_to_at. }
          apply in_app_iff in Hmod. apply in_app_iff. simpl in *.
          destruct Hmod as [?|[?|Hq]]; auto. exfalso.
          apply (reads_the_latest E place is_coherent e x s w Hplace Hread Hs);
            [now apply writes_to_at|now apply by_token|].
          unfold in_order. rewrite Hsplit. now apply right_of.
      + exact (leaves_what_its_predecessors_make p s q x v Hplace Hsplit Hfind).
    - exists []. split; [split; [constructor|split]|exact Hfind].
      + simpl. contradiction.
      + intros w. simpl. split; [contradiction|]. intros [Hw Htok].
        exact (reads_the_beginning E place is_coherent e x w Hplace Hread Hs Hw (by_token _ _ _ Htok)).
  Qed.

  (** ** What remains *)

  Lemma last_writer : forall x l, (exists w, In w l /\ writes_at x w = true) ->
    exists p w q, l = p ++ w :: q /\ writes_at x w = true /\ forall u, In u q -> writes_at x u = false.
  Proof.
    intros x l. induction l as [|u l IH]; intros (w & Hw & Hwx); [contradiction|].
    destruct (existsb (writes_at x) l) eqn:Hex.
    - apply existsb_exists in Hex. destruct (IH Hex) as (p & w' & q & -> & H & Hq).
      exists (u :: p), w', q. auto.
    - assert (Hnone : forall z, In z l -> writes_at x z = false).
      { intros z Hz. destruct (writes_at x z) eqn:H; auto.
        rewrite <- Hex. symmetry. apply existsb_exists. eauto. }
      destruct Hw as [->|Hw]; [exists [], w, l; auto|]. rewrite (Hnone w Hw) in Hwx. discriminate.
  Qed.

  Theorem remains : forall x v, place x -> finally E x v -> v = after x (modifications E) x.
  Proof.
    intros x v Hplace [(p & w & q & Hsplit & Hleaves & Hq)|[Hnone ->]].
    - rewrite Hsplit. replace (p ++ w :: q) with ((p ++ [w]) ++ q) by (rewrite <- app_assoc; reflexivity).
      rewrite filter_right.
      + eapply leaves_what_its_predecessors_make; eauto.
      + intros u Hu. destruct (writes_at x u) eqn:Hwu; auto. exfalso. apply (Hq u Hu). apply writes_to_at. split; auto.
        assert (Hmod : In u (modifications E)) by (rewrite Hsplit; apply in_or_app; simpl; auto).
        apply (all_writes E place is_coherent) in Hmod. destruct Hmod as (z & _ & au & [H _] & _). exact H.
    - unfold after. rewrite filter_nothing; auto. intros u Hu.
      destruct (writes_at x u) eqn:Hwu; auto. exfalso. apply (Hnone u). apply writes_to_at. split; auto.
      apply (all_writes E place is_coherent) in Hu. destruct Hu as (z & _ & au & [H _] & _). exact H.
  Qed.

  Theorem something_remains : forall x, place x -> exists v, finally E x v.
  Proof.
    intros x Hplace. destruct (existsb (writes_at x) (modifications E)) eqn:Hex.
    - apply existsb_exists in Hex. destruct (last_writer x _ Hex) as (p & w & q & Hsplit & Hw & Hq).
      assert (Hmod : In w (modifications E)) by (rewrite Hsplit; apply in_or_app; simpl; auto).
      apply (all_writes E place is_coherent) in Hmod. destruct Hmod as (z & _ & aw & [Hperf Haw] & _).
      assert (Hwx : writes_to E w x) by (apply writes_to_at; auto).
      destruct Hwx as (a & Ha & Hwr & Hx).
      destruct (values_have_sources E is_possible _ _ Ha) as (l & Hgot & _).
      exists (written_by a l x). left. exists p, w, q. split; [exact Hsplit|]. split.
      + exists a, l. auto.
      + intros u Hu Hux. apply writes_to_at in Hux. rewrite (Hq u Hu) in Hux. destruct Hux. discriminate.
    - exists (initial L x). right. split; auto. intros w Hw.
      assert (Hmod : In w (modifications E)) by (apply (all_writes E place is_coherent); eauto).
      apply writes_to_at in Hw. destruct Hw as [_ Hw].
      rewrite <- not_true_iff_false in Hex. apply Hex. apply existsb_exists. eauto.
  Qed.
End Values.
