"""What breaks a fact, in words: the sentences of its clauses with the elements put in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..launch import Apply, Expression, Name
from .formula import FactFormula, parse

if TYPE_CHECKING:
    from .array_facts import Held
    from .columns import Array

_BRACES: Final = re.compile(r"\{(@?)([^{}]*?)(=?)\}")


def told(clause: FactFormula, names: Mapping[str, str], held: Held, places: Sequence[int]) -> str:
    """``clause.broken`` for these places; ``names`` of the arrays by their names in formulas."""
    at = dict(zip(clause.indices, places, strict=True))

    def piece(match: re.Match[str]) -> str:
        alone, text, beside = match.groups()
        if text in names:
            return names[text]
        part = parse(text)
        if not alone and not beside:
            return str(held.value(part, at))
        assert isinstance(part, Apply)
        place = int(held.value(part.args[1], at))
        element = f"{names[_name(part.args[0])]}[{_index(held.array(part.args[0]), place)}]"
        return element if alone else f"{element} = {held.value(part, at)}"

    return _BRACES.sub(piece, clause.broken)


def _name(part: Expression) -> str:
    assert isinstance(part, Name)
    return part.name


def _index(array: Array, place: int) -> str:
    import numpy as np

    return ", ".join(str(int(i)) for i in np.unravel_index(place, array.shape))
