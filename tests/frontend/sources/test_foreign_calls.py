"""Calls into libraries of tiles: read, refused by name, and declared; right kernels beside wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import F32, I1, I32, I64, TOKEN, ModuleBuilder, pointer, tile
from tileverify.results import KernelResult, Verdict
from tileverify.system.errors import DecodeError, EncodeError

from ...command_line import CommandLine
from ...written_kernel import judged, written

CALL = "preview$call"
P = tile(pointer(F32))


def kernel(*, apart: bool = True, token: bool = True, results: tuple[Any, ...] = (), then_load: bool = False) -> bytes:
    """``fft(x + 128 * bid, out + 128 * bid)``; not ``apart``: of ``bid / 2`` for out.

    Parameters as of cuTile: pointer, size and stride of x, then of out.
    """
    module = ModuleBuilder((13, 5))
    with module.entry("k", [P, tile(I32), tile(I32), P, tile(I32), tile(I32)]) as f:
        x, _, _, out, _, _ = f.parameters
        bid, _, _ = f.op("get_tile_block_id")
        size, two = f.constant(tile(I32), 128), f.constant(tile(I32), 2)
        from_ = f.op("offset", ptr=x, off=f.op("muli", lhs=bid, rhs=size))
        number = bid if apart else f.op("divi", lhs=bid, rhs=two, sgn="signed", rnd="zero")
        to = f.op("offset", ptr=out, off=f.op("muli", lhs=number, rhs=size))
        start = (f.op("make_token"),) if token else ()
        made = f.op(CALL, args=(from_, to, *start), callee="fft", const_args=(), results=[*results, *(TOKEN,) * token])
        if then_load:
            last = made if token else None
            f.op("load_ptr_tko", ptr=to, token=last, results=[tile(F32), TOKEN])
        f.op("return")
    return encode(module.build())


SPEC = """
kernel = "k"
grid = ["B"]
args = {{ x = "f32[128 * B]", out = "f32[{out}]" }}
{more}
"""
DECLARED = 'calls = { fft = { reads = ["$0[128]"], writes = ["$1[128]"] } }'


def checked(tmp_path: Path, data: bytes, more: str = DECLARED, out: str = "128 * B") -> KernelResult:
    return judged(tmp_path, data, SPEC.format(more=more, out=out))


def test_a_call_is_read_and_written_byte_for_byte() -> None:
    for data in (kernel(), kernel(token=False, results=(tile(F32, 8), tile(I64)))):
        assert data[10] == 1
        module = decode(data)
        assert module.preview
        assert encode(module) == data


def test_the_tag_of_the_file_and_its_ops_agree() -> None:
    data = bytearray(kernel())
    data[10] = 0
    with pytest.raises(DecodeError, match="its version tag does not say so"):
        decode(bytes(data))
    data[10] = 3
    with pytest.raises(DecodeError, match="unknown version tag 0x3"):
        decode(bytes(data))
    data[9:11] = bytes([4, 1])
    with pytest.raises(DecodeError, match="unknown version tag 0x1"):
        decode(bytes(data))


def test_a_call_needs_its_version_and_a_name() -> None:
    old = ModuleBuilder((13, 4))
    with old.entry("k", []) as f:
        f.op(CALL, args=(), callee="fft", const_args=(), results=[])
        f.op("return")
    with pytest.raises(EncodeError, match=r"needs bytecode version 13\.5"):
        encode(old.build())
    with pytest.raises(EncodeError, match="it names no function"), ModuleBuilder((13, 5)).entry("k", []) as f:
        f.op(CALL, args=(), callee="", const_args=(), results=[])


def test_an_undeclared_call_is_named(tmp_path: Path) -> None:
    result = checked(tmp_path, kernel(), "")
    (finding,) = result.findings
    assert (result.verdict, finding.code) == (Verdict.UNDECIDED, "TV902")
    assert "'fft' is code of a library" in finding.message
    assert 'calls = { "fft" =' in finding.hints[0].text


def test_declared_regions_of_blocks_apart_are_proved(tmp_path: Path) -> None:
    result = checked(tmp_path, kernel())
    assert (result.verdict, result.findings) == (Verdict.PROVED, ())
    assert result.deterministic is not True
    (trusted,) = result.trusted
    assert trusted == "calls: the call of fft reads $0[128], writes $1[128], and touches nothing else"
    assert any(line.startswith("declared: the call of fft") for line in result.stated)


def test_a_declared_write_of_two_blocks_is_a_race(tmp_path: Path) -> None:
    result = checked(tmp_path, kernel(apart=False))
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV101")
    twice = DECLARED.replace("$1[128]", "$1[129]")
    result = checked(tmp_path, kernel(), twice, out="128 * B + 1")
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV101")


def test_a_declared_read_of_what_others_write_is_a_race(tmp_path: Path) -> None:
    both = DECLARED.replace('"$0[128]"', '"$0[128]", "$1[129]"')
    result = checked(tmp_path, kernel(), both, out="128 * B + 1")
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV102")


def test_a_declared_region_outside_of_the_array_is_one(tmp_path: Path) -> None:
    result = checked(tmp_path, kernel(), out="128 * B - 1")
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV302")


def test_any_element_of_an_array_is_never_refuted(tmp_path: Path) -> None:
    """It says what the call may write: two blocks that may meet leave the verdict open."""
    whole = DECLARED.replace("$1[128]", "out")
    result = checked(tmp_path, kernel(), whole)
    assert result.verdict is Verdict.UNDECIDED
    assert {finding.obligation for finding in result.findings} == {"TV101"}
    one = SPEC.format(more=whole, out="128 * B").replace('grid = ["B"]', "grid = [1]")
    assert judged(tmp_path, kernel(), one).verdict is Verdict.PROVED
    reads = DECLARED.replace("$0[128]", "x")
    assert checked(tmp_path, kernel(), reads).verdict is Verdict.PROVED


def test_what_a_call_writes_is_no_content_of_before(tmp_path: Path) -> None:
    """Nobody may take ``out`` for an array that no block writes."""
    from tileverify.frontend.bytecode.traverse import walk
    from tileverify.frontend.sources.abi import under_contract
    from tileverify.frontend.symbolic.execute import summarize

    from ...written_kernel import unit_at

    for words, stable in (("$1[128]", {"x"}), ("out", {"x"}), ("x", {"out"})):
        file = written(tmp_path, kernel(), SPEC.format(more=DECLARED.replace("$1[128]", words), out="128 * B"))
        unit = unit_at(file)
        module = decode(unit.bytecode)
        entry = under_contract(module.entries[0], unit.launch, unit.parameters)
        assert CALL not in {op.name for op in walk(entry.body)}
        assert summarize(module, entry, unit.parameters).stable_arrays == stable


def test_later_accesses_wait_by_the_tokens_of_the_call(tmp_path: Path) -> None:
    assert checked(tmp_path, kernel(then_load=True)).verdict is Verdict.PROVED
    result = checked(tmp_path, kernel(then_load=True, token=False))
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV201")


def test_declared_atomics_meet_each_other_alone(tmp_path: Path) -> None:
    atomics = 'calls = { fft = { reads = ["$0[128]"], atomics = ["$1[128]"] } }'
    assert checked(tmp_path, kernel(apart=False), atomics).verdict is Verdict.PROVED
    result = checked(tmp_path, kernel(apart=False, then_load=True), atomics)
    assert (result.verdict, result.findings[0].obligation) == (Verdict.UNDECIDED, "TV103")  # its value is unknown


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ("[]", "must be a table for each function"),
        ("{ fft = { writez = [] } }", "'writez' of 'fft' is none of reads, writes, atomics"),
        ('{ fft = { writes = ["outt"] } }', "'outt' of 'fft.writes' is not an array argument of this launch"),
        ('{ fft = { writes = ["$1[0]"] } }', "a region has 1 to"),
        ('{ fft = { writes = ["$2[4]"] } }', "operand 2 is no pointer"),
        ('{ fft = { writes = ["$7[4]"] } }', "the call has 3 operands"),
        ('{ fftt = { writes = ["$1[4]"] } }', "the kernel 'k' calls no 'fftt'"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path: Path, tileverify: CommandLine, calls: str, message: str) -> None:
    found = tileverify("check", str(written(tmp_path, kernel(), SPEC.format(more=f"calls = {calls}", out="128 * B"))))
    assert found.code == 2
    assert message in " ".join((found.out + found.err).split())


def test_a_call_cannot_be_run(tmp_path: Path, tileverify: CommandLine) -> None:
    spec = SPEC.format(more='calls = { fft = { reads = ["$0[128]"] } }', out="128 * B")
    found = tileverify("run", str(written(tmp_path, kernel(), spec)), "--size", "B=2")
    assert found.code != 0
    assert "the call of 'fft', code of a library" in " ".join((found.out + found.err).split())


def test_a_certificate_names_what_is_declared(tmp_path: Path, tileverify: CommandLine) -> None:
    file = written(tmp_path, kernel(), SPEC.format(more=DECLARED, out="128 * B"))
    assert tileverify("check", str(file), "--certificate", str(tmp_path / "proofs")).code == 0
    found = tileverify("recheck", "--strict", str(tmp_path / "proofs"))
    assert found.code == 0
    assert "that the call of fft reads $0[128], writes $1[128], and touches nothing else (calls)" in found.out
    (certificate,) = (tmp_path / "proofs").glob("*.json")
    certificate.write_text(certificate.read_text().replace("$1[128]", "$1[129]"))
    assert tileverify("recheck", "--strict", str(tmp_path / "proofs")).code != 0


def test_the_words_of_a_spec_read_back(tmp_path: Path) -> None:
    from tileverify.contract.declared_calls import calls_table, read_calls

    table = {"f": {"reads": ["$0[5]", "x"]}, "g": {"atomics": ["x"], "writes": ["$1[128]"]}}
    calls = read_calls(table, ["x"])
    assert calls_table(calls) == {"f": {"reads": ["$0[5]", "x"]}, "g": {"writes": ["$1[128]"], "atomics": ["x"]}}
    assert read_calls(calls_table(calls), ["x"]) == calls


def test_a_call_on_a_path_and_in_a_loop(tmp_path: Path) -> None:
    """It touches memory only where control comes, and once in each iteration."""

    def made(looped: bool) -> bytes:
        module = ModuleBuilder((13, 5))
        with module.entry("k", [P, tile(I32), tile(I32), P, tile(I32), tile(I32)]) as f:
            bid, _, _ = f.op("get_tile_block_id")
            zero, one, four = (f.constant(tile(I32), number) for number in (0, 1, 4))
            first = f.op("cmpi", lhs=bid, rhs=zero, pred="equal", sgn="signed", results=[tile(I1)])
            x, out = f.parameters[0], f.parameters[3]
            with f.if_(first) as branch, branch.then():
                start = f.op("make_token")
                if looped:
                    with f.for_(zero, four, one) as loop:
                        f.op(CALL, args=(x, out, start), callee="fft", const_args=(), results=[TOKEN])
                        f.op("continue")
                    assert len(loop.arguments) == 1
                else:
                    f.op(CALL, args=(x, out, start), callee="fft", const_args=(), results=[TOKEN])
                f.op("yield")
            f.op("return")
        return encode(module.build())

    words = 'kernel = "k"\nnames = ["B"]\ngrid = ["B"]\nargs = { x = "f32[128]", out = "f32[128]" }\n' + DECLARED
    found = judged(tmp_path, made(looped=False), words)
    assert (found.verdict, found.findings) == (Verdict.PROVED, ())
    result = judged(tmp_path, made(looped=True), words)
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV201")


def by_cuda_tile() -> bytes:
    """A call in bytes that cuda.tile's own encoder writes: constants, attributes of operands, two results."""
    from cuda.tile._bytecode import (
        MISSING_DEBUG_ATTR_ID,
        BytecodeVersion,
        encodings,
        patch_header_preview_flag,
        write_bytecode,
    )
    from cuda.tile._bytecode.attribute import Bool, Integer
    from cuda.tile._bytecode.type import SimpleType
    from cuda.tile._bytecode.type_base import PtrAttr

    buffer = bytearray()
    with write_bytecode(1, buffer, BytecodeVersion.V_13_5) as writer:
        types = writer.type_table
        f32, i32, token = types.F32, types.I32, types.simple(SimpleType.Token)
        pointers, tiles = types.tile(types.pointer(f32, PtrAttr.Missing), ()), types.tile(f32, (8,))
        with writer.function("k", [pointers], [], True, {}, MISSING_DEBUG_ATTR_ID) as (code, (x,)):
            start = encodings.encode_MakeTokenOp(code, token)
            constants = [Integer(i32, 32, 7), Bool(True)]
            results, operands = [tiles, token], [x, start]
            encodings.encode_PreviewCallOp(code, results, operands, "nvshmem_get", constants, [Bool(False)], None)
            encodings.encode_ReturnOp(code, [])
    patch_header_preview_flag(buffer, BytecodeVersion.V_13_5)
    return bytes(buffer)


def test_a_call_of_cuda_tiles_encoder_is_read(tmp_path: Path) -> None:
    """cuda.tile 1.7 has the encoder of the op, and no front end that uses it."""
    pytest.importorskip("cuda.tile._bytecode.encodings")
    data = by_cuda_tile()
    module = decode(data)
    assert encode(module) == data
    _, call, _ = module.entries[0].body.ops
    assert (call.name, call.attributes["callee"]) == (CALL, "nvshmem_get")
    assert [getattr(each, "value", each) for each in call.attributes["const_args"]] == [7, True]
    assert (call.attributes["arg_attrs"], call.attributes["res_attrs"]) == ((False,), None)
    spec = 'kernel = "k"\ngrid = [1]\nargs = { x = "f32[8]" }\ncalls = { nvshmem_get = { writes = ["$0[8]"] } }'
    assert judged(tmp_path, data, spec).verdict is Verdict.PROVED
