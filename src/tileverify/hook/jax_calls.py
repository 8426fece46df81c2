"""Kernels that JAX programs call with ``cuda.tile.jax.cutile_call``.

Such a call is traced, and becomes a launch when JAX lowers it: sizes, grid and scalars are known then, the memory is
not.  XLA hands every operand and result over contiguous, in memory of its own, except for operands that are one array,
which the compiler is told (alias groups).  ``cuda.tile`` lowers for CUDA alone; where no kernel runs on a GPU, a
lowering for the CPU takes its place.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from types import ModuleType
from typing import Any

from .described_launch import Described, DescribedArray, contiguous_strides, describe, spec_dtype
from .foreign import Interpret

Traced = Callable[[Any, Any, Any, Sequence[Described], Sequence[Sequence[str]]], None]
"""Told of a kernel, its grid, its signature, the described arguments, and groups of arguments that are one array."""

_PAGE = 4096


class _Described(Exception):
    """Nothing is compiled where nothing runs on a GPU."""


class JaxCalls:
    """Stands in front of the lowering of ``module``, which is ``cuda.tile.jax._jax``."""

    def __init__(self, module: ModuleType, traced: Traced, *, runs: bool, interpret: Interpret | None) -> None:
        self._module = module
        self._traced = traced
        self._runs = runs
        self._interpret = interpret
        self._call = threading.local()
        self._compile = module.compile_kernel_cached
        self._lower = module._cutile_call_ffi_p_lower
        self._register = module.register_primitive

    def install(self) -> None:
        """``cuda.tile.jax`` registers the lowering next, or has done so."""
        self._module.compile_kernel_cached = self._recorded_compile  # type: ignore[attr-defined]
        self._module._cutile_call_ffi_p_lower = self._recorded_lower  # type: ignore[attr-defined]
        if not self._runs:
            self._module.register_primitive = self._register_on_host  # type: ignore[attr-defined]
        if self._module.cutile_call_ffi_p is not None:
            self._module.register_primitive()

    def _recorded_lower(self, context: Any, *operands: Any, **call: Any) -> Any:
        self._call.made = (context, call)
        return self._lower(context, *operands, **call)

    def _recorded_compile(self, kernel: Any, constraints: Sequence[Any]) -> Any:
        """``cuda.tile`` has made the constraints of the call that is being lowered."""
        context, call = self._call.made
        plain = self._module.KernelSignature(constraints, self._module._calling_convention_for(constraints))
        signature = plain.with_mangled_symbol(kernel._annotated_function.pyfunc.__name__)
        names = list(kernel._annotated_function.pysig.parameters)
        leaves = _Leaves(context, call)
        described = leaves.of(zip(names, call["roles"], constraints, strict=True))
        self._traced(kernel, call["grid"], signature, described, leaves.alias())
        if not self._runs:
            raise _Described
        return self._compile(kernel, constraints)

    # ------------------------------------------------------------------------------------------ without a GPU
    def _register_on_host(self) -> None:
        self._register()
        from jax.interpreters import mlir

        mlir.register_lowering(self._module.cutile_call_ffi_p, self._lower_on_host, platform="cpu")

    def _lower_on_host(self, context: Any, *operands: Any, **call: Any) -> Any:
        from jax.interpreters import mlir

        with contextlib.suppress(_Described):
            self._recorded_lower(context, *operands, **call)
        return mlir.lower_fun(lambda *arrays: self._on_host(arrays, call), multiple_results=True)(context, *operands)

    def _on_host(self, arrays: Sequence[Any], call: Mapping[str, Any]) -> Sequence[Any]:
        """The results of a call as JAX traces it: by the interpreter, or zeros and what was there before."""
        import jax

        shapes = call["output_shape_dtypes"]
        if self._interpret is not None:
            results: Sequence[Any] = jax.pure_callback(lambda *given: self._interpreted(given, call), shapes, *arrays)
            return results
        before = _in_place(call["roles"])
        return [
            arrays[before[number]] if number in before else jax.numpy.zeros(shape.shape, shape.dtype)
            for number, shape in enumerate(shapes)
        ]

    def _interpreted(self, arrays: Sequence[Any], call: Mapping[str, Any]) -> tuple[Any, ...]:
        import numpy

        groups: dict[str, Any] = {}
        inputs = []
        for array, group in zip(arrays, call["alias_group"], strict=True):
            copy = numpy.array(array)
            inputs.append(copy if group is None else groups.setdefault(group, copy))
        before = _in_place(call["roles"])
        outputs = [
            inputs[before[number]] if number in before else numpy.zeros(shape.shape, shape.dtype)
            for number, shape in enumerate(call["output_shape_dtypes"])
        ]
        new = (output for number, output in enumerate(outputs) if number not in before)
        given = {"i": iter(inputs), "o": new, "s": iter(call["scalars"]), "c": iter(call["constants"])}
        given["io"] = given["i"]

        def arguments(roles: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(arguments(role) if isinstance(role, tuple) else next(given[role]) for role in roles)

        assert self._interpret is not None
        self._interpret(call["kernel"], call["grid"], arguments(call["roles"]))
        return tuple(outputs)


class _Leaves:
    """Describes the arguments of one call in order, and puts them into memory that does not exist: arrays apart."""

    def __init__(self, context: Any, call: Mapping[str, Any]) -> None:
        self._inputs, self._outputs = iter(context.avals_in), iter(context.avals_out)
        self._scalars, self._groups = iter(call["scalars"]), iter(call["alias_group"])
        self._named: dict[str, list[str]] = {}
        self._end = _PAGE

    def of(self, parts: Iterator[tuple[str, Any, Any]]) -> list[Described]:
        """Each (name, role, constraint) as `described_launch.describe` would."""
        return [self._one(name, role, constraint) for name, role, constraint in parts]

    def alias(self) -> list[list[str]]:
        return [names for names in self._named.values() if len(names) > 1]

    def _one(self, name: str, role: Any, constraint: Any) -> Described:
        if isinstance(role, tuple):
            parts = ((f"{name}[{n}]", *part) for n, part in enumerate(zip(role, constraint.items, strict=True)))
            return {"kind": "tuple", "items": self.of(parts)}
        if role == "c":
            return describe(constraint.value, constraint)
        if role == "s":
            return describe(next(self._scalars), constraint)
        if role == "o":
            return self._array(next(self._outputs), constraint)
        group = next(self._groups)
        if group is not None:
            self._named.setdefault(group, []).append(name)
        if role == "io":
            next(self._outputs)
        return self._array(next(self._inputs), constraint)

    def _array(self, aval: Any, constraint: Any) -> DescribedArray:
        shape, bits = tuple(map(int, aval.shape)), int(constraint.dtype.bitwidth)
        address, self._end = self._end, self._end + (prod(shape) * bits // 8 // _PAGE + 1) * _PAGE
        return {
            "kind": "array",
            "dtype": spec_dtype(constraint.dtype),
            "bits": bits,
            "shape": list(shape),
            "strides": list(contiguous_strides(shape)),
            "address": address,
            "index_bits": int(constraint.index_dtype.bitwidth),
        }


def _in_place(roles: Sequence[Any]) -> dict[int, int]:
    """The operand that each result is written over, by the numbers of both."""
    inputs, outputs = itertools.count(), itertools.count()
    found = {}
    for role in _flat(roles):
        operand = next(inputs) if role in ("i", "io") else -1
        result = next(outputs) if role in ("o", "io") else -1
        if role == "io":
            found[result] = operand
    return found


def _flat(roles: Sequence[Any]) -> Iterator[str]:
    for role in roles:
        if isinstance(role, tuple):
            yield from _flat(role)
        else:
            yield role
