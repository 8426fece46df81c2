"""The names of a C++ function's parameters, read from its source: bytecode does not have them."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Final

from ...system.readings import read

_NEAR: Final = 12
"""Lines between the one that the compiler gives a function and its name: attributes and templates stand there."""
_COMMENT_OR_TEXT: Final = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
_LAST_WORD: Final = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_NOT_NAMES: Final = frozenset({"grid", "int", "unsigned", "long", "short", "char", "float", "double", "bool", "const"})


def parameter_names(source: Path, function: str, line: int) -> tuple[str, ...]:
    """The names of the parameters of ``function``, whose definition stands near ``line`` (1-based) of ``source``.

    A name that is a keyword to launch specs gets an underscore behind it (``in_``).  Empty where the source cannot be
    read, or does not give every parameter a name of its own.
    """
    try:
        text = read(source).decode("utf-8", "replace")
    except OSError:
        return ()
    plain = _COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)

    def distance(match: re.Match[str]) -> int:
        return abs(plain.count("\n", 0, match.start()) + 1 - line)

    near = [match for match in re.finditer(rf"\b{re.escape(function)}\s*\(", plain) if distance(match) <= _NEAR]
    if not near:
        return ()
    names = [_name(part) for part in _parts(plain, min(near, key=distance).end())]
    return tuple(names) if all(names) and len(set(names)) == len(names) else ()


def _parts(text: str, start: int) -> list[str]:
    """What stands between the commas of a list that begins at ``start``, up to its closing parenthesis."""
    parts, begin, open_brackets = [], start, [")"]
    for position in range(start, len(text)):
        character = text[position]
        if character == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                parts.append(text[begin:position])
                return parts if any(map(str.strip, parts)) else []
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character == "," and len(open_brackets) == 1:
            parts.append(text[begin:position])
            begin = position + 1
    return []


def _name(parameter: str) -> str:
    """The name that a parameter's declaration gives it; empty where it gives none."""
    match = _LAST_WORD.search(parameter.partition("=")[0].rstrip())
    name = match[1] if match else ""
    if not name.isidentifier() or not name.isascii() or name in _NOT_NAMES or match is None or not match.start():
        return ""
    return f"{name}_" if keyword.iskeyword(name) else name
