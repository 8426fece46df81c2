"""The op table is unambiguous, and each declaration agrees with itself."""

from __future__ import annotations

import string

import pytest

from tileverify.frontend.bytecode.body import plans
from tileverify.frontend.bytecode.enums import ENUMS
from tileverify.frontend.bytecode.optable import BY_NAME, BY_OPCODE, OPERATIONS, VERSIONS, OpDeclaration, available
from tileverify.frontend.bytecode.printer import _SPECIAL

COMBINED = {
    "spaced_rnd": "rnd", "spaced_token": "token", "gdc_token": "token", "padded_inbounds": "inbounds",
    "more_args": "args", "carried": "inits",
}  # fmt: skip
"""What fields of the printer's own print."""

each_op = pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)


def test_every_op_is_declared_once() -> None:
    assert len(OPERATIONS) == len(BY_OPCODE) == len(BY_NAME)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_ops_of_a_version(version: tuple[int, int]) -> None:
    assert sorted(plans(version)) == sorted(op.opcode for op in available(version))


@each_op
def test_names_of_one_op_do_not_collide(op: OpDeclaration) -> None:
    operands = [operand.name for operand in op.operands]
    attributes = [attribute.name for attribute in op.attributes]
    assert len(set(operands + attributes)) == len(operands) + len(attributes)


@each_op
def test_flags_announce_what_is_optional(op: OpDeclaration) -> None:
    flags = {flag.name for flag in op.flags}
    optional = {operand.name for operand in op.operands if operand.kind == "optional" and not op.counted}
    optional |= {attribute.name for attribute in op.attributes if attribute.flag}
    assert optional <= flags
    assert [flag.bit for flag in op.flags] == list(range(len(op.flags)))
    # Bits are stable because new flags are only ever appended.
    assert [flag.since for flag in op.flags] == sorted(flag.since for flag in op.flags)


@each_op
def test_what_is_said_of_operands_names_them(op: OpDeclaration) -> None:
    single = {operand.name for operand in op.operands if operand.kind == "single"}
    assert {*op.brought, *filter(None, (op.address, op.partial))} <= single


@each_op
def test_assembly_names_parts_of_the_op(op: OpDeclaration) -> None:
    """Each operand, flag and attribute is printed, but for those that a combination prints."""
    if op.preview:  # has no public text
        return
    fields = {field for _, field, _, _ in string.Formatter().parse(op.assembly) if field}
    parts = {part.name for group in (op.operands, op.flags, op.attributes) for part in group}
    types = {f"type_{operand.name}" for operand in op.operands}
    assert fields <= parts | types | _SPECIAL.keys()
    assert parts - fields == {part for field, part in COMBINED.items() if field in fields}


@each_op
def test_a_later_attribute_says_what_older_files_mean(op: OpDeclaration) -> None:
    for attribute in op.attributes:
        if attribute.since > op.since:
            assert attribute.usual is not None
        if attribute.usual and attribute.kind in ENUMS:
            assert attribute.usual in ENUMS[attribute.kind]


def test_memory_effects() -> None:
    effects = {effect: sorted(op.name for op in OPERATIONS if op.effect == effect) for effect in ("read", "write")}
    assert effects["read"] == ["load_ptr_tko", "load_view_tko", "multimem_load_reduce_view_tko"]
    assert effects["write"] == ["multimem_store_view_tko", "store_ptr_tko", "store_view_tko"]
    for op in OPERATIONS:
        if "tko" in op.name or op.name in ("make_token", "join_tokens"):
            assert op.effect != "none"
        if not op.preview:
            assert op.touches_memory == (op.address is not None)
            assert bool(op.brought) == (op.effect in ("write", "read_write"))
