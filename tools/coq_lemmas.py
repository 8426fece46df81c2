"""The lemma schemas as statements of Coq: ``python -m tools.coq_lemmas`` writes ``proofs/LemmaStatements.v``.

They are printed from `SCHEMAS` and `EXACT`, the same texts that certificates are checked with; ``proofs/Lemmas.v``
proves them by hand, and fails when a schema says something else than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from tileverify.contract.terms.bits import WIDTH
from tileverify.verifier.obligations.smtlib import EXACT, SCHEMAS, Schema, tokens

FILE: Final = Path(__file__).parents[1] / "proofs" / "LemmaStatements.v"

Tree: TypeAlias = "str | list[Tree]"

_HEAD: Final = """\
(** The lemma schemas of the prover as statements over Z.

    Printed by `python -m tools.coq_lemmas` from src/tileverify/verifier/obligations/smtlib.py; not for editing.
    Proofs are in Lemmas.v. *)

From Coq Require Import ZArith.
From TileVerify Require Import Words.
Open Scope Z_scope.
"""
_INFIX: Final = {"+": "+", "*": "*", "=": "=", "<": "<", "<=": "<=", "and": "/\\", "or": "\\/", "=>": "->"}
_COMPARED: Final = {"<": "<?", "<=": "<=?", "=": "=?"}
"""Comparisons that decide: conditions of ``ite``."""
_FUNCTIONS: Final = {"div": "Z.div"} | {name: name for name in ("mul", "quot")}
"""``div`` is that of SMT-LIB; both round downwards for positive divisors, and `EXACT` uses it with no others."""
_WORDS: Final = {name: f"{name} {WIDTH}" for name in ("bitand", "bitor", "bitxor", "shl", "shr")}
"""Operations on words of so many bits: ``proofs/Words.v``."""


def main() -> None:
    FILE.write_text(text(), encoding="utf-8")


def text() -> str:
    """What the file should hold."""
    parts = [_HEAD, *(_definition(each) for each in _trees(EXACT))]
    parts += [_statement(name, schema) for name, schema in SCHEMAS.items()]
    names = " /\\\n  ".join(map(coq_name, SCHEMAS))
    parts.append(f"(** All of them. *)\nDefinition every_schema : Prop :=\n  {names}.\n")
    return "\n".join(parts)


def coq_name(schema: str) -> str:
    return f"{schema.replace(' ', '_')}_schema"


def _statement(name: str, schema: Schema) -> str:
    premises = [_term(tree) for each in schema.identified(schema.parameters) for tree in _trees(each)]
    (statement,) = _trees(schema.stated(schema.parameters))
    lines = [f"{premise} ->" for premise in premises] + [f"{_unbracketed(statement)}."]
    said = "\n  ".join(lines)
    return f"Definition {coq_name(name)} : Prop := forall {' '.join(schema.parameters)} : Z,\n  {said}\n"


def _definition(tree: Tree) -> str:
    """``(define-fun f ((x Int) ...) Int body)``."""
    match tree:
        case ["define-fun", str(name), list(parameters), "Int", body]:
            names = " ".join(str(parameter[0]) for parameter in parameters)
            return f"Definition {name} ({names} : Z) : Z := {_unbracketed(body)}.\n"
    raise ValueError(f"no definition of a function of integers: {tree}")


def _term(tree: Tree) -> str:
    """A term in Coq, in brackets where it is not a name or a number.

    :raises ValueError: it holds an operator of which this knows no meaning.
    """
    match tree:
        case str():
            return tree
        case ["-", operand]:
            return f"(- {_term(operand)})"
        case ["-", first, second]:
            return f"({_term(first)} - {_term(second)})"
        case ["ite", condition, then, otherwise]:
            return f"(if {_decided(condition)} then {_term(then)} else {_term(otherwise)})"
        case ["=" | "<" | "<=" | "=>" as operator, first, second]:
            return f"({_term(first)} {_INFIX[operator]} {_term(second)})"
        case ["+" | "*" | "and" | "or" as operator, *operands] if operands:
            return f"({f' {_INFIX[operator]} '.join(map(_term, operands))})"
        case [str(function), first, second] if function in _FUNCTIONS or function in _WORDS:
            return f"({(_FUNCTIONS | _WORDS)[function]} {_term(first)} {_term(second)})"
    raise ValueError(f"no meaning is known of {tree}")


def _unbracketed(tree: Tree) -> str:
    return _term(tree) if isinstance(tree, str) else _term(tree)[1:-1]


def _decided(tree: Tree) -> str:
    match tree:
        case ["<" | "<=" | "=" as operator, first, second]:
            return f"{_term(first)} {_COMPARED[operator]} {_term(second)}"
    raise ValueError(f"no comparison: {tree}")


def _trees(script: str) -> list[Tree]:
    """The terms of ``script``, one after the other."""
    return list(_read(iter(tokens(script))))


def _read(words: Iterator[str]) -> Iterator[Tree]:
    """Terms up to a closing bracket, or to the end."""
    for word in words:
        if word == ")":
            return
        yield list(_read(words)) if word == "(" else word


if __name__ == "__main__":
    main()
