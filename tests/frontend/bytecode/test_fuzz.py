"""Broken input: one `DecodeError` with a place and a reason, nothing else, and never slowly."""

from __future__ import annotations

import time

import pytest

from tileverify.frontend.bytecode import decode, encode, print_module
from tileverify.system.errors import DecodeError

from .mutation import mutated
from .recorded import FILES

SOURCES = [file.read_bytes() for file in FILES]
SECONDS_FOR_ONE = 2.0


def refusal(data: bytes) -> DecodeError | None:
    """How ``data`` is refused; what is accepted must be writable and readable again."""
    try:
        module = decode(data, file="fuzzed")
    except DecodeError as error:
        return error
    assert print_module(decode(encode(module))) == print_module(module)
    return None


@pytest.mark.fuzz
def test_mutated_files_decode_or_fail_cleanly(fuzz_inputs: int) -> None:
    accepted = 0
    for seed in range(fuzz_inputs):
        data = mutated(seed, SOURCES)
        begun = time.perf_counter()
        error = refusal(data)
        assert time.perf_counter() - begun < SECONDS_FOR_ONE, f"seed {seed} took too long"
        if error is None:
            accepted += 1
            continue
        assert error.message, f"seed {seed}"
        assert 0 <= error.offset <= len(data), f"seed {seed}"
        assert str(error).startswith("fuzzed: offset 0x"), f"seed {seed}"
    assert 0 < accepted < fuzz_inputs


@pytest.mark.parametrize("source", SOURCES[::7], ids=[file.stem for file in FILES[::7]])
def test_every_truncation_is_refused(source: bytes) -> None:
    step = max(1, len(source) // 400)
    for length in range(0, len(source), step):
        with pytest.raises(DecodeError):
            decode(source[:length])
