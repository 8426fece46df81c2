"""Every sample of every op runs, and what has no rule is refused."""

from __future__ import annotations

import dataclasses

import pytest

from tileverify.contract.launch import EntryParameter, Role
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import Block, Entry, Module
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import PointerFootprint
from tileverify.system.errors import SpecError, UnsupportedOperation

from ..bytecode.samples import sample, samples


@pytest.mark.parametrize(("name", "version"), samples(), ids=str)
def test_samples_run(name: str, version: tuple[int, int]) -> None:
    module = sample(name, version)
    for entry in module.entries:
        summary = summarize(module, entry)
        assert [site.number for site in summary.sites] == list(range(len(summary.sites)))


def module_with(op_name: str) -> tuple[Module, Entry]:
    """An entry whose only op claims to be ``op_name``."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(I32))]) as f:
        f.location = Location("/home/me/kernel.py", 7, 4)
        f.op("make_token")
        f.op("return")
    module = builder.build()
    (entry,) = module.entries
    made, end = entry.body.ops
    strange = dataclasses.replace(made, declaration=dataclasses.replace(made.declaration, name=op_name))
    return module, dataclasses.replace(entry, body=Block(entry.body.arguments, (strange, end)))


def test_an_op_without_a_rule_is_refused_by_name_and_place() -> None:
    module, entry = module_with("telepathy")
    with pytest.raises(UnsupportedOperation, match="telepathy") as refusal:
        summarize(module, entry)
    assert (refusal.value.op, refusal.value.file, refusal.value.line) == ("telepathy", "/home/me/kernel.py", 7)


def test_packed_pointers_are_refused() -> None:
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(scalar("i4")))]) as f:
        f.op("offset", ptr=f.parameters[0], off=f.constant(tile(I32), 1))
        f.op("return")
    module = builder.build()
    with pytest.raises(UnsupportedOperation, match="4-bit"):
        summarize(module, module.entries[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([EntryParameter(Role.POINTER, "x")], "2 parameters in its bytecode, but the launch describes 1"),
        ([EntryParameter(Role.SCALAR, "n"), EntryParameter(Role.SCALAR, "m")], "'n' of kernel 'k' is described as a"),
    ],
)
def test_a_description_that_does_not_fit(parameters: list[EntryParameter], message: str) -> None:
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(I32)), tile(I32)]) as f:
        f.op("return")
    module = builder.build()
    with pytest.raises(SpecError, match=message):
        summarize(module, module.entries[0], parameters)


@pytest.mark.parametrize(("bits", "element"), [(8, "i8"), (16, "i16"), (32, "i32"), (64, "i64")])
def test_a_float_becomes_any_integer_of_its_type(bits: int, element: str) -> None:
    """Also where it fits no better than an address: nothing narrower is known of it."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(I32)), tile(scalar("f32"))]) as f:
        made = f.op("ftoi", results=[tile(scalar(element))], s=f.parameters[1], sgn="signed")
        place = f.op("offset", ptr=f.parameters[0], off=made)
        f.op("store_ptr_tko", ptr=place, val=f.constant(tile(I32), 1))
        f.op("return")
    module = builder.build()
    (site,) = summarize(module, module.entries[0]).sites
    assert isinstance(site.footprint, PointerFootprint)
    offset = site.footprint.offset
    assert (offset.low, offset.high) == (-4 << (bits - 1), 4 * ((1 << (bits - 1)) - 1))
