"""Memory whose arrays of floats hold numbers: one for every element, beside the bytes of all other arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..backend.interpreter.memory import Memory, MemoryImage
from ..backend.interpreter.rounding import from_bits
from ..backend.interpreter.values import storage
from ..frontend.bytecode.model import ScalarType
from . import constants
from .branches import WaysTaken
from .field import Array
from .undecided import Undecided


class ExactMemory(Memory):
    """``contents``: flat arrays of numbers by the name of their allocation, which are changed in place.

    ``ways``: where rules note how the block's comparisons come out.
    """

    def __init__(self, image: MemoryImage, contents: Mapping[str, Array], ways: WaysTaken) -> None:
        super().__init__(image)
        self.ways = ways
        self._numbers: dict[int, tuple[int, Array]] = {}
        for number, allocation in enumerate(image.allocations):
            held = contents.get(allocation.name)
            if held is not None and held.size:
                self._numbers[number] = (allocation.size // held.size, held)

    def read(self, allocation: int, offsets: Array, element: ScalarType) -> Array:
        """The numbers of the float elements at ``offsets`` (bytes, in the allocation)."""
        return np.asarray(self._held(allocation, element)[offsets // element.bytes])

    def write(self, allocation: int, offsets: Array, values: Array, element: ScalarType) -> None:
        self.stores += 1
        self._held(allocation, element)[offsets.reshape(-1) // element.bytes] = values.reshape(-1)

    def _held(self, allocation: int, element: ScalarType) -> Array:
        known = self._numbers.get(allocation)
        if known is None:  # a global, or memory of the block's own
            raw = self.bytes_of(allocation).view(storage(element.bytes))
            known = element.bytes, constants.numbers_of(from_bits(raw, element).astype(np.float64), element.name)
            self._numbers[allocation] = known
        if known[0] != element.bytes:
            raise Undecided(f"floats of {known[0]} bytes read as {element.name}")
        return known[1]

    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        self._integers_only(allocation)
        return super().load(allocation, offsets, width)

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        self._integers_only(allocation)
        super().store(allocation, offsets, bits)

    def _integers_only(self, allocation: int) -> None:
        if allocation in self._numbers:
            raise Undecided(f"the bits of floats as integers, in {self.image.allocations[allocation].name}")
