(** The lemma schemas of the prover as statements over Z.

    Printed by `python -m tools.coq_lemmas` from src/tileverify/verifier/obligations/smtlib.py; not for editing.
    Proofs are in Lemmas.v. *)

From Coq Require Import ZArith.
From TileVerify Require Import Words.
Open Scope Z_scope.

Definition mul (x y : Z) : Z := x * y.

Definition quot (x y : Z) : Z := if 0 <? y then (Z.div x y) else (if y <? 0 then (Z.div (- x) (- y)) else x).

Definition quotient_schema : Prop := forall x d q m : Z,
  (q = (quot x d)) ->
  (m = (mul d q)) ->
  ((0 < d) -> ((m <= x) /\ (x < (m + d)))) /\ ((d < 0) -> ((x <= m) /\ ((m + d) < x))) /\ ((d = 0) -> (q = x)).

Definition zero_schema : Prop := forall x y p : Z,
  (p = (mul x y)) ->
  ((x = 0) \/ (y = 0)) -> (p = 0).

Definition magnitude_schema : Prop := forall S x R y p : Z,
  (p = (mul x y)) ->
  ((1 <= (S * x)) /\ (1 <= (R * y))) -> (((S * x) <= (S * R * p)) /\ ((R * y) <= (S * R * p))).

Definition order_schema : Prop := forall f g A x p B y q : Z,
  (p = (mul f x)) ->
  (q = (mul g y)) ->
  ((f = g) /\ (0 < f) /\ ((A * x) < (B * y))) -> (((A * p) + f) <= (B * q)).

Definition equal_schema : Prop := forall f g A x p B y q : Z,
  (p = (mul f x)) ->
  (q = (mul g y)) ->
  ((f = g) /\ ((A * x) = (B * y))) -> ((A * p) = (B * q)).

Definition distribution_below_schema : Prop := forall f g x p y q : Z,
  (p = (mul f x)) ->
  (q = (mul g y)) ->
  ((f = g) /\ (0 < f) /\ (y <= x)) -> (q <= p).

Definition distribution_above_schema : Prop := forall f g x p y q : Z,
  (p = (mul f x)) ->
  (q = (mul g y)) ->
  ((f = g) /\ (0 < f) /\ (x < y)) -> ((p + f) <= q).

Definition line_schema : Prop := forall x A y p : Z,
  (p = (mul x y)) ->
  (x = A) -> (p = (A * y)).

Definition plane_above_schema : Prop := forall x A y B p : Z,
  (p = (mul x y)) ->
  (((x <= A) /\ (B <= y)) \/ ((A <= x) /\ (y <= B))) -> (p <= (((B * x) + (A * y)) - (A * B))).

Definition plane_below_schema : Prop := forall x A y B p : Z,
  (p = (mul x y)) ->
  (((x <= A) /\ (y <= B)) \/ ((A <= x) /\ (B <= y))) -> ((((B * x) + (A * y)) - (A * B)) <= p).

Definition shift_schema : Prop := forall x y C k p : Z,
  (p = (quot y C)) ->
  ((0 < C) /\ (x = (y + (C * k)))) -> ((Z.div x C) = (p + k)).

Definition bits_and_schema : Prop := forall x y p : Z,
  (p = (bitand 66 x y)) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= y) /\ (y < 36893488147419103232)) -> (((0 <= x) -> ((0 <= p) /\ (p <= x))) /\ ((0 <= y) -> ((0 <= p) /\ (p <= y))) /\ (((x < 0) /\ (y < 0)) -> ((p <= x) /\ (p <= y)))).

Definition bits_or_schema : Prop := forall x y p q : Z,
  (p = (bitor 66 x y)) ->
  (q = (bitand 66 x y)) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= y) /\ (y < 36893488147419103232)) -> (p = ((x + y) - q)).

Definition bits_xor_schema : Prop := forall x y p q : Z,
  (p = (bitxor 66 x y)) ->
  (q = (bitand 66 x y)) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= y) /\ (y < 36893488147419103232)) -> (p = ((x + y) - (2 * q))).

Definition bits_xor_same_schema : Prop := forall x y p z q : Z,
  ((p = (bitxor 66 x y)) \/ (p = (bitxor 66 y x))) ->
  ((q = (bitxor 66 x z)) \/ (q = (bitxor 66 z x))) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= y) /\ (y < 36893488147419103232) /\ ((- 36893488147419103232) <= z) /\ (z < 36893488147419103232)) -> ((p = q) -> (y = z)).

Definition bits_shift_right_schema : Prop := forall x s p : Z,
  (p = (shr 66 x s)) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= s) /\ (s < 36893488147419103232)) -> (((0 <= x) -> ((0 <= p) /\ (p <= x))) /\ ((x < 0) -> ((x <= p) /\ (p < 0))) /\ ((s = 0) -> (p = x)) /\ (((0 <= x) /\ (1 <= s)) -> ((2 * p) <= x))).

Definition bits_shift_left_schema : Prop := forall x s p : Z,
  (p = (shl 66 x s)) ->
  (((- 36893488147419103232) <= x) /\ (x < 36893488147419103232) /\ ((- 36893488147419103232) <= s) /\ (s < 36893488147419103232)) -> (((x = 0) -> (p = 0)) /\ ((s = 0) -> (p = x))).

(** All of them. *)
Definition every_schema : Prop :=
  quotient_schema /\
  zero_schema /\
  magnitude_schema /\
  order_schema /\
  equal_schema /\
  distribution_below_schema /\
  distribution_above_schema /\
  line_schema /\
  plane_above_schema /\
  plane_below_schema /\
  shift_schema /\
  bits_and_schema /\
  bits_or_schema /\
  bits_xor_schema /\
  bits_xor_same_schema /\
  bits_shift_right_schema /\
  bits_shift_left_schema.
