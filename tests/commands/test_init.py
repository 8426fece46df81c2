"""``tileverify init``: what `check` infers is written down, and is proved again as it stands there."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.contract.expressions import print_expression
from tileverify.contract.spec_files import read_spec_file
from tileverify.corpus import ROOT
from tileverify.frontend.sources import bytecode_file
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict

SOURCES = [
    *(f"showcase/{name}.py" for name in ("layer_norm", "permute", "rope", "softmax", "transpose", "vector_add")),
    "race_free/relu_inplace.py", "race_free/stencil.py", "race_free/gather_rows.py", "racy/half_block.py",
]  # fmt: skip


def verdicts(file: Path, cache: Path | None = None) -> dict[str, KernelResult]:
    return {result.kernel: result for result in check_paths([str(file)], options=CheckOptions(cache=cache)).results}


def written(source: str, folder: Path) -> Path:
    """The source without its spec."""
    shutil.copy(ROOT / source, folder)
    return folder / Path(source).name


def round_trip(file: Path, tileverify: CommandLine) -> int:
    """The number of kernels that are proved before and after; what was inferred is in the command's cache."""
    inferred = verdicts(file, file.parent / "cache")
    proved = {kernel for kernel, result in inferred.items() if result.verdict is Verdict.PROVED}
    ran = tileverify("init", str(file))
    assert ran.code == 0, ran.err
    assert f"proved as written: {len(proved)}" in ran.err
    again = verdicts(file)
    assert again.keys() == inferred.keys()
    for kernel in proved:
        assert again[kernel].verdict is Verdict.PROVED, kernel
        clauses = {*again[kernel].stated, *again[kernel].requires}
        kept = {in_words_of(clause, inferred[kernel], again[kernel]) for clause in inferred[kernel].requires}
        assert all(says_nothing(clause) or clauses & {clause, *clause.split(" or ")} for clause in kept), kept
        assert not again[kernel].requires
    return len(proved)


def in_words_of(clause: str, inferred: KernelResult, written: KernelResult) -> str:
    """The clause with the names that the written launch has for sizes."""
    assert inferred.proved_launch is not None
    assert written.proved_launch is not None
    for array, other in zip(inferred.proved_launch.arrays(), written.proved_launch.arrays(), strict=True):
        for old, new in zip(array.shape, other.shape, strict=True):
            clause = re.sub(rf"\b{re.escape(print_expression(old))}\b", print_expression(new), clause)
    return clause


def says_nothing(clause: str) -> bool:
    """Of two sizes that are one now, that the one fits the other."""
    left, _, right = clause.partition(" <= ")
    return left == right


@pytest.fixture
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc compiles a file once in a test: it does not read the spec, and nothing else changes."""
    monkeypatch.setattr(bytecode_file, "compile_tile_cpp", cache(bytecode_file.compile_tile_cpp))


@pytest.mark.parametrize(("stem", "count"), [("heads", 1), ("matrices", 3), ("rows", 2), ("vectors", 4)])
@pytest.mark.assembler("nvcc")
@pytest.mark.usefixtures("compiled_once")
def test_kernels_of_tile_cpp_are_proved_again(stem: str, count: int, tmp_path: Path, tileverify: CommandLine) -> None:
    assert round_trip(written(f"tile_cpp/{stem}.cu", tmp_path), tileverify) == count


@pytest.mark.parametrize("source", SOURCES)
def test_kernels_of_python_are_proved_again(source: str, tmp_path: Path, tileverify: CommandLine) -> None:
    round_trip(written(source, tmp_path), tileverify)


def test_bytecode_is_proved_again(tmp_path: Path, tileverify: CommandLine) -> None:
    """Entries of cuTile Rust have no words of their own: sizes are scalars, as the views of the kernel say."""
    assert round_trip(written("cutile_rust/rows.tileirbc", tmp_path), tileverify) >= 1


def test_what_is_there_is_not_overwritten(tmp_path: Path, tileverify: CommandLine) -> None:
    file = written("showcase/vector_add.py", tmp_path)
    spec = file.with_name("vector_add.tileverify.toml")
    spec.write_text("# mine\n")
    ran = tileverify("init", str(file))
    assert (ran.code, spec.read_text()) == (2, "# mine\n")
    assert "is there already; --force writes it anew" in ran.err
    assert tileverify("init", "--force", str(file)).code == 0
    assert spec.read_text().startswith("# Inferred by `tileverify init`")
    other = tmp_path / "other.toml"
    assert tileverify("init", "--output", str(other), str(file)).code == 0
    assert other.read_text() == spec.read_text()
    assert tileverify("init", "--output", str(other), str(file)).code == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("gone.py", None, "there is none called"),
        (".", None, "there is no .py, .cu or bytecode file in"),
        ("empty.py", "x = 1\n", "no tile kernel found"),
        ("text.txt", "no kernel\n", "is neither a .py, .cu or .ttir file nor Tile IR bytecode"),
    ],
)
def test_what_gives_no_spec_is_one_sentence(
    name: str, text: str | None, words: str, tmp_path: Path, tileverify: CommandLine
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    ran = tileverify("init", str(tmp_path / name))
    assert ran.code in (2, 4)
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("*.toml"))


def test_kernels_with_a_launch_in_the_source_are_left_to_it(tmp_path: Path, tileverify: CommandLine) -> None:
    file = tmp_path / "decorated.py"
    file.write_text(
        "import cuda.tile as ct\nimport tileverify\n\n"
        '@tileverify.launch(args={"x": "f32[N]"}, grid=["cdiv(N, 16)"])\n@ct.kernel\n'
        "def own(x):\n    ct.store(x, index=(ct.bid(0),), tile=ct.zeros((16,), dtype=ct.float32))\n"
    )
    ran = tileverify("init", str(file))
    assert ran.code == 2
    assert "all of its launches are written down" in ran.err


def test_how_to_say_the_grid_is_told(tmp_path: Path, tileverify: CommandLine) -> None:
    """In the words of the bounds that the proof needs."""
    file = written("showcase/vector_add.py", tmp_path)
    assert tileverify("init", str(file)).code == 0
    text = file.with_name("vector_add.tileverify.toml").read_text()
    assert '# say how you launch it by grid = ["cdiv(' in text
    assert text.index("say how you launch it") < text.index("[[launch]]")


KERNELS = """
import cuda.tile as ct


@ct.kernel
def multiply(a, b, c, tm: ct.Constant[int], TILE_N: ct.Constant[int], block_size_k: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, TILE_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, block_size_k))):
        left = ct.load(a, (m, k), (tm, block_size_k), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, n), (block_size_k, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (m, n), total)


@ct.kernel
def scale_rows(x, factors, out):
    rows, columns = x.shape
    row = ct.bid(0)
    factor = ct.load(factors, (row,), (1,)).reshape((1, 1))
    for j in range(ct.cdiv(columns, 64)):
        ct.store(out, (row, j), factor * ct.load(x, (row, j), (1, 64)))


@ct.kernel
def halves(x, first, second, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(first, (i, 0), ct.load(x, (i, 0), (TILE, 16)))
    ct.store(second, (i, 0), ct.load(x, (i, 1), (TILE, 16)))
"""


def described(spec: Path) -> dict[str, dict[str, str]]:
    """The arrays of each kernel."""
    found = {}
    for raw in read_spec_file(spec):
        arguments = raw.fields["args"]
        assert isinstance(arguments, dict)
        found[raw.kernel] = {name: text for name, text in arguments.items() if isinstance(text, str)}
    return found


def test_sizes_are_called_as_the_kernel_calls_them(tmp_path: Path, tileverify: CommandLine) -> None:
    """One size where one index walks; the halves of `x` are not as wide as `x`, although all begin at tile 0."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    assert tileverify("init", str(tmp_path / "kernels.py")).code == 0
    spec = tmp_path / "kernels.tileverify.toml"
    assert described(spec) == {
        "multiply": {"a": "f32[M, K]", "b": "f32[K, N]", "c": "f32[M, N]"},
        "scale_rows": {"x": "f32[rows, columns]", "factors": "f32[rows]", "out": "f32[rows, columns]"},
        "halves": {"x": "f32[M, N]", "first": "f32[M, K]", "second": "f32[M, K]"},
    }
    text = spec.read_text()
    assert "# assumed by tileverify, is this what you promise? K is a.shape[1] and b.shape[0]\n" in text


def test_what_nobody_edited_is_nobody_s_promise(tmp_path: Path, tileverify: CommandLine) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    assert tileverify("init", str(tmp_path / "kernels.py")).code == 0
    spec = tmp_path / "kernels.tileverify.toml"
    assert [raw.fields["origin"] for raw in read_spec_file(spec)] == ["inferred"] * 3
    text = spec.read_text()
    assert text.count("# assumed by tileverify, is this what you promise?\nrequires = [") == 3
    lines = [line for line in text.splitlines() if line.startswith("origin = ")]
    assert all("delete the line once it is what you promise" in line for line in lines)
    spec.write_text("\n".join(line for line in text.splitlines() if line not in lines))
    assert all("origin" not in raw.fields for raw in read_spec_file(spec))
    assert tileverify("check", str(tmp_path / "kernels.py")).code == 0


def test_several_files_and_folders(tmp_path: Path, tileverify: CommandLine) -> None:
    (tmp_path / "more").mkdir()
    files = [written("showcase/vector_add.py", tmp_path), written("showcase/softmax.py", tmp_path / "more")]
    (tmp_path / "more" / "plain.py").write_text("x = 1\n")
    mine = written("showcase/transpose.py", tmp_path / "more").with_name("transpose.tileverify.toml")
    mine.write_text("# mine\n")
    ran = tileverify("init", str(tmp_path))
    assert (ran.code, len(ran.err.strip().splitlines())) == (0, 2)
    for file in files:
        assert f"{file.with_suffix('.tileverify.toml')}: 1 launch; proved as written: 1" in ran.err
    assert mine.read_text() == "# mine\n"
    again = tileverify("init", str(tmp_path))
    assert (again.code, again.err) == (0, "")
    assert tileverify("init", "--force", *map(str, files)).code == 0
    both = tileverify("init", "--output", str(tmp_path / "all.toml"), *map(str, files))
    assert both.code == 2
    assert "--output takes the specs of one file" in both.err


def test_a_named_file_that_gives_nothing_is_told_and_others_go_on(tmp_path: Path, tileverify: CommandLine) -> None:
    file = written("showcase/vector_add.py", tmp_path)
    (tmp_path / "plain.py").write_text("x = 1\n")
    ran = tileverify("init", str(tmp_path / "plain.py"), str(file))
    assert ran.code == 2
    assert f"{tmp_path / 'plain.py'}: " in ran.err
    assert file.with_suffix(".tileverify.toml").is_file()
