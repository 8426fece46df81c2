"""Blocks that are clusters of several: whose memory and barriers are reached, and what orders them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.backend.compiled.cubin_look import ProvedEntry, looked
from tileverify.backend.compiled.machine.machine import ThreadMachine, Unfollowed
from tileverify.backend.compiled.machine.run import Hang, WentOutside, run
from tileverify.backend.compiled.machine.storage import GlobalMemory
from tileverify.backend.compiled.ptx import read
from tileverify.backend.compiled.thread_races import Races, races
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover

BASE = 1 << 44
HEAD = """.version 9.4
.target sm_90a
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0
)
.reqntid 32
.reqnctapercluster 2
.blocksareclusters
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<20>;
	.shared .align 16 .b8 buffer[160];
	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	mov.u32 	%r2, %cluster_ctarank;
	mov.u32 	%r3, %clusterid.x;
	shl.b32 	%r4, %r3, 6;
	shl.b32 	%r5, %r2, 5;
	add.s32 	%r6, %r4, %r5;
	add.s32 	%r6, %r6, %r1;
	mul.wide.u32 	%rd2, %r6, 4;
	add.s64 	%rd3, %rd1, %rd2;
	shl.b32 	%r7, %r1, 2;
	mov.b32 	%r8, buffer;
	add.s32 	%r9, %r8, %r7;
	xor.b32 	%r10, %r2, 1;
	mapa.shared::cluster.u32 	%r11, %r9, %r10;
"""
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
FROM_THE_OTHER = (
    "st.shared.b32 [%r9], %r6;" + MEET + "ld.shared::cluster.b32 %r12, [%r11]; st.global.b32 [%rd3], %r12;" + MEET
)


def machine(body: str) -> ThreadMachine:
    """The end of a launch of two clusters of two blocks of 32 threads on 128 zeros."""
    entry = read(HEAD + body + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.zeros(512, "u1"))])
    made = ThreadMachine(
        entry, (2, 1, 1), [(0, 0, 0), (1, 0, 0)], memory, {"k_param_0": BASE.to_bytes(8, "little")}, {}
    )
    run(made)
    return made


def after(body: str) -> list[int]:
    return [int(each) for each in machine(body).memory.bytes[:512].view("<i4")]


def inside(body: str) -> Races:
    made = machine(body)
    return races(made.shared, made.threads, made.clocks)


def test_each_block_of_a_cluster_has_shared_memory_of_its_own() -> None:
    body = "st.shared.b32 [%r9], %r6; bar.sync 0; ld.shared.b32 %r12, [%r9]; st.global.b32 [%rd3], %r12;"
    assert after(body) == list(range(128))
    assert not inside(body).pairs


def test_what_the_other_block_stored_is_loaded() -> None:
    assert after(FROM_THE_OTHER) == [each ^ 32 for each in range(128)]
    assert not inside(FROM_THE_OTHER).pairs


@pytest.mark.parametrize("instead", ["", "bar.sync 0;", MEET.replace("arrive", "arrive.relaxed")])
def test_no_other_barrier_orders_blocks_of_a_cluster(instead: str) -> None:
    assert inside(FROM_THE_OTHER.replace(MEET, instead, 1)).reads


def test_a_barrier_of_the_other_block_is_arrived_at() -> None:
    body = (
        "mov.b32 %r13, 32; setp.eq.b32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [buffer+128], %r13;" + MEET
        + "st.shared::cluster.b32 [%r11], %r6; add.s32 %r14, %r8, 128; mapa.shared::cluster.u32 %r15, %r14, %r10;"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r15];\n"
        "$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+128], 0; @!%p2 bra $L1;"
        "ld.shared.b32 %r12, [%r9]; st.global.b32 [%rd3], %r12;" + MEET
    )  # fmt: skip
    assert after(body) == [each ^ 32 for each in range(128)]
    assert not inside(body).pairs
    with pytest.raises(Hang):
        machine(body.replace("%r13, 32", "%r13, 33"))


def test_products_arrive_at_barriers_of_all_blocks_that_they_name() -> None:
    body = (
        "mov.b32 %r13, 2; setp.eq.b32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [buffer+128], %r13;" + MEET
        + "mov.b16 %rs1, {mask}; @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
        ".multicast::cluster.b64 [buffer+128], %rs1;\n"
        "$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+128], 0; @!%p2 bra $L1;" + MEET
    )  # fmt: skip
    machine(body.replace("{mask}", "3"))
    with pytest.raises(Hang):
        machine(body.replace("{mask}", "1"))


def test_what_is_no_block_of_the_cluster_is_outside() -> None:
    with pytest.raises(WentOutside):
        machine("mapa.shared::cluster.u32 %r15, %r9, 2; ld.shared::cluster.b32 %r12, [%r15];")


def test_a_block_that_has_ended_holds_nobody_up_and_one_that_waits_elsewhere_does() -> None:
    machine("setp.eq.b32 %p1, %r2, 0; @%p1 bra $L1;" + MEET + "\n$L1:")
    body = "mbarrier.init.shared.b64 [buffer+128], 99; setp.eq.b32 %p1, %r2, 0; @%p1 bra $L1;" + MEET
    with pytest.raises(Hang):
        machine(body + "\n$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+128], 0; @!%p2 bra $L1;")


# ------------------------------------------------------------------------------------------------ barriers made
INIT = "setp.eq.b32 %p1, %r1, 0; mov.b32 %r13, 1; @%p1 mbarrier.init.shared.b64 [buffer+128], %r13;"
RELAXED = MEET.replace("arrive", "arrive.relaxed")
USED = (
    "add.s32 %r14, %r8, 128; mapa.shared::cluster.u32 %r15, %r14, %r10; mov.b32 %r16, 1;"
    "@%p1 mbarrier.arrive.shared::cluster.b64 _, [%r15], %r16;\n"
    "$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+128], 0; @!%p2 bra $L1;" + MEET
)


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (MEET, False),
        (RELAXED, True),
        ("fence.mbarrier_init.release.cluster;" + RELAXED, False),
        (RELAXED + "fence.mbarrier_init.release.cluster;", True),
        ("@!%p1 fence.mbarrier_init.release.cluster;" + RELAXED, True),  # of threads that made none
    ],
)
def test_a_relaxed_arrival_tells_of_barriers_that_were_fenced(between: str, told: bool) -> None:
    assert bool(machine(INIT + between + USED).unmade) is told


@pytest.mark.parametrize(("fence", "told"), [("fence.mbarrier_init.release.cluster;", False), ("", True)])
def test_a_relaxed_arrival_at_a_barrier_tells_of_others(fence: str, told: bool) -> None:
    late = "@%p1 mbarrier.init.shared.b64 [buffer+136], %r13;" + fence
    arrive = "add.s32 %r14, %r8, 128; mapa.shared::cluster.u32 %r15, %r14, %r10; mov.b32 %r16, 1;"
    arrive += "@%p1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r15], %r16;\n"
    wait = "$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+128], 0; @!%p2 bra $L1;"
    use = "add.s32 %r17, %r15, 8; @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r17], %r16;" + MEET
    assert bool(machine(INIT + MEET + late + arrive + wait + use).unmade) is told


def test_a_relaxed_arrival_tells_of_nothing_else() -> None:
    fenced = FROM_THE_OTHER.replace(MEET, "fence.mbarrier_init.release.cluster;" + RELAXED, 1)
    assert inside(fenced).reads


# ------------------------------------------------------------------------------------------------ copies
COPIES = (
    HEAD.replace("buffer[160]", "buffer[1184]").replace(".align 16 .b8 buffer", ".align 128 .b8 buffer")
    + "setp.eq.b32 %p1, %r1, 0; mov.b32 %r13, 1; @%p1 mbarrier.init.shared.b64 [buffer+1024], %r13;" + MEET
    + "setp.eq.b32 %p3, %r2, {by}; and.pred %p4, %p1, %p3; add.s32 %r14, %r8, 1024;\n"
)  # fmt: skip
EXPECT = "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [buffer+1024], {bytes};"
MULTICAST = (
    "mov.b16 %rs1, {mask}; @!%p4 bra $L2; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    ".multicast::cluster{pair} [buffer], [%rd1], 128, [%r14], %rs1;\n$L2:"
)
READ = (
    "$L1: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+1024], 0; @!%p2 bra $L1;"
    "ld.shared.b32 %r12, [%r9]; st.global.b32 [%rd3], %r12;" + MEET
)


def copied(body: str, by: int = 1, **given: object) -> ThreadMachine:
    """The end of a launch of two clusters of two blocks of 32 threads on the numbers 0 to 127."""
    values = {"mask": 3, "pair": "", "bytes": 128, **given}
    entry = read(COPIES.replace("{by}", str(by)) + body.format(**values) + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.arange(128, dtype="<i4").view("u1").copy())])
    made = ThreadMachine(
        entry, (2, 1, 1), [(0, 0, 0), (1, 0, 0)], memory, {"k_param_0": BASE.to_bytes(8, "little")}, {}
    )
    run(made)
    return made


@pytest.mark.parametrize("by", [0, 1])
def test_a_copy_reaches_the_same_place_of_all_blocks_that_it_names(by: int) -> None:
    made = copied(EXPECT + MULTICAST + READ, by)
    assert made.memory.bytes.view("<i4")[:128].tolist() == [*range(32)] * 4
    assert not races(made.shared, made.threads, made.clocks).pairs
    assert len([each for each in made.shared.log if each.copies >= 0]) == 4  # of two clusters


@pytest.mark.parametrize("given", [{"mask": 1}, {"mask": 2}, {"mask": 0}, {"bytes": 64}, {"bytes": 256}])
def test_a_block_that_gets_no_copy_or_another_one_waits_for_ever(given: dict[str, int]) -> None:
    with pytest.raises(Hang):
        copied(EXPECT + MULTICAST + READ, **given)


def test_a_copy_to_a_block_that_the_cluster_does_not_have_goes_outside() -> None:
    with pytest.raises(WentOutside):
        copied(EXPECT + MULTICAST + READ, mask=7)


def test_a_block_that_does_not_wait_for_its_copy_races() -> None:
    hasty = READ.replace("$L1: mbarrier", "setp.eq.b32 %p5, %r2, 0; @%p5 bra $L3;\n$L1: mbarrier", 1)
    hasty = hasty.replace("ld.shared.b32", "\n$L3: ld.shared.b32", 1)
    made = copied(EXPECT + MULTICAST + hasty)
    assert races(made.shared, made.threads, made.clocks).reads


def test_both_copies_of_a_pair_complete_at_the_barrier_of_one_of_its_blocks() -> None:
    """Clearing bit 24 of an address makes it the even block's."""
    first = "setp.eq.b32 %p5, %r2, 0; and.pred %p6, %p1, %p5; @%p6 " + EXPECT.replace("@%p1 ", "")
    first += "and.b32 %r14, %r14, -16777217;"
    single = MULTICAST.replace("@!%p4", "@!%p1").replace(".multicast::cluster", "").replace(", %rs1", "")
    wait = READ.replace("$L1: mbarrier", "@!%p5 bra $L3;\n$L1: mbarrier", 1)
    wait = wait.replace("ld.shared.b32", "\n$L3:" + MEET + "ld.shared.b32", 1)
    for copy in (single, MULTICAST):
        made = copied(first + copy + wait, pair=".cta_group::2", bytes=256)
        assert made.memory.bytes.view("<i4")[:128].tolist() == [*range(32)] * 4
        assert not races(made.shared, made.threads, made.clocks).pairs
        with pytest.raises(Hang):
            copied(first.replace("-16777217", "-1") + copy + wait, pair=".cta_group::2", bytes=256)
    with pytest.raises(Unfollowed, match="barrier of another block"):
        copied(first + single + wait)


KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel(num_ctas=2)
def total(x, out, M: C, N: C):
    i = ct.bid(0)
    ct.store(out, (i,), ct.sum(ct.load(x, (i, 0), (M, N))))
"""
SPEC = """
[[launch]]
kernel = "total"
grid = ["G"]
requires = ["G == cdiv(R, 64)"]
args = { x = "f32[R, 64]", out = "f32[G]", M = 64, N = 64 }
"""


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
def test_a_kernel_of_two_blocks_is_compared_and_its_faults_are_found(architecture: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "kernels.tileverify.toml").write_text(SPEC)
    (unit,) = discover([str(tmp_path / "kernels.py")])
    assert isinstance(unit, KernelUnit)
    made = find_assembler().assembled(unit.bytecode, architecture)
    assert made.ptx is not None
    proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    same = looked(proved, made, architecture)
    assert same.launches
    assert not same.differences, same
    for old, new in (("barrier.cluster.wait", "//"), ("mapa.shared::cluster.u32", "add.s32")):
        assert old in made.ptx
        changed = looked(proved, Assembled(made.cubin, made.ptx.replace(old, new), made.host), architecture)
        assert changed.differences, (old, changed.why_not)
