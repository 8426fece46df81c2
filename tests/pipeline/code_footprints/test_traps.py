"""Traps of compiled code against assertions at which the contract trusts blocks to stop.

tileiras prints what failed and waits before it traps, which no proof follows, so both are taken out of the text.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.pipeline.code_footprints.code_proof import CodeProof, code_proof
from tileverify.pipeline.second_readings import proved_entry
from tileverify.pipeline.unit_check import check_unit

KERNEL = """
import cuda.tile as ct

@ct.kernel
def scale_within(x, out, limit: ct.int32):
    i = ct.bid(0)
    ct.assert_(i < limit, "block in range")
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)) * 2)
"""
SPEC = """
[[launch]]
kernel = "scale_within"
grid = ["N // 64"]
requires = ["N % 64 == 0"]
trust = ["assert-stops"]
args = { x = "f32[N]", out = "f32[N]", limit = "i32" }
"""
PRINTS = re.compile(r"\t@%p3 bra.*?\$L__BB0_2:\n", re.DOTALL)
WAITS = re.compile(r"\t// begin inline asm\n\t\{.*?\n\}\ntrap;\n\t// end inline asm", re.DOTALL)
SKIPS, HOLDS = "@%p2 bra \t$L__BB0_4;", "setp.lt.s32 \t%p2, %r1, %r4;"


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("old", "new", "follows"),
    [
        (SKIPS, SKIPS, True),
        (SKIPS, "", False),
        (SKIPS, f"setp.ne.s32 %p2, %r1, 5; {SKIPS}", False),
        (HOLDS, "add.s32 %r90, %r4, -1; setp.lt.s32 %p2, %r1, %r90;", False),
    ],
    ids=["as the assertion", "always", "in another block", "one block early"],
)
def test_a_trap_is_reached_only_where_an_assertion_fails(old: str, new: str, follows: bool, tmp_path: Path) -> None:
    unit = unit_at(written(tmp_path, KERNEL, SPEC))
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    text = WAITS.sub("\ttrap;", PRINTS.sub("", made.ptx))
    assert text.count("trap;") == text.count(old) == 1
    found = code_proof(proved_entry(unit, check_unit(unit)), Assembled(made.cubin, text.replace(old, new), made.host))
    assert (found == CodeProof()) == follows
    assert follows or "it may stop the launch" in found.why_not
