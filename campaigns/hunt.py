"""Concrete launches within a contract, to run: usual sizes, tiny and large ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.corpus.launches import SIZES, Drawn, drawn_variants, variants_of

from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.expressions import Undefined, evaluate, print_expression
from tileverify.contract.launch import ConcreteLaunch, Expression, KernelUnit, SameArray
from tileverify.system.errors import SpecError

SMALL = (*SIZES, 2049, 4100)
TINY = (0, 1, 2, 3)
LARGE = (0, 1, 2, 16, 129, 1 << 16, 46341, 1 << 20, (1 << 24) - 1, 1 << 30, (1 << 31) - 128, (1 << 31) - 1)
"""Sizes with which 32-bit products wrap."""
NEGATIVE = (-1, -5, -(1 << 31))
TRIES = 1000
"""Draws of sizes and scalars, most of which no contract allows."""


class NotUnderstood(Exception):
    """A clause that the language of launch specs cannot read, or that speaks of what no launcher knows."""


@dataclass
class Hunter:
    """Draws launches of a kernel under its contract; keeps those that it drew."""

    unit: KernelUnit
    small: int = 4
    tiny: int = 2
    large: int = 2
    variants: int = 1
    _drawn: dict[tuple[str, ...], list[Drawn]] = field(default_factory=dict)

    def launches(self, requires: tuple[str, ...]) -> list[ConcreteLaunch]:
        """Launches of the contract that satisfy ``requires`` as well: usual sizes, then tiny and large ones."""
        return [drawn.launches[0] for drawn in self.varied(requires)]

    def varied(self, requires: tuple[str, ...]) -> list[Drawn]:
        """The same, each with ``variants`` contents of index arrays."""
        if requires not in self._drawn:
            admits = admitting(requires)

            def draw(count: int, seed: int, sizes: Sequence[int], most_blocks: int | None) -> list[Drawn]:
                return drawn_variants(
                    self.unit.launch, count, seed, self.variants,
                    sizes=sizes, scalars=NEGATIVE, most_blocks=most_blocks, tries=TRIES, admits=admits,
                )  # fmt: skip

            drawn = [
                *draw(self.small, 2, SMALL, 24),
                *draw(self.tiny, 3, TINY, 24),
                *draw(self.large, 4, LARGE, None),
            ]
            distinct = [each for place, each in enumerate(drawn) if each not in drawn[:place]]
            self._drawn[requires] = [each for each in distinct if all(map(self._keeps_facts, each.launches))]
        return self._drawn[requires]

    def resized(self, requires: tuple[str, ...], values: Mapping[str, int]) -> Drawn | None:
        """The launch with these values of all names, if it is one of those."""
        drawn = variants_of(self.unit.launch, values, self.variants, 5, admitting(requires))
        return drawn if drawn is not None and all(map(self._keeps_facts, drawn.launches)) else None

    def _keeps_facts(self, launch: ConcreteLaunch) -> bool:
        """The facts about contents hold; an array too large for contents of its own has none."""
        arrays = (launch.arrays[fact.array] for fact in self.unit.launch.data)
        return all(array.contents or 0 in array.shape for array in arrays)


def admitting(requires: Sequence[str]) -> Callable[[Mapping[str, int]], bool]:
    """Whether a launch keeps all clauses; raises `NotUnderstood`."""
    clauses = [read_clause(text) for text in requires]
    return lambda known: all(clause_holds(clause, known) for clause in clauses)


def read_clause(text: str) -> Expression:
    try:
        clause = parse_condition(text)
    except SpecError as error:
        raise NotUnderstood(text) from error
    if isinstance(clause, SameArray):
        raise NotUnderstood(text)
    return clause


def clause_holds(clause: Expression, known: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(clause, known))
    except Undefined:
        return False
    except KeyError as error:
        raise NotUnderstood(print_expression(clause)) from error
