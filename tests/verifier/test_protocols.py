"""Protocols between blocks: each premise of each rule, left out in a kernel that is right with it.

Right and wrong protocols with labels stand in the corpus, and `tests/soundness/test_protocols.py` takes tokens, orders
and scopes away one by one; here are the premises that such a change does not reach.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict

HEAD = """import cuda.tile as ct

C = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
"""


AS_IT_STANDS = CheckOptions(deny_requires=True, witnesses=False)
"""What else would be looked for where a proof fails, clauses and witnesses, takes most of the time and decides nothing
here."""
TOLD = CheckOptions()


def checked(folder: Path, source: str, spec: str, options: CheckOptions = AS_IT_STANDS) -> KernelResult:
    return judged(folder, HEAD + source, f'kernel = "kernel"\n{spec}', options)


def proved(result: KernelResult) -> bool:
    """For all launches of the contract, as it stands."""
    assert result.verdict is not Verdict.ERROR, result.findings
    return result.verdict is Verdict.PROVED and not result.requires


def only_reason(result: KernelResult) -> tuple[str, str, tuple[str, ...]]:
    """Code, message and hints of a kernel with one open question (or several with one answer)."""
    assert result.verdict is Verdict.UNDECIDED
    (reason,) = {(f.code, f.message.split(": ", 1)[1], tuple(h.text for h in f.hints)) for f in result.findings}
    return reason


# ------------------------------------------------------------------------------------------------ tickets
TICKET = """def kernel(queue, out, TILE: C):
    i = ct.bid(0)
    t = {draw}
    ct.store(out, index=({place},), tile=ct.full((TILE,), i, dtype=out.dtype))
{more}"""
DRAW = "ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()"
TICKET_SPEC = """grid = ["N // 64"]
requires = ["N % 64 == 0", "N >= 128", "{requires}"]
data = ["{data}"]
args = {{ queue = "{queue}", out = "{out}", TILE = 64 }}
"""


def by_ticket(
    folder: Path, *, draw: str = DRAW, place: str = "t", more: str = "", requires: str = "N <= 4096",
    data: str = "range(queue, 0, 1)", queue: str = "i32[8]", out: str = "i32[N]", spec: str = "",
    options: CheckOptions = AS_IT_STANDS,
) -> KernelResult:  # fmt: skip
    text = TICKET_SPEC.format(requires=requires, data=data, queue=queue, out=out)
    return checked(folder, TICKET.format(draw=draw, place=place, more=more), text + spec, options)


def test_tickets_name_different_tiles(tmp_path: Path) -> None:
    assert proved(by_ticket(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"draw": DRAW.replace("1,", "0,", 1)}, id="nothing is added"),
        pytest.param({"draw": DRAW.replace("1,", "i,", 1)}, id="another number in each block"),
        pytest.param({"draw": DRAW.replace("atomic_add", "atomic_max")}, id="not an addition"),
        pytest.param({"draw": DRAW.replace("(0,)", "(i % 2,)")}, id="two counters"),
        pytest.param({"draw": DRAW.replace("(0,)", "(ct.load(queue, (4,), ()).item(),)")}, id="any counter"),
        pytest.param({"place": "t // 2"}, id="two tickets for one tile"),
        pytest.param({"more": "    ct.atomic_xchg(queue, (0,), 0, memory_order=RELAXED)\n"}, id="reset"),
        pytest.param({"more": "    ct.atomic_add(queue, (0,), -1, memory_order=RELAXED)\n"}, id="given back"),
        pytest.param({"more": "    if i == 0:\n        ct.store(queue, (0,), 0)\n"}, id="plain store"),
        pytest.param({"spec": 'alias = [["queue", "out"]]'}, id="the tiles may overlap the counter"),
        pytest.param({"spec": 'overlap = [["queue", "out"]]'}, id="without the compiler knowing"),
        pytest.param({"data": "range(queue, 0, 2)"}, id="one tile too far"),
        pytest.param({"data": "range(queue, 0, 1, unless=9)"}, id="perhaps somewhere else"),
    ],
)
def test_without_a_premise_tickets_are_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not proved(by_ticket(tmp_path, **changes))


def test_where_tickets_start_matters_for_bounds_only(tmp_path: Path) -> None:
    result = by_ticket(tmp_path, data="range(out, 0, 1)", options=TOLD)
    assert result.verdict is Verdict.UNDECIDED
    assert {finding.obligation for finding in result.findings} == {"TV301"}
    assert {finding.code for finding in result.findings} == {"TV901"}
    assert any("range(queue, 0, 1)" in hint.text for finding in result.findings for hint in finding.hints)


SCATTERED = """def kernel(queue, out, blocks, step: C):
    t = ct.atomic_add(queue, (0,), step, memory_order=RELAXED).item()
    ct.scatter(out, (t + ct.zeros((1,), dtype=ct.int32),), ct.bid(0))
"""
SCATTERED_SPEC = """grid = ["blocks"]
requires = ["blocks >= 2", "blocks <= {most}", "N >= 1"]
args = {{ queue = "i32[1]", out = "i32[N]", blocks = "i32", step = {step} }}
"""


@pytest.mark.parametrize(
    ("most", "step", "right"),
    [(1 << 20, 1, True), (1 << 9, 1 << 23, True), ((1 << 9) + 1, 1 << 23, False), (1 << 20, 1 << 12, True)],
)
def test_tickets_that_come_round_again_are_not_distinct(tmp_path: Path, most: int, step: int, right: bool) -> None:
    """With steps of 2**23 the 513th number is the first one again, modulo 2**32, wherever the counter starts."""
    result = checked(tmp_path, SCATTERED, SCATTERED_SPEC.format(most=most, step=step))
    assert proved(result) == right, result.findings


QUEUE = """def kernel(queue, out, blocks, TILE: C):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    t = {draw}
    while t < {bound}:
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
        t = {draw}
"""
QUEUE_SPEC = """grid = ["blocks"]
requires = ["blocks >= 1", "blocks <= 4096", "{requires}"]
data = ["range(queue, 0, 1)"]
args = {{ queue = "i32[1]", out = "i32[N]", blocks = "i32", TILE = {tile} }}
"""


@pytest.mark.parametrize(
    ("tile", "requires", "bound", "right"),
    [
        (64, "N >= 1", "tiles", True),
        (1, "N <= 1000000", "tiles", True),
        (1, "N >= 1", "tiles", False),  # up to 2**31 - 1 tiles and 4096 blocks: the counter may wrap
        (64, "N >= 1", "tiles + 1", False),
    ],
)
def test_a_queue_is_right_as_long_as_it_does_not_wrap(
    tmp_path: Path, tile: int, requires: str, bound: str, right: bool
) -> None:
    source, spec = QUEUE.format(draw=DRAW, bound=bound), QUEUE_SPEC.format(tile=tile, requires=requires)
    assert proved(checked(tmp_path, source, spec)) == right


# --------------------------------------------------------------------------------------------- counting
COUNT = """def kernel(x, parts, counter, out, TILE: C, PARTS: C):
    i = ct.bid(0)
    n = ct.num_blocks(0)
{publish}    if {last}:
        whole = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(whole))
"""
PUBLISH = """    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
"""
COUNT_SPEC = """grid = {grid}
requires = ["N % 64 == 0", "N <= 1024", "N >= 192"]
{data}
[launch.args]
x = "i32[N]"
parts = "i32[N // 64]"
counter = "i32[4]"
out = "i32[1]"
TILE = 64
PARTS = 16
"""
FROM_ZERO = 'data = ["range(counter, 0, 1)"]'


def by_count(
    folder: Path, *, publish: str = PUBLISH, last: str = "before == n - 1", data: str = FROM_ZERO,
    grid: str = '["N // 64"]', options: CheckOptions = AS_IT_STANDS,
) -> KernelResult:  # fmt: skip
    source = COUNT.format(publish=publish, last=last)
    return checked(folder, source, COUNT_SPEC.format(data=data, grid=grid), options)


def test_the_last_block_reads_all_parts(tmp_path: Path) -> None:
    assert proved(by_count(tmp_path))
    assert proved(by_count(tmp_path, last="before + 1 >= n"))
    assert proved(by_count(tmp_path, data='data = ["range(counter, -7, 1)"]'))


LATER = """    before = 0
    for k in range(2):
        if k == 0:
            before = ct.atomic_add(counter, (0,), 1).item()
        else:
            ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
"""
BEHIND = """    before = ct.atomic_add(counter, (0,), 1).item()
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
"""
EVERY_ITERATION = """    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = 0
    for k in range(2):
        before = ct.atomic_add(counter, (0,), 1).item()
"""


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"last": "before == n - 2"}, id="last but one"),
        pytest.param({"last": "before >= 1"}, id="not the last only"),
        pytest.param({"data": 'data = ["range(counter, 0, 2)"]'}, id="one counted already"),
        pytest.param({"data": 'data = ["range(counter, 0, 1, unless=2)"]'}, id="perhaps two counted already"),
        pytest.param({"data": 'data = ["range(counter, 0, 2147483647)"]'}, id="anything counted already"),
        pytest.param({"publish": PUBLISH.replace("(0,), 1", "(0,), 2")}, id="steps of two"),
        pytest.param({"publish": PUBLISH.replace("(0,), 1", "(i % 2,), 1"), "last": "before == n // 2 - 1"}, id="half"),
        pytest.param({"publish": PUBLISH.replace("atomic_add", "atomic_max").replace("1)", "i)")}, id="not counted"),
        pytest.param({"publish": BEHIND}, id="stored behind the count"),
        pytest.param({"publish": LATER}, id="stored in a later iteration"),
        pytest.param({"publish": EVERY_ITERATION}, id="counted in every iteration"),
        pytest.param({"publish": PUBLISH + "    ct.atomic_add(counter, (0,), 1)\n"}, id="counted twice"),
        pytest.param({"publish": PUBLISH + "    ct.atomic_xchg(counter, (0,), 0)\n"}, id="reset by everybody"),
        pytest.param({"grid": '["N // 64", 2]'}, id="two blocks for each part"),
    ],
)
def test_without_a_premise_the_last_block_is_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not proved(by_count(tmp_path, **changes))


def test_a_count_that_starts_anywhere_is_undecided_and_names_the_fact(tmp_path: Path) -> None:
    result = by_count(tmp_path, data="", options=TOLD)
    assert result.verdict is Verdict.UNDECIDED
    codes = {finding.code for finding in result.findings if finding.obligation == "TV102"}
    assert codes == {"TV905"}
    assert any("range(counter, 0, 1)" in hint.text for finding in result.findings for hint in finding.hints)


# ------------------------------------------------------------------------------------- counters that are put back
CLEAR = "ct.store(counter, index=(0,), tile=ct.zeros((1,), dtype=ct.int32))"
SPIN = """    seen = 0
    while seen < n:
        seen = ct.atomic_add(counter, (0,), 0).item()
    before = n - 1
"""


LOOKED_UP = """    before = ct.atomic_add(counter, (0,), 1).item()
{put_back}    seen = ct.atomic_add(counter, (0,), 0).item()
    ct.store(parts, index=(i,), tile=ct.load(x, index=(seen,), shape=(1,)))
"""
PUT_900 = """    if before == n - 1:
        ct.atomic_xchg(counter, (0,), 900)
"""


def cleared(where: str = "before == n - 1", how: str = CLEAR, publish: str = PUBLISH) -> str:
    return f"{publish}    if {where}:\n        {how}\n"


@pytest.mark.parametrize(
    "publish",
    [
        pytest.param(cleared(), id="by a store"),
        pytest.param(
            cleared(how="ct.atomic_xchg(counter, (0,), 7, memory_order=ct.MemoryOrder.RELAXED)"), id="exchange"
        ),
        pytest.param(cleared(how="ct.atomic_add(counter, (0,), -n)"), id="by taking away"),
        pytest.param(cleared(where="before + 1 >= n"), id="at least all"),
    ],
)
def test_the_last_block_may_put_the_counter_back(tmp_path: Path, publish: str) -> None:
    assert proved(by_count(tmp_path, publish=publish))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"publish": cleared(where="before == 0")}, id="by the first"),
        pytest.param({"publish": cleared(where="before == n - 2")}, id="by the last but one"),
        pytest.param({"publish": cleared(where="before >= n - 2")}, id="by the last two"),
        pytest.param({"publish": cleared(where="i == n - 1")}, id="by the last number"),
        pytest.param({"publish": cleared(), "data": 'data = ["range(counter, 0, 2)"]'}, id="one counted already"),
        pytest.param({"publish": cleared(), "grid": '["N // 64", 2]'}, id="two blocks for each part"),
        pytest.param(
            {"publish": cleared(publish=PUBLISH.replace("(0,), 1", "(0,), 1, memory_order=ct.MemoryOrder.RELAXED"))},
            id="nothing is handed over",
        ),
        pytest.param({"publish": cleared(publish=PUBLISH.replace("(0,), 1", "(i % 2,), 1"))}, id="another counter"),
        pytest.param({"publish": cleared(how=CLEAR + "\n        ct.atomic_add(counter, (0,), 1)")}, id="counted again"),
        pytest.param(
            {"publish": cleared(how=CLEAR.replace("zeros((1,)", "full((1,), 900")) + SPIN}, id="read by others"
        ),
    ],
)
def test_without_a_premise_a_counter_that_is_put_back_proves_nothing(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not proved(by_count(tmp_path, **changes))


def test_what_a_counter_shows_behind_its_additions_is_bounded_unless_it_is_put_back(tmp_path: Path) -> None:
    """A wait finds what the last block wrote there, which is no count."""
    assert proved(by_count(tmp_path, publish=LOOKED_UP.format(put_back=""), last="before < 0"))
    assert not proved(by_count(tmp_path, publish=LOOKED_UP.format(put_back=PUT_900), last="before < 0"))


CROSSED = """def kernel(parts, counter, out):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.full((1,), 1, dtype=ct.int32))
    before = ct.atomic_add(counter, (i % 2,), 1).item()
    if before == 2:
        ct.atomic_xchg(counter, ({put_back},), 1, memory_order=ct.MemoryOrder.RELAXED)
        ct.store(out, index=(i,), tile=ct.load(parts, index=((i + 2) % 6,), shape=(1,)))
"""
CROSSED_SPEC = """grid = [6]
data = ["range(counter, 0, 1)"]
args = { parts = "i32[6]", counter = "i32[2]", out = "i32[6]" }
"""


def test_only_a_counters_own_additions_allow_to_put_it_back(tmp_path: Path) -> None:
    """Blocks 0, 2 and 4 count in one counter, the others in the other.  Set to 1 at first, it is 2 behind one count."""
    assert proved(checked(tmp_path, CROSSED.format(put_back="i % 2"), CROSSED_SPEC))
    assert not proved(checked(tmp_path, CROSSED.format(put_back="1 - i % 2"), CROSSED_SPEC))


# ------------------------------------------------------------------------------------------------- flags
FLAG = """def kernel(x, data, flag, out, TILE: C):
    i = ct.bid(0)
    if i == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        {release}
    {between}else:
        while ct.load(flag, index=({seen},), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() {wait}:
            pass
        ct.store(out, index=(i - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))
"""
RELEASED = "ct.store(flag, index=(0,), tile={value}, memory_order=RELEASE, memory_scope=DEVICE)"
BY_ANOTHER = f"elif i == 1:\n        {RELEASED.format(value=1)}\n    "
FLAG_SPEC = """grid = ["B + 1"]
requires = ["2 <= B", "B <= 7"]
data = ["{data}"]
args = {{ x = "i32[32]", data = "i32[32]", flag = "i32[2]", out = "i32[B * 32]", TILE = 32 }}
"""


def by_flag(
    folder: Path, *, value: str = "1", wait: str = "== 0", seen: str = "0", between: str = "", release: str = RELEASED,
    data: str = "range(flag, 0, 1)",
) -> KernelResult:  # fmt: skip
    source = FLAG.format(release=release.format(value=value), wait=wait, seen=seen, between=between)
    return checked(folder, source, FLAG_SPEC.format(data=data))


def test_a_flag_hands_data_over(tmp_path: Path) -> None:
    assert proved(by_flag(tmp_path))
    assert proved(by_flag(tmp_path, value="7", wait="!= 7"))
    assert proved(by_flag(tmp_path, value="7", wait="< 3"))
    assert proved(by_flag(tmp_path, value="-1", wait=">= 0"))
    assert proved(by_flag(tmp_path, release="ct.atomic_xchg(flag, (0,), 1, memory_order=RELEASE)"))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"data": "range(flag, 0, 2)"}, id="perhaps set at first"),
        pytest.param({"data": "range(flag, 0, 1, unless=1)"}, id="set at first, as an exception"),
        pytest.param({"wait": "< 0"}, id="what it held at first will do"),
        pytest.param({"value": "0", "wait": "!= 0"}, id="the value that it held at first"),
        pytest.param({"seen": "1"}, id="another flag"),
        pytest.param({"between": BY_ANOTHER}, id="set by another block"),
        pytest.param({"release": "ct.atomic_add(flag, (1,), 1, memory_order=RELEASE)"}, id="another one is set"),
        pytest.param({"data": "range(data, 0, 1)"}, id="who knows what it held"),
    ],
)  # fmt: skip
def test_without_a_premise_a_flag_is_not_proved(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not proved(by_flag(tmp_path, **changes))


# ------------------------------------------------------------------------------------------------- turns
TURN = """def kernel(x, turn, total, TILE: C):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while {read}.item() {wait}:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    {passed}
{more}"""
READ = "ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE)"
READ_BY_ATOMIC = "ct.atomic_{mode}(turn, (0,), {operand}, memory_order={order}, memory_scope={scope})"
PASSED = "ct.store(turn, index=(0,), tile={value}, memory_order=RELEASE, memory_scope=DEVICE)"
TURN_SPEC = """grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 128", "N <= 256"]
data = ["{data}"]
args = {{ x = "i32[N]", turn = "i32[2]", total = "i32[1]", TILE = 32 }}
"""


def in_turn(
    folder: Path, *, wait: str = "!= i", value: str = "i + 1", passed: str = PASSED, more: str = "",
    data: str = "range(turn, 0, 1)", read: str = READ, options: CheckOptions = AS_IT_STANDS,
) -> KernelResult:  # fmt: skip
    source = TURN.format(read=read, wait=wait, passed=passed.format(value=value), more=more)
    return checked(folder, source, TURN_SPEC.format(data=data), options)


def test_turns_pass_from_block_to_block(tmp_path: Path) -> None:
    assert proved(in_turn(tmp_path))
    assert proved(in_turn(tmp_path, passed="ct.atomic_xchg(turn, (0,), i + 1, memory_order=RELEASE)"))
    assert proved(in_turn(tmp_path, wait="!= ct.num_blocks(0) - 1 - i", value="ct.num_blocks(0) - i"))
    assert proved(in_turn(tmp_path, more="    ct.atomic_add(turn, (0,), 0, memory_order=RELAXED)\n"))


MAXIMUM = "ct.atomic_max(turn, (0,), {value}, memory_order=RELEASE)"
SWAP = "ct.atomic_cas(turn, (0,), i, {value}, memory_order=RELEASE)"


@pytest.mark.parametrize("passed", [PASSED, MAXIMUM, SWAP])
@pytest.mark.parametrize("wait", ["!= i", "< i"])
def test_turns_are_passed_on_by_what_puts_a_number_there(tmp_path: Path, wait: str, passed: str) -> None:
    assert proved(in_turn(tmp_path, wait=wait, passed=passed))
    assert not proved(in_turn(tmp_path, wait=wait, passed=passed, value="i + 2"))
    assert not proved(in_turn(tmp_path, wait=wait, passed=passed.replace("RELEASE", "RELAXED")))


@pytest.mark.parametrize(
    ("mode", "operand"), [("add", "0"), ("or", "0"), pytest.param("xor", "0", marks=pytest.mark.slow), ("and", "-1")]
)
def test_a_turn_is_waited_for_by_an_atomic_that_changes_nothing(tmp_path: Path, mode: str, operand: str) -> None:
    def waited(order: str = "ACQUIRE", scope: str = "DEVICE", operand: str = operand) -> bool:
        read = READ_BY_ATOMIC.format(mode=mode, operand=operand, order=order, scope=scope)
        return proved(in_turn(tmp_path, read=read))

    assert waited()
    assert waited(order="ct.MemoryOrder.ACQ_REL")
    assert not waited(order="RELAXED")
    assert not waited(scope="ct.MemoryScope.BLOCK")
    assert not waited(operand="1")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"data": "range(turn, 0, 3)"}, id="begun in the middle"),
        pytest.param({"data": "range(turn, 0, 1, unless=2)"}, id="begun in the middle, as an exception"),
        pytest.param({"wait": "!= i // 2", "value": "i // 2 + 1"}, id="two blocks in one turn"),
        pytest.param({"wait": "< i - 1"}, id="one turn too early"),
        pytest.param({"more": "    " + PASSED.format(value="1") + "\n"}, id="another value of its own"),
        pytest.param({"more": "    ct.atomic_add(turn, (0,), 1, memory_order=RELAXED)\n"}, id="touched by an addition"),
        pytest.param({"passed": PASSED.replace("(0,)", "(i % 2,)")}, id="another turn is passed on"),
    ],
)
def test_without_a_premise_turns_are_not_proved(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not proved(in_turn(tmp_path, **changes))


PASSED_TWICE = """def kernel(x, turn, total):
    i = ct.bid(0)
    while ct.load(turn, index=({cell},), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != i:
        pass
{early}    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + 1)
    ct.store(turn, index=({cell},), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)
"""
EARLY = "    ct.store(turn, index=(0,), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)\n"
PASSED_SPEC = """grid = ["N"]
requires = ["N >= 3", "N <= 8"]
data = ["range(turn, 0, 1)"]
args = { x = "i32[N]", turn = "i32[2]", total = "i32[1]" }
"""


@pytest.mark.parametrize(
    ("cell", "early", "right"),
    [
        pytest.param("0", "", True, id="once"),
        pytest.param("0", EARLY, False, id="twice, the first time too early"),
        pytest.param("i % 2", "", False, id="in two places"),
    ],
)
def test_a_turn_is_passed_on_once_and_in_one_place(tmp_path: Path, cell: str, early: str, right: bool) -> None:
    assert proved(checked(tmp_path, PASSED_TWICE.format(cell=cell, early=early), PASSED_SPEC)) == right


# ------------------------------------------------------------------------------------------------- locks
LOCK = """def kernel(x, lock, total, TILE: C):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
{take}    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    {give}
{more}"""
TAKE = """    while ct.atomic_cas(lock, ({which},), {free}, {held}, memory_order=ACQUIRE).item() != {free}:
        pass
"""
GIVE = "ct.atomic_xchg(lock, ({which},), {free}, memory_order=RELEASE)"
LOCK_SPEC = """grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 128", "N <= 256"]
{data}
args = {{ x = "i32[N]", lock = "i32[4]", total = "i32[1]", TILE = 32 }}
"""


def locked(
    folder: Path, *, take: str = TAKE, give: str = GIVE, more: str = "", which: str = "0", free: str = "0",
    held: str = "1", data: str = 'data = ["range(lock, 0, 1)"]',
) -> KernelResult:  # fmt: skip
    words = {"which": which, "free": free, "held": held}
    source = LOCK.format(take=take.format(**words), give=give.format(**words), more=more.format(**words))
    return checked(folder, source, LOCK_SPEC.format(data=data))


def test_a_lock_keeps_blocks_apart(tmp_path: Path) -> None:
    assert proved(locked(tmp_path))
    assert proved(locked(tmp_path, free="5", held="-1"))
    assert proved(locked(tmp_path, data=""))  # whatever it holds at first, one block at a time finds it free
    assert proved(locked(tmp_path, give="ct.store(lock, (0,), 0, memory_order=RELEASE, memory_scope=DEVICE)"))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"which": "i % 2"}, id="two locks"),
        pytest.param({"held": "0"}, id="taken and still free"),
        pytest.param({"give": "ct.atomic_xchg(lock, (1,), 0, memory_order=RELEASE)"}, id="another one given back"),
        pytest.param({"more": "    " + GIVE + "\n"}, id="given back twice"),
        pytest.param({"more": "    ct.store(total, index=(0,), tile=0)\n"}, id="touched without the lock"),
        pytest.param({"take": "    ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE)\n"}, id="not waited for"),
        pytest.param({"take": TAKE.replace("!= {free}", "== 7")}, id="waited for something else"),
        pytest.param({"take": "    " + GIVE + "\n" + TAKE}, id="given back before it is taken"),
        pytest.param({"more": "    ct.atomic_add(lock, (0,), 1, memory_order=RELAXED)\n"}, id="touched by an addition"),
        pytest.param({"held": "i"}, id="taken and left free by one block"),
        pytest.param({"free": "i"}, id="free for one block while another holds it"),
    ],
)
def test_without_a_premise_a_lock_is_not_proved(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not proved(locked(tmp_path, **changes))


IN_HALVES = """def kernel(x, lock, total, TILE: C):
    i = ct.bid(0)
    if i % 2 == 0:
        while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
            pass
        ct.store(total, index=(0,), tile=i)
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
    else:
        while ct.atomic_cas(lock, (0,), {free}, 1, memory_order=ACQUIRE).item() != 0:
            pass
        ct.store(total, index=(0,), tile=i)
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
"""


@pytest.mark.parametrize(("free", "right"), [("0", True), ("2", False)], ids=["taken", "seen free, and not taken"])
def test_who_sees_a_lock_free_has_taken_it(tmp_path: Path, free: str, right: bool) -> None:
    assert proved(checked(tmp_path, IN_HALVES.format(free=free), LOCK_SPEC.format(data=""))) == right


# ----------------------------------------------------------------------------------- reasons, and determinism
def test_an_unknown_protocol_is_named(tmp_path: Path) -> None:
    """Turns that bits pass on are right, but not understood."""
    passed = "ct.atomic_xor(turn, (0,), i ^ (i + 1), memory_order=RELEASE)"
    code, text, _ = only_reason(in_turn(tmp_path, passed=passed, options=TOLD))
    assert code == "TV905"
    assert "the protocol through `turn`, read by the load of `turn` at line" in text


ATOMICS = """def kernel(x, sums, out, TILE: C):
    i = ct.bid(0)
    part = ct.load(x, index=(i,), shape=(TILE,))
    {atomics}
"""
ATOMICS_SPEC = """grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 64"]
args = {{ x = "{x}[N]", sums = "{sums}[N]", out = "i32[N // 32]", TILE = 32 }}
"""
EVERYWHERE, OWN = "(ct.arange(TILE, dtype=ct.int32),)", "(i * TILE + ct.arange(TILE, dtype=ct.int32),)"


@pytest.mark.parametrize(
    ("sums", "atomics", "one_result"),
    [
        ("i32", f"ct.atomic_add(sums, {EVERYWHERE}, part)", True),
        ("i32", f"ct.atomic_max(sums, {EVERYWHERE}, part)", True),
        ("f32", f"ct.atomic_add(sums, {EVERYWHERE}, part)", False),
        ("f32", f"ct.atomic_add(sums, {OWN}, part)", True),
        ("i32", f"ct.atomic_xchg(sums, {EVERYWHERE}, part)", None),
        ("i32", f"ct.atomic_add(sums, {EVERYWHERE}, part)\n    ct.atomic_max(sums, {EVERYWHERE}, part)", None),
        ("i32", f"ct.store(out, (i,), ct.sum(ct.atomic_add(sums, {EVERYWHERE}, part)))", None),
    ],
)
def test_whether_a_launch_has_one_result(tmp_path: Path, sums: str, atomics: str, one_result: bool | None) -> None:
    result = checked(tmp_path, ATOMICS.format(atomics=atomics), ATOMICS_SPEC.format(x=sums, sums=sums))
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.deterministic is one_result
