"""The whole corpus through the pipeline: every launch must get the verdict that its label argues for."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tileverify.corpus import ROOT, TRITON, Labelled, corpus_launches
from tileverify.corpus.labels import SPEC_SUFFIX
from tileverify.results import KernelResult, Verdict
from tileverify.system.errors import SpecError

from .as_labelled import check_label
from .judged import is_judged_again, judged_again, results_of

LABELS = corpus_launches()
AGAIN = [
    pytest.param(file, marks=[] if is_judged_again(file) else [pytest.mark.slow])
    for file in sorted({label.file for label in LABELS})
]
RACE_CODES = {"TV101", "TV102", "TV103", "TV201", "TV202"}


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.id)
def test_verdict_is_as_labelled(label: Labelled) -> None:
    check_label(label, results_of(label.file)[label.kernel, label.launch])


@pytest.mark.parametrize("file", AGAIN, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_what_was_checked_before_changes_no_verdict(file: Path) -> None:
    """A process that checks many kernels, or one kernel again, finds what a new process does."""
    first = results_of(file)
    again = judged_again(file)
    assert {key: _said(result) for key, result in again.items()} == {
        key: _said(result) for key, result in first.items()
    }


def _said(result: KernelResult) -> tuple[object, ...]:
    return (
        result.verdict,
        result.holds_for,
        result.clauses,
        result.deterministic,
        [(finding.code, finding.message) for finding in result.findings],
    )


@pytest.mark.parametrize("label", [label for label in LABELS if label.codes & RACE_CODES], ids=lambda label: label.id)
def test_racy_launch_is_never_proved(label: Labelled) -> None:
    result = results_of(label.file)[label.kernel, label.launch]
    assert result.verdict is not Verdict.PROVED, label.reason


def test_every_launch_has_exactly_one_label() -> None:
    launches: Counter[tuple[str, str, str, str]] = Counter()
    for spec in (spec for spec in ROOT.rglob(f"*{SPEC_SUFFIX}") if spec.parent != TRITON):
        stem = spec.name.removesuffix(SPEC_SUFFIX)
        for position, table in enumerate(tomllib.loads(spec.read_text(encoding="utf-8"))["launch"]):
            launches[spec.parent.name, stem, table["kernel"], table.get("name", str(position))] += 1
    labels = Counter((label.folder, label.file.stem, label.kernel, label.launch) for label in LABELS)
    assert launches == labels
    assert max(labels.values()) == 1


def test_every_kernel_is_launched() -> None:
    launched = {(label.file, label.kernel) for label in LABELS}
    for file in ROOT.glob("*/*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list):
                assert (file, node.name) in launched, f"{file.name}: {node.name} has no launch"


def test_corpus_is_large_and_shows_both_sides() -> None:
    verdicts = Counter(label.verdict for label in LABELS)
    assert len(LABELS) >= 250
    assert verdicts[Verdict.PROVED] >= 120
    assert verdicts[Verdict.REFUTED] >= 100
    assert sum(label.needs is not None for label in LABELS) <= 0.1 * len(LABELS)
    assert {code for label in LABELS if label.code for code in [label.code]} >= RACE_CODES | {"TV301", "TV901"}


def test_showcase_is_proved_without_conditions() -> None:
    showcase = [label for label in LABELS if label.folder == "showcase"]
    assert 6 <= len(showcase) <= 8
    assert all(label.verdict is Verdict.PROVED and not label.needs for label in showcase)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[label]]\nkernel = "k"\nlaunch = "0"\nverdict = "proved"', "lacks reason"),
        ('[[label]]\nkernel = "k"\nlaunch = "0"\nverdict = "fine"\nreason = "r"', "unknown verdict 'fine'"),
        ('[[label]]\nkernel = "k"\nlaunch = "0"\nverdict = "refuted"\nreason = "r"', "must have a code"),
        ('[[label]]\nkernel = "k"\nlaunch = "0"\nverdict = "proved"\nreason = "r"\nwhy = "w"', "unknown fields: why"),
        ("[[label]", "not a TOML file"),
    ],
)
def test_bad_label_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "k.py").touch()
    (tmp_path / "k.labels.toml").write_text(text)
    with pytest.raises(SpecError, match=message) as caught:
        corpus_launches(tmp_path)
    assert caught.value.file == str(tmp_path / "k.labels.toml")


def test_label_without_kernel_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "k.labels.toml").write_text("")
    with pytest.raises(SpecError, match="exactly one of"):
        corpus_launches(tmp_path)
