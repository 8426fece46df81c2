"""Ranges that others imply are left out, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.facts.statements import DataTerm
from tileverify.contract.facts.weaker import strongest
from tileverify.contract.launch import DataFact
from tileverify.contract.terms import Scope


def in_range(low: int, high: int, array: str = "at", unless: tuple[int, ...] = ()) -> DataTerm:
    excused = tuple(map(t.const, unless))
    return DataTerm(DataFact("range", array), t.const(low), t.const(high), unless=excused)


def allows(facts: list[DataTerm], value: int) -> bool:
    return all(
        f.low is not None and f.high is not None and (f.low.value <= value < f.high.value or t.const(value) in f.unless)
        for f in facts
    )


ranges = st.builds(
    in_range, st.integers(-4, 4), st.integers(-4, 8), unless=st.lists(st.integers(-6, 9), max_size=1).map(tuple)
)


@given(st.lists(ranges, max_size=6))
def test_the_same_values_are_left(facts: list[DataTerm]) -> None:
    kept = strongest(facts)
    assert all(allows(kept, value) == allows(facts, value) for value in range(-8, 12))
    assert [fact for fact in facts if fact in kept] == kept or len(set(facts)) < len(facts)


def test_the_narrowest_range_says_all() -> None:
    wide, narrow, other = in_range(0, 9), in_range(1, 8), in_range(0, 20, "elsewhere")
    assert strongest([wide, other, narrow]) == [other, narrow]
    assert strongest([narrow, wide]) == [narrow]
    assert strongest([narrow, in_range(1, 8)]) == [narrow]
    assert strongest([in_range(0, 5), in_range(2, 9)]) == [in_range(0, 5), in_range(2, 9)]


def test_what_cannot_be_compared_stays() -> None:
    size = t.var("n", Scope.LAUNCH, 0)
    named = DataTerm(DataFact("range", "at"), t.ZERO, size)
    facts = [named, in_range(0, 9), DataTerm(DataFact("injective", "at")), in_range(1, 2, unless=(30,))]
    assert strongest(facts) == facts
