"""Hidden parameters: tensor maps (what 128 bytes say about a box of an array), and the host code that fills them.

The driver calls ``__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_n`` of the object with ``rcx`` at the block of parameters, and
the function writes tensor maps behind the visible ones.  Where threads write tensor maps themselves, it also copies the
address of memory for them, which is at ``rsi + 8``; a driver that gives each block memory of its own has none there.
A wrong tensor map is a fault that the PTX alone never shows, so this code is executed (`x86`).  The cubin says where in
the constant bank the block begins, on which the places of parameters hang that are aligned.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Generic, TypeVar

import numpy as np

from .machine.storage import Array
from .ptx import Parameter
from .x86 import HostFault, HostMachine

_FUNCTION: Final = re.compile(r"__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_(\d+)")
_NAME: Final = "__CUDA_TILEIR_FUNC_NAME_"
_BLOCK: Final = 0x1000_0000_0000
_CONTEXT: Final = 0x1800_0000_0000
_RCX, _RSI = 1, 6
_CONSTANT_BANK: Final = 0x0A
_VALUE_FOLLOWS: Final = 4
"""Of an attribute in ``.nv.info``: its size stands in 2 bytes, and so many follow."""


class NoHiddenParameters(Exception):
    """The host code cannot be followed."""


@dataclass(frozen=True, slots=True)
class HostSide:
    """``host``: the object with the code, ``cubin``: where the block is described."""

    host: bytes | None
    cubin: bytes

    def filled(
        self, entry: str, parameters: Sequence[Parameter], visible: Mapping[str, bytes], *, block_memory: bool = False
    ) -> Mapping[str, bytes]:  # fmt: skip
        """All parameters, the hidden ones as the host code makes them.  ``block_memory``: each block has memory of its
        own, so that the driver gives none.  Raises `NoHiddenParameters`."""
        try:
            return self._filled(entry, parameters, visible, block_memory)
        except (BrokenObject, HostFault) as error:
            raise NoHiddenParameters(str(error)) from None

    def _filled(
        self, entry: str, parameters: Sequence[Parameter], visible: Mapping[str, bytes], block_memory: bool
    ) -> Mapping[str, bytes]:  # fmt: skip
        call = self.call_of(entry, parameters, block_memory=block_memory)
        memory = call.memory()
        block = memory[_BLOCK]
        for parameter in parameters:
            if not parameter.hidden:
                place = call.places[parameter.name]
                block[place : place + parameter.size] = visible[parameter.name]
        before = bytes(block)
        if call.made_by(HostMachine(call.code, memory)):
            raise NoHiddenParameters("the host code refuses the launch")
        places = call.places
        found = {each.name: bytes(block[places[each.name] : places[each.name] + each.size]) for each in parameters}
        if any(found[each.name] != visible[each.name] for each in parameters if not each.hidden):
            raise NoHiddenParameters(f"the host code changes arguments: {before.hex()} to {block.hex()}")
        return found

    def call_of(self, entry: str, parameters: Sequence[Parameter], *, block_memory: bool = False) -> HostCall:
        """What the driver calls for ``entry``.

        :raises BrokenObject: the object or the cubin is none.
        :raises NoHiddenParameters: there is no host code, or the block is another one than the PTX says.
        """
        if self.host is None:
            raise NoHiddenParameters("the host code that fills hidden parameters was not seen")
        start, size = constant_bank(ElfObject(self.cubin), entry)
        places = layout(parameters, start)
        if not parameters or places[parameters[-1].name] + parameters[-1].size != size:
            raise NoHiddenParameters("the cubin's parameters lie elsewhere than the PTX says")
        code = ElfObject(self.host)
        function = _function(code, entry)
        return HostCall(code.sections[function.section].data, function.value, places, size, block_memory)


@dataclass(frozen=True, slots=True)
class HostCall:
    """The function at ``address`` of ``code``, and the block of ``size`` bytes in which parameters have ``places``.
    ``block_memory``: each block has memory of its own, so that the driver gives none."""

    code: bytes
    address: int
    places: Mapping[str, int]
    size: int
    block_memory: bool

    def memory(self) -> dict[int, bytearray]:
        """A block of zeros at its address, and where the driver tells memory for tensor maps."""
        given = {_CONTEXT + 8: bytearray(8)} if self.block_memory else {}
        return {_BLOCK: bytearray(self.size), **given}

    def place(self, parameter: Parameter) -> int:
        """The address of a parameter."""
        return _BLOCK + self.places[parameter.name]

    def made_by(self, machine: HostMachine) -> int:
        """What the function returns: 0 where it fills the block."""
        return machine.call(self.address, {_RCX: _BLOCK, **({_RSI: _CONTEXT} if self.block_memory else {})})


def layout(parameters: Sequence[Parameter], start: int) -> Mapping[str, int]:
    """The offset of each parameter in the block, which begins at ``start`` of the constant bank."""
    places, at = {}, start
    for parameter in parameters:
        at = -(-at // parameter.align) * parameter.align
        places[parameter.name] = at - start
        at += parameter.size
    return places


def constant_bank(cubin: ElfObject, entry: str) -> tuple[int, int]:
    """Where the block of parameters begins in the constant bank, and its size: attribute ``PARAM_CBANK``."""
    data, at = cubin.section(f".nv.info.{entry}"), 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _VALUE_FOLLOWS:
            if attribute == _CONSTANT_BANK and size >= 8:
                start, length = struct.unpack_from("<HH", data, at + 4)
                return start, length
            at += size
    raise BrokenObject("the cubin does not say where its parameters lie")


def _function(code: ElfObject, entry: str) -> ElfSymbol:
    """The function of the entry: its number is that of the symbol that holds the entry's name."""
    for symbol in code.symbols:
        found = _FUNCTION.fullmatch(symbol.name)
        if found is None:
            continue
        name = next((each for each in code.symbols if each.name == _NAME + found[1]), None)
        if name is not None and code.bytes_of(name).rstrip(b"\0").decode() == entry:
            return symbol
    raise BrokenObject("the host code has no function for the kernel")


# ---------------------------------------------------------------------------------------------------------- object file
# ELF files of 64 bits, as far as host code and cubins need it: sections and symbols.


_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_NO_BITS, _SYMBOLS = 8, 2


class BrokenObject(Exception):
    """Bytes that are no ELF file of 64 bits, or one that lacks something."""


@dataclass(frozen=True, slots=True)
class ElfSection:
    name: str
    kind: int
    data: bytes
    link: int


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """``section``: its number; ``value``: the offset in it."""

    name: str
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class ElfObject:
    image: bytes

    @cached_property
    def sections(self) -> tuple[ElfSection, ...]:
        """Raises `BrokenObject`."""
        try:
            return self._sections()
        except (struct.error, IndexError, ValueError):
            raise BrokenObject("an ELF file is broken") from None

    def _sections(self) -> tuple[ElfSection, ...]:
        header = _HEADER.unpack_from(self.image)
        if header[0][:6] != b"\x7fELF\x02\x01":
            raise BrokenObject("the bytes are no ELF file of 64 bits")
        start, size, count, names = header[6], header[11], header[12], header[13]
        rows = [_SECTION.unpack_from(self.image, start + size * number) for number in range(count)]
        texts = self.image[rows[names][4] : rows[names][4] + rows[names][5]]
        return tuple(
            ElfSection(
                _text(texts, name), kind, b"" if kind == _NO_BITS else self.image[offset : offset + length], link
            )
            for name, kind, _, _, offset, length, link, *_ in rows
        )

    def section(self, name: str) -> bytes:
        """Raises `BrokenObject` where there is none."""
        found = next((each for each in self.sections if each.name == name), None)
        if found is None:
            raise BrokenObject(f"an ELF file has no section {name}")
        return found.data

    @cached_property
    def symbols(self) -> tuple[ElfSymbol, ...]:
        return tuple(self._symbols())

    def _symbols(self) -> Iterator[ElfSymbol]:
        for table in self.sections:
            if table.kind == _SYMBOLS:
                names = self.sections[table.link].data
                whole = len(table.data) // _SYMBOL.size * _SYMBOL.size
                for name, _, _, section, value, size in _SYMBOL.iter_unpack(table.data[:whole]):
                    yield ElfSymbol(_text(names, name), section, value, size)

    def bytes_of(self, symbol: ElfSymbol) -> bytes:
        if symbol.section >= len(self.sections):
            raise BrokenObject(f"the symbol {symbol.name} lies in no section")
        return self.sections[symbol.section].data[symbol.value : symbol.value + symbol.size]


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(0, offset)].decode()


# ---------------------------------------------------------------------------------------------------------- tensor maps
# Tensor maps: what 128 bytes say about a box of an array, and where its elements lie.
#
# The layout is not published.  It follows from the host code that tileiras makes (`host`), by what each argument of a
# launch changes, in 42 kernels of ranks 1 to 5; its numbers for types and swizzles are those of PTX's
# ``tensormap.replace``.  In words of 64 bits, the first dimension being the contiguous one:
#
# 0   address, bits 0 to 56 1   0 to 3: 2    4 to 6: rank - 1    7 to 10: element type    13, 14: swizzle    18: 1
# 21: whether the array has 128 KiB or more (a hint)    32 to 63: stride of dimension 1 / 16 2   strides of dimensions 2
# and 3 / 16, 32 bits each 3   0 to 31: stride of dimension 4 / 16 4   sizes of dimensions 0 and 1, less 1, 32 bits each
# 5   the same of dimensions 2 and 3 6   0 to 31: size of dimension 4, less 1    56 to 63: box of dimension 0, less 1 7
# 0 to 31: box of dimensions 1 to 4, less 1, 8 bits each
#
# All other bits are zero in what tileiras makes: no interleaving, steps of one element, zeros for what lies outside.
# Bits that are not known are refused.  A box that is read wrongly shows itself, as the bytes that its barrier awaits
# are in the PTX.


_ELEMENTS: Final = (
    ("u8", 1), ("u16", 2), ("u32", 4), ("s32", 4), ("u64", 8), ("s64", 8), ("f16", 2), ("f32", 4), ("f32.ftz", 4),
    ("f64", 8), ("bf16", 2), ("tf32", 4), ("tf32.ftz", 4),
)  # fmt: skip
"""By the number of the type, with its bytes."""
_SWIZZLES: Final = {0: 0, 1: 32, 2: 64, 3: 128}
CHUNK: Final = 16
"""Bytes that a swizzle leaves together."""


class UnknownTensorMap(Exception):
    """128 bytes that say something else than what is known."""


@dataclass(frozen=True, slots=True)
class MapField:
    """Bits of a word of a map."""

    word: int
    low: int
    width: int


_BASE: Final = MapField(0, 0, 57)
_RANK, _TYPE, _SWIZZLE = MapField(1, 4, 3), MapField(1, 7, 4), MapField(1, 13, 2)
_STRIDES: Final = (MapField(1, 32, 32), MapField(2, 0, 32), MapField(2, 32, 32), MapField(3, 0, 32))
_SIZES: Final = (
    MapField(4, 0, 32), MapField(4, 32, 32), MapField(5, 0, 32), MapField(5, 32, 32), MapField(6, 0, 32),
)  # fmt: skip
_BOX: Final = (MapField(6, 56, 8), *(MapField(7, 8 * axis, 8) for axis in range(4)))
_HINT: Final = MapField(1, 21, 1)
_FIXED: Final = {MapField(1, 0, 4): 2, MapField(1, 18, 1): 1}
_WORDS: Final = 16
MAP_BYTES: Final = 8 * _WORDS


def _left_over() -> tuple[MapField, ...]:
    """The bits that no field has."""
    used = {_BASE, _RANK, _TYPE, _SWIZZLE, *_STRIDES, *_SIZES, *_BOX, _HINT, *_FIXED}
    found = []
    for word in range(_WORDS):
        at = 0
        for each in (*sorted((each for each in used if each.word == word), key=lambda each: each.low),
                     MapField(word, 64, 0)):  # fmt: skip
            if each.low > at:
                found.append(MapField(word, at, each.low - at))
            at = each.low + each.width
    return tuple(found)


_ZERO: Final = _left_over()
Number = TypeVar("Number")


@dataclass(frozen=True, slots=True)
class TensorMap(Generic[Number]):
    """``strides`` in bytes, the first one of an element; ``swizzle``: the bytes of a row of its pattern, or 0.
    ``element``: its bytes, ``kind``: its type."""

    base: Number
    element: int
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    box: tuple[int, ...]
    swizzle: int
    kind: str

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def box_bytes(self) -> int:
        return int(np.prod(self.box)) * self.element

    def swizzled(self, addresses: Array) -> Array:
        """Where what would lie at these addresses of shared memory lies: chunks change places within a row, by the
        number of the row of 128 bytes."""
        if not self.swizzle:
            return addresses
        mask = addresses.dtype.type(self.swizzle // CHUNK - 1)
        row, shift = addresses.dtype.type(7), addresses.dtype.type(4)
        return np.asarray(addresses ^ (((addresses >> row) & mask) << shift))


def box_places(map_: TensorMap[int], corner: tuple[int, ...], *, loads: bool) -> tuple[int, Array, Array, Array]:
    """Of the box at ``corner``, in parts of so many bytes: the offset of each in shared memory as it were without a
    swizzle, its address in global memory, and whether it is copied: it lies in the array, or is stored with an end of
    a row in one chunk, as an H200 does (arrays of 1 to 17 elements of 2 and 4 bytes, one dimension)."""
    whole = [each * map_.element % CHUNK == 0 for each in (corner[0], map_.sizes[0], map_.box[0])]
    part = CHUNK if all(whole) else map_.element
    each = part // map_.element
    first = corner[0] + np.arange(0, map_.box[0], each)
    end = map_.sizes[0] if loads else -(-map_.sizes[0] * map_.element // CHUNK) * CHUNK // map_.element
    inside = (first >= 0) & (first < end)
    address = map_.base + first * map_.element
    for axis in range(1, map_.rank):
        index = (corner[axis] + np.arange(map_.box[axis]))[:, None]
        inside = (inside & (index >= 0) & (index < map_.sizes[axis])).ravel()
        address = (address + index * map_.strides[axis]).ravel()
    return part, np.arange(len(address)) * part, address.astype("i8").view("u8"), inside


@lru_cache(maxsize=256)
def decoded(data: bytes) -> TensorMap[int]:
    """Raises `UnknownTensorMap`."""
    words = [int(each) for each in np.frombuffer(data, "<u8")]
    if len(words) != _WORDS:
        raise UnknownTensorMap("a tensor map has another size than 128 bytes")

    def number(field: MapField) -> int:
        return words[field.word] >> field.low & ((1 << field.width) - 1)

    return decoded_fields(number, number, lambda each: each, lambda a, factor, more: a * factor + more)


def decoded_fields(
    number: Callable[[MapField], int], read: Callable[[MapField], Number], constant: Callable[[int], Number],
    linear: Callable[[Number, int, int], Number],
) -> TensorMap[Number]:  # fmt: skip
    """``number`` reads fields that decide about the form, ``read`` the others; ``linear``: a * factor + more.

    :raises UnknownTensorMap: bits are set that nobody knows, or the form is not known.
    """
    if any(number(field) for field in _ZERO):
        raise UnknownTensorMap("a tensor map has bits that are not known")
    type_, rank = number(_TYPE), number(_RANK) + 1
    if any(number(field) != value for field, value in _FIXED.items()) or type_ >= len(_ELEMENTS) or rank > len(_SIZES):
        raise UnknownTensorMap("a tensor map has a form that is not known")
    kind, element = _ELEMENTS[type_]
    strides = (constant(element), *(linear(read(field), CHUNK, 0) for field in _STRIDES))
    sizes = tuple(linear(read(field), 1, 1) for field in _SIZES[:rank])
    box = tuple(number(field) + 1 for field in _BOX[:rank])
    swizzle = _SWIZZLES[number(_SWIZZLE)]
    if (swizzle and box[0] * element != swizzle) or box[0] * element % CHUNK:
        raise UnknownTensorMap("a tensor map's box has rows of other bytes than its swizzle")
    return TensorMap(read(_BASE), element, sizes, strides[:rank], box, swizzle, kind)
