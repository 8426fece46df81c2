"""Launch specs: those of the caller bind, those of the submission are claims."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path, PurePath

import pytest

from tileverify.gating import GateOptions, GateResult, Limits, Sandbox, Submission, judge
from tileverify.system.errors import UsageError

from .bombs import BOMBS, SPEC, forged
from .hostile import HONEST

LIMITS = Limits(compile_cpu_s=2, compile_wall_s=10, prove_cpu_s=3, prove_wall_s=12, prove_memory_mib=1024)

SCATTER = """
import cuda.tile as ct

@ct.kernel
def k(x, idx, out):
    i = ct.bid(0)
    places = ct.load(idx, index=(i,), shape=(128,))
    ct.scatter(out, (places,), ct.load(x, index=(i,), shape=(128,)))
"""
FACTS = """
[[launch]]
kernel = "k"
grid = ["cdiv(N, 128)"]
requires = ["N % 128 == 0"]
data = ["injective(idx)", "range(idx, 0, N)"]
args = { x = "f32[N]", idx = "i32[N]", out = "f32[N]" }
"""
LAUNCH = '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, 128)"]\nargs = {{ x = "{0}", out = "f32[N]" }}\n'

LIES = {
    "no-launch-at-all": LAUNCH.format("f32[N]") + 'requires = ["N >= 1", "N < 1"]\n',
    "another-rank": LAUNCH.format("f32[N, N]"),
    "another-kernel": '[[launch]]\nkernel = "other"\nargs = { x = "f32[N]" }\n',
    "a-list": LAUNCH.format("f32[N]").replace('x = "f32[N]"', 'x = { list = "f32[N]", length = "L" }'),
    "no-such-type": LAUNCH.format("f33[N]"),
    "no-parameter": LAUNCH.format("f32[N]").replace("out =", "nothing ="),
    "overlap": LAUNCH.format("f32[N]") + 'overlap = [["x", "out"]]\n',
    "overlapping-rows": LAUNCH.format("f32[N]").replace('out = "f32[N]"', 'out = "f32[N; strides=(0,)]"'),
    "grid-too-large": LAUNCH.format("f32[N]").replace("cdiv(N, 128)", "N + 1"),
    "division-by-zero": LAUNCH.format("f32[N]").replace("cdiv(N, 128)", "N // 0"),
    "huge-number": LAUNCH.format("f32[10**10**10]"),
    "huge-power": LAUNCH.format("f32[N]") + 'requires = ["N ** 99999999999 >= 1"]\n',
    "deep-expression": LAUNCH.format("f32[" + "(" * 5000 + "N" + ")" * 5000 + "]"),
    "deep-not": LAUNCH.format("f32[N]") + 'requires = ["' + "not " * 5000 + 'N >= 1"]\n',
    "deep-table": "x = " + "[" * 50_000 + "]" * 50_000,
    "long-integer": LAUNCH.format("f32[N]").replace('["cdiv(N, 128)"]', f"[{'9' * 9000}]"),
    "long-hexadecimal": LAUNCH.format("f32[N]").replace('["cdiv(N, 128)"]', f"[0x{'f' * 100_000}]"),
    "not-a-number": LAUNCH.format("f32[N]").replace('["cdiv(N, 128)"]', "[nan]"),
    "infinite-grid": LAUNCH.format("f32[N]").replace('["cdiv(N, 128)"]', "[1e999]"),
    "infinite-size": LAUNCH.format("f32[1e999]"),
    "key-twice": LAUNCH.format("f32[N]") + "grid = [1]\n",
    "prototype": LAUNCH.format("f32[N]").replace("x =", '__proto__ = "f32[N]", x ='),
    "another-object": LAUNCH.format("f32[N]").replace('"k"', '"__class__"'),
    "many-arguments": LAUNCH.format("f32[N]").replace("x =", "".join(f'a{n} = "i32", ' for n in range(5000)) + "x ="),
    "many-axes": LAUNCH.format("f32[" + ", ".join(["N"] * 2000) + "]"),
    "walrus": LAUNCH.format("f32[(N := 5)]"),
    "attributes": LAUNCH.format("f32[N]") + 'requires = ["x.shape.__class__ == 1"]\n',
    "null-byte": LAUNCH.format("f32[N]") + "\0",
    "no-toml": "this is no TOML",
    "unknown-key": LAUNCH.format("f32[N]") + 'trust = "me"\n',
    "escape-codes": LAUNCH.format("f32[N]") + 'name = "\\u001b[2J"\nrequires = ["\\u001b[2J"]\n',
    "many-launches": "".join(LAUNCH.format("f32[N]") + f'name = "{number}"\n' for number in range(100)),
    "long-name": LAUNCH.format("f32[N]") + f'name = "{"x" * 100_000}"\n',
    "python": LAUNCH.format("f32[__import__('os').system('true')]"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_spec_of_its_own_that_lies_or_errs_accepts_nothing(lie: str, sandbox: Sandbox) -> None:
    accepts_nothing(judge(Submission(HONEST.encode(), own_spec=LIES[lie]), GateOptions(limits=LIMITS), sandbox))


@pytest.mark.parametrize("lie", LIES)
def test_a_spec_of_the_caller_s_that_lies_or_errs_accepts_nothing(lie: str, one_sandbox: Sandbox) -> None:
    """Who calls is not hostile: what counts is the answer, which no kind of sandbox has a part in."""
    accepts_nothing(judge(Submission(HONEST.encode()), GateOptions(spec=LIES[lie], limits=LIMITS), one_sandbox))


def accepts_nothing(result: GateResult) -> None:
    assert not result.accepted, result.lines()
    assert all(line.isprintable() and line.isascii() for line in result.lines().splitlines())
    assert all(kernel.reasons for kernel in result.kernels if not kernel.accepted)
    # The mistake is told, not taken for a crash or for a forgery.
    assert not any(reason.id in ("crash", "forged-result") for kernel in result.kernels for reason in kernel.reasons)


def test_a_submission_has_no_say_in_what_is_trusted(sandbox: Sandbox) -> None:
    trusting = LAUNCH.format("f32[N]") + 'trust = ["assert-stops"]\n'
    own = judge(Submission(HONEST.encode(), own_spec=trusting), GateOptions(limits=LIMITS), sandbox)
    accepts_nothing(own)
    assert any("cannot say what is trusted" in reason.message for kernel in own.kernels for reason in kernel.reasons)
    assert judge(Submission(HONEST.encode()), GateOptions(spec=trusting, limits=LIMITS), sandbox).accepted


EVERY_ROW = """import cuda.tile as ct


@ct.kernel
def k(x, out):
    ct.store(out, index=(0,), tile=ct.load(x, index=(0,), shape=(8,), padding_mode=ct.PaddingMode.ZERO))
"""


def test_a_submission_has_no_say_in_what_is_allowed(sandbox: Sandbox) -> None:
    """What the caller allows is a note, which the gate does not refuse."""
    launch = '[[launch]]\nkernel = "k"\ngrid = [4]\nargs = { x = "f32[8]", out = "f32[8]" }\n'
    allowing = launch + 'allow = ["same-value-stores(out)"]\n'
    own = judge(Submission(EVERY_ROW.encode(), own_spec=allowing), GateOptions(limits=LIMITS), sandbox)
    accepts_nothing(own)
    assert any("cannot say what is allowed" in reason.message for kernel in own.kernels for reason in kernel.reasons)
    assert not judge(Submission(EVERY_ROW.encode()), GateOptions(spec=launch, limits=LIMITS), sandbox).accepted
    assert judge(Submission(EVERY_ROW.encode()), GateOptions(spec=allowing, limits=LIMITS), sandbox).accepted


def test_a_submission_has_no_say_in_what_its_calls_touch(sandbox: Sandbox) -> None:
    declaring = LAUNCH.format("f32[N]") + 'calls = { fft = { reads = ["x"] } }\n'
    own = judge(Submission(HONEST.encode(), own_spec=declaring), GateOptions(limits=LIMITS), sandbox)
    accepts_nothing(own)
    assert any("cannot say what its calls touch" in each.message for kernel in own.kernels for each in kernel.reasons)


@pytest.mark.parametrize("value", ["nan", "inf", "-1e999"])
def test_constants_need_not_be_finite(value: str, sandbox: Sandbox) -> None:
    source = HONEST.replace("x, out", "x, out, c: ct.Constant[float]").replace("tile=ct", "tile=c * ct")
    spec = LAUNCH.format("f32[N]").replace(" }", f", c = {value} }}")
    assert judge(Submission(source.encode(), own_spec=spec), GateOptions(bundles=True), sandbox).accepted


def test_what_is_too_large_stops_nobody_else(sandbox: Sandbox) -> None:
    for submission in (Submission(HONEST.encode(), own_spec="#" * (1 << 24)), Submission(b"#" * (1 << 25))):
        (kernel,) = judge(submission, GateOptions(), sandbox).kernels
        assert (kernel.verdict, kernel.reasons[0].id) in [("rejected", "spec-size"), ("rejected", "source-size")]
    with pytest.raises(UsageError, match="more than"):
        judge(Submission(HONEST.encode()), GateOptions(spec="#" * (1 << 24)), sandbox)
    assert judge(Submission(HONEST.encode()), GateOptions(), sandbox).accepted


def test_facts_about_contents_need_somebody_to_vouch_for_them(sandbox: Sandbox) -> None:
    own = judge(Submission(SCATTER.encode(), own_spec=FACTS), GateOptions(), sandbox)
    (kernel,) = own.kernels
    assert (kernel.verdict, kernel.accepted) == ("proved", False)
    assert [reason.id for reason in kernel.reasons] == ["unvouched-facts"]
    assert judge(Submission(SCATTER.encode()), GateOptions(spec=FACTS), sandbox).accepted


def test_every_launch_of_the_caller_is_asked_for(sandbox: Sandbox) -> None:
    twice = SPEC + SPEC.replace('"k"', '"other"')
    result = judge(Submission(HONEST.encode()), GateOptions(spec=twice), sandbox)
    assert not result.accepted
    assert [(kernel.verdict, [each.id for each in kernel.reasons]) for kernel in result.kernels] == [
        ("rejected", ["missing-launch"]),
        ("proved", []),
    ]


def test_the_caller_s_spec_stands_for_the_submission_s(sandbox: Sandbox) -> None:
    decorated = HONEST.replace("@ct.kernel", '@launch(args={"x": "f32[128]", "out": "f32[128]"}, grid=[1])\n@ct.kernel')
    source = "from tileverify import launch\n" + decorated
    own = judge(Submission(source.encode()), GateOptions(), sandbox)
    assert own.accepted
    assert own.kernels[0].result.launch == "0"
    assert "cdiv(N, 128)" not in str(own.kernels[0].result.stated)
    other = judge(Submission(source.encode(), own_spec=LIES["overlap"]), GateOptions(spec=SPEC), sandbox)
    assert other.accepted
    assert "cdiv(N, 128)" in str(other.kernels[0].result.stated)


@pytest.mark.parametrize("bomb", BOMBS)
def test_bytecode_bombs_are_bounded(bomb: str, either_sandbox: Sandbox) -> None:
    submission = Submission((forged(bomb) + HONEST).encode())
    limits = Limits() if bomb == "deep" else replace(LIMITS, prove_cpu_s=1)
    (kernel,) = judge(submission, GateOptions(spec=SPEC, limits=limits, screen=False), either_sandbox).kernels
    if bomb == "deep":
        assert kernel.verdict == "proved"  # a hundred branches are no bomb
    else:
        assert kernel.verdict in ("rejected", "undecided", "error")
        assert kernel.reasons
    assert judge(Submission(HONEST.encode()), GateOptions(), either_sandbox).accepted


def test_a_launch_that_the_bytecode_does_not_have(sandbox: Sandbox) -> None:
    """The process sends bytecode for two arrays, the caller speaks of three."""
    three = SPEC.replace('out = "f32[N]"', 'y = "f32[N]", out = "f32[N]"')
    source = HONEST.replace("def k(x, out)", "def k(x, y, out)")
    result = judge(Submission((forged("deep") + source).encode()), GateOptions(spec=three, screen=False), sandbox)
    assert [kernel.verdict for kernel in result.kernels] == ["error"]
    assert "does not fit the bytecode" in str(result.kernels[0].reasons[0])


def test_results_are_data(sandbox: Sandbox, tmp_path: Path) -> None:
    result = judge(Submission(HONEST.encode(), "some/where.py"), GateOptions(spec=SPEC, bundles=True), sandbox)
    assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps((Submission(b""), GateOptions()))) == (Submission(b""), GateOptions())
    (bundle,) = result.write_bundles(tmp_path)
    assert bundle == tmp_path / "where.k.0.tvk"
    assert result.write_bundles(tmp_path, PurePath("in/side")) == (tmp_path / "in" / "side" / "where.k.0.tvk",)
    from tileverify.launching.bundle.manifest import read_bundle

    read = read_bundle(bundle.read_bytes(), str(bundle))
    assert read.certificate.kernel == "k"
    assert read.contract == result.kernels[0].result.stated
