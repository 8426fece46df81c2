"""Graphs: launches checked together, owned arguments, replays in order, updates that keep the contract."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from tests.launching.imitation import alive

from tileverify.backend.guard import LaunchRefused
from tileverify.backend.ledger import ByteAccess, InFlightConflict, StreamId
from tileverify.launching.graphs import BRANCHES, Graph, Node
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned
from tileverify.launching.launch_log import Use
from tileverify.system.errors import UsageError


@dataclass(eq=False)
class Tensor:
    address: int

    def data_ptr(self) -> int:
        return self.address


X, Y, Z = Tensor(1000), Tensor(2000), Tensor(3000)


@dataclass
class Device:
    """A device on which work finishes when somebody waits for it."""

    waits: list[tuple[int, int]] = field(default_factory=list)
    finished: bool = False

    def stream(self, device: int, stream: Any) -> StreamId:
        return StreamId(device, stream, blocking=False)

    def record(self, stream: StreamId) -> Any:
        return stream.handle

    def wait(self, stream: StreamId, event: Any) -> None:
        self.waits.append((stream.handle, event))

    def done(self, event: Any) -> bool:
        return self.finished

    def synchronize(self, event: Any) -> None:
        self.finished = True


@dataclass
class Driver:
    added: list[tuple[Any, list[Any]]] = field(default_factory=list)
    early: list[bool] = field(default_factory=list)
    changed: list[tuple[Any, Any]] = field(default_factory=list)
    replayed: list[Any] = field(default_factory=list)
    finished: int = 0

    def __call__(self, device: int) -> Driver:
        return self

    def add(self, plan: Any, after: Sequence[Any], *, early: bool = False) -> Any:
        self.added.append((plan, list(after)))
        self.early.append(early)
        return f"node {len(self.added)}"

    def finish(self) -> None:
        self.finished += 1

    def change(self, handle: Any, plan: Any) -> None:
        self.changed.append((handle, plan))

    def replay(self, stream: Any) -> None:
        self.replayed.append(stream)


KERNEL = SimpleNamespace()


def copy_plan(grid: Any, kernel: Any, arguments: Any, *, data: Any, vouch: bool) -> Planned:
    """``arguments``: what is read, what is written, and so on."""
    if grid == "refused":
        raise LaunchRefused("refused (TV502)")
    read, written = arguments
    accesses = (
        ByteAccess(read.address, read.address + 500, False, "read"),
        ByteAccess(written.address, written.address + 500, True, "written"),
    )
    device = 1 if grid == "far" else 0
    plan: Any = SimpleNamespace(kernel=kernel, alive=(), arguments=arguments)
    return Planned(plan, Use("copy", device, accesses), again=grid != "contents")


def plan_with(ahead: frozenset[str] | None) -> Any:
    """`copy_plan` of kernels that read these arguments before they wait."""

    def plan(*given: Any, **more: Any) -> Planned:
        return copy_plan(*given, **more)._replace(ahead=ahead)

    return plan


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def work() -> InFlight:
    return InFlight(Device())


@pytest.fixture
def graph(driver: Driver, work: InFlight) -> Graph:
    return Graph(copy_plan, driver, work)


def test_launches_follow_each_other(graph: Graph, driver: Driver) -> None:
    with graph:
        graph.launch((1,), KERNEL, (X, Y))
        graph.launch((1,), KERNEL, (Y, Z))
    assert [after for _, after in driver.added] == [[], ["node 1"]]
    assert driver.finished == 1
    graph.replay(7)
    graph.replay(7)
    assert driver.replayed == [7, 7]


def test_branches_that_touch_nothing_of_each_other(graph: Graph, driver: Driver) -> None:
    with graph:
        first = graph.launch((1,), KERNEL, (X, Y), after=[])
        second = graph.launch((1,), KERNEL, (X, Z), after=[])
        graph.launch((1,), KERNEL, (Y, X), after=[first, second])
    assert [after for _, after in driver.added] == [[], [], ["node 1", "node 2"]]


def test_many_free_launches_become_a_few_chains(graph: Graph, driver: Driver) -> None:
    with graph:
        for number in range(BRANCHES + 2):
            graph.launch((1,), KERNEL, (X, Tensor(10_000 * number + 10_000)), after=[])
    waits = [after for _, after in driver.added]
    assert waits == [[]] * BRANCHES + [["node 1"], ["node 2"]]


def test_unordered_conflicts_are_refused(graph: Graph, driver: Driver) -> None:
    said = r"launch 1 \('copy'\) reads `read`, which launch 0 \('copy'\) writes as `written`, .* \(TV504\): say after="
    graph.launch((1,), KERNEL, (X, Y))
    graph.launch((1,), KERNEL, (Y, Z), after=[])
    with pytest.raises(InFlightConflict, match=said), graph:
        pass
    assert not driver.added
    with pytest.raises(UsageError, match="not finished"):
        graph.replay(7)


def test_what_a_single_launch_refuses_a_graph_refuses(graph: Graph) -> None:
    with pytest.raises(LaunchRefused, match="TV502"), graph:
        graph.launch("refused", KERNEL, (X, Y))


def test_facts_on_contents_need_somebody_to_answer(graph: Graph) -> None:
    with pytest.raises(LaunchRefused, match="nobody checks at a replay"):
        graph.launch("contents", KERNEL, (X, Y))
    with graph:
        graph.launch("contents", KERNEL, (X, Y), vouch=True)


def test_a_replay_is_work_in_flight(graph: Graph, work: InFlight) -> None:
    device = work.device
    assert isinstance(device, Device)
    with graph:
        graph.launch((1,), KERNEL, (X, Y))
    graph.replay(7)
    reader = Use("reader", 0, (ByteAccess(2000, 2100, False, "y"),))
    work.launch(8, reader, (Y,), lambda stream: None)
    assert device.waits == [(8, 7)]
    graph.replay(9)  # writes what is read
    assert (9, 8) in device.waits


def test_a_replay_notes_every_array_once(graph: Graph, work: InFlight) -> None:
    with graph:
        for _ in range(20):
            graph.launch((1,), KERNEL, (X, Y))
            graph.launch((1,), KERNEL, (Y, X))
    graph.replay(7)
    (noted,) = work.journal.all()
    assert noted.kept == (graph, X, Y)


def test_a_write_to_a_captured_array_is_refused_in_strict_mode(graph: Graph, work: InFlight) -> None:
    work.strict = True
    with graph:
        graph.launch((1,), KERNEL, (X, Y))
    graph.replay(7)
    writer = Use("writer", 0, (ByteAccess(1000, 1100, True, "x"),))
    with pytest.raises(InFlightConflict, match="TV504"):
        work.launch(8, writer, (X,), lambda stream: None)


def test_arrays_live_as_long_as_the_graph(driver: Driver, work: InFlight) -> None:
    graph = Graph(copy_plan, driver, work)
    tensor = Tensor(1000)
    gone = weakref.ref(tensor)
    with graph:
        graph.launch((1,), KERNEL, (tensor, Y))
    del tensor
    assert alive(gone)
    graph.replay(7)
    driver.added.clear()
    del graph
    assert alive(gone)  # the replay is still in flight
    work.synchronize()
    assert not alive(gone)


def test_an_update_is_checked(graph: Graph, driver: Driver) -> None:
    with graph:
        first = graph.launch((1,), KERNEL, (X, Y), after=[])
        graph.launch((1,), KERNEL, (X, Z), after=[])
    other = Tensor(4000)
    graph.update(first, (1,), (X, other))
    assert [(handle, plan.arguments) for handle, plan in driver.changed] == [("node 1", (X, other))]
    with pytest.raises(InFlightConflict, match="TV504"):
        graph.update(first, (1,), (X, Z))
    with pytest.raises(LaunchRefused):
        graph.update(first, "refused", (X, Y))
    assert len(driver.changed) == 1
    assert [each for each in first.kept if isinstance(each, Tensor)] == [X, other]


def test_an_update_keeps_the_specialisation(driver: Driver, work: InFlight) -> None:
    def plan(grid: Any, kernel: Any, arguments: Any, **options: Any) -> Planned:
        return copy_plan(grid, SimpleNamespace(), arguments, **options)

    graph = Graph(plan, driver, work)
    with graph:
        node = graph.launch((1,), KERNEL, (X, Y))
    with pytest.raises(UsageError, match="another specialisation"):
        graph.update(node, (1,), (X, Z))


def test_misuse(graph: Graph, driver: Driver, work: InFlight) -> None:
    with pytest.raises(UsageError, match="no launch"), graph:
        pass
    stranger = Graph(copy_plan, driver, work).launch((1,), KERNEL, (X, Y))
    with pytest.raises(UsageError, match="another graph"):
        graph.launch((1,), KERNEL, (X, Y), after=[stranger])
    with graph:
        graph.launch((1,), KERNEL, (X, Y))
        with pytest.raises(UsageError, match="one device"):
            graph.launch("far", KERNEL, (X, Y))
    with pytest.raises(UsageError, match="the graph is finished"):
        graph.launch((1,), KERNEL, (X, Y))
    with pytest.raises(UsageError, match="only a launch of a finished graph"):
        graph.update(stranger, (1,), (X, Y))


def test_an_error_inside_leaves_no_graph(graph: Graph, driver: Driver) -> None:
    graph.launch((1,), KERNEL, (X, Y))
    with pytest.raises(ZeroDivisionError), graph:
        raise ZeroDivisionError
    assert not driver.added
    assert isinstance(graph._nodes[0], Node)


def test_launches_that_wait_start_early_where_they_may(driver: Driver, work: InFlight) -> None:
    """Behind one other launch, and where that is permitted."""
    with Graph(plan_with(frozenset()), driver, work) as graph:
        graph.launch((1,), KERNEL, (X, Y), programmatic_dependent_launch=True)
        second = graph.launch((1,), KERNEL, (Y, Z), programmatic_dependent_launch=True)
        third = graph.launch((1,), KERNEL, (Z, X))
        graph.launch((1,), KERNEL, (X, Z), after=[second, third], programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Z, X), programmatic_dependent_launch=True)
    assert driver.early == [False, True, False, False, True]


def test_launches_that_touch_more_before_they_wait_do_not_start_early(driver: Driver, work: InFlight) -> None:
    with Graph(plan_with(None), driver, work) as graph:
        for _ in range(3):
            graph.launch((1,), KERNEL, (X, Y), programmatic_dependent_launch=True)
    assert driver.early == [False] * 3


@pytest.mark.parametrize("written", [2000, 2499, 1501])
def test_what_is_read_ahead_is_written_by_no_launch_before(driver: Driver, work: InFlight, written: int) -> None:
    """Not by one long before; a byte is enough."""
    with Graph(plan_with(frozenset({"read"})), driver, work) as graph:
        graph.launch((1,), KERNEL, (Tensor(5000), Tensor(written)), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Tensor(7000), Tensor(6000)), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Y, Z), programmatic_dependent_launch=True)
    assert driver.early == [False, True, False]


def test_what_is_read_ahead_may_be_written_by_the_launch_itself_and_behind_it(driver: Driver, work: InFlight) -> None:
    """Its own blocks do not disturb each other, and who comes behind waits for its end."""
    with Graph(plan_with(frozenset({"read"})), driver, work) as graph:
        graph.launch((1,), KERNEL, (Tensor(7000), Tensor(6000)), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Y, Y), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Z, Y), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Y, X), programmatic_dependent_launch=True)
    assert driver.early == [False, True, True, False]


def test_many_ranges_that_are_written(driver: Driver, work: InFlight) -> None:
    """In any order, one over others, and with gaps between them."""
    with Graph(plan_with(frozenset({"read"})), driver, work) as graph:
        for written in (9000, 3000, 6000, 9200, 2800, 3400):
            graph.launch((1,), KERNEL, (Tensor(20_000), Tensor(written)), programmatic_dependent_launch=True)
        for read in (2300, 2301, 3899, 3900, 5500, 5501, 6499, 6500, 8500, 8501, 9699, 9700):
            graph.launch((1,), KERNEL, (Tensor(read), Tensor(30_000)), programmatic_dependent_launch=True)
    assert driver.early[6:] == [True, False, False, True] * 3


def test_what_is_read_ahead_may_lie_beside_what_is_written(driver: Driver, work: InFlight) -> None:
    with Graph(plan_with(frozenset({"read"})), driver, work) as graph:
        graph.launch((1,), KERNEL, (Tensor(5000), Tensor(1500)), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Y, Tensor(2500)), programmatic_dependent_launch=True)
    assert driver.early == [False, True]


def test_an_update_may_not_write_what_is_read_ahead(driver: Driver, work: InFlight) -> None:
    with Graph(plan_with(frozenset({"read"})), driver, work) as graph:
        first = graph.launch((1,), KERNEL, (X, Z), programmatic_dependent_launch=True)
        graph.launch((1,), KERNEL, (Y, Tensor(4000)), programmatic_dependent_launch=True)
    assert driver.early == [False, True]
    with pytest.raises(UsageError, match="starts early and would read what is written"):
        graph.update(first, (1,), (X, Y))
    assert not driver.changed
    graph.update(first, (1,), (X, Tensor(8000)))
    assert len(driver.changed) == 1
