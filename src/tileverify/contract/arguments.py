"""The arguments of a launch spec: descriptions of arrays and scalars, and entries of ``args`` that hold them.

A description is read without knowing the kernel; what it means for the names of a launch is the business of
:mod:`.spec`.  Every mistake is a :class:`~tileverify.system.errors.SpecError` without a place, which the caller adds.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

from ..system.errors import SpecError
from .element_types import ALIASES, ELEMENT_TYPES
from .expression_parser import parse_size, parse_value
from .expressions import constant_value, print_expression
from .launch import (
    Apply,
    Argument,
    ArrayArgument,
    ConstantArgument,
    DescriptorBlock,
    Expression,
    KernelParameter,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
    contiguous_strides,
    strides_of,
)
from .strides import may_overlap_itself

_REFERENCE = re.compile(r"\s*&\s*(mut\b)?(.*?)(?:@(.*))?", re.DOTALL)
_ARRAY = re.compile(r"\s*([A-Za-z_]\w*)\s*\[(.*)\]\s*", re.DOTALL)
_SCALAR = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=(?!=)(.*))?", re.DOTALL)
_OPTION = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*(.*?)\s*", re.DOTALL)
_INDEX_WIDTHS = {"i32": 32, "i64": 64}
_MOST_PARTITIONED = 3
"""Axes of a partition, each of which is one of the grid."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """``"; did you mean 'word'?"`` or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


def parse_description(name: str, text: str) -> ArrayArgument | ScalarArgument:
    """The array or scalar argument ``name`` that ``text`` describes."""
    reference = _REFERENCE.fullmatch(text)
    if reference:
        return _reference(name, text.strip(), mutable=bool(reference[1]), array=reference[2], tile=reference[3])
    array = _ARRAY.fullmatch(text)
    if array:
        return _array(name, _dtype(array[1]), array[2])
    scalar = _SCALAR.fullmatch(text)
    if scalar is None:
        raise SpecError(f"'{text}' describes neither an array such as 'f32[M, N]' nor a scalar such as 'i32'")
    dtype = _dtype(scalar[1], scalar=True)
    if scalar[2] is None:
        return ScalarArgument(name, dtype)
    if ELEMENT_TYPES[dtype].kind == "f":
        raise SpecError(f"'{text}': only an integer or bool can be tied to an expression, and {dtype} is neither")
    value = parse_value(scalar[2]) if dtype == "bool" else parse_size(scalar[2])
    literal = constant_value(value)
    if literal is not None and not ELEMENT_TYPES[dtype].holds(literal):
        raise SpecError(f"'{text}': {literal} does not fit {dtype}")
    return ScalarArgument(name, dtype, value)


def _reference(name: str, text: str, *, mutable: bool, array: str, tile: str | None) -> ArrayArgument:
    """A tensor of cuTile Rust: shared, or an output that is partitioned."""
    described = _ARRAY.fullmatch(array)
    if described is None:
        raise SpecError(f"'{text}' describes no tensor such as '&f16[M, N]' or '&mut f16[M, N] @ [1, 32]'")
    found = _array(name, _dtype(ALIASES.get(described[1], described[1])), described[2])
    if not mutable:
        if tile is not None:
            raise SpecError(f"'{text}': a shared tensor has no partition; an output is '&mut {array.strip()} @{tile}'")
        return found
    if tile is None:
        example = ", ".join("1" for _ in found.shape)
        raise SpecError(f"'{text}': an output is passed as a partition, whose tile stands behind it: '@ [{example}]'")
    if found.index_bits != 32:
        raise SpecError(f"'{text}': a partition is passed with 32-bit sizes, so index=i64 cannot be")
    return replace(found, partition=_tile(text, tile, len(found.shape)))


def _tile(text: str, tile: str, rank: int) -> tuple[int, ...]:
    inside = tile.strip()
    if not (inside.startswith("[") and inside.endswith("]")):
        raise SpecError(f"'{text}': the tile of a partition stands in brackets, as in '@ [1, 32]'")
    sizes = [constant_value(size) for size in _sizes(inside[1:-1], "size of the tile")]
    if any(size is None or not 1 <= size < 1 << 31 for size in sizes):
        raise SpecError(f"'{text}': the sizes of the tile are numbers from 1 on")
    if len(sizes) != rank or not 1 <= rank <= _MOST_PARTITIONED:
        raise SpecError(
            f"'{text}': the tensor has {rank} axes, the tile {len(sizes)}; both have as many, 1 to {_MOST_PARTITIONED}"
        )
    return tuple(size for size in sizes if size is not None)


def _dtype(text: str, *, scalar: bool = False) -> str:
    if text in ELEMENT_TYPES:
        return text
    hint = f"; did you mean '{ALIASES[text]}'?" if text in ALIASES else suggestion(text, ELEMENT_TYPES)
    tied = f"; a scalar with the value of '{text}' is 'i32 = {text}'" if scalar else ""
    known = f" (known: {' '.join(ELEMENT_TYPES)}{tied})"
    raise SpecError(f"unknown element type '{text}'{hint or known}")


def _array(name: str, dtype: str, inside: str) -> ArrayArgument:
    sizes, *options = split_top_level(inside, ";")
    shape = tuple(_sizes(sizes, "size"))
    strides: tuple[Expression, ...] | None = None
    index_bits = 32
    seen: set[str] = set()
    for option in options:
        match = _OPTION.fullmatch(option)
        if match is None:
            raise SpecError(f"'{option.strip()}' is not an option of an array; expected strides=(...) or index=i64")
        key, value = match[1], match[2]
        if key in seen:
            raise SpecError(f"the option '{key}' is given twice")
        seen.add(key)
        if key == "strides":
            strides = _strides(value, len(shape))
        elif key == "index":
            if value not in _INDEX_WIDTHS:
                raise SpecError(f"index={value}: sizes and strides are i32 or i64")
            index_bits = _INDEX_WIDTHS[value]
        else:
            raise SpecError(f"unknown array option '{key}'{suggestion(key, ['strides', 'index'])}")
    for what, values in (("size", shape), ("stride", strides or ())):
        for expression in values:
            check_extent(expression, what, index_bits)
    return ArrayArgument(name, dtype, shape, strides, index_bits)


def _strides(text: str, rank: int) -> tuple[Expression, ...]:
    if not (text.startswith("(") and text.endswith(")")):
        raise SpecError(f"strides={text}: strides stand in parentheses, as in strides=(ld, 1)")
    inside = text[1:-1].strip()
    strides = tuple(_sizes(inside.removesuffix(","), "stride"))
    if len(strides) != rank:
        raise SpecError(f"strides={text} has {len(strides)} entries for an array of rank {rank}")
    return strides


def _sizes(text: str, what: str) -> Iterator[Expression]:
    if not text.strip():
        return
    for part in split_top_level(text, ","):
        if not part.strip():
            raise SpecError(f"a {what} is empty in '{text.strip()}'")
        yield parse_size(part)


def check_extent(expression: Expression, what: str, index_bits: int) -> None:
    """Refuse a literal size or stride that no array can have."""
    value = constant_value(expression)
    if value is None:
        return
    if value < 0:
        raise SpecError(f"the {what} {value} is negative")
    if value >= 1 << (index_bits - 1):
        wider = "; write index=i64" if index_bits == 32 else ""
        raise SpecError(f"the {what} {value} does not fit i{index_bits}{wider}")


def split_top_level(text: str, separator: str) -> list[str]:
    """``text`` cut at each ``separator`` outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


# --------------------------------------------------------------------------------------------- printing
def print_description(argument: Argument) -> str:
    """The argument as it stands in a TOML spec (the right side of ``name = ...``)."""
    match argument:
        case ArrayArgument(descriptor=None):
            return f'"{print_array(argument)}"'
        case ArrayArgument(descriptor=DescriptorBlock(block=block, nan=nan)):
            padding = ', padding = "nan"' if nan else ""
            return f'{{ desc = "{print_array(argument)}", block = [{", ".join(map(str, block))}]{padding} }}'
        case ScalarArgument(dtype=dtype, value=None):
            return f'"{dtype}"'
        case ScalarArgument(dtype=dtype, value=value) if value is not None:
            return f'"{dtype} = {print_expression(value)}"'
        case ListArgument(element=element, length=length, each=each, addresses=addresses):
            more = f", elements = [{', '.join(map(print_description, each))}]" if each else ""
            word = "addresses" if addresses else "list"
            return f'{{ {word} = "{print_array(element)}", length = "{print_expression(length)}"{more} }}'
        case TupleArgument(items=items, fields=None):
            return f"[{', '.join(print_description(item) for item in items)}]"
        case TupleArgument(items=items, fields=fields) if fields is not None:
            pairs = zip(fields, items, strict=True)
            return f"{{ {', '.join(f'{field} = {print_description(item)}' for field, item in pairs)} }}"
        case ConstantArgument(value=value):
            return print_constant(value)
    raise TypeError(f"not an argument: {argument!r}")


def argument_text(launch: LaunchSpec) -> Iterator[str]:
    """The arguments of a launch, each as a line of its spec: ``x = "f32[N]"``."""
    yield from (f"{argument.name} = {print_description(argument)}" for argument in launch.arguments)


def print_array(array: ArrayArgument) -> str:
    """``f16[M, N; strides=(ld, 1); index=i64]``, ``&mut f16[M, N] @ [1, 32]``."""
    text = ", ".join(print_expression(size) for size in array.shape)
    if array.strides is not None:
        text += f"; strides=({', '.join(print_expression(stride) for stride in array.strides)})"
    if array.index_bits != 32:
        text += f"; index=i{array.index_bits}"
    if array.partition is not None:
        return f"&mut {array.dtype}[{text}] @ [{', '.join(map(str, array.partition))}]"
    return f"{array.dtype}[{text}]"


def print_constant(value: object) -> str:
    """A constant as TOML (``None`` as ``"None"``, which TOML has no word for)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case tuple() | list():
            return f"[{', '.join(print_constant(item) for item in value)}]"
        case dict():
            return f"{{ {', '.join(f'{key} = {print_constant(item)}' for key, item in value.items())} }}"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


# ------------------------------------------------------------------------------------------------------------ arguments
# One entry of a spec's ``args``: from the TOML value to an argument.
#
# A string describes an array or a scalar, a number is a constant (or a run-time scalar where the kernel declares
# no ``ct.Constant``), a list or a table is a tuple, ``{ list = ..., length = ... }`` a list of arrays,
# ``{ addresses = ..., length = ... }`` the addresses of one, ``{ desc = ..., block = ... }`` a tensor descriptor.


_LIST_KEYS: Final = ("list", "addresses", "length", "elements")
_DESCRIPTOR_KEYS: Final = ("desc", "block", "padding")
_LEAST_BYTES: Final = 16
"""Of a descriptor's block along the last axis: Triton refuses less."""
_MOST_AXES: Final = 5
_MOST_ELEMENTS: Final = 1 << 20
"""Of one tensor of Triton (`TRITON_MAX_TENSOR_NUMEL`)."""


def read_argument(name: str, value: object, parameter: KernelParameter | None) -> Argument:
    """The argument that one entry of ``args`` describes; errors come without a place, which the caller adds."""
    if parameter is not None and parameter.constant:
        return ConstantArgument(name, _constant(value))
    match value:
        case bool() | int() | float():
            return _literal_scalar(name, value, parameter)
        case str() if value == "None" or value.startswith("ct."):
            return ConstantArgument(name, _constant(value))
        case str():
            return _with_annotation(parse_description(name, value), parameter)
        case None:
            return ConstantArgument(name, None)
        case list() | tuple():
            items = [
                read_argument(f"{name}[{i}]", item, parameter.item(i) if parameter else None)
                for i, item in enumerate(value)
            ]
            return TupleArgument(name, tuple(items))
        case dict() if "list" in value or "addresses" in value:
            return _list(name, value, parameter)
        case dict() if "desc" in value:
            return read_descriptor(name, value)
        case dict():
            items = [read_argument(f"{name}.{key}", item, parameter) for key, item in value.items()]
            return TupleArgument(name, tuple(items), tuple(value))
    raise SpecError(f"a {type(value).__name__} describes no argument")


def _constant(value: Any) -> Any:
    """A constant's value; TOML has no word for None, so the string stands for it."""
    match value:
        case "None":
            return None
        case list() | tuple():
            return tuple(_constant(item) for item in value)
        case dict():
            return {key: _constant(item) for key, item in value.items()}
    return value


def _literal_scalar(name: str, value: bool | int | float, parameter: KernelParameter | None) -> ScalarArgument:
    """A number for a parameter that is no ``ct.Constant``: a run-time scalar, as cuda.tile's JIT passes it."""
    if parameter is None:
        raise SpecError(f"{value!r} is a constant; bytecode has no constants, so describe a parameter or leave it out")
    if isinstance(value, bool):
        return ScalarArgument(name, "bool")
    if isinstance(value, float):
        return ScalarArgument(name, "f32")
    dtype = parameter.scalar_dtype or "i32"
    if not ELEMENT_TYPES[dtype].holds(value):
        raise SpecError(f'{value} does not fit {dtype}; write "i64 = {value}" if the kernel takes 64 bits')
    return ScalarArgument(name, dtype, Number(value))


def _with_annotation(
    argument: ArrayArgument | ScalarArgument, parameter: KernelParameter | None
) -> ArrayArgument | ScalarArgument:
    """What the kernel's own annotation fixes about the width of indices, or contradicts."""
    if parameter is None:
        return argument
    if isinstance(argument, ScalarArgument):
        if parameter.scalar_dtype not in (None, argument.dtype):
            raise SpecError(f"the kernel annotates {parameter.scalar_dtype}, the spec says {argument.dtype}")
        return argument
    return replace(argument, index_bits=parameter.index_bits) if parameter.index_bits else argument


def _list(name: str, value: Mapping[str, Any], parameter: KernelParameter | None) -> ListArgument:
    for key in value:
        if key not in _LIST_KEYS:
            raise SpecError(f"unknown key '{key}'{suggestion(key, _LIST_KEYS)} in a list of arrays")
    if "list" in value and "addresses" in value:
        raise SpecError("a list of arrays is given by 'list' or by 'addresses', not by both")
    word = "addresses" if "addresses" in value else "list"
    example = f'{{ {word} = "f32[M, N]", length = "L" }}'
    text, length = value[word], value.get("length")
    if not isinstance(text, str):
        raise SpecError(f"a list is described as {example}")
    element = parse_description(name, text)
    if not isinstance(element, ArrayArgument):
        raise SpecError(f"'{text}': the elements of a list are arrays")
    if not is_text_or_integer(length):
        raise SpecError(f"the length of a list is missing, as in {example}")
    extent = parse_size(str(length))
    check_extent(extent, "length", 32)
    described = _with_annotation(element, parameter)
    assert isinstance(described, ArrayArgument)
    each = value.get("elements", [])
    if not isinstance(each, list) or not all(isinstance(text, str) for text in each):
        raise SpecError('the elements of a list are texts, as in elements = ["f32[64, 32]", "f32[128, 32]"]')
    arrays = tuple(list_elements(name, each, described, extent))
    return ListArgument(name, described, extent, arrays, addresses=word == "addresses")


def read_descriptor(name: str, value: Mapping[str, Any]) -> ArrayArgument:
    """The tensor descriptor that ``{ desc = "f16[M, K]", block = [128, 64] }`` describes, as Triton's host makes one.

    Raises `SpecError` for one that `TensorDescriptor` of Triton refuses.
    """
    example = '{ desc = "f16[M, K]", block = [128, 64] }'
    for key in value:
        if key not in _DESCRIPTOR_KEYS:
            raise SpecError(f"unknown key '{key}'{suggestion(key, _DESCRIPTOR_KEYS)} in a tensor descriptor")
    text, block, padding = value["desc"], value.get("block"), value.get("padding", "zero")
    array = parse_description(name, text) if isinstance(text, str) else None
    if not isinstance(array, ArrayArgument) or array.partition is not None:
        raise SpecError(f"'{text}' is no array; a tensor descriptor is {example}")
    if not isinstance(block, list | tuple) or not block or not all(map(_is_power_of_two, block)):
        raise SpecError(
            f"block = {block}: the block of a tensor descriptor is a list of powers of two, as in {example}"
        )
    if len(block) != len(array.shape) or len(block) > _MOST_AXES:
        raise SpecError(
            f"block = {list(block)} has {len(block)} axes, '{text}' has {len(array.shape)}; both have as many, "
            f"1 to {_MOST_AXES}"
        )
    if prod(block) > _MOST_ELEMENTS:
        raise SpecError(f"block = {list(block)} has more than {_MOST_ELEMENTS} elements, which Triton refuses")
    element = ELEMENT_TYPES[array.dtype]
    if block[-1] * element.bits < _LEAST_BYTES * 8:
        raise SpecError(f"block = {list(block)} is {block[-1] * element.bits // 8} bytes wide; Triton takes 16 or more")
    if constant_value(strides_of(array)[-1]) != 1:
        raise SpecError(f"'{text}': the last stride of a tensor descriptor is 1")
    if padding not in ("zero", "nan") or (padding == "nan" and element.kind != "f"):
        raise SpecError(f"padding = \"{padding}\": loads of {array.dtype} pad with "
                        + ("'zero' or 'nan'" if element.kind == "f" else "'zero' alone"))  # fmt: skip
    return replace(array, descriptor=DescriptorBlock(tuple(block), padding == "nan"))


def _is_power_of_two(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and value & (value - 1) == 0


def list_elements(
    name: str, texts: Sequence[str], common: ArrayArgument, length: Expression
) -> Iterator[ArrayArgument]:
    """What every array of the list is like: numbers, as many as there are arrays, each as ``common`` says of all.

    The compiler is told what ``common`` says; raises `SpecError` for an array that is not so.
    """
    if texts and constant_value(length) != len(texts):
        raise SpecError(f"elements describes {len(texts)} arrays, length is {print_expression(length)}")
    for text in texts:
        found = parse_description(name, text)
        if not isinstance(found, ArrayArgument) or found.dtype != common.dtype or len(found.shape) != len(common.shape):
            raise SpecError(f"'{text}' is no {print_array(common)}, as the list says of its arrays")
        found = replace(found, index_bits=common.index_bits)
        strides = strides_of(found)
        if any(constant_value(number) is None for number in (*found.shape, *strides)):
            raise SpecError(f"'{text}': sizes and strides in elements are numbers")
        if common.strides is None and strides != contiguous_strides(found.shape):
            raise SpecError(f"'{text}' has strides, the list says that its arrays are contiguous")
        if not may_overlap_itself(common) and may_overlap_itself(found):
            raise SpecError(f"'{text}': elements share an address, which the list does not say")
        for part, said in _unlike(found, common):
            raise SpecError(f"'{text}': the list says that the {part} is {said}")
        yield found


def _unlike(found: ArrayArgument, common: ArrayArgument) -> Iterator[tuple[str, str]]:
    """Sizes and strides in numbers that are not what the list says; where one index is all, no stride counts."""
    sizes = [(f"size {d}", *both) for d, both in enumerate(zip(common.shape, found.shape, strict=True))]
    layout = zip(strides_of(common), strides_of(found), found.shape, strict=True)
    strides = [(f"stride {d}", said, have) for d, (said, have, size) in enumerate(layout) if constant_value(size) != 1]
    names: dict[str, int] = {}
    for part, said, have in (*sizes, *strides):
        number = constant_value(have)
        assert number is not None
        match said:
            case Name(name):
                fits = names.setdefault(name, number) == number
            case Apply("*", (Number(factor), Name(name)) | (Name(name), Number(factor))) if factor > 0:
                fits = number % factor == 0 and names.setdefault(name, number // factor) == number // factor
            case _:
                known = constant_value(said)
                fits = known is None or known == number
        if not fits:
            yield part, print_expression(said)


def is_text_or_integer(value: object) -> bool:
    """Whether a TOML value can be read as an expression."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
