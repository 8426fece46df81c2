"""The entries in the shape of cuTile Rust's are what their generator writes."""

from __future__ import annotations

from tileverify.corpus import ROOT
from tileverify.corpus.cutile_rust.generator.__main__ import made


def test_the_files_are_what_the_generator_writes() -> None:
    folder = ROOT / "cutile_rust"
    assert made() == {file.name: file.read_bytes() for file in folder.glob("*.tileirbc")}
