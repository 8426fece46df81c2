"""Every operation of Tile IR bytecode 13.1 to 13.5, declared once.

Decoder, encoder, builder and printer read these declarations; what an op does is in the tables of rules of each room.
"""

from __future__ import annotations

from typing import Final

from .declaration import (
    AttributeDeclaration,
    FlagDeclaration,
    OpDeclaration,
    OperandDeclaration,
    Version,
)
from .ops_arithmetic import CONVERSIONS, FLOAT_OPS, INTEGER_OPS
from .ops_control import CONTROL_OPS, PREVIEW_OPS, TERMINATORS
from .ops_memory import ACCESS_OPS, ADDRESS_OPS, HOST_OPS, TOKEN_OPS
from .ops_tile import MATRIX_OPS, REDUCTIONS, TILE_OPS

__all__ = [
    "BY_NAME",
    "BY_OPCODE",
    "OPERATIONS",
    "VERSIONS",
    "AttributeDeclaration",
    "FlagDeclaration",
    "OpDeclaration",
    "OperandDeclaration",
    "Version",
    "available",
]

VERSIONS: Final[tuple[Version, ...]] = tuple((13, minor) for minor in range(1, 6))

OPERATIONS: Final[tuple[OpDeclaration, ...]] = (
    *FLOAT_OPS,
    *INTEGER_OPS,
    *CONVERSIONS,
    *TILE_OPS,
    *REDUCTIONS,
    *MATRIX_OPS,
    *ADDRESS_OPS,
    *ACCESS_OPS,
    *TOKEN_OPS,
    *HOST_OPS,
    *CONTROL_OPS,
    *TERMINATORS,
    *PREVIEW_OPS,
)

BY_OPCODE: Final[dict[int, OpDeclaration]] = {op.opcode: op for op in OPERATIONS}
BY_NAME: Final[dict[str, OpDeclaration]] = {op.name: op for op in OPERATIONS}


def available(version: Version) -> tuple[OpDeclaration, ...]:
    """The operations that a file of ``version`` may contain."""
    return tuple(op for op in OPERATIONS if op.since <= version)
