"""Token wiring of generated kernels: present everywhere, one chain for each array, partly there, or missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.tiles import Parts

from tileverify.frontend.bytecode.builder import TOKEN, BodyBuilder
from tileverify.frontend.bytecode.model import Value

from .draws import Draws

WIRINGS = ("one chain", "by array", "partly", "none")


@dataclass
class Ordering:
    """The token that the next access waits for: one for all arrays, or one for each."""

    draws: Draws
    f: BodyBuilder
    arrays: Sequence[str]
    wiring: str
    last: dict[str, Value] = field(default_factory=dict)
    earlier: dict[str, Value] = field(default_factory=dict)
    """The token before the last one."""

    def begin(self) -> None:
        start = self.f.op("make_token")
        names = self.arrays if self.wiring in ("by array", "partly") else ("*",)
        self.last = dict.fromkeys(names, start)
        self.earlier = dict(self.last)

    def operand(self, array: str) -> Parts:
        """The token operand of an access to ``array``."""
        if self.wiring == "none" or (self.wiring == "partly" and self.draws.chance(30)):
            return {}
        if self.wiring == "partly" and len(self.last) > 1 and self.draws.chance(20):
            return {"token": self.f.op("join_tokens", tokens=list(self.last.values()))}
        return {"token": self.last[self._key(array)]}

    def done(self, array: str, token: Value) -> None:
        """An access to ``array`` gave ``token``."""
        if self.wiring == "partly" and self.draws.chance(25):
            return
        key = self._key(array)
        if self.wiring == "partly" and self.draws.chance(30):
            token = self.f.op("join_tokens", tokens=[self.last[key], token])
        self.last[key], self.earlier[key] = token, self.last[key]

    def _key(self, array: str) -> str:
        return array if array in self.last else "*" if "*" in self.last else next(iter(self.last))

    # ---------------------------------------------------------------------------------- regions and loops
    def carried(self) -> list[str]:
        """The chains that a loop hands on from one iteration to the next."""
        return [key for key in self.last if self.wiring != "partly" or self.draws.chance(65)]

    @contextmanager
    def inside(self, keys: Sequence[str], arguments: Sequence[Value]) -> Iterator[Any]:
        """A region whose chains ``keys`` start from ``arguments``; afterwards everything is as it was before."""
        before = dict(self.last), dict(self.earlier)
        self.last.update(zip(keys, arguments, strict=True))
        yield
        self.last, self.earlier = before

    def now(self, keys: Sequence[str]) -> list[Value]:
        """What a region hands on; where the wiring has holes, one side of a branch may forget an access."""
        forgotten = [self.wiring == "partly" and self.draws.chance(20) for _ in keys]
        return [(self.earlier if old else self.last)[key] for key, old in zip(keys, forgotten, strict=True)]

    def leave(self, keys: Sequence[str], results: Sequence[Value]) -> None:
        self.last.update(zip(keys, results, strict=True))


__all__ = ["TOKEN", "WIRINGS", "Ordering"]
