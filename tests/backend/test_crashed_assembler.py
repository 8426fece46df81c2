"""An assembler that ends without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.backend import assembler
from tileverify.backend.assembler import AssemblyError


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("kill -SEGV $$", r"tileiras crashed \(SIGSEGV\) on the bytecode for sm_90: a fault of tileiras"),
        ("exit 139", r"tileiras crashed \(SIGSEGV\) on the bytecode for sm_90: a fault of tileiras"),
        ("exit 3", r"tileiras refused the bytecode for sm_90: exit code 3, no message"),
        ("echo 'unknown op' >&2; exit 1", r"tileiras refused the bytecode for sm_90: unknown op"),
    ],
)
def test_the_message_says_how_it_ended(script: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(AssemblyError, match=sentence):
        assembler._assemble(["/bin/sh", "-c", script], tmp_path / "out.cubin", "sm_90", {})
