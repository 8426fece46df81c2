"""Launch arguments as plain data: what a launch spec says about an argument, plus where an array lies."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, cast

from .foreign import (
    ArrayConstraint,
    DataType,
    is_array,
    is_constant,
    is_data_type,
    is_dataclass,
    is_list,
    is_scalar,
    is_tuple,
)


class ArrayMarks(TypedDict, total=False):
    """``aligned``: bytes that divide the address, of an array behind a plain pointer."""

    read_only: bool
    aligned: int


class ArrayLayout(ArrayMarks):
    """``shape`` and ``strides`` in elements."""

    kind: Literal["array"]
    dtype: str
    bits: int
    shape: list[int]
    strides: list[int]
    index_bits: int


class DescribedArray(ArrayLayout):
    """``address``: of the first element, in bytes."""

    address: int


class DescribedScalar(TypedDict):
    """A float is written as Python shows it."""

    kind: Literal["scalar"]
    dtype: str
    value: bool | int | float | str


class _ConstantType(TypedDict, total=False):
    type: str


class DescribedConstant(_ConstantType):
    """``type``: what it is, where its value is not as JSON has it."""

    kind: Literal["constant"]
    value: bool | int | str | None


class DescribedList(TypedDict):
    kind: Literal["list"]
    items: list[DescribedArray]


class DescribedDescriptor(TypedDict):
    """A tensor descriptor made by the host: an array, and the extents of the block that one access moves."""

    kind: Literal["descriptor"]
    array: DescribedArray
    block: list[int]


class FieldNames(TypedDict, total=False):
    fields: list[str]


class DescribedTuple(FieldNames):
    """``fields``: of a dataclass."""

    kind: Literal["tuple"]
    items: list[Described]


class DescribedOpaque(TypedDict):
    """What launch specs cannot say."""

    kind: Literal["opaque"]
    type: str


Described: TypeAlias = (
    "DescribedArray | DescribedScalar | DescribedConstant | DescribedList | DescribedDescriptor | DescribedTuple"
    " | DescribedOpaque"
)
"""One argument of a launch."""
Words: TypeAlias = "bool | int | str | list[Words] | ConstraintWords | None"
"""A field of a constraint; data types by their spec name."""


class ConstraintWords(TypedDict, total=False):
    """A constraint of a JIT signature: its fields by name.  These are those that are looked at."""

    kind: str
    shape_divisible_by: list[int]
    stride_divisible_by: list[int]
    base_addr_divisible_by: int
    element: ConstraintWords
    items: list[ConstraintWords]
    fields: list[ConstraintWords]


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


def spec_dtype(dtype: DataType) -> str:
    """The name of a ``cuda.tile`` data type in launch specs: ``float16`` is ``f16``, ``uint8`` is ``u8``."""
    name = str(dtype.name)
    return _DTYPES.get(name) or name.replace("uint", "u").replace("int", "i")


def geometry(array: object) -> Geometry:
    """Where ``array`` lies, read from the same export that ``cuda.tile`` reads: DLPack for torch tensors, then the
    CUDA array interface, then DLPack of anything else.  Raises ``TypeError`` for an object without any of them, and
    ``ValueError`` for strides that are no whole elements."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        with torch._C.DisableTorchFunction():
            try:
                return read_capsule(torch._C._to_dlpack(array))
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
        return read_capsule(array.__dlpack__())
    raise TypeError(f"an argument of type {type(array).__name__} is not an array that cuda.tile knows")


def _array(array: object, constraint: ArrayConstraint) -> DescribedArray:
    at = geometry(array)
    found: DescribedArray = {
        "kind": "array",
        "dtype": spec_dtype(constraint.dtype),
        "bits": int(constraint.dtype.bitwidth),
        "shape": list(at.shape),
        "strides": list(at.strides),
        "address": at.address,
        "index_bits": int(constraint.index_dtype.bitwidth),
    }
    if at.read_only:
        found["read_only"] = True
    return found


def _constant(value: object) -> DescribedConstant:
    if value is None or type(value) is bool or type(value) is int or type(value) is str:
        return {"kind": "constant", "value": value}
    if isinstance(value, float):
        return {"kind": "constant", "value": _exactly(value), "type": "float"}
    if is_data_type(value):
        return {"kind": "constant", "value": f"ct.{value.name}", "type": "dtype"}
    return {"kind": "constant", "value": repr(value), "type": type(value).__qualname__}


def describe(value: object, constraint: object) -> Described:
    """One argument under its constraint in the JIT signature, as JSON-ready data with a ``kind``:

    ``array`` (dtype, bits, shape and strides in elements, byte address), ``scalar``, ``constant``, ``list`` of arrays,
    ``tuple`` (with ``fields`` for a dataclass), or ``opaque`` for what launch specs cannot say.
    """
    if is_array(constraint):
        return _array(value, constraint)
    if is_scalar(constraint):
        return {"kind": "scalar", "dtype": spec_dtype(constraint.dtype), "value": _plain(value)}
    if is_constant(constraint):
        return _constant(constraint.value)
    if is_list(constraint) and isinstance(value, Iterable):
        return {"kind": "list", "items": [_array(item, constraint.element) for item in value]}
    if is_tuple(constraint) and isinstance(value, Iterable):
        return {"kind": "tuple", "items": [describe(v, c) for v, c in zip(value, constraint.items, strict=True)]}
    if is_dataclass(constraint):
        names = list(_fields(value) or ())
        items = [describe(getattr(value, name), c) for name, c in zip(names, constraint.fields, strict=True)]
        return {"kind": "tuple", "items": items, "fields": names}
    return {"kind": "opaque", "type": type(constraint).__name__}


def _plain(value: object) -> bool | int | float | str:
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return _exactly(value)
    plain: bool | int | float | str = value.item() if hasattr(value, "item") else repr(value)
    return plain


def _exactly(value: float) -> str:
    """What a reader makes the same number of; a type of another library (``numpy.float64``) may spell it otherwise."""
    return float.__repr__(value)


def _fields(value: object) -> Iterable[str] | None:
    """The names of a dataclass's fields."""
    names: Iterable[str] | None = getattr(type(value), "__dataclass_fields__", None)
    return names


def describe_constraint(constraint: object) -> ConstraintWords:
    """A constraint of a JIT signature as JSON-ready data."""
    fields = {name: _words(getattr(constraint, name)) for name in _fields(constraint) or ()}
    kind = type(constraint).__name__.removesuffix("Constraint").lower()
    return cast("ConstraintWords", {"kind": kind, **fields})  # with whatever fields this version has


def _words(value: object) -> Words:
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_words(item) for item in value]
    if is_data_type(value):
        return spec_dtype(value)
    return repr(value) if _fields(value) is None else describe_constraint(value)


def conflicts(arguments: Sequence[Described]) -> list[tuple[int, int, int]]:
    """Pairs of top-level arguments whose byte ranges meet: ``(i, j, first byte of j - first byte of i)``."""
    found = []
    spans = [list(_spans(argument)) for argument in arguments]
    for j, later in enumerate(spans):
        for i, earlier in enumerate(spans[:j]):
            for low, high in earlier:
                found += [(i, j, low2 - low) for low2, high2 in later if low < high2 and low2 < high]
    return found


def _spans(argument: Described) -> Sequence[tuple[int, int]]:
    if argument["kind"] == "array":
        if 0 in argument["shape"]:
            return []
        low = high = 0
        for size, stride in zip(argument["shape"], argument["strides"], strict=True):
            low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
        start = argument["address"]
        return [(start + low * argument["bits"] // 8, start + ((high + 1) * argument["bits"] + 7) // 8)]
    if argument["kind"] == "descriptor":
        return _spans(argument["array"])
    if argument["kind"] == "list" or argument["kind"] == "tuple":
        return [span for item in argument["items"] for span in _spans(item)]
    return []


# --------------------------------------------------------------------------------------------------------------- dlpack
# Just enough of DLPack to read where an array lies, and to say that it lies on a GPU.
#
# Layout of ``DLManagedTensor`` (DLPack 0.x, capsule name ``dltensor``) as in ``dlpack.h``; the versioned struct
# (``dltensor_versioned``) has a header of four words in front of the same ``DLTensor``.


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
