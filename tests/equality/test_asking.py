"""A reference may ask what its arguments are: it is told what they would be, or the attempt ends with a reason.

Each expression is asked by a reference that goes the one way or the other by it; one of the ways is the kernel's.
"""

from __future__ import annotations

import copy
import ctypes
import math
import numbers
import pickle
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.written_kernel import unit_at

from tileverify.contract.launch import KernelUnit
from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.points import Options
from tileverify.equality.reference_runs import other_of
from tileverify.equality.targets import EqualOptions, compared, written_by
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult

KERNELS = Path(__file__).parent / "asking_kernels.py"

ANSWERED = """
isinstance(x, np.ndarray) | isinstance(scale, float) | isinstance(scale, (int, float)) | isinstance(scale, numbers.Real)
not isinstance(scale, int) | np.isscalar(scale) | isinstance(n, int) | type(n) is int | n.bit_length() > 1
x.dtype == np.float32 | x.dtype.kind == "f" | x.dtype.itemsize == 4 | str(x.dtype) == "float32" | x.dtype.names is None
np.issubdtype(x.dtype, np.floating) | np.finfo(x.dtype).bits == 32 | (2 * x).dtype == np.float32 | len(x) == n
x.flags.c_contiguous | x.flags.owndata | x.flags.writeable | x.base is None | x.shape == (n,)
not isinstance(x[0], float) | x.size == n
np.asarray(x) is x | np.asarray(x).dtype == np.float32 | copy.copy(x) is not x | np.ndim(scale) == 0 | callable(x.sum)
np.shares_memory(x, x[1:]) | not np.shares_memory(x, 2 * x) | x[1:].base is not None | x.T.flags.c_contiguous
"""
REFUSED = """
type(x) is np.ndarray | type(x) == np.ndarray | x.__class__ is np.ndarray | type(x).__name__ == "ndarray"
type(scale) is float | type(scale) == float | not isinstance(scale, np.ndarray) | not hasattr(scale, "shape")
not hasattr(scale, "dtype") | hasattr(scale, "is_integer") | isinstance(x[0], np.floating) | np.ndarray is type(2 * x)
not isinstance(x.sum(), np.ndarray) | type(x[0]).__name__ == "float32"
x.strides == (4,) | x.itemsize == 4 | x.nbytes == 4 * n | sys.getsizeof(x) < 200 + 4 * n | memoryview(x).format == "f"
x.__array_interface__["typestr"] == "<f4" | len(bytes(x)) == 4 * n | len(x.tobytes()) == 4 * n
np.frombuffer(x, np.float32).size == n | ctypes.sizeof(ctypes.c_char * x.nbytes) == 4 * n | x.view(np.int32).size == n
len(pickle.dumps(x)) < 400 + 4 * n | pickle.loads(pickle.dumps(x)).dtype == np.float32 | "floats" not in dir(x)
hash(scale) == hash(float(scale)) | repr(scale)[0] != "a" | float(scale) * 0 == 0 | math.sqrt(abs(scale)) >= 0
bool(scale) or scale == 0 | not np.iscomplexobj(x) | np.isrealobj(x) | vars(np)["ndarray"] is type(x)
"""
NAMES = {"np": np, "copy": copy, "ctypes": ctypes, "math": math, "numbers": numbers, "pickle": pickle, "sys": sys}


def _split(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split(" | ")]


@cache
def _asks(expression: str) -> Callable[..., bool]:
    """The expression as a function of this module's kind: NumPy is looked up by its name there."""
    found: dict[str, Any] = dict(NAMES)
    exec(f"def asks(x, scale, n):\n    return bool({expression})\n", found)
    asks: Callable[..., bool] = found["asks"]
    return asks


def _references(expression: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What is the kernel's function if the expression holds, and what is if it does not."""
    names: dict[str, Any] = dict(NAMES)
    text = """
def first(x, scale, N):
    return {{"out": scale * x if {0} else 3 * x}}
def second(x, scale, N):
    return {{"out": 3 * x if {0} else scale * x}}
"""
    exec(text.format(f"(lambda n: {expression})(N)"), names)
    return names["first"], names["second"]


@cache
def _proved(kernel: str) -> tuple[KernelUnit, KernelResult]:
    """Compiled and proved once for all that are held beside it."""
    unit = unit_at(f"{KERNELS}::{kernel}")
    return unit, check_unit(unit)


def _answer(reference: Callable[..., Any], kernel: str = "scaled") -> ExactAnswer:
    """As `tileverify equal` gives it."""
    unit, verdict = _proved(kernel)
    options = EqualOptions(Options(values={"N": 40}), rounding=False)
    return compared(unit, verdict, other_of(reference, written_by(unit)), options)


def _holds(expression: str) -> bool:
    return _asks(expression)(np.linspace(-2, 2, 40, dtype=np.float32), 0.75, 40)


@pytest.mark.parametrize("expression", _split(ANSWERED))
def test_it_is_told_what_its_arguments_are(expression: str) -> None:
    assert _holds(expression)
    first, second = map(_answer, _references(expression))
    assert first.answer is Decision.EQUAL, first.reason
    assert second.answer is Decision.DIFFERENT, second.reason


@pytest.mark.parametrize("expression", _split(REFUSED))
def test_it_is_never_told_something_else(expression: str) -> None:
    assert _holds(expression)
    for found in map(_answer, _references(expression)):
        assert found.answer is Decision.NOT_DECIDED
        assert found.reason


def test_formats_of_few_bits_have_room_to_round() -> None:
    assert _answer(lambda x, scale: {"out": x * scale}, "scaled_halves").answer is Decision.EQUAL
    assert _answer(lambda x, scale: {"out": (x * scale).astype(x.dtype)}, "scaled_halves").answer is Decision.EQUAL
    wide = _answer(lambda x, scale: {"out": x.astype(np.float32) * scale}, "scaled_halves")
    assert wide.answer is Decision.EQUAL
    asked = _answer(lambda x, scale: {"out": x * (scale if x.dtype == np.float16 else 2)}, "scaled_halves")
    assert asked.answer is Decision.EQUAL
    other = _answer(lambda x, scale: {"out": x * (2 if x.dtype == np.float16 else scale)}, "scaled_halves")
    assert other.answer is Decision.DIFFERENT


def test_a_reference_that_fails_on_arrays_of_floats_is_no_reference() -> None:
    def numbers_alone(x: Any, scale: Any) -> Any:
        assert type(x) is not np.ndarray, "an array"
        return x * scale

    found = _answer(numbers_alone)
    assert found.answer is Decision.NOT_DECIDED
    assert "it fails on arrays of floats: AssertionError: an array" in found.reason


def test_a_reference_that_says_something_else_each_time_is_none() -> None:
    drawn = np.random.default_rng(3)
    found = _answer(lambda x, scale: x * scale + 0 * drawn.standard_normal() * x)
    assert found.answer is Decision.EQUAL, found.reason
    found = _answer(lambda x, scale: x * scale + drawn.standard_normal() * x)
    assert found.answer is not Decision.EQUAL


@pytest.mark.parametrize("value", ["x[:1]", "x[0]", "x.reshape(1, N)", "x[:-1]", "2.0", "[[0.0]]"])
def test_what_is_returned_has_the_shape_of_the_array(value: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def returned(x, scale, N):\n    return {{'out': {value}}}\n", names)
    found = _answer(names["returned"])
    assert found.answer is Decision.NOT_DECIDED
    assert re.match(r"the reference's out has the shape \(.*\), not \(40,\)", found.reason), found.reason


def test_a_tensor_that_broadcasts_is_refused() -> None:
    torch = pytest.importorskip("torch")
    found = _answer(lambda x, scale: {"out": torch.mul(x, scale).reshape(1, -1)})
    assert found.answer is Decision.NOT_DECIDED
    assert found.reason.startswith("the reference's out has the shape (1, 40), not (40,)")


LIMIT = 1234.5


def _limited(x: Any) -> Any:
    return np.minimum(x, LIMIT)


@pytest.mark.parametrize(
    "reference",
    [
        lambda x, scale: np.where(x > -1e-5, x * scale, np.where(x > -2e-5, 0, x * scale)),
        lambda x, scale, low=-7e7: np.maximum(x, low) * scale,
        lambda x, scale: _limited(x) * scale,
        lambda x, scale: np.where(scale == 0.7531, 0, x * scale),
    ],
)
def test_contents_lie_beside_the_numbers_of_the_reference(reference: Callable[..., Any]) -> None:
    found = _answer(reference)
    assert found.answer is Decision.DIFFERENT
    assert found.difference is not None


def test_what_a_reference_compares_in_one_way_alone_is_told() -> None:
    def reference(x: Any, scale: Any) -> Any:
        if (np.abs(x) > 10.0**x.size).any():
            return 3 * x
        return np.maximum(x, -(10.0**x.size)) * scale + np.where(x > 0, 0, 0)

    line = reference.__code__.co_firstlineno + 1
    found = _answer(reference)
    assert found.answer is Decision.EQUAL
    assert found.one_way == (
        f"the comparison > at line {line} of the reference was false at every point",
        f"the maximum at line {line + 2} of the reference was its first operand at every point",
    )


TORCH = """
type(t) is torch.Tensor | isinstance(t, torch.Tensor) | not t.is_cuda | t.device.type == "cpu" | not t.requires_grad
not isinstance(t, torch.nn.Parameter) | t.dtype == torch.float32 | t.element_size() == 4 | t.is_contiguous()
t.stride() == (1,) | t.layout == torch.strided | t.is_leaf | t.grad is None | t.numpy().dtype == "float32"
t.data_ptr() % 4 == 0 and t.data_ptr() > 0 | t.untyped_storage().nbytes() == 4 * n | t.nbytes == 4 * n
type(t.numpy()).__name__ == "ndarray" | torch.is_tensor(t) | torch.is_floating_point(t) | t.is_sparse is False
isinstance(scale, float) | type(scale) is float | type(scale) == float | type(n) is int | repr(scale)[0] != "e"
float(scale) == scale | math.sqrt(abs(scale)) >= 0 | hash(scale) == hash(float(scale)) | bool(t[0] == t[0])
isinstance(t[0].item(), float) | t.tolist()[0] == t[0].item() | type(2 * t) is torch.Tensor | len(pickle.dumps(t)) > 0
copy.deepcopy(t).dtype == torch.float32 | "numbers" not in dir(t) | not hasattr(t, "numbers") | t._base is None
t.__class__ is torch.Tensor | t.storage_offset() == 0 | t.is_shared() is False | t.is_inference() is False
torch.get_default_dtype() == torch.float32 | t.untyped_storage().data_ptr() == t.data_ptr() | torch.as_tensor(t) is t
torch.can_cast(t.dtype, torch.float64)
"""


@pytest.mark.parametrize("expression", _split(TORCH))
def test_torch_tells_the_truth_or_nothing(expression: str) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {**NAMES, "torch": torch}
    text = """
def first(x, scale, N):
    return {{"out": torch.mul(x, scale) if {0} else torch.mul(x, 3)}}
def second(x, scale, N):
    return {{"out": torch.mul(x, 3) if {0} else torch.mul(x, scale)}}
def asks(x, scale, N):
    return {0}
"""
    exec(text.format(f"(lambda t, n: {expression})(x, N)"), names)
    assert names["asks"](torch.linspace(-2, 2, 40), 0.75, 40)
    first, second = _answer(names["first"]).answer, _answer(names["second"]).answer
    assert first in (Decision.EQUAL, Decision.NOT_DECIDED)
    assert second is (Decision.DIFFERENT if first is Decision.EQUAL else Decision.NOT_DECIDED)
