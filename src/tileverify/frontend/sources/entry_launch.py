"""A launch spec from what an entry does with its parameters, for kernels of C++ and of others that say no more.

Such an entry takes pointers and scalars.  A tensor view that it makes of a pointer says what the array is: its sizes
and strides are those that the view is given, where they are numbers, scalars of the entry or products of these.  The
array behind any other pointer is flat and as large as its own name says (``x_size``), so that what the kernel needs of
it comes out as a clause.
"""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...contract.arguments import print_description
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
    ListArgument,
    Name,
    Number,
    Role,
    ScalarArgument,
    TupleArgument,
)
from ...contract.terms import Scope, Term, TermKind, postorder
from ...results.conditional import plain_name
from ...system.errors import SpecError, TileVerifyError
from ...system.readings import read
from ..bytecode import decode
from ..bytecode.model import Entry, Module, PointerType, TileType
from ..symbolic.execute import summarize
from ..symbolic.summary import Footprint, PointerFootprint, Site
from .array_layouts import layouts_of
from .bytecode_file import BytecodeEntry, entry_unit, noted_source, unit_of

_DTYPES = {
    spelled: element.name
    for element in reversed(ELEMENT_TYPES.values())
    for spelled in (element.tile_ir if element.kind != "bool" else ("i1",))
}
"""The spec's name of an element type of Tile IR; signed where both are possible, as integers are read."""


def inferred_unit(
    entry: BytecodeEntry, names: Sequence[str] | None = None, described: Mapping[str, ArrayArgument] | None = None
) -> KernelUnit:
    """The unit of an entry that nobody wrote a spec for: what its symbol says, or else what it does with its
    parameters, which are called ``names`` if these are known, and are ``described`` as far as the source does it."""
    mangled = names is None and is_mangled(entry.symbol)
    launch = launch_of_symbol(entry.symbol, entry.name) if mangled else _launch_of(entry, names, described)
    if launch is not None:
        with contextlib.suppress(SpecError):
            return entry_unit(entry, launch)
    note = f"no launch spec for '{entry.name}': the meaning of its parameters is unknown"
    unknown = LaunchSpec(kernel=entry.name, name=INFERRED, arguments=(), origin="inferred", notes=(note,))
    return unit_of(entry, unknown, ())


def _launch_of(
    entry: BytecodeEntry, names: Sequence[str] | None, described: Mapping[str, ArrayArgument] | None
) -> LaunchSpec | None:
    module = decode(entry.bytecode, file=str(entry.file))
    code = next(each for each in module.entries if each.name == entry.symbol)
    return launch_of_entry(module, code, entry.name, names or _names(code, entry.file), described)


def _names(entry: Entry, file: Path) -> list[str]:
    """What the source calls the parameters, where it is at hand; ``file`` is the source, or the bytecode itself."""
    given: Sequence[str] = ()
    if entry.location is not None:
        source = file if file.suffix == ".cu" else Path(noted_source(Path(entry.location.file), file.parent))
        given = parameter_names(source, plain_name(entry.name), entry.location.line)
    if len(given) == len(entry.parameters):
        return list(given)
    return [f"arg{index}" for index in range(len(entry.parameters))]


def launch_of_entry(
    module: Module,
    entry: Entry,
    kernel: str,
    names: Sequence[str],
    described: Mapping[str, ArrayArgument] | None = None,
) -> LaunchSpec | None:
    """The launch that ``entry`` speaks of, its parameters called ``names``.

    ``described``: arrays that the source describes by name; their sizes and strides (``x.shape[0]``) come with them.
    ``None`` where a parameter has a type that specs have no word for.
    """
    types = parameter_types(entry)
    dtypes = [spec_type(name) for _, name in types]
    known = dict(zip(names, types, strict=True))
    sites = _sites(module, entry, known)
    layouts = layouts_of(sites, names)
    arguments: list[Argument] = []
    for name, (is_pointer, _), dtype in zip(names, types, dtypes, strict=True):
        array, dot, _ = name.partition(".")
        if described and array in described:
            if not dot:
                arguments.append(described[name])
            continue
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
    requires = [Apply(">=", (Name(name), Number(0))) for name in names if name in counts - sizes and "." not in name]
    written = "; ".join(f"{argument.name} = {print_description(argument)}" for argument in arguments)
    return LaunchSpec(
        kernel=kernel,
        name=INFERRED,
        arguments=tuple(arguments),
        origin="inferred",
        unsized=frozenset(pointers - layouts.keys() - (described or {}).keys()),
        requires=tuple(requires),
        requires_text=tuple(map(print_expression, requires)),
        notes=(f"no launch spec: assumed {written or 'no arguments'}{_apart(arguments)}, any grid",),
    )


def _apart(arguments: Iterable[Argument]) -> str:
    """What named strides say of an array, which conditions need not repeat."""
    strided = any(isinstance(each, ArrayArgument) and each.strides is not None for each in arguments)
    return "; strides keep the elements of an array apart" if strided else ""


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


# -------------------------------------------------------------------------------------------------------- symbol launch
# A launch spec from a symbol that cuTile mangled: the symbol says what every parameter of the kernel was.
#
# Names, sizes and grid stay unknown, so the parameters are called ``p0``, ``p1``, ... by their position and their sizes
# ``p0_0``, ``p0_1``, ...  Divisibility and alignment in the symbol are promises of the launch that it was compiled for;
# they are no part of the spec.


_NAMES = {element.cutile: element.name for element in ELEMENT_TYPES.values()}


class _Unknown(Exception):
    """The symbol speaks of something that launch specs have no words for."""


def is_mangled(symbol: str) -> bool:
    """Whether cuTile made the symbol of a kernel's name and signature."""
    return "_Kt" in symbol


def launch_of_symbol(symbol: str, kernel: str) -> LaunchSpec | None:
    """The launch that a mangled symbol describes, or ``None`` for any other symbol or without cuda.tile."""
    if not is_mangled(symbol):
        return None
    try:
        from cuda.tile.compilation import demangle_kernel_name

        _, signature = demangle_kernel_name(symbol)
        arguments = [_argument(f"p{i}", constraint) for i, constraint in enumerate(signature.parameters)]
    except (ImportError, ValueError, TypeError, _Unknown):
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    written = "; ".join(f"{argument.name} = {print_description(argument)}" for argument in known)
    return LaunchSpec(
        kernel=kernel,
        name=INFERRED,
        arguments=known,
        origin="inferred",
        notes=(f"no launch spec: the symbol says {written or 'no arguments'}; any grid",),
    )


def _argument(name: str, constraint: Any) -> Argument | None:
    """The argument, or ``None`` for a constant, which takes no parameter of the entry."""
    match type(constraint).__name__:
        case "ConstantConstraint":
            return None
        case "ScalarConstraint":
            return ScalarArgument(name, _element_type(constraint.dtype))
        case "ArrayConstraint":
            return _array(name, constraint)
        case "ListConstraint":
            return ListArgument(name, _array(name, constraint.element), Name(f"{name}_length"))
        case "TupleConstraint":
            items = [_argument(f"{name}[{i}]", item) for i, item in enumerate(constraint.items)]
            return TupleArgument(name, tuple(item for item in items if item is not None))
    raise _Unknown


def _array(name: str, constraint: Any) -> ArrayArgument:
    """Row-major where the last stride alone was compiled in, as 1; other strides get names."""
    if constraint.alias_groups or constraint.may_alias_internally:
        raise _Unknown
    plain = name.replace("[", "_").replace("]", "")

    def named(stem: str, values: tuple[int | None, ...]) -> tuple[Expression, ...]:
        return tuple(Name(f"{stem}{dim}") if value is None else Number(value) for dim, value in enumerate(values))

    strides = constraint.stride_constant
    contiguous = strides in ((), (*[None] * (len(strides) - 1), 1))
    return ArrayArgument(
        name,
        _element_type(constraint.dtype),
        named(f"{plain}_", constraint.shape_constant),
        None if contiguous else named(f"{plain}_stride", strides),
        constraint.index_dtype.bitwidth,
    )


def _element_type(dtype: Any) -> str:
    if dtype.name not in _NAMES:
        raise _Unknown
    return _NAMES[dtype.name]


# ------------------------------------------------------------------------------------------------------ parameter names
# The names of a C++ function's parameters, read from its source: bytecode does not have them.


_NEAR: Final = 12
"""Lines between the one that the compiler gives a function and its name: attributes and templates stand there."""
_COMMENT_OR_TEXT: Final = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
_LAST_WORD: Final = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_NOT_NAMES: Final = frozenset({"grid", "int", "unsigned", "long", "short", "char", "float", "double", "bool", "const"})


def parameter_names(source: Path, function: str, line: int) -> tuple[str, ...]:
    """The names of the parameters of ``function``, whose definition stands near ``line`` (1-based) of ``source``.

    A name that is a keyword to launch specs gets an underscore behind it (``in_``).  Empty where the source cannot be
    read, or does not give every parameter a name of its own.
    """
    try:
        text = read(source).decode("utf-8", "replace")
    except OSError:
        return ()
    plain = _COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)

    def distance(match: re.Match[str]) -> int:
        return abs(plain.count("\n", 0, match.start()) + 1 - line)

    near = [match for match in re.finditer(rf"\b{re.escape(function)}\s*\(", plain) if distance(match) <= _NEAR]
    if not near:
        return ()
    names = [_name(part) for part in _parts(plain, min(near, key=distance).end())]
    return tuple(names) if all(names) and len(set(names)) == len(names) else ()


def _parts(text: str, start: int) -> list[str]:
    """What stands between the commas of a list that begins at ``start``, up to its closing parenthesis."""
    parts, begin, open_brackets = [], start, [")"]
    for position in range(start, len(text)):
        character = text[position]
        if character == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                parts.append(text[begin:position])
                return parts if any(map(str.strip, parts)) else []
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character == "," and len(open_brackets) == 1:
            parts.append(text[begin:position])
            begin = position + 1
    return []


def _name(parameter: str) -> str:
    """The name that a parameter's declaration gives it; empty where it gives none."""
    match = _LAST_WORD.search(parameter.partition("=")[0].rstrip())
    name = match[1] if match else ""
    if not name.isidentifier() or not name.isascii() or name in _NOT_NAMES or match is None or not match.start():
        return ""
    return f"{name}_" if keyword.iskeyword(name) else name
