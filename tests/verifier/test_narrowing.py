"""Contracts of the user's own with names: clauses come out where only launch-known quantities are at fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict

KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]


@ct.kernel
def copy(x, out, TILE: C):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def copy_masked(x, out, n, TILE: C):
    i = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    values = ct.gather(x, (i,), check_bounds=False, mask=i < n)
    ct.scatter(out, (i,), values, mask=i < n, check_bounds=False)


@ct.kernel
def copy_rows(x, out, TILE: C):
    row = ct.bid(0)
    for column in range(ct.cdiv(x.shape[1], TILE)):
        ct.store(out, index=(row, column), tile=ct.load(x, index=(row, column), shape=(1, TILE)))


@ct.kernel
def multiply(a, b, c, TILE: C):
    total = ct.full((TILE, TILE), 0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE)):
        left = ct.load(a, index=(ct.bid(0), k), shape=(TILE, TILE))
        total = ct.mma(left, ct.load(b, index=(k, ct.bid(1)), shape=(TILE, TILE)), total)
    ct.store(c, index=(ct.bid(0), ct.bid(1)), tile=total)


@ct.kernel
def number_rows(out, n, stride, TILE: C):
    column = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * stride + column,), column, mask=column < n)


@ct.kernel
def add_bias(x, bias, out, use, TILE: C):
    i = ct.bid(0)
    values = ct.load(x, index=(i,), shape=(TILE,))
    if use != 0:
        values = values + ct.load(bias, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=values)


@ct.kernel
def flat_grid(a, c, TILE: C):
    columns = ct.cdiv(c.shape[1], TILE)
    row, column = ct.bid(0) // columns, ct.bid(0) % columns
    ct.store(c, index=(row, column), tile=ct.load(a, index=(row, column), shape=(TILE, TILE)))


@ct.kernel
def fill(out, TILE: C):
    i = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (i,), ct.full((TILE,), 1, dtype=ct.int32))


@ct.kernel
def partial_sums(x, out, TILE: C):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,)), axis=0, keepdims=True))


@ct.kernel
def overtake(x, out, TILE: C):
    for i in range(ct.bid(0), ct.cdiv(x.shape[0], TILE)):
        ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def sum_from_second(x, out, TILE: C):
    total = ct.full((1, TILE), 0, dtype=ct.float32)
    for column in range(ct.cdiv(x.shape[1], TILE)):
        total = total + ct.load(x, index=(ct.bid(0), column + 1), shape=(1, TILE))
    ct.store(out, index=(ct.bid(0), 0), tile=total)


@ct.kernel
def write_at(out, position, TILE: C):
    place = ct.astype(position, ct.int32)
    ct.store(out, index=(ct.bid(0), place), tile=ct.full((1, TILE), 1, dtype=out.dtype))


@ct.kernel
def write_before(out, position, TILE: C):
    if position < ct.cdiv(out.shape[1], TILE):
        ct.store(out, index=(ct.bid(0), position), tile=ct.full((1, TILE), 1, dtype=out.dtype))


@ct.kernel
def write_second_half(out, n):
    ct.store(out, index=(ct.bid(0) + ct.cdiv(n, 2),), tile=ct.full((1,), 1, dtype=out.dtype))
"""


def checked(folder: Path, spec: str, *, deny: bool = False, origin: str = "inferred") -> KernelResult:
    options = CheckOptions(deny_requires=deny)
    return judged(folder, KERNELS, f'origin = "{origin}"\n{spec}', options, kernel=spec.split('"')[1])


X_OUT = 'args = { x = "f32[N]", out = "f32[N]", TILE = 128 }'

PROVED = [
    # not that n is at least N
    (
        'kernel = "write_second_half"\nargs = { out = "f32[N]", n = "i32" }',
        {"n >= 0", "cdiv(n, 2) + grid.x <= N and cdiv(n, 2) + grid.x >= 1", "grid.y == 1", "grid.z == 1"},
    ),
    ('kernel = "copy"\ngrid = [5]\n' + X_OUT, {"cdiv(N, 128) >= 5"}),
    ('kernel = "copy"\ngrid = ["min(cdiv(N, 128), 40)"]\n' + X_OUT, set()),
    ('kernel = "copy"\n' + X_OUT, {"grid.x <= cdiv(N, 128)", "grid.y == 1", "grid.z == 1"}),
    (
        'kernel = "copy"\ngrid = ["cdiv(N, 128)"]\nargs = { x = "f32[N]", out = "f32[M]", TILE = 128 }',
        {"cdiv(N, 128) <= cdiv(M, 128)"},
    ),
    (
        'kernel = "copy"\ngrid = ["cdiv(N, 128)", "cdiv(N, 4096)"]\n' + X_OUT,
        {"N <= 4096"},
    ),
    (
        'kernel = "copy_masked"\ngrid = ["cdiv(n, 128)"]\n'
        'args = { x = "f32[N]", out = "f32[M]", n = "i32", TILE = 128 }',
        {"n <= N", "n <= M"},
    ),
    (
        'kernel = "copy_masked"\nargs = { x = "f32[N]", out = "f32[N]", n = "i32", TILE = 128 }',
        {"128 * grid.x <= N or n <= N", "grid.y == 1", "grid.z == 1"},
    ),
    (
        'kernel = "copy_rows"\ngrid = ["M"]\nargs = { x = "f32[M, N]", out = "f32[P, Q]", TILE = 128 }',
        {"M <= P or N == 0", "cdiv(N, 128) <= cdiv(Q, 128)"},
    ),
    (
        'kernel = "multiply"\ngrid = ["cdiv(M, 64)", "cdiv(N, 64)"]\n'
        'args = { a = "f16[M, K]", b = "f16[L, N]", c = "f32[M, N]", TILE = 64 }',
        {"cdiv(K, 64) <= cdiv(L, 64)"},
    ),
    (
        'kernel = "number_rows"\ngrid = ["n"]\nargs = { out = "i32[N]", n = "i32", stride = "i32", TILE = 64 }',
        {"n <= stride", "(n - 1) * stride <= 2147483584"},
    ),
    (
        'kernel = "add_bias"\ngrid = ["cdiv(N, 128)"]\n'
        'args = { x = "f32[N]", bias = "f32[B]", out = "f32[N]", use = "i32", TILE = 128 }',
        {"cdiv(N, 128) <= cdiv(B, 128) or use == 0"},
    ),
    (
        'kernel = "flat_grid"\nargs = { a = "f32[M, N]", c = "f32[M, N]", TILE = 64 }',
        {"grid.x <= cdiv(M, 64) * cdiv(N, 64)", "grid.y == 1", "grid.z == 1"},
    ),
    ('kernel = "fill"\ngrid = ["N"]\nargs = { out = "i32[N]", TILE = 1024 }', {"N <= 2 ** 21"}),
    (
        'kernel = "partial_sums"\ngrid = ["cdiv(N, 256)"]\nargs = { x = "f32[N]", out = "f32[P]", TILE = 256 }',
        {"cdiv(N, 256) <= P"},
    ),
    (
        'kernel = "write_before"\ngrid = ["M"]\nargs = { out = "f32[M, N]", position = "i32", TILE = 64 }',
        {"position >= 0"},
    ),
]


FLAGGED = 'kernel = "add_bias"\ngrid = ["cdiv(N, 128)"]\n'
BIAS = 'args = {{ x = "f32[N]", bias = "f32[{}]", out = "f32[N]", use = "{}", TILE = 128 }}'


@pytest.mark.parametrize(
    ("spec", "verdict", "clauses"),
    [
        (FLAGGED + BIAS.format("B", "bool"), Verdict.PROVED, {"cdiv(N, 128) <= cdiv(B, 128) or not use"}),
        (FLAGGED + 'requires = ["not use"]\n' + BIAS.format("0", "bool"), Verdict.PROVED, set()),
        (FLAGGED + 'requires = ["not use or B == N"]\n' + BIAS.format("B", "bool"), Verdict.PROVED, set()),
        (FLAGGED + BIAS.format("B", "bool = B == N"), Verdict.PROVED, set()),
        (FLAGGED + BIAS.format("B", "bool = B >= N and N > 4"), Verdict.PROVED, set()),
        (FLAGGED + 'requires = ["use"]\n' + BIAS.format("0", "bool"), Verdict.REFUTED, set()),
        (FLAGGED + 'requires = ["use", "B + 128 <= N"]\n' + BIAS.format("B", "bool"), Verdict.REFUTED, set()),
        (FLAGGED + 'requires = ["N == B + 128"]\n' + BIAS.format("B", "bool"), Verdict.PROVED, {"not use"}),
        (FLAGGED + 'requires = ["use and not use"]\n' + BIAS.format("N", "bool"), Verdict.ERROR, set()),
        (FLAGGED + 'requires = ["not N"]\n' + BIAS.format("N", "bool"), Verdict.ERROR, set()),
    ],
)
def test_conditions_on_flags(tmp_path: Path, spec: str, verdict: Verdict, clauses: set[str]) -> None:
    result = checked(tmp_path, spec.replace("use != 0", "use"))
    assert (result.verdict, set(result.requires)) == (verdict, clauses), result.findings


@pytest.mark.parametrize(
    ("dtype", "clause"),
    [
        ("u32", "position < cdiv(N, 64)"),
        ("u8", "position < cdiv(N, 64)"),
        ("i32", "position >= 0 and position < cdiv(N, 64)"),
        ("i8", "position >= 0 and position < cdiv(N, 64)"),
    ],
)
def test_a_clause_names_an_unsigned_scalar_as_the_spec_does(tmp_path: Path, dtype: str, clause: str) -> None:
    spec = 'kernel = "write_at"\ngrid = ["M"]\nargs = { out = "f32[M, N]", position = "DTYPE", TILE = 64 }'
    result = checked(tmp_path, spec.replace("DTYPE", dtype))
    assert (result.verdict, result.requires) == (Verdict.PROVED, (clause,))
    again = checked(tmp_path, f'{spec.replace("DTYPE", dtype)}\nrequires = ["{clause}"]')
    assert (again.verdict, again.requires) == (Verdict.PROVED, ())


@pytest.mark.parametrize(("spec", "clauses"), PROVED)
def test_proved_under_the_weakest_clauses(tmp_path: Path, spec: str, clauses: set[str]) -> None:
    result = checked(tmp_path, spec)
    assert (result.verdict, set(result.requires)) == (Verdict.PROVED, clauses)
    denied = checked(tmp_path, spec, deny=True)
    assert (denied.verdict is Verdict.PROVED) is (not clauses)
    assert denied.requires == ()


REFUTED = [
    # every launch of the contract has a block without a tile
    ('kernel = "copy"\ngrid = ["cdiv(N, 128) + 1"]\n' + X_OUT, "TV301"),
    # the user's own numbers
    ('kernel = "copy"\ngrid = [5]\nargs = { x = "f32[256]", out = "f32[256]", TILE = 128 }', "TV301"),
    ('kernel = "copy"\ngrid = [5]\nrequires = ["N <= 512"]\n' + X_OUT, "TV301"),
    # two blocks along y in every launch
    ('kernel = "copy"\ngrid = ["cdiv(N, 128)", 2]\n' + X_OUT, "TV101"),
    # N <= 128 would leave one block with work
    ('kernel = "overtake"\ngrid = [7]\n' + X_OUT, "TV101"),
    ('kernel = "overtake"\n' + X_OUT, "TV101"),
    # N == 0 would leave none
    (
        'kernel = "sum_from_second"\ngrid = ["M"]\nargs = { x = "f32[M, N]", out = "f32[M, 128]", TILE = 128 }',
        "TV301",
    ),
    # n == 1 would leave one block
    (
        'kernel = "number_rows"\ngrid = ["n"]\nrequires = ["stride == 1"]\n'
        'args = { out = "i32[N]", n = "i32", stride = "i32", TILE = 64 }',
        "TV101",
    ),
    # overlap that the user allows is nothing for a clause
    (
        'kernel = "copy"\ngrid = ["cdiv(N, 128)"]\nrequires = ["N > 128"]\nalias = [["x", "out"]]\n' + X_OUT,
        "TV102",
    ),
]


@pytest.mark.parametrize(("spec", "code"), REFUTED)
def test_refuted_where_no_clause_leaves_work_for_two_blocks(tmp_path: Path, spec: str, code: str) -> None:
    result = checked(tmp_path, spec)
    assert result.verdict is Verdict.REFUTED
    assert code in {finding.code for finding in result.findings if finding.witness is not None}


def test_a_contradictory_contract_is_an_error_also_where_it_takes_two_facts_to_see(tmp_path: Path) -> None:
    spec = 'kernel = "copy"\ngrid = ["cdiv(N, 128)"]\nrequires = ["N * N < 16", "N > 7"]\n' + X_OUT
    result = checked(tmp_path, spec)
    assert (result.verdict, result.findings[0].code) == (Verdict.ERROR, "TV004")
