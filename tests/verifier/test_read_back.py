"""What a load reads back (`protocols.read_back`): each premise of the rule, broken by a kernel.

Every kernel here is wrong in some launch, or may be, and must not be proved.  With the premise taken out of the rule it
is: so nothing else keeps it from being proved, and the test can fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.written_kernel import judged

from tileverify.contract import terms as t
from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.obligations.protocols import instances, read_back
from tileverify.verifier.obligations.protocols.read_back import Bound, ReadBack, StoredArray

Patch = pytest.MonkeyPatch
OPTIONS = CheckOptions(deny_requires=True, witnesses=False)
HEAD = """import cuda.tile as ct

C = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE
DEVICE = ct.MemoryScope.DEVICE


@ct.kernel
"""


def checked(folder: Path, source: str, spec: str) -> KernelResult:
    result = judged(folder, HEAD + source, f'kernel = "kernel"\n{spec}', OPTIONS)
    assert result.verdict is not Verdict.ERROR, result.findings
    return result


def proved(folder: Path, source: str, spec: str) -> bool:
    return checked(folder, source, spec).verdict is Verdict.PROVED


# ------------------------------------------------------------------------------------------------- a counter
COUNT = """def kernel(counts, out, S: C, T: C):
    b = ct.bid(0)
{before}    for k in range(T):
        c = {load}
{body}        {store}
{behind}"""
USE = "ct.scatter(out, b * S + c, k, check_bounds=False)"
SPEC = """grid = [{grid}]
data = ["{data}"]
args = {{ counts = "i32[{counts}]", out = "i32[{out}]", S = {S}, T = 8 }}
{more}"""
LOAD, STORE = "ct.gather(counts, b)", "ct.scatter(counts, b, {}, check_bounds=False)"


@dataclass(frozen=True)
class Kernel:
    """A block counts in ``counts[b]`` from 0 to 7 and writes where that says, in ``size`` elements of its own."""

    before: str = ""
    load: str = LOAD
    body: str = f"        {USE}\n"
    store: str = STORE.format("c + 1")
    behind: str = ""
    data: str = "range(counts, 0, 1)"
    counts: int = 4
    size: int = 8
    grid: int = 4
    more: str = ""

    @property
    def texts(self) -> tuple[str, str]:
        fields = {name: getattr(self, name) for name in ("before", "load", "body", "store", "behind")}
        out = self.grid * self.size
        spec = SPEC.format(grid=self.grid, data=self.data, counts=self.counts, out=out, S=self.size, more=self.more)
        return COUNT.format(**fields), spec


AGAIN = f"c = {LOAD}\n        {USE}"
RIGHT = {
    "counted up": Kernel(),
    "from one": Kernel(data="range(counts, 0, 2)", size=9),
    "by two": Kernel(store=STORE.format("c + 2"), size=15),
    "used behind the store": Kernel(body="", store=f"{STORE.format('c + 1')}\n        {AGAIN}", size=9),
    "counted twice": Kernel(
        body=f"        {USE}\n        {STORE.format('c + 1')}\n        c = {LOAD}\n", size=15,
    ),
    "used behind the loop": Kernel(behind=f"    ct.scatter(out, b * S + {LOAD}, b, check_bounds=False)\n", size=9),
    "zeroed": Kernel(before=f"    {STORE.format('0')}\n", data="range(counts, 0, 9)"),
    "down": Kernel(body="        ct.scatter(out, b * S + 7 + c, k, check_bounds=False)\n", store=STORE.format("c - 1")),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_counters_of_one_block_are_followed(tmp_path: Path, name: str) -> None:
    assert proved(tmp_path, *RIGHT[name].texts)


# --------------------------------------------------------------------------------------------- what breaks it
def first_contents_forgotten(patch: Patch) -> None:
    patch.setattr(Bound, "broken_at_first", lambda bound, initial: t.FALSE)


def stores_forgotten(patch: Patch) -> None:
    patch.setattr(ReadBack, "_broken", lambda self, name, bound, now: iter(()))


def own_rounds_alone(patch: Patch) -> None:
    """One store in each round, however many there are."""
    kept = StoredArray.before

    def before(self: StoredArray, seen: Any) -> Any:
        return kept(replace(self, counted=self.counted[:1]), seen)

    patch.setattr(StoredArray, "before", before)


def stores_of_this_round_forgotten(patch: Patch) -> None:
    patch.setattr(StoredArray, "before", lambda self, seen: t.scale(len(self.counted), seen.args[0]))


def loops_forgotten(patch: Patch) -> None:
    """A load behind the loop counts as one in front of it."""
    kept = StoredArray.before
    patch.setattr(StoredArray, "before", lambda self, seen: t.ZERO if not seen.site.loops else kept(self, seen))


def inner_loops_forgotten(patch: Patch) -> None:
    kept = read_back._stored

    def stored(*given: Any) -> Any:
        found = kept(*given)
        return found and replace(found, loop=found.stores[0].site.loops[0].name)

    patch.setattr(read_back, "_stored", stored)


def text_is_order(patch: Patch) -> None:
    patch.setattr(StoredArray, "sees_none", lambda self, site: all(w.site.offset > site.offset for w in self.stores))


def coverage_guessed(patch: Patch) -> None:
    patch.setattr(ReadBack, "_why_covered", lambda self, load: ())


def all_alike(patch: Patch) -> None:
    """What is covered of one load is taken for all of the array."""
    kept = ReadBack._why_covered

    def covered(self: ReadBack, load: Any) -> Any:
        of_array = [other for other in self.loads.values() if other.origin.name == load.origin.name]
        return next((why for why in (kept(self, other) for other in of_array) if why is not None), None)

    patch.setattr(ReadBack, "_why_covered", covered)


def lanes_outside_count(patch: Patch) -> None:
    patch.setattr(read_back, "touches", lambda seen, contract: t.TRUE)


def overlaps_forgotten(patch: Patch) -> None:
    def writers(origin: Any, sites: Any, contract: Any) -> Any:
        return tuple(each for each in sites if each.site.writes and each.origin.name == origin.name)

    patch.setattr(read_back, "element_writers", writers)


def atomics_forgotten(patch: Patch) -> None:
    def writers(*given: Any) -> Any:
        return tuple(each for each in instances.element_writers(*given) or () if not each.site.atomic)

    patch.setattr(read_back, "element_writers", writers)


def uncounted_stores_forgotten(patch: Patch) -> None:
    kept = ReadBack._broken

    def broken(self: ReadBack, name: str, *given: Any) -> Any:
        stored = self._stored[name]
        self._stored[name] = replace(stored, stores=stored.counted)
        yield from list(kept(self, name, *given))
        self._stored[name] = stored

    patch.setattr(ReadBack, "_broken", broken)


def scoped_is_plain(patch: Patch) -> None:
    patch.setattr(read_back, "_is_plain", lambda prepared: True)


def acquires_forgotten(patch: Patch) -> None:
    patch.setattr(read_back, "_ACQUIRING", ())


LANES_OUTSIDE = """def kernel(heads, out, S: C):
    pair = ct.load(heads, index=(0,), shape=(2,), padding_mode=ct.PaddingMode.UNDETERMINED)
    ct.scatter(out, ct.arange(2, dtype=ct.int32) * S + pair, pair, check_bounds=False)
    ct.scatter(heads, 0, 0)
"""
LANES_OUTSIDE_SPEC = """grid = [1]
data = ["range(heads, 0, 1)"]
args = { heads = "i32[1]", out = "i32[16]", S = 8 }"""

HANDED_OVER = """def kernel(counts, flag, out, T: C):
    if ct.bid(0) == 1:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.scatter(out, ct.gather(counts, 0), 1, check_bounds=False)
    else:
        for k in range(T):
            ct.scatter(counts, 0, ct.gather(counts, 0) + 1)
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
"""
HANDED_OVER_SPEC = """grid = [2]
data = ["range(counts, 0, 1)", "range(flag, 0, 1)"]
args = { counts = "i32[1]", flag = "i32[1]", out = "i32[1]", T = 8 }"""

SCOPED = """def kernel(counts, out, S: C, T: C):
    b = ct.bid(0)
    for k in range(T):
        c = ct.load(counts, index=(0,), shape=(1,), memory_order=RELAXED, memory_scope=DEVICE)
        ct.scatter(out, b * S + c, k, check_bounds=False)
        ct.store(counts, index=(0,), tile=c + 1, memory_order=RELAXED, memory_scope=DEVICE)
"""
SCOPED_SPEC = """grid = [2]
data = ["range(counts, 0, 1)"]
args = { counts = "i32[1]", out = "i32[16]", S = 8, T = 8 }"""

BROKEN: dict[str, tuple[Kernel, Callable[[Patch], None]]] = {
    "begins too high": (
        Kernel(data="range(counts, 0, 9)", store=STORE.format("c + 1 if (c + 1).item() < 8 else 0")),
        first_contents_forgotten,
    ),
    "a store out of range": (Kernel(store=STORE.format("c + 1 if k < 4 else 8")), stores_forgotten),
    "two stores in a round": (
        Kernel(body=f"        {USE}\n        {STORE.format('c + 1')}\n        c = {LOAD}\n"), own_rounds_alone
    ),
    "read behind this round's store": (
        Kernel(body="", store=f"{STORE.format('c + 1')}\n        {AGAIN}"), stores_of_this_round_forgotten
    ),
    "read behind the loop": (
        Kernel(behind=f"    ct.scatter(out, b * S + {LOAD}, b, check_bounds=False)\n"), loops_forgotten
    ),
    "counted in an inner loop": (
        Kernel(store=f"for again in range(2):\n            {STORE.format(f'{LOAD} + 1')}"), inner_loops_forgotten
    ),
    "the store of the round before": (Kernel(store=STORE.format("9")), text_is_order),
    "nothing is zeroed": (Kernel(data="range(out, 0, 1)"), coverage_guessed),
    "another element is zeroed": (
        Kernel(before=f"    {STORE.format('0').replace('b', '(b + 4)', 1)}\n", data="range(out, 0, 1)", counts=8),
        coverage_guessed,
    ),
    "zeroed by some": (
        Kernel(before=f"    if b < 3:\n        {STORE.format('0')}\n", data="range(out, 0, 1)"), coverage_guessed
    ),
    "one load before it is zeroed": (
        Kernel(
            before=f"    ct.scatter(out, b * S + {LOAD}, b, check_bounds=False)\n    {STORE.format('0')}\n",
            data="range(out, 0, 1)",
        ),
        all_alike,
    ),
    "set to three before": (Kernel(before=f"    {STORE.format('3')}\n"), uncounted_stores_forgotten),
    "atomics add as well": (
        Kernel(before=f"    {STORE.format('0')}\n", store="ct.atomic_add(counts, b, 2, memory_order=RELAXED)"),
        atomics_forgotten,
    ),
    "may overlap what is written": (
        Kernel(grid=1, more='overlap = [["counts", "out"]]\nalias = [["counts", "out"]]'), overlaps_forgotten
    ),
}  # fmt: skip


OTHERS = {
    "a lane outside of the array": (LANES_OUTSIDE, LANES_OUTSIDE_SPEC, lanes_outside_count),
    "what another block hands over": (HANDED_OVER, HANDED_OVER_SPEC, acquires_forgotten),
    "scoped accesses of all blocks": (SCOPED, SCOPED_SPEC, scoped_is_plain),
}


@pytest.mark.parametrize("name", OTHERS)
def test_without_a_premise_no_other_kernel_is_proved(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    source, spec, without = OTHERS[name]
    assert not proved(tmp_path, source, spec)
    without(monkeypatch)
    assert proved(tmp_path, source, spec), "something else keeps it from being proved"


@pytest.mark.parametrize("name", BROKEN)
def test_without_a_premise_nothing_is_proved(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    kernel, without = BROKEN[name]
    assert not proved(tmp_path, *kernel.texts)
    without(monkeypatch)
    assert proved(tmp_path, *kernel.texts), "something else keeps it from being proved"
