"""What a run says of the places in a kernel: where it went wrong, what it printed, which assertions failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...contract.launch import Block
from ...frontend.bytecode.location import Location
from ...frontend.bytecode.model import Entry
from ...frontend.bytecode.traverse import walk
from ...system.errors import TileVerifyError
from ...system.printable import display_path
from ..interpreter.values import OpenUse, UndefinedBehaviour, UndefinedStop, UnspecifiedUse
from .blocks import Executed, Told


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

    def __init__(self, entry: Entry, told: Sequence[Told]) -> None:
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
