"""A stand-in for ``cuda.bindings.driver`` in tests: what hooks need of its types, and a driver that numbers what it is
given and notes what it launches."""

import enum
import itertools

launched = []
_numbers = itertools.count(100)
_names = {}


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500


class CUstreamCaptureStatus(enum.IntEnum):
    CU_STREAM_CAPTURE_STATUS_NONE = 0


class _Handle:
    def __init__(self, init_value=0):
        self.number = int(init_value)

    def __int__(self):
        return self.number


CUdevice, CUcontext, CUstream, CUevent, CUmodule, CUlibrary, CUfunction, CUkernel, CUdeviceptr = (
    type(name, (_Handle,), {})
    for name in (
        "CUdevice",
        "CUcontext",
        "CUstream",
        "CUevent",
        "CUmodule",
        "CUlibrary",
        "CUfunction",
        "CUkernel",
        "CUdeviceptr",
    )
)


class CUlaunchConfig:
    gridDimX = gridDimY = gridDimZ = 1


def cuModuleLoadData(image):
    return CUresult.CUDA_SUCCESS, CUmodule(next(_numbers))


def cuLibraryLoadData(code, *options):
    return CUresult.CUDA_SUCCESS, CUlibrary(next(_numbers))


def cuModuleGetFunction(hmod, name):
    function = CUfunction(next(_numbers))
    _names[int(function)] = int(hmod), name
    return CUresult.CUDA_SUCCESS, function


def cuLibraryGetKernel(library, name):
    kernel = CUkernel(next(_numbers))
    _names[int(kernel)] = int(library), name
    return CUresult.CUDA_SUCCESS, kernel


def cuModuleGetFunctionCount(module):
    return CUresult.CUDA_SUCCESS, 0


def cuModuleEnumerateFunctions(count, module):
    return CUresult.CUDA_SUCCESS, []


def cuFuncGetName(function):
    return CUresult.CUDA_SUCCESS, _names[int(function)][1]


def cuKernelGetName(kernel):
    return CUresult.CUDA_SUCCESS, _names[int(kernel)][1]


def cuKernelGetLibrary(kernel):
    return CUresult.CUDA_SUCCESS, CUlibrary(_names[int(kernel)][0])


def cuMemAlloc(size):
    return CUresult.CUDA_SUCCESS, CUdeviceptr(next(_numbers) << 12)


def cuMemFree(address):
    return (CUresult.CUDA_SUCCESS,)


def cuMemcpyHtoD(target, source, size):
    return (CUresult.CUDA_SUCCESS,)


def cuLaunchKernel(*arguments):
    launched.append(arguments)
    return (CUresult.CUDA_SUCCESS,)


def cuLaunchKernelEx(*arguments):
    launched.append(arguments)
    return (CUresult.CUDA_SUCCESS,)


def cuArray3DCreate(descriptor):
    return CUresult.CUDA_SUCCESS, 0
