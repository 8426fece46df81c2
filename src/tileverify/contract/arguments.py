"""One entry of a spec's ``args``: from the TOML value to an argument.

A string describes an array or a scalar, a number is a constant (or a run-time scalar where the kernel declares
no ``ct.Constant``), a list or a table is a tuple, ``{ list = ..., length = ... }`` a list of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..system.errors import SpecError
from .contiguous import contiguous_strides, strides_of
from .descriptions import check_extent, parse_description, print_array, suggestion
from .element_types import ELEMENT_TYPES
from .expression_parser import parse_size
from .expressions import constant_value, print_expression
from .launch import (
    Apply,
    Argument,
    ArrayArgument,
    ConstantArgument,
    Expression,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
)
from .parameters import KernelParameter
from .strides import may_overlap_itself

_LIST_KEYS: Final = ("list", "length", "elements")


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
        case dict() if "list" in value:
            return _list(name, value, parameter)
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
    text, length = value["list"], value.get("length")
    if not isinstance(text, str):
        raise SpecError('a list is described as { list = "f32[M, N]", length = "L" }')
    element = parse_description(name, text)
    if not isinstance(element, ArrayArgument):
        raise SpecError(f"'{text}': the elements of a list are arrays")
    if not is_text_or_integer(length):
        raise SpecError('the length of a list is missing, as in { list = "f32[M, N]", length = "L" }')
    extent = parse_size(str(length))
    check_extent(extent, "length", 32)
    described = _with_annotation(element, parameter)
    assert isinstance(described, ArrayArgument)
    each = value.get("elements", [])
    if not isinstance(each, list) or not all(isinstance(text, str) for text in each):
        raise SpecError('the elements of a list are texts, as in elements = ["f32[64, 32]", "f32[128, 32]"]')
    return ListArgument(name, described, extent, tuple(list_elements(name, each, described, extent)))


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
