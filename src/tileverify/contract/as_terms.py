"""From a launch spec to a `Contract`: terms that every launch of the spec satisfies.

A `LaunchSpec` names sizes (``M``); a summary uses entry parameters (``a.shape[0]``).  The contract joins them:
``values`` replaces parameters by contract terms, ``facts`` are the remaining assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..system.errors import SpecError
from . import terms as t
from .allowed import allowed_text, equal_store_arrays
from .contract import Contract, array_ranges, grid_ranges, length_range
from .data_facts import print_data_fact
from .element_types import ELEMENT_TYPES, INDEX_MAX, INT_BITS
from .expressions import COMPARISONS, CONNECTIVES, LARGEST_EXPONENT, OPERATORS, constant_value, joined
from .facts.kinds import meaning_of
from .facts.statements import DataTerm
from .launch import (
    Apply,
    Argument,
    ArrayArgument,
    ConstantArgument,
    DataFact,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    flat,
)
from .list_terms import (
    described_member,
    list_in_fact,
    list_spoken_of,
    lists_spoken_of,
    member_of_list,
    values_of_each,
)
from .strides import may_overlap_itself
from .terms import Scope, Term
from .trustable import trusted_text
from .variables import GRID, argument_address, list_length, scalar_variable, unsigned_variable

MOST_FACTORS: Final = 256
"""The most factors of a product that is written as a power."""


def build_contract(launch: LaunchSpec) -> Contract:
    """Join a launch spec to the variables of a summary.

    Raises `SpecError` for a name that the launch does not define and for an ``is`` between different descriptions.
    """
    return _Builder(launch).build()


def _closed(values: dict[Term, Term]) -> dict[Term, Term]:
    """The values, fully substituted into each other: a grid ``n`` becomes 3 if the scalar ``n`` is 3."""
    for _ in values:
        further = {variable: t.substitute(value, values) for variable, value in values.items()}
        if all(further[variable] is value for variable, value in values.items()):
            break
        values = further
    return values


class _Builder:
    def __init__(self, launch: LaunchSpec) -> None:
        self.launch = launch
        self.values: dict[Term, Term] = {}
        self.facts: list[Term] = []
        self.names: dict[str, Term] = {}
        self.arrays = {array.name: array for array in launch.arrays()}
        self.scalars = {s.name: s for s in _scalars(launch.arguments)}
        self.lists = {listed.name: listed for listed in _lists(launch.arguments)}

    def build(self) -> Contract:
        launch = self.launch
        self._declare_names()
        for array in self.arrays.values():
            self._bind_array(array)
        for scalar in self.scalars.values():
            self._bind_scalar(scalar)
        for listed in _lists(launch.arguments):
            known = length_range(listed)
            self._define(list_length(listed.name), self._term(known.meaning), known.low, known.high)
        if launch.grid is not None:
            for variable, known in zip(GRID, grid_ranges(launch.grid), strict=True):
                self._define(variable, self._term(known.meaning), known.low, known.high)
        stated = len(self.facts)
        for requirement in launch.requires:
            if isinstance(requirement, SameArray):
                self._same_array(requirement)
            else:
                self._require(requirement)
        required = self.facts[stated:]
        for name in lists_spoken_of(launch.requires, launch.data, self.lists):
            self.facts.append(t.le(t.ONE, list_length(name)))
        data = tuple(map(self._data_term, launch.data))
        substitute = _closed({variable: value for variable, value in self.values.items() if variable is not value})
        data = tuple(each.map(lambda term: t.substitute(term, substitute)) for each in data)
        facts = tuple(dict.fromkeys(t.substitute(fact, substitute) for fact in self.facts if fact is not t.TRUE))
        in_lists = [array for each in self.lists.values() for array in each.each or (each.element,)]
        sizes = [size for array in (*self.arrays.values(), *in_lists) for size in array.shape]
        sizes += [each.length for each in self.lists.values()]
        return Contract(
            values=substitute,
            facts=facts,
            required=tuple(t.substitute(fact, substitute) for fact in required),
            injective=frozenset(name for name, array in self._layouts() if not may_overlap_itself(array)),
            overlap=tuple(dict.fromkeys(launch.sharing())),
            same=launch.same_arrays(),
            data=data,
            variables=tuple(self.names.values()),
            text=tuple(contract_text(launch)),
            grid_given=launch.grid is not None,
            literal_sizes=all(constant_value(size) is not None for size in sizes),
            arrays=self.arrays,
            lists=self.lists,
            equal_stores=equal_store_arrays(launch.allow),
            empty=frozenset(launch.empty),
        )

    def _require(self, condition: Expression) -> None:
        """Add a condition; one on list arrays that are given in numbers is added for the numbers of each array."""
        known = len(self.facts)
        self.facts.append(self._condition(condition))
        self._of_each(list_spoken_of(condition, self.lists), self.facts[known:])

    def _of_each(self, name: str | None, said: Sequence[Term]) -> None:
        """Add what is ``said`` of the arrays of a list for those that are given in numbers."""
        for numbers in () if name is None else values_of_each(self.lists[name]):
            self.facts += [t.substitute(fact, numbers) for fact in said]

    def _layouts(self) -> Iterator[tuple[str, ArrayArgument]]:
        """Every array argument, and the generic array of each list."""
        yield from self.arrays.items()
        yield from ((listed.name, listed.element) for listed in _lists(self.launch.arguments))

    # ------------------------------------------------------------------------------------------ names
    def _declare_names(self) -> None:
        """Names are sizes: >= 0.  A name that the ABI passes itself also fits its integer type."""
        highs: dict[str, int | None] = {}
        for expression, limit in self._named_expressions():
            for name in _free(expression):
                highs.setdefault(name, None)
            if isinstance(expression, Name) and limit is not None:
                highs[expression.name] = min(limit, highs[expression.name] or limit)
        for name, high in highs.items():
            if "." not in name and name not in self.scalars:
                self.names[name] = t.var(name, Scope.LAUNCH, 0, high)

    def _named_expressions(self) -> Iterator[tuple[Expression, int | None]]:
        """The expressions that introduce names, each with the largest value that the ABI can pass."""
        for array in self.arrays.values():
            for expression in (*array.shape, *(array.strides or ())):
                yield expression, INDEX_MAX[array.index_bits]
        for scalar in self.scalars.values():
            if scalar.value is not None and scalar.dtype in INT_BITS:
                bits = INT_BITS[scalar.dtype] - (scalar.dtype[0] != "u")
                yield scalar.value, 2**bits - 1 if bits > 0 else None
        for listed in _lists(self.launch.arguments):
            yield listed.length, None
        for name in self.launch.names:
            yield Name(name), None

    def _bind_array(self, array: ArrayArgument) -> None:
        shape = [self._term(size) for size in array.shape]
        if array.strides is None:
            strides = [t.product(shape[d + 1 :]) for d in range(len(shape))]
        else:
            strides = [self._term(stride) for stride in array.strides]
        for ranges, values in zip(array_ranges(array), zip(shape, strides, strict=True), strict=True):
            for known, value in zip(ranges, values, strict=True):
                self._define(t.var(known.name, Scope.LAUNCH, known.low, known.high), value, known.low, known.high)
        if may_overlap_itself(array):
            return  # then a named stride promises nothing
        for d, expression in enumerate(array.strides or ()):
            if isinstance(expression, Name):
                self._keep_apart(d, shape, strides)

    def _keep_apart(self, d: int, shape: Sequence[Term], strides: Sequence[Term]) -> None:
        """A named stride keeps elements apart: it is not 0, and at least a row of neighbours long.

        Proofs do not need this, because layouts are injective.  But a contract that denies it must be contradictory.
        """
        without = (t.le(shape[d], t.ONE), *(t.eq(size, t.ZERO) for size in shape))
        self.facts.append(t.or_(*without, t.le(t.ONE, strides[d])))
        for size, stride in zip(shape, strides, strict=True):
            if stride is t.ONE:
                self.facts.append(t.or_(*without, t.le(size, strides[d])))

    def _bind_scalar(self, scalar: ScalarArgument) -> None:
        if scalar.dtype not in INT_BITS:
            return
        variable = scalar_variable(scalar.name, scalar.dtype)
        bits = INT_BITS[scalar.dtype]
        if scalar.dtype[0] == "u":
            self._bind_unsigned(scalar, variable, bits)
        elif scalar.value is None:
            sizes = (size for array in self.arrays.values() for size in (*array.shape, *(array.strides or ())))
            if variable.sort is t.Sort.INT and Name(scalar.name) in sizes:  # so it is not negative
                self.values[variable] = t.var(scalar.name, Scope.LAUNCH, 0, variable.high)
            self.names.setdefault(scalar.name, self.values.get(variable, variable))
        elif variable.sort is t.Sort.BOOL:
            value = self._term(scalar.value)
            self._define(variable, value, *ELEMENT_TYPES[scalar.dtype].limits)
            self.values[variable] = t.ne(value, t.ZERO)
        else:
            self._define(variable, self._term(scalar.value), *ELEMENT_TYPES[scalar.dtype].limits)
        if variable.sort is t.Sort.BOOL:
            # CUDA Tile C++ passes a bool as a byte.
            self.values[t.var(scalar.name, Scope.LAUNCH, -128, 127)] = _number(self.values.get(variable, variable))

    def _bind_unsigned(self, scalar: ScalarArgument, variable: Term, bits: int) -> None:
        """Bind the spec's unsigned value; the bytecode reads the same bits as signed: the value's wrap."""
        named = unsigned_variable(scalar.name, bits)
        if scalar.value is None:
            value = self.names.setdefault(scalar.name, named)
        else:
            value = self.values[named] = self._term(scalar.value)
            self.facts.append(t.and_(t.le(t.ZERO, value), t.lt(value, t.const(1 << bits))))
        self.values[variable] = t.wrap(bits, value)
        # And back: the bytecode's unsigned reading of that wrap is the value.
        self.values[t.unsigned(bits, t.wrap(bits, value))] = value

    def _define(self, variable: Term, value: Term, low: int, high: int) -> None:
        """``variable = value``, with the standing fact that the value lies in the variable's range."""
        if value is not variable:
            self.values[variable] = value
        self.facts.append(t.and_(t.le(t.const(low), value), t.le(value, t.const(high))))

    def _same_array(self, requirement: SameArray) -> None:
        first, second = (self._array(name) for name in (requirement.first, requirement.second))
        if len(first.shape) != len(second.shape) or first.dtype != second.dtype:
            raise SpecError(
                f"requires `{first.name} is {second.name}`, but the two arguments differ in rank or element type",
                file=self.launch.where or None,
            )
        for d in range(len(first.shape)):
            for part in ("shape", "strides"):
                a, b = (self._parameter(f"{array.name}.{part}[{d}]") for array in (first, second))
                self.facts.append(t.eq(a, b))

    def _array(self, name: str) -> ArrayArgument:
        if name not in self.arrays:
            raise SpecError(f"`{name}` is no array of this launch", file=self.launch.where or None)
        return self.arrays[name]

    def _data_term(self, fact: DataFact) -> DataTerm:
        known = len(self.facts)
        parts = (fact.low, fact.high, fact.amount, fact.width)
        low, high, amount, width = (None if part is None else self._term(part) for part in parts)
        least = meaning_of(fact).least
        if least is not None:
            self.facts += [t.le(t.const(least), part) for part in (amount, width) if part is not None]
        unless = tuple(map(self._term, fact.unless))
        self._of_each(list_in_fact(fact, self.lists), self.facts[known:])
        return DataTerm(fact, low, high, amount, unless, width)

    # ------------------------------------------------------------------------------------ expressions
    def _parameter(self, name: str) -> Term:
        array = self.arrays.get(name.rsplit(".", 1)[0])
        limit = INDEX_MAX[array.index_bits if array else 32]
        variable = t.var(name, Scope.LAUNCH, 0, limit)
        return self.values.get(variable, variable)

    def _name(self, name: str) -> Term:
        if name in ("grid.x", "grid.y", "grid.z"):
            return GRID["xyz".index(name[-1])]
        listed, word = member_of_list(name, self.lists)
        if listed:
            return described_member(self.lists[listed], word)
        if ".shape[" in name or ".strides[" in name:
            return self._parameter(name)
        if name in self.names:
            return _number(self.names[name])
        scalar = self.scalars.get(name)
        if scalar is not None and scalar.dtype in INT_BITS:
            if scalar.dtype[0] == "u":
                return unsigned_variable(scalar.name, INT_BITS[scalar.dtype])
            return _number(scalar_variable(scalar.name, scalar.dtype))
        array, _, member = name.rpartition(".")
        if member == "address" and array in self.arrays:
            return argument_address(array)
        constants = {c.name: c.value for c in _constants(self.launch.arguments)}
        if isinstance(constants.get(name), int):
            return t.const(constants[name])
        raise SpecError(
            f"`{name}` is neither a size, a scalar nor a stride of this launch", file=self.launch.where or None
        )

    def _term(self, expression: Expression) -> Term:
        match expression:
            case Number(value):
                return t.const(value)
            case Name(name):
                return self._name(name)
            case Apply(op, args) if op in COMPARISONS or op in CONNECTIVES:
                return t.ite(self._condition(expression), t.ONE, t.ZERO)
            case Apply("**", (base, exponent)):
                power, factor = self._term(exponent), self._term(base)
                if power.kind is not t.TermKind.CONST or not 0 <= power.value <= LARGEST_EXPONENT:
                    problem = f"`**` needs a number between 0 and {LARGEST_EXPONENT} as its exponent"
                    raise SpecError(problem, file=self.launch.where or None)
                if len(factor.args or (factor,)) * power.value > MOST_FACTORS:
                    raise SpecError("a power in the launch is too large", file=self.launch.where or None)
                return t.product([factor] * power.value)
            case Apply(op, args):
                terms = [self._term(arg) for arg in args]
                if OPERATORS[op].divides:
                    # An expression that divides by zero describes no launch.
                    self.facts.append(t.ne(terms[1], t.ZERO))
                return joined(op, terms)
        raise AssertionError(expression)

    def _until(self, args: Sequence[Expression], decided: Callable[[Term], Term]) -> list[Term]:
        """The conditions of ``and``/``or``; a divisor must not be 0 unless an earlier argument ``decided``."""
        conditions: list[Term] = []
        for arg in args:
            known = len(self.facts)
            condition = self._condition(arg)
            self.facts[known:] = [t.or_(*map(decided, conditions), fact) for fact in self.facts[known:]]
            conditions.append(condition)
        return conditions

    def _condition(self, expression: Expression) -> Term:
        match expression:
            case Apply("and", args):
                return t.and_(*self._until(args, decided=t.not_))
            case Apply("or", args):
                return t.or_(*self._until(args, decided=lambda condition: condition))
            case Apply("not", (arg,)):
                return t.not_(self._condition(arg))
            case Apply(op, (a, b)) if op in COMPARISONS:
                return joined(op, [self._term(a), self._term(b)])
            case _:
                return t.ne(self._term(expression), t.ZERO)


# ------------------------------------------------------------------------------------------- helpers
def _scalars(arguments: Sequence[Argument]) -> Iterator[ScalarArgument]:
    return (a for a in flat(arguments) if isinstance(a, ScalarArgument))


def _lists(arguments: Sequence[Argument]) -> Iterator[ListArgument]:
    return (a for a in flat(arguments) if isinstance(a, ListArgument))


def _constants(arguments: Sequence[Argument]) -> Iterator[ConstantArgument]:
    return (a for a in flat(arguments) if isinstance(a, ConstantArgument))


def _free(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, Apply):
        for arg in expression.args:
            yield from _free(arg)


def _number(value: Term) -> Term:
    """The value as an integer: in clauses a boolean is 0 or 1."""
    return t.ite(value, t.ONE, t.ZERO) if value.sort is t.Sort.BOOL else value


ANY_GRID: Final = "any grid"
"""The line of a contract without a grid."""


def contract_text(launch: LaunchSpec) -> Iterator[str]:
    """The lines of a contract for reports, in the user's spelling."""
    if launch.grid_text:
        yield f"grid = ({', '.join(launch.grid_text)})"
    elif launch.grid is None:
        yield ANY_GRID
    yield from launch.requires_text
    for group in (*launch.alias, *launch.overlap):
        named = " and ".join(sorted(group))
        yield f"{named} may overlap" if len(group) > 1 else f"the arrays of {named} may overlap"
    yield from (fact.text or print_data_fact(fact) for fact in launch.data)
    yield from (f"every element of {name} has to be written" for name in launch.complete)
    yield from (f"{name} holds nothing when the launch begins" for name in launch.empty)
    yield from (f"trusted: {text}" for text in trusted_text(launch.trust))
    yield from (f"allowed: {text}" for text in allowed_text(launch.allow))
    yield from (f"declared: {call.text}" for call in launch.calls)
