"""Statements of kernels that read several axes of the grid, as tiled products, batches and split sums do."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tiles import tile_of

from tileverify.frontend.bytecode.builder import I64, BodyBuilder
from tileverify.frontend.bytecode.model import Value

from .accesses import ATOMIC_TYPES, Accesses, Buffer
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices


@dataclass
class Axes:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    accesses: Accesses

    def statement(self, target: Buffer, other: Buffer) -> None:
        """Reads ``other`` by all axes, and writes ``target`` by all of them, or by fewer."""
        draws = self.draws
        x, y, z = (self.arithmetic.convert(each, I64) for each in self.indices.blocks)
        cx, cy, _ = (self.arithmetic.convert(each, I64) for each in self.indices.counts)
        deep = draws.chance(50)
        draws.note("reads three axes" if deep else "reads two axes")
        own = self._joined(self._joined(z, cy, y), cx, x) if deep else self._joined(y, cx, x)
        last = z if deep else y
        rest = self._joined(y, cx, x) if deep else x
        kind = draws.weighted(
            (4, "apart"), (3, "sums"), (2, "atomic sums"), (2, "first"), (2, "few"), (2, "shared"), (1, "turned"),
        )  # fmt: skip
        if draws.chance(70) or kind in ("sums", "atomic sums"):
            self.accesses.read_at(other, own)
        self._write(kind, target, own, rest, last)

    def _write(self, kind: str, target: Buffer, own: Value, rest: Value, last: Value) -> None:
        draws, a, write = self.draws, self.arithmetic, self.accesses.write_at
        if kind == "apart":
            write(target, own)
        elif kind == "atomic sums" and target.argument.dtype in ATOMIC_TYPES:
            self.accesses.add_at(target, rest)
        elif kind in ("sums", "atomic sums"):
            write(target, rest)
        elif kind == "first":  # one of the blocks along the last axis writes
            first = a.compare(last, "equal", a.constant(tile_of(last), draws.pick((0, 1))))
            self.accesses.under(first, lambda: write(target, rest))
        elif kind == "few":  # apart, as long as there are few blocks along the last axis
            width = a.constant(tile_of(last), draws.pick((2, 1, 3)))
            write(target, a.add(a.multiply(rest, width), last))
        elif kind == "shared":
            write(target, a.divide(own, a.constant(tile_of(own), 2)))
        else:  # in the order of columns, maybe with the wrong count
            count = self.indices.counts[0 if draws.slip(40) else 1]
            write(target, a.add(a.multiply(rest, a.convert(count, I64)), last))

    def _joined(self, outer: Value, count: Value, inner: Value) -> Value:
        return self.arithmetic.add(self.arithmetic.multiply(outer, count), inner)
