(** Every lemma schema of the prover, proved over Z.  The statements are printed (LemmaStatements.v). *)

From Coq Require Import ZArith Bool Lia.
From TileVerify Require Import Words LemmaStatements.
Open Scope Z_scope.

(** ** Quotients and products *)

Theorem quotient : quotient_schema.
Proof.
  intros x d q m -> ->. unfold quot, mul. repeat split; intros.
  - replace (0 <? d) with true by (symmetry; now apply Z.ltb_lt). apply Z.mul_div_le. lia.
  - replace (0 <? d) with true by (symmetry; now apply Z.ltb_lt).
    pose proof (Z.mul_succ_div_gt x d). lia.
  - replace (0 <? d) with false by (symmetry; apply Z.ltb_ge; lia).
    replace (d <? 0) with true by (symmetry; now apply Z.ltb_lt).
    pose proof (Z.mul_div_le (- x) (- d)). lia.
  - replace (0 <? d) with false by (symmetry; apply Z.ltb_ge; lia).
    replace (d <? 0) with true by (symmetry; now apply Z.ltb_lt).
    pose proof (Z.mul_succ_div_gt (- x) (- d)). lia.
  - subst d. reflexivity.
Qed.

Theorem zero : zero_schema.
Proof. intros x y p ->. unfold mul. intros [->| ->]; lia. Qed.

Theorem magnitude : magnitude_schema.
Proof.
  intros s x r y p -> [Hx Hy]. unfold mul.
  replace (s * r * (x * y)) with ((s * x) * (r * y)) by ring. nia.
Qed.

Theorem order : order_schema.
Proof.
  intros f g A x p B y q -> -> (<- & Hf & Hlt). unfold mul.
  replace (A * (f * x)) with (f * (A * x)) by ring. replace (B * (f * y)) with (f * (B * y)) by ring. nia.
Qed.

Theorem equal : equal_schema.
Proof.
  intros f g A x p B y q -> -> (<- & Heq). unfold mul.
  replace (A * (f * x)) with (f * (A * x)) by ring. rewrite Heq. ring.
Qed.

Theorem distribution_below : distribution_below_schema.
Proof. intros f g x p y q -> -> (<- & Hf & Hle). unfold mul. nia. Qed.

Theorem distribution_above : distribution_above_schema.
Proof. intros f g x p y q -> -> (<- & Hf & Hlt). unfold mul. nia. Qed.

Theorem line : line_schema.
Proof. intros x A y p -> ->. reflexivity. Qed.

(** A product lies [(x - A) * (y - B)] above its tangent plane at [(A, B)]. *)
Theorem plane_above : plane_above_schema.
Proof. intros x A y B p ->. unfold mul. intros [[? ?]|[? ?]]; nia. Qed.

Theorem plane_below : plane_below_schema.
Proof. intros x A y B p ->. unfold mul. intros [[? ?]|[? ?]]; nia. Qed.

(** ** Operations on bits *)

Lemma word : forall x, - 36893488147419103232 <= x /\ x < 36893488147419103232 -> signed 66 x = x.
Proof. intros x Hx. apply signed_fits; [lia|]. change (2 ^ (66 - 1)) with 36893488147419103232. lia. Qed.

(** What [x] has and [y] has not, and what both have, is [x]. *)
Lemma split_by_bits : forall x y, Z.ldiff x y + Z.land x y = x.
Proof.
  intros x y. rewrite Z.add_nocarry_lxor.
  - apply Z.bits_inj'. intros n Hn. rewrite Z.lxor_spec, Z.ldiff_spec, Z.land_spec.
    now destruct (Z.testbit x n), (Z.testbit y n).
  - apply Z.bits_inj'. intros n Hn. rewrite !Z.land_spec, Z.ldiff_spec, Z.bits_0.
    now destruct (Z.testbit x n), (Z.testbit y n).
Qed.

Lemma or_by_bits : forall x y, Z.lor x y = Z.ldiff x y + y.
Proof.
  intros x y. rewrite Z.add_nocarry_lxor.
  - apply Z.bits_inj'. intros n Hn. rewrite Z.lxor_spec, Z.lor_spec, Z.ldiff_spec.
    now destruct (Z.testbit x n), (Z.testbit y n).
  - apply Z.bits_inj'. intros n Hn. rewrite !Z.land_spec, Z.ldiff_spec, Z.bits_0.
    now destruct (Z.testbit x n), (Z.testbit y n).
Qed.

Lemma xor_by_bits : forall x y, Z.lxor x y = Z.ldiff x y + Z.ldiff y x.
Proof.
  intros x y. rewrite Z.add_nocarry_lxor.
  - apply Z.bits_inj'. intros n Hn. rewrite !Z.lxor_spec, !Z.ldiff_spec.
    now destruct (Z.testbit x n), (Z.testbit y n).
  - apply Z.bits_inj'. intros n Hn. rewrite !Z.land_spec, !Z.ldiff_spec, Z.bits_0.
    now destruct (Z.testbit x n), (Z.testbit y n).
Qed.

Lemma and_below : forall x y, 0 <= x \/ (x < 0 /\ y < 0) -> Z.land x y <= x.
Proof.
  intros x y H. pose proof (split_by_bits x y).
  assert (0 <= Z.ldiff x (Z.land x y)).
  { apply Z.ldiff_nonneg. destruct H as [H|H]; auto. right. now apply Z.land_neg. }
  replace (Z.ldiff x (Z.land x y)) with (Z.ldiff x y) in *; [lia|].
  apply Z.bits_inj'. intros n Hn. rewrite !Z.ldiff_spec, Z.land_spec.
  now destruct (Z.testbit x n), (Z.testbit y n).
Qed.

Theorem shift : shift_schema.
Proof.
  intros x y C k p -> [HC ->]. unfold quot. rewrite (proj2 (Z.ltb_lt 0 C) HC).
  rewrite (Z.mul_comm C k). apply Z.div_add. lia.
Qed.

Theorem bits_and : bits_and_schema.
Proof.
  intros x y p -> Hw. unfold bitand. rewrite !word by lia.
  assert (Z.land x y = Z.land y x) by apply Z.land_comm.
  repeat split; intros.
  - apply Z.land_nonneg. auto.
  - apply and_below. auto.
  - apply Z.land_nonneg. auto.
  - rewrite H. apply and_below. auto.
  - apply and_below. auto.
  - rewrite H. apply and_below. lia.
Qed.

Theorem bits_or : bits_or_schema.
Proof.
  intros x y p q -> -> Hw. unfold bitor, bitand. rewrite !word by lia.
  rewrite or_by_bits. pose proof (split_by_bits x y). lia.
Qed.

Theorem bits_xor : bits_xor_schema.
Proof.
  intros x y p q -> -> Hw. unfold bitxor, bitand. rewrite !word by lia.
  rewrite xor_by_bits. pose proof (split_by_bits x y). pose proof (split_by_bits y x).
  rewrite (Z.land_comm y x) in *. lia.
Qed.

Theorem bits_xor_same : bits_xor_same_schema.
Proof.
  intros x y p z q Hp Hq Hw Heq. unfold bitxor in *. rewrite !word in Hp, Hq by lia.
  assert (H : Z.lxor x y = Z.lxor x z).
  { rewrite (Z.lxor_comm y x) in Hp. rewrite (Z.lxor_comm z x) in Hq. destruct Hp, Hq; congruence. }
  apply (f_equal (Z.lxor x)) in H. now rewrite <- !Z.lxor_assoc, Z.lxor_nilpotent, !Z.lxor_0_l in H.
Qed.

Theorem bits_shift_right : bits_shift_right_schema.
Proof.
  intros x s p -> Hw. unfold shr. cbv zeta. rewrite (word x), (word s) by lia.
  destruct ((0 <=? s) && (s <? 66)) eqn:Hs.
  - apply andb_true_iff in Hs. destruct Hs as [Hs _]. apply Z.leb_le in Hs.
    rewrite Z.shiftr_div_pow2 by assumption.
    assert (Hpow : 1 <= 2 ^ s) by (pose proof (Z.pow_pos_nonneg 2 s); lia).
    pose proof (Z.mul_div_le x (2 ^ s)). pose proof (Z.mul_succ_div_gt x (2 ^ s)).
    repeat split; intros; try nia.
    + subst s. change (2 ^ 0) with 1. apply Z.div_1_r.
    + assert (2 <= 2 ^ s) by (change 2 with (2 ^ 1) at 1; apply Z.pow_le_mono_r; lia). nia.
  - destruct (x <? 0) eqn:Hx; [apply Z.ltb_lt in Hx|apply Z.ltb_ge in Hx];
      repeat split; intros; try lia; exfalso; subst s; discriminate.
Qed.

Theorem bits_shift_left : bits_shift_left_schema.
Proof.
  intros x s p -> Hw. unfold shl. cbv zeta. rewrite (word x), (word s) by lia. split; intros ->.
  - rewrite Z.shiftl_0_l. destruct ((0 <=? s) && (s <? 66)); auto.
  - change ((0 <=? 0) && (0 <? 66)) with true. cbv iota. rewrite Z.shiftl_0_r. apply word. lia.
Qed.

Theorem all_schemas : every_schema.
Proof.
  exact (conj quotient (conj zero (conj magnitude (conj order (conj equal (conj distribution_below
    (conj distribution_above (conj line (conj plane_above (conj plane_below (conj shift (conj bits_and
    (conj bits_or (conj bits_xor (conj bits_xor_same (conj bits_shift_right bits_shift_left)))))))))))))))).
Qed.
