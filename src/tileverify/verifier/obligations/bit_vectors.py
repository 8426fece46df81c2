"""Questions in integers (`smtlib`) put as questions in bit-vectors: QF_UFBV scripts, for both solvers.

Every integer of the question is bounded by the ranges of its symbols, so it fits a word of W bits, in two's complement,
where the widest of them does.  On such words the operations of machines are those of the integers:

    x + y, x - y, c * x     modulo 2**W; the exact value fits, so it is what comes out
    x div c, x mod c        for c > 0: mod is bvsmod, div is (x - x mod c) / c, whose remainder is 0
    x & y, x | y, x ^ y     on both words, as the sign is extended to all bits above
    x << s                  the lowest 66 bits (`..frontend.symbolic.bits`), read as signed

What has no known range, or does not fit `MOST_BITS`, is left out together with the assertion that it stands in: what
remains contradicts itself only if all of it does, but a model of it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final, TypeAlias

from ...contract.terms import TermKind
from ...contract.terms.bits import WIDTH
from .smtlib import PRODUCT, QUOTIENT, Declaration, needed_names, tokens

MOST_BITS: Final = 128
"""Bits of a word up to which a question is put."""

Tree: TypeAlias = "str | list[Tree]"
Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BitQuestion:
    """``script`` declares and asserts, over words of ``width`` bits; ``complete``: nothing was left out."""

    script: str
    width: int
    complete: bool


def bit_question(
    symbols: Mapping[str, Declaration], definitions: Mapping[str, str], assertions: Sequence[str]
) -> BitQuestion:
    """``assertions`` on words, as far as they fit: none may fit."""
    needed = needed_names(assertions, definitions)
    # In their order, each made of earlier ones, so that no chain of them is as deep as it is long.
    ranges = _Ranges(symbols, {name: _parsed(text) for name, text in definitions.items() if name in needed})
    for name in ranges.definitions:
        ranges.fits(name)
    trees = [_parsed(text) for text in assertions]
    kept = [tree for tree in trees if ranges.fits(tree)]
    width = max([1, *(ranges.bits_of(tree) for tree in kept)])
    return BitQuestion(_Writer(ranges, width).script(kept), width, len(kept) == len(trees))


class OutOfReach(Exception):
    """An integer of unknown range, or an operation on more bits than it is defined for."""


def _parsed(text: str) -> Tree:
    stack: list[list[Tree]] = [[]]
    for token in tokens(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    (tree,) = stack[0]
    return tree


def _bits(low: int, high: int) -> int:
    """Bits of a signed word that holds all of them."""
    return max((~each if each < 0 else each).bit_length() for each in (low, high)) + 1


_WORD: Final = (-(1 << (WIDTH - 1)), (1 << (WIDTH - 1)) - 1)


# ------------------------------------------------------------------------------------------------ ranges
@dataclass
class _Ranges:
    """How large the integers of a question can be."""

    symbols: Mapping[str, Declaration]
    definitions: Mapping[str, Tree]
    _known: dict[str, tuple[Range | None, int] | None] = field(default_factory=dict)  # by definition; None: no range
    _widest: int = 1

    def fits(self, tree: Tree) -> bool:
        try:
            return self.bits_of(tree) <= MOST_BITS
        except OutOfReach:
            return False

    def bits_of(self, tree: Tree) -> int:
        """The width on which ``tree`` can be computed; raises `OutOfReach`."""
        before, self._widest = self._widest, 1
        try:
            self.of(tree)
            return self._widest
        finally:
            self._widest = before

    def of(self, tree: Tree) -> Range | None:
        """The range of an integer, ``None`` for a condition."""
        found = self._of_name(tree) if isinstance(tree, str) else self._of_operation(tree)
        return self._noted(found) if found is not None else None

    def _noted(self, found: Range) -> Range:
        self._widest = max(self._widest, _bits(*found))
        return found

    def _of_name(self, name: str) -> Range | None:
        if name in self.symbols:
            return _of_symbol(self.symbols[name])
        if name in self.definitions:
            return self._of_definition(name)
        return None if name in ("true", "false") else (int(name), int(name))

    def _of_definition(self, name: str) -> Range | None:
        if name not in self._known:
            before, self._widest = self._widest, 1
            self._known[name] = None
            try:
                self._known[name] = (self.of(self.definitions[name]), self._widest)
            except OutOfReach:
                pass
            finally:
                self._widest = before
        known = self._known[name]
        if known is None:
            raise OutOfReach
        self._widest = max(self._widest, known[1])
        return known[0]

    def _of_operation(self, tree: list[Tree]) -> Range | None:
        head, *operands = tree
        assert isinstance(head, str)
        if head == "ite":
            self.of(operands[0])
            return _hull([side for side in map(self.of, operands[1:]) if side is not None])
        found = [self.of(operand) for operand in operands]
        if head in self.symbols:
            return _of_symbol(self.symbols[head])
        sides = [side for side in found if side is not None]
        if head in _CONDITIONS:
            return None
        return self._of_arithmetic(head, sides)

    def _of_arithmetic(self, head: str, sides: Sequence[Range]) -> Range:
        match head, sides:
            case "+", _:
                return sum(low for low, _ in sides), sum(high for _, high in sides)
            case "-", [(low, high)]:
                return -high, -low
            case "-", [(low, high), (other_low, other_high)]:
                return low - other_high, high - other_low
            case (("*" | "mul"), _):
                corners = [prod(corner) for corner in product(*sides)]
                return min(corners), max(corners)
            case "div", [(low, high), (divisor, same)] if divisor == same > 0:
                self._noted((low - divisor, high))
                return low // divisor, high // divisor
            case "mod", [_, (divisor, same)] if divisor == same > 0:
                return 0, divisor - 1
            case "quot", [(low, high), (divisor_low, divisor_high)]:
                room = max(abs(divisor_low), abs(divisor_high))
                self._noted((low - room, high + room))
                size = max(abs(low), abs(high))
                return -size, size
            case _, [x, y] if head in _ON_BITS and all(_within(side, _WORD) for side in (x, y)):
                return _on_bits(head, x, y)
        raise OutOfReach


def _of_symbol(symbol: Declaration) -> Range | None:
    return None if symbol.sort == "Bool" else _range(symbol)


def _range(symbol: Declaration) -> Range:
    if symbol.low is None or symbol.high is None:
        raise OutOfReach
    return symbol.low, symbol.high


def _hull(sides: Sequence[Range]) -> Range | None:
    return (min(low for low, _ in sides), max(high for _, high in sides)) if sides else None


def _within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _on_bits(head: str, x: Range, y: Range) -> Range:
    if head == TermKind.SHR.value:  # towards 0 or -1, whatever the amount
        return min(x[0], 0), max(x[1], 0)
    if head == TermKind.SHL.value:
        shifted = [side << y[1] for side in x] if y[0] >= 0 and y[1] < WIDTH else list(_WORD)
        found = min(0, *shifted), max(0, *shifted)
        return found if _within(found, _WORD) else _WORD
    bits = max(_bits(*x), _bits(*y)) - 1
    return (0 if x[0] >= 0 and y[0] >= 0 else -(1 << bits)), (1 << bits) - 1


# ---------------------------------------------------------------------------------------------- writing
_CONDITIONS: Final[Mapping[str, str]] = {
    "<": "bvslt",
    "<=": "bvsle",
    "=": "=",
    "and": "and",
    "or": "or",
    "not": "not",
    "=>": "=>",
}
_ON_BITS: Final[Mapping[str, str]] = {
    TermKind.BITAND.value: "bvand",
    TermKind.BITOR.value: "bvor",
    TermKind.BITXOR.value: "bvxor",
    TermKind.SHL.value: "bvshl",
    TermKind.SHR.value: "bvashr",
}
_FOLDED: Final[Mapping[str, str]] = {"+": "bvadd", "*": "bvmul", PRODUCT: "bvmul"}


@dataclass
class _Writer:
    """Trees over words of ``width`` bits.  Symbols are as narrow as their range, and extended where they occur."""

    ranges: _Ranges
    width: int
    _lines: list[str] = field(default_factory=list)
    _facts: dict[str, None] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)

    def script(self, assertions: Sequence[Tree]) -> str:
        for name in self.ranges.definitions:
            if self.ranges.fits(name) and self.ranges.bits_of(name) <= self.width:
                self._name(name)
        texts = [self.text(tree) for tree in assertions]
        asserted = (f"(assert {text})" for text in (*self._facts, *texts))
        return "\n".join(["(set-logic QF_UFBV)", *self._lines, *asserted]) + "\n"

    def text(self, tree: Tree) -> str:
        return self._name(tree) if isinstance(tree, str) else self._operation(tree)

    def _number(self, value: int) -> str:
        return f"(_ bv{value % (1 << self.width)} {self.width})"

    def _name(self, name: str) -> str:
        symbols, definitions = self.ranges.symbols, self.ranges.definitions
        if name in symbols:
            self._declared(name)
            return self._extended(name, symbols[name])
        if name not in definitions:
            return name if name in ("true", "false") else self._number(int(name))
        if name not in self._written:
            self._written.add(name)
            text = self.text(definitions[name])
            sort = "Bool" if name[0] == "b" else f"(_ BitVec {self.width})"
            self._lines.append(f"(define-fun {name} () {sort} {text})")
        return name

    def _declared(self, name: str) -> None:
        if name in self._written:
            return
        self._written.add(name)
        symbol = self.ranges.symbols[name]
        arguments = " ".join([f"(_ BitVec {self.width})"] * symbol.arity)
        sort = "Bool" if symbol.sort == "Bool" else f"(_ BitVec {_bits(*_range(symbol))})"
        self._lines.append(f"(declare-fun {name} ({arguments}) {sort})")

    def _extended(self, text: str, symbol: Declaration) -> str:
        """A value of ``symbol`` on a whole word, with its range among the facts."""
        if symbol.sort == "Bool":
            return text
        low, high = _range(symbol)
        whole = f"((_ sign_extend {self.width - _bits(low, high)}) {text})"
        self._facts[f"(bvsle {self._number(low)} {whole})"] = None
        self._facts[f"(bvsle {whole} {self._number(high)})"] = None
        return whole

    def _operation(self, tree: list[Tree]) -> str:
        head, *operands = tree
        assert isinstance(head, str)
        args = [self.text(operand) for operand in operands]
        if head in self.ranges.symbols:
            self._declared(head)
            return self._extended(f"({head} {' '.join(args)})", self.ranges.symbols[head])
        if head == "ite" or head in _CONDITIONS:
            return f"({_CONDITIONS.get(head, head)} {' '.join(args)})"
        if head in _FOLDED:
            folded = args[0]
            for arg in args[1:]:
                folded = f"({_FOLDED[head]} {folded} {arg})"
            return folded
        if head == "-":
            return f"(bvneg {args[0]})" if len(args) == 1 else f"(bvsub {args[0]} {args[1]})"
        if head in _ON_BITS:
            return self._lowest_bits(f"({_ON_BITS[head]} {args[0]} {args[1]})", head)
        if head == QUOTIENT:
            return f"(ite (= {args[1]} {self._number(0)}) {args[0]} {self._divided(*args)})"
        divisor = operands[1]
        assert isinstance(divisor, str), tree
        return self._by_number(head, args[0], int(divisor))

    def _by_number(self, head: str, x: str, divisor: int) -> str:
        """``div`` and ``mod`` by a positive number."""
        exponent = divisor.bit_length() - 1
        if divisor == 1 << exponent:
            masked = f"(bvand {x} {self._number(divisor - 1)})"
            return masked if head == "mod" else f"(bvashr {x} {self._number(exponent)})"
        by = self._number(divisor)
        return f"(bvsmod {x} {by})" if head == "mod" else self._divided(x, by)

    @staticmethod
    def _divided(x: str, y: str) -> str:
        return f"(bvsdiv (bvsub {x} (bvsmod {x} {y})) {y})"

    def _lowest_bits(self, text: str, head: str) -> str:
        if head != TermKind.SHL.value or self.width <= WIDTH:
            return text
        return f"((_ sign_extend {self.width - WIDTH}) ((_ extract {WIDTH - 1} 0) {text}))"
