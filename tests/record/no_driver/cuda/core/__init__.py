"""A stand-in for ``cuda.core`` in tests, with a driver of its own behind it."""

from cuda.bindings import driver

launched = []


class Kernel:
    def __init__(self, handle):
        self.handle = handle


class ObjectCode:
    def __init__(self, code):
        self.code = code
        self.code_type = "cubin"
        self.name = ""
        self.symbol_mapping = {}
        self._library = None

    @staticmethod
    def from_cubin(module, *, name="", symbol_mapping=None):
        return _ObjectCode(module)

    @property
    def handle(self):
        if self._library is None:
            self._library = driver.CUlibrary(9000)
        return self._library

    def get_kernel(self, name):
        kernel = driver.CUkernel(9001)
        driver._names[9001] = int(self.handle), name
        return Kernel(kernel)


_ObjectCode = ObjectCode


class Program:
    def __init__(self, code, code_type, options=None):
        self.source = code

    def compile(self, target_type, name_expressions=()):
        return _ObjectCode(bytes.fromhex(self.source))


class LaunchConfig:
    def __init__(self, grid=None, block=None):
        self.grid = grid if isinstance(grid, tuple) else (grid, 1, 1)


class Device:
    def __init__(self, device_id=None):
        raise RuntimeError("no driver")


class Stream:
    pass


def launch(stream, config, kernel, *kernel_args):
    launched.append((config.grid, kernel_args))
