"""A stand-in for ``cupy`` in tests, on a machine without a driver: what takes a device is refused."""

import types

import numpy


class ndarray:
    pass


def _refused(*arguments, **named):
    raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version")


class _Refused:
    def __init__(self, *arguments, **named):
        _refused()


def get_array_module(*arrays):
    return numpy


float32, int32 = numpy.float32, numpy.int32
arange = array = asarray = concatenate = empty = empty_like = ones = zeros = zeros_like = where = _refused
allclose = array_equal = asnumpy = fuse = get_default_memory_pool = get_default_pinned_memory_pool = _refused
random = types.SimpleNamespace(default_rng=_refused, RandomState=_refused, rand=_refused, seed=_refused)
linalg = types.SimpleNamespace(norm=_refused)
fft = types.SimpleNamespace(fft=_refused)
cuda = types.SimpleNamespace(
    Device=_Refused,
    Event=_Refused,
    Stream=_Refused,
    get_current_stream=_refused,
    get_elapsed_time=_refused,
    is_available=lambda: False,
    runtime=types.SimpleNamespace(getDeviceCount=_refused, getDeviceProperties=_refused, deviceSynchronize=_refused),
)
ElementwiseKernel = RawKernel = _Refused


class RawModule:
    def __init__(self, code=None, *, path=None, options=()):
        self.code = code
