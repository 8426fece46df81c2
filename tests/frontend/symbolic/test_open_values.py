"""What the specification leaves open, followed by hand-written Tile IR: local memory, masks, carried values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tileverify.contract.launch import ArrayArgument, LaunchSpec, Name
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import F32, I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.frontend.sources.bytecode_file import bytecode_entries, entry_unit
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from ...tiles import tile_of

LANES = 8


class Kernel:
    """A body over one array `out` of N floats, of which block i may touch 8 from 8 * i on."""

    def __init__(self, f: BodyBuilder) -> None:
        self.f = f
        self.out, self.size = f.parameters[0], f.parameters[1]
        self.token = f.op("make_token")
        block = f.op("get_tile_block_id")[0]
        start = f.op("muli", lhs=block, rhs=f.constant(tile(I32), LANES))
        self.lanes = f.op("iota", results=[tile(I32, LANES)])
        self.places = f.op("addi", lhs=self.spread(start), rhs=self.lanes)
        self.inside = f.op("cmpi", pred="less_than", sgn="signed", lhs=self.places, rhs=self.spread(self.size))

    def spread(self, value: Value) -> Value:
        f, element = self.f, tile_of(value).element
        line = f.op("reshape", s=value, results=[tile(element, 1)])
        made: Value = f.op("broadcast", s=line, results=[tile(element, LANES)])
        return made

    def local(self, lanes: int = LANES) -> Value:
        return self.spread(self.f.op("alloca", num_elem=lanes, align=16, results=[tile(pointer(F32))]))

    def at(self, base: Value, places: Value) -> Value:
        made: Value = self.f.op("offset", ptr=base, off=places)
        return made

    def read(self, pointers: Value, **more: Any) -> Value:
        value: Value
        value, self.token = self.f.op("load_ptr_tko", ptr=pointers, token=self.token, **more)
        return value

    def write(self, pointers: Value, value: Value, **more: Any) -> None:
        self.token = self.f.op("store_ptr_tko", ptr=pointers, val=value, token=self.token, **more)

    def from_out(self, **more: Any) -> Value:
        return self.read(self.at(self.spread(self.out), self.places), mask=self.inside, **more)

    def finish(self, value: Value) -> None:
        self.write(self.at(self.spread(self.out), self.places), value, mask=self.inside)

    def number(self, bits: int = 0) -> Value:
        return self.f.constant(tile(F32, LANES), bits)


def checked(write: Callable[[Kernel], None]) -> KernelResult:
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(F32)), tile(I32), tile(I32)]) as f:
        write(Kernel(f))
        f.op("return")
    spec = LaunchSpec("k", "0", (ArrayArgument("out", "f32", (Name("N"),)),))
    (entry,) = bytecode_entries(encode(builder.build()), Path("made.tileirbc"))
    return check_unit(entry_unit(entry, spec))


def never_written(k: Kernel) -> None:
    k.finish(k.read(k.at(k.local(), k.lanes)))


def written_first(k: Kernel) -> None:
    local = k.at(k.local(), k.lanes)
    k.write(local, k.number())
    k.finish(k.read(local))


def written_elsewhere(k: Kernel) -> None:
    local = k.local(2 * LANES)
    k.write(k.at(local, k.lanes), k.number())
    behind = k.f.op("addi", lhs=k.lanes, rhs=k.f.constant(tile(I32, LANES), LANES))
    k.finish(k.read(k.at(local, behind)))


def written_on_one_path(k: Kernel) -> None:
    local = k.at(k.local(), k.lanes)
    first = k.f.op("cmpi", pred="less_than", sgn="signed", lhs=k.size, rhs=k.f.constant(tile(I32), 5))
    before = k.token
    with k.f.if_(first, results=[k.token.type]) as branch:
        with branch.then():
            k.write(local, k.number())
            k.f.op("yield", args=[k.token])
        with branch.otherwise():
            k.f.op("yield", args=[before])
    (k.token,) = branch.results
    k.finish(k.read(local))


def open_value_in_local_memory(k: Kernel) -> None:
    local = k.at(k.local(), k.lanes)
    k.write(local, k.from_out())
    some = k.f.op("reshape", s=k.read(local), results=[tile(F32, 2, LANES // 2)])
    swapped = k.f.op("permute", s=some, perm=(1, 0), results=[tile(F32, LANES // 2, 2)])
    k.finish(k.f.op("reshape", s=swapped, results=[tile(F32, LANES)]))


def padded_value_in_local_memory(k: Kernel) -> None:
    local = k.at(k.local(), k.lanes)
    k.write(local, k.from_out(pad=k.number()))
    k.finish(k.read(local))


def masked_lanes(k: Kernel) -> None:
    k.finish(k.from_out())


def masked_lanes_reversed(k: Kernel) -> None:
    square = k.f.op("reshape", s=k.from_out(), results=[tile(F32, 2, LANES // 2)])
    turned = k.f.op("permute", s=square, perm=(1, 0), results=[tile(F32, LANES // 2, 2)])
    k.finish(k.f.op("reshape", s=turned, results=[tile(F32, LANES)]))


def open_value_from_outside_of_a_loop(k: Kernel) -> None:
    square = k.f.op("reshape", s=k.from_out(), results=[tile(F32, 2, LANES // 2)])
    turned = k.f.op("permute", s=square, perm=(1, 0), results=[tile(F32, LANES // 2, 2)])
    value = k.f.op("reshape", s=turned, results=[tile(F32, LANES)])
    zero, one = k.f.constant(tile(I32), 0), k.f.constant(tile(I32), 1)
    with k.f.for_(zero, k.size, one, inits=[k.number()]) as loop:
        k.f.op("continue", args=[value])
    k.finish(loop.results[0])


OPEN = (
    never_written, written_elsewhere, written_on_one_path, masked_lanes_reversed, open_value_from_outside_of_a_loop,
)  # fmt: skip
DETERMINED = (written_first, padded_value_in_local_memory, masked_lanes)


@pytest.mark.parametrize("write", OPEN, ids=lambda write: write.__name__)
def test_open_values_reach_the_array(write: Callable[[Kernel], None]) -> None:
    result = checked(write)
    assert result.verdict is Verdict.PROVED, result.findings
    assert [finding.code for finding in result.findings] == ["TV403"]
    assert result.deterministic is False


def test_which_lanes_of_local_memory_are_open_is_not_followed() -> None:
    """So that nobody claims a fault there; nor that there is none."""
    result = checked(open_value_in_local_memory)
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is False
    assert [note for note in result.notes if "not shown to be determined" in note]


@pytest.mark.parametrize("write", DETERMINED, ids=lambda write: write.__name__)
def test_nothing_open_reaches_the_array(write: Callable[[Kernel], None]) -> None:
    result = checked(write)
    assert result.verdict is Verdict.PROVED, result.findings
    assert not result.findings
    assert result.deterministic
