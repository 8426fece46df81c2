"""Launch arguments as plain data: what a launch spec says about an argument, plus where an array lies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from . import dlpack
from .dlpack import Geometry, contiguous_strides, strides_in_elements

_DTYPES = {
    "bool_": "bool",
    "bool": "bool",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "tfloat32": "tf32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0",
    "float8_e5m3fnu": "f8e5m3",
    "float4_e2m1fn": "f4e2m1",
}


def spec_dtype(dtype: Any) -> str:
    """The name of a ``cuda.tile`` data type in launch specs: ``float16`` is ``f16``, ``uint8`` is ``u8``."""
    name = str(dtype.name)
    return _DTYPES.get(name) or name.replace("uint", "u").replace("int", "i")


def geometry(array: Any) -> Geometry:
    """Where ``array`` lies, read from the same export that ``cuda.tile`` reads: DLPack for torch tensors, then the
    CUDA array interface, then DLPack of anything else.  Raises ``TypeError`` for an object without any of them, and
    ``ValueError`` for strides that are no whole elements."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        with torch._C.DisableTorchFunction():
            try:
                return dlpack.read_capsule(torch._C._to_dlpack(array))
            except (RuntimeError, BufferError):  # a data type that this torch cannot export
                return Geometry(array.data_ptr(), tuple(array.shape), tuple(array.stride()))
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        shape = tuple(interface["shape"])
        strides, (address, read_only) = interface.get("strides"), interface["data"]
        if strides is None:
            return Geometry(address, shape, contiguous_strides(shape), bool(read_only))
        item_bytes = int(interface["typestr"][2:])
        return Geometry(address, shape, strides_in_elements(tuple(strides), item_bytes), bool(read_only))
    if hasattr(array, "__dlpack__"):
        return dlpack.read_capsule(array.__dlpack__())
    raise TypeError(f"an argument of type {type(array).__name__} is not an array that cuda.tile knows")


def _array(array: Any, constraint: Any) -> dict[str, Any]:
    at = geometry(array)
    return {
        "kind": "array",
        "dtype": spec_dtype(constraint.dtype),
        "bits": int(constraint.dtype.bitwidth),
        "shape": list(at.shape),
        "strides": list(at.strides),
        "address": at.address,
        "index_bits": int(constraint.index_dtype.bitwidth),
        **({"read_only": True} if at.read_only else {}),
    }


def _constant(value: Any) -> dict[str, Any]:
    if value is None or type(value) in (bool, int, str):
        return {"kind": "constant", "value": value}
    if isinstance(value, float):
        return {"kind": "constant", "value": repr(value), "type": "float"}
    name = getattr(value, "name", None)
    if type(value).__name__ == "DType":
        return {"kind": "constant", "value": f"ct.{name}", "type": "dtype"}
    return {"kind": "constant", "value": repr(value), "type": type(value).__qualname__}


def describe(value: Any, constraint: Any) -> dict[str, Any]:
    """One argument under its constraint in the JIT signature, as JSON-ready data with a ``kind``:

    ``array`` (dtype, bits, shape and strides in elements, byte address), ``scalar``, ``constant``, ``list`` of arrays,
    ``tuple`` (with ``fields`` for a dataclass), or ``opaque`` for what launch specs cannot say.
    """
    kind = type(constraint).__name__
    if kind == "ArrayConstraint":
        return _array(value, constraint)
    if kind == "ScalarConstraint":
        return {"kind": "scalar", "dtype": spec_dtype(constraint.dtype), "value": _plain(value)}
    if kind == "ConstantConstraint":
        return _constant(constraint.value)
    if kind == "ListConstraint":
        return {"kind": "list", "items": [_array(item, constraint.element) for item in value]}
    if kind == "TupleConstraint":
        return {"kind": "tuple", "items": [describe(v, c) for v, c in zip(value, constraint.items, strict=True)]}
    if kind == "DataclassConstraint":
        names = list(type(value).__dataclass_fields__)
        items = [describe(getattr(value, name), c) for name, c in zip(names, constraint.fields, strict=True)]
        return {"kind": "tuple", "items": items, "fields": names}
    return {"kind": "opaque", "type": kind}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return value if not isinstance(value, float) else repr(value)
    return value.item() if hasattr(value, "item") else repr(value)


def describe_constraint(constraint: Any) -> Any:
    """A constraint of a JIT signature as JSON-ready data: its fields by name, data types by their spec name."""
    if isinstance(constraint, (bool, int, str)) or constraint is None:
        return constraint
    if isinstance(constraint, (list, tuple)):
        return [describe_constraint(item) for item in constraint]
    if type(constraint).__name__ == "DType":
        return spec_dtype(constraint)
    fields = getattr(type(constraint), "__dataclass_fields__", None)
    if fields is None:
        return repr(constraint)
    return {
        "kind": type(constraint).__name__.removesuffix("Constraint").lower(),
        **{name: describe_constraint(getattr(constraint, name)) for name in fields},
    }


def conflicts(arguments: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Pairs of top-level arguments whose byte ranges meet: ``(i, j, first byte of j - first byte of i)``."""
    found = []
    spans = [list(_spans(argument)) for argument in arguments]
    for j, later in enumerate(spans):
        for i, earlier in enumerate(spans[:j]):
            for low, high in earlier:
                found += [(i, j, low2 - low) for low2, high2 in later if low < high2 and low2 < high]
    return found


def _spans(argument: dict[str, Any]) -> Sequence[tuple[int, int]]:
    if argument["kind"] == "array":
        if 0 in argument["shape"]:
            return []
        low = high = 0
        for size, stride in zip(argument["shape"], argument["strides"], strict=True):
            low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
        start = argument["address"]
        return [(start + low * argument["bits"] // 8, start + ((high + 1) * argument["bits"] + 7) // 8)]
    return [span for item in argument.get("items", ()) for span in _spans(item)]
