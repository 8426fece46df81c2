"""Which inline PTX depends on its operands and its block alone."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode.inline_assembly import only_computes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mov.b32 $0, $1;",
        "ex2.approx.ftz.f32 $0, $1;",
        "cvt.rn.f16x2.f32 $0, $1, $2",
        "mov.u32 $0, %ctaid.x;",
        "{\n  .reg .f32 t; // ld.global\n  /* st.global\n %clock */ mul.f32 t, $1, 0f3FB8AA3B;\n  ex2.f32 $0, t;\n}",
        "{ .reg .pred p; setp.gt.f32 p, $1, 15.; @p mov.f32 $0, $1; @!p ex2.approx.ftz.f32 $0, $1; }",
        "mov.b32 {t0, t1}, $8; lop3.b32 $0, t0, t1, 0x0f, 0xea;",
    ],
)
def test_computes(text: str) -> None:
    assert only_computes(text)


@pytest.mark.parametrize(
    "text",
    [
        "mov.u32 $0, %tid.x;",
        "mov.u32 $0, %laneid;",
        "mov.u64 $0, %globaltimer;",
        "mov.u32 $0, %smid;",
        "ld.global.u32 $0, [$1];",
        "mov.b32 $0, $1; st.global.u32 [$1], $0;",
        "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;",
        "activemask.b32 $0;",
        "atom.global.add.u32 $0, [$1], 1;",
        "{ bar.sync 0; mov.b32 $0, $1; }",
        "@p ld.global.u32 $0, [$1];",
        "@p @p ld.global.u32 $0, [$1];",
        "@!p bra L;",
        "@p",
        "L: bra L;",
        "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;",
        "add_and_store $0, $1;",
        "v_mul_f32 $0, $1, $2",
    ],
)
def test_may_ask_for_more(text: str) -> None:
    assert not only_computes(text)
