"""A script asked for each number that a factor can be: what is put means the same, and nothing is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.verifier.certificate import second_solver
from tileverify.verifier.certificate.scripts import Script
from tileverify.verifier.certificate.second_solver import (
    LARGEST_FACTOR,
    PART,
    Opinion,
    SecondSolver,
    any_other,
    contradicted_in_cases,
    factors,
    with_number,
)
from tileverify.verifier.obligations.smtlib import EXACT

HEAD: Final = f"(set-logic ALL)\n{EXACT}(declare-const $x Int)\n(declare-const $y Int)\n"


def of(definitions: str, *asserted: str) -> str:
    return HEAD + definitions + "".join(f"(assert {each})\n" for each in asserted)


def split(script: str, limit: int = 100_000) -> bool:
    return contradicted_in_cases(Script("it", script), SecondSolver(limit))


# ------------------------------------------------------------------------------------------ what is split
def test_factors_and_divisors_are_found_in_the_order_of_the_script() -> None:
    defined = (
        "(define-fun t0 () Int (quot (+ $y 1) (mul $x $y)))\n(define-fun t1 () Int (mul t0 3))\n"
        "(define-fun b2 () Bool (< (quot t1 7) (ite (<= t0 4) t0 (quot $y (- 2)))))\n"
    )
    assert factors(of(defined)) == ("$x", "$y", "(mul $x $y)")


def test_a_number_is_put_wherever_its_factor_stands_and_what_it_makes_is_computed() -> None:
    defined = (
        "(define-fun t0 () Int (* 4 (div $x 128)))\n(define-fun t1 () Int (quot $y t0))\n"
        "(define-fun t2 () Int (+ (mul t1 (div $x 128)) (- t0) (- t0 3 (* 2 t0))))\n"
    )
    assert with_number(of(defined), "(div $x 128)", 2) == of(
        "(define-fun t0 () Int 8)\n(define-fun t1 () Int (quot $y 8))\n"
        "(define-fun t2 () Int (+ (mul t1 2) (- 8) (- 11)))\n",
        "(= (div $x 128) 2)",
    )


def test_a_name_keeps_its_definition() -> None:
    """Otherwise the case would assert nothing of what the name stands for."""
    defined = "(define-fun t0 () Int (+ $x 1))\n(define-fun t1 () Int (mul t0 $y))\n"
    assert with_number(of(defined), "t0", 3) == of(
        "(define-fun t0 () Int (+ $x 1))\n(define-fun t1 () Int (mul 3 $y))\n", "(= t0 3)"
    )
    contradiction = "(define-fun t0 () Int (+ 1 1))\n(define-fun t1 () Int (mul t0 $y))\n"
    assert SecondSolver().opinion(with_number(of(contradiction), "t0", 3)) is Opinion.CONTRADICTION


# ---------------------------------------------------------------------------------- what the script means
TERMS = st.recursive(
    st.sampled_from(("$x", "$y", "t0", "t1", "2", "3", "(- 1)")),
    lambda inner: (
        st.builds(
            lambda head, one, other: f"({head} {one} {other})", st.sampled_from(("+", "-", "mul", "quot")), inner, inner
        )
        | st.builds(lambda one, n: f"(div {one} {n})", inner, st.sampled_from((2, 5)))
        | st.builds(lambda one, other, third: f"(ite (<= {one} {other}) {third} {one})", inner, inner, inner)
    ),
    max_leaves=6,
)


def value(text: str, names: Mapping[str, int]) -> int:
    """What a term is, read from left to right."""
    found, rest = _value(text.replace("(", " ( ").replace(")", " ) ").split(), names)
    assert not rest
    return found


def _value(tokens: list[str], names: Mapping[str, int]) -> tuple[int, list[str]]:
    head, *rest = tokens
    if head != "(":
        return (names[head] if head in names else int(head)), rest
    head, *rest = rest
    operands = []
    while rest[0] != ")":
        operand, rest = _value(rest, names)
        operands.append(operand)
    return _OF[head](*operands), rest[1:]


_OF: Final[Mapping[str, Any]] = {
    "+": lambda *given: sum(given),
    "-": lambda first, *others: first - sum(others) if others else -first,
    "*": lambda one, other: one * other,
    "mul": lambda one, other: one * other,
    "div": lambda one, by: one // by,
    "quot": lambda one, by: one // by if by > 0 else -one // -by if by < 0 else one,
    "<=": lambda one, other: one <= other,
    "ite": lambda condition, one, other: one if condition else other,
}


def values(script: str, x: int, y: int) -> dict[str, int]:
    """What its definitions are."""
    names = {"$x": x, "$y": y}
    for line in script.splitlines():
        if line.startswith("(define-fun t"):
            _, name, _, _, term = line.split(" ", 4)
            names[name] = value(term[:-1], names)
    return names


@given(st.tuples(TERMS, TERMS, TERMS), st.integers(-20, 20), st.integers(-20, 20), st.data())
def test_in_its_case_every_definition_is_what_it_was(
    terms: tuple[str, str, str], x: int, y: int, data: st.DataObject
) -> None:
    first, second, third = terms
    first = first.replace("t0", "$x").replace("t1", "$y")
    second = second.replace("t1", "t0")
    script = of("".join(f"(define-fun t{n} () Int {term})\n" for n, term in enumerate((first, second, third))))
    before = values(script, x, y)
    for factor in factors(script):
        number = value(factor, before)
        changed = with_number(script, factor, number) if number >= 0 else script
        assert values(changed, x, y) == before, factor


@given(st.tuples(TERMS, TERMS), st.integers(-20, 20), st.integers(-20, 20))
def test_what_has_a_solution_is_no_contradiction_in_any_split(terms: tuple[str, str], x: int, y: int) -> None:
    first, second = terms
    first = first.replace("t0", "$x").replace("t1", "$y")
    second = second.replace("t1", "t0")
    defined = f"(define-fun t0 () Int {first})\n(define-fun t1 () Int {second})\n"
    found = values(of(defined), x, y)
    facts = [f"(<= (- 20) {name} 20)" for name in ("$x", "$y")]
    assert not split(of(defined, *facts, *(f"(= {name} {_number(found[name])})" for name in ("t0", "t1"))), 10_000)


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


# ------------------------------------------------------------------------------------------- what it gives
def tile_of(block: str, mark: str) -> str:
    """A swizzle whose last group is narrower, in a segment that is found by a quotient."""
    return (
        f"(define-fun s{mark} () Int (quot {block} t1))\n(define-fun m{mark} () Int (mul t0 s{mark}))\n"
        f"(define-fun r{mark} () Int (- {block} (* 4 m{mark})))\n(define-fun g{mark} () Int (div r{mark} 8))\n"
        f"(define-fun h{mark} () Int (- t0 (* 2 g{mark})))\n"
        f"(define-fun w{mark} () Int (ite (<= h{mark} 2) h{mark} 2))\n"
        f"(define-fun c{mark} () Int (quot (mod r{mark} 8) w{mark}))\n"
        f"(define-fun d{mark} () Int (mul w{mark} c{mark}))\n"
        f"(define-fun q{mark} () Int (+ (* 2 g{mark}) (- (mod r{mark} 8) d{mark})))\n"
    )


SWIZZLE = (
    HEAD + "(declare-const $n Int)\n(define-fun t0 () Int (div (+ $n 127) 128))\n(define-fun t1 () Int (* 4 t0))\n"
    f"{tile_of('$x', '1')}{tile_of('$y', '2')}"
)
ALIKE = ("(<= 0 $n 512)", "(<= 0 $x 255)", "(<= 0 $y 255)", "(< $x (* 8 t1))", "(< $y (* 8 t1))",
         "(= s1 s2)", "(= q1 q2)", "(= c1 c2)")  # fmt: skip


def swizzle(*asserted: str) -> str:
    return SWIZZLE + "".join(f"(assert {each})\n" for each in (*ALIKE, *asserted))


def test_a_swizzle_is_contradicted_in_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    script, solver = swizzle("(not (= $x $y))"), SecondSolver(100_000)
    assert solver.opinion(script, part=PART) is Opinion.NONE
    assert split(script)
    monkeypatch.setattr(second_solver, "factors", lambda script: ())
    assert not split(script)


def test_a_swizzle_that_has_a_solution_is_not() -> None:
    assert not split(swizzle("(= $x $y)"))


def test_a_factor_that_may_be_larger_is_not_split() -> None:
    script = of("(define-fun t0 () Int (mul $x $y))\n", "(<= 0 $x 17)", "(= t0 17)", "(= $x 17)", "(= $y 1)")
    assert SecondSolver().opinion(any_other(script, "$x")) is Opinion.MODEL
    assert LARGEST_FACTOR < 17
    assert not split(script)


def test_a_search_that_gets_no_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def silent(self: SecondSolver, script: str, *, part: int = 1) -> Opinion:
        asked.append(script)
        return Opinion.NONE

    monkeypatch.setattr(SecondSolver, "opinion", silent)
    many = "".join(f"(define-fun t{n} () Int (mul (+ $x {n}) $y))\n" for n in range(50))
    assert not split(of(many, "(< t0 t1)"))
    assert len(asked) == second_solver._PATIENCE
