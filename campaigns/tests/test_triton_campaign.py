"""Random Triton kernels: drawn again from their seed, and the translation of some of them."""

from __future__ import annotations

import ast
import importlib.util
from collections import Counter

import pytest

from tileverify.frontend.triton import translate

from ..triton.campaign import Tried, main, tried_batch
from ..triton.drawing import HEAD, drawn_kernel

OF_A_NUMBER = 8126
"""Converts a bare number, which Python could not read before it was a variable."""


def test_the_same_seed_draws_the_same_kernel() -> None:
    assert drawn_kernel("k", 7) == drawn_kernel("k", 7) != drawn_kernel("k", 8)


def test_kernels_are_python_and_use_the_language() -> None:
    texts = [drawn_kernel("k", seed) for seed in range(300)]
    for text in [*texts, drawn_kernel("k", OF_A_NUMBER)]:
        ast.parse(HEAD + text)
    words = (
        "for i",
        "while",
        "if ",
        "else:",
        "mask=",
        "atomic_",
        "tl.sort",
        "tl.gather",
        "_called",
        "_inlined",
        " += ",
    )
    seen = Counter(word for text in texts for word in words if word in text)
    assert all(seen[word] >= 9 for word in words), seen


needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None,
    reason="triton and torch are not installed",
)


@needs_triton
def test_some_kernels_are_translated_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "20"]) == 0
    assert "same: " in capsys.readouterr().out


@needs_triton
def test_a_wrong_translation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(translate.PURE, "arith.extui", translate.PURE["arith.extsi"])
    assert any(each.wrong for each in tried_batch(range(40)))


def test_what_is_a_find() -> None:
    assert [Tried(0, outcome).wrong for outcome in ("same", "differs", "crashed", "no translation")] == [
        False, True, True, False,
    ]  # fmt: skip
