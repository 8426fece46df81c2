"""Launches that are checked together and made together, again and again.

    with tileverify.graph() as g:
        first = g.launch(grid, scale, (x, y, 128))
        g.launch(grid, add, (y, z, out, 128), after=[first])
    g.replay(stream)

Every launch is verified as by `tileverify.launch`.  Launches without a path between them may run at once, so that no
two of them may conflict (TV504).  The graph owns its arguments, and a replay is work in flight like any other launch.

A launch that is permitted to may start while the one that it comes behind still runs, if its kernel waits for that one
before it touches anything but arrays that no launch added before it writes.  The first launch of a graph begins when
all is done that the stream was given before, so that nothing else can be writing them either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol

from ..backend.guard import LaunchRefused
from ..backend.ledger import ByteAccess, InFlightConflict, WrittenBytes, unordered_conflicts
from ..backend.ledger import GraphNode as Footprint
from ..system.errors import UsageError
from .in_flight import InFlight, in_flight
from .launch_cache import Planned
from .launch_log import Noted, Use, complain, leaves
from .launch_types import Arguments, GivenGrid, Stream
from .on_cpu import HOST, HostPlan

BRANCHES: Final = 32
"""Launches of a graph that wait for nothing and begin at once; the next one waits for the first of them, and so on.

The driver starts every launch that waits for nothing by itself, which takes 1.6 us each on an H200, and a chain in one
go: 1000 such launches take 0.77 us each in 8 to 32 chains (`benchmarks/results/launching.md`).  One may
wait for more than it has to: launches that need each other would conflict, and are refused.
"""


class Backend(Protocol):
    """A graph of the driver, or of the host; a plan is one for its device, a handle is whatever ``add`` gives."""

    def add(self, plan: Any, after: Sequence[Any], *, early: bool = False) -> object:
        """A launch behind others; ``early``: it may start before the only one of them has ended."""

    def finish(self) -> None:
        """No more are added."""

    def change(self, handle: Any, plan: Any) -> None:
        """Another launch of the same kernel in a finished graph, for replays from now on."""

    def replay(self, stream: Stream) -> None:
        """All of it."""


class HostGraph:
    """Launches on arrays in the host's memory, one after the other in the order in which they were added."""

    def __init__(self) -> None:
        self._plans: list[HostPlan] = []

    def add(self, plan: HostPlan, after: Sequence[int], *, early: bool = False) -> int:
        self._plans.append(plan)
        return len(self._plans) - 1

    def finish(self) -> None:
        """Nothing is made beforehand."""

    def change(self, handle: int, plan: HostPlan) -> None:
        self._plans[handle] = plan

    def replay(self, stream: Stream) -> None:
        for plan in self._plans:
            plan.launch(stream)


def backend_of(device: int) -> Backend:
    """A graph for the host, or for a GPU."""
    from ..backend.gpu.loaded import CudaGraph

    return HostGraph() if device == HOST else CudaGraph(device)


@dataclass(eq=False)
class Node:
    """One launch of a graph.  ``permitted``: to start early; ``early``: it does.

    ``kept``: whatever stood in its arguments, which belong to the caller and may be something else by now.
    """

    number: int
    kernel: object
    planned: Planned
    kept: tuple[object, ...]
    after: tuple[Node, ...]
    permitted: bool = False
    early: bool = False
    handle: object = None


@dataclass(eq=False)
class Graph:
    """``plan(grid, kernel, arguments, data=..., vouch=...)`` verifies, ``backend(device)`` makes a driver's graph."""

    plan: Callable[..., Planned]
    backend: Callable[[int], Backend]
    work: InFlight = field(default_factory=in_flight)
    _nodes: list[Node] = field(default_factory=list)
    _made: Backend | None = None
    _use: Use | None = None
    _kept: tuple[object, ...] = ()  # what has to live while a replay is in flight, each object once

    def launch(
        self,
        grid: GivenGrid,
        kernel: object,
        arguments: Arguments,
        *,
        after: Sequence[Node] | None = None,
        data: Sequence[str] = (),
        vouch: bool = False,
        programmatic_dependent_launch: bool = False,
    ) -> Node:
        """One launch, behind those of ``after``; behind the latest one where that is not said.

        ``programmatic_dependent_launch``: it may start before the one that it comes behind has ended.

        Raises what `tileverify.launch` raises, and `LaunchRefused` for a launch whose proof rests on what arrays hold:
        nobody looks at a replay, so that the caller has to ``vouch``.
        """
        if self._made is not None:
            raise UsageError("the graph is finished: launches belong inside its 'with' block")
        behind = tuple(self._nodes[-1:] if after is None else after)
        if any(node not in self._nodes for node in behind):
            raise UsageError("'after' names a launch of another graph")
        planned = self._planned(grid, kernel, arguments, data, vouch)
        if self._nodes and planned.use.device != self._nodes[0].planned.use.device:
            raise UsageError("the launches of one graph run on one device")
        node = Node(len(self._nodes), kernel, planned, tuple(leaves(arguments)), behind, programmatic_dependent_launch)
        self._nodes.append(node)
        return node

    def _planned(
        self, grid: GivenGrid, kernel: object, arguments: Arguments, data: Sequence[str], vouch: bool
    ) -> Planned:
        planned = self.plan(grid, kernel, arguments, data=data, vouch=vouch)
        if not planned.again and not vouch:
            raise LaunchRefused(
                f"{planned.use.name} was not put into a graph: it has no proof, or one that rests on what arrays hold, "
                "which nobody checks at a replay (TV502); pass vouch=True to answer for it"
            )
        return planned

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()

    def _finish(self) -> None:
        """Raises `InFlightConflict` (TV504) for launches that may run at once and must not."""
        if not self._nodes:
            raise UsageError("the graph has no launch")
        self._check()
        for node, early in zip(self._nodes, self._early(), strict=True):
            node.early = early
        made = self.backend(self._nodes[0].planned.use.device)
        free: list[object] = []
        for node in self._nodes:
            behind = [each.handle for each in node.after]
            if not behind and len(free) >= BRANCHES:
                behind = [free[-BRANCHES]]
            node.handle = made.add(node.planned.plan, behind, early=node.early)
            if not node.after:
                free.append(node.handle)
        made.finish()
        self._made = made

    def _check(self) -> None:
        footprints = [
            Footprint(node.planned.use.name, node.planned.use.touched, tuple(each.number for each in node.after))
            for node in self._nodes
        ]
        for earlier, later, one, other in unordered_conflicts(footprints):
            raise InFlightConflict(
                f"launch {later} ('{footprints[later].name}') {_does(other)} `{other.what}`, which launch {earlier} "
                f"('{footprints[earlier].name}') {_does(one)} as `{one.what}`, and nothing orders them (TV504): "
                "say after=[...]"
            )
        accesses = tuple(self._accesses())
        arrays = tuple(dict.fromkeys(array for node in self._nodes for array in node.planned.use.arrays))
        self._use = Use(f"a graph of {len(self._nodes)} launches", self._nodes[0].planned.use.device, accesses, arrays)
        held = [each for node in self._nodes for each in (*node.kept, *node.planned.plan.alive)]
        self._kept = tuple({id(each): each for each in held if not isinstance(each, int | float | str)}.values())

    def _early(self) -> list[bool]:
        """Which launches may start before the one that they come behind has ended.

        What a launch reads ahead of its wait may be written by itself, whose blocks do not disturb each other, and by
        launches behind it, which wait until it has ended.  Of those added before it, any may still be running.
        """
        written, found = WrittenBytes(), list[bool]()
        for node in self._nodes:
            accesses, ahead = node.planned.use.accesses, node.planned.ahead
            found.append(
                node.permitted
                and len(node.after) == 1
                and ahead is not None
                and not any(written.touches(each) for each in accesses if each.what in ahead)
            )
            for access in accesses:
                if access.write:
                    written.add(access)
        return found

    def _accesses(self) -> Iterator[ByteAccess]:
        return (access for node in self._nodes for access in node.planned.use.accesses)

    def update(self, node: Node, grid: GivenGrid, arguments: Arguments, *, vouch: bool = False) -> None:
        """Other arguments for one launch, verified like the first ones, for replays from now on.

        What breaks the contract, or the order of the graph, changes nothing.
        """
        if self._made is None or node not in self._nodes:
            raise UsageError("only a launch of a finished graph can be updated")
        planned = self._planned(grid, node.kernel, arguments, (), vouch)
        if planned.plan.kernel is not node.planned.plan.kernel:
            raise UsageError("the new arguments need another specialisation of the kernel: make a new graph")
        before = node.planned, node.kept
        node.planned, node.kept = planned, tuple(leaves(arguments))
        try:
            self._check()
            if any(each.early > early for each, early in zip(self._nodes, self._early(), strict=True)):
                raise UsageError("a launch of the graph starts early and would read what is written: make a new graph")
            self._made.change(node.handle, planned.plan)
        except BaseException:
            node.planned, node.kept = before
            self._check()
            raise

    def replay(self, stream: Stream = None) -> None:
        """Make all launches, in order with whatever they conflict with on other streams.

        Raises `InFlightConflict` for arrays whose memory has moved.
        """
        if self._made is None or self._use is None:
            raise UsageError("the graph is not finished: replay it behind its 'with' block")
        if self._use.device == HOST:
            complain([Noted(self._use, self._kept)])
            self._made.replay(stream)
            return
        self.work.launch(stream, self._use, (), self._made.replay, (self, *self._kept))


def _does(access: ByteAccess) -> str:
    return "writes" if access.write else "reads"
