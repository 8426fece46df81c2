"""The registry of codes: whole, in order, and in step with the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.corpus import corpus_launches
from tileverify.corpus.examples import ELSEWHERE, FOLDER, examples_of
from tileverify.results import WARNINGS, Verdict
from tileverify.results.codes import CODES, Code, Family

ROOT = Path(__file__).parents[2]
REFUTABLE = (Family.BETWEEN_BLOCKS, Family.INSIDE_BLOCK, Family.BOUNDS, Family.PROMISE, Family.BEYOND)


def test_codes_are_in_order_and_named_once() -> None:
    assert list(CODES) == sorted(CODES)
    assert all(key == code.code for key, code in CODES.items())
    assert len({code.name for code in CODES.values()}) == len(CODES)


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_every_code_is_explained(code: Code) -> None:
    assert re.fullmatch(r"TV\d{3}", code.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.name)
    assert isinstance(code.family, Family)
    for sentence in (code.meaning, code.fix):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
    assert code.is_not[0].islower()
    assert code.is_not.endswith(".")
    assert not code.title.endswith(".")
    assert bool(code.broken) == (code.family in REFUTABLE and not code.warns)


def test_every_code_in_the_source_is_registered() -> None:
    used = set()
    for path in (ROOT / "src" / "tileverify").rglob("*.py"):
        used |= set(re.findall(r"\"(TV\d{3})\"", path.read_text(encoding="utf-8")))
    assert used <= set(CODES)


def test_every_code_in_the_readme_is_registered() -> None:
    assert set(re.findall(r"\bTV\d{3}\b", (ROOT / "README.md").read_text(encoding="utf-8"))) <= set(CODES)


@pytest.mark.parametrize("code", ELSEWHERE)
def test_undecided_kernels_that_are_shown_are_proved_under_another_launch(code: str) -> None:
    shown = examples_of(code)
    assert shown is not None
    labels = {f"{label.file}::{label.kernel}::{label.launch}": label for label in corpus_launches()}
    assert labels[shown.wrong.target].code == code
    assert (shown.wrong.verdict, shown.right.verdict) == (Verdict.UNDECIDED, Verdict.PROVED)
    assert shown.wrong.source == shown.right.source
    assert shown.wrong.spec != shown.right.spec


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_codes_that_can_be_refuted_have_a_wrong_and_a_right_kernel_in_the_corpus(code: Code) -> None:
    """What the verdicts on them are, `tests/corpus` asks the tool and the interpreter."""
    shown = examples_of(code.code)
    assert (shown is not None) == (code.family in REFUTABLE or code.code in ELSEWHERE)
    if shown is None or code.code in ELSEWHERE:
        return
    warned = code.code in WARNINGS
    assert shown.wrong.verdict is (Verdict.PROVED if warned else Verdict.REFUTED)
    assert shown.right.verdict is Verdict.PROVED
    labels = {f"{label.file}::{label.kernel}::{label.launch}": label for label in corpus_launches(FOLDER)}
    wrong, right = (labels[example.target] for example in (shown.wrong, shown.right))
    assert code.code in (wrong.warnings if warned else (wrong.code,))
    assert right.verdict is Verdict.PROVED
    assert not right.warnings
    assert (shown.wrong.source, shown.wrong.spec) != (shown.right.source, shown.right.spec)
    for example in (shown.wrong, shown.right):
        assert example.source.startswith("@ct.kernel\ndef ")
        assert example.spec.count("[[launch]]") == 1
        assert example.spec.count("args = ") == 1


def test_the_folder_of_examples_holds_nothing_else() -> None:
    assert {label.file.stem.upper() for label in corpus_launches(FOLDER)} <= set(CODES)
    assert len(corpus_launches(FOLDER)) == 2 * sum(code.family in REFUTABLE for code in CODES.values())
