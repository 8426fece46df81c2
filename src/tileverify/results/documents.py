"""The JSON of results as types: what a report holds, key by key, as its schema (``reports/schema``) says it.

Keys stand in the order in which they are written.  Those with `UNSET` are left out where there is nothing to say; those
with another default are always written, but reports of earlier versions do not have them.  Keys that are not known are
passed over: later versions may add some.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, to_builtins

from . import Applicability, ContractOrigin, FindingLevel, HoldsFor, SideAccess, SideName, SuppressionKind, Verdict

SCHEMA: Final = "tileverify/report/1"

Json: TypeAlias = dict[str, Any]
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_Document = TypeVar("_Document", bound=Struct)
Triple: TypeAlias = tuple[int, int, int]


def to_json(document: Struct) -> Json:
    """The document as `json` would read it: objects, lists, text and numbers."""
    return {key: _listed(value) for key, value in to_builtins(document).items()}


def from_json(document: object, kind: type[_Document]) -> _Document:
    """The inverse of `to_json`; raises KeyError with a key that is missing, ValueError for all else that is wrong."""
    try:
        return convert(document, kind)
    except ValidationError as error:
        missing = _MISSING.match(str(error))
        raise (ValueError(str(error)) if missing is None else KeyError(missing[1])) from None


def _listed(value: object) -> object:
    match value:
        case dict():
            return {key: _listed(each) for key, each in value.items()}
        case list() | tuple():
            return list(map(_listed, value))
    return value


# ------------------------------------------------------------------------------------------- a launch of numbers
class ClaimDocument(Struct, frozen=True):
    code: str
    block_a: Triple
    block_b: Triple | None
    offset_a: int | None
    offset_b: int | None


class ArrayDocument(Struct, frozen=True):
    """``contents``: pairs of index and value, because JSON has no integer keys."""

    dtype: str
    shape: list[int]
    strides: list[int]
    contents: list[tuple[int, int]]
    fill: int
    allocation: str
    byte_offset: int


class LaunchDocument(Struct, frozen=True):
    """A launch and what it is claimed to show: a witness that outlives the process."""

    grid: Triple
    arrays: dict[str, ArrayDocument]
    lists: dict[str, list[ArrayDocument]]
    scalars: dict[str, int]
    floats: dict[str, float]
    claim: ClaimDocument


# --------------------------------------------------------------------------------------------------- a finding
class FrameDocument(Struct, frozen=True):
    file: str
    line: int
    column: int


class SiteDocument(Struct, frozen=True):
    file: str | None
    line: int | None
    column: int | None
    access: str
    array: str
    function: str | None = None
    call_chain: list[FrameDocument] = []
    expression: str = ""


class VariableDocument(Struct, frozen=True):
    """A variable's value in block A and in block B."""

    name: str
    a: int | None
    b: int | None


class ElementsDocument(Struct, frozen=True):
    array: str
    ranges: list[tuple[int, int]]
    count: int


class SideDocument(Struct, frozen=True):
    side: SideName
    access: SideAccess
    value: str
    after: str | None


class ValuesDocument(Struct, frozen=True):
    element: str
    sides: list[SideDocument]
    equal: bool
    counting: bool


class WitnessDocument(Struct, frozen=True):
    """``launch`` is a `LaunchDocument`, which nobody reads but who replays it."""

    sizes: dict[str, int]
    grid: Triple
    block_a: Triple
    block_b: Triple | None
    element: str
    scalars: dict[str, int] = {}
    strides: dict[str, int] = {}
    data: dict[str, list[int]] = {}
    variables: list[VariableDocument] = []
    confirmed_by: str = ""
    launch: Json | UnsetType = UNSET
    elements: ElementsDocument | UnsetType = UNSET
    values: ValuesDocument | UnsetType = UNSET


class EditDocument(Struct, frozen=True):
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class SpecPlaceDocument(Struct, frozen=True):
    file: str
    line: int


class HintDocument(Struct, frozen=True):
    id: str
    applicability: Applicability
    text: str
    edits: list[EditDocument] | UnsetType = UNSET
    source_sha256: str | UnsetType = UNSET
    requires: list[str] | UnsetType = UNSET
    spec: SpecPlaceDocument | UnsetType = UNSET


class SuppressionDocument(Struct, frozen=True):
    kind: SuppressionKind
    reason: str
    until: str | None
    file: str | None
    line: int | None


class FindingDocument(Struct, frozen=True, kw_only=True):
    code: str
    level: FindingLevel | UnsetType = UNSET
    message: str
    sites: list[SiteDocument]
    hints: list[HintDocument]
    witness: WitnessDocument | UnsetType = UNSET
    obligation: str | UnsetType = UNSET
    fingerprint: str | UnsetType = UNSET
    cause: str | UnsetType = UNSET
    suppression: SuppressionDocument | UnsetType = UNSET


# ---------------------------------------------------------------------------------------------------- a report
class ObligationsDocument(Struct, frozen=True):
    total: int
    structural: int
    solver: int


class WrittenDocument(Struct, frozen=True):
    whole: list[str]
    open: list[str]


class TimesDocument(Struct, frozen=True):
    """Milliseconds."""

    compile: float
    decode: float
    execute: float
    prove: float


class SecondReadingDocument(Struct, frozen=True, kw_only=True):
    asked: int
    launches: int
    blocks: int
    accesses: int
    waits: int
    unclaimed: int
    not_compared: dict[str, int]
    disagreement: str | None


class ComparedCodeDocument(Struct, frozen=True):
    """What `check --compiled` saw of the code for one architecture."""

    architecture: str
    assembler: str
    said: str
    footprints: str = ""
    launches: int = 0
    ptx_sha256: str = ""
    cubin_sha256: str = ""


class ResultDocument(Struct, frozen=True, kw_only=True):
    file: str
    kernel: str
    launch: str
    line: int | None = None
    verdict: Verdict
    holds_for: HoldsFor | None
    deterministic: bool | None
    contract: ContractOrigin | list[str] = []  # earlier versions had here what is ``stated``
    stated: list[str] = []
    arguments: list[str] | UnsetType = UNSET
    requires: list[str]
    limits: list[str] = []
    conditional: bool = False
    assumes: list[str]
    observed: list[str] = []
    findings: list[FindingDocument]
    obligations: ObligationsDocument
    proved_codes: list[str] = []
    written: WrittenDocument | UnsetType = UNSET
    second_reading: SecondReadingDocument | UnsetType = UNSET
    compared_code: list[ComparedCodeDocument] | UnsetType = UNSET
    notes: list[str] = []
    bytecode_sha256: str
    time_ms: TimesDocument
    cached: bool = False
    trusted: list[str] | UnsetType = UNSET
    cut_short: bool | UnsetType = UNSET


class ToolDocument(Struct, frozen=True):
    version: str
    solver: str
    trusted: list[str]


class SummaryDocument(Struct, frozen=True):
    """Launches by their verdict, whatever is suppressed."""

    proved: int
    refuted: int
    undecided: int
    error: int
    conditional: int = 0


class ReportDocument(Struct, frozen=True):
    schema: Literal["tileverify/report/1"]
    tool: ToolDocument
    results: list[ResultDocument]
    summary: SummaryDocument | UnsetType = UNSET
    findings: list[FindingDocument] | UnsetType = UNSET
