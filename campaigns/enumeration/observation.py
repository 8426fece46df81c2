"""Triton's interpreter, with an eye on every access to memory.

All accesses go through one module of Triton, ``_interpreter``; a `Door` stands in front of it.  Lanes that would leave
all arrays are noted and masked off.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .arena import NotEnumerated
from .memory import ATOMIC, READ, WRITE, Area, TouchedMemory


class Observer:
    """Sees the accesses of the launch that runs."""

    def __init__(self, interpreter: Any, seconds: float) -> None:
        self._interpreter = interpreter
        self._seconds = seconds
        self._own = (str(Path(interpreter.__file__).parents[1]), __file__)
        self.atomically = False
        """Whether the loads and stores that run now are parts of an atomic."""
        self.memory = TouchedMemory(())
        self.lines: list[str] = []
        self.order: str = ""
        """The atomic that may order accesses of different programs."""
        self._end = 0.0

    def begin(self, areas: Sequence[Area]) -> None:
        self.memory, self.lines, self.order = TouchedMemory(areas), [], ""
        self._end = time.process_time() + self._seconds

    def access(self, kind: str, pointers: Any, mask: Any, width: int) -> Any:
        """The mask without the lanes that are outside."""
        if time.process_time() > self._end:
            raise NotEnumerated(f"more than {self._seconds:g} s")
        builder = self._interpreter.interpreter_builder
        (x, y, z), (_, columns, layers) = builder.grid_idx, builder.grid_dim
        pointers, mask = np.broadcast_arrays(np.asarray(pointers, np.uint64), np.asarray(mask, bool))
        allowed = mask.copy()
        known = len(self.memory.faults)
        kind = ATOMIC if self.atomically else kind
        allowed[mask] = self.memory.access(kind, (x * columns + y) * layers + z, pointers[mask], width)
        if len(self.memory.faults) > known:
            self.lines += [self._line()] * (len(self.memory.faults) - known)
        return allowed

    def _line(self) -> str:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(self._own):
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Door:
    """``triton._C.libtriton.interpreter``, with an observer of every access."""

    def __init__(self, inner: Any, observer: Observer) -> None:
        self._inner = inner
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        inside = self._observer.access(READ, pointers, mask, np.dtype(dtype).itemsize)
        return self._inner.load(pointers, inside, other, dtype)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        inside = self._observer.access(WRITE, pointers, mask, values.dtype.itemsize)
        return self._inner.store(pointers, values, inside)

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, order: Any) -> Any:
        inside = self._observer.access(ATOMIC, pointers, mask, values.dtype.itemsize)
        if values.dtype.itemsize < 4:  # Triton's interpreter has none of these; their results are left out here anyway
            return self._inner.load(pointers, inside, np.zeros_like(values), values.dtype)
        return self._inner.atomic_rmw(operation, pointers, values, inside, order)

    def atomic_cas(self, pointers: Any, expected: Any, values: Any, order: Any) -> Any:
        inside = self._observer.access(ATOMIC, pointers, np.ones(np.shape(pointers), bool), values.dtype.itemsize)
        if not inside.all():
            raise NotEnumerated("a compare-and-swap outside of all arrays")
        return self._inner.atomic_cas(pointers, expected, values, order)


def watch_builder(interpreter: Any, observer: Observer) -> None:
    """Note which atomics may order accesses: all whose result is used, and those that are made for nothing else."""
    builder = interpreter.InterpreterBuilder
    update = builder.create_atomic_rmw

    class Result(interpreter.TensorHandle):  # type: ignore[misc]
        """The result of an atomic: whoever reads it may act on the order of programs."""

        def __getattribute__(self, name: str) -> Any:
            if name == "data":
                observer.order = observer.order or "the result of an atomic is used"
            return super().__getattribute__(name)

    def create_atomic_rmw(self: Any, operation: Any, *arguments: Any) -> Any:
        made = update(self, operation, *arguments)
        if "XCHG" in str(operation):
            observer.order = "atomic_xchg"
        made.__class__ = Result
        return made

    builder.create_atomic_rmw = create_atomic_rmw
    for name in ("create_atomic_cas", "create_atomic_load", "create_atomic_store", "create_atomic_poll"):
        if hasattr(builder, name):
            setattr(builder, name, _ordering(getattr(builder, name), name.removeprefix("create_"), observer))


def _ordering(original: Callable[..., Any], name: str, observer: Observer) -> Callable[..., Any]:
    def ordering(*arguments: Any, **named: Any) -> Any:
        observer.order, observer.atomically = name, True
        try:
            return original(*arguments, **named)
        finally:
            observer.atomically = False

    return ordering
