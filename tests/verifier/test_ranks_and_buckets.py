"""What the prover takes for true of ranks and buckets is enough (true: `campaigns/tests/test_fact_instances.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.written_kernel import judged

from tileverify.contract import terms as t
from tileverify.contract.as_terms import build_contract
from tileverify.contract.contract import array_layout
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.terms import Function, Scope, Term
from tileverify.frontend.symbolic.summary import Origin, OriginKind
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.obligations.fact_use import data_facts
from tileverify.verifier.smt import Solver, SolverContext
from tileverify.verifier.vacuity import contradictory

from ..facts import keeps
from .test_contradiction import launch


# -------------------------------------------------------------------------------------------------- enough
def element(name: str, index: Term) -> Term:
    return t.apply(Function(name, Scope.LAUNCH, -(1 << 31), (1 << 31) - 1, array=name), index)


@pytest.mark.parametrize(
    ("data", "apart"),
    [
        (["ranks(r, k, 4)", "buckets(a, k, 4, 8)", "range(k, 0, 8)"], True),
        (["ranks(r, k, C)", "buckets(a, k, C, 8)", "range(k, 0, 8)"], False),  # C need not be 4
        (["ranks(r, k, 4)", "buckets(a, k, 4, 8)"], False),
        (["ranks(r, k, 4)", "buckets(a, k, 4, 8)", "range(k, 0, 9)"], False),
        (["ranks(r, k, 4)", "buckets(a, k, 2, 8)", "range(k, 0, 8)"], False),
        (["ranks(r, k, 4)", "buckets(a, k, 4, 9)", "range(k, 0, 8)"], False),
        (["ranks(r, k, 8)", "buckets(a, k, 4, 8)", "range(k, 0, 8)"], False),
        (["range(r, 0, 1)", "buckets(a, k, 4, 8)", "range(k, 0, 8)"], False),
        (["ranks(r, k, 4)", "injective(a)", "range(k, 0, 8)"], False),
    ],
)
def test_places_are_different(data: list[str], apart: bool) -> None:
    """a[i // 4 * 8 + k[i]] + r[i] of two different i: what is used of it, and nothing else, makes them differ."""
    args = '{"r": "i32[N]", "k": "i32[N]", "a": "i32[M]", "C": "i32"}'
    contract = build_contract(launch(args, ("M >= 2 * N + 8",), tuple(data)))
    origins = {
        name: Origin(OriginKind.PARAMETER, name, 4, tuple(t.substitute(x, contract.values) for x in sizes))
        for name, array in contract.arrays.items()
        for sizes in [array_layout(array)[0]]
    }
    places, inside = [], []
    for name in ("i", "j"):
        i = t.var(name, Scope.LAUNCH, 0, 1 << 31)
        bucket = t.add(t.scale(8, t.floordiv(i, t.const(4))), element("k", i))
        places.append(t.add(element("a", bucket), element("r", i)))
        inside += [t.lt(i, origins["k"].shape[0]), t.le(t.ZERO, bucket), t.lt(bucket, origins["a"].shape[0])]
    i, j = (t.var(name, Scope.LAUNCH, 0, 1 << 31) for name in ("i", "j"))
    question = [*contract.facts, *inside, t.ne(i, j), t.eq(*places)]
    known = list(data_facts(question, contract, origins))
    answer = Solver((), limits=Limits()).decide([*question, *known]).answer
    assert (answer is Answer.UNSATISFIABLE) == apart


# --------------------------------------------------------------------------------- contracts with a launch
SAID = (
    "ranks(a, k, 1)", "ranks(a, k, 2)", "ranks(k, a, 3)", "buckets(a, k, 2, 2)", "buckets(a, k, 1, 1, 0, 2)",
    "buckets(a, k, 3, 1, 0, 1)", "buckets(a, k, 2, 2, 0, 2)", "buckets(k, a, 2, 1, 1, 2)", "injective(a)",
    "injective(k)", "permutation(a)", "range(a, 0, 1)", "range(a, 1, 3)", "range(k, 0, 1)", "range(k, 0, 2)",
    "range(k, 1, 3)", "segments(a, k, 0, 2)",
)  # fmt: skip
VALUES = range(-1, 3)


def kept(facts: Sequence[str], sizes: Mapping[str, int]) -> bool:
    """Whether some contents of so many elements keep all facts."""
    said = [parse_data_fact(fact) for fact in facts]

    def contents() -> Iterator[dict[str, np.ndarray]]:
        for values in product(VALUES, repeat=sum(sizes.values())):
            yield {"a": np.array(values[: sizes["a"]], np.int32), "k": np.array(values[sizes["a"] :], np.int32)}

    return any(all(keeps(fact, each, lambda e: evaluate(e, {})) for fact in said) for each in contents())


def test_no_contract_that_somebody_can_keep_is_called_contradictory() -> None:
    random, missed, found = Random(3), 0, 0
    for facts in random.sample(list(combinations(SAID, 3)), 200):
        sizes = {"a": random.choice((0, 1, 2, 3)), "k": random.choice((0, 1, 2, 3))}
        spec = launch(f'{{"a": "i32[{sizes["a"]}]", "k": "i32[{sizes["k"]}]"}}', data=facts)
        told, somebody = contradictory(spec, SolverContext(0)), kept(facts, sizes)
        assert not (told and somebody), (facts, sizes)
        missed += not told and not somebody
        found += told
    assert found > 15
    assert missed < found // 3, (missed, found)


# ------------------------------------------------------------------------------------------------- kernels
SCATTER = """
import cuda.tile as ct

@ct.kernel
def scatter(keys, ranks, base, out, CHUNK: ct.Constant[int], WIDTH: ct.Constant[int]):
    i = ct.bid(0) * CHUNK + ct.arange(CHUNK, dtype=ct.int32)
    key = ct.gather(keys, i, padding_value=0)
    start = ct.gather(base, ct.bid(0) * WIDTH + key, padding_value=0)
    ct.scatter(out, start + ct.gather(ranks, i, padding_value=0), i, mask=i < keys.shape[0], check_bounds=False)
"""
RECORDED = """
kernel = "scatter"
grid = [5]
observed = [{}]
args = {{ keys = "i32[70]", ranks = "i32[70]", base = "i32[32]", out = "i32[80]", CHUNK = 16, WIDTH = 4 }}
"""
SEEN = (
    "range(keys, 0, 4)", "range(ranks, 0, 9)", "shares(base, 900)", "ranks(ranks, keys, 16)",
    "buckets(base, keys, 16, 4, 0, 75)",
)  # fmt: skip


def recorded(folder: Path, *seen: str) -> KernelResult:
    return judged(folder, SCATTER, RECORDED.format(", ".join(f'"{fact}"' for fact in seen)))


def test_a_recording_proves_its_kernel_with_what_it_saw(tmp_path: Path) -> None:
    result = recorded(tmp_path, *SEEN)
    assert result.verdict is Verdict.PROVED
    assert {each.split("   ")[0] for each in result.assumes} >= {
        "range(keys, 0, 4)",
        "ranks(ranks, keys, 16)",
        "buckets(base, keys, 16, 4, 0, out.shape[0])",
    }


@pytest.mark.parametrize("number", [0, 3, 4])
def test_and_does_not_without(tmp_path: Path, number: int) -> None:
    result = recorded(tmp_path, *SEEN[:number], *SEEN[number + 1 :])
    assert result.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("other", ["ranks(ranks, keys, 32)", "buckets(base, keys, 16, 8, 0, 75)"])
def test_facts_of_other_chunks_do_not_help(tmp_path: Path, other: str) -> None:
    kept_ = [fact for fact in SEEN if fact.split("(")[0] != other.split("(")[0]]
    assert recorded(tmp_path, *kept_, other).verdict is Verdict.UNDECIDED


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Without what a recording saw, facts are offered under which the kernel is proved."""
    said = 'data = ["range(keys, 0, WIDTH)"]'
    result = judged(tmp_path, SCATTER, RECORDED.replace("observed = [{}]", said).format())
    assert result.verdict is Verdict.UNDECIDED
    told = " ".join(finding.message for finding in result.findings)
    assert "ranks(ranks, keys, 16)" in told
    assert "buckets(base, keys, 16, 4, 0, out.shape[0])" in told
