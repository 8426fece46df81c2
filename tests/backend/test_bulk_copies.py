"""Copies that the hardware makes by itself: tensor maps, the host code that fills them, waits and fences."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.backend.compiled.both_runs import DifferenceKind
from tileverify.backend.compiled.cubin_look import Looked, ProvedEntry, looked
from tileverify.backend.compiled.hidden_parameters import (
    BrokenObject,
    ElfObject,
    TensorMap,
    UnknownTensorMap,
    box_places,
    decoded,
    layout,
)
from tileverify.backend.compiled.machine.machine import ThreadMachine, Unfollowed
from tileverify.backend.compiled.machine.run import Hang, WentOutside, run
from tileverify.backend.compiled.machine.storage import GlobalMemory
from tileverify.backend.compiled.ptx import Parameter, read
from tileverify.backend.compiled.thread_races import Races, races
from tileverify.backend.compiled.x86 import HostFault, HostMachine
from tileverify.contract.launch import KernelUnit

BASE = 1 << 44
HEAD = """.version 9.4
.target sm_90a
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.hidden	.param .align 64 .b8 k_param_1[128]
)
.reqntid 64
{
	.reg .pred 	%p<9>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<20>;
	.shared .align 1024 .b8 buffer[1216];
	mov.b64 	%rd9, k_param_1;
	cvta.param.u64 	%rd4, %rd9;
	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd2, %r2, 4;
	add.s64 	%rd3, %rd1, %rd2;
	shl.b32 	%r3, %r2, 2;
	mov.b32 	%r4, buffer;
	add.s32 	%r5, %r4, %r3;
	setp.eq.b32 	%p1, %r2, 0;
"""


def tensor_map(
    sizes: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...], *, kind: int = 3, swizzle: int = 0,
    base: int = BASE,
) -> bytes:  # fmt: skip
    """128 bytes as host code of tileiras writes them; ``strides`` in bytes, without the first."""
    rank = len(sizes)
    by = [stride // 16 for stride in strides] + [0] * (4 - len(strides))
    last = [size - 1 for size in sizes] + [0] * (5 - rank)
    edge = [size - 1 for size in box] + [0] * (5 - rank)
    words = (
        base,
        0x40002 | rank - 1 << 4 | kind << 7 | swizzle << 13 | by[0] << 32,
        by[1] | by[2] << 32,
        by[3],
        last[0] | last[1] << 32,
        last[2] | last[3] << 32,
        last[4] | edge[0] << 56,
        edge[1] | edge[2] << 8 | edge[3] << 16 | edge[4] << 24,
    )
    return struct.pack("<8Q", *words) + bytes(64)


ROWS = tensor_map((8, 8), (32,), (8, 4))
"""Four rows of the 64 numbers as 8 by 8."""


def machine(body: str, map_: bytes = ROWS) -> ThreadMachine:
    """The end of a launch of one block of 64 threads on the numbers 0 to 63."""
    entry = read(HEAD + body + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.arange(64, dtype="<i4").view("u1").copy())])
    made = ThreadMachine(
        entry, (1, 1, 1), [(0, 0, 0)], memory, {"k_param_0": BASE.to_bytes(8, "little"), "k_param_1": map_}, {}
    )
    run(made)
    return made


def after(made: ThreadMachine) -> list[int]:
    return [int(each) for each in made.memory.bytes[:256].view("<i4")]


def found_in(made: ThreadMachine) -> tuple[Races, Races]:
    return tuple(races(each, made.threads, made.clocks) for each in (made.memory, made.shared))  # type: ignore[return-value]


MAKE = "@%p1 mbarrier.init.shared.b64 [buffer+1024], 1; bar.sync 0;"
COPY = (
    "@!%p1 bra $L1; cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    " [buffer], [%rd4, {{{x}, {y}}}], [buffer+1024];"
    " mbarrier.arrive.expect_tx.shared.b64 _, [buffer+1024], {bytes};\n$L1:"
)
WAIT = "$L2: mbarrier.try_wait.parity.shared.b64 %p2, [buffer+1024], 0; @!%p2 bra $L2;"
TELL = "ld.shared.b32 %r6, [%r5]; bar.sync 0; st.global.b32 [%rd3], %r6;"
STORE = (
    "st.shared.b32 [%r5], %r2; fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra $L3;"
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {0, 2}], [buffer];"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n$L3: bar.sync 0; st.shared.b32 [%r5], 7;"
)


def loaded(x: int = 0, y: int = 0, bytes_: int = 128) -> str:
    return MAKE + COPY.format(x=x, y=y, bytes=bytes_) + WAIT + TELL


# ------------------------------------------------------------------------------------------------ boxes
@pytest.mark.parametrize(("x", "y"), [(0, 0), (0, 4), (0, 6), (0, -2), (4, 1), (-4, 0), (8, 0)])
def test_a_box_is_loaded_with_zeros_outside_the_array(x: int, y: int) -> None:
    array = np.arange(64).reshape(8, 8)
    wanted = [
        int(array[y + row, x + column]) if 0 <= y + row < 8 and 0 <= x + column < 8 else 0
        for row in range(4) for column in range(8)
    ]  # fmt: skip
    made = machine(loaded(x, y))
    assert after(made)[:32] == wanted
    told = sum(len(each.places) * each.bytes for each in made.memory.log if each.copies >= 0)
    assert told == 4 * np.count_nonzero(
        [0 <= y + row < 8 and 0 <= x + column < 8 for row in range(4) for column in range(8)]
    )


def test_a_store_leaves_what_lies_outside_the_box_or_the_array() -> None:
    assert after(machine(STORE)) == [*range(16), *range(32), *range(48, 64)]
    assert after(machine(STORE.replace("{0, 2}", "{0, 6}"))) == [*range(48), *range(16)]


def test_a_reduction_adds_and_is_an_update() -> None:
    body = STORE.replace(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.u32.tile",
    )
    made = machine(body)
    assert after(made) == [*range(16), *(16 + 2 * each for each in range(32)), *range(48, 64)]
    assert [each.atomic for each in made.memory.log] == [True]


@pytest.mark.parametrize(("kind", "old"), [(2, "<u4"), (7, "<f4")])
def test_a_reduction_of_a_box_has_the_type_of_its_map(kind: int, old: str) -> None:
    body = STORE.replace(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"
    ).replace("st.shared.b32 [%r5], %r2;", "st.shared.b32 [%r5], {one};")
    one = 1 if kind == 2 else 0x3F800000
    made = machine(body.replace("{one}", str(one)), tensor_map((8, 8), (32,), (8, 4), kind=kind))
    numbers = np.arange(64, dtype="<i4").view(old)
    wanted = numbers.copy()
    wanted[16:48] = numbers[16:48] + np.array(one, "<i4").view(old)
    assert made.memory.bytes[:256].view("<i4").tolist() == wanted.view("<i4").tolist()
    with pytest.raises(Unfollowed, match="is not known"):
        machine(body.replace("{one}", "1"), tensor_map((8, 8), (32,), (8, 4), kind=11))  # tf32


def test_threads_that_copy_nothing_may_commit_and_wait() -> None:
    """Their groups are empty, and take no room among those of others."""
    all_of_them = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    made = machine(STORE + all_of_them)
    assert after(made) == after(machine(STORE))
    assert not any(each.pairs for each in found_in(made))


@pytest.mark.parametrize(("swizzle", "row"), [(1, 32), (2, 64), (3, 128)])
def test_chunks_change_places_by_the_row_of_128_bytes(swizzle: int, row: int) -> None:
    found = decoded(tensor_map((row // 4, 64), (row,), (row // 4, 8), swizzle=swizzle))
    where = found.swizzled(1024 + np.arange(0, 1024, 16, dtype="u8")).astype(int) - 1024
    for chunk, place in enumerate(where):
        line, column = divmod(chunk, 8)
        assert place // 128 == line
        assert place // 16 % 8 == column ^ (line & (row // 16 - 1))
    assert sorted(where) == list(range(0, 1024, 16))


def test_a_tensor_map_says_what_it_was_made_of() -> None:
    made = tensor_map((64, 5, 6, 7, 8), (128, 640, 3840, 26880), (64, 2, 3, 4, 1), kind=10, swizzle=3, base=BASE + 512)
    strides = (2, 128, 640, 3840, 26880)
    assert decoded(made) == TensorMap(BASE + 512, 2, (64, 5, 6, 7, 8), strides, (64, 2, 3, 4, 1), 128, "bf16")
    assert decoded(made).box_bytes == 64 * 24 * 2
    for word, bit in ((1, 11), (1, 15), (1, 1), (3, 40), (6, 33), (7, 32), (9, 0)):
        changed = bytearray(made)
        changed[8 * word + bit // 8] ^= 1 << bit % 8
        with pytest.raises(UnknownTensorMap):
            decoded(bytes(changed))


def test_plain_bulk_copies_move_runs_of_bytes() -> None:
    body = MAKE + (
        "@!%p1 bra $L1; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer], [%rd1+64], 128,"
        " [buffer+1024]; mbarrier.arrive.expect_tx.shared.b64 _, [buffer+1024], 128;\n$L1:"
    )
    assert after(machine(body + WAIT + TELL))[:32] == list(range(16, 48))


# ------------------------------------------------------------------------------------------------ faults
def test_a_wrong_map_reaches_outside_or_other_elements() -> None:
    with pytest.raises(WentOutside):
        machine(loaded(y=6), tensor_map((8, 9), (32,), (8, 4)))
    assert after(machine(loaded(), tensor_map((8, 4), (64,), (8, 4))))[8:16] == list(range(16, 24))


@pytest.mark.parametrize("bytes_", [112, 144])
def test_a_barrier_that_awaits_other_bytes_never_ends(bytes_: int) -> None:
    with pytest.raises(Hang):
        machine(loaded(bytes_=bytes_))


def test_what_is_not_known_of_copies_is_told() -> None:
    with pytest.raises(Unfollowed, match="another rank"):
        machine(loaded(), tensor_map((64,), (), (32,)))
    with pytest.raises(Unfollowed, match="elsewhere than in a parameter"):
        machine(loaded().replace("[%rd4,", "[%rd1,"))
    with pytest.raises(Unfollowed, match="multiple of 128"):
        machine(loaded().replace("[buffer],", "[buffer+16],"))


# ------------------------------------------------------------------------------------------------ order
def test_who_waits_for_a_load_sees_it_and_who_does_not_races() -> None:
    assert not any(each.pairs for each in found_in(machine(loaded())))
    _, inside = found_in(machine(loaded().replace(WAIT, "bar.sync 0;")))
    assert inside.reads


@pytest.mark.parametrize(("between", "told"), [("bar.sync 0;", False), ("bar.warp.sync -1;", True), ("", True)])
def test_a_barrier_is_used_once_it_is_surely_made(between: str, told: bool) -> None:
    made = machine(loaded().replace("bar.sync 0;", between, 1))
    assert bool(made.unmade) is told
    assert all(each.thread == 32 for each in made.unmade)


def test_the_thread_that_issues_a_load_has_to_wait_too() -> None:
    body = loaded().replace(WAIT, "").replace("ld.shared.b32 %r6, [%r5]", "@%p1 ld.shared.b32 %r6, [%r5]")
    _, inside = found_in(machine(body))
    assert inside.pairs


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cp.async.bulk.wait_group.read 0;", ""),
        ("cp.async.bulk.commit_group;", ""),
        ("wait_group.read 0", "wait_group.read 1"),
        ("fence.proxy.async.shared::cta;", ""),
        ("fence.proxy.async.shared::cta;", "fence.proxy.async.global;"),
        ("fence.proxy.async.shared::cta; bar.sync 0;", "bar.sync 0;"),
        ("fence.proxy.async.shared::cta; bar.sync 0;", "fence.proxy.async.shared::cta;"),
    ],
)
def test_a_store_needs_its_fence_its_barrier_and_its_wait(old: str, new: str) -> None:
    assert not any(each.pairs for each in found_in(machine(STORE)))
    assert old in STORE
    _, inside = found_in(machine(STORE.replace(old, new)))
    assert inside.pairs


def test_a_load_of_what_a_store_wrote_needs_more_than_that_its_bytes_are_read() -> None:
    late = STORE.replace("st.shared.b32 [%r5], 7;", "ld.global.b32 %r6, [%rd3];")
    outside, _ = found_in(machine(late))
    assert outside.reads
    outside, _ = found_in(machine(late.replace("wait_group.read", "wait_group")))
    assert not outside.pairs


def test_threads_that_copy_nothing_may_wait_too() -> None:
    """As loops of tiles do: all threads close a group and wait for it, though one of them copies."""
    waits = "cp.async.bulk.commit_group; cp.async.bulk.wait_group{what} 0;"
    first = STORE[: STORE.index("cp.async.bulk.commit_group")] + "\n$L3: {waits} bar.sync 0; ld.global.b32 %r6, [%rd3];"
    outside, _ = found_in(machine(first.replace("{waits}", waits.format(what=".read"))))
    assert outside.reads
    outside, _ = found_in(machine(first.replace("{waits}", waits.format(what=""))))
    assert not outside.pairs


def test_a_buffer_that_is_filled_again_before_it_was_read_races() -> None:
    again = COPY.format(x=0, y=4, bytes=128).replace("$L1", "$L4")
    _, inside = found_in(machine(MAKE + COPY.format(x=0, y=0, bytes=128) + WAIT + TELL + again))
    assert not inside.pairs
    read_late = TELL.replace("bar.sync 0;", "")
    _, inside = found_in(machine(MAKE + COPY.format(x=0, y=0, bytes=128) + WAIT + read_late + again))
    assert inside.pairs


# ------------------------------------------------------------------------------------------------ host code
BLOCK = 1 << 44


def called(code: str, block: bytes = bytes(32)) -> bytes:
    memory = bytearray(block)
    assert HostMachine(bytes.fromhex(code), {BLOCK: memory}).call(0, {1: BLOCK}) == 0
    return bytes(memory)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("48 8b 01  48 ff c8  48 89 41 08  31 c0  c3", 40),  # dec
        ("48 8b 01  48 6b c0 fe  48 89 41 08  31 c0  c3", -82),  # imul by a number
        ("48 8b 01  48 8d 84 80 00 01 00 00  48 89 41 08  31 c0  c3", 41 * 5 + 256),  # lea
        ("8b 01  83 e8 2a  48 89 41 08  31 c0  c3", 0xFFFF_FFFF),  # 32 bits clear the upper half
        ("31 c0  48 83 39 29  0f 93 c0  48 89 41 08  31 c0  c3", 1),  # cmp, setae
        ("31 c0  48 83 39 2a  0f 93 c0  48 89 41 08  31 c0  c3", 0),
        ("48 c7 41 08 07 00 00 00  f6 01 01  74 08  48 c7 41 08 09 00 00 00  31 c0  c3", 9),  # test, je
        ("53  48 c7 c3 05 00 00 00  48 89 59 08  5b  31 c0  c3", 5),  # push, pop
        ("48 8b 01  48 c1 e0 20  48 c1 e8 1f  48 89 41 08  31 c0  c3", 82),  # shl, shr
    ],
)
def test_what_host_code_computes(code: str, wanted: int) -> None:
    found = called(code, struct.pack("<4q", 41, 0, 0, 0))
    assert struct.unpack_from("<q", found, 8)[0] == wanted


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("0f 05 c3", "not known"),  # syscall
        ("ff d0 c3", "calls"),
        ("48 8b 41 20 c3", "not its own"),
        ("48 89 01 48 89 41 f8 c3", "not its own"),
        ("eb fe", "steps"),
        ("90", "past its end"),
        ("48 8b 05 00 00 00 00 c3", "beside its code"),
    ],
)
def test_host_code_touches_nothing_but_its_block(code: str, why: str) -> None:
    with pytest.raises(HostFault, match=why):
        called(code)


def test_parameters_are_aligned_in_the_constant_bank() -> None:
    given = [Parameter("a", 8, False, 8), Parameter("b", 4, False, 4), Parameter("c", 128, True, 64)]
    assert layout(given, 0x210) == {"a": 0, "b": 8, "c": 0x30}
    assert layout(given, 0x380) == {"a": 0, "b": 8, "c": 0x40}


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(100)])
def test_what_is_no_object_is_told(image: bytes) -> None:
    with pytest.raises(BrokenObject):
        ElfObject(image).section(".text")


# ------------------------------------------------------------------------------------------------ real cubins
KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel
def column_totals(x, out, M: C, N: C):
    j = ct.bid(0)
    total = ct.zeros((M, N), dtype=ct.float32)
    for i in range(ct.num_tiles(x, axis=0, shape=(M, N))):
        total += ct.load(x, (i, j), (M, N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (j,), ct.sum(total, axis=0))

@ct.kernel
def window_sums(x, out, M: C, N: C):
    j = ct.bid(0)
    window = x.slice(axis=0, start=j * M, stop=j * M + M)
    ct.store(out, (j,), ct.sum(ct.load(window, (0, 0), (M, N)), axis=0))
"""
SPEC = """
[[launch]]
kernel = "column_totals"
grid = ["cdiv(W, 128)"]
requires = ["x.address % 16 == 0", "out.address % 16 == 0", "W % 16 == 0"]
args = { x = "f32[R, W]", out = "f32[W]", M = 16, N = 128 }

[[launch]]
kernel = "window_sums"
grid = ["R // 16"]
requires = ["x.address % 16 == 0", "out.address % 16 == 0", "R % 16 == 0"]
args = { x = "f32[R, 128]", out = "f32[8 * R]", M = 16, N = 128 }
"""


def unit_of(folder: Path, kernel: str = "column_totals", spec: str = SPEC) -> KernelUnit:
    written(folder, KERNELS, spec, "kernels")
    return unit_at(f"{folder / 'kernels.py'}::{kernel}")


def seen(unit: KernelUnit, made: Assembled) -> Looked:
    return looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch), made, "sm_90")


@pytest.mark.assembler("tileiras")
def test_a_kernel_with_tensor_maps_is_compared_and_its_faults_are_found(tmp_path: Path) -> None:
    unit = unit_of(tmp_path)
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    assert made.host is not None
    assert "cp.async.bulk.tensor.2d" in made.ptx
    same = seen(unit, made)
    assert (same.differences, same.why_not) == ((), "")
    assert same.launches
    # Sizes that are counted up and not down (``dec`` to ``inc``), in the host code alone: the PTX is what it was.
    wrong = re.sub(rb"\xff([\xc8-\xcf])", lambda found: bytes((0xFF, found[1][0] - 8)), made.host)
    assert wrong != made.host
    differs = seen(unit, Assembled(made.cubin, made.ptx, wrong))
    assert [each.kind for each in differs.differences[:1]] == [DifferenceKind.OUTSIDE], differs
    assert seen(unit, Assembled(made.cubin, made.ptx, None)).why_not == (
        "the host code that fills hidden parameters was not seen"
    )


@pytest.mark.assembler("tileiras")
def test_a_kernel_that_makes_tensor_maps_is_compared_and_its_faults_are_found(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, "window_sums")
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    assert "tensormap.cp_fenceproxy" in made.ptx
    assert str(seen(unit, made)) == "compared at 2 launches"
    place = made.ptx.index("tensormap.cp_fenceproxy")
    start = made.ptx.rindex("%clusterid.x", 0, place)
    wrong = made.ptx[:start] + "%clusterid.y" + made.ptx[start + len("%clusterid.x") :]
    assert seen(unit, Assembled(made.cubin, wrong, made.host)).differences


@pytest.mark.assembler("tileiras")
def test_a_store_behind_the_end_names_the_array_and_what_to_write(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, spec=SPEC.replace(', "W % 16 == 0"', ""))
    (first, *_) = seen(unit, find_assembler().assembled(unit.bytecode, "sm_90")).differences
    assert (first.kind, first.copies) == (DifferenceKind.OUTSIDE, True)
    assert first.text.endswith("right behind the end of out")
    assert first.place is not None
    assert KERNELS.split("\n")[first.place[1] - 1].strip() == "ct.store(out, (j,), ct.sum(total, axis=0))"
    assert first.advice == "pass `allow_tma=False` to the loads and stores of this array"


@pytest.mark.parametrize(
    ("count", "element", "stored"), [(3, 2, 8), (8, 2, 8), (9, 2, 16), (1, 4, 4), (4, 4, 4), (5, 4, 8)]
)
def test_a_store_fills_the_sixteen_bytes_in_which_a_row_ends(count: int, element: int, stored: int) -> None:
    """As an H200 does: zeros, or whatever the tile holds there, go behind the end of the array.  Loads stop there."""
    whole = TensorMap(1 << 20, element, (count,), (element,), (32,), 0, "b")
    for loads, elements in ((True, count), (False, stored)):
        part, _, _, inside = box_places(whole, (0,), loads=loads)
        assert int(inside.sum()) * part == elements * element
