"""Contents of a witness's index arrays keep the contract's facts in every element, or there are none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tileverify.frontend.sources.expressions import parse_data_fact
from tileverify.frontend.symbolic import terms as t
from tileverify.verifier.contract import DataTerm
from tileverify.verifier.evaluate import evaluate
from tileverify.verifier.witness_data import MOST_ELEMENTS, Contents, NoContents, completed, other_contents


def facts(*texts: str) -> list[DataTerm]:
    def number(text: object) -> t.Term | None:
        return None if text is None else t.const(text.value)  # type: ignore[attr-defined]

    read = [parse_data_fact(text) for text in texts]
    return [DataTerm(fact, number(fact.low), number(fact.high)) for fact in read]


def contents(known: Mapping[int, int], count: int, *texts: str, dtype: str = "i32", stride: int = 1) -> Contents:
    return completed(known, [count], [stride], dtype, facts(*texts), lambda term: int(evaluate(term, {})))


def listed(known: Mapping[int, int], count: int, *texts: str) -> list[int]:
    found = contents(known, count, *texts)
    return [found.values.get(place, found.fill) for place in range(count)]


def test_without_facts_the_model_s_values_stand_alone() -> None:
    assert contents({3: 7}, 10) == Contents({3: 7}, 0)


def test_a_range_is_filled_without_a_list() -> None:
    found = contents({5: 12}, 1 << 40, "range(a, 10, 20)")
    assert (dict(found.values), found.fill) == ({5: 12}, 10)
    assert contents({}, 3, "range(a, -5, 3)").fill == 0


def test_injective_contents_do_not_repeat_what_the_model_says() -> None:
    values = listed({1: 0, 3: 2}, 5, "injective(a)", "range(a, 0, 5)")
    assert sorted(values) == [0, 1, 2, 3, 4]
    assert (values[1], values[3]) == (0, 2)


def test_a_permutation_takes_every_index_once() -> None:
    values = listed({0: 3}, 4, "permutation(a)")
    assert sorted(values) == [0, 1, 2, 3]
    assert values[0] == 3


def test_sorted_contents_never_fall() -> None:
    assert listed({1: 4, 3: 9}, 5, "nondecreasing(a)") == [0, 4, 4, 9, 9]
    assert listed({2: -3}, 4, "nondecreasing(a)") == [-3, -3, -3, -3]


def test_sorted_and_injective_contents_rise() -> None:
    assert listed({1: 4, 3: 9}, 5, "nondecreasing(a)", "injective(a)") == [3, 4, 5, 9, 10]


def test_an_unsigned_element_is_read_as_its_type_does() -> None:
    assert contents({0: -1}, 1, "range(a, 0, 256)", dtype="u8").values[0] == 255


def test_strides_are_stepped_over() -> None:
    assert sorted(contents({4: 1}, 3, "permutation(a)", stride=2).values) == [0, 2, 4]


@pytest.mark.parametrize(
    ("known", "count", "texts"),
    [
        ({0: 7}, 2, ["range(a, 0, 5)"]),
        ({0: 1, 1: 1}, 2, ["injective(a)"]),
        ({}, 4, ["injective(a)", "range(a, 0, 3)"]),
        ({0: 5, 1: 4}, 2, ["nondecreasing(a)"]),
        ({0: 4, 2: 5}, 3, ["nondecreasing(a)", "injective(a)"]),
        ({}, 1, ["range(a, 3, 3)"]),
        ({}, MOST_ELEMENTS + 1, ["injective(a)"]),
    ],
)
def test_where_nothing_keeps_the_facts_there_is_no_launch(known: dict[int, int], count: int, texts: list[str]) -> None:
    with pytest.raises(NoContents):
        contents(known, count, *texts)


def test_other_contents_differ_and_keep_the_facts() -> None:
    found = [
        tuple(each.values.values())
        for each in other_contents([3], [1], "i32", facts("range(a, 2, 9)", "injective(a)"), lambda t: t.value)
    ]
    assert {(2, 3, 4), (6, 7, 8), (8, 7, 6)} <= set(found)
    assert all(len(set(values)) == 3 and all(2 <= value < 9 for value in values) for values in found)


def test_contents_without_facts_are_alike_apart_and_far_apart() -> None:
    found = {tuple(each.values.values()) for each in other_contents([3], [1], "i32", [], lambda t: t.value)}
    assert {(0, 1, 2), (0, 4096, 8192), (0, 0, 0), (2, 1, 0)} <= found
