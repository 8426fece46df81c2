"""Accesses under their paths beside what the machine touches, thread by thread and round by round."""

from __future__ import annotations

import pytest

from tileverify.pipeline.code_footprints.ptx_text import PtxNotFollowed

from .ptx_kernels import as_terms, entry_of, followed, on_the_machine

PLACE = "mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;"
KERNELS = {
    "store of the first ones": f"{PLACE} setp.ge.u32 %p1, %r3, %r1; @%p1 bra $L1; st.global.b32 [%rd3], 1; $L1:",
    "guard without a branch": f"{PLACE} setp.lt.u32 %p1, %r3, %r1; @%p1 st.global.b32 [%rd3], 1;",
    "two ways to one place": f"""{PLACE} setp.lt.u32 %p1, %r3, %r1; @%p1 bra $L1;
        add.s64 %rd4, %rd3, 256; bra $L2; $L1: mov.b64 %rd4, %rd3; $L2: st.global.b32 [%rd4], 1;""",
    "a way out in the middle": f"""{PLACE} setp.lt.u32 %p1, %r3, %r1; @%p1 ret;
        setp.eq.u32 %p2, %r2, 3; @%p2 bra $L1; st.global.b32 [%rd3], 1; $L1: st.global.b32 [%rd3+512], 2;""",
    "three ways that meet": f"""{PLACE} setp.lt.u32 %p1, %r3, 7; @%p1 bra $L1; setp.lt.u32 %p2, %r3, %r1; @%p2 bra $L1;
        st.global.b32 [%rd3], 1; $L1: ld.global.b32 %r5, [%rd3];""",
    "a loop up to a number": f"""{PLACE} setp.lt.s32 %p1, %r1, 1; @%p1 bra $L2; mov.b32 %r5, 0;
        $L1: mul.wide.u32 %rd4, %r5, 256; add.s64 %rd5, %rd3, %rd4; st.global.b32 [%rd5], 1; add.s32 %r5, %r5, 1;
        setp.lt.s32 %p2, %r5, %r1; @%p2 bra $L1; $L2: ld.global.b32 %r6, [%rd3];""",
    "a loop in steps of two until it is there": f"""{PLACE} mov.b32 %r5, 0; and.b32 %r6, %r1, 14; add.s32 %r6, %r6, 2;
        $L1: mul.wide.u32 %rd4, %r5, 16; add.s64 %rd5, %rd3, %rd4; st.global.b32 [%rd5], 1; add.s32 %r5, %r5, 2;
        setp.ne.s32 %p2, %r5, %r6; @%p2 bra $L1; mul.wide.u32 %rd6, %r5, 32; add.s64 %rd7, %rd3, %rd6;
        st.global.b32 [%rd7], 2;""",
    "a loop down": f"""{PLACE} and.b32 %r5, %r1, 31;
        $L1: mul.wide.u32 %rd4, %r5, 256; add.s64 %rd5, %rd3, %rd4; st.global.b32 [%rd5], 1; add.s32 %r5, %r5, -3;
        setp.gt.s32 %p2, %r5, -1; @%p2 bra $L1;""",
    "a pointer that walks": f"""{PLACE} mov.b32 %r5, 0; mov.b64 %rd5, %rd3;
        $L1: setp.ge.u32 %p1, %r5, %r1; @%p1 bra $L2; st.global.b32 [%rd5], 1; add.s64 %rd5, %rd5, 256;
        add.s32 %r5, %r5, 1; bra $L1; $L2: ld.global.b32 %r6, [%rd3];""",
    "what the round before left": f"""{PLACE} mov.b32 %r5, 0; mov.b32 %r7, 9;
        $L1: mul.wide.u32 %rd4, %r7, 256; add.s64 %rd5, %rd3, %rd4; st.global.b32 [%rd5], 1; add.s32 %r7, %r5, 1;
        add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r2; @%p2 bra $L1;""",
    "a loop in a loop": f"""{PLACE} mov.b32 %r5, 0;
        $L1: mov.b32 %r6, 0;
        $L2: mad.lo.s32 %r7, %r5, 3, %r6; mul.wide.u32 %rd4, %r7, 256; add.s64 %rd5, %rd3, %rd4;
        st.global.b32 [%rd5], 1; add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra $L2;
        add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r2; @%p2 bra $L1; ld.global.b32 %r9, [%rd3];""",
    "a loop with two ends": f"""{PLACE} mov.b32 %r5, 0;
        $L1: mul.wide.u32 %rd4, %r5, 256; add.s64 %rd5, %rd3, %rd4; setp.gt.u32 %p1, %r5, %r3; @%p1 bra $L2;
        st.global.b32 [%rd5], 1; add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r2; @%p2 bra $L1; $L2:""",
    "only once, then again": f"""{PLACE} mov.pred %p1, -1; mov.b32 %r5, 0;
        $L1: mul.wide.u32 %rd4, %r5, 256; add.s64 %rd5, %rd3, %rd4; st.global.b32 [%rd5], 1; mov.b32 %r5, 2;
        mov.pred %p2, 0; @%p1 bra $L3; bra $L4; $L3: mov.pred %p1, %p2; bra $L1; $L4:""",
    "bits of the thread": """and.b32 %r5, %r3, 7; shr.u32 %r6, %r3, 3; shl.b32 %r7, %r5, 5; or.b32 %r8, %r7, %r6;
        mul.wide.u32 %rd2, %r8, 4; add.s64 %rd3, %rd1, %rd2; st.global.b32 [%rd3], 1;""",
    "the same for a warp": """shr.u32 %r5, %r3, 5; shfl.sync.idx.b32 %r6, %r5, 0, 31, -1; mul.wide.u32 %rd2, %r6, 128;
        add.s64 %rd3, %rd1, %rd2; and.b32 %r7, %r3, 31; mul.wide.u32 %rd4, %r7, 4; add.s64 %rd5, %rd3, %rd4;
        st.global.b32 [%rd5], 1;""",
    "of each block": f"""{PLACE} mul.wide.u32 %rd4, %r4, 256; add.s64 %rd5, %rd3, %rd4; mov.u32 %r5, %nctaid.x;
        setp.eq.u32 %p1, %r5, 1; @%p1 bra $L1; st.global.b32 [%rd5], 1; $L1: ld.global.b32 %r6, [%rd5];""",
    "blocks that take turns": f"""{PLACE} mov.u32 %r5, %nctaid.x; mov.b32 %r6, %r4;
        $L1: setp.ge.u32 %p1, %r6, %r1; @%p1 bra $L2; mul.wide.u32 %rd4, %r6, 256; add.s64 %rd5, %rd3, %rd4;
        st.global.b32 [%rd5], 1; add.s32 %r6, %r6, %r5; bra $L1; $L2:""",
    "division": f"""{PLACE} add.s32 %r5, %r1, 2; div.u32 %r6, %r3, %r5; rem.u32 %r7, %r3, %r5;
        mad.lo.s32 %r8, %r7, 8, %r6; mul.wide.u32 %rd4, %r8, 4; add.s64 %rd5, %rd1, %rd4; st.global.b32 [%rd5], 1;""",
    "a copy with nothing": f"""{PLACE} mov.b32 %r5, buffer; setp.lt.u32 %p1, %r3, %r1; selp.b32 %r6, 4, 0, %p1;
        cp.async.ca.shared.global [%r5], [%rd3], 4, %r6;""",
}  # fmt: skip
LAUNCHES = [(first, second, blocks) for first, second in ((0, 1), (1, 3), (5, 2), (13, 7)) for blocks in (1, 3)]


@pytest.mark.parametrize("name", KERNELS)
def test_terms_touch_what_the_machine_touches(name: str) -> None:
    entry = entry_of(KERNELS[name])
    found = followed(entry)
    for first, second, blocks in LAUNCHES:
        on_machine = on_the_machine(entry, first, second, blocks)
        assert as_terms(found, first, second, blocks) == on_machine, (first, second, blocks)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("bra $L2; $L1: mov.b32 %r9, 0; $L2: setp.eq.u32 %p1, %r1, 2; @%p1 bra $L1;", "leads back"),
        (
            "setp.eq.u32 %p1, %r1, 2; @%p1 bra $L2; $L1: mov.b32 %r9, 0; $L2: @%p1 bra $L1;",
            "a branch leads into a loop",
        ),
        ("st.b32 [%rd1], 1;", "may touch any memory"),
        ("prefetchu.L1 [%rd1]; multimem.st.global.b32 [%rd1], %r1;", "is not followed"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;", "is not followed"),
        ("discard.global.L2 [%rd1], 128;", "is not followed"),
        ("sust.b.1d.b32 [%rd1, {%r1}], %r2;", "sust.b.1d.b32 is not followed"),
        ("addc.u32 %r1, %r1, %r2;", "addc.u32 is not followed"),
        ("clusterlaunchcontrol.try_cancel.async.b128 [%r1], [%r2];", "is not followed"),
    ],
)
def test_what_is_not_followed_is_told(body: str, why: str) -> None:
    with pytest.raises(PtxNotFollowed, match=why):
        followed(entry_of(body))


def test_what_nobody_set_is_nothing_known() -> None:
    """A register that is set on one of two ways holds no number of that way on the other."""
    body = """setp.lt.u32 %p1, %r3, %r1; @%p1 bra $L1; mul.wide.u32 %rd5, %r3, 4;
        $L1: add.s64 %rd6, %rd1, %rd5; st.global.b32 [%rd6], 1;"""
    (access,) = followed(entry_of(body)).accesses
    assert any("unset" in str(each) for each in access.address.free)
