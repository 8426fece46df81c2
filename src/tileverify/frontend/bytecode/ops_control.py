"""Declarations: structured control flow and calls."""

from __future__ import annotations

from .declaration import COUNT, declare

CONTROL_OPS = (
    declare(41, "for", "{lower upper step inits*}", flags="unsignedCmp>=2", results=COUNT, regions=1, typing="for"),
    declare(65, "loop", "{inits*}", results=COUNT, regions=1, typing="loop"),
    declare(50, "if", "c", results=COUNT, regions=2, typing="if"),
)

TERMINATORS = (
    declare(10, "break", "{args*}", results=COUNT, terminator=True, typing="terminator"),
    declare(17, "continue", "{args*}", results=COUNT, terminator=True, typing="terminator"),
    declare(92, "return", "{args*}", results=COUNT, terminator=True, typing="terminator"),
    declare(109, "yield", "{args*}", results=COUNT, terminator=True, typing="terminator"),
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
