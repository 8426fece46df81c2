"""Third opinions on compiled code: delays in PTX, stored launches, and what counts as wrong, without a GPU."""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.gpu import children, compiled
from benchmarks.gpu.compiled_prepare import ProvedCubin, prepare, without_barrier
from benchmarks.gpu.delays import SEED, waits, with_delays
from benchmarks.gpu.images import StoredImage, StoredMemory, image_of

from tileverify.backend.assembler import find_assembler
from tileverify.backend.audit.legal_launches import drawn
from tileverify.backend.compiled.both_runs import reference
from tileverify.backend.compiled.cubin_look import ProvedEntry
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover

PTX = """//
.version 9.4
.target sm_90a

.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.visible .entry first(
	.param .u64 first_param_0
)
.reqntid 128
{
	.reg .b64 	%rd<3>;
	ld.param.b64 	%rd1, [first_param_0];
	@%p1 ld.global.b32 	%r1, [%rd1];
	// begin inline asm
	{
 .reg .pred p;
 @p cp.async.bulk.tensor.2d.shared::cta.global [%r1], [%rd1];
}
	// end inline asm
	bar.sync 	0;
	mov.u32 	%r1, %tid.x;
	st.local.b32 	[%rd1], %r1;
	st.shared.b32 	[%r1], %r1;
	ret;

}
	// .globl	second
.visible .entry second(
	.param .u64 second_param_0
)
{
	atom.global.add.u32 	%r1, [%rd1], 1;
	ret;

}
"""


# ------------------------------------------------------------------------------------------------------ delays
def test_each_access_and_barrier_gets_a_wait() -> None:
    changed = with_delays(PTX)
    assert waits(PTX) == 2 + 5, "one at the beginning of both entries; load, copy, barrier and store, and the atomic"
    lines = [line.strip() for line in changed.splitlines()]
    for access in ("@%p1 ld.global", "@p cp.async", "st.shared", "atom.global"):
        at = next(number for number, line in enumerate(lines) if line.startswith(access))
        assert lines[at - 1].startswith("@%tv_wait nanosleep"), access
    assert lines[lines.index("bar.sync \t0;") + 1].startswith("mad.lo.u32 %tv_state")
    assert not lines[lines.index("st.local.b32 \t[%rd1], %r1;") - 1].startswith("@%tv_wait")
    assert changed.count(".reg .b32 %tv_state") == 2
    assert changed.index(f".u32 {SEED};") < changed.index(".visible .entry")


def test_nothing_else_changes() -> None:
    kept = [line for line in with_delays(PTX).splitlines() if "%tv_" not in line and SEED not in line and line]
    assert kept == [line for line in PTX.splitlines() if line]


def test_ptx_without_an_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="no entry"):
        with_delays(".version 9.4\n")


# ------------------------------------------------------------------------------------------------------ images
def entry_of(file: str, launch: str) -> ProvedEntry:
    unit = next(
        each
        for each in discover([str(ROOT / file)])
        if isinstance(each, KernelUnit) and each.launch.name == launch
    )  # fmt: skip
    return ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)


def images(proved: ProvedEntry) -> Iterator[StoredImage]:
    module = decode(proved.bytecode)
    contract = ContractInNumbers(proved.launch, proved.requires)
    for inputs in drawn(contract, module.entries[0], 3, Counter()):
        yield image_of(reference(module, module.entries[0], proved.parameters, inputs, whole=True))


def image_with(before: Sequence[float], after: Sequence[float]) -> StoredImage:
    """One array that is written behind its first element."""
    first, then = (np.array(each, "<f4").view(np.uint8) for each in (before, after))
    known = np.ones(first.size, np.bool_)
    written = np.arange(first.size) >= 4
    words = np.zeros(16, np.uint8)
    nowhere = np.zeros(16, np.bool_)
    memories = (
        StoredMemory("out", "f32", first, then, known, written, written),
        StoredMemory("xs", "f32", words, words.copy(), np.ones(16, np.bool_), nowhere, nowhere),
    )
    return StoredImage("kernel", (2, 1, 1), ((0, 0), (1, 0), b"\3\0\0\0"), (((1, 8), (0, 4)),), memories)


def test_an_image_survives_its_file(tmp_path: Path) -> None:
    image = image_with([1, 2, 3], [1, 4, 6])
    image.save(tmp_path / "image.npz")
    again = StoredImage.load(tmp_path / "image.npz")
    assert (again.entry, again.grid, again.parameters, again.words) == (
        image.entry, image.grid, image.parameters, image.words,
    )  # fmt: skip
    for one, two in zip(image.memories, again.memories, strict=True):
        assert (one.name, one.dtype) == (two.name, two.dtype)
        for name in ("before", "after", "known", "written", "fresh"):
            assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_an_image_of_a_launch() -> None:
    """``out`` of a vector addition is stored to and never read; inputs are neither."""
    made = list(images(entry_of("showcase/vector_add.py", "any-size")))
    assert len(made) == 3
    for image in made:
        x, y, out = image.memories
        assert not x.written.any()
        assert out.fresh.all()
        sums = x.before.view("<f4") + y.before.view("<f4")
        size = out.after.view("<f4").size
        assert out.written.all(), "all blocks ran"
        assert np.array_equal(out.after.view("<f4")[out.known.view().reshape(-1, 4).all(axis=1)], sums[:size])
        assert [each for each in image.parameters if not isinstance(each, bytes)] == [(0, 0), (1, 0), (2, 0)]


# ----------------------------------------------------------------------------------------- on a stand-in device
class StandIn:
    """The calls of the driver that `compiled` makes, on memory of the host; ``kernel`` is what runs."""

    def __init__(self, kernel: Callable[[list[int]], None], parameters: int) -> None:
        self.kernel, self.parameters = kernel, parameters
        self.alive: dict[int, Any] = {}
        self.seeds: list[int] = []

    def __call__(self, name: str, *arguments: Any) -> Any:
        if name == "cuMemAlloc":
            buffer = ctypes.create_string_buffer(arguments[0])
            self.alive[ctypes.addressof(buffer)] = buffer
            return ctypes.addressof(buffer)
        if name == "cuMemFree":
            del self.alive[arguments[0]]
        if name in ("cuMemcpyHtoD", "cuMemcpyDtoH"):
            ctypes.memmove(*arguments)
        if name == "cuLaunchKernel":
            slots = (ctypes.c_void_p * self.parameters).from_address(arguments[9])
            self.kernel([ctypes.c_uint64.from_address(int(each or 0)).value for each in slots])
        return 0


class NoCubin:
    def __init__(self, cubin: bytes) -> None:
        self.seeds: list[int] = []

    def function(self, entry: str) -> int:
        return 0

    def seed(self, number: int) -> None:
        self.seeds.append(number)

    def unload(self) -> None:
        pass


def floats(address: int, count: int) -> Any:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def right(slots: list[int]) -> None:
    floats(slots[0], 3)[1:] = 4, 6
    word = ctypes.c_uint64.from_address(slots[1] + 8).value
    assert word == slots[0] + 4, "the address in the list's descriptor is the array's"
    assert slots[2] == 3


def wrong_value(slots: list[int]) -> None:
    right(slots)
    floats(slots[0], 3)[2] = 6.1


def stores_too_little(slots: list[int]) -> None:
    floats(slots[0], 3)[1] = 4


def stores_beside(slots: list[int]) -> None:
    right(slots)
    floats(slots[0], 5)[3] = 9


def stores_what_it_should_not(slots: list[int]) -> None:
    right(slots)
    floats(slots[0], 3)[0] = 1 + 2**-23


@pytest.mark.parametrize("mode", ["plain", "delayed"])
@pytest.mark.parametrize(
    ("kernel", "outcome"),
    [
        (right, "agrees"),
        (wrong_value, "differs"),
        (stores_too_little, "differs"),
        (stores_beside, "differs"),
        (stores_what_it_should_not, "differs"),
    ],
)
def test_what_counts_as_wrong(
    kernel: Callable[[list[int]], None], outcome: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_with([1, 2, 3], [1, 4, 6]).save(tmp_path / "k.0.npz")
    for name in ("k.cubin", "k.delayed.cubin"):
        (tmp_path / name).write_bytes(b"")
    device = StandIn(kernel, 3)
    monkeypatch.setattr(compiled, "_called", device)
    monkeypatch.setattr(compiled, "Loaded", NoCubin)
    row = compiled.run_one(tmp_path, "k", mode, 6)
    assert (row["outcome"], row["runs"]) == (outcome, 6)
    assert row["wrong_runs"] == (0 if outcome == "agrees" else 6)
    assert not device.alive


def test_floats_may_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rounded(slots: list[int]) -> None:
        floats(slots[0], 3)[1:] = 4 * (1 + 1e-6), 6 * (1 - 1e-6)

    image_with([1, 2, 3], [1, 4, 6]).save(tmp_path / "k.0.npz")
    (tmp_path / "k.cubin").write_bytes(b"")
    monkeypatch.setattr(compiled, "_called", StandIn(rounded, 3))
    monkeypatch.setattr(compiled, "Loaded", NoCubin)
    assert compiled.run_one(tmp_path, "k", "plain", 2)["outcome"] == "agrees"


def test_the_table_tells_what_is_wrong() -> None:
    about = {"k": {"group": "g", "equal": True, "differences": []}}
    row = {"name": "k", "mode": "plain", "outcome": "differs", "runs": 20, "wrong_runs": 3, "wrong": [1, 5],
           "what": ["out[1] is 2 for 3"], "reported": []}  # fmt: skip
    assert not compiled.fine(row)
    text = "\n".join(compiled.table([row], about))
    assert "| g | equal | plain | 1 | 0 | 20 | 0 | 1 | 0 | 0 |" in text
    assert "* k (equal), plain: differs, 3 of 20 runs, [1, 5] elements: out[1] is 2 for 3" in text


# ---------------------------------------------------------------------------------------------------- children
CHILD = """
import json, sys, time
for name in sys.argv[1:]:
    print(json.dumps({"name": name}), flush=True)
    if name == "dies": sys.exit(3)
    if name == "hangs": time.sleep(60)
    print("====== something was seen")
    print(json.dumps({"name": name, "outcome": "agrees"}), flush=True)
"""


@pytest.mark.parametrize("processes", [1, 3])
def test_a_child_that_dies_or_hangs_is_replaced(processes: int) -> None:
    names = ["a", "dies", "b", "hangs", "c"]

    def command(left: Sequence[str]) -> list[str]:
        return [sys.executable, "-c", CHILD, *left]

    rows = {row["name"]: row for row in children.in_parallel(command, names, 5, processes)}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "a": "agrees", "dies": "failed", "b": "agrees", "hangs": "hangs", "c": "agrees",
    }  # fmt: skip
    assert rows["b"]["printed"] == ["====== something was seen"]


# --------------------------------------------------------------------------------------------------- assembled
@pytest.mark.assembler("tileiras")
def test_twins_are_made_of_the_same_ptx(tmp_path: Path) -> None:
    proved = entry_of("showcase/vector_add.py", "any-size")
    assembled = find_assembler().assembled(proved.bytecode, "sm_90")
    prepare(ProvedCubin("add", "corpus", proved, assembled), tmp_path, {})
    assert (tmp_path / "add.cubin").read_bytes() == assembled.cubin
    assert SEED.encode() in (tmp_path / "add.delayed.cubin").read_bytes()
    assert b"__cuda_sanitizer_memcheck_global" in (tmp_path / "add.checked.cubin").read_bytes()
    assert len(list(tmp_path.glob("add.*.npz"))) == 4
    assert without_barrier(ProvedCubin("add", "corpus", proved, assembled), 1) is None, "it has no barrier"
