"""The nodes of terms: hash-consed, immutable, with a static interval; and the leaves.

Order among arguments follows structural digests, so that the same kernel gives the same terms in every process.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from weakref import ref


class Sort(enum.Enum):
    INT = "int"
    BOOL = "bool"

    __hash__ = object.__hash__  # members are singletons; the inherited one is a slow function, asked for every node


class Scope(enum.Enum):
    """What a variable or function symbol is shared by.

    ``LAUNCH``: every block of the launch sees one value (parameters, grid, sizes, data nobody writes).
    ``BLOCK``: one value per tile block (block ids, results of a block's own loads).
    ``ITERATION``: one value per dynamic instance of a loop body.
    ``LANE``: one value per element of a tile.
    """

    LAUNCH = "launch"
    BLOCK = "block"
    ITERATION = "iteration"
    LANE = "lane"

    __hash__ = object.__hash__


class TermKind(enum.Enum):
    # integers
    CONST = "const"  # payload: int
    VAR = "var"  # payload: Symbol (also boolean variables)
    SUM = "sum"  # payload: (constant, coefficients); args: the distinct non-constant summands
    PRODUCT = "product"  # two or more non-constant factors
    DIV = "div"  # floor(a / b); meaningless for b = 0: the obligation TV402 excludes it
    MOD = "mod"  # a - b * floor(a / b)
    TDIV = "tdiv"  # a / b rounded towards zero
    TMOD = "tmod"  # a - b * tdiv(a, b): sign of the dividend
    MIN = "min"
    MAX = "max"
    WRAP = "wrap"  # payload: N; the signed iN value congruent to the argument modulo 2**N
    ITE = "ite"  # integer or boolean
    APPLY = "apply"  # payload: Function
    # bits of the two's complement, see `bits`
    BITAND = "bitand"
    BITOR = "bitor"
    BITXOR = "bitxor"
    SHL = "shl"
    SHR = "shr"
    # booleans
    TRUE = "true"
    FALSE = "false"
    NOT = "not"
    AND = "and"
    OR = "or"
    LT = "lt"
    LE = "le"
    EQ = "eq"  # of integers
    IFF = "iff"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable.  ``low``/``high`` are inclusive bounds that every launch guarantees (``None``: open)."""

    name: str
    scope: Scope
    low: int | None = None
    high: int | None = None
    sort: Sort = Sort.INT


@dataclass(frozen=True, slots=True)
class Function:
    """An uninterpreted function symbol with the range of its results.

    ``array`` names the parameter whose contents it stands for (``data`` facts speak of it), if any.
    """

    name: str
    scope: Scope
    low: int | None = None
    high: int | None = None
    sort: Sort = Sort.INT
    array: str | None = None


Key: TypeAlias = "tuple[TermKind, Any, tuple[Term, ...]]"
"""Kind, payload and arguments: what makes a node that node."""


class Term:
    """One node.  Build terms with the functions of this module, never directly."""

    __slots__ = ("__weakref__", "_free", "args", "digest", "high", "kind", "low", "payload", "sort")

    kind: TermKind
    payload: Any
    args: tuple[Term, ...]
    sort: Sort
    digest: bytes
    low: int | None  # static interval of an integer term, inclusive; None: unbounded
    high: int | None
    _free: frozenset[Term] | None

    def __repr__(self) -> str:
        from .rendering import render

        return render(self)

    def __lt__(self, other: Term) -> bool:
        return self.digest < other.digest

    @property
    def free(self) -> frozenset[Term]:
        """Variables and function applications that occur in this term (applications with their arguments')."""
        inside = _free(self) if self._free is None else self._free
        return inside | {self} if self.kind is _VAR or self.kind is _APPLY else inside

    @property
    def value(self) -> int:
        """The integer of a constant."""
        assert self.kind is TermKind.CONST, self
        return int(self.payload)

    @property
    def symbol(self) -> Symbol:
        assert self.kind is TermKind.VAR, self
        assert isinstance(self.payload, Symbol)
        return self.payload

    @property
    def function(self) -> Function:
        assert self.kind is TermKind.APPLY, self
        assert isinstance(self.payload, Function)
        return self.payload


def _free(term: Term) -> frozenset[Term]:
    """`Term.free` of the term's arguments, and of all subterms' arguments, for good.

    A variable or application is none of its own: it would keep itself, until Python searches for cycles.
    """
    stack = [term]
    while stack:
        current = stack[-1]
        missing = [arg for arg in current.args if arg._free is None]
        if missing:
            stack += missing
            continue
        stack.pop()
        inside = [free for arg in current.args if (free := arg.free)]
        current._free = inside[0] if len(inside) == 1 else _NOTHING.union(*inside) if inside else _NOTHING
    assert term._free is not None
    return term._free


_NOTHING: Final[frozenset[Term]] = frozenset()
_VAR: Final = TermKind.VAR
_APPLY: Final = TermKind.APPLY


class _Reference(ref[Term]):
    """To a term, which it does not keep, with the key of its node."""

    __slots__ = ("key",)
    key: Key


_TABLE: Final[dict[Key, _Reference]] = {}


def _forget(reference: ref[Term]) -> None:
    assert isinstance(reference, _Reference)
    if _TABLE.get(reference.key) is reference:
        del _TABLE[reference.key]


def existing(kind: TermKind, args: tuple[Term, ...]) -> Term | None:
    """The node without payload, if there is one."""
    reference = _TABLE.get((kind, None, args))
    return None if reference is None else reference()


def make(
    kind: TermKind,
    args: tuple[Term, ...] = (),
    payload: Any = None,
    sort: Sort = Sort.INT,
    low: int | None = None,
    high: int | None = None,
) -> Term:
    key = (kind, payload, args)
    reference = _TABLE.get(key)
    if reference is not None:
        known = reference()
        if known is not None:
            return known
    term = Term()
    term.kind, term.payload, term.args, term.sort = kind, payload, args, sort
    digest = hashlib.blake2b(f"{kind._value_}|{payload!r}|".encode(), digest_size=10)
    for arg in args:
        digest.update(arg.digest)
    term.digest = digest.digest()
    term.low, term.high, term._free = low, high, None
    reference = _TABLE[key] = _Reference(term, _forget)
    reference.key = key
    return term


TRUE: Final = make(TermKind.TRUE, sort=Sort.BOOL)
FALSE: Final = make(TermKind.FALSE, sort=Sort.BOOL)


# -------------------------------------------------------------------------------------------- leaves
def const(value: int) -> Term:
    value = int(value)
    return make(TermKind.CONST, payload=value, low=value, high=value)


def boolean(value: bool) -> Term:
    return TRUE if value else FALSE


def var(name: str, scope: Scope, low: int | None = None, high: int | None = None, sort: Sort = Sort.INT) -> Term:
    if sort is Sort.INT and low is not None and low == high:
        return const(low)
    return make(TermKind.VAR, payload=Symbol(name, scope, low, high, sort), sort=sort, low=low, high=high)


def apply(function: Function, *args: Term) -> Term:
    return make(TermKind.APPLY, tuple(args), payload=function, sort=function.sort, low=function.low, high=function.high)


ZERO: Final = const(0)
ONE: Final = const(1)


def postorder(term: Term, known: Container[Term] = ()) -> Iterator[Term]:
    """Every distinct subterm, arguments first; those that are ``known`` and what only they contain are left out.

    ``known`` may grow meanwhile, by what was given out.
    """
    if term in known:
        return
    if not term.args:
        yield term
        return
    seen: set[Term] = set()
    stack: list[Term | None] = [term]
    inside: list[Term] = []
    while stack:
        current = stack.pop()
        if current is None:
            yield inside.pop()
        elif not current.args:
            if current not in seen:
                seen.add(current)
                yield current
        elif current not in seen:
            seen.add(current)
            inside.append(current)
            stack.append(None)
            stack.extend([arg for arg in current.args if arg not in seen and arg not in known])
