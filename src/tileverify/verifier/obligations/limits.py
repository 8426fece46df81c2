"""Clauses read from their text, and their effect on a contract: a size limit, a restricted open part, or less.

A launch is *within limits* if no array is empty, every size, stride and integer scalar is below 2**30 in magnitude, and
every array spans fewer than 2**31 elements:

    alone   1 <= size,   |n| < 2**30       for every size, stride, scalar and list length that is one name
    spans   1 + sum((size - 1) * stride) < 2**31,   size, stride < 2**30 for expressions

Let F be the facts of a contract and o its open parts (the grid, addresses).  A clause c is

    a limit           F and alone and spans  ->  c
    of an open part   F and alone and spans  ->  c[o := least]        where c mentions o
    a narrowing       otherwise

``least`` is one block along each axis, and addresses that are multiples of every alignment.  So each launch of the
contract within limits keeps some grid: `grid.x <= cdiv(N, 4)` restricts only the grid, `grid.x <= N // 4` leaves N = 3
no grid and narrows.  A grid that the contract's own facts forbid to be one block is not open.  The solver decides;
without an answer the clause is a narrowing.

Limits hold for each array in a list: `xs.shape[0] >= 1`.

A size that is an expression (`K // 64`, `N - start`) may be 0 in usual launches.  So may a size that the contract
compares with 0 (`B == N or B == 0`).  For these arrays "not empty" is no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.contract import Contract, array_layout
from ...contract.expression_parser import parse_condition
from ...contract.expressions import ARITHMETIC, COMPARISONS, LARGEST_EXPONENT, joined, print_expression
from ...contract.launch import Apply, Expression, LaunchSpec, Name, Number, SameArray
from ...contract.list_terms import described_member, member_names
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.variables import GRID, list_length
from ...frontend.symbolic.summary import AccessSummary
from ...system.errors import SpecError
from .answers import Answer, Result
from .consistency import promises
from .obligations import every_obligation
from .prepare import Preparer, contract_values

USUAL: Final = 1 << 30
"""Limit of sizes, strides and integer scalars."""

ELEMENTS: Final = 1 << 31
"""Limit of the elements that an array spans."""

HELD: Final = 1 << 38
"""More elements than any card holds."""

SMALL: Final = 1 << 12
"""Limit of sizes in the small launches that clauses must leave (`nonvacuity`)."""

TILES: Final = 8
"""The same limit in tiles, if that is larger: two blocks of a few tiles have work."""

Asked: TypeAlias = Callable[[Sequence[Term]], Answer]
"""Whether the contract has launches that satisfy these conditions."""

_SAMPLES: Final = (1, 2, 3, 7, 16, 64, 100, 128, 1000, 1024, 4096)
"""Sizes of sample launches, tried before the solver."""


@dataclass(frozen=True)
class ContractParts:
    """The limits of ``contract`` and its open parts.

    ``asked``: the solver, under the contract's facts.
    ``largest_tile``: elements along the longest axis of the kernel's tiles.
    ``unsized``: flat arrays that nobody sized: such a size is a number of elements, and no length of an axis.
    ``strides``: scalars that step over rows and bound nothing, where nobody sized arrays: no length of an axis either.
    """

    contract: Contract
    asked: Asked
    largest_tile: int = 1
    unsized: frozenset[str] = frozenset()
    strides: frozenset[Term] = frozenset()

    @cached_property
    def alone(self) -> tuple[Term, ...]:
        """The limits of single sizes, strides and scalars."""
        return self._possible(self._told(self._alone()))

    @cached_property
    def of_sizes(self) -> tuple[Term, ...]:
        """`alone` without scalars that are no size, stride or part of the grid: these are data, of any value."""
        members = (each for shape, strides in self._members for each in (*shape, *strides))
        sizes = {leaf for fact in (*self._sizes, *self._counts, *members) for leaf in fact.free}
        return tuple(each for each in self.alone if each.free <= sizes)

    @cached_property
    def filled(self) -> tuple[Term, ...]:
        """The limits that arrays are not empty."""
        return tuple(each for each in self.alone if each.kind is TermKind.LE) if self.has_limits else ()

    @cached_property
    def spans(self) -> tuple[Term, ...]:
        """The limits of array spans and of sizes that are expressions."""
        compound = (each for layout in self._layouts for part in layout for each in part if not self._is_named(each))
        usual = (t.lt(each, t.const(USUAL)) for each in compound)
        return self._possible(self._told((*self._spans(ELEMENTS), *usual)))

    @cached_property
    def on_cards(self) -> tuple[Term, ...]:
        """A weaker bound than limits: arrays fit on a card."""
        return self._possible(self._told(self._spans(HELD)))

    @property
    def limits(self) -> tuple[Term, ...]:
        return (*self.alone, *self.spans)

    @cached_property
    def has_limits(self) -> bool:
        """Whether the contract has launches within limits; without any, a proof within limits would be vacuous.

        A contract that describes an empty array has none.
        """
        if not self.limits:
            return False
        promised = promises(self.contract)
        if promised and self.asked((*self.limits, *promised)) is _NO:
            return False
        return bool(self._samples) or self.asked(self.limits) is Answer.SATISFIABLE

    @cached_property
    def small(self) -> tuple[Term, ...]:
        """The condition that every size is small; empty if the contract has no such launch."""
        return self._small(lambda size: True)

    @cached_property
    def small_axes(self) -> tuple[Term, ...]:
        """The same without the sizes of ``unsized`` arrays and ``strides``, which are large for small axes."""
        large = self._elements | self.strides
        return self._small(lambda size: size not in large) if large else self.small

    @cached_property
    def two_tiles(self) -> dict[Term, Term]:
        """Numbers for the contract's variables: axes of two tiles, and as large strides and arrays as these need."""
        axis, step, all_of_them = (_Sample(size) for size in (2 * self.largest_tile, 4 * self.largest_tile**2, USUAL))
        integers = (each for each in self.contract.variables if each.sort is Sort.INT)
        return {
            each: t.const(
                int((all_of_them if each in self._elements else step if each in self.strides else axis)[each])
            )
            for each in integers
        }

    @cached_property
    def _elements(self) -> frozenset[Term]:
        """The sizes of ``unsized`` arrays."""
        sizes = [size for name in self.unsized & self.contract.arrays.keys() for size in self._layout(name)[0]]
        return frozenset((*sizes, *(self._values.get(size, size) for size in sizes)))

    def _small(self, counts: Callable[[Term], bool]) -> tuple[Term, ...]:
        sizes = [*self.contract.variables, *(size for array in self._layouts for size in array[0])]
        below = max(SMALL, TILES * self.largest_tile)
        small = self._told(t.lt(size, t.const(below)) for size in sizes if size.sort is Sort.INT and counts(size))
        return () if not small or t.FALSE in small or self.implies(small, t.FALSE) else small

    @cached_property
    def written(self) -> frozenset[Term]:
        """The variables that the contract names: sizes, strides, scalars, list lengths."""
        lengths = (list_length(name) for name in self.contract.lists)
        return frozenset((*self.contract.variables, *lengths, *(leaf for fact in self._sizes for leaf in fact.free)))

    @property
    def is_literal(self) -> bool:
        """Whether the contract names no variable: launches differ only in open parts."""
        return not self.written

    def is_admissible(self, clause: Term) -> bool:
        """Whether the tool may add the clause to a written contract: it is a limit or restricts an open part."""
        return self.is_open(clause) or self.is_limit(clause)

    def is_limit(self, clause: Term) -> bool:
        """Whether every launch within limits satisfies the clause."""
        return self.is_implied_by(self.limits, clause)

    def is_implied_by(self, limits: Sequence[Term], clause: Term) -> bool:
        """Whether these limits imply the clause."""
        if self._is_broken_by_a_sample(clause) or not self.has_limits:
            return False
        return self.implies(limits, clause)

    def is_open(self, clause: Term) -> bool:
        """Whether the clause restricts open parts only."""
        spoken_of = clause.free - self.written
        if not spoken_of or not all(map(is_left_open, spoken_of)):
            return False
        if spoken_of & set(GRID) and not self._grid_is_open:
            return False
        return self._holds_at_least(clause)

    @cached_property
    def _grid_is_open(self) -> bool:
        """Whether the contract's own facts allow a grid of one block for all sizes."""
        about = [fact for fact in self.contract.facts if fact.free & set(GRID)]
        return not self.contract.grid_given and all(map(self._holds_at_least, about))

    def _holds_at_least(self, clause: Term) -> bool:
        """Whether every launch within limits satisfies the clause with its open parts at ``least``."""
        least = {leaf: t.ONE if leaf in GRID else t.ZERO for leaf in clause.free - self.written if is_left_open(leaf)}
        rest = t.substitute(clause, least)
        return rest is t.TRUE or self.implies(self.limits if self.has_limits else (), rest)

    def implies(self, given: Sequence[Term], conclusion: Term) -> bool:
        """Whether the contract and ``given`` imply ``conclusion``; False: not proved."""
        return self.asked((*given, t.not_(conclusion))) is _NO

    # ------------------------------------------------------------------------------------------- helpers
    @cached_property
    def _values(self) -> dict[Term, Term]:
        return contract_values(self.contract)

    def _told(self, conditions: Iterable[Term]) -> tuple[Term, ...]:
        found = (t.substitute(condition, self._values) for condition in conditions)
        return tuple(dict.fromkeys(condition for condition in found if condition is not t.TRUE))

    def _layout(self, name: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return array_layout(self.contract.arrays[name])

    @cached_property
    def _layouts(self) -> list[tuple[tuple[Term, ...], tuple[Term, ...]]]:
        return [array_layout(array) for array in self.contract.arrays.values()]

    @cached_property
    def _members(self) -> list[tuple[tuple[Term, ...], tuple[Term, ...]]]:
        """Sizes and strides of a list's generic array; without lists whose arrays are given one by one, in numbers."""
        named = [listed for listed in self.contract.lists.values() if not listed.each]
        return [
            (
                tuple(described_member(each, f"shape[{d}]") for d in range(len(each.element.shape))),
                tuple(described_member(each, f"strides[{d}]") for d in range(len(each.element.shape))),
            )
            for each in named
        ]

    @property
    def _sizes(self) -> Iterator[Term]:
        """All sizes, and the strides that the contract gives, in terms of the contract."""
        for array, (shape, strides) in zip(self.contract.arrays.values(), self._layouts, strict=True):
            yield from (t.substitute(each, self._values) for each in (*shape, *(strides if array.strides else ())))

    @property
    def _counts(self) -> Iterator[Term]:
        """Lengths of lists, and the axes of the grid, in terms of the contract."""
        yield from (self._values.get(each, each) for each in (*GRID, *map(list_length, self.contract.lists)))

    def _alone(self) -> Iterator[Term]:
        most, least = t.const(USUAL), t.const(-USUAL)
        for array, (shape, strides) in zip(self.contract.arrays.values(), self._layouts, strict=True):
            names = (self._only_name(size) for size in shape)
            yield from (t.le(t.ONE, name) for name in names if name is not None and not self._may_be_zero(name))
            described = (*shape, *(strides if array.strides else ()))
            yield from (t.lt(each, most) for each in described if self._is_named(each))
        for variable in self.contract.variables:
            if variable.sort is Sort.INT:
                yield from (t.lt(variable, most), t.lt(least, variable))
        yield from (t.lt(list_length(name), most) for name in self.contract.lists)
        for shape, strides in self._members:
            yield from (t.le(t.ONE, size) for size in shape if _is_variable(size) and not self._may_be_zero(size))
            yield from (t.lt(each, most) for each in (*shape, *strides) if _is_variable(each))

    def _is_named(self, number: Term) -> bool:
        return self._values.get(number, number).kind is TermKind.VAR

    def _only_name(self, size: Term) -> Term | None:
        """``N`` for the sizes ``N`` and ``2 * N``, which are 0 exactly if ``N`` is; else ``None``."""
        constant, parts = t.linear_parts(self._values.get(size, size))
        alone = not constant and len(parts) == 1 and parts[0][0] > 0 and parts[0][1].kind is TermKind.VAR
        return parts[0][1] if alone else None

    def _may_be_zero(self, size: Term) -> bool:
        """Whether the contract itself compares the size with 0."""
        zero = t.eq(self._values.get(size, size), t.ZERO)
        return any(part is zero for fact in self.contract.required for part in t.postorder(fact))

    def _possible(self, conditions: tuple[Term, ...]) -> tuple[Term, ...]:
        """The conditions that the contract allows together: one array beyond limits must not drop the rest."""
        if t.FALSE not in conditions and (self._sampled(conditions) or not self.implies(conditions, t.FALSE)):
            return conditions
        kept: list[Term] = []
        for condition in conditions:
            if condition is not t.FALSE and not self.implies((*kept, condition), t.FALSE):
                kept.append(condition)
        return tuple(kept)

    def _spans(self, most: int) -> Iterator[Term]:
        for array, (shape, strides) in zip(self.contract.arrays.values(), self._layouts, strict=True):
            last = (t.mul(t.sub(size, t.ONE), stride) for size, stride in zip(shape, strides, strict=True))
            span = t.product(shape) if array.strides is None else t.add(t.ONE, *last)
            yield t.lt(span, t.const(most))
        for shape, strides in self._members:
            last = (t.mul(t.sub(size, t.ONE), stride) for size, stride in zip(shape, strides, strict=True))
            yield t.lt(t.add(t.ONE, *last), t.const(most))

    def _is_broken_by_a_sample(self, clause: Term) -> bool:
        """Whether a sample launch breaks the clause: mostly one does, and the solver is not needed."""
        return any(_holds(clause, launch) is False for launch in self._samples)

    @cached_property
    def _samples(self) -> list[_Sample]:
        """Launches of the contract within limits."""
        return self._sampled(self.limits)

    def _sampled(self, conditions: Sequence[Term]) -> list[_Sample]:
        asked = (*self.contract.facts, *conditions)
        return [launch for launch in map(_Sample, _SAMPLES) if all(_holds(each, launch) for each in asked)]


_NO: Final = Answer.UNSATISFIABLE


def _is_variable(size: Term) -> bool:
    return size.kind is TermKind.VAR


def is_left_open(leaf: Term) -> bool:
    """Whether the variable is a grid axis or the address of an array."""
    return leaf in GRID or is_address(leaf)


def is_address(leaf: Term) -> bool:
    """Whether the variable is the address of an array, also of one in a list."""
    name = leaf.function.name if leaf.kind is TermKind.APPLY else leaf.symbol.name
    return name.endswith(".address")


def _holds(condition: Term, launch: _Sample) -> bool | None:
    """Whether the launch satisfies the condition; ``None`` if the sample lacks one of its variables."""
    try:
        return bool(evaluate(condition, launch))
    except (KeyError, ZeroDivisionError):
        return None


@dataclass(frozen=True, slots=True)
class _Sample:
    """A launch with one block along each axis, whose sizes are ``value`` or the nearest allowed number."""

    value: int

    def __getitem__(self, variable: Term) -> int | bool:
        if variable.kind is not TermKind.VAR or variable.sort is not Sort.INT:
            raise KeyError(variable)
        low, high = variable.low, variable.high
        wanted = 1 if variable in GRID else self.value
        return max(wanted if high is None else min(wanted, high), wanted if low is None else low)


# --------------------------------------------------------------------------------------------------------- clause terms
# Clauses read back from their text: what a certificate proves is what it prints.


def clause_terms(texts: Sequence[str], summary: AccessSummary, launch: LaunchSpec) -> tuple[Term, ...]:
    """What each of ``texts`` says about the launches of ``launch``; raises `SpecError` for what none of them knows."""
    if not texts:
        return ()
    contract = build_contract(launch)
    names: dict[str, Term | None] = {}
    own = {leaf.symbol.name: leaf for leaf in contract.variables}  # of the spec, whose language this is
    flags = {leaf.symbol.name for leaf in contract.values if leaf.kind is TermKind.VAR and leaf.sort is Sort.BOOL}
    for leaf in _launch_variables(summary, contract):
        if leaf.symbol.name in flags and leaf.sort is not Sort.BOOL:
            continue  # the byte that CUDA Tile C++ passes a bool as
        leaf = own.get(leaf.symbol.name, leaf)
        meaning = contract.values.get(leaf, leaf)
        if names.setdefault(leaf.symbol.name, meaning) is not meaning:
            names[leaf.symbol.name] = None  # two variables of one name: the text does not say which
    for listed in contract.lists.values():
        names |= {name: described_member(listed, name.rpartition(".")[2]) for name in member_names(listed)}
    return clause_terms_of(texts, names)


def clause_terms_of(texts: Sequence[str], names: Mapping[str, Term | None]) -> tuple[Term, ...]:
    """The same, where ``names`` gives the terms that names stand for, and ``None`` for those that are not clear."""
    return tuple(_clause(text, names) for text in texts)


def _clause(text: str, names: Mapping[str, Term | None]) -> Term:
    parsed = parse_condition(text)
    if isinstance(parsed, SameArray):
        raise SpecError(f"the clause '{text}' is no condition")
    return _condition(parsed, names)


class _Silent:
    """Answers nothing, so that every wrap stays."""

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        return Result(Answer.UNKNOWN, None)


def _launch_variables(summary: AccessSummary, contract: Contract) -> Iterator[Term]:
    """The variables over whole launches that an obligation, or the contract, may mention."""
    preparer = Preparer(summary, contract, _Silent())
    sites = [preparer.site(site) for site in summary.sites]
    promises = [preparer.promise(item) for item in summary.promises]
    spoken = [condition for each in every_obligation(sites, promises, contract) for condition in each.conditions]
    for term in (*GRID, *contract.variables, *contract.values, *contract.facts, *spoken):
        for leaf in term.free:
            if leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LAUNCH:
                yield leaf


def _condition(expression: Expression, names: Mapping[str, Term | None]) -> Term:
    match expression:
        case Apply("and" | "or" as op, args):
            parts = (_condition(arg, names) for arg in args)
            return t.and_(*parts) if op == "and" else t.or_(*parts)
        case Apply("not", (arg,)):
            return t.not_(_condition(arg, names))
        case Apply(op, (a, b)) if op in COMPARISONS:
            return joined(op, [_number(a, names), _number(b, names)])
        case Name(name) if (known := _known(name, names)).sort is Sort.BOOL:
            return known
    raise SpecError(f"'{print_expression(expression)}' is a number, and no condition")


def _number(expression: Expression, names: Mapping[str, Term | None]) -> Term:
    match expression:
        case Number(value):
            return t.const(value)
        case Name(name):
            known = _known(name, names)
            return t.ite(known, t.ONE, t.ZERO) if known.sort is Sort.BOOL else known
        case Apply("**", (Number(base), Number(exponent))) if 0 <= exponent <= LARGEST_EXPONENT:
            return t.const(base**exponent)
        case Apply(op, args) if op in ARITHMETIC and op != "**":
            return joined(op, [_number(arg, names) for arg in args])
    raise SpecError(f"the operator '{expression.op}' has no place in a clause")


def _known(name: str, names: Mapping[str, Term | None]) -> Term:
    known = names.get(name)
    if known is None:
        raise SpecError(f"`{name}` is nothing that a launch of this contract decides")
    return known
