"""What a contract says of each array of a list: ``xs.address % 16 == 0``, ``xs.strides[0] % 8 == 0``.

In a condition, ``xs.address``, ``xs.shape[d]`` and ``xs.strides[d]`` of a list ``xs`` are those of an array of it, and
the condition is said of every one.  Such a condition speaks of the arrays of one list alone, and of a list that has
arrays: a launch with an empty one is none of the contract's.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ..system.errors import SpecError
from .expressions import free_names, substitute
from .launch import Expression, ListArgument, Name, SameArray
from .list_terms import member_of_list


def list_spoken_of(condition: Expression | SameArray, lists: Container[str]) -> str | None:
    """The list whose arrays a condition is about; raises `SpecError` for those of two."""
    if isinstance(condition, SameArray):
        return None
    found = sorted({listed for name in free_names(condition) if (listed := member_of_list(name, lists)[0])})
    if len(found) > 1:
        raise SpecError(f"a condition speaks of the arrays of one list, not of both '{found[0]}' and '{found[1]}'")
    return found[0] if found else None


def lists_spoken_of(conditions: Iterable[Expression | SameArray], lists: Container[str]) -> list[str]:
    """The lists of which conditions say something that holds of each array."""
    return list(dict.fromkeys(name for each in conditions if (name := list_spoken_of(each, lists)) is not None))


def of_array(condition: Expression, listed: str, array: str) -> Expression:
    """What a condition on the arrays of a list says of one of them, which is called ``array``."""
    found = {name: member_of_list(name, (listed,))[1] for name in free_names(condition)}
    return substitute(condition, {name: Name(f"{array}.{word}") for name, word in found.items() if word})


def of_arrays(condition: Expression, listed: str, arrays: Iterable[str]) -> Iterator[Expression]:
    """The same of all of them."""
    return (of_array(condition, listed, array) for array in arrays)


def member_names(listed: ListArgument) -> Iterator[str]:
    """``xs.address``, and of each dimension ``xs.shape[d]`` and ``xs.strides[d]``."""
    yield f"{listed.name}.address"
    for dim in range(len(listed.element.shape)):
        yield f"{listed.name}.shape[{dim}]"
        yield f"{listed.name}.strides[{dim}]"
