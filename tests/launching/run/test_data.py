"""Contents for data facts: what is generated keeps them, and what the checks say is what the facts mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tileverify.backend.numbers import inputs
from tileverify.backend.numbers.array_files import Array
from tileverify.backend.numbers.inputs import generated, violation
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts import kinds
from tileverify.contract.launch import Expression
from tileverify.system.errors import UsageError

from ...facts import keeps

NAMES = {"N": 4, "T": 2}


def value(expression: Expression) -> int:
    return evaluate(expression, NAMES)


FACTS = (
    "range(a, 0, 3)",
    "range(a, 1, 3, unless=-1)",
    "range(a, 0, 1, unless=(2, -1))",
    "injective(a)",
    "injective(a, 0, T)",
    "injective(a, unless=-1)",
    "permutation(a)",
    "nondecreasing(a)",
    "multiples(a, T)",
    "shares(a, N - 1)",
)


@pytest.mark.parametrize("text", [*FACTS, "disjoint_rows(a)", "disjoint_rows(a, 0, 2)", "disjoint_rows(a, unless=0)"])
def test_checks_say_what_the_facts_mean(text: str) -> None:
    fact = parse_data_fact(text)
    outcomes = set()
    for shape in ((2, 2), *(() if fact.kind == "disjoint_rows" else ((3,),))):
        for contents in product(range(-1, 3), repeat=int(np.prod(shape))):
            arrays = {"a": np.array(contents, np.int32).reshape(shape)}
            problem = violation(fact, arrays, value)
            assert (problem is None) == keeps(fact, arrays, value), (contents, problem)
            outcomes.add(problem is None)
    assert outcomes == {True, False}


@pytest.mark.parametrize("text", ["segments(a, n)", "segments(a, n, 0, N)"])
def test_segments_do_not_meet(text: str) -> None:
    fact = parse_data_fact(text)
    outcomes = set()
    for starts in product(range(4), repeat=3):
        for lengths in product(range(-1, 3), repeat=2):
            arrays: dict[str, NDArray[Any]] = {"a": np.array(starts, np.int32), "n": np.array(lengths, np.int64)}
            problem = violation(fact, arrays, value)
            assert (problem is None) == keeps(fact, arrays, value), (starts, lengths, problem)
            outcomes.add(problem is None)
    assert outcomes == {True, False}


OF_KEYS = (
    *("ranks(a, k, 1)", "ranks(a, k, T)", "ranks(a, k, 3)", "ranks(a, k, 99)"),
    *("buckets(a, k, T, T)", "buckets(a, k, 3, T, 0, 4)", "buckets(a, k, T, 9)", "buckets(a, k, 1, 1)"),
)


@pytest.mark.parametrize("text", OF_KEYS)
@pytest.mark.parametrize(("ours", "theirs"), [("int32", "int64"), ("int8", "uint8")])
def test_ranks_and_buckets_are_those_of_their_keys(text: str, ours: str, theirs: str) -> None:
    """Of arrays of any two lengths, with keys that have no bucket among them."""
    fact, random, outcomes = parse_data_fact(text), Random(1), set()
    for _ in range(1500):
        most = random.choice((1, 1, 4))
        a = [random.randint(-(most > 1), most) for _ in range(random.randint(0, 5))]
        keys = [random.randint(-1 if theirs == "int64" else 0, 2) for _ in range(random.randint(0, 4))]
        arrays: dict[str, NDArray[Any]] = {"a": np.array(a, ours), "k": np.array(keys, theirs)}
        problem = violation(fact, arrays, value)
        assert (problem is None) == keeps(fact, arrays, value), (a, keys, problem)
        outcomes.add(problem is None)
    assert outcomes == {True, False}


def test_a_problem_names_the_elements() -> None:
    def problem(text: str, **arrays: Sequence[object]) -> str | None:
        return violation(parse_data_fact(text), {k: np.asarray(v, np.int32) for k, v in arrays.items()}, value)

    assert problem("injective(a, 0, 4)", a=[4, 1, 4, 1]) == "a[1] = 1 is also a[3]"
    assert problem("disjoint_rows(a)", a=[[1, 1], [2, 1]]) == "a[0, 1] = 1 is also a[1, 1]"
    assert problem("nondecreasing(a)", a=[[1, 2], [3, 1]]) == "a[1, 1] = 1 follows 3"
    assert problem("multiples(a, 4)", a=[4, 6]) == "a[1] = 6 is no multiple of 4"
    assert problem("shares(a, 4)", a=[3, 2]) == "the sum of a is 5, more than 4"
    met = "[a[0], a[0] + n[0]) = [0, 2) meets [a[1], a[1] + n[1]) = [1, 3)"
    assert problem("segments(a, n)", a=[0, 1], n=[2, 2]) == met
    assert problem("segments(a, n)", a=[1], n=[-2]) == "n[0] = -2 is negative"
    too_large = "a[3] = 1 is not in [0, 1): chunk 1 of k has 1 of key 7"
    assert problem("ranks(a, k, 2)", a=[0, 1, 0, 1], k=[7, 7, 5, 7]) == too_large
    alike = "a[2] = 1 is also a[4], of the same key 7 in chunk 1 of k"
    assert problem("ranks(a, k, 2)", a=[0, 1, 1, 0], k=[7, 7, 7, 7]) is None
    assert problem("ranks(a, k, 3)", a=[0, 1, 0, 1, 1], k=[7, 7, 5, 7, 7]) == alike.replace("a[2]", "a[3]")
    assert problem("ranks(a, k, 0)", a=[0], k=[7]) == "the number 0 is below 1"
    met = "bucket a[0], of key 0 in chunk 0 of k, [4, 6), meets bucket a[2], of key 0 in chunk 1 of k, [5, 6)"
    assert problem("buckets(a, k, 2, 2)", a=[4, 0, 5], k=[0, 0, 0, 9]) == met
    outside = "bucket a[1], of key 1 in chunk 0 of k, [4, 6), is not inside [0, 5)"
    assert problem("buckets(a, k, 2, 2, 0, 5)", a=[9, 4], k=[1, 1]) == outside
    assert problem("buckets(a, k, 2, 0)", a=[0], k=[7]) == "the number 0 is below 1"
    assert problem("segments(a, n, 0, 2)", a=[1], n=[2]) == "[a[0], a[0] + n[0]) = [1, 3) is not inside [0, 2)"


TOGETHER = [
    *((text,) for text in FACTS),
    ("disjoint_rows(a, 0, 9)", "range(a, 0, 10)"),
    ("range(a, 0, 30)", "multiples(a, 3)", "nondecreasing(a)"),
    ("injective(a)", "multiples(a, 4)"),
    ("injective(a, 0, 3)", "range(a, 0, N)"),
    ("injective(a, unless=3)", "range(a, 0, N)"),
    ("injective(a, unless=-1)", "range(a, 0, N, unless=-1)"),
    ("range(a, 0, 0, unless=(-1, -2))", "disjoint_rows(a, unless=-1)"),
    ("shares(a, 12)", "multiples(a, 4)"),
    ("range(a, 0, 2)", "range(a, 1, 5)"),
]


@pytest.mark.parametrize("facts", TOGETHER)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_generated_contents_keep_the_facts(facts: tuple[str, ...], seed: int) -> None:
    parsed = [parse_data_fact(text) for text in facts]
    shape = (3, 2) if len(facts) > 1 or "rows" in facts[0] else (4,)
    a = generated("a", "i32", shape, parsed, value, seed, {})
    assert (a.shape, a.dtype) == (shape, np.dtype(np.int32))
    assert all(keeps(fact, {"a": a}, value) for fact in parsed)


@pytest.mark.parametrize("facts", TOGETHER)
def test_facts_of_a_subject_that_nobody_draws_for_make_their_contents(
    facts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new kind of fact is sampled by its own module, whatever it speaks of."""
    monkeypatch.setattr(inputs, "_DRAWN", frozenset())
    parsed = [parse_data_fact(text) for text in facts]
    shape = (3, 2) if len(facts) > 1 or "rows" in facts[0] else (4,)
    found = [generated("a", "i32", shape, parsed, value, seed, {}) for seed in range(20)]
    assert all(a.shape == shape and keeps(fact, {"a": a}, value) for a in found for fact in parsed)
    assert len({a.tobytes() for a in found}) > 1 or len(facts) > 1


MEETING = (
    *("range(a, 0, 6)", "range(a, 1, 3, unless=-1)", "range(a, 2, 7)", "range(a, -1, 1)", "injective(a)"),
    *("injective(a, 0, T)", "injective(a, unless=-1)", "permutation(a)", "nondecreasing(a)", "multiples(a, T)"),
    *("multiples(a, 3)", "shares(a, 3)", "shares(a, 7)", "disjoint_rows(a)", "disjoint_rows(a, 0, 2)"),
    *("unique_rows(a)", "column_range(a, 0, 0, 3)", "value_at(a, 1, 2)"),
)


def test_every_kind_of_fact_is_among_those_that_meet() -> None:
    assert {parse_data_fact(text).kind for text in MEETING} == {
        word for word, kind in kinds.FACTS.items() if not kind.joins
    }


@pytest.mark.parametrize(("shape", "together"), [((2, 1), 3), ((3,), 2)])
def test_contents_are_found_wherever_there_are_some(shape: tuple[int, ...], together: int) -> None:
    """Of small values, that is, which are looked through one by one here."""
    of_one_axis = [text for text in MEETING if not ("rows" in text or "column" in text)]
    texts = of_one_axis if len(shape) == 1 else [text for text in MEETING if "value_at" not in text]
    small = [np.array(each, np.int32).reshape(shape) for each in product(range(-1, 8), repeat=int(np.prod(shape)))]
    keeping = {
        text: {i for i, a in enumerate(small) if keeps(parse_data_fact(text), {"a": a}, value)} for text in texts
    }
    outcomes = set()
    for chosen in combinations(texts, together):
        facts = [parse_data_fact(text) for text in chosen]
        some = bool(set.intersection(*(keeping[text] for text in chosen)))
        try:
            a = generated("a", "i32", shape, facts, value, 1, {})
        except UsageError:
            assert not some, chosen
        else:
            assert all(keeps(fact, {"a": a}, value) for fact in facts), (chosen, a)
        outcomes.add(some)
    assert outcomes == {True, False}


@pytest.mark.parametrize("segments", ["segments(a, n)", "segments(a, n, 0, 6)", "segments(a, n, 1, 7)"])
def test_what_is_said_of_starts_and_lengths_alone_is_kept_too(segments: str) -> None:
    texts = [text for text in MEETING if not ("rows" in text or "column" in text)]
    found = 0
    for of_starts, of_lengths in product(texts, repeat=2):
        facts = [parse_data_fact(text) for text in (segments, of_starts, of_lengths.replace("(a", "(n"))]
        try:
            n = generated("n", "i32", (2,), facts, value, 1, {})
            a = generated("a", "i32", (2,), facts, value, 1, {"n": n})
        except UsageError:
            continue
        found += 1
        assert all(keeps(fact, {"a": a, "n": n}, value) for fact in facts), (of_starts, of_lengths, a, n)
    assert found > len(texts) ** 2 * 0.7


@pytest.mark.parametrize(
    "alone",
    [("range(a, 0, 900)",), ("range(a, 100, 600)", "multiples(a, 4)"), ("multiples(a, 8)", "nondecreasing(a)")],
)
def test_many_segments_keep_what_is_said_of_starts(alone: tuple[str, ...]) -> None:
    facts = [parse_data_fact(text) for text in ("segments(a, n, 0, 1000)", *alone)]
    n = generated("n", "i32", (40,), facts, value, 1, {})
    a = generated("a", "i32", (41,), facts, value, 1, {"n": n})
    assert n.any()
    assert all(keeps(fact, {"a": a, "n": n}, value) for fact in facts)


def test_many_shares_have_their_least_value() -> None:
    facts = [parse_data_fact(text) for text in ("shares(a, 4000)", "range(a, 3, 50)", "multiples(a, 2)")]
    a = generated("a", "i32", (500,), facts, value, 1, {})
    assert all(keeps(fact, {"a": a}, value) for fact in facts)
    assert len(set(a)) > 4


def test_generated_segments_lie_side_by_side() -> None:
    facts = [parse_data_fact("segments(a, n, 1, 20)")]
    n = generated("n", "i32", (5,), facts, value, 3, {})
    assert sum(n) <= 19
    a = generated("a", "i64", (6,), facts, value, 3, {"n": n})
    assert a.dtype == np.int64
    assert keeps(facts[0], {"a": a, "n": n}, value)
    assert a[5] == 1 + sum(n)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_generated_ranks_and_buckets_follow_from_their_keys(seed: int) -> None:
    texts = ["ranks(r, k, 3)", "buckets(a, k, 3, 4, 1, 14)", "range(k, 0, 4)", "range(a, 0, 30)"]
    facts = [parse_data_fact(text) for text in texts]
    k = generated("k", "i32", (8,), facts, value, seed, {})
    r = generated("r", "i32", (9,), facts, value, seed, {"k": k})
    a = generated("a", "i64", (14,), facts, value, seed, {"k": k, "r": r})
    assert all(keeps(fact, {"k": k, "r": r, "a": a}, value) for fact in facts)
    places = a[np.arange(8) // 3 * 4 + k] + r[:8]
    assert sorted(set(places)) == sorted(places)
    with pytest.raises(UsageError, match=r"no contents of a were found that satisfy .*range\(a, 0, 2\)"):
        generated("a", "i32", (12,), [*facts, parse_data_fact("range(a, 0, 2)")], value, seed, {"k": k})


@pytest.mark.parametrize("wide", ["segments(a, n, 1, 9)", "buckets(a, n, 1, 9)"])
def test_only_lengths_have_to_fit_between_the_limits_of_starts(wide: str) -> None:
    """Keys are no lengths: what is said of where buckets begin says nothing of their sum."""
    facts = [parse_data_fact(text) for text in (wide, "range(n, 5, 9)", "range(a, 0, 9)")]
    if wide.startswith("buckets"):
        assert min(generated("n", "i32", (3,), facts, value, 1, {})) >= 5
    else:
        with pytest.raises(UsageError):
            generated("n", "i32", (3,), facts, value, 1, {})


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*texts: str) -> Array:
        return generated("a", "i32", (4,), [parse_data_fact(text) for text in texts], value, 0, {})

    with pytest.raises(UsageError, match="leaves 3 different values"):
        make("injective(a)", "range(a, 0, 3)")
    with pytest.raises(UsageError, match="the range is empty"):
        make("range(a, 1, 3)", "multiples(a, 4)")
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "_DRAWN", frozenset())
        with pytest.raises(UsageError, match="no contents of a were found"):
            make("injective(a)", "range(a, 0, 3)")
