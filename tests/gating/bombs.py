"""Valid bytecode that is much to decode or to reason about, as a process that lies would send it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import F32, I1, I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value

SPEC: Final = """
[[launch]]
kernel = "k"
grid = ["cdiv(N, 128)"]
args = { x = "f32[N]", out = "f32[N]" }
"""
"""The launch that all of them are sent for."""


def forged(bomb: str) -> str:
    """A source whose own process answers with the bytecode of ``bomb`` for its kernel ``k``."""
    data = base64.b64encode(BOMBS[bomb]()).decode("ascii")
    return f"""
import base64
import cuda.tile.compilation as c
def forged(kernel, signatures, output, **options):
    output.write(base64.b64decode({data!r}))
c.export_kernel = forged
"""


def _module(write: Callable[[BodyBuilder], Value]) -> bytes:
    """One float is stored to ``out`` at the index that ``write`` computes."""
    builder = ModuleBuilder((13, 4))
    array = [tile(pointer(F32)), tile(I32), tile(I32)]
    with builder.entry("k", [*array, *array]) as f:
        index = write(f)
        target = f.op("offset", ptr=f.parameters[3], off=index)
        f.op("store_ptr_tko", ptr=target, val=f.constant(tile(F32), 0))
        f.op("return")
    return encode(builder.build())


def _block(f: BodyBuilder) -> Value:
    x: Value = f.op("get_tile_block_id")[0]
    return x


def _squares(f: BodyBuilder) -> Value:
    """A polynomial of degree 2**64 in the block's number."""
    value = _block(f)
    for _ in range(64):
        value = f.op("muli", lhs=value, rhs=f.op("addi", lhs=value, rhs=f.constant(tile(I32), 1)))
    return value


def _long(f: BodyBuilder) -> Value:
    """Twenty thousand operations."""
    value = _block(f)
    for number in range(20_000):
        value = f.op("xori", lhs=value, rhs=f.constant(tile(I32), number))
    return value


def _choices(f: BodyBuilder) -> Value:
    """Two to the fortieth paths."""
    value = _block(f)
    for number in range(40):
        bit = f.op("andi", lhs=value, rhs=f.constant(tile(I32), 1 << (number % 31)))
        flag = f.op("cmpi", lhs=bit, rhs=f.constant(tile(I32), 0), pred="equal", sgn="signed")
        with f.if_(flag, [tile(I32)]) as branch:
            with branch.then():
                f.op("yield", args=[f.op("muli", lhs=value, rhs=f.constant(tile(I32), 3))])
            with branch.otherwise():
                f.op("yield", args=[f.op("xori", lhs=value, rhs=f.constant(tile(I32), 0x55555555))])
        value = branch.results[0]
    return value


def _nested(depth: int) -> Callable[[BodyBuilder], Value]:
    """Loops in loops, each over the size of the array."""

    def write(f: BodyBuilder) -> Value:
        def inside(value: Value, left: int) -> Value:
            if left == 0:
                squared: Value = f.op("muli", lhs=value, rhs=value)
                return squared
            with f.for_(f.constant(tile(I32), 0), f.parameters[1], f.constant(tile(I32), 1), [value]) as loop:
                _, carried = loop.arguments
                f.op("continue", args=[inside(carried, left - 1)])
            return loop.results[0]

        return inside(_block(f), depth)

    return write


def _deep(f: BodyBuilder) -> Value:
    """Branches in branches, a hundred deep."""
    always = f.constant(tile(I1), 1)

    def inside(left: int) -> Value:
        if left == 0:
            return _block(f)
        with f.if_(always, [tile(I32)]) as branch:
            with branch.then():
                f.op("yield", args=[inside(left - 1)])
            with branch.otherwise():
                f.op("yield", args=[_block(f)])
        return branch.results[0]

    return inside(100)


def _lanes(f: BodyBuilder, count: int) -> Value:
    """A store of that many lanes."""
    lanes = f.op("iota", results=[tile(I32, count)])
    one = f.op("reshape", s=f.parameters[3], results=[tile(pointer(F32), 1)])
    pointers = f.op("broadcast", s=one, results=[tile(pointer(F32), count)])
    places = f.op("offset", ptr=pointers, off=lanes)
    f.op("store_ptr_tko", ptr=places, val=f.constant(tile(F32, count), 0))
    return _block(f)


BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "squares": lambda: _module(_squares),
    "long": lambda: _module(_long),
    "choices": lambda: _module(_choices),
    "loops": lambda: _module(_nested(6)),
    "many-loops": lambda: _module(_nested(60)),
    "deep": lambda: _module(_deep),
    "giant-tile": lambda: _module(lambda f: _lanes(f, 1 << 30)),
    "large-tile": lambda: _module(lambda f: _lanes(f, 1 << 24)),
}
