"""From a launch as written to a :class:`~.launch.LaunchSpec`: every name resolved, every mistake named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast, get_args

from ..system.errors import SpecError
from .allowed import read_allow
from .arguments import check_extent, is_text_or_integer, read_argument, suggestion
from .data_facts import parse_data_fact
from .declared_calls import read_calls
from .element_types import ELEMENT_TYPES
from .expression_parser import parse_condition, parse_size
from .expressions import constant_value, free_names, print_expression, substitute
from .facts.kinds import meaning_of
from .launch import (
    GRID_MAX,
    Apply,
    Argument,
    ArrayArgument,
    DataFact,
    DeclaredCall,
    Expression,
    KernelParameter,
    LaunchSpec,
    ListArgument,
    Number,
    Order,
    Origin,
    SameArray,
    ScalarArgument,
    flat,
    with_expressions,
)
from .scope import LaunchNames, flatten, read_names
from .spec_files import RawLaunch
from .strides import check_meanings
from .trustable import ALLOW, limits_are_denied, read_trust


def build_launch(raw: RawLaunch, name: str, parameters: Sequence[KernelParameter] | None) -> LaunchSpec:
    """The launch spec of ``raw`` for a kernel with these parameters (``None``: bytecode, where nobody knows them).

    Raises :class:`~tileverify.system.errors.SpecError` that names file, launch and field.
    """
    builder = _Builder(raw, parameters)
    given = builder.arguments()
    scope = builder.scope
    names = builder.names()
    arguments = tuple(scope.resolved(argument) for argument in given)
    grid, grid_words = builder.grid(arguments)
    requires, requires_text = builder.requires()
    if "grid" not in raw.fields:
        agreed = builder.agreed(arguments)
        requires, requires_text = (*requires, *agreed), (*requires_text, *map(print_expression, agreed))
    overlap = builder.groups("overlap")
    alias = builder.groups("alias")
    same = {frozenset({fact.first, fact.second}) for fact in requires if isinstance(fact, SameArray)}
    covered = [*alias, *overlap]
    overlap += tuple(sorted((pair for pair in same if not any(pair <= group for group in covered)), key=sorted))
    builder.all_used(names, (*(grid or ()), *requires))
    launch = LaunchSpec(
        kernel=raw.kernel,
        name=name,
        arguments=arguments,
        grid=grid,
        requires=requires,
        data=builder.facts("data"),
        observed=builder.facts("observed"),
        alias=alias,
        overlap=overlap,
        trust=builder.trust(),
        allow=builder.allow(),
        calls=builder.calls(),
        complete=builder.array_names("complete"),
        empty=builder.array_names("empty"),
        deny_limits=builder.deny_limits(),
        names=names,
        order=builder.order(),
        options=builder.options(),
        origin=builder.origin(),
        where=f"{raw.file}: {raw.label}",
        requires_text=requires_text,
        grid_text=grid_words,
        file=raw.file,
        line=raw.line,
    )
    builder.check_empty(launch)
    try:
        check_meanings(launch)
    except SpecError as error:
        raise builder.at("args", error) from None
    return launch


_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas")


class _Builder:
    def __init__(self, raw: RawLaunch, parameters: Sequence[KernelParameter] | None) -> None:
        self.raw = raw
        self.parameters = parameters
        self.scope = LaunchNames()

    def at(self, where: str, error: SpecError) -> SpecError:
        return self.raw.error(where, error.message)

    # -- arguments -----------------------------------------------------------------------------------
    def arguments(self) -> tuple[Argument, ...]:
        given = self.raw.fields.get("args", {})
        if not isinstance(given, Mapping):
            raise self.raw.error("args", "must be a table with one entry for each parameter")
        pairs: Iterable[tuple[str, object, KernelParameter | None]]
        if self.parameters is None:
            pairs = [(name, value, None) for name, value in given.items()]
        else:
            self._check_names(given, self.parameters)
            pairs = [(p.name, given.get(p.name, p.default), p) for p in self.parameters]
        arguments = []
        for name, value, parameter in pairs:
            try:
                arguments.append(read_argument(name, value, parameter))
            except SpecError as error:
                raise self.at(f"args.{name}", error) from None
        self.scope.declare(arguments)
        self._check_expressions(arguments)
        return tuple(arguments)

    def _check_names(self, given: Mapping[str, object], parameters: Sequence[KernelParameter]) -> None:
        names = [parameter.name for parameter in parameters]
        missing = [p.name for p in parameters if p.name not in given and not p.has_default]
        extra = [name for name in given if name not in names]
        problems = []
        if missing:
            problems.append(f"missing {_quoted(missing)}")
        problems.extend(f"'{name}' is no parameter{suggestion(name, missing or names)}" for name in extra)
        if problems:
            parameters_text = f"'{self.raw.kernel}' has the parameters {', '.join(names) or '(none)'}"
            raise self.raw.error("args", f"{'; '.join(problems)}; {parameters_text}")

    def _check_expressions(self, arguments: Iterable[Argument]) -> None:
        for argument in flatten(arguments):
            try:
                match argument:
                    case ArrayArgument(shape=shape, strides=strides, index_bits=bits):
                        for what, sizes in (("size", shape), ("stride", strides or ())):
                            for size in sizes:
                                self.scope.check(size)
                                check_extent(substitute(size, self.scope.constants), what, bits)
                    case ScalarArgument(value=value) if value is not None:
                        self.scope.check(value)
                    case ListArgument(element=element, length=length):
                        self.scope.check(length)
                        for size in (*element.shape, *(element.strides or ())):
                            _check_element_names(size)
            except SpecError as error:
                raise self.at(f"args.{argument.name}", error) from None

    # -- the other fields ----------------------------------------------------------------------------
    def names(self) -> tuple[str, ...]:
        """Declared names, which the fields that are read behind this may use."""
        try:
            names = read_names(self.raw.fields.get("names", []), self.scope.taken())
        except SpecError as error:
            raise self.at("names", error) from None
        self.scope.integers.update(names)
        return names

    def all_used(self, names: Sequence[str], facts: Iterable[Expression | SameArray]) -> None:
        used = {name for fact in facts if not isinstance(fact, SameArray) for name in free_names(fact)}
        for number, name in enumerate(names):
            if name not in used:
                raise self.raw.error(f"names[{number}]", f"'{name}' stands neither in 'grid' nor in 'requires'")

    def grid(
        self, arguments: Sequence[Argument]
    ) -> tuple[tuple[Expression, Expression, Expression] | None, tuple[str, ...]]:
        if "grid" not in self.raw.fields:
            inferred = inferred_grid(arguments)
            return inferred, grid_text(inferred) if inferred else ()
        value = self.raw.fields["grid"]
        if not isinstance(value, list | tuple) or not all(is_text_or_integer(axis) for axis in value):
            raise self.raw.error("grid", 'must be a list of 1 to 3 expressions or integers, as in ["cdiv(M, 128)", 4]')
        if not 1 <= len(value) <= 3:
            raise self.raw.error("grid", f"has {len(value)} axes; a grid has 1 to 3")
        axes: list[Expression] = []
        for number, axis in enumerate(value):
            try:
                expression = parse_size(str(axis))
                self.scope.check(expression, grid=False)
                expression = substitute(expression, self.scope.constants)
                literal = constant_value(expression)
                if literal is not None and not 1 <= literal <= GRID_MAX:
                    raise SpecError(f"{literal} blocks; an axis has 1 to {GRID_MAX}")
                axes.append(expression)
            except SpecError as error:
                raise self.at(f"grid[{number}]", error) from None
        axes += [Number(1)] * (3 - len(axes))
        return (axes[0], axes[1], axes[2]), tuple(str(axis) for axis in value)

    def requires(self) -> tuple[tuple[Expression | SameArray, ...], tuple[str, ...]]:
        facts: list[Expression | SameArray] = []
        texts = self._texts("requires")
        for number, text in enumerate(texts):
            try:
                facts.append(self._fact(text))
            except SpecError as error:
                raise self.at(f"requires[{number}]", error) from None
        return tuple(facts), texts

    def _fact(self, text: str) -> Expression | SameArray:
        fact = parse_condition(text)
        if isinstance(fact, SameArray):
            self._check_same(fact)
            return fact
        self.scope.check_condition(fact)
        fact = substitute(fact, self.scope.constants)
        if constant_value(fact) == 0:
            raise SpecError(f"'{text}' never holds, so there is no launch to verify")
        return fact

    def _check_same(self, fact: SameArray) -> None:
        first, second = self.scope.array(fact.first), self.scope.array(fact.second)
        if first.dtype != second.dtype or len(first.shape) != len(second.shape):
            raise SpecError(f"'{fact.first}' and '{fact.second}' differ in type or rank and cannot be one array")
        for dim, sizes in enumerate(zip(first.shape, second.shape, strict=True)):
            left, right = (constant_value(substitute(size, self.scope.constants)) for size in sizes)
            if left is not None and right is not None and left != right:
                raise SpecError(f"'{fact.first}' and '{fact.second}' differ in size {dim}: {left} and {right}")

    def facts(self, key: str) -> tuple[DataFact, ...]:
        """The facts of ``data`` or ``observed``."""
        facts = []
        for number, text in enumerate(self._texts(key)):
            try:
                facts.append(self._data_fact(text))
            except SpecError as error:
                raise self.at(f"{key}[{number}]", error) from None
        return tuple(facts)

    def _data_fact(self, text: str) -> DataFact:
        fact = parse_data_fact(text)
        meaning = meaning_of(fact)
        for name in fact.arrays:
            array = self.scope.array(name)
            if not ELEMENT_TYPES[array.dtype].is_integer:
                raise SpecError(f"'{name}' holds {array.dtype}; facts about data speak of integer arrays")
            problem = meaning.misplaced(array)
            if problem is not None:
                raise SpecError(problem)
        self.scope.check_fact(fact)
        fact = with_expressions(fact, lambda expression: substitute(expression, self.scope.constants))
        least = meaning.least
        for part in (fact.amount, fact.width):
            number = None if part is None else constant_value(part)
            if least is not None and number is not None and number < least:
                raise SpecError(f"{fact.kind} of {number}; the number must be at least {least}")
        return fact

    def groups(self, key: str) -> tuple[frozenset[str], ...]:
        """The groups of ``alias`` or ``overlap``."""
        value = self.raw.fields.get(key, [])
        if not isinstance(value, list | tuple) or any(not isinstance(group, list | tuple) for group in value):
            raise self.raw.error(key, f'must be a list of groups, as in {key} = [["x", "out"]]')
        for number, group in enumerate(value):
            where = f"{key}[{number}]"
            for name in group:
                if name not in self.scope.arrays and name not in self.scope.lists:
                    known = suggestion(str(name), [*self.scope.arrays, *self.scope.lists])
                    raise self.raw.error(where, f"'{name}' is not an array or list argument of this launch{known}")
            lone = len(group) == 1 and group[0] not in self.scope.lists
            if not group or lone or len(set(group)) != len(group):
                told = "a group names two or more different arguments, each once, or one list, whose arrays overlap"
                raise self.raw.error(where, told)
        return tuple(frozenset(group) for group in value)

    def array_names(self, key: str) -> tuple[str, ...]:
        """The arrays of ``complete`` or ``empty``, each once."""
        names = self._texts(key)
        for number, name in enumerate(names):
            where = f"{key}[{number}]"
            if name in self.scope.lists:
                raise self.raw.error(where, f"'{name}' is a list; only arrays can be {key}")
            if name not in self.scope.arrays:
                known = suggestion(name, list(self.scope.arrays))
                raise self.raw.error(where, f"'{name}' is not an array argument of this launch{known}")
            if name in names[:number]:
                raise self.raw.error(where, f"'{name}' stands there twice")
        return names

    def check_empty(self, launch: LaunchSpec) -> None:
        """What an empty array holds is nobody's to say, nor that of another array in the same memory."""
        for number, name in enumerate(launch.empty):
            for key, facts in (("data", launch.data), ("observed", launch.observed)):
                said = next((fact for fact in facts if name in fact.arrays), None)
                if said is not None:
                    raise self.raw.error(f"empty[{number}]", f"'{name}' is empty, but {key} says what it holds")
            beside = sorted({other for group in launch.sharing() if name in group for other in group} - {*launch.empty})
            if beside:
                raise self.raw.error(f"empty[{number}]", f"'{name}' may overlap '{beside[0]}', which is not empty")

    def agreed(self, arguments: Sequence[Argument]) -> tuple[Expression, ...]:
        """What partitions say of each other where their grid is the launch's."""
        try:
            return agreements(arguments)
        except SpecError as error:
            raise self.at("args", error) from None

    def trust(self) -> tuple[str, ...]:
        try:
            return read_trust(self.raw.fields.get("trust", []))
        except SpecError as error:
            raise self.at("trust", error) from None

    def allow(self) -> tuple[str, ...]:
        try:
            return read_allow(self.raw.fields.get("allow", []), self.scope.arrays)
        except SpecError as error:
            raise self.at("allow", error) from None

    def calls(self) -> tuple[DeclaredCall, ...]:
        try:
            return read_calls(self.raw.fields.get("calls", {}), self.scope.arrays)
        except SpecError as error:
            raise self.at("calls", error) from None

    def deny_limits(self) -> bool:
        try:
            return limits_are_denied(self.raw.fields.get("limits", ALLOW))
        except SpecError as error:
            raise self.raw.error("limits", f"must be {error.message}") from None

    def order(self) -> Order:
        value = self.raw.fields.get("order", "triton")
        for known in get_args(Order):
            if value == known:
                return cast(Order, known)
        near = suggestion(value, get_args(Order)) if isinstance(value, str) else ""
        raise self.raw.error("order", f"must be one of {_quoted(get_args(Order))}{near}")

    def options(self) -> tuple[tuple[str, Any], ...]:
        """Options of Triton's compiler, such as ``num_warps``, sorted by name."""
        value = self.raw.fields.get("options", {})
        if not isinstance(value, Mapping):
            raise self.raw.error("options", "must be a table, as in { num_warps = 4, num_stages = 3 }")
        for name, number in value.items():
            if name not in _OPTIONS:
                raise self.raw.error(f"options.{name}", f"is no option{suggestion(name, _OPTIONS)}")
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise self.raw.error(f"options.{name}", "must be a positive integer")
        return tuple(sorted(value.items()))

    def origin(self) -> Origin:
        # Nobody but a recording writes what it observed.
        value = self.raw.fields.get("origin", "recorded" if "observed" in self.raw.fields else "written")
        known = get_args(Origin)
        for origin in known:
            if value == origin:
                return cast(Origin, origin)
        near = suggestion(value, known) if isinstance(value, str) else ""
        raise self.raw.error("origin", f"must be one of {_quoted(known)}{near}")

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self.raw.fields.get(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise self.raw.error(key, "must be a list of strings")
        return tuple(value)


def _check_element_names(size: Expression) -> None:
    members = sorted(name for name in free_names(size) if "." in name or "[" in name)
    if members:
        raise SpecError(f"'{members[0]}': the sizes inside a list are each element's own, named by plain names")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# ----------------------------------------------------------------------------------------------------------- partitions
# The grid that partitioned outputs give a launch, as the launcher of cuTile Rust infers it.
#
#     blocks along axis k of the grid  =  ceil(size k of the tensor / size k of its tile)
#
# Every partition has such a grid, and the launcher refuses a launch in which two of them differ
# (`partition_launch_grid` and `GridBound::Exact` in ``cutile/src/tensor.rs`` of NVlabs/cutile-rs).


Grid: TypeAlias = tuple[Expression, Expression, Expression]


def inferred_grid(arguments: Sequence[Argument]) -> Grid | None:
    """The grid of the first partition; ``None`` where there is none."""
    return next(_grids(arguments), None)


def agreements(arguments: Sequence[Argument]) -> tuple[Expression, ...]:
    """What makes the grids of all partitions one: equations, for those that are not written alike.

    Raises `SpecError` where they are different numbers.
    """
    grids = list(_grids(arguments))
    pairs = dict.fromkeys((a, b) for other in grids[1:] for a, b in zip(grids[0], other, strict=True) if a != b)
    if any(isinstance(a, Number) and isinstance(b, Number) for a, b in pairs):
        raise SpecError("the partitions of two outputs have different numbers of tiles, so there is no launch")
    return tuple(Apply("==", pair) for pair in pairs)


def grid_text(grid: Grid) -> tuple[str, ...]:
    """The axes in words, without those behind the last that is not 1."""
    axes = [*map(print_expression, grid)]
    while len(axes) > 1 and axes[-1] == "1":
        axes.pop()
    return tuple(axes)


def _grids(arguments: Sequence[Argument]) -> Iterator[Grid]:
    for array in flat(arguments):
        if isinstance(array, ArrayArgument) and array.partition is not None:
            axes = [_tiles(size, tile) for size, tile in zip(array.shape, array.partition, strict=True)]
            axes += [Number(1)] * (3 - len(axes))
            yield axes[0], axes[1], axes[2]


def _tiles(size: Expression, tile: int) -> Expression:
    if isinstance(size, Number):
        return Number(-(-size.value // tile))
    return size if tile == 1 else Apply("cdiv", (size, Number(tile)))
