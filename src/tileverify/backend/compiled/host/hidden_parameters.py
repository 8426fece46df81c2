"""The bytes of hidden parameters, as the driver has them made at a launch: by code that tileiras puts into the cubin.

The driver calls ``__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_n`` of the object with ``rcx`` at the block of parameters and
``rsi`` at a context of its own, and the function writes tensor maps behind the visible ones, or a pointer of the
context.  A wrong tensor map is a fault that the PTX alone never shows, so this code is executed (`x86`).  The cubin
says where in the constant bank the block begins, on which the places of parameters hang that are aligned.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..ptx.model import Parameter
from .object_file import BrokenObject, ElfObject, ElfSymbol
from .x86 import HostFault, HostMachine

_FUNCTION: Final = re.compile(r"__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_(\d+)")
_NAME: Final = "__CUDA_TILEIR_FUNC_NAME_"
_BLOCK: Final = 0x1000_0000_0000
_RCX: Final = 1
_RSI: Final = 6
_CONTEXT: Final = 0x1100_0000_0000
"""Of the driver: two words, the second of which leads to room for tensor maps that kernels make."""
ROOM_FOR_MAPS: Final = range(0x6000_0000_0000, 0x6001_0000_0000)
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

    def filled(self, entry: str, parameters: Sequence[Parameter], visible: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """All parameters, the hidden ones as the host code makes them; raises `NoHiddenParameters`."""
        try:
            return self._filled(entry, parameters, visible)
        except (BrokenObject, HostFault) as error:
            raise NoHiddenParameters(str(error)) from None

    def _filled(self, entry: str, parameters: Sequence[Parameter], visible: Mapping[str, bytes]) -> Mapping[str, bytes]:
        call = self.call_of(entry, parameters)
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

    def call_of(self, entry: str, parameters: Sequence[Parameter]) -> HostCall:
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
        return HostCall(code.sections[function.section].data, function.value, places, size)


@dataclass(frozen=True, slots=True)
class HostCall:
    """The function at ``address`` of ``code``, and the block of ``size`` bytes in which parameters have ``places``."""

    code: bytes
    address: int
    places: Mapping[str, int]
    size: int

    def memory(self) -> dict[int, bytearray]:
        """A block of zeros at its address, and the driver's context."""
        return {_BLOCK: bytearray(self.size), _CONTEXT: bytearray(struct.pack("<2Q", 0, ROOM_FOR_MAPS.start))}

    def place(self, parameter: Parameter) -> int:
        """The address of a parameter."""
        return _BLOCK + self.places[parameter.name]

    def made_by(self, machine: HostMachine) -> int:
        """What the function returns: 0 where it fills the block."""
        return machine.call(self.address, {_RCX: _BLOCK, _RSI: _CONTEXT})


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
