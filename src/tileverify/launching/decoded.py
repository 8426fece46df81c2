"""What is launched, decoded once for all who look at it: what it touches, what it reads ahead, the interpreter."""

from __future__ import annotations

from functools import lru_cache

from ..contract.launch import KernelUnit
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import Module


def decoded(unit: KernelUnit) -> Module:
    """The module of the unit's bytecode; nobody may change it."""
    return _decoded(unit.bytecode, str(unit.file))


@lru_cache(maxsize=256)
def _decoded(bytecode: bytes, file: str) -> Module:
    return decode(bytecode, file=file)
