"""The sizes and strides of the arrays in a list, as its description gives them, in terms and in numbers."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from . import terms as t
from .contiguous import strides_of
from .element_types import INDEX_MAX
from .expressions import constant_value
from .launch import ArrayArgument, ListArgument, Name
from .terms import Scope, Term
from .variables import argument_address

_PARTS: Final = ("address", "shape", "strides")


def member_of_list(name: str, lists: Container[str]) -> tuple[str, str]:
    """The list and the word (``address``, ``shape[0]``, ``strides[1]``) that ``name`` stands for; two empty strings for
    any other name."""
    listed, dot, word = name.rpartition(".")
    return (listed, word) if dot and listed in lists and word.partition("[")[0] in _PARTS else ("", "")


def described_word(element: ArrayArgument, part: str, d: int) -> int | str | None:
    """How a list's description gives ``shape`` or ``strides`` number ``d`` of each of its arrays.

    A number, or the word of the array that has this size: the first of one name (``f32[M, M]`` is square).  ``None``
    for an expression, of which nothing is known.
    """
    described = (element.shape if part == "shape" else element.strides or ())[d]
    number = constant_value(described)
    if number is not None:
        return number
    words = [(f"shape[{k}]", size) for k, size in enumerate(element.shape)]
    words += [(f"strides[{k}]", stride) for k, stride in enumerate(element.strides or ())]
    return next((word for word, known in words if known == described), None) if isinstance(described, Name) else None


def member_variable(listed: ListArgument, word: str) -> Term:
    """What a condition on every array of a list calls a word (``address``, ``shape[0]``) of an array's descriptor."""
    if word == "address":
        return argument_address(listed.name)
    return t.var(f"{listed.name}.{word}", Scope.LAUNCH, 0, INDEX_MAX[listed.element.index_bits])


def described_member(listed: ListArgument, word: str) -> Term:
    """The same as far as the list's description says what the word is of all its arrays."""
    part, _, rest = word.partition("[")
    if part == "address" or listed.each:
        return member_variable(listed, word)
    element, dim = listed.element, int(rest.rstrip("]"))
    if part == "strides" and element.strides is None:
        return t.product(described_member(listed, f"shape[{d}]") for d in range(dim + 1, len(element.shape)))
    known = described_word(element, part, dim)
    return t.const(known) if isinstance(known, int) else member_variable(listed, known or word)


def described_number(array: ArrayArgument, part: str, d: int) -> int:
    """``shape`` or ``strides`` number ``d`` of an array that is described in numbers."""
    number = constant_value((array.shape if part == "shape" else strides_of(array))[d])
    assert number is not None
    return number
