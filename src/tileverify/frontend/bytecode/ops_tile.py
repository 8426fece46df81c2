"""Declarations: making, reshaping, combining and reducing tiles; matrix products."""

from __future__ import annotations

from .declaration import COUNT, declare

TILE_OPS = (
    declare(16, "constant", "", "value:constant", typing="constant"),
    declare(58, "iota", "", typing="iota"),
    declare(6, "assume", "s", "pred:predicate_attribute", typing="assume"),
    declare(95, "select", "c t f", typing="select"),
    declare(11, "broadcast", "s", typing="broadcast"),
    declare(12, "cat", "lhs rhs", "dim:varint", typing="cat"),
    declare(83, "permute", "s", "perm:i32s", typing="permute"),
    declare(91, "reshape", "s", typing="reshape"),
    declare(38, "extract", "{s index*}", results=COUNT, typing="extract"),
    declare(118, "insert", "{s dest index*}", results=COUNT, since=4, typing="insert"),
    declare(111, "pack", "s", since=3, typing="pack"),
    declare(112, "unpack", "s", since=3, typing="unpack"),
)

REDUCTIONS = (
    declare(88, "reduce", "{inputs*}", "dim:varint ident:attributes", results=COUNT, regions=1, typing="reduce"),
    declare(94, "scan", "{inputs*}", "dim:varint reverse:u8 ident:attributes", results=COUNT, regions=1, typing="scan"),
)

MATRIX_OPS = (
    declare(73, "mmaf", "lhs rhs acc", flags="fast_acc>=3", typing="mmaf"),
    declare(74, "mmai", "lhs rhs acc", "sl:signedness sr:signedness", typing="mmai"),
    declare(114, "mmaf_scaled", "lhs rhs acc ls rs", since=3, typing="mmaf_scaled"),
)
