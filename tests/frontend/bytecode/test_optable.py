"""The op table is complete, unambiguous, and every part of the package knows each op."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode.assembly_formats import FORMATS
from tileverify.frontend.bytecode.body import plans
from tileverify.frontend.bytecode.enums import ENUMS
from tileverify.frontend.bytecode.optable import BY_NAME, BY_OPCODE, OPERATIONS, VERSIONS, OpDeclaration, available
from tileverify.frontend.bytecode.wellformed import RULES

each_op = pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)

OPS_OF_VERSION = {(13, 1): 89, (13, 2): 90, (13, 3): 97, (13, 4): 102, (13, 5): 105}
"""Without preview$call, which no stable file contains."""


def test_every_op_is_declared_once() -> None:
    assert len(OPERATIONS) == len(BY_OPCODE) == len(BY_NAME) == 106


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_ops_of_a_version(version: tuple[int, int]) -> None:
    stable = [op for op in available(version) if op.name != "preview$call"]
    assert len(stable) == OPS_OF_VERSION[version]
    assert sorted(plans(version)) == sorted(op.opcode for op in stable)


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
def test_op_is_known_to_printer_and_typing(op: OpDeclaration) -> None:
    if op.typing == "preview":
        return
    assert op.name in FORMATS
    assert op.typing in RULES


@each_op
def test_a_later_attribute_says_what_older_files_mean(op: OpDeclaration) -> None:
    for attribute in op.attributes:
        if attribute.since > op.since:
            assert attribute.absent is not None
        if attribute.absent and attribute.kind in ENUMS:
            assert attribute.absent in ENUMS[attribute.kind]


def test_memory_effects() -> None:
    effects = {effect: sorted(op.name for op in OPERATIONS if op.effect == effect) for effect in ("read", "write")}
    assert effects["read"] == ["load_ptr_tko", "load_view_tko", "multimem_load_reduce_view_tko"]
    assert effects["write"] == ["multimem_store_view_tko", "store_ptr_tko", "store_view_tko"]
    for op in OPERATIONS:
        if "tko" in op.name or op.name in ("make_token", "join_tokens"):
            assert op.effect != "none"
