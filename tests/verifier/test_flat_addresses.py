"""Addresses ``sum(index * stride)`` behind raw pointers: proved by coordinates of the array that a contract describes.

Each kernel is a right one or a mutant of it.  Small launches are enumerated: nothing with a fault may be proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.expression_parser import parse_condition, parse_size
from tileverify.contract.expressions import evaluate as number_of
from tileverify.contract.launch import ArrayArgument, LaunchSpec
from tileverify.contract.strides import apart, may_overlap_itself
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.contract.variables import BID
from tileverify.frontend.symbolic.summary import Access, Origin, OriginKind
from tileverify.results import Verdict
from tileverify.verifier.budgets import KERNEL_EFFORT
from tileverify.verifier.obligations.layout import coordinates_of
from tileverify.verifier.verify import VerifyOptions, verify

from .builders import INT32, lanes, never, pointer_site, summary

TILE = 2
SIZES = {name: t.var(name, Scope.LAUNCH, 0, INT32) for name in ("Z", "H", "S", "p", "q")}
Z, H, S, P, Q = SIZES.values()
LANE, SECOND = (lane.variable for lane in lanes(TILE, TILE))
ROW, COLUMN = t.add(t.scale(TILE, BID[0]), LANE), t.add(t.scale(TILE, BID[1]), SECOND)
GROUP, MEMBER = t.floordiv(BID[1], H), t.floormod(BID[1], H)


@dataclass(frozen=True)
class FlatStore:
    """``out[sum(coordinates * strides)]`` where ``bounds`` exceed the coordinates; texts describe the launch."""

    shape: tuple[str, ...]
    described: tuple[str, ...] | None
    grid: tuple[str, ...]
    coordinates: tuple[Term, ...]
    strides: tuple[Term, ...]
    bounds: tuple[tuple[Term, Term], ...]
    requires: tuple[str, ...] = ()

    @property
    def offset(self) -> Term:
        return t.scale(4, t.add(*map(t.mul, self.coordinates, self.strides)))

    @property
    def guard(self) -> Term:
        return t.and_(*(t.lt(index, size) for index, size in self.bounds))

    @property
    def launch(self) -> LaunchSpec:
        described = None if self.described is None else tuple(map(parse_size, self.described))
        array = ArrayArgument("out", "f32", tuple(map(parse_size, self.shape)), described)
        numbers = ArrayArgument("numbers", "f32", tuple(map(parse_size, SIZES)))  # each name is a size in 32 bits
        x, y, z = map(parse_size, (*self.grid, "1", "1")[:3])
        conditions = tuple(map(parse_condition, self.requires))
        return LaunchSpec("kernel", "0", (array, numbers), (x, y, z), requires=conditions)

    def verdict(self, effort: int = KERNEL_EFFORT) -> Verdict:
        raw = Origin(OriginKind.PARAMETER, "out", 4)
        site = pointer_site(1, Access.WRITE, raw, self.offset, self.guard, lanes(TILE, TILE))
        options = VerifyOptions(witnesses=False, deny_requires=True, effort=effort)
        return verify(summary(site), self.launch, (), options=options, confirm=never).verdict

    # ---------------------------------------------------------------------------------- small launches
    def faults(self) -> Iterator[str]:
        """What goes wrong in launches with small numbers."""
        texts = (*self.shape, *(self.described or ()), *self.grid)
        used = {leaf.symbol.name for leaf in self.guard.free | self.offset.free}
        names = [name for name in SIZES if name in used or any(name in text for text in texts)]
        for numbers in product(range(4 if len(names) < 4 else 3), repeat=len(names)):
            yield from self._faults_of(dict(zip(names, numbers, strict=True)))

    def _faults_of(self, numbers: Mapping[str, int]) -> Iterator[str]:
        array, _ = self.launch.arrays()
        shape = [number_of(size, numbers) for size in array.shape]
        rows = [1] * len(shape)
        for d in reversed(range(len(shape) - 1)):
            rows[d] = rows[d + 1] * shape[d + 1]
        strides = rows if array.strides is None else [number_of(stride, numbers) for stride in array.strides]
        assert self.launch.grid is not None
        allowed = all(number_of(parse_condition(text), numbers) for text in self.requires)  # type: ignore[arg-type]
        if not allowed or not (may_overlap_itself(array) or apart(shape, strides)):
            return
        extent = 4 * (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) if all(shape) else 0
        grid = [number_of(axis, numbers) for axis in self.launch.grid]
        seen: dict[int, tuple[int, ...]] = {}
        for place in product(*map(range, grid), range(TILE), range(TILE)):
            values = {SIZES[name]: number for name, number in numbers.items()}
            values |= zip((*BID, LANE, SECOND), place, strict=True)
            if not evaluate(self.guard, values):
                continue
            offset = evaluate(self.offset, values)
            if not 0 <= offset <= extent - 4:
                yield f"{numbers}: {place} leaves the array"
            if seen.setdefault(int(offset), place) != place:
                yield f"{numbers}: {place} and {seen[int(offset)]} store at {offset}"


MATRIX = FlatStore(
    ("Z", "S"),
    None,
    ("cdiv(Z, 2)", "cdiv(S, 2)"),
    (ROW, COLUMN),
    (S, t.ONE),
    ((ROW, Z), (COLUMN, S)),
    ("Z * S < 2**29",),
)
HEADS = FlatStore(
    ("Z", "S", "H"),
    None,
    ("cdiv(S, 2)", "Z * H"),
    (GROUP, ROW, MEMBER),
    (t.mul(S, H), H, t.ONE),
    ((ROW, S), (SECOND, t.ONE)),
    ("1 <= H", "Z * S * H < 2**29"),
)
RIGHT = {
    "rows": MATRIX,
    "columns": replace(MATRIX, shape=("S", "Z"), coordinates=(COLUMN, ROW), strides=(Z, t.ONE)),
    "padded rows": replace(MATRIX, described=("S + 1", "1"), strides=(t.add(S, t.ONE), t.ONE)),
    "rows p apart": replace(MATRIX, described=("p", "1"), strides=(P, t.ONE)),
    "every other row": replace(MATRIX, described=("2 * S", "1"), strides=(t.scale(2, S), t.ONE)),
    "any strides": replace(MATRIX, described=("p", "q"), strides=(P, Q)),
    "heads": HEADS,
    "heads, any strides": replace(HEADS, described=("S * H", "p", "q"), strides=(t.mul(S, H), P, Q)),
    "64 numbers a head": replace(
        HEADS,
        shape=("Z", "S", "H", "64"),
        coordinates=(GROUP, ROW, MEMBER, SECOND),
        strides=(t.product([t.const(64), S, H]), t.scale(64, H), t.const(64), t.ONE),
        bounds=((ROW, S),),
    ),
    "chunks": replace(
        HEADS,
        shape=("Z", "cdiv(S, 3)", "H"),
        grid=("cdiv(S, 3)", "Z * H"),
        coordinates=(GROUP, BID[0], MEMBER),
        strides=(t.mul(t.ceildiv(S, t.const(3)), H), H, t.ONE),
        bounds=((SECOND, t.ONE), (LANE, t.ONE)),
    ),
}
WRONG = {
    "a row too many": replace(MATRIX, bounds=((ROW, t.add(Z, t.ONE)), (COLUMN, S))),
    "no mask on the columns": replace(MATRIX, bounds=((ROW, Z),)),
    "masks the wrong axis": replace(MATRIX, bounds=((ROW, S), (COLUMN, Z))),
    "stride of the other axis": replace(MATRIX, strides=(Z, t.ONE)),
    "rows one too far apart": replace(MATRIX, strides=(t.add(S, t.ONE), t.ONE)),
    "rows one too near": replace(MATRIX, described=("p", "1"), strides=(t.sub(P, t.ONE), t.ONE)),
    "a row too many of p": replace(MATRIX, described=("p", "1"), strides=(P, t.ONE), bounds=((ROW, t.add(Z, t.ONE)),)),
    "a stride twice": replace(MATRIX, described=("p", "q"), strides=(P, P)),
    "strides swapped": replace(MATRIX, described=("p", "q"), strides=(Q, P)),
    "rows overlap": replace(MATRIX, described=("S - 1", "1"), strides=(t.sub(S, t.ONE), t.ONE), requires=("2 <= S",)),
    "a position too many": replace(HEADS, bounds=((ROW, t.add(S, t.ONE)), (SECOND, t.ONE))),
    "a group too many": replace(HEADS, grid=("cdiv(S, 2)", "(Z + 1) * H")),
    "heads counted by positions": replace(HEADS, strides=(t.mul(S, H), S, t.ONE)),
    "each lane twice": replace(HEADS, bounds=((ROW, S),)),
    "a chunk too many": replace(RIGHT["chunks"], grid=("cdiv(S, 3) + 1", "Z * H")),
    "chunks rounded down": replace(RIGHT["chunks"], shape=("Z", "S // 3", "H")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_stores_are_proved(name: str) -> None:
    assert not list(RIGHT[name].faults())
    assert RIGHT[name].verdict() is Verdict.PROVED


@pytest.mark.parametrize("name", WRONG)
def test_wrong_twins_are_not(name: str) -> None:
    assert list(WRONG[name].faults())
    assert WRONG[name].verdict() is not Verdict.PROVED


_indices = st.sampled_from((ROW, COLUMN, GROUP, MEMBER, LANE, SECOND, t.ZERO, t.add(ROW, t.ONE), t.sub(COLUMN, LANE)))
_strides = st.sampled_from((t.ONE, S, H, P, Q, t.mul(S, H), t.add(S, t.ONE), t.const(2), t.scale(2, S)))
_bounds = st.sampled_from((Z, H, S, t.ONE, t.add(S, t.ONE)))


@st.composite
def stores(draw: st.DrawFn) -> FlatStore:
    """A right store with up to three parts of another."""
    store = draw(st.sampled_from(sorted(RIGHT.values(), key=str)))
    for _ in range(draw(st.integers(0, 3))):
        d = draw(st.integers(0, len(store.shape) - 1))
        match draw(st.sampled_from(("coordinates", "strides", "bounds", "grid"))):
            case "bounds":
                store = replace(store, bounds=(*store.bounds[1:], (draw(_indices), draw(_bounds))))
            case "grid":
                store = replace(store, grid=(draw(st.sampled_from(("S", "Z", "cdiv(S, 2) + 1"))), store.grid[1]))
            case part:
                changed = list(getattr(store, part))
                changed[d] = draw(_indices if part == "coordinates" else _strides)
                store = replace(store, **{part: tuple(changed)})
    return store


@given(stores())
@settings(max_examples=60)
def test_nothing_with_a_fault_is_proved(store: FlatStore) -> None:
    if store.verdict(effort=KERNEL_EFFORT // 20) is Verdict.PROVED:
        assert not list(store.faults())


@given(stores(), st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_coordinates_are_those_of_the_address(store: FlatStore, numbers: list[int]) -> None:
    """Whatever the layout is that they are read off from."""
    strides = tuple(map(t.var, "ab", [Scope.LAUNCH] * 2)) if store.described == ("p", "q") else store.strides
    array = Origin(OriginKind.PARAMETER, "out", 4, tuple(t.add(s, t.const(2)) for s in strides), strides)
    found = coordinates_of(store.offset, array, 4)
    if found is None:
        return
    terms = [store.offset, t.scale(4, t.add(*map(t.mul, found, strides)))]
    variables = sorted({leaf for term in terms for leaf in term.free}, key=str)
    values = dict(zip(variables, (1 + number for number in numbers), strict=False))
    assert evaluate(terms[0], values) == evaluate(terms[1], values)
