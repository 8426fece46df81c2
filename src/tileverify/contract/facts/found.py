"""Contents in which facts are looked for: those of one launch as integers, those of several launches as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .on_host import Array


@dataclass(frozen=True, slots=True)
class HeldValues:
    """``values`` of array ``name`` in row-major order.

    ``amounts``: they say how much, not where, so that only what people say of amounts is meant, with room to spare.
    """

    name: str
    values: Sequence[int]
    shape: Sequence[int]
    amounts: bool

    @property
    def width(self) -> int:
        return self.shape[-1] if self.shape else 1


@dataclass
class Seen:
    """``contents`` of array ``name`` in several launches; ``ranked``: in how large chunks another array was seen to
    number its equal elements."""

    name: str
    contents: Sequence[Array]
    ranked: set[int] = field(default_factory=set)

    @cached_property
    def values(self) -> Array:
        """Those of all launches, as Python's integers."""
        import numpy as np

        return np.concatenate([each.reshape(-1).astype(object) for each in self.contents])

    @cached_property
    def negative(self) -> list[int]:
        """The negative values, each once."""
        return sorted({int(v) for v in self.values if v < 0})

    @cached_property
    def repeated(self) -> list[int]:
        """The values that occur twice in one launch, each once."""
        return sorted({value for each in self.contents for value in repeated(each)})

    @property
    def single(self) -> bool:
        """No launch had two elements that could be alike."""
        return all(each.size < 2 for each in self.contents)


def repeated(array: Array) -> list[int]:
    """The values that occur more than once."""
    import numpy as np

    values, counts = np.unique(array, return_counts=True)
    return [int(value) for value in values[counts > 1]]
