"""The registry of codes: whole, in order, and in step with the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.codes import CODES, Code, Family

ROOT = Path(__file__).parents[1]


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
    assert not code.title.endswith(".")


def test_every_code_in_the_source_is_registered() -> None:
    used = set()
    for path in (ROOT / "src" / "tileverify").rglob("*.py"):
        used |= set(re.findall(r"\"(TV\d{3})\"", path.read_text(encoding="utf-8")))
    assert used <= set(CODES)


def test_every_code_in_the_readme_is_registered() -> None:
    assert set(re.findall(r"\bTV\d{3}\b", (ROOT / "README.md").read_text(encoding="utf-8"))) <= set(CODES)
