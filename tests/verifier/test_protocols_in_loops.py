"""What blocks find in loops: locks that a variable or a round keeps, barriers in rounds, and orders that a third block
hands on; each premise of each rule, left out in a kernel that is right with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .test_protocols import checked, proved

# ------------------------------------------------------------------------------------- tries that a variable remembers
TRIES = """def kernel(table, lock, n):
    {start}
    for attempt in range({tries}):
        {tried}
    if {taken}:
        ct.store(table, index=(0,), tile=ct.full((16,), 7, dtype=table.dtype))
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
"""
SWAP = "ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item()"
TRIED = """if taken == 0:
            if ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0:
                taken = {one}"""
SPEC = """grid = [8]
requires = ["n >= 1", "n <= 30"]
data = ["range(lock, 0, 1)"]
args = { table = "i32[16]", lock = "i32[1]", n = "i32" }
"""


def tried(
    folder: Path, *, start: str = "taken = 0", tries: str = "n", how: str = TRIED, taken: str = "taken == 1",
    one: str = "1",
) -> bool:  # fmt: skip
    source = TRIES.format(start=start, tries=tries, tried=how.format(one=one), taken=taken)
    return proved(checked(folder, source, SPEC))


@pytest.mark.parametrize("tries", ["n", "4", "20"])
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"start": "taken = False", "how": "if not taken:\n            taken = " + SWAP + " == 0", "taken": "taken"},
        {
            "start": "old = 1",
            "how": "if old != 0:\n            old = ct.atomic_xchg(lock, (0,), 1, memory_order=ACQUIRE).item()",
            "taken": "old == 0",
        },
    ],
    ids=["a number", "a truth value", "what was found"],
)
def test_a_variable_says_that_a_try_was_lucky(tmp_path: Path, tries: str, words: dict[str, str]) -> None:
    assert tried(tmp_path, tries=tries, **words)


GIVEN = "\n        else:\n            ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)"


@pytest.mark.parametrize("tries", ["n", "4"])
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"start": "taken = 1"}, id="taken from the start"),
        pytest.param({"one": "1 - attempt // 3", "taken": "taken >= 0"}, id="not looked at"),
        pytest.param({"how": TRIED + "\n            if attempt == 3:\n                taken = 1"}, id="taken at last"),
        pytest.param({"how": TRIED + GIVEN}, id="given back in between"),
        pytest.param({"how": TRIED.replace("ACQUIRE", "RELAXED")}, id="not acquired"),
        pytest.param({"how": TRIED.replace("(0,), 0, 1", "(0,), 0, 0")}, id="found and left free"),
    ],
)
def test_without_a_premise_a_try_is_not_believed(tmp_path: Path, tries: str, changes: dict[str, str]) -> None:
    assert not tried(tmp_path, tries=tries, **changes)


# --------------------------------------------------------------------------------------------- locks that rounds keep
KEPT = """def kernel(table, lock, n):
    held = 0
    for round in range(n):
        if {when}:
            while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
                pass
            held = 1
        ct.store(table, index=(0,), tile=ct.load(table, index=(0,), shape=(16,)) + 1)
{given}    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
"""


@pytest.mark.parametrize(
    ("when", "given", "right"),
    [
        pytest.param("held == 0", "", True, id="taken in the first round"),
        pytest.param("round == 1", "", False, id="taken in the second"),
        pytest.param("held == 1", "", False, id="never taken"),
        pytest.param(
            "held == 0",
            "        if round == 0:\n            ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)\n",
            False,
            id="given back in the first",
        ),
    ],
)
def test_a_lock_is_kept_through_the_rounds(tmp_path: Path, when: str, given: str, right: bool) -> None:
    assert proved(checked(tmp_path, KEPT.format(when=when, given=given), SPEC)) == right


HAND_OVER_HAND = """def kernel(locks, totals):
    rows = totals.shape[0]
    while ct.atomic_cas(locks, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    for row in range(rows):
{early}        ct.store(totals, index=({touched},), tile=ct.load(totals, index=({touched},), shape=()).item() + 1)
        if row + 1 < rows:
            while ct.atomic_cas(locks, ({next},), 0, 1, memory_order=ACQUIRE).item() != 0:
                pass
        ct.atomic_xchg(locks, (row,), 0, memory_order=RELEASE)
"""
HANDS_SPEC = """grid = [8]
requires = ["M >= 2", "M <= 6"]
data = ["range(locks, 0, 1)"]
args = { locks = "i32[M]", totals = "i32[M]" }
"""


@pytest.mark.parametrize(
    ("words", "right"),
    [
        pytest.param({}, True, id="hand over hand"),
        pytest.param({"touched": "(row + 1) % rows"}, True, id="each under the lock of the row before"),
        pytest.param({"touched": "row // 2"}, False, id="under the locks of two rows"),
        pytest.param({"touched": "0"}, False, id="a row whose lock was given back"),
        pytest.param({"next": "row"}, False, id="the same lock again"),
        pytest.param(
            {"early": "        ct.atomic_xchg(locks, (row,), 0, memory_order=RELEASE)\n"}, False, id="given early"
        ),
    ],
)
def test_locks_are_taken_hand_over_hand(tmp_path: Path, words: dict[str, str], right: bool) -> None:
    filled = {"touched": "row", "next": "row + 1", "early": "", **words}
    assert proved(checked(tmp_path, HAND_OVER_HAND.format(**filled), HANDS_SPEC)) == right


# ------------------------------------------------------------------------------------------------- barriers in rounds
ROUNDS = """def kernel(moved, arrived, TILE: C):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    for round in range(4):
        next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
        while ct.atomic_add(arrived, (0,), 0, memory_order={order}).item() < {first}:
            pass
        ct.store(moved, index=(i,), tile=next_tile)
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
        {wait} ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < {second}:
            pass
"""
ROUNDS_SPEC = """grid = ["G"]
requires = ["G >= 2", "G <= 6"]
data = ["{data}"]
args = {{ moved = "i32[32 * G]", arrived = "i32[1]", TILE = 32 }}
"""


def in_rounds(folder: Path, **changes: str) -> bool:
    words = {
        "order": "ACQUIRE", "first": "(2 * round + 1) * n", "second": "(2 * round + 2) * n",
        "wait": "while", "data": "range(arrived, 0, 1)", **changes,
    }  # fmt: skip
    return proved(checked(folder, ROUNDS.format(**words), ROUNDS_SPEC.format(**words)))


def test_a_round_that_ended_has_waited(tmp_path: Path) -> None:
    assert in_rounds(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"second": "(2 * round + 1) * n"}, id="one target for both"),
        pytest.param({"second": "(2 * round + 2) * n - 1"}, id="one too few"),
        pytest.param({"first": "round * n"}, id="too early"),
        pytest.param({"wait": "if"}, id="looked, and not waited"),
        pytest.param({"order": "RELAXED"}, id="not acquired"),
        pytest.param({"data": "range(arrived, 0, 2)"}, id="begun with 1, perhaps"),
    ],
)
def test_without_a_premise_rounds_are_not_proved(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not in_rounds(tmp_path, **changes)


# ------------------------------------------------------------------------------------------------------ third blocks
CHAIN = """def kernel(x, first, second, data, out):
    i = ct.bid(0)
    if i == 0:
        {stored}
        {set}
    elif {middle}:
        {before}while ct.atomic_or(first, (0,), 0, memory_order={order}).item() == 0:
            pass
        ct.atomic_xchg(second, (0,), 1, memory_order={release})
    else:
        while ct.atomic_or(second, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(data, index=(0,), shape=(16,)))
"""
CHAIN_SPEC = """grid = ["N"]
requires = ["N >= 4", "N <= 8"]
data = ["range(first, 0, 1)", "range(second, 0, 1)"]
args = { x = "i32[16]", first = "i32[1]", second = "i32[1]", data = "i32[16]", out = "i32[16 * N]" }
"""
STORED = "ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(16,)))"
SET = "ct.atomic_xchg(first, (0,), 1, memory_order=RELEASE)"


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        pytest.param({}, True, id="from block to block"),
        pytest.param({"middle": "i <= 2"}, True, id="by one of two"),
        pytest.param({"order": "RELAXED"}, False, id="not acquired between"),
        pytest.param({"release": "RELAXED"}, False, id="not released between"),
        pytest.param({"stored": SET, "set": STORED}, False, id="stored too late"),
        pytest.param(
            {"before": "ct.atomic_xchg(second, (0,), 1, memory_order=RELEASE)\n        "}, False, id="passed on early"
        ),
        pytest.param(
            {"middle": "i == 3:\n        ct.atomic_xchg(second, (0,), 1, memory_order=RELEASE)\n    elif i == 1"},
            False,
            id="by a fourth block that knows of nothing",
        ),
    ],
)
def test_a_third_block_hands_an_order_on(tmp_path: Path, changes: dict[str, str], right: bool) -> None:
    words = {
        "stored": STORED, "set": SET, "middle": "i == 1", "before": "", "order": "ACQUIRE", "release": "RELEASE",
        **changes,
    }  # fmt: skip
    assert proved(checked(tmp_path, CHAIN.format(**words), CHAIN_SPEC)) == right


TREE = """def kernel(parts, leaves, root, out):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=i)
    if ct.atomic_add(leaves, (i // 2,), 1{leaf}).item() == {second}:
        if ct.atomic_add(root, (0,), 1).item() == {last}:
            ct.store(out, index=(0,), tile=ct.load(parts, index=({read},), shape=()).item())
"""
TREE_SPEC = """grid = ["2 * H"]
requires = ["H >= 3", "H <= 6"]
data = ["range(leaves, 0, 1)", "{data}"]
args = {{ parts = "i32[2 * H]", leaves = "i32[H]", root = "i32[1]", out = "i32[1]" }}
"""


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        pytest.param({}, True, id="all pairs"),
        pytest.param({"last": "leaves.shape[0] - 2"}, False, id="all but one"),
        pytest.param({"second": "0"}, False, id="the first of a pair"),
        pytest.param({"leaf": ", memory_order=RELEASE"}, False, id="leaves release"),
        pytest.param({"leaf": ", memory_order=ACQUIRE"}, False, id="leaves acquire"),
        pytest.param({"data": "range(root, 0, 2)"}, False, id="begun with 1, perhaps"),
    ],
)
def test_all_have_come_through_one_of_each_pair(tmp_path: Path, changes: dict[str, Any], right: bool) -> None:
    words = {
        "leaf": "", "second": "1", "last": "leaves.shape[0] - 1", "read": "2",
        "data": "range(root, 0, 1)", **changes,
    }  # fmt: skip
    assert proved(checked(tmp_path, TREE.format(**words), TREE_SPEC.format(**words))) == right
