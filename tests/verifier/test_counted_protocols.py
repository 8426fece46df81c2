"""Phases of counters, shares that are drawn, bits and claims: each premise of each rule, left out in a kernel that is
right with it.  `tests/soundness/test_protocols.py` does more to those of the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .test_protocols import checked, in_turn, proved

# ------------------------------------------------------------------------------------------- turns that are counted
ADDED = "ct.atomic_add(turn, (0,), 1, memory_order=RELEASE)"
LOOK = "ct.atomic_or(turn, (0,), 0, memory_order={order})"


def by_addition(folder: Path, *, wait: str = "!= i", order: str = "ACQUIRE", passed: str = ADDED, **more: Any) -> bool:
    return proved(in_turn(folder, wait=wait, read=LOOK.format(order=order), passed=passed, **more))


@pytest.mark.parametrize("wait", ["!= i", "< i"])
def test_additions_pass_turns_on(tmp_path: Path, wait: str) -> None:
    assert by_addition(tmp_path, wait=wait)


def test_turns_need_not_begin_at_zero(tmp_path: Path) -> None:
    assert by_addition(tmp_path, wait="!= i + 5", data="range(turn, 5, 6)")
    assert not by_addition(tmp_path, wait="!= i + 5", data="range(turn, 5, 7)")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"data": "range(turn, 0, 2)"}, id="begun with 1, perhaps"),
        pytest.param({"data": "range(turn, 0, 1, unless=2)"}, id="begun in the middle, as an exception"),
        pytest.param({"wait": "< i // 2"}, id="two blocks in one turn"),
        pytest.param({"wait": "< i - 1"}, id="one turn too early"),
        pytest.param({"wait": "< i", "passed": ADDED.replace("1,", "2,")}, id="two turns passed on"),
        pytest.param({"wait": "< i", "more": "    " + ADDED + "\n"}, id="passed on twice"),
        pytest.param({"wait": "< i", "passed": f"for k in range(2):\n        {ADDED}"}, id="passed on in a loop"),
        pytest.param({"wait": "< i", "more": "    ct.atomic_xchg(turn, (0,), 9)\n"}, id="touched by an exchange"),
        pytest.param({"passed": ADDED.replace("(0,)", "(1,)")}, id="another turn is passed on"),
        pytest.param({"passed": ADDED.replace("RELEASE", "RELAXED")}, id="not released"),
        pytest.param({"passed": ADDED.replace("1,", "1, memory_scope=ct.MemoryScope.BLOCK,")}, id="of its block alone"),
        pytest.param({"order": "RELAXED"}, id="not acquired"),
    ],
)
def test_without_a_premise_turns_that_are_counted_are_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not by_addition(tmp_path, **changes)


ROWS = """def kernel(data, turn, out):
    i = ct.bid(0)
    if i < ct.num_blocks(0) - 1:
        while ct.atomic_add(turn, ({looked},), 0, memory_order={order}).item() < i // 2:
            pass
        ct.store(data, index=(i,), tile=i)
        ct.atomic_add(turn, (i % 2,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(turn, (1,), 0, memory_order=ACQUIRE).item() < {count}:
            pass
        ct.store(out, index=(0,), tile=ct.load(data, index=(1,), shape=(1,)))
"""
ROWS_SPEC = """grid = ["N"]
requires = ["N >= 6", "N <= 9"]
data = ["range(turn, 0, 1)"]
args = { data = "i32[N]", turn = "i32[2]", out = "i32[1]" }
"""


def test_a_turn_is_waited_for_where_it_is_passed_on(tmp_path: Path) -> None:
    """Odd blocks count in cell 1, block 1 first.  If they look at cell 0, block 3 may be the first."""

    def in_rows(looked: str = "i % 2", count: str = "1", order: str = "RELAXED") -> bool:
        return proved(checked(tmp_path, ROWS.format(looked=looked, count=count, order=order), ROWS_SPEC))

    assert in_rows()
    assert not in_rows(looked="0")
    assert not in_rows(looked="0", order="ACQUIRE")
    assert not in_rows(count="0")


TICKETS = """def kernel(x, tickets, served, total, TILE: C):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    mine = ct.atomic_add(tickets, ({cell},), {step}, memory_order=RELAXED).item()
    while ct.atomic_add(served, (0,), 0, memory_order=ACQUIRE).item() != mine:
        pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_add(served, (0,), {step}, memory_order=RELEASE)
"""
TICKETS_SPEC = """grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 128", "N <= 256"]
data = ["range(tickets, 0, 1)", "range(served, 0, 1)"]
args = { x = "i32[N]", tickets = "i32[2]", served = "i32[1]", total = "i32[1]", TILE = 32 }
"""


def test_tickets_are_served_by_additions(tmp_path: Path) -> None:
    def served(cell: str = "0", step: str = "1") -> bool:
        return proved(checked(tmp_path, TICKETS.format(cell=cell, step=step), TICKETS_SPEC))

    assert served()
    assert not served(cell="ct.bid(0) % 2"), "two blocks have one number"


# ------------------------------------------------------------------------------------------- barriers, used again
PHASES = """def kernel(moved, arrived, TILE: C):
    i, n = ct.bid(0), ct.num_blocks(0)
    {first}
    while ct.atomic_add(arrived, (0,), 0, memory_order={order}).item() < {begun}:
        pass
    tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    {second}
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < {ended}:
        pass
    ct.store(moved, index=(i,), tile=tile)
"""
ARRIVE = "ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)"
PHASES_SPEC = """grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 64", "N <= 256"]
data = ["{data}"]
args = {{ moved = "i32[N]", arrived = "i32[2]", TILE = 32 }}
"""


def by_phases(
    folder: Path, *, first: str = ARRIVE, second: str = ARRIVE, begun: str = "n", ended: str = "2 * n",
    data: str = "range(arrived, 0, 1)", order: str = "ACQUIRE",
) -> bool:  # fmt: skip
    source = PHASES.format(first=first, second=second, begun=begun, ended=ended, order=order)
    return proved(checked(folder, source, PHASES_SPEC.format(data=data)))


def test_a_barrier_is_used_again(tmp_path: Path) -> None:
    assert by_phases(tmp_path)
    assert by_phases(tmp_path, order="RELAXED"), "the first wait hands nothing over that is needed"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"ended": "n"}, id="one target for both"),
        pytest.param({"ended": "2 * n - 1"}, id="all but one"),
        pytest.param({"begun": "1"}, id="begun behind one"),
        pytest.param({"data": "range(arrived, 0, 2)"}, id="one has arrived already, perhaps"),
        pytest.param({"first": f"{ARRIVE}\n    {ARRIVE}", "begun": "n"}, id="the first time twice"),
        pytest.param({"second": ARRIVE.replace("RELEASE", "RELAXED")}, id="not released"),
        pytest.param({"second": ARRIVE.replace("(0,)", "(1,)"), "ended": "n"}, id="another counter"),
        pytest.param({"second": f"if i > 0:\n        {ARRIVE}\n    {ARRIVE}"}, id="some arrive twice"),
    ],
)
def test_without_a_premise_a_barrier_is_not_used_again(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not by_phases(tmp_path, **changes)


EARLY = """def kernel(parts, arrived, out):
    i, n = ct.bid(0), ct.num_blocks(0)
    ct.store(parts, index=(i,), tile=i)
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=RELAXED).item() < {begun}:
        pass
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n:
        pass
    ct.store(out, index=(i,), tile=ct.load(parts, index=((i + 1) % n,), shape=(1,)))
"""
EARLY_SPEC = """grid = ["N"]
requires = ["N >= 3", "N <= 8"]
data = ["range(arrived, 0, 1)"]
args = { parts = "i32[N]", arrived = "i32[1]", out = "i32[N]" }
"""


@pytest.mark.parametrize(("begun", "right"), [("n", True), ("n - 1", False)])
def test_nobody_arrives_again_before_all_have_arrived(tmp_path: Path, begun: str, right: bool) -> None:
    """Else n arrivals may be two of one block, and none of another."""
    assert proved(checked(tmp_path, EARLY.format(begun=begun), EARLY_SPEC)) == right


# --------------------------------------------------------------------------------------- counted by some blocks
SOME = """def kernel(parts, done, out, PARTS: C, producers):
    i = ct.bid(0)
    if {who}:
        ct.store(parts, index=({place},), tile=i)
        ct.atomic_add(done, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(done, (0,), 0, memory_order=ACQUIRE).item() < {count}:
            pass
        ct.store(out, index=(i,), tile=ct.sum(ct.load(parts, index=(0,), shape=(PARTS,))))
"""
SOME_SPEC = """grid = ["N"]
requires = ["N >= 4", "N <= 32", "producers >= 1", "producers < N"]
data = ["range(done, 0, 1)"]
args = { parts = "i32[32]", done = "i32[1]", out = "i32[N]", PARTS = 32, producers = "i32" }
"""


@pytest.mark.parametrize(
    ("who", "place", "count", "right"),
    [
        ("i < producers", "i", "producers", True),
        ("i < producers", "i", "producers - 1", False),
        ("i <= producers", "i", "producers", False),
        ("i >= producers", "i", "ct.num_blocks(0) - producers", True),
        ("i >= producers", "i", "producers", False),
        ("i % 2 == 0", "i", "(ct.num_blocks(0) + 1) // 2", True),
        ("i % 2 == 0", "i", "ct.num_blocks(0) // 2", False),
        ("i == producers", "i", "1", True),
    ],
)
def test_what_some_blocks_count_to(tmp_path: Path, who: str, place: str, count: str, right: bool) -> None:
    assert proved(checked(tmp_path, SOME.format(who=who, place=place, count=count), SOME_SPEC)) == right


# ------------------------------------------------------------------------------------------- several at a time
SHARES = """def kernel(amounts, end, out):
    n = ct.load(amounts, index=(ct.bid(0),), shape=()).item()
    first = ct.atomic_add(end, ({cell},), {added}, memory_order=RELAXED).item()
    for j in range(n):
        if first + j < out.shape[0]:
            ct.store(out, index=(first + j,), tile=ct.bid(0))
{more}"""
SHARES_SPEC = """grid = ["G"]
requires = ["G >= 2", "G <= {most}", "N >= 4"]
data = ["{amounts}", "range(end, 0, 1)"]
args = {{ amounts = "i32[G]", end = "i32[2]", out = "i32[N]" }}
"""


def by_shares(
    folder: Path, *, cell: str = "0", added: str = "n", more: str = "", amounts: str = "range(amounts, 0, 5)",
    most: int = 4096,
) -> bool:  # fmt: skip
    source = SHARES.format(cell=cell, added=added, more=more)
    return proved(checked(folder, source, SHARES_SPEC.format(most=most, amounts=amounts)))


@pytest.mark.parametrize("added", ["n", "n + 1", "4"])
def test_shares_lie_apart(tmp_path: Path, added: str) -> None:
    assert by_shares(tmp_path, added=added, amounts="range(amounts, 0, 5)")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"added": "n - 1"}, id="one too few"),
        pytest.param({"added": "3"}, id="a constant below some"),
        pytest.param({"amounts": "range(amounts, -1, 5)"}, id="perhaps negative"),
        pytest.param({"amounts": "range(amounts, 0, 1073741824)"}, id="the sum may wrap"),
        pytest.param({"cell": "ct.bid(0) % 2"}, id="two counters"),
        pytest.param({"more": "    ct.atomic_xchg(end, (0,), 0)\n"}, id="put back by everybody"),
        pytest.param({"more": "    ct.atomic_add(end, (0,), -1)\n"}, id="taken back"),
    ],
)
def test_without_a_premise_shares_are_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not by_shares(tmp_path, **changes)


LANES = """def kernel(amounts, end, out, TILE: C):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    n = ct.gather(amounts, (lanes,))
    first = ct.atomic_add(end, (ct.zeros((TILE,), dtype=ct.int32),), n, memory_order=RELAXED)
    ct.scatter(out, (first,), lanes, mask={mask})
"""
LANES_SPEC = """grid = ["G"]
requires = ["G <= 4096"]
data = ["range(amounts, 0, 9)", "range(end, 0, 1)"]
args = { amounts = "i32[32 * G]", end = "i32[1]", out = "i32[N]", TILE = 32 }
"""


@pytest.mark.parametrize(("mask", "right"), [("n > 0", True), ("n >= 0", False), ("n != 1", False)])
def test_lanes_draw_shares_of_their_own(tmp_path: Path, mask: str, right: bool) -> None:
    """Who draws nothing has no place, and finds that of another."""
    assert proved(checked(tmp_path, LANES.format(mask=mask), LANES_SPEC)) == right


# ------------------------------------------------------------------------------------------------- bits
BITS = """def kernel(parts, bits, out):
    i = ct.bid(0)
    if i < 4:
        ct.store(parts, index=(i,), tile=i)
        ct.atomic_or(bits, (0,), {bit}, memory_order={release})
    else:
        while {seen} {wait}:
            pass
        ct.store(out, index=(i,), tile=ct.sum(ct.load(parts, index=(0,), shape=(4,))))
{more}"""
SEEN = "ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item()"
BITS_SPEC = """grid = ["N"]
requires = ["N >= 5", "N <= 16"]
data = ["{data}"]
args = {{ parts = "i32[4]", bits = "i32[1]", out = "i32[N]" }}
"""


def by_bits(
    folder: Path, *, bit: str = "1 << i", seen: str = SEEN, wait: str = "!= 15", more: str = "",
    release: str = "RELEASE", data: str = "range(bits, 0, 1)",
) -> bool:  # fmt: skip
    source = BITS.format(bit=bit, seen=seen, wait=wait, more=more, release=release)
    return proved(checked(folder, source, BITS_SPEC.format(data=data)))


def test_all_bits_are_waited_for(tmp_path: Path) -> None:
    assert by_bits(tmp_path)
    assert by_bits(tmp_path, wait="& 15 < 15")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"wait": "& 7 != 7"}, id="one bit left out"),
        pytest.param({"wait": "== 0"}, id="any bit"),
        pytest.param({"bit": "1 << (i // 2)", "wait": "!= 3"}, id="two blocks have one bit"),
        pytest.param({"data": "range(bits, 0, 2)"}, id="a bit is set at first, perhaps"),
        pytest.param({"release": "RELAXED"}, id="not released"),
        pytest.param({"seen": SEEN.replace("ACQUIRE", "RELAXED")}, id="not acquired"),
        pytest.param({"more": "    ct.atomic_xchg(bits, (0,), 15)\n"}, id="set by an exchange"),
        pytest.param({"more": "    if i == 4:\n        ct.atomic_or(bits, (0,), 1)\n"}, id="set by another block"),
        pytest.param({"more": "    if i == 4:\n        ct.atomic_xor(bits, (0,), 1)\n"}, id="turned over"),
    ],
)
def test_without_a_premise_bits_are_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not by_bits(tmp_path, **changes)


# ------------------------------------------------------------------------------------------------- exchanges
EXCHANGE = """def kernel(parts, met, out):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=i)
    if {tried} {found}:
        ct.store(out, index=(i // 2,), tile={whole})
{more}"""
SWAP = "ct.atomic_cas(met, (i // 2,), 0, 1, memory_order={order}).item()"
BOTH = "ct.sum(ct.load(parts, index=(i // 2,), shape=(2,)))"
EXCHANGE_SPEC = """grid = ["2 * H"]
requires = ["H >= 1", "H <= 8"]
data = ["{data}"]
args = {{ parts = "i32[2 * H]", met = "i32[H]", out = "i32[H]" }}
"""


def by_exchange(
    folder: Path, *, tried: str = SWAP, order: str = "ct.MemoryOrder.ACQ_REL", found: str = "== 1", whole: str = BOTH,
    more: str = "", data: str = "range(met, 0, 1)",
) -> bool:  # fmt: skip
    source = EXCHANGE.format(tried=tried.format(order=order), found=found, whole=whole, more=more)
    return proved(checked(folder, source, EXCHANGE_SPEC.format(data=data)))


XCHG = SWAP.replace("atomic_cas", "atomic_xchg").replace("0, 1", "1")
LOOK_FIRST = SWAP.replace("0, 1", "0, 0")
FIRST: dict[str, str] = {"found": "== 0", "whole": "i // 2", "order": "RELAXED"}


def test_the_second_of_two_finds_what_the_first_one_wrote(tmp_path: Path) -> None:
    assert by_exchange(tmp_path)
    assert by_exchange(tmp_path, tried=XCHG)


@pytest.mark.parametrize("tried", [SWAP, XCHG])
def test_one_block_has_a_claim(tmp_path: Path, tried: str) -> None:
    assert by_exchange(tmp_path, tried=tried, **FIRST)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"found": "== 0"}, id="the first one"),
        pytest.param({"order": "RELAXED"}, id="relaxed"),
        pytest.param({"order": "RELEASE"}, id="release only"),
        pytest.param({"order": "ACQUIRE"}, id="acquire only"),
        pytest.param({"data": "range(met, 0, 2)"}, id="perhaps 1 at first"),
        pytest.param({"tried": SWAP.replace("i // 2", "0"), "data": "range(met, 0, 1)"}, id="more than two blocks"),
        pytest.param({"more": "    ct.atomic_xchg(met, (i // 2,), 0)\n", **FIRST}, id="a claim that is given back"),
        pytest.param({"tried": LOOK_FIRST, **FIRST}, id="a claim that is not written"),
        pytest.param(
            {"tried": LOOK_FIRST, "more": "    ct.atomic_xchg(met, (i // 2,), 5)\n", **FIRST}, id="written by others"
        ),
        pytest.param({"tried": f"({LOOK_FIRST} if i % 2 == 0 else {SWAP})", **FIRST}, id="one looks, one claims"),
        pytest.param({"tried": SWAP.replace("i // 2", "i % (ct.num_blocks(0) // 2)"), **FIRST}, id="claims of others"),
    ],
)
def test_without_a_premise_exchanges_prove_nothing(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not by_exchange(tmp_path, **changes)


# --------------------------------------------------------------------------------------------- trees of counters
TREE = """def kernel(parts, leaves, root, out, PARTS: C):
    i = ct.bid(0)
    if ct.atomic_add(leaves, ({leaf},), 1).item() == {second}:
        ct.store(parts, index=({leaf},), tile=i)
        if ct.atomic_add(root, (0,), 1).item() == {pairs} - 1:
            ct.store(out, index=(0,), tile=ct.sum(ct.load(parts, index=(0,), shape=(PARTS,))))
"""
TREE_SPEC = """grid = ["2 * H"]
requires = ["H >= 2", "H <= 8"]
data = ["{data}", "range(root, 0, 1)"]
args = {{ parts = "i32[16]", leaves = "i32[2 * H]", root = "i32[1]", out = "i32[1]", PARTS = 16 }}
"""


@pytest.mark.parametrize(
    ("leaf", "second", "pairs", "data", "right"),
    [
        pytest.param("i // 2", "1", "ct.num_blocks(0) // 2", "range(leaves, 0, 1)", True, id="right"),
        pytest.param("i // 2", "0", "ct.num_blocks(0) // 2", "range(leaves, 0, 1)", True, id="the first of a pair"),
        pytest.param("i // 2", "1", "(ct.num_blocks(0) // 2 - 1)", "range(leaves, 0, 1)", False, id="all but one"),
        pytest.param("i", "0", "ct.num_blocks(0) // 2", "range(leaves, 0, 1)", False, id="no pairs"),
    ],
)
def test_a_tree_of_counters(tmp_path: Path, leaf: str, second: str, pairs: str, data: str, right: bool) -> None:
    source = TREE.format(leaf=leaf, second=second, pairs=pairs)
    assert proved(checked(tmp_path, source, TREE_SPEC.format(data=data))) == right
