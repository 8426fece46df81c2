"""Arrays from files and into files: ``.npy``, ``.npz``, safetensors, folders of ``.npy``."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...system.atomic_file import write_whole
from ...system.errors import UsageError
from ...system.file_names import FreeNames
from ...system.zip_members import refuse_overlaps
from .elements import Array, opaque

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
