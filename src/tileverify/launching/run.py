"""`tileverify run`: check a kernel, make a launch of its contract, execute it, say what was written.

The backend is the reference interpreter: every block in turn on one memory, in the order of the block ids.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..backend.interpreter.values import KEEP_GOING, RUN
from ..backend.numbers.array_files import ML_DTYPES, RAW, Array, numbers, presented
from ..backend.numbers.blocks import Executed, KernelFault, RunMessages, execute_launch
from ..backend.numbers.choose import ContractInNumbers, scalars
from ..backend.numbers.inputs import Given, Inputs, elements_with, make_inputs, view
from ..backend.replay.explore import Exploration, explore
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import Block, ConcreteArray, KernelUnit
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import Entry, Module, Op
from ..frontend.sources.discover import SourceFailure, discover
from ..pipeline import CheckOptions
from ..pipeline.unit_check import check_unit
from ..pipeline.unit_summary import entry_of
from ..results import KernelResult, Report, Verdict
from ..system.errors import TileVerifyError, UsageError
from ..system.printable import display_path, printable

__all__ = [
    "KernelFault",
    "NotProved",
    "RunOptions",
    "RunResult",
    "WrittenArray",
    "run_target",
]

BACKEND: Final = "reference interpreter"


@dataclass
class NotProved(TileVerifyError):
    """The kernel is not proved, so it is not run; ``exit_code`` is the one that `check` ends with."""

    exit_code: int = 2


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``sizes``: free names of the spec; ``args``: runtime scalars as written; ``arrays``: inputs by argument name.

    ``unproved``: run also what is not proved.  ``grid``: for a spec without one; missing axes are 1.
    ``keep_going``: undefined behaviour and stores of unspecified values do not end the run, they are only told.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    grid: tuple[int, ...] | None = None
    seed: int = 0
    unproved: bool = False
    keep_going: bool = False
    spec: Path | None = None
    check: CheckOptions = field(default_factory=CheckOptions)


@dataclass(frozen=True, slots=True)
class WrittenArray:
    """One array after the run.

    ``elements`` has the array's shape and the stored type (see `elements`); ``written`` counts elements, however
    often they were written; ``checksum`` is the CRC-32 of the elements' bytes in row-major order.  ``unspecified``
    counts elements that the specification leaves open (in a run that kept going): what stands in them means nothing,
    so there is no checksum, and ``smallest`` and ``largest`` are those of the others.
    """

    name: str
    dtype: str
    elements: Array
    written: int
    unspecified: int
    checksum: int | None
    smallest: float | int | None
    largest: float | int | None

    @property
    def presented(self) -> Array:
        """The elements in their own type: one of ml_dtypes for bf16 and 8-bit floats, raw bits without it."""
        return presented(self.elements, self.dtype)

    @property
    def raw(self) -> bool:
        """``elements`` are bits of a format that NumPy lacks."""
        return self.dtype in RAW


@dataclass(frozen=True, slots=True)
class RunResult:
    """``values``: the names of the contract; ``generated``: arrays whose contents were made up from the seed.

    One sentence each, with block and source line: ``events`` tells undefined behaviour and uses of unspecified values
    that the run went past, ``assertions`` what failed, ``printed`` what the kernel printed, in the order of the run.
    """

    verdict: KernelResult
    backend: str
    grid: Block
    values: Mapping[str, int]
    floats: Mapping[str, float]
    arrays: tuple[WrittenArray, ...]
    generated: tuple[str, ...]
    events: tuple[str, ...]
    assertions: tuple[str, ...]
    printed: tuple[str, ...]
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked kernel with a launch of its contract, ready to run.  ``values``: the names of the contract."""

    unit: KernelUnit
    verdict: KernelResult
    module: Module
    entry: Entry
    inputs: Inputs
    values: Mapping[str, int]


def prepare(target: str, options: RunOptions) -> Prepared:
    """Check the one kernel and launch that ``target`` names, and make its inputs.

    :raises NotProved: it is not proved, and ``unproved`` is not set.
    :raises UsageError: no or several launches, inputs outside the contract.
    """
    unit = _one_unit(target, options.spec)
    verdict = check_unit(unit, options.check)
    if verdict.verdict is Verdict.ERROR:
        raise NotProved(f"{_name(unit)} cannot be run: {verdict.findings[0].message}")
    if verdict.verdict is not Verdict.PROVED and not options.unproved:
        raise NotProved(_refusal(target, verdict), exit_code=Report((verdict,), "", "").exit_code)
    contract = ContractInNumbers(unit.launch, verdict.clauses)
    inputs = make_inputs(contract, _given(unit, options))
    module = decode(unit.bytecode, file=display_path(unit.file))
    values = {name: inputs.values[name] for name in (*contract.sizes, *contract.scalars)}
    return Prepared(unit, verdict, module, entry_of(module, unit), inputs, values)


def run_target(target: str, options: RunOptions) -> RunResult:
    """Check and run the one kernel and launch that ``target`` names.

    :raises NotProved: it is not proved, and ``unproved`` is not set.
    :raises KernelFault: undefined behaviour, or an unspecified value that decides or is written.
    :raises UsageError: no or several launches, inputs outside the contract, a launch that the interpreter cannot run.
    """
    prepared = prepare(target, options)
    unit, verdict, inputs = prepared.unit, prepared.verdict, prepared.inputs
    started = time.perf_counter()
    conduct = KEEP_GOING if options.keep_going else RUN
    try:
        with np.errstate(all="ignore"):
            run = execute_launch(
                prepared.module, prepared.entry, unit.parameters, inputs.launch, inputs.memory, conduct
            )
    except InterpreterStop as stop:
        raise cannot_run(unit, stop) from None
    messages = RunMessages(prepared.entry, run.told)
    if run.stopped is not None:
        fault = messages.fault(run, proved=verdict.verdict is Verdict.PROVED)
        if fault is None:
            raise cannot_run(unit, run.stopped)
        raise fault
    return RunResult(
        verdict=verdict,
        backend=BACKEND,
        grid=inputs.launch.grid,
        values=prepared.values,
        floats=inputs.launch.floats,
        arrays=tuple(_written(run, inputs)),
        generated=inputs.generated,
        events=messages.events(),
        assertions=messages.assertions(),
        printed=messages.printed(),
        seed=options.seed,
        seconds=time.perf_counter() - started,
    )


# --------------------------------------------------------------------------------------------- the target
def _one_unit(target: str, spec: Path | None) -> KernelUnit:
    units: list[KernelUnit] = []
    for found in discover([target], spec_file=spec):
        if isinstance(found, SourceFailure):
            raise found.error
        units.append(found)
    if len(units) != 1:
        path = target.split("::")[0]
        named = ", ".join(f"{path}::{unit.kernel}::{unit.launch.name}" for unit in units[:4])
        more = ", ..." if len(units) > 4 else ""
        raise UsageError(f"'{target}' names {len(units)} launches; run one of them: {named}{more}")
    return units[0]


def cannot_run(unit: KernelUnit, stop: InterpreterStop) -> UsageError:
    """The error of a launch that the interpreter cannot run."""
    return UsageError(f"the {BACKEND} cannot run this launch of {_name(unit)}: {stop}")


def _name(unit: KernelUnit) -> str:
    return f"{display_path(unit.file)}::{unit.kernel} [{unit.launch.name}]"


def _refusal(target: str, verdict: KernelResult) -> str:
    finding = verdict.findings[0]
    return (
        f"{verdict.file}::{verdict.kernel} [{verdict.launch}] is {verdict.verdict.value}, not proved"
        f" ({finding.code}: {finding.sentence}); see `tileverify check {target}`, or run it as it is with --unproved"
    )


# --------------------------------------------------------------------------------------------- the inputs
def _given(unit: KernelUnit, options: RunOptions) -> Given:
    known = {scalar.name: scalar.dtype for scalar in scalars(unit.launch)}
    integers, floats = dict(options.sizes), {}
    for name, text in options.args.items():
        if name not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"--arg {name}: the launch has no runtime scalar '{name}' (there are: {there})")
        if ELEMENT_TYPES[known[name]].kind == "f":
            floats[name] = _float(name, text)
        else:
            integers[name] = _integer(name, text)
    if options.grid is None:
        return Given(integers, floats, options.arrays, None, options.seed)
    if not 1 <= len(options.grid) <= 3:
        raise UsageError("--grid takes one to three axes, as in --grid 4,1,1")
    x, y, z = (*options.grid, 1, 1)[:3]
    return Given(integers, floats, options.arrays, (x, y, z), options.seed)


def _float(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--arg {name}={text}: {name} is a float") from None


def _integer(name: str, text: str) -> int:
    words = {"true": 1, "false": 0}
    try:
        return words[text.lower()] if text.lower() in words else int(text, 0)
    except ValueError:
        raise UsageError(f"--arg {name}={text}: {name} is an integer") from None


# -------------------------------------------------------------------------------------------- the outputs
def _written(run: Executed, inputs: Inputs) -> list[WrittenArray]:
    launch = inputs.launch
    placed = dict(launch.arrays)
    for name, items in launch.lists.items():
        placed |= {f"{name}[{number}]": item for number, item in enumerate(items)}
    return [_array(name, array, run) for name, array in placed.items()]


def _array(name: str, array: ConcreteArray, run: Executed) -> WrittenArray:
    memory = run.contents[array.allocation]
    elements = view(memory, array.shape, array.strides).copy()
    touched = elements_with(run.written[array.allocation], array, memory)
    open_ = np.zeros(array.shape, np.bool_)
    if array.allocation in run.unspecified:
        open_ = elements_with(run.unspecified[array.allocation], array, memory)
    readable = numbers(elements, array.dtype)[~open_]
    known = readable[~np.isnan(readable)] if readable.dtype.kind == "f" else readable
    return WrittenArray(
        name=name,
        dtype=array.dtype,
        elements=elements,
        written=int(np.count_nonzero(touched)),
        unspecified=int(np.count_nonzero(open_)),
        checksum=None if open_.any() else zlib.crc32(elements.tobytes()),
        smallest=known.min().item() if known.size else None,
        largest=known.max().item() if known.size else None,
    )


# ------------------------------------------------------------------------------------------------------------- explored
# `tileverify run --explore N`: one launch under N schedules, with its races and every outcome that differs.


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


# ----------------------------------------------------------------------------------------------------------------- text
# What `tileverify run` prints.


_HEADINGS = ("array", "shape", "dtype", "written", "crc32", "min", "max")


def run_text(result: RunResult) -> str:
    """Verdict, backend, launch, and one line for every array."""
    verdict = result.verdict
    lines = heading(verdict, f"ran on: {result.backend}, {blocks(result.grid)} in {result.seconds:.2f} s",
                    result.grid, {**result.values, **result.floats}, result.generated, result.seed)  # fmt: skip
    lines += ["", *_table([_HEADINGS, *map(_row, result.arrays)])]
    for array in result.arrays:
        if array.unspecified:
            lines.append(f"{array.name}: what stands in {array.unspecified} of its elements is unspecified")
    lines += [*result.events, *result.assertions]
    if verdict.verdict is not Verdict.PROVED:
        lines.append("not proved: the blocks ran one after the other here; run at once they may leave something else")
    elif any(event.startswith("undefined behaviour") for event in result.events):
        lines.append("this contradicts the proof: please report it with the kernel and this launch")
    return _lines(lines) + printed_text(result.printed)


def heading(
    verdict: KernelResult, how: str, grid: Block, values: Mapping[str, float], generated: Sequence[str], seed: int
) -> list[str]:
    """Which kernel, how it ran, with which launch."""
    lines = [
        f"{verdict.file}::{verdict.kernel} [{verdict.launch}]: {verdict.verdict.value}",
        how,
        f"launch: grid ({', '.join(map(str, grid))}){_named(values)}",
    ]
    if generated:
        lines.append(f"generated from seed {seed}: {', '.join(generated)}")
    return lines


def blocks(grid: Block) -> str:
    count = grid[0] * grid[1] * grid[2]
    return f"{count} block{'s' if count != 1 else ''}"


def told_text(printed: Sequence[str], assertions: Sequence[str]) -> str:
    """What a kernel told before it went wrong."""
    return _lines(assertions) + printed_text(printed)


def printed_text(printed: Sequence[str]) -> str:
    """What the kernel printed; further lines of one print are indented."""
    if not printed:
        return ""
    lines = (
        f"{'  ' if number == 0 else '    '}{line}" for text in printed for number, line in enumerate(text.split("\n"))
    )
    return "printed:\n" + _lines(lines)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in lines)


def saved_text(target: str, arrays: Mapping[str, WrittenArray]) -> str:
    """What went into the file or folder ``target``, and how to read raw bits."""
    raw = [f"{name} ({array.dtype}: .view(ml_dtypes.{ML_DTYPES[array.dtype]}))"
           for name, array in arrays.items() if array.raw]  # fmt: skip
    note = f"; as raw bits: {', '.join(raw)}" if raw else ""
    return printable(f"saved to {target}: {', '.join(arrays) or 'nothing, for nothing was written'}{note}")


def _named(values: Mapping[str, float]) -> str:
    return "".join(f", {name} = {value}" for name, value in values.items())


def _row(array: WrittenArray) -> tuple[str, ...]:
    written = f"{array.written} of {array.elements.size}" if array.written else "-"
    shape = " x ".join(map(str, array.elements.shape)) or "scalar"
    return (
        array.name,
        shape,
        array.dtype,
        written,
        "-" if array.checksum is None else f"{array.checksum:08x}",
        _short(array.smallest),
        _short(array.largest),
    )


def _short(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
