"""Bytecode that no compiler emits: every liberty that the format forbids is under an obligation, or refused in words.

All that is refused or refuted here was proved once, or brought the tool down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.written_kernel import judged

from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import (
    I1,
    I8,
    I32,
    I64,
    BodyBuilder,
    ModuleBuilder,
    constant,
    pointer,
    scalar,
    tile,
)
from tileverify.frontend.bytecode.model import (
    Bounded,
    DivBy,
    GatherScatterViewType,
    IntegerAttribute,
    PartitionViewType,
    TensorViewType,
    Type,
    Value,
)
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.system.errors import EncodeError

from ..corpus.compiled import units
from .edits import finished, sites

WORD = tile(pointer(I32))
I4 = scalar("i4")
ONE_ARRAY = 'kernel = "k"\ngrid = [4]\nargs = { a = "i32[16]" }'
ONE_LIST = 'kernel = "k"\ngrid = [4]\nrequires = ["L >= 1"]\nargs = { xs = { list = "f32[N]", length = "L" } }'

Fill = Callable[[BodyBuilder], None]


def module(fill: Fill, parameters: tuple[Type, ...] = (WORD,), table: dict[str, Any] | None = None) -> bytes:
    builder = ModuleBuilder()
    if table is not None:
        builder.add_global("table", **table)
    with builder.entry("k", parameters) as f:
        fill(f)
        f.op("return")
    return encode(builder.build())


def number(f: BodyBuilder, value: int) -> Value:
    return f.constant(tile(I32), value)


def refused(result: KernelResult, words: str) -> None:
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.UNDECIDED, ["TV902"])
    assert words in result.findings[0].message


# ------------------------------------------------------------------------------------ the end of an allocation
def own_memory(f: BodyBuilder) -> Value:
    made: Value = f.op("alloca", results=[WORD], num_elem=4, align=16)
    return made


def left_by_break(f: BodyBuilder) -> None:
    with f.loop([number(f, 0)], results=[WORD]) as loop:
        f.op("break", args=[own_memory(f)])
    f.op("store_ptr_tko", ptr=loop.results[0], val=number(f, 1))


def left_by_yield(f: BodyBuilder) -> None:
    block = f.op("get_tile_block_id")[0]
    first = f.op("cmpi", lhs=block, rhs=number(f, 0), pred="equal", sgn="signed")
    with f.if_(first, [WORD]) as branch:
        with branch.then():
            f.op("yield", args=[own_memory(f)])
        with branch.otherwise():
            f.op("return", args=[])
    f.op("store_ptr_tko", ptr=branch.results[0], val=block)


@pytest.mark.parametrize("fill", [left_by_break, left_by_yield])
def test_memory_ends_with_the_region_that_made_it(tmp_path: Path, fill: Fill) -> None:
    refused(judged(tmp_path, module(fill), ONE_ARRAY), "behind the end of the region")


def handed_on(f: BodyBuilder) -> None:
    with f.for_(number(f, 0), number(f, 4), number(f, 1), [own_memory(f)]) as loop:
        f.op("store_ptr_tko", ptr=loop.arguments[1], val=number(f, 1))
        f.op("continue", args=[own_memory(f)])


def left_as_a_number(f: BodyBuilder) -> None:
    with f.loop([number(f, 0)], results=[tile(I64)]) as loop:
        f.op("break", args=[f.op("ptr_to_int", s=own_memory(f), results=[tile(I64)])])
    back = f.op("int_to_ptr", s=loop.results[0], results=[WORD])
    f.op("store_ptr_tko", ptr=back, val=number(f, 1))


@pytest.mark.parametrize("fill", [handed_on, left_as_a_number])
def test_memory_of_an_earlier_iteration_is_of_unknown_origin(tmp_path: Path, fill: Fill) -> None:
    result = judged(tmp_path, module(fill), ONE_ARRAY)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.UNDECIDED, {"TV906"})


def kept_inside(f: BodyBuilder) -> None:
    """A pointer that an inner region hands out, and that is used before its memory ends."""
    with f.for_(number(f, 0), number(f, 4), number(f, 1), []) as outer:
        memory = own_memory(f)
        with f.loop([memory]) as inner:
            f.op("break", args=[inner.arguments[0]])
        place = f.op("offset", ptr=inner.results[0], off=outer.arguments[0])
        f.op("store_ptr_tko", ptr=place, val=number(f, 1))
        f.op("continue", args=[])


def test_memory_may_be_used_up_to_its_end(tmp_path: Path) -> None:
    assert judged(tmp_path, module(kept_inside), ONE_ARRAY).verdict is Verdict.PROVED


def beyond_half_bytes(f: BodyBuilder) -> None:
    """Four elements of 4 bits are two bytes."""
    memory = f.op("alloca", results=[tile(pointer(I4))], num_elem=4, align=16)
    start = f.op("ptr_to_ptr", s=memory, results=[tile(pointer(I8))])
    place = f.op("offset", ptr=start, off=number(f, 2))
    f.op("store_ptr_tko", ptr=place, val=f.constant(tile(I8), 7))


def test_two_elements_of_four_bits_share_a_byte_of_an_allocation(tmp_path: Path) -> None:
    result = judged(tmp_path, module(beyond_half_bytes), ONE_ARRAY)
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.REFUTED, ["TV302"])


# ------------------------------------------------------------------------------------------- places far away
WORDS_APART = 'kernel = "k"\ngrid = [1]\nargs = {{ a = "i32[16]", x = "i64 = {x}", y = "i64 = {y}" }}'


def goes_in_two_steps(f: BodyBuilder) -> None:
    array, x, y = f.parameters
    place = f.op("offset", ptr=f.op("offset", ptr=array, off=x), off=y)
    f.op("store_ptr_tko", ptr=place, val=number(f, 1))


@pytest.mark.parametrize(
    ("x", "y", "verdict"),
    [
        (12, -8, Verdict.PROVED),
        (1 << 40, -(1 << 40), Verdict.PROVED),
        (-(1 << 40), 1 << 40, Verdict.PROVED),
        (1 << 61, -(1 << 61), Verdict.UNDECIDED),  # the first sum leaves 64 bits
        (-(1 << 61), 1 << 61, Verdict.UNDECIDED),
        (8, 8, Verdict.REFUTED),
    ],
)
def test_a_pointer_comes_back_only_from_where_its_sums_fit(tmp_path: Path, x: int, y: int, verdict: Verdict) -> None:
    result = judged(tmp_path, module(goes_in_two_steps, (WORD, tile(I64), tile(I64))), WORDS_APART.format(x=x, y=y))
    assert result.verdict is verdict
    assert verdict is Verdict.PROVED or {finding.code for finding in result.findings} <= {"TV302", "TV901"}


def test_two_lanes_far_away_may_be_anywhere(tmp_path: Path) -> None:
    """What becomes of an overflow is a number of each lane's own, which the other lanes say nothing of."""

    def fill(f: BodyBuilder) -> None:
        pair = tile(pointer(I32), 2)
        base = f.op("broadcast", s=f.op("reshape", s=f.parameters[0], results=[tile(pointer(I32), 1)]), results=[pair])
        lanes = f.op("exti", s=f.op("iota", results=[tile(I32, 2)]), sgn="signed", results=[tile(I64, 2)])
        back = f.op("offset", ptr=base, off=f.constant(tile(I64, 2), 1 << 61))
        back = f.op("offset", ptr=back, off=f.constant(tile(I64, 2), -(1 << 61)))
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=back, off=lanes), val=f.op("iota", results=[tile(I32, 2)]))

    result = judged(tmp_path, module(fill), 'kernel = "k"\ngrid = [1]\nargs = { a = "i32[16]" }')
    assert result.verdict is Verdict.UNDECIDED
    assert "TV202" in {finding.obligation for finding in result.findings}


# --------------------------------------------------------------------------------------- counters that are put back
def test_a_counter_is_put_back_behind_its_own_addition() -> None:
    """An exchange that waits for nothing may come before the addition whose result it needs: it is no race, but what
    other blocks then find in the counter says nothing of how many were before them."""
    unit = units()[str(ROOT / "protocols/last_block_again.py"), "sum_and_exchange", "up-to-16-blocks"]
    changed = decode(unit.bytecode)
    (exchange,) = (site for site in sites(changed.entries[0].body) if site.op.attributes.get("mode") == "xchg")
    assert check_unit(unit).verdict is Verdict.PROVED
    exchange.drop_operand("token")
    bytecode = finished(changed)
    assert bytecode is not None
    result = check_unit(replace(unit, bytecode=bytecode))
    assert result.verdict is Verdict.UNDECIDED
    assert {finding.obligation for finding in result.findings} == {"TV101", "TV102"}


# ------------------------------------------------------------------------------- memory that may not be written
TABLE = {"value": constant(tile(I32, 4), 1, 2, 3, 4), "alignment": 16}


def stores_to_table(f: BodyBuilder) -> None:
    place = f.op("offset", ptr=f.op("get_global", name="table", results=[WORD]), off=f.op("get_tile_block_id")[0])
    f.op("store_ptr_tko", ptr=place, val=number(f, 7))


def adds_to_table(f: BodyBuilder) -> None:
    table = f.op("get_global", name="table", results=[WORD])
    f.op("atomic_rmw_tko", ptr=table, arg=number(f, 7), ord="relaxed", scope="device", mode="add")


@pytest.mark.parametrize("fill", [stores_to_table, adds_to_table])
def test_a_constant_is_not_written(tmp_path: Path, fill: Fill) -> None:
    refused(judged(tmp_path, module(fill, table={**TABLE, "constant": True}), ONE_ARRAY), "declares constant")


@pytest.mark.parametrize("fill", [stores_to_table, adds_to_table])
def test_a_variable_is(tmp_path: Path, fill: Fill) -> None:
    assert judged(tmp_path, module(fill, table=TABLE), ONE_ARRAY).verdict is Verdict.PROVED


def stores_to_descriptors(f: BodyBuilder) -> None:
    """Every block writes one word of the table of arrays that the launcher made."""
    rows = TensorViewType(I64, (None, 3), (3, 1))
    view = f.op("make_tensor_view", base=f.parameters[0], shape=[f.parameters[1]], strides=[], results=[rows])
    words = f.op("make_partition_view", s=view, results=[PartitionViewType((1, 1), rows, (0, 1), None)])
    value = f.constant(tile(I64, 1, 1), 0)
    f.op("store_view_tko", tile=value, view=words, index=[number(f, 0), number(f, 1)])


def test_descriptors_of_a_list_are_not_written(tmp_path: Path) -> None:
    data = module(stores_to_descriptors, (tile(pointer(I64)), tile(I32)))
    refused(judged(tmp_path, data, ONE_LIST), "descriptors of the list 'xs'")


def writes_by_row(strides: tuple[int, int], words: int = 3) -> Fill:
    """Reads the first array's address from a table whose rows lie ``strides`` words apart, and stores there."""

    def fill(f: BodyBuilder) -> None:
        rows = TensorViewType(I64, (None, words), strides)
        view = f.op("make_tensor_view", base=f.parameters[0], shape=[f.parameters[1]], strides=[], results=[rows])
        parts = f.op("make_partition_view", s=view, results=[PartitionViewType((1, 4), rows, (0, 1), "zero")])
        first = number(f, 0)
        row, _ = f.op("load_view_tko", view=parts, index=[first, first])
        address = f.op("extract", s=row, index=[first, first], results=[tile(I64, 1, 1)])
        address = f.op("reshape", s=address, results=[tile(I64)])
        f.op("store_ptr_tko", ptr=f.op("int_to_ptr", s=address, results=[WORD]), val=number(f, 1))

    return fill


LISTED = 'kernel = "k"\ngrid = [1]\nrequires = ["L >= 1"]\nargs = { xs = { list = "i32[16]", length = "L" } }'
ROWS = (tile(pointer(I64)), tile(I32))


def test_a_row_of_descriptors_is_words_one_behind_the_other(tmp_path: Path) -> None:
    assert judged(tmp_path, module(writes_by_row((3, 1)), ROWS), LISTED).verdict is Verdict.PROVED
    refused(judged(tmp_path, module(writes_by_row((1, 1)), ROWS), LISTED), "one behind the other")
    refused(judged(tmp_path, module(writes_by_row((3, 2)), ROWS), LISTED), "one behind the other")


@pytest.mark.parametrize(("words", "array"), [(3, "i32[4, 16]"), (5, "i32[16]")])
def test_a_row_of_descriptors_fits_the_arrays(tmp_path: Path, words: int, array: str) -> None:
    data = module(writes_by_row((words, 1), words), ROWS)
    result = judged(tmp_path, data, LISTED.replace("i32[16]", array))
    assert result.verdict is Verdict.ERROR
    assert "describe the arrays that it was compiled for" in result.findings[0].message


# --------------------------------------------------------------------------- promises that no launch can be asked
def assumes_table_aligned(f: BodyBuilder) -> None:
    table = f.op("get_global", name="table", results=[WORD])
    f.op("load_ptr_tko", ptr=f.op("assume", s=table, pred=DivBy(16)))


@pytest.mark.parametrize(("alignment", "verdict"), [(16, Verdict.PROVED), (4, Verdict.UNDECIDED)])
def test_where_a_global_lies_is_no_clause(tmp_path: Path, alignment: int, verdict: Verdict) -> None:
    result = judged(tmp_path, module(assumes_table_aligned, table={**TABLE, "alignment": alignment}), ONE_ARRAY)
    assert (result.verdict, result.requires) == (verdict, ())


# ------------------------------------------------------------------------------------------- numbers of one bit
def stores_to_pairs(f: BodyBuilder) -> None:
    """Block i stores to elements 2 i and 2 i + 1; the last bit is counted by an i1."""
    pairs = tile(I32, 2)
    bits = f.op("exti", s=f.op("iota", results=[tile(I1, 2)]), sgn="unsigned", results=[pairs])
    block = f.op("reshape", s=f.op("get_tile_block_id")[0], results=[tile(I32, 1)])
    twice = f.op("muli", lhs=f.op("broadcast", s=block, results=[pairs]), rhs=f.constant(pairs, 2))
    base = f.op("reshape", s=f.parameters[0], results=[tile(pointer(I32), 1)])
    base = f.op("broadcast", s=base, results=[tile(pointer(I32), 2)])
    f.op("store_ptr_tko", ptr=f.op("offset", ptr=base, off=f.op("addi", lhs=twice, rhs=bits)), val=twice)


def counts_by_a_bit(f: BodyBuilder) -> None:
    no, yes = f.constant(tile(I1), 0), f.constant(tile(I1), 1)
    with f.for_(no, yes, yes, [], unsigned=True):
        place = f.op("offset", ptr=f.parameters[0], off=f.op("get_tile_block_id")[0])
        f.op("store_ptr_tko", ptr=place, val=number(f, 7))
        f.op("continue", args=[])


def assumes_a_bit(f: BodyBuilder) -> None:
    first = f.op("cmpi", lhs=f.op("get_tile_block_id")[0], rhs=number(f, 0), pred="equal", sgn="signed")
    with f.if_(f.op("assume", s=first, pred=Bounded(-1, 0))) as branch, branch.then():
        f.op("store_ptr_tko", ptr=f.parameters[0], val=number(f, 7))
        f.op("yield", args=[])


@pytest.mark.parametrize("fill", [stores_to_pairs, counts_by_a_bit, assumes_a_bit])
def test_a_bit_is_a_number(tmp_path: Path, fill: Fill) -> None:
    assert judged(tmp_path, module(fill), ONE_ARRAY).verdict is Verdict.PROVED


def takes_four_for_a_bit(f: BodyBuilder) -> None:
    view = TensorViewType(I32, (4,), (1,))
    made = f.op("make_tensor_view", base=f.parameters[0], shape=[], strides=[], results=[view])
    f.op("get_tensor_shape", src=made, results=[tile(I1)])


def test_a_size_must_fit_a_bit(tmp_path: Path) -> None:
    result = judged(tmp_path, module(takes_four_for_a_bit), ONE_ARRAY)
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.REFUTED, ["TV402"])


# ------------------------------------------------------------------------------------- what a file may not hold
ROW = TensorViewType(I32, (16, 16), (16, 1))
TILES = PartitionViewType((1, 1), ROW, (0, 1), None)
GATHERED = GatherScatterViewType((1, 1), ROW, 0, None)


def tiles_of(f: BodyBuilder, op: str, view: Type) -> Value:
    row = f.op("make_tensor_view", base=f.parameters[0], shape=[], strides=[], results=[ROW])
    made: Value = f.op(op, s=row, results=[view])
    return made


def reduces(view: Type, **how: Any) -> Fill:
    def fill(f: BodyBuilder) -> None:
        made = tiles_of(f, "make_partition_view" if view is TILES else "make_gather_scatter_view", view)
        rows = number(f, 0) if view is TILES else f.constant(tile(I32, 1), 0)
        value = f.constant(tile(I32, 1, 1), 1)
        f.op("atomic_red_view_tko", view=made, index=[rows, number(f, 0)], value=value, mode="add", **how)

    return fill


def chooses_a_view(f: BodyBuilder) -> None:
    views = [tiles_of(f, "make_partition_view", TILES) for _ in range(2)]
    with f.if_(f.constant(tile(I1), 1), [TILES]) as branch:
        for side, view in zip((branch.then, branch.otherwise), views, strict=True):
            with side():
                f.op("yield", args=[view])


def carries_a_view(f: BodyBuilder) -> None:
    with f.loop([tiles_of(f, "make_partition_view", TILES)]) as loop:
        f.op("break", args=[loop.arguments[0]])


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (reduces(TILES, ord="acq_rel", scope="device"), "ordering acq_rel is not allowed"),
        (reduces(TILES, ord="relaxed", scope="sys"), "its scope is tl_blk or device"),
        (reduces(GATHERED, ord="relaxed", scope="device"), "no reduction into a gather_scatter view"),
        (chooses_a_view, "only tiles and tokens are handed on"),
        (carries_a_view, "only tiles and tokens are handed on"),
    ],
)
def test_what_the_format_does_not_have_is_not_read(fill: Fill, reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        module(fill)


def test_attributes_of_arguments_are_promises_that_nobody_knows(tmp_path: Path) -> None:
    builder = ModuleBuilder((13, 5))
    with builder.entry("k", [WORD]) as f:
        f.op("return")
    made = builder.build()
    (entry,) = made.entries
    assert judged(tmp_path, encode(made), ONE_ARRAY).verdict is Verdict.PROVED
    promised = replace(made, entries=(replace(entry, argument_attributes=({"divisible": IntegerAttribute(I32, 16)},)),))
    refused(judged(tmp_path, encode(promised), ONE_ARRAY), "attributes on its arguments")


def test_multicast_ops_need_multicast_memory() -> None:
    builder = ModuleBuilder((13, 5))
    row = TensorViewType(I32, (16,), (1,))
    with builder.entry("k", [WORD]) as f:
        made = f.op("make_tensor_view", base=f.parameters[0], shape=[], strides=[], results=[row])
        view = f.op("make_partition_view", s=made, results=[PartitionViewType((1,), row, (0,), None)])
        place = number(f, 0)
        with pytest.raises(EncodeError, match="multicast memory"):
            f.op("multimem_load_reduce_view_tko", view=view, index=[place], red="add")
        f.op("return")
