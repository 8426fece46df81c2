"""Whether the texts of a certificate are SMT-LIB terms of the right sorts, made of what the certificate declares.

Before a second solver reads them: a text that is no term could end the assertion it stands in and say anything after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ..obligations.smtlib import BIT_OPERATIONS, PRODUCT, QUOTIENT, Declaration, tokens
from .model import Certificate, CertificateError
from .scripts import lemma_assertion, lemma_identities

_SYMBOL: Final = re.compile(r"\$[\w.]*|\|\$[^|\\]*\|", re.ASCII)
_DEFINITION: Final = re.compile(r"[tb]\d+", re.ASCII)
_NUMERAL: Final = re.compile(r"0|[1-9]\d*", re.ASCII)

_INTEGERS: Final[Mapping[str, tuple[int, int | None, str]]] = {
    "+": (1, None, "Int"),
    "-": (1, 2, "Int"),
    "*": (2, 3, "Int"),
    "div": (2, 2, "Int"),
    "mod": (2, 2, "Int"),
    PRODUCT: (2, 2, "Int"),
    QUOTIENT: (2, 2, "Int"),
    **dict.fromkeys(BIT_OPERATIONS, (2, 2, "Int")),
    "<": (2, 2, "Bool"),
    "<=": (2, 2, "Bool"),
}
"""Operators on integers: fewest and most operands, and the sort of the result."""
_CONDITIONS: Final[Mapping[str, tuple[int, int | None]]] = {
    "and": (1, None),
    "or": (1, None),
    "not": (1, 1),
    "=>": (2, 2),
}


class NoTerm(Exception):
    """Says what is wrong with a text."""


def check_texts(certificate: Certificate, file: str) -> None:
    """Raises `CertificateError` for the first text that is not what it should be."""
    try:
        _check(certificate)
    except NoTerm as error:
        raise CertificateError(f"the certificate is malformed: {error}", file) from None
    except RecursionError:
        raise CertificateError("the certificate is malformed: its terms are too deep", file) from None


def _check(certificate: Certificate) -> None:
    sorts: dict[str, str] = {}
    for name in certificate.symbols:
        if not _SYMBOL.fullmatch(name):
            raise NoTerm(f"{name!r} is no name of a symbol")
    for name, text in certificate.definitions.items():
        if not _DEFINITION.fullmatch(name):
            raise NoTerm(f"{name!r} is no name of a definition")
        sort = "Bool" if name[0] == "b" else "Int"
        _expect(sort, [text], certificate.symbols, sorts)
        sorts[name] = sort
    conditions, terms = list(certificate.facts), list[str]()
    for question in certificate.questions:
        conditions += question.conditions
        terms += [side for each in question.equal for side in (each.first, each.second)]
    for lemma in certificate.lemmas:
        terms += [arg for arg in lemma.args if isinstance(arg, str)]
        conditions += [lemma_assertion(lemma), *lemma_identities(lemma)]
    _expect("Int", terms, certificate.symbols, sorts)
    _expect("Bool", conditions, certificate.symbols, sorts)


def _expect(sort: str, texts: Iterable[str], symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> None:
    for text in texts:
        if sort_of(text, symbols, defined) != sort:
            raise NoTerm(f"{text[:120]!r} is not of the sort {sort}")


def sort_of(text: str, symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> str:
    """``Int`` or ``Bool`` for a term over ``symbols`` and definitions of the sorts ``defined``; raises `NoTerm`."""
    return _Term(text, symbols, defined).sort()


class _Term:
    """One text, read from left to right."""

    def __init__(self, text: str, symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> None:
        self.text, self.symbols, self.defined = text, symbols, defined
        self.pending = tokens(text)[::-1]

    def sort(self) -> str:
        """The sort of the whole text, which must be one term and nothing else, spelled as it is always spelled."""
        found = self._term()
        if self.pending:
            raise self._wrong()
        if "".join(self.text.split()) != "".join("".join(tokens(self.text)).split()):
            raise self._wrong()  # something in it is no token
        return found

    def _wrong(self) -> NoTerm:
        return NoTerm(f"{self.text[:120]!r} is no term")

    def _next(self) -> str:
        if not self.pending:
            raise self._wrong()
        return self.pending.pop()

    def _term(self) -> str:
        token = self._next()
        if token == "(":
            return self._application()
        if _NUMERAL.fullmatch(token):
            return "Int"
        if token in ("true", "false"):
            return "Bool"
        if token in self.symbols and not self.symbols[token].arity:
            return self.symbols[token].sort
        if token in self.defined:
            return self.defined[token]
        raise self._wrong()

    def _application(self) -> str:
        operator = self._next()
        operands: list[str] = []
        while self.pending and self.pending[-1] != ")":
            operands.append(self._term())
        self._next()
        result = self._result(operator, operands)
        if result is None:
            raise self._wrong()
        return result

    def _result(self, operator: str, operands: list[str]) -> str | None:
        count = len(operands)
        if operator in _INTEGERS:
            fewest, most, sort = _INTEGERS[operator]
            return sort if set(operands) == {"Int"} and fewest <= count <= (most or count) else None
        if operator in _CONDITIONS:
            least, upmost = _CONDITIONS[operator]
            return "Bool" if set(operands) == {"Bool"} and least <= count <= (upmost or count) else None
        if operator == "=":
            return "Bool" if count == 2 and operands[0] == operands[1] else None
        if operator == "ite":
            alike = count == 3 and operands[0] == "Bool" and operands[1] == operands[2]
            return operands[1] if alike else None
        if operator in self.symbols:
            symbol = self.symbols[operator]
            return symbol.sort if count == symbol.arity > 0 and set(operands) == {"Int"} else None
        return None
