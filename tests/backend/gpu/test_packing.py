"""Parameters as the driver reads them: by pointer, each in its own type."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from tileverify.backend.gpu.loaded import descriptors, packed
from tileverify.backend.guard import ArrayValue, LaunchRefused
from tileverify.backend.guard.arguments import Value
from tileverify.contract.launch import EntryParameter, KernelUnit, Role
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.manifest import parameter_types
from tileverify.system.errors import UsageError

ARRAY = ArrayValue(0x7F00_1234_5678, (3, 2**31 - 1), (7, 2**40), "f32")


def read(pointers: int, place: int, width: int) -> bytes:
    address = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))[place]
    return ctypes.string_at(address, width)


@pytest.mark.parametrize(
    ("parameter", "type_", "expected"),
    [
        (EntryParameter(Role.POINTER, "a"), "ptr<f32>", struct.pack("<Q", 0x7F00_1234_5678)),
        (EntryParameter(Role.SHAPE, "a", 1), "i32", struct.pack("<i", 2**31 - 1)),
        (EntryParameter(Role.STRIDE, "a", 0), "i32", struct.pack("<i", 7)),
        (EntryParameter(Role.STRIDE, "a", 1), "i64", struct.pack("<q", 2**40)),
    ],
)
def test_arrays(parameter: EntryParameter, type_: str, expected: bytes) -> None:
    found = packed([parameter], [type_], {"a": ARRAY}, {})
    assert read(found.pointers, 0, len(expected)) == expected


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (True, "i1", b"\1"),
        (-1, "i8", b"\xff"),
        (65535, "i16", b"\xff\xff"),
        (-2, "i32", struct.pack("<i", -2)),
        (2**63, "i64", struct.pack("<Q", 2**63)),
        (1.5, "f16", struct.pack("<e", 1.5)),
        (1e39, "f32", struct.pack("<f", float("inf"))),
        (3, "f32", struct.pack("<f", 3)),
        (0.1, "f64", struct.pack("<d", 0.1)),
        (1.0, "bf16", b"\x80\x3f"),
        (1 + 2**-8, "bf16", b"\x80\x3f"),  # a tie, to even
        (1 + 3 * 2**-8, "bf16", b"\x82\x3f"),
        (float("-inf"), "bf16", b"\x80\xff"),
    ],
)
def test_scalars(value: Value, type_: str, expected: bytes) -> None:
    found = packed([EntryParameter(Role.SCALAR, "s")], [type_], {"s": value}, {})
    assert read(found.pointers, 0, len(expected)) == expected


def test_nan_stays_nan() -> None:
    found = packed([EntryParameter(Role.SCALAR, "s")], ["bf16"], {"s": float("nan")}, {})
    assert np.isnan(np.frombuffer(b"\0\0" + read(found.pointers, 0, 2), np.float32)[0])


def test_every_parameter_has_its_place() -> None:
    parameters = [
        EntryParameter(Role.POINTER, "a"),
        EntryParameter(Role.SHAPE, "a", 0),
        EntryParameter(Role.SCALAR, "s"),
    ]
    lists = [EntryParameter(Role.LIST_POINTER, "xs"), EntryParameter(Role.LIST_LENGTH, "xs")]
    types = ["ptr<f32>", "i32", "f32", "ptr<i64>", "i32"]
    found = packed([*parameters, *lists], types, {"a": ARRAY, "s": 0.5}, {"xs": (4096, 7)})
    assert [read(found.pointers, place, 4) for place in (1, 2, 4)] == [
        struct.pack("<i", 3),
        struct.pack("<f", 0.5),
        struct.pack("<i", 7),
    ]
    assert read(found.pointers, 3, 8) == struct.pack("<Q", 4096)


def test_what_comes_with_a_partition_is_what_its_launcher_passes() -> None:
    """The sizes of the tile, then the strides of the tensor."""
    parameters = [EntryParameter(Role.PARTITION, "a", dim, tile) for dim, tile in enumerate([1, 32, None, None])]
    found = packed(parameters, ["i32"] * 4, {"a": ArrayValue(4096, (7, 64), (64, 1), "f32")}, {})
    assert [int.from_bytes(read(found.pointers, place, 4), "little") for place in range(4)] == [1, 32, 64, 1]


def test_the_types_of_an_entry() -> None:
    unit = next(unit for unit in discover([str(ROOT / "race_free" / "axpy.py")]) if isinstance(unit, KernelUnit))
    types = parameter_types(unit.bytecode, unit.symbol, "axpy.py")
    arrays: dict[str, Value] = {name: ArrayValue(4096, (7,), (1,), "f32") for name in ("x", "y")}
    found = packed(unit.parameters, types, {"alpha": 2.0, **arrays}, {})
    roles = [parameter.role for parameter in unit.parameters]
    expected = {Role.POINTER: (4096, 8), Role.SHAPE: (7, 4), Role.STRIDE: (1, 4)}
    for place, role in enumerate(roles):
        value, width = expected.get(role, (int.from_bytes(struct.pack("<f", 2.0), "little"), 4))
        assert int.from_bytes(read(found.pointers, place, width), "little") == value
    assert set(roles) == {Role.POINTER, Role.SHAPE, Role.STRIDE, Role.SCALAR}


def test_descriptors_of_a_list() -> None:
    rows = np.frombuffer(descriptors([ARRAY, ArrayValue(16, (5, 6), (6, 1), "f32")]), np.int64).reshape(2, 5)
    assert rows.tolist() == [[0x7F00_1234_5678, 3, 2**31 - 1, 7, 2**40], [16, 5, 6, 6, 1]]
    assert len(descriptors([])) == 8


def test_a_type_that_nobody_passes() -> None:
    with pytest.raises(UsageError, match="a scalar of type f8E4M3FN cannot be passed"):
        packed([EntryParameter(Role.SCALAR, "s")], ["f8E4M3FN"], {"s": 1.0}, {})


def _array(shape: int = 4, stride: int = 1, address: int = 4096) -> Value:
    return ArrayValue(address, (shape,), (stride,), "f32")


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("role", [Role.SHAPE, Role.STRIDE, Role.LIST_LENGTH])
def test_a_size_that_does_not_fit_is_refused(bits: int, role: Role) -> None:
    """Sizes, strides and lengths are what the prover takes them for: not negative, and signed in their width."""

    def pack(value: int) -> bytes:
        array = _array(shape=value) if role is Role.SHAPE else _array(stride=value)
        parameter = EntryParameter(role, "a", None if role is Role.LIST_LENGTH else 0)
        found = packed([parameter], [f"tile<i{bits}>"], {"a": array}, {"a": (4096, value)})
        return read(found.pointers, 0, bits // 8)

    most = (1 << (bits - 1)) - 1
    for value in (0, 1, most):
        assert int.from_bytes(pack(value), "little") == value
    for value in (-1, most + 1, 1 << bits, (1 << bits) + 1, 10**400):
        with pytest.raises(LaunchRefused, match=rf"`a` is .*i{bits} \(TV502\)") as caught:
            pack(value)
        assert caught.value.code == "TV502"


@pytest.mark.parametrize("type_", ["i1", "i8", "i16", "i32", "i64"])
def test_a_scalar_that_does_not_fit_is_refused(type_: str) -> None:
    bits = int(type_[1:])
    least = 0 if bits == 1 else -(1 << (bits - 1))
    for value in (least - 1, 1 << bits, 10**400, 0.5, float(1)):
        with pytest.raises(LaunchRefused, match=r"`s` is .*\(TV502\)"):
            packed([EntryParameter(Role.SCALAR, "s")], [type_], {"s": value}, {})


def test_other_numbers_that_nothing_can_pass_are_refused() -> None:
    for address in (-1, 1 << 64):
        with pytest.raises(LaunchRefused, match="address of `a`"):
            packed([EntryParameter(Role.POINTER, "a")], ["ptr<f32>"], {"a": _array(address=address)}, {})
    with pytest.raises(LaunchRefused, match="`s` is"):
        packed([EntryParameter(Role.SCALAR, "s")], ["f32"], {"s": 10**400}, {})
    for array in (_array(stride=-1), _array(shape=1 << 63), _array(address=-8)):
        assert isinstance(array, ArrayValue)
        with pytest.raises(LaunchRefused, match="TV502"):
            descriptors([array])
