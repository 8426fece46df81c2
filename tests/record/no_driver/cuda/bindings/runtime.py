"""A stand-in for ``cuda.bindings.runtime`` in tests, on a machine without a driver."""

import enum


class cudaError_t(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorInsufficientDriver = 35


class cudaStreamCaptureStatus(enum.IntEnum):
    cudaStreamCaptureStatusNone = 0


class cudaStream_t:
    def __init__(self, init_value=0):
        self.number = int(init_value)

    def __int__(self):
        return self.number


class cudaEvent_t(cudaStream_t):
    pass


class cudaDeviceProp:
    pass


def cudaMalloc(size):
    return cudaError_t.cudaErrorInsufficientDriver, None


for _name in [
    "Free",
    "Memcpy",
    "Memset",
    "GetDeviceCount",
    "GetDeviceProperties",
    "DeviceGetAttribute",
    "DeviceSynchronize",
    "EventCreate",
    "EventRecord",
    "EventElapsedTime",
    "StreamCreate",
    "StreamIsCapturing",
    "MemGetInfo",
    "GraphCreate",
]:
    globals()[f"cuda{_name}"] = cudaMalloc
