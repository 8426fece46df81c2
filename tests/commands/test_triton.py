"""Triton kernels by command: found, described, proved and refuted, with their errors."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

HEAD = "import triton\nimport triton.language as tl\n\n\n"
ADD = """@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, mask=live) + tl.load(y + at, mask=live, other=0.0), mask=live)
"""
TUNED = """@triton.autotune(configs=[
    triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 128}), triton.Config({'BLOCK': 256}),
], key=['n'])
"""
LAUNCH = """[[launch]]
kernel = "add"
grid = ["cdiv(n, 128)"]
args = { x = "f32[n]", y = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 128 }
"""


def write(source: str, spec: str = "", name: str = "kernels") -> str:
    Path(f"{name}.py").write_text(HEAD + source, encoding="utf-8")
    if spec:
        Path(f"{name}.tileverify.toml").write_text(spec, encoding="utf-8")
    return f"{name}.py"


def results(tileverify: CommandLine, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(tileverify("check", *arguments, "--format", "json").out)["results"]
    return found


def test_a_kernel_with_a_spec_is_proved(tileverify: CommandLine) -> None:
    (result,) = results(tileverify, write(ADD, LAUNCH))
    assert result["verdict"] == "proved"
    assert result["producer"] == "triton"
    assert result["line"] == 6
    assert result["requires"] == []


def test_a_kernel_without_a_spec_is_guessed_at(tileverify: CommandLine) -> None:
    (result,) = results(tileverify, write(ADD.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = 64")))
    assert result["verdict"] == "proved"
    assert result["contract"] == "inferred"
    assert set(result["requires"]) >= {"n <= x_size", "n <= y_size", "n <= out_size"}  # type: ignore[call-overload]
    assert "BLOCK = 64" in str(result["notes"])


def test_guessed_types_come_from_the_accesses(tileverify: CommandLine) -> None:
    source = """@triton.jit
def take(out, x, index, n, BLOCK: tl.constexpr = 32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(x + row, mask=at < n), mask=at < n)
"""
    (result,) = results(tileverify, write(source))
    assert 'out = "f32[out_size]"; x = "f32[x_size]"; index = "i32[index_size]"; n = "i32"' in str(result["notes"])


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (", mask=live)\n", ")\n", "TV302"),
        ("tl.program_id(0) * BLOCK", "tl.program_id(0) * 64", "TV101"),
        ("other=0.0", "other=1.0", None),
        ("at < n", "at <= n", "TV302"),
    ],
)
def test_mistakes_are_refuted(tileverify: CommandLine, old: str, new: str, code: str | None) -> None:
    assert old in ADD
    (result,) = results(tileverify, write(ADD.replace(old, new, 1 if code else -1), LAUNCH))
    codes = {finding["code"] for finding in result["findings"]}  # type: ignore[attr-defined]
    assert codes == ({code} if code else set())
    assert result["verdict"] == ("refuted" if code else "proved")


SHIFT = """@triton.jit
def shift(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    {first}
    {second}
"""
SHIFT_LAUNCH = '[[launch]]\nkernel = "shift"\ngrid = [1]\nargs = { x = "i32[65]", BLOCK = 64 }\n'


@pytest.mark.parametrize(
    ("first", "second", "triton", "program"),
    [
        ("tl.store(x + at, at)", "tl.store(x + at + 1, tl.load(x + at))", "refuted", "proved"),
        ("tl.store(x + at, at)", "tl.debug_barrier(); tl.store(x + at, tl.load(x + at) + 1)", "proved", "proved"),
        ("value = tl.load(x + at)", "tl.store(x + at, value * 2)", "proved", "proved"),
        ("value = tl.load(x + at)", "tl.store(x + 63 - at, value)", "undecided", "proved"),
        ("value = tl.load(x + at)", "tl.store(x + at, tl.sum(value, 0) + at)", "proved", "proved"),
        ("value = tl.load(x + at)", "tl.store(x + at, at); tl.store(x + 64, tl.sum(value, 0))", "undecided", "proved"),
        ("value = tl.load(x + at)", "tl.store(x + at, value, mask=at < 32)", "undecided", "proved"),
        ("tl.store(x + at, at)", "tl.store(x + at + 1, at)", "refuted", "proved"),
        ("tl.store(x + at, at)", "tl.atomic_add(x + at, 1)", "proved", "proved"),
        ("tl.store(x + at, at)", "tl.atomic_add(x + at, 1, sem='relaxed')", "refuted", "proved"),
    ],
)
def test_both_orders(tileverify: CommandLine, first: str, second: str, triton: str, program: str) -> None:
    source = SHIFT.format(first=first, second=second)
    spec = SHIFT_LAUNCH + SHIFT_LAUNCH + 'name = "program"\norder = "program"\n'
    default, ordered = results(tileverify, write(source, spec))
    assert (default["verdict"], ordered["verdict"]) == (triton, program)
    codes = {finding["code"] for finding in default["findings"]}  # type: ignore[attr-defined]
    assert codes == {"proved": set(), "refuted": {"TV201"}, "undecided": {"TV905"}}[triton]
    assert 'order = "triton"' in default["stated"]  # type: ignore[operator]
    assert 'order = "program"' in ordered["stated"]  # type: ignore[operator]


IN_PLACE = """@triton.jit
def changed(out, x, s: tl.int32, t: tl.int32, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at * s)
    tl.store(out + {place}, {value})
"""
IN_PLACE_LAUNCH = """
[[launch]]
kernel = "changed"
grid = [1]
requires = ["x is out"]
args = { out = "f32[300]", x = "f32[300]", s = "i32 = 3", t = "i32 = 3", BLOCK = 64 }
"""


@pytest.mark.parametrize(
    ("place", "value", "triton", "program"),
    [
        ("at * s", "-value", "proved", "proved"),
        ("at * s", "tl.where(value > 0, value, 0.0)", "proved", "proved"),
        ("at * s", "tl.where(at > 3, value, 0.0)", "proved", "proved"),
        ("at * t", "-value", "proved", "proved"),
        ("63 - at", "-value", "undecided", "proved"),
        ("at * s", "0.0); tl.store(out + at * s + s, 1.0", "refuted", "proved"),
    ],
)
def test_a_tensor_that_is_passed_twice_is_one_array(
    tileverify: CommandLine, place: str, value: str, triton: str, program: str
) -> None:
    spec = IN_PLACE_LAUNCH + IN_PLACE_LAUNCH + 'name = "program"\norder = "program"\n'
    source = write(IN_PLACE.format(place=place, value=value), spec)
    default, ordered = results(tileverify, source)
    assert (default["verdict"], ordered["verdict"]) == (triton, program)
    assert ("s == t" in default["stated"]) == (place == "at * t")  # type: ignore[operator]


@pytest.mark.parametrize("step", ["i32 = 4", "i32"])
def test_other_steps_through_one_array_are_no_places_of_the_same_lane(tileverify: CommandLine, step: str) -> None:
    launch = IN_PLACE_LAUNCH.replace('t = "i32 = 3"', f't = "{step}"')
    (result,) = results(tileverify, write(IN_PLACE.format(place="at * t", value="-value"), launch))
    assert result["verdict"] != "proved"


def test_strides_are_compared_where_a_kernel_has_many_scalars(tileverify: CommandLine) -> None:
    rest = [f"n{number}" for number in range(16)]
    parameters = ", ".join(f"{name}: tl.int32" for name in rest)
    kernel = IN_PLACE.format(place="at * t", value="value + " + " + ".join(rest)).replace(
        "BLOCK:", f"{parameters}, BLOCK:"
    )
    launch = IN_PLACE_LAUNCH.replace(
        "BLOCK =", "".join(f'{name} = "i32 = {5 + len(name)}", ' for name in rest) + "BLOCK ="
    )
    (result,) = results(tileverify, write(kernel, launch))
    assert result["verdict"] == "proved"
    assert [clause for clause in result["stated"] if " == " in clause and "%" not in clause] == ["s == t"]  # type: ignore[attr-defined]


GRID_OF_TILES = """@triton.jit
def clear(c, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c + rows[:, None] * (tl.num_programs(1) * BN) + columns[None, :], 0.0)
"""
GRID_LAUNCH = """
[[launch]]
kernel = "clear"
grid = ["M // 32", "N // 32"]
requires = ["M % 32 == 0", "N % 32 == 0"]
args = { c = "f32[M, N]", BM = 32, BN = 32 }
"""


def test_a_limit_is_no_condition_of_a_written_contract_in_any_wording(tileverify: CommandLine) -> None:
    """Divided by 32, it is one that the solver does not see to be a limit."""
    (result,) = results(tileverify, write(GRID_OF_TILES, GRID_LAUNCH))
    assert (result["verdict"], result["requires"]) == ("proved", [])
    assert len(result["limits"]) == 1  # type: ignore[arg-type]
    assert {finding["code"] for finding in result["findings"]} == {"TV304"}  # type: ignore[attr-defined]


FLOATS = """@triton.jit
def change(x, other, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(x + at, {value})
    tl.store(other + at, value)
"""
FLOATS_LAUNCH = """[[launch]]
kernel = "change"
grid = [1]
args = { x = "TYPE[64]", other = "TYPE[64]", n = "i32", BLOCK = 64 }
"""


@pytest.mark.parametrize(
    ("value", "dtype", "verdict"),
    [
        ("value * 2 + n", "f32", "proved"),
        ("tl.where(value > 0, value, 0.0)", "f32", "proved"),
        ("tl.exp(value - tl.max(value, 0))", "f32", "proved"),
        ("value - value", "f32", "proved"),  # NaN stays NaN: no compiler may know it
        ("tl.maximum(value, 0.0)", "f32", "proved"),
        ("tl.where(at < 32, value, 0.0)", "f32", "undecided"),  # half of the lanes need nothing
        ("tl.where(tl.abs(value) < 0.0, 1.0, 2.0)", "f32", "undecided"),  # never: the answer needs nothing
        ("tl.where(value < float('-inf'), 1.0, 2.0)", "f32", "undecided"),
        ("tl.where(value > value, 1.0, 2.0)", "f32", "undecided"),
        ("value + n", "i32", "proved"),
        ("at + tl.sum(value, 0)", "i32", "proved"),
        ("value ^ (value + 0)", "i32", "undecided"),
        ("at + tl.sum(value ^ (value + n - n), 0)", "i32", "undecided"),
        ("(value & 7) >> 3", "i32", "undecided"),
        ("at + n", "i32", "undecided"),
        ("tl.minimum(tl.maximum(value, 0.0), 1.0) * (n & 1 & 2).to(tl.float32)", "f32", "undecided"),  # finite times 0
        ("value * (n & 1 & 2)", "i32", "undecided"),  # times 0
        ("at + tl.sum(value, 0) * (n & 1 & 2)", "i32", "undecided"),
        ("value * 65536 * 65536", "i32", "undecided"),
        ("value * 3", "i32", "proved"),
    ],
)
def test_only_values_that_need_a_load_wait_for_it(
    tileverify: CommandLine, value: str, dtype: str, verdict: str
) -> None:
    (result,) = results(tileverify, write(FLOATS.format(value=value), FLOATS_LAUNCH.replace("TYPE", dtype)))
    assert result["verdict"] == verdict


BRANCHES = """@triton.jit
def branch(x, out, c, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    place = x + at
    value = tl.full((BLOCK,), 1, tl.int32)
    other = value
    if c > 0:
        {first}
    else:
        {second}
    tl.store(place, value)
    tl.store(out + at, other)
"""
BRANCHES_LAUNCH = """[[launch]]
kernel = "branch"
grid = [1]
args = { x = "i32[128]", out = "i32[128]", c = "i32", BLOCK = 128 }
"""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("value = tl.load(place)", "pass", "proved"),
        ("value += tl.load(place)", "value -= tl.load(place)", "proved"),
        ("value = tl.load(x + 127 - at)", "pass", "undecided"),
        ("other = tl.load(place)", "pass", "undecided"),
        ("value = tl.load(place)", "other = tl.load(place)", "undecided"),
        ("value = tl.load(place); other = tl.load(x + (at ^ 1))", "pass", "undecided"),
    ],
)
def test_a_branch_hands_on_the_loads_that_its_results_need(
    tileverify: CommandLine, first: str, second: str, verdict: str
) -> None:
    (result,) = results(tileverify, write(BRANCHES.format(first=first, second=second), BRANCHES_LAUNCH))
    assert result["verdict"] == verdict


def test_a_load_before_a_branch_is_needed_only_if_both_ways_need_it(tileverify: CommandLine) -> None:
    source = BRANCHES.format(first="value += before", second="SECOND").replace(
        "    if c", "    before = tl.load(place)\n    if c"
    )
    (both,) = results(tileverify, write(source.replace("SECOND", "value = before"), BRANCHES_LAUNCH))
    (one,) = results(tileverify, write(source.replace("SECOND", "other = before"), BRANCHES_LAUNCH))
    assert (both["verdict"], one["verdict"]) == ("proved", "undecided")


def test_helpers_are_no_kernels(tileverify: CommandLine) -> None:
    helper = "@triton.jit\ndef twice(value):\n    return value * 2\n\n\n"
    (result,) = results(tileverify, write(helper + ADD.replace("tl.load(x + at", "twice(tl.load(x + at", 1).replace(
        "mask=live) +", "mask=live)) +", 1), LAUNCH))  # fmt: skip
    assert result["kernel"] == "add"
    assert result["verdict"] == "proved"


def test_both_kinds_of_kernels_stand_in_one_file(tileverify: CommandLine) -> None:
    pytest.importorskip("cuda.tile")
    other = """

import cuda.tile as ct


@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
"""
    spec = LAUNCH + '[[launch]]\nkernel = "copy"\nargs = { x = "f32[N]", out = "f32[N]", TILE = 32 }\n'
    first, second = results(tileverify, write(ADD + other, spec))
    assert (first["kernel"], first["producer"], second["kernel"]) == ("add", "triton", "copy")
    assert "producer" not in second
    assert second["verdict"] == "proved"


def test_a_tuned_kernel_is_found(tileverify: CommandLine) -> None:
    tuned = "@triton.autotune(configs=[triton.Config({'BLOCK': 256})], key=['n'])\n"
    (result,) = results(tileverify, write(tuned + ADD))
    assert result["verdict"] == "proved"
    assert "BLOCK = 256" in str(result["notes"])


def test_every_configuration_is_judged(tileverify: CommandLine) -> None:
    spec = LAUNCH.replace(", BLOCK = 128", "").replace("kernel =", 'configs = "autotune"\nname = "tuned"\nkernel =')
    small, fitting, large = results(tileverify, write(TUNED + ADD, spec))
    assert [each["launch"] for each in (small, fitting, large)] == [
        "tuned-BLOCK=64-w2", "tuned-BLOCK=128-w4", "tuned-BLOCK=256-w4",
    ]  # fmt: skip
    assert (small["verdict"], fitting["verdict"], large["verdict"]) == ("proved", "proved", "proved")
    unmasked = ADD.replace("mask=live", "mask=at >= 0")
    padded = spec.replace('"f32[n]"', '"f32[128 * cdiv(n, 128)]"')
    verdicts = [each["verdict"] for each in results(tileverify, write(TUNED + unmasked, padded, "unmasked"))]
    assert verdicts == ["proved", "proved", "refuted"]


def test_certificates_are_confirmed(tileverify: CommandLine) -> None:
    assert tileverify("check", write(ADD, LAUNCH), "--certificate", "proofs").code == 0
    ran = tileverify("recheck", "proofs")
    assert ran.code == 0
    assert ran.out.startswith("confirmed")


def test_a_kernel_is_compared_with_its_reference(tileverify: CommandLine) -> None:
    source = write(ADD, LAUNCH)
    reference = (
        "def right(x, y, out, n):\n    return {'out': x + y}\n\n\ndef wrong(x, y, out, n):\n    return {'out': x - y}\n"
    )
    Path("reference.py").write_text(reference, encoding="utf-8")
    assert tileverify("equal", f"{source}::add", "--reference", "reference.py::right").code == 0
    assert tileverify("equal", f"{source}::add", "--reference", "reference.py::wrong").code == 1


def test_a_kernel_runs_and_is_built(tileverify: CommandLine) -> None:
    source = write(ADD, LAUNCH)
    ran = tileverify("run", f"{source}::add", "--size", "n=300")
    assert ran.code == 0
    assert tileverify("build", f"{source}::add", "-o", "add.tvk", "--arch", "none").code == 0
    assert "add" in tileverify("show", "add.tvk").out


def test_a_barrier_is_put_in_and_a_mask_on_request(tileverify: CommandLine) -> None:
    barrier = SHIFT.format(first="tl.store(x + at, at)", second="tl.store(x + at + 1, at)")
    source = write(barrier + "\n\n" + ADD.replace(", mask=live)\n", ")\n"), SHIFT_LAUNCH + LAUNCH)
    assert tileverify("check", source, "--fix").code == 1
    text = Path(source).read_text(encoding="utf-8")
    assert "    tl.store(x + at, at)\n    tl.debug_barrier()\n    tl.store(x + at + 1, at)\n" in text
    assert tileverify("check", source, "--unsafe-fixes", "--fix").code == 0
    assert "mask=live, other=0.0), mask=live)\n" in Path(source).read_text(encoding="utf-8")


LAUNCHED = """import tileverify


@tileverify.launch(grid=["cdiv(n, 128)"], args={"x": "f32[n]", "out": "f32[n]", "n": "i32", "BLOCK": 128})
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
"""


@pytest.mark.parametrize("above", [True, False])
def test_a_launch_is_written_on_a_kernel(tileverify: CommandLine, above: bool) -> None:
    launch, jit, rest = LAUNCHED.partition("@triton.jit\n")
    head, _, decorator = launch.partition("@tileverify")
    below = f"{head}{jit}@tileverify{decorator}{rest}"
    (result,) = results(tileverify, write(LAUNCHED if above else below))
    assert (result["verdict"], result["contract"], result["requires"]) == ("proved", "written", [])


def test_functions_that_call_each_other_alone_are_kernels(tileverify: CommandLine) -> None:
    source = "@triton.jit\ndef one(x):\n    other(x)\n\n\n@triton.jit\ndef other(x):\n    one(x)\n"
    found = results(tileverify, write(source))
    assert [(each["kernel"], each["verdict"]) for each in found] == [("one", "error"), ("other", "error")]
    assert "'other' calls itself, and Triton compiles no recursion" in str(found[0]["findings"])


def test_ir_of_the_cache_is_read_as_it_stands(tileverify: CommandLine, tmp_path: Path) -> None:
    from tileverify.frontend.sources.fixed_inputs import scan_python
    from tileverify.frontend.triton.triton_kernels import triton_ir, triton_kernels_of_file

    source = Path(write(ADD))
    (kernel,) = triton_kernels_of_file(source, scan_python(source))
    pointers = dict.fromkeys(("x", "y", "out"), "*fp32")
    text = triton_ir(kernel, {**pointers, "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128}, {})
    Path("add.ttir").write_text(text, encoding="utf-8")
    Path("add.tileverify.toml").write_text(LAUNCH.replace(", BLOCK = 128", ""), encoding="utf-8")
    (result,) = results(tileverify, "add.ttir")
    assert result["verdict"] == "proved"
    shutil.copy("add.ttir", "alone.ttir")
    (alone,) = results(tileverify, "alone.ttir")
    assert set(alone["requires"]) >= {"n <= x_size", "n <= y_size", "n <= out_size"}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("source", "spec", "told"),
    [
        (ADD.replace("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK + 1)"), LAUNCH, "range must be a power of 2"),
        (ADD.replace("n, BLOCK", "m, BLOCK"), LAUNCH, "'n' is no parameter"),
        (ADD.replace("other=0.0", "other=nothing"), LAUNCH, "kernels.py:9\n"),
        (ADD, LAUNCH + 'order = "tokens"\n', "order: must be one of 'triton', 'program'"),
        (ADD, LAUNCH + 'configs = "autotune"\n', "'add' has no @triton.autotune"),
        (TUNED + ADD, LAUNCH + 'configs = "autotune"\n', "args.BLOCK: the configurations of @triton.autotune give it"),
        (ADD, LAUNCH + "options = { num_warp = 4 }\n", "options.num_warp: is no option; did you mean 'num_warps'?"),
        (ADD, LAUNCH + "options = { num_warps = 0 }\n", "must be a positive integer"),
        (ADD, LAUNCH.replace('"f32[n]", y', '"f8e8m0[n]", y'), "Triton has no such argument of 'add'"),
        ("def broken(:\n", "", "syntax error"),
    ],
)
def test_errors_are_one_sentence(tileverify: CommandLine, source: str, spec: str, told: str) -> None:
    ran = tileverify("check", write(source, spec))
    assert ran.code == 2
    assert told in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


def test_words_of_triton_are_refused_elsewhere(tileverify: CommandLine) -> None:
    pytest.importorskip("cuda.tile")
    Path("copy.py").write_text(
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef copy(x, TILE: ct.Constant[int]):\n    ct.load(x, (0,), (TILE,))\n",
        encoding="utf-8",
    )
    spec = '[[launch]]\nkernel = "copy"\norder = "program"\nargs = { x = "f32[N]", TILE = 32 }\n'
    Path("copy.tileverify.toml").write_text(spec, encoding="utf-8")
    ran = tileverify("check", "copy.py")
    assert ran.code == 2
    assert "'copy' is no Triton kernel, so the launch has no 'order'" in ran.out + ran.err


def test_without_triton_one_sentence_says_what_to_install(
    tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "triton", None)
    ran = tileverify("check", write(ADD, LAUNCH))
    assert ran.code == 2
    assert "Triton kernels need the package triton" in ran.out
    assert "pip install 'tileverify[triton]'" in ran.out


def test_a_broken_file_of_ir_names_its_line(tileverify: CommandLine) -> None:
    Path("broken.ttir").write_text("module {\n  tt.func public @k(%x: !tt.ptr<f32>) {\n    ?\n", encoding="utf-8")
    ran = tileverify("check", "broken.ttir")
    assert ran.code == 2
    assert "broken.ttir:3" in ran.out


INTO = """@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(1):
        tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""
SHARED = """[[launch]]
kernel = "twice"
grid = ["cdiv(n, 128)"]
overlap = [["x", "y"]]
args = { x = "f32[n]", y = "f32[n]", n = "i32", BLOCK = 128 }
"""


@pytest.mark.parametrize("order", ["triton", "program"])
def test_an_array_under_two_names_is_ordered_as_one(tileverify: CommandLine, order: str) -> None:
    same = f'requires = ["x is y"]\norder = "{order}"\nargs'
    (result,) = results(tileverify, write(INTO, SHARED.replace("args", same)))
    assert result["verdict"] == "proved", result


def test_arrays_that_overlap_otherwise_are_ordered_by_no_lane(tileverify: CommandLine) -> None:
    one = INTO.replace("x + at, mask", "x + at + 1, mask").replace("cdiv(n, 128)", "1")
    moved = SHARED.replace("args", 'requires = ["x is y", "n == 128"]\nargs').replace("f32[n]", "f32[n + 1]")
    (result,) = results(tileverify, write(one, moved))
    assert result["verdict"] == "undecided"
    assert {finding["code"] for finding in result["findings"]} == {"TV905"}  # type: ignore[attr-defined]
    (result,) = results(tileverify, write(one, moved.replace("args", 'order = "program"\nargs')))
    assert result["verdict"] == "proved", result


def test_a_scalar_that_is_1_is_compiled_in_and_a_certificate_says_so(tileverify: CommandLine) -> None:
    strided = """@triton.jit
def copy(x, out, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at * step, tl.load(x + at * step, mask=at < n), mask=at < n)
"""
    arrays = 'x = "f32[n; strides=(step,)]", out = "f32[n; strides=(step,)]", n = "i32", step = "i32 = 1", BLOCK = 128'
    spec = f'[[launch]]\nkernel = "copy"\ngrid = ["cdiv(n, BLOCK)"]\nargs = {{ {arrays} }}\n'
    name = write(strided, spec)
    assert tileverify("check", name, "--certificate", "certificates").code == 0
    checked = tileverify("recheck", "certificates")
    assert checked.code == 0, checked.out
    assert "0 rejected" in checked.out


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("tl.store(x + at, v & 3, mask=at < n)", "proved"),
        ("tl.store(x + at, tl.where(v > 2, v, 0) << 1, mask=at < n)", "proved"),
        ("tl.store(x + at, v & 3, mask=at < n)\n    tl.store(y + at, v, mask=at < n)", "undecided"),
        ("tl.store(x + at, v & 3, mask=at < n - 1)", "undecided"),
        ("tl.store(x + at, (v & 3) + tl.cumsum(v, 0), mask=at < n)", "undecided"),
        ("tl.store(x + at, (v & 3) + tl.load(y + (v & 1)), mask=at < n)", "undecided"),
        ("tl.store(x + at, y_value & 3, mask=at < n)", "proved"),  # the load of `x` is dead
        ("tl.store(x + at, v & 3, mask=v < n)", "undecided"),
        ("if n > 5:\n        tl.store(x + at, v & 3, mask=at < n)", "undecided"),
        ("tl.store(x + (127 - at), v & 3, mask=at < n)", "undecided"),
    ],
)
def test_a_store_waits_for_a_load_that_only_it_needs(tileverify: CommandLine, body: str, verdict: str) -> None:
    kernel = f"""@triton.jit
def keep(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y_value = tl.load(y + at, mask=at < n)
    v = tl.load(x + at, mask=at < n)
    {body}
"""
    arrays = 'x = "i32[n]", y = "i32[n]", n = "i32", BLOCK = 128'
    spec = f'[[launch]]\nkernel = "keep"\ngrid = [1]\nrequires = ["n == 128"]\nargs = {{ {arrays} }}\n'
    (result,) = results(tileverify, write(kernel, spec))
    assert result["verdict"] == verdict, result
    if verdict == "undecided":
        assert "TV905" in {finding["code"] for finding in result["findings"]}  # type: ignore[attr-defined]


def test_what_is_undecided_inside_a_program_is_mended_by_a_barrier(tileverify: CommandLine) -> None:
    kernel = """@triton.jit
def turn(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + (BLOCK - 1 - at), tl.load(x + at) & 3)
"""
    name = write(kernel, '[[launch]]\nkernel = "turn"\ngrid = [1]\nargs = { x = "i32[128]", BLOCK = 128 }\n')
    (result,) = results(tileverify, name)
    findings: list[Any] = list(result["findings"])  # type: ignore[call-overload]
    (finding,) = findings
    assert finding["code"] == "TV905"
    texts = [hint["text"] for hint in finding["hints"]]
    assert any("tl.debug_barrier()" in text for text in texts)
    assert not any("release" in text for text in texts)


TWO_LOOPS = """@triton.jit
def again(x, n, BLOCK: tl.constexpr):
    {first}
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n, other=0.0)
        {step}
    {between}
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(x + at, {stored}, mask=at < n)
"""
WIDE = "tl.zeros([BLOCK], dtype=tl.float32)"


@pytest.mark.parametrize(
    ("first", "step", "between", "stored", "verdict"),
    [
        (f"total = {WIDE}", "total += value", "mean = tl.sum(total, axis=0) / n", f"mean + {WIDE}", "proved"),
        ("total = 0.0", "total += tl.sum(value)", "mean = total / n", "tl.load(x + at, mask=at < n) - mean", "proved"),
        # each lane waits for its own loads alone
        (f"total = {WIDE}", "total += value", "mean = total", "mean", "undecided"),
        # only the last round is needed
        ("total = 0.0", "total = tl.sum(value)", "mean = total", f"mean + {WIDE}", "undecided"),
        # sums of integers in which a compiler may know that two loads cancel each other
        ("total = 0", "total = total ^ tl.sum(value.to(tl.int32))", "mean = total", f"mean + {WIDE}", "undecided"),
        # every warp loads one value for itself, and one of them may have stored before
        ("total = 0.0", "total += tl.load(x + start)", "mean = total", f"mean + {WIDE}", "undecided"),
        (
            "total = 0.0",
            "total += tl.sum(tl.load(x + tl.arange(0, 16)), axis=0)",
            "mean = total",
            f"mean + {WIDE}",
            "undecided",
        ),
    ],
)
def test_what_a_loop_sums_up_orders_a_later_store(
    tileverify: CommandLine, first: str, step: str, between: str, stored: str, verdict: str
) -> None:
    kernel = TWO_LOOPS.format(first=first, step=step, between=between, stored=stored)
    arguments = 'args = { x = "f32[n]", n = "i32", BLOCK = 128 }'
    spec = f'[[launch]]\nkernel = "again"\ngrid = [1]\nrequires = ["n >= 64"]\n{arguments}\n'
    (result,) = results(tileverify, write(kernel, spec))
    assert result["verdict"] == verdict, result
    (program,) = results(tileverify, write(kernel, spec.replace("args", 'order = "program"\nargs')))
    assert program["verdict"] == "proved", program


def test_a_small_tile_is_loaded_by_every_warp_for_itself(tileverify: CommandLine) -> None:
    kernel = """@triton.jit
def spread(x, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x + tl.arange(0, SMALL)), axis=0)
    tl.store(x + tl.arange(0, BLOCK), tl.zeros([BLOCK], dtype=tl.float32) + total)
"""
    spec = '[[launch]]\nkernel = "spread"\ngrid = [1]\nargs = { x = "f32[256]", BLOCK = 256 }\n'
    (small,) = results(tileverify, write(kernel.replace("SMALL", "16"), spec))
    (same,) = results(tileverify, write(kernel.replace("SMALL", "256"), spec))
    assert (small["verdict"], same["verdict"]) == ("undecided", "proved")


@pytest.mark.parametrize(("element", "test"), [("bool", ""), ("bool", " != 0"), ("i8", " != 0"), ("i32", " > 0")])
def test_a_fault_that_hangs_on_a_mask_in_memory_names_it(tileverify: CommandLine, element: str, test: str) -> None:
    """Triton reads booleans as bytes."""
    source = f"""@triton.jit
def mark(out, chosen, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(out + lane, 1.0, mask=tl.load(chosen + tl.program_id(0) * BLOCK + lane){test})
"""
    launch = f"""[[launch]]
kernel = "mark"
grid = ["B"]
args = {{ out = "f32[64]", chosen = "{element}[B * 64]", BLOCK = 64 }}
"""
    path = write(source, launch)
    _, out, _ = tileverify("check", str(path), "--format", "concise", "--no-cache")
    assert "TV901" in out
    assert "which programs get there depends on the contents of `chosen`" in out


HEURISTICS = """@triton.heuristics({
    "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
    "LARGE": lambda args: args["BLOCK"] > 99,
    "BIASED": lambda args: args["bias"] is not None,
    "num_warps": lambda args: args["BLOCK"] // 32,
})
@triton.jit
def tail(out, bias, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, LARGE: tl.constexpr, BIASED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + at, 1.0)
    else:
        tl.store(out + at, 1.0, mask=at < n)
"""
HEURISTICS_LAUNCH = """[[launch]]
kernel = "tail"
grid = ["cdiv(n, 128)"]
args = { out = "f32[n]", bias = "f32[n]", n = "NUMBER", BLOCK = 128, EVEN = false, LARGE = true, BIASED = true }
"""


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("", "", None),
        (
            "LARGE = true",
            "LARGE = false",
            "args.LARGE: @triton.heuristics makes it True in every such launch, not False",
        ),
        ("BIASED = true", "BIASED = false", "args.BIASED: @triton.heuristics makes it True in every such launch"),
        ('"NUMBER"', '"i32 = 256"', "args.EVEN: @triton.heuristics makes it True in every such launch, not False"),
        ('"NUMBER"', '"i32 = 255"', None),
        ("grid", "options = { num_warps = 8 }\ngrid", "options.num_warps: @triton.heuristics makes it 4"),
    ],
)
def test_a_constant_is_what_its_heuristic_computes(
    tileverify: CommandLine, old: str, new: str, mistake: str | None
) -> None:
    path = write(HEURISTICS, HEURISTICS_LAUNCH.replace(old, new, 1).replace("NUMBER", "i32"))
    code, out, err = tileverify("check", str(path), "--no-cache")
    if mistake is not None:
        assert code == 2
        assert mistake in out + err
        return
    assert code == 0
    told = "EVEN = False is what the launch spec says; @triton.heuristics computes it at each launch"
    assert (told in out) == (new != '"i32 = 255"')
