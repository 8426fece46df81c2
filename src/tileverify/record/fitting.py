"""Which expressions over the sizes of several launches give a number that differs from launch to launch.

Grids are written by people, so few forms are looked at, the simplest first: a size, ``cdiv`` of a size by a tile,
products of two of these, a constant times either, and ``min`` of either and a constant (a persistent kernel's number of
blocks).  Few launches fit many expressions by chance, so all that fit are told, in groups:

* what is made of sizes and of the kernel's own constants comes before what has a *guessed* tile, one of the powers of
  two that tiles are made of;
* sizes of what the kernel writes come before others, as a grid covers that.

Which one of a group was meant takes runs of the kernel (`grid_trials`).
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


@dataclass(frozen=True, slots=True)
class Fit:
    """What gives a column; ``guessed``: a tile in it is none of the kernel's constants."""

    expression: int | str
    guessed: bool = False


def fits(
    column: Column, names: Mapping[str, Column], constants: Sequence[int], written: Collection[str] = ()
) -> Iterator[tuple[Fit, ...]]:
    """Everything that gives ``column``, in groups of equal standing, those that are likelier first.

    A number that was the same in all launches may be just that, or come of sizes and constants.  ``written``: names of
    sizes of arrays that the kernel writes; only these are factors, if there are any.
    """
    fixed = len(set(column)) == 1
    if fixed:
        yield (Fit(column[0]),)
    atoms = list(_atoms(names, constants))
    products = list(_products([each for each in atoms if each.size in (written or names)]))
    covering, others = ([each for each in atoms if (each.size in written) is wanted] for wanted in (True, False))
    for reading in [_as_it_is] if fixed else [_as_it_is, _scaled, _capped]:
        for guessed in [False] if fixed else [False, True]:
            for forms in (covering, others, products):
                texts = (reading(column, form) for form in forms if form.guessed is guessed)
                found = tuple(Fit(text, guessed) for text in dict.fromkeys(texts) if text is not None)
                if found:
                    yield found


def _atoms(names: Mapping[str, Column], constants: Sequence[int]) -> Iterator[_Form]:
    """Sizes, these by the kernel's constants, and by other tiles."""
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
