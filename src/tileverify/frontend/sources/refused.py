"""Where a launch spec says what cuTile refuses: the constant, data type or rank that its message names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Argument, ArrayArgument, ConstantArgument, LaunchSpec, ListArgument, ScalarArgument
from ...contract.written_places import keys_of_launch, place_of
from ...system.readings import text_of
from ...system.source_lines import syntax_tree

Place: TypeAlias = tuple[str, int, int | None]
"""File, line from 1, column from 0."""

_RANK: Final = re.compile(r"\brank (\d+)")


def described(spec: LaunchSpec, file: str, line: int | None, column: int | None, message: str) -> tuple[Place, ...]:
    """The lines of ``spec`` for what is refused at a place of the kernel: of parameters that stand there, and of which
    ``message`` names the value, the data type or the rank."""
    if not spec.file or spec.line is None or line is None or column is None:
        return ()
    standing = set(_names_at(file, line, column))
    keys = keys_of_launch(spec.file, spec.line)
    named = [each.name for each in spec.arguments if each.name in standing and _is_named(each, message)]
    found = (place_of(keys, f"args.{name}", "") for name in named)
    return tuple((spec.file, *place) for place in dict.fromkeys(found) if place is not None)


def unexplained(error: Exception, file: str, line: int | None, column: int | None) -> str:
    """What is wrong where cuTile's compiler fails without a message: it has no code for a loop that is never left."""
    loops = (node for node in _nodes(file) if isinstance(node, ast.While) and node.lineno == line)
    if any(not any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop)) for loop in loops):
        return "this `while` loop is never left; give it a condition that becomes false, or a `break`"
    cause = type(error.__cause__ or error).__name__
    return f"its compiler fails here without a message ({cause}); write this line in another way"


def _nodes(file: str) -> Iterator[ast.AST]:
    try:
        tree = syntax_tree(text_of(Path(file)))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    yield from ast.walk(tree)


def _names_at(file: str, line: int, column: int) -> Iterator[str]:
    """The names in what begins at a place."""
    for node in _nodes(file):
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) == (line, column):
            yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _is_named(argument: Argument, message: str) -> bool:
    match argument:
        case ConstantArgument(value=value):
            values = value if isinstance(value, tuple) else (value,)
            return any(_has_word(str(each).removeprefix("ct."), message) for each in values)
        case ScalarArgument(dtype=dtype):
            return _has_word(ELEMENT_TYPES[dtype].cutile, message)
        case ArrayArgument(dtype=dtype, shape=shape):
            return _has_word(ELEMENT_TYPES[dtype].cutile, message) or str(len(shape)) in _RANK.findall(message)
        case ListArgument(element=element):
            return _is_named(element, message)
    return False


def _has_word(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", text) is not None
