"""Terms as text for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .nodes import ZERO, Term, TermKind, const, postorder
from .sums import add, linear_parts

_ATOMS: Final = (TermKind.CONST, TermKind.VAR, TermKind.APPLY, TermKind.MIN, TermKind.MAX, TermKind.WRAP)
_JOINED: Final = {
    TermKind.PRODUCT: "*", TermKind.AND: " and ", TermKind.OR: " or ", TermKind.BITAND: " & ", TermKind.BITOR: " | ",
    TermKind.BITXOR: " ^ ",
}  # fmt: skip
_INFIX: Final = {
    TermKind.LT: "<", TermKind.LE: "<=", TermKind.IFF: "==", TermKind.DIV: "//", TermKind.MOD: "%",
    TermKind.SHL: "<<", TermKind.SHR: ">>",
}  # fmt: skip
_CALL: Final = {TermKind.TDIV: "tdiv", TermKind.TMOD: "trem", TermKind.MIN: "min", TermKind.MAX: "max"}
_MODULI: Final = {1 << bits: bits for bits in (8, 16, 32, 64)}


def render(term: Term, limit: int = 400) -> str:
    """``term`` as text for people: infix, names as in the launch spec; longer than ``limit`` is cut.

    Shared subterms are rendered once, and no piece grows beyond the limit: a term may be far larger than its graph.
    """
    texts: dict[Term, str] = {}
    for part in postorder(term):
        text = _text_of(part, texts)
        texts[part] = text if len(text) <= limit else text[: limit - 3] + "..."
    return texts[term]


def _text_of(term: Term, texts: Mapping[Term, str]) -> str:
    """``term`` from the texts of its arguments."""

    def inner(sub_term: Term) -> str:
        text = texts[sub_term]
        return text if sub_term.kind in _ATOMS and not text.startswith("-") else f"({text})"

    if (reading := unsigned_reading(term)) is not None:
        bits, signed = reading
        return f"unsigned{bits}({texts[signed]})"
    match term.kind:
        case TermKind.CONST:
            return str(term.value)
        case TermKind.VAR:
            return term.symbol.name
        case TermKind.TRUE | TermKind.FALSE:
            return str(term.kind.value)
        case TermKind.SUM:
            return _sum_text(term, texts, inner)
        case TermKind.WRAP:
            return f"wrap{term.payload}({texts[term.args[0]]})"
        case TermKind.APPLY:
            return f"{term.function.name}[{', '.join(texts[a] for a in term.args)}]"
        case TermKind.ITE:
            c, t, f = term.args
            return f"{inner(t)} if {inner(c)} else {inner(f)}"
        case TermKind.NOT:
            a = term.args[0]
            return _equation(a, "!=", inner) if a.kind is TermKind.EQ else f"not {inner(a)}"
        case TermKind.EQ:
            return _equation(term, "==", inner)
        case kind:
            return _plain_text(kind, [inner(a) for a in term.args], [texts[a] for a in term.args])


def _plain_text(kind: TermKind, operands: list[str], arguments: list[str]) -> str:
    """Infix and call notation; ``operands`` are the ``arguments`` in parentheses where they need them."""
    if kind in _JOINED:
        return _JOINED[kind].join(sorted(operands))
    if kind in _INFIX:
        return f" {_INFIX[kind]} ".join(operands)
    return f"{_CALL[kind]}({', '.join(arguments)})"


def _equation(equal: Term, sign: str, inner: Callable[[Term], str]) -> str:
    """Both sides in a stable order, a constant last."""
    left, right = sorted(equal.args, key=lambda side: (side.kind is TermKind.CONST, inner(side)))
    return f"{inner(left)} {sign} {inner(right)}"


def _sum_text(term: Term, texts: Mapping[Term, str], inner: Callable[[Term], str]) -> str:
    constant, coefficients = term.payload
    text = ""
    ordered = sorted(zip(coefficients, term.args, strict=True), key=lambda item: texts[item[1]])
    for c, t in sorted(ordered, key=lambda item: item[0] < 0):
        factor = texts[t] if t.kind is TermKind.PRODUCT else inner(t)
        piece = factor if abs(c) == 1 else f"{factor}*{abs(c)}"
        text += (" - " if c < 0 else " + ") + piece if text else ("-" if c < 0 else "") + piece
    return f"{text} {'-' if constant < 0 else '+'} {abs(constant)}" if constant else text


def unsigned_reading(term: Term) -> tuple[int, Term] | None:
    """``(N, t)`` where ``term`` is the unsigned reading of the iN value t, in the form that `unsigned` makes."""
    if term.kind is TermKind.ITE:
        condition, shifted, signed = term.args
        if (
            condition.kind is TermKind.LT
            and condition.args[0] is signed
            and shifted.kind in (TermKind.SUM, TermKind.CONST)
        ):
            gap = linear_parts(shifted)[0] - linear_parts(signed)[0]
            if gap in _MODULI and add(signed, const(gap)) is shifted and condition.args[1] is ZERO:
                return _MODULI[gap], signed
    if term.kind is TermKind.MOD and term.args[1].kind is TermKind.CONST and term.args[1].value in _MODULI:
        return _MODULI[term.args[1].value], term.args[0]
    return None
