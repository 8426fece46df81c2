"""Launches that were checked, made again without a second look.

A launch with the same memory, sizes, strides, types, scalars and grid as one before is admitted by the same contract.
To tell has to cost less than a launch does, so functions made for the kinds of a kernel's arguments tell it:

* `again` finds a launch by its addresses, grid and scalars, asks torch whether sizes, strides and types are the same,
  and makes it: without a word as long as only one stream has work (`launch_log`), else in order (`in_flight`);
* everything else is looked up by all that it depends on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..backend.gpu import driver
from ..backend.gpu.loaded import Plan
from .in_flight import InFlight, in_flight
from .launch_log import ALONE_BETWEEN_CALLS, Repeated, Use
from .launch_types import Arguments, GivenGrid, Key, Stream
from .on_cpu import HostPlan, Look

MOST_PLANS: Final = 4096
"""Launches of one kernel that are remembered with their parameters."""

NEW: Final = (KeyError, AttributeError, TypeError, ValueError)
"""What reading arguments raises for a launch that is not remembered, or one of other kinds."""


class Planned(NamedTuple):
    """A launch that was checked, what it touches, and whether the same may be made ``again`` without a look.

    ``ahead``: the arrays that it reads before it waits for the launch ahead of it; ``None`` if it may not start early.
    ``look``: raises `BrokenFact` where contents are not as its proof assumes; asked when nothing comes in between.
    """

    plan: Plan | HostPlan
    use: Use
    again: bool
    ahead: frozenset[str] | None = None
    look: Look | None = None


Again: TypeAlias = Callable[[Stream, GivenGrid, Arguments], bool]
Reader: TypeAlias = Callable[[GivenGrid, Arguments], Key]


def never(stream: Stream, grid: GivenGrid, arguments: Arguments) -> bool:
    """Nothing is remembered."""
    return False


@dataclass(eq=False)
class Remembered:
    """The launches of one kernel on GPUs.

    ``again(stream, grid, arguments)`` launches if there was an equal launch and it can tell at once; whether it did.
    """

    _in_flight: InFlight = field(default_factory=in_flight)
    again: Again = never
    _kinds: Kinds | None = None
    _plans: dict[Key, Repeated] = field(default_factory=dict)
    _latest: dict[Key, Repeated] = field(default_factory=dict)  # by addresses, grid and scalars

    def made(self, stream: Stream, grid: GivenGrid, arguments: Arguments, *, untried: bool) -> bool:
        """`launch`; ``untried``: nobody has asked `again` yet."""
        return (untried and self.again(stream, grid, arguments)) or self.launch(stream, grid, arguments)

    def launch(self, stream: Stream, grid: GivenGrid, arguments: Arguments) -> bool:
        """Launch if there was an equal launch; whether there was."""
        if self._kinds is None:
            return False
        try:
            found = self._plans[self._kinds.all(grid, arguments)]
        except NEW:
            return False
        self._in_flight.launch(stream, found.use, arguments, found.plan.launch)
        self._show(found, grid, arguments)
        return True

    def first(self, stream: Stream, grid: GivenGrid, arguments: Arguments, planned: Planned) -> None:
        """Launch for the first time, and remember it if its arguments are of kinds that can be told apart.

        On the host nothing is remembered.
        """
        plan, use = planned.plan, planned.use
        if isinstance(plan, HostPlan):
            plan.launch(stream)
            return
        with self._in_flight.alone() if planned.look is not None else nullcontext():
            if planned.look is not None:
                planned.look()
            self._in_flight.launch(stream, use, arguments, plan.launch, plan.alive)
        if not planned.again:
            return
        if self._kinds is None:
            self._kinds = Kinds.of(arguments)
            if self._kinds is None:
                return
        try:
            key, arrays = self._kinds.all(grid, arguments), self._kinds.arrays(arguments)
            hash(key)
        except NEW:
            return
        _make_room(self._plans)
        found = self._plans[key] = Repeated(use, plan, sameness(arrays), (None,) * len(arrays))
        self._show(found, grid, arguments)

    def _show(self, found: Repeated, grid: GivenGrid, arguments: Arguments) -> None:
        """To `again`, so that the next equal launch is made at once."""
        kinds = self._kinds
        if kinds is None or found.same is None:
            return
        if self.again is never:
            self.again = kinds.again(self._in_flight, self._latest)
        key = kinds.most(grid, arguments)
        if self._latest.get(key) is not found:
            _make_room(self._latest)
            self._latest[key] = found


def _make_room(launches: dict[Key, Repeated]) -> None:
    while len(launches) >= MOST_PLANS:
        try:
            del launches[next(iter(launches))]
        except (KeyError, RuntimeError):  # another thread makes room, too
            continue


# From the look at `found.handle` to the driver's call nothing else is called (`launch_log`).
_AGAIN: Final = """
def again(stream, grid, arguments):
    try:
        {names} = arguments
        found = latest[{most}]
        if not found.same({compared}):
            return False
        elsewhere = stream is not found.stream and stream.cuda_stream != found.handle
    except NEW:
        return False
    {held} = found.held
    if elsewhere or {others}:
        made = enter(found, stream, ({arrays}))
        if made is not None:
            return made
    else:
        status = found.go()
        if status:
            found.plan.retry(status, found.go)
    journal.left -= 1
    if journal.left <= 0:
        look()
    return True
"""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which arguments of a kernel are tensors of torch, and which are scalars; an address tells host from GPU.

    ``all`` and ``most`` give tuples for launches.  Launches with equal ``all`` differ at most in what arrays hold, so
    that every contract says the same of both; ``most`` is the part of it that is quick to read.
    """

    _names: str
    _alone: bool  # there are only arrays
    _arrays: tuple[int, ...]
    _most: str
    all: Reader
    most: Reader

    @classmethod
    def of(cls, arguments: Arguments) -> Kinds | None:
        """``None`` for lists, and for arrays that are not torch's."""
        torch = sys.modules.get("torch")
        arrays, most, rest = [], ["grid"], []
        for place, each in enumerate(arguments):
            name = f"a{place}"
            if torch is not None and isinstance(each, torch.Tensor):
                arrays.append(place)
                most.append(f"{name}.data_ptr()")
                rest += [f"{name}.shape", f"{name}.stride()", f"{name}.dtype"]
            elif isinstance(each, float):
                most += [f"{name}.__class__", f"{name}.hex()"]  # 0.0 == -0.0
            elif isinstance(each, bool | int | str):
                most += [f"{name}.__class__", name]
            else:
                return None
        names = "".join(f"a{place}, " for place in range(len(arguments)))
        readers = [_reader(names, parts) for parts in ([*most, *rest], most)]
        alone = len(arrays) == len(arguments)
        return cls(f"({names})", alone, tuple(arrays), ", ".join(most), *readers)

    def arrays(self, arguments: Arguments) -> tuple[object, ...]:
        return tuple(arguments[place] for place in self._arrays)

    def again(self, work: InFlight, latest: dict[Key, Repeated]) -> Again:
        """The function for these kinds; nothing in it depends on what anybody wrote."""

        def each(form: str) -> Iterator[str]:
            return (form.format(place) for place in self._arrays)

        source = _AGAIN.format(
            names=self._names,
            most=self._most,
            arrays="".join(each("a{0}, ")),
            compared="*arguments" if self._alone else "".join(each("a{0}, ")),
            held="".join(each("h{0}, ")),
            others=" or ".join(each("a{0} is not h{0}")),
        )
        namespace = {"NEW": NEW, "latest": latest, "journal": work.journal, "look": work.look, "enter": work.enter}
        made: Again = _function(source, "again", namespace)
        return made if ALONE_BETWEEN_CALLS and not driver.several() else _one_at_a_time(made, work.lock)


def _one_at_a_time(again: Again, lock: AbstractContextManager[object]) -> Again:
    def locked(stream: Stream, grid: GivenGrid, arguments: Arguments) -> bool:
        with lock:
            return again(stream, grid, arguments)

    return locked


def _reader(names: str, parts: Sequence[str]) -> Reader:
    source = f"def key(grid, arguments):\n    ({names}) = arguments\n    return ({', '.join(parts)},)"
    made: Reader = _function(source, "key", {})
    return made


def _function(source: str, name: str, namespace: dict[str, object]) -> Any:
    exec(source, namespace)
    return namespace[name]


# -------------------------------------------------------------------------------------------------------------- tensors
# One question to torch that tells whether tensors still have the sizes, strides and types that they had.
#
# torch's compiler asks it in C++ (``torch._C._dynamo.guards.TensorGuards``), which takes a third of what reading every
# tensor takes.  That name is torch's own affair, so it is tried out before it is relied on.


class _Guards(Protocol):
    def check(self, *tensors: object) -> bool: ...


_GuardsClass: TypeAlias = Callable[..., _Guards]


def sameness(tensors: Sequence[object]) -> Callable[..., bool] | None:
    """``same(*others)``: whether as many tensors of the same classes have the same sizes, strides and types, each.

    It may raise `TypeError` for what is no tensor, and holds on to none.  ``None`` where torch does not offer it.
    """
    guards = _guards() if tensors else None
    return None if guards is None else _made(guards, tensors)


def _made(guards: _GuardsClass, tensors: Sequence[object]) -> Callable[..., bool]:
    return guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check


@cache
def _guards() -> _GuardsClass | None:
    """The class, if it tells everything apart that has to be told apart."""
    torch = sys.modules.get("torch")
    try:
        guards: _GuardsClass = torch._C._dynamo.guards.TensorGuards  # type: ignore[union-attr]
        return guards if torch is not None and _tells_apart(torch, guards) else None
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _tells_apart(torch: ModuleType, guards: _GuardsClass) -> bool:
    def empty(*sizes: int, dtype: object = torch.float32) -> Any:
        return torch.empty(sizes, dtype=dtype, device="cpu")

    like, others = (
        [empty(4, 6), empty(8, 6)[::2, :]],
        [
            empty(6, 4),
            empty(4, 6, 1),
            empty(24),
            empty(4, 5),
            empty(3, 6),
            empty(6, 4).t(),
            empty(8, 6)[::2],
            empty(4, 6, dtype=torch.int32),
            empty(4, 6, dtype=torch.float16),
        ],
    )
    contiguous, strided = (_made(guards, [each]) for each in like)
    pair = _made(guards, like)
    alike = contiguous(empty(4, 6)) and strided(empty(16, 6)[:8][::2]) and pair(empty(4, 6), empty(8, 6)[::2])
    crossed = pair(empty(4, 6), empty(4, 6)) or pair(empty(8, 6)[::2], empty(8, 6)[::2]) or strided(empty(4, 6))
    return bool(alike) and not crossed and not any(contiguous(each) for each in others)
