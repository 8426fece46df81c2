"""Declarations: structured control flow and calls."""

from __future__ import annotations

from typing import Final

from .declaration import COUNT, declare

_LEAVING: Final = "{args}{type_args}"

CONTROL_OPS = (
    declare(
        41, "for", "{lower upper step inits*}", flags="unsignedCmp>=2", results=COUNT, body="loop", typing="for",
        assembly="{unsignedCmp}{counter} in ({lower} to {upper}, step {step}) : {type_lower}{carried}",
        result_names="for",
    ),
    declare(65, "loop", "{inits*}", results=COUNT, body="loop", typing="loop", assembly="{carried}"),
    declare(50, "if", "c", results=COUNT, body="branch", typing="if", assembly="{c}{results_of_if}"),
)  # fmt: skip

TERMINATORS = (
    declare(10, "break", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(17, "continue", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(92, "return", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(109, "yield", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
)

PREVIEW_OPS = (
    declare(
        0x4002,
        "preview$call",
        "{args*}",
        "callee:string const_args:attributes arg_attrs?:attributes res_attrs?:attributes",
        flags="arg_attrs res_attrs",
        results=COUNT,
        since=5,
        effect="read_write",
        typing="preview",
    ),
)
