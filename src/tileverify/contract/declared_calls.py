"""What calls into libraries of tiles touch, as a launch declares it (``calls``).

    [launch.calls.fft_128]
    reads   = ["$0[128]"]     # 128 elements from the pointer in operand 0 on
    writes  = ["$1[128]"]     # likewise: the call writes each of them
    atomics = ["counter"]     # any element of the array `counter`

Nobody checks a declaration: every proof under it lists it among what is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from ..system.errors import SpecError
from .arguments import suggestion
from .launch import ATOMICS, KINDS, READS, WRITES, CallRegion, DeclaredCall

MOST_ELEMENTS: Final = 1 << 24
"""Of one region: no tile of Tile IR has more."""

_REGION: Final = re.compile(r"\$(?P<operand>\d{1,3})\s*\[\s*(?P<count>\d{1,9})\s*\]")


def read_calls(value: object, arrays: Collection[str]) -> tuple[DeclaredCall, ...]:
    """The declarations of ``calls``, sorted by symbol.  Raises `SpecError`."""
    if not isinstance(value, Mapping) or not all(isinstance(table, Mapping) for table in value.values()):
        raise SpecError('must be a table for each function, as in calls = { fft = { reads = ["$0[128]"] } }')
    return tuple(_read(str(symbol), value[symbol], arrays) for symbol in sorted(value))


def _read(symbol: str, table: Mapping[str, Any], arrays: Collection[str]) -> DeclaredCall:
    for word in table:
        if word not in KINDS:
            raise SpecError(f"'{word}' of '{symbol}' is none of {', '.join(KINDS)}{suggestion(str(word), KINDS)}")
    found = {kind: _regions(f"{symbol}.{kind}", table.get(kind, ()), arrays) for kind in KINDS}
    return DeclaredCall(symbol, found[READS], found[WRITES], found[ATOMICS])


def _regions(where: str, value: object, arrays: Collection[str]) -> tuple[CallRegion, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise SpecError(f'\'{where}\' must be a list of words, as in ["$0[128]", "x"]')
    return tuple(_region(where, text.strip(), arrays) for text in dict.fromkeys(value))


def _region(where: str, text: str, arrays: Collection[str]) -> CallRegion:
    found = _REGION.fullmatch(text)
    if found is None:
        if text not in arrays:
            near = suggestion(text, arrays) or "; write $0[128] for 128 elements behind operand 0, or an array's name"
            raise SpecError(f"'{text}' of '{where}' is not an array argument of this launch{near}")
        return CallRegion(array=text)
    count = int(found["count"])
    if not 1 <= count <= MOST_ELEMENTS:
        raise SpecError(f"'{text}' of '{where}' has {count} elements; a region has 1 to {MOST_ELEMENTS}")
    return CallRegion(int(found["operand"]), count)


def calls_table(calls: Iterable[DeclaredCall]) -> dict[str, dict[str, list[str]]]:
    """The declarations as `read_calls` reads them."""
    return {
        call.symbol: {kind: list(map(str, call.regions(kind))) for kind in KINDS if call.regions(kind)}
        for call in calls
    }
