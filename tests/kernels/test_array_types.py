"""What a type checker tells people who call the library's host functions with their own arrays."""

from __future__ import annotations

import re

import pytest
from mypy import api

SETTINGS = """[mypy]
strict = True
follow_imports = skip
[mypy-tileverify.kernels.*,numpy.*,tensors]
follow_imports = normal
"""
"""The types of host functions are made of nothing else; to look at the rest of the package takes a minute."""

TORCH = """
from collections.abc import Sequence
from typing import overload

class Tensor:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def T(self) -> Tensor: ...
    @overload
    def reshape(self, shape: Sequence[int]) -> Tensor: ...
    @overload
    def reshape(self, *shape: int) -> Tensor: ...
    def swapaxes(self, axis0: int, axis1: int) -> Tensor: ...
    def __getitem__(self, indices: object) -> Tensor: ...

class Parameter(Tensor): ...
"""
"""As torch describes its own."""

USER = """
from typing import reveal_type
import numpy as np
from tensors import Parameter, Tensor
from tileverify.kernels import *

tensor, parameter = Tensor(), Parameter()
matrix, halves, integers = np.ones((2, 3), np.float32), np.ones(3, np.float16), np.ones(3, np.int32)
"""

REVEALED = {
    "rms_norm(matrix, halves)": "floats",
    "silu(matrix.T)": "floats",
    "matmul(matrix, matrix, transposed=True)": "floats",
    "row_sums(matrix)": "floats",
    "add_rms_norm(matrix, matrix, halves)": "floats, floats",
    "qk_norm(matrix, matrix.astype(np.float16), halves, halves)": "floats, halves",
    "matmul_list([matrix], [matrix])[0]": "floats",
    "place_tokens(integers, 2).places": "integers",
    "sort(integers)": "integers, integers",
    "argmax(matrix)": "integers",
    "top_k(matrix, 3)": "floats, integers",
    "prefix_sums(halves)": "floats",
    "prefix_sums(integers)": "integers",
    "array_sum(halves)": "floats",
    "rms_norm(tensor, parameter)": "tensors",
    "embedding(parameter, tensor)": "tensors",
    "argmax(tensor)": "tensors",
    "rope(tensor, parameter, tensor, tensor, tensor)": "tensors, tensors",
}
"""Of elements; of NumPy's arrays, any number of axes."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("user")
    (folder / "settings.ini").write_text(SETTINGS)
    (folder / "tensors.pyi").write_text(TORCH)
    user = folder / "user.py"
    calls = (f"reveal_type({call})\n" for call in REVEALED)
    user.write_text("".join((USER, *calls, "silu([1.0, 2.0])\ncast(matrix, 3)\n")))
    out, error, _ = api.run(
        ["--config-file", str(folder / "settings.ini"), "--cache-dir", str(folder / "cache"), str(user)]
    )
    assert not error
    return [line.partition("user.py:")[2] for line in out.splitlines() if "user.py:" in line]


def test_arrays_stay_what_they_are(said: list[str]) -> None:
    revealed = [line for line in said if "Revealed type" in line]
    assert [kinds(line) for line in revealed] == list(REVEALED.values())
    assert not [line for line in revealed if "tileverify" in line]  # but types of the packages alone


def kinds(line: str) -> str:
    """The elements of every array in a revealed type."""
    found = re.findall(r"(floating|signedinteger)\[numpy\._typing\._nbit_base\._(\d+)Bit|(tensors\.Tensor)", line)
    names = {("floating", "32"): "floats", ("floating", "16"): "halves", ("signedinteger", "32"): "integers"}
    return ", ".join("tensors" if tensor else names[kind, bits] for kind, bits, tensor in found)


def test_what_is_no_array_is_told(said: list[str]) -> None:
    told = [line for line in said if "error" in line]
    assert len(told) == 2
    assert 'Argument 1 to "silu" has incompatible type "list[float]"' in told[0]
    assert 'No overload variant of "cast"' in told[1]
