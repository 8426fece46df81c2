"""PTX beside bytecode: what is read, executed and compared, on small texts, and on what the assembler really makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.column_sums import ADD_COLUMN_SUMS, ADD_COLUMN_SUMS_REVERSED
from tests.command_line import CommandLine
from tests.written_kernel import unit_at, written

from tileverify import kernels
from tileverify.backend.assembler import AssemblyError, find_assembler
from tileverify.backend.compiled import thread_races
from tileverify.backend.compiled.both_runs import DifferenceKind
from tileverify.backend.compiled.cubin_look import ProvedEntry, looked, refuse_differences
from tileverify.backend.compiled.machine.computed import from_eight_bits, to_eight_bits
from tileverify.backend.compiled.machine.machine import ThreadMachine, Unfollowed
from tileverify.backend.compiled.machine.run import Hang, WentOutside, run
from tileverify.backend.compiled.machine.storage import UNKNOWN, Array, GlobalMemory
from tileverify.backend.compiled.ptx import Immediate, PtxAddress, PtxError, Register, Vector, read
from tileverify.backend.compiled.thread_races import Races, races
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover

HEAD = """.version 9.4
.target sm_90a
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u32 k_param_1
)
.reqntid 64
.minnctapersm 1
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<20>;
	.shared .align 16 .b8 buffer[256];
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b32 	%r1, [k_param_1];
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd2, %r2, 4;
	add.s64 	%rd3, %rd1, %rd2;
	shl.b32 	%r3, %r2, 2;
"""
BASE = 1 << 44


def machine(body: str, racy: Mapping[int, Array] | None = None) -> ThreadMachine:
    """The end of a launch of one block of 64 threads on the numbers 0 to 63; the scalar is 5."""
    entry = read(HEAD + body + "\n\tret;\n}\n").entry("k")
    memory = GlobalMemory([(BASE, np.arange(64, dtype="<i4").view("u1").copy())])
    parameters = {"k_param_0": BASE.to_bytes(8, "little"), "k_param_1": (5).to_bytes(4, "little")}
    made = ThreadMachine(entry, (1, 1, 1), [(0, 0, 0)], memory, parameters, {}, racy or {})
    run(made)
    return made


def after(body: str) -> list[int]:
    return [int(each) for each in machine(body).memory.bytes[:256].view("<i4")]


def races_in(body: str) -> tuple[Races, Races]:
    made = machine(body)
    return tuple(races(each, made.threads, made.clocks) for each in (made.memory, made.shared))  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------ reading
def test_operands_are_what_they_are_written_as() -> None:
    entry = read(HEAD + "@!%p1 ld.global.v2.b32 {%r4, _}, [%rd3+-8];\n\tmov.b32 %r5, 0f3F800000;\n\tret;\n}\n").entry(
        "k"
    )
    load, move = entry.instructions[-3:-1]
    assert (load.name, load.guard, load.negated) == ("ld.global.v2.b32", Register("%p1"), True)
    assert load.operands == (Vector((Register("%r4"), None)), PtxAddress(Register("%rd3"), -8))
    assert move.operands[1] == Immediate(0x3F800000, 32)
    assert (entry.threads, entry.type_of("%rd7"), [each.size for each in entry.parameters]) == (64, "b64", [8, 4])


def test_a_result_that_nobody_wants_goes_nowhere() -> None:
    body = "mbarrier.init.shared.b64 [buffer], 64; bar.sync 0; mbarrier.arrive.shared.b64 _, [buffer];"
    assert after(body) == list(range(64))


def test_names_of_an_inner_scope_are_registers() -> None:
    entry = read(HEAD + "{\n.reg .pred p;\nsetp.ne.b32 p, %r1, 0;\n@p bra $L1;\n}\n$L1:\n\tret;\n}\n").entry("k")
    assert entry.instructions[-2].guard == Register("p")
    assert entry.labels["$L1"] == len(entry.instructions) - 1


def test_names_of_an_inner_scope_are_registers_inside_of_braces() -> None:
    body = (
        "{ .reg .b16 lo; .reg .b16 hi; cvt.u16.u32 lo, %r2; cvt.u16.u32 hi, %r1; mov.b32 %r4, {lo, hi}; }"
        "st.global.b32 [%rd3], %r4;"
    )
    assert after(body) == [t + (5 << 16) for t in range(64)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".version 9.4\n.target sm_90\n.entry k() .reqntid 1 {",
        ".version 9.4\n.target sm_90\n.entry k() .reqntid 32, 2 {\n\tret;\n}",
        HEAD + "add.s32 %r1, [;\n}",
    ],
)
def test_what_is_no_ptx_is_told(text: str) -> None:
    with pytest.raises(PtxError):
        read(text)


# ------------------------------------------------------------------------------------------------ executing
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("add.s32 %r4, %r2, -7; st.global.b32 [%rd3], %r4;", lambda t: t - 7),
        ("mul.hi.s32 %r4, %r2, -2147483648; st.global.b32 [%rd3], %r4;", lambda t: (t * -(1 << 31)) >> 32),
        ("sub.s32 %r4, %r2, 9; div.s32 %r4, %r4, 4; st.global.b32 [%rd3], %r4;", lambda t: int((t - 9) / 4)),
        ("shl.b32 %r4, %r2, %r2; st.global.b32 [%rd3], %r4;", lambda t: (t << t & 0xFFFFFFFF) if t < 32 else 0),
        ("setp.lt.u32 %p1, %r2, %r1; selp.b32 %r4, 1, 2, %p1; st.global.b32 [%rd3], %r4;", lambda t: 1 if t < 5 else 2),
        ("setp.ge.u32 %p1, %r2, %r1; @%p1 bra $L1; st.global.b32 [%rd3], 0;\n$L1:", lambda t: 0 if t < 5 else t),
        ("cvt.u16.u32 %rs1, %r2; cvt.s32.s8 %r4, %rs1; st.global.b32 [%rd3], %r4;", lambda t: t),
        ("shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; st.global.b32 [%rd3], %r4;", lambda t: t ^ 1),
        ("shfl.sync.up.b32 %r4, %r2, 1, 0, -1; st.global.b32 [%rd3], %r4;", lambda t: t if t % 32 == 0 else t - 1),
        ("redux.sync.add.s32 %r4, 1, -1; st.global.b32 [%rd3], %r4;", lambda t: 32),
        ("mov.b64 %rd4, {%r2, %r1}; mov.b64 {%r4, %r5}, %rd4; add.s32 %r4, %r4, %r5; st.global.b32 [%rd3], %r4;",
         lambda t: t + 5),
        ("atom.global.add.u32 %r4, [%rd1], 1;", lambda t: 64 if t == 0 else t),
        ("cvt.rn.f32.u32 %r4, %r2; max.f32 %r4, %r4, 0f40A00000, 0f41000000; cvt.rzi.u32.f32 %r4, %r4;"
         " st.global.b32 [%rd3], %r4;", lambda t: max(t, 5, 8)),
        ("cvt.rn.f32.u32 %r4, %r2; min.f32 %r4, %r4, 0f41000000; cvt.rzi.u32.f32 %r4, %r4; st.global.b32 [%rd3], %r4;",
         lambda t: min(t, 8)),
    ],
)  # fmt: skip
def test_what_instructions_do(body: str, wanted: object) -> None:
    expected = [((wanted(t) + (1 << 31)) % (1 << 32)) - (1 << 31) for t in range(64)]  # type: ignore[operator]
    assert after(body) == expected


@pytest.mark.parametrize("unknown", [0, 1, 63])
def test_what_one_thread_adds_that_nobody_knows_makes_the_sum_unknown(unknown: int) -> None:
    """``wgmma`` is not computed; of 64 threads one puts its result into a common maximum."""
    body = f"""st.shared.b32 [buffer], 0; bar.sync 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
        {{%r4, %r5, %r6, %r7}}, %rd3, %rd3, 1, 1, 1, 0, 0; setp.eq.u32 %p1, %r2, {unknown}; selp.b32 %r8, %r4, 7, %p1;
        atom.shared.cta.max.u32 %r9, [buffer], %r8; bar.sync 0; ld.shared.b32 %r10, [buffer];
        st.global.b32 [%rd3], %r10;"""
    marks = machine(body).memory.marks
    assert marks is not None
    assert (marks[:256] & UNKNOWN).all()


@pytest.mark.parametrize(("kind", "dtype"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_floats_of_eight_bits_are_those_of_another_library(kind: str, dtype: type) -> None:
    codes = np.arange(256, dtype="u1")
    values = codes.view(dtype).astype("f4")
    np.testing.assert_array_equal(from_eight_bits(codes, kind), values)
    largest = np.nanmax(np.where(np.isfinite(values), values, 0))
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[1:] + finite[:-1]) / 2
    near = np.concatenate([finite, middles, np.nextafter(middles, np.float32(9e9)), np.nextafter(middles, -9e9)])
    np.testing.assert_array_equal(to_eight_bits(near, kind), near.astype(dtype).view("u1"))
    far = np.array([2 * largest, -np.inf, np.nan], "f4")
    np.testing.assert_array_equal(from_eight_bits(to_eight_bits(far, kind), kind), [largest, -largest, np.nan])


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_floats_of_eight_bits_are_converted_in_pairs(kind: str) -> None:
    """Of each thread's number and 5, there and back; numbers to 15 are exact in both types or halfway between."""
    body = (
        "cvt.rn.f32.u32 %r4, %r2; cvt.rn.f32.u32 %r5, %r1; cvt.rn.satfinite.{0}x2.f32 %rs1, %r4, %r5;"
        "cvt.rn.f16x2.{0}x2 %r6, %rs1; cvt.rn.satfinite.{0}x2.f16x2 %rs2, %r6; cvt.rn.f16x2.{0}x2 %r6, %rs2;"
        "mov.b32 {{%rs3, %rs4}}, %r6; cvt.f32.f16 %r7, %rs3; cvt.f32.f16 %r8, %rs4;"
        "fma.rn.f32 %r7, %r7, 0f42C80000, %r8; cvt.rzi.s32.f32 %r7, %r7; st.global.b32 [%rd3], %r7;"
    )
    dtype = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
    rounded = np.arange(64, dtype="f4").astype(dtype).astype("f4")
    assert after(body.format(kind)) == [int(500 + each) for each in rounded]


def test_threads_go_round_a_loop_as_often_as_each_wants() -> None:
    body = (
        "mov.b32 %r4, 0;\n$L1: add.s32 %r4, %r4, 2; setp.lt.u32 %p1, %r4, %r2; @%p1 bra $L1; st.global.b32 [%rd3], %r4;"
    )
    assert after(body) == [max(2, t + t % 2) for t in range(64)]


def test_a_store_behind_a_barrier_is_seen() -> None:
    body = (
        "mov.b32 %r4, buffer; add.s32 %r5, %r4, %r3; st.shared.b32 [%r5], %r2; bar.sync 0;"
        "xor.b32 %r6, %r3, 252; add.s32 %r6, %r4, %r6; ld.shared.b32 %r7, [%r6]; st.global.b32 [%rd3], %r7;"
    )
    assert after(body) == [63 - t for t in range(64)]
    assert not any(each.pairs for each in races_in(body))
    outside, inside = races_in(body.replace("bar.sync 0;", ""))
    assert not outside.pairs
    assert inside.pairs


def test_local_memory_is_reached_through_generic_addresses() -> None:
    body = (
        ".local .align 16 .b8 own[16]; mov.b64 %rd4, own; cvta.local.u64 %rd5, %rd4; st.b32 [%rd5+4], %r2;"
        "ld.local.b32 %r4, [%rd4+4]; {what} st.b32 [%rd3], %r4;"
    )
    assert after(body.replace("{what}", "")) == list(range(64))
    assert after(body.replace("{what}", "mov.b32 %r6, buffer; add.s32 %r6, %r6, %r3; st.shared.b32 [%r6], 9;"
                                        "cvt.u64.u32 %rd6, %r6; ld.b32 %r4, [%rd6];")) == [9] * 64  # fmt: skip
    with pytest.raises(WentOutside):
        machine(body.replace("{what}", "st.b32 [%rd5+2048], 1;"))


def test_a_fragment_that_is_read_too_early_decides_what_is_stored() -> None:
    body = (
        "mov.b32 %r4, buffer; add.s32 %r5, %r4, %r3; xor.b32 %r6, %r3, 128; add.s32 %r6, %r4, %r6;"
        "st.shared.b32 [%r6], %r2;"
        "{wait} and.b32 %r7, %r2, 7; shl.b32 %r7, %r7, 4; add.s32 %r7, %r4, %r7; mov.b32 %r8, %r7;"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [%r8]; st.global.b32 [%rd3], %r9;"
    )
    ordered = body.format(wait="bar.sync 0;")
    assert after(ordered) == [*range(32, 64)] * 2
    assert not races_in(ordered)[1].pairs
    early = body.format(wait="bar.warp.sync -1;")
    assert machine(early, races_in(early)[1].reads).sinks


ARRIVES = (
    "mov.b32 %r4, buffer; add.s32 %r5, %r4, %r3; setp.lt.u32 %p1, %r2, 32; @%p1 bra $L1;"
    "ld.shared.b32 %r6, [%r5+-128]; {what} st.global.b32 [%rd3], %r6; bra $L2;\n"
    "$L1: st.shared.b32 [%r5], %r2; bar.arrive 1, 64;\n$L2:"
)


def test_who_arrives_at_a_barrier_goes_on_and_who_waits_sees_what_it_did() -> None:
    body = ARRIVES.replace("ld.shared", "bar.sync 1, 64; ld.shared").format(what="")
    assert after(body)[32:] == list(range(32))
    assert not any(each.pairs for each in races_in(body))
    late = ARRIVES.format(what="bar.sync 1, 64;")
    assert races_in(late)[1].pairs
    with pytest.raises(Hang):
        machine(body.replace("bar.arrive 1, 64", "bar.arrive 2, 64; bar.sync 3, 64"))


def test_what_ends_a_run() -> None:
    with pytest.raises(WentOutside):
        machine("st.global.b32 [%rd3+4], %r2;")
    with pytest.raises(Hang):
        machine("setp.lt.u32 %p1, %r2, 32; @%p1 bra $L1; bar.sync 0, 96;\n$L1: bar.sync 1, 96;")
    with pytest.raises(Unfollowed, match=r"brkpt"):
        machine("brkpt;")
    with pytest.raises(Unfollowed, match="more than"):
        machine("$L1: bra $L1;")


# ------------------------------------------------------------------------------------------------ order
ONE_ELEMENT = "ld.global.b32 %r4, [%rd1]; {between} add.s32 %r4, %r4, 3; {who} st.global.b32 [%rd1], %r4;"


def test_threads_that_update_one_element_race() -> None:
    racy, _ = races_in(ONE_ELEMENT.format(between="", who=""))
    assert racy.reads
    ordered, _ = races_in(ONE_ELEMENT.format(between="bar.sync 0;", who=""))
    assert not ordered.pairs  # all store the same


def test_a_value_that_is_thrown_away_decides_nothing() -> None:
    first = "setp.eq.b32 %p1, %r2, 0; @%p1"
    for who, decides in ((first, False), ("", True)):
        body = ONE_ELEMENT.format(between="", who=who)
        found, _ = races_in(body)
        assert found.pairs
        assert bool(machine(body, found.reads).sinks) is decides


def test_stores_of_other_values_race_and_equal_ones_do_not() -> None:
    assert races_in("st.global.b32 [%rd1], %r2;")[0].writes
    assert not races_in("st.global.b32 [%rd1], %r1;")[0].writes


@pytest.mark.parametrize("reader", [0, 1, 16, 31])
def test_equal_stores_of_a_warp_race_with_who_reads_in_it(reader: int) -> None:
    """Each thread is ordered with its own store alone."""
    read = f"setp.eq.b32 %p1, %r2, {reader}; @%p1 ld.shared.b32 %r4, [buffer]; st.global.b32 [%rd3], %r4;"
    store = "setp.lt.u32 %p2, %r2, 32; @%p2 st.shared.b32 [buffer], %r1;"
    assert races_in(store + read)[1].reads
    assert not races_in(store + "bar.warp.sync -1;" + read)[1].pairs


def test_races_are_the_same_however_many_events_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "add.s32 %r5, %r3, 4; and.b32 %r5, %r5, 255; mov.b32 %r6, buffer; add.s32 %r7, %r6, %r3; add.s32 %r8, %r6, %r5;"
        "st.shared.b32 [%r7], %r2; ld.shared.b32 %r4, [%r8]; st.global.b32 [%rd3], %r4; st.shared.b32 [%r8], %r1;"
    )

    def seen() -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
        _, found = races_in(body)
        pairs = sorted((each.earlier.time, each.later.time) for each in found.pairs)
        return pairs, {time: marks.tolist() for time, marks in found.reads.items()}

    whole = seen()
    assert whole[0]
    monkeypatch.setattr(thread_races, "MOST_EVENTS", 3)
    assert seen() == whole


# ------------------------------------------------------------------------------------------------ real cubins
KERNELS = (
    """
import cuda.tile as ct

C = ct.Constant[int]

"""
    + ADD_COLUMN_SUMS
    + """
@ct.kernel
def add_row_sums(x, out, M: C, N: C):
    j = ct.bid(0)
    sums = ct.sum(ct.load(x, index=(j, 0), shape=(M, N)), axis=1)
    ct.store(out, index=(j,), tile=ct.load(out, index=(j,), shape=(M,)) + sums)

"""
    + ADD_COLUMN_SUMS_REVERSED
    + """
@ct.kernel
def tell(flag, out, TILE: C):
    ct.store(out, index=(ct.bid(0),), tile=ct.full((TILE,), 1, dtype=ct.int32))
    ct.store(flag, index=(ct.bid(0),), tile=1, memory_order=ct.MemoryOrder.RELEASE,
             memory_scope=ct.MemoryScope.DEVICE)

@ct.kernel
def tell_many(out, TILE: C):
    ct.store(out, index=(ct.bid(0),), tile=ct.full((TILE,), 1, dtype=ct.float16),
             memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.DEVICE)

@ct.kernel
def copy_and_center(x, out, res, N: C, TMA: ct.Constant[bool]):
    j = ct.bid(0)
    ct.store(out, index=(j, 0), tile=ct.load(x, index=(j, 0), shape=(N, N)), allow_tma=TMA)
    t = ct.load(out, index=(j, 0), shape=(N, N), allow_tma=TMA)
    ct.store(res, index=(j, 0), tile=t - ct.sum(t, axis=0, keepdims=True))

@ct.kernel
def center_and_put_back(x, out, res, N: C, TMA: ct.Constant[bool]):
    j = ct.bid(0)
    rows, columns = ct.arange(N, dtype=ct.int32).reshape((N, 1)), ct.arange(N, dtype=ct.int32).reshape((1, N))
    t = ct.load(out, index=(j, 0), shape=(N, N), allow_tma=TMA)
    ct.scatter(out, (j * N + rows, columns), t - ct.sum(t, axis=1, keepdims=True))
    ct.store(out, index=(j, 0), tile=t, allow_tma=TMA)
"""
)
COLUMNS = 'grid = ["W // 64"]\nrequires = ["W % 64 == 0"]\nargs = { x = "f32[64, W]", out = "f32[W]", M = 64, N = 64 }'
SPEC = f"""
[[launch]]
kernel = "add_column_sums"
{COLUMNS}

[[launch]]
kernel = "add_row_sums"
grid = ["cdiv(W, 64)"]
args = {{ x = "f32[W, 64]", out = "f32[W]", M = 64, N = 64 }}

[[launch]]
kernel = "turn_round"
{COLUMNS}

[[launch]]
kernel = "tell"
grid = ["R"]
args = {{ flag = "i32[R]", out = "i32[32 * R]", TILE = 32 }}

[[launch]]
kernel = "tell_many"
grid = ["W // 1024"]
requires = ["W % 1024 == 0", "out.address % 16 == 0"]
args = {{ out = "f16[W]", TILE = 1024 }}
"""
ALIGNED = """
[[launch]]
kernel = "KERNEL"
grid = ["W // 32"]
requires = ["W % 32 == 0", "x.address % 16 == 0", "out.address % 16 == 0", "res.address % 16 == 0"]
args = { x = "f32[W, 32]", out = "f32[W, 32]", res = "f32[W, 32]", N = 32, TMA = true }
"""
SPEC += "".join(ALIGNED.replace("KERNEL", each) for each in ("copy_and_center", "center_and_put_back"))


def unit_of(kernel: str, folder: Path) -> KernelUnit:
    written(folder, KERNELS, SPEC, "kernels")
    return unit_at(f"{folder / 'kernels.py'}::{kernel}")


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("kernel", "kind", "line"),
    [
        ("add_column_sums", DifferenceKind.ORDER, 10),
        ("add_row_sums", None, 0),
        ("turn_round", DifferenceKind.ORDER, 23),
        ("tell", DifferenceKind.TIMES, 28),
        ("tell_many", None, 0),  # eight elements by each thread, in one instruction
    ],
)
def test_what_the_assembler_drops_is_found(kernel: str, kind: DifferenceKind | None, line: int, tmp_path: Path) -> None:
    """Faults of tileiras 13.4 and 13.5: tokens between threads that hold one element, scoped stores once a thread."""
    unit = unit_of(kernel, tmp_path)
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    seen = looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch), made, "sm_90")
    assert [each.kind for each in seen.differences[:1]] == ([] if kind is None else [kind]), seen.why_not
    if kind is None:
        assert seen.launches == 2
        refuse_differences(seen)
        return
    with pytest.raises(AssemblyError, match=r"TV503") as refused:
        refuse_differences(seen)
    assert (Path(str(refused.value.file)).name, refused.value.line) == ("kernels.py", line)


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("kernel", "line", "why"),
    [
        ("copy_and_center", 39, "stores out[0, 0] by a bulk copy, and a later load does not wait until that is over"),
        ("center_and_put_back", 47, "stores out[0, 0] by a bulk copy, and an earlier store has no proxy fence"),
    ],
)
def test_bulk_copies_that_nothing_orders_are_found(kernel: str, line: int, why: str, tmp_path: Path) -> None:
    """Faults of tileiras 13.4: what stored by a tensor map is waited for as long as it is read; a fence too late."""
    unit = unit_of(kernel, tmp_path)
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    seen = looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch), made, "sm_90")
    with pytest.raises(AssemblyError, match=r"pass `allow_tma=False` to the loads and stores") as refused:
        refuse_differences(seen)
    assert why in str(refused.value)
    assert refused.value.line == line
    spec = tmp_path / "kernels.tileverify.toml"
    spec.write_text(spec.read_text().replace("TMA = true", "TMA = false"))
    followed = unit_at(f"{tmp_path / 'kernels.py'}::{kernel}")
    made = find_assembler().assembled(followed.bytecode, "sm_90")
    proved = ProvedEntry(followed.bytecode, followed.symbol, followed.parameters, followed.launch)
    assert str(looked(proved, made, "sm_90")) == "compared at 2 launches"


CHANGES = (
    ("st.global.b32", "st.global.b32 [%rd1], 0; st.global.b32"),
    ("bar.sync \t0;", ""),
    ("setp.ge.u64", "setp.gt.u64"),
    ("setp.lt.u64", "setp.le.u64"),
    ("add.rn.f32", "sub.rn.f32"),
)


@pytest.mark.assembler("tileiras")
def test_changed_code_is_found_out(tmp_path: Path) -> None:
    """Each change of the text, one at a time, of a kernel that compares equal as it is."""
    unit = unit_of("add_row_sums", tmp_path)
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    for old, new in CHANGES:
        if old in made.ptx:
            text = made.ptx.replace(old, new, 1) if old.startswith("st.") else made.ptx.replace(old, new)
            seen = looked(proved, type(made)(made.cubin, text, None), "sm_90")
            assert seen.differences or seen.why_not, old


@pytest.mark.assembler("tileiras")
def test_an_atomic_that_does_not_wait_for_the_first_value_is_found() -> None:
    """Largest values of rows meet in shared memory: one thread stores the least value, others update it."""
    unit = next(
        each
        for each in discover([f"{Path(kernels.__file__).parent / 'device' / 'moving.py'}::row_maxima"])
        if isinstance(each, KernelUnit) and each.launch.name.startswith("f16")
    )
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    assert not looked(proved, made, "sm_90").differences
    head, atomic, rest = made.ptx.partition("atom.shared.cta.max")
    before, _, after = head.rpartition("bar.sync \t0;")
    seen = looked(proved, type(made)(made.cubin, before + after + atomic + rest, made.host), "sm_90")
    assert [each.kind for each in seen.differences] == [DifferenceKind.ORDER]
    assert "store to the same place of shared memory" in str(seen.differences[0])


@pytest.mark.assembler("tileiras")
def test_check_warns_of_code_that_differs_and_keeps_the_proof(tmp_path: Path, tileverify: CommandLine) -> None:
    written(tmp_path, KERNELS, SPEC, "kernels")
    wanted = [f"{tmp_path / 'kernels.py'}::{name}" for name in ("add_column_sums", "add_row_sums")]
    code, out, err = tileverify("check", *wanted, "--compiled", "sm_90", "--no-cache", "--format", "json")
    assert code == 0, err
    differs, same = json.loads(out)["results"]
    assert differs["verdict"] == same["verdict"] == "proved"
    assert [(each["code"], each["level"]) for each in differs["findings"]] == [("TV503", "warning")]
    assert differs["findings"][0]["sites"][0]["line"] == 10
    assert [each["said"] for each in differs["compared_code"]] == ["differs from the bytecode"]
    assert not same["findings"]
    assert [each["said"] for each in same["compared_code"]] == ["compared at 2 launches"]


def test_an_architecture_that_there_is_not_is_told(tileverify: CommandLine) -> None:
    code, _, err = tileverify("check", __file__, "--compiled", "sm_9")
    assert code == 2
    assert "--compiled: 'sm_9' is not one of sm_80" in err
