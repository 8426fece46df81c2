"""Facts on index arrays counted by verified kernels, here in the interpreter: never a yes that NumPy denies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.backend.guard import ArrayValue, LaunchRefused
from tileverify.backend.ledger import ByteAccess, InFlightConflict
from tileverify.backend.numbers.inputs import violation
from tileverify.contract.launch import DataFact, Number
from tileverify.launching import contents, fact_kernels
from tileverify.launching.contents import Contents, DeviceFacts, host_bytes
from tileverify.launching.launch_cache import Planned
from tileverify.launching.launch_log import Use
from tileverify.launching.launcher import Launcher
from tileverify.launching.proofs import broken_fact
from tileverify.system.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]
COUNT = 5000


class HostArray(np.ndarray[Any, np.dtype[Any]]):
    """An array on the host that knows its place."""

    address = property(lambda self: self.ctypes.data)
    count = property(lambda self: self.size)


class HostScratch:
    """Scratch memory on the host."""

    def __init__(self) -> None:
        self.arrays: dict[str, HostArray] = {}

    def zeros(self, stream: Any, near: int, what: str, count: int) -> HostArray:
        if what not in self.arrays or self.arrays[what].size != count:
            self.arrays[what] = np.zeros(count, np.int32).view(HostArray)
        self.arrays[what][:] = 0
        return self.arrays[what]

    def number(self, stream: Any, near: int, what: str) -> int:
        return int(self.arrays[what][0])


def host_array(address: int, count: int) -> HostArray:
    return np.ctypeslib.as_array((ctypes.c_int32 * count).from_address(address)).view(HostArray)


@pytest.fixture
def facts(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> DeviceFacts:
    monkeypatch.setattr(contents, "FETCHED", 16)

    def make(stream: Any, planned: Planned, arguments: Sequence[Any]) -> None:
        planned.plan.launch(stream)

    return DeviceFacts(launcher.planned, make, HostScratch(), host_array)


def value_of(array: Array) -> ArrayValue:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return ArrayValue(array.ctypes.data, array.shape, strides, f"{array.dtype.kind}{8 * array.itemsize}")


def fact(kind: str, *bounds: int) -> DataFact:
    low, high = (Number(each) for each in bounds) if bounds else (None, None)
    return DataFact(kind, "a", low, high, kind)


def number(expression: Any) -> int:
    assert isinstance(expression, Number)
    return expression.value


def test_the_kernels_are_proved(tileverify: CommandLine) -> None:
    spec = Path(__file__).with_name("fact_kernels.tileverify.toml")
    ran = tileverify("check", str(fact_kernels.__file__), "--spec", str(spec))
    assert ran.code == 0
    assert ran.out.count("proved     ") == 3


UPWARDS = np.arange(COUNT, dtype=np.int32)


def changed(place: int, to: int) -> Array:
    array = UPWARDS.copy()
    array[place] = to
    return array


@pytest.mark.parametrize(
    ("array", "kept"),
    [
        (UPWARDS, "range injective nondecreasing"),
        (UPWARDS[::-1].copy(), "range injective"),
        (UPWARDS // 2, "range nondecreasing"),
        (changed(0, 1), "range nondecreasing"),
        (changed(COUNT - 1, 0), "range"),
        (changed(COUNT - 1, COUNT), "nondecreasing"),
        (changed(0, -1), "nondecreasing"),
        (changed(1024, -(2**31)), ""),
        (changed(2047, 2**31 - 1), ""),
        (changed(COUNT - 1, 2**31 - 1), "nondecreasing"),
        (np.zeros(COUNT, np.int32), "range nondecreasing"),
        (UPWARDS[:17].copy(), "range injective nondecreasing"),
        (UPWARDS[:1024].copy(), "range injective nondecreasing"),
        (UPWARDS[:1025].copy(), "range injective nondecreasing"),
    ],
)
def test_what_is_counted_is_so(facts: DeviceFacts, array: Array, kept: str) -> None:
    asked = [fact("range", 0, COUNT), fact("injective"), fact("nondecreasing")]
    found = [each.kind for each in asked if facts.keeps("stream", value_of(array), each, asked, number)]
    assert " ".join(found) == kept
    for each in asked:
        if each.kind in found:
            assert violation(each, {"a": array}, number) is None


def test_random_arrays(facts: DeviceFacts) -> None:
    draw = np.random.default_rng(4)
    seen = {False: 0, True: 0}
    for _ in range(12):
        size, low = int(draw.integers(17, 3000)), int(draw.integers(-50, 50))
        array = (draw.permutation(size) + low).astype(np.int32)
        if draw.random() < 0.5:
            array[draw.integers(size)] = array[draw.integers(size)]
        asked = [fact("range", low, low + size), fact("injective")]
        found = facts.keeps(None, value_of(array), asked[1], asked, number)
        assert found == (violation(asked[1], {"a": array}, number) is None)
        seen[found] += 1
    assert min(seen.values()) > 1


def test_a_permutation_holds_every_index_once(facts: DeviceFacts) -> None:
    asked = fact("permutation")
    for array, kept in ((UPWARDS[::-1].copy(), True), (UPWARDS + 1, False), (changed(4, 3), False)):
        assert facts.keeps(None, value_of(array), asked, [asked], number) == kept


@pytest.mark.parametrize(
    ("array", "asked"),
    [
        (UPWARDS[:16].copy(), fact("range", 0, COUNT)),  # small
        (UPWARDS[::2], fact("range", 0, COUNT)),
        (UPWARDS.astype(np.int64), fact("range", 0, COUNT)),
        (UPWARDS.reshape(50, 100), fact("range", 0, COUNT)),
        (UPWARDS, fact("injective")),  # nothing says how many marks
        (UPWARDS, fact("injective", 0, 7)),
        (UPWARDS, fact("range", 0, 2**31)),
        (UPWARDS, DataFact("range", "a", Number(0), Number(COUNT), "", unless=(Number(-1),))),
    ],
)
def test_the_rest_is_left_to_the_host(facts: DeviceFacts, array: Array, asked: DataFact) -> None:
    assert not facts.keeps(None, value_of(array), asked, [asked], number)


def test_a_kernel_that_does_not_run_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FETCHED", 16)
    ready: Any = SimpleNamespace()
    asked = fact("range", 0, COUNT)
    plans: tuple[Callable[..., Any], ...] = (
        lambda *call: ready, lambda *call: None, _raising(UsageError("no")), _raising(ImportError("no")),
    )  # fmt: skip
    for plan in plans:
        idle = DeviceFacts(plan, lambda *call: None, HostScratch(), host_array)
        for _ in range(2):
            assert not idle.keeps(None, value_of(UPWARDS), asked, [asked], number)


def test_conflicts_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FETCHED", 16)
    asked = fact("range", 0, COUNT)
    facts = DeviceFacts(lambda *call: 1, _raising(InFlightConflict("TV504")), HostScratch(), host_array)  # type: ignore[arg-type]
    with pytest.raises(InFlightConflict):
        facts.keeps(None, value_of(UPWARDS), asked, [asked], number)


def test_only_the_index_array_can_conflict() -> None:
    values, kept = ByteAccess(0, 400, False, "values"), ByteAccess(800, 804, True, "kept")
    assert contents.of_values(Use("in_range", 3, (values, kept))) == Use("in_range", 3, (values,))


def _raising(error: Exception) -> Callable[..., Any]:
    def plan(*call: Any) -> Any:
        raise error

    return plan


def test_a_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FETCHED", 16)
    planned: list[Any] = []
    made: list[Any] = []

    def plan(stream: Any, grid: Any, kernel: Any, arguments: Any) -> Any:
        planned.append((grid, kernel))
        return len(planned)

    facts = DeviceFacts(plan, lambda stream, plan, arguments: made.append((stream, plan)), HostScratch(), host_array)
    for stream in (7, 8):
        for count in (COUNT, 1000):
            facts.keeps(stream, value_of(UPWARDS[:count]), fact("range", 0, 9), [], number)
    facts.keeps(9, value_of(UPWARDS), fact("range", 0, 10), [], number)
    assert planned == [((5,), fact_kernels.in_range), ((1,), fact_kernels.in_range), ((5,), fact_kernels.in_range)]
    assert made == [(7, 1), (7, 2), (8, 1), (8, 2), (9, 3)]


def test_the_host_looks_where_nothing_was_seen(facts: DeviceFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []

    def read(address: int, size: int) -> Any:
        fetched.append(size)
        return host_bytes(address, size)

    asked = [fact("range", 0, COUNT), fact("injective")]
    for array, problem in ((UPWARDS, None), (changed(4, 3), "'injective' does not hold, a[3] = 3 is also a[4]")):
        at = {"a": value_of(array)}
        seen = Contents(at, read, lambda *call: facts.keeps("stream", *call))
        assert broken_fact(asked, {}, seen) == problem
        assert fetched == ([] if problem is None else [4 * COUNT])


def test_a_launch_asks_on_its_own_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(contents, "device_facts", lambda: SimpleNamespace(keeps=lambda *call: asked.append(call)))
    at = {"a": value_of(UPWARDS)}
    for stream, on_host in ((7, False), (None, False), (7, True)):
        contents.contents_of(at, on_host, stream).seen_to_keep(fact("injective"), [], number)
    assert [call[0] for call in asked] == [7]


def test_a_refusal_is_worded_by_the_host(launcher: Launcher, kernels: Any) -> None:
    places = np.zeros(256, np.int32)
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    with pytest.raises(LaunchRefused, match="injective"):
        launcher.launch(None, (2,), kernels.put_apart, (places, x, y, 128))
