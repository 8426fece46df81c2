"""What every access of a kernel moves in one launch, and the least for each array (see the package)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...contract.concrete import ConcreteArray, ConcreteLaunch
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.bytecode.model import Entry
from ...frontend.symbolic.summary import Access, AccessSummary, OriginKind, Site, ViewFootprint
from ..audit.block_terms import launch_numbers
from .counted import Bounds, lanes_touched
from .logged import LoggedTraffic, Mode
from .regions import Extents, SiteParts, site_parts
from .touched import Runs, joined, length, touched_runs
from .values import MOST_CELLS, NotCounted, RangedValues

GLOBAL_MEMORY: Final = frozenset({OriginKind.PARAMETER, OriginKind.LIST_ELEMENT, OriginKind.GLOBAL})
_WAYS: Final = {Access.READ: (False,), Access.WRITE: (True,), Access.ATOMIC: (False, True)}


@dataclass(frozen=True)
class LaunchAccount:
    """One launch.  ``moved``: by the number of the site; ``parts``: the counts whose product the lanes of a site are.
    ``least``, ``of_array``: least and moved bytes by array and direction."""

    moved: Mapping[int, Bounds]
    parts: Mapping[int, tuple[Bounds, ...]]
    least: Mapping[Mode, Bounds]
    of_array: Mapping[Mode, Bounds]


@dataclass
class KernelAccounts:
    """The sites of a kernel that touch global memory."""

    entry: Entry
    parameters: Sequence[EntryParameter]
    spec: LaunchSpec
    sites: tuple[SiteParts, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entry: Entry, parameters: Sequence[EntryParameter], spec: LaunchSpec, summary: AccessSummary
    ) -> KernelAccounts:
        """Raises `NotCounted` for a kernel with an access that nobody can follow."""
        for site in summary.sites:
            _refuse(site)
        sites = tuple(site_parts(site) for site in summary.sites if site.origin.kind in GLOBAL_MEMORY)
        names = {name: min(group) for group in spec.same_arrays() for name in group}
        return cls(entry, parameters, spec, sites, names)

    def array(self, site: Site) -> str:
        """The name of what a site touches; arrays that the contract says are one have one name."""
        return self.names.get(site.origin.name, site.origin.name)

    def at(self, launch: ConcreteLaunch, cells: int = MOST_CELLS) -> LaunchAccount:
        """Raises `NotCounted`, also for a launch with more than ``cells`` blocks and iterations to try."""
        values = RangedValues(launch_numbers(self.entry, self.parameters, launch), cells)
        moved: dict[int, Bounds] = {}
        parts: dict[int, tuple[Bounds, ...]] = {}
        runs: dict[Mode, list[tuple[Runs | None, Runs | None]]] = defaultdict(list)
        totals: dict[Mode, Bounds] = {}
        for each in self.sites:
            extents = Extents.of(each, values, launch.grid)
            lanes, parts[each.site.number] = lanes_touched(each, extents)
            own = (lanes[0] * _width(each.site), lanes[1] * _width(each.site))
            ways = _WAYS[each.site.access]
            moved[each.site.number] = own[0] * len(ways), own[1] * len(ways)
            most = touched_runs(each, extents, most=True)
            least = touched_runs(each, extents, most=False) if lanes[0] != lanes[1] else most
            for writes in ways:
                mode = self.array(each.site), writes
                runs[mode].append((least, most))
                low, high = totals.get(mode, (0, 0))
                totals[mode] = low + own[0], high + own[1]
        least_of = {
            mode: _least(found, totals[mode], _extent(launch.arrays.get(mode[0]))) for mode, found in runs.items()
        }
        return LaunchAccount(moved, parts, least_of, totals)

    def difference(self, account: LaunchAccount, log: LoggedTraffic) -> str:
        """Where the interpreter moved other bytes, in words; empty where it moved the same."""
        for each in self.sites:
            seen = log.moved.get(each.site.offset, 0)
            low, high = account.moved[each.site.number]
            if not low <= seen <= high:
                return f"access {each.site.number} moves {low} to {high} bytes, the interpreter moved {seen}"
        least: dict[Mode, int] = defaultdict(int)
        for (name, writes), seen in log.least.items():
            least[self.names.get(name, name), writes] += seen
        for mode, (low, high) in account.least.items():
            if not low <= least[mode] <= high and mode[0] in {each.name for each in self.spec.arrays()}:
                return f"of {mode[0]} {low} to {high} bytes are touched, in the interpreter {least[mode]}"
        return ""


def _refuse(site: Site) -> None:
    if site.origin.kind is OriginKind.UNKNOWN:
        raise NotCounted("an access goes to an address whose array is not known")
    if isinstance(site.footprint, ViewFootprint) and site.footprint.packed:
        raise NotCounted("two elements of an array share a byte")


def _width(site: Site) -> int:
    return site.footprint.element_bytes


def _extent(array: ConcreteArray | None) -> int | None:
    if array is None:
        return None
    if 0 in array.shape:
        return 0
    elements = 1 + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return elements * -(-ELEMENT_TYPES[array.dtype].bits // 8)


def _least(found: Sequence[tuple[Runs | None, Runs | None]], moved: Bounds, extent: int | None) -> Bounds:
    """Each byte once.  Accesses whose place is not known touch nothing, or all that they move."""
    low = length(joined(least for least, _ in found if least is not None))
    high = length(joined(most for _, most in found if most is not None))
    if any(most is None for _, most in found):
        high = moved[1] if extent is None else min(moved[1], extent)
    return low, high
