"""Values of the function symbols of a summary: what memory held at first, what an op gave, how often a loop went round.

The symbolic executor names what it does not follow after the op that brings it into being.  Here the interpreter's
value of that op stands for it, so that kernels which go by data can be compared, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.launch import Block
from ...contract.terms import Function, Sort, Term, TermKind
from ...contract.terms.evaluate import MEANINGS
from ...frontend.bytecode.model import Entry, Op, PointerType, TileType, Value
from ...frontend.symbolic.written import number
from ..interpreter import BlockLog, BoundLaunch, Budget, Memory, MemoryImage
from ..interpreter.grid_runs import run_schedule
from ..interpreter.machine import BlockInterpreter
from ..interpreter.ordering import Schedule
from ..interpreter.values import OVERFLOWED, UNSPECIFIED, Array, RuntimeValue, Tile, as_signed


class Disagreement(Exception):
    """The summary and the run say different things; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Made:
    """``rest + modulus * f`` is the value that an op gave, or one that a loop carries; ``after``: once it has ended."""

    value: Value
    modulus: int = 1
    rest: int = 0
    loop: Op | None = None
    after: Value | None = None


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many iterations a loop had, or ``less`` one, the number of its last one."""

    loop: Op
    less: int


Source: TypeAlias = Made | Rounds | None

_CARRIED: Final = re.compile(r"loop(\d+)\.(\d+)(?:\.-?\w+\.\.-?\w+)?(?:\.(-?\d+)mod(\d+))?")
_ROUNDS: Final = re.compile(r"(trips|last)(\d+)")
_PLACE: Final = re.compile(r"local#(\d+)\.address")
_RESULT: Final = re.compile(r"[\w:.]+#(\d+)(?:\.(\d+)|\.outside|\.masked)?")
_WORD: Final = re.compile(r"(.+)\[\]\.(address|(shape|strides)\[(\d+)\])")
_CONTENTS: Final = re.compile(r"(?:global )?(.+?)(\[\])?(?: as [a-zA-Z]*(\d+)\w*)?( at byte)?")


class SymbolSources:
    """Where the values of function symbols of an entry come from, by their names."""

    def __init__(self, entry: Entry) -> None:
        numbering = number(entry)
        self._ops = {place: op for op, place in numbering.ordinal.items()}
        self._loops = {place: op for op, place in numbering.loop.items()}
        self.loop_numbers = dict(numbering.loop)

    def loop(self, name: str) -> Op:
        """The op of the loop that a summary calls ``loop2``."""
        return self._loops[int(name.removeprefix("loop"))]

    def of(self, function: Function) -> Source:
        """``None`` for what no op made: contents of memory, or a symbol of the proof alone."""
        name = function.name
        if function.array is not None:
            return None
        if found := _ROUNDS.fullmatch(name):
            return Rounds(self._loops[int(found[2])], int(found[1] == "last"))
        if found := _CARRIED.fullmatch(name):
            loop, slot = self._loops[int(found[1])], int(found[2])
            carried = loop.regions[0].blocks[0].arguments[int(loop.name == "for") :]
            after = loop.results[slot] if loop.name == "for" else None
            return Made(carried[slot], int(found[4] or 1), int(found[3] or 0), loop, after)
        if found := _PLACE.fullmatch(name):
            op = self._ops[int(found[1])]
            return Made(op.results[0], op.attributes["align"])
        if found := _RESULT.fullmatch(name):
            return Made(self._ops[int(found[1])].results[int(found[2] or 0)])
        return None

    def watched(self, functions: Sequence[Function]) -> Iterator[Value]:
        """The values that a run has to keep for them."""
        for function in functions:
            source = self.of(function)
            if isinstance(source, Made):
                yield source.value
                if source.after is not None:
                    yield source.after


class FunctionValues:
    """The function symbols in one block of one launch."""

    def __init__(self, sources: SymbolSources, image: MemoryImage, record: BlockRecord) -> None:
        self._sources = sources
        self._image = image
        self._record = record
        self._initial = Memory(image)
        self._origins = {origin.name: origin for origin in reversed(image.origins)}

    def value(self, function: Function, args: Sequence[Known]) -> Known:
        """The value of an application.

        :raises Disagreement: it lies outside of what the summary says of the symbol.
        """
        if any(arg.open is not None and np.all(arg.open) for arg in args):
            return OPEN
        source = self._sources.of(function)
        match source:
            case Made():
                found = self._made(source, [arg.data for arg in args])
            case Rounds():
                found = self._rounds(source, [arg.data for arg in args])
            case _:
                found = self._of_memory(function, [arg.data for arg in args])
        opens = [arg.open for arg in args if arg.open is not None]
        for open_ in opens:
            found = Known(found.data, open_ if found.open is None else found.open | open_)
        self._check(function, found)
        return found

    def _check(self, function: Function, found: Known) -> None:
        if function.sort is Sort.BOOL or (found.open is not None and np.all(found.open)):
            return
        data = np.asarray(found.data)
        known = data if found.open is None else data[~np.broadcast_to(found.open, data.shape)]
        if not known.size:
            return
        low, high = int(known.min()), int(known.max())
        if (function.low is not None and low < function.low) or (function.high is not None and high > function.high):
            limits = f"from {function.low} to {function.high}"
            raise Disagreement(
                f"the proof takes '{function.name}' to lie {limits}, but in the run it reaches {low} to {high}"
            )

    # ---------------------------------------------------------------------------------- of the run
    def _rounds(self, source: Rounds, args: Sequence[Data]) -> Known:
        def at(context: Context) -> int | None:
            entered = self._record.entered.get((source.loop, context))
            return None if entered is None or entered < source.less else entered - source.less

        return _for_each(args, at)

    def _made(self, source: Made, args: Sequence[Data]) -> Known:
        assert isinstance(source.value.type, TileType)
        dims = [dim for dim, size in enumerate(source.value.type.shape) if size > 1]
        around, lanes = args[: len(args) - len(dims)], args[len(args) - len(dims) :]
        if not any(isinstance(each, np.ndarray) for each in around):
            return self._lanes_of(source, tuple(map(int, around)), dims, lanes)
        if dims:
            return OPEN  # values of several iterations at once are asked for scalars alone

        def at(context: Context) -> int | None:
            found = self._lanes_of(source, context, dims, ())
            return None if found.open is not None else int(found.data)

        return _for_each(around, at)

    def _lanes_of(self, source: Made, context: Context, dims: Sequence[int], lanes: Sequence[Data]) -> Known:
        kept = self._record.values.get((source.value, context))
        if kept is None and source.loop is not None and source.after is not None and context:
            around, time = context[:-1], context[-1]
            if self._record.entered.get((source.loop, around)) == time:
                kept = self._record.values.get((source.after, around))
        if not isinstance(kept, Tile):
            return OPEN
        data, open_ = self._numbers(source, kept)
        if not dims:
            data = data.reshape(())[()]
            if open_ is not None:
                return OPEN if open_.any() else Known(_plain(data))
            return Known(_plain(data))
        index: list[Data] = [0] * data.ndim
        outside: Data = False
        for dim, place in zip(dims, lanes, strict=True):
            inside = (place >= 0) & (place < data.shape[dim])
            outside = outside | ~np.asarray(inside)
            index[dim] = np.where(inside, place, 0).astype(np.int64)
        picked = data[tuple(index)]
        unknown = outside if open_ is None else outside | open_[tuple(index)]
        return Known(picked, unknown if np.any(unknown) else None)

    def _numbers(self, source: Made, tile: Tile) -> tuple[Array, Array | None]:
        """Signed lanes, and which of them the specification leaves open."""
        assert isinstance(source.value.type, TileType)
        element = source.value.type.element
        if isinstance(element, PointerType):
            data = tile.data.astype(np.int64)
            if source.loop is not None and tile.origin is not None:
                numbers = np.broadcast_to(tile.origin, data.shape)
                bases = np.array([origin.base for origin in self._image.origins], np.int64)
                data = data - bases[numbers]
        elif element.bits == 1:
            data = tile.data.astype(np.bool_)
        else:
            data = np.asarray(as_signed(tile.data, element.bits)).astype(np.int64)
        if source.modulus != 1 or source.rest:
            data = (data - source.rest) // source.modulus
        if tile.taint is None:
            return data, None
        open_ = (np.broadcast_to(tile.taint, data.shape) & (UNSPECIFIED | OVERFLOWED)) != 0
        return data, open_ if open_.any() else None

    # -------------------------------------------------------------------------------- of the launch
    def _of_memory(self, function: Function, args: Sequence[Data]) -> Known:
        if (found := _WORD.fullmatch(function.name)) and function.array is None:
            return self._word(found, args)
        named = _CONTENTS.fullmatch(function.array or function.name)
        if named is None or not args:
            return OPEN
        name, places = named[1], list(args)
        if named[2]:
            row = places.pop(0)
            if isinstance(row, np.ndarray):
                return OPEN
            name = f"{name}[{row}]"
        origin = self._origins.get(name)
        if origin is None:
            return OPEN
        width = max(int(named[3]) // 8, 1) if named[3] else origin.element_bytes
        if named[4]:
            offset = places[0]
        else:
            strides = origin.strides if origin.strides and len(origin.strides) == len(places) else (1,)
            offset = sum(place * stride for place, stride in zip(places, strides, strict=True)) * width
        return self._element(function, origin.allocation, origin.base, offset, width)

    def _element(self, function: Function, allocation: int, base: int, offset: Data, width: int) -> Known:
        memory = self._image.allocations[allocation]
        where = np.asarray(offset) + (base - memory.base)
        outside = (where < 0) | (where > memory.size - width) | (where % width != 0)
        if not memory.size:
            return OPEN
        raw = self._initial.load(allocation, np.where(outside, 0, where).astype(np.int64), width)
        if function.sort is Sort.BOOL:
            data = np.asarray(raw != 0)
        else:
            data = np.asarray(as_signed(raw, 8 * width)).astype(np.int64)
        if data.ndim == 0:
            return OPEN if outside else Known(_plain(data[()]))
        return Known(data, outside if outside.any() else None)

    def _word(self, found: re.Match[str], args: Sequence[Data]) -> Known:
        def at(context: Context) -> int | None:
            origin = self._origins.get(f"{found[1]}[{context[0]}]")
            if origin is None:
                return None
            if found[2] == "address":
                return origin.base
            layout = origin.shape if found[3] == "shape" else origin.strides
            return None if layout is None else layout[int(found[4])]

        return _for_each(args, at)


def _plain(data: Data) -> Data:
    return bool(data) if isinstance(data, np.bool_) else int(data)


def _for_each(args: Sequence[Data], at: Callable[[Context], int | None]) -> Known:
    """``at`` of every combination of the arguments, each of them asked once."""
    if not any(isinstance(arg, np.ndarray) for arg in args):
        value = at(tuple(map(int, args)))
        return OPEN if value is None else Known(value)
    spread = np.broadcast_arrays(*(np.asarray(arg) for arg in args))
    known: dict[Context, int | None] = {}
    flat = []
    for context in zip(*(each.reshape(-1).tolist() for each in spread), strict=True):
        if context not in known:
            known[context] = at(context)
        flat.append(known[context])
    open_ = np.array([value is None for value in flat]).reshape(spread[0].shape)
    data = np.array([value or 0 for value in flat], dtype=object).reshape(spread[0].shape)
    return Known(data.astype(np.int64), open_ if open_.any() else None)


# ---------------------------------------------------------------------------------------------------------- lane values
# Values of terms for all lanes at once, some of them not known.
#
# A value is one number for all lanes, or an array with an axis for each dimension of the tile (1 where it does not
# differ).  Nothing wraps: integers are int64 where that is enough, and Python's own otherwise.


Data: TypeAlias = int | np.integer[Any] | np.bool | NDArray[Any]
"""An int, a bool, or an array of either."""

_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Known:
    """``open``: the lanes of which nobody knows the value, whatever ``data`` holds there (``None``: there are none)."""

    data: Data
    open: Data | None = None


OPEN: Final = Known(0, True)


def lane(dim: int, size: int, rank: int) -> Known:
    """The coordinates 0 to ``size`` along axis ``dim`` of ``rank``."""
    shape = [1] * rank
    shape[dim] = size
    return Known(np.arange(size).reshape(shape))


def combine(term: Term, args: Sequence[Known]) -> Known:
    """The value of ``term`` from those of its arguments."""
    data = [arg.data for arg in args]
    match term.kind:
        case TermKind.AND:
            return _junction(args, decides=False)
        case TermKind.OR:
            return _junction(args, decides=True)
        case TermKind.NOT:
            return Known(_negated(data[0]), args[0].open)
        case TermKind.ITE:
            return _chosen(*args)
    opens = [arg.open for arg in args if arg.open is not None]
    open_ = reduce(np.logical_or, opens) if opens else None
    if not any(isinstance(each, np.ndarray) for each in data):
        return _of_numbers(term, data, open_)
    if term.kind in _DIVISIONS and not np.all(data[1]):
        none = data[1] == 0
        open_ = none if open_ is None else open_ | none
        data[1] = np.where(none, 1, data[1])
    return Known(_of_arrays(term, data), open_)


_DIVISIONS: Final = frozenset({TermKind.DIV, TermKind.MOD, TermKind.TDIV, TermKind.TMOD})


def _of_numbers(term: Term, data: Sequence[Data], open_: Data | None) -> Known:
    if term.kind in _DIVISIONS and not data[1]:
        return OPEN
    meaning: Callable[..., Data] = MEANINGS[term.kind]
    return Known(meaning(term, data), open_)


def _of_arrays(term: Term, data: list[Data]) -> Data:
    kind = term.kind
    if kind in _PLAIN:
        if kind in _GROWING and not _fits(term, data):
            data = [each.astype(object) if isinstance(each, np.ndarray) else each for each in data]
        return _PLAIN[kind](term, data)
    meaning = MEANINGS[kind]
    found = np.frompyfunc(lambda *args: meaning(term, args), len(data), 1)(*(_python(each) for each in data))
    with suppress(OverflowError):
        found = found.astype(np.int64)
    result: Data = found
    return result


def _python(data: Data) -> Data:
    return data.astype(object) if isinstance(data, np.ndarray) else data


def _product(term: Term, data: Sequence[Data]) -> Data:
    return reduce(lambda a, b: a * b, data)


_PLAIN: Final[dict[TermKind, Callable[..., Data]]] = {
    **{
        kind: MEANINGS[kind]
        for kind in (
            TermKind.SUM, TermKind.DIV, TermKind.MOD, TermKind.WRAP,
            TermKind.LT, TermKind.LE, TermKind.EQ, TermKind.IFF,
        )
    },
    TermKind.PRODUCT: _product,
    TermKind.MIN: lambda term, a: np.minimum(a[0], a[1]),
    TermKind.MAX: lambda term, a: np.maximum(a[0], a[1]),
}  # fmt: skip
"""Meanings that hold for arrays as they do for numbers, and those that NumPy has a function for."""

_GROWING: Final = frozenset({TermKind.SUM, TermKind.PRODUCT, TermKind.WRAP})


def _fits(term: Term, data: Sequence[Data]) -> bool:
    """Whether int64 is enough for the result and all on the way to it."""
    sizes = [_size(each) for each in data]
    if term.kind is TermKind.PRODUCT:
        return reduce(lambda a, b: a * b, (max(size, 1) for size in sizes)) < _LIMIT
    if term.kind is TermKind.WRAP:
        bits: int = term.payload
        return sizes[0] + (1 << bits) < _LIMIT
    constant, coefficients = term.payload
    total: int = abs(constant) + sum(abs(c) * size for c, size in zip(coefficients, sizes, strict=True))
    return total < _LIMIT


def _size(data: Data) -> int:
    """The largest amount."""
    if not isinstance(data, np.ndarray):
        return abs(int(data))
    return max(abs(int(data.min())), abs(int(data.max()))) if data.size else 0


def _negated(data: Data) -> Data:
    return np.logical_not(data) if isinstance(data, np.ndarray) else not data


def _junction(args: Sequence[Known], *, decides: bool) -> Known:
    """``and`` (a False decides) or ``or`` (a True does), also where others are not known."""
    join = np.logical_or if decides else np.logical_and
    if all(arg.open is None for arg in args):
        if not any(isinstance(arg.data, np.ndarray) for arg in args):
            values = [bool(arg.data) for arg in args]
            return Known(any(values) if decides else all(values))
        return Known(reduce(join, [arg.data for arg in args]))
    settled: Data = False
    open_: Data = False
    for arg in args:
        holds = arg.data if decides else _negated(arg.data)
        unknown = False if arg.open is None else arg.open
        settled = settled | (holds & _negated(unknown))
        open_ = open_ | unknown
    return Known(settled if decides else _negated(settled), _some(open_ & _negated(settled)))


def _some(open_: Data) -> Data | None:
    return open_ if np.any(open_) else None


def _chosen(condition: Known, yes: Known, no: Known) -> Known:
    if not isinstance(condition.data, np.ndarray) and condition.open is None:
        return yes if condition.data else no
    if condition.open is not None and np.all(condition.open):
        return OPEN
    data = np.where(condition.data, yes.data, no.data)
    if condition.open is None and yes.open is None and no.open is None:
        return Known(data)
    parts = [False if each.open is None else each.open for each in (condition, yes, no)]
    return Known(data, _some(parts[0] | np.where(condition.data, parts[1], parts[2])))


# ---------------------------------------------------------------------------------------------------------- run records
# Blocks of a launch, run with a record of the values that a summary leaves to function symbols.
#
# The blocks share one memory and run in their order; one that waits for another lets it go on.


Context = tuple[int, ...]
"""The numbers of the iterations around a place, the outermost loop's first."""


class RecordedValues(dict[Value, RuntimeValue]):
    """The values of a block; those in ``watched`` are kept by the iterations in which they were made."""

    def __init__(self, watched: frozenset[Value], iterations: Sequence[int]) -> None:
        super().__init__()
        self._watched = watched
        self._iterations = iterations
        self.kept: dict[tuple[Value, Context], RuntimeValue] = {}

    def __setitem__(self, key: Value, value: RuntimeValue) -> None:
        super().__setitem__(key, value)
        if key in self._watched:
            self.kept[key, tuple(self._iterations)] = value

    def update(self, pairs: Any = (), /, **more: RuntimeValue) -> None:
        """As that of a dict, but watched."""
        for key, value in dict(pairs, **more).items():
            self[key] = value


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """What one block did; ``entered``: how many iterations a loop had, by its place and what is around it."""

    block: Block
    log: BlockLog
    values: Mapping[tuple[Value, Context], RuntimeValue]
    entered: Mapping[tuple[Op, Context], int]


def run_blocks(
    bound: BoundLaunch, grid: Block, blocks: Sequence[Block], watched: Iterable[Value], budget: Budget
) -> list[BlockRecord]:
    """The records of ``blocks``, in that order."""
    wanted = frozenset(watched)
    recorded: dict[Block, RecordedValues] = {}

    def begins(run: BlockInterpreter) -> None:
        recorded[run.block] = RecordedValues(wanted, run.log.iterations)
        run.values = recorded[run.block]

    trace = run_schedule(bound, grid, blocks, Schedule(), budget, begins).trace
    return [
        BlockRecord(
            log.block, log, recorded[log.block].kept, {(loop.op, loop.iterations): loop.entered for loop in log.loops}
        )
        for log in trace.logs
    ]
