"""Generated kernels: small Tile IR modules under contracts that can be enumerated.

A kernel takes arrays as cuTile passes them (pointer, sizes, strides), computes indices from its block id, sizes,
scalars, loop counters and loaded numbers with every integer op, and loads, stores and updates under any wiring of
tokens, in branches and loops.  It is written through the encoder and decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tiles import scalar_of

from tileverify.contract.launch import ArrayArgument, KernelUnit, ListArgument, ScalarArgument
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I1, I8, I32, I64, BodyBuilder, ModuleBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.model import Type, Value
from tileverify.frontend.sources.bytecode_file import bytecode_entries, entry_unit
from tileverify.system.errors import SpecError

from .accesses import INDEX_ARRAYS, Accesses, Buffer
from .arithmetic import Arithmetic
from .axes import Axes
from .carried import Carried
from .contracts import FiniteContract
from .derived import Derived
from .draws import Draws
from .grammar import FLOATS, SYNC, make_contract
from .indices import Indices
from .lists import Lists
from .moves import Moves
from .ordering import TOKEN, WIRINGS, Ordering
from .paths import Paths
from .protocols import Protocols

DEPTH = 2
"""Loops and branches inside each other."""


@dataclass(frozen=True, slots=True)
class Generated:
    """``tape``: the decisions that made it, from which `draws.replayed` makes it again."""

    unit: KernelUnit
    contract: FiniteContract
    tape: tuple[int, ...]
    features: frozenset[str]


def generate(draws: Draws) -> Generated:
    contract = make_contract(draws)
    types = _parameter_types(contract, contract.narrow)
    if contract.narrow and _refused(contract, types):
        draws.note(f"narrow {contract.narrow}: refused")
        types = _parameter_types(contract, "")
    builder = ModuleBuilder((13, 4))
    with builder.entry(contract.spec.kernel, types) as f:
        _Writer(draws, f, contract).body()
        f.op("return")
    data = encode(builder.build())
    (entry,) = bytecode_entries(data, Path("generated.tileirbc"))
    return Generated(entry_unit(entry, contract.spec), contract, tuple(draws.tape), frozenset(draws.features))


def _parameter_types(contract: FiniteContract, narrow: str) -> list[Type]:
    types: list[Type] = []
    for argument in contract.spec.arguments:
        if isinstance(argument, ArrayArgument):
            index = I8 if narrow == "sizes" else I32 if argument.index_bits == 32 else I64
            types += [tile(pointer(scalar(argument.dtype))), *[tile(index)] * (2 * len(argument.shape))]
        elif isinstance(argument, ScalarArgument):
            of = I1 if argument.dtype == "bool" else scalar(argument.dtype.replace("u", "i"))
            types.append(tile(I8 if narrow == "scalars" and of.bits > 8 else of))
        elif isinstance(argument, ListArgument):
            types += [tile(pointer(I64)), tile(I32)]
    return types


def _refused(contract: FiniteContract, types: Sequence[Type]) -> bool:
    """Parameters that are narrower than the spec says are no parameters for it."""
    builder = ModuleBuilder((13, 4))
    with builder.entry(contract.spec.kernel, types) as f:
        f.op("return")
    (entry,) = bytecode_entries(encode(builder.build()), Path("generated.tileirbc"))
    try:
        entry_unit(entry, contract.spec)
    except SpecError:
        return True
    return False


class _Writer:
    """Writes the body: what is known, then a few statements."""

    def __init__(self, draws: Draws, f: BodyBuilder, contract: FiniteContract) -> None:
        self.draws = draws
        self.f = f
        self.arithmetic = Arithmetic(draws, f)
        self.buffers: list[Buffer] = []
        self.sync: Buffer | None = None
        lists: list[tuple[ListArgument, Value, Value]] = []
        parameters = iter(f.parameters)
        for argument in contract.spec.arguments:
            if isinstance(argument, ArrayArgument):
                rank = len(argument.shape)
                base, *numbers = (next(parameters) for _ in range(1 + 2 * rank))
                buffer = Buffer(argument, base, tuple(numbers[:rank]), tuple(numbers[rank:]))
                if argument.name == SYNC:
                    self.sync = buffer
                    continue
                self.buffers.append(buffer)
                self.arithmetic.pool += numbers[:rank]
            elif isinstance(argument, ListArgument):
                lists.append((argument, next(parameters), next(parameters)))
            elif isinstance(argument, ScalarArgument) and argument.dtype == "bool":
                self.arithmetic.flags.append(next(parameters))
            else:
                self.arithmetic.pool.append(next(parameters))
        launch = list(self.arithmetic.pool)
        blocks, counts = f.op("get_tile_block_id"), f.op("get_num_tile_blocks")
        self.arithmetic.pool += [*blocks[:2], counts[0]]
        self.indices = Indices(draws, self.arithmetic, blocks, counts, contract.tile, launch=[*launch, *counts[:2]])
        buffers = self.buffers if self.sync is None else [*self.buffers, self.sync]
        wiring = draws.weighted((5, WIRINGS[0]), (3, WIRINGS[1]), (2, WIRINGS[2]), (1, WIRINGS[3]))
        self.ordering = Ordering(draws, f, [buffer.name for buffer in buffers], wiring)
        self.accesses = Accesses(draws, f, self.arithmetic, self.indices, self.ordering, contract.tile)
        parts = (draws, f, self.arithmetic, self.indices)
        self.paths = Paths(*parts, self.ordering, self.accesses)
        self.carried = Carried(*parts, self.ordering, self.accesses)
        moves = Moves(draws, f, self.arithmetic)
        floats = next((buffer for buffer in self.buffers if buffer.name == FLOATS), None)
        self.derived = Derived(*parts, self.ordering, self.accesses, moves, floats)
        self.axes = Axes(*parts, self.accesses) if contract.spec.grid is None else None
        self.indices.moves = moves
        self.lists = [Lists(*parts, self.accesses, *each) for each in lists]

    def body(self) -> None:
        self.ordering.begin()
        if self.sync is not None:
            self._protocol(self.sync)
            return
        for each in self.lists:
            each.statement()
        if self.axes is not None and self.draws.chance(75):
            self.axes.statement(self._buffer(), self.draws.pick(self.buffers))
            return
        if self.derived.floats is not None and self.draws.chance(60):
            self.derived.loaded(self._buffer())
            return
        self.draws.weighted(
            (7, self._mixture), (2, lambda: self._path(0)), (1, lambda: self._carrying(0)), (10, self._derivations)
        )()

    def _derivations(self) -> None:
        """A few statements that go by what comes out of other tiles."""
        for _ in range(self.draws.weighted((2, 1), (2, 2), (1, 3))):
            self._derived(0)

    def _mixture(self) -> None:
        """A few statements of any kind."""
        index = [buffer for buffer in self.buffers if buffer.name in INDEX_ARRAYS]
        for buffer in index:
            self.accesses.load(buffer)
        for _ in range(1 + self.draws.below(3)):
            self._statement(0)
        if index and self.draws.chance(20 if len(index) == 1 else 60):
            self._segment(index[0], index[1] if len(index) > 1 else None)
        elif not index or self.draws.chance(70):
            self.accesses.store(self._buffer())

    def _segment(self, starts: Buffer, lengths: Buffer | None) -> None:
        self.accesses.segment(starts, lengths, self._buffer())

    def _statement(self, depth: int) -> None:
        nested = depth < DEPTH
        write = self.draws.weighted(
            (4, self._access), (3, self._definition), (2 * nested, self._counted), (2 * nested, self._branch),
            (nested, self._while), (not nested or depth == 0, self._early_return if depth == 0 else self._access),
            (1, self._path), (depth == 0, self._carrying), (1, self._derived),
        )  # fmt: skip
        write(depth)

    def _buffer(self) -> Buffer:
        """One to write; an index array only sometimes."""
        outputs = [buffer for buffer in self.buffers if buffer.name not in INDEX_ARRAYS or self.draws.chance(10)]
        return self.draws.pick(outputs)

    def _access(self, depth: int) -> None:
        write: Callable[[Buffer], None] = self.draws.weighted(
            (4, self.accesses.store), (3, self.accesses.load), (2, self.accesses.atomic)
        )
        write(self.draws.pick(self.buffers) if write == self.accesses.load else self._buffer())

    def _definition(self, depth: int) -> None:
        a = self.arithmetic
        value = self.draws.pick(a.pool)
        for _ in range(1 + self.draws.below(2)):
            value = a.changed(value)
        a.pool.append(value)
        if self.draws.chance(10):
            line = a.lanes(scalar_of(value), 4)
            where = a.convert(a.any(tile(I32)), I32) if self.draws.chance(30) else a.constant(tile(I32), 3)
            a.pool.append(a.piece(a.put(value, line, where), a.constant(tile(I32), self.draws.pick((3, 0, 2)))))

    # ---------------------------------------------------------------------------------------- control flow
    def _protocol(self, sync: Buffer) -> None:
        """One protocol; one time in ten among other statements."""
        among = self.draws.slip(10)
        if among:
            self._statement(1)
        parts = (self.draws, self.f, self.arithmetic, self.indices, self.ordering, self.accesses)
        data = self.buffers[0]
        Protocols(*parts, sync).statement(data, self.draws.pick(self.buffers))
        if among:
            self._statement(1)

    def _carrying(self, depth: int) -> None:
        self.carried.statement(self._buffer())

    def _path(self, depth: int) -> None:
        self.paths.statement(self._buffer(), leaves=depth == 0)

    def _derived(self, depth: int) -> None:
        self.derived.statement(self._buffer(), self.draws.pick(self.buffers))

    def _early_return(self, depth: int) -> None:
        with self.f.if_(self.arithmetic.condition(())) as branch, branch.then():
            self.f.op("return")

    def _branch(self, depth: int) -> None:
        f, order = self.f, self.ordering
        keys = list(order.last)
        carried = tile(I32)
        with f.if_(self.arithmetic.condition(()), [carried, *[TOKEN] * len(keys)]) as branch:
            for number, side in enumerate((branch.then, branch.otherwise)):
                with side(), self._scope(), order.inside((), ()):
                    for _ in range(1 - number or self.draws.below(2)):
                        self._statement(depth + 1)
                    f.op("yield", args=[self.arithmetic.any(carried), *order.now(keys)])
        value, *tokens = branch.results
        order.leave(keys, tokens)
        self.arithmetic.pool.append(value)

    def _counted(self, depth: int) -> None:
        """``for``: over a constant number, a size, or from the block's id in steps of the grid."""
        draws, f, a, order = self.draws, self.f, self.arithmetic, self.ordering
        type = tile(I32)
        lower, step = a.constant(type, draws.pick((0, 1))), a.constant(type, draws.pick((1, 2)))
        upper = self._extent() if draws.chance(60) else a.constant(type, draws.pick((2, 3, 1, 0)))
        if draws.chance(35):
            lower, step = self.indices.blocks[0], self.indices.counts[0]
        if draws.slip(15):
            upper, step = a.fit(draws.pick(a.pool), type), a.any(type) if draws.chance(20) else step
            upper = f.op("mini", lhs=upper, rhs=a.constant(type, 4), sgn="signed")
        keys = order.carried()
        start = a.any(type)
        inits = [start, *order.now(keys)]
        with f.for_(lower, upper, step, inits, unsigned=draws.slip(15)) as loop:
            counter, value, *tokens = loop.arguments
            with self._scope(), order.inside(keys, tokens):
                self.indices.counters.append(counter)
                a.pool += [counter, value]
                for _ in range(1 + draws.below(2)):
                    self._statement(depth + 1)
                following = a.add(value, a.number(type)) if draws.chance(50) else value
                f.op("continue", args=[following, *order.now(keys)])
        value, *tokens = loop.results
        order.leave(keys, tokens)
        a.pool.append(value)

    def _extent(self) -> Value:
        """A size as an i32, or the number of tiles in it."""
        draws, a, type = self.draws, self.arithmetic, tile(I32)
        size = a.fit(draws.pick([size for buffer in self.buffers for size in buffer.sizes]), type)
        if draws.chance(60):
            return a.divide(size, a.constant(type, self.indices.tile), "positive_inf")
        return size

    def _while(self, depth: int) -> None:
        """``loop`` with a counter: up to a size or a constant, or down to zero."""
        draws, f, a, order = self.draws, self.f, self.arithmetic, self.ordering
        type = tile(I32)
        limit = self._extent() if draws.chance(50) else a.constant(type, draws.pick((2, 3)))
        up = draws.chance(70)
        zero, step = a.constant(type, 0), a.constant(type, draws.pick((1, 2)))
        keys = order.carried()
        with f.loop([zero if up else limit, *order.now(keys)]) as loop:
            counter, *tokens = loop.arguments
            with self._scope(), order.inside(keys, tokens):
                done = (
                    a.compare(counter, "greater_than_or_equal", limit)
                    if up
                    else a.compare(counter, "less_than_or_equal", zero)
                )
                with f.if_(done) as last, last.then():
                    f.op("break", args=[counter, *order.now(keys)])
                self.indices.counters.append(counter)
                a.pool.append(counter)
                self._statement(depth + 1)
                following = f.op("addi" if up else "subi", lhs=counter, rhs=step)
                f.op("continue", args=[following, *order.now(keys)])
        value, *tokens = loop.results
        order.leave(keys, tokens)
        a.pool.append(value)

    def _scope(self) -> _Scope:
        return _Scope(self)


class _Scope:
    """Values made inside a region are forgotten behind it."""

    def __init__(self, writer: _Writer) -> None:
        self._lists: list[list[Any]] = [
            writer.arithmetic.pool, writer.arithmetic.flags, writer.indices.counters, writer.indices.read,
            writer.indices.made,
        ]  # fmt: skip

    def __enter__(self) -> None:
        self._lengths = [len(values) for values in self._lists]

    def __exit__(self, *error: object) -> None:
        for values, length in zip(self._lists, self._lengths, strict=True):
            del values[length:]
