"""`tileverify run --explore N`: one launch under N schedules, with its races and every outcome that differs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...backend.interpreter import InterpreterStop
from ...backend.replay.explore import Exploration, explore
from ...frontend.bytecode.model import Op
from ...results import Verdict
from ...system.paths import display_path
from ...system.printable import printable
from .run import BACKEND, Prepared, RunOptions, cannot_run, prepare
from .text import blocks, heading

_STEPS = 1 << 60
"""No bound in practice: whoever waits can interrupt."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What was run, what it showed, and how long that took."""

    prepared: Prepared
    exploration: Exploration
    seed: int
    seconds: float


def explore_target(target: str, options: RunOptions, schedules: int) -> Explored:
    """Check the one kernel and launch that ``target`` names and run it under so many schedules.

    Undefined behaviour does not end a run; it is part of what is told.

    :raises NotProved: it is not proved, and ``unproved`` is not set.
    :raises UsageError: no or several launches, inputs outside the contract, a launch that the interpreter cannot run.
    """
    prepared = prepare(target, options)
    unit, inputs = prepared.unit, prepared.inputs
    started = time.perf_counter()
    try:
        with np.errstate(all="ignore"):
            found = explore(
                prepared.module, prepared.entry, unit.parameters, inputs.launch, inputs.memory,
                schedules=schedules, seed=options.seed, budget=_STEPS,
            )  # fmt: skip
    except InterpreterStop as stop:
        raise cannot_run(unit, stop) from None
    return Explored(prepared, found, options.seed, time.perf_counter() - started)


def explored_text(result: Explored) -> str:
    """Verdict, launch and what the schedules showed."""
    prepared, found = result.prepared, result.exploration
    launch = prepared.inputs.launch
    how = f"explored on: {BACKEND}, {blocks(launch.grid)} in {result.seconds:.2f} s"
    values = {**prepared.values, **launch.floats}
    lines = heading(prepared.verdict, how, launch.grid, values, prepared.inputs.generated, result.seed)
    lines += ["", *found.text(_place).splitlines()]
    if prepared.verdict.verdict is Verdict.PROVED and found.codes:
        lines.append("this contradicts the proof: please report it with the kernel and this launch")
    return "".join(f"{printable(line)}\n" for line in lines)


def _place(op: Op) -> str:
    if op.location is None:
        return f"{op.name} at {op.offset:#x}"
    return f"{display_path(op.location.file)}:{op.location.line}"
