"""What the interpreter's log says of one small launch: what each site moved, and what was touched at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from ...contract.launch import EntryParameter
from ...frontend.bytecode.model import Entry, Module
from ..audit.run_records import run_blocks
from ..interpreter import Budget, InterpreterStop, bind_launch
from ..interpreter.access_log import Footprint
from ..numbers.inputs import Inputs
from .touched import Runs, joined, length

MOST_BLOCKS: Final = 48
STEPS: Final = 1 << 22

Mode: TypeAlias = tuple[str, bool]
"""An array and whether it is written."""


@dataclass(frozen=True)
class LoggedTraffic:
    """``moved``: by the offset of the op; ``least``: bytes that were touched at all."""

    moved: dict[int, int]
    least: dict[Mode, int]


def logged(module: Module, entry: Entry, parameters: Sequence[EntryParameter], inputs: Inputs) -> LoggedTraffic | None:
    """``None`` for a launch that is too large, or that does not run to its end without undefined behaviour."""
    x, y, z = inputs.launch.grid
    if x * y * z > MOST_BLOCKS:
        return None
    blocks = [(a, b, c) for c in range(z) for b in range(y) for a in range(x)]
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    try:
        bound = bind_launch(module, entry, parameters, inputs.launch, data)
        with np.errstate(all="ignore"):
            logs = [each.log for each in run_blocks(bound, inputs.launch.grid, blocks, (), Budget(STEPS))]
    except InterpreterStop:
        return None
    if any(log.stopped is not None or log.left_out or log.events for log in logs):
        return None
    moved: Counter[int] = Counter()
    touched: dict[Mode, list[Runs]] = defaultdict(list)
    for log in logs:
        for access in log.accesses:
            for footprint, writes in ((access.reads, False), (access.writes, True)):
                if footprint is not None:
                    moved[access.op.offset] += _bytes(footprint)
                    origin = bound.image.origins[access.origin]
                    touched[origin.name, writes].append(footprint.runs)
    return LoggedTraffic(dict(moved), {mode: length(joined(runs)) for mode, runs in touched.items()})


def _bytes(footprint: Footprint) -> int:
    return footprint.width * len(footprint.addresses())
