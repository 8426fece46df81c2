"""`tileverify run`: check a kernel, make a launch of its contract, execute it, say what was written.

The backend is the reference interpreter: every block in turn on one memory, in the order of the block ids.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from ...backend.interpreter import InterpreterStop
from ...backend.interpreter.values import KEEP_GOING, RUN
from ...backend.numbers.blocks import Executed, execute_launch
from ...backend.numbers.conditions import ContractInNumbers, scalars
from ...backend.numbers.elements import RAW, Array, numbers, presented
from ...backend.numbers.inputs import Given, Inputs, elements_with, make_inputs, view
from ...backend.numbers.told import RunMessages
from ...contract.concrete import Block, ConcreteArray
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import KernelUnit
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module
from ...frontend.sources.discover import SourceFailure, discover
from ...pipeline import CheckOptions, check_unit, entry_of
from ...results import KernelResult, Report, Verdict
from ...system.errors import TileVerifyError, UsageError
from ...system.paths import display_path

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
