"""``tileverify init``: what `check` infers is written down, and is proved again as it stands there."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.corpus import ROOT
from tileverify.frontend.sources import tile_cpp
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
        assert set(inferred[kernel].requires) <= {*again[kernel].stated, *again[kernel].requires}
        assert not again[kernel].requires
    return len(proved)


@pytest.fixture
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc compiles a file once in a test: it does not read the spec, and nothing else changes."""
    monkeypatch.setattr(tile_cpp, "compile_tile_cpp", cache(tile_cpp.compile_tile_cpp))


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
        (".", None, "init takes one file"),
        ("empty.py", "x = 1\n", "no tile kernel found"),
        ("text.txt", "no kernel\n", "is neither a .py nor a .cu file nor Tile IR bytecode"),
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
