"""An access summary against what the reference interpreter logs, on concrete launches.

For every block the summary's sites are enumerated (iterations, lanes) and evaluated on the launch's numbers; the
dynamic accesses must be exactly those of the log, byte for byte and in order, and every awaited instance must be one
that the access really waits for.  Undefined behaviour that the run shows must break a promise, and a run without any
must keep them all.  The interpreter shares no code with the symbolic executor, so an agreement is evidence.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tileverify.backend.interpreter import BlockLog, Budget, Memory, bind_launch, run_block
from tileverify.backend.interpreter.access_log import DynamicAccess
from tileverify.backend.interpreter.memory import MemoryImage
from tileverify.contract.concrete import ConcreteArray, ConcreteLaunch
from tileverify.contract.launch import EntryParameter, Role
from tileverify.contract.terms import Function, Scope, Term, TermKind, postorder
from tileverify.contract.variables import BID, GRID
from tileverify.frontend.bytecode.model import Entry, Module, PointerType
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import (
    AccessSummary,
    Origin,
    OriginKind,
    Promise,
    Site,
    ViewFootprint,
    earlier,
)

from ...grids import blocks_of
from ...tiles import scalar_of, tile_of

DTYPES = {"i1": "bool", "f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2"}
MOST_ITERATIONS = 48
MOST_INSTANCES = 4000
MOST_CHOICES = 40
MOST_EVALUATIONS = 20_000


class OutOfReach(Exception):
    """The summary speaks of a value that only a solver could choose, or the launch is too large to enumerate."""


class NeedsChoice(Exception):
    """A trip count or exit iteration is needed: the path condition behind its loop defines it."""

    def __init__(self, key: tuple[str, tuple[int, ...]]) -> None:
        super().__init__(key)
        self.key = key


class Unknown:
    """A value that nobody knows before the run: harmless until a branch, a comparison or an address depends on it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _same(self, *_: object) -> Unknown:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __mod__ = __floordiv__ = __rfloordiv__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = _same

    def _refuse(self, *_: object) -> bool:
        raise OutOfReach(f"{self.name} is not known before the run")

    __bool__ = __int__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]


# ------------------------------------------------------------------------------------------- random launches
@dataclass
class LaunchMaker:
    """Random launches for the parameters of an entry: small sizes, contiguous or padded rows, small index data."""

    entry: Entry
    parameters: Sequence[EntryParameter]
    seed: int
    sizes: Sequence[int] = (1, 2, 3, 5, 8, 16, 17, 32, 64, 100, 128, 130, 256)
    multiple: int = 1
    grid_limit: int = 6

    def make(self) -> ConcreteLaunch:
        rng = random.Random(self.seed)
        ranks: dict[str, int] = {}
        static: dict[tuple[str, Role, int], int] = {}
        types: dict[str, str] = {}
        scalars: dict[str, int] = {}
        for value, parameter in zip(self.entry.parameters, self.parameters, strict=True):
            element = tile_of(value).element
            if parameter.role is Role.POINTER:
                assert isinstance(element, PointerType)
                types[parameter.argument] = DTYPES.get(element.pointee.name, element.pointee.name)
                ranks.setdefault(parameter.argument, 0)
            elif parameter.role in (Role.LIST_POINTER, Role.LIST_LENGTH):
                raise OutOfReach("lists need an element description")
            elif parameter.role is Role.SCALAR:
                number = scalar_of(value)
                if not number.is_float:
                    scalars[parameter.argument] = rng.choice([0, 1, 2, 3, 4, 7]) if number.bits > 1 else 1
            else:
                assert parameter.dim is not None
                ranks[parameter.argument] = max(ranks.get(parameter.argument, 0), parameter.dim + 1)
                if parameter.static is not None:
                    static[parameter.argument, parameter.role, parameter.dim] = parameter.static
        common = [self._size(rng) for _ in range(3)]
        arrays = {}
        for name, rank in ranks.items():
            shape = [static.get((name, Role.SHAPE, d), rng.choice([*common, self._size(rng)])) for d in range(rank)]
            strides, run = [1] * rank, 1
            for d in reversed(range(rank)):
                strides[d] = static.get((name, Role.STRIDE, d), run)
                run = strides[d] * shape[d] + (rng.choice([0, 0, 16]) if d else 0)
            if not rank:
                shape, strides = [4096], [1]
            integer = types[name][0] in "iub"
            high = rng.choice([2, 5, 20])
            contents = {i: rng.randrange(high) for i in range(min(run, 600))} if integer else {}
            arrays[name] = ConcreteArray(types[name], tuple(shape), tuple(strides), contents)
        x, y, z = (rng.choice([1, 1, 2, 3, self.grid_limit]) for _ in range(3))
        return ConcreteLaunch((x, y, z), arrays, scalars)

    def _size(self, rng: random.Random) -> int:
        size = rng.choice(list(self.sizes))
        return -(-size // self.multiple) * self.multiple


# ---------------------------------------------------------------------------------------------- evaluation
@dataclass
class Evaluator:
    """Terms on numbers; lane variables are whole coordinate arrays (of Python integers, which never overflow)."""

    launch: ConcreteLaunch
    variables: dict[Term, object] = field(default_factory=dict)
    choices: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    evaluations: int = 0

    def value(self, term: Term) -> object:
        self.evaluations += 1
        if self.evaluations > MOST_EVALUATIONS:
            raise OutOfReach("too many evaluations")
        done: dict[Term, object] = {}
        for part in postorder(term):
            done[part] = self._step(part, [done[arg] for arg in part.args])
        return done[term]

    def _step(self, term: Term, a: list[Any]) -> object:  # noqa: C901  one case for each kind of term
        match term.kind:
            case TermKind.CONST:
                return term.value
            case TermKind.VAR:
                return self._variable(term)
            case TermKind.TRUE | TermKind.FALSE:
                return term.kind is TermKind.TRUE
            case TermKind.APPLY:
                return _lanewise(lambda *args: self._content(term.function, args), *a)
            case TermKind.SUM:
                constant, coefficients = term.payload
                return constant + sum(c * v for c, v in zip(coefficients, a, strict=True))
            case TermKind.PRODUCT:
                return _lanewise(_product, *a)
            case TermKind.DIV:
                return _lanewise(lambda x, y: x // y if y else 0, *a)
            case TermKind.MOD:
                return _lanewise(lambda x, y: x % y if y else 0, *a)
            case TermKind.TDIV:
                return _lanewise(_truncated, *a)
            case TermKind.TMOD:
                return _lanewise(lambda x, y: x - y * _truncated(x, y), *a)
            case TermKind.MIN:
                return _lanewise(lambda x, y: y if y < x else x, *a)
            case TermKind.MAX:
                return _lanewise(lambda x, y: y if x < y else x, *a)
            case TermKind.BITAND | TermKind.BITOR | TermKind.BITXOR | TermKind.SHL | TermKind.SHR:
                return _lanewise(lambda x, y: _bit_operation(term.kind, x, y), *a)
            case TermKind.WRAP:
                half = 1 << (term.payload - 1)
                return (a[0] + half) % (2 * half) - half
            case TermKind.ITE:
                return _lanewise(lambda c, t, f: t if c else f, *a)
            case TermKind.NOT:
                return _lanewise(lambda x: not x, *a)
            case TermKind.AND:
                return _lanewise(lambda *args: all(args), *a)
            case TermKind.OR:
                return _lanewise(lambda *args: any(args), *a)
            case TermKind.LT:
                return a[0] < a[1]
            case TermKind.LE:
                return a[0] <= a[1]
            case TermKind.EQ | TermKind.IFF:
                return _lanewise(lambda x, y: x == y, *a)
        raise AssertionError(term.kind)

    def _variable(self, term: Term) -> object:
        if term in self.variables:
            return self.variables[term]
        name = term.symbol.name
        if name in self.launch.scalars:
            return self.launch.scalars[name]
        for kind in ("shape", "strides"):
            head, found, rest = name.partition(f".{kind}[")
            if found:
                array = self.launch.arrays[head]
                return (array.shape if kind == "shape" else array.strides)[int(rest[:-1])]
        raise OutOfReach(f"no value for {name}")

    def _content(self, function: Function, args: Sequence[int]) -> object:
        """The value of a function symbol: initial contents, a chosen trip count, or unknown."""
        if any(isinstance(arg, Unknown) for arg in args):
            return Unknown(function.name)
        name, _, _ = function.name.partition("[")
        if function.array is not None and function.scope is Scope.LAUNCH:
            array = self.launch.arrays[function.array]
            strides = array.strides if len(args) == len(array.strides) else (1,)
            place = sum(int(c) * s for c, s in zip(args, strides, strict=True))
            value = array.contents.get(place, array.fill)
        elif name.startswith(("trips", "last")):
            key = (function.name, tuple(map(int, args)))
            if key not in self.choices:
                raise NeedsChoice(key)
            return self.choices[key]
        else:
            return Unknown(function.name)
        assert function.low is None or function.low <= value, f"{function.name} is {value}"
        assert function.high is None or value <= function.high, f"{function.name} is {value}"
        return value


def _bit_operation(kind: TermKind, a: int, b: int) -> object:
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return a if isinstance(a, Unknown) else b
    match kind:
        case TermKind.BITAND:
            return a & b
        case TermKind.BITOR:
            return a | b
        case TermKind.BITXOR:
            return a ^ b
        case TermKind.SHL:
            return a << b if 0 <= b < 64 else 0  # beyond that, the shift is not defined
        case _:
            return a >> b if 0 <= b < 64 else 0


def _product(*args: int) -> int:
    result = 1
    for arg in args:
        result = result * arg
    return result


def _truncated(x: int, y: int) -> int:
    if isinstance(x, Unknown) or isinstance(y, Unknown):
        return x if isinstance(x, Unknown) else y
    if y == 0:
        return 0
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _lanewise(function: Callable[..., Any], *args: Any) -> Any:
    if not any(isinstance(arg, np.ndarray) for arg in args):
        return function(*args)
    return np.frompyfunc(function, len(args), 1)(*args)


@dataclass(frozen=True)
class Instance:
    """One dynamic access: iteration numbers, and the bytes it touches behind its array's first byte, in lane order."""

    iterations: tuple[int, ...]
    offsets: tuple[int, ...]


def instances(evaluator: Evaluator, site: Site) -> Iterator[Instance]:
    """The dynamic accesses of ``site`` in one block, in program order."""
    yield from _descend(evaluator, site, ())


def _descend(evaluator: Evaluator, site: Site, done: tuple[int, ...]) -> Iterator[Instance]:
    if len(done) == len(site.loops):
        offsets = _settled_offsets(evaluator, site)
        if offsets:
            yield Instance(done, offsets)
        return
    variable = site.loops[len(done)].iteration
    high = variable.symbol.high
    # The guard is monotone in the loops of these kernels: an iteration number beyond the limit never runs.
    for k in range(min(MOST_ITERATIONS, MOST_ITERATIONS if high is None else high + 1)):
        evaluator.variables[variable] = k
        yield from _descend(evaluator, site, (*done, k))
    evaluator.variables.pop(variable, None)


def _settled_offsets(evaluator: Evaluator, site: Site) -> tuple[int, ...]:
    """The same with trip counts and exit iterations chosen: exactly one value may satisfy the path."""
    try:
        return _offsets(evaluator, site)
    except NeedsChoice as need:
        found: dict[int, tuple[int, ...]] = {}
        for value in range(MOST_CHOICES):
            saved = dict(evaluator.choices)
            evaluator.choices[need.key] = value
            if offsets := _settled_offsets(evaluator, site):
                found[value] = offsets
            else:
                evaluator.choices = saved
        if len(found) > 1:
            raise OutOfReach(f"{need.key[0]} is not determined by the path") from None
        evaluator.choices.pop(need.key, None)
        if not found:
            return ()
        ((evaluator.choices[need.key], offsets),) = found.items()
        return offsets


def _offsets(evaluator: Evaluator, site: Site) -> tuple[int, ...]:
    lanes = {lane.variable: lane.size for lane in site.lanes}
    parts = site.guard.args if site.guard.kind is TermKind.AND else (site.guard,)
    if not all(evaluator.value(part) for part in parts if not part.free & lanes.keys()):
        return ()
    shape = tuple(lanes.values())
    for variable, grid in zip(lanes, np.indices(shape) if shape else [], strict=True):
        evaluator.variables[variable] = grid.reshape(-1).astype(object)
    count = int(np.prod(shape)) if shape else 1
    try:
        live = _broadcast(evaluator.value(site.guard), count)
        place = site.footprint
        if isinstance(place, ViewFootprint):
            offset = np.zeros(count, object) + evaluator.value(place.base)
            for coordinate, size, stride in zip(place.coordinates, place.shape, place.strides, strict=True):
                at = _broadcast(evaluator.value(coordinate), count)
                live = live & _truth(at >= 0) & _truth(at < evaluator.value(size))
                offset = offset + at * evaluator.value(stride) * place.element_bytes
        else:
            offset = _broadcast(evaluator.value(place.offset), count)
    finally:
        for variable in lanes:
            del evaluator.variables[variable]
    return tuple(int(x) for x in offset[_truth(live)])


def _broadcast(value: object, count: int) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else np.full(count, value, object)


def _truth(value: np.ndarray) -> np.ndarray:
    return np.asarray(value).astype(bool)


# ---------------------------------------------------------------------------------------------- comparison
@dataclass
class Outcome:
    """What a comparison covered."""

    blocks: int = 0
    accesses: int = 0
    waits: int = 0
    promises: int = 0  # kept promises of defined runs
    broken: int = 0  # undefined runs of which a promise said so
    stopped: int = 0  # blocks that ended at an assertion
    missing_waits: int = 0  # pairs that are ordered in the run and not in the summary: lost precision
    skipped: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def compare(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    launch: ConcreteLaunch,
    blocks: Sequence[tuple[int, int, int]] | None = None,
    *,
    summary: AccessSummary | None = None,
    budget: int = 1 << 26,
) -> Outcome:
    """Run ``launch`` and compare every block that runs without undefined behaviour."""
    summary = summary or summarize(module, entry, parameters)
    bound = bind_launch(module, entry, parameters, launch)
    outcome = Outcome()
    if blocks is None:
        blocks = list(blocks_of(launch.grid))[:8]
    for block in blocks:
        log = run_block(bound.program, bound.arguments, Memory(bound.image), launch.grid, block, Budget(budget))
        evaluator = Evaluator(launch)
        evaluator.variables.update(zip(BID, block, strict=True))
        evaluator.variables.update(zip(GRID, launch.grid, strict=True))
        if log.stopped or log.left_out or log.events:
            if not log.stopped and not log.left_out:
                _compare_events(summary, evaluator, log, outcome)
            outcome.skipped["the run is incomplete or undefined"] += 1
            continue
        try:
            if not _stopped_in_a_loop(summary, log):
                outcome.promises += _check_promises(summary, evaluator)
            _compare_block(summary, evaluator, bound.image, log, outcome)
            outcome.blocks += 1
            outcome.stopped += entry.asserts_stop and bool(log.assertions)
        except (OutOfReach, NeedsChoice) as reason:
            outcome.skipped[str(reason)] += 1
    return outcome


def _compare_events(summary: AccessSummary, evaluator: Evaluator, log: BlockLog, outcome: Outcome) -> None:
    """The first undefined arithmetic or assumption of a run breaks a promise of the summary."""
    event = log.events[0]
    if event.code not in ("TV401", "TV402"):
        return
    try:
        broken = [
            promise
            for promise in summary.promises
            if promise.offset == event.offset and not all(_kept(promise, evaluator))
        ]
    except (OutOfReach, NeedsChoice) as reason:
        outcome.skipped[str(reason)] += 1
        return
    assert broken, f"no promise says {event}"
    outcome.broken += 1


def _check_promises(summary: AccessSummary, evaluator: Evaluator) -> int:
    """A run without undefined behaviour keeps every promise; how many were checked."""
    checked = 0
    for promise in summary.promises:
        try:
            kept = all(_kept(promise, evaluator))
        except (OutOfReach, NeedsChoice):
            continue
        assert kept or _loosely_reached(promise, evaluator), f"a defined run breaks: {promise.text}"
        checked += 1
    return checked


def _kept(promise: Promise, evaluator: Evaluator) -> Iterator[bool]:
    """Whether the promise holds, for every iteration in which its guard does."""
    if any(part.kind is TermKind.VAR and part.symbol.name.endswith(".address") for part in promise.condition.free):
        return
    loops = [loop.iteration for loop in promise.loops]
    ranges = [range(min(MOST_ITERATIONS // 4, 1 + (k.symbol.high if k.symbol.high is not None else 99))) for k in loops]
    lanes = {lane.variable: lane.size for lane in promise.lanes}
    for numbers in itertools.product(*ranges):
        evaluator.variables.update(zip(loops, numbers, strict=True))
        if evaluator.value(promise.guard):
            shape = tuple(lanes.values())
            for variable, grid in zip(lanes, np.indices(shape) if shape else [], strict=True):
                evaluator.variables[variable] = grid.reshape(-1).astype(object)
            yield bool(np.all(_truth(np.asarray(evaluator.value(promise.condition)))))
            for variable in lanes:
                del evaluator.variables[variable]
    for k in loops:
        evaluator.variables.pop(k, None)


def _compare_block(
    summary: AccessSummary, evaluator: Evaluator, image: MemoryImage, log: BlockLog, outcome: Outcome
) -> None:
    by_op: dict[int, list[DynamicAccess]] = defaultdict(list)
    for access in log.accesses:
        by_op[access.op.offset].append(access)
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    expected: dict[int, list[Instance]] = {}
    for site in summary.sites:
        expected[site.number] = list(itertools.islice(instances(evaluator, site), MOST_INSTANCES))
        seen = by_op.pop(site.offset, [])
        if len(seen) > (MOST_ITERATIONS // 2 if len(site.loops) > 1 else MOST_ITERATIONS - 1):
            raise OutOfReach("too many iterations")
        if len(expected[site.number]) > len(seen) and _loosely_reached(site, evaluator):
            raise OutOfReach("a `loop` may be left earlier than its guard says")
        if _stopped_in_a_loop(summary, log):
            del expected[site.number][len(seen) :]
        assert len(expected[site.number]) == len(seen), (
            f"#{site.number} {site.op}: {len(expected[site.number])} accesses expected, {len(seen)} seen"
        )
        for instance, access in zip(expected[site.number], seen, strict=True):
            base = _base(image, site.origin, access)
            addresses = tuple(int(x) - base for x in access.footprints[0].addresses())
            assert sorted(instance.offsets) == sorted(addresses), f"#{site.number} {site.op} at {instance.iterations}"
            numbers[site.number, instance.iterations] = access.number
    assert not by_op, f"accesses without a site: {[hex(offset) for offset in by_op]}"
    outcome.accesses += len(log.accesses)
    _compare_waits(summary, evaluator, log, numbers, expected, outcome)


def _stopped_in_a_loop(summary: AccessSummary, log: BlockLog) -> bool:
    """Guards of what comes later say nothing of an iteration in which the block stopped."""
    return bool(log.assertions) and any(assertion.loops for assertion in summary.assertions)


def _loosely_reached(site: Site | Promise, evaluator: Evaluator) -> bool:
    """Guards say of an iteration of a `loop` that the one before it continued, not that all earlier ones did."""
    return any(loop.value is None for loop in site.loops) or any(
        name.startswith("last") for name, _ in evaluator.choices
    )


def _base(image: MemoryImage, origin: Origin, access: DynamicAccess) -> int:
    seen = image.origins[access.origin]
    if origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL):
        assert seen.name.startswith("alloca")
    elif origin.index is None:
        assert seen.name == origin.name, f"{origin.name} expected, {seen.name} touched"
    return seen.base


def _compare_waits(
    summary: AccessSummary,
    evaluator: Evaluator,
    log: BlockLog,
    numbers: Mapping[tuple[int, tuple[int, ...]], int],
    expected: Mapping[int, Sequence[Instance]],
    outcome: Outcome,
) -> None:
    accesses = {access.number: access for access in log.accesses}
    for site in summary.sites:
        conditions = {wait.site: wait.condition for wait in site.waits}
        for instance in expected[site.number]:
            access = accesses[numbers[site.number, instance.iterations]]
            evaluator.variables.update(zip((loop.iteration for loop in site.loops), instance.iterations, strict=True))
            for other in summary.sites:
                for awaited in expected[other.number]:
                    number = numbers[other.number, awaited.iterations]
                    really = bool(access.waits >> number & 1)
                    claimed = other.number in conditions and _awaits(
                        evaluator, conditions[other.number], other, awaited
                    )
                    assert really or not claimed, (
                        f"#{site.number} at {instance.iterations} does not wait for "
                        f"#{other.number} at {awaited.iterations}"
                    )
                    outcome.waits += claimed
                    outcome.missing_waits += really and not claimed
            for loop in site.loops:
                del evaluator.variables[loop.iteration]


def _awaits(evaluator: Evaluator, condition: Term, site: Site, instance: Instance) -> bool:
    for loop, k in zip(site.loops, instance.iterations, strict=True):
        evaluator.variables[earlier(loop.iteration)] = k
    try:
        return bool(evaluator.value(condition))
    finally:
        for loop in site.loops:
            del evaluator.variables[earlier(loop.iteration)]
