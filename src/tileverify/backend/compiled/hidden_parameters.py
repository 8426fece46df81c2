"""The bytes of hidden parameters, as the driver has them made at a launch: by code that tileiras puts into the cubin.

The driver calls ``__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_n`` of the object with ``rcx`` at the block of parameters, and
the function writes tensor maps behind the visible ones.  Where threads write tensor maps themselves, it also copies the
address of memory for them, which is at ``rsi + 8``; a driver that gives each block memory of its own has none there.
A wrong tensor map is a fault that the PTX alone never shows, so this code is executed (`x86`).  The cubin says where in
the constant bank the block begins, on which the places of parameters hang that are aligned.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

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
