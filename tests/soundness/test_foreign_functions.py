"""Functions that Tile IR has no op for: equal operands give equal values, but not where inline assembly gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.command_line import CommandLine
from tests.written_kernel import judged, written

from tileverify.backend.assembler import Assembler, AssemblyError
from tileverify.frontend.bytecode import decode, encode, print_module
from tileverify.frontend.bytecode.builder import F32, I1, I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import TileType, Value
from tileverify.frontend.symbolic.execute import summarize
from tileverify.results import KernelResult, Verdict
from tileverify.system.errors import EncodeError

SPEC = 'kernel = "k"\ngrid = [{grid}]\nargs = {{ a = "i32[N]", n = "i32" }}\nrequires = ["N >= 64"]'
TWO = SPEC.format(grid=2)
FLOATS = 'kernel = "k"\ngrid = ["cdiv(N, 8)"]\nargs = { a = "f32[N]", n = "i32" }'

Fill = Callable[[BodyBuilder, Value, Value], None]


def module(fill: Fill, element: object = I32) -> bytes:
    builder = ModuleBuilder()
    with builder.entry("k", [tile(pointer(element)), tile(I32)]) as f:  # type: ignore[arg-type]
        f.location = Location("kernel.py", 7, 4, "k")
        fill(f, *f.parameters)
        f.op("return")
    return encode(builder.build())


def number(f: BodyBuilder, value: int) -> Value:
    return f.constant(tile(I32), value)


def called(f: BodyBuilder, callee: str, args: Sequence[Value], made: TileType | None = None) -> Value:
    result: Value = f.op("opaque", args=args, callee=callee, results=[made or tile(I32)])
    return result


def block(f: BodyBuilder) -> Value:
    first: Value = f.op("get_tile_block_id")[0]
    return first


def below(f: BodyBuilder, value: Value, limit: int) -> Value:
    made: Value = f.op("remi", lhs=value, rhs=number(f, limit), sgn="unsigned")
    return made


def write(f: BodyBuilder, base: Value, place: Value) -> None:
    f.op("store_ptr_tko", ptr=f.op("offset", ptr=base, off=place), val=number(f, 1))


def codes(result: KernelResult) -> list[str]:
    return [str(finding.code) for finding in result.findings]


# ------------------------------------------------------------------------------------------------- blocks
def at_ones_of(operand: Callable[[BodyBuilder, Value], Value], callee: str = "__nv_popc") -> Fill:
    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        write(f, base, below(f, called(f, callee, [operand(f, n)]), 64))

    return fill


def test_equal_operands_meet(tmp_path: Path) -> None:
    result = judged(tmp_path, module(at_ones_of(lambda f, n: n)), TWO)
    assert (result.verdict, codes(result)) == (Verdict.REFUTED, ["TV101"])


def test_different_operands_may_meet(tmp_path: Path) -> None:
    """Blocks 1 and 2 have one bit each; the solver, which knows no bits, names two others."""
    result = judged(tmp_path, module(at_ones_of(lambda f, n: block(f))), SPEC.format(grid=4))
    assert (result.verdict, codes(result)) == (Verdict.UNDECIDED, ["TV901"])


@pytest.mark.parametrize(
    ("callee", "named"), [("__nv_brev", "`__nv_brev`"), ("asm mov.u32 $0, %smid;", "inline assembly")]
)
def test_what_is_not_known_is_named(tmp_path: Path, callee: str, named: str) -> None:
    result = judged(tmp_path, module(at_ones_of(lambda f, n: block(f), callee)), TWO)
    assert (result.verdict, codes(result)) == (Verdict.UNDECIDED, ["TV901"])
    assert f"the value of {named}, about which the proof knows nothing" in result.findings[0].message


def guarded_by(callee: str, *, by_block: bool) -> Fill:
    """Only the blocks for which the function gives 1 write, and all of them to one place."""

    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        first = f.op("cmpi", lhs=block(f), rhs=number(f, 0), pred="equal", sgn="signed")
        chosen = called(f, callee, [block(f) if by_block else n], tile(I1))
        wanted = f.op("select", c=first, t=chosen, f=f.op("xori", lhs=chosen, rhs=f.constant(tile(I1), 1)))
        where = f.op("select", c=wanted, t=number(f, 0), f=f.op("addi", lhs=block(f), rhs=number(f, 1)))
        write(f, base, where)

    return fill


def test_one_value_of_the_launch_parts_two_blocks(tmp_path: Path) -> None:
    """Block 0 takes place 0 where the function says yes, and block 1 where it says no."""
    assert judged(tmp_path, module(guarded_by("__nv_f", by_block=False)), TWO).verdict is Verdict.PROVED


def test_values_of_two_blocks_part_nothing(tmp_path: Path) -> None:
    result = judged(tmp_path, module(guarded_by("__nv_f", by_block=True)), TWO)
    assert (result.verdict, codes(result)) == (Verdict.UNDECIDED, ["TV901"])


def test_assembly_gives_each_block_a_value_of_its_own(tmp_path: Path) -> None:
    result = judged(tmp_path, module(guarded_by("asm mov.u32 $0, %clock;", by_block=False)), TWO)
    assert (result.verdict, codes(result)) == (Verdict.UNDECIDED, ["TV901"])


# ----------------------------------------------------------------------------------------- inside of a block
def twice(first: str, second: str, *, same_operand: bool = True) -> Fill:
    """Block i writes to 2 * i + 1 and to 2 * i, if two calls agree; else both writes, without order, meet."""

    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        other = n if same_operand else f.op("addi", lhs=n, rhs=number(f, 1))
        bits = [called(f, first, [n], tile(I1)), called(f, second, [other], tile(I1))]
        start = f.op("muli", lhs=block(f), rhs=number(f, 2))
        behind = f.op("addi", lhs=start, rhs=number(f, 1))
        write(f, base, f.op("select", c=bits[0], t=start, f=behind))
        write(f, base, f.op("select", c=bits[1], t=behind, f=start))

    return fill


@pytest.mark.parametrize(
    ("first", "second", "same_operand"),
    [
        ("__nv_f", "__nv_g", True),
        ("__nv_f", "__nv_f", False),
        ("asm mov.u32 $0, %clock;", "asm mov.u32 $0, %clock;", True),
    ],
)
def test_two_calls_are_not_one(tmp_path: Path, first: str, second: str, same_operand: bool) -> None:
    result = judged(tmp_path, module(twice(first, second, same_operand=same_operand)), TWO)
    assert result.verdict is Verdict.UNDECIDED
    assert set(codes(result)) == {"TV901"}


def in_a_loop(f: BodyBuilder, base: Value, n: Value) -> None:
    """Iteration i of the loop writes to what assembly gives, with the same operand each time."""
    with f.for_(number(f, 0), number(f, 2), number(f, 1), []):
        write(f, base, called(f, "asm mov.u32 $0, %clock;", [n]))
        f.op("continue", args=[])


def test_iterations_do_not_share_what_assembly_gives() -> None:
    made = decode(module(in_a_loop))
    (site,) = summarize(made, made.entries[0]).sites
    (loop,) = site.loops
    assert loop.iteration in site.footprint.offset.free  # type: ignore[union-attr]


# -------------------------------------------------------------------------------------------------- floats
def gelu(callee: str) -> Fill:
    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        start = f.op("muli", lhs=block(f), rhs=number(f, 8))

        def spread(value: Value, kind: object) -> Value:
            line = f.op("reshape", s=value, results=[TileType(kind, (1,))])  # type: ignore[arg-type]
            made: Value = f.op("broadcast", s=line, results=[TileType(kind, (8,))])  # type: ignore[arg-type]
            return made

        places = f.op("addi", lhs=spread(start, I32), rhs=f.op("iota", results=[tile(I32, 8)]))
        inside = f.op("cmpi", lhs=places, rhs=spread(n, I32), pred="less_than", sgn="signed")
        at = f.op("offset", ptr=spread(base, pointer(F32)), off=places)
        x, token = f.op("load_ptr_tko", ptr=at, mask=inside)
        y = called(f, callee, [x], tile(F32, 8))
        f.op("store_ptr_tko", ptr=at, mask=inside, val=y, token=token)

    return fill


@pytest.mark.parametrize("callee", ["__nv_erff", "math.log1p", "asm ex2.approx.f32 $0, $1;"])
def test_what_is_stored_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tileverify: CommandLine, callee: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, module(gelu(callee), F32), FLOATS + '\nrequires = ["n <= N"]')
    checked = tileverify("check", "kernel.tileirbc", "--no-cache", "--certificate", "proofs")
    assert checked.code == 0, checked.out
    again = tileverify("recheck", "proofs", "--strict")
    assert again.code == 0, again.out


def unpadded(callee: str) -> Fill:
    """A masked lane is open, and assembly may carry it to its neighbours."""

    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        lanes = f.op("iota", results=[tile(I32, 8)])
        line = f.op("reshape", s=base, results=[tile(pointer(F32), 1)])
        at = f.op("offset", ptr=f.op("broadcast", s=line, results=[tile(pointer(F32), 8)]), off=lanes)
        inside = f.op("cmpi", lhs=lanes, rhs=f.constant(tile(I32, 8), 4), pred="less_than", sgn="signed")
        x, token = f.op("load_ptr_tko", ptr=at, mask=inside)
        f.op("store_ptr_tko", ptr=at, mask=inside, val=called(f, callee, [x], tile(F32, 8)), token=token)

    return fill


@pytest.mark.parametrize(
    ("callee", "told"), [("__nv_erff", False), ("math.erf", False), ("asm cvt.rn.f16x2.f32 $0, $1, $2;", True)]
)
def test_assembly_may_spread_what_is_open(tmp_path: Path, callee: str, told: bool) -> None:
    spec = 'kernel = "k"\ngrid = [1]\nargs = { a = "f32[8]", n = "i32" }'
    result = judged(tmp_path, module(unpadded(callee), F32), spec)
    assert result.verdict is Verdict.PROVED
    assert any("TV403" in note for note in result.notes) == told


@pytest.mark.parametrize(("text", "told"), [("mov.u32 $0, %ctaid.x;", False), ("mov.u32 $0, %clock;", True)])
def test_a_clock_makes_no_result_sure(tmp_path: Path, text: str, told: bool) -> None:
    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        at = f.op("offset", ptr=base, off=block(f))
        f.op("store_ptr_tko", ptr=at, val=called(f, f"asm {text}", []))

    result = judged(tmp_path, module(fill), TWO)
    assert result.verdict is Verdict.PROVED
    assert (result.deterministic, any("TV403" in note for note in result.notes)) == (not told, told)


# ----------------------------------------------------------------------------------------------- building
@pytest.mark.parametrize("architecture", [(), ("--arch", "none")])
@pytest.mark.assembler("tileiras")
def test_no_bundle_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tileverify: CommandLine, architecture: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, module(gelu("__nv_erff"), F32), FLOATS + '\nrequires = ["n <= N"]')
    built = tileverify("build", "kernel.tileirbc::k", *architecture)
    assert built.code == 2, built.out
    assert "kernel.py:7: '__nv_erff' has no counterpart in Tile IR, so 'k' cannot be built" in built.out + built.err
    assert not list(tmp_path.glob("*.tvk"))


def test_it_cannot_be_built(tmp_path: Path) -> None:
    """Said before any assembler is started."""
    nowhere = Assembler(tmp_path / "tileiras")
    for build in (nowhere.assemble, nowhere.remarks):
        with pytest.raises(AssemblyError) as refusal:
            build(module(gelu("__nv_erff"), F32), "sm_90")
        assert str(refusal.value).endswith(
            "kernel.py:7: '__nv_erff' has no counterpart in Tile IR, so 'k' cannot be built"
        )


# ------------------------------------------------------------------------------------------- what it may be
@pytest.mark.parametrize(
    ("args", "callee", "made", "reason"),
    [
        ("base", "__nv_f", tile(I32), "an operand holds pointers"),
        ("n", "__nv_f", tile(pointer(F32)), "the result holds pointers"),
        ("n", "", tile(I32), "it names no function"),
        ("lanes", "__nv_f", tile(I32), r"an operand of shape \(8,\) does not fit the result of shape \(\)"),
        ("lanes", "__nv_f", tile(I32, 4), r"an operand of shape \(8,\) does not fit the result of shape \(4,\)"),
    ],
)
def test_types(args: str, callee: str, made: TileType, reason: str) -> None:
    def fill(f: BodyBuilder, base: Value, n: Value) -> None:
        given = {"base": base, "n": n, "lanes": f.op("iota", results=[tile(I32, 8)])}
        called(f, callee, [given[args]], made)

    with pytest.raises(EncodeError, match=reason):
        module(fill)


def test_its_text_has_name_operands_and_types() -> None:
    text = print_module(decode(module(gelu('asm mov "x";\n'), F32)))
    assert r'opaque "asm mov \22x\22;\0A"(%result) : tile<8xf32> -> tile<8xf32>' in text


# ---------------------------------------------------------------------------------------------- equality
def test_equality_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tileverify: CommandLine) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, module(gelu("math.log1p"), F32), FLOATS + '\nrequires = ["n <= N"]')
    Path("reference.py").write_text("import numpy as np\n\n\ndef log1p(a, n):\n    return np.log1p(a)\n")
    compared = tileverify("equal", "kernel.tileirbc::k", "--reference", "reference.py::log1p")
    assert compared.code == 3, compared.out
    assert "not decided: 'math.log1p' of exact numbers" in compared.out


# ------------------------------------------------------------------------------------------------- audit
def test_runs_agree_with_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tileverify: CommandLine) -> None:
    """The address is a term over the function's symbol, and the interpreter knows its value."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, module(at_ones_of(lambda f, n: n)), SPEC.format(grid=1))
    audited = tileverify("check", "kernel.tileirbc", "--no-cache", "--audit")
    assert audited.code == 0, audited.out
    assert "50 blocks, 50 accesses and 0 waits compared, all as the proof says" in audited.out
