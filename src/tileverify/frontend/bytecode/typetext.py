"""Types and attribute values as Tile IR assembly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .floattext import FORMATS, float_text
from .model import (
    Bounded,
    Constant,
    DivBy,
    FloatAttribute,
    FunctionType,
    GatherScatterViewType,
    IntegerAttribute,
    PartitionViewType,
    PointerType,
    SameElements,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
)
from .naming import uniform

HEX_ABOVE: Final = 100


def type_text(type: Type) -> str:
    match type:
        case ScalarType():
            return type.name
        case TokenType():
            return "token"
        case PointerType():
            return f"ptr<{type.pointee.name}{f', <{type.attribute}>' if type.attribute else ''}>"
        case TileType():
            return f"tile<{_dimensions(type.shape)}{type_text(type.element)}>"
        case TensorViewType():
            return _tensor_view(type)
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            return _view(type)
        case FunctionType():
            return f"({', '.join(map(type_text, type.parameters))}) -> ({', '.join(map(type_text, type.results))})"


def _dimensions(shape: tuple[int | None, ...]) -> str:
    return "".join(f"{'?' if extent is None else extent}x" for extent in shape)


def _tensor_view(type: TensorViewType) -> str:
    strides = ",".join("?" if stride is None else str(stride) for stride in type.strides)
    parts = [_dimensions(type.shape) + type.element.name]
    if type.strides:
        parts.append(f"strides=[{strides}]")
    if type.attribute:
        parts.append(f"#cuda_tile.ptr_attr<{type.attribute}>")
    return f"tensor_view<{', '.join(parts)}>"


def _view(type: PartitionViewType | StridedViewType | GatherScatterViewType) -> str:
    parts = [f"tile=({'x'.join(map(str, type.tile))})"]
    if isinstance(type, StridedViewType):
        parts.append(f"traversal_strides=[{','.join(map(str, type.traversal))}]")
    if type.padding:
        parts.append(f"padding_value = {type.padding}")
    parts.append(type_text(type.tensor))
    if isinstance(type, GatherScatterViewType):
        return f"gather_scatter_view<{', '.join(parts)}, sparse_dim={type.sparse_dim}>"
    if type.dim_map != tuple(range(len(type.dim_map))):
        parts.append(f"dim_map=[{', '.join(map(str, type.dim_map))}]")
    name = "partition_view" if isinstance(type, PartitionViewType) else "strided_view"
    return f"{name}<{', '.join(parts)}>"


def string_text(text: str) -> str:
    """A quoted string; bytes outside printable ASCII are two hex digits."""
    made = []
    for byte in text.encode():
        if byte == 0x5C:
            made.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            made.append(chr(byte))
        else:
            made.append(f"\\{byte:02X}")
    return f'"{"".join(made)}"'


def symbol_text(name: str) -> str:
    """A symbol reference, quoted unless it is a bare identifier."""
    bare = bool(name) and name.isascii() and (name[0].isalpha() or name[0] == "_")
    return f"@{name}" if bare and all(c.isalnum() or c in "_$." for c in name) else f"@{string_text(name)}"


def element_text(value: int, element: ScalarType) -> str:
    """One element of a constant; floats come as their bit pattern."""
    if element.bits == 1:
        return "true" if value else "false"
    return str(value) if element.is_integer else float_text(value, FORMATS[element.name])


def constant_text(constant: Constant) -> str:
    """``<i32: 7>`` for equal elements, nested lists, or the raw bytes in hex for more than a hundred elements."""
    element = constant.scalar
    if uniform(constant):
        return f"<{element.name}: {element_text(constant.element(0), element)}>"
    if constant.count > HEX_ABOVE:
        raw = bytes(constant.element(i) for i in range(constant.count)) if element.bits == 1 else constant.data
        return f'<{element.name}: "0x{raw.hex().upper()}">'
    items = iter([element_text(constant.element(i), element) for i in range(constant.count)])
    return f"<{element.name}: {_nested(items, constant.type.shape)}>"


def _nested(items: Iterator[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return next(items)
    return f"[{', '.join(_nested(items, shape[1:]) for _ in range(shape[0]))}]"


def attribute_text(value: Any, *, hint: bool = False) -> str:
    """A self-describing attribute.  Inside hints an i32 stands without its type."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return string_text(value)
        case tuple():
            return f"[{', '.join(attribute_text(item) for item in value)}]"
        case dict():
            return dictionary_text(value)
        case IntegerAttribute():
            text = element_text(value.value, value.type)
            return text if value.type.bits == 1 or hint else f"{text} : {value.type.name}"
        case FloatAttribute():
            return f"{element_text(value.bits, value.type)} : {value.type.name}"
        case DivBy():
            runs = "" if value.every is None else f", every {value.every} along {value.along}"
            return f"div_by<{value.divisor}{runs}>"
        case Bounded():
            lower, upper = ("?" if bound is None else bound for bound in (value.lower, value.upper))
            return f"bounded<{lower}, {upper}>"
        case SameElements():
            return f"same_elements<[{', '.join(map(str, value.groups))}]>"
        case _:
            return type_text(value)


def dictionary_text(items: Mapping[str, object]) -> str:
    """Keys in the order of their bytes, as attribute dictionaries are kept."""
    return f"{{{_entries(items)}}}"


def hints_text(items: Mapping[str, object]) -> str:
    return f"<{_entries(items)}>"


def _entries(items: Mapping[str, object]) -> str:
    return ", ".join(f"{key} = {attribute_text(items[key], hint=True)}" for key in sorted(items, key=str.encode))
