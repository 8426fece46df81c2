"""All blocks of a launch in turn on one memory: what they wrote and told the host, and where they went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...contract.launch import Block, ConcreteLaunch, EntryParameter, every_block
from ...frontend.bytecode.location import Location
from ...frontend.bytecode.model import Entry, Module
from ...frontend.bytecode.traverse import walk
from ...system.errors import TileVerifyError
from ...system.printable import display_path
from ..interpreter import Budget, InterpreterStop, Memory, MemoryImage, bind_launch, run_block
from ..interpreter.access_log import BlockLog, FailedAssertion, Printed
from ..interpreter.values import (
    OVERFLOWED,
    UNSPECIFIED,
    Conduct,
    OpenUse,
    UndefinedBehaviour,
    UndefinedStop,
    UnspecifiedUse,
)
from .array_files import Array

_STEPS: Final = 1 << 60
"""No bound in practice: whoever waits can interrupt."""


@dataclass(frozen=True, slots=True)
class BlockRemarks:
    """What is worth telling of one block; most blocks leave it empty."""

    block: Block
    printed: tuple[Printed, ...]
    assertions: tuple[FailedAssertion, ...]
    events: tuple[UndefinedBehaviour, ...]
    open_uses: tuple[OpenUse, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """The launch after its last ``block``, or after the block in which it ``stopped``.

    By allocation: ``contents`` in the type they were given, ``written`` and ``unspecified`` as a bool for each byte
    (``unspecified`` only where there is such a byte).
    """

    contents: Mapping[str, Array]
    written: Mapping[str, Array]
    unspecified: Mapping[str, Array]
    told: tuple[BlockRemarks, ...]
    block: Block
    stopped: InterpreterStop | None


def execute_launch(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    contents: Mapping[str, Array], conduct: Conduct, steps: int = _STEPS,
) -> Executed:  # fmt: skip
    """Run all blocks in the order of their ids, x fastest, until one of them cannot go on, or ``steps`` are spent.

    ``contents`` gives the memory of the launch by allocation name: C-contiguous arrays of any NumPy type whose bytes
    are the allocation's.

    :raises InterpreterStop: the launch does not fit the entry.
    """
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in contents.items()}
    bound = bind_launch(module, entry, parameters, launch, data)
    memory, budget, writes = Memory(bound.image), Budget(steps), _Writes(bound.image, contents.keys())
    told: list[BlockRemarks] = []
    stopped: InterpreterStop | None = None
    for block in every_block(launch.grid):
        log = run_block(bound.program, bound.arguments, memory, launch.grid, block, budget, conduct=conduct)
        writes.add(log)
        if log.printed or log.assertions or log.events or log.open_uses:
            told.append(
                BlockRemarks(block, tuple(log.printed), tuple(log.assertions), tuple(log.events), tuple(log.open_uses))
            )
        stopped = log.stopped
        if stopped is not None:
            break
    after, unspecified = {}, {}
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in contents:
            before = contents[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
            taint = memory.taint(number, np.arange(allocation.size), 1)
            open_ = None if taint is None else (taint & (UNSPECIFIED | OVERFLOWED)) != 0
            if open_ is not None and open_.any():
                unspecified[allocation.name] = open_
    return Executed(after, writes.masks(), unspecified, tuple(told), block, stopped)


class _Writes:
    """Which bytes were written, as the edges of all intervals: +1 where one starts, -1 behind its end."""

    def __init__(self, image: MemoryImage, names: Iterable[str]) -> None:
        self._image = image
        sizes = {each.name: each.size for each in image.allocations}
        self._edges: dict[str, Array] = {name: np.zeros(sizes[name] + 1, np.int32) for name in names}

    def add(self, log: BlockLog) -> None:
        for access in log.accesses:
            if access.writes is None or access.origin < 0:
                continue
            allocation = self._image.allocation_of(access.origin)
            edges = self._edges.get(allocation.name)
            if edges is not None:
                starts, ends = access.writes.runs
                edges[starts - allocation.base] += 1
                edges[ends - allocation.base] -= 1

    def masks(self) -> dict[str, Array]:
        return {name: np.cumsum(edges[:-1]) > 0 for name, edges in self._edges.items()}


# ----------------------------------------------------------------------------------------------------------------- told
# What a run says of the places in a kernel: where it went wrong, what it printed, which assertions failed.


@dataclass
class KernelFault(TileVerifyError):
    """The kernel did something undefined, or let an unspecified value decide, where the run ended.

    ``printed`` and ``assertions`` are what it told until then, as in `RunResult`.
    """

    printed: tuple[str, ...] = ()
    assertions: tuple[str, ...] = ()

    exit_code = 1


class RunMessages:
    """Sentences about what the blocks of a run told."""

    def __init__(self, entry: Entry, told: Sequence[BlockRemarks]) -> None:
        self._places = {op.offset: op.location for op in walk(entry.body)}
        self._told = told

    def printed(self) -> tuple[str, ...]:
        """``block (0, 0, 0) at k.py:12: text``; a text of several lines stays one item."""
        return tuple(
            f"block {_block(each.block)}{self._at(line.op.offset)}: {line.text.removesuffix(chr(10))}"
            for each in self._told
            for line in each.printed
        )

    def assertions(self) -> tuple[str, ...]:
        """One sentence for every op, with the first block in which it failed."""
        sentences: dict[int, str] = {}
        for each in self._told:
            for failure in each.assertions:
                lanes = f", lane {list(failure.position)}" if failure.position else ""
                more = f" and {failure.lanes - 1} more" if failure.lanes > 1 else ""
                kind = "its condition is unspecified" if failure.unspecified else "it is false"
                sentences.setdefault(
                    failure.op.offset,
                    f"assertion '{failure.message}'{self._at(failure.op.offset)} fails"
                    f" in block {_block(each.block)}{lanes}{more}: {kind}",
                )
        return tuple(sentences.values())

    def events(self) -> tuple[str, ...]:
        """Undefined behaviour and open uses, once for each op and code, with the first block that showed it."""
        sentences: dict[tuple[str, int], str] = {}
        for each in self._told:
            for event in each.events:
                where = f"{self._at(event.offset)} in block {_block(each.block)}"
                text = f"undefined behaviour: {event.code}{where}: {event.message}"
                sentences.setdefault((event.code, event.offset), text)
            for use in each.open_uses:
                where = f"{self._at(use.offset)} in block {_block(each.block)}"
                sentences.setdefault(("", use.offset), f"unspecified value{where}: {self._open_use(use)}")
        return tuple(sentences.values())

    def fault(self, run: Executed, *, proved: bool) -> KernelFault | None:
        """The one-sentence error of a run that the kernel itself ended; ``None`` if something else did."""
        last = run.told[-1] if run.told else None
        if isinstance(run.stopped, UndefinedStop) and last is not None:
            event = last.events[-1]
            doubt = "; this contradicts the proof: please report it with the kernel and this launch" if proved else ""
            return self._fault(event.offset, f"{_undefined(event, last.block)}{doubt}")
        if isinstance(run.stopped, UnspecifiedUse) and run.stopped.use is not None:
            use = run.stopped.use
            return self._fault(use.offset, f"{use.op} in block {_block(run.block)}: {self._open_use(use)}")
        return None

    def _open_use(self, use: OpenUse) -> str:
        if use.element:
            text = f"it would write {use.what} to {use.element}"
        else:
            text = f"{use.what} reaches its {use.use}" + (f", lane {list(use.first)}" if use.first else "")
        if use.lanes > 1:
            text += f" and {use.lanes - 1} more lanes"
        source = None if use.source is None else self._places.get(use.source)
        if source is not None:
            text += f"; the value comes from {display_path(source.file)}:{source.line}"
        return text

    def _fault(self, offset: int, text: str) -> KernelFault:
        place = self._places.get(offset)
        file = None if place is None else display_path(place.file)
        line = None if place is None else place.line
        return KernelFault(text, file, line, printed=self.printed(), assertions=self.assertions())

    def _at(self, offset: int) -> str:
        place: Location | None = self._places.get(offset)
        return "" if place is None else f" at {display_path(place.file)}:{place.line}"


def _undefined(event: UndefinedBehaviour, block: Block) -> str:
    return f"{event.code} (undefined behaviour): {event.op} in block {_block(block)}: {event.message}"


def _block(block: Block) -> str:
    return f"({', '.join(map(str, block))})"
