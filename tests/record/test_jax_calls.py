"""Kernels that JAX programs call: what `cuda.tile.jax` makes of a call is recorded when JAX lowers it.

The first test needs no JAX: of a lowering nothing but sizes and data types is looked at before a kernel is compiled.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.hook.launch_hooks import JaxCalls, _Described
from tileverify.pipeline import check_paths
from tileverify.record.recorded_command import RecordOptions, RecordSummary, record
from tileverify.results import Verdict

from .jax_kernels import PROGRAM, mixed


@dataclass(frozen=True)
class _Aval:
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class _Context:
    avals_in: list[_Aval]
    avals_out: list[_Aval]


def test_a_lowering_is_described_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("cuda.tile.jax._jax")
    for name in ("compile_kernel_cached", "_cutile_call_ffi_p_lower", "register_primitive"):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back at the end
    told: list[tuple[Any, ...]] = []
    JaxCalls(module, lambda *call: told.append(call), runs=False, interpret=None).install()
    f32 = np.dtype(np.float32)
    context = _Context([_Aval((6, 32), f32)] * 2, [_Aval((6, 32), f32), _Aval((7,), np.dtype(np.int32))])
    with pytest.raises(_Described):
        module._cutile_call_ffi_p_lower(
            context,
            "first operand",
            "second operand",
            kernel=mixed,
            grid=(2, 1, 1),
            output_shape_dtypes=context.avals_out,
            constants=(16,),
            scalars=(5,),
            roles=("io", ("i", "o"), "s", "c"),
            alias_group=("G0", "G0"),
        )
    ((kernel, grid, signature, described, alias),) = told
    assert (kernel, grid, alias) == (mixed, (2, 1, 1), [["x", "pair[0]"]])
    assert signature.symbol.startswith("mixed_K")
    x, pair, n, tile = described
    y, z = pair["items"]
    assert (x["shape"], x["strides"], x["dtype"], z["shape"], z["dtype"]) == ([6, 32], [32, 1], "f32", [7], "i32")
    assert (n["value"], n["dtype"], tile["value"]) == (5, "i32", 16)
    assert len({each["address"] // 4096 for each in (x, y, z)}) == 3
    assert all(each["address"] % 256 == 0 for each in (x, y, z))


def recorded(tmp_path: Path, text: str, **how: Any) -> RecordSummary:
    pytest.importorskip("jax", reason="runs a JAX program")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + textwrap.dedent(text))
    return record([sys.executable, str(program)], output=tmp_path / "out", options=RecordOptions(), **how)


def test_a_jax_program_is_recorded_and_goes_on(tmp_path: Path) -> None:
    summary = recorded(
        tmp_path,
        """
        if __name__ == "__main__":
            for n in (10, 20):
                u, v = jax.jit(calls, static_argnums=1)(jnp.arange(n, dtype=jnp.float32), 4)
                assert u.shape == v.shape == (n,) and not u.any()
            assert cutile_call((1,), halve, (InputOutput(jnp.ones(4)), 4)).all()
        """,
        no_gpu=True,
    )
    assert (summary.exit_code, summary.kernels, summary.failures) == (0, 3, ())
    results = check_paths([str(tmp_path / "out")]).results
    assert {result.verdict for result in results} == {Verdict.PROVED}
    (spec,) = (tmp_path / "out").glob("both.*.toml")
    first, second, general = tomllib.loads(spec.read_text())["launch"]
    assert first["alias"] == second["alias"] == general["alias"] == [["a", "b"]]
    assert first["args"] == {"a": "f32[10]", "b": "f32[10]", "pair": ["f32[10]", "f32[10]"], "n": "i32 = 3"}
    specs = next((tmp_path / "out" / "sources").iterdir())
    assert {r.verdict for r in check_paths([str(tmp_path / "program.py")], spec=specs).results} == {Verdict.PROVED}


def test_the_interpreter_gives_a_jax_program_its_results(tmp_path: Path) -> None:
    summary = recorded(
        tmp_path,
        """
        for dtype in (jnp.float32, jnp.float16, jnp.bfloat16):
            x = jnp.arange(10, dtype=dtype)
            u, v = jax.jit(calls, static_argnums=1)(x, 4)
            assert (u == 12 * x).all() and (v == 2 * x - 3).all(), (u, v)
            assert (x == jnp.arange(10, dtype=dtype)).all()
        """,
        no_gpu=True,
        interpret=True,
    )
    assert (summary.exit_code, summary.kernels, summary.failures) == (0, 3, ())


def test_what_does_not_compile_fails_as_in_cuda_tile(tmp_path: Path) -> None:
    summary = recorded(
        tmp_path,
        """
        x = jnp.arange(10.0)
        cutile_call((3,), halve, (InputOutput(x), 4))
        try:
            cutile_call((3,), halve, (InputOutput(x), 3))
        except ct.TileError as error:
            assert "power of two" in str(error)
        else:
            raise AssertionError("3 is no power of two")
        """,
        no_gpu=True,
    )
    assert summary.exit_code == 0
    assert [failure["outcome"] for failure in summary.failures] == ["rejected"]


def test_a_program_that_has_imported_it_already_is_watched_too(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="runs a JAX program")
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM
        + textwrap.dedent("""
            import cuda.tile.jax._jax as module
            from tileverify.hook.launch_hooks import JaxCalls
            told = []
            JaxCalls(module, lambda *call: told.append(call), runs=False, interpret=None).install()
            assert not cutile_call((1,), scale, (jnp.ones(4), OutputPlaceholder((4,), jnp.float32), 2.0, 4)).any()
            assert [call[0] for call in told] == [scale]
        """)
    )
    subprocess.run([sys.executable, str(program)], check=True)
