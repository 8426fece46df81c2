"""Contents of a witness's index arrays keep the contract's facts in every element, or there are none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tileverify.contract.facts.contents import MOST_ELEMENTS
from tileverify.contract.facts.kept import keep_together, keeps
from tileverify.contract.launch import ConcreteArray
from tileverify.verifier.refute.sampled_contents import NoContents, completed, segments_keep

from .numbered import fact


def array(known: Mapping[int, int], *shape: int, dtype: str = "i32") -> ConcreteArray:
    strides = tuple(1 if dim == len(shape) - 1 else shape[-1] for dim in range(len(shape)))
    return ConcreteArray(dtype, shape, strides, known)


def listed(known: Mapping[int, int], shape: tuple[int, ...], *texts: str) -> list[int]:
    found = completed(array(known, *shape), list(map(fact, texts)))
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    return [found.contents.get(place, found.fill) for place in range(count)]


def test_without_facts_the_model_s_values_stand_alone() -> None:
    assert completed(array({3: 7}, 10), []) == array({3: 7}, 10)


def test_a_range_is_filled_without_a_list() -> None:
    found = completed(array({5: 12}, 1 << 40), [fact("range(a, 10, 20)")])
    assert (dict(found.contents), found.fill) == ({5: 12}, 10)
    assert completed(array({}, 3), [fact("range(a, -5, 3)")]).fill == 0


def test_an_excused_value_may_stand_for_all() -> None:
    assert listed({0: -1}, (3,), "range(a, 5, 5, unless=-1)") == [-1, -1, -1]
    assert listed({0: -1, 2: -1, 3: 0}, (4,), "injective(a, unless=-1)", "range(a, 0, 2, unless=-1)").count(-1) >= 2


def test_injective_contents_do_not_repeat_what_the_model_says() -> None:
    values = listed({1: 0, 3: 2}, (5,), "injective(a)", "range(a, 0, 5)")
    assert sorted(values) == [0, 1, 2, 3, 4]
    assert (values[1], values[3]) == (0, 2)


def test_a_permutation_takes_every_index_once() -> None:
    values = listed({0: 3}, (4,), "permutation(a)")
    assert sorted(values) == [0, 1, 2, 3]
    assert values[0] == 3


def test_sorted_contents_never_fall() -> None:
    assert listed({1: 4, 3: 9}, (5,), "nondecreasing(a)") == [0, 4, 4, 9, 9]
    assert listed({2: -3}, (4,), "nondecreasing(a)") == [-3, -3, -3, -3]


def test_rows_are_sorted_each_for_itself() -> None:
    values = listed({1: 7, 4: 2}, (2, 3), "nondecreasing(a)")
    assert values[:3] == sorted(values[:3])
    assert values[3:] == sorted(values[3:])
    assert (values[1], values[4]) == (7, 2)


def test_sorted_and_injective_contents_rise() -> None:
    assert listed({1: 4, 3: 9}, (5,), "nondecreasing(a)", "injective(a)") == [3, 4, 5, 9, 10]


def test_multiples_and_shares() -> None:
    assert listed({1: 32}, (3,), "multiples(a, 16)") == [0, 32, 0]
    assert listed({}, (3,), "multiples(a, 16)", "injective(a)") == [0, 16, 32]
    assert listed({1: 5}, (4,), "shares(a, 7)") == [0, 5, 0, 0]


def test_an_unsigned_element_is_read_as_its_type_does() -> None:
    assert completed(array({0: -1}, 1, dtype="u8"), [fact("range(a, 0, 256)")]).contents[0] == 255


def test_only_elements_are_given_values() -> None:
    apart = ConcreteArray("i32", (3,), (2,), {4: 1})
    assert sorted(completed(apart, [fact("permutation(a)")]).contents) == [0, 2, 4]


@pytest.mark.parametrize(
    ("known", "count", "texts"),
    [
        ({0: 7}, 2, ["range(a, 0, 5)"]),
        ({0: 1, 1: 1}, 2, ["injective(a)"]),
        ({}, 4, ["injective(a)", "range(a, 0, 3)"]),
        ({0: 5, 1: 4}, 2, ["nondecreasing(a)"]),
        ({0: 4, 2: 5}, 3, ["nondecreasing(a)", "injective(a)"]),
        ({}, 1, ["range(a, 3, 3)"]),
        ({0: 3}, 2, ["multiples(a, 2)"]),
        ({0: 3, 1: 5}, 2, ["shares(a, 7)"]),
        ({}, MOST_ELEMENTS + 1, ["injective(a)"]),
    ],
)
def test_where_nothing_keeps_the_facts_there_is_no_launch(known: dict[int, int], count: int, texts: list[str]) -> None:
    with pytest.raises(NoContents):
        listed(known, (count,), *texts)


# ---------------------------------------------------------------------------------------------- meaning
@pytest.mark.parametrize(
    ("text", "kept", "broken"),
    [
        ("range(a, 1, 4)", [1, 3, 3], [1, 4, 2]),
        ("range(a, 1, 4, unless=9)", [1, 9, 9], [1, 8, 2]),
        ("injective(a)", [5, -1, 0], [5, -1, 5]),
        ("injective(a, 0, 3)", [5, 0, 5], [1, 0, 1]),
        ("injective(a, unless=(-1, 7))", [-1, 7, -1], [2, -1, 2]),
        ("permutation(a)", [2, 0, 1], [3, 0, 1]),
        ("nondecreasing(a)", [0, 0, 4], [0, 4, 3]),
        ("multiples(a, 4)", [-4, 0, 8], [0, 6, 4]),
        ("shares(a, 5)", [0, 2, 3], [1, 2, 3]),
        ("shares(a, 5)", [0, 0, 0], [-1, 2, 3]),
    ],
)
def test_what_facts_mean(text: str, kept: list[int], broken: list[int]) -> None:
    assert keeps(fact(text), kept, 3)
    assert not keeps(fact(text), broken, 3)


def test_rows_may_repeat_their_own_values_only() -> None:
    assert keeps(fact("disjoint_rows(a)"), [1, 1, 2, 3], 2)
    assert not keeps(fact("disjoint_rows(a)"), [1, 2, 2, 3], 2)
    assert keeps(fact("nondecreasing(a)"), [1, 2, 0, 3], 2)


def test_segments_may_touch_and_be_empty() -> None:
    segments = fact("segments(starts, lengths, 0, 10)")
    assert keep_together(segments, [4, 0, 99, 2], [6, 2, 0, 2])
    assert not keep_together(segments, [4, 0], [6, 5])
    assert not keep_together(segments, [4], [7])
    starts = array({0: 0, 1: 2}, 2)
    assert segments_keep({"starts": starts, "lengths": array({0: 2, 1: 2}, 2)}, [segments])
    assert not segments_keep({"starts": starts, "lengths": array({0: 3, 1: 2}, 2)}, [segments])


def test_ranks_and_buckets_follow_from_their_keys() -> None:
    ranks = fact("ranks(a, keys, 2)")
    assert keep_together(ranks, [1, 0, 0, 0], [-5, -5, 7, -5])
    assert keep_together(ranks, [0, 99], [3]), "behind the last key"
    assert not keep_together(ranks, [0, 0, 0, 0], [-5, -5, 7, -5])
    assert not keep_together(ranks, [0, 0, 1, 0], [1, 2, 3, 4])
    assert not keep_together(ranks, [-1], [3])
    assert not keep_together(fact("ranks(a, keys, 0)"), [0], [3])
    buckets = fact("buckets(a, keys, 3, 2, 0, 9)")
    assert keep_together(buckets, [7, 0, 99, 1, 99], [0, 0, 1, 1, 2, 1]), "key 2 has no bucket, chunk 1 no key 0"
    assert not keep_together(buckets, [7, 0, 99, 0, 99], [0, 0, 1, 1, 2, 1])
    assert not keep_together(buckets, [8, 0], [0, 0, 1])
    assert not keep_together(fact("buckets(a, keys, 1, 0)"), [0], [3])
    keys = array({0: 0, 1: 0}, 2)
    assert segments_keep({"a": array({0: 1}, 2), "keys": keys}, [ranks])
    assert not segments_keep({"a": array({}, 2), "keys": keys}, [ranks])
