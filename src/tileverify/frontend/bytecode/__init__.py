"""Tile IR bytecode: decode to the model, encode, build by hand, print as Tile IR assembly."""

from __future__ import annotations

from .decoder import decode
from .encoder import encode

__all__ = ["decode", "encode"]
