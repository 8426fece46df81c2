"""A launch contract compiled to a function that checks the arguments of one launch in microseconds.

The function is generated from the contract's expressions, which consist of integers, names and operators alone; names
become local variables with names of our own, so that no text of a contract is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...contract.contract import NumberRange, array_ranges, grid_ranges, scalar_range
from ...contract.data_facts import print_data_fact
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expression_parser import parse_condition
from ...contract.expressions import (
    GRID_NAMES,
    OPERATORS,
    constant_value,
    free_names,
    may_be_undefined,
    power,
    print_expression,
)
from ...contract.facts.kinds import meaning_of
from ...contract.launch import (
    Apply,
    Argument,
    ArrayArgument,
    DataFact,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    expressions_of,
    flat,
)
from ...contract.strides import apart, may_overlap_itself
from ...hook.described_launch import contiguous_strides
from ...results.codes import TV
from ...system.errors import SpecError, UsageError
from .arguments import ArrayValue, Grid, LaunchRefused, Value


@dataclass(frozen=True, slots=True)
class Check:
    """One condition: Python source over the local variables, and how to say that it is broken."""

    source: str
    text: str
    code: TV = TV.LAUNCH_CONTRACT


@dataclass(frozen=True)
class Guard:
    """``admit(*numbers)`` gives the number of the first broken check, or -1; `check` says it in words.

    ``order``: arguments in the order of the spec, tuples flattened.  ``data``: facts about contents that are left to
    check.  ``source``: the generated code, for people.
    """

    kernel: str
    order: tuple[ArrayArgument | ScalarArgument, ...]
    checks: tuple[Check, ...]
    data: tuple[DataFact, ...]
    source: str
    admit: Callable[..., int]
    names: Mapping[str, str]
    covering: Callable[..., Grid] | None
    _locals: Callable[..., Mapping[str, int]] = field(repr=False, default=dict)

    def passed(self, arguments: Sequence[Value]) -> list[Value]:
        """The arguments as the contract describes them, which is how they have to be passed.

        The stride of a dimension with one element reaches nothing, and frameworks put anything there; the contract says
        that of a contiguous array it is the product of the sizes behind it, and the kernel may read it.
        """
        return [
            _as_described(described, value) if isinstance(described, ArrayArgument) else value
            for described, value in zip(self.order, arguments, strict=False)
        ]

    def check(self, arguments: Sequence[Value], grid: Grid) -> None:
        """Raises `LaunchRefused` (TV501, TV502) with the clause and the values that break it."""
        numbers = self.numbers(arguments)
        broken = self.admit(*numbers, *grid)
        if broken < 0:
            return
        check = self.checks[broken]
        values = self._locals(*numbers, *grid)
        known = [f"{name} = {values[local]}" for name, local in self.names.items() if _mentions(check, local, values)]
        given = f" for {', '.join(known)}" if known else ""
        raise LaunchRefused(f"{self.kernel} was not launched: {check.text}{given} ({check.code})", code=check.code)

    def named(self, arguments: Sequence[Value], grid: Grid) -> dict[str, int]:
        """What the names of the contract stand for in a launch that `check` admits."""
        values = self._locals(*self.numbers(arguments), *grid)
        return {name: values[local] for name, local in self.names.items() if local in values}

    def covered(self, arguments: Sequence[Value]) -> Grid | None:
        """The grid that covers the arrays; ``None`` where the contract does not say which that is.

        Raises `LaunchRefused` where what the contract says of it has no value for these arguments.
        """
        if self.covering is None:
            return None
        try:
            return self.covering(*self.numbers(arguments))
        except ArithmeticError:
            raise self._refused("its grid divides by zero, or takes too large a power") from None

    def numbers(self, arguments: Sequence[Value]) -> list[int]:
        """What `admit` takes before the grid: address, sizes and strides of arrays, and integer scalars.

        Raises `LaunchRefused` for arguments of another kind, rank or element type than the contract's.
        """
        if len(arguments) != len(self.order):
            raise self._refused(f"the contract has {len(self.order)} arguments, {len(arguments)} were given")
        numbers: list[int] = []
        for described, value in zip(self.order, self.passed(arguments), strict=True):
            if isinstance(described, ArrayArgument):
                numbers += self._array(described, value)
            elif ELEMENT_TYPES[described.dtype].kind == "f":
                self._float(described, value)
            elif isinstance(value, ArrayValue):
                raise self._refused(f"`{described.name}` is an array, the contract says {described.dtype}")
            elif not isinstance(value, int):
                raise self._refused(f"`{described.name}` is {value!r}, the contract says {described.dtype}")
            elif value.bit_length() > 64:
                raise self._refused(f"`{described.name}` does not fit {described.dtype}")
            else:
                numbers.append(int(value))
        return numbers

    def _float(self, described: ScalarArgument, value: Value) -> None:
        """It takes no part in what is checked but has to be a number that a float may be."""
        if isinstance(value, ArrayValue):
            raise self._refused(f"`{described.name}` is an array, the contract says {described.dtype}")
        try:
            float(value)
        except OverflowError:
            raise self._refused(f"`{described.name}` does not fit {described.dtype}") from None

    def _array(self, described: ArrayArgument, value: Value) -> Iterator[int]:
        name = described.name
        if not isinstance(value, ArrayValue):
            raise self._refused(f"`{name}` is {value!r}, the contract says an array")
        if value.dtype != described.dtype:
            raise self._refused(f"`{name}` has elements of {value.dtype}, the contract says {described.dtype}")
        if len(value.shape) != len(described.shape):
            raise self._refused(f"`{name}` has rank {len(value.shape)}, the contract says {len(described.shape)}")
        yield value.address
        yield from value.shape
        yield from value.strides

    def _refused(self, why: str) -> LaunchRefused:
        return LaunchRefused(f"{self.kernel} was not launched: {why} (TV502)", code=TV.LAUNCH_CONTRACT)


def _as_described(described: ArrayArgument, value: Value) -> Value:
    if described.strides is not None or not isinstance(value, ArrayValue):
        return value
    strides = contiguous_strides(value.shape)
    same = all(size == 1 or own == each for size, own, each in zip(value.shape, value.strides, strides, strict=True))
    return value._replace(strides=strides) if same or 0 in value.shape else value


def _mentions(check: Check, local: str, values: Mapping[str, int]) -> bool:
    return local in values and local in _words(check.source)


def compile_guard(spec: LaunchSpec, clauses: Sequence[str], written: frozenset[str]) -> Guard:
    """The guard of a contract with the clauses that a proof added; ``written``: arrays that the kernel writes.

    Raises `UsageError` for a contract that speaks of what no launch shows: a name that nothing gives a value, lists.
    """
    return _Compiler(spec, clauses, written).guard()


class _Compiler:
    def __init__(self, spec: LaunchSpec, clauses: Sequence[str], written: frozenset[str]) -> None:
        self.spec, self.written = spec, written
        self.order = tuple(_passed(spec.arguments))
        self.clauses = [self._parsed(text) for text in clauses]
        self.locals: dict[str, str] = {}  # a name of the contract -> the local variable with its value
        self.parameters: list[str] = []
        self.places: dict[str, Expression] = {}
        self._declare()

    def _parsed(self, text: str) -> tuple[Expression, str]:
        try:
            clause = parse_condition(text)
        except SpecError as error:
            raise UsageError(f"the clause '{text}' cannot be checked at a launch: {error.message}") from None
        if isinstance(clause, SameArray):
            raise UsageError(f"the clause '{text}' cannot be checked at a launch")
        return clause, text

    # ---------------------------------------------------------------------------------------- variables
    def _declare(self) -> None:
        """A parameter of the function for every number of a launch."""
        for position, each in enumerate(self.order):
            if isinstance(each, ArrayArgument):
                self._parameter(f"a{position}", f"{each.name}.address", None)
                for dim, size in enumerate(each.shape):
                    self._parameter(f"a{position}_{dim}", f"{each.name}.shape[{dim}]", size)
                for dim in range(len(each.shape)):
                    stride = None if each.strides is None else each.strides[dim]
                    self._parameter(f"s{position}_{dim}", f"{each.name}.strides[{dim}]", stride)
            elif ELEMENT_TYPES[each.dtype].kind != "f":
                self._parameter(f"v{position}", each.name, each.value)
        for axis, name in enumerate(GRID_NAMES):
            self._parameter(f"g{axis}", name, self.spec.grid[axis] if self.spec.grid else None)

    def _parameter(self, local: str, name: str, meaning: Expression | None) -> None:
        self.parameters.append(local)
        self.locals[name] = local
        if meaning is not None:
            self.places[local] = meaning

    # -------------------------------------------------------------------------------------------- guard
    def guard(self) -> Guard:
        found, compared = readings(self.places, set(self.locals))
        lines = []
        checks: list[Check] = []
        for number, reading in enumerate(found):
            local = f"n{number}"
            value = f"({reading.source} + ({self._code(reading.shift)}))"
            if reading.factor > 1:
                text = f"{self._said(reading.source)} is {print_expression(self.places[reading.source])}"
                checks.append(Check(f"{value} % {reading.factor} == 0", text))
                lines.append(self._test(checks, len(checks) - 1))
            self.locals[reading.name] = local
            lines.append(f"{local} = {value} // {reading.factor}")
            # Whatever sizes and strides are made of is not negative.
            checks.append(Check(f"0 <= {local}", f"{reading.name} is negative"))
            lines.append(self._test(checks, len(checks) - 1))
        bound = list(lines)
        for check in self._conditions(compared):
            checks.append(check)
            lines.append(self._test(checks, len(checks) - 1))
        head = f"def admit({', '.join(self.parameters)}):"
        body = ["try:", *(f"    {line}" for line in [*lines, "return -1"])]
        body += ["except ArithmeticError:", f"    return {self._undefined(checks)}"]
        source = "\n".join([head, *(f"    {line}" for line in body)])
        plain = [line for line in bound if not line.startswith("if ")]
        return Guard(
            kernel=self.spec.kernel,
            order=self.order,
            checks=tuple(checks),
            data=self.spec.data,
            source=source,
            admit=_function(source, "admit"),
            names=dict(self.locals),
            covering=self._covering(plain),
            _locals=self._revealing(plain),
        )

    def _undefined(self, checks: list[Check]) -> int:
        checks.append(Check("", "a clause of the contract divides by zero, or takes too large a power"))
        return len(checks) - 1

    def _test(self, checks: Sequence[Check], number: int) -> str:
        return f"if not ({checks[number].source}): return {number}"

    def _revealing(self, lines: Sequence[str]) -> Callable[..., Mapping[str, int]]:
        inner = [*lines, "return locals()"]
        source = "\n".join([f"def reveal({', '.join(self.parameters)}):", *(f"    {line}" for line in inner)])
        return _function(source, "reveal")

    def _said(self, local: str) -> str:
        return next(name for name, each in self.locals.items() if each == local)

    # --------------------------------------------------------------------------------------- conditions
    def _conditions(self, compared: Mapping[str, Expression]) -> Iterator[Check]:
        """The standing facts of every launch first, then what the contract adds."""
        yield from self._fitting()
        yield from self._layouts()
        for local, expression in compared.items():
            text = f"{self._said(local)} is {print_expression(expression)}"
            yield Check(f"{local} == ({self._code(expression)})", f"it is not so that {text}")
        for index, clause in enumerate(self.spec.requires):
            texts = self.spec.requires_text
            if isinstance(clause, SameArray):
                yield from self._same(clause)
            else:
                text = texts[index] if len(texts) == len(self.spec.requires) else print_expression(clause)
                yield self._clause(clause, text)
        for expression, text in self.clauses:
            yield self._clause(expression, text)
        yield from self._facts()
        yield from self._apart()

    def _clause(self, expression: Expression, text: str) -> Check:
        return Check(self._code(expression), f"'{text}' does not hold")

    def _facts(self) -> Iterator[Check]:
        """What a fact on contents is about has to be a number, also where nobody looks at the contents."""
        for fact in self.spec.data:
            text = fact.text or print_data_fact(fact)
            for expression in expressions_of(fact):
                if may_be_undefined(expression):
                    yield Check(f"isinstance({self._code(expression)}, int)", f"'{text}' says nothing")
            least = meaning_of(fact).least
            for part in (fact.amount, fact.width):
                if least is not None and part is not None:
                    yield Check(f"{least} <= {self._code(part)}", f"'{text}' is of {fact.kind} of less than {least}")

    def _fitting(self) -> Iterator[Check]:
        for axis in grid_ranges(self.spec.grid):
            yield self._within(axis, f"{axis.name} is not between {axis.low} and {axis.high}")
        for position, each in enumerate(self.order):
            if isinstance(each, ArrayArgument):
                for dim, stride in array_ranges(each):
                    yield self._within(dim, f"a size of `{each.name}` does not fit i{each.index_bits}")
                    yield self._within(
                        stride, f"a stride of `{each.name}` is negative or does not fit i{each.index_bits}"
                    )
                size = ELEMENT_TYPES[each.dtype].bits // 8
                if size > 1:
                    yield Check(f"a{position} % {size} == 0", f"`{each.name}` is not aligned to its elements")
            elif (known := scalar_range(each)) is not None:
                yield self._within(known, f"`{each.name}` does not fit {each.dtype}")

    def _within(self, known: NumberRange, text: str) -> Check:
        return Check(f"{known.low} <= {self.locals[known.name]} <= {known.high}", text)

    def _layouts(self) -> Iterator[Check]:
        """Contiguous arrays are; in others no two elements share memory, where the contract does not say so."""
        for position, each in enumerate(self.order):
            if not isinstance(each, ArrayArgument):
                continue
            rank = len(each.shape)
            if each.strides is None:
                expected = "1"
                for dim in reversed(range(rank)):
                    yield Check(f"s{position}_{dim} == {expected}", f"`{each.name}` is not contiguous")
                    expected = f"a{position}_{dim}" if expected == "1" else f"{expected} * a{position}_{dim}"
            elif not may_overlap_itself(each) and rank:
                sizes = ", ".join(f"a{position}_{dim}" for dim in range(rank))
                strides = ", ".join(f"s{position}_{dim}" for dim in range(rank))
                yield Check(f"apart(({sizes},), ({strides},))", f"elements of `{each.name}` share memory")

    def _same(self, clause: SameArray) -> Iterator[Check]:
        first, second = (self._position(name) for name in (clause.first, clause.second))
        rank = len(self.order[first].shape) if isinstance(self.order[first], ArrayArgument) else 0  # type: ignore[union-attr]
        equal = [f"a{first} == a{second}"]
        equal += [f"{kind}{first}_{dim} == {kind}{second}_{dim}" for dim in range(rank) for kind in "as"]
        yield Check(" and ".join(equal), f"`{clause.first}` is not the same array as `{clause.second}`")

    def _apart(self) -> Iterator[Check]:
        """TV501: distinct arguments do not overlap, where one of both is written."""
        together = self.spec.sharing()
        arrays = [(p, each) for p, each in enumerate(self.order) if isinstance(each, ArrayArgument)]
        for index, (p, one) in enumerate(arrays):
            for q, other in arrays[index + 1 :]:
                if any({one.name, other.name} <= group for group in together):
                    continue
                if one.name in self.written or other.name in self.written:
                    yield Check(
                        f"{self._end(p, one)} <= a{q} or {self._end(q, other)} <= a{p}",
                        f"`{one.name}` and `{other.name}` overlap in memory, and the contract says that they do not",
                        TV.LAUNCH_OVERLAP,
                    )

    def _end(self, position: int, array: ArrayArgument) -> str:
        """The address behind the last element; of an empty array its own."""
        dims = range(len(array.shape))
        reach = " + ".join(["1", *(f"(a{position}_{dim} - 1) * s{position}_{dim}" for dim in dims)])
        size = ELEMENT_TYPES[array.dtype].bits // 8
        full = " and ".join(f"a{position}_{dim}" for dim in dims)
        reach = f"(({reach}) if {full} else 0)" if full else "1"
        return f"a{position} + {size} * {reach}"

    def _position(self, name: str) -> int:
        return next(position for position, each in enumerate(self.order) if each.name == name)

    # ------------------------------------------------------------------------------------ covering grid
    def _covering(self, lines: Sequence[str]) -> Callable[..., Grid] | None:
        """The grid that a launch without one gets: the contract's own, or the largest that its clauses admit."""
        axes = []
        for axis, name in enumerate(GRID_NAMES):
            expression = self.spec.grid[axis] if self.spec.grid else self._largest(name)
            if expression is None or free_names(expression) & set(GRID_NAMES):
                return None
            axes.append(f"max(1, {self._code(expression)})" if self.spec.grid is None else self._code(expression))
        unread = [line for line in lines if not any(f"g{axis}" in _words(line) for axis in range(3))]
        parameters = [each for each in self.parameters if each not in ("g0", "g1", "g2")]
        text = [f"def covering({', '.join(parameters)}):", *(f"    {line}" for line in unread)]
        text.append(f"    return ({', '.join(axes)})")
        return _function("\n".join(text), "covering")

    def _largest(self, axis: str) -> Expression | None:
        """What a clause says the axis is, or may be at most; unique clauses only."""
        expressions = [clause for clause in self.spec.requires if not isinstance(clause, SameArray)]
        expressions += [expression for expression, _ in self.clauses]
        found = []
        for each in expressions:
            if isinstance(each, Apply) and len(each.args) == 2 and each.op in ("==", "<="):
                left, right = each.args
                if left == Name(axis):
                    found.append(right)
        return found[0] if len(found) == 1 else None

    # --------------------------------------------------------------------------------------------- code
    def _code(self, expression: Expression) -> str:
        match expression:
            case Number(value):
                return f"({value})"
            case Name(name):
                if name not in self.locals:
                    raise UsageError(f"the contract of {self.spec.kernel} speaks of '{name}', which no launch shows")
                return self.locals[name]
            case Apply(op, args):
                if (known := constant_value(expression)) is not None:  # `2 ** 31` is no call at every launch
                    return f"({known})"
                return OPERATORS[op].python([self._code(each) for each in args])
        raise AssertionError(expression)


def _passed(arguments: Sequence[Argument]) -> Iterator[ArrayArgument | ScalarArgument]:
    """What a launch passes, tuples flattened; a constant is compiled in."""
    for argument in flat(arguments):
        if isinstance(argument, ListArgument):
            raise UsageError(f"a launch with the list `{argument.name}` cannot be guarded yet")
        if isinstance(argument, ArrayArgument | ScalarArgument):
            yield argument


def _words(source: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in source).split())


def _function(source: str, name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"apart": apart, "power": power}
    exec(compile(source, "<launch contract>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


# ---------------------------------------------------------------------------------------------------------------- names
# Which numbers of a launch give the free names of its contract their values.
#
# A name is read off where it stands alone (``f16[M, K]``, a scalar, a grid axis), or where it is the only unknown of a
# linear expression (``f16[2 * K]``, ``f32[N + 1]``).


@dataclass(frozen=True, slots=True)
class Reading:
    """``name = (source + shift) // factor``, and ``source + shift`` has to be divisible by ``factor``."""

    name: str
    source: str
    shift: Expression
    factor: int


def readings(places: Mapping[str, Expression], known: set[str]) -> tuple[list[Reading], dict[str, Expression]]:
    """How the names in ``places`` (variable of a number -> what it is in the contract) get values, in order.

    ``known`` names have values already.  Also returned: the places that have to be compared, as they give no name.
    """
    found: list[Reading] = []
    known = set(known)
    left = dict(places)
    progress = True
    while progress:
        progress = False
        for alone in (True, False):
            for source, expression in list(left.items()):
                reading = _read(source, expression, known)
                if reading is not None and (isinstance(expression, Name) or not alone):
                    found.append(reading)
                    known.add(reading.name)
                    del left[source]
                    progress = True
                    break
            if progress:
                break
    return found, left


def _read(source: str, expression: Expression, known: set[str]) -> Reading | None:
    """``expression`` solved for its one unknown name, if it is linear in it with a whole factor."""
    unknown = free_names(expression) - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    factor, rest = _linear(expression, name) or (0, Number(0))
    return Reading(name, source, Apply("neg", (rest,)), factor) if factor > 0 else None


def _linear(expression: Expression, name: str) -> tuple[int, Expression] | None:
    """``expression = factor * name + rest``."""
    if expression == Name(name):
        return 1, Number(0)
    if name not in free_names(expression):
        return 0, expression
    assert isinstance(expression, Apply)
    if expression.op not in ("+", "-", "*") or len(expression.args) != 2:
        return None
    first, second = (_linear(each, name) for each in expression.args)
    if first is None or second is None:
        return None
    if expression.op == "*":
        one, other = expression.args
        if isinstance(one, Number):
            return one.value * second[0], Apply("*", (one, second[1]))
        if isinstance(other, Number):
            return other.value * first[0], Apply("*", (first[1], other))
        return None
    sign = 1 if expression.op == "+" else -1
    return first[0] + sign * second[0], Apply(expression.op, (first[1], second[1]))
