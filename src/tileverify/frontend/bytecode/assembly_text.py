"""Types, attribute values, floats and SSA names as Tile IR assembly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from .model import (
    Block,
    Bounded,
    Constant,
    DivBy,
    Entry,
    FloatAttribute,
    FunctionType,
    GatherScatterViewType,
    IntegerAttribute,
    Op,
    PartitionViewType,
    PointerType,
    SameElements,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
)

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


# ------------------------------------------------------------------------------------------------------------ floattext
# Floats as Tile IR assembly writes them: six digits in exponent form if they read back, else all digits, else hex.
#
# This is how LLVM prints floats (APFloat::toString and MLIR's choice between its forms).


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """``mantissa`` stored bits, exponent ``bias``; ``specials`` says which patterns are not finite numbers.

    ``ieee``: the largest exponent holds infinities and NaNs; ``nan``: only all ones is NaN; ``none``: all are finite.
    ``signed`` is False for the exponent-only scale format, which has neither sign nor zero.
    """

    bits: int
    mantissa: int
    bias: int
    specials: str = "ieee"
    signed: bool = True


FORMATS: Final[dict[str, FloatFormat]] = {
    "f16": FloatFormat(16, 10, 15),
    "bf16": FloatFormat(16, 7, 127),
    "f32": FloatFormat(32, 23, 127),
    "tf32": FloatFormat(19, 10, 127),
    "f64": FloatFormat(64, 52, 1023),
    "f8E4M3FN": FloatFormat(8, 3, 7, "nan"),
    "f8E5M2": FloatFormat(8, 2, 15),
    "f8E8M0FNU": FloatFormat(8, 0, 127, "nan", signed=False),
    "f4E2M1FN": FloatFormat(4, 1, 1, "none"),
}


def is_nan(bits: int, format: FloatFormat) -> bool:
    exponent, fraction = _split(bits, format)
    if format.specials == "none":
        return False
    if format.specials == "nan":
        return exponent == _top(format) and fraction == (1 << format.mantissa) - 1
    return exponent == _top(format) and fraction != 0


def is_finite(bits: int, format: FloatFormat) -> bool:
    if format.specials == "ieee":
        return _split(bits, format)[0] != _top(format)
    return not is_nan(bits, format)


def is_negative(bits: int, format: FloatFormat) -> bool:
    return format.signed and bits >> (format.bits - 1) == 1


def magnitude(bits: int, format: FloatFormat) -> Fraction:
    """The absolute value of a finite number."""
    return _value(*_split(bits, format), format)


def float_text(bits: int, format: FloatFormat) -> str:
    """The assembly text of the number with pattern ``bits``."""
    if is_finite(bits, format):
        value = magnitude(bits, format)
        sign = "-" if is_negative(bits, format) else ""
        if value == 0:
            return f"{sign}0.000000e+00"
        digits, exponent = _digits(value, 6)
        if _reads_back(digits * Fraction(10) ** exponent, bits, format):
            text = str(digits)
            exponent += len(text) - 1
            return f"{sign}{text[0]}.{text[1:]:0<6}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
        text = _all_digits(value, format)
        if "." in text:
            return sign + text
    return f"0x{bits:X}"


def _all_digits(value: Fraction, format: FloatFormat) -> str:
    """Every digit that the format can hold; plain notation when at most three zeros are needed for it."""
    limit = 2 + (format.mantissa + 1) * 59 // 196
    digits, exponent = _digits(value, limit)
    text = str(digits)
    leading = exponent + len(text) - 1
    scientific = exponent > 3 or len(text) + exponent > limit if exponent >= 0 else leading < -3
    if scientific:
        return f"{text[0]}.{text[1:] or '0'}E{'-' if leading < 0 else '+'}{abs(leading)}"
    if exponent >= 0:
        return text + "0" * exponent
    if leading >= 0:
        return f"{text[: leading + 1]}.{text[leading + 1 :]}"
    return f"0.{'0' * (-leading - 1)}{text}"


def _digits(value: Fraction, count: int) -> tuple[int, int]:
    """At most ``count`` significant decimal digits and their exponent, without trailing zeros.

    LLVM first cuts the exact digits to a few more bits than needed, then rounds half up: where the cut leaves no
    further digit, the result is truncated.
    """
    twos = value.denominator.bit_length() - 1
    exact, exponent = value.numerator * 5**twos, -twos
    removable = max(0, exact.bit_length() - (count * 196 + 58) // 59) * 59 // 196
    digits = exact // 10**removable
    exponent += removable
    excess = len(str(digits)) - count
    if excess > 0:
        digits = (digits // 10 ** (excess - 1) + 5) // 10
        exponent += excess
    while digits % 10 == 0:
        digits //= 10
        exponent += 1
    return digits, exponent


def _reads_back(value: Fraction, bits: int, format: FloatFormat) -> bool:
    """Whether the nearest number to ``value``, ties to even, has the (finite, non-zero) pattern ``bits``."""
    exponent, fraction = _split(bits, format)
    here = _value(exponent, fraction, format)
    below = _neighbour(exponent, fraction, -1, format)
    above = _neighbour(exponent, fraction, 1, format)
    even = fraction % 2 == 0
    low, high = (here + below) / 2, (here + above) / 2
    return low < value < high or (even and value in (low, high))


def _neighbour(exponent: int, fraction: int, step: int, format: FloatFormat) -> Fraction:
    """The next number up or down, as if there were no largest exponent."""
    joined = (exponent << format.mantissa) + fraction + step
    if joined < 0:
        return _value(exponent, fraction, format) / 2
    return _value(joined >> format.mantissa, joined & ((1 << format.mantissa) - 1), format)


def _split(bits: int, format: FloatFormat) -> tuple[int, int]:
    if format.signed:
        bits &= (1 << (format.bits - 1)) - 1
    return bits >> format.mantissa, bits & ((1 << format.mantissa) - 1)


def _top(format: FloatFormat) -> int:
    return (1 << (format.bits - format.mantissa - format.signed)) - 1


def _value(exponent: int, fraction: int, format: FloatFormat) -> Fraction:
    if not format.signed:
        return Fraction(2) ** (exponent - format.bias)
    whole = fraction if exponent == 0 else fraction + (1 << format.mantissa)
    return whole * Fraction(2) ** (max(exponent, 1) - format.bias - format.mantissa)


# --------------------------------------------------------------------------------------------------------------- naming
# SSA names of Tile IR assembly: hints given by each op, made unique the way MLIR does it.
#
# Values of a region are numbered before those of the regions inside it; a name that is taken gets a number appended,
# drawn from a counter that is handed down to inner regions.


_NAMED_INTEGER_LIMIT: Final = 1 << 64


class Names:
    """The names of every value of one entry; ``left`` is what stands before the equals sign of an op."""

    def __init__(self, entry: Entry) -> None:
        self._of: dict[Value, str] = {}
        self._hints: dict[Value, str] = {}
        self._left: dict[Op, str] = {}
        self._number = self._argument = self._conflict = 0
        self._used: list[set[str]] = [set()]
        self._name_arguments(entry.parameters, None)
        self._name_block(entry.body)

    def __getitem__(self, value: Value) -> str:
        return self._of[value]

    def left(self, op: Op) -> str:
        return self._left.get(op, "")

    def _name_block(self, block: Block) -> None:
        for op in block.ops:
            self._name_results(op)
        saved = self._number, self._argument, self._conflict
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    self._number, self._argument, self._conflict = saved
                    self._used.append(set())
                    self._name_arguments(inner.arguments, op)
                    self._name_block(inner)
                    self._used.pop()

    def _name_arguments(self, arguments: tuple[Value, ...], op: Op | None) -> None:
        for position, argument in enumerate(arguments):
            if op is not None and op.name == "for":
                name = "loopIdx" if position == 0 else f"iterArg{position - 1}"
            elif op is not None and op.name == "reduce":
                name = f"reduce_{('lhs', 'rhs')[position % 2]}{position // 2 if len(arguments) > 2 else ''}"
            else:
                name = f"arg{self._argument}"
                self._argument += 1
            self._of[argument] = self._unique(name)

    def _name_results(self, op: Op) -> None:
        if not op.results:
            if op.name == "print_tko":
                self._left[op] = f"%{self._next_number()}"
            return
        hints = self._hints_for(op)
        if len(hints) == len(op.results):
            for value, hint in zip(op.results, hints, strict=True):
                self._hints[value] = hint
                self._of[value] = self._unique(hint)
            self._left[op] = ", ".join(self._of[value] for value in op.results)
            return
        group = self._unique(hints[0]) if hints else f"%{self._next_number()}"
        for position, value in enumerate(op.results):
            self._of[value] = group if len(op.results) == 1 else f"{group}#{position}"
            if hints:
                self._hints[value] = hints[0]
        self._left[op] = group if len(op.results) == 1 else f"{group}:{len(op.results)}"

    def _hints_for(self, op: Op) -> tuple[str, ...]:
        if op.name == "constant":
            return (constant_name(op.attributes["value"]),)
        if op.name == "assume":
            hint = self._hints.get(op.value("s"))
            return (f"assume_{hint}" if hint else "assume",)
        return op.declaration.result_names

    def _next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def _unique(self, name: str) -> str:
        candidate = name
        while any(candidate in used for used in self._used):
            candidate = f"{name}_{self._conflict}"
            self._conflict += 1
        self._used[-1].add(candidate)
        return f"%{candidate}"


def constant_name(constant: Constant) -> str:
    """``true``, ``cst_7_i32``, ``cst_NaN_f32``, or ``cst_f32`` where the value is no plain number."""
    element = constant.scalar
    if not uniform(constant):
        return f"cst_{element.name}"
    value = constant.element(0)
    if element.name == "i1":
        return "true" if value else "false"
    if element.is_integer:
        return f"cst_{value}_{element.name}"
    return f"cst_{_float_name(value, element)}{element.name}"


def _float_name(bits: int, element: ScalarType) -> str:
    format = FORMATS[element.name]
    if is_nan(bits, format):
        return "NaN_"
    if not is_finite(bits, format) or is_negative(bits, format):
        return ""
    value = magnitude(bits, format)
    return f"{value}_" if value.denominator == 1 and value < _NAMED_INTEGER_LIMIT else ""


def uniform(constant: Constant) -> bool:
    """Whether all elements are bitwise equal, however they are stored."""
    if constant.is_splat:
        return True
    first = constant.element(0)
    return all(constant.element(index) == first for index in range(1, constant.count))
