"""A fault is the kernel's own if it shows whatever index arrays hold; a scripted replay says in which it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from tileverify.contract.facts.kept import keep_together
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch
from tileverify.results.claim import Claim, Confirmation, Shown, Touch
from tileverify.results.codes import TV
from tileverify.verifier.refute.sampled_contents import ENOUGH, FEWEST, SampledContents

from .numbered import fact

CLAIM = Claim(TV.RACE_WRITE_WRITE, (0, 0, 0), (1, 0, 0))
STEPS = 5
OTHER = "another fault"


class Scripted:
    """``shows`` says of the contents of `a` and `b`: the fault (True), none (False), another one (`OTHER`), or that
    nothing is at stake (None)."""

    def __init__(self, shows: Callable[..., bool | str | None]) -> None:
        self.shows = shows
        self.asked: list[tuple[tuple[int, ...], ...]] = []

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> None:
        raise AssertionError("the blocks of the model do not matter")

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        contents = tuple(tuple(array.contents.values()) for array in launch.arrays.values())
        self.asked.append(contents)
        seen = self.shows(*contents)
        found = Confirmation("o", "o[0]", 0, Touch(0, "store", (0, 0, 0)), None, "a test", steps=STEPS)
        return Shown(claim, found if seen is True else None, seen is not None, seen is OTHER)


def array(count: int) -> ConcreteArray:
    return ConcreteArray("i32", (count,), (1,))


def shows(
    script: Callable[..., bool | str | None],
    *texts: str,
    bounded: bool = False,
    b: ConcreteArray | None = None,
    count: int = 3,
) -> tuple[int | None, Scripted]:
    arrays = {"a": replace(array(count), allocation="a")}
    arrays |= {} if b is None else {"b": replace(b, allocation="b")}
    replay = Scripted(script)
    facts = list(map(fact, texts))
    to_bound = frozenset(arrays if bounded else ())
    variety = SampledContents(ConcreteLaunch((4, 1, 1), arrays, {}), frozenset(arrays), facts, to_bound)
    found = variety.shows(CLAIM, replay)
    return None if found is None else found.confirmation.steps, replay


def test_a_fault_in_all_contents_is_the_kernel_s_own() -> None:
    steps, replay = shows(lambda a: True, "range(a, 0, 50)")
    assert len(replay.asked) >= FEWEST
    assert steps == STEPS * len(replay.asked)


def test_one_content_without_the_fault_is_enough() -> None:
    steps, replay = shows(lambda a: len(set(a)) < 3, "range(a, 0, 50)")
    assert steps is None
    assert len(replay.asked) == 1, "the ordinary ones come first"
    assert shows(lambda a: a[0] != 4096)[0] is None


def test_contents_that_do_not_reach_the_accesses_say_nothing() -> None:
    assert shows(lambda a: True if max(a) < 20 else None, "range(a, 0, 50)")[0] is not None
    assert shows(lambda a: None, "range(a, 0, 50)")[0] is None


def test_values_that_do_not_repeat_must_be_among_those_that_show_it() -> None:
    """Otherwise a fact against repeated values may be all that is missing."""
    assert shows(lambda a: True if len(set(a)) < 3 else None, "range(a, 0, 50)")[0] is None


def test_a_content_without_the_fault_counts_if_a_fact_tells_it_from_those_with_it() -> None:
    """Steps of 4 are `multiples(a, 4)`; that the first of three values is 0 is no fact."""
    assert shows(lambda a: len(set(a)) < 3 or a[1] - a[0] < 4, "range(a, 0, 50)")[0] is None
    assert shows(lambda a: a[0] > 0 if any(a) else None, "shares(a, 50)")[0] is not None
    assert shows(lambda a: max(a) > 5 if any(a) else None, "shares(a, 50)")[0] is None


def test_another_fault_is_one_too_where_facts_bound_the_values() -> None:
    assert shows(lambda a: True if max(a) < 40 else OTHER, "range(a, 0, 50)")[0] is not None
    assert shows(lambda a: OTHER, "range(a, 0, 50)")[0] is None, "the claimed one has to show somewhere"


def test_another_fault_of_values_without_bounds_says_nothing() -> None:
    assert shows(lambda a: True if max(a) < 40 else OTHER, "injective(a)")[0] is not None
    assert shows(lambda a: True if max(a) == 0 else OTHER, "multiples(a, 2)")[0] is None


def test_few_contents_do_where_there_are_no_others() -> None:
    assert shows(lambda a: True, "range(a, 0, 1)")[0] == STEPS
    assert shows(lambda a: True, "range(a, 0, 2)", count=1)[0] == 2 * STEPS


def test_bounds_need_facts_that_bound_the_values() -> None:
    assert shows(lambda a: True, "injective(a)", bounded=True)[0] is None
    assert shows(lambda a: True, "range(a, 0, 9, unless=-1)", bounded=True)[0] is not None
    assert shows(lambda a, b: True, "segments(a, b, 0, 9)", bounded=True, b=array(3))[0] is not None
    assert shows(lambda a, b: True, "segments(a, b)", bounded=True, b=array(3))[0] is None


def test_arrays_that_a_fact_joins_change_together() -> None:
    def apart(starts: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
        pieces = sorted((a, a + n) for a, n in zip(starts, lengths, strict=True) if n)
        return all(end <= start for (_, end), (start, _) in pairwise(pieces))

    steps, replay = shows(lambda a, b: True, "segments(a, b, 0, 90)", b=array(3))
    assert steps is not None
    assert all(apart(*contents) for contents in replay.asked)


def test_arrays_that_several_facts_join_change_together() -> None:
    facts = ["ranks(a, b, 2)", "range(a, 0, 9)", "range(b, 0, 3)"]
    steps, replay = shows(lambda a, b: True, *facts, b=array(4), count=4)
    assert steps is not None
    assert len({b for _, b in replay.asked}) > 4
    for a, b in replay.asked:
        assert keep_together(fact(facts[0]), a, b)
    assert shows(lambda a, b: True, "ranks(a, b, 2)", b=array(4), count=4, bounded=True)[0] is None, (
        "keys have no bounds"
    )
    assert (
        shows(lambda a, b: True, "ranks(a, b, 2)", "range(b, 0, 3)", b=array(4), count=4, bounded=True)[0] is not None
    )
    assert shows(lambda a, b: True, "ranks(a, b, 2)", "ranks(b, a, 2)", b=array(4), count=4)[0] is None, "of each other"


def test_keys_that_differ_in_each_chunk_are_told_from_others() -> None:
    """`ranks(a, b, 2)` says of ranks that are all 0 that keys do not repeat there."""
    facts = ["ranks(a, b, 1)", "range(b, 0, 2)"]
    assert shows(lambda a, b: any(b[i] == b[i + 1] for i in (0, 2)), *facts, b=array(4), count=4)[0] is None


def test_one_content_of_keys_without_the_fault_is_enough() -> None:
    """Chunks may be of any size, so that nobody knows what facts would tell it from others."""
    facts = ["buckets(a, b, 2, 2, 0, 9)", "range(b, 0, 2)"]
    assert shows(lambda a, b: True, *facts, b=array(6), count=6)[0] is not None
    assert shows(lambda a, b: b[0] <= b[1], *facts, b=array(6), count=6)[0] is None


def test_all_pairs_of_contents_are_tried_where_they_are_few() -> None:
    _, replay = shows(lambda a, b: True, "range(a, 0, 2)", "range(b, 0, 3)", b=array(1), count=1)
    assert sorted(replay.asked) == [((i,), (j,)) for i in range(2) for j in range(3)]


def test_an_array_that_shares_memory_is_not_changed() -> None:
    replay = Scripted(lambda a, b: True)
    for memory, wanted in (("b", False), ("a", True)):
        arrays = {"a": replace(array(3), allocation="a"), "b": replace(array(3), allocation=memory)}
        variety = SampledContents(ConcreteLaunch((4, 1, 1), arrays, {}), frozenset({"a"}), (), frozenset())
        assert (variety.shows(CLAIM, replay) is None) is wanted


@pytest.mark.parametrize(("steps_for", "found"), [(ENOUGH, True), (ENOUGH - 1, False)])
def test_contents_that_no_steps_are_left_for_speak_neither_way(steps_for: int, found: bool) -> None:
    """Many contents that show the fault are enough; with few, the next one could have cleared the kernel."""

    class Poor(Scripted):
        def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
            shown = super().anywhere(launch, claim)
            return shown if len(self.asked) <= steps_for else Shown(claim, None, True, cut=True)

    arrays = {"a": replace(array(20), allocation="a")}
    variety = SampledContents(ConcreteLaunch((4, 1, 1), arrays, {}), frozenset(arrays), (), frozenset())
    replay = Poor(lambda a: True)
    assert (variety.shows(CLAIM, replay) is not None) is found
    assert len(replay.asked) == steps_for + 1
    assert variety.escapes(CLAIM, Poor(lambda a: True)) is not found


def test_of_a_race_no_contents_are_enough_where_steps_run_out() -> None:
    """Ranks beside the keys that they count keep blocks apart, and no draw hits upon them."""

    class Poor(Scripted):
        def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
            shown = super().anywhere(launch, claim)
            return shown if len(self.asked) <= ENOUGH else Shown(claim, None, True, cut=True)

    arrays = {"a": replace(array(20), allocation="a")}
    variety = SampledContents(ConcreteLaunch((4, 1, 1), arrays, {}), frozenset(arrays), (), frozenset(), race=True)
    assert variety.shows(CLAIM, Poor(lambda a: True)) is None
    assert variety.escapes(CLAIM, Poor(lambda a: True))
