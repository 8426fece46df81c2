"""Looking on while one block runs alone: what each of its memory ops did to the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...frontend.bytecode.model import Op
from ..interpreter import DynamicAccess, UndefinedBehaviour
from ..interpreter.faults import EndlessLoop
from ..interpreter.machine import BlockRun, Result, Rule


class Onlooker(ABC):
    """A `interpreter.machine.Turn` that lets every access happen at once and looks at it afterwards."""

    def passes(self, op: Op) -> bool:
        return False

    def perform(self, run: BlockRun, op: Op, rule: Rule) -> Result:
        accesses, events = len(run.log.accesses), len(run.log.events)
        result = rule(run, op)
        self.look(run, op, run.log.accesses[accesses:], run.log.events[events:])
        return result

    def spins(self, op: Op) -> None:
        raise EndlessLoop(f"the loop at {op.offset:#x} waits for another block")

    @abstractmethod
    def look(
        self, run: BlockRun, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        """``op`` has just made ``accesses``, with ``events`` of undefined behaviour."""
