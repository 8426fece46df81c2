"""What kernels are called where people read: a mangled symbol by its function, where that tells it apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from . import KernelResult

Names: TypeAlias = Mapping[tuple[str, str], str]
"""(file, kernel) -> what the kernel is called."""

_CUTILE_SYMBOL: Final = re.compile(r"(?P<name>\w+?)_Kt\d+(?:_\w*)?")
_LENGTH: Final = re.compile(r"\d+")
_NESTED: Final = re.compile(r"_ZN?(?:K?L?)(?=\d)")


def short_names(results: Iterable[KernelResult]) -> Names:
    """The kernels whose short name no other kernel of their file has; ``FILE::NAME`` finds them by it, too."""
    kernels = dict.fromkeys((result.file, result.kernel) for result in results)
    called = Counter((file, plain_name(kernel)) for file, kernel in kernels)
    short = {(file, kernel): plain_name(kernel) for file, kernel in kernels}
    return {key: name for key, name in short.items() if name != key[1] and called[key[0], name] == 1}


def plain_name(symbol: str) -> str:
    """The function's name in a mangled symbol of cuTile or C++ (its last part, without types), or the symbol."""
    match = _CUTILE_SYMBOL.fullmatch(symbol)
    if match:
        return match["name"]
    start = _NESTED.match(symbol)
    if start is None:
        return symbol
    name, position = symbol, start.end()
    while digits := _LENGTH.match(symbol, position):
        end = digits.end() + int(digits[0])
        if end > len(symbol):
            return symbol
        name, position = symbol[digits.end() : end], end
        if not symbol.startswith("_ZN"):
            break
    return name
