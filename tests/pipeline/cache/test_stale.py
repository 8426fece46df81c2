"""A table of ways to change what a kernel's verdict is, each after, or while, the tool has seen it proved.

Every change must be noticed by the next check.  Whoever finds another way adds a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.forked import Forked

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.fixed_inputs import fixed_inputs
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

SOURCE = Path(__file__).resolve().parents[3] / "src"
KERNEL = """import cuda.tile as ct
{extra}

@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0) + SHIFT
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]", TILE = 64 }\n'
PROJECT = SPEC.replace("[[launch", "[[tool.tileverify.launch")
IN_PLACE = """import cuda.tile as ct
{extra}

@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.store(out, index=(ct.bid(0),), tile=tile + 1)
    ct.store(out, index=(ct.bid(0),), tile=tile + 2)
"""

Change = Callable[[Path], Mapping[str, str] | None]


@dataclass(frozen=True)
class Way:
    """``files`` make a kernel that is proved; after ``change``, which may give variables, it is not."""

    name: str
    files: Mapping[str, str]
    change: Change
    environment: Mapping[str, str] = field(default_factory=dict)


def write(name: str, text: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return change


def same_size_and_time(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        before = path.stat()
        text = path.read_text()
        path.write_text(text.replace(old, new))
        assert len(text) == path.stat().st_size
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


def other_link(name: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(folder / target)

    return change


def variables(**values: str) -> Change:
    return lambda folder: {name: value.format(folder=folder) for name, value in values.items()}


def archive(name: str, member: str, text: str) -> Change:
    def change(folder: Path) -> None:
        with zipfile.ZipFile(folder / name, "w") as file:
            file.writestr(member, text)

    return change


def kernel(extra: str) -> str:
    return KERNEL.format(extra=extra)


HELPED = {"kernels/copy.py": kernel("from helper import SHIFT")}
WAYS = [
    Way("the source", {"kernels/copy.py": kernel("SHIFT = 0")}, write("kernels/copy.py", kernel("SHIFT = 1"))),
    Way(
        "the source, size and time as before",
        {"kernels/copy.py": kernel("SHIFT = 0")},
        same_size_and_time("kernels/copy.py", "SHIFT = 0", "SHIFT = 1"),
    ),
    Way(
        "a helper, size and time as before",
        {**HELPED, "kernels/helper.py": "SHIFT = 0\n"},
        same_size_and_time("kernels/helper.py", "0", "1"),
    ),
    Way(
        "a helper of a helper",
        {**HELPED, "kernels/helper.py": "from deep import SHIFT\n", "kernels/deep.py": "SHIFT = 0\n"},
        write("kernels/deep.py", "SHIFT = 1\n"),
    ),
    Way("the spec", {"kernels/copy.py": kernel("SHIFT = 0")},
        write("kernels/copy.tileverify.toml", SPEC.replace("64)", "64) + 1"))),
    Way("a module in a folder named like a trusted package",
        {"kernels/copy.py": kernel("from cuda.mine import SHIFT"), "kernels/cuda/mine.py": "SHIFT = 0\n"},
        write("kernels/cuda/mine.py", "SHIFT = 1\n")),
    Way("a module beside it, before an installed one",
        {"kernels/copy.py": kernel("from mdurl import decode\nSHIFT = int(decode is None)")},
        write("kernels/mdurl.py", "decode = None\n")),
    Way("a module on PYTHONPATH, before an installed one",
        {"kernels/copy.py": kernel("from mdurl import decode\nSHIFT = int(decode is None)"), "lib/x.py": ""},
        write("lib/mdurl.py", "decode = None\n"), {"PYTHONPATH": "{folder}/lib"}),
    Way("another PYTHONPATH",
        {**HELPED, "one/helper.py": "SHIFT = 0\n", "two/helper.py": "SHIFT = 1\n"},
        variables(PYTHONPATH="{folder}/two"), {"PYTHONPATH": "{folder}/one"}),
    Way("a module in an archive on PYTHONPATH",
        {"kernels/copy.py": kernel("from mdurl import decode\nSHIFT = int(decode is None)"), "lib/x.py": ""},
        archive("lib.zip", "typing_extensions.py", "Any = None\n"), {"PYTHONPATH": "{folder}/lib.zip"}),
    Way("a variable of the compiler", {"kernels/copy.py": IN_PLACE.format(extra="")},
        variables(CUDA_TILE_TESTING_DISABLE_TOKEN_ORDER="1")),
    Way("a variable that the source reads",
        {"kernels/copy.py": kernel("import os\nSHIFT = int(os.environ.get('SHIFT', 0))")}, variables(SHIFT="1")),
    Way("a link to another source", {
        "a/copy.py": kernel("from helper import SHIFT"), "a/helper.py": "SHIFT = 0\n",
        "b/copy.py": kernel("from helper import SHIFT"), "b/helper.py": "SHIFT = 1\n",
        "kernels/copy.py": "-> a/copy.py"},
        other_link("kernels/copy.py", "b/copy.py")),
    Way("a helper behind a link", {"a/copy.py": kernel("from helper import SHIFT"), "a/helper.py": "SHIFT = 0\n",
        "kernels/copy.py": "-> a/copy.py"},
        write("a/helper.py", "SHIFT = 1\n")),
    Way("a link to another helper",
        {**HELPED, "a.py": "SHIFT = 0\n", "b.py": "SHIFT = 1\n", "kernels/helper.py": "-> a.py"},
        other_link("kernels/helper.py", "b.py")),
    Way("a file that is read while the source is imported",
        {"kernels/copy.py": kernel("from pathlib import Path\nSHIFT = len(Path(__file__).with_name('n').read_text())"),
         "kernels/n": ""}, write("kernels/n", "1")),
    Way("a file that is read while the kernel is compiled",
        {"kernels/copy.py": kernel("F = 'kernels/n'").replace("+ SHIFT", "+ ct.static_eval(len(open(F).read()))"),
         "kernels/n": ""}, write("kernels/n", "1")),
    Way("a module that comes to be",
        {"kernels/copy.py": kernel("try:\n    from helper import SHIFT\nexcept ImportError:\n    SHIFT = 0")},
        write("kernels/helper.py", "SHIFT = 1\n")),
    Way("python -O", {"kernels/copy.py": kernel("SHIFT = 0 if __debug__ else 1")}, variables(PYTHONOPTIMIZE="1")),
    Way("a package", {**HELPED, "kernels/helper/__init__.py": "from .deep import SHIFT\n",
        "kernels/helper/deep.py": "SHIFT = 0\n"}, write("kernels/helper/deep.py", "SHIFT = 1\n")),
    Way("a relative import", {"kernels/__init__.py": "", "kernels/copy.py": kernel("from .deep import SHIFT"),
        "kernels/deep.py": "SHIFT = 0\n"}, write("kernels/deep.py", "SHIFT = 1\n")),
    Way("a pyproject above", {"kernels/copy.py": kernel("SHIFT = 0"), "kernels/copy.tileverify.toml": "",
        "pyproject.toml": PROJECT},
        write("pyproject.toml", PROJECT.replace("64)", "64) + 1"))),
    Way("a pyproject nearer", {"kernels/copy.py": kernel("SHIFT = 0"), "kernels/copy.tileverify.toml": "",
        "pyproject.toml": PROJECT},
        write("kernels/pyproject.toml", PROJECT.replace("64)", "64) + 1"))),
]  # fmt: skip


def plant(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in {"kernels/copy.tileverify.toml": SPEC, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(folder / text.removeprefix("-> "))
        else:
            path.write_text(text)


def checked(folder: Path, environment: Mapping[str, str], fork: Forked | None = None) -> str:
    """The verdict of a check in a process of its own, forked where ``fork`` is given."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    source = os.environ.get("PYTHONPATH", str(SOURCE))
    path = os.pathsep.join([*([environment["PYTHONPATH"]] if "PYTHONPATH" in environment else []), source])
    arguments = ["check", str(folder / "kernels"), "--format", "json"]
    own |= {**environment, "PYTHONPATH": path, "TILEVERIFY_CACHE_DIR": str(folder / "cache")}
    if fork is not None:
        code, out, err = fork(*arguments, folder=folder, environment=own)
    else:
        command = [sys.executable, "-m", "tileverify", *arguments]
        done = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    assert code in (0, 1, 2), out + err
    verdicts = [result["verdict"] for result in json.loads(out)["results"] if result["kernel"] == "copy"]
    assert len(verdicts) == 1
    return str(verdicts[0])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_change_is_noticed(tmp_path: Path, way: Way, fork: Forked) -> None:
    """Where the variables change, in real processes: the tool is loaded under them."""
    plant(tmp_path, way.files)
    before = {name: value.format(folder=tmp_path) for name, value in way.environment.items()}
    assert checked(tmp_path, before, None if before else fork) == "proved"
    after = {**before, **(way.change(tmp_path) or {})}
    assert checked(tmp_path, after, None if after else fork) != "proved"


@pytest.mark.parametrize("name", ["copy.py", "helper.py", "copy.tileverify.toml"])
def test_a_file_that_is_saved_during_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What was read is proved; what was saved while it was proved is not what the entry is about."""
    plant(tmp_path, {**HELPED, "kernels/helper.py": "SHIFT = 0\n"})
    file = tmp_path / "kernels" / name
    old, new = {"copy.py": ("+ SHIFT", "+ SHIFT + 1"), "helper.py": ("0", "1")}.get(name, ("64)", "64) + 1"))
    options = CheckOptions(cache=tmp_path / "cache")

    def save(result: KernelResult) -> None:
        file.write_text(file.read_text().replace(old, new))

    monkeypatch.chdir(tmp_path)
    first = check_paths(["kernels"], options=options, progress=save)
    assert [result.verdict for result in first.results] == [Verdict.PROVED]
    assert [result.verdict for result in check_paths(["kernels"], options=options).results] == [Verdict.REFUTED]


def test_a_file_that_is_saved_between_two_of_its_kernels(tmp_path: Path) -> None:
    """All kernels of a file are compiled from the text that was run."""
    two = kernel("SHIFT = 0") + kernel("").replace("import cuda.tile as ct\n", "").replace("def copy", "def other")
    plant(tmp_path, {"kernels/copy.py": two, "kernels/copy.tileverify.toml": SPEC + SPEC.replace("copy", "other")})
    file = tmp_path / "kernels" / "copy.py"
    units = discover([str(file)])
    first = next(units)
    file.write_text(file.read_text().replace("ct.bid(0) + SHIFT", "ct.bid(0) + 1"))
    second = next(units)
    assert isinstance(first, KernelUnit)
    assert isinstance(second, KernelUnit)
    assert [check_unit(unit).verdict for unit in (first, second)] == [Verdict.PROVED, Verdict.PROVED]


def test_what_another_file_left_in_a_namespace_is_forgotten(tmp_path: Path) -> None:
    """Two folders may each have a ``cuda/mine.py``."""
    for folder, shift in (("a", 0), ("b", 1)):
        plant(
            tmp_path / folder,
            {"kernels/copy.py": kernel("from cuda.mine import SHIFT"), "kernels/cuda/mine.py": f"SHIFT = {shift}\n"},
        )
    found = check_paths([str(tmp_path / "a" / "kernels"), str(tmp_path / "b" / "kernels")])
    assert [result.verdict for result in found.results] == [Verdict.PROVED, Verdict.REFUTED]


def test_a_file_that_changes_the_compiler_for_others(tmp_path: Path, fork: Forked) -> None:
    """What is proved after it is proved of something else; a process that does not run it first says so."""
    shift = (
        kernel("SHIFT = 0")
        .replace("ct.bid(0) + SHIFT", "ct.bid(0) + WIDTH")
        .replace("\n\n@", "\nWIDTH = ct.cdiv(1, 2)\n\n@")
    )
    plant(
        tmp_path,
        {"kernels/copy.py": shift, "kernels/a.py": "import cuda.tile as ct\nct.cdiv = lambda a, b: 0\n" + shift},
    )
    (tmp_path / "kernels" / "a.tileverify.toml").write_text(SPEC)
    own = {**os.environ, "TILEVERIFY_CACHE_DIR": str(tmp_path / "cache")}

    def verdicts() -> dict[str, str]:
        ran = fork("check", str(tmp_path / "kernels"), "--format", "json", folder=tmp_path, environment=own)
        return {each["file"]: each["verdict"] for each in json.loads(ran.out)["results"]}

    assert verdicts() == {"kernels/a.py": "proved", "kernels/copy.py": "proved"}
    (tmp_path / "kernels" / "a.py").unlink()
    assert verdicts() == {"kernels/copy.py": "refuted"}


def test_a_compiler_that_was_loaded_under_other_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork: Forked
) -> None:
    """The compiler reads its variables once; what it says afterwards is not what a new process would say."""
    plant(tmp_path, {"kernels/copy.py": IN_PLACE.format(extra="")})
    assert checked(tmp_path, {}, fork) == "proved"
    name = "CUDA_TILE_TESTING_DISABLE_TOKEN_ORDER"
    monkeypatch.setenv(name, "1")
    monkeypatch.chdir(tmp_path)
    options = CheckOptions(cache=tmp_path / "cache")
    check_paths([str(tmp_path / "kernels")], options=options)
    assert checked(tmp_path, {name: "1"}) == "refuted"


UNSETTLED = {
    "cuda.core": "import cuda.core\nSHIFT = cuda.core.Device().device_id",
    "cuda.bindings": "from cuda.bindings import driver\nSHIFT = driver.cuInit(0)[0]",
    "a version": "import torch\nSHIFT = int(torch.__version__ > '3')",
    "a version of a part": "import torch\nSHIFT = int(torch.version.cuda is None)",
    "a setting": "import jax\nSHIFT = int(jax.config.jax_enable_x64)",
    "hints": "import typing\nclass A:\n    x: 'print()'\nSHIFT = len(typing.get_type_hints(A)) - 1",
    "a hint of a kernel": "SHIFT = 0\n@ct.kernel\ndef other(x: 'open(1)'):\n    pass",
    "a text as a hint": "SHIFT = 0\nT = 'open(1)'\n@ct.kernel\ndef other(x: T):\n    pass",
    "a field as a hint": "SHIFT = 0\nclass A:\n    s = 'open(1)'\n@ct.kernel\ndef other(x: A.s):\n    pass",
    "another name": "f = open\nSHIFT = len(f('/dev/null').read())",
    "the name of a builtin": "max = open\nSHIFT = len(max('/dev/null').read())",
    "a name in a class": "class A:\n    f = open\nSHIFT = len(max(['/dev/null'], key=A.f))",
    "a name in a list": "F = [open]\nSHIFT = len(max(['/dev/null'], key=F[0]))",
    "a way round": "SHIFT = max.__self__.open('/dev/null').read()",
    "a class that Python calls": "class A:\n    def __class_getitem__(cls, i):\n        open(i)\nSHIFT = A['/x']",
    "a subclass": "class A:\n    def __init_subclass__(cls):\n        open('/x')\nclass B(A):\n    pass\nSHIFT = 0",
    "an enum": "import enum\nclass A(enum.Enum):\n    X = 1\n    def __init__(self, x):\n        open('/x')\nSHIFT = 0",
    "a metaclass": "import helper\nclass A(metaclass=helper.M):\n    pass\nSHIFT = 0",
    "a function by name": "def f(x):\n    return len(open(x).read())\nF = f\nSHIFT = max(['/dev/null'], key=F)",
    "a guard": "try:\n    import torch\n    SHIFT = 0\nexcept ImportError:\n    SHIFT = 1",
    "the main block of another name": "if __name__ != '__main__':\n    SHIFT = len(open('/dev/null').read())",
    "the order of a set": "SHIFT = [ord(c) for c in {'a', 'b'}][0] - 97",
    "an address": "def f():\n    pass\nSHIFT = len('%s' % f) - 30",
    "an address by the name of a text": "def f():\n    pass\nF = '%s'\nSHIFT = int(F % f > 'm')",
    "an address by an operator": "import operator\ndef f():\n    pass\nSHIFT = int(operator.mod('%s', f) > 'm')",
    "an address in a fold": "import functools\ndef f():\n    pass\n"
    "SHIFT = int(functools.reduce(lambda a, b: a % b, ('%s', f)) > 'm')",
    "the order of addresses": "def f():\n    pass\ndef g():\n    pass\nSHIFT = int(min((f, g), key=str) is f)",
    "the order of addresses by a class": "class A(str):\n    pass\ndef f():\n    pass\ndef g():\n    pass\n"
    "SHIFT = int(min((f, g), key=A) is f)",
    "a star": "from math import *\nSHIFT = 0",
    "a change of another module": "import math\nmath.gcd = max\nSHIFT = 0",
    "an import in a function": "def f():\n    import os\n    return os\nclass A:\n    def __class_getitem__(cls, i):\n"
    "        return f\nSHIFT = 0",
    "an evaluation in a kernel": "SHIFT = 0\n@ct.kernel\ndef other():\n    ct.static_eval(open('/x'))",
    "an evaluation under another name": "from cuda.tile import static_eval as se\nSHIFT = 0\n"
    "@ct.kernel\ndef other():\n    se(open('/x'))",
    "a setting in a kernel": "import torch\nSHIFT = 0\n@ct.kernel\ndef other(x):\n    n = torch.version.cuda",
    "a setting beside a kernel": "import torch\nSHIFT = 0\ndef f():\n    return torch.version.cuda\n"
    "@ct.kernel\ndef other(x):\n    n = f()",
    "a module in a kernel": "import torch\nSHIFT = 0\n@ct.kernel\ndef other(x):\n    t = torch\n    n = t.version",
    "a part of the compiler": "import cuda.tile.compilation as c\nSHIFT = int(c.export_kernel is None)",
}


@pytest.mark.parametrize("extra", UNSETTLED.values(), ids=UNSETTLED)
def test_what_cannot_be_shown_to_be_fixed_is_not_kept(tmp_path: Path, extra: str) -> None:
    path = tmp_path / "copy.py"
    path.write_text(kernel(extra))
    assert fixed_inputs(path) is None


SETTLED = {
    "types of arrays": "import torch\nimport numpy as np\nSHIFT = 0\nTYPE = torch.float16\n"
    "def launch(x: torch.Tensor, y: np.ndarray) -> None:\n    torch.cuda.synchronize()",
    "a kernel with options": "SHIFT = 0\n@ct.kernel(occupancy=2)\ndef other(x: ct.Constant[int]):\n    pass",
    "the compiler's version": "SHIFT = int(ct.__version__ == '')",
    "a main block": "SHIFT = 0\nif __name__ == '__main__':\n    import argparse, helper\n    argparse.ArgumentParser()",
    "an import in a function": "SHIFT = 0\ndef main():\n    import torch\n    torch.rand(1)",
    "a table of kernels": "SHIFT = 0\n@ct.kernel\ndef other(x):\n    ct.bid(0)\nALL = [other]",
    "a dataclass": "from dataclasses import dataclass\nSHIFT = 0\n@dataclass(frozen=True)\nclass A:\n    x: int = 1\n"
    "    def size(self) -> int:\n        return self.x",
    "a set of numbers": "SHIFT = 0\nSIZES = {16, 32}",
    "a decorated launch": "import tileverify as tv\nSHIFT = 0\n@tv.launch()\n@ct.kernel\ndef other():\n    pass",
    "an evaluation of sizes": "SHIFT = 0\n@ct.kernel\ndef other(x):\n    n = ct.static_eval(x.shape[0] // 2)",
    "texts as types": "import enum\nSHIFT = 7 % 1\nclass A(str, enum.Enum):\n    X = 'x'\n"
    "def f(x: str, y: dict[str, int]) -> str:\n    return x",
    "an alias of a type": "from typing import Annotated\nSHIFT = 0\nInt = ct.Constant[int]\n"
    "@ct.kernel\ndef other(n: Int):\n    pass",
}


@pytest.mark.parametrize("extra", SETTLED.values(), ids=SETTLED)
def test_usual_sources_are_kept(tmp_path: Path, extra: str) -> None:
    path = tmp_path / "copy.py"
    path.write_text(kernel(extra))
    assert fixed_inputs(path) is not None
