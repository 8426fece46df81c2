"""The lemma schemas are proved, by both solvers; what the prover asserts is no more than its schema says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term, TermKind
from tileverify.contract.terms.bits import OPERATIONS
from tileverify.verifier.certificate.second_solver import Opinion, SecondSolver
from tileverify.verifier.obligations.bit_vectors import bit_question
from tileverify.verifier.obligations.lemmas import (
    Lemma,
    bit_lemmas,
    bound_lemmas,
    coefficients_of_products,
    distribution_lemmas,
    eager_lemmas,
    point_lemmas,
    products_in_sums,
    quotient_lemma,
    shift_lemmas,
    violated_lemmas,
)
from tileverify.verifier.obligations.simplify import is_opaque_quotient, split_product
from tileverify.verifier.obligations.smtlib import CONGRUENT, EXACT, SCHEMAS, Declaration, Vocabulary, number, script
from tileverify.verifier.smt import core_of_last

LIMIT = 20_000_000


def negation(name: str, statement: str | None = None) -> str:
    """Values of the parameters for which the identities hold and the statement does not."""
    schema = SCHEMAS[name]
    names = schema.parameters
    said = [*schema.identified(names), f"(not {statement or schema.stated(names)})"]
    declared = "".join(f"(declare-const {each} Int)\n" for each in names)
    if name.startswith("bits"):  # beyond these words the schema says nothing
        symbols = {each: Declaration("Int", "launch", 0, -(2**65), 2**65 - 1) for each in names}
        question = bit_question(symbols, {}, said)
        assert question.complete
        return question.script
    return f"(set-logic ALL)\n{EXACT}{declared}" + "".join(f"(assert {each})\n" for each in said)


@pytest.mark.parametrize("name", SCHEMAS)
def test_both_solvers_prove_the_schema(name: str) -> None:
    assert SecondSolver(LIMIT).opinion(negation(name)) is Opinion.CONTRADICTION
    assert core_of_last(negation(name), 1, linear=False, limit=LIMIT) is not None


WRONG = {
    "quotient": ("(< {x} (+ {m} {d}))", "(< {x} (+ {m} {d} (- 1)))"),
    "zero": ("(= {p} 0)", "(= {p} 1)"),
    "magnitude": ("(<= 1 (* {R} {y}))", "(<= 0 (* {R} {y}))"),
    "order": ("(< (* {A} {x}) (* {B} {y}))", "(<= (* {A} {x}) (* {B} {y}))"),
    "equal": ("(= {f} {g})", "true"),
    "distribution below": ("(< 0 {f})", "true"),
    "distribution above": ("(< {x} {y})", "(<= {x} {y})"),
    "line": ("(= {x} {A})", "(<= {x} {A})"),
    "plane above": ("(<= {B} {y})", "true"),
    "plane below": ("(<= {y} {B})", "true"),
    "shift": ("(* {C} {k})", "{k}"),
    "bits and": ("(<= 0 {x})", "true"),
    "bits or": ("{q})))", "(+ {q} 1))))"),
    "bits xor": ("(* 2 {q})", "{q}"),
    "bits xor same": ("(= {y} {z})", "(= {x} {z})"),
    "bits shift right": ("(<= 1 {s})", "(<= 0 {s})"),
    "bits shift left": ("(= {x} 0)", "(<= {x} 0)"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_neither_solver_proves_a_schema_that_says_a_little_more(name: str) -> None:
    right, wrong = WRONG[name]
    schema = SCHEMAS[name]
    assert right in schema.statement
    statement = schema.statement.replace(right, wrong).format_map({each: each for each in schema.parameters})
    assert SecondSolver(LIMIT).opinion(negation(name, statement)) is not Opinion.CONTRADICTION
    assert core_of_last(negation(name, statement), 1, linear=False, limit=LIMIT) is None


# ------------------------------------------------------------------------------ what the prover asserts
M, N = (t.var(name, Scope.LAUNCH, 0, 1000) for name in "MN")
B = t.var("b", Scope.BLOCK, -30, 30)
K = t.var("k", Scope.ITERATION, 1, 9)
CHOICE = t.minimum(t.sub(M, K), N)
PRODUCTS = [
    t.mul(M, N),
    t.mul(M, B),
    t.mul(B, B),
    t.mul(K, t.mul(M, N)),
    t.mul(CHOICE, B),
    t.mul(M, K),
    t.mul(K, N),
    t.mul(t.add(M, K), t.floordiv(B, K)),
]


BITS = [
    t.bit_and(M, B),
    t.bit_or(B, K),
    t.bit_xor(M, B),
    t.bit_xor(K, M),
    t.bit_xor(B, K),
    t.shift_left(M, K),
    t.shift_right(B, K),
]
assert all(operation.kind in OPERATIONS for operation in BITS)


def lemmas() -> Iterator[Lemma]:
    """Instances of every schema, by way of wrong models."""
    products: Mapping[Term, tuple[Term, Term]] = {p: split_product(p) for p in PRODUCTS if p.kind is TermKind.PRODUCT}
    total = t.add(t.scale(3, PRODUCTS[0]), t.scale(-8, PRODUCTS[1]), K)
    coefficients = coefficients_of_products(products_in_sums(total))
    yield from eager_lemmas(products, coefficients)
    yield from distribution_lemmas(products)
    quotients = [t.floordiv(M, N), t.floordiv(B, N), t.floordiv(PRODUCTS[0], B)]
    yield from map(quotient_lemma, quotients)
    yield from bound_lemmas([*products, *quotients])
    for operation in BITS:
        yield from bit_lemmas(operation, BITS)
    for m, b, wrong in product((0, 5, 7), (-4, 0, 5), (-1, 0, 3)):
        values = {M: m, N: 5, B: b, K: 2}

        def value(term: Term, values: Mapping[Term, int] = values, wrong: int = wrong) -> int:
            known = {v: t.const(n) for v, n in values.items()}
            simple = t.substitute(term, known)
            return simple.value + (wrong if term in products else 0) if simple.kind is TermKind.CONST else wrong

        yield from violated_lemmas(products, coefficients, value, {M: (1, 3), B: (None, 4), K: (3, None)})
        yield from point_lemmas(products, value)


def shifts() -> Iterator[Lemma]:
    """Apart, since what they say is nothing to terms: their formulas are all ``true``."""
    tile = t.add(B, t.scale(16, K), t.scale(-2, M))
    yield from shift_lemmas([t.floordiv(t.sub(B, t.scale(2, M)), t.const(8)), t.floordiv(tile, N)])


def ranges(lemma: Lemma, vocabulary: Vocabulary) -> Iterator[str]:
    """What bounds the products in ``lemma``: the terms of its formula were simplified by that."""
    spoken = {sub: None for arg in lemma.args if isinstance(arg, Term) for sub in t.postorder(arg)}
    definitions = (quotient_lemma(term) for term in spoken if term.kind is TermKind.DIV and is_opaque_quotient(term))
    for bound in (*definitions, *bound_lemmas(spoken)):
        args = [number(arg) if isinstance(arg, int) else vocabulary.write(arg) for arg in bound.args]
        yield SCHEMAS[bound.schema].stated(args)


def test_no_lemma_says_more_than_its_schema() -> None:
    seen = set()
    for lemma in (*dict.fromkeys(lemmas()), *shifts()):
        vocabulary = Vocabulary()
        args = [number(arg) if isinstance(arg, int) else vocabulary.write(arg) for arg in lemma.args]
        schema = SCHEMAS[lemma.schema]
        asserted = [schema.stated(args), f"(not {vocabulary.write(lemma.formula)})"]
        asserted += ranges(lemma, vocabulary)
        text = script(vocabulary.symbols, vocabulary.definitions, asserted, exact=False)
        core = core_of_last(text, len(asserted), linear=True, limit=LIMIT)
        assert core is not None, lemma
        numbers = {name for name, arg in zip(schema.parameters, lemma.args, strict=True) if isinstance(arg, int)}
        assert numbers == schema.numbers
        seen.add(lemma.schema)
    assert seen == set(SCHEMAS)


def test_terms_of_lemmas_are_the_products_that_the_schema_takes_them_for() -> None:
    solver = SecondSolver(LIMIT)
    for lemma in dict.fromkeys(lemmas()):
        vocabulary = Vocabulary()
        args = [number(arg) if isinstance(arg, int) else vocabulary.write(arg) for arg in lemma.args]
        identities = SCHEMAS[lemma.schema].identified(args)
        text = script(
            vocabulary.symbols, vocabulary.definitions, [f"(not (and true {' '.join(identities)}))"], exact=True
        )
        assert solver.opinion(text) is Opinion.CONTRADICTION, lemma


def test_congruent_products_mean_nothing() -> None:
    """Or the lemmas would not be what carries a proof."""
    assert SecondSolver().opinion(f"(set-logic ALL)\n{CONGRUENT}(assert (= (mul 2 2) 5))") is Opinion.MODEL
