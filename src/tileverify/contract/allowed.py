"""What a launch lets a kernel do that is an error otherwise: ``allow = ["same-value-stores(out)"]``.

Blocks may store into the array without an order, as long as the stores of one element are *proved* to leave the same
bits.  A proof under such a word covers only launches that allow it, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from ..system.errors import SpecError
from .arguments import suggestion

SAME_VALUE_STORES: Final = "same-value-stores"

_WORD: Final = re.compile(r"\s*(?P<word>[\w-]+)\s*\(\s*(?P<array>[^()]*?)\s*\)\s*")


def read_allow(value: object, arrays: Collection[str] | None = None) -> tuple[str, ...]:
    """The words of ``allow``, in order and each once.

    ``arrays``: those of the launch, where they are known.  Raises `SpecError` for anything else.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise SpecError(f'must be a list of words, as in allow = ["{SAME_VALUE_STORES}(out)"]')
    return tuple(sorted({_read(text, arrays) for text in value}))


def _read(text: str, arrays: Collection[str] | None) -> str:
    found = _WORD.fullmatch(text)
    if found is None or found["word"] != SAME_VALUE_STORES:
        word = text.partition("(")[0].strip()
        near = "" if word == SAME_VALUE_STORES else suggestion(word, [SAME_VALUE_STORES])
        raise SpecError(f"'{text}' is nothing that can be allowed{near}; known: {SAME_VALUE_STORES}(ARRAY)")
    name = found["array"]
    if arrays is not None and name not in arrays:
        raise SpecError(f"'{name}' is not an array argument of this launch{suggestion(name, arrays)}")
    return same_value_stores(name)


def same_value_stores(array: str) -> str:
    """The word for one array."""
    return f"{SAME_VALUE_STORES}({array})"


def equal_store_arrays(words: Iterable[str]) -> frozenset[str]:
    """The arrays into which blocks may store equal values."""
    return frozenset(word.removeprefix(f"{SAME_VALUE_STORES}(").removesuffix(")") for word in words)


def allowed_text(words: Iterable[str]) -> tuple[str, ...]:
    """What is allowed, a sentence for each word."""
    return tuple(
        f"blocks may store equal values at one element of {word[len(SAME_VALUE_STORES) + 1 : -1]} ({word})"
        for word in words
    )
