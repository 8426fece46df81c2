"""A contract that a person wrote is never narrowed: the tool adds limits, and clauses on open parts, and nothing else.

Every kernel of `test_narrowing` is asked again under contracts that somebody wrote: what the tool would have to add on
sizes and scalars makes it refuted, with the clauses as help.  Below that stand the kernels of public bug reports in
small: a tail without a mask, an array as long as another one, a flag that says too much.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import Finding, KernelResult, Verdict

from .test_narrowing import PROVED
from .test_narrowing import checked as checked_as

KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel
def largest_of_eight(x, largest):
    group = ct.bid(0)
    rows = ct.load(x, index=(group, 0), shape=(8, 64), padding_mode=ct.PaddingMode.ZERO)
    places = group * 8 + ct.arange(8, dtype=ct.int32)
    ct.scatter(largest, (places,), ct.max(rows, axis=1), check_bounds={checked})

@ct.kernel
def transposed(x, out, T: C):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(T, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index={place}, tile=tile)

@ct.kernel
def in_place(x, T: C):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(T, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(x, index={place}, tile=ct.transpose(tile))

@ct.kernel
def farther(out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(abs(i - j),), tile=ct.full((64,), i, dtype=ct.float32))

@ct.kernel
def pages(table, lengths, out):
    row = ct.bid(0)
    length = ct.load(lengths, (row,), ()).item()
    total = ct.zeros((1,), dtype=ct.int32)
    for page in range(length{more}):
        total = total + ct.load(table, (row, page), (1, 1)).reshape((1,))
    ct.store(out, (row,), total)
"""

RIGHT = {"checked": "True", "place": "(i, j)", "more": ""}
WRONG = {"checked": "False", "place": "(j, i)", "more": " + 1"}


def checked(folder: Path, spec: str, kernels: dict[str, str], *, repairs: bool = False) -> KernelResult:
    text = KERNELS
    for name, value in kernels.items():
        text = text.replace(f"{{{name}}}", value)
    return judged(folder, text, spec, CheckOptions(quick_repairs=repairs), kernel=spec.split('"')[1])


def lacking(result: KernelResult) -> list[str]:
    return [clause for finding in result.findings for hint in finding.hints for clause in hint.requires]


def refuting(result: KernelResult) -> list[Finding]:
    return [finding for finding in result.findings if finding.witness is not None]


# ------------------------------------------------------------------------------------- what is refuted
OF_OPEN_PARTS = {"grid.x", "grid.y", "grid.z"}


@pytest.mark.parametrize(("spec", "clauses"), PROVED)
def test_only_clauses_on_open_parts_are_added_to_a_written_contract(
    tmp_path: Path, spec: str, clauses: set[str]
) -> None:
    result = checked_as(tmp_path, spec, origin="written")
    assert result.contract == "written"
    # `n` is any number: a grid for which it fits is none that the contract leaves open.
    if all(any(part in clause for part in OF_OPEN_PARTS) and "n <= N" not in clause for clause in clauses):
        assert (result.verdict, set(result.requires)) == (Verdict.PROVED, clauses)
        assert result.conditional is bool(clauses)
        return
    assert result.verdict in (Verdict.REFUTED, Verdict.UNDECIDED)
    assert all(any(part in clause for part in OF_OPEN_PARTS) for clause in result.requires)
    if result.verdict is Verdict.REFUTED:
        for finding in refuting(result):
            assert finding.witness is not None
            assert finding.witness.confirmed_by


TAIL = 'kernel = "largest_of_eight"\ngrid = ["cdiv(P, 4)"]\nrequires = ["P >= 1"]\n'
TAIL += 'args = { x = "f32[2 * P, 64]", largest = "f32[2 * P]" }'
SQUARE = 'kernel = "transposed"\ngrid = ["cdiv(M, 64)", "cdiv(N, 64)"]\n'
SQUARE += 'args = { x = "f32[M, N]", out = "f32[M, N]", T = 64 }'
PAGES = 'kernel = "pages"\ngrid = ["B"]\ndata = ["range(lengths, 0, PAGES + 1)"]\n'
PAGES += 'args = { table = "i32[B, PAGES]", lengths = "i32[B]", out = "i32[B]" }'

SMALL = [
    pytest.param(TAIL, {"P": 1}, ["P % 4 == 0"], id="a tail that is not masked"),
    pytest.param(SQUARE, {"M": 1, "N": 65}, None, id="two indices exchanged"),
    pytest.param(PAGES, {"B": 1, "PAGES": 1}, None, id="a page too many, inside the range that was written"),
]


@pytest.mark.parametrize(("spec", "sizes", "clauses"), SMALL)
def test_the_smallest_launch_that_breaks_it_is_shown_and_its_twin_is_proved(
    tmp_path: Path, spec: str, sizes: dict[str, int], clauses: list[str] | None
) -> None:
    wrong = checked(tmp_path, spec, WRONG)
    assert (wrong.verdict, wrong.requires, wrong.limits) == (Verdict.REFUTED, (), ())
    assert refuting(wrong)[0].witness is not None
    assert refuting(wrong)[0].witness.sizes == sizes  # type: ignore[union-attr]
    assert clauses is None or lacking(wrong) == clauses
    right = checked(tmp_path, spec, RIGHT)
    assert (right.verdict, right.requires, right.conditional) == (Verdict.PROVED, (), False)


def test_what_the_help_says_proves_the_kernel(tmp_path: Path) -> None:
    help_says = lacking(checked(tmp_path, TAIL, WRONG))
    spec = TAIL.replace('"P >= 1"', ", ".join(f'"{clause}"' for clause in ["P >= 1", *help_says]))
    assert checked(tmp_path, spec, WRONG).verdict is Verdict.PROVED


# ------------------------------------------------------------------------------------ work for all at once
@pytest.mark.parametrize("grid", ['grid = ["cdiv(M, 64)", "cdiv(N, 64)"]\n', ""], ids=["written", "open"])
@pytest.mark.parametrize("origin", ["written", "inferred"])
def test_one_line_of_blocks_is_no_contract_for_two_axes(tmp_path: Path, grid: str, origin: str) -> None:
    """Each axis alone has launches that are right, a row of blocks and a column; none has both at work."""
    spec = f'kernel = "in_place"\norigin = "{origin}"\n{grid}args = {{ x = "f32[M, N]", T = 64 }}'
    wrong = checked(tmp_path, spec, WRONG)
    assert wrong.verdict is Verdict.REFUTED
    assert "TV102" in {finding.code for finding in refuting(wrong)}
    assert checked(tmp_path, spec.replace("[M, N]", "[M, N]"), RIGHT | {"place": "(i, j)"}).verdict is Verdict.PROVED


def test_a_place_that_two_lines_of_blocks_share_is_refuted_without_a_spec(tmp_path: Path) -> None:
    result = checked(tmp_path, 'kernel = "farther"\norigin = "inferred"\nargs = { out = "f32[N]" }', RIGHT)
    assert result.verdict is Verdict.REFUTED
    (witness,) = (finding.witness for finding in refuting(result))
    assert witness is not None
    assert witness.grid[0] > 1 < witness.grid[1]


# ------------------------------------------------------------------------------------------------ limits
OFFSETS = """
import cuda.tile as ct

@ct.kernel
def by_row(x, out, stride):
    row = ct.bid(0)
    at = {row} * stride + ct.arange(64, dtype=ct.int32)
    ct.scatter(out, (at,), ct.gather(x, (at,), check_bounds={checked}) + 1, check_bounds={checked})
"""
ROWS = 'kernel = "by_row"\ngrid = ["M"]\nrequires = ["S >= 64"]\n'
ROWS += 'args = { x = "f32[M * S; index=i64]", out = "f32[M * S; index=i64]", stride = "i32 = S" }'


def of_rows(folder: Path, row: str, checked: str) -> KernelResult:
    return judged(folder, OFFSETS.replace("{row}", row).replace("{checked}", checked), ROWS)


@pytest.mark.parametrize("checked", ["False", "True"])
def test_arrays_of_two_thousand_million_elements_are_beyond_a_limit_that_is_told(tmp_path: Path, checked: str) -> None:
    """Bounds checks hide a wrapped index that is negative, and blocks whose indices wrap to others' race."""
    result = of_rows(tmp_path, "row", checked)
    assert (result.verdict, result.requires, result.conditional) == (Verdict.PROVED, (), False)
    assert result.limits
    warned = [finding for finding in result.findings if finding.code == "TV304"]
    assert {site.line for finding in warned for site in finding.sites} == {8}
    assert all("M = " in finding.message and "S = " in finding.message for finding in warned)
    assert {hint.id for finding in warned for hint in finding.hints} == {"widen-index"}


@pytest.mark.parametrize("checked", ["False", "True"])
def test_an_index_of_64_bits_takes_no_limit(tmp_path: Path, checked: str) -> None:
    result = of_rows(tmp_path, "ct.astype(row, ct.int64)", checked)
    assert (result.verdict, result.limits, result.findings) == (Verdict.PROVED, (), ())


def sizes_of(finding: Finding) -> dict[str, int]:
    """What a warning says where its arithmetic wraps."""
    numbers = finding.message.partition("for example where ")[2].split(", ")
    return {name: int(value) for name, value in (number.split(" = ") for number in numbers)}


@pytest.mark.parametrize("checked", ["False", "True"])
def test_the_sizes_of_a_warning_are_the_least(tmp_path: Path, checked: str) -> None:
    """With one of them less, no lane of any row wraps."""
    for finding in of_rows(tmp_path, "row", checked).findings:
        rows, stride = sizes_of(finding)["M"], sizes_of(finding)["S"]
        if finding.message.startswith("beyond"):
            continue  # another row's element is meant, which is farther
        assert (rows - 1) * stride + 63 >= 2**31, finding.message
        assert (rows - 2) * stride + 63 < 2**31 > (rows - 1) * (stride - 1) + 63, finding.message


BUCKETS = """
import cuda.tile as ct

@ct.kernel
def count(counts, keys, key):
    bucket = ({key} + ct.bid(0) * 64 + ct.arange(64, dtype=ct.int32)) >> 21
    ct.atomic_add(counts, (bucket,), 1, check_bounds=False)
"""


@pytest.mark.parametrize("of_size", [False, True])
def test_a_scalar_that_is_data_is_not_limited_in_silence(tmp_path: Path, of_size: bool) -> None:
    """Half of all keys are 2**30 or more; a size of that many elements is another matter."""
    of_keys, least = ("i32 = N", "N >= 1") if of_size else ("i32", "key >= 1")
    args = f'{{ counts = "i32[1024]", keys = "i32[N]", key = "{of_keys}" }}'
    spec = f'kernel = "count"\ngrid = [4]\nrequires = ["{least}"]\nargs = {args}'
    result = judged(tmp_path, BUCKETS.replace("{key}", "key"), spec)
    assert result.verdict is Verdict.PROVED
    assert any(("N" if of_size else "key") in limit for limit in result.limits)
    warned = [finding for finding in result.findings if finding.code == "TV304"]
    if of_size:
        assert not warned
        return
    assert {site.line for finding in warned for site in finding.sites} == {7}
    assert {sizes_of(finding)["key"] + 255 for finding in warned} == {2**31}


def test_a_limit_of_a_single_size_is_told_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "lanes.py").write_text("""
import cuda.tile as ct

@ct.kernel
def copy(x, out, n):
    at = ct.bid(0) * 256 + 1 + ct.arange(256, dtype=ct.int32)
    ct.scatter(out, (at,), ct.gather(x, (at,), mask=at < n, check_bounds=False), mask=at < n, check_bounds=False)
""")
    spec = 'kernel = "copy"\ngrid = ["cdiv(N, 256)"]\nargs = { x = "f32[N]", out = "f32[N]", n = "i32 = N" }'
    (tmp_path / "lanes.tileverify.toml").write_text(f"[[launch]]\n{spec}\n")
    (result,) = check_paths([str(tmp_path / "lanes.py")]).results
    assert (result.verdict, result.requires, result.findings) == (Verdict.PROVED, (), ())
    (limit,) = result.limits
    assert limit.startswith("N <")


# ------------------------------------------------------------------------------------- who vouches for it
def test_a_contract_that_nobody_wrote_is_conditional(tmp_path: Path) -> None:
    result = checked(tmp_path, TAIL.replace("\n", '\norigin = "inferred"\n', 1), WRONG)
    assert (result.verdict, result.contract, result.conditional) == (Verdict.PROVED, "inferred", True)
    assert result.requires == ("P % 4 == 0",)


def test_a_launch_of_numbers_is_proved_as_written(tmp_path: Path) -> None:
    spec = 'kernel = "largest_of_eight"\ngrid = [2]\nargs = { x = "f32[16, 64]", largest = "f32[16]" }'
    result = checked(tmp_path, spec, WRONG)
    assert (result.verdict, result.contract, result.conditional) == (Verdict.PROVED, "written", False)


def test_the_number_of_arrays_does_not_change_the_kind_of_answer(tmp_path: Path) -> None:
    for count in (2, 4):
        names = [f"a{number}" for number in range(count)]
        rows = "\n".join(
            f"    ct.store({name}, (i // 4, i % 4, 0), ct.load({name}, (i // 4, i % 4, 0), (1, 1, 32)) * 2.0)"
            for name in names
        )
        (tmp_path / "many.py").write_text(
            f"import cuda.tile as ct\n\n\n@ct.kernel\ndef many({', '.join(names)}):\n    i = ct.bid(0)\n{rows}\n"
        )
        (result,) = check_paths([str(tmp_path / "many.py")]).results
        assert result.verdict is Verdict.PROVED, count
        assert {f"{name}1 >= 4" for name in names} <= {clause.replace("_", "") for clause in result.requires}


# ------------------------------------------------------------------------------------- narrowing in disguise
DISGUISED = """
import cuda.tile as ct

@ct.kernel
def scales(x, s, out):
    i, k = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, k), shape=(1, 64), padding_mode=ct.PaddingMode.ZERO)
    scale = ct.load(s, index=(i, min(k, s.shape[1] - 1)), shape=(1, 1))
    ct.store(out, index=(i, k), tile=tile * scale)

@ct.kernel
def mode(x, out, mode):
    i = ct.bid(0)
    if mode == 7:
        ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(64,)))
    else:
        ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))

@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))

@ct.kernel
def negate(x, out, unused):
    i = ct.bid(0)
    ct.store(out, index=(i, 0), tile=-ct.load(x, index=(i, 0), shape=(1, 64)))
"""


def disguised(folder: Path, spec: str) -> KernelResult:
    return judged(folder, DISGUISED, spec, kernel=spec.split('"')[1])


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            'kernel = "scales"\ngrid = ["M", "cdiv(K, 64)"]\n'
            'args = { x = "f32[M, K]", s = "f32[M, K // 64]", out = "f32[M, K]" }',
            id="a size made of names may be 0 in usual launches",
        ),
        pytest.param(
            'kernel = "mode"\nargs = { x = "f32[N]", out = "f32[N]", mode = "i32" }',
            id="a clause on the grid leaves a scalar no launch",
        ),
        pytest.param(
            'kernel = "copy"\nrequires = ["grid.x == 4", "grid.y == 1", "grid.z == 1"]\n'
            'args = { x = "f32[N]", out = "f32[N]" }',
            id="a grid that requires pins is not open",
        ),
    ],
)
def test_neither_a_limit_nor_an_open_grid_hides_a_small_launch(tmp_path: Path, spec: str) -> None:
    result = disguised(tmp_path, spec)
    assert (result.verdict, result.limits) == (Verdict.REFUTED, ())
    assert all(finding.witness is not None for finding in result.findings)


@pytest.mark.parametrize("unused", ["f32[D]", "f32[0]", "u8[3, 2**30; index=i64]"])
def test_an_array_beyond_limits_takes_none_from_the_others(tmp_path: Path, unused: str) -> None:
    spec = f'kernel = "negate"\ngrid = ["M"]\nargs = {{ x = "f32[M, N]", out = "f32[M, N]", unused = "{unused}" }}'
    result = disguised(tmp_path, spec)
    assert (result.verdict, result.limits) == (Verdict.PROVED, ("N >= 1",))


BLOCKS = """
import cuda.tile as ct

@ct.kernel
def add_one(x, out):
    i = ct.bid(0)
    for j in range({rounds}):
        part = i * {rounds} + j
        ct.store(out, (part,), ct.load(x, (part,), ({tile},)) + 1.0)
"""


@pytest.mark.parametrize(("tile", "rounds"), [(2048, 1), (4096, 1), (8192, 1), (32768, 1), (2048, 2), (4096, 2)])
@pytest.mark.parametrize("written", [False, True])
def test_large_tiles_need_larger_sizes_for_two_blocks(tmp_path: Path, tile: int, rounds: int, *, written: bool) -> None:
    """An open grid takes its clause, as that leaves two blocks work in launches of a few tiles."""
    file = tmp_path / "blocks.py"
    file.write_text(BLOCKS.format(tile=tile, rounds=rounds))
    if written:
        spec = f'requires = ["N % {tile * rounds} == 0"]\nargs = {{ x = "f32[N]", out = "f32[N]" }}\n'
        (tmp_path / "blocks.tileverify.toml").write_text(f'[[launch]]\nkernel = "add_one"\n{spec}')
    (result,) = check_paths([str(file)]).results
    assert result.verdict is Verdict.PROVED, result.findings
    assert any("grid.x" in clause for clause in result.requires)


def test_what_the_contract_says_is_no_limit_of_the_proof(tmp_path: Path) -> None:
    """The widest contract of recorded numbers keeps what was recorded of addresses."""
    file = tmp_path / "blocks.py"
    file.write_text(BLOCKS.format(tile=128, rounds=1))
    aligned = '["x.address % 16 == 0", "out.address % 16 == 0"]'
    (tmp_path / "blocks.tileverify.toml").write_text(
        f'[[launch]]\nkernel = "add_one"\norigin = "recorded"\ngrid = [4]\nrequires = {aligned}\n'
        'args = { x = "f32[512]", out = "f32[512]" }\n'
    )
    (result,) = check_paths([str(file)]).results
    assert result.verdict is Verdict.PROVED
    assert result.holds_for == "any"
    assert not [clause for clause in (*result.limits, *result.requires) if "address" in clause]
