"""What became of a launch's contract between two reports: does it have fewer launches, more, or others?

The lines of a contract become conditions on what a launch passes, so that the solver can compare them, and a size may
have another name:

    x = "f32[N]", out = "f32[2 * N]"      out.shape[0] == 2 * x.shape[0]
    grid = (cdiv(N, 64))                  grid.x == cdiv(x.shape[0], 64)
    N % 4 == 0                            x.shape[0] % 4 == 0

Other lines (``injective(idx)``) count as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from ..contract.as_terms import ANY_GRID
from ..contract.descriptions import parse_description, split_top_level
from ..contract.expression_parser import parse_condition, parse_size
from ..contract.expressions import print_expression, substitute
from ..contract.launch import Apply, ArrayArgument, Expression, Name, SameArray, ScalarArgument
from ..results import KernelResult
from ..system.errors import SpecError

Implied: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Whether a clause holds wherever others do, as `verifier.implied_clauses` asks the solver."""

_OVERLAP: Final = " may overlap"
"""The end of a line that lets a contract have more launches, not fewer."""


def has_fewer(old: KernelResult, new: KernelResult, implied: Implied) -> bool:
    """Whether ``new`` speaks of fewer launches than ``old``, by its contract or by a clause that tileverify added."""
    before, after = _readings(old, new)
    return _lacks(before, after, before.clauses, after.clauses, implied)


def contract_changes(old: KernelResult, new: KernelResult, implied: Implied) -> Iterator[str]:
    """``the contract is narrower: `N % 4 == 0` was added``, and who vouches for it, where that changed."""
    if old.contract != new.contract:
        yield f"contract {old.contract} -> {new.contract}"
    before, after = _readings(old, new)
    gone = [line for line in before.lines if line not in after.lines]
    added = [line for line in after.lines if line not in before.lines]
    if gone or added:
        narrower, wider = _lacks(before, after, (), (), implied), _lacks(after, before, (), (), implied)
        word = (
            "another" if narrower and wider else "narrower" if narrower else "wider" if wider else "the same, rewritten"
        )
        changes = [*(f"`{line}` was added" for line in added), *(f"`{line}` was dropped" for line in gone)]
        yield f"the contract is {word}: {', '.join(changes)}"


def _lacks(before: _Reading, after: _Reading, known: Sequence[str], clauses: Sequence[str], implied: Implied) -> bool:
    """Whether ``after``, with ``clauses``, lacks launches of ``before`` with those that are ``known``."""
    given = (*before.conditions, *known)
    return bool(before.overlaps - after.overlaps) or not all(implied(e, given) for e in (*after.conditions, *clauses))


def _readings(old: KernelResult, new: KernelResult) -> tuple[_Reading, _Reading]:
    """Both contracts; reports of earlier versions do not say what launches pass."""
    described = bool(old.arguments and new.arguments)
    return _Reading(old, described), _Reading(new, described)


class _Reading:
    """One contract: its ``lines``, and these as ``conditions``; ``clauses`` are those that tileverify added,
    ``overlaps`` the lines that let arguments share memory."""

    def __init__(self, result: KernelResult, described: bool) -> None:
        arguments = [line.split(" = ", 1) for line in result.arguments] if described else []
        self.lines = (*map(" = ".join, arguments), *result.stated)
        self.overlaps = frozenset(line for line in result.stated if line.endswith(_OVERLAP))
        read = [(name, _described(name, text) or text) for name, text in arguments]
        self._names: dict[str, Expression] = {}
        for _, argument in read:
            if isinstance(argument, ArrayArgument):
                for parameter, value in _numbers(argument):
                    if isinstance(value, Name) and "." not in value.name:
                        self._names.setdefault(value.name, Name(parameter))
        self.conditions = [condition for name, argument in read for condition in self._of_argument(name, argument)]
        for line in result.stated:
            if line not in self.overlaps and line.partition(";")[0] != ANY_GRID:
                self.conditions += self._of_line(line)
        self.clauses = list(map(self._renamed, result.clauses))

    def _renamed(self, clause: str) -> str:
        """``clause`` in terms of what the launch passes; as it stands, where it is no condition."""
        try:
            condition = parse_condition(clause)
        except SpecError:
            return clause
        return clause if isinstance(condition, SameArray) else print_expression(substitute(condition, self._names))

    def _of_line(self, line: str) -> Iterator[str]:
        if line.startswith("grid = (") and line.endswith(")"):
            axes = split_top_level(line.removeprefix("grid = (")[:-1], ",")
            for axis, size in zip("xyz", [*axes, "1", "1"][:3], strict=True):
                yield from self._equation(f"grid.{axis}", parse_size(size))
        else:
            yield self._renamed(line)

    def _of_argument(self, name: str, argument: ArrayArgument | ScalarArgument | str) -> Iterator[str]:
        match argument:
            case ArrayArgument(dtype=dtype, shape=shape, strides=strides):
                layout = "contiguous" if strides is None else "strided"
                yield f"{name}: {dtype}, {len(shape)} axes, i{argument.index_bits}, {layout}, {argument.partition}"
                for parameter, value in _numbers(argument):
                    yield from self._equation(parameter, value)
            case ScalarArgument(dtype=dtype, value=value):
                yield f"{name}: {dtype}"
                yield from () if value is None else self._equation(name, value)
            case str():
                yield self._renamed(f"{name} == {argument}")  # a constant, a list, a tuple

    def _equation(self, name: str, value: Expression) -> Iterator[str]:
        known = substitute(value, self._names)
        if known != Name(name):
            yield print_expression(Apply("==", (Name(name), known)))


def _described(name: str, text: str) -> ArrayArgument | ScalarArgument | None:
    """The array or scalar of a line; ``None`` for any other argument."""
    if not text.startswith('"'):
        return None
    try:
        return parse_description(name, text[1:-1])
    except SpecError:
        return None


def _numbers(array: ArrayArgument) -> Iterator[tuple[str, Expression]]:
    for part, values in (("shape", array.shape), ("strides", array.strides or ())):
        yield from ((f"{array.name}.{part}[{axis}]", value) for axis, value in enumerate(values))
