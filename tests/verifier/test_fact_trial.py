"""Facts that would decide what is open: found, verified, named; and assumed only where a recording saw them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tileverify.contract.data_facts import parse_data_fact
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.abduction.recorded_launch import follows

pytest.importorskip("cuda.tile", reason="kernels are compiled")

KERNELS = """
import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def pick(x, idx, out, TILE: ConstInt):
    at = ct.load(idx, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.gather(x, (at,), check_bounds=False))


@ct.kernel
def place(idx, out, TILE: ConstInt):
    at = ct.load(idx, (ct.bid(0),), (TILE,))
    ct.scatter(out, (at,), ct.bid(0))


@ct.kernel
def place_behind(idx, out, TILE: ConstInt):
    at = ct.load(idx, (ct.bid(0),), (TILE,))
    ct.scatter(out, (at * at,), ct.bid(0), check_bounds=False)


@ct.kernel
def place_what_was_written(idx, out, TILE: ConstInt):
    ct.store(idx, (ct.bid(0),), ct.full((TILE,), 3, dtype=ct.int32))
    at = ct.load(idx, (ct.bid(0),), (TILE,))
    ct.scatter(out, (at,), ct.bid(0))


@ct.kernel
def pages(table, lengths, cache, out, PAGE: ConstInt):
    b = ct.bid(0)
    total = 0.0
    for p in range(ct.load(lengths, (b,), ()).item() // PAGE + 1):
        page = ct.load(table, (b, p), ()).item()
        total += ct.load(cache, (page,), ()).item()
    ct.store(out, (b,), total)


@ct.kernel
def chosen(flag, out, CHOSEN: ConstInt):
    if ct.load(flag, (ct.bid(0),), ()).item() == CHOSEN:
        ct.store(out, (0,), ct.bid(0))
"""
PAGES = 'args = { table = "i32[B, P]", lengths = "i32[B]", cache = "f32[N]", out = "f32[B]", PAGE = 16 }'
PICK = 'args = { x = "f32[200]", idx = "i32[64]", out = "f32[64]", TILE = 16 }'
PLACE = 'args = { idx = "i32[64]", out = "i32[200]", TILE = 16 }'


Check = Callable[[str, str], KernelResult]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    (tmp_path / "k.py").write_text(KERNELS)

    def run(kernel: str, fields: str) -> KernelResult:
        (tmp_path / "k.tileverify.toml").write_text(f'[[launch]]\nkernel = "{kernel}"\n{fields}\n')
        (result,) = check_paths([f"{tmp_path / 'k.py'}::{kernel}"], options=CheckOptions()).results
        return result

    return run


def suggested(result: KernelResult) -> list[str]:
    """The facts of the hint, ready to paste; they must be the same for every finding of these small kernels."""
    texts = {hint.text for finding in result.findings for hint in finding.hints if hint.id == "declare-facts"}
    lists = [re.search(r"data = (\[.*?\]) in", text) for text in texts]
    found = {match.group(1) for match in lists if match}
    assert len(found) <= 1
    return list(json.loads(found.pop())) if found else []


@pytest.mark.parametrize(
    ("kernel", "fields", "facts"),
    [
        ("pick", f"grid = [4]\n{PICK}", ["range(idx, 0, x.shape[0])"]),
        ("place", f"grid = [4]\n{PLACE}", ["injective(idx, 0, out.shape[0])"]),
        ("pick", f"grid = [4]\n{PICK.replace('200', 'N')}", ["range(idx, 0, N)"]),
        ("place", f'grid = [4]\ndata = ["range(idx, 0, 200)"]\n{PLACE}', ["injective(idx)"]),
        ("pages", f'grid = ["B"]\ndata = ["range(table, 0, N)"]\n{PAGES}', ["range(lengths, 0, P * 16)"]),
    ],
)
def test_an_open_finding_names_facts_that_prove_the_kernel(
    check: Check, kernel: str, fields: str, facts: list[str]
) -> None:
    result = check(kernel, fields)
    assert result.verdict is Verdict.UNDECIDED
    assert suggested(result) == facts
    assert all(fact in finding.message for finding in result.findings for fact in facts)
    written = [*result.assumes, *facts]
    pasted = check(kernel, f"{re.sub('data = .*', '', fields)}\ndata = {json.dumps(written)}")
    assert pasted.verdict is Verdict.PROVED
    assert (pasted.assumes, pasted.observed) == (tuple(written), ())


@pytest.mark.parametrize(("chosen", "helps"), [(1, True), (0, False)])
def test_one_flag_alone_is_suggested_where_other_blocks_stay_out(check: Check, chosen: int, helps: bool) -> None:
    fields = f'grid = ["B"]\nargs = {{ flag = "i32[B]", out = "i32[B]", CHOSEN = {chosen} }}'
    hints = [hint for finding in check("chosen", fields).findings for hint in finding.hints]
    assert [hint.id for hint in hints] == ["declare-shares"] * helps
    assert (check("chosen", f'data = ["shares(flag, 1)"]\n{fields}').verdict is Verdict.PROVED) == helps


@pytest.mark.parametrize("kernel", ["place_behind", "place_what_was_written"])
def test_nothing_is_suggested_where_no_fact_suffices(check: Check, kernel: str) -> None:
    result = check(kernel, f"grid = [4]\n{PLACE}")
    assert result.verdict is not Verdict.PROVED
    assert not any("proves the kernel" in hint.text for finding in result.findings for hint in finding.hints)


def test_an_observed_fact_is_assumed_in_the_form_that_is_needed(check: Check) -> None:
    seen = '["range(idx, 0, 150)", "injective(idx)", "nondecreasing(idx)"]'
    result = check("pick", f"grid = [4]\nobserved = {seen}\n{PICK}")
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "any")
    assert result.assumes == result.observed == ("range(idx, 0, x.shape[0])",)


def test_what_was_observed_must_suffice(check: Check) -> None:
    result = check("pick", f'grid = [4]\nobserved = ["range(idx, 0, 201)", "injective(idx)"]\n{PICK}')
    assert result.verdict is Verdict.UNDECIDED
    assert result.assumes == ()
    assert suggested(result) == ["range(idx, 0, x.shape[0])"]


def test_nothing_is_assumed_that_is_not_needed(check: Check) -> None:
    result = check("place", f'grid = [1]\nobserved = ["range(idx, 0, 9)"]\n{PLACE.replace("TILE = 16", "TILE = 1")}')
    assert result.verdict is Verdict.PROVED
    assert result.assumes == ()


NUMBERS = {"x.shape[0]": 200, "n": 64}


@pytest.mark.parametrize(
    ("fact", "observed", "expected"),
    [
        ("range(a, 0, x.shape[0])", "range(a, 3, 200)", True),
        ("range(a, 0, x.shape[0])", "range(a, 3, 201)", False),
        ("range(a, 1, n)", "range(a, 0, 9)", False),
        ("range(a, 0, n)", "range(a, 0, 9, unless=-1)", False),
        ("range(a, 0, n, unless=-1)", "range(a, 0, 9, unless=-1)", True),
        ("range(a, 0, n, unless=(-1, n))", "range(a, 0, 9, unless=64)", True),
        ("range(a, 0, n, unless=-2)", "range(a, 0, 9, unless=-1)", False),
        ("range(b, 0, n)", "range(a, 0, 9)", False),
        ("range(a, 0, m)", "range(a, 0, 9)", False),
        ("injective(a, 0, n)", "injective(a)", True),
        ("injective(a)", "injective(a, 0, 64)", False),
        ("injective(a, 0, n)", "injective(a, 0, 63)", False),
        ("injective(a, 1, n)", "injective(a, 0, 64)", True),
        ("injective(a, unless=n)", "injective(a, unless=64)", True),
        ("injective(a)", "injective(a, unless=64)", False),
        ("disjoint_rows(a, 0, n)", "injective(a, 0, 64)", True),
        ("injective(a)", "disjoint_rows(a)", False),
        ("multiples(a, 16)", "multiples(a, 64)", True),
        ("multiples(a, 64)", "multiples(a, 16)", False),
        ("multiples(a, n)", "multiples(a, 128)", True),
        ("shares(a, n)", "shares(a, 64)", True),
        ("shares(a, n)", "shares(a, 65)", False),
        ("segments(a, b, 0, n)", "segments(a, b, 0, 64)", True),
        ("segments(a, b)", "segments(a, b, 5, 6)", True),
        ("segments(a, b, 0, n)", "segments(a, b, 0, 65)", False),
        ("segments(b, a)", "segments(a, b, 5, 6)", False),
        ("ranks(a, b, n)", "ranks(a, b, 64)", True),
        ("ranks(a, b, 32)", "ranks(a, b, 64)", False),
        ("ranks(b, a, n)", "ranks(a, b, 64)", False),
        ("buckets(a, b, n, 8, 0, n)", "buckets(a, b, 64, 8, 0, 64)", True),
        ("buckets(a, b, n, 8)", "buckets(a, b, 64, 8, 5, 6)", True),
        ("buckets(a, b, n, 8, 0, n)", "buckets(a, b, 64, 8, 0, 65)", False),
        ("buckets(a, b, n, 8, 0, n)", "buckets(a, b, 64, 8)", False),
        ("buckets(a, b, n, 4)", "buckets(a, b, 64, 8)", False),
        ("buckets(a, b, 8, 8)", "buckets(a, b, 64, 8)", False),
        ("nondecreasing(a)", "nondecreasing(a)", True),
        ("nondecreasing(a)", "injective(a)", False),
    ],
)
def test_what_follows_from_an_observation(fact: str, observed: str, expected: bool) -> None:
    assert follows(parse_data_fact(fact), [parse_data_fact(observed)], NUMBERS) is expected
