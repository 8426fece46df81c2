"""Code of tileiras held against the proof of its bytecode, as it is and with one change at a time.

``ptx/`` holds what tileiras 13.4.92 makes of the kernels here for sm_90, and of the one with tensor maps the cubin and
the host code as well; where it is at hand, ``--update-golden`` makes
it anew, and the tests marked so see whether it still does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.backend.compiled.cubin_look import ProvedEntry
from tileverify.pipeline.code_footprints.code_proof import CodeProof, code_proof
from tileverify.pipeline.second_readings import proved_entry
from tileverify.pipeline.unit_check import check_unit

PTX = Path(__file__).parent / "ptx"
KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel
def scale(x, out, TILE: C):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * 2)

@ct.kernel
def turn(x, out, TILE: C):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(j, i), tile=ct.transpose(tile))

@ct.kernel
def rows_in_turn(x, out, TILE: C):
    for i in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(TILE,)), ct.num_blocks(0)):
        ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))

@ct.kernel
def take(x, places, out, TILE: C):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.gather(x, ct.load(places, index=(i,), shape=(TILE,))))

@ct.kernel
def count(x, counts, TILE: C):
    ct.atomic_add(counts, ct.load(x, index=(ct.bid(0),), shape=(TILE,)), 1)

@ct.kernel
def product(a, b, out, M: C, N: C, K: C):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (i, k), (M, K), padding_mode=zero)
        total = ct.mma(left, ct.load(b, (k, j), (K, N), padding_mode=zero), total)
    ct.store(out, (i, j), total.astype(ct.float16))
"""
SPEC = """
[[launch]]
kernel = "scale"
grid = ["cdiv(N, 256)"]
args = { x = "f32[N]", out = "f32[N]", TILE = 256 }

[[launch]]
kernel = "turn"
grid = ["cdiv(M, 16)", "cdiv(N, 16)"]
args = { x = "f32[M, N]", out = "f32[N, M]", TILE = 16 }

[[launch]]
kernel = "rows_in_turn"
names = ["G"]
grid = ["G"]
args = { x = "f32[N]", out = "f32[N]", TILE = 128 }

[[launch]]
kernel = "take"
grid = ["cdiv(N, 64)"]
args = { x = "f32[M]", places = "i32[N]", out = "f32[N]", TILE = 64 }

[[launch]]
kernel = "count"
grid = ["cdiv(N, 64)"]
args = { x = "i32[N]", counts = "i32[16]", TILE = 64 }

[[launch]]
kernel = "product"
grid = ["cdiv(R, 64)", "cdiv(S, 64)"]
requires = ["a.address % 16 == 0", "b.address % 16 == 0", "out.address % 16 == 0", "S % 16 == 0", "D % 16 == 0"]
args = { a = "f16[R, D]", b = "f16[D, S]", out = "f16[R, S]", M = 64, N = 64, K = 32 }
"""
NAMES = ("scale", "turn", "rows_in_turn", "take", "count", "product")


@cache
def proved(kernel: str, folder: Path) -> ProvedEntry:
    written(folder, KERNELS, SPEC, "kernels")
    unit = unit_at(f"{folder / 'kernels.py'}::{kernel}")
    result = check_unit(unit)
    assert result.verdict.value == "proved", result.findings
    return proved_entry(unit, result)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def shown(kernel: str, ptx: str, folder: Path, host: bytes | None = None) -> CodeProof:
    """``host``: what fills the tensor maps of ``product``, in place of what tileiras makes."""
    made = Assembled(b"", ptx, None)
    if kernel == "product":
        made = Assembled((PTX / "product.cubin").read_bytes(), ptx, host or (PTX / "product.host").read_bytes())
    return code_proof(proved(kernel, folder), made)


def text_of(kernel: str) -> str:
    return (PTX / f"{kernel}.ptx").read_text()


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("kernel", NAMES)
def test_the_assembler_still_makes_it(kernel: str, folder: Path, request: pytest.FixtureRequest) -> None:
    made = find_assembler().assembled(proved(kernel, folder).bytecode, "sm_90").ptx
    assert made is not None
    if request.config.getoption("--update-golden"):
        (PTX / f"{kernel}.ptx").write_text(made)
    assert not shown(kernel, made, folder).why_not


@pytest.mark.parametrize("kernel", NAMES)
def test_code_of_the_assembler_is_proved(kernel: str, folder: Path) -> None:
    assert shown(kernel, text_of(kernel), folder) == CodeProof()


BOX = (
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd3, {%r100, %r98}],"
    " [global_smem_product+90112], %rd18"
)
TURNED = BOX.replace("{%r100, %r98}", "{%r98, %r100}")
CLUSTER = "mov.u32 \t%r1, %clusterid.x"
WRONG = {
    "a bound that lets one more in": ("scale", "setp.ge.u64 \t%p2, %rd4", "setp.gt.u64 \t%p2, %rd4"),
    "no bound": ("scale", "@%p2 bra", "// bra"),
    "the wrong bound": ("scale", "setp.ge.u64 \t%p2, %rd4, %rd1", "setp.ge.u64 \t%p2, %rd4, %rd9"),
    "a signed bound of what may be large": ("scale", "max.u64 \t%rd22, %rd5, %rd21", "min.u64 \t%rd22, %rd5, %rd21"),
    "a tile that is too short": ("scale", "mul.wide.u32 \t%rd3, %r1, 256", "mul.wide.u32 \t%rd3, %r1, 128"),
    "another half": ("scale", "st.global.b32 \t[%rd8+512]", "st.global.b32 \t[%rd8+516]"),
    "half a store": ("scale", "st.global.b32 \t[%rd8+512], %r8;", ""),
    "a store of two bytes": ("scale", "st.global.b32 \t[%rd8+512]", "st.global.b16 \t[%rd8+512]"),
    "a store of two elements": ("scale", "st.global.b32 \t[%rd8+512], %r8", "st.global.v2.b32 [%rd8+512], {%r8, %r8}"),
    "the input written": ("scale", "st.global.b32 \t[%rd8], %r7", "st.global.b32 \t[%rd13], %r7"),
    "an update in place of a store": ("scale", "st.global.b32 \t[%rd8]", "red.global.add.u32 \t[%rd8]"),
    "a store of all blocks": ("scale", "mov.u32 \t%r1, %clusterid.x", "mov.u32 \t%r1, 0"),
    "another way round": ("turn", "mul.wide.u32 \t%rd28, %r3, %r19", "mul.wide.u32 \t%rd28, %r3, %r18"),
    "the stride of the other array": ("turn", "%r3, [turn_param_8]", "%r3, [turn_param_3]"),
    "one fewer in the pipeline": ("rows_in_turn", "max.s32 \t%r46, %r45, 11", "max.s32 \t%r46, %r45, 10"),
    "a round too few": ("rows_in_turn", "mul.lo.s32 \t%r15, %r3, 12", "mul.lo.s32 \t%r15, %r3, 13"),
    "rows left out": ("rows_in_turn", "st.global.b32 \t[%rd39], %r68;", ""),
    "steps that are too wide": ("rows_in_turn", "add.s32 \t%r61, %r61, %r3", "add.s32 \t%r61, %r61, %r15"),
    "places that nobody checks": ("take", "@%p3 bra", "// bra"),
    "places read as unsigned": ("take", "ld.global.s32 \t%rd25", "ld.global.u32 \t%rd25"),
    "places one further": ("take", "shl.b64 \t%rd16, %rd25, 2", "add.s64 \t%rd16, %rd25, 4"),
    "the places of the next block": ("take", "ld.global.s32 \t%rd25, [%rd3]", "ld.global.s32 \t%rd25, [%rd3+256]"),
    "counted twice": ("count", "or.pred \t%p5, %p4, %p3", "or.pred \t%p5, %p3, %p3"),
    "counted twice in a row": ("count", "atom.global", "atom.global.add.u32 \t%r12, [%rd5], 1;\n\tatom.global"),
    "counted by half": ("count", "setp.ne.b32 \t%p4, %r8, 0", "setp.ne.b32 \t%p4, %r10, 0"),
    "rows for columns": ("product", "{%r17, %r11}", "{%r11, %r17}"),
    "the box of another array": ("product", "[%rd1, {%r17", "[%rd2, {%r17"),
    "a box that is half a tile on": ("product", "shl.b32 \t%r98, %r97, 6", "shl.b32 \t%r98, %r97, 5"),
    "boxes of the next block": ("product", "{%r17, %r11}", "{%r17, %r100}"),
    "a box that is stored by some blocks": ("product", "mov.u32 \t%r99, %clusterid.y", "mov.u32 \t%r99, 0"),
    "a box that is not stored": ("product", "cp.async.bulk.tensor.2d.global", "// cp.async.bulk.tensor.2d.global"),
    "a map that nobody filled": ("product", "[%rd3, {%r100", "[%rd18, {%r100"),
    "a box in shared memory of others": ("product", "2d.shared::cta.global", "2d.shared::cluster.global"),
    "boxes by threads that nobody elected": ("product", BOX, f"{BOX}; elect.sync %r111|%p17, -1; @!%p17 {TURNED}"),
    "boxes by the elected thread, or by the others": (
        "product",
        BOX,
        f"{BOX}; elect.sync %r111|%p17, -1; setp.ne.b32 %p16, %r19, 5; xor.pred %p15, %p17, %p16; @%p15 {TURNED}",
    ),
    "the place behind a map": ("product", "cvta.param.u64 \t%rd3, %rd6", "add.s64 %rd3, %rd5, 1"),
    "a parameter and the one behind it": ("scale", "ld.param.b32 \t%rd1", "ld.param.b64 \t%rd1"),
    "a parameter of two bytes": ("scale", ".param .u32 scale_param_5", ".param .u16 scale_param_5"),
    "no number below zero": (
        "scale",
        CLUSTER,
        f"{CLUSTER}; add.s32 %r1, %r1, -9; min.relu.s32 %r1, %r1, {(1 << 31) - 1}; add.s32 %r1, %r1, 9",
    ),
    "a copy with a policy of zero": (
        "scale",
        CLUSTER,
        f"{CLUSTER}; mov.b64 %rd22, 0; cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd9+64], 16, %rd22",
    ),
    "clusters that lie in columns": ("scale", ".reqntid 128", ".reqntid 128\n.reqnctapercluster 1, 2, 1"),
    "sixteen bits that a loop hands on": (
        "scale",
        "st.global.b32 \t[%rd8], %r7;",
        "mov.b32 %r51, 0; mov.b32 %r50, 65536; AGAIN: cvt.s64.s32 %rd50, %r50; add.s64 %rd51, %rd8, %rd50;"
        " st.global.b32 [%rd51], %r7; cvt.s32.s16 %r50, %r50; add.s32 %r51, %r51, 1; setp.ne.b32 %p9, %r51, 2;"
        " @%p9 bra AGAIN;",
    ),
    "a trap in place of a way round": ("scale", "@%p5 bra", "@%p5 trap; @%p5 bra"),
    "what a barrier says": ("scale", "@%p5 bra", "mov.pred %p9, %p5; barrier.red.or.pred %p9, 0, %p5; @%p9 bra"),
    "the time twice": (
        "scale",
        "st.global.b32 \t[%rd8], %r7",
        "mov.u64 %rd50, %clock64; mov.u64 %rd51, %clock64; sub.s64 %rd50, %rd51, %rd50; add.s64 %rd50, %rd50, %rd8;"
        " st.global.b32 [%rd50], %r7",
    ),
    "loaded and stored": ("count", "atom.global.acq_rel.add.u32 \t%r12, [%rd5], 1", "st.global.b32 \t[%rd5], %r12"),
}


@pytest.mark.parametrize("name", WRONG)
def test_code_that_touches_something_else_is_not(name: str, folder: Path) -> None:
    kernel, old, new = WRONG[name]
    text = text_of(kernel)
    assert old in text
    assert shown(kernel, text.replace(old, new, 1), folder).why_not


# The inner loop goes round as often as the block's number says, which is 2**32 times in block 0, and moves a pointer.
MOVES = """
INNER:
	add.s64 %rd50, %rd50, 4;
	add.s32 %r51, %r51, 1;
	setp.ne.b32 %p10, %r51, %r1;
	@%p10 bra INNER;
	mul.wide.u32 %rd51, %r1, 4;
	sub.s64 %rd50, %rd50, %rd51;
	mov.b32 %r51, 0;
	add.s64 %rd10, %rd10, %rd50;
	mov.b64 %rd50, 0;
"""


@pytest.mark.parametrize(
    "behind", ["", "setp.ge.u64 %p12, %rd4, %rd1; @%p12 bra SKIP; ld.global.b32 %r53, [%rd13]; SKIP:"]
)
def test_what_a_loop_hands_on_to_the_next_round_of_another_is_no_guess(behind: str, folder: Path) -> None:
    """``behind``: an access behind the inner loop, or none."""

    def twice(moves: str) -> str:
        text = text_of("scale").replace(
            CLUSTER, f"{CLUSTER}; mov.b32 %r50, 0; mov.b32 %r51, 0; mov.b64 %rd50, 0; OUTER:", 1
        )
        again = "add.s32 %r50, %r50, 1; setp.ne.b32 %p11, %r50, 2; @%p11 bra OUTER; ret;"
        return text.replace("ret;", f"{moves} {again}")

    assert shown("scale", twice(""), folder) == CodeProof()
    assert shown("scale", twice(MOVES + behind), folder).why_not


def host(old: str, new: str, which: int = 0) -> bytes:
    """The host code with some of its bytes changed, where they stand the ``which``-th time."""
    data = (PTX / "product.host").read_bytes()
    before, after = bytes.fromhex(old), bytes.fromhex(new)
    places = [at for at in range(len(data)) if data.startswith(before, at)]
    assert len(before) == len(after)
    return data[: places[which]] + after + data[places[which] + len(after) :]


MAPS = {
    "a row too many": ("49 ff c8", "90 90 90"),
    "a column too many": ("41 ff c9", "90 90 90"),
    "half of the stride": ("48 c1 e2 1d", "48 c1 e2 1c"),
    "another start": ("48 c1 eb 04", "48 c1 eb 05"),
    "a box of more columns": ("48 ba 00 00 00 00 00 00 00 1f", "48 ba 00 00 00 00 00 00 00 3f"),
    "a box of fewer rows": ("48 c7 41 38 3f 00 00 00", "48 c7 41 38 1f 00 00 00"),
    "elements of four bytes": ("48 8d 94 13 12 43 04 00", "48 8d 94 13 12 44 04 00"),
    "bits that nobody knows": ("48 ba 00 00 00 00 00 00 00 1f", "48 ba 00 00 00 00 00 01 00 1f"),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_tensor_map_that_says_something_else_is_found(name: str, folder: Path) -> None:
    assert shown("product", text_of("product"), folder, host(*MAPS[name])).why_not


def test_code_that_cannot_be_read_is_told(folder: Path) -> None:
    assert "parameters" in shown("scale", text_of("turn").replace("turn", "scale"), folder).why_not
    assert "no PTX" in shown("scale", "", folder).why_not
    assert code_proof(proved("scale", folder), Assembled(b"", None, None)).why_not == "the assembler's PTX was not seen"
