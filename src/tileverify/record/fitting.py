"""Which expression over the sizes of several launches gives a number that differs from launch to launch.

Grids are written by people, so few forms are tried, the simplest first: a size, ``cdiv`` of a size by a tile, products
of two of these, a constant times either, and ``min`` of either and a constant (a persistent kernel's number of blocks).
Few launches fit many expressions by chance: sizes of what the kernel writes come first, as a grid covers that, divisors
are taken from the kernel's own constants, then from the powers of two that tiles are made of, and of products one must
be the only one that fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

Column: TypeAlias = tuple[int, ...]
"""What one number was in each launch."""

TILES: Final = tuple(1 << power for power in range(1, 13))
"""Sizes of tiles, where no constant of the kernel is one."""


@dataclass(frozen=True, slots=True)
class _Form:
    """An expression over one size, or over two different ones; ``guessed``: a divisor in it is none of the kernel's
    constants."""

    text: str
    column: Column
    size: str
    guessed: bool = False


def fitted(
    column: Column, names: Mapping[str, Column], constants: Sequence[int], written: Collection[str] = ()
) -> str | None:
    """The simplest form over ``names`` that gives ``column``, where it is not the same in all launches.

    ``written``: names of sizes of arrays that the kernel writes; only these are factors, if there are any.
    """
    atoms = sorted(_atoms(names, constants), key=lambda form: (form.guessed, form.size not in written))
    products = list(_products([each for each in atoms if each.size in (written or names)]))
    for reading in (_as_it_is, _scaled, _capped):
        for form in atoms:
            if (text := reading(column, form)) is not None:
                return text
        for guessed in (False, True):
            found = [text for form in products if form.guessed is guessed and (text := reading(column, form))]
            if found:
                return found[0] if len(found) == 1 else None
    return None


def _atoms(names: Mapping[str, Column], constants: Sequence[int]) -> Iterator[_Form]:
    """Sizes, then these by the kernel's constants, then by other tiles."""
    yield from (_Form(name, column, name) for name, column in names.items())
    known = [each for each in dict.fromkeys(constants) if each > 1]
    for tiles, guessed in ((known, False), ([each for each in TILES if each not in known], True)):
        for name, column in names.items():
            for tile in tiles:
                yield _Form(f"cdiv({name}, {tile})", tuple(-(-value // tile) for value in column), name, guessed)


def _products(atoms: Sequence[_Form]) -> Iterator[_Form]:
    """Of two sizes; only where the kernel has no constants, one of them may be by a guessed tile."""
    guesses = all(form.guessed or form.text == form.size for form in atoms)
    for a, b in combinations(atoms, 2):
        if a.size != b.size and not a.guessed and (guesses or not b.guessed):
            column = tuple(x * y for x, y in zip(a.column, b.column, strict=True))
            yield _Form(f"{a.text} * {b.text}", column, "", b.guessed)


def _as_it_is(column: Column, form: _Form) -> str | None:
    return form.text if form.column == column else None


def _scaled(column: Column, form: _Form) -> str | None:
    """A constant, at least 2, times the form."""
    if form.guessed or not all(form.column) or column[0] % form.column[0]:
        return None
    factor = column[0] // form.column[0]
    scaled = tuple(factor * value for value in form.column)
    return f"{factor} * {form.text}" if factor > 1 and scaled == column else None


def _capped(column: Column, form: _Form) -> str | None:
    """As many as the largest of the column at most."""
    most = max(column)
    return f"min({most}, {form.text})" if tuple(min(most, value) for value in form.column) == column else None
