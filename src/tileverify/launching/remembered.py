"""Launches that were checked, made again without a second look.

A launch with the same memory, sizes, strides, types, scalars and grid as one before is admitted by the same contract.
To tell costs less than to check: one tuple, read off the arguments by a function made for their kinds.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ..backend.gpu.kernel import Plan
from .in_flight import InFlight, Use, in_flight

MOST_PLANS: Final = 4096
"""Launches of one kernel that are remembered with their parameters."""


class Planned(NamedTuple):
    """A launch that was checked, what it touches, and whether the same may be made ``again`` without a look."""

    plan: Plan
    use: Use
    again: bool


Reader = Callable[[Any, Sequence[Any]], tuple[Any, ...]]


def _nothing(grid: Any, arguments: Sequence[Any]) -> tuple[Any, ...]:
    raise KeyError


@dataclass
class Remembered:
    """The launches of one kernel on GPUs."""

    _in_flight: InFlight = field(default_factory=in_flight)
    _read: Reader = _nothing
    _plans: OrderedDict[tuple[Any, ...], Planned] = field(default_factory=OrderedDict)

    def launch(self, stream: Any, grid: Any, arguments: Sequence[Any]) -> bool:
        """Launch if there was an equal launch; whether there was."""
        try:
            plan, use, _ = self._plans[self._read(grid, arguments)]
        except (KeyError, AttributeError, TypeError, ValueError):  # new, or of other kinds
            return False
        self._in_flight.launch(stream, use, arguments, plan.launch)
        return True

    def first(self, stream: Any, grid: Any, arguments: Sequence[Any], planned: Planned) -> None:
        """Launch for the first time, and remember it if its arguments are of kinds that can be told apart."""
        plan, use, again = planned
        self._in_flight.launch(stream, use, (*arguments, *plan.alive), plan.launch)
        if not again:
            return
        if self._read is _nothing:
            self._read = reader(arguments) or _nothing
        try:
            self._plans[self._read(grid, arguments)] = planned
        except (KeyError, AttributeError, TypeError, ValueError):
            return
        if len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)


def reader(arguments: Sequence[Any]) -> Reader | None:
    """A function from a grid and arguments of the same kinds to a tuple.

    Tuples are equal only if every contract says the same of both launches: they hold all but the contents of arrays.
    ``None`` for lists, and for arrays that are not torch's.  An address tells memory of the host from that of a GPU
    (unified addressing).
    """
    torch = sys.modules.get("torch")
    parts = ["grid"]
    for place, each in enumerate(arguments):
        name = f"a{place}"
        if torch is not None and isinstance(each, torch.Tensor):
            parts += [f"{name}.data_ptr()", f"{name}.shape", f"{name}.stride()", f"{name}.dtype"]
        elif isinstance(each, float):
            parts += [f"{name}.__class__", f"{name}.hex()"]  # 0.0 == -0.0
        elif isinstance(each, bool | int | str):
            parts += [f"{name}.__class__", name]
        else:
            return None
    names = "".join(f"a{place}, " for place in range(len(arguments)))
    unpacked = f"    {names}= arguments\n" if names else ""
    namespace: dict[str, Any] = {}
    exec(f"def key(grid, arguments):\n{unpacked}    return ({', '.join(parts)},)", namespace)
    made: Reader = namespace["key"]
    return made
