"""Recorded files of real producers: the text is NVIDIA's, the bytes come back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tileverify.frontend.bytecode import decode, encode, print_module

from .recorded import FILES, expected_text

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def test_there_are_files_of_every_producer_and_version() -> None:
    versions = {file.read_bytes()[8:10] for file in FILES}
    assert versions == {bytes([13, minor]) for minor in range(1, 6)}
    assert sum("nvcc" in file.stem for file in FILES) >= 4
    assert sum("sample" not in file.stem for file in FILES) >= 25


@each_file
def test_text_is_that_of_tileirdisasm(file: Path) -> None:
    module = decode(file.read_bytes(), file=str(file))
    assert print_module(module, locations=True) == expected_text(file)


@each_file
def test_encoding_gives_the_same_bytes(file: Path) -> None:
    data = file.read_bytes()
    assert encode(decode(data)) == data


@each_file
def test_canonical_encoding_means_the_same(file: Path) -> None:
    module = decode(file.read_bytes())
    again = decode(encode(dataclasses.replace(module, layout=None)))
    assert print_module(again, locations=True) == print_module(module, locations=True)
    assert encode(again) == encode(dataclasses.replace(again, layout=None))
