"""How often keys occur in the chunks of an array: what facts on ranks and on buckets have in common.

Chunk b of keys are the elements i with i // n == b, and c(b, k) is how many of them hold k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from .. import terms as t
from ..terms import Function, Scope, Term
from .loaded import Loaded
from .on_host import Array
from .sampling import Layouts, Sampled
from .statements import DataTerm


def count(data: DataTerm, chunk: Term, key: Term) -> Term:
    """c(chunk, key) of the fact's other array and its n, as a number that nobody knows, but for 0 <= c.

    Facts that cut the same keys into the same chunks speak of the same number.
    """
    assert data.amount is not None
    return t.apply(Function(f"count of {data.fact.other}", Scope.LAUNCH, 0), data.amount, chunk, key)


def function_of(keys: Loaded) -> Function | None:
    """The function that gives the elements of the keys; ``None`` where none is mentioned, or they have several."""
    functions = dict.fromkeys(v.function for v in keys.values)
    return next(iter(functions)) if len(functions) == 1 else None


def counted(keys: Sequence[int], n: int) -> Counter[tuple[int, int]]:
    """c(b, k) by chunk and key."""
    return Counter((i // n, key) for i, key in enumerate(keys))


def chunk_numbers(keys: Array, n: int) -> Array:
    """The chunk of each element."""
    import numpy as np

    return np.asarray(np.arange(len(keys), dtype=np.int64) // min(n, max(len(keys), 1)))


def keys_in_chunks(n: int, keys: Sampled) -> Layouts:
    """All different in each chunk where that can be, in both directions, one key for each chunk, two keys in turn."""
    count, low = len(keys.places), -(-keys.low // keys.step) * keys.step if keys.bounded else 0
    room = max((keys.high - 1 - low) // keys.step + 1, 1) if keys.bounded else 2 * n
    numbers: tuple[Callable[[int], int], ...] = (
        lambda i: i % n,
        lambda i: (n - 1 - i) % n,
        lambda i: i // n,
        lambda i: (i // n + i) % n,
        lambda i: i % 2,
    )
    for number in numbers:
        yield [low + keys.step * (number(i) % room) for i in range(count)]


def powers_up_to(most: int) -> list[int]:
    """Powers of two, up to the first that is no less than ``most``."""
    return [1 << k for k in range(max(most - 1, 0).bit_length() + 1)]


def sizes_of_chunks(count: int) -> list[int]:
    """Into how large chunks people may cut so many keys: of any size, of many keys powers of two and all of them."""
    few = range(1, count + 1) if count <= _FEW else [n for n in powers_up_to(count) if n < count] + [count]
    return [*few]


_FEW: Final = 32
"""Keys that may be cut into chunks of any size."""
