"""The lemma schemas of proofs over linear integers, stated in SMT-LIB for certificates.

In such a proof products and quotients are congruent functions ``mul`` and ``quot`` without a meaning, operations on
bits ``bitand`` and the like; what they mean enters through instances of these schemas.  A schema holds for all integers
that satisfy its ``identities``, in which the functions do have their meaning (`EXACT`, `.bit_vectors`).
The tests have each proved by two solvers; `smt.lemmas` chooses the instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...contract.terms.bits import WIDTH

CONGRUENT: Final = "(declare-fun mul (Int Int) Int)\n(declare-fun quot (Int Int) Int)\n"
"""Products and quotients of which nothing is known but that equal arguments give equal values."""

EXACT: Final = (
    "(define-fun mul ((x Int) (y Int)) Int (* x y))\n"
    "(define-fun quot ((x Int) (y Int)) Int"
    " (ite (< 0 y) (div x y) (ite (< y 0) (div (- x) (- y)) x)))\n"
)
"""Their meaning.  Quotients round towards minus infinity; SMT-LIB's ``div`` does for positive divisors.  A division by
zero means nothing (TV402 excludes it), so any value will do."""


@dataclass(frozen=True, slots=True)
class Schema:
    """``statement`` holds for all values of ``parameters`` for which ``identities`` do; those in ``numbers`` are
    numerals wherever the schema is used, so that the statement is linear."""

    parameters: tuple[str, ...]
    numbers: frozenset[str]
    statement: str
    identities: tuple[str, ...]

    def stated(self, arguments: Sequence[str]) -> str:
        """The instance for ``arguments``, terms of SMT-LIB."""
        return self.statement.format_map(self._named(arguments))

    def identified(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """What must hold of ``arguments`` by the meaning of products and quotients."""
        named = self._named(arguments)
        return tuple(identity.format_map(named) for identity in self.identities)

    def _named(self, arguments: Sequence[str]) -> Mapping[str, str]:
        return dict(zip(self.parameters, arguments, strict=True))


def _schema(parameters: str, statement: str, *identities: str) -> Schema:
    """Capital letters are numbers."""
    names = tuple(parameters.split())
    return Schema(names, frozenset(name for name in names if name.isupper()), statement, identities)


_P_IS_XY: Final = "(= {p} (mul {x} {y}))"
_TWO_PRODUCTS: Final = ("(= {p} (mul {f} {x}))", "(= {q} (mul {g} {y}))")
_PLANE: Final = "(- (+ (* {B} {x}) (* {A} {y})) (* {A} {B}))"
_SAME_SIDES: Final = "(or (and (<= {x} {A}) (<= {y} {B})) (and (<= {A} {x}) (<= {B} {y})))"
_OPPOSITE_SIDES: Final = "(or (and (<= {x} {A}) (<= {B} {y})) (and (<= {A} {x}) (<= {y} {B})))"

_XOR: Final = "(or (= {{{0}}} (bitxor {{{1}}} {{{2}}})) (= {{{0}}} (bitxor {{{2}}} {{{1}}})))"


def _words(*names: str) -> str:
    """Within the bits that operations on them are defined on."""
    end = 1 << (WIDTH - 1)
    return f"(and {' '.join(f'(<= (- {end}) {{{name}}}) (< {{{name}}} {end})' for name in names)})"


SCHEMAS: Final[Mapping[str, Schema]] = {
    "quotient": _schema(
        "x d q m",
        "(and (=> (< 0 {d}) (and (<= {m} {x}) (< {x} (+ {m} {d}))))"
        " (=> (< {d} 0) (and (<= {x} {m}) (< (+ {m} {d}) {x}))) (=> (= {d} 0) (= {q} {x})))",
        "(= {q} (quot {x} {d}))",
        "(= {m} (mul {d} {q}))",
    ),
    "zero": _schema("x y p", "(=> (or (= {x} 0) (= {y} 0)) (= {p} 0))", _P_IS_XY),
    "magnitude": _schema(
        "S x R y p",
        "(=> (and (<= 1 (* {S} {x})) (<= 1 (* {R} {y})))"
        " (and (<= (* {S} {x}) (* {S} {R} {p})) (<= (* {R} {y}) (* {S} {R} {p}))))",
        _P_IS_XY,
    ),
    "order": _schema(
        "f g A x p B y q",
        "(=> (and (= {f} {g}) (< 0 {f}) (< (* {A} {x}) (* {B} {y}))) (<= (+ (* {A} {p}) {f}) (* {B} {q})))",
        *_TWO_PRODUCTS,
    ),
    "equal": _schema(
        "f g A x p B y q",
        "(=> (and (= {f} {g}) (= (* {A} {x}) (* {B} {y}))) (= (* {A} {p}) (* {B} {q})))",
        *_TWO_PRODUCTS,
    ),
    "distribution below": _schema(
        "f g x p y q", "(=> (and (= {f} {g}) (< 0 {f}) (<= {y} {x})) (<= {q} {p}))", *_TWO_PRODUCTS
    ),
    "distribution above": _schema(
        "f g x p y q", "(=> (and (= {f} {g}) (< 0 {f}) (< {x} {y})) (<= (+ {p} {f}) {q}))", *_TWO_PRODUCTS
    ),
    "line": _schema("x A y p", "(=> (= {x} {A}) (= {p} (* {A} {y})))", _P_IS_XY),
    "plane above": _schema("x A y B p", f"(=> {_OPPOSITE_SIDES} (<= {{p}} {_PLANE}))", _P_IS_XY),
    "plane below": _schema("x A y B p", f"(=> {_SAME_SIDES} (<= {_PLANE} {{p}}))", _P_IS_XY),
    "shift": _schema(
        "x y C k p",
        "(=> (and (< 0 {C}) (= {x} (+ {y} (* {C} {k})))) (= (div {x} {C}) (+ {p} {k})))",
        "(= {p} (quot {y} {C}))",
    ),
    "bits and": _schema(
        "x y p",
        f"(=> {_words('x', 'y')}"
        " (and (=> (<= 0 {x}) (and (<= 0 {p}) (<= {p} {x}))) (=> (<= 0 {y}) (and (<= 0 {p}) (<= {p} {y})))"
        " (=> (and (< {x} 0) (< {y} 0)) (and (<= {p} {x}) (<= {p} {y})))))",
        "(= {p} (bitand {x} {y}))",
    ),
    "bits or": _schema(
        "x y p q",
        f"(=> {_words('x', 'y')} (= {{p}} (- (+ {{x}} {{y}}) {{q}})))",
        "(= {p} (bitor {x} {y}))",
        "(= {q} (bitand {x} {y}))",
    ),
    "bits xor": _schema(
        "x y p q",
        f"(=> {_words('x', 'y')} (= {{p}} (- (+ {{x}} {{y}}) (* 2 {{q}}))))",
        "(= {p} (bitxor {x} {y}))",
        "(= {q} (bitand {x} {y}))",
    ),
    "bits xor same": _schema(
        "x y p z q",
        f"(=> {_words('x', 'y', 'z')} (=> (= {{p}} {{q}}) (= {{y}} {{z}})))",
        _XOR.format("p", "x", "y"),
        _XOR.format("q", "x", "z"),
    ),
    "bits shift right": _schema(
        "x s p",
        f"(=> {_words('x', 's')}"
        " (and (=> (<= 0 {x}) (and (<= 0 {p}) (<= {p} {x}))) (=> (< {x} 0) (and (<= {x} {p}) (< {p} 0)))"
        " (=> (= {s} 0) (= {p} {x})) (=> (and (<= 0 {x}) (<= 1 {s})) (<= (* 2 {p}) {x}))))",
        "(= {p} (shr {x} {s}))",
    ),
    "bits shift left": _schema(
        "x s p",
        f"(=> {_words('x', 's')} (and (=> (= {{x}} 0) (= {{p}} 0)) (=> (= {{s}} 0) (= {{p}} {{x}}))))",
        "(= {p} (shl {x} {s}))",
    ),
}
