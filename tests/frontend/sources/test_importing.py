"""Importing a user's file: its neighbours, its failures, and what stays behind."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from tileverify.frontend.sources.fixed_inputs import scan_python
from tileverify.frontend.sources.importing import import_file, import_text
from tileverify.system.errors import SourceError


def test_neighbours_of_two_folders_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "neighbour_utils.py").write_text(f"WHO = {name!r}\n")
        (tmp_path / name / "k.py").write_text("import neighbour_utils\nWHO = neighbour_utils.WHO\nprint('hello')\n")
    before = list(sys.path)
    assert [import_file(tmp_path / name / "k.py").WHO for name in ("a", "b")] == ["a", "b"]
    assert sys.path == before
    assert "neighbour_utils" not in sys.modules
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\nhello\n")


def test_relative_imports_of_packages(tmp_path: Path) -> None:
    for root in ("one", "two"):
        package = tmp_path / root / "scanned_pkg" / "sub"
        package.mkdir(parents=True)
        (package.parent / "__init__.py").write_text("")
        (package / "__init__.py").write_text("")
        (package.parent / "common.py").write_text(f"SIZE = {root!r}\n")
        (package / "k.py").write_text("from ..common import SIZE\n")
        module = import_file(package / "k.py", package=True)
        assert vars(module)["SIZE"] == root


@pytest.mark.parametrize(
    ("source", "line", "problem"),
    [
        ("x = 1\nx = x / 0\n", 2, "importing it failed: ZeroDivisionError: division by zero"),
        ("\nimport sys\nsys.exit(3)\n", 3, "the file ends the program when imported (exit status 3)"),
        ("import no_such_module_anywhere.sub\n", 1, "needs the module 'no_such_module_anywhere'"),
        ("def f():\n    raise ValueError\n\nf()\n", 2, "importing it failed: ValueError: no message"),
        ("x = (\n", 1, "syntax error: '(' was never closed"),
    ],
)
def test_failures_carry_the_line_of_the_user(tmp_path: Path, source: str, line: int, problem: str) -> None:
    path = tmp_path / "k.py"
    path.write_text(source)
    before = set(sys.modules)
    with pytest.raises(SourceError) as caught:
        import_file(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert problem in caught.value.message
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('Found no NVIDIA driver on your system')\n",
        "class CUDARuntimeError(Exception): pass\n\nraise CUDARuntimeError('no device')\n",
        "raise OSError('libcuda.so.1: cannot open shared object file')\n",
        "import cuda.tile as ct\n\nfor n in (1, 2):\n    ct.launch(0, (n,), None, missing)\n",
        "import sys\nimport cuda.tile as ct\n\nif len(sys.argv) != 77:\n    sys.exit(1)\nct.launch(0, (1,), k, ())\n",
    ],
)
def test_a_script_that_launches_as_it_is_imported_is_to_be_recorded(tmp_path: Path, source: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(source)
    with pytest.raises(SourceError) as caught:
        import_file(path)
    assert caught.value.message.endswith("or record it: tileverify record --no-gpu -- python script.py")
    assert 'behind `if __name__ == "__main__":`' in caught.value.message


@pytest.mark.parametrize(
    "source",
    [
        "def main():\n    ct.launch(0, (1,), k, ())\n\nraise ValueError('no')\n",
        "run = lambda: ct.launch(0, (1,), k, ())\nraise ValueError('no')\n",
    ],
)
def test_a_launch_in_a_function_is_not_why_an_import_fails(tmp_path: Path, source: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(source)
    with pytest.raises(SourceError) as caught:
        import_file(path)
    assert caught.value.message == "importing it failed: ValueError: no"


@pytest.mark.parametrize(
    ("source", "kernels", "may"),
    [
        ("import cuda.tile as ct\n@ct.kernel\ndef k(x): pass\n", {"k": 3}, True),
        ("import cuda.tile\n@cuda.tile.kernel(occupancy=2)\ndef k(x): pass\n", {"k": 3}, True),
        ("from cuda import tile\n@tile.kernel\ndef k(x): pass\n", {"k": 3}, True),
        ("from cuda.tile import kernel as kern\n@kern\ndef k(x): pass\n", {"k": 3}, True),
        ("from cuda.tile import *\n@kernel\ndef k(x): pass\n", {"k": 3}, True),
        ("import cuda.tile as ct\nk = ct.kernel(f)\n", {}, True),
        ("import cuda.tile as ct\ndef kernel(x): pass\n", {}, False),
        ("import other as ct\n@ct.kernel\ndef k(x): pass\n", {}, False),
        ("# a kernel\nraise SystemExit\n", {}, False),
        ("print('no such thing')\n", {}, False),
    ],
)
def test_the_scan_finds_kernels_without_running_anything(
    tmp_path: Path, source: str, kernels: dict[str, int], may: bool
) -> None:
    path = tmp_path / "k.py"
    path.write_text(source)
    scan = scan_python(path)
    assert scan.kernels == kernels
    assert scan.may_hold_kernels is may


def test_the_scan_refuses_what_is_no_python(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("kernel = (\n")
    with pytest.raises(SourceError, match="syntax error") as caught:
        scan_python(path)
    assert caught.value.line == 1
    path.write_bytes(b"kernel = '\xff'\n")
    with pytest.raises(SourceError):
        scan_python(path)


ODD = "# \x0b \x0c \x1c \x1d \x1e \x85 \u2028 \u2029\n"
FIRST, SECOND = "def first():\n    return 1\n", "def second():\n    return 2\n"


def test_the_source_of_a_function_is_its_own_whatever_stands_above(tmp_path: Path) -> None:
    """The compiler asks for it by the number of its first line."""
    text = f"{ODD}\n\n{FIRST}\n\n{SECOND}"
    (tmp_path / "neighbour_odd.py").write_text(text, encoding="utf-8")
    (tmp_path / "k.py").write_text(f"from neighbour_odd import first\n{text}NEIGHBOURS = first\n", encoding="utf-8")
    for module in (
        import_file(tmp_path / "k.py"),
        import_file(tmp_path / "neighbour_odd.py"),
        import_text(text, Path("t.py")),
    ):
        assert inspect.getsource(module.first) == FIRST
        assert inspect.getsource(module.second) == SECOND
