"""A launch spec from what an entry does with its parameters, for kernels of C++ and of others that say no more.

Such an entry takes pointers and scalars.  A tensor view that it makes of a pointer says what the array is: its sizes
and strides are those that the view is given, where they are numbers, scalars of the entry or products of these.  The
array behind any other pointer is flat and as large as its own name says (``x_size``), so that what the kernel needs of
it comes out as a clause.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path

from ...contract.descriptions import print_description
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import free_names, print_expression
from ...contract.launch import (
    INFERRED,
    Apply,
    Argument,
    ArrayArgument,
    EntryParameter,
    Expression,
    KernelUnit,
    LaunchSpec,
    Name,
    Number,
    Role,
    ScalarArgument,
)
from ...contract.terms import ONE, ZERO, Scope, Term, TermKind, linear_parts, mul, postorder, transform
from ...contract.terms.rendering import unsigned_reading
from ...results.kernel_names import plain_name
from ...system.errors import SpecError, TileVerifyError
from ..bytecode import decode
from ..bytecode.model import Entry, Module, PointerType, TileType
from ..symbolic.execute import summarize
from ..symbolic.summary import Footprint, OriginKind, PointerFootprint, Site, ViewFootprint
from .bytecode_file import BytecodeEntry, entry_unit, noted_source, unit_of
from .parameter_names import parameter_names
from .symbol_launch import is_mangled, launch_of_symbol

_DTYPES = {
    spelled: element.name
    for element in reversed(ELEMENT_TYPES.values())
    for spelled in (element.tile_ir if element.kind != "bool" else ("i1",))
}
"""The spec's name of an element type of Tile IR; signed where both are possible, as integers are read."""

_Layout = tuple[tuple[Expression, ...], tuple[Expression, ...] | None]
"""Shape, and strides unless the array is contiguous."""


class _NoWord(Exception):
    """A size that the words of a spec do not reach."""


def inferred_unit(entry: BytecodeEntry) -> KernelUnit:
    """The unit of an entry that nobody wrote a spec for: what its symbol says, or else what it does with its
    parameters."""
    launch = launch_of_symbol(entry.symbol, entry.name) if is_mangled(entry.symbol) else _launch_of(entry)
    if launch is not None:
        with contextlib.suppress(SpecError):
            return entry_unit(entry, launch)
    note = f"no launch spec for '{entry.name}': the meaning of its parameters is unknown"
    unknown = LaunchSpec(kernel=entry.name, name=INFERRED, arguments=(), origin="inferred", notes=(note,))
    return unit_of(entry, unknown, ())


def _launch_of(entry: BytecodeEntry) -> LaunchSpec | None:
    module = decode(entry.bytecode, file=str(entry.file))
    code = next(each for each in module.entries if each.name == entry.symbol)
    return launch_of_entry(module, code, entry.name, _names(code, entry.file))


def _names(entry: Entry, file: Path) -> list[str]:
    """What the source calls the parameters, where it is at hand; ``file`` is the source, or the bytecode itself."""
    given: Sequence[str] = ()
    if entry.location is not None:
        source = file if file.suffix == ".cu" else Path(noted_source(Path(entry.location.file), file.parent))
        given = parameter_names(source, plain_name(entry.name), entry.location.line)
    if len(given) == len(entry.parameters):
        return list(given)
    return [f"arg{index}" for index in range(len(entry.parameters))]


def launch_of_entry(module: Module, entry: Entry, kernel: str, names: Sequence[str]) -> LaunchSpec | None:
    """The launch that ``entry`` speaks of, its parameters called ``names``.

    ``None`` where a parameter has a type that specs have no word for.
    """
    types = parameter_types(entry)
    dtypes = [spec_type(name) for _, name in types]
    known = dict(zip(names, types, strict=True))
    sites = _sites(module, entry, known)
    layouts = _layouts(sites)
    arguments: list[Argument] = []
    for name, (is_pointer, _), dtype in zip(names, types, dtypes, strict=True):
        if dtype is None:
            return None
        if not is_pointer:
            arguments.append(ScalarArgument(name, dtype))
            continue
        shape, strides = layouts.get(name) or ((Name(_size_name(name, names)),), None)
        arguments.append(ArrayArgument(name, dtype, shape, strides))
    pointers = {name for name, (is_pointer, _) in known.items() if is_pointer}
    counts = _counts(sites)
    sizes = {name for shape, _ in layouts.values() for size in shape for name in free_names(size)}
    requires = [Apply(">=", (Name(name), Number(0))) for name in names if name in counts and name not in sizes]
    written = "; ".join(f"{argument.name} = {print_description(argument)}" for argument in arguments)
    return LaunchSpec(
        kernel=kernel,
        name=INFERRED,
        arguments=tuple(arguments),
        origin="inferred",
        unsized=frozenset(pointers - layouts.keys()),
        requires=tuple(requires),
        requires_text=tuple(map(print_expression, requires)),
        notes=(f"no launch spec: assumed {written or 'no arguments'}, any grid",),
    )


def parameter_types(entry: Entry) -> list[tuple[bool, str]]:
    """Of each parameter whether it is a pointer, and the name that Tile IR has for its element type."""
    return [_type_of(value.type) for value in entry.parameters]


def spec_type(element: str) -> str | None:
    """What specs call an element type of Tile IR; signed where both are possible, ``None`` where they have no word."""
    return _DTYPES.get(element)


def _type_of(type: object) -> tuple[bool, str]:
    assert isinstance(type, TileType)
    element = type.element
    return (True, element.pointee.name) if isinstance(element, PointerType) else (False, element.name)


def _size_name(array: str, taken: Iterable[str]) -> str:
    name = f"{array.rstrip('_')}_size"
    while name in taken:
        name += "_"
    return name


def _sites(module: Module, entry: Entry, known: Mapping[str, tuple[bool, str]]) -> tuple[Site, ...]:
    """The accesses of the entry, if its parameters mean no more than their types say."""
    roles = [
        EntryParameter(Role.POINTER if is_pointer else Role.SCALAR, name) for name, (is_pointer, _) in known.items()
    ]
    try:
        return summarize(module, entry, roles).sites
    except TileVerifyError:
        return ()  # whoever judges the kernel says why


def _counts(sites: Iterable[Site]) -> set[str]:
    """The scalars that are sizes or strides, which are not negative: those by which an address is multiplied, or that
    bound the places of a tile."""
    found: set[Term] = set()
    for site in sites:
        for term in (*_addresses(site.footprint), site.guard):
            for part in postorder(term):
                if part.kind is TermKind.PRODUCT or _compares_places(part):
                    found.update(part.args)
    return {term.symbol.name for term in found if term.kind is TermKind.VAR and term.symbol.scope is Scope.LAUNCH}


def _compares_places(part: Term) -> bool:
    """Whether it compares with what blocks, lanes and iterations count, and not with what memory holds."""
    if part.kind not in (TermKind.LT, TermKind.LE):
        return False
    free = [leaf for leaf in part.free if leaf.kind is TermKind.APPLY or leaf.symbol.scope is not Scope.LAUNCH]
    return bool(free) and all(leaf.kind is TermKind.VAR for leaf in free)


def _addresses(footprint: Footprint) -> tuple[Term, ...]:
    if isinstance(footprint, PointerFootprint):
        return (footprint.offset,)
    return (footprint.base, *footprint.shape, *footprint.strides, *footprint.coordinates)


# -------------------------------------------------------------------------------------------- layouts
def _layouts(sites: Iterable[Site]) -> dict[str, _Layout]:
    """Shape and strides of the arrays of which all views that begin at the first element say the same."""
    found: dict[str, set[_Layout | None]] = {}
    for site in sites:
        footprint, origin = site.footprint, site.origin
        if isinstance(footprint, ViewFootprint) and origin.kind is OriginKind.PARAMETER:
            found.setdefault(origin.name, set()).add(_layout(footprint))
    return {name: layout for name, (layout, *others) in found.items() if layout is not None and not others}


def _layout(footprint: ViewFootprint) -> _Layout | None:
    """The view's sizes and strides in the words of a spec; ``None`` where they have none, or it begins elsewhere."""
    if footprint.base is not ZERO:
        return None
    sizes, steps = [[_as_passed(term) for term in terms] for terms in (footprint.shape, footprint.strides)]
    try:
        shape = tuple(map(_expression, sizes))
        strides = None if steps == _row_major(sizes) else tuple(map(_expression, steps))
    except _NoWord:
        return None
    return shape, strides


def _as_passed(term: Term) -> Term:
    """A size as the launch passes it: none is negative or beyond its type, so that it is what every reading makes it.

    Where a kernel computes sizes, that they fit is the kernel's to show: its views keep their readings.
    """

    def leaf(part: Term) -> Term | None:
        reading = unsigned_reading(part)
        if reading is not None:
            return reading[1]
        return part.args[0] if part.kind is TermKind.WRAP else None

    return transform(term, leaf)


def _row_major(sizes: Sequence[Term]) -> list[Term]:
    return [reduce(mul, sizes[dim + 1 :], ONE) for dim in range(len(sizes))]


def _expression(term: Term) -> Expression:
    """A number, a scalar of the entry, or sums and products of these."""
    match term.kind:
        case TermKind.CONST if term.value >= 0:
            return Number(term.value)
        case TermKind.VAR if term.symbol.scope is Scope.LAUNCH and "." not in term.symbol.name:
            return Name(term.symbol.name)
        case TermKind.PRODUCT:
            return _joined("*", map(_expression, term.args))
        case TermKind.SUM:
            constant, parts = linear_parts(term)
            summands = [_scaled(factor, part) for factor, part in parts]
            return _joined("+", [*summands, Number(constant)] if constant > 0 else summands)
    raise _NoWord


def _scaled(factor: int, term: Term) -> Expression:
    if factor < 0:
        raise _NoWord
    return _expression(term) if factor == 1 else Apply("*", (Number(factor), _expression(term)))


def _joined(op: str, parts: Iterable[Expression]) -> Expression:
    return reduce(lambda left, right: Apply(op, (left, right)), parts)
