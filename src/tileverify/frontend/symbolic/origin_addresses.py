"""Where memory begins: the byte address of what a pointer was derived from, and the words of a list's descriptors."""

from __future__ import annotations

from ...contract.terms import Function, Term, apply
from ...contract.terms.launch_wide import launch_function, launch_variable
from ...contract.variables import ADDRESS_MAX, argument_address
from .summary import Origin, OriginKind


def address_of(origin: Origin) -> Term:
    """The byte address of an origin's first byte."""
    if origin.address is not None:
        return origin.address
    if origin.index is not None:
        return apply(list_word(origin.name, "address"), origin.index)
    if origin.kind is OriginKind.LIST:  # of its descriptors: `xs.address` is what contracts call those of its arrays
        return launch_variable(f"descriptors of {origin.name}", 0, ADDRESS_MAX)
    return argument_address(origin.name)


def list_word(name: str, word: str) -> Function:
    """A word of a list's descriptors, by row: ``address``, ``shape[d]`` or ``strides[d]``."""
    return launch_function(f"{name}[].{word}", 0, ADDRESS_MAX)
