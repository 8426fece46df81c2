"""`decode`: the bytes of a Tile IR file to the model, or one `DecodeError` that says where and why."""

from __future__ import annotations

from typing import Final

from ...system.errors import DecodeError
from .attributes import AttributeReader
from .body import Tables, make_constant
from .container import Container, Section, read_container
from .debuginfo import DebugInfo
from .file_layout import ModuleLayout
from .functions import read_entries
from .model import Constant, Global, Module, ScalarType, TileType
from .optable import Version
from .reader import Reader, malformed
from .tables import ConstantTable, StringTable, TypeTable

GLOBAL_ATTRIBUTES_SINCE: Final[Version] = (13, 3)


def decode(data: bytes, *, file: str | None = None) -> Module:
    """The module in ``data``; ``file`` is only named in errors.

    Unknown, newer, preview, corrupt or truncated content raises `DecodeError`, and nothing else does.  Time and
    memory are proportional to the size of ``data``.
    """
    try:
        return _decode(bytes(data))
    except DecodeError as error:
        error.file = file
        raise


def _decode(data: bytes) -> Module:
    container = read_container(data)
    version = container.version
    strings = StringTable(_section(data, container, Section.STRING))
    types = TypeTable(_optional(data, container, Section.TYPE), version)
    constants = ConstantTable(_optional(data, container, Section.CONSTANT))
    attributes = AttributeReader(strings, types)
    constant_index: dict[Constant, int] = {}
    section = _optional(data, container, Section.GLOBAL)
    globals_ = _read_globals(section, strings, types, constants, version, constant_index) if section else ()
    section = _optional(data, container, Section.DEBUG)
    debug = DebugInfo(section, strings, version) if section else None
    tables = Tables(strings, types, constants, attributes, frozenset(item.name for item in globals_), constant_index)
    functions = _section(data, container, Section.FUNCTION)
    entries, entry_layouts, padding = read_entries(functions, tables, version, debug)
    producer = None
    section = _optional(data, container, Section.PRODUCER)
    if section:
        producer = attributes.string(section)
        section.finish("the producer")
    layout = ModuleLayout(
        container.order,
        strings.raw,
        types.types,
        tuple(constants.raw),
        constant_index,
        entry_layouts,
        debug.layout() if debug else None,
        padding,
    )
    return Module(version, entries, globals_, producer, layout)


def _section(data: bytes, container: Container, section: Section) -> Reader:
    start, end = container.sections[section]
    return Reader(data, start, end)


def _optional(data: bytes, container: Container, section: Section) -> Reader | None:
    return _section(data, container, section) if section in container.sections else None


def _read_globals(
    reader: Reader,
    strings: StringTable,
    types: TypeTable,
    constants: ConstantTable,
    version: Version,
    constant_index: dict[Constant, int],
) -> tuple[Global, ...]:
    made: dict[str, Global] = {}
    for _ in range(reader.count("globals", 4)):
        start = reader.pos
        name = strings.text(reader.varint(), start)
        if name in made:
            malformed(start, f"second global {name!r}")
        type = types.reference(reader)
        if not isinstance(type, TileType) or not isinstance(type.element, ScalarType) or len(type.shape) != 1:
            malformed(start, f"global {name!r} is not a one-dimensional tile of scalars")
        at = reader.pos
        index = reader.varint()
        value = make_constant(type, constants.bytes_of(index, at), at)
        constant_index.setdefault(value, index)
        at = reader.pos
        alignment = reader.varint()
        if alignment & (alignment - 1):
            malformed(at, f"alignment {alignment} of global {name!r} is not a power of two")
        private = constant = False
        if version >= GLOBAL_ATTRIBUTES_SINCE:
            at = reader.pos
            visibility, constancy = reader.varint(), reader.varint()
            if visibility > 1 or constancy > 1:
                malformed(at, f"global {name!r} has an unknown visibility or constant mark")
            private, constant = bool(visibility), bool(constancy)
        made[name] = Global(name, type, value, alignment, private, constant)
    reader.finish("the globals")
    return tuple(made.values())
