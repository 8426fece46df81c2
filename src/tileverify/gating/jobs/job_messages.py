"""What goes between the gate, its jobs and its references: plain JSON with every type, size and field checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np

from ...backend.numbers.array_files import Array, numbers, storage_type
from ...results import KernelResult
from ...results.json_report import result_from_json
from ...system.printable import printable
from ..gated import Reason, TrialSummary

LONGEST_TEXT: Final = 4096
MOST_ITEMS: Final = 4096
DEEPEST: Final = 16
LONGEST_NAME: Final = 200

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""What JSON can say."""

_FLOATS: Final = {"\0inf": inf, "\0-inf": -inf, "\0nan": nan}
"""Words for floats that JSON has none for; no text of a launch begins like this."""

Few = TypeVar("Few", bound=Sized)


class NotPlain(Exception):
    """A value that no honest worker sends, with the reason."""


DataTypes: TypeAlias = Mapping[type, str]
"""Types of data types, with the module's usual name: ``{cuda.tile.DType: "ct"}``."""


def plain(value: object, data_types: DataTypes, depth: int = 0) -> Plain:
    """``value`` with lists for tuples and ``"ct.float32"`` for ``data_types``; exact types alone count."""
    if depth > DEEPEST:
        raise NotPlain("a value is nested too deeply")
    if value is None or type(value) is bool:
        return value
    if type(value) is float:
        return value if isfinite(value) else f"\0{value}"
    if type(value) is int:
        if value.bit_length() > 1024:
            raise NotPlain("an integer is too large")
        return value
    if type(value) is str:
        return _plain_text(value)
    if type(value) is list or type(value) is tuple:
        return [plain(item, data_types, depth + 1) for item in _few(value)]
    if type(value) is dict:
        return plain_table(value, data_types, depth)
    for data_type, module in data_types.items():
        if isinstance(value, data_type):
            return f"{module}.{text(repr(value) if module == 'tl' else str(value)).rpartition('.')[2]}"
    raise NotPlain(f"a {text(type(value).__name__)} describes no part of a launch")


def plain_table(value: Mapping[str, object], data_types: DataTypes, depth: int = 0) -> dict[str, Plain]:
    """The same for a table."""
    return {text(key): plain(item, data_types, depth + 1) for key, item in _few(value).items()}


def _plain_text(value: str) -> str:
    if len(value) > LONGEST_TEXT:
        raise NotPlain("a text is too long")
    if value.startswith("\0") or whole(value) != value:
        raise NotPlain("a text holds half a character, or begins with none")
    return value


def heard(value: object) -> Plain:
    """The inverse of `plain`, but for tuples, of a JSON value."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            if value.startswith("\0") and value not in _FLOATS:
                raise NotPlain("a text begins with no character")
            return _FLOATS.get(value, value)
        case list():
            return list(map(heard, value))
        case dict():
            return heard_table(value)
    raise NotPlain("it is no value of JSON")


def heard_table(value: Mapping[str, object]) -> dict[str, Plain]:
    """The same for a table."""
    return {key: heard(item) for key, item in value.items()}


def whole(value: str) -> str:
    """A text with escapes for lone surrogates, which UTF-8 has no bytes for."""
    return value.encode("utf-8", errors="backslashreplace").decode("utf-8")


def text(value: object, longest: int = LONGEST_TEXT) -> str:
    """A string, and no longer than that."""
    if type(value) is not str or len(value) > longest:
        raise NotPlain("a text is missing or too long")
    return value


def name(value: str) -> str:
    """The name of a kernel or parameter: identifiers in ASCII, joined by dots."""
    found = text(value, LONGEST_NAME)
    if not found.isascii() or not all(part.isidentifier() for part in found.split(".")):
        raise NotPlain("a name is no identifier")
    return found


def _few(value: Few) -> Few:
    if len(value) > MOST_ITEMS:
        raise NotPlain("a list is too long")
    return value


# -------------------------------------------------------------------------------------------------- results
def harmless(value: Plain) -> Plain:
    """A JSON value whose texts can be shown in a terminal, cut where they are long; raises ValueError for a float that
    JSON cannot say."""
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, list):
        return [harmless(item) for item in value]
    if isinstance(value, dict):
        return harmless_table(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    return value


def harmless_table(table: Mapping[str, Plain]) -> dict[str, Plain]:
    """The same for a table."""
    return {harmless_text(key): harmless(item) for key, item in table.items()}


def harmless_text(value: str) -> str:
    """The same for a text."""
    return printable(value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + " ...")


# --------------------------------------------------------------------------------------------------------- job messages
# What goes between the gate, its jobs and its references: requests and answers, checked field by field.


Only: TypeAlias = tuple[str, str | None]
"""A kernel and one of its launches; ``None``: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRequest:
    """How a submission is compiled and proved.

    ``file``: its name in answers.  ``spec`` and ``own_spec``: texts of launch specs, the caller's and its own.
    ``screen``: look at the source first.  ``kernels``: how many there may be, each launch counted.  ``only``: compile
    nothing else.  ``any_grid`` leaves out what the launch says of its grid.  The others are as in `GateOptions`.
    """

    file: str
    spec: str | None = None
    own_spec: str | None = None
    screen: bool = True
    kernels: int = 64
    deny_requires: bool = False
    bundles: bool = False
    complete: bool = False
    only: Only | None = None
    any_grid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest:
    """Try the kernel with this ``index`` among those that were compiled, on floats or on exact numbers, under the
    clauses ``requires`` too.  The same ``seed`` gives the same launches.  ``deterministic``: it has one result,
    whatever the order of its blocks."""

    submission: SubmissionRequest
    index: int
    requires: tuple[str, ...]
    seed: int
    deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """Propose edits, ``most`` of them for a finding, for the findings of ``result`` (as in the report)."""

    result: dict[str, object]
    most: int


JobRequest: TypeAlias = SubmissionRequest | TrialRequest | ProposalRequest


# --------------------------------------------------------------------------------------------------------------- proved
# What the prover's process sends, a line each: first the units that it will answer for, then the answers.
#
# It never ran the submission, but it read what a hostile process sent, so its answers are checked by type, too.


class ProofHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``reasons``: why there are no answers.  ``units``: kernel and launch of each; ``missing``: launches that a spec
    speaks of, and the submission does not have."""

    reasons: tuple[Reason, ...] | None = None
    units: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()


class ProofAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """``result``: as in the report.  ``forged``: the compiler's process sent something that is no kernel.
    ``narrower``: clauses that leave out launches of the contract (`narrower_contract`)."""

    result: Mapping[str, object]
    forged: bool = False
    narrower: tuple[str, ...] = ()
    bundle: bytes | None = None

    def kernel_result(self) -> KernelResult:
        """Raises ValueError, KeyError or TypeError where the result is none."""
        return result_from_json(self.result)


def read_proof(data: bytes) -> tuple[ProofHead, list[ProofAnswer]]:
    """All whole lines; raises ValueError or RecursionError for anything else."""
    first, *others = data.split(b"\n")
    if not others:
        return ProofHead(), []
    head = msgspec.json.decode(first, type=ProofHead)
    return head, [msgspec.json.decode(line, type=ProofAnswer) for line in others[:-1]]


# ---------------------------------------------------------------------------------------------------------------- tried
# What `trial_job` sends: launches of a proved kernel on small inputs, and what can be said of them alone.


NoJson: TypeAlias = Literal["inf", "-inf", "nan"]
"""Floats that JSON has no numbers for."""
Said: TypeAlias = bool | int | float | NoJson
_NO_JSON: Mapping[float, NoJson] = {float("inf"): "inf", float("-inf"): "-inf"}


class ArrayBytes(msgspec.Struct, frozen=True, kw_only=True):
    """One array of a launch: its elements as they are stored, in row-major order.  ``after``: ``None`` where they are
    what they were ``before``; ``written``: a byte for each element."""

    dtype: str
    shape: tuple[int, ...]
    before: bytes
    after: bytes | None
    written: bytes


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """One launch as it is sent; its parts are those of `Tried`."""

    values: dict[str, int]
    floats: dict[str, Said]
    constants: dict[str, Said]
    lists: tuple[str, ...]
    stopped: str | None
    arrays: dict[str, ArrayBytes]
    filling: str
    unsteady: str | None = None
    flushes: bool = False
    largest: Said = "inf"


class TrialEnd(msgspec.Struct, frozen=True):
    """The last line: what was not tried, in words; ``unseen``: words of the kernel that are too narrow in launches that
    were not tried, and what it stores hangs on them."""

    not_tried: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def said(value: bool | int | float) -> Said:
    """A number as `LaunchLine` has it."""
    if isinstance(value, int) or isfinite(value):
        return value
    return _NO_JSON.get(value, "nan")


@dataclass(frozen=True, slots=True)
class TriedArray:
    """One array of one launch: before and after, in stored elements, and which elements were written."""

    dtype: str
    before: Array
    after: Array
    written: Array


@dataclass(frozen=True, slots=True)
class Tried:
    """One launch.  ``values``: sizes and integer scalars; ``others``: float scalars, and constants that are numbers.
    ``lists``: arguments that are lists of arrays, which are not compared.  ``stopped``: why a block could not go on,
    where that is.  ``unsteady``: what another order of its blocks changes, in words.  ``flushes``: it has ops that make
    subnormal numbers 0, which the answer tells.  ``largest``: what contents may hold beside its masks."""

    values: Mapping[str, int]
    others: Mapping[str, float]
    filling: str
    arguments: Mapping[str, TriedArray]
    lists: tuple[str, ...]
    stopped: str | None
    unsteady: str | None = None
    flushes: bool = False
    largest: float = inf

    @property
    def beyond_masks(self) -> bool:
        floats = (numbers(each.before, each.dtype) for each in self.arguments.values())
        held = (array[np.isfinite(array)] for array in floats if array.dtype.kind == "f")
        return any(np.abs(array).max(initial=0.0) > self.largest / 16 for array in held)

    @property
    def where(self) -> str:
        """The launch in a few words."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{sizes or 'the one launch'}, floats: {self.filling}"


@dataclass(frozen=True, slots=True)
class KernelTrial:
    """All launches; ``not_tried`` and ``unseen`` as in `TrialEnd`."""

    launches: tuple[Tried, ...]
    not_tried: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def read_trial(data: bytes) -> KernelTrial:
    """The lines that `trial_job` sent; raises ValueError, KeyError or RecursionError for anything else."""
    *lines, last = data.split(b"\n")[:-1]
    end = msgspec.json.decode(last, type=TrialEnd)
    launches = tuple(_tried(msgspec.json.decode(line, type=LaunchLine)) for line in lines)
    return KernelTrial(launches, end.not_tried, end.unseen)


def _tried(line: LaunchLine) -> Tried:
    arguments = {}
    for name, array in line.arrays.items():
        stored = storage_type(array.dtype)
        kept = array.before if array.after is None else array.after
        before, after, written = (
            np.frombuffer(held, kind).reshape(array.shape)
            for held, kind in ((array.before, stored), (kept, stored), (array.written, np.dtype(np.bool_)))
        )
        arguments[name] = TriedArray(array.dtype, before, after, written)
    others = {name: _number(each) for name, each in {**line.constants, **line.floats}.items()}
    return Tried(
        line.values, others, line.filling, arguments, line.lists, line.stopped, line.unsteady, line.flushes,
        float(line.largest),
    )  # fmt: skip


def _number(value: Said) -> bool | int | float:
    return float(value) if isinstance(value, str) else value


def summary(trial: KernelTrial, seed: int) -> TrialSummary:
    """For the answer: how many launches, how much of each array they wrote at least and at most, and what was not
    tried."""
    parts: dict[str, list[float]] = {}
    for each in trial.launches:
        for name, argument in each.arguments.items():
            if argument.written.size:
                parts.setdefault(name, []).append(float(np.count_nonzero(argument.written)) / argument.written.size)
    written = {name: (round(min(part), 6), round(max(part), 6)) for name, part in parts.items() if max(part) > 0}
    return TrialSummary(len(trial.launches), written, trial.not_tried, seed)


def incomplete(tried: Sequence[Tried]) -> Iterator[Reason]:
    """Arrays of which some elements are written and others not, one reason each."""
    told: set[str] = set()
    for each in tried:
        for name, argument in each.arguments.items():
            missing = argument.written.size - int(np.count_nonzero(argument.written))
            if missing and missing < argument.written.size and name not in told:
                told.add(name)
                size = argument.written.size
                yield Reason("not-written", f"{missing} of {size} elements of {name} stay unwritten ({each.where})")


# --------------------------------------------------------------------------------------------------- reference messages
# What the gate asks of a reference's process, and what that answers, in front of the bytes.


@dataclass(frozen=True, slots=True)
class ReferenceRequest:
    """``load``: ``FILE.py::FUNCTION``; without it the payload, which `trial_job` sent, is compared, or with ``exact``
    that of `exact_job`."""

    load: str | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """``usage``: the caller's mistake; ``failed``: why these launches could not be compared; ``unreadable``: what came
    is no trial; else ``reasons`` say how kernel and reference differ, and ``equal`` what comes of exact numbers."""

    usage: str | None = None
    failed: str | None = None
    unreadable: bool = False
    undefined: tuple[int, ...] = ()
    """Launches by number at which the reference has no value, so that nothing is compared."""
    reasons: tuple[Reason, ...] = ()
    equal: dict[str, Any] | None = None
