"""What the compiler's process sends: reasons why it was stopped, or kernels under launches, each compiled or failed.

That process runs the submission, so it is hostile: every type is checked by who reads, lengths and names here or in
`prove_job`.  What has another form inside of one kernel stops that kernel alone, so kernels are read when their turn
comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, TypeAlias

import msgspec

from ...contract.parameters import KernelParameter
from ..gated import Reason
from ..screen.plain_values import DEEPEST, LONGEST_NAME, MOST_ITEMS, NotPlain, Plain, heard, name, plain, text

Position: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
"""A line, a column, or a dimension."""
Axes: TypeAlias = Annotated[tuple[Position, ...], msgspec.Meta(max_length=MOST_ITEMS)]

_HINTS: Final = (None, "int", "bool", "float", "str")
_SCALARS: Final = (None, "i32", "i64")
_INDEX_BITS: Final = (None, 32, 64)


class CompileFailure(msgspec.Struct, frozen=True):
    """Why a kernel has no bytecode."""

    code: str
    message: str
    line: Position | None = None
    column: Position | None = None


class ParameterWords(msgspec.Struct, frozen=True, kw_only=True):
    """A `KernelParameter`.  ``default``: as `plain_values.plain` writes it."""

    name: str
    hint: str | None
    constant: bool
    has_default: bool
    default: object
    scalar_dtype: str | None
    index_bits: int | None
    static_shape: Axes
    static_strides: Axes
    items: Annotated[tuple[ParameterWords, ...], msgspec.Meta(max_length=MOST_ITEMS)] | None
    each: ParameterWords | None


class CompiledUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that was compiled under a launch.  ``fields``: the words of the launch, as `plain_values.plain_table`
    writes them."""

    inferred: bool
    notes: tuple[str, ...]
    symbol: str
    fields: dict[str, object]
    parameters: tuple[ParameterWords, ...]
    bytecode: bytes
    compile_ms: float


class CompiledItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kernel under one launch: a unit, or why there is none."""

    kernel: str = ""
    launch: str
    line: int | None = None
    failure: CompileFailure | None = None
    unit: CompiledUnit | None = None


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A `CompiledItem` as it is read: what it has inside is read with `failure_of` and `unit_claimed`."""

    kernel: str = ""
    launch: str
    line: Position | None = None
    failure: msgspec.Raw = msgspec.Raw()
    unit: msgspec.Raw = msgspec.Raw()


class Claims(msgspec.Struct, frozen=True):
    """All that the process sent.  ``reasons`` come instead of ``items``."""

    reasons: tuple[Reason, ...] | None = None
    items: tuple[Claimed, ...] | None = None


class _Items(msgspec.Struct, frozen=True):
    items: tuple[CompiledItem, ...]


class _Reasons(msgspec.Struct, frozen=True):
    reasons: tuple[Reason, ...]


# ------------------------------------------------------------------------------------------------- writing
def items_bytes(items: Iterable[CompiledItem]) -> bytes:
    return msgspec.json.encode(_Items(tuple(items)))


def reasons_bytes(reasons: Iterable[Reason]) -> bytes:
    return msgspec.json.encode(_Reasons(tuple(reasons)))


def parameter_words(parameter: KernelParameter, data_type: type) -> ParameterWords:
    """Raises `NotPlain` for a default that is no constant."""
    return ParameterWords(
        name=parameter.name,
        hint=parameter.hint,
        constant=bool(parameter.constant),
        has_default=bool(parameter.has_default),
        default=plain(parameter.default, data_type) if parameter.has_default else None,
        scalar_dtype=parameter.scalar_dtype,
        index_bits=parameter.index_bits,
        static_shape=tuple(parameter.static_shape),
        static_strides=tuple(parameter.static_strides),
        items=None if parameter.items is None else tuple(parameter_words(item, data_type) for item in parameter.items),
        each=None if parameter.each is None else parameter_words(parameter.each, data_type),
    )


# ------------------------------------------------------------------------------------------------- reading
def claims_of(data: bytes) -> Claims:
    """Raises `NotPlain`, ValueError or RecursionError for anything else."""
    claims = msgspec.json.decode(data, type=Claims)
    for item in claims.items or ():
        if item.kernel:
            name(item.kernel)
        text(item.launch, 200)
    return claims


def failure_of(claim: Claimed) -> CompileFailure | None:
    """Raises ValueError for what is none."""
    return msgspec.json.decode(claim.failure, type=CompileFailure | None) if bytes(claim.failure) else None


def unit_claimed(claim: Claimed) -> CompiledUnit:
    """Raises ValueError or RecursionError for what is none."""
    return msgspec.json.decode(claim.unit, type=CompiledUnit)


def parameter_of(words: ParameterWords, depth: int = 0) -> KernelParameter:
    """The inverse of `parameter_words`; raises `NotPlain` for what it never writes."""
    if depth > DEEPEST:
        raise NotPlain("a parameter is no table")
    if words.hint not in _HINTS or words.scalar_dtype not in _SCALARS:
        raise NotPlain("a parameter has an unknown type")
    if words.index_bits not in _INDEX_BITS:
        raise NotPlain("indices have 32 or 64 bits")
    return KernelParameter(
        name=_parameter_name(words.name),
        hint=words.hint,
        constant=words.constant,
        has_default=words.has_default,
        default=_tuples(heard(words.default)),
        scalar_dtype=words.scalar_dtype,
        index_bits=words.index_bits,
        static_shape=words.static_shape,
        static_strides=words.static_strides,
        items=None if words.items is None else tuple(parameter_of(item, depth + 1) for item in words.items),
        each=None if words.each is None else parameter_of(words.each, depth + 1),
    )


def _parameter_name(value: str) -> str:
    """``x``, or ``x[0]`` for an item of a tuple."""
    found = text(value, LONGEST_NAME)
    name(found.replace("[", ".i").replace("]", ""))
    return found


def _tuples(value: Plain) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
