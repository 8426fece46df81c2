"""Tile IR bytecode: decode to the model, encode, build by hand (`builder`), print as Tile IR assembly."""

from __future__ import annotations

from .decoder import decode
from .encoder import encode
from .printer import print_module, print_op

__all__ = ["decode", "encode", "print_module", "print_op"]
