"""Contracts that nobody can keep are errors (TV004) that name what contradicts itself; others are not."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.written_kernel import judged

from tileverify.backend.numbers.inputs import violation
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import LaunchSpec
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.contract.strides import apart
from tileverify.results import Verdict
from tileverify.verifier.smt import SolverContext
from tileverify.verifier.vacuity import contradictory, lines_of, no_launch, only, smallest

SCATTER = """
import cuda.tile as ct

@ct.kernel
def put(idx, x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    where = ct.load(idx, index=(i,), shape=(TILE,))
    ct.scatter(out, where, ct.load(x, index=(i,), shape=(TILE,)))
"""
ROWS = """
import cuda.tile as ct

@ct.kernel
def copy(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(i, j), tile=ct.load(x, index=(i, j), shape=(1, 16)))
"""


def launch(args: str, requires: tuple[str, ...] = (), data: tuple[str, ...] = (), **more: object) -> LaunchSpec:
    fields = {"kernel": "k", "args": json.loads(args), "requires": list(requires), "data": list(data), **more}
    return build_launch(RawLaunch(fields, "k.tileverify.toml", 1, 0), "0", None)


IDX = '{"idx": "i32[N]", "lengths": "i32[N]", "out": "f32[M, K; strides=(ld, le)]", "n": "u8"}'


@pytest.mark.parametrize(
    ("requires", "data", "told"),
    [
        (["N >= 2"], ["range(idx, 5, 5)"], "no launch satisfies `range(idx, 5, 5)` and `N >= 2` together"),
        (
            ["N >= 2", "M >= 3"],
            ["range(idx, 0, 4)", "range(idx, 4, 9)"],
            "`range(idx, 0, 4)` and `range(idx, 4, 9)` and `N",
        ),
        (
            ["N >= 5", "M >= 1"],
            ["injective(idx)", "range(idx, 0, 4)"],
            "`injective(idx)` and `range(idx, 0, 4)` and `N >=",
        ),
        (
            ["N >= 3"],
            ["injective(idx, unless=-1)", "range(idx, 0, 2, unless=0)"],
            "`injective(idx, unless=-1)` and `ra",
        ),
        (
            ["N >= 6"],
            ["injective(idx)", "range(idx, 0, 4, unless=-1)"],
            "`injective(idx)` and `range(idx, 0, 4, unless",
        ),
        (["N >= 2"], ["injective(idx)", "range(idx, 5, 5, unless=7)"], "`injective(idx)` and `range(idx, 5, 5, unless"),
        (["N >= 3"], ["nondecreasing(idx)", "multiples(idx, 3)", "injective(idx)", "range(idx, 1, 8)"], "`multiples(i"),
        (
            ["N >= 4"],
            ["permutation(idx)", "range(idx, 1, 9)"],
            "`permutation(idx)` and `range(idx, 1, 9)` and `N >= 4`",
        ),
        (
            ["N >= 4"],
            ["permutation(idx)", "multiples(idx, 2)"],
            "`permutation(idx)` and `multiples(idx, 2)` and `N >= 4`",
        ),
        (["N >= 4"], ["shares(idx, 3)", "range(idx, 1, 9)"], "`shares(idx, 3)` and `range(idx, 1, 9)` and `N >= 4`"),
        (["N >= 4"], ["shares(idx, 5)", "injective(idx)"], "`shares(idx, 5)` and `injective(idx)` and `N >= 4`"),
        (
            ["N >= 1"],
            ["multiples(idx, 8)", "range(idx, 1, 8)"],
            "`multiples(idx, 8)` and `range(idx, 1, 8)` and `N >= 1`",
        ),
        (
            ["N >= 3"],
            ["segments(idx, lengths, 0, 8)", "range(lengths, 3, 9)"],
            "`segments(idx, lengths, 0, 8)` and `range(",
        ),
        (
            ["N >= 300"],
            ["multiples(idx, M)", "injective(idx)", "range(idx, 0, 200)"],
            "`injective(idx)` and `range(idx, 0",
        ),
        (["N >= 1"], ["shares(idx, -1)"], "no launch satisfies `shares(idx, -1)`, as"),
        (["N >= 1"], ["range(idx, 2**31, 2**32)"], "`range(idx, 2**31, 2**32)` and `N >= 1`"),
        (["N >= 2**31"], [], 'no launch satisfies `N >= 2**31` and `idx = "i32[N]"` together'),
        (["n >= 256"], [], "no launch satisfies `n >= 256`, as"),
        (["N >= 3", "M <= 9", "N < M", "M <= 2"], [], "`N >= 3` and `N < M` and `M <= 2` together"),
        (["ld == le", "M >= 2", "K >= 2"], [], "`ld == le`"),
        (["ld == 2 * le", "M >= 2", "K >= 3"], [], 'out = "f32[M, K; strides=(ld, le)]"`'),
        (["grid.x > 2**24"], [], "no launch satisfies `grid.x > 2**24`"),
    ],
)
def test_the_lines_that_contradict_each_other_are_named(requires: list[str], data: list[str], told: str) -> None:
    spec = launch(IDX, tuple(requires), tuple(data))
    solver_context = SolverContext(0)
    assert contradictory(spec, solver_context)
    assert told in no_launch(spec, solver_context)
    found = smallest(lines_of(spec), lambda lines: contradictory(only(spec, lines), solver_context))
    assert contradictory(only(spec, found), solver_context)
    for line in found:
        rest = [each for each in found if each is not line]
        assert not contradictory(only(spec, rest), solver_context), f"{line.text} has no part in it"


@pytest.mark.parametrize("strides", ["ld, ld", "ld, ld, 1", "1, ld, ld", "ld, 0", "0, ld"])
def test_one_name_cannot_keep_two_dimensions_apart(tmp_path: Path, strides: str) -> None:
    sizes = ", ".join("MNK"[: strides.count(",") + 1])
    spec = launch(f'{{"a": "f32[{sizes}; strides=({strides})]"}}', ("M >= 2", "N >= 2"))
    if "0" in strides:  # its numbers say that elements share memory, so nothing is promised
        assert not contradictory(spec, SolverContext(0))
    else:
        assert contradictory(spec, SolverContext(0)) == ("K" not in sizes)  # nothing is in one place if K is 0
        assert not contradictory(only(spec, lines_of(spec)[1:]), SolverContext(0))


def test_a_kernel_under_such_a_contract_is_no_proof(tmp_path: Path) -> None:
    spec = 'kernel = "put"\nargs = { idx = "i32[N]", x = "f32[N]", out = "f32[M]", TILE = 128 }\n'
    result = judged(tmp_path, SCATTER, f'{spec}requires = ["N >= 2"]\ndata = ["range(idx, 5, 5)"]')
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV004"])
    assert "`range(idx, 5, 5)` and `N >= 2`" in result.findings[0].message
    spec = 'kernel = "copy"\nrequires = ["M >= 2", "N >= 17"]\n'
    result = judged(tmp_path, ROWS, f'{spec}args = {{ x = "f32[M, N]", out = "f32[M, N; strides=(ld, ld)]" }}')
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV004"])
    assert 'out = "f32[M, N; strides=(ld, ld)]"' in result.findings[0].message


MASKED = """
import cuda.tile as ct

@ct.kernel
def fill(idx, out):
    place = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(out, place, ct.gather(idx, place))
"""


UP_TO = """
import cuda.tile as ct

@ct.kernel
def up_to(out, n: int):
    for i in range(n):
        ct.scatter(out, i, ct.bid(0), check_bounds=True)
"""


def test_a_contract_that_leaves_nothing_to_do(tmp_path: Path) -> None:
    spec = 'kernel = "fill"\nargs = { idx = "i32[N]", out = "i32[M]" }\n'
    for said, told in (
        ('data = ["range(idx, 5, 5)"]', "`idx` is empty in every launch that satisfies `range(idx, 5, 5)`"),
        (
            'requires = ["M >= 1", "N <= 0"]\ndata = ["injective(idx)"]',
            "`idx` is empty in every launch that satisfies `N <= 0`",
        ),
        ('requires = ["M == 0"]', "only launches without work satisfy `M == 0`"),
        ('requires = ["M <= 3", "N <= 4", "cdiv(M, 4) == 0"]', "only launches without work satisfy `cdiv(M, 4) == 0`"),
    ):
        result = judged(tmp_path, MASKED, spec + said)
        assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV004"]), said
        assert result.findings[0].message.endswith(told)
    assert (
        judged(tmp_path, MASKED, spec + 'requires = ["M <= 3"]\ndata = ["range(idx, 5, 6)"]').verdict
        is not Verdict.ERROR
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            ["injective(idx)", "range(idx, 1, 2)"],
            "no launch satisfies `injective(idx)` and `range(idx, 1, 2)` together",
        ),
        (["range(idx, 5, 5)"], "no launch satisfies `range(idx, 5, 5)`"),
        (["permutation(idx)", "range(idx, 0, 9)"], "no launch satisfies `permutation(idx)` and `range(idx, 0, 9)` tog"),
    ],
)
def test_a_launch_of_numbers_is_asked_before_it_is_proved_of_others(tmp_path: Path, data: list[str], told: str) -> None:
    """Without its numbers the contract has launches, of empty arrays or of other sizes, and they are right."""
    spec = f'kernel = "fill"\ngrid = [1]\nargs = {{ idx = "i32[16]", out = "i32[16]" }}\ndata = {json.dumps(data)}'
    result = judged(tmp_path, MASKED, spec)
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV004"])
    assert told in result.findings[0].message


def test_a_launch_of_numbers_that_leaves_nothing_to_do(tmp_path: Path) -> None:
    spec = 'kernel = "up_to"\ngrid = [1]\nargs = { out = "i32[16]", n = "i32" }\nrequires = ["n <= 0"]'
    result = judged(tmp_path, UP_TO, spec)
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV004"])
    assert result.findings[0].message.endswith("only launches without work satisfy `n <= 0`")
    assert judged(tmp_path, UP_TO, spec.replace("n <= 0", "n <= 1")).verdict is Verdict.PROVED


@pytest.mark.parametrize(("index", "told"), [("i", "TV004"), ("i + 1", "TV301")])
def test_blocks_that_write_nothing_may_read_what_they_must_not(tmp_path: Path, index: str, told: str) -> None:
    kernel = f"""
import cuda.tile as ct

@ct.kernel
def copy(x, out, n: int):
    i = ct.bid(0)
    tile = ct.load(x, index=({index},), shape=(16,))
    if n > 0:
        ct.store(out, index=(i,), tile=tile)
"""
    spec = 'kernel = "copy"\ngrid = ["cdiv(N, 16)"]\nargs = { x = "f32[N]", out = "f32[N]", n = "i32" }\n'
    result = judged(tmp_path, kernel, spec + 'requires = ["n <= 0"]')
    assert [finding.code for finding in result.findings] == [told]
    assert result.verdict is (Verdict.ERROR if told == "TV004" else Verdict.REFUTED)


def test_a_launch_of_an_empty_array_is_as_it_is_meant(tmp_path: Path) -> None:
    spec = 'kernel = "fill"\ngrid = [1]\nargs = { idx = "i32[0]", out = "i32[0]" }\n'
    assert judged(tmp_path, MASKED, spec + 'data = ["range(idx, 5, 5)"]').verdict is Verdict.PROVED
    assert judged(tmp_path, MASKED, spec + 'requires = ["grid.x >= 1"]').verdict is Verdict.PROVED


# --------------------------------------------------------------------------------------- against enumeration
FACTS = (
    "injective(a)", "injective(a, 0, 3)", "injective(a, unless=0)", "permutation(a)", "nondecreasing(a)",
    "range(a, 0, 2)", "range(a, 1, 3)", "range(a, 2, 2)", "range(a, -2, 1)", "range(a, 1, 1, unless=3)",
    "range(a, 0, 1, unless=4)", "range(a, 0, 2, unless=0)", "injective(a, unless=4)", "injective(a, 0, 3, unless=1)",
    "multiples(a, 2)", "multiples(a, 3)", "shares(a, 0)", "shares(a, 2)", "shares(a, -1)", "range(a, 0, N)",
    "shares(a, N)",
)  # fmt: skip
VALUES = range(-2, 5)


def kept(facts: tuple[str, ...], size: int) -> bool:
    """Whether some contents of so many elements keep all facts, one after the other."""

    def holds(values: tuple[int, ...]) -> bool:
        array = np.array(values, np.int32)
        said = [parse_data_fact(fact) for fact in facts]
        return all(violation(fact, {"a": array}, lambda e: evaluate(e, {"N": size})) is None for fact in said)

    return any(map(holds, product(VALUES, repeat=size)))


def test_no_contract_that_somebody_can_keep_is_called_contradictory() -> None:
    """And of those that nobody can keep, with up to three elements and three facts, most are found."""
    random, missed, found = Random(3), [], 0
    for _ in range(150):
        facts = tuple(random.sample(FACTS, random.choice((1, 2, 2, 3))))
        size = random.choice((0, 1, 2, 3, 3))
        spec = launch('{"a": "i32[N]"}', (f"N == {size}",), facts)
        told = contradictory(spec, SolverContext(0))
        assert not (told and kept(facts, size)), (facts, size)
        if not told and not kept(facts, size):
            missed.append((facts, size))
        found += told
    assert found > 20
    assert not missed, missed


def test_layouts_that_keep_elements_apart_are_not_called_contradictory() -> None:
    random, found = Random(5), 0
    for _ in range(150):
        sizes = [random.choice((0, 1, 2, 3, 4)) for _ in range(3)]
        strides = [random.choice((0, 1, 2, 3, 4, 6, 8, 12)) for _ in range(3)]
        facts = [f"{name} == {n}" for name, n in zip(("M", "N", "K", "s", "u", "w"), (*sizes, *strides), strict=True)]
        told = contradictory(launch('{"a": "f32[M, N, K; strides=(s, u, w)]"}', tuple(facts)), SolverContext(0))
        assert not (told and apart(sizes, strides)), (sizes, strides)
        found += told
    assert found > 30
