"""Kernels without a launch spec: make one up, have cuTile judge it, and say so.

Ranks come from the kernel's own indexing, arrays are contiguous float32 (int32 where their contents are indices),
every ``ct.Constant`` without a default gets a usual tile size, and the grid may be anything.  What cuTile rejects is
changed one parameter at a time, those at the rejected line first, as long as the error moves on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...contract.arguments import print_description
from ...contract.launch import (
    INFERRED,
    Argument,
    ArrayArgument,
    ConstantArgument,
    Expression,
    KernelParameter,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
)
from ...system.errors import SourceError, TileVerifyError
from ...system.readings import cell_name
from .cutile import CutileKernel, EndlessRecursion, compile_kernel, function_of
from .usage import ParameterUse, parameter_uses

TILE_SIZES = (128, 64, 32, 16, 8, 256, 4, 2, 1, 512, 1024)
"""Values tried for a constant, the most usual first."""
MAX_COMPILATIONS = 80
UNKNOWN = '"..."'
"""Stands in a skeleton for what nobody can guess."""
_MAX_RANK = 5
_DATA_TYPES = ("i32", "f32", "f16", "bool", "u8", "i64")
_DATA_TYPE_WORDS = ("dtype", "data type", "cast", "type of", "float", "int32")
"""Words of an error of cuTile's that is about element types."""

Choice = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A choice of one alternative for every parameter, and how far cuTile got with it (line of its error)."""

    choice: Choice
    unit: KernelUnit | None
    error: TileVerifyError | None

    @property
    def progress(self) -> int:
        return -1 if self.error is None or self.error.line is None else self.error.line


def infer_unit(kernel: CutileKernel) -> KernelUnit:
    """A unit for a kernel that nobody wrote a spec for.

    Raises :class:`SourceError`, with a spec to start from, where no guess compiles.
    """
    uses = parameter_uses(function_of(kernel.kernel))
    alternatives = {p.name: tuple(_alternatives(p, uses[p.name], kernel.names())) for p in kernel.parameters}
    for name, choices in alternatives.items():
        if not choices:
            raise _give_up(kernel, uses, f"nothing can be guessed for its parameter '{name}'")
    search = _Search(kernel, uses, alternatives)
    attempt = search.run()
    if attempt.unit is None:
        assert attempt.error is not None
        if isinstance(attempt.error, EndlessRecursion):
            raise attempt.error
        raise _give_up(kernel, uses, f"no guess of its arguments compiles ({attempt.error.message})", attempt.error)
    return attempt.unit


class _Search:
    def __init__(
        self,
        kernel: CutileKernel,
        uses: Mapping[str, ParameterUse],
        alternatives: Mapping[str, tuple[Argument, ...]],
    ) -> None:
        self.kernel = kernel
        self.uses = uses
        self.alternatives = alternatives
        self.tried: set[tuple[int, ...]] = set()

    def run(self) -> _Attempt:
        """Compile the best guess, then follow whatever change lets cuTile come further."""
        attempt = self._try(dict.fromkeys(self.alternatives, 0))
        while attempt.unit is None and not isinstance(attempt.error, EndlessRecursion):
            better = next((each for each in self._neighbours(attempt) if _is_better(each, attempt)), None)
            if better is None:
                return attempt
            attempt = better
        return attempt

    def _neighbours(self, attempt: _Attempt) -> Iterator[_Attempt]:
        for changes in self._changes(attempt):
            choice = {**attempt.choice, **changes}
            if tuple(choice.values()) not in self.tried:
                if len(self.tried) >= MAX_COMPILATIONS:
                    return
                yield self._try(choice)

    def _changes(self, attempt: _Attempt) -> Iterator[Choice]:
        """Changes to try, the likeliest to mend the error first."""
        line = attempt.progress
        message = attempt.error.message.lower() if attempt.error else ""
        order = sorted(self.alternatives, key=lambda name: (self._distance(name, line), name))
        near = [name for name in order if line in self.uses[name].lines]
        if any(word in message for word in _DATA_TYPE_WORDS):
            yield from (change for name in order for change in self._data_types([name], attempt.choice))
            yield from self._data_types(order, attempt.choice)
        for name in near:
            yield from self._each(name)
        yield from self._sizes_together()
        for name in order:
            yield from self._each(name)

    def _each(self, name: str) -> Iterator[Choice]:
        return ({name: index} for index in range(len(self.alternatives[name])))

    def _sizes_together(self) -> Iterator[Choice]:
        """One tile size for all constants: what is rejected is mostly their product or their inequality."""
        names = [name for name, choices in self.alternatives.items() if _is_size(choices)]
        return (dict.fromkeys(names, index) for index in range(len(TILE_SIZES)) if names)

    def _data_types(self, names: Sequence[str], choice: Choice) -> Iterator[Choice]:
        """The same arguments with another element type each time."""
        for dtype in _DATA_TYPES:
            change: dict[str, int] = {}
            for name in names:
                current = self.alternatives[name][choice[name]]
                for index, other in enumerate(self.alternatives[name]):
                    if _element_type(current) and other == _with_element_type(current, dtype):
                        change[name] = index
            if change:
                yield change

    def _distance(self, name: str, line: int) -> int:
        return min((abs(line - each) for each in self.uses[name].lines), default=1 << 30)

    def _try(self, choice: Choice) -> _Attempt:
        self.tried.add(tuple(choice.values()))
        arguments = tuple(self.alternatives[name][index] for name, index in choice.items())
        spec = LaunchSpec(
            kernel=self.kernel.name,
            name=INFERRED,
            arguments=arguments,
            file=str(self.kernel.file),
            origin="inferred",
            notes=_notes(arguments, self.kernel),
        )
        try:
            return _Attempt(choice, compile_kernel(self.kernel, spec), None)
        except TileVerifyError as error:
            return _Attempt(choice, None, error)


def _is_better(new: _Attempt, old: _Attempt) -> bool:
    return new.unit is not None or new.progress > old.progress


def _is_size(choices: tuple[Argument, ...]) -> bool:
    return len(choices) == len(TILE_SIZES) and isinstance(choices[0], ConstantArgument)


def _element_type(argument: Argument) -> str | None:
    if isinstance(argument, ListArgument):
        return argument.element.dtype
    return argument.dtype if isinstance(argument, ArrayArgument) else None


def _with_element_type(argument: Argument, dtype: str) -> Argument:
    if isinstance(argument, ListArgument):
        return replace(argument, element=replace(argument.element, dtype=dtype))
    return replace(argument, dtype=dtype) if isinstance(argument, ArrayArgument) else argument


# --------------------------------------------------------------------------------------- alternatives
def _alternatives(parameter: KernelParameter, use: ParameterUse, taken: frozenset[str]) -> Iterator[Argument]:
    """What a parameter may be, the likeliest first."""
    name = parameter.name
    if parameter.has_default:
        yield _default(parameter)
    elif parameter.constant:
        yield from (ConstantArgument(name, value) for value in _constants(parameter, use))
    elif parameter.scalar_dtype is not None:
        yield ScalarArgument(name, parameter.scalar_dtype)
    elif parameter.items is None and parameter.each is None:
        yield from _runtime_alternatives(parameter, use, taken)


def _default(parameter: KernelParameter) -> Argument:
    value: Any = parameter.default
    if parameter.constant or not isinstance(value, bool | int | float):
        return ConstantArgument(parameter.name, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return ScalarArgument(parameter.name, parameter.scalar_dtype or "i32", Number(value))
    return ScalarArgument(parameter.name, "bool" if isinstance(value, bool) else "f32")


def _constants(parameter: KernelParameter, use: ParameterUse) -> tuple[Any, ...]:
    if parameter.hint == "bool":
        return (False, True)
    if parameter.hint == "float":
        return (1.0,)
    if parameter.hint not in (None, "int"):
        return ()
    return (0, 1, 2) if use.axis and not use.tile_size else TILE_SIZES


def _runtime_alternatives(parameter: KernelParameter, use: ParameterUse, taken: frozenset[str]) -> Iterator[Argument]:
    name = parameter.name
    scalars = ["i32", "f32"] if use.integer else ["f32", "i32"]
    if parameter.hint in ("int", "bool", "float"):
        scalars = {"int": ["i32"], "bool": ["bool"], "float": ["f32"]}[parameter.hint]
    known_array = use.array or use.list or parameter.index_bits is not None
    if not known_array:
        yield from (ScalarArgument(name, dtype) for dtype in scalars)
    ranks = [use.rank or max(use.least_rank, 1)]
    ranks += [rank for rank in range(max(use.least_rank, 1), _MAX_RANK) if rank not in ranks]
    dtypes = ["i32", "f32"] if use.holds_indices else ["f32", "i32"]
    for rank in ranks:
        for dtype in (*dtypes, *(other for other in _DATA_TYPES if other not in dtypes)):
            array = _array(parameter, rank, dtype, taken)
            yield ListArgument(name, array, Name(_fresh(f"{name}_length", taken))) if use.list else array
    if known_array:
        yield from (ScalarArgument(name, dtype) for dtype in scalars)


def _array(parameter: KernelParameter, rank: int, dtype: str, taken: frozenset[str]) -> ArrayArgument:
    fixed = {dim % rank for dim in (*parameter.static_shape, *parameter.static_strides) if -rank <= dim < rank}
    # A static stride is a product of the sizes behind it, so all of those must be numbers.
    for dim in parameter.static_strides:
        fixed.update(range(dim % rank, rank))
    shape: tuple[Expression, ...] = tuple(
        Number(TILE_SIZES[0]) if dim in fixed else Name(_fresh(f"{parameter.name}{dim}", taken)) for dim in range(rank)
    )
    return ArrayArgument(parameter.name, dtype, shape, index_bits=parameter.index_bits or 32)


def _fresh(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "_"
    return name


# ---------------------------------------------------------------------------------------------- words
def _notes(arguments: tuple[Argument, ...], kernel: CutileKernel) -> tuple[str, ...]:
    """What was made up, for the report."""
    written = "; ".join(f"{argument.name} = {print_description(argument)}" for argument in arguments)
    defaults = {parameter.name for parameter in kernel.parameters if parameter.has_default}
    chosen = [a for a in arguments if isinstance(a, ConstantArgument) and a.name not in defaults]
    notes = [f"no launch spec: assumed {written or 'no arguments'}, any grid"]
    if chosen:
        values = ", ".join(f"{each.name} = {each.value}" for each in chosen)
        notes.append(f"the result holds for {values} only; other values need a launch spec")
    return tuple(notes)


def _give_up(
    kernel: CutileKernel, uses: Mapping[str, ParameterUse], reason: str, cause: TileVerifyError | None = None
) -> SourceError:
    place: tuple[str | None, int | None, int | None] = (str(kernel.file), kernel.line, None)
    if isinstance(cause, SourceError) and cause.line:
        place = (cause.file or str(kernel.file), cause.line, cause.column)
    if cell_name(str(kernel.file)) is not None:
        how = f"describe its arguments, for example:\n{_described_call(kernel, uses)}"
    else:
        how = f"describe a launch in {kernel.file.stem}.tileverify.toml, for example:\n{skeleton(kernel, uses)}"
    return SourceError(f"'{kernel.name}' has no launch spec and {reason}; {how}", *place)


def _described_call(kernel: CutileKernel, uses: Mapping[str, ParameterUse]) -> str:
    """What `skeleton` says, as the call that programs and notebooks make."""
    arguments = (f'"{name}": {guess}' for name, guess in _guesses(kernel, uses))
    return f'tileverify.check({kernel.name}, grid=["1"], args={{{", ".join(arguments)}}})'


def skeleton(kernel: CutileKernel, uses: Mapping[str, ParameterUse] | None = None) -> str:
    """A launch spec for the kernel with guesses to be corrected."""
    known = uses if uses is not None else parameter_uses(function_of(kernel.kernel))
    lines = ["[[launch]]", f'kernel = "{kernel.name}"', 'grid = ["1"]', "[launch.args]"]
    return "\n".join([*lines, *(f"{name} = {guess}" for name, guess in _guesses(kernel, known))])


def _guesses(kernel: CutileKernel, uses: Mapping[str, ParameterUse]) -> Iterator[tuple[str, str]]:
    """Each parameter with the likeliest description of it, as specs write it."""
    for parameter in kernel.parameters:
        guess = next(_alternatives(parameter, uses[parameter.name], kernel.names()), None)
        yield parameter.name, print_description(guess) if guess else UNKNOWN
