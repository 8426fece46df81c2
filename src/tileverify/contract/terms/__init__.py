"""Index terms: mathematical integers and booleans over launch, block, iteration and lane variables.

Terms are immutable, hash-consed (equal terms are the same object) and normalised on construction: integer
sums are linear combinations, constants fold, and a machine ``wrap`` disappears where the static interval of
its argument already fits.  An iN value is represented by its *signed* reading; ``unsigned(n, t)`` gives the
other one.  A wrap that cannot be dropped stays in the term as ``wrap``: nobody downstream may forget it.

This module is the whole language; `nodes`, `sums`, `bits`, `logic`, `products`, `rewriting` and `rendering` hold its
parts.
"""

from __future__ import annotations

from .bits import bit_and, bit_or, bit_xor, shift_left, shift_right
from .logic import and_, conjuncts, eq, flat_conjuncts, iff, implies, ite, le, lt, ne, not_, or_
from .nodes import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Symbol,
    Term,
    TermKind,
    apply,
    boolean,
    const,
    postorder,
    var,
)
from .products import mul, product, unsigned
from .rendering import render
from .rewriting import assuming, choice, literals, rebuild, simplified, substitute, transform
from .sums import (
    add,
    ceildiv,
    fits_signed,
    floordiv,
    floormod,
    from_linear,
    linear_parts,
    maximum,
    minimum,
    neg,
    scale,
    sub,
    truncdiv,
    truncmod,
    wrap,
)

__all__ = [
    "FALSE",
    "ONE",
    "TRUE",
    "ZERO",
    "Function",
    "Scope",
    "Sort",
    "Symbol",
    "Term",
    "TermKind",
    "add",
    "and_",
    "apply",
    "assuming",
    "bit_and",
    "bit_or",
    "bit_xor",
    "boolean",
    "ceildiv",
    "choice",
    "conjuncts",
    "const",
    "eq",
    "fits_signed",
    "flat_conjuncts",
    "floordiv",
    "floormod",
    "from_linear",
    "iff",
    "implies",
    "ite",
    "le",
    "linear_parts",
    "literals",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "neg",
    "not_",
    "or_",
    "postorder",
    "product",
    "rebuild",
    "render",
    "scale",
    "shift_left",
    "shift_right",
    "simplified",
    "sub",
    "substitute",
    "transform",
    "truncdiv",
    "truncmod",
    "unsigned",
    "var",
    "wrap",
]
