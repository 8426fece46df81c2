"""What orders the accesses of one program, as tokens.

Triton IR has no tokens.  Two readings are of use:

* `ProgramOrder`: the accesses of each array as the program says them.  Kernels that this tool builds keep it.
* `TritonOrder`: what Triton's compiler promises.  Accesses on both sides of ``tl.debug_barrier()`` are ordered, and so
  are those around an atomic by its semantics: before one that releases, behind one that acquires (`bar.sync` in the
  code that Triton 3.9 makes).  Beside these a store waits for a load whose value it stores: of each lane at its own
  place, so that the token stands only where load and store have the same pointers and the same mask.  Lanes of a store
  that meet are a fault of their own (TV202), so lane l of such a load and lane m of the store meet only for l = m.
  Accesses of tensor descriptors copy in a proxy of their own, and wait for data alone; later accesses follow them as
  they follow others (Triton waits for each copy, and has `bar.sync` behind the wait).
  Thread 0 makes all scalar stores of a program, so that each follows those before it (the PTX of Triton 3.9, in
  `test_ordered_by_triton.py`; PTX ISA, "Causality Order": program order of one thread, by which overlapping writes are
  in coherence order).  A load of a scalar is made by each thread, and a store of a tile by whichever.
  Where rounds of a loop overlap (`ttir_pipelines`), barriers of functions and atomics order nothing.

With ``most=True`` a store waits for all loads before it, of every array, as data flow may order any of them: what meets
even then is a fault, what meets without is undecided.

Arrays are the entry's pointers; those that may share memory, as the launch says, count as one.  An access through a
pointer that is none of them, a barrier, and an atomic that acquires or releases are ordered against every array.  The
prover checks what may meet across arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from ..bytecode.builder import TOKEN, BodyBuilder
from ..bytecode.model import TileType, Value
from .translated import Translated, TritonPointer, shape_of
from .ttir import TritonBlock, TritonOp
from .ttir_lanes import single_op
from .ttir_pipelines import rounds_overlap
from .ttir_places import ValueNumbers
from .ttir_uses import ValueUses

ANY: Final = ""
"""The root of pointers that may be into any array."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The arrays that code touches and writes; `ANY` stands for all of them.

    ``read``: those among them that loads are known to read; ``scalars``: those to which scalar stores go.
    """

    touched: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    scalars: frozenset[str] = frozenset()

    def __or__(self, other: Effects) -> Effects:
        return Effects(
            self.touched | other.touched,
            self.written | other.written,
            self.read | other.read,
            self.scalars | other.scalars,
        )


@dataclass(frozen=True, slots=True)
class _Last:
    """Tokens of one array: every later access waits for ``fence``; ``reads`` follows all loads since, ``touched`` all
    accesses, ``scalars`` all scalar stores."""

    fence: Value
    reads: Value
    touched: Value
    scalars: Value


def _behind(token: Value) -> _Last:
    """All accesses so far come before ``token``."""
    return _Last(token, token, token, token)


class _Order:
    """The tokens of each array, and how regions hand them on."""

    _orders_scalars = False

    def __init__(self, body: BodyBuilder, roots: Iterable[str], sharing: Iterable[frozenset[str]] = ()) -> None:
        """``sharing``: groups of roots that may share memory; the first of a group stands for all."""
        self._body = body
        self._standing = {root: root for root in roots}
        for group in sharing:
            joined = {self._standing[root] for root in group}
            first = next(root for root in self._standing if root in joined)
            self._standing |= {root: first for root, other in self._standing.items() if other in joined}
        self.start: Value = body.op("make_token")
        start = self.start
        self._last = {root: _behind(start) for root in (*dict.fromkeys(self._standing.values()), ANY)}

    def barrier(self) -> None:
        token = self.joined(last.touched for last in self._last.values())
        self._last = {root: _behind(token) for root in self._last}

    def _of(self, root: str | None, everything: bool) -> Mapping[str, _Last]:
        """The arrays that an access is ordered against; one through an unknown pointer stands in the way of all."""
        if everything or root is None:
            return dict(self._last)
        standing = self._standing[root]
        return {standing: self._last[standing]}

    def _all_standing(self, roots: frozenset[str]) -> frozenset[str]:
        return frozenset(self._standing.get(root, root) for root in roots)

    def joined(self, tokens: Iterable[Value]) -> Value:
        """One token behind all of these, of which there is at least one."""
        distinct = list(dict.fromkeys(tokens))
        if len(distinct) == 1:
            return distinct[0]
        made: Value = self._body.op("join_tokens", tokens=tuple(distinct), results=[TOKEN])
        return made

    # --------------------------------------------------------------------------------- into and out of regions
    def carried(self, effects: Effects) -> tuple[Value, ...]:
        """The tokens that a region with these effects hands on."""
        return tuple(getattr(self._last[root], name) for root, name in self._handed_on(effects))

    def take(self, tokens: Iterable[Value], effects: Effects) -> None:
        """Go on behind ``tokens``, which `carried` gave for the same effects."""
        given = iter(tokens)
        for root, name in self._handed_on(effects):
            self._last[root] = replace(self._last[root], **{name: next(given)})

    def _handed_on(self, effects: Effects) -> Iterator[tuple[str, str]]:
        """The arrays and which of their tokens a region hands on."""
        scalars = effects.scalars if self._orders_scalars else frozenset()
        groups = (
            (self._all_standing(effects.written), ("fence",)),
            (self._all_standing(effects.touched), ("reads", "touched")),
            (self._all_standing(scalars), ("scalars",)),
        )
        for root in self._last:
            for roots, names in groups:
                if root in roots or ANY in roots:
                    yield from ((root, name) for name in names)

    def copy(self) -> dict[str, _Last]:
        return dict(self._last)

    def restore(self, kept: dict[str, _Last]) -> None:
        self._last = dict(kept)


class ProgramOrder(_Order):
    """Per array a load waits for the stores before it, a store for all accesses before it."""

    @contextmanager
    def rounds(self, loop: TritonOp) -> Iterator[None]:
        """The body of ``loop`` comes next."""
        yield

    def before(
        self,
        root: str | None,
        *,
        writes: bool,
        everything: bool = False,
        also: Sequence[Value] = (),
        asynchronous: bool = False,
        scalar: bool = False,
    ) -> Value:
        """The token that an access waits for."""
        last = self._of(root, everything).values()
        return self.joined(each.touched if writes or everything else each.fence for each in last)

    def after(
        self,
        root: str | None,
        token: Value,
        *,
        reads: bool,
        writes: bool,
        everything: bool = False,
        scalar: bool = False,
    ) -> None:
        """Note that an access gave ``token``."""
        for name, last in self._of(root, everything).items():
            if writes or everything:
                self._last[name] = _behind(token)
            else:
                self._last[name] = replace(last, touched=self.joined((last.touched, token)))


class TritonOrder(_Order):
    """Barriers, atomics and data flow.

    ``most``: a store waits for all loads before it, a scalar one for all scalar stores; ``splits_warps``: parts of the
    program may be executed by threads of their own, so that scalar stores have no order.
    """

    def __init__(
        self,
        body: BodyBuilder,
        roots: Iterable[str],
        sharing: Iterable[frozenset[str]] = (),
        *,
        most: bool,
        splits_warps: bool,
    ) -> None:
        super().__init__(body, roots, sharing)
        self._most = most
        self._orders_scalars = most or not splits_warps
        self._before_rounds: dict[str, Value] | None = None  # scalar stores before the loop whose rounds overlap

    @contextmanager
    def rounds(self, loop: TritonOp) -> Iterator[None]:
        """The body of ``loop`` comes next.  Where its rounds overlap, scalar stores have no order among themselves, and
        atomics order nothing."""
        kept = self._before_rounds
        if kept is None and not self._most and rounds_overlap(loop):
            self._before_rounds = {root: last.scalars for root, last in self._last.items()}
        yield
        self._before_rounds = kept

    def barrier(self) -> None:
        if self._before_rounds is None:
            super().barrier()

    def before(
        self,
        root: str | None,
        *,
        writes: bool,
        everything: bool = False,
        also: Sequence[Value] = (),
        asynchronous: bool = False,
        scalar: bool = False,
    ) -> Value:
        """The token that an access waits for; an ``asynchronous`` one waits for data alone."""
        if asynchronous and not self._most:
            return self.joined(also or (self.start,))
        everything = everything and self._before_rounds is None
        last = self._of(root, everything).values()
        if everything:
            return self.joined(each.touched for each in last)
        fences = [each.fence for each in last]
        reads = [each.reads for each in self._last.values()] if writes and self._most else []
        scalars = self._scalars_before(root) if scalar else []
        return self.joined((*fences, *reads, *scalars, *also))

    def _scalars_before(self, root: str | None) -> list[Value]:
        """The scalar stores that a scalar store to ``root`` follows."""
        if not self._orders_scalars:
            return []
        here = self._of(root, everything=False)
        return [last.scalars if self._before_rounds is None else self._before_rounds[n] for n, last in here.items()]

    def _scalars_after(self, last: _Last, token: Value) -> Value:
        return token if self._before_rounds is None else self.joined((last.scalars, token))

    def after(
        self,
        root: str | None,
        token: Value,
        *,
        reads: bool,
        writes: bool,
        everything: bool = False,
        scalar: bool = False,
    ) -> None:
        everything = everything and self._before_rounds is None
        for name, last in self._of(root, everything).items():
            if everything:
                self._last[name] = _behind(token)
                continue
            self._last[name] = replace(
                last,
                reads=self.joined((last.reads, token)) if reads else last.reads,
                touched=self.joined((last.touched, token)),
                scalars=self._scalars_after(last, token) if scalar else last.scalars,
            )


# --------------------------------------------------------------------------------------------------- data flow
# A store cannot be earlier than a load if the stored value *needs* the loaded one, whatever the compiler knows of
# numbers: ``x ^ x``, ``(x & 7) >> 3`` and ``where(i < 4, x, 0)`` need nothing of x, and ``x * 0.0`` only if x may be
# NaN or infinite.  So only these ops hand a need on:
#
#     sums, differences, functions of floats                            of each operand
#     products, quotients of floats                                     of each operand that may be NaN or infinite
#     sums, differences, xor of integers; max, min of floats            of an operand, if no other one needs that load
#     one product of an integer and a constant that is not 0            of the integer
#     comparisons                        of an operand that is a float, or a loaded integer, if no other one needs it
#     selections between two values      of the condition
#     reductions of a whole tile by one op                              of all lanes
#     ops that move lanes                                               of some lane, all lanes together of all
#     values that go round a loop                                       in every round, of what the round says
#
# A store at the places of a load need not be asked whether it needs the load's value, if nothing else uses that value,
# and each lane of the store at most the same lane of it.  Either the lane that is stored depends on the one that is
# loaded, and then the load comes first; or it does not, and then no one can tell what was loaded.
#
# A tile that is smaller than the program's threads, or a scalar, is loaded by several threads for each lane, and also
# twice, where two layouts want it.  Only one of them stores a lane of a tile, and only thread 0 a scalar.  So another
# one may load after the store, and what it makes of its value must be told by nobody:
#
#     a store that needs its own lane     the value goes to stores of as many lanes, of tiles of one axis, lane by lane:
#                                         such tiles of one size have one layout, so that one thread loads and stores a
#                                         lane, and the others store nothing
#     a store that needs all lanes        as above, but lanes may meet: warps do so behind a barrier, so that all have
#                                         loaded; one warp that holds all lanes alone stores alone


@dataclass(frozen=True, slots=True)
class _Load:
    """A load that a value needs, lane by lane: its places, its mask, its token.  ``plain``: the value may still be any
    number, so that no comparison of it has an answer beforehand.  ``tame``: a product with it may be known to be 0."""

    place: tuple[object, ...]
    token: Value
    plain: bool = True
    tame: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """The loads that a value needs: ``lanes``, of which each lane needs its own lane alone, and the tokens of those of
    which every lane needs all lanes."""

    lanes: frozenset[_Load] = frozenset()
    whole: frozenset[Value] = frozenset()

    @property
    def tokens(self) -> frozenset[Value]:
        return self.whole | {load.token for load in self.lanes}


_NOTHING: Final = Flow()
_KEEP_ALL: Final = frozenset({
    "arith.addf", "arith.subf", "arith.negf", "arith.extf", "tt.fp_to_fp",
})  # fmt: skip
_KEEP_WILD: Final = frozenset({"arith.mulf", "arith.divf", "tt.precise_divf", "math.fma"})
_KEEP_ONE: Final = frozenset({"arith.addi", "arith.subi", "arith.xori"})
_KEEP_ALL_NOT_PLAIN: Final = frozenset({
    "arith.extsi", "arith.extui", "arith.truncf", "math.exp", "math.exp2", "math.log",
    "math.log2", "math.sqrt", "math.rsqrt", "math.sin", "math.cos", "math.absf", "math.tanh", "math.erf", "math.floor",
    "math.ceil", "tt.precise_sqrt",
})  # fmt: skip
_KEEP_ONE_TAME: Final = frozenset({"arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf"})
_COMPARE: Final = frozenset({"arith.cmpf", "arith.cmpi"})
_MOVE_LANES: Final = frozenset({
    "tt.broadcast", "tt.splat", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.unsplat",
})  # fmt: skip
_ELSEWHERE: Final = ("elsewhere",)
"""The place of a load some lane of which each lane needs, and all lanes together all of them."""


@dataclass(frozen=True, slots=True)
class _BlockLoads:
    """The loads of a block so far: the op, its places, its token."""

    uses: ValueUses
    loads: list[tuple[TritonOp, tuple[object, ...], Value]] = field(default_factory=list)


@dataclass
class DataFlow:
    """The flow of values by their names, region by region: a token ends with its region, if no branch hands it on.

    ``numbers``: which values are computed alike, so that accesses have the same places.  ``threads``: of a program.
    """

    numbers: ValueNumbers
    threads: int
    _known: list[dict[str, Flow]] = field(default_factory=lambda: [{}])
    _made: list[list[Value]] = field(default_factory=lambda: [[]])
    _blocks: list[_BlockLoads] = field(default_factory=list)
    _summed: set[Value] = field(default_factory=set)
    _sizes: dict[Value, int] = field(default_factory=dict)  # lanes of the load, by its token
    _constants: dict[str, str] = field(default_factory=dict)

    def enter(self) -> None:
        self._known.append({})
        self._made.append([])

    def leave(self) -> None:
        self._known.pop()
        self._made.pop()

    @contextmanager
    def within(self, block: TritonBlock) -> Iterator[None]:
        """The ops of ``block`` come next."""
        self._blocks.append(_BlockLoads(ValueUses(block)))
        yield
        self._blocks.pop()

    @contextmanager
    def called(self, arguments: Mapping[str, str]) -> Iterator[None]:
        """A function, whose parameters are these values of its caller: it shares no other name with it."""
        caller, made = self._known, self._made
        self._known, self._made = [{parameter: self.of(name) for parameter, name in arguments.items()}], [[]]
        yield
        self._known, self._made = caller, made

    def of(self, name: str) -> Flow:
        return next((scope[name] for scope in reversed(self._known) if name in scope), _NOTHING)

    def define(self, name: str, flow: Flow) -> None:
        self._known[-1][name] = flow

    def forget(self, name: str) -> None:
        self.define(name, _NOTHING)

    def loaded(self, op: TritonOp, key: tuple[object, ...], token: Value) -> None:
        """Note the result of a load, of places that ``key`` tells apart."""
        self._sizes[token] = lanes_of(op)
        alone, at_all = self._waited_for(op)
        place = self._same_key(key) if alone else _ELSEWHERE
        self.define(op.results[0], Flow(frozenset({_Load(place, token)})) if at_all else _NOTHING)
        self._made[-1].append(token)
        if self._blocks:
            self._blocks[-1].loads.append((op, self._same_key(key), token))

    def _waited_for(self, op: TritonOp) -> tuple[bool, bool]:
        """Whether a lane of a store that needs its lane of the load ``op`` comes behind all threads that load that lane
        and tell of it; whether one comes behind them that needs all lanes.  See "threads" above."""
        if op.name != "tt.load" or lanes_of(op) >= self.threads:
            return True, True
        uses = self._blocks[-1].uses
        return uses.only_stores(op, across=False), uses.only_stores(op, across=True)

    def made(self) -> tuple[Value, ...]:
        """The tokens of the loads of the current region, in their order, with those of branches inside of it."""
        return tuple(self._made[-1])

    def branched(self, names: Sequence[str], flows: Sequence[Sequence[Flow]], outside: Mapping[Value, Value]) -> None:
        """Note the results ``names`` of a branch, from the flow of each in both regions.

        ``outside``: what the token of a load in one of them is behind the branch, which waits for nothing where the
        other one was taken.  A load before the branch is needed only if both regions need it.
        """
        for name, first, second in zip(names, *flows, strict=True):
            lanes, whole = first.lanes | second.lanes, first.whole | second.whole
            both = {load.token for load in first.lanes & second.lanes} | (first.whole & second.whole)
            kept = [load for load in lanes if load.token in outside or load.token in both]
            moved = frozenset(replace(load, token=outside.get(load.token, load.token), plain=False) for load in kept)
            tokens = frozenset(outside.get(token, token) for token in whole if token in outside or token in both)
            self.define(name, Flow(moved, tokens))
        self._sizes.update((behind, self._sizes[token]) for token, behind in outside.items())
        self._made[-1].extend(outside.values())

    def summed(self, name: str, size: int) -> tuple[frozenset[Value], frozenset[Value]]:
        """The tokens that a value which goes round a loop takes along: of loads that a lane of it needs, each of its
        own lane, and of those that all lanes need; of loads of ``size`` lanes alone."""
        flow = self.of(name)
        lanes = frozenset(load.token for load in flow.lanes if not load.tame and self._sizes[load.token] == size)
        return lanes, frozenset(token for token in flow.whole if self._sizes[token] == size)

    def taken(self, name: str, lanes: Value, whole: Value, size: int) -> None:
        """Note that ``name`` is a value that comes round a loop, or leaves it, with these tokens of `summed`.

        They stand for loads at many places, and for the same ones as others may: see `_alone`.
        """
        self._summed |= {lanes, whole}
        self._sizes |= {lanes: size, whole: size}
        self.define(name, Flow(frozenset({_Load(_ELSEWHERE, lanes, plain=False)}), frozenset({whole})))

    def computed(self, op: TritonOp, operands: Sequence[Translated], results: Sequence[Translated]) -> None:
        """Note the results of an op that touches no memory."""
        if op.name == "arith.constant":
            self._constants[op.results[0]] = str(op.attributes.get("value"))
        flows = [self.of(name) for name in op.operands]
        shapes = [shape_of(value) for value in operands]
        for name, value in zip(op.results, results, strict=True):
            own = [
                replace(flow, lanes=flow.lanes if shape == shape_of(value) else frozenset())
                for flow, shape in zip(flows, shapes, strict=True)
            ]
            self.define(name, self._needed(op, flows, own, shapes))

    def _needed(
        self, op: TritonOp, flows: Sequence[Flow], own: Sequence[Flow], shapes: Sequence[tuple[int, ...]]
    ) -> Flow:
        """What the result needs; ``own``: of each operand without lanes that are others in the result."""
        if op.name in _MOVE_LANES:
            (flow,), (shape,) = flows, shapes
            if not shape:
                return Flow(whole=flow.whole)
            return Flow(frozenset(replace(load, place=_ELSEWHERE, plain=False) for load in flow.lanes), flow.whole)
        if op.name == "tt.reduce" and single_op(op) is not None and all(len(shape) == 1 for shape in shapes):
            whole = _all(flow.whole | {load.token for load in flow.lanes if not load.tame} for flow in flows)
            return Flow(whole=whole)
        if op.name in _KEEP_ALL:
            return _joined(own)
        if op.name in _KEEP_WILD:
            return _joined(Flow(frozenset(load for load in flow.lanes if not load.tame), flow.whole) for flow in own)
        if op.name in _KEEP_ALL_NOT_PLAIN:
            return _not_plain(_joined(own))
        if op.name in _KEEP_ONE:
            return _joined(self._alone(own))
        if op.name in _KEEP_ONE_TAME and not any(self._is_extreme(name) for name in op.operands):
            kept = _not_plain(_joined(self._alone(own)))
            return Flow(frozenset(replace(load, tame=True) for load in kept.lanes))
        if op.name == "arith.muli" and any(map(self._is_factor, op.operands)):
            lanes = _joined(own).lanes
            return Flow(frozenset(replace(load, plain=False, tame=True) for load in lanes if not load.tame))
        if op.name in _COMPARE:
            return self._compared(op, own)
        if op.name == "arith.select" and op.operands[1] != op.operands[2]:
            return _not_plain(own[0])
        return _NOTHING

    def _compared(self, op: TritonOp, own: Sequence[Flow]) -> Flow:
        """A comparison with a number that is the least or greatest of all has an answer beforehand."""
        told = self._constants.keys() & set(op.operands)
        if any(self._is_extreme(name) for name in op.operands) or (op.name == "arith.cmpi" and told):
            return _NOTHING
        kept = [Flow(frozenset(load for load in flow.lanes if load.plain)) for flow in self._alone(own)]
        return _not_plain(_joined(kept))

    def _is_extreme(self, name: str) -> bool:
        """Whether it is a constant that is infinite or no number, which MLIR prints by its bits."""
        return "0x" in self._constants.get(name, "")

    def _is_factor(self, name: str) -> bool:
        """Whether it is one integer for all lanes that is not 0."""
        number = re.fullmatch(r"(?:dense<)?(-?\d+)>?", self._constants.get(name, ""))
        return number is not None and int(number[1]) != 0

    def _alone(self, flows: Sequence[Flow]) -> Iterator[Flow]:
        """Of each operand the loads that no other operand needs; none where one has come round a loop, as others may
        need the same ones."""
        if any(self._summed & flow.tokens for flow in flows):
            return
        for position, flow in enumerate(flows):
            others = _all(other.tokens for number, other in enumerate(flows) if number != position)
            yield Flow(frozenset(load for load in flow.lanes if load.token not in others), flow.whole - others)

    def before_store(self, op: TritonOp, key: tuple[object, ...], lanes: int) -> tuple[Value, ...]:
        """Tokens of the loads that a store of so many ``lanes`` follows, because it needs their values.

        Threads that hold a lane twice load it twice, and one of them stores it.  So a thread that stores may not wait
        for all that other threads load, unless these store nothing that they make of it: where load and store have as
        many lanes, the same threads store that are waited for.
        """
        key = self._same_key(key)
        flows = [self.of(name) for name in op.operands]
        own = {load.token for flow in flows for load in flow.lanes if load.place == key}
        if self._blocks:
            here = self._blocks[-1]
            own |= {token for load, place, token in here.loads if place == key and here.uses.only_store(load) is op}
        needed = own | {token for flow in flows for token in flow.whole if self._sizes[token] == lanes}
        return tuple(token for token in self._sizes if token in needed)

    def _same_key(self, key: tuple[object, ...]) -> tuple[object, ...]:
        """``key`` with numbers for values."""

        def numbered(part: object) -> object:
            if isinstance(part, TritonPointer):
                return self.numbers.place(part)
            if isinstance(part, tuple):
                return tuple(map(numbered, part))
            return self.numbers.of(part) if isinstance(part, Value) else part

        return tuple(map(numbered, key))


def _all(sets: Iterable[frozenset[Value]]) -> frozenset[Value]:
    return frozenset().union(*sets)


def _joined(flows: Iterable[Flow]) -> Flow:
    flows = tuple(flows)
    return Flow(frozenset().union(*(flow.lanes for flow in flows)), _all(flow.whole for flow in flows))


def _not_plain(flow: Flow) -> Flow:
    return Flow(frozenset(replace(load, plain=False) for load in flow.lanes), flow.whole)


def is_scalar_store(op: TritonOp) -> bool:
    """Whether ``op`` stores one element through a pointer that is no tile."""
    place = op.printed_types[0] if op.printed_types else None
    return op.name == "tt.store" and isinstance(place, TileType) and not place.shape


def lanes_of(op: TritonOp) -> int:
    """Of the result of a load."""
    type = op.result_type
    return prod(type.shape) if isinstance(type, TileType) else 0
