"""The question to torch, where torch is installed, and what an imitation that is blind for something is worth."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.launching.imitation import alive

from tileverify.launching import launch_cache


@pytest.fixture(autouse=True)
def unasked() -> Iterator[None]:
    launch_cache._guards.cache_clear()
    yield
    launch_cache._guards.cache_clear()


def test_torch_tells_tensors_apart() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.empty(8, 4), torch.empty(8, dtype=torch.int32)
    same = launch_cache.sameness([x, y])
    assert same is not None
    assert same(x, y)
    assert same(torch.empty(8, 4), torch.zeros(8, dtype=torch.int32))
    for other in (torch.empty(4, 8), torch.empty(4, 8).t(), torch.empty(8, 4, dtype=torch.int32), torch.empty(32)):
        assert not same(other, y)
    assert not same(x, y[:4])
    x.resize_(8, 2)
    assert not same(x, y)
    gone = weakref.ref(x)
    del x
    assert not alive(gone)


class Blind:
    """Compares what ``seen`` makes of tensors."""

    seen: Any = staticmethod(lambda each: (each.shape, each.strides, each.dtype))

    def __init__(self, *tensors: Any, dynamic_dims_sizes: None, dynamic_dims_strides: None) -> None:
        self._before = [self.seen(each) for each in tensors]

    def check(self, *tensors: Any) -> bool:
        return [self.seen(each) for each in tensors] == self._before


class Imitation:
    """A tensor that knows what is asked of it."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> None:
        self.shape, self.strides, self.dtype = shape, strides, dtype

    def t(self) -> Imitation:
        return Imitation(self.shape[::-1], self.strides[::-1], self.dtype)

    def __getitem__(self, key: Any) -> Imitation:
        rows = key[0] if isinstance(key, tuple) else key
        assert isinstance(rows, slice)
        count = len(range(self.shape[0])[rows])
        return Imitation((count, *self.shape[1:]), (self.strides[0] * (rows.step or 1), *self.strides[1:]), self.dtype)


def empty(sizes: tuple[int, ...], dtype: str, device: str) -> Imitation:
    assert device == "cpu"
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return Imitation(sizes, tuple(reversed(strides)), dtype)


@pytest.mark.parametrize(
    ("seen", "trusted"),
    [
        (lambda each: (each.shape, each.strides, each.dtype), True),
        (lambda each: (each.strides, each.dtype), False),
        (lambda each: (each.shape, each.dtype), False),
        (lambda each: (each.shape, each.strides), False),
        (lambda each: (len(each.shape), each.dtype), False),
        (lambda each: object(), False),
    ],
)
def test_a_question_that_is_blind_for_something_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, seen: Any, trusted: bool
) -> None:
    guards = type("Guards", (Blind,), {"seen": staticmethod(seen)})
    module = SimpleNamespace(guards=SimpleNamespace(TensorGuards=guards))
    fake = SimpleNamespace(_C=SimpleNamespace(_dynamo=module), empty=empty, float32="f32", float16="f16", int32="i32")
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert (launch_cache.sameness([empty((4,), "f32", "cpu")]) is not None) == trusted


def test_without_torch_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert launch_cache.sameness([object()]) is None
    assert launch_cache.sameness([]) is None
