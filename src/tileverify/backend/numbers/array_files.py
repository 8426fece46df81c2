"""Arrays of a launch spec's element types as NumPy has them, and in files: ``.npy``, ``.npz``, safetensors, folders.

bf16 and the 8-bit floats come out as ml_dtypes types where that package is installed, else as unsigned integers of
their width.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import ScalarType
from ...system.atomic_file import refuse_overlaps, write_whole
from ...system.errors import UsageError
from ...system.printable import FreeNames
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


# ---------------------------------------------------------------------------------------------------------- array files
# Arrays from files and into files: ``.npy``, ``.npz``, safetensors, folders of ``.npy``.


_SAFETENSORS: Final = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "F16": "float16", "F32": "float32", "F64": "float64",
}  # fmt: skip
_OPAQUE: Final = {"BF16": "bf16", "F8_E4M3": "f8e4m3", "F8_E5M2": "f8e5m2", "F8_E8M0": "f8e8m0"}


def read_array(path: Path) -> Array:
    """One array from a ``.npy`` file.  Raises `UsageError` where there is none."""
    array = _load(path)
    if not isinstance(array, np.ndarray):
        raise UsageError(f"'{path}' holds several arrays; give it with --inputs")
    return array


def read_arrays(path: Path) -> dict[str, Array]:
    """Arrays by name from a ``.npz`` or ``.safetensors`` file, or from the ``.npy`` files of a folder."""
    if path.is_dir():
        return {file.stem: read_array(file) for file in sorted(path.glob("*.npy"))}
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise UsageError(f"'{path}' holds one array without a name; give it with --input NAME={path}")
    with loaded:
        try:
            refuse_overlaps(loaded.zip, path.stat().st_size)
            return {name: loaded[name] for name in loaded.files}
        except (ValueError, zipfile.BadZipFile, OSError) as error:
            raise UsageError(f"'{path}' cannot be read: {_first_line(error)}") from None


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"'{path}' is no .npy or .npz file of plain arrays: {_first_line(error)}") from None


def _read_safetensors(path: Path) -> dict[str, Array]:
    try:
        from safetensors import SafetensorError, deserialize
    except ImportError:
        raise UsageError(f"'{path}' needs the package safetensors; install it with: pip install safetensors") from None
    try:
        tensors = deserialize(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
    except SafetensorError as error:
        raise UsageError(f"'{path}' is no safetensors file: {_first_line(error)}") from None
    arrays = {}
    for name, tensor in tensors:
        held = tensor["dtype"]
        if held not in _SAFETENSORS and held not in _OPAQUE:
            raise UsageError(f"'{path}': {name} holds {held} elements, which no launch spec can name")
        dtype = opaque(_OPAQUE[held]) if held in _OPAQUE else np.dtype(_SAFETENSORS[held])
        arrays[name] = np.frombuffer(tensor["data"], dtype).reshape(tensor["shape"])
    return arrays


def write_arrays(target: Path, arrays: Mapping[str, Array]) -> None:
    """Save stored elements whole: into one ``.npz``, or as ``NAME.npy`` each into a folder, made if need be.

    :raises UsageError: the target cannot be written.
    """
    try:
        if target.suffix == ".npz":
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                for name, array in arrays.items():
                    archive.writestr(f"{name}.npy", _npy(array))
            write_whole(target, buffer.getvalue())
            return
        target.mkdir(parents=True, exist_ok=True)
        names = FreeNames()
        for name, array in arrays.items():
            write_whole(target / f"{names.stem(name)}.npy", _npy(array))
    except OSError as error:
        raise UsageError(f"cannot write '{target}': {error.strerror or error}") from None


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
