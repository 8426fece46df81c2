(** Lists of writes that are put into another order: if whatever changes places commutes, memory is the same. *)

From Coq Require Import List Bool Permutation.
From TileVerify Require Import Machine.
Import ListNotations.

(** ** Orders in lists *)

Section Precedes.
  Context {A : Type}.
  Implicit Types l p q : list A.

  Lemma precedes_in : forall l u v, precedes l u v -> In u l /\ In v l.
  Proof.
    induction l as [|a l IH]; simpl; [contradiction|].
    intros u v [[-> H]|H]; [auto|]. destruct (IH _ _ H). auto.
  Qed.

  Lemma precedes_middle : forall p q u v, In u p -> In v q -> precedes (p ++ q) u v.
  Proof.
    induction p as [|a p IH]; simpl; [contradiction|].
    intros q u v [->|H] Hv; [left|right]; auto. split; auto. apply in_or_app. auto.
  Qed.

  Lemma precedes_inserted : forall p a q u v, precedes (p ++ q) u v -> precedes (p ++ a :: q) u v.
  Proof.
    induction p as [|b p IH]; simpl; intros a q u v H; [now right|].
    destruct H as [[-> H]|H]; [left|right]; auto. split; auto.
    apply in_app_iff in H. apply in_app_iff. simpl. tauto.
  Qed.

  Lemma precedes_antisymmetric : forall l u v, NoDup l -> precedes l u v -> precedes l v u -> False.
  Proof.
    induction l as [|a l IH]; simpl; [contradiction|]. intros u v Hl.
    inversion Hl as [|? ? Ha Hl']; subst.
    intros [[-> H]|H] [[-> H']|H'].
    - contradiction.
    - apply Ha. now apply precedes_in in H'.
    - apply Ha. now apply precedes_in in H.
    - eauto.
  Qed.

  Lemma precedes_total : forall l u v, In u l -> In v l -> u = v \/ precedes l u v \/ precedes l v u.
  Proof.
    induction l as [|a l IH]; simpl; [contradiction|].
    intros u v [->|Hu] [->|Hv]; auto. destruct (IH _ _ Hu Hv) as [?|[?|?]]; auto.
  Qed.

  Lemma precedes_filter : forall f l u v,
    precedes l u v -> f u = true -> f v = true -> precedes (filter f l) u v.
  Proof.
    induction l as [|a l IH]; simpl; [contradiction|]. intros u v [[-> H]|H] Hu Hv.
    - rewrite Hu. simpl. left. split; auto. now apply filter_In.
    - destruct (f a); simpl; auto.
  Qed.

  Lemma precedes_of_filter : forall f l u v, precedes (filter f l) u v -> precedes l u v.
  Proof.
    induction l as [|a l IH]; simpl; [contradiction|]. intros u v H.
    destruct (f a); simpl in H; [|auto]. destruct H as [[-> H]|H]; [left|right]; auto.
    split; auto. now apply filter_In in H.
  Qed.

  Lemma precedes_of_prefix : forall p q u v, precedes p u v -> precedes (p ++ q) u v.
  Proof.
    induction p as [|a p IH]; simpl; [contradiction|].
    intros q u v [[-> H]|H]; [left|right]; auto. split; auto. apply in_or_app. auto.
  Qed.

  (** In a list without repetitions, what comes before [w] is what stands to its left. *)
  Lemma left_of : forall p w q u, NoDup (p ++ w :: q) -> precedes (p ++ w :: q) u w -> In u p.
  Proof.
    intros p w q u Hnodup H. pose proof (precedes_in _ _ _ H) as [Hu _].
    apply in_app_iff in Hu. destruct Hu as [Hu|[->|Hu]]; auto; exfalso.
    - exact (precedes_antisymmetric _ _ _ Hnodup H H).
    - apply (precedes_antisymmetric _ u w Hnodup H).
      replace (p ++ w :: q) with ((p ++ [w]) ++ q) by (rewrite <- app_assoc; reflexivity).
      apply precedes_middle; auto. apply in_or_app. simpl. auto.
  Qed.

  Lemma right_of : forall p w q u, In u q -> precedes (p ++ w :: q) w u.
  Proof.
    intros p w q u H.
    replace (p ++ w :: q) with ((p ++ [w]) ++ q) by (rewrite <- app_assoc; reflexivity).
    apply precedes_middle; auto. apply in_or_app. simpl. auto.
  Qed.

  Lemma nodup_prefix : forall p q, NoDup (p ++ q) -> NoDup p.
  Proof.
    induction p as [|a p IH]; simpl; intros q H; [constructor|]. inversion H as [|? ? Ha H']; subst. constructor.
    - intros Hin. apply Ha. apply in_or_app. auto.
    - eauto.
  Qed.

  Lemma filter_nothing : forall f l, (forall u, In u l -> f u = false) -> filter f l = [].
  Proof.
    induction l as [|a l IH]; simpl; intros H; auto. rewrite (H a); auto.
  Qed.
End Precedes.

(** ** Memory after a list of writes *)

Section Runs.
  Context {A : Type}.
  Variable run : A -> memory -> memory.
  Hypothesis run_pointwise : forall u m m', (forall x, m x = m' x) -> forall x, run u m x = run u m' x.

  Definition runs (l : list A) (m : memory) : memory := fold_left (fun m u => run u m) l m.

  Definition commute (u v : A) : Prop := forall m x, run u (run v m) x = run v (run u m) x.

  Lemma runs_pointwise : forall l m m', (forall x, m x = m' x) -> forall x, runs l m x = runs l m' x.
  Proof. induction l; simpl; auto. Qed.

  Lemma runs_app : forall p q m, runs (p ++ q) m = runs q (runs p m).
  Proof. intros. apply fold_left_app. Qed.

  Lemma run_later : forall p a m, (forall u, In u p -> commute a u) ->
    forall x, run a (runs p m) x = runs p (run a m) x.
  Proof.
    induction p as [|u p IH]; simpl; intros a m H x; auto.
    rewrite IH by auto. apply runs_pointwise. intros y. apply H. auto.
  Qed.

  Theorem reordered : forall l l', Permutation l l' ->
    (forall u v, precedes l u v -> precedes l' v u -> commute u v) ->
    forall m x, runs l m x = runs l' m x.
  Proof.
    induction l as [|a l IH]; intros l' Hperm H m x.
    - apply Permutation_nil in Hperm. now subst.
    - assert (Ha : In a l') by (eapply Permutation_in; [eassumption|now left]).
      apply in_split in Ha. destruct Ha as (p & q & ->).
      apply Permutation_cons_app_inv in Hperm.
      rewrite runs_app. simpl.
      transitivity (runs q (runs p (run a m)) x).
      + rewrite <- runs_app. apply IH; auto.
        intros u v Hu Hv. apply H; simpl; [now right|now apply precedes_inserted].
      + apply runs_pointwise. intros y. symmetry. apply run_later. intros u Hu.
        apply H; simpl.
        * left. split; auto. apply Permutation_sym in Hperm.
          eapply Permutation_in; [eassumption|]. apply in_or_app. auto.
        * apply precedes_middle; simpl; auto.
  Qed.
End Runs.

Lemma runs_alike : forall A (run run' : A -> memory -> memory) l,
  (forall u m m', (forall x, m x = m' x) -> forall x, run u m x = run u m' x) ->
  (forall u m x, In u l -> run u m x = run' u m x) ->
  forall m x, runs run l m x = runs run' l m x.
Proof.
  intros A run run' l Hpoint. induction l as [|u l IH]; simpl; intros H m x; auto.
  rewrite <- IH by auto. apply runs_pointwise; auto. 
Qed.
