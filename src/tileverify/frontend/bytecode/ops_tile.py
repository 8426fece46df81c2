"""Declarations: making, reshaping, combining and reducing tiles; matrix products."""

from __future__ import annotations

from typing import Final

from .declaration import COUNT, declare

_CONVERTING: Final = "{s} : {type_s} -> {types}"
_FACTORS: Final = "{type_lhs}, {type_rhs}, {type_acc}"

TILE_OPS = (
    declare(16, "constant", "", "value:constant", typing="constant", assembly="{value} : {types}"),
    declare(58, "iota", "", typing="iota"),
    declare(6, "assume", "s", "pred:predicate_attribute", typing="assume", assembly="{pred}, {s} : {types}"),
    declare(
        95, "select", "c t f", typing="select", algebra="choice",
        assembly="{c}, {t}, {f} : {type_c}, {types}",
    ),
    declare(11, "broadcast", "s", typing="broadcast", assembly=_CONVERTING, result_names="bcast"),
    declare(
        12, "cat", "lhs rhs", "dim:varint", typing="cat",
        assembly="{lhs}, {rhs} dim = {dim} : {type_lhs}, {type_rhs} -> {types}",
    ),
    declare(83, "permute", "s", "perm:i32s", typing="permute", assembly="{s} {perm} : {type_s} -> {types}"),
    declare(91, "reshape", "s", typing="reshape", assembly=_CONVERTING, result_names="reshape"),
    declare(
        38, "extract", "{s index*}", results=COUNT, typing="extract",
        assembly="{s}[{index}] : {type_s} -> {types}",
    ),
    declare(
        118, "insert", "{s dest index*}", results=COUNT, since=4, typing="insert",
        assembly="{s}, {dest}[{index}] : {type_s}, {type_dest}",
    ),
    declare(111, "pack", "s", since=3, typing="pack", assembly=_CONVERTING),
    declare(112, "unpack", "s", since=3, typing="unpack", assembly=_CONVERTING),
)  # fmt: skip

REDUCTIONS = (
    declare(
        88, "reduce", "{inputs*}", "dim:varint ident:attributes", results=COUNT, body="combination", typing="reduce",
        assembly="{inputs} dim={dim} identities={ident} : {type_inputs} -> {types} ", result_names="reduce",
    ),
    declare(
        94, "scan", "{inputs*}", "dim:varint reverse:u8 ident:attributes", results=COUNT, body="combination",
        typing="scan", assembly="{inputs} dim={dim} reverse={reverse} identities={ident} : {type_inputs} -> {types} ",
    ),
)  # fmt: skip

MATRIX_OPS = (
    declare(
        73, "mmaf", "lhs rhs acc", flags="fast_acc>=3", typing="mmaf",
        assembly="{lhs}, {rhs}, {acc}{fast_acc} : " + _FACTORS,
    ),
    declare(
        74, "mmai", "lhs rhs acc", "sl:signedness sr:signedness", typing="mmai",
        assembly="{lhs}, {rhs}, {acc} {sl} {sr} : " + _FACTORS,
    ),
    declare(
        114, "mmaf_scaled", "lhs rhs acc ls rs", since=3, typing="mmaf_scaled",
        assembly="{lhs}, {rhs}, {acc}, {ls}, {rs} : " + _FACTORS + ", {type_ls}, {type_rs}",
    ),
)  # fmt: skip
