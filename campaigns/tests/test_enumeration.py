"""The enumeration of launches: planted faults are found, right kernels are clean, and nothing of tileverify has a part.

Real launches need triton and torch; what is counted of their accesses, and the comparison with verdicts, need neither.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..enumeration import comparison
from ..enumeration.memory import ATOMIC, READ, SEVERAL, WRITE, Area, Fault, TouchedMemory

FOLDER = Path(comparison.__file__).parent
ROOT = FOLDER.parents[1]
KINDS = (READ, WRITE, ATOMIC)


def touched(*accesses: tuple[str, int, list[int], int], areas: tuple[Area, ...] = ()) -> TouchedMemory:
    """Kind, program, addresses and width of each."""
    memory = TouchedMemory(areas or (Area(1000, 64, ("x",)), Area(5000, 32, ("y", "z"))))
    for kind, program, addresses, width in accesses:
        memory.access(kind, program, np.array(addresses, np.uint64), width)
    return memory


# ------------------------------------------------------------------------------------------- accesses in conflict
@pytest.mark.parametrize(("first", "second"), [*itertools.product(KINDS, KINDS)])
def test_two_programs_conflict_unless_both_read_or_both_are_atomic(first: str, second: str) -> None:
    faults = touched((first, 0, [1000, 1004], 4), (second, 1, [1006], 2)).faults
    if first == second != WRITE:
        assert not faults
    else:
        assert faults == [Fault("race", second, 1, "x", 6, 0, first)]


@pytest.mark.parametrize(("first", "second"), [*itertools.product(KINDS, KINDS)])
def test_one_program_is_in_conflict_with_nobody(first: str, second: str) -> None:
    assert not touched((first, 3, [1000], 4), (second, 3, [1000], 4)).faults


@pytest.mark.parametrize("last", [WRITE, ATOMIC])
def test_one_of_several_readers_that_writes_is_in_conflict(last: str) -> None:
    (fault,) = touched((READ, 0, [5000], 4), (READ, 1, [5000], 4), (last, 0, [5000], 4)).faults
    assert fault == Fault("race", last, 0, "y/z", 0, SEVERAL, READ)


def test_neighbours_do_not_conflict() -> None:
    assert not touched((WRITE, 0, [1000], 4), (WRITE, 1, [1004], 4), (READ, 2, [1008], 4)).faults


@pytest.mark.parametrize(
    ("address", "array", "byte"),
    [(999, "x", -1), (1061, "x", 61), (1064, "x", 64), (4990, "y/z", -10), (5030, "y/z", 30), (0, "x", -1000)],
)
def test_what_leaves_an_array_is_outside_with_any_of_its_bytes(address: int, array: str, byte: int) -> None:
    for kind in KINDS:
        memory = touched((kind, 2, [1000, address], 4))
        assert memory.faults == [Fault("outside", kind, 2, array, byte)]
        assert memory.counts[kind] == 1


def test_lanes_outside_are_named_and_the_others_count() -> None:
    memory = TouchedMemory([Area(1000, 64, ("x",))])
    inside = memory.access(WRITE, 0, np.array([1060, 1064, 996], np.uint64), 4)
    assert inside.tolist() == [True, False, False]


def test_a_launch_without_arrays_has_no_place_to_access() -> None:
    memory = TouchedMemory([])
    assert memory.access(READ, 0, np.array([8], np.uint64), 4).tolist() == [False]
    assert memory.faults == [Fault("outside", READ, 0, "", 8)]


def test_lanes_of_one_store_must_be_apart() -> None:
    assert touched((WRITE, 0, [1000, 1003], 4)).faults == [Fault("lanes", WRITE, 0, "x", 3, 0, WRITE)]
    assert not touched((READ, 0, [1000, 1003], 4), (ATOMIC, 0, [1000, 1000], 4)).faults


ACCESS = st.tuples(
    st.sampled_from(KINDS), st.integers(0, 3), st.lists(st.integers(994, 1018), max_size=3), st.sampled_from((1, 2, 4))
)


@given(st.lists(ACCESS, max_size=12))
def test_faults_are_those_of_a_search_through_all_pairs(accesses: list[tuple[str, int, list[int], int]]) -> None:
    memory = touched(*accesses, areas=(Area(1000, 8, ("a",)), Area(1010, 6, ("b",))))
    bounds = ((1000, 1008), (1010, 1016))
    seen: list[tuple[str, int, set[int]]] = []
    outside = race = lanes = False
    for kind, program, addresses, width in accesses:
        spans = [range(address, address + width) for address in addresses]
        inside = [span for span in spans if any(low <= span[0] and span[-1] < high for low, high in bounds)]
        outside |= len(inside) < len(spans)
        mine = {byte for span in inside for byte in span}
        lanes |= kind == WRITE and len(mine) < width * len(inside)
        for other, by, theirs in seen:
            calm = kind == other == READ or kind == other == ATOMIC
            race |= by != program and not calm and bool(mine & theirs)
        seen.append((kind, program, mine))
    kinds = {fault.kind for fault in memory.faults}
    assert kinds == {name for name, is_so in (("outside", outside), ("race", race), ("lanes", lanes)) if is_so}


# ------------------------------------------------------------------------------------------------ beside verdicts
def line(kernel: str, outcome: str, **more: object) -> str:
    record = {"package": kernel.partition(".")[0], "kernel": kernel, "outcome": outcome, "why": "", "faults": [],
              "lines": [], "grid": [2, 1, 1]}  # fmt: skip
    return json.dumps(record | more)


def verdict(kernel: str, verdict: str) -> str:
    return json.dumps({"kernel": kernel, "verdict": verdict})


FAULT = {"kind": "race", "access": "write", "program": 1, "array": "o", "byte": 64, "other": 0, "against": "read"}


def compared(tmp_path: Path, lines: list[str], reports: list[str]) -> int:
    (tmp_path / "lines").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "reports").write_text("\n".join(reports), encoding="utf-8")
    return comparison.main([str(tmp_path / "lines"), "--verdicts", str(tmp_path / "reports")])


def test_a_kernel_that_is_proved_and_wrong_ends_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line("p.m:k#1", "clean"), line("p.m:k#1", "wrong", faults=[FAULT], lines=["k.py:7"])]
    assert compared(tmp_path, lines, [verdict("p.other:k#1", "proved")]) == 1
    told = capsys.readouterr().out
    assert "| p | proved | 0 | 0 | 1 | 0 | 0 |" in told
    found = (
        "WRONG proved: p p.m:k#1, race: write of o, byte 64, by program 1 against a read of program 0, grid [2, 1, 1]"
    )
    assert f"{found}, k.py:7" in told


@pytest.mark.parametrize("reports", [["refuted"], ["proved", "refuted"], ["undecided"], []])
def test_a_wrong_kernel_without_a_proof_contradicts_nothing(tmp_path: Path, reports: list[str]) -> None:
    lines = [line("p.m:k#1", "wrong", faults=[FAULT], lines=["k.py:7"])]
    assert compared(tmp_path, lines, [verdict("m:k#1", each) for each in reports]) == 0


def test_kernels_are_counted_once_by_their_worst_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        line("p.m:a#1", "clean"), line("p.n:a#1", "clean"), line("p.m:b#2", "not run", why="slow"),
        line("p.m:b#2", "clean"), line("p.m:c#3", "synchronised"), line("p.m:c#3", "clean"), line("q.m:d#4", "not run"),
    ]  # fmt: skip
    reports = [verdict(f"m:{name}", "proved") for name in ("a#1", "b#2", "c#3")]
    assert compared(tmp_path, lines, reports) == 0
    told = capsys.readouterr().out.splitlines()
    assert "| all | proved | 2 | 3 | 0 | 1 | 0 |" in told
    assert "| q | no verdict | 0 | 0 | 0 | 0 | 1 |" in told


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        comparison.main([str(tmp_path / "none")])
    assert stopped.value.code == 2
    assert "no such file" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------- real launches
def test_the_enumerator_imports_nothing_of_this_tool() -> None:
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            own = [name for name in names if name.partition(".")[0] in ("tileverify", "tests", "campaigns")]
            assert not own, file


needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None,
    reason="triton and torch are not installed",
)

DRIVER = """
import sys

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def plus_one(x):
    return x + 1


@triton.jit
def add(x, y, o, n, eps, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    tl.store(o + at, plus_one(tl.load(x + at, mask=inside)) + tl.load(y + at, mask=inside) + eps, mask=inside)


@triton.jit
def halves_overlap(x, o, B: tl.constexpr):
    at = tl.program_id(0) * (B // 2) + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at))


@triton.jit
def reads_neighbour(o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(o + at + 1, mask=at + 1 < n, other=0.0), mask=at < n)


@triton.jit
def no_mask(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at))


@triton.jit
def sums(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@triton.jit
def sums_and_reads(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, 1.0)
    tl.store(x + at, tl.load(o) + at)


@triton.jit
def lanes_meet(o, B: tl.constexpr):
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B) // 2, 1.0)


@triton.jit
def locked(lock, o):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o, tl.load(o) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def counted(count, o):
    tl.store(o + tl.atomic_add(count, 1), 1.0)


@triton.jit
def spins(flag, o):
    while tl.load(flag) == 0:
        pass
    tl.store(o, 1.0)


@triton.jit
def by_descriptor(x, o, B: tl.constexpr):
    o.store([tl.program_id(0) * B], x.load([tl.program_id(0) * B]))


@triton.jit
def rows(x, o, M, N, B: tl.constexpr):
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        wide = row.to(tl.int64)
        for start in tl.range(0, N, B):
            at = start + tl.arange(0, B)
            tl.store(o + wide * N + at, libdevice.tanh(tl.load(x + wide * N + at, mask=at < N)), mask=at < N)


@triton.jit
def masked_in_words(o, n, B: tl.constexpr, LOW: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = (at < n) and (at >= LOW) and not (at > 2 * n)
    if LOW == 0 or n > 7:
        tl.store(o + at, 1.0, mask=inside)


@triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def tuned(o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, at, mask=at < n)


def zeros(size, dtype=torch.float32):
    return torch.zeros(size, device="cuda", dtype=dtype)


x, y, o = torch.randn(100, device="cuda"), torch.randn(100, device="cuda"), torch.empty(100, device="cuda")
assert x.is_cuda and o.device.type == "cuda"
add[lambda meta: (triton.cdiv(100, meta["B"]),)](x, y, o, 100, 0.5, B=32)
assert torch.allclose(o, x + y + 1.5)
halves_overlap[(4,)](x, o, B=32)
reads_neighbour[(4,)](o, 100, B=32)
no_mask[(4,)](x, o, B=32)
total = zeros(1)
sums[(4,)](x, total, 100, 32)
assert torch.allclose(total, x.sum(), atol=1e-4)
sums_and_reads[(3,)](x, total, 32)
lanes_meet[(2,)](o, 32)
locked[(3,)](zeros(1, torch.int32), total)
counted[(3,)](zeros(1, torch.int32), o)
spins[(1,)](zeros(1, torch.int32), total)
padded, copied = torch.randn(128, device="cuda"), zeros(100)
by_descriptor[(4,)](TensorDescriptor.from_tensor(padded[:100], [32]), TensorDescriptor.from_tensor(copied, [32]), 32)
assert torch.equal(copied, padded[:100])
matrix, answer = torch.randn(5, 40, device="cuda"), zeros((5, 40))
rows[(2,)](matrix, answer, 5, 40, 32)
assert torch.allclose(answer, matrix.tanh())
tuned[lambda meta: (triton.cdiv(100, meta["B"]),)](o, 100)
assert torch.equal(o, torch.arange(100, device="cuda").float())
masked_in_words[(4,)](o, 100, 32, 10)
assert o[10:].eq(1).all() and torch.equal(o[:10], torch.arange(10, device="cuda").float())
assert not [name for name in sys.modules if name.partition(".")[0] == "tileverify"]
"""

EXPECTED = {
    "add": ("clean", ""), "sums": ("clean", ""), "by_descriptor": ("clean", ""), "rows": ("clean", ""),
    "tuned": ("clean", ""), "masked_in_words": ("clean", ""),
    "halves_overlap": ("wrong", "race"), "reads_neighbour": ("wrong", "race"),
    "no_mask": ("wrong", "outside"), "sums_and_reads": ("wrong", "race"), "lanes_meet": ("wrong", "lanes"),
    "locked": ("synchronised", "atomic_xchg"), "counted": ("synchronised", "the result of an atomic is used"),
    "spins": ("not run", "NotEnumerated: more than 1 s"),
}  # fmt: skip
"""Of each kernel the outcome, and the kind of its first fault or why it is not judged."""


@needs_triton
def test_planted_faults_are_found_and_right_kernels_are_clean(tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    command = [sys.executable, "-m", "campaigns.enumeration.campaign", "-o", str(tmp_path / "lines"), "--seconds", "1"]
    done = subprocess.run(
        [*command, str(tmp_path / "driver.py")], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(each) for each in (tmp_path / "lines").read_text(encoding="utf-8").splitlines()]
    found = {
        record["kernel"].rpartition(":")[2].partition("#")[0]: (
            record["outcome"], record["faults"][0]["kind"] if record["outcome"] == "wrong" else record["why"],
        )
        for record in records
    }  # fmt: skip
    assert found == EXPECTED
    (outside,) = {line for record in records if "no_mask" in record["kernel"] for line in record["lines"]}
    assert outside == f"{tmp_path / 'driver.py'}:{DRIVER.splitlines().index('def no_mask(x, o, B: tl.constexpr):') + 3}"
    assert "clean: 6 launches" in done.stdout


@needs_triton
def test_further_launches_run_only_if_they_store_what_may_steer_others(tmp_path: Path) -> None:
    lines = DRIVER.splitlines()
    head = "\n".join(lines[: lines.index("def zeros(size, dtype=torch.float32):")])
    calls = """
for dtype in (torch.float32, torch.int32):
    for _ in range(3):
        o = torch.zeros(100, device="cuda", dtype=dtype)
        tuned[lambda meta: (4,)](o, 100)
        print(dtype, int(o.sum()))
"""
    (tmp_path / "driver.py").write_text(head + calls, encoding="utf-8")
    command = [sys.executable, "-m", "campaigns.enumeration.campaign", "-o", str(tmp_path / "lines"), "--launches", "2"]
    done = subprocess.run(
        [*command, str(tmp_path / "driver.py")], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    told = done.stdout.splitlines()
    assert told[:3] == ["torch.float32 4950", "torch.float32 4950", "torch.float32 0"]
    assert "not run, because their kernel had run 2 times: 4 launches" in told


@needs_triton
def test_a_driver_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "campaigns.enumeration.campaign", "-o", str(tmp_path / "lines"), "nowhere.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "nowhere.py is no file" in done.stderr
