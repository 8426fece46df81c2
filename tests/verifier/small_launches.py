"""All launches of a few small sizes, and conditions on them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate

from .expressions import VARIABLES, conditions, term

RANGES = {"a": range(9), "b": range(-4, 5), "d": range(1, 5)}
SMALL = {name: t.var(name, Scope.LAUNCH, values[0], values[-1]) for name, values in RANGES.items()}
LAUNCHES = [dict(zip(RANGES, values, strict=True)) for values in product(*RANGES.values())]

sizes = st.recursive(
    st.one_of(st.sampled_from(sorted(RANGES)), st.integers(-6, 6)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%", "cdiv"]), inner, st.one_of(st.integers(1, 5), st.just("d"))),
        st.tuples(st.just("uns8"), inner),
    ),
    max_leaves=4,
)
facts = st.recursive(
    conditions(sizes),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=4,
)


def among(tree: object, variables: Mapping[str, Term]) -> Term:
    return t.substitute(term(tree), {VARIABLES[name]: variable for name, variable in variables.items()})


def holds(condition: Term, launch: Mapping[str, int]) -> bool:
    return bool(evaluate(condition, {SMALL[name]: value for name, value in launch.items()}))
