"""cuTile kernels compiled for launch specs: the entry they get and the facts that are compiled in."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tileverify.contract.launch import EntryParameter, KernelUnit, Role
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import DivBy
from tileverify.frontend.sources.abi import mismatch
from tileverify.frontend.sources.bytecode_file import bytecode_entries
from tileverify.pipeline import check_paths
from tileverify.system.errors import SourceError, SpecError

from .compiling import KERNELS, assumed_divisors, entry, failed, operations, results, unit, write

SHAPES = KERNELS / "shapes.py"
LAUNCHES = [found for found in results(SHAPES) if isinstance(found, KernelUnit)]


def shapes(kernel: str, launch: str | None = None) -> KernelUnit:
    return unit(f"{SHAPES}::{kernel}" + (f"::{launch}" if launch else ""))


def names(of: KernelUnit) -> list[str]:
    return [f"{p.argument}.{p.role.value}" + ("" if p.dim is None else f"[{p.dim}]") for p in of.parameters]


def test_every_launch_compiles() -> None:
    assert len(LAUNCHES) == len(results(SHAPES)) == 14


@pytest.mark.parametrize("of", LAUNCHES, ids=lambda of: f"{of.kernel}-{of.launch.name}")
def test_parameters_match_the_entry(of: KernelUnit) -> None:
    [decoded] = bytecode_entries(of.bytecode, of.file)
    assert decoded.symbol == of.symbol
    assert mismatch(of.parameters, of.launch, decoded.parameter_types, of.symbol) is None
    assert of.compile_ms > 0
    assert of.file == SHAPES
    assert of.line is not None
    assert f"def {of.kernel}(" in SHAPES.read_text().splitlines()[of.line - 1]


def test_parameters_of_an_array_and_a_scalar() -> None:
    assert shapes("scale_rows").parameters == (
        EntryParameter(Role.POINTER, "x"),
        EntryParameter(Role.SHAPE, "x", 0),
        EntryParameter(Role.SHAPE, "x", 1),
        EntryParameter(Role.STRIDE, "x", 0),
        EntryParameter(Role.STRIDE, "x", 1, static=1),
        EntryParameter(Role.POINTER, "out"),
        EntryParameter(Role.SHAPE, "out", 0),
        EntryParameter(Role.SHAPE, "out", 1, static=1),
        EntryParameter(Role.STRIDE, "out", 0),
        EntryParameter(Role.STRIDE, "out", 1, static=1),
        EntryParameter(Role.SCALAR, "factor"),
        EntryParameter(Role.SCALAR, "rows"),
    )


def test_parameters_of_lists_and_tuples() -> None:
    assert names(shapes("sum_list"))[:3] == ["xs.list pointer", "xs.list length", "out.pointer"]
    assert names(shapes("pairs"))[::3] == ["both[0].pointer", "both[1].pointer"]


def test_indices_of_64_bits() -> None:
    of = shapes("wide")
    types = [decoded.parameter_types for decoded in bytecode_entries(of.bytecode, of.file)]
    assert types == [("ptr<f32>", "i64", "i64", "ptr<f32>", "i64", "i64", "i64")]


def test_a_static_dimension_is_compiled_in() -> None:
    assert EntryParameter(Role.SHAPE, "x", 1, static=48) in shapes("fixed").parameters


def test_a_static_dimension_needs_a_number(tmp_path: Path) -> None:
    source = """
from typing import Annotated
@ct.kernel
def k(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,))]):
    ct.store(x, (0,), ct.zeros((16,), dtype=ct.float32))
"""
    write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]" }')
    error = failed(tmp_path / "k.py").error
    assert isinstance(error, SpecError)
    assert "the kernel compiles size 0 of 'x' in, so the spec must give a number" in str(error)


def test_only_implied_divisibility_is_compiled_in() -> None:
    assert assumed_divisors(shapes("vector_add", "any")) == {}
    assert assumed_divisors(shapes("vector_add", "wide-tiles")) == {
        f"{name}.size[0]".replace("size", "shape"): {16} for name in ("x", "y", "out")
    }


def test_what_every_array_of_a_list_has_to_be_is_compiled_in() -> None:
    found = [each for each in results(ROOT / "contract" / "every_array_of_list.py") if isinstance(each, KernelUnit)]
    divisors = {
        each.launch.name: sorted(
            operation.attributes["pred"].divisor
            for operation in operations(entry(each), "assume")
            if isinstance(operation.attributes["pred"], DivBy)
        )
        for each in found
    }
    assert divisors["rows-of-a-tile"] == [4, 16, 16]
    assert divisors["whole-tiles"] == [16, 16]
    assert divisors["halves-of-tiles"] == [16, 16]


def test_no_alignment_is_assumed() -> None:
    for of in LAUNCHES:
        assert not any(".pointer" in name for name in assumed_divisors(of)), of.kernel


def test_the_compiler_is_told_of_alias_but_not_of_overlap() -> None:
    def stores_wait(launch: str) -> bool:
        """Whether the loads of a later iteration wait for the stores of an earlier one."""
        module = entry(shapes("in_place", launch))
        loops = list(operations(module, "for"))
        return any(len(loop.results) > 0 for loop in loops)

    assert stores_wait("told")
    assert not stores_wait("untold")


def test_alias_groups_of_lists_tuples_and_several_groups(tmp_path: Path) -> None:
    source = """
@ct.kernel
def k(xs, pair, out):
    a, b = pair
    for g in range(len(xs)):
        t = ct.load(xs[g], (0,), (16,)) + ct.load(a, (0,), (16,))
        ct.store(out, (0,), t)
        ct.store(b, (0,), t)
"""
    spec = """
[[launch]]
kernel = "k"
alias = [["xs", "out"], ["pair[0]", "pair[1]", "out"]]
args = { xs = { list = "f32[N]", length = 3 }, pair = ["f32[N]", "f32[N]"], out = "f32[N]" }
"""
    of = unit(write(tmp_path, source, spec))
    assert of.launch.alias == (frozenset({"xs", "out"}), frozenset({"pair[0]", "pair[1]", "out"}))


def test_without_cuda_tile_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.tile", None)
    error = failed(write(tmp_path, "@ct.kernel\ndef k(x):\n    pass\n")).error
    assert isinstance(error, SourceError)
    assert error.message.startswith("cuTile kernels need the package cuda-tile")
    assert error.message.endswith("install it with: pip install cuda-tile")


def test_bytecode_is_13_3_where_it_can_be() -> None:
    newer = {of.kernel for of in LAUNCHES if decode(of.bytecode).version[:2] != (13, 3)}
    assert newer == {"unchecked"}
    assert decode(shapes("unchecked").bytecode).version[:2] == (13, 4)


def test_units_travel_between_processes() -> None:
    for of in LAUNCHES:
        assert pickle.loads(pickle.dumps(of)) == of


def test_specs_that_do_not_fit_the_kernel(tmp_path: Path) -> None:
    source = """
@ct.kernel
def k(x, n: ct.Constant[int]):
    ct.store(x, (0,), ct.zeros((n,), dtype=ct.float32))
"""
    write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = { w = "f32[N]" }, n = 16 }')
    assert "'x' is a dataclass" in str(failed(tmp_path / "k.py").error)
    write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]", n = "ct.float16" }')
    assert "takes only bool, int and float constants" in str(failed(tmp_path / "k.py").error)
    write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]", n = "ct.float17" }')
    assert "cuda.tile has no data type 'ct.float17'" in str(failed(tmp_path / "k.py").error)


@pytest.mark.parametrize(
    ("args", "places"),
    [
        ('x = "f32[N]", out = "f32[N]", T = 100', ["T = 100"]),
        ('x = "f32[N, M]", out = "f32[N]", T = 128', ["x = "]),
        ('x = "f32[N]", out = "bool[N]", T = 128', ["x = ", "out = "]),
        ('x = "f32[N]", out = "f32[N]", T = 128, dtype = 7', None),
    ],
)
def test_what_a_spec_says_of_what_is_refused_is_a_place(tmp_path: Path, args: str, places: list[str] | None) -> None:
    """Constants, data types and ranks that cuTile's message names; a launch without fault has no place to show."""
    source = """
@ct.kernel
def k(x, out, T: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)))
"""
    text = f'[[launch]]\nkernel = "k"\ngrid = [1]\nargs = {{ {args} }}\n'
    write(tmp_path, source, text)
    error = failed(tmp_path / "k.py").error
    line = text.splitlines()[3]
    if places is None:
        assert "dtype" in error.message
        return
    assert isinstance(error, SourceError)
    assert [(file, at) for file, at, _ in error.also] == [(error.also[0][0], 4)] * len(places)
    assert all(line[column or 0 :].startswith(place) for (_, _, column), place in zip(error.also, places, strict=True))


def test_a_tile_with_fewer_axes_than_its_array_is_told(tmp_path: Path) -> None:
    """cuTile 1.7.0 lets it pass, and writes bytecode that no assembler takes."""
    source = "\n@ct.kernel\ndef k(x):\n    ct.store(x, (0, ct.bid(0)), ct.zeros((4,), dtype=ct.float32))\n"
    write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N, M]" }\n')
    (result,) = check_paths([str(tmp_path / "k.py")]).results
    assert result.findings[0].code == "TV003"
    assert "is one of 2 dimensions, the tile has 1" in result.findings[0].message


def test_constants_that_cuda_tile_does_not_take_stand_at_their_key(tmp_path: Path) -> None:
    source = "\n@ct.kernel\ndef k(x, n: ct.Constant[int]):\n    ct.store(x, (0,), ct.zeros((n,), dtype=ct.float32))\n"
    write(tmp_path, source, '[[launch]]\nkernel = "k"\n[launch.args]\nx = "f32[N]"\nn = "ct.float17"\n')
    error = failed(tmp_path / "k.py").error
    assert (error.line, error.column) == (5, 0)


def test_cutile_errors_stand_at_the_line_of_the_user(tmp_path: Path) -> None:
    source = """
def helper(x, i):
    return ct.load(x, (i, i), (16,))

@ct.kernel
def k(x):
    ct.store(x, (0,), helper(x, ct.bid(0)))
"""
    path = write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]" }')
    failure = failed(path)
    assert isinstance(failure.error, SourceError)
    assert (failure.kernel, failure.launch) == ("k", "0")
    assert (failure.error.file, failure.error.line, failure.error.column) == (str(path), 4, 11)
    assert failure.error.message.startswith("cuTile rejects 'k': ")
    assert "\n" not in failure.error.message


def test_errors_of_helpers_elsewhere_stand_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "import cuda.tile as ct\ndef helper(x):\n    return ct.load(x, (0, 0), (16,))\n"
    )
    source = "from helpers import helper\n@ct.kernel\ndef k(x):\n    ct.store(x, (0,), helper(x))\n"
    path = write(tmp_path, source, '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]" }')
    error = failed(path).error
    assert (error.file, error.line) == (str(path), 5)


def test_decorated_kernels(tmp_path: Path) -> None:
    source = """
import tileverify

@tileverify.launch(name="above", grid=["cdiv(N, 16)"], args={"x": "f32[N]"})
@ct.kernel
@tileverify.launch(args={"x": "f32[2 * N]"}, requires=["N >= 1"])
def k(x):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)

@tileverify.launch(args={"x": "f32[N]"}, grids=[1])
@ct.kernel
def wrong(x):
    pass
"""
    path = write(tmp_path, source)
    above, below, wrong = results(path)
    assert isinstance(above, KernelUnit)
    assert isinstance(below, KernelUnit)
    assert [above.launch.name, below.launch.name] == ["above", "1"]
    assert above.launch.grid_text == ("cdiv(N, 16)",)
    assert below.launch.requires_text == ("N >= 1",)
    assert not isinstance(wrong, KernelUnit)
    assert f"{path}:11:42: launch 1 (\"wrong\"), grids: unknown key 'grids'; did you mean 'grid'?" == str(wrong.error)


def test_a_decorator_that_names_another_kernel(tmp_path: Path) -> None:
    source = """
import tileverify
@tileverify.launch(kernel="other", args={"x": "f32[N]"})
@ct.kernel
def k(x):
    pass
"""
    assert "kernel: the decorator stands on 'k'; leave the field out" in str(failed(write(tmp_path, source)).error)


def test_the_decorator_changes_nothing() -> None:
    import tileverify

    @tileverify.launch(args={"x": "f32[N]"})
    def function(x: int) -> int:
        return x + 1

    assert function(1) == 2
    assert tileverify.launch is tileverify.launch
    with pytest.raises(AttributeError):
        tileverify.lunch  # noqa: B018


def test_kernels_of_every_make(tmp_path: Path) -> None:
    source = """
from cuda.tile import kernel

@kernel
def plain(x):
    ct.store(x, (0,), ct.zeros((16,), dtype=ct.float32))

@ct.kernel(occupancy=2)
def with_options(x):
    ct.store(x, (0,), ct.zeros((16,), dtype=ct.float32))

faster = with_options.replace_hints(occupancy=4)

class Group:
    @staticmethod
    @ct.kernel
    def method(x):
        ct.store(x, (0,), ct.zeros((16,), dtype=ct.float32))

def make(value):
    @ct.kernel
    def inner(x):
        ct.store(x, (0,), ct.full((16,), value, dtype=ct.float32))
    return inner

one, two = make(1.0), make(2.0)
"""
    found = results(write(tmp_path, source))
    assert [each.kernel for each in found] == ["make.inner", "plain", "with_options", "Group.method", "one", "two"]
    assert [type(each) for each in found[1:]] == [KernelUnit] * 5
    assert "exists only while the function around it runs" in str(found[0].error)  # type: ignore[union-attr]


def test_nothing_loads_cuda_tile_before_it_is_needed() -> None:
    modules = ["discover", "infer", "cutile", "usage", "bytecode_file"]
    found = [f"frontend.sources.{module}" for module in modules] + ["contract.spec_files", "contract.spec"]
    imports = "; ".join(f"import tileverify.{module}" for module in found)
    code = f"import sys; {imports}; assert not any(m.startswith(('cuda', 'numpy', 'z3')) for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
