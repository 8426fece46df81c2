(** Machine integers: wraps, and operations on bits of words (contract/terms/bits.py, contract/terms/wraps.py). *)

From Coq Require Import ZArith Bool Lia.
Open Scope Z_scope.
Open Scope bool_scope.

(** The signed and the unsigned reading of the lowest [n] bits. *)
Definition signed (n z : Z) : Z := (z + 2 ^ (n - 1)) mod 2 ^ n - 2 ^ (n - 1).
Definition unsigned (n z : Z) : Z := z mod 2 ^ n.

(** Operations on words of [n] bits, of whatever integers. *)
Definition bitand (n x y : Z) : Z := Z.land (signed n x) (signed n y).
Definition bitor (n x y : Z) : Z := Z.lor (signed n x) (signed n y).
Definition bitxor (n x y : Z) : Z := Z.lxor (signed n x) (signed n y).
Definition shl (n x s : Z) : Z :=
  let s' := signed n s in
  if (0 <=? s') && (s' <? n) then signed n (Z.shiftl (signed n x) s') else 0.
Definition shr (n x s : Z) : Z :=
  let s' := signed n s in
  if (0 <=? s') && (s' <? n) then Z.shiftr (signed n x) s' else if signed n x <? 0 then -1 else 0.

(** ** Wraps that fit *)

Theorem signed_fits : forall n z, 0 < n -> - 2 ^ (n - 1) <= z < 2 ^ (n - 1) -> signed n z = z.
Proof.
  intros n z Hn Hz. unfold signed.
  assert (2 ^ n = 2 * 2 ^ (n - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  rewrite Z.mod_small by lia. ring.
Qed.

Theorem unsigned_fits : forall n z, 0 <= z < 2 ^ n -> unsigned n z = z.
Proof. intros. now apply Z.mod_small. Qed.

(** What a wrap gives is of its range, and differs by a multiple of [2 ^ n]. *)
Theorem signed_range : forall n z, 0 < n -> - 2 ^ (n - 1) <= signed n z < 2 ^ (n - 1).
Proof.
  intros n z Hn. unfold signed.
  assert (2 ^ n = 2 * 2 ^ (n - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (0 < 2 ^ (n - 1)) by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.mod_pos_bound (z + 2 ^ (n - 1)) (2 ^ n)). lia.
Qed.

Theorem signed_differs : forall n z, 0 < n -> exists k, signed n z = z - k * 2 ^ n.
Proof.
  intros n z Hn. exists ((z + 2 ^ (n - 1)) / 2 ^ n). unfold signed.
  assert (0 < 2 ^ n) by (apply Z.pow_pos_nonneg; lia).
  rewrite Z.mod_eq by lia. ring.
Qed.
