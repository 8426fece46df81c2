"""``allow = ["same-value-stores(out)"]``: each premise of the rule, by a kernel that would be proved without it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tileverify.contract.allowed import allowed_text, equal_store_arrays, read_allow
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I1, I32, ModuleBuilder, pointer, tile
from tileverify.results import FindingLevel, KernelResult, Verdict
from tileverify.system.errors import SpecError

from ..command_line import CommandLine
from ..written_kernel import judged, written

HEAD = """import cuda.tile as ct
ConstInt = ct.Constant[int]

@ct.kernel
def k({parameters}):
{body}
"""
SPEC = """[[launch]]
kernel = "k"
grid = [{grid}]
{more}
args = {{ {args} }}
"""
ALLOW = 'allow = ["same-value-stores(out)"]'
X = 'x = "f32[N]", out = "f32[N]", TILE = 128'
ROWS = '"cdiv(N, 128)", "M"'


def checked(tmp_path: Path, body: str, *, args: str = X, grid: str = ROWS, more: str = ALLOW) -> KernelResult:
    names = [part.split("=")[0].strip() for part in args.split(", ") if "=" in part]
    parameters = ", ".join(f"{name}: ConstInt" if name.isupper() else name for name in names)
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    if '"M"' in grid:
        more = f'{more}\nnames = ["M"]'
    return judged(
        tmp_path, HEAD.format(parameters=parameters, body=lines), SPEC.format(grid=grid, more=more, args=args)
    )


LOAD = "t = ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)\n"
STORE = "ct.store(out, (ct.bid(0),), {})"


@pytest.mark.parametrize(
    "value", ["t", "2.0 * t + 1.0", "ct.exp(t)", "ct.maximum(t, 0.0)", "ct.zeros((TILE,), dtype=ct.float32)", "-t"]
)
def test_equal_values_are_a_note(tmp_path: Path, value: str) -> None:
    result = checked(tmp_path, LOAD + STORE.format(value))
    assert result.verdict is Verdict.PROVED
    (note,) = result.findings
    assert (note.code, note.level) == ("TV101", FindingLevel.NOTE)
    assert "equal values" in note.message
    assert result.trusted == ("same-value-stores(out)",)


@pytest.mark.parametrize(
    "value",
    [
        "t * ct.bid(1)",
        "t + ct.bid(1) * 0.5",
        "ct.where(ct.arange(TILE, dtype=ct.int32) == 5, t + 1.0 * ct.bid(1), t)",
        "ct.where(ct.bid(1) == 1, -t, t)",
    ],
)
def test_values_that_differ_are_refuted(tmp_path: Path, value: str) -> None:
    result = checked(tmp_path, LOAD + STORE.format(value))
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV101")
    assert result.findings[0].level is FindingLevel.ERROR


def test_without_the_word_nothing_changes_but_the_help(tmp_path: Path) -> None:
    result = checked(tmp_path, LOAD + STORE.format("t"), more="")
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV101")
    assert any(ALLOW in hint.text for hint in result.findings[0].hints)


def test_the_help_is_silent_where_values_differ(tmp_path: Path) -> None:
    result = checked(tmp_path, LOAD + STORE.format("t + 0.0 * ct.bid(1)"), more="")
    assert not any("allow" in hint.text for hint in result.findings[0].hints)


def test_a_word_without_use_is_told(tmp_path: Path) -> None:
    result = checked(tmp_path, LOAD + STORE.format("t"), grid='"cdiv(N, 128)"')
    assert result.verdict is Verdict.PROVED
    assert not result.findings
    assert any("is not needed" in note for note in result.notes)


def test_lanes_are_compared_at_one_element(tmp_path: Path) -> None:
    """Tiles of one index meet lane by lane; what lies at other lanes of the same block need not be equal."""
    args = 'out = "i32[128]", TILE = 128'
    body = "ct.store(out, (0,), ct.arange(TILE, dtype=ct.int32))"
    assert checked(tmp_path, body, args=args, grid='"M"').verdict is Verdict.PROVED
    shifted = (
        "ct.scatter(out, ((ct.arange(TILE, dtype=ct.int32) + ct.bid(0)) % TILE,), ct.arange(TILE, dtype=ct.int32))"
    )
    assert checked(tmp_path, shifted, args=args, grid='"M"').verdict is Verdict.REFUTED


def test_only_the_array_of_the_word(tmp_path: Path) -> None:
    args = 'x = "f32[N]", out = "f32[N]", more = "f32[N]", TILE = 128'
    body = LOAD + STORE.format("t") + "\nct.store(more, (ct.bid(0),), t)"
    result = checked(tmp_path, body, args=args)
    assert result.verdict is Verdict.REFUTED
    assert {site.array for site in result.findings[0].sites} == {"more"}


def test_what_a_block_writes_is_no_value(tmp_path: Path) -> None:
    """``y`` is written in the launch: a load from it may give something else in each block."""
    args = 'y = "f32[N]", out = "f32[N]", TILE = 128'
    body = "t = ct.load(y, (ct.bid(0),), (TILE,))\nct.store(y, (ct.bid(0),), t + 1.0)\n" + STORE.format("t")
    assert checked(tmp_path, body, args=args).verdict is not Verdict.PROVED


def test_an_array_that_may_be_the_same_is_no_value(tmp_path: Path) -> None:
    result = checked(tmp_path, LOAD + STORE.format("2.0 * t"), more=f'{ALLOW}\nalias = [["x", "out"]]')
    assert result.verdict is not Verdict.PROVED


def test_open_padding_is_no_value(tmp_path: Path) -> None:
    body = "t = ct.load(x, (ct.bid(0),), (TILE,))\n" + STORE.format("t")
    assert checked(tmp_path, body).verdict is Verdict.PROVED  # what is open lies outside of out, too
    args = 'x = "f32[N]", out = "f32[N + 200]", TILE = 128'
    assert checked(tmp_path, body, args=args, more=f'{ALLOW}\nrequires = ["N >= 1"]').verdict is Verdict.REFUTED


def test_a_sum_of_lanes_is_undecided(tmp_path: Path) -> None:
    args = 'x = "f32[N]", out = "f32[1]", TILE = 128'
    body = "ct.store(out, (0,), ct.sum(ct.load(x, (0,), (TILE,), padding_mode=ct.PaddingMode.ZERO)))"
    result = checked(tmp_path, body, args=args, grid='"M"', more=f'{ALLOW}\nrequires = ["N >= 1"]')
    assert (result.verdict, result.findings[0].code) == (Verdict.UNDECIDED, "TV904")
    assert "proves nothing" in result.findings[0].message


def test_what_a_loop_carries_or_hands_on_has_no_bits(tmp_path: Path) -> None:
    body = LOAD + "n = ct.bid(1)\nwhile n > 0:\n    t = t * 0.5\n    n = n - 1\n" + STORE.format("t")
    assert checked(tmp_path, body).verdict is not Verdict.PROVED
    body = LOAD + "n = 0\nwhile True:\n    u = t * (n + 1.0)\n    if n >= ct.bid(1):\n        break\n    n = n + 1\n"
    assert checked(tmp_path, body + STORE.format("u")).verdict is not Verdict.PROVED


def test_two_ops_of_one_kind_are_two_functions(tmp_path: Path) -> None:
    body = LOAD + f"if ct.bid(1) == 0:\n    {STORE.format('t * 3.0')}\nelse:\n    {STORE.format('t * 3.0')}"
    result = checked(tmp_path, body)
    assert (result.verdict, result.findings[0].code) == (Verdict.UNDECIDED, "TV904")


def test_different_lanes_of_an_op_are_not_compared(tmp_path: Path) -> None:
    args = 'x = "f32[1000]", out = "f32[1000]", TILE = 128'
    lanes = "lanes = ct.minimum(ct.bid(0) * TILE, 1000 - TILE) + ct.arange(TILE, dtype=ct.int32)\n"
    copy = lanes + "ct.scatter(out, (lanes,), ct.gather(x, (lanes,)))"
    assert checked(tmp_path, copy, args=args, grid='"8"').verdict is Verdict.PROVED
    halves = lanes + "ct.scatter(out, (lanes,), ct.gather(x, (lanes,)) * 0.3)"
    assert checked(tmp_path, halves, args=args, grid='"8"').verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("out", "must be a list of words"),
        ([1], "must be a list of words"),
        (["same-value-stores"], "is nothing that can be allowed"),
        (["same-value-store(out)"], "did you mean"),
        (["same-value-stores(ouf)"], "'ouf' is not an array argument of this launch"),
    ],
)
def test_mistakes_in_the_word(value: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        read_allow(value, ["x", "out"])


def test_words_read_back() -> None:
    words = read_allow(["same-value-stores( out )", "same-value-stores(a[0])"], ["out", "a[0]"])
    assert equal_store_arrays(words) == {"out", "a[0]"}
    assert read_allow(words, ["out", "a[0]"]) == words
    assert allowed_text(words)[1].startswith("blocks may store equal values at one element of out")


def test_an_unknown_array_is_a_mistake_of_the_command(tmp_path: Path, tileverify: CommandLine) -> None:
    source = HEAD.format(parameters="x, out, TILE: ConstInt", body="    " + STORE.format("ct.load(x, (0,), (TILE,))"))
    spec = SPEC.format(grid='"1"', more='allow = ["same-value-stores(ouf)"]', args=X)
    found = tileverify("check", str(written(tmp_path, source, spec)))
    assert found.code == 2
    assert "'ouf' is not an array argument of this launch" in " ".join((found.out + found.err).split())


def test_a_finding_of_json_is_a_note_again() -> None:
    from tileverify.results import Finding

    finding = Finding("TV101", "", allowed=True)
    assert finding.level is FindingLevel.NOTE
    assert replace(finding, message="x").level is FindingLevel.NOTE
    assert not finding.refutes


@pytest.mark.parametrize("change", ["allow", "stored", ""])
def test_a_certificate_rests_on_the_word_and_on_the_values(
    tmp_path: Path, tileverify: CommandLine, change: str
) -> None:
    source = HEAD.format(parameters="x, out, TILE: ConstInt", body=f"    {LOAD}    {STORE.format('2.0 * t')}")
    spec = SPEC.format(grid=ROWS, more=f'{ALLOW}\nnames = ["M"]', args=X)
    file = written(tmp_path, source, spec)
    assert tileverify("check", str(file), "--certificate", str(tmp_path / "proofs")).code == 0
    (certificate,) = (tmp_path / "proofs").glob("*.json")
    document = json.loads(certificate.read_text())
    assert document["launch"]["allow"] == ["same-value-stores(out)"]
    if change == "allow":
        del document["launch"]["allow"]
    if change == "stored":
        document["reading"]["stored"][0][1] = document["reading"]["sites"][1][6]
    certificate.write_text(json.dumps(document))
    found = tileverify("recheck", "--strict", str(tmp_path / "proofs"))
    assert (found.code == 0) == (not change)
    assert change or "that stores of equal bits which nothing orders leave these bits" in found.out


def test_a_matrix_product_takes_more_than_its_own_lane(tmp_path: Path) -> None:
    args = 'x = "f32[16, 16]", out = "f32[16, 16]"'
    body = """
a = ct.load(x, (0, 0), (16, 16))
columns = ct.arange(16, dtype=ct.int32)[None, :]
other = ct.where(columns == 3, a * ct.bid(1), a)
product = ct.mma(other, other, ct.zeros((16, 16), dtype=ct.float32))
ct.store(out, (0, 0), ct.where(columns == 3, ct.zeros((16, 16), dtype=ct.float32), product))
"""
    assert checked(tmp_path, body, args=args, grid='1, "M"').verdict is not Verdict.PROVED


def test_what_changes_under_a_lock_is_no_value(tmp_path: Path) -> None:
    """No block reads ``y`` in a race, and each finds another number there."""
    args = 'lock = "i32[1]", y = "f32[1]", out = "f32[1]"'
    body = """
while ct.atomic_cas(lock, (0,), 0, 1).item() != 0:
    pass
t = ct.load(y, (0,), ()).item()
ct.store(y, (0,), t + 1.0)
ct.atomic_xchg(lock, (0,), 0)
ct.store(out, (0,), t)
"""
    locked = body.replace("ct.store(out, (0,), t)\n", "")
    assert checked(tmp_path, locked, args=args, grid='"M"', more="").verdict is Verdict.PROVED
    assert checked(tmp_path, body, args=args, grid='"M"').verdict is not Verdict.PROVED


@pytest.mark.parametrize(("scopes", "code"), [((None, None), "note"), (("device", None), "TV103")])
def test_a_scoped_store_is_no_plain_one(tmp_path: Path, scopes: tuple[str | None, ...], code: str) -> None:
    module = ModuleBuilder((13, 4))
    with module.entry("k", [tile(pointer(I32))]) as f:
        (out,), seven = f.parameters, f.constant(tile(I32), 7)
        (bid, _, _), zero = f.op("get_tile_block_id"), f.constant(tile(I32), 0)
        first = f.op("cmpi", lhs=bid, rhs=zero, pred="equal", sgn="signed", results=[tile(I1)])
        with f.if_(first) as branch:
            for region, scope in zip((branch.then, branch.otherwise), scopes, strict=True):
                with region():
                    order: dict[str, Any] = {} if scope is None else {"ord": "relaxed", "scope": scope}
                    f.op("store_ptr_tko", ptr=out, val=seven, **order)
                    f.op("yield")
        f.op("return")
    spec = f'kernel = "k"\ngrid = [4]\nargs = {{ out = "i32[1]" }}\n{ALLOW}'
    result = judged(tmp_path, encode(module.build()), spec)
    if code == "note":
        assert (result.verdict, result.findings[0].level) == (Verdict.PROVED, FindingLevel.NOTE)
    else:
        assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, code)
