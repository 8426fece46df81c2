"""The plugin with tests that call kernels from JAX."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from ..jax_kernels import PROGRAM
from .conftest import RunTests


def test_exactly_the_racy_test_of_a_jax_program_fails(tmp_path: Path, run_tests: RunTests) -> None:
    pytest.importorskip("jax", reason="runs tests that use JAX")
    (tmp_path / "test_calls.py").write_text(
        PROGRAM
        + textwrap.dedent("""
            @ct.kernel
            def last(x, y, tile: ct.Constant):
                ct.store(y, 0, ct.load(x, ct.bid(0), tile))

            def test_right():
                for n in (16, 32):
                    assert (calls(jnp.arange(float(n)), 8)[0] == 12 * jnp.arange(n)).all()

            def test_racy():
                cutile_call((2,), last, (jnp.arange(16.0), OutputPlaceholder((16,), jnp.float32), 8))
        """)
    )
    ended = run_tests(tmp_path, "--tileverify-no-gpu")
    assert ended.outcomes == {"test_right": "passed", "test_racy": "failed"}
    assert "'last' is refuted: two tile blocks store to the same element of `y`" in ended.text
