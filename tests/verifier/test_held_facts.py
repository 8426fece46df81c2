"""The facts that contents keep: all of them hold, and none that could be said is missing."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract.facts.facts_of_contents import held_facts
from tileverify.contract.facts.kept import bounded, filled_in_turn, joined, keep_together, keeps, measures
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import ConcreteArray

from .numbered import fact


def array(values: list[int], *shape: int) -> ConcreteArray:
    shape = shape or (len(values),)
    strides = tuple(int(prod(shape[dim + 1 :])) for dim in range(len(shape)))
    return ConcreteArray("i32", shape, strides, dict(enumerate(values)))


def held(values: list[int], *shape: int, amounts: bool = False) -> set[NumberedFact]:
    return set(held_facts({"a": array(values, *shape)}, {"a"} if amounts else set()))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0, 4, 8], ["injective(a)", "nondecreasing(a)", "multiples(a, 4)", "range(a, 0, 9)", "shares(a, 12)"]),
        ([2, 0, 1], ["permutation(a)", "injective(a)", "multiples(a, 1)", "range(a, 0, 3)", "shares(a, 3)"]),
        ([-1, 5, -1, 7], ["injective(a, unless=-1)", "multiples(a, 1)", "range(a, -1, 8)"]),
        ([3, 3, 5, 5], ["nondecreasing(a)", "multiples(a, 1)", "range(a, 3, 6)", "shares(a, 16)"]),
    ],
)
def test_what_can_be_said_of_places(values: list[int], texts: list[str]) -> None:
    assert held(values) == set(map(fact, texts))


def test_rows_that_share_no_value() -> None:
    assert fact("disjoint_rows(a)") in held([1, 1, 2, 2], 2, 2)
    assert fact("disjoint_rows(a, unless=-1)") in held([1, -1, 2, -1], 2, 2)
    assert not {each for each in held([1, 2, 2, 1], 2, 2) if each.kind == "disjoint_rows"}


def test_amounts_have_room_to_spare() -> None:
    assert held([24, 48], amounts=True) == set(
        map(fact, ["nondecreasing(a)", "multiples(a, 8)", "range(a, 1, 97)", "shares(a, 144)"])
    )
    assert fact("range(a, 0, 7)") in held([3, 0], amounts=True)


def test_segments_of_two_arrays() -> None:
    arrays = {"a": array([0, 10, 30]), "n": array([10, 20, 5])}
    assert fact("segments(a, n)") in held_facts(arrays, set())
    assert fact("segments(a, n)") not in held_facts({**arrays, "n": array([11, 20, 5])}, set())


def test_ranks_and_buckets_of_keys() -> None:
    arrays = {"a": array([0, 1, 0, 0, 0, 0]), "k": array([5, 5, 2, 5, 3, 2])}
    found = {each for each in held_facts(arrays, set()) if each.kind == "ranks"}
    assert found == {fact("ranks(a, k, 2)"), fact("ranks(a, k, 3)")}
    zeros = held_facts({"a": array([0, 0, 0, 0]), "k": array([1, 2, 1, 3])}, set())
    assert [each for each in zeros if each.kind == "ranks" and each.array == "a"] == [fact("ranks(a, k, 2)")]
    arrays = {"b": array([10, 20, 12, 22]), "k": array([0, 1, 0, 1, 1, 1])}
    assert fact("buckets(b, k, 3, 2)") in held_facts(arrays, set())
    arrays["b"] = array([10, 20, 12, 20])
    assert fact("buckets(b, k, 3, 2)") not in held_facts(arrays, set())


def test_arrays_without_elements_say_nothing() -> None:
    assert held([]) == set()


def test_which_arrays_hold_amounts() -> None:
    keys = [fact("ranks(e, f, 3)"), fact("buckets(g, f, 3, 3)")]
    assert measures([fact("shares(a, 3)"), fact("segments(b, c)"), fact("range(d, 0, 3)"), *keys]) == {"a", "c"}


@given(st.lists(st.integers(-3, 12), max_size=6), st.lists(st.integers(0, 4), max_size=6), st.booleans())
def test_all_of_them_hold(a: list[int], b: list[int], amounts: bool) -> None:
    arrays = {"a": array(a), "b": array(b)}
    for each in held_facts(arrays, arrays.keys() if amounts else set()):
        values = np.asarray({"a": a, "b": b}[each.array]).tolist()
        if each.others:
            assert keep_together(each, values, {"a": a, "b": b}[each.others[0]])
        else:
            assert keeps(each, values, max(len(values), 1))


def test_which_arrays_a_fact_joins() -> None:
    facts = [fact("segments(a, b)"), fact("segments(c, b)"), fact("range(d, 0, 3)")]
    assert joined({"a"}, facts) == {"a", "b", "c"}
    assert joined({"d"}, facts) == {"d"}


def test_which_arrays_facts_bound() -> None:
    texts = ["shares(a, 3)", "segments(b, c, 0, 9)", "segments(d, e)", "range(f, 0, 3, unless=-1)", "injective(g)"]
    texts += ["ranks(h, i, 2)", "buckets(j, i, 2, 2)", "buckets(k, i, 2, 2, 0, 9)"]
    assert bounded(list(map(fact, texts))) == {"a", "b", "c", "f", "h", "k"}


def test_in_which_order_arrays_are_filled() -> None:
    facts = [fact("ranks(a, b, 2)"), fact("segments(b, c)"), fact("range(d, 0, 3)")]
    assert filled_in_turn("abcd", facts) == ["c", "b", "a", "d"]
    assert filled_in_turn("ad", facts) == ["a", "d"]
    assert filled_in_turn("abc", [*facts, fact("buckets(c, a, 1, 1)")]) is None
