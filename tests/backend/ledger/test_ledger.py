"""The ledger, case by case: what is ordered, what conflicts, what is kept alive."""

from __future__ import annotations

import gc
import weakref

import pytest

from tileverify.backend.ledger import (
    LEGACY,
    ByteAccess,
    EventMark,
    GraphNode,
    InFlightConflict,
    LaunchBytes,
    Ledger,
    Order,
    StreamId,
    Work,
)
from tileverify.backend.ledger import unordered_conflicts as unordered

A, B = StreamId(0, 7), StreamId(0, 8)
DEFAULT = StreamId(0, LEGACY)
FREE = StreamId(0, 9, blocking=False)
X_READ, X_WRITE = ByteAccess(1000, 2000, False, "x"), ByteAccess(1000, 2000, True, "x")


class Waits(list[tuple[StreamId, StreamId]]):
    """An event is recorded when somebody waits."""

    order = Order()

    def __call__(self, waiting: StreamId, work: Work) -> EventMark:
        self.append((waiting, work.stream))
        return self.order.record(work.stream)


def ledger(*, strict: bool = False) -> tuple[Ledger, Waits]:
    waits = Waits()
    waits.order = Order()
    return Ledger(waits.order, waits, strict), waits


# -------------------------------------------------------------------------------------------- conflicts
@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        (X_WRITE, X_READ, True),
        (X_READ, X_WRITE, True),
        (X_WRITE, X_WRITE, True),
        (X_READ, X_READ, False),
        (X_WRITE, ByteAccess(2000, 3000, True), False),
        (X_WRITE, ByteAccess(1999, 3000, False), True),
        (X_WRITE, ByteAccess(0, 1000, True), False),
        (X_WRITE, ByteAccess(1500, 1500, True), False),
    ],
)
def test_what_shares_a_byte_that_one_writes_is_waited_for(
    first: ByteAccess, second: ByteAccess, conflict: bool
) -> None:
    book, waits = ledger()
    book.launch(A, "first", LaunchBytes([first]))
    book.launch(B, "second", LaunchBytes([second]))
    assert waits == ([(B, A)] if conflict else [])


def test_strict_refuses_before_anything_is_issued() -> None:
    book, waits = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    with pytest.raises(InFlightConflict, match=r"'reader' reads x that 'writer', .* writes as x \(TV504\)"):
        book.launch(B, "reader", LaunchBytes([X_READ]))
    assert [ticket.name for ticket in book.in_flight] == ["writer"]
    assert waits == []


def test_one_stream_is_ordered() -> None:
    book, waits = ledger(strict=True)
    for _ in range(3):
        book.launch(A, "writer", LaunchBytes([X_WRITE]))
    assert waits == []


def test_an_event_behind_the_writer_is_enough_and_one_before_it_is_not() -> None:
    book, _ = ledger(strict=True)
    early = book.order.record(A)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    late = book.order.record(A)
    book.order.wait(B, early)
    with pytest.raises(InFlightConflict):
        book.launch(B, "reader", LaunchBytes([X_READ]))
    book.order.wait(B, late)
    book.launch(B, "reader", LaunchBytes([X_READ]))


def test_order_goes_through_a_third_stream() -> None:
    book, _ = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    book.order.wait(FREE, book.order.record(A))
    book.order.wait(B, book.order.record(FREE))
    book.launch(B, "reader", LaunchBytes([X_READ]))


def test_what_the_host_waited_for_is_over() -> None:
    book, _ = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    book.order.synchronize(A)
    book.launch(B, "reader", LaunchBytes([X_READ]))


def test_the_legacy_stream_is_ordered_with_blocking_ones_alone() -> None:
    book, _ = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    book.launch(DEFAULT, "reader", LaunchBytes([X_READ]))
    book.launch(B, "writer", LaunchBytes([X_WRITE]))
    book.launch(DEFAULT, "reader", LaunchBytes([X_READ]))
    with pytest.raises(InFlightConflict):
        book.launch(FREE, "writer", LaunchBytes([X_WRITE]))


def test_the_legacy_stream_of_another_device_orders_nothing() -> None:
    book, _ = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    with pytest.raises(InFlightConflict):
        book.launch(StreamId(1, LEGACY), "reader", LaunchBytes([X_READ]))


def test_one_wait_for_each_stream() -> None:
    book, waits = ledger()
    book.launch(A, "first", LaunchBytes([X_WRITE]))
    book.launch(A, "second", LaunchBytes([ByteAccess(5000, 6000, True)]))
    book.launch(B, "third", LaunchBytes([ByteAccess(0, 9000, False)]))
    book.launch(B, "fourth", LaunchBytes([ByteAccess(0, 9000, True)]))
    assert waits == [(B, A)]


# ------------------------------------------------------------------------------------------ the host
def test_the_host_waits_for_what_it_touches() -> None:
    book, _ = ledger()
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    book.launch(B, "reader of others", LaunchBytes([ByteAccess(5000, 6000, False)]))
    event = book.touch("numpy", [X_READ])
    assert event is not None
    book.order.synchronize(event)
    assert book.touch("numpy", [X_READ]) is None
    assert book.touch("numpy", [ByteAccess(5000, 6000, False)]) is None
    assert book.touch("numpy", [ByteAccess(5000, 6000, True)]) is not None


def test_a_strict_host_does_not_wait() -> None:
    book, _ = ledger(strict=True)
    book.launch(A, "writer", LaunchBytes([X_WRITE]))
    with pytest.raises(InFlightConflict, match="'numpy' reads bytes that 'writer'"):
        book.touch("numpy", [ByteAccess(1000, 1004, False)])


# --------------------------------------------------------------------------------------------- buffers
class Buffer:
    """Something that owns memory."""


def test_a_dropped_buffer_lives_until_its_work_is_done() -> None:
    """cuTile Rust let a buffer go with its dropped future while the GPU wrote it."""
    book, _ = ledger()
    buffer = Buffer()
    gone = weakref.ref(buffer)
    book.launch(A, "writer", LaunchBytes([X_WRITE]), owners=[buffer])
    del buffer
    gc.collect()
    assert gone() is not None
    book.order.synchronize(book.order.record(A))
    book.synchronized()
    gc.collect()
    assert gone() is None
    assert book.in_flight == ()


def test_a_forgotten_ticket_is_still_in_flight() -> None:
    book, waits = ledger()
    book.launch(A, "forgotten", LaunchBytes([X_WRITE]))
    book.launch(B, "next", LaunchBytes([X_WRITE]))
    assert waits == [(B, A)]


def test_a_buffer_that_was_moved_meanwhile_is_told() -> None:
    book, _ = ledger()
    book.launch(A, "writer", LaunchBytes([X_WRITE]), moved=lambda: "x was resized")
    book.order.synchronize(book.order.record(A))
    with pytest.raises(InFlightConflict, match=r"x was resized while 'writer' used it \(TV504\)"):
        book.synchronized()


def test_all_that_the_host_has_waited_for_is_let_go() -> None:
    book, _ = ledger()
    book.launch(A, "first", LaunchBytes([X_WRITE]))
    book.order.synchronize()
    book.launch(A, "second", LaunchBytes([X_WRITE]))
    book.synchronized()
    assert [ticket.name for ticket in book.in_flight] == ["second"]


# ---------------------------------------------------------------------------------------------- graphs
def test_nodes_without_a_path_share_nothing_that_is_written() -> None:
    writer, reader = GraphNode("writer", (X_WRITE,)), GraphNode("reader", (X_READ,))
    assert [pair[:2] for pair in unordered([writer, reader])] == [(0, 1)]
    assert not list(unordered([writer, GraphNode("reader", (X_READ,), after=(0,))]))
    assert not list(unordered([reader, reader]))


def test_a_path_may_go_through_others() -> None:
    chain = [GraphNode("writer", (X_WRITE,)), GraphNode("between", (), (0,)), GraphNode("reader", (X_READ,), (1,))]
    assert not list(unordered(chain))
    fork = [GraphNode("writer", (X_WRITE,)), GraphNode("left", (X_READ,), (0,)), GraphNode("right", (X_WRITE,), (0,))]
    assert [pair[:2] for pair in unordered(fork)] == [(1, 2)]
