"""Access summaries built by hand, so that the verifier is tested without the frontend."""

from __future__ import annotations

from tileverify.contract import terms as t
from tileverify.contract.launch import ArrayArgument, ConcreteLaunch, LaunchSpec, Name, Number
from tileverify.contract.terms import Scope, Term
from tileverify.contract.variables import BID
from tileverify.frontend.bytecode.enums import MemoryOrdering, MemoryScope
from tileverify.frontend.symbolic.summary import (
    Access,
    AccessSummary,
    Lane,
    Loop,
    Origin,
    OriginKind,
    PointerFootprint,
    Promise,
    Site,
    ViewFootprint,
    Wait,
)
from tileverify.results.claim import Claim, Confirmation, Shown, Touch

INT32 = 2**31 - 1


def size(array: str, d: int) -> Term:
    return t.var(f"{array}.shape[{d}]", Scope.LAUNCH, 0, INT32)


def origin(name: str, rank: int, element_bytes: int = 4) -> Origin:
    strides = [t.var(f"{name}.strides[{d}]", Scope.LAUNCH, 0, INT32) for d in range(rank - 1)] + [t.ONE]
    return Origin(OriginKind.PARAMETER, name, element_bytes, tuple(size(name, d) for d in range(rank)), tuple(strides))


def lanes(*sizes: int) -> tuple[Lane, ...]:
    return tuple(Lane(t.var(f"l{d}", Scope.LANE, 0, n - 1), n) for d, n in enumerate(sizes))


def tile_site(
    number: int,
    access: Access,
    array: Origin,
    index: tuple[Term, ...],
    tile: tuple[int, ...],
    *,
    guard: Term = t.TRUE,
    loops: tuple[Loop, ...] = (),
    waits: tuple[Wait, ...] = (),
    ordering: MemoryOrdering = MemoryOrdering.WEAK,
    scope: MemoryScope | None = None,
) -> Site:
    """A load or store through a partition view of a whole array."""
    lane = lanes(*tile)
    coordinates = tuple(t.add(t.scale(n, i), entry.variable) for n, i, entry in zip(tile, index, lane, strict=True))
    footprint = ViewFootprint(
        array,
        t.ZERO,
        array.shape,
        array.strides,
        array.element_bytes,
        coordinates,
        index,
        tuple(t.ceildiv(n, t.const(k)) for n, k in zip(array.shape, tile, strict=True)),
        tile,
        tile,
        tuple(range(len(tile))),
    )
    return Site(number, "store_view_tko", access, ordering, scope, footprint, guard, lane, loops, waits, None, number)


def pointer_site(
    number: int,
    access: Access,
    array: Origin,
    offset: Term,
    guard: Term,
    lane: tuple[Lane, ...],
    *,
    loops: tuple[Loop, ...] = (),
    waits: tuple[Wait, ...] = (),
    ordering: MemoryOrdering = MemoryOrdering.WEAK,
    scope: MemoryScope | None = None,
) -> Site:
    footprint = PointerFootprint(array, offset, array.element_bytes)
    return Site(number, "store_ptr_tko", access, ordering, scope, footprint, guard, lane, loops, waits, None, number)


def summary(*sites: Site, promises: tuple[Promise, ...] = ()) -> AccessSummary:
    origins = {site.origin.name: site.origin for site in sites}
    written = {site.origin.name for site in sites if site.writes}
    return AccessSummary(
        "kernel", sites, promises, origins, frozenset(origins) - written, read_axes=_read_axes(sites, promises)
    )


def _read_axes(sites: tuple[Site, ...], promises: tuple[Promise, ...]) -> frozenset[int]:
    """The axes whose block number says where, or whether, something is accessed."""
    terms = [term for each in promises for term in (each.guard, each.condition)]
    for site in sites:
        footprint = site.footprint
        places = (footprint.offset,) if isinstance(footprint, PointerFootprint) else footprint.coordinates
        terms += [site.guard, *places]
    return frozenset(axis for axis, bid in enumerate(BID) if any(bid in term.free for term in terms))


def spec(arrays: dict[str, tuple[str | int, ...]], grid: tuple[object, ...] | None = (), **more: object) -> LaunchSpec:
    """A launch of contiguous f32 arrays; ``grid`` are expressions, numbers, or ``None`` for any grid."""
    arguments = tuple(
        ArrayArgument(name, "f32", tuple(Name(s) if isinstance(s, str) else Number(s) for s in shape))
        for name, shape in arrays.items()
    )
    axes = None
    if grid is not None:
        filled = [Number(g) if isinstance(g, int) else g for g in (*grid, 1, 1, 1)[:3]]
        axes = (filled[0], filled[1], filled[2])
    return LaunchSpec("kernel", "0", arguments, axes, **more)  # type: ignore[arg-type]


class Witnesses:
    """A replay that believes everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.claims: list[tuple[ConcreteLaunch, Claim]] = []

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> Confirmation:
        self.claims.append((launch, claim))
        return Confirmation("out", "out[?]", 0, Touch(0, "store", claim.block_a), None, "a test")


class Never:
    """A replay that confirms nothing."""

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> None:
        return None

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        return Shown(claim, None, True)


never = Never()
