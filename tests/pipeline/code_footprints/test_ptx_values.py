"""Instructions as terms beside the same instructions on the machine, on numbers drawn at random and at the edges."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from tileverify.backend.compiled.machine.machine import ThreadMachine
from tileverify.backend.compiled.machine.run import run
from tileverify.backend.compiled.machine.storage import GlobalMemory
from tileverify.backend.compiled.ptx import Immediate, read
from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Sort
from tileverify.contract.terms.evaluate import evaluate
from tileverify.pipeline.code_footprints.ptx_values import divides_by, value, width_of

COUNT = 256
TEXT = """.version 9.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid {count}
{{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<19>;
	ld.param.b64 	%rd10, [k_param_0];
	mov.u32 	%r8, %tid.x;
	mul.wide.u32 	%rd11, %r8, 32;
	add.s64 	%rd12, %rd10, %rd11;
	{load}
	{body}
	{store}
	ret;
}}
"""
PREFIX = {16: "%rs", 32: "%r", 64: "%rd"}
WIDTHS = (32, 64)
TWO = ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem")
FORMS = [
    *(f"{op}.{kind}{bits} D, A, B;" for op in TWO for kind in "su" for bits in WIDTHS),
    *(f"{op}.b{bits} D, A, B;" for op in ("and", "or", "xor") for bits in WIDTHS),
    *(f"{op}.b{bits} D, A, 252;" for op in ("and", "or", "xor") for bits in WIDTHS),
    *(f"mul.lo.s16 D, A, {number};" for number in (3, 86)),
    *(f"mad.lo.s{bits} D, A, B, C;" for bits in WIDTHS),
    *(f"setp.{order}.{kind}{bits} %p1, A, B; selp.b{bits} D, A, C, %p1;"
      for order in ("eq", "ne", "lt", "le", "gt", "ge") for kind in "su" for bits in WIDTHS),
    *(f"setp.{order}.u32 %p1, A, B; selp.b32 D, A, C, %p1;" for order in ("lo", "ls", "hi", "hs")),
    *(f"setp.lt.s32 %p2, A, C; setp.{order}.{join}.s32 %p1, A, B, %p2; selp.b32 D, A, C, %p1;"
      for order in ("lt", "ne") for join in ("and", "or", "xor")),
    *(f"setp.lt.s32 %p1, A, B; setp.lt.u32 %p2, A, C; {op}.pred %p3, %p1, %p2; selp.b32 D, A, B, %p3;"
      for op in ("and", "or", "xor")),
    "setp.lt.s32 %p1, A, B; not.pred %p2, %p1; selp.b32 D, A, C, %p2;",
    *(f"{op}.{kind}{bits} D, A, {amount};"
      for op, kind in (("shl", "b"), ("shr", "s"), ("shr", "u")) for bits in WIDTHS for amount in (0, 1, 7, 31, 33)),
    *(f"neg.s{bits} D, A;" for bits in WIDTHS),
    *(f"abs.s{bits} D, A;" for bits in WIDTHS),
    *(f"not.b{bits} D, A;" for bits in WIDTHS),
    *(f"bfe.u32 D, A, {start}, {count};" for start in (0, 3, 30) for count in (1, 8)),
]  # fmt: skip
WIDENED = [
    ("mul.wide.s32 D, A, B;", 32, 64), ("mul.wide.u32 D, A, B;", 32, 64), ("mul.wide.s16 D, A, B;", 16, 32),
    ("cvt.s64.s32 D, A;", 32, 64), ("cvt.u64.u32 D, A;", 32, 64), ("cvt.u32.u64 D, A;", 64, 32),
    ("cvt.s32.s8 D, A;", 32, 32), ("cvt.s32.s16 D, A;", 16, 32), ("cvt.u32.u16 D, A;", 16, 32),
    ("cvt.u16.u32 D, A;", 32, 16), ("cvt.s16.s8 D, A;", 16, 16), ("mad.wide.s32 D, A, B, C;", 32, 64),
    ("mad.wide.u32 D, A, B, C;", 32, 64),
]  # fmt: skip


def width_of_form(form: str) -> int:
    kind = form.partition(" ")[0].rpartition(".")[2]
    return width_of(kind) or 32


CASES = [*((form, width_of_form(form), width_of_form(form)) for form in FORMS), *WIDENED]


def numbers(bits: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rng = random.Random(seed)
    edges = [0, 1, 2, 3, 7, 31, 32, 255, 256, (1 << bits - 1) - 1, -(1 << bits - 1), -1, -2, -31]
    drawn = [rng.choice(edges) if rng.random() < 0.4 else rng.randrange(-(1 << bits - 1), 1 << bits - 1)
             for _ in range(COUNT)]  # fmt: skip
    return np.array([min(max(each, -(1 << bits - 1)), (1 << bits - 1) - 1) for each in drawn], "i8")


@pytest.mark.parametrize(("form", "width", "wide"), CASES, ids=[form for form, _, _ in CASES])
def test_terms_are_what_the_machine_computes(form: str, width: int, wide: int) -> None:
    a, b = numbers(width, 1), numbers(width, 2)
    third = wide if "mad.wide" in form else width
    c = numbers(third, 3)
    if form.startswith(("div", "rem")):
        b[b == 0] = 5
        b[(b == -1) & (a == a.min())] = 3
    names = {"A": f"{PREFIX[width]}1", "B": f"{PREFIX[width]}2", "C": f"{PREFIX[third]}3", "D": f"{PREFIX[wide]}4"}
    body = form
    for name, register in names.items():
        body = re.sub(rf"\b{name}\b", register, body)
    loads = "".join(
        f"ld.global.b{bits} {names[name]}, [%rd12+{at}];\n"
        for name, at, bits in (("A", 0, width), ("B", 8, width), ("C", 16, third))
    )
    text = TEXT.format(count=COUNT, load=loads, body=body, store=f"st.global.b{wide} [%rd12+24], {names['D']};")
    entry = read(text).entry("k")
    memory = GlobalMemory([(1 << 44, np.stack([a, b, c, np.zeros(COUNT, "i8")], axis=1).copy().view("u1").ravel())])
    run(ThreadMachine(entry, (1, 1, 1), [(0, 0, 0)], memory, {"k_param_0": (1 << 44).to_bytes(8, "little")}, {}))
    got = memory.bytes.view("i8").reshape(COUNT, 4)[:, 3].astype(f"i{wide // 8}").astype("i8")
    variables = {names[name]: t.var(name, Scope.LAUNCH, -(1 << bits - 1), (1 << bits - 1) - 1)
                 for name, bits in (("A", width), ("B", width), ("C", third))}  # fmt: skip
    held = dict(variables)
    for instruction in entry.instructions:
        if instruction.opcode[0] in ("ld", "st", "ret") or str(instruction.operands[0]) in ("%r8", "%rd11", "%rd12"):
            continue
        sources = [t.const(each.bits) if isinstance(each, Immediate) else held[str(each)]
                   for each in instruction.operands[1:]]  # fmt: skip
        found = value(instruction, sources)
        assert found is not None, instruction.name
        divisor = divides_by(instruction, sources)
        assert (divisor is not None) == form.startswith(("div", "rem"))
        held[str(instruction.operands[0])] = found
    result = held[names["D"]]
    assert result.sort is Sort.INT
    for row in range(COUNT):
        values = dict(zip(variables.values(), (int(a[row]), int(b[row]), int(c[row])), strict=True))
        assert evaluate(result, values) == got[row], values
