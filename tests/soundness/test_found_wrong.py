"""Launches that were once proved although one of their contract is faulty, or that a deliberate flaw would prove."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I8, I32, I64, TOKEN, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.pipeline import check_paths
from tileverify.results import Verdict

from ..tiles import Parts

FIRST_TILE = """
import cuda.tile as ct

@ct.kernel
def first_tile(x, out, TILE: ct.Constant[int]):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(0,), shape=(TILE,)))
"""
ROWS = """
import cuda.tile as ct

@ct.kernel
def copy_rows(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i, 0), tile=ct.load(x, index=(i, 0), shape=(1, TILE)))
"""
PAIRS = """
import cuda.tile as ct

@ct.kernel
def mark_pairs(idx, out):
    i = ct.bid(0)
    p = ct.load(idx, index=(i, 0), shape=(1, 1)).item()
    q = ct.load(idx, index=(i, 1), shape=(1, 1)).item()
    ct.store(out, index=(p,), tile=ct.zeros((1,), dtype=ct.int32))
    ct.store(out, index=(q,), tile=ct.zeros((1,), dtype=ct.int32))
"""


ABOVE_127 = """
import cuda.tile as ct

@ct.kernel
def mark_if_large(x, out, n):
    if n > 127:
        ct.store(out, index=(0,), tile=ct.zeros((1,), dtype=ct.int32))
"""


@pytest.mark.parametrize("fact", ["N == 0 or M % N == 0", "not (N != 0 and M % N != 0)", "N == 0 or M // N >= 1"])
def test_a_fact_that_excuses_zero_does_not_exclude_it(tmp_path: Path, fact: str) -> None:
    spec = f"""
kernel = "first_tile"
grid = [3]
requires = ["M == 384", "{fact}"]
args = {{ x = "f32[N]", out = "f32[M]", TILE = 128 }}"""
    result = judged(tmp_path, FIRST_TILE, spec)
    assert (result.verdict, result.requires, result.limits) == (Verdict.REFUTED, (), ())
    assert all(finding.witness is not None and finding.witness.sizes["N"] == 0 for finding in result.findings)


@pytest.mark.parametrize(
    ("layout", "fact"),
    [("M, 64; strides=(ld, 1)", "ld < 64"), ("M, 64; strides=(ld, 1)", "ld == 1"), ("M, 2*K; strides=(K, 1)", "K > 0")],
)
def test_rows_that_overlap_by_the_users_own_facts_are_a_contradiction(tmp_path: Path, layout: str, fact: str) -> None:
    spec = f"""
kernel = "copy_rows"
grid = ["M"]
requires = ["M >= 4", "{fact}"]
args = {{ x = "f32[M, 64]", out = "f32[{layout}]", TILE = 64 }}"""
    result = judged(tmp_path, ROWS, spec)
    assert [finding.code for finding in result.findings] == ["TV004"]


def test_a_named_stride_of_several_elements_is_not_0(tmp_path: Path) -> None:
    spec = """
kernel = "first_tile"
grid = ["N"]
requires = ["N >= 2", "ld == 0"]
args = { x = "f32[N; strides=(ld,)]", out = "f32[N]", TILE = 1 }"""
    result = judged(tmp_path, FIRST_TILE, spec)
    assert [finding.code for finding in result.findings] == ["TV004"]


def test_injective_says_nothing_of_two_names_of_one_element(tmp_path: Path) -> None:
    spec = """
kernel = "mark_pairs"
grid = ["N"]
requires = ["N > 3"]
data = ["injective(idx)", "range(idx, 0, 2 * N)"]
args = { idx = "i32[N, 2; strides=(1, 1)]", out = "i32[2 * N]" }"""
    result = judged(tmp_path, PAIRS, spec)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.UNDECIDED, {"TV901"})


def test_what_may_overlap_one_name_of_an_array_may_overlap_the_others(tmp_path: Path) -> None:
    source = FIRST_TILE.replace("(x, out,", "(x, y, out,")
    spec = """
kernel = "first_tile"
grid = ["N // 128"]
requires = ["N % 128 == 0", "N >= 256", "x is y"]
overlap = [["y", "out"]]
args = { x = "f32[N]", y = "f32[N]", out = "f32[N]", TILE = 128 }"""
    assert judged(tmp_path, source, spec).verdict is not Verdict.PROVED


@pytest.mark.parametrize(("shift", "verdict"), [(1, Verdict.REFUTED), (4, Verdict.PROVED)])
def test_a_word_lies_at_a_multiple_of_its_size(tmp_path: Path, shift: int, verdict: Verdict) -> None:
    builder = ModuleBuilder()
    word, byte = tile(pointer(I32)), tile(pointer(I8))
    with builder.entry("store_word", [word]) as f:
        start = f.op("ptr_to_ptr", s=f.parameters[0], results=[byte])
        place = f.op("offset", ptr=start, off=f.constant(tile(I32), shift))
        target = f.op("ptr_to_ptr", s=place, results=[word])
        f.op("store_ptr_tko", ptr=target, val=f.constant(tile(I32), 7))
        f.op("return")
    spec = """
kernel = "store_word"
grid = [1]
args = { a = "i32[16]" }"""
    result = judged(tmp_path, encode(builder.build()), spec)
    assert result.verdict is verdict
    assert [finding.code for finding in result.findings] == ["TV302"] * (verdict is Verdict.REFUTED)


def test_a_size_passed_as_an_unsigned_byte_reaches_255(tmp_path: Path) -> None:
    spec = """
kernel = "mark_if_large"
grid = [2]
args = { x = "f32[N]", out = "i32[1]", n = "u8 = N" }"""
    found = judged(tmp_path, ABOVE_127, spec)
    assert found.verdict is Verdict.REFUTED
    assert found.findings[0].witness is not None
    assert found.findings[0].witness.sizes["N"] > 127
    large = spec.replace("grid", 'requires = ["N > 200"]\ngrid')
    assert judged(tmp_path, ABOVE_127, large).verdict is Verdict.REFUTED


def test_lanes_of_a_carried_tile_have_values_of_their_own(tmp_path: Path) -> None:
    builder, square = ModuleBuilder(), tile(I32, 4, 4)
    with builder.entry("antisymmetric", [tile(pointer(I32))]) as f:
        start = f.op("reshape", s=f.op("iota", results=[tile(I32, 16)]), results=[square])
        zero, one = f.constant(tile(I32), 0), f.constant(tile(I32), 1)
        with f.for_(zero, f.op("get_num_tile_blocks")[0], one, [start]) as loop:
            _, values = loop.arguments
            mirrored = f.op("permute", s=values, perm=(1, 0), results=[square])
            f.op("continue", args=[f.op("subi", lhs=values, rhs=mirrored, ovf="none")])
        base = f.op("reshape", s=f.parameters[0], results=[tile(pointer(I32), 1, 1)])
        places = f.op("offset", ptr=f.op("broadcast", s=base, results=[tile(pointer(I32), 4, 4)]), off=loop.results[0])
        f.op("load_ptr_tko", ptr=places, results=[square, TOKEN])
        f.op("return")
    spec = """
kernel = "antisymmetric"
grid = ["N"]
args = { a = "i32[16 * N]" }"""
    assert judged(tmp_path, encode(builder.build()), spec).verdict is not Verdict.PROVED


@pytest.mark.parametrize(("index", "verdict"), [(3, Verdict.PROVED), (4, Verdict.REFUTED)])
def test_a_subtile_beyond_its_tile_is_undefined_arithmetic(tmp_path: Path, index: int, verdict: Verdict) -> None:
    builder = ModuleBuilder()
    with builder.entry("pick", [tile(pointer(I32))]) as f:
        lanes = f.op("iota", results=[tile(I32, 4)])
        picked = f.op("extract", s=lanes, index=[f.constant(tile(I32), index)], results=[tile(I32, 1)])
        value = f.op("reshape", s=picked, results=[tile(I32)])
        f.op("store_ptr_tko", ptr=f.parameters[0], val=value)
        f.op("return")
    spec = """
kernel = "pick"
grid = [1]
args = { a = "i32[16]" }"""
    result = judged(tmp_path, encode(builder.build()), spec)
    assert result.verdict is verdict
    assert [finding.code for finding in result.findings] == ["TV402"] * (verdict is Verdict.REFUTED)


OF_THIS_BLOCK = """
import cuda.tile as ct

@ct.kernel
def mark_one(out):
    bid = ct.bid(0)
    numbers = ct.astype(ct.arange(16, dtype=ct.int32), ct.float32)
    square = numbers.reshape((4, 4))
    {made}
    if {chosen}:
        ct.store(out, index=(0,), tile=ct.full((1,), bid, dtype=ct.int32))
"""
"""Every block stores, unless what is made of floats is taken for one value of the whole launch."""
SECOND = "ct.astype(ct.extract(picked, (0, 1), (1, 1)), ct.int32).item()"


@pytest.mark.parametrize(
    ("made", "chosen"),
    [
        ("j = ct.astype(ct.extract(numbers, (bid,), (1,)), ct.int32).item()", "j == bid"),
        ("low = (ct.extract(numbers, (bid,), (1,)) < 0.5).item()", "low == (bid == 0)"),
        ("low = (ct.extract(numbers, (bid,), (1,)) + 1.0 < 1.5).item()", "low == (bid == 0)"),
        ("j = ct.bitcast(ct.extract(numbers, (bid,), (1,)), ct.int32).item()", "(j == 0) == (bid == 0)"),
        (
            "j = ct.extract(ct.pack_to_bytes(ct.extract(numbers, (bid,), (1,))), (3,), (1,)).item()",
            "(j == 0) == (bid == 0)",
        ),
        (f"picked = ct.where(bid == 0, square, ct.permute(square, (1, 0))); j = {SECOND}", "(j == 1) == (bid == 0)"),
        (f"picked = square if bid == 0 else ct.permute(square, (1, 0)); j = {SECOND}", "(j == 1) == (bid == 0)"),
    ],
    ids=["ftoi", "cmpf", "addf", "bitcast", "pack", "select", "if"],
)
def test_floats_that_differ_between_blocks_are_not_one_value(tmp_path: Path, made: str, chosen: str) -> None:
    spec = """
kernel = "mark_one"
grid = [2]
args = { out = "i32[1]" }"""
    result = judged(tmp_path, OF_THIS_BLOCK.format(made=made, chosen=chosen), spec)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV101"})


@pytest.mark.parametrize("look", ["contents", "address"])
def test_memory_that_a_block_makes_is_its_own(tmp_path: Path, look: str) -> None:
    """What it holds before the first store, and where it lies, may differ between blocks."""
    builder = ModuleBuilder()
    with builder.entry("mark_one", [tile(pointer(I32))]) as f:
        block = f.op("get_tile_block_id")[0]
        memory = f.op("alloca", results=[tile(pointer(I32))], num_elem=4, align=16)
        if look == "contents":
            number, _ = f.op("load_ptr_tko", ptr=memory)
        else:
            address = f.op("ptr_to_int", s=memory, results=[tile(I64)])
            shifted = f.op("shri", lhs=address, rhs=f.constant(tile(I64), 5), sgn="unsigned")
            number = f.op("trunci", s=shifted, results=[tile(I32)])
        bit = f.op("andi", lhs=number, rhs=f.constant(tile(I32), 1))
        with f.if_(f.op("cmpi", lhs=bit, rhs=block, pred="equal", sgn="signed")) as branch, branch.then():
            f.op("store_ptr_tko", ptr=f.parameters[0], val=block)
            f.op("yield", args=[])
        f.op("return")
    spec = """
kernel = "mark_one"
grid = [2]
args = { out = "i32[1]" }"""
    assert judged(tmp_path, encode(builder.build()), spec).verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("second", "token", "blocks", "code"),
    [
        (I64, False, 1, "TV201"),
        (I64, True, 1, None),
        (I32, False, 1, None),
        (I32, False, 2, None),
        (I64, True, 2, "TV103"),
    ],
)
def test_atomics_that_overlap_in_a_part_are_not_atomic_to_each_other(
    tmp_path: Path, second: ScalarType, token: bool, blocks: int, code: str | None
) -> None:
    """An addition to the lower half of a word, and one to the whole word."""
    builder = ModuleBuilder()
    with builder.entry("add_twice", [tile(pointer(I64))]) as f:
        half = f.op("ptr_to_ptr", s=f.parameters[0], results=[tile(pointer(I32))])
        relaxed: Parts = {"ord": "relaxed", "scope": "device", "mode": "add"}
        _, first = f.op("atomic_rmw_tko", ptr=half, arg=f.constant(tile(I32), 1), **relaxed)
        place = half if second == I32 else f.parameters[0]
        waits: Parts = {"token": first} if token else {}
        f.op("atomic_rmw_tko", ptr=place, arg=f.constant(tile(second), 1), **waits, **relaxed)
        f.op("return")
    spec = f"""
kernel = "add_twice"
grid = [{blocks}]
args = {{ a = "i64[1]" }}"""
    result = judged(tmp_path, encode(builder.build()), spec)
    assert result.verdict is (Verdict.REFUTED if code else Verdict.PROVED)
    assert {finding.code for finding in result.findings} == ({code} if code else set())
    if code == "TV103":
        assert "of different widths" in result.findings[0].message


ONE_PLACE = """
import cuda.tile as ct

@ct.kernel
def mark_place(idx, out):
    place = ct.load(idx, index=(0,), shape=(1,)).item()
    ct.store(out, index=(place,), tile=ct.zeros((1,), dtype=ct.int32))
"""


@pytest.mark.parametrize(("beyond", "proved"), [("N", True), ("N + 1", False)])
def test_the_last_number_of_a_range_counts(tmp_path: Path, beyond: str, proved: bool) -> None:
    spec = f"""
kernel = "mark_place"
grid = [1]
requires = ["N >= 1"]
data = ["range(idx, 0, {beyond})"]
args = {{ idx = "i32[1]", out = "i32[N]" }}"""
    assert (judged(tmp_path, ONE_PLACE, spec).verdict is Verdict.PROVED) == proved


def test_every_byte_of_an_element_counts(tmp_path: Path) -> None:
    """Each block stores a word of its own and the second byte of the other block's word."""
    builder = ModuleBuilder()
    with builder.entry("word_and_byte", [tile(pointer(I32))]) as f:
        block = f.op("get_tile_block_id")[0]
        other = f.op("subi", lhs=f.constant(tile(I32), 1), rhs=block, ovf="none")
        four, one = f.constant(tile(I32), 4), f.constant(tile(I32), 1)
        place = f.op("addi", lhs=f.op("muli", lhs=other, rhs=four, ovf="none"), rhs=one, ovf="none")
        word = f.op("offset", ptr=f.parameters[0], off=block)
        start = f.op("ptr_to_ptr", s=f.parameters[0], results=[tile(pointer(I8))])
        f.op("store_ptr_tko", ptr=word, val=f.constant(tile(I32), 7))
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=start, off=place), val=f.constant(tile(I8), 1))
        f.op("return")
    spec = """
kernel = "word_and_byte"
grid = [2]
args = { a = "i32[2]" }"""
    result = judged(tmp_path, encode(builder.build()), spec)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV101"})


GROUPS_OF_UNEQUAL_SIZE = """
import cuda.tile as ct

@ct.kernel
def read_after_one(x, counters, out):
    block = ct.bid(0)
    size = ct.where(block < 2, 2, 8).item()
    if block < 2:
        ct.store(x, index=(block,), tile=ct.full((1,), 5, dtype=ct.int32))
    before = ct.atomic_add(counters, (block // size,), 1).item()
    if block >= 2:
        if before >= 1:
            ct.store(out, index=(block,), tile=ct.load(x, index=(0,), shape=(1,)))
"""


def test_a_divisor_that_differs_between_blocks_does_not_count_them(tmp_path: Path) -> None:
    """All eight blocks add to the first counter; the size of block 0's group, 2, says nothing of how many do."""
    spec = """
kernel = "read_after_one"
grid = [8]
data = ["range(counters, 0, 1)"]
args = { x = "i32[8]", counters = "i32[8]", out = "i32[8]" }"""
    result = judged(tmp_path, GROUPS_OF_UNEQUAL_SIZE, spec)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV102"})


COUNTED_BY_ONE_BLOCK = """
import cuda.tile as ct

@ct.kernel
def store_behind_count(x, out):
    block = ct.bid(0)
    place = 2
    if block >= 1:
        place = 0
        for i in range(40):
            ct.assert_(place <= 2 * block, "few")
            place = place + ct.load(x, index=(i,), shape=()).item()
    ct.store(out, index=(place,), tile=ct.full((1,), block, dtype=ct.int32))
"""


def test_what_one_block_knows_of_a_count_another_does_not(tmp_path: Path) -> None:
    """All blocks that make the count get the same, at most 2 * block + 1 in each of these; block 0 makes none."""
    spec = """
kernel = "store_behind_count"
grid = [2]
data = ["range(x, 0, 2)"]
trust = ["assert-stops"]
args = { x = "i32[40]", out = "i32[64]" }"""
    assert judged(tmp_path, COUNTED_BY_ONE_BLOCK, spec).verdict is not Verdict.PROVED


NEVER_ENTERED = """
import cuda.tile as ct

@ct.kernel
def store_first(x, out, n):
    place = 0
    if n {below}:
        if n {above}:
            moved = n
            i = 0
            while ct.load(x, index=(i,), shape=()).item() < 60:
                moved = ct.maximum(ct.minimum(moved * 3, n), n - 1)
                i = i + 1
            place = moved
    ct.store(out, index=(place,), tile=ct.full((1,), ct.bid(0), dtype=ct.int32))
"""


@pytest.mark.parametrize(("below", "above"), [("< 3", "> 5"), ("< 6", "> 5")])
def test_a_loop_that_no_launch_enters_excludes_none(tmp_path: Path, below: str, above: str) -> None:
    spec = """
kernel = "store_first"
grid = [2]
args = { x = "i32[40]", out = "i32[64]", n = "i32" }"""
    result = judged(tmp_path, NEVER_ENTERED.format(below=below, above=above), spec)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV101"})


NO_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""For `str.splitlines` each of these ends a line, for Python none does."""
RIGHT_THEN_WRONG = """
import cuda.tile as ct
# {odd}


@ct.kernel
def right(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def wrong(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(TILE,)))
"""


@pytest.mark.parametrize("odd", [NO_LINE_ENDS[0], NO_LINE_ENDS[:6], NO_LINE_ENDS], ids=["one", "six", "all"])
def test_the_function_that_is_compiled_is_the_one_that_python_runs(tmp_path: Path, odd: str) -> None:
    """With lines counted otherwise, the compiler was given the source of the kernel above."""
    (tmp_path / "kernel.py").write_text(RIGHT_THEN_WRONG.format(odd=odd), encoding="utf-8")
    right, wrong = check_paths([str(tmp_path / "kernel.py")]).results
    assert (right.kernel, right.verdict) == ("right", Verdict.PROVED)
    assert (wrong.kernel, wrong.verdict) == ("wrong", Verdict.REFUTED)
    assert [site.line for site in wrong.findings[0].sites] == [15, 15]
