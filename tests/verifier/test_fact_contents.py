"""Contents that are made for data facts keep them, as the command `run` reads them, and differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.backend.numbers.inputs import violation
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts import contents
from tileverify.contract.facts.contents import (
    FEW_CONTENTS,
    Described,
    exhausts,
    several,
    several_joined,
    several_segments,
)
from tileverify.contract.facts.kept import keep_together
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import ConcreteArray

from .numbered import fact


def described(shape: tuple[int, ...], *texts: str, dtype: str = "i32") -> Described:
    strides = tuple(int(np.prod(shape[dim + 1 :])) for dim in range(len(shape)))
    return Described.of(ConcreteArray(dtype, shape, strides), list(map(fact, texts)))


def broken(text: str, dtype: str = "i32", **contents: object) -> str | None:
    arrays = {name: np.asarray(values, dtype) for name, values in contents.items()}
    return violation(parse_data_fact(text), arrays, lambda part: evaluate(part, {}))


bounds = st.tuples(st.integers(-5, 40), st.integers(0, 80)).map(lambda pair: (pair[0], pair[0] + pair[1]))
ALONE = st.one_of(
    bounds.map(lambda b: f"range(a, {b[0]}, {b[1]})"),
    bounds.map(lambda b: f"range(a, {b[0]}, {b[1]}, unless=(-1, 99))"),
    st.just("injective(a)"),
    st.just("injective(a, unless=-1)"),
    bounds.map(lambda b: f"injective(a, {b[0]}, {b[1]})"),
    st.just("permutation(a)"),
    st.just("nondecreasing(a)"),
    st.integers(1, 32).map(lambda n: f"multiples(a, {n})"),
    st.integers(0, 50).map(lambda n: f"shares(a, {n})"),
    st.just("disjoint_rows(a)"),
    st.just("disjoint_rows(a, unless=0)"),
    bounds.map(lambda b: f"disjoint_rows(a, {b[0]}, {b[1]})"),
)


@given(
    texts=st.lists(ALONE, min_size=1, max_size=3, unique=True),
    shape=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    dtype=st.sampled_from(("int8", "int16", "int32", "uint8")),
)
def test_contents_keep_all_their_facts(texts: list[str], shape: tuple[int, int], dtype: str) -> None:
    short = dtype.replace("uint", "u").replace("int", "i")
    found = several(described(shape, *texts, dtype=short))
    assert len(set(found)) == len(found)
    for values, text in product(found, texts):
        contents = np.asarray(values, object).reshape(shape)
        assert (contents == contents.astype(dtype)).all()
        assert broken(text, dtype, a=contents) is None


def test_a_list_that_must_be_filled_up_is_filled_in_several_places() -> None:
    """More places than values that occur once, which together are as many as a recording says: 64 stands 6 times."""
    texts = ["range(a, 0, 65)", "injective(a, unless=64)", f"shares(a, {sum(range(64)) + 6 * 64})"]
    found = several(described((70,), *texts))
    assert {tuple(sorted(values)) for values in found} == {(*range(64), *[64] * 6)}
    assert {tuple(i for i, value in enumerate(values) if value == 64) for values in found} >= {
        tuple(range(64, 70)),
        tuple(range(6)),
    }
    assert len(found) >= 4


def test_all_sorted_lists_of_few_values_can_be_tried() -> None:
    few = described((16,), "range(a, 0, 2)", "nondecreasing(a)")
    assert exhausts(few)
    assert {sum(values) for values in several(few)} == set(range(17))
    assert not exhausts(described((4, 4), "range(a, 0, 2)", "nondecreasing(a)"))
    assert not exhausts(described((16,), "range(a, 0, 2)"))


@pytest.mark.parametrize(
    ("shape", "texts"),
    [
        ((5,), ["range(a, 2, 90)"]),
        ((5,), ["range(a, 2, 90, unless=-1)"]),
        ((5,), ["injective(a)"]),
        ((5,), ["injective(a)", "range(a, 0, 5)"]),
        ((5,), ["injective(a, unless=-1)", "range(a, -1, 7)"]),
        ((5,), ["injective(a, 0, 7)"]),
        ((5,), ["permutation(a)"]),
        ((5,), ["nondecreasing(a)", "range(a, 0, 30)"]),
        ((5,), ["nondecreasing(a)", "multiples(a, 16)"]),
        ((5,), ["multiples(a, 16)", "injective(a)", "range(a, 0, 200)"]),
        ((5,), ["shares(a, 40)"]),
        ((5,), ["shares(a, 400)", "multiples(a, 16)"]),
        ((3, 4), ["disjoint_rows(a)", "range(a, 0, 20)"]),
        ((3, 4), ["disjoint_rows(a, unless=-1)", "range(a, 0, 12, unless=-1)"]),
        ((3, 4), ["disjoint_rows(a, 0, 9)", "range(a, -1, 10)"]),
    ],
)
def test_every_fact_has_many_contents(shape: tuple[int, ...], texts: list[str]) -> None:
    found = several(described(shape, *texts))
    assert len(found) >= 6
    assert any(len(set(values)) < len(values) for values in found) == (
        not any(text in ("injective(a)", "permutation(a)") for text in texts)
    )


def test_contents_without_facts_are_alike_apart_and_far_apart() -> None:
    found = set(several(described((3,))))
    assert {(0, 1, 2), (0, 4096, 8192), (4096, 8192, 12288), (0, 0, 0), (-1, -1, -1), (2, 1, 0), (3, 4, 5)} <= found


def test_contents_in_a_range_are_at_both_ends_and_in_both_orders() -> None:
    found = set(several(described((3,), "range(a, 2, 90)", "injective(a)")))
    assert {(2, 3, 4), (87, 88, 89), (89, 88, 87), (2, 31, 60)} <= found


def test_excused_values_stand_first_last_everywhere_and_between() -> None:
    found = several(described((4,), "range(a, 0, 90, unless=-1)"))
    assert (-1, -1, -1, -1) in found
    assert any(values[0] == -1 and min(values[1:]) >= 0 for values in found)
    assert any(values[-1] == -1 and min(values[:-1]) >= 0 for values in found)
    assert any(values[1] == values[3] == -1 and min(values[0], values[2]) >= 0 for values in found)


def test_what_may_repeat_outside_a_restricted_fact_does() -> None:
    found = several(described((4,), "injective(a, 0, 50)"))
    assert any(values.count(50) > 1 for values in found)


def test_shares_are_equal_growing_or_mostly_for_one() -> None:
    found = set(several(described((3,), "shares(a, 60)")))
    assert {(20, 20, 20), (58, 1, 1), (1, 1, 58), (0, 30, 30), (10, 20, 30), (30, 20, 10), (1, 1, 1)} <= found
    assert found.isdisjoint({(60, 0, 0), (0, 0, 0)})
    assert several(described((70,), "shares(a, 0)")) == [(0,) * 70]


def test_rows_hold_one_value_or_values_of_their_own() -> None:
    found = set(several(described((2, 2), "disjoint_rows(a)")))
    assert {(0, 0, 1, 1), (1, 1, 0, 0), (0, 0, 4096, 4096), (0, 1, 2, 3), (1, 0, 3, 2)} <= found


def test_few_contents_are_all_there_are() -> None:
    small = described((2,), "range(a, 1, 5)", "nondecreasing(a)")
    assert exhausts(small)
    assert set(several(small)) == {(i, j) for i in range(1, 5) for j in range(i, 5)}
    assert several(described((3,), "range(a, 0, 1)")) == [(0, 0, 0)]
    assert not exhausts(described((2,), f"range(a, 0, {FEW_CONTENTS})"))
    assert not exhausts(described((1,)))


# ---------------------------------------------------------------------------------------------- segments
@given(
    starts=st.integers(0, 6), lengths=st.integers(0, 6), limits=st.one_of(st.none(), bounds),
    dtype=st.sampled_from(("i16", "i32")),
)  # fmt: skip
def test_segments_keep_their_fact(starts: int, lengths: int, limits: tuple[int, int] | None, dtype: str) -> None:
    text = "segments(a, n)" if limits is None else f"segments(a, n, {limits[0]}, {limits[1]})"
    for a, n in several_segments(fact(text), described((starts,), dtype=dtype), described((lengths,), dtype=dtype)):
        assert (len(a), len(n)) == (starts, lengths)
        assert broken(text, "i" + str(int(dtype[1:]) // 8), a=a, n=n) is None


def test_segments_lie_in_both_orders_with_and_without_gaps() -> None:
    found = several_segments(fact("segments(a, n, 0, 60)"), described((3,)), described((3,)))
    assert {
        ((0, 20, 40), (20, 20, 20)),
        ((40, 20, 0), (20, 20, 20)),
        ((0, 20, 40), (10, 10, 10)),
        ((0, 1, 2), (1, 1, 1)),
        ((0, 58, 59), (58, 1, 1)),
    } <= set(found)
    assert ((0, 10, 30), (10, 20, 30)) in found
    assert several_segments(fact("segments(a, n, 3, 3)"), described((2,)), described((2,))) == [((3, 3), (0, 0))]


def test_segments_are_no_longer_than_their_lengths_may_be() -> None:
    found = several_segments(fact("segments(a, n, 0, 60)"), described((3,)), described((3,), "range(n, 1, 3)"))
    assert ((0, 2, 4), (2, 2, 2)) in found


def test_segments_keep_what_else_is_said_of_their_arrays() -> None:
    starts, lengths = described((3,), "nondecreasing(a)", "multiples(a, 16)"), described((3,), "range(a, 1, 17)")
    found = several_segments(fact("segments(a, n, 0, 96)"), starts, lengths)
    assert found
    assert all(list(a) == sorted(a) and all(x % 16 == 0 for x in a) and min(n) >= 1 for a, n in found)


# ----------------------------------------------------------------------------------------- ranks and buckets
@given(
    counts=st.tuples(st.integers(0, 7), st.integers(0, 8), st.integers(0, 9)), n=st.integers(1, 9),
    width=st.integers(1, 4), limits=st.one_of(st.none(), bounds),
)  # fmt: skip
def test_ranks_and_buckets_of_the_same_keys_keep_their_facts(
    counts: tuple[int, int, int], n: int, width: int, limits: tuple[int, int] | None
) -> None:
    ends = "" if limits is None else f", {limits[0]}, {limits[1]}"
    texts = [f"ranks(r, k, {n})", f"buckets(a, k, {n}, {width}{ends})"]
    arrays = {
        "r": described((counts[0],)),
        "k": described((counts[1],), "range(k, -1, 3)"),
        "a": described((counts[2],)),
    }
    for found in several_joined(list(map(fact, texts)), arrays):
        assert tuple(len(found[name]) for name in "rka") == counts
        assert all(broken(text, "i4", **found) is None for text in texts)


def test_there_are_many_ranks_and_buckets_of_the_same_keys() -> None:
    texts = ["ranks(r, k, 4)", "buckets(a, k, 4, 3, 0, 8)", "range(k, 0, 3)"]
    arrays = {"r": described((8,)), "k": described((8,), texts[2]), "a": described((6,))}
    found = list(several_joined(list(map(fact, texts[:2])), arrays))
    assert len({each["k"] for each in found}) >= 12
    assert len({each["r"] for each in found}) >= 6
    assert len({each["a"] for each in found}) >= 12
    assert len({(each["r"], each["k"]) for each in found}) > len({each["k"] for each in found})


def test_keys_are_all_different_in_each_chunk_or_all_alike() -> None:
    facts = [fact("ranks(r, k, 4)"), fact("buckets(a, k, 4, 5, 0, 30)")]
    arrays = {"r": described((8,)), "k": described((8,), "range(k, 1, 5)"), "a": described((12,))}
    found = list(several_joined(facts, arrays))
    chunks = [(set(each["k"][:4]), set(each["k"][4:])) for each in found]
    assert ({1, 2, 3, 4}, {1, 2, 3, 4}) in chunks
    assert ({1}, {2}) in chunks
    empty = [i for i in range(12) if i in (0, 5) or i > 9]
    of_all_keys = [each["a"] for each in found if set(each["k"][:4]) == set(each["k"][4:]) == {1, 2, 3, 4}]
    assert any(len(set(a)) == 12 and max(a) < 30 for a in of_all_keys), "buckets that are empty have a place as well"
    assert any(min(a[i] for i in empty) >= 30 for a in of_all_keys)


def test_contents_that_nobody_asks_for_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    def counted(one: NumberedFact, *arrays: Sequence[int]) -> bool:
        tried.append(one.kind)
        return keep_together(one, *arrays)

    monkeypatch.setattr(contents, "keep_together", counted)
    facts = [fact("ranks(r, k, 4)"), fact("buckets(a, k, 4, 5)")]
    found = several_joined(facts, {"r": described((8,)), "k": described((8,)), "a": described((10,))})
    first = [each for each, _ in zip(found, range(3), strict=False)]
    few = len(tried)
    assert len(first) == 3
    assert 0 < few < 20
    assert len(list(found)) > 100
    assert len(tried) > 10 * few


def test_what_else_is_said_of_ranks_buckets_and_their_keys_is_kept() -> None:
    texts = ["ranks(r, k, 4)", "buckets(a, k, 4, 8)"]
    arrays = {
        "r": described((8,), "range(r, 0, 2)"),
        "k": described((8,), "range(k, 0, 8)"),
        "a": described((16,), "range(a, 16, 199)", "multiples(a, 8)"),
    }
    found = list(several_joined(list(map(fact, texts)), arrays))
    assert found
    for each in found:
        assert max(each["r"]) <= 1
        assert all(start in range(16, 199, 8) for start in each["a"])
        assert all(broken(text, "i4", **each) is None for text in texts)


def test_arrays_that_wait_for_one_another_have_no_contents() -> None:
    waiting = [fact("ranks(a, b, 2)"), fact("ranks(b, a, 2)")]
    assert not list(several_joined(waiting, {n: described((2,)) for n in "ab"}))


def test_starts_of_segments_may_be_ranked_and_ranks_be_lengths() -> None:
    facts = [fact("ranks(n, k, 2)"), fact("segments(a, n)")]
    found = list(several_joined(facts, {name: described((4,)) for name in "ank"}))
    assert len(found) > 5
    for each in found:
        assert broken("ranks(n, k, 2)", "i4", **each) is None
        assert broken("segments(a, n)", "i4", **each) is None
