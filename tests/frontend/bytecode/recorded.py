"""Bytecode files of real producers that lie beside the tests, with tileirdisasm's text for each."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.tileirbc"))


def expected_text(file: Path) -> str:
    """What ``tileirdisasm -g`` (13.5) printed, with location aliases resolved."""
    return file.with_suffix(".txt").read_text(encoding="utf-8")


def recorded(name: str) -> bytes:
    return (DATA / f"{name}.tileirbc").read_bytes()
