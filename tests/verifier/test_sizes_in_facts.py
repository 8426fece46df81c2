"""Bounds of facts that name sizes: of another array, and of every array of a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from tests.command_line import CommandLine
from tests.written_kernel import judged, written

from tileverify import load
from tileverify.backend.guard import LaunchRefused, compile_guard
from tileverify.backend.guard.arguments import ArrayValue, Value, spelled_out
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.backend.numbers.inputs import Given, make_inputs
from tileverify.contract import terms as t
from tileverify.contract.as_terms import build_contract
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, LaunchSpec
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.terms.evaluate import Value as TermValue
from tileverify.contract.terms.evaluate import evaluate
from tileverify.frontend.symbolic.summary import Origin, OriginKind, list_word
from tileverify.launching import contents, proofs
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import claim_from_json
from tileverify.system.errors import UsageError
from tileverify.verifier.obligations.answers import Model
from tileverify.verifier.obligations.fact_use import data_facts
from tileverify.verifier.refute.described import DescribedNumbers, numbered_facts

ROWS = """
import cuda.tile as ct

@ct.kernel
def rows(idx, table, out):
    i = ct.bid(0)
    row = ct.load(idx, index=(i,), shape=(1,)).item()
    tile = ct.load(table, index=(row, 0), shape=(1, 64), check_bounds=False)
    ct.store(out, index=(i, 0), tile=tile, check_bounds=False)
"""

LISTED = """
import cuda.tile as ct

@ct.kernel
def rows(idx, xs, y, out):
    i, k = ct.bid(0), ct.bid(1)
    row = ct.load(idx, index=(i,), shape=(1,)).item()
    tile = ct.load({array}, index=(row, 0), shape=(1, 64), check_bounds=False)
    ct.store(out, index=(k, i, 0), tile=tile.reshape((1, 1, 64)), check_bounds=False)
"""

ANY = '{ list = "f32[m, 64]", length = "L" }'
GIVEN = '{ list = "f32[m, 64]", length = 2, elements = ["f32[5, 64]", "f32[3, 64]"] }'


SAME = '{ list = "f32[9, 64]", length = "L" }'
SQUARE = '{ list = "f32[m, m]", length = "L" }'


def one_table(folder: Path, *data: str) -> KernelResult:
    args = 'args = { idx = "i32[N]", table = "f32[K, 64]", out = "f32[N, 64]" }'
    return judged(folder, ROWS, f'kernel = "rows"\ngrid = ["N"]\ndata = {list(data)}\n{args}')


def listed_spec(xs: str, data: Sequence[str], requires: Sequence[str] = ()) -> str:
    length = 2 if "elements" in xs else "L"
    args = f'args = {{ idx = "i32[N]", xs = {xs}, y = "f32[M, 64]", out = "f32[{length}, N, 64]" }}'
    lines = f"data = {list(data)}\nrequires = {list(requires)}\n{args}"
    return f'kernel = "rows"\ngrid = ["N", "{length}"]\n{lines}'


def listed(folder: Path, array: str, xs: str, data: Sequence[str], requires: Sequence[str] = ()) -> KernelResult:
    return judged(folder, LISTED.format(array=array), listed_spec(xs, data, requires))


def shown_launches(result: KernelResult) -> Iterator[ConcreteLaunch]:
    for finding in result.findings:
        if finding.witness is not None and finding.witness.launch is not None:
            yield claim_from_json(finding.witness.launch)[0]


# --------------------------------------------------------------------------------------------- of one array
def test_a_bound_by_the_size_of_another_array_proves(tmp_path: Path) -> None:
    result = one_table(tmp_path, "range(idx, 0, table.shape[0])")
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.assumes == ("range(idx, 0, table.shape[0])",)
    assert one_table(tmp_path).verdict is Verdict.UNDECIDED


def test_a_witness_keeps_a_bound_by_the_size_of_another_array(tmp_path: Path) -> None:
    result = one_table(tmp_path, "range(idx, 0, table.shape[0] + 1)")
    assert result.verdict is Verdict.REFUTED
    (launch,) = {str(each): each for each in shown_launches(result)}.values()
    idx, table = launch.arrays["idx"], launch.arrays["table"]
    values = [idx.contents.get(place, idx.fill) for place in range(idx.shape[0])]
    assert all(0 <= value <= table.shape[0] for value in values)
    assert table.shape[0] in values


def test_a_run_and_a_bundle_ask_for_a_bound_by_the_size_of_another_array(
    tileverify: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    args = 'args = { idx = "i32[N]", table = "f32[K, 64]", out = "f32[N, 64]" }'
    spec = f'kernel = "rows"\ngrid = ["N"]\ndata = ["range(idx, 0, table.shape[0])"]\n{args}'
    written(tmp_path, ROWS, spec, "k")
    np.save("fits.npy", np.asarray([0, 6], np.int32))
    np.save("far.npy", np.asarray([0, 7], np.int32))
    assert tileverify("run", "k.py::rows", "--size", "K=7", "--input", "idx=fits.npy").code == 0
    refused = tileverify("run", "k.py::rows", "--size", "K=7", "--input", "idx=far.npy")
    assert refused.code == 2
    assert "'range(idx, 0, table.shape[0])' does not hold, idx[1] = 7 is not in [0, 7)" in refused.err
    assert tileverify("build", "k.py::rows", "-o", "k.tvk", "--arch", "none").code == 0
    bundle, table, out = load("k.tvk"), np.ones((7, 64), np.float32), np.zeros((2, 64), np.float32)
    bundle.launch(None, (2,), (np.load("fits.npy"), table, out))
    assert (out == 1).all()
    with pytest.raises(LaunchRefused, match=r"idx\[1\] = 7 is not in \[0, 7\)"):
        bundle.launch(None, (2,), (np.load("far.npy"), table, out))


# ----------------------------------------------------------------------------------- of every array of a list
@pytest.mark.parametrize(
    "xs", [ANY, GIVEN, '{ list = "f32[9, 64]", length = "L" }', '{ list = "f32[64, 64]", length = "L" }']
)
@pytest.mark.parametrize("array", ["xs[k]", "xs[0]"])
def test_a_bound_by_the_sizes_of_a_list_proves(tmp_path: Path, array: str, xs: str) -> None:
    result = listed(tmp_path, array, xs, ["range(idx, 0, xs.shape[0])"])
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.assumes == ("range(idx, 0, xs.shape[0])",)
    assert listed(tmp_path, array, xs, []).verdict is not Verdict.PROVED


@pytest.mark.parametrize("xs", [ANY, GIVEN])
@pytest.mark.parametrize("low", ["0", "xs.shape[0] // 2"])
def test_a_witness_keeps_a_bound_by_the_sizes_of_every_array(tmp_path: Path, xs: str, low: str) -> None:
    result = listed(tmp_path, "xs[k]", xs, [f"range(idx, {low}, xs.shape[0] + 1)"])
    assert result.verdict is Verdict.REFUTED, result.findings
    launches = list(shown_launches(result))
    assert launches
    for launch in launches:
        sizes = [each.shape[0] for each in launch.lists["xs"]]
        idx = launch.arrays["idx"]
        values = [idx.contents.get(place, idx.fill) for place in range(idx.shape[0])]
        least = [size // 2 for size in sizes] if low != "0" else [0]
        assert all(max(least) <= value < min(sizes) + 1 for value in values), (sizes, values)


@pytest.mark.parametrize("bound", ["xs.shape[0] + 1", "2 * xs.shape[0]", "xs.shape[1]"])
def test_a_wider_bound_is_no_proof(tmp_path: Path, bound: str) -> None:
    assert listed(tmp_path, "xs[k]", ANY, [f"range(idx, 0, {bound})"]).verdict is Verdict.REFUTED


def test_a_bound_by_a_list_says_nothing_of_an_array_beside_it(tmp_path: Path) -> None:
    facts = ["range(idx, 0, xs.shape[0])"]
    beside = listed(tmp_path, "y", ANY, facts)
    assert beside.verdict is Verdict.REFUTED
    (finding, *_) = beside.findings
    assert finding.witness is not None
    assert finding.witness.sizes["xs[0].shape[0]"] > finding.witness.sizes["M"]
    assert listed(tmp_path, "y", ANY, facts, ["xs.shape[0] <= M"]).verdict is Verdict.PROVED


@pytest.mark.parametrize("xs", [ANY, GIVEN])
def test_a_bound_that_is_missing_is_found(tmp_path: Path, xs: str) -> None:
    """It is offered as a spec can write it, and proves the kernel when it is there."""
    result = listed(tmp_path, "xs[k]", xs, [])
    assert result.verdict is Verdict.UNDECIDED
    assert {finding.code for finding in result.findings} == {"TV901"}
    assert all("it holds under `range(idx, 0, xs.shape[0])`" in finding.message for finding in result.findings)


def test_what_holds_of_the_smallest_array_only_is_refuted(tmp_path: Path) -> None:
    """Each value is below 3, so in the array of 5 rows as well; a value is at least 4 for the array of 5 to be full."""
    assert listed(tmp_path, "y", GIVEN, ["range(idx, 0, xs.shape[0])"], ["M == 3"]).verdict is Verdict.PROVED
    assert listed(tmp_path, "y", GIVEN, ["range(idx, 0, xs.shape[0])"], ["M == 2"]).verdict is Verdict.REFUTED


def test_bounds_that_no_array_of_the_list_allows_are_no_contract(tmp_path: Path) -> None:
    result = listed(tmp_path, "xs[k]", ANY, ["range(idx, 8, xs.shape[0])"], ["xs.shape[0] <= 7", "N >= 1"])
    assert result.verdict is Verdict.ERROR
    assert "range(idx, 8, xs.shape[0])" in result.findings[0].message


def test_a_certificate_rests_on_the_bound(
    tileverify: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, LISTED.format(array="xs[k]"), listed_spec(ANY, ["range(idx, 0, xs.shape[0])"]), "k")
    assert tileverify("check", "k.py", "--no-cache", "--certificate", "certificates").code == 0
    assert tileverify("recheck", "certificates").code == 0
    (certificate,) = Path("certificates").glob("*.tvcert.json")
    text = certificate.read_text()
    for other in ("range(idx, 0, xs.shape[0] + 1)", "range(idx, 0, xs.shape[1])"):
        changed = text.replace("range(idx, 0, xs.shape[0])", other)
        assert changed != text
        certificate.write_text(changed)
        assert tileverify("recheck", "certificates").code != 0


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        ("range(idx, 0, xs.shape[2])", "'xs.shape[2]': 'xs' has rank 2"),
        (
            "range(idx, 0, M, unless=xs.shape[0])",
            "'unless' excuses values, and each array of a list has numbers of its",
        ),
        ("range(idx, xs.shape[0], ys.shape[0])", "a fact speaks of the arrays of one list, not of both 'xs' and 'ys'"),
        ("range(idx, 0, xs.address)", "addresses have a place in 'requires' alone"),
        ("range(idx, 0, xs[1].shape[0])", "'xs' is a list; 'xs.shape[0]' is said of each of its arrays"),
        ("range(xs, 0, 4)", "'xs' is not an array argument of this launch"),
    ],
)
def test_what_no_bound_can_mean_is_refused(tmp_path: Path, fact: str, problem: str) -> None:
    spec = f'kernel = "rows"\ngrid = ["N"]\ndata = ["{fact}"]\n'
    spec += f'args = {{ idx = "i32[N]", xs = {ANY}, ys = {ANY}, out = "f32[M, 64]" }}'
    result = judged(tmp_path, LISTED.format(array="xs[k]").replace("xs, y,", "xs, ys,"), spec)
    assert result.verdict is Verdict.ERROR
    assert problem in result.findings[0].message


# ------------------------------------------------------------------------------------- against brute force
Apply: TypeAlias = Callable[[Function, tuple[TermValue, ...]], TermValue]

FACTS = (
    "range(idx, 0, xs.shape[0])",
    "range(idx, xs.shape[0] // 2, 6)",
    "range(idx, -1, xs.strides[0] - 61)",
    "multiples(idx, max(1, xs.shape[0]))",
    "shares(idx, xs.shape[0])",
    "injective(idx, 0, xs.shape[0])",
)


def kept(fact: str, values: Sequence[int], size: int) -> bool:
    """What a fact means with the size of one array, written down once more."""
    match fact.partition("(")[0], fact:
        case "range", _ if "strides" in fact:
            return all(-1 <= value < 3 for value in values)
        case "range", _ if "//" in fact:
            return all(size // 2 <= value < 6 for value in values)
        case "range", _:
            return all(0 <= value < size for value in values)
        case "multiples", _:
            return all(value % max(1, size) == 0 for value in values)
        case "shares", _:
            return min(values, default=0) >= 0 and sum(values) <= size
    meant = [value for value in values if 0 <= value < size]
    return len(meant) == len(set(meant))


def spec_with(*facts: str) -> LaunchSpec:
    args = {"idx": "i32[N]", "xs": {"list": "f32[m, 64]", "length": "L"}, "y": "f32[L]"}
    fields = {"kernel": "k", "grid": ["L + 1"], "data": list(facts), "args": args}
    return build_launch(RawLaunch(fields, "k.tileverify.toml", 1, 0), "0", None)


def drawn(fact: str, count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Sizes of arrays, and values."""
    random = Random(fact)
    for _ in range(count):
        sizes = [random.randint(0, 6) for _ in range(random.randint(1, 3))]
        yield sizes, [random.randint(-1, random.choice((2, 6))) for _ in range(random.randint(0, 3))]


@pytest.mark.parametrize("fact", FACTS)
def test_a_run_keeps_a_fact_with_the_sizes_of_every_array(fact: str) -> None:
    outcomes = []
    for sizes, values in drawn(fact, 60):
        arrays = {f"xs[{k}]": np.zeros((size, 64), np.float32) for k, size in enumerate(sizes)}
        given = Given({}, {}, {**arrays, "idx": np.asarray(values, np.int32)})
        outcomes.append(all(kept(fact, values, size) for size in sizes))
        with nullcontext() if outcomes[-1] else pytest.raises(UsageError, match=re.escape(fact)):
            make_inputs(ContractInNumbers(spec_with(fact)), given)
    assert 5 < sum(outcomes) < 58


def test_a_run_keeps_every_fact_that_names_one_list() -> None:
    arrays = {f"xs[{k}]": np.zeros((size, 64), np.float32) for k, size in enumerate((5, 3))}
    contract = ContractInNumbers(spec_with("range(idx, 0, xs.shape[0])", "shares(idx, xs.shape[0])"))
    for values, problem in (([1, 2], None), ([3, 0], "range"), ([2, 2], "shares")):
        given = Given({}, {}, {**arrays, "idx": np.asarray(values, np.int32)})
        with nullcontext() if problem is None else pytest.raises(UsageError, match=rf"'{problem}\(idx"):
            make_inputs(contract, given)


@pytest.mark.parametrize("fact", FACTS)
def test_contents_are_made_for_the_sizes_of_every_array(fact: str) -> None:
    for seed in range(8):
        sizes = [3 + seed % 3, 5, 4][: 1 + seed % 3]
        arrays = {f"xs[{k}]": np.zeros((size, 64), np.float32) for k, size in enumerate(sizes)}
        made = make_inputs(ContractInNumbers(spec_with(fact)), Given({"N": 3}, {}, arrays, seed=seed))
        values = [int(value) for value in made.memory["idx"]]
        assert len(values) == 3
        assert all(kept(fact, values, size) for size in sizes), (sizes, values)


@pytest.mark.parametrize("fact", FACTS)
def test_a_guard_asks_for_the_sizes_of_every_array(fact: str) -> None:
    outcomes = []
    for sizes, values in drawn(fact, 60):
        spelled = spelled_out(spec_with(fact), {"xs": len(sizes)})
        guard = compile_guard(spelled.launch, (), frozenset())
        idx = np.asarray(values, np.int32)
        given: list[Value] = [ArrayValue(idx.ctypes.data, idx.shape, (1,), "i32"), len(sizes)]
        given += [ArrayValue(4096 * (k + 1), (size, 64), (64, 1), "f32") for k, size in enumerate(sizes)]
        given.append(ArrayValue(1 << 20, (len(sizes),), (1,), "f32"))
        grid = (len(sizes) + 1, 1, 1)
        guard.check(given, grid)
        named = {each.name: value for each, value in zip(guard.order, given, strict=True)}
        seen = contents.Contents(named, contents.host_bytes)
        if values:  # contents of no elements are not looked at
            broken = proofs.broken_fact(guard.data, guard.named(given, grid), seen)
            assert broken is None or fact in broken
            assert (broken is None) == all(kept(fact, values, size) for size in sizes), (sizes, values, broken)
            outcomes.append(broken is None)
    assert 4 < sum(outcomes) < len(outcomes)


def test_a_list_that_a_bound_names_is_not_empty() -> None:
    guard = compile_guard(spelled_out(spec_with(FACTS[0]), {"xs": 0}).launch, (), frozenset())
    given: list[Value] = [ArrayValue(4096, (2,), (1,), "i32"), 0, ArrayValue(8192, (0,), (1,), "f32")]
    with pytest.raises(LaunchRefused, match=r"'xs\.length >= 1' does not hold"):
        guard.check(given, (1, 1, 1))
    with pytest.raises(UsageError, match="xs holds an array"):
        make_inputs(ContractInNumbers(spec_with(FACTS[0])), Given({"L": 0}, {}, {}))


def test_a_contract_with_such_a_bound_is_about_lists_with_an_array() -> None:
    facts = build_contract(spec_with(FACTS[0])).facts

    def holds(length: int) -> bool:
        class Names(dict[Term, TermValue]):
            def __missing__(self, term: Term) -> TermValue:
                return length if term.symbol.name == "L" else 1

        return all(evaluate(fact, Names()) for fact in facts)

    assert holds(1)
    assert not holds(0)


def test_the_facts_of_a_witness_have_the_sizes_of_every_array() -> None:
    contract = build_contract(spec_with(FACTS[0]))
    arrays = tuple(ConcreteArray("f32", (size, 64), (64, 1)) for size in (5, 3, 5))
    found = numbered_facts(DescribedNumbers(Model({}, {})), contract, {"xs": arrays})
    assert found == [NumberedFact("range", "idx", low=0, high=size) for size in (5, 3)]


@pytest.mark.parametrize("fact", FACTS)
def test_instances_follow_from_the_fact_and_say_it_of_the_arrays_that_are_mentioned(fact: str) -> None:
    """They hold where each array keeps it, and one does not where a mentioned one breaks it with mentioned values."""
    contract = build_contract(spec_with(fact))
    count = t.var("N", Scope.LAUNCH, 0)
    origins = {"idx": Origin(OriginKind.PARAMETER, "idx", 4, (count,))}
    element = Function("idx", Scope.LAUNCH, -(1 << 31), (1 << 31) - 1, array="idx")
    broken = 0
    for sizes, values in drawn(fact, 80):
        places = [t.apply(element, t.const(place)) for place in range(len(values))]
        rows = [t.apply(list_word("xs", "shape[0]"), t.const(k)) for k in range(len(sizes))]
        conditions = [t.lt(t.const(7), each) for each in (*places, *rows)]
        said = list(data_facts(conditions, contract, origins))
        holds = [bool(evaluate(each, *reading(sizes, values))) for each in said]
        if all(kept(fact, values, size) for size in sizes):
            assert all(holds), (sizes, values)
        else:
            assert not all(holds), (sizes, values)
            broken += 1
    assert broken > 5


def reading(sizes: Sequence[int], values: Sequence[int]) -> tuple[Mapping[Term, TermValue], Apply]:
    """Variables and functions of a launch: names of the list's arrays mean the first one."""
    names = {"N": len(values), "xs.shape[0]": sizes[0], "xs.shape[1]": 64, "xs.strides[0]": 64, "xs.strides[1]": 1}

    class Names(dict[Term, TermValue]):
        def __missing__(self, term: Term) -> TermValue:
            return names[term.symbol.name]

    def apply(function: Function, arguments: tuple[TermValue, ...]) -> TermValue:
        place = int(arguments[0])
        if function.name == "idx":
            return values[place]
        return {"xs[].shape[0]": sizes[place], "xs[].shape[1]": 64, "xs[].strides[0]": 64}[function.name]

    return Names(), apply
