"""A stand-in for ``cupy`` in tests."""


class ndarray:
    pass


class RawModule:
    def __init__(self, code=None, *, path=None, options=()):
        self.code = code
