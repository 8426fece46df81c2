"""Tensor maps that threads write: made in shared memory, copied to memory of the block, acquired, used, changed."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.backend.compiled.both_runs import DifferenceKind
from tileverify.backend.compiled.cubin_look import Looked, ProvedEntry, looked
from tileverify.backend.compiled.machine.machine import ThreadMachine, Unfollowed
from tileverify.backend.compiled.machine.run import Hang, WentOutside, run
from tileverify.backend.compiled.machine.storage import UNKNOWN, GlobalMemory
from tileverify.backend.compiled.ptx import read
from tileverify.backend.compiled.thread_races import Races, races
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover

BASE = 1 << 44
HEAD = """.version 9.4
.target sm_90a
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.hidden	.param .u64 .ptr .global .align 1 k_param_1
)
.reqntid 64
.minperctamemory 256
{
	.reg .pred 	%p<9>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<30>;
	.shared .align 1024 .b8 buffer[1280];
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b64 	%rd2, [k_param_1];
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd3, %r2, 4;
	add.s64 	%rd3, %rd1, %rd3;
	shl.b32 	%r3, %r2, 2;
	mov.b32 	%r4, buffer;
	add.s32 	%r5, %r4, %r3;
	setp.eq.b32 	%p1, %r2, 0;
	setp.gt.u32 	%p3, %r2, 31;
	mov.u64 	%rd9, %perctamemoryoffset;
	mov.u32 	%r9, %smid;
	mul.wide.s32 	%rd10, %r9, 8192;
	add.s64 	%rd10, %rd2, %rd10;
	setp.eq.b64 	%p4, %rd9, 0;
	selp.b64 	%rd4, %rd10, %rd9, %p4;
	@%p1 mbarrier.init.shared.b64 [buffer+1024], 1;
	bar.sync 0;
"""
MAP = (0x40012 | 3 << 7 | 2 << 32, 0, 0, 7 | 7 << 32, 0, 7 << 56, 3)
"""All words but the first: four rows of 64 numbers of 32 bits as 8 by 8."""


def written(row: int) -> str:
    """A map in which row ``row`` is the first one, made by thread 0 and used by its warp."""
    words = [f"add.s64 %rd11, %rd1, {32 * row}; @%p1 st.shared.b64 [buffer+1152], %rd11;"]
    for number, word in enumerate(struct.unpack("<7q", struct.pack("<7Q", *MAP))):
        words.append(f"mov.b64 %rd12, {word}; @%p1 st.shared.b64 [buffer+{1160 + 8 * number}], %rd12;")
    words.append("mov.b64 %rd12, 0;")
    words += [f"@%p1 st.shared.b64 [buffer+{1216 + 8 * number}], %rd12;" for number in range(8)]
    return "".join(words)


COPY = (
    "bar.warp.sync -1; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    " [%rd4], [%r7], 128;"
)
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%rd4], 128;"
LOAD = (
    "@!%p1 bra $L{n}; cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    " [buffer+{to}], [%rd4, {{0, 0}}], [buffer+1024];"
    " mbarrier.arrive.expect_tx.shared.b64 _, [buffer+1024], 128;\n$L{n}:"
)
READY = "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
WAIT = "$L9: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+1024], {phase}; @!%p2 bra $L9;"
TELL = "ld.shared.b32 %r6, [%r5]; bar.sync 0; st.global.b32 [%rd3], %r6;"
FIRST = "add.s32 %r7, %r4, 1152; @%p3 bra $L8;" + written(2) + COPY + ACQUIRE + LOAD.format(n=1, to=0)
ONCE = FIRST + "\n$L8:" + WAIT.format(phase=0) + TELL
TWICE = (
    FIRST + "@%p1 " + READY.replace("; ", "; @%p1 ") + written(4) + COPY + ACQUIRE
    + WAIT.format(phase=0).replace("$L9", "$L7") + LOAD.format(n=2, to=128) + "\n$L8:" + WAIT.format(phase=1) + TELL
)  # fmt: skip


def machine(body: str, blocks: int = 1) -> ThreadMachine:
    """The end of a launch of blocks of 64 threads on the numbers 0 to 63."""
    entry = read(HEAD + body + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.arange(64, dtype="<i4").view("u1").copy())])
    parameters = {"k_param_0": BASE.to_bytes(8, "little"), "k_param_1": bytes(8)}
    made = ThreadMachine(entry, (blocks, 1, 1), [(each, 0, 0) for each in range(blocks)], memory, parameters, {})
    run(made)
    return made


def after(body: str) -> list[int]:
    return [int(each) for each in machine(body).memory.bytes[:256].view("<i4")]


def found_in(body: str) -> list[Races]:
    made = machine(body)
    return [races(each, made.threads, made.clocks) for each in (made.memory, made.shared, made.own)]


# ------------------------------------------------------------------------------------------------ what is loaded
def test_a_map_that_threads_write_is_used() -> None:
    assert after(ONCE)[:32] == list(range(16, 48))
    assert not any(each.pairs for each in found_in(ONCE))


def test_a_map_is_written_again_once_copies_have_read_it() -> None:
    assert after(TWICE) == [*range(16, 48), *range(32, 64)]
    assert not any(each.pairs for each in found_in(TWICE))


def test_each_block_has_memory_of_its_own() -> None:
    made = machine(ONCE, blocks=2)
    assert sorted(made.maps) == [0, made.own.size]
    assert not races(made.own, made.threads, made.clocks).pairs


# ------------------------------------------------------------------------------------------------ faults
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@%p1 cp.async.bulk.wait_group.read 0;", ""),
        ("@%p1 cp.async.bulk.commit_group;", ""),
        ("wait_group.read 0", "wait_group.read 1"),
    ],
)
def test_a_map_that_is_written_again_too_early_races(old: str, new: str) -> None:
    assert old in TWICE
    *_, own = found_in(TWICE.replace(old, new))
    assert own.pairs


def test_another_map_loads_other_elements_or_goes_outside() -> None:
    assert after(ONCE.replace("%rd1, 64;", "%rd1, 96;"))[:32] == list(range(24, 56))
    with pytest.raises(WentOutside):
        machine(ONCE.replace("%rd1, 64;", "%rd1, 160;"))
    with pytest.raises(Hang):
        machine(ONCE.replace(f"%rd12, {MAP[-1]};", f"%rd12, {MAP[-1] - 1};"))


def test_a_map_beyond_the_memory_of_its_block_is_outside() -> None:
    with pytest.raises(WentOutside):
        machine(ONCE.replace("[%rd4]", "[%rd4+256]"))
    assert after(ONCE.replace("[%rd4", "[%rd4+128"))[:32] == list(range(16, 48))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", False),
        (ACQUIRE, "", True),
        (ACQUIRE, ACQUIRE.replace("%rd4", "%rd4+128"), True),
        (COPY + ACQUIRE, ACQUIRE + COPY, True),
        (ACQUIRE, ACQUIRE.replace("acquire", "release"), True),
    ],
)
def test_a_copy_may_use_a_map_once_a_fence_has_acquired_it(old: str, new: str, told: bool) -> None:
    assert old in ONCE
    assert bool(machine(ONCE.replace(old, new)).unmade) is told


@pytest.mark.parametrize(("between", "told"), [("bar.sync 0;", False), ("", True)])
def test_another_warp_may_use_a_map_once_a_barrier_tells_of_its_fence(between: str, told: bool) -> None:
    made = "add.s32 %r7, %r4, 1152; @%p3 bra $L8;" + written(2) + COPY + ACQUIRE + "\n$L8:"
    other = "setp.eq.b32 %p1, %r2, 32;" + between + LOAD.format(n=1, to=0) + WAIT.format(phase=0) + TELL
    assert bool(machine(made + other).unmade) is told


# ------------------------------------------------------------------------------------------------ what is not followed
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (COPY, "", "elsewhere than in a parameter"),
        ("%rd10, %rd9, %p4", "%rd9, %rd10, %p4", "hangs on a value that is not followed"),
        ("[%rd4], [%r7]", "[%rd1], [%r7]", "into an array"),
        ("[%rd4], [%r7]", "[%rd4], [%r5+1152]", "different tensor maps"),
        (", 128;" + ACQUIRE, ", 64;" + ACQUIRE, "is not known"),
        ("acquire.gpu [%rd4], 128", "acquire.gpu [%rd4], 64", "is not known"),
    ],
)
def test_what_is_not_known_of_maps_is_told(old: str, new: str, why: str) -> None:
    whole = HEAD + ONCE
    assert old in whole
    entry = read(whole.replace(old, new) + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.zeros(256, "u1"))])
    parameters = {"k_param_0": BASE.to_bytes(8, "little"), "k_param_1": bytes(8)}
    with pytest.raises(Unfollowed, match=why):
        run(ThreadMachine(entry, (1, 1, 1), [(0, 0, 0)], memory, parameters, {}))


def test_where_a_block_runs_is_not_followed() -> None:
    made = machine("st.global.b32 [%rd3], %r9;")
    assert made.memory.marks is not None
    assert (made.memory.marks[:256] == UNKNOWN).all()


# ------------------------------------------------------------------------------------------------ real cubins
KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel
def sum_segments(x, offsets, out, M: C, N: C):
    i = ct.bid(0)
    rows = x.slice(axis=0, start=ct.gather(offsets, i), stop=ct.gather(offsets, i + 1))
    total = ct.zeros((M, N), dtype=ct.float32)
    for j in range(ct.num_tiles(rows, axis=0, shape=(M, N))):
        total += ct.load(rows, (j, 0), (M, N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i, 0), ct.sum(total, axis=0, keepdims=True))
"""
SPEC = """
[[launch]]
kernel = "sum_segments"
grid = ["G"]
requires = ["x.address % 16 == 0", "out.address % 16 == 0"]
data = ["nondecreasing(offsets)", "range(offsets, 0, R + 1)"]
args = { x = "f32[R, 64]", offsets = "i32[G + 1]", out = "f32[G, 64]", M = 32, N = 64 }
"""


def seen(unit: KernelUnit, made: Assembled, architecture: str) -> Looked:
    return looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch), made, architecture)


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
def test_a_kernel_that_makes_tensor_maps_is_compared_and_its_faults_are_found(
    architecture: str, tmp_path: Path
) -> None:  # fmt: skip
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "kernels.tileverify.toml").write_text(SPEC)
    (unit,) = discover([str(tmp_path / "kernels.py")])
    assert isinstance(unit, KernelUnit)
    made = find_assembler().assembled(unit.bytecode, architecture)
    assert made.ptx is not None
    assert "tensormap.cp_fenceproxy" in made.ptx
    same = seen(unit, made, architecture)
    assert (same.differences, same.why_not) == ((), "")
    assert same.launches
    whole, rounded = 0x1FF_FFFF_FFFF_FFF0, 0x1FF_FFFF_FFFF_FC00  # bits of the address of the first row
    for old, new, kinds in (
        (f", {whole};", f", {rounded};", {DifferenceKind.READS, DifferenceKind.VALUES}),
        (", 31};", ", 15};", {DifferenceKind.HANGS}),  # a box of half the rows
        ("fence.proxy.tensormap::generic.acquire", "// ", {DifferenceKind.ORDER}),
        ("cp.async.bulk.tensor.2d.shared::cta.global", "//", {DifferenceKind.HANGS}),
    ):
        assert old in made.ptx
        wrong = seen(unit, Assembled(made.cubin, made.ptx.replace(old, new), made.host), architecture)
        assert {each.kind for each in wrong.differences} & kinds, (old, wrong)
    small = re.sub(r"\.minperctamemory \d+", "", made.ptx)
    assert "not its own" in seen(unit, Assembled(made.cubin, small, made.host), architecture).why_not
