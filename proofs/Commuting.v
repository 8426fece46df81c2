(** Which atomic updates commute (verifier/obligations/determinism.py, COMMUTING): integer additions, bitwise operations,
    largest and smallest, each with those of its own kind, on one element. *)

From Coq Require Import ZArith List Bool Lia.
From TileVerify Require Import Machine Words.
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

Lemma update_performed : forall array (T : element_type) bs f (a : access array), updates T bs f a ->
  forall m x, perform a m x =
    if existsb (Z.eqb x) bs then written_as T (f (read_as T (map m bs))) x else m x.
Proof.
  intros array T bs f a (K & B & W) m x. unfold perform, writes, reads, touches. rewrite K, B. simpl.
  destruct (existsb (Z.eqb x) bs); auto.
Qed.

Lemma read_after_update : forall array (T : element_type) bs f (a : access array),
  reads_back T bs -> (forall z, machine_integer T z -> machine_integer T (f z)) -> updates T bs f a ->
  forall m, read_as T (map (perform a m) bs) = f (read_as T (map m bs)).
Proof.
  intros array T bs f a Hback Hf Ha m.
  rewrite <- (Hback (f (read_as T (map m bs)))) by (apply Hf, read_is_integer). f_equal.
  apply map_ext_in. intros x Hx. rewrite (update_performed _ T bs f a Ha).
  replace (existsb (Z.eqb x) bs) with true; auto.
  symmetry. apply existsb_exists. exists x. split; auto. apply Z.eqb_refl.
Qed.

Theorem updates_commute : forall array (T : element_type) bs f g (a a' : access array),
  reads_back T bs ->
  (forall z, machine_integer T z -> machine_integer T (f z)) ->
  (forall z, machine_integer T z -> machine_integer T (g z)) ->
  (forall z, machine_integer T z -> f (g z) = g (f z)) ->
  updates T bs f a -> updates T bs g a' ->
  forall m x, perform a (perform a' m) x = perform a' (perform a m) x.
Proof.
  intros array T bs f g a a' Hback Hf Hg Hcommute Ha Ha' m x.
  rewrite (update_performed _ T bs f a Ha (perform a' m)), (update_performed _ T bs g a' Ha' (perform a m)).
  rewrite (update_performed _ T bs g a' Ha' m), (update_performed _ T bs f a Ha m).
  rewrite (read_after_update _ T bs g a' Hback Hg Ha'), (read_after_update _ T bs f a Hback Hf Ha).
  destruct (existsb (Z.eqb x) bs); auto. f_equal. apply Hcommute. apply read_is_integer.
Qed.

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
