"""Finding kernels under paths: what is taken, what is skipped, in which order, and what is said about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import FoundLaunch, SourceFailure, candidates, discover
from tileverify.system.errors import NoKernelFound, SourceError, SpecError, UsageError

from .compiling import results, unit, write

FILL = """
@ct.kernel
def {name}(x):
    ct.store(x, (ct.bid(0),), ct.zeros((16,), dtype=ct.float32))
"""
SPEC = '[[launch]]\nkernel = "{name}"\nname = "small"\nargs = {{ x = "f32[16]" }}\n'


def fill(*names: str) -> str:
    return "".join(FILL.format(name=name) for name in names)


def spec(*names: str) -> str:
    return "".join(SPEC.format(name=name) for name in names)


def found(*targets: object, spec_file: Path | None = None) -> list[tuple[str, str | None, str | None]]:
    """File name, kernel and launch of each result."""
    pairs = results(*targets, spec_file=spec_file)
    return [
        (each.file.name, each.kernel, each.launch.name if isinstance(each, KernelUnit) else each.launch)
        for each in pairs
    ]


def test_a_folder_is_searched_in_a_fixed_order(tmp_path: Path) -> None:
    for place in ("b", "a", "a/inner", ".hidden", "__pycache__", "venv", "node_modules"):
        (tmp_path / place).mkdir(exist_ok=True)
        write(tmp_path / place, fill("k"))
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    write(tmp_path, fill("two", "one"), name="z")
    (tmp_path / "no_kernel.py").write_text("raise SystemExit('never imported')\n")
    (tmp_path / "notes.txt").write_text("kernel\n")
    assert [(each.file.relative_to(tmp_path).as_posix(), each.kernel) for each in results(tmp_path)] == [
        ("z.py", "two"),
        ("z.py", "one"),
        ("a/k.py", "k"),
        ("a/inner/k.py", "k"),
        ("b/k.py", "k"),
    ]


def test_kernel_and_launch_can_be_chosen(tmp_path: Path) -> None:
    text = spec("a", "b") + '[[launch]]\nkernel = "a"\nargs = { x = "f32[N]" }\n'
    path = write(tmp_path, fill("a", "b"), text)
    assert found(path) == [("k.py", "a", "small"), ("k.py", "a", "1"), ("k.py", "b", "small")]
    assert found(f"{path}::b") == [("k.py", "b", "small")]
    assert found(f"{path}::a::1") == [("k.py", "a", "1")]
    assert found(f"{path}::a::1", path, path, f"{path}::b") == [
        ("k.py", "a", "1"),
        ("k.py", "a", "small"),
        ("k.py", "b", "small"),
    ]


def test_a_file_runs_once_for_all_kernels_and_launches_that_are_named_of_it(tmp_path: Path) -> None:
    source = f"import pathlib\npathlib.Path({str(tmp_path / 'runs')!r}).open('a').write('.')\n" + fill("a", "b")
    path = write(tmp_path, source, spec("a", "b"))
    other = write(tmp_path, fill("c"), spec("c"), name="other")
    assert found(f"{path}::a", f"{path}::b::small", f"{other}::c") == [
        ("k.py", "a", "small"),
        ("k.py", "b", "small"),
        ("other.py", "c", "small"),
    ]
    assert (tmp_path / "runs").read_text() == "."


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("none.py", "there is no file or folder"),
        ("k.py::a::b::c", "is not PATH, FILE::KERNEL or FILE::KERNEL::LAUNCH"),
        ("k.py::", "is not PATH, FILE::KERNEL or FILE::KERNEL::LAUNCH"),
        (".::a", "a kernel is named after a file, not after a folder"),
        ("k.txt", "is neither a .py, .cu or .ttir file nor Tile IR bytecode"),
    ],
)
def test_wrong_targets_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, fill("a"))
    (tmp_path / "k.txt").write_text("")
    with pytest.raises(UsageError) as caught:
        discover([target])
    assert problem in caught.value.message


def test_no_target_is_refused() -> None:
    with pytest.raises(UsageError, match="no path given"):
        discover([])


def test_nothing_found(tmp_path: Path) -> None:
    with pytest.raises(NoKernelFound, match="no tile kernel found") as caught:
        results(tmp_path)
    assert caught.value.exit_code == 4
    path = write(tmp_path, fill("matmul", "add"), spec("add"))
    with pytest.raises(NoKernelFound, match="there is no kernel 'matmull'; it has add, matmul"):
        results(f"{path}::matmull")
    with pytest.raises(NoKernelFound, match="kernel 'add' has no launch named 'large'"):
        results(f"{path}::add::large")


def test_a_target_without_kernels_beside_one_with(tmp_path: Path) -> None:
    path = write(tmp_path, fill("a"), spec("a"))
    unit_, failure = results(path, f"{path}::b")
    assert isinstance(unit_, KernelUnit)
    assert isinstance(failure, SourceFailure)
    assert isinstance(failure.error, NoKernelFound)


def test_one_bad_thing_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, "kernel = (\n", name="a_syntax")
    write(tmp_path, fill("k") + "1 / 0\n", name="b_import")
    write(tmp_path, fill("k"), '[[launch]]\nkernal = "k"\n', name="c_spec")
    write(tmp_path, fill("k", "l"), spec("l").replace("f32", "f33"), name="d_args")
    write(tmp_path, fill("k"), spec("k", "q"), name="e_stranger")
    write(tmp_path, fill("k"), spec("k") + spec("k"), name="f_twice")
    outcomes = results(tmp_path)
    assert [(each.file.stem, each.kernel, isinstance(each, KernelUnit)) for each in outcomes] == [
        ("a_syntax", None, False),
        ("b_import", None, False),
        ("c_spec", None, False),
        ("d_args", "k", True),
        ("d_args", "l", False),
        ("e_stranger", "q", False),
        ("e_stranger", "k", True),
        ("f_twice", "k", True),
        ("f_twice", "k", False),
    ]
    errors = [each.error for each in outcomes if isinstance(each, SourceFailure)]
    assert [type(error) for error in errors] == [SourceError, SourceError, SpecError, SpecError, SpecError, SpecError]
    assert "there is no kernel 'q'; there is k" in errors[4].message
    assert "'k' has two launches named 'small'" in errors[5].message


def test_kernels_are_compiled_when_they_are_asked_for(tmp_path: Path) -> None:
    bad = "@ct.kernel\ndef bad(x):\n    ct.store(x, (0, 0, 0), 1)\n"
    path = write(tmp_path, fill("good") + bad, spec("good", "bad"))
    listed = list(candidates([str(path)]))
    assert [each.kernel for each in listed if isinstance(each, FoundLaunch)] == ["good", "bad"]
    units = discover([str(path)])
    assert isinstance(next(units), KernelUnit)
    assert isinstance(next(units), SourceFailure)


def test_spec_files_given_by_hand_stand_for_all_others(tmp_path: Path) -> None:
    path = write(tmp_path, "import tileverify\n@tileverify.launch(args={'x': 'f32[4]'})" + fill("a"), spec("a"))
    other = tmp_path / "other.toml"
    other.write_text('[[launch]]\nkernel = "a"\nname = "other"\nargs = { x = "f32[N]" }\n')
    assert found(path) == [("k.py", "a", "small"), ("k.py", "a", "1")]
    assert found(path, spec_file=other) == [("k.py", "a", "other")]
    other.write_text(other.read_text() + spec("b"))
    assert found(path, spec_file=other) == [("k.py", "a", "other"), ("other.toml", "b", None)]
    assert found(f"{path}::a", spec_file=other) == [("k.py", "a", "other")]
    with pytest.raises(UsageError, match="there is no spec file"):
        discover([str(path)], spec_file=tmp_path / "none.toml")
    other.write_text("# later\n")
    with pytest.raises(SpecError, match=r"other\.toml: there is no \[\[launch\]\] in this file"):
        discover([str(path)], spec_file=other)


def test_pyproject_serves_many_files(tmp_path: Path) -> None:
    table = '[[tool.tileverify.launch]]\nkernel = "{}"\nargs = {{ x = "f32[N]" }}\n'
    (tmp_path / "pyproject.toml").write_text(table.format("a") + table.format("b"))
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", fill("a"), name="one")
    write(tmp_path / "sub", fill("b"), spec("b"), name="two")
    assert found(tmp_path) == [("one.py", "a", "0"), ("two.py", "b", "small"), ("two.py", "b", "1")]


def test_relative_imports_are_followed(tmp_path: Path) -> None:
    package = tmp_path / "kernel_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("SIZE = 16\n")
    source = """
from .sizes import SIZE

@ct.kernel
def k(x):
    ct.store(x, (ct.bid(0),), ct.zeros((SIZE,), dtype=ct.float32))
"""
    path = write(package, source, spec("k"))
    assert unit(path).kernel == "k"


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, fill("a"), spec("a"))
    closed = tmp_path / "closed"
    closed.mkdir()
    listing = Path.iterdir

    def refuse(folder: Path) -> object:
        if folder == closed:
            raise PermissionError
        return listing(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    first, second = results(tmp_path)
    assert isinstance(first, KernelUnit)
    assert isinstance(second, SourceFailure)
    assert str(second.error) == f"{closed}: the folder cannot be read"


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path, fill("a"), spec("a"))
    os.mkfifo(tmp_path / "pipe.tileirbc")
    assert found(tmp_path) == [("k.py", "a", "small")]
