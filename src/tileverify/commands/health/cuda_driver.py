"""The CUDA driver and its devices, asked through ``ctypes`` so that no GPU package is needed to find out."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Final

from .diagnosis import Diagnosis, HealthState

_LIBRARY: Final = "libcuda.so.1"
_MAJOR: Final = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_MINOR: Final = 76
_WITHOUT: Final = "proofs and `run` need none; launches of NumPy arrays run in the interpreter"


def driver_and_devices() -> Iterator[Diagnosis]:
    """The driver, then each GPU."""
    try:
        cuda = ctypes.CDLL(_LIBRARY)
    except OSError:
        yield Diagnosis("driver", HealthState.ABSENT, f"no {_LIBRARY}", _WITHOUT)
        return
    status = cuda.cuInit(0)
    if status:
        yield Diagnosis("driver", HealthState.ABSENT, f"{_LIBRARY} is there, but cuInit says {status}", _WITHOUT)
        return
    number, count = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    cuda.cuDeviceGetCount(ctypes.byref(count))
    yield Diagnosis("driver", HealthState.OK, f"CUDA {number.value // 1000}.{number.value % 1000 // 10}")
    if not count.value:
        yield Diagnosis("gpu", HealthState.ABSENT, "the driver sees no device", _WITHOUT)
    for ordinal in range(count.value):
        yield _device(cuda, ordinal)


def _device(cuda: ctypes.CDLL, ordinal: int) -> Diagnosis:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if cuda.cuDeviceGet(ctypes.byref(device), ordinal) or cuda.cuDeviceGetName(name, len(name), device):
        return Diagnosis("gpu", HealthState.BROKEN, f"device {ordinal} does not say what it is", "look at nvidia-smi")
    capability = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int(0)
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    return Diagnosis("gpu", HealthState.OK, f"{name.value.decode(errors='replace')}, sm_{''.join(capability)}")
