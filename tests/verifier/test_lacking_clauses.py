"""A kernel that is wrong in some launches of a written contract says under which clauses it would be right."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import Hint, KernelResult, Verdict

KERNEL = """import cuda.tile as ct


@ct.kernel
def scale(x, out, T: ct.Constant[int]):
    lanes = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(out, lanes, ct.gather(x, lanes, check_bounds=False) * 2.0, check_bounds=False)
"""
NAMED = 'args = { x = "f32[N]", out = "f32[N]", T = 256 }'


def checked(folder: Path, more: str, *, deny: bool = False) -> KernelResult:
    wanted = CheckOptions(deny_requires=deny, quick_repairs=True)
    return judged(folder, KERNEL, f'kernel = "scale"\n{more}', wanted, name="scale")


def lacking(result: KernelResult) -> list[Hint]:
    return [hint for finding in result.findings for hint in finding.hints if hint.id == "declare-requires"]


@pytest.mark.parametrize("deny", [False, True])
def test_a_divisibility_that_the_spec_lacks_is_told(tmp_path: Path, deny: bool) -> None:
    result = checked(tmp_path, f'grid = ["cdiv(N, 256)"]\n{NAMED}', deny=deny)
    assert result.verdict is Verdict.REFUTED
    (hint,) = lacking(result)
    assert hint.applicability == "maybe"
    assert hint.requires == ("N % 256 == 0",)
    assert hint.text.startswith("would be proved if `N % 256 == 0`: if every launch is like that, add requires = [")
    stated = checked(tmp_path, f'grid = ["cdiv(N, 256)"]\nrequires = ["N % 256 == 0"]\n{NAMED}')
    assert stated.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "more",
    [
        f'grid = ["cdiv(N, 256) + 1"]\n{NAMED}',  # a block too many, whatever N is
        'grid = [4]\nargs = { x = "f32[1000]", out = "f32[1000]", T = 256 }',  # no other launch is meant
    ],
)
def test_where_no_clause_helps_none_is_told(tmp_path: Path, more: str) -> None:
    result = checked(tmp_path, more)
    assert result.verdict is Verdict.REFUTED
    assert not lacking(result)


WORDED = """import cuda.tile as ct


@ct.kernel
def turned(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(8, 8))))


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i, 0), tile=ct.sum(ct.load(x, index=(i, 0), shape=(4, 64)), axis=0, keepdims=True))


@ct.kernel
def window(x, out):
    first = ct.gather(x, ct.arange(64, dtype=ct.int32), check_bounds=False)
    ct.store(out, index=(ct.bid(0),), tile=first)
"""


@pytest.mark.parametrize(
    ("kernel", "grid", "args", "clause"),
    [
        # two halves of one clause, an inequality that says more, and an empty array
        ("turned", '["cdiv(M, 8)", "cdiv(N, 8)"]', '{ x = "f32[M, N]", out = "f32[M, N]" }',
         "cdiv(M, 8) == cdiv(N, 8)"),
        ("halves", '["cdiv(H, 4)"]', '{ x = "f32[H, 64]", out = "f32[H // 4, 64]" }', "H % 4 == 0"),
        ("window", '["cdiv(P, 64)"]', '{ x = "f32[L]", out = "f32[P]" }', "L >= 64"),
    ],
)  # fmt: skip
def test_a_clause_is_told_as_people_write_it(tmp_path: Path, kernel: str, grid: str, args: str, clause: str) -> None:
    launch, wanted = f'kernel = "{kernel}"\ngrid = {grid}\nargs = {args}', CheckOptions(quick_repairs=True)
    result = judged(tmp_path, WORDED, launch, wanted, kernel=kernel)
    assert [hint.requires for hint in lacking(result)] == [(clause,)]
    stated = judged(tmp_path, WORDED, f'{launch}\nrequires = ["{clause}"]', wanted, kernel=kernel)
    assert stated.verdict is Verdict.PROVED
