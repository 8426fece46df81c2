"""Terms and lemma schemas in SMT-LIB 2.6, for certificates: a second encoding beside the one that finds proofs.

A `Vocabulary` gives every variable a name that begins with ``$`` and every larger subterm a definition, ``t0`` for an
integer or ``b0`` for a condition, so that questions about one kernel share what they have in common.  Names depend on
the order in which terms are written, on nothing else: the same questions in the same order give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ...contract import terms as t
from ...contract.terms import Function, Sort, Symbol, Term, TermKind
from ...contract.terms.bits import OPERATIONS, WIDTH
from .simplify import expand, is_opaque_quotient, split_product

PRODUCT: Final = "mul"
QUOTIENT: Final = "quot"
_SHORT: Final = 24
"""Characters up to which a term is written out wherever it occurs."""
_SIMPLE: Final = re.compile(r"[\w.]+", re.ASCII)
TOKEN: Final = re.compile(r"\|[^|]*\||[()]|[^\s()|]+")


SortName: TypeAlias = Literal["Int", "Bool"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable, or with ``arity`` a function of integers: its sort (``Int``, ``Bool``), what shares its value
    (``scope``) and the inclusive range of its values in every launch."""

    sort: SortName
    scope: str
    arity: int = 0
    low: int | None = None
    high: int | None = None


class Vocabulary:
    """What the terms written so far are made of.

    ``symbols``: variables and functions by name; ``definitions``: terms by name, each made of earlier ones.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Declaration] = {}
        self.definitions: dict[str, str] = {}
        self._text: dict[Term, str] = {}
        self._names: dict[tuple[object, ...], str] = {}

    def write(self, term: Term) -> str:
        """``term`` as an SMT-LIB term over `symbols` and `definitions`."""
        term = expand(term)
        for sub in t.postorder(term):
            if sub not in self._text:
                self._text[sub] = self._named(sub)
        return self._text[term]

    def _named(self, term: Term) -> str:
        match term.kind:
            case TermKind.CONST:
                return number(term.value)
            case TermKind.TRUE | TermKind.FALSE:
                return "true" if term is t.TRUE else "false"
            case TermKind.VAR:
                return self.symbol(term.symbol, 0)
        return self._define(self._written(term), term)

    def _define(self, text: str, term: Term) -> str:
        opaque = term.kind in (TermKind.PRODUCT, TermKind.APPLY) or (
            term.kind is TermKind.DIV and is_opaque_quotient(term)
        )
        if len(text) <= _SHORT and not opaque:
            return text
        name = f"{'b' if term.sort is Sort.BOOL else 't'}{len(self.definitions)}"
        self.definitions[name] = text
        return name

    def _written(self, term: Term) -> str:
        args = [self._text[arg] for arg in term.args] if term.kind is not TermKind.PRODUCT else []
        match term.kind:
            case TermKind.SUM:
                constant, coefficients = term.payload
                parts = [a if c == 1 else f"(* {number(c)} {a})" for c, a in zip(coefficients, args, strict=True)]
                parts += [number(constant)] if constant else []
                return _joined("+", parts)
            case TermKind.PRODUCT:
                return f"({PRODUCT} {' '.join(map(self.write, split_product(term)))})"
            case TermKind.DIV:
                return f"({QUOTIENT if is_opaque_quotient(term) else 'div'} {' '.join(args)})"
            case TermKind.MOD:
                return f"(mod {' '.join(args)})"
            case TermKind.WRAP:
                half = 1 << (term.payload - 1)
                return f"(- (mod (+ {args[0]} {half}) {2 * half}) {half})"
            case TermKind.MIN | TermKind.MAX:
                a, b = args
                return f"(ite (<= {a} {b}) {a} {b})" if term.kind is TermKind.MIN else f"(ite (<= {a} {b}) {b} {a})"
            case TermKind.APPLY:
                return self._application(term, args)
        return _joined(_OPERATORS[term.kind], args)

    def _application(self, term: Term, args: Sequence[str]) -> str:
        name = self.symbol(term.function, len(args))
        numbers = (f"(ite {a} 1 0)" if s.sort is Sort.BOOL else a for a, s in zip(args, term.args, strict=True))
        return f"({name} {' '.join(numbers)})" if args else name

    def symbol(self, symbol: Symbol | Function, arity: int) -> str:
        """A name that no other symbol has: a size may be called ``l0``, as a lane is."""
        key = (symbol.name, symbol.sort, symbol.scope, symbol.low, symbol.high, arity, isinstance(symbol, Function))
        if key not in self._names:
            stem = f"${symbol.name}".translate(_NOT_IN_SYMBOLS)
            name, count = _quoted(stem), 1
            while name in self.symbols:
                count += 1
                name = _quoted(f"{stem}~{count}")
            self._names[key] = name
            sort: SortName = "Bool" if symbol.sort is Sort.BOOL else "Int"
            self.symbols[name] = Declaration(sort, symbol.scope.value, arity, symbol.low, symbol.high)
        return self._names[key]


BIT_OPERATIONS: Final = frozenset(kind.value for kind in OPERATIONS)
"""The functions that stand for operations on bits; in integers they are congruent and no more."""

_NOT_IN_SYMBOLS: Final = str.maketrans({"|": "_", "\\": "_"})

_OPERATORS: Final[Mapping[TermKind, str]] = {
    TermKind.ITE: "ite",
    TermKind.NOT: "not",
    TermKind.AND: "and",
    TermKind.OR: "or",
    TermKind.LT: "<",
    TermKind.LE: "<=",
    TermKind.EQ: "=",
    TermKind.IFF: "=",
    **{kind: kind.value for kind in OPERATIONS},
}


def number(value: int) -> str:
    """A numeral; SMT-LIB has no negative ones."""
    return str(value) if value >= 0 else f"(- {-value})"


def _joined(operator: str, parts: Sequence[str]) -> str:
    return f"({operator} {' '.join(parts)})" if len(parts) > 1 or operator == "not" else parts[0]


def _quoted(name: str) -> str:
    return name if _SIMPLE.fullmatch(name, 1) else f"|{name}|"


# ------------------------------------------------------------------------------------------------ scripts
def tokens(text: str) -> list[str]:
    """Parentheses, symbols and numerals of an SMT-LIB term."""
    return TOKEN.findall(text)


def script(
    symbols: Mapping[str, Declaration],
    definitions: Mapping[str, str],
    assertions: Iterable[str],
    *,
    exact: bool,
) -> str:
    """A script that asserts ``assertions`` over just the symbols and definitions that they need.

    The range of a symbol is asserted where it occurs, that products commute where they are functions without meaning
    (``exact=False``).  The last commands assert ``assertions``, one each, in their order.
    """
    wanted = list(assertions)
    needed = needed_names(wanted, definitions)
    asserted = (*_facts(symbols, definitions, needed, exact=exact), *wanted)
    lines = [*_names(symbols, definitions, needed, exact=exact), *(f"(assert {formula})" for formula in asserted)]
    return "\n".join(lines) + "\n"


def script_of_any(
    symbols: Mapping[str, Declaration],
    definitions: Mapping[str, str],
    alternatives: Iterable[Sequence[str]],
    *,
    exact: bool,
) -> str:
    """A script that is a contradiction just if `script` of each of ``alternatives`` is one.

    What `script` would assert of symbols and products stands in each alternative, for what that alternative needs.
    """
    every: set[str] = set()
    formulas = []
    for wanted in alternatives:
        needed = needed_names(wanted, definitions)
        every |= needed
        formulas.append(f"(and true {' '.join((*_facts(symbols, definitions, needed, exact=exact), *wanted))})")
    lines = [*_names(symbols, definitions, every, exact=exact), f"(assert (or false {' '.join(formulas)}))"]
    return "\n".join(lines) + "\n"


def _names(
    symbols: Mapping[str, Declaration], definitions: Mapping[str, str], needed: AbstractSet[str], *, exact: bool
) -> Iterator[str]:
    """The commands that give the ``needed`` names their meaning."""
    yield "(set-logic ALL)"
    yield (EXACT if exact else CONGRUENT).rstrip("\n")
    yield from (f"(declare-fun {name} (Int Int) Int)" for name in sorted(BIT_OPERATIONS & needed))
    yield from (_declared(name, symbol) for name, symbol in symbols.items() if name in needed)
    for name, text in definitions.items():
        if name in needed:
            yield f"(define-fun {name} () {'Bool' if name[0] == 'b' else 'Int'} {text})"


def _facts(
    symbols: Mapping[str, Declaration], definitions: Mapping[str, str], needed: AbstractSet[str], *, exact: bool
) -> Iterator[str]:
    """What is asserted of the ``needed`` names wherever they occur."""
    for name, symbol in symbols.items():
        if name in needed and not symbol.arity:
            yield from _within(name, symbol)
    for name, text in definitions.items():
        if name not in needed:
            continue
        head = tokens(text)[1] if text[0] == "(" else ""
        if head in symbols:
            yield from _within(name, symbols[head])
        elif head == PRODUCT and not exact:
            yield f"(= {name} ({PRODUCT} {' '.join(reversed(_operands(text)))}))"


def _declared(name: str, symbol: Declaration) -> str:
    if symbol.arity:
        return f"(declare-fun {name} ({' '.join(['Int'] * symbol.arity)}) {symbol.sort})"
    return f"(declare-const {name} {symbol.sort})"


def _within(name: str, symbol: Declaration) -> Iterator[str]:
    if symbol.low is not None:
        yield f"(<= {number(symbol.low)} {name})"
    if symbol.high is not None:
        yield f"(<= {name} {number(symbol.high)})"


def _operands(text: str) -> list[str]:
    """The operands of ``(head a b ...)``."""
    found: list[str] = []
    depth, current = 0, list[str]()
    for token in tokens(text)[2:-1]:
        depth += (token == "(") - (token == ")")
        current.append(token)
        if depth == 0:
            found.append(" ".join(current).replace("( ", "(").replace(" )", ")"))
            current = []
    return found


def needed_names(texts: Iterable[str], definitions: Mapping[str, str]) -> set[str]:
    """The symbols and definitions that ``texts`` are made of, and those are made of, all the way down."""
    seen: set[str] = set()
    pending = list(texts)
    while pending:
        for token in tokens(pending.pop()):
            if token not in seen:
                seen.add(token)
                if token in definitions:
                    pending.append(definitions[token])
    return seen


# -------------------------------------------------------------------------------------------------------- lemma schemas
# The lemma schemas of proofs over linear integers, stated in SMT-LIB for certificates.
#
# In such a proof products and quotients are congruent functions ``mul`` and ``quot`` without a meaning, operations on
# bits ``bitand`` and the like; what they mean enters through instances of these schemas.  A schema holds for all
# integers that satisfy its ``identities``, in which the functions do have their meaning (`EXACT`, `.bit_vectors`). The
# tests have each proved by two solvers; `smt.lemmas` chooses the instances.


CONGRUENT: Final = "(declare-fun mul (Int Int) Int)\n(declare-fun quot (Int Int) Int)\n"
"""Products and quotients of which nothing is known but that equal arguments give equal values."""

EXACT: Final = (
    "(define-fun mul ((x Int) (y Int)) Int (* x y))\n"
    "(define-fun quot ((x Int) (y Int)) Int"
    " (ite (< 0 y) (div x y) (ite (< y 0) (div (- x) (- y)) x)))\n"
)
"""Their meaning.  Quotients round towards minus infinity; SMT-LIB's ``div`` does for positive divisors.  A division by
zero means nothing (TV402 excludes it), so any value will do."""


@dataclass(frozen=True, slots=True)
class Schema:
    """``statement`` holds for all values of ``parameters`` for which ``identities`` do; those in ``numbers`` are
    numerals wherever the schema is used, so that the statement is linear."""

    parameters: tuple[str, ...]
    numbers: frozenset[str]
    statement: str
    identities: tuple[str, ...]

    def stated(self, arguments: Sequence[str]) -> str:
        """The instance for ``arguments``, terms of SMT-LIB."""
        return self.statement.format_map(self._named(arguments))

    def identified(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """What must hold of ``arguments`` by the meaning of products and quotients."""
        named = self._named(arguments)
        return tuple(identity.format_map(named) for identity in self.identities)

    def _named(self, arguments: Sequence[str]) -> Mapping[str, str]:
        return dict(zip(self.parameters, arguments, strict=True))


def _schema(parameters: str, statement: str, *identities: str) -> Schema:
    """Capital letters are numbers."""
    names = tuple(parameters.split())
    return Schema(names, frozenset(name for name in names if name.isupper()), statement, identities)


_P_IS_XY: Final = "(= {p} (mul {x} {y}))"
_TWO_PRODUCTS: Final = ("(= {p} (mul {f} {x}))", "(= {q} (mul {g} {y}))")
_PLANE: Final = "(- (+ (* {B} {x}) (* {A} {y})) (* {A} {B}))"
_SAME_SIDES: Final = "(or (and (<= {x} {A}) (<= {y} {B})) (and (<= {A} {x}) (<= {B} {y})))"
_OPPOSITE_SIDES: Final = "(or (and (<= {x} {A}) (<= {B} {y})) (and (<= {A} {x}) (<= {y} {B})))"

_XOR: Final = "(or (= {{{0}}} (bitxor {{{1}}} {{{2}}})) (= {{{0}}} (bitxor {{{2}}} {{{1}}})))"


def _words(*names: str) -> str:
    """Within the bits that operations on them are defined on."""
    end = 1 << (WIDTH - 1)
    return f"(and {' '.join(f'(<= (- {end}) {{{name}}}) (< {{{name}}} {end})' for name in names)})"


SCHEMAS: Final[Mapping[str, Schema]] = {
    "quotient": _schema(
        "x d q m",
        "(and (=> (< 0 {d}) (and (<= {m} {x}) (< {x} (+ {m} {d}))))"
        " (=> (< {d} 0) (and (<= {x} {m}) (< (+ {m} {d}) {x}))) (=> (= {d} 0) (= {q} {x})))",
        "(= {q} (quot {x} {d}))",
        "(= {m} (mul {d} {q}))",
    ),
    "zero": _schema("x y p", "(=> (or (= {x} 0) (= {y} 0)) (= {p} 0))", _P_IS_XY),
    "magnitude": _schema(
        "S x R y p",
        "(=> (and (<= 1 (* {S} {x})) (<= 1 (* {R} {y})))"
        " (and (<= (* {S} {x}) (* {S} {R} {p})) (<= (* {R} {y}) (* {S} {R} {p}))))",
        _P_IS_XY,
    ),
    "order": _schema(
        "f g A x p B y q",
        "(=> (and (= {f} {g}) (< 0 {f}) (< (* {A} {x}) (* {B} {y}))) (<= (+ (* {A} {p}) {f}) (* {B} {q})))",
        *_TWO_PRODUCTS,
    ),
    "equal": _schema(
        "f g A x p B y q",
        "(=> (and (= {f} {g}) (= (* {A} {x}) (* {B} {y}))) (= (* {A} {p}) (* {B} {q})))",
        *_TWO_PRODUCTS,
    ),
    "distribution below": _schema(
        "f g x p y q", "(=> (and (= {f} {g}) (< 0 {f}) (<= {y} {x})) (<= {q} {p}))", *_TWO_PRODUCTS
    ),
    "distribution above": _schema(
        "f g x p y q", "(=> (and (= {f} {g}) (< 0 {f}) (< {x} {y})) (<= (+ {p} {f}) {q}))", *_TWO_PRODUCTS
    ),
    "line": _schema("x A y p", "(=> (= {x} {A}) (= {p} (* {A} {y})))", _P_IS_XY),
    "plane above": _schema("x A y B p", f"(=> {_OPPOSITE_SIDES} (<= {{p}} {_PLANE}))", _P_IS_XY),
    "plane below": _schema("x A y B p", f"(=> {_SAME_SIDES} (<= {_PLANE} {{p}}))", _P_IS_XY),
    "shift": _schema(
        "x y C k p",
        "(=> (and (< 0 {C}) (= {x} (+ {y} (* {C} {k})))) (= (div {x} {C}) (+ {p} {k})))",
        "(= {p} (quot {y} {C}))",
    ),
    "bits and": _schema(
        "x y p",
        f"(=> {_words('x', 'y')}"
        " (and (=> (<= 0 {x}) (and (<= 0 {p}) (<= {p} {x}))) (=> (<= 0 {y}) (and (<= 0 {p}) (<= {p} {y})))"
        " (=> (and (< {x} 0) (< {y} 0)) (and (<= {p} {x}) (<= {p} {y})))))",
        "(= {p} (bitand {x} {y}))",
    ),
    "bits or": _schema(
        "x y p q",
        f"(=> {_words('x', 'y')} (= {{p}} (- (+ {{x}} {{y}}) {{q}})))",
        "(= {p} (bitor {x} {y}))",
        "(= {q} (bitand {x} {y}))",
    ),
    "bits xor": _schema(
        "x y p q",
        f"(=> {_words('x', 'y')} (= {{p}} (- (+ {{x}} {{y}}) (* 2 {{q}}))))",
        "(= {p} (bitxor {x} {y}))",
        "(= {q} (bitand {x} {y}))",
    ),
    "bits xor same": _schema(
        "x y p z q",
        f"(=> {_words('x', 'y', 'z')} (=> (= {{p}} {{q}}) (= {{y}} {{z}})))",
        _XOR.format("p", "x", "y"),
        _XOR.format("q", "x", "z"),
    ),
    "bits shift right": _schema(
        "x s p",
        f"(=> {_words('x', 's')}"
        " (and (=> (<= 0 {x}) (and (<= 0 {p}) (<= {p} {x}))) (=> (< {x} 0) (and (<= {x} {p}) (< {p} 0)))"
        " (=> (= {s} 0) (= {p} {x})) (=> (and (<= 0 {x}) (<= 1 {s})) (<= (* 2 {p}) {x}))))",
        "(= {p} (shr {x} {s}))",
    ),
    "bits shift left": _schema(
        "x s p",
        f"(=> {_words('x', 's')} (and (=> (= {{x}} 0) (= {{p}} 0)) (=> (= {{s}} 0) (= {{p}} {{x}}))))",
        "(= {p} (shl {x} {s}))",
    ),
}
