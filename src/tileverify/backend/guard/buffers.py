"""Arrays of other libraries as a launch sees them: address, sizes, strides and element type.

torch tensors and NumPy arrays are asked directly, as neither DLPack nor an array interface can say everything that they
are; whatever else there is shows itself by the CUDA array interface (CuPy, Numba) or DLPack (JAX).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from ...hook.described_launch import contiguous_strides, read_capsule, read_element, strides_in_elements
from ...system.errors import UsageError
from .arguments import ArrayValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAMED: Final = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
}  # fmt: skip
"""Element types as torch calls them, and NumPy, with those of ml_dtypes."""

_FOREIGN: Final = {"little": ">", "big": "<"}[sys.byteorder]
"""The order of bytes that is not the machine's, in a ``typestr``."""
_LETTERS: Final = {"i": "i", "u": "u", "f": "f"}
_DLPACK: Final = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool", 10: "f8e4m3", 12: "f8e5m2", 14: "f8e8m0"}
"""Type codes of ``DLDataTypeCode`` (dlpack.h)."""


def array_value(value: object) -> ArrayValue | None:
    """``value`` as an array; ``None`` if it is none.  Raises `UsageError` for elements or strides of no kernel."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if name not in _NAMED:
            raise UsageError(f"a tensor has elements of {value.dtype}, which no kernel takes")
        return ArrayValue(value.data_ptr(), tuple(value.shape), tuple(value.stride()), _NAMED[name])
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _of_numpy(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(interface)
    if hasattr(value, "__dlpack__"):
        capsule = value.__dlpack__()
        at, (code, bits) = read_capsule(capsule), read_element(capsule)
        return ArrayValue(at.address, at.shape, at.strides, _dlpack_name(code, bits))
    return None


def _of_numpy(array: NDArray[np.generic]) -> ArrayValue:
    name = array.dtype.name
    if name not in _NAMED or not array.dtype.isnative:
        raise UsageError(f"an array has elements of type '{array.dtype}', which no kernel takes")
    try:
        strides = strides_in_elements(array.strides, array.itemsize)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return ArrayValue(array.ctypes.data, array.shape, strides, _NAMED[name], not array.flags.writeable)


def _from_interface(interface: dict[str, Any]) -> ArrayValue:
    text, shape = interface["typestr"], tuple(interface["shape"])
    kind, width = text[1], int(text[2:])
    if text[0] == _FOREIGN or kind not in "iufb" or (kind == "b" and width != 1):
        raise UsageError(f"an array has elements of type '{text}', which no kernel takes")
    dtype = "bool" if kind == "b" else f"{_LETTERS[kind]}{8 * width}"
    strides = interface.get("strides")
    try:
        elements = contiguous_strides(shape) if strides is None else strides_in_elements(tuple(strides), width)
    except ValueError as error:
        raise UsageError(str(error)) from None
    address, read_only = interface["data"]
    return ArrayValue(address, shape, elements, dtype, bool(read_only))


def _dlpack_name(code: int, bits: int) -> str:
    name = _DLPACK.get(code)
    if name is None:
        raise UsageError(f"an array has elements of DLPack's type {code} with {bits} bits, which no kernel takes")
    return name if name in ("bool",) or name.startswith("f8") else f"{name}{bits}"
