"""The sizes and strides of the arrays in a list, as its description gives them, in terms and in numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from ..system.errors import SpecError
from . import terms as t
from .element_types import INDEX_MAX, LENGTH_BITS
from .expressions import constant_value, free_names, substitute
from .launch import (
    ArrayArgument,
    DataFact,
    Expression,
    ListArgument,
    Name,
    Number,
    SameArray,
    expressions_of,
    strides_of,
    with_expressions,
)
from .terms import Scope, Term
from .variables import argument_address

_PARTS: Final = ("address", "index", "shape", "strides")


def member_of_list(name: str, lists: Container[str]) -> tuple[str, str]:
    """The list and the word (``address``, ``index``, ``shape[0]``, ``strides[1]``) that ``name`` stands for; two empty
    strings for any other name."""
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
    if word == "index":
        return t.var(f"{listed.name}.index", Scope.LAUNCH, 0, INDEX_MAX[LENGTH_BITS])
    return t.var(f"{listed.name}.{word}", Scope.LAUNCH, 0, INDEX_MAX[listed.element.index_bits])


def described_member(listed: ListArgument, word: str) -> Term:
    """The same as far as the list's description says what the word is of all its arrays."""
    part, _, rest = word.partition("[")
    if part in ("address", "index") or listed.each:
        return member_variable(listed, word)
    element, dim = listed.element, int(rest.rstrip("]"))
    if part == "strides" and element.strides is None:
        return t.product(described_member(listed, f"shape[{d}]") for d in range(dim + 1, len(element.shape)))
    known = described_word(element, part, dim)
    return t.const(known) if isinstance(known, int) else member_variable(listed, known or word)


def member_values(listed: ListArgument, index: int, shape: Sequence[int], strides: Sequence[int]) -> dict[Term, Term]:
    """What conditions on every array of a list mean by number, sizes and strides in array ``index``, with these."""
    return {member_variable(listed, "index"): t.const(index)} | {
        member_variable(listed, f"{part}[{d}]"): t.const(number)
        for part, numbers in (("shape", shape), ("strides", strides))
        for d, number in enumerate(numbers)
    }


def values_of_each(listed: ListArgument) -> Iterator[dict[Term, Term]]:
    """The same of every array that the list's description gives in numbers."""
    for index, array in enumerate(listed.each):
        dims = range(len(array.shape))
        shape, strides = ([described_number(array, part, d) for d in dims] for part in ("shape", "strides"))
        yield member_values(listed, index, shape, strides)


def described_number(array: ArrayArgument, part: str, d: int) -> int:
    """``shape`` or ``strides`` number ``d`` of an array that is described in numbers."""
    number = constant_value((array.shape if part == "shape" else strides_of(array))[d])
    assert number is not None
    return number


# ----------------------------------------------------------------------------------------------------------- each array
# What a contract says of each array of a list: ``xs.address % 16 == 0``, ``xs.strides[0] % 8 == 0``.
#
# In a condition, ``xs.address``, ``xs.shape[d]`` and ``xs.strides[d]`` of a list ``xs`` are those of an array of it,
# and the condition is said of every one.  Such a condition speaks of the arrays of one list alone, and of a list that
# has arrays: a launch with an empty one is none of the contract's.  The same holds of the numbers of a data fact:
# ``range(idx, 0, xs.shape[0])`` is said once for every array of ``xs``, with the size of that array.  In facts
# ``xs.index`` is the array's number in the list, from 0 on.


def list_spoken_of(condition: Expression | SameArray, lists: Container[str]) -> str | None:
    """The list whose arrays a condition is about; raises `SpecError` for those of two."""
    return None if isinstance(condition, SameArray) else _one_list((condition,), lists, "condition")


def _one_list(expressions: Iterable[Expression], lists: Container[str], what: str) -> str | None:
    names = {name for each in expressions for name in free_names(each)}
    found = sorted({listed for name in names if (listed := member_of_list(name, lists)[0])})
    if len(found) > 1:
        raise SpecError(f"a {what} speaks of the arrays of one list, not of both '{found[0]}' and '{found[1]}'")
    return found[0] if found else None


def list_in_fact(fact: DataFact, lists: Container[str]) -> str | None:
    """The list whose arrays the numbers of a fact are about; raises `SpecError` for those of two."""
    return _one_list(expressions_of(fact), lists, "fact")


def said_of_each(facts: Iterable[DataFact], arrays: Mapping[str, Sequence[str]]) -> Iterator[DataFact]:
    """Facts with the names of lists' ``arrays``: one with numbers of a list's arrays is said with those of each."""
    for fact in facts:
        listed = list_in_fact(fact, arrays)
        if listed is None:
            yield fact
        else:
            for number, name in enumerate(arrays[listed]):
                yield with_expressions(fact, partial(of_array, listed=listed, array=name, number=number))


def lists_spoken_of(
    conditions: Iterable[Expression | SameArray], facts: Iterable[DataFact], lists: Container[str]
) -> list[str]:
    """The lists of which conditions or facts say something that holds of each array."""
    found = (*(list_spoken_of(each, lists) for each in conditions), *(list_in_fact(fact, lists) for fact in facts))
    return list(dict.fromkeys(name for name in found if name is not None))


def of_array(condition: Expression, listed: str, array: str, number: int = 0) -> Expression:
    """What a condition on the arrays of a list says of one of them, which is called ``array``; ``number``: which."""
    found = {name: member_of_list(name, (listed,))[1] for name in free_names(condition)}
    meant = {name: Name(f"{array}.{word}") for name, word in found.items() if word and word != "index"}
    return substitute(condition, meant | {name: Number(number) for name, word in found.items() if word == "index"})


def of_arrays(condition: Expression, listed: str, arrays: Iterable[str]) -> Iterator[Expression]:
    """The same of all of them."""
    return (of_array(condition, listed, array) for array in arrays)


def member_names(listed: ListArgument) -> Iterator[str]:
    """``xs.address``, and of each dimension ``xs.shape[d]`` and ``xs.strides[d]``; conditions do not name numbers."""
    yield f"{listed.name}.address"
    for dim in range(len(listed.element.shape)):
        yield f"{listed.name}.shape[{dim}]"
        yield f"{listed.name}.strides[{dim}]"
