"""Verdicts on access summaries written by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from tileverify.contract import terms as t
from tileverify.contract.launch import Apply, ConcreteLaunch, DataFact, LaunchSpec, Name, Number
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.variables import BID, GRID
from tileverify.frontend.bytecode.enums import MemoryOrdering, MemoryScope
from tileverify.frontend.symbolic.summary import Access, Loop, Promise, Wait, earlier
from tileverify.results import Verdict
from tileverify.results.claim import Claim, Confirmation, Shown, Touch
from tileverify.results.codes import TV
from tileverify.verifier.obligations.answers import Limits
from tileverify.verifier.verify import Outcome, VerifyOptions, verify

from .builders import Witnesses, lanes, never, origin, pointer_site, spec, summary, tile_site

X, Y, Z = BID
OUT = origin("out", 1)
OUT2 = origin("out", 2)


def cdiv(name: str, tile: int) -> Apply:
    return Apply("cdiv", (Name(name), Number(tile)))


def outcome(launch: LaunchSpec, *sites: object, promises: tuple[Promise, ...] = (), replay: object = never) -> Outcome:
    return verify(summary(*sites, promises=promises), launch, (), confirm=replay)  # type: ignore[arg-type]


def codes(result: Outcome) -> set[str]:
    return {finding.code for finding in result.findings}


# ------------------------------------------------------------------------------------------ tile stores
def test_one_tile_a_block_is_proved_structurally() -> None:
    result = outcome(spec({"out": ("N",)}, (cdiv("N", 128),)), tile_site(1, Access.WRITE, OUT, (X,), (128,)))
    assert result.verdict is Verdict.PROVED
    assert result.requires == ()
    assert result.obligations.structural >= 1
    assert result.deterministic is True
    assert result.holds_for == "any"


def test_two_blocks_on_one_tile_are_refuted_only_when_the_replay_saw_it() -> None:
    store = tile_site(1, Access.WRITE, OUT, (t.floordiv(X, t.const(2)),), (128,))
    launch = spec({"out": ("N",)}, (cdiv("N", 128),))
    replay = Witnesses()
    assert outcome(launch, store).verdict is Verdict.UNDECIDED
    refuted = outcome(launch, store, replay=replay)
    assert refuted.verdict is Verdict.REFUTED
    assert codes(refuted) == {"TV101"}
    concrete, claim = replay.claims[0]
    assert claim.block_b is not None
    assert claim.block_a[0] // 2 == claim.block_b[0] // 2
    assert claim.block_a != claim.block_b
    assert concrete.grid[0] == -(-concrete.arrays["out"].shape[0] // 128)
    witness = refuted.findings[0].witness
    assert witness is not None
    assert witness.sizes["N"] <= 300, "the smallest launch with two blocks on one tile"


@dataclass
class Elsewhere:
    """A replay that sees the claimed ops at fault in other blocks than the claimed ones."""

    asked: list[ConcreteLaunch] = field(default_factory=list)

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> None:
        return None

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        self.asked.append(launch)
        touches = [Touch(offset or 0, "store", (n, 0, 0)) for n, offset in enumerate((claim.offset_a, claim.offset_b))]
        return Shown(claim, Confirmation("out", "out[0]", 0, touches[0], touches[1], "a test"), True)


NO_SOLVER = Limits(linear=0, nonlinear=0, rounds=0, total=0, bits=0)


@pytest.mark.parametrize(("size", "expected"), [(1024, Verdict.REFUTED), ("N", Verdict.UNDECIDED)])
def test_a_launch_of_numbers_is_run_where_the_solver_gives_up(size: int | str, expected: Verdict) -> None:
    store = tile_site(1, Access.WRITE, OUT, (t.floordiv(X, t.const(2)),), (128,))
    launch, replay = spec({"out": (size,)}, (8,)), Elsewhere()
    result = verify(summary(store), launch, (), options=VerifyOptions(limits=NO_SOLVER), confirm=replay)
    assert result.verdict is expected
    assert bool(replay.asked) == (expected is Verdict.REFUTED)


def test_an_ignored_axis_of_an_explicit_grid_is_a_race() -> None:
    store = tile_site(1, Access.WRITE, OUT, (X,), (128,))
    result = outcome(spec({"out": ("N",)}, (cdiv("N", 128), 2)), store, replay=Witnesses())
    assert codes(result) == {"TV101"}


def test_without_a_grid_the_clauses_come_out() -> None:
    result = outcome(spec({"out": ("N",)}, None), tile_site(1, Access.WRITE, OUT, (X,), (128,)))
    assert result.verdict is Verdict.PROVED
    assert set(result.requires) == {"grid.x <= cdiv(N, 128)", "grid.y == 1", "grid.z == 1"}


def test_a_kernel_that_reads_no_block_number_is_judged_for_one_block_where_the_grid_is_open() -> None:
    store = tile_site(1, Access.WRITE, OUT, (t.ZERO,), (128,))
    alone = outcome(spec({"out": ("N",)}, None), store)
    assert alone.verdict is Verdict.PROVED
    assert {"grid.x == 1", "grid.y == 1", "grid.z == 1"} <= {*alone.requires}
    written = outcome(spec({"out": ("N",)}, (cdiv("N", 128),)), store, replay=Witnesses())
    assert written.verdict is Verdict.REFUTED


def test_grid_beyond_the_tiles_is_out_of_bounds() -> None:
    launch = spec({"out": ("N",)}, (Apply("+", (cdiv("N", 128), Number(1))),))
    result = outcome(launch, tile_site(1, Access.WRITE, OUT, (X,), (128,)), replay=Witnesses())
    assert "TV301" in codes(result)


def test_clauses_for_one_fault_stand_beside_a_fault_that_none_can_close() -> None:
    load = tile_site(1, Access.READ, OUT, (t.add(X, t.ONE),), (128,), guard=t.lt(t.add(X, t.ONE), GRID[0]))
    store = tile_site(2, Access.WRITE, OUT, (X,), (128,), waits=(Wait(1),))
    result = outcome(spec({"out": ("N",)}, None), load, store, replay=Witnesses())
    assert codes(result) == {"TV102"}
    assert {"grid.y == 1", "grid.z == 1"} <= set(result.requires)


# -------------------------------------------------------------------------------------- swizzled GEMM
def swizzle(rows: Term, columns: Term) -> tuple[Term, Term]:
    """The grouped block order of GEMM kernels, in machine arithmetic."""
    group = t.const(8)
    in_group = t.wrap(32, t.mul(group, columns))
    number = t.floordiv(X, in_group)
    first = t.wrap(32, t.mul(number, group))
    height = t.minimum(t.wrap(32, t.sub(rows, first)), group)
    row = t.wrap(32, t.add(first, t.floormod(X, height)))
    return row, t.floordiv(t.floormod(X, in_group), height)


@pytest.mark.parametrize("grid_ok", [True, False])
def test_swizzled_gemm_with_symbolic_sizes(grid_ok: bool) -> None:
    rows, columns = (t.ceildiv(OUT2.shape[d], t.const(128)) for d in (0, 1))
    row, column = swizzle(rows, columns)
    positive = t.and_(t.lt(t.ZERO, rows), t.lt(t.ZERO, columns))
    store = tile_site(1, Access.WRITE, OUT2, (row, t.unsigned(32, column)), (128, 128), guard=positive)
    grid = Apply("*", (cdiv("M", 128), cdiv("N", 128)))
    if not grid_ok:
        grid = Apply("+", (grid, Number(1)))
    result = outcome(spec({"out": ("M", "N")}, (grid,)), store)
    assert (result.verdict is Verdict.PROVED) is grid_ok


# --------------------------------------------------------------------------------------- machine wrap
def scatter(element: Term, **more: object) -> object:
    """``out[element]`` through a pointer with cuTile's unsigned mask: a negative index is masked off."""
    mask = t.lt(t.unsigned(64, element), OUT.shape[0])
    return pointer_site(1, Access.WRITE, OUT, t.scale(4, element), mask, lanes(1024), **more)  # type: ignore[arg-type]


LANE = lanes(1024)[0].variable


def test_wrapped_block_offsets_meet_again_under_a_huge_grid() -> None:
    element = t.wrap(32, t.add(t.mul(X, t.const(1024)), LANE))
    huge = outcome(spec({"out": (4096,)}, (2**23,)), scatter(element), replay=Witnesses())
    assert codes(huge) == {"TV101"}
    assert outcome(spec({"out": ("N",)}, (cdiv("N", 1024),)), scatter(element)).verdict is Verdict.PROVED


def test_duplicate_lanes_of_one_store() -> None:
    element = t.add(t.mul(X, t.const(512)), t.floordiv(LANE, t.const(2)))
    result = outcome(spec({"out": ("N",)}, (cdiv("N", 512),)), scatter(element), replay=Witnesses())
    assert "TV202" in codes(result)


def test_unmasked_scatter_needs_room() -> None:
    element = t.add(t.mul(X, t.const(1024)), LANE)
    site = pointer_site(1, Access.WRITE, OUT, t.scale(4, element), t.TRUE, lanes(1024))
    whole = Apply("==", (Apply("%", (Name("N"), Number(1024))), Number(0)))
    ragged = Apply("==", (Apply("%", (Name("N"), Number(1024))), Number(1)))
    exact = outcome(spec({"out": ("N",)}, (cdiv("N", 1024),), requires=(whole,)), site)
    assert (exact.verdict, exact.requires) == (Verdict.PROVED, ())
    never_room = spec({"out": ("N",)}, (cdiv("N", 1024),), requires=(ragged,))
    assert codes(outcome(never_room, site, replay=Witnesses())) == {"TV302"}
    some_room = spec({"out": ("N",)}, (cdiv("N", 1024),))
    assert codes(outcome(some_room, site, replay=Witnesses())) == {"TV302"}
    guessed = outcome(replace(some_room, origin="inferred"), site, replay=Witnesses())
    assert (guessed.verdict, guessed.requires) == (Verdict.PROVED, ("N % 1024 == 0",))


# ---------------------------------------------------------------------------------------- reads, atomics
def test_reading_what_a_neighbour_writes() -> None:
    load = tile_site(1, Access.READ, OUT, (t.add(X, t.ONE),), (128,), guard=t.lt(t.add(X, t.ONE), GRID[0]))
    store = tile_site(2, Access.WRITE, OUT, (X,), (128,), waits=(Wait(1),))
    result = outcome(spec({"out": ("N",)}, (cdiv("N", 128),)), load, store, replay=Witnesses())
    assert codes(result) == {"TV102"}


@pytest.mark.parametrize(("scope", "expected"), [("device", set()), ("sys", set()), ("tl_blk", {"TV103"})])
def test_scope_of_atomics(scope: str, expected: set[str]) -> None:
    atomic = tile_site(
        1, Access.ATOMIC, OUT, (t.ZERO,), (128,), ordering=MemoryOrdering.RELAXED, scope=MemoryScope(scope)
    )
    result = outcome(
        spec({"out": ("N",)}, (16,), requires=(Apply(">=", (Name("N"), Number(1))),)), atomic, replay=Witnesses()
    )
    assert codes(result) == expected
    assert result.verdict is (Verdict.REFUTED if expected else Verdict.PROVED)


def test_weak_store_beside_an_atomic() -> None:
    atomic = tile_site(
        1, Access.ATOMIC, OUT, (t.ZERO,), (128,), ordering=MemoryOrdering.RELAXED, scope=MemoryScope.DEVICE
    )
    store = tile_site(2, Access.WRITE, OUT, (t.ZERO,), (128,), guard=t.eq(X, t.ZERO), waits=(Wait(1),))
    launch = spec({"out": ("N",)}, (16,), requires=(Apply(">=", (Name("N"), Number(1))),))
    assert codes(outcome(launch, atomic, store, replay=Witnesses())) == {"TV103"}


# ------------------------------------------------------------------------------------ order in a block
def test_load_and_store_need_a_token() -> None:
    launch = spec({"out": ("N",)}, (cdiv("N", 128),))
    load = tile_site(1, Access.READ, OUT, (X,), (128,))
    ordered = tile_site(2, Access.WRITE, OUT, (X,), (128,), waits=(Wait(1),))
    unordered = tile_site(2, Access.WRITE, OUT, (X,), (128,))
    assert outcome(launch, load, ordered).verdict is Verdict.PROVED
    assert codes(outcome(launch, load, unordered, replay=Witnesses())) == {"TV201"}


K = t.var("k", Scope.ITERATION, 0)
LOOP = Loop("k", K)


def in_loop(number: int, waits: tuple[Wait, ...], index: Term = X) -> object:
    return tile_site(number, Access.WRITE, OUT, (index,), (128,), guard=t.lt(K, t.const(4)), loops=(LOOP,), waits=waits)


def test_iterations_are_ordered_only_by_carried_tokens() -> None:
    launch = spec({"out": ("N",)}, (cdiv("N", 128),))
    every = Wait(1, t.lt(earlier(K), K))
    last = Wait(1, t.eq(earlier(K), t.sub(K, t.ONE)))
    assert outcome(launch, in_loop(1, (every,))).verdict is Verdict.PROVED
    assert codes(outcome(launch, in_loop(1, (last,)), replay=Witnesses())) == {"TV201"}
    assert codes(outcome(launch, in_loop(1, ()), replay=Witnesses())) == {"TV201"}


def test_persistent_loop_needs_the_grid_as_its_step() -> None:
    launch = spec({"out": ("N",)}, ("G",), requires=())
    launch = spec({"out": ("N",), "unused": ("G",)}, (Name("G"),))

    def persistent(step: Term) -> object:
        tile = t.add(X, t.mul(K, step))
        inside = t.lt(tile, t.ceildiv(OUT.shape[0], t.const(128)))
        return tile_site(1, Access.WRITE, OUT, (tile,), (128,), guard=inside, loops=(LOOP,))

    assert outcome(launch, persistent(GRID[0])).verdict is Verdict.PROVED
    assert "TV101" in codes(outcome(launch, persistent(t.ONE), replay=Witnesses()))


# ------------------------------------------------------------------------------------------------ data
def loaded(index: Term) -> Term:
    return t.apply(Function("idx", Scope.LAUNCH, -(2**31), 2**31 - 1, array="idx"), index)


def test_scatter_through_an_index_array_needs_a_fact() -> None:
    index = origin("idx", 1)
    position = t.add(t.mul(X, t.const(1024)), LANE)
    inside = t.lt(position, index.shape[0])
    element = loaded(position)
    mask = t.and_(inside, t.lt(t.unsigned(64, element), OUT.shape[0]))
    read = pointer_site(1, Access.READ, index, t.scale(4, position), inside, lanes(1024))
    store = pointer_site(2, Access.WRITE, OUT, t.scale(4, element), mask, lanes(1024))
    arrays: dict[str, tuple[str | int, ...]] = {"idx": ("N",), "out": ("M",)}
    grid = (cdiv("N", 1024),)
    fact = DataFact("injective", "idx", text="injective(idx)")
    open_result = outcome(spec(arrays, grid), read, store)
    assert open_result.verdict is Verdict.UNDECIDED
    assert codes(open_result) == {"TV901"}
    assert {hint.id for f in open_result.findings for hint in f.hints} == {"declare-facts"}
    assert all('data = ["injective(idx' in hint.text for f in open_result.findings for hint in f.hints)
    result = outcome(spec(arrays, grid, data=(fact,)), read, store)
    assert result.verdict is Verdict.PROVED
    assert result.assumes == ("injective(idx)",)


# ------------------------------------------------------------------------------- promises and contracts
def test_a_launch_promise_becomes_a_clause() -> None:
    aligned = t.eq(t.floormod(OUT.shape[0], t.const(16)), t.ZERO)
    item = Promise(TV.ASSUME_PROMISE, aligned, t.TRUE, "the size is divisible by 16", None)
    written = spec({"out": ("N",)}, (cdiv("N", 128),))
    store = tile_site(1, Access.WRITE, OUT, (X,), (128,))
    assert outcome(written, store, promises=(item,)).verdict is not Verdict.PROVED
    launch = replace(written, origin="inferred")
    result = outcome(launch, store, promises=(item,))
    assert result.verdict is Verdict.PROVED
    assert result.requires == ("N % 16 == 0",)
    denied = verify(
        summary(store, promises=(item,)), launch, (), options=VerifyOptions(deny_requires=True), confirm=never
    )
    assert denied.verdict is not Verdict.PROVED


def test_a_contradictory_contract_is_an_error() -> None:
    impossible = Apply("<", (Name("N"), Number(0)))
    result = outcome(
        spec({"out": ("N",)}, (cdiv("N", 128),), requires=(impossible,)), tile_site(1, Access.WRITE, OUT, (X,), (128,))
    )
    assert result.verdict is Verdict.ERROR
