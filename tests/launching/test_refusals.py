"""What must never run, one test for each: the bundle, its machine code, the launch, the order of launches.

Every refusal has its code, and nothing has run when it is said.  More of each kind: `bundle/test_bundles.py` (TV503),
`tests/backend/guard/test_guard.py` and `test_bundled.py` (TV501, TV502), `test_in_flight.py` and
`test_graphs.py` (TV504).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine
from tests.launching.imitation import Device, Stream, Tensor, imitate

import tileverify as tv
from tileverify.backend.assembler import find_assembler
from tileverify.backend.guard import LaunchRefused
from tileverify.backend.ledger import ByteAccess, InFlightConflict
from tileverify.corpus import ROOT
from tileverify.launching.bundle.manifest import BundleRefused, Cubin, bundle_bytes, read_bundle
from tileverify.launching.bundle.trust import trusted_cubin
from tileverify.launching.bundled import BundledKernel, load
from tileverify.launching.graphs import Graph
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned
from tileverify.launching.launch_log import Use

Array = np.ndarray[Any, np.dtype[Any]]
AXPY = f"{ROOT / 'race_free' / 'axpy.py'}::axpy::one-million"  # compiled for addresses that 16 divides


def aligned(size: int, dtype: type = np.float32, offset: int = 0) -> Array:
    """Ones, ``offset`` bytes behind an address that 64 divides."""
    memory = np.zeros(size * np.dtype(dtype).itemsize + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    found: Array = memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)
    found[:] = 1
    return found


@pytest.fixture
def axpy(tileverify: CommandLine) -> BundledKernel:
    assert tileverify("build", AXPY, "-o", "axpy.tvk", "--arch", "none").code == 0
    return load("axpy.tvk")


def test_the_launch_that_all_others_differ_from_runs(axpy: BundledKernel) -> None:
    x, y = aligned(1024), aligned(1024)
    tv.launch(None, (2,), axpy, (3.0, x, y, 512))
    assert (y == 4).all()


# ------------------------------------------------------------------------------------- TV503: what is run
def test_a_flipped_byte_anywhere(axpy: BundledKernel) -> None:
    machine_code = Cubin("sm_90", "13.4.92", b"\x7fELF" + bytes(range(256)))
    data = bundle_bytes(replace(axpy.bundle, cubins={"sm_90": machine_code}))
    read_bundle(data, "axpy.tvk")
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        with pytest.raises(BundleRefused, match="TV503"):
            read_bundle(bytes(changed), "axpy.tvk")


@pytest.mark.assembler("tileiras")
def test_a_swapped_cubin(axpy: BundledKernel) -> None:
    """Machine code of something else under right hashes: the assembler makes other code of the proved bytes."""
    assembler = find_assembler()
    foreign = Cubin("sm_90", assembler.version, assembler.assemble(_other_bytecode(), "sm_90"))
    swapped = read_bundle(bundle_bytes(replace(axpy.bundle, cubins={"sm_90": foreign})), "axpy.tvk")
    with pytest.raises(BundleRefused, match=r"is not what tileiras .* makes of the proved bytecode .*TV503"):
        trusted_cubin(swapped, "sm_90", "axpy.tvk", assembler=assembler)


def _other_bytecode() -> bytes:
    from tileverify.contract.launch import KernelUnit
    from tileverify.frontend.sources.discover import discover

    unit = next(iter(discover([str(ROOT / "race_free" / "scatter_permutation.py")])))
    assert isinstance(unit, KernelUnit)
    return unit.bytecode


# ------------------------------------------------------------------------------------ TV501, TV502: a launch
@pytest.mark.parametrize(
    ("grid", "x", "said"),
    [
        ((3,), aligned(1024), r"'grid\.x <= cdiv\(x\.shape\[0\], 512\)' does not hold .*TV502"),
        ((2,), aligned(1000), r"'x\.shape\[0\] % 16 == 0' does not hold .*TV502"),
        ((2,), aligned(2048)[::2], r"strides\[0\] is 1.*TV502|contiguous.*TV502"),
        ((2,), aligned(1024, np.float64), r"`x` has elements of f64, the contract says f32 \(TV502\)"),
        ((2,), aligned(1024).reshape(32, 32), r"`x` has rank 2, the contract says 1 \(TV502\)"),
        ((2,), aligned(1024, offset=2), r"`x` is not aligned to its elements .*TV502"),
    ],
    ids=["grid", "size", "stride", "dtype", "rank", "element"],
)
def test_a_launch_outside_the_contract(axpy: BundledKernel, grid: tuple[int, ...], x: Array, said: str) -> None:
    y = aligned(1024)
    with pytest.raises(LaunchRefused, match=said):
        tv.launch(None, grid, axpy, (3.0, x, y, 512))
    assert (y == 1).all()


def test_a_pointer_that_the_specialisation_assumed_aligned(tileverify: CommandLine) -> None:
    """The JIT compiles a recorded launch for addresses that 16 divides, where its own were."""
    source = (ROOT / "race_free" / "axpy.py").read_text()
    arguments = "3.0, np.ones(1024, np.float32), np.ones(1024, np.float32), 512"
    Path("program.py").write_text(f"{source}\nimport numpy as np\nct.launch(None, (2,), axpy, ({arguments}))\n")
    ran = tileverify("record", "--no-gpu", "-o", "recorded", "--", sys.executable, "program.py")
    assert ran.code == 0, ran.err
    (bytecode,) = Path("recorded").glob("*.tileirbc")
    assert tileverify("build", str(bytecode), "-o", "recorded.tvk", "--arch", "none").code == 0
    kernel, y = load("recorded.tvk"), aligned(1024)
    with pytest.raises(LaunchRefused, match=r"'x\.address % 16 == 0' does not hold .*TV502"):
        tv.launch(None, (2,), kernel, (3.0, aligned(1024, offset=4), y))
    assert (y == 1).all()
    tv.launch(None, (2,), kernel, (3.0, aligned(1024, offset=16), y))
    assert (y == 4).all()


def test_a_pointer_that_the_spec_says_is_aligned(tileverify: CommandLine) -> None:
    source = (ROOT / "race_free" / "axpy.py").read_text()
    Path("axpy.py").write_text(source)
    Path("axpy.tileverify.toml").write_text(
        '[[launch]]\nkernel = "axpy"\ngrid = ["cdiv(N, TILE)"]\nrequires = ["y.address % 128 == 0"]\n'
        'args = { alpha = "f32", x = "f32[N]", y = "f32[N]", TILE = 512 }\n'
    )
    assert tileverify("build", "axpy.py::axpy", "-o", "aligned.tvk", "--arch", "none").code == 0
    kernel, whole = load("aligned.tvk"), np.zeros(8192, np.uint8)
    start = -whole.ctypes.data % 128
    at, beside = (whole[start + by : start + by + 4096].view(np.float32) for by in (0, 64))
    with pytest.raises(LaunchRefused, match=r"'y\.address % 128 == 0' does not hold for y\.address = \d+ \(TV502\)"):
        tv.launch(None, (2,), kernel, (3.0, aligned(1024), beside, 512))
    assert not whole.any()
    tv.launch(None, (2,), kernel, (3.0, aligned(1024, offset=4), at, 512))
    assert (at == 3).all()


def test_overlapping_arguments(axpy: BundledKernel) -> None:
    memory = aligned(2048)
    with pytest.raises(LaunchRefused, match=r"`x` and `y` overlap in memory, .*\(TV501\)"):
        tv.launch(None, (2,), axpy, (3.0, memory[16:1040], memory[:1024], 512))
    assert (memory == 1).all()


def test_duplicates_under_injective(tileverify: CommandLine) -> None:
    target = f"{ROOT / 'race_free' / 'scatter_permutation.py'}::scatter_elements::injective"
    assert tileverify("build", target, "-o", "scatter.tvk", "--arch", "none").code == 0
    x, places, out = np.ones(300, np.float32), np.arange(300, dtype=np.int32), np.zeros(500, np.float32)
    places[250] = places[3]
    with pytest.raises(LaunchRefused, match=r"'injective\(target\)' does not hold, .*\(TV502\)"):
        tv.launch(None, (2,), load("scatter.tvk"), (x, places, out, 256))
    assert (out == 0).all()


# --------------------------------------------------------------------------------- TV504: order of launches
def use(name: str, tensor: Tensor, *, write: bool) -> Use:
    return Use(name, 0, (ByteAccess(tensor.address, tensor.address + 128, write, "x"),))


def test_unordered_launches_that_conflict_in_strict_mode() -> None:
    work, x = InFlight(Device(), strict=True), Tensor()
    made: list[Any] = []
    work.launch(Stream(11), use("writer", x, write=True), (x,), made.append)
    with pytest.raises(InFlightConflict, match=r"'reader' reads x that 'writer', .* \(TV504\)"):
        work.launch(Stream(12), use("reader", x, write=False), (x,), made.append)
    assert made == [Stream(11)]


def test_unordered_nodes_of_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    imitate(monkeypatch)
    made: list[Any] = []

    def plan(grid: Any, kernel: Any, arguments: Any, **options: Any) -> Planned:
        return Planned(SimpleNamespace(alive=()), use(kernel, arguments[0], write=kernel == "writer"), again=True)  # type: ignore[arg-type]

    graph, x = Graph(plan, made.append, InFlight(Device())), Tensor()  # type: ignore[arg-type]
    graph.launch((1,), "writer", (x,))
    graph.launch((1,), "reader", (x,), after=[])
    with (
        pytest.raises(InFlightConflict, match=r"launch 1 \('reader'\) reads `x`, .* nothing orders them \(TV504\)"),
        graph,
    ):
        pass
    assert not made


# ------------------------------------------------------------------- TV502: numbers that no kernel can be passed
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**32 + 3, 2**63, 2**64, pytest.param(10**5000, id="huge")])
def test_an_int_that_does_not_fit(kernels: ModuleType, number: int) -> None:
    out = np.zeros(128, np.float32)
    with pytest.raises(LaunchRefused, match=r"`n` does not fit int32.*\(TV502\)"):
        tv.launch(None, (1,), kernels.sum_all, ([out.copy()], out, number, 128))
    assert not out.any()
