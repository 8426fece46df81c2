"""Sixty Triton submissions are judged as they were made, and every refusal speaks to an author of Triton kernels."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.gating.triton_submissions import HEAD, REFERENCES, RIGHT, TUNED, TUNING, WRONG, TritonCase

from tileverify.gating import GateOptions, GateResult, Sandbox, Submission, judge
from tileverify.pipeline.repair.catalogue import KINDS
from tileverify.pipeline.repair.kernel_source import edited
from tileverify.pipeline.triton_advice import ADVICE_OF_TRITON, tritons_words

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

FOREIGN = re.compile(
    r"\bblocks?\b|\bbids?\b|cu[Tt]ile|\bcuda\b|\bct\.|\btiles?\b|padding_mode|padding mode|\btokens?\b"
)
"""Words of cuTile and Tile IR, which nobody who writes Triton has to know."""
OF_SOURCE = re.compile(r"\s+[-+]\d+: ")
"""Lines of a prompt that are the submission's own."""


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references") / "references.py"
    path.write_text(REFERENCES)
    return path


def judged(case: TritonCase, references: Path, sandbox: Sandbox) -> GateResult:
    reference = f"{references}::{case.reference}" if case.reference else None
    return judge(Submission(case.source()), GateOptions(spec=case.spec, reference=reference, seed=20), sandbox)


def sentences(result: GateResult) -> list[str]:
    """All that is told of a submission in words."""
    findings = [finding for kernel in result.kernels for finding in kernel.result.findings]
    return [
        *(line.replace("(one-block)", "") for line in result.prompt().splitlines() if not OF_SOURCE.match(line)),
        *(str(reason) for kernel in result.kernels for reason in kernel.reasons),
        *(finding.message for finding in findings),
        *(hint.text for finding in findings for hint in finding.hints),
        *(site.expression for finding in findings for site in finding.sites),
    ]


def test_there_are_sixty() -> None:
    assert (len(RIGHT), len(WRONG)) == (30, 30)
    assert len({case.source() + case.spec.encode() for case in (*RIGHT.values(), *WRONG.values())}) == 60


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_accepted(name: str, references: Path, one_sandbox: Sandbox) -> None:
    result = judged(RIGHT[name], references, one_sandbox)
    assert result.accepted, result.prompt()
    assert all(kernel.result.producer == "triton" for kernel in result.kernels)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refused(name: str, references: Path, one_sandbox: Sandbox) -> None:
    case = WRONG[name]
    result = judged(case, references, one_sandbox)
    assert not result.accepted
    assert case.reason in {reason.id for kernel in result.kernels for reason in kernel.reasons}, result.prompt()
    assert case.words in result.prompt()
    assert not [sentence for sentence in sentences(result) if FOREIGN.search(sentence)]


FIXES = {
    "no-mask": "mask-tail",
    "no-mask-on-the-store": "mask-tail",
    "no-mask-on-a-load": "mask-tail",
    "one-too-many": "mask-tail",
    "rows-without-a-mask": "mask-tail",
    "block-of-another-size": "split-output-index",
    "rows-in-32-bits": "widen-index",
    "sum-without-other": "pad-load",
    "maximum-without-other": "pad-load",
    "product-without-other": "pad-load",
    "read-back-without-a-barrier": "order-accesses",
    "every-program-adds": "use-atomic",
    "every-program-writes": "one-block",
    "multiple-that-is-none": "keep-promise",
    "assumption-that-fails": "keep-promise",
}


@pytest.mark.parametrize("name", FIXES)
def test_fixes_are_accepted(name: str, references: Path, one_sandbox: Sandbox) -> None:
    case = WRONG[name]
    refused = judge(Submission(case.source()), GateOptions(spec=case.spec), one_sandbox)
    hints = [hint for kernel in refused.kernels for finding in kernel.result.findings for hint in finding.hints]
    fix = next(hint for hint in hints if hint.edits)
    assert fix.id == FIXES[name]
    assert "(proved" in fix.text
    mended = replace(case, kernels=edited(case.source().decode(), fix.edits).removeprefix(HEAD))
    result = judged(mended, references, one_sandbox)
    assert result.accepted, result.prompt()


def test_every_kind_of_hint_has_words_of_triton() -> None:
    assert ADVICE_OF_TRITON.keys() == KINDS.keys()
    assert not [text for text in ADVICE_OF_TRITON.values() if FOREIGN.search(text)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("two tile blocks store to `block`", "two programs store to `block`"),
        ("block[3] is 1.0 in another block", "block[3] is 1.0 in another program"),
        ("bid.y*16 + lane of bid.x // 2", "program_id(1)*16 + lane of program_id(0) // 2"),
        ("its block ids, BLOCK = 64", "its program ids, BLOCK = 64"),
    ],
)
def test_programs_are_called_programs(said: str, told: str) -> None:
    assert tritons_words(said) == told


def prompt_of(kernels: str, spec: str, sandbox: Sandbox) -> str:
    return judge(Submission((HEAD + kernels).encode()), GateOptions(spec=spec), sandbox).prompt()


MIXED = """import cuda.tile as ct


@triton.jit
def k(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, {value}, mask=at < n)
"""
COPIED = MIXED.replace("{value}", "tl.load(x + at, mask=at < n)")
VOUCHED = TUNED.replace('n = "i32" }', 'n = "i32", BLOCK = 128 }').replace("cdiv(n, BLOCK)", "cdiv(n, 128)")


@pytest.mark.parametrize(
    ("kernels", "spec", "told"),
    [
        (MIXED.format(value="ct.load(x, (0,), (BLOCK,))"), VOUCHED,
         "mixed-languages: 'load' belongs to cuda.tile: a kernel of @triton.jit speaks triton.language (line 11,"),
        (COPIED.replace("@triton.jit", "@ct.kernel"), VOUCHED,
         "mixed-languages: 'program_id' belongs to Triton, and this function has no @triton.jit (line 10,"),
        (COPIED.replace("@triton.jit\n", "def half(v):\n    return v * 0.5\n\n\n@triton.jit\n").replace(
            "tl.load(x", "half(tl.load(x").replace("n), mask", "n)), mask"), VOUCHED,
         "mixed-languages: a Triton kernel cannot call 'half': it has no @triton.jit (line 15,"),
        (COPIED.replace("def k", "def other"), VOUCHED,
         "no-kernel: the submission holds no kernel 'k', which the launch spec asks for; it has 'other'"),
        (COPIED.replace("x, out, n, BLOCK", "out, x, n, BLOCK"), VOUCHED,
         "TV002: the parameters of 'k' are (out, x, n, BLOCK), but the launch spec has (x, out, n, BLOCK)"),
        (COPIED.replace("n, BLOCK", "n, stride, BLOCK"), VOUCHED, "missing 'stride'"),
        (COPIED.replace("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK - 1)"), VOUCHED,
         "TV001: Triton rejects 'k': arange's range must be a power of 2\n  at line 10"),
        (COPIED.replace("BLOCK: tl.constexpr", "BLOCK"), VOUCHED, "must be of type tl.constexpr"),
        (TUNING + COPIED.partition("\n\n\n")[2], VOUCHED,
         "args.BLOCK: the configurations of @triton.autotune give it a value"),
        (TUNING + COPIED.partition("\n\n\n")[2], TUNED.replace("grid", "options = { num_warps = 4 }\ngrid"),
         "options: the configurations of @triton.autotune give them"),
        (COPIED.replace("tl.program_id(0)", "tl.block_id(0)"), VOUCHED,
         "the module 'triton.language' has no 'block_id'"),
        ("import torch\n\n\n" + COPIED, VOUCHED,
         "the module 'torch' may not be imported; send the kernels alone, without the code that launches them"),
    ],
)  # fmt: skip
def test_what_is_no_kernel_of_the_task_is_told_in_a_sentence(
    kernels: str, spec: str, told: str, one_sandbox: Sandbox
) -> None:
    assert told in prompt_of(kernels, spec, one_sandbox)


def test_both_languages_stand_in_one_submission(one_sandbox: Sandbox) -> None:
    tile = "\n\n@ct.kernel\ndef t(x, out):\n    i = ct.bid(0)\n    ct.store(out, (i,), ct.load(x, (i,), (128,)))\n"
    spec = VOUCHED + '[[launch]]\nkernel = "t"\ngrid = ["cdiv(N, 128)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
    result = judge(Submission((HEAD + COPIED + tile).encode()), GateOptions(spec=spec), one_sandbox)
    assert [(each.result.kernel, each.result.producer, each.accepted) for each in result.kernels] == [
        ("k", "triton", True), ("t", "", True),
    ]  # fmt: skip


def test_a_submission_narrows_nothing(one_sandbox: Sandbox) -> None:
    """Orders, options and launches of its own count for nothing beside those that are vouched for."""
    wrong = WRONG["read-back-without-a-barrier"]
    own = wrong.spec.replace("grid", 'order = "program"\ngrid')
    alone = judge(Submission(wrong.source(), own_spec=own), GateOptions(), one_sandbox)
    beside = judge(Submission(wrong.source(), own_spec=own), GateOptions(spec=wrong.spec), one_sandbox)
    assert (alone.accepted, beside.accepted) == (True, False)


def test_each_configuration_has_an_answer(one_sandbox: Sandbox) -> None:
    large = "triton.Config({'BLOCK': 256})"
    others = [large.replace(")", f", num_stages={stages})") for stages in (1, 2, 2)]
    stages = TUNING.replace(large, ", ".join(others))
    source = (HEAD + stages + COPIED.partition("\n\n\n")[2]).encode()
    result = judge(Submission(source), GateOptions(spec=TUNED, bundles=True), one_sandbox)
    assert result.accepted
    assert [kernel.result.launch for kernel in result.kernels] == [
        "0-BLOCK=64-w2", "0-BLOCK=256-w4", "0-BLOCK=256-w4-s2",
    ]  # fmt: skip
    assert all(kernel.bundle for kernel in result.kernels)


def test_without_triton_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triton.py").write_text("raise ImportError('it is broken')")
    monkeypatch.syspath_prepend(str(tmp_path))
    case = RIGHT["add"]
    with Sandbox("auto") as sandbox:
        result = judge(Submission(case.source()), GateOptions(spec=case.spec), sandbox)
    lacking, failed = (str(reason) for kernel in result.kernels for reason in kernel.reasons)
    assert lacking == "missing-launch: the launch spec asks for k [0], which it lacks"
    assert failed.startswith("TV001: Triton kernels need the package triton (")
    assert failed.endswith("; install it with: pip install 'tileverify[triton]'")
