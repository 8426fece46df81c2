(** Which atomic updates commute (verifier/rules/determinism.py, COMMUTING): integer additions, bitwise operations,
    largest and smallest, each with those of its own kind, on one element. *)

From Coq Require Import ZArith List Bool Lia.
From TileVerify Require Import Machine Values Orders.
Open Scope Z_scope.

(** How the bytes of one element make an integer.  [machine_integer]: those that the element holds. *)
Record element_type := {
  machine_integer : Z -> Prop;
  read_as : list val -> Z;
  written_as : Z -> addr -> val;
  read_is_integer : forall l, machine_integer (read_as l)
}.

(** [a] replaces the integer [v] at the element [bs] by [f v]. *)
Definition updates {array} (T : element_type) (bs : list addr) (f : Z -> Z) (a : access array) : Prop :=
  kind_of a = Rmw /\ bytes a = bs /\
  (forall l x, written_by a l x = written_as T (f (read_as T l)) x).

(** What was written to the element is read back. *)
Definition reads_back (T : element_type) (bs : list addr) : Prop :=
  forall z, machine_integer T z -> read_as T (map (written_as T z) bs) = z.

Theorem updates_commute : forall array (T : element_type) bs f g (a a' : access array),
  reads_back T bs ->
  (forall z, machine_integer T z -> machine_integer T (f z)) ->
  (forall z, machine_integer T z -> machine_integer T (g z)) ->
  (forall z, machine_integer T z -> f (g z) = g (f z)) ->
  updates T bs f a -> updates T bs g a' ->
  forall m x, perform a (perform a' m) x = perform a' (perform a m) x.
Proof.
  intros array T bs f g a a' Hback Hf Hg Hcommute (Hk & Hb & Hw) (Hk' & Hb' & Hw') m x.
  assert (Hone : forall (c : access array) h, updates T bs h c -> forall n y,
            perform c n y = if existsb (Z.eqb y) bs then written_as T (h (read_as T (map n bs))) y else n y).
  { intros c h (K & B & W) n y. unfold perform, writes, reads, touches. rewrite K, B. simpl.
    destruct (existsb (Z.eqb y) bs); auto. }
  assert (Ha : updates T bs f a) by (repeat split; auto).
  assert (Ha' : updates T bs g a') by (repeat split; auto).
  assert (Hread : forall (c : access array) h, updates T bs h c ->
            (forall z, machine_integer T z -> machine_integer T (h z)) -> forall n,
            read_as T (map (perform c n) bs) = h (read_as T (map n bs))).
  { intros c h Hc Hh n. rewrite <- (Hback (h (read_as T (map n bs)))) by (apply Hh, read_is_integer). f_equal.
    apply map_ext_in. intros y Hy. rewrite (Hone c h Hc).
    replace (existsb (Z.eqb y) bs) with true; auto.
    symmetry. apply existsb_exists. exists y. split; auto. apply Z.eqb_refl. }
  rewrite (Hone a f Ha (perform a' m)), (Hone a' g Ha' (perform a m)), (Hone a f Ha m), (Hone a' g Ha' m).
  rewrite (Hread a' g Ha' Hg), (Hread a f Ha Hf).
  destruct (existsb (Z.eqb x) bs); auto. f_equal. apply Hcommute. apply read_is_integer.
Qed.

(** The signed and the unsigned reading of the lowest [n] bits. *)
Definition unsigned (n z : Z) : Z := z mod 2 ^ n.
Definition signed (n z : Z) : Z := (z + 2 ^ (n - 1)) mod 2 ^ n - 2 ^ (n - 1).

(** The eight kinds, for all operands [c] and [d].  (umax and umin are max and min of the unsigned reading.) *)
Theorem additions_commute : forall n v c d,
  signed n (signed n (v + c) + d) = signed n (signed n (v + d) + c).
Proof.
  intros n v c d. unfold signed. f_equal. set (h := 2 ^ (n - 1)). set (m := 2 ^ n).
  replace ((v + c + h) mod m - h + d + h) with ((v + c + h) mod m + d) by ring.
  replace ((v + d + h) mod m - h + c + h) with ((v + d + h) mod m + c) by ring.
  destruct (Z.eq_dec m 0) as [->|Hm].
  - rewrite !Zmod_0_r. ring.
  - rewrite !Z.add_mod_idemp_l by assumption. f_equal. ring.
Qed.

Theorem ands_commute : forall v c d, Z.land (Z.land v c) d = Z.land (Z.land v d) c.
Proof. intros. rewrite <- !Z.land_assoc. f_equal. apply Z.land_comm. Qed.

Theorem ors_commute : forall v c d, Z.lor (Z.lor v c) d = Z.lor (Z.lor v d) c.
Proof. intros. rewrite <- !Z.lor_assoc. f_equal. apply Z.lor_comm. Qed.

Theorem xors_commute : forall v c d, Z.lxor (Z.lxor v c) d = Z.lxor (Z.lxor v d) c.
Proof. intros. rewrite !Z.lxor_assoc. f_equal. apply Z.lxor_comm. Qed.

Theorem largest_commute : forall v c d, Z.max (Z.max v c) d = Z.max (Z.max v d) c.
Proof. intros. lia. Qed.

Theorem smallest_commute : forall v c d, Z.min (Z.min v c) d = Z.min (Z.min v d) c.
Proof. intros. lia. Qed.
