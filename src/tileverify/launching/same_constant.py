"""What is compiled into a kernel, held against what a launch gives for it."""

from __future__ import annotations

from numbers import Integral, Real


def same_constant(compiled: object, given: object) -> bool:
    """Whether the kernel that was compiled for one is the kernel for the other.

    ``compiled``: as a spec or a certificate has it, a tuple as a list in JSON.  1, 1.0 and True are three constants, as
    kernels compute in their types, and so are 0.0 and -0.0; nan is one.
    """
    if isinstance(compiled, tuple | list):
        return (
            isinstance(given, tuple | list) and len(compiled) == len(given) and all(map(same_constant, compiled, given))
        )
    if isinstance(compiled, bool) or isinstance(given, bool):
        return compiled is given
    if isinstance(compiled, int):
        return isinstance(given, Integral) and int(given) == compiled
    if isinstance(compiled, float):
        return isinstance(given, Real) and not isinstance(given, Integral) and float(given).hex() == compiled.hex()
    return isinstance(given, type(compiled)) and given == compiled
