"""A second check of what has not changed: nothing is run, compiled or proved, and nothing stale is ever told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.written_kernel import written

from tileverify.frontend.sources.fixed_inputs import fixed_inputs
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict

KERNEL = """import cuda.tile as ct
{extra}

@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0){shift}
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]", TILE = 64 }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    written(kernels, KERNEL.format(extra="", shift=""), SPEC, "copy")
    return kernels


def check(folder: Path, *targets: str) -> tuple[KernelResult, ...]:
    options = CheckOptions(cache=folder.parent / "cache")
    return check_paths([str(folder / target) for target in targets or (".",)], options=options).results


def verdicts(results: tuple[KernelResult, ...]) -> list[tuple[str, bool]]:
    return [(result.verdict.value, result.cached) for result in results]


def test_an_unchanged_file_is_known(folder: Path) -> None:
    (first,) = check(folder)
    (second,) = check(folder)
    assert (first.cached, second.cached) == (False, True)
    assert second.requires == first.requires
    assert second.bytecode_sha256 == first.bytecode_sha256


def test_nothing_is_loaded_for_what_is_known(folder: Path) -> None:
    check(folder)
    program = f"""
import sys
from pathlib import Path
from tileverify.pipeline import CheckOptions, check_paths
options = CheckOptions(cache=Path({str(folder.parent / "cache")!r}))
(result,) = check_paths([{str(folder / ".")!r}], options=options).results
assert result.cached
print(sorted(set(sys.modules) & {{"z3", "cuda.tile", "numpy"}}))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "[]\n", ran.stderr


@pytest.mark.parametrize("change", ["kernel", "spec", "helper", "pyproject"])
def test_a_change_is_seen(folder: Path, change: str) -> None:
    (folder / "copy.py").write_text(KERNEL.format(extra="import math\nfrom helper import SHIFT", shift=" + SHIFT"))
    (folder / "helper.py").write_text("SHIFT = 0\n")
    assert verdicts(check(folder)) == [("proved", False)]
    assert verdicts(check(folder)) == [("proved", True)]
    if change == "kernel":
        (folder / "copy.py").write_text(KERNEL.format(extra="SHIFT = 1", shift=" + SHIFT"))
    elif change == "spec":
        (folder / "copy.tileverify.toml").write_text(SPEC.replace("cdiv(N, 64)", "cdiv(N, 64) + 1"))
    elif change == "helper":
        (folder / "helper.py").write_text("SHIFT = 1\n")
    else:
        spec = SPEC.replace("cdiv(N, 64)", "cdiv(N, 64) + 1").replace("[[launch]]", "[[tool.tileverify.launch]]")
        (folder / "pyproject.toml").write_text(spec)
        (folder / "copy.tileverify.toml").unlink()
    assert verdicts(check(folder)) == [("refuted", False)]
    assert verdicts(check(folder)) == [("refuted", True)]


def test_what_is_undecided_within_a_time_limit_is_tried_again(folder: Path) -> None:
    (folder / "copy.py").write_text(
        KERNEL.format(extra="", shift="").replace(
            "i = ct.bid(0)", "i = ct.load(x, index=(ct.bid(0),), shape=()).item()"
        )
    )
    (folder / "copy.tileverify.toml").write_text(SPEC.replace('"f32[N]"', '"i32[N]"'))

    def checked(**limits: float) -> tuple[str, bool]:
        options = CheckOptions(cache=folder.parent / "cache", **limits)  # type: ignore[arg-type]
        return verdicts(check_paths([str(folder)], options=options).results)[0]

    assert [checked(timeout_s=100) for _ in range(2)] == [("undecided", False)] * 2
    assert [checked() for _ in range(2)] == [("undecided", False), ("undecided", True)]
    assert checked(timeout_s=100) == ("undecided", True)
    assert checked(effort=2) == ("undecided", False)


def test_targets_are_told_apart(folder: Path) -> None:
    (folder / "copy.tileverify.toml").write_text(SPEC.replace('"copy"', '"copy"\nname = "a"') + SPEC)
    assert len(check(folder, "copy.py")) == 2
    assert len(check(folder, "copy.py::copy::a")) == 1
    assert len(check(folder, "copy.py")) == 2
    assert len(check(folder, "copy.py", ".")) == 2
    assert [result.launch for result in check(folder, "copy.py::copy::a")] == ["a"]


def test_a_damaged_record_is_none(folder: Path) -> None:
    check(folder)
    (record,) = (folder.parent / "cache").rglob("files/*.json")
    record.write_text(record.read_text().replace('"proved"', '"refuted"'))
    assert check(folder)[0].verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "extra",
    [
        "import os\nSHIFT = int(os.environ.get('SHIFT', 0))",
        "SHIFT = int(open('/dev/null').read() or 0)",
        "import torch\nSHIFT = torch.cuda.device_count()",
        "import random",
        "import importlib",
        "from . import sibling",
        "import math\nSHIFT = getattr(math, 'nan')",
        "SHIFT = (lambda: 0)()",
        "def f():\n    return 0\n\nSHIFT = f()",
        "def f(x=print()):\n    pass",
        "@print\ndef f():\n    pass",
        "class A:\n    x = input",
        "class A:\n    x = input()",
        "x = [open(n) for n in ()]",
        "x = sorted(['/dev/null'], key=open)",
        "import functools\nx = functools.reduce(lambda a, b: open('/dev/null').read(), '12')",
        "def f(x):\n    return open(x)\n\nx = max(['/dev/null'], key=f)",
        "import numpy as np\nx = max(['/dev/null'], key=np.fromfile)",
        "SHIFT = int(ct._context.os.environ['SHIFT'])",
        "from cuda.tile import _context\nSHIFT = int(_context.os.environ['SHIFT'])",
        "x = sorted(['/dev/null'], key=ct._context.os.open)",
        "x = sorted(['/dev/null'], key=(n for n in ()).gi_frame.f_builtins['open'])",
        "import itertools\nx = list(itertools.starmap(dict.keys, [({'a': 1, 'b': 2},)]))[0] | {}",
        "import itertools, typing\nx = list(itertools.starmap(typing.Set, [('ab',)]))",
        "import itertools\nfrom typing import Text\nx = list(itertools.starmap(Text, [(object,)]))",
        "import itertools\nx = list(itertools.starmap('{}'.format, [(object,)]))",
        "import dataclasses\nF = dataclasses.field()\nclass A:\n    x: str = F\ny = F.type",
    ],
)
def test_a_file_that_may_depend_on_anything_else_is_not_kept(tmp_path: Path, extra: str) -> None:
    path = tmp_path / "copy.py"
    path.write_text(KERNEL.format(extra=extra, shift=""))
    assert fixed_inputs(path) is None


@pytest.mark.parametrize(
    "extra",
    [
        "import math\nSHIFT = math.gcd(4, 6) + max(1, 2)",
        "import numpy as np\nimport torch\n\ndef launch():\n    return torch.zeros(np.random.rand())",
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass A:\n    x: int = 0",
        "if __name__ == '__main__':\n    print(open('/dev/null').read())",
        "from functools import partial\nf = partial(max, 1)",
        "import typing\n\ndef launch(x: typing.Set[int]):\n    return x.keys()",
        "x = (ct.PaddingMode.ZERO, ct.float32)",
    ],
)
def test_a_file_that_depends_on_itself_is_kept(tmp_path: Path, extra: str) -> None:
    path = tmp_path / "copy.py"
    path.write_text(KERNEL.format(extra=extra, shift=""))
    inputs = fixed_inputs(path)
    assert inputs is not None
    assert path in inputs.files
    assert path.with_name("copy.tileverify.toml") in inputs.files


def test_a_module_beside_the_file_would_come_before_an_installed_one(tmp_path: Path) -> None:
    path = tmp_path / "copy.py"
    path.write_text(KERNEL.format(extra="import math", shift=""))
    inputs = fixed_inputs(path)
    assert inputs is not None
    assert {tmp_path / "math.py", tmp_path / "math" / "__init__.py"} <= set(inputs.files)
    (tmp_path / "math").mkdir()
    (tmp_path / "math" / "__init__.py").touch()
    assert fixed_inputs(path) is None
