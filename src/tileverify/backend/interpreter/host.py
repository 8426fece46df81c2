"""Ops that speak to the host: `print_tko` with its C format strings, and `assert`.

A print is formatted when it is met and kept in the block's log.  A device writes the prints of different blocks in any
order, and those of one block in the order of their tokens.

An assertion that fails is kept as well, and the block runs on: a device may do so too, it only reports the lanes and an
error to the host at the end, so nothing behind an assertion may be taken for granted.  A condition that the
specification leaves open counts as failed, marked as such.  Where the launch trusts that it stops its block, it does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op, PointerType, ScalarType
from .access_log import FailedAssertion, Printed
from .memory import Provenance
from .tiles import tile_type
from .values import OVERFLOWED, UNKNOWN_ORIGIN, UNSPECIFIED, BlockEnded, Tile, Token, as_signed

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

LANE_COST: Final = 256
"""Steps that formatting one lane costs."""


def _print(run: BlockInterpreter, op: Op) -> tuple[Token, ...]:
    tiles = run.tiles(op, "args")
    run.budget.spend(LANE_COST * sum(tile.data.size for tile in tiles))
    parts = parsed(op.attributes["str"])
    conversions = [part for part in parts if not isinstance(part, str)]
    operands = op.group("args")
    if len(conversions) != len(operands):
        text = UNDEFINED_TEXT
    else:
        elements = (tile_type(value).element for value in operands)
        pieces = iter(
            tile_text(conversion, tile, element, lambda origin, address: _place(run, origin, address))
            for conversion, tile, element in zip(conversions, tiles, elements, strict=True)
        )
        text = "".join(part if isinstance(part, str) else next(pieces) for part in parts)
    run.log.printed.append(Printed(op, text, run.log.tick()))
    return (Token(run.waits(op)),) if op.results else ()


def _place(run: BlockInterpreter, number: int, address: int) -> str:
    if number == UNKNOWN_ORIGIN:
        return "<unknown address>"
    origin: Provenance = run.memory.image.origins[number]
    return f"&{origin.element(address)}"


def _assert(run: BlockInterpreter, op: Op) -> tuple[()]:
    """Only the first failure of an op is kept for each block."""
    condition = run.tile(op, "c")
    if run.program.entry.asserts_stop and run.conduct.proves:
        run.decides(op, np.asarray(0 if condition.taint is None else condition.taint), "condition")
    shape = condition.data.shape
    open_ = np.zeros(shape, np.bool_)
    if condition.taint is not None:
        open_ = np.broadcast_to((condition.taint & (UNSPECIFIED | OVERFLOWED)) != 0, shape)
    wrong = ~condition.data | open_
    if wrong.any() and not any(failure.op is op for failure in run.log.assertions):
        surely = wrong & ~open_
        lanes = surely if surely.any() else wrong
        position = tuple(int(place) for place in np.argwhere(lanes)[0])
        failure = FailedAssertion(
            op, op.attributes["msg"], position, int(np.count_nonzero(lanes)), not surely.any(), run.log.tick()
        )
        run.log.assertions.append(failure)
    if run.program.entry.asserts_stop and wrong.any():
        raise BlockEnded
    return ()


RULES: Final[dict[str, Rule]] = {"print_tko": _print, "assert": _assert}


# --------------------------------------------------------------------------------------------------------------- printf
# What a C format string makes of tiles, as `print_tko` writes it.
#
# The specification (op print_tko) demands one conversion for each operand and leaves the output undefined where a
# conversion does not fit its operand.  The rest is what an H100 prints (tileiras 13.4.92): a 0-d tile is one number,
# any other a nested list in row-major order, each lane converted by itself; integers up to 32 bits are sign-extended to
# 32 bits also for ``%u`` and ``%x`` (an i1 is 0 or 1), ``h`` cuts them to 16, 64-bit ones need ``l`` or ``ll``; floats
# of every format are printed as their exact value.
#
# Three things are told as what they are, never as a number: ``<unspecified>`` lanes, ``<undefined>`` conversions, and
# pointers, which are named by what they point to.  A NaN has no sign here: no rule fixes the one that a device gives
# it.


UNSPECIFIED_TEXT: Final = "<unspecified>"
UNDEFINED_TEXT: Final = "<undefined>"

_CONVERSION: Final = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>[0-9]*)(?:\.(?P<precision>[0-9]*))?(?P<length>hh|h|ll|l|)(?P<letter>[a-zA-Z])"
)
_UNKNOWN: Final = re.compile(r"%[^%a-zA-Z]*[a-zA-Z]?")
_SIGNED_LETTERS: Final = frozenset("di")
_INTEGER_LETTERS: Final = frozenset("diuoxX")
_FLOAT_LETTERS: Final = frozenset("eEfFgGaA")
_HEX_DIGITS: Final = 13
"""Hexadecimal digits behind the point of an f64."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """One ``%[flags][width][.precision][length]letter``; letter "" stands for one that C does not know."""

    flags: str
    width: int
    precision: int | None
    length: str
    letter: str

    @property
    def upper(self) -> bool:
        return self.letter.isupper()

    def padded(self, sign: str, digits: str, *, zeros: bool) -> str:
        """``sign`` (or prefix) and ``digits`` in the field; ``zeros`` if the flag 0 may fill it."""
        missing = self.width - len(sign) - len(digits)
        if missing <= 0 or "-" in self.flags:
            return sign + digits + " " * missing
        return sign + "0" * missing + digits if zeros and "0" in self.flags else " " * missing + sign + digits

    def plus(self, negative: bool) -> str:
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""


@cache
def parsed(text: str) -> tuple[str | Conversion, ...]:
    """Literal text and conversions in their order."""
    return tuple(_parts(text))


def _parts(text: str) -> Iterator[str | Conversion]:
    place = 0
    while (start := text.find("%", place)) >= 0:
        if start > place:
            yield text[place:start]
        if text[start : start + 2] == "%%":
            yield "%"
            place = start + 2
            continue
        found = _CONVERSION.match(text, start)
        if found is None:
            found = _UNKNOWN.match(text, start)
            assert found is not None
            yield Conversion("", 0, None, "", "")
        else:
            flags, width, precision, length, letter = found.groups()
            number = None if precision is None else int(precision or 0)
            yield Conversion(flags, int(width or 0), number, length, letter)
        place = found.end()
    if place < len(text):
        yield text[place:]


# ----------------------------------------------------------------------------------------------- numbers
def _integer_text(conversion: Conversion, value: int, bits: int) -> str:
    """``value`` in its signed reading; letters without a sign read it modulo 2^bits."""
    letter = conversion.letter
    number = value if letter in _SIGNED_LETTERS else value & ((1 << bits) - 1)
    digits = format(abs(number), {"o": "o", "x": "x", "X": "X"}.get(letter, "d"))
    if conversion.precision is not None:
        digits = digits.zfill(conversion.precision) if number or conversion.precision else ""
    sign = conversion.plus(number < 0) if letter in _SIGNED_LETTERS else ""
    if "#" in conversion.flags:
        if letter in "xX" and number:
            sign = f"0{letter}"
        elif letter == "o" and not digits.startswith("0"):
            digits = f"0{digits}"
    return conversion.padded(sign, digits, zeros=conversion.precision is None)


def _float_text(conversion: Conversion, value: float) -> str:
    if math.isnan(value):
        sign, body = conversion.plus(False), "nan"
    else:
        sign = conversion.plus(math.copysign(1, value) < 0)
        body = "inf" if math.isinf(value) else _float_body(conversion, abs(value))
    digits = body.upper() if conversion.upper else body
    return conversion.padded(sign, digits, zeros=math.isfinite(value))


def _float_body(conversion: Conversion, value: float) -> str:
    letter = conversion.letter.lower()
    if letter == "a":
        return _hexadecimal(conversion, value)
    precision = 6 if conversion.precision is None else conversion.precision
    return format(value, f"{'#' if '#' in conversion.flags else ''}.{precision}{letter}")


def _hexadecimal(conversion: Conversion, value: float) -> str:
    """``0x1.8p+0``, rounded half to even; the leading digit may become 2, as the C library has it."""
    mantissa, exponent = float.hex(value)[2:].split("p")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole + fraction.ljust(_HEX_DIGITS, "0"), 16)
    places = len(fraction.rstrip("0")) if conversion.precision is None else conversion.precision
    dropped = 4 * max(_HEX_DIGITS - places, 0)
    kept, rest = digits >> dropped, digits & ((1 << dropped) - 1)
    half = 1 << dropped >> 1
    kept += dropped > 0 and (rest > half or (rest == half and kept & 1))
    text = f"{kept:x}".rjust(1 + min(places, _HEX_DIGITS), "0")
    behind = text[1:].ljust(places, "0")
    point = "." if behind or "#" in conversion.flags else ""
    return f"0x{text[0]}{point}{behind}p{int(exponent):+d}"


# ------------------------------------------------------------------------------------------------ operands
def _converter(conversion: Conversion, element: ScalarType | PointerType) -> Callable[[int | float], str] | None:
    """How a lane becomes text; ``None`` where the conversion does not fit the element type."""
    if isinstance(element, PointerType):
        return None
    letter, length = conversion.letter, conversion.length
    if element.is_float:
        fits = letter in _FLOAT_LETTERS and length in ("", "h", "l")
        return (lambda value: _float_text(conversion, float(value))) if fits else None
    wide = element.bits == 64
    if letter == "p" and wide and not length:
        pointer = Conversion(conversion.flags + "#", conversion.width, None, "", "x")
        return lambda value: _integer_text(pointer, int(value), 64)
    if letter == "c" and not wide and length in ("", "l"):
        return lambda value: conversion.padded("", chr(int(value) & 0xFF), zeros=False)
    if letter not in _INTEGER_LETTERS or length not in (("l", "ll") if wide else ("", "h")):
        return None
    if length == "h":
        return lambda value: _integer_text(conversion, ((int(value) + (1 << 15)) & 0xFFFF) - (1 << 15), 16)
    return lambda value: _integer_text(conversion, int(value), 64 if wide else 32)


def _nested(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    parts = (_nested(texts[k : k + step], shape[1:]) for k in range(0, len(texts), step))
    return f"[{', '.join(parts)}]"


def tile_text(
    conversion: Conversion, tile: Tile, element: ScalarType | PointerType, named: Callable[[int, int], str]
) -> str:
    """A tile by one conversion.  ``named`` tells what (origin, address) a pointer points to."""
    convert = _converter(conversion, element)
    shape = tile.data.shape
    if isinstance(element, PointerType):
        if conversion.letter != "p" and conversion.length not in ("l", "ll"):
            return UNDEFINED_TEXT
        assert tile.origin is not None
        origins = [tile.origin.item()] * tile.data.size if tile.origin.ndim == 0 else tile.origin.reshape(-1).tolist()
        texts = [named(origin, at) for origin, at in zip(origins, tile.data.reshape(-1).tolist(), strict=True)]
    elif convert is None:
        return UNDEFINED_TEXT
    else:
        data = tile.data
        if element.is_integer and element.bits > 1:
            data = as_signed(data, element.bits)
        texts = [convert(value) for value in data.reshape(-1).tolist()]
    if tile.taint is not None:
        open_ = (tile.taint & (UNSPECIFIED | OVERFLOWED)) != 0
        lanes = [bool(open_)] * len(texts) if open_.ndim == 0 else open_.reshape(-1).tolist()
        texts = [UNSPECIFIED_TEXT if lane else text for lane, text in zip(lanes, texts, strict=True)]
    return _nested(texts, shape)
