"""Element types of launch specs as NumPy types.  Formats that NumPy lacks are held as raw bits.

bf16 and the 8-bit floats come out as ml_dtypes types where that package is installed, else as unsigned integers of
their width.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import ScalarType
from ...system.errors import UsageError
from ..interpreter.rounding import from_bits, round_to, to_bits

Array = NDArray[Any]

NUMPY: Final = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "f32": "float32", "tf32": "float32", "f64": "float64",
}  # fmt: skip
RAW: Final = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8", "f8e8m0": "uint8"}
ML_DTYPES: Final = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu"}


def storage_type(dtype: str) -> np.dtype[Any]:
    """The NumPy type in which elements are held: their own, or the unsigned type of their bits."""
    return np.dtype(NUMPY.get(dtype) or RAW[dtype])


def stored(array: Array, dtype: str, what: str) -> Array:
    """``array`` in the storage type of ``dtype``; raw bits of the width are taken for formats that NumPy lacks.

    :raises UsageError: the elements are of another type; nothing is ever converted.
    """
    wanted = storage_type(dtype)
    plain = array.dtype.newbyteorder("=") if array.dtype.kind in "iufb" else array.dtype
    if plain == wanted:
        return array.astype(wanted, copy=False)
    if dtype == "bool" and plain == np.uint8 and array.size and int(array.max()) <= 1:
        return array.astype(wanted)
    if dtype in RAW and _same_format(array.dtype, dtype):
        return np.ascontiguousarray(array).view(wanted).reshape(array.shape)
    accepted = f"{ML_DTYPES[dtype]} or its bits as {wanted}" if dtype in RAW else str(wanted)
    raise UsageError(f"{what} holds {array.dtype} elements, but the spec says {dtype} ({accepted})")


def opaque(dtype: str) -> np.dtype[Any]:
    """Elements of a format that NumPy lacks, as bytes that remember it."""
    return np.dtype(f"V{storage_type(dtype).itemsize}", metadata={"format": dtype})


def _same_format(held: np.dtype[Any], dtype: str) -> bool:
    """``np.save`` writes ml_dtypes' elements as bytes without a name, which any format of the width may be."""
    if held.name == ML_DTYPES[dtype]:
        return True
    width = held.kind == "V" and held.names is None and held.itemsize == storage_type(dtype).itemsize
    return width and (held.metadata is None or held.metadata["format"] == dtype)


def presented(array: Array, dtype: str) -> Array:
    """Stored elements as the caller should see them: in ml_dtypes types where those are installed."""
    if dtype in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            return array
        return array.view(np.dtype(getattr(ml_dtypes, ML_DTYPES[dtype])))
    return array


def numbers(array: Array, dtype: str) -> Array:
    """Stored elements as values that NumPy can compare: floats of any format become float32 or float64."""
    if dtype in RAW:
        return np.asarray(from_bits(array, _scalar_type(dtype)))
    return array


def rounded(values: Array, dtype: str) -> Array:
    """Float values (float64) rounded to nearest into ``dtype``, as stored."""
    if dtype in RAW:
        return to_bits(values.astype(np.float32), _scalar_type(dtype))
    if dtype == "tf32":
        return np.asarray(round_to(values.astype(np.float32), _scalar_type(dtype)))
    return values.astype(storage_type(dtype))


def _scalar_type(dtype: str) -> ScalarType:
    (name,) = ELEMENT_TYPES[dtype].tile_ir
    return ScalarType(name, ELEMENT_TYPES[dtype].bits)
