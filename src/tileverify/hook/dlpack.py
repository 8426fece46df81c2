"""Just enough of DLPack to read where an array lies, and to say that it lies on a GPU.

Layout of ``DLManagedTensor`` (DLPack 0.x, capsule name ``dltensor``) as in ``dlpack.h``; the versioned struct
(``dltensor_versioned``) has a header of four words in front of the same ``DLTensor``.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass

KDL_CPU, KDL_CUDA, KDL_CUDA_HOST, KDL_CUDA_MANAGED = 1, 2, 3, 13
HOST_MEMORY = frozenset((KDL_CPU, KDL_CUDA_HOST, KDL_CUDA_MANAGED))
"""Kinds of memory that the host reads."""


class _Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Versioned(Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


@dataclass(frozen=True)
class Geometry:
    """Where an array lies: byte address of element 0, shape and strides in elements; whether its owner forbids
    writing."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool = False


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def strides_in_elements(strides: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Strides in bytes as strides in elements of ``width`` bytes.

    Raises ValueError where an element of the array would begin inside another: kernels count in whole elements.
    """
    odd = next((stride for stride in strides if stride % width), None)
    if odd is not None:
        raise ValueError(
            f"an array has a stride of {odd} bytes, no multiple of the {width} bytes of its elements (a field of "
            "records?), which no kernel takes: launch on a copy"
        )
    return tuple(stride // width for stride in strides)


def _tensor_of(capsule: object) -> _Tensor:
    name = _get_name(capsule)
    pointer = _get_pointer(capsule, name)
    if name == b"dltensor":
        return ctypes.cast(pointer, POINTER(_Tensor)).contents
    if name == b"dltensor_versioned":
        tensor: _Tensor = ctypes.cast(pointer, POINTER(_Versioned)).contents.tensor
        return tensor
    raise ValueError(f"not an unused DLPack capsule: {name!r}")


def read_capsule(capsule: object) -> Geometry:
    """The geometry in a DLPack capsule, which stays unused."""
    tensor = _tensor_of(capsule)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else contiguous_strides(shape)
    return Geometry((tensor.data or 0) + tensor.byte_offset, shape, strides)


def read_element(capsule: object) -> tuple[int, int]:
    """Type code and bits of an element, all lanes of a vector together."""
    tensor = _tensor_of(capsule)
    return int(tensor.code), int(tensor.bits) * int(tensor.lanes)


def move_to_cuda(capsule: object) -> object:
    """The same capsule, now claiming device ``cuda:0``."""
    tensor = _tensor_of(capsule)
    tensor.device_type, tensor.device_id = KDL_CUDA, 0
    return capsule
