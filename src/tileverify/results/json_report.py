"""The report for programs, ``tileverify/report/1``, and how frozen dataclasses are JSON: keys are only ever added."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache, reduce
from importlib import resources
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, defstruct, to_builtins
from msgspec import field as struct_field

from . import Finding, KernelResult, Report, Times, Verdict
from .json_fields import OMITTED

_SHIPPED: Final = f"{__package__.rpartition('.')[0]}.reports"
"""Where the schema lies."""


@dataclass(frozen=True, slots=True)
class ReportedTool:
    version: str
    solver: str
    trusted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """Launches by their verdict, whatever is suppressed."""

    proved: int
    refuted: int
    undecided: int
    error: int
    conditional: int = 0


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A `Report` and what follows from its results: their number by verdict, and all that they rest on."""

    schema: Literal["tileverify/report/1"]
    tool: ReportedTool
    results: tuple[KernelResult, ...]
    summary: ReportSummary | None = field(default=None, metadata=OMITTED)
    findings: tuple[Finding, ...] = field(default=(), metadata=OMITTED)


def json_report(report: Report) -> str:
    """The report as one JSON document in plain ASCII, ending with a newline."""
    count = Counter(result.verdict for result in report.results)
    summary = ReportSummary(
        count[Verdict.PROVED],
        count[Verdict.REFUTED],
        count[Verdict.UNDECIDED],
        count[Verdict.ERROR],
        report.conditional,
    )
    tool = ReportedTool(report.tool_version, report.solver, report.rests_on)
    document = ReportDocument(SCHEMA, tool, tuple(map(_in_microseconds, report.results)), summary, report.findings)
    return json.dumps(to_json(document), indent=2, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema (2020-12) of `json_report`."""
    return resources.files(_SHIPPED).joinpath("schema", "report-1.json").read_text(encoding="utf-8")


def result_to_json(result: KernelResult) -> Json:
    """One element of ``results``."""
    return to_json(_in_microseconds(result))


def report_from_json(document: Mapping[str, object]) -> Report:
    """The inverse of `json_report`, but for the rounding of times.  Raises KeyError or ValueError."""
    read = from_json(document, ReportDocument)
    return Report(read.results, read.tool.version, read.tool.solver, read.tool.trusted, read.findings)


def result_from_json(document: Mapping[str, object]) -> KernelResult:
    """The inverse of `result_to_json`, but for the rounding of times.  Raises KeyError or ValueError."""
    return from_json(document, KernelResult)


def _in_microseconds(result: KernelResult) -> KernelResult:
    """``result`` with its times rounded to what anybody reads of them."""
    times = result.time_ms
    shown = Times(*(round(each, 3) for each in (times.compile, times.decode, times.execute, times.prove)))
    return replace(result, time_ms=shown)


# ------------------------------------------------------------------------------------------------------------ documents
# Frozen dataclasses as JSON and back: a class is its own JSON, so that one line makes a field and its key.
#
# Keys stand in the order of the fields; `json_fields` has what a field may say beyond its type and its default.  Keys
# that are not known are passed over: later versions may add some.


SCHEMA: Final = "tileverify/report/1"

Json: TypeAlias = dict[str, Any]
_Field: TypeAlias = Field[Any]
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_T = TypeVar("_T")


def to_json(document: object) -> Json:
    """The dataclass or struct as `json` would read it: objects, lists, text and numbers."""
    written = _written(document)
    assert isinstance(written, dict)
    return written


def from_json(document: object, kind: type[_T]) -> _T:
    """The inverse of `to_json`; raises KeyError with a key that is missing, ValueError for all else that is wrong."""
    try:
        return cast(_T, built(convert(document, shape_of(kind))))
    except ValidationError as error:
        missing = _MISSING.match(str(error))
        raise (ValueError(str(error)) if missing is None else KeyError(missing[1])) from None


# --------------------------------------------------------------------------------------------- writing
def _written(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case None | str() | int() | float():
            return value
        case Mapping():
            return {key: _written(each) for key, each in value.items()}
        case list() | tuple():
            return list(map(_written, value))
        case Struct():
            return _written(to_builtins(value))
    return {_key(each): _of_field(each, value) for each in _fields_of(value) if not _left_out(each, value)}


def _of_field(each: _Field, owner: object) -> object:
    value = getattr(owner, each.name)
    if "write" in each.metadata:
        return _written(each.metadata["write"](value))
    if keys := each.metadata.get("keys"):
        return [dict(zip(keys, item, strict=True)) for item in value]
    return _as_rows(value) if "rows" in each.metadata else _written(value)


def _as_rows(value: object) -> object:
    match value:
        case Mapping():
            return {key: _as_rows(each) for key, each in value.items()}
        case list() | tuple():
            return list(map(_as_rows, value))
    return [_of_field(each, value) for each in _fields_of(value)]


def _fields_of(value: object) -> tuple[_Field, ...]:
    kind: type = type(value)
    return _shown(kind)


def _left_out(each: _Field, owner: object) -> bool:
    return "omitted" in each.metadata and getattr(owner, each.name) == each.default


@cache
def _shown(kind: type) -> tuple[_Field, ...]:
    return tuple(each for each in fields(kind) if "hidden" not in each.metadata)


def _key(each: _Field) -> str:
    return str(each.metadata.get("key", each.name))


# --------------------------------------------------------------------------------------------- reading
class _Shape(Struct, frozen=True):
    """What was read of the class ``_of``, a dataclass or ``tuple``."""

    _of: ClassVar[type]


def shape_of(kind: type, *, rows: bool = False) -> type[Struct]:
    """The JSON of the dataclass ``kind`` as a type, of a struct itself; ``rows``: as a list."""
    if issubclass(kind, Struct):
        return kind
    return _shape_of(kind, rows)  # type: ignore[arg-type]  # every class can be hashed


@cache
def _shape_of(kind: type, rows: bool) -> type[Struct]:
    shown = _shown(kind)
    own = type("_Own", (), {"__module__": kind.__module__, "__annotations__": {each.name: each.type for each in shown}})
    hints = get_type_hints(own)  # hidden fields may have types that only type checkers know
    return _shape(kind, [(each.name, _type(each, hints[each.name]), _default(each, rows=rows)) for each in shown], rows)


def _shape(kind: type, parts: Sequence[tuple[str, type, object]], rows: bool) -> type[Struct]:
    return defstruct(
        kind.__name__,
        parts,
        bases=(_Shape,),
        namespace={"_of": kind},
        frozen=True,
        kw_only=not rows,
        array_like=rows,
        forbid_unknown_fields=rows,
    )


def _type(each: _Field, hint: object) -> type:
    if keys := each.metadata.get("keys"):
        item, _ = get_args(hint)
        parts = [(key, part, struct_field()) for key, part in zip(keys, get_args(item), strict=True)]
        return cast(type, GenericAlias(tuple, (_shape(tuple, parts, rows=False), ...)))
    if "kind" in each.metadata:
        return cast(type, each.metadata["kind"])
    made = _shaped(hint, rows="rows" in each.metadata)
    if "omitted" in each.metadata and each.default is None:
        return _either(part for part in get_args(made) if part is not NoneType)
    return made if each.init or "required" in each.metadata else _either((made, UnsetType))


def _shaped(hint: object, *, rows: bool) -> type:
    """``hint`` with the shape of every dataclass in its place."""
    if isinstance(hint, type) and is_dataclass(hint):
        return shape_of(hint, rows=rows)
    origin, inner = get_origin(hint), get_args(hint)
    if not inner or isinstance(inner[0], str):
        return cast(type, Any if hint is object else hint)
    parts = tuple(each if each is ... else _shaped(each, rows=rows) for each in inner)
    return _either(parts) if origin in (Union, UnionType) else cast(type, GenericAlias(cast(type, origin), parts))


def _either(parts: Iterable[object]) -> type:
    return cast(type, reduce(or_, parts))


def _default(each: _Field, *, rows: bool) -> object:
    key = _key(each)
    if "required" in each.metadata or (rows and "later" not in each.metadata):
        return struct_field(name=key)
    if not each.init:
        return struct_field(name=key, default=UNSET)
    if each.default_factory is not MISSING:
        return struct_field(name=key, default_factory=each.default_factory)
    return struct_field(name=key) if each.default is MISSING else struct_field(name=key, default=each.default)


def built(read: object) -> object:
    """The dataclasses that a document stands for which was read as `shape_of` has it."""
    match read:
        case _Shape():
            held = {name: built(getattr(read, name)) for name in read.__struct_fields__}
            kind = type(read)._of
            return tuple(held.values()) if kind is tuple else kind(**_values(read, held, kind))
        case tuple() | list():
            return type(read)(map(built, read))
        case dict():
            return {key: built(each) for key, each in read.items()}
    return read


def _values(read: _Shape, held: dict[str, object], kind: type) -> dict[str, object]:
    values = {each.name: held[each.name] for each in _shown(kind) if each.init}
    for each in fields(kind):
        left_out = "omitted" in each.metadata and values[each.name] is each.default
        if "read" in each.metadata and not left_out:
            values[each.name] = each.metadata["read"](read)
    return values
