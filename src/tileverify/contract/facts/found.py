"""Contents in which facts are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .columns import Array


@dataclass
class Seen:
    """``contents`` of array ``name`` in one launch or several.

    ``amounts``: they say how much, not where, so that only what people say of amounts is meant, with room to spare.
    ``ranked``: in how large chunks another array was seen to number its equal elements.
    """

    name: str
    contents: Sequence[Array]
    amounts: bool = False
    ranked: set[int] = field(default_factory=set)

    @cached_property
    def values(self) -> list[int]:
        """Those of all launches."""
        return [int(value) for each in self.contents for value in each.reshape(-1).tolist()]

    @cached_property
    def negative(self) -> list[int]:
        """The negative values, each once."""
        return sorted({value for value in self.values if value < 0})

    @cached_property
    def repeated(self) -> list[int]:
        """The values that occur twice in one launch, each once."""
        return sorted({value for each in self.contents for value in repeated(each)})

    @property
    def single(self) -> bool:
        """No launch had two elements that could be alike."""
        return all(each.size < 2 for each in self.contents)

    def has_axes(self, count: int) -> bool:
        """In every launch."""
        return all(each.ndim == count for each in self.contents)


def repeated(array: Array) -> list[int]:
    """The values that occur more than once."""
    import numpy as np

    values, counts = np.unique(array, return_counts=True)
    return [int(value) for value in values[counts > 1]]
