"""Scoped accesses of code that orders less than its bytecode."""

from __future__ import annotations

import re

import pytest

from tileverify.backend.assembler import Assembled, find_assembler
from tileverify.backend.compiled.cubin_look import Looked, ProvedEntry, looked
from tileverify.backend.compiled.machine.steps import program_of
from tileverify.backend.compiled.ptx import read
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover

KERNELS = """
import cuda.tile as ct

@ct.kernel
def hand_on(x, turns, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)) + 1)
    ct.atomic_add(turns, (0,), 1)

@ct.kernel
def take_over(x, turns, out):
    ct.atomic_add(turns, (0,), 1)
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)) + 1)
"""
SPEC = """
[[launch]]
kernel = "hand_on"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", turns = "i32[1]", out = "f32[N]" }

[[launch]]
kernel = "take_over"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", turns = "i32[1]", out = "f32[N]" }
"""
ORDERED = "atom.global.acq_rel.add.u32"


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelUnit]:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "kernels.tileverify.toml").write_text(SPEC)
    found = [each for each in discover([str(folder / "kernels.py")]) if isinstance(each, KernelUnit)]
    return {each.kernel: each for each in found}


@pytest.fixture
def unit(units: dict[str, KernelUnit]) -> KernelUnit:
    return units["hand_on"]


def seen(unit: KernelUnit, made: Assembled, instead: str) -> Looked:
    assert made.ptx is not None
    assert made.ptx.count(ORDERED) == 1
    changed = Assembled(made.cubin, made.ptx.replace(ORDERED, instead), made.host)
    return looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch), changed, "sm_90")


@pytest.mark.assembler("tileiras")
def test_code_that_orders_less_than_its_bytecode_differs(unit: KernelUnit) -> None:
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    for instead in (ORDERED, "atom.global.acq_rel.gpu.add.u32", "atom.global.acq_rel.sys.add.u32"):
        assert not seen(unit, made, instead).differences, instead
    for instead, what in (
        ("atom.global.add.u32", "is no acquire"),
        ("atom.global.acquire.add.u32", "is no release"),
        ("atom.global.release.add.u32", "is no acquire"),
        ("atom.global.acq_rel.cta.add.u32", "is no acquire"),
    ):
        (first, *_) = seen(unit, made, instead).differences
        assert what in first.text, instead


@pytest.mark.assembler("tileiras")
def test_a_fence_beside_the_access_orders_as_well(unit: KernelUnit) -> None:
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    line = next(each for each in made.ptx.split("\n") if ORDERED in each)
    plain = line.replace(ORDERED, "atom.global.add.u32")
    address = plain[plain.index("[") : plain.index("]") + 1]
    between, never = f"ld.global.b32 %r99, {address};", "setp.ne.s32 %p99, %r99, %r99;"
    for before, after, differs in (
        ("fence.release.gpu;", "fence.acquire.gpu;", False),
        ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", False),
        ("fence.acq_rel.cta;", "fence.acq_rel.gpu;", True),
        ("fence.release.gpu;", "", True),
        (f"fence.release.gpu;\n{between}", "fence.acquire.gpu;", True),
        ("fence.release.gpu;", f"{between}\nfence.acquire.gpu;", True),
        ("fence.release.gpu;\n$ENTERED:", "fence.acquire.gpu;", True),  # others may come from elsewhere
        (f"{never}\nfence.release.gpu;\n@%p99 ret;", "fence.acquire.gpu;", False),
        ("fence.release.gpu;", f"{never}\n@%p99 ret;\nfence.acquire.gpu;", True),
        (f"$AGAIN:\n{never}\nfence.release.gpu;", "@%p99 bra $AGAIN;\nfence.acquire.gpu;", False),
        (f"$AGAIN:\n{between}\n{never}\nfence.release.gpu;", "@%p99 bra $AGAIN;\nfence.acquire.gpu;", True),
        (f"$AGAIN:\n{never}\n@%p99 ret;\nfence.release.gpu;", "@%p99 bra $AGAIN;\nfence.acquire.gpu;", True),
        ("fence.release.gpu;", "bra.uni $ON;\n$ON:\nfence.acquire.gpu;", True),
        (f"{never}\n@%p99 fence.release.gpu;", "fence.acquire.gpu;", True),
    ):
        ptx = made.ptx.replace(line, f"{before}\n{plain}\n{after}")
        entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
        found = looked(entry, Assembled(made.cubin, ptx, made.host), "sm_90")
        assert bool(found.differences) == differs, (before, after)


@pytest.mark.assembler("tileiras")
def test_a_fence_orders_for_the_thread_that_makes_the_access(unit: KernelUnit) -> None:
    """One thread makes the atomic, behind a barrier."""
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    atomic = (
        r"bar\.sync\s+0;\s+(setp\S+\s+(%p\d+),[^\n]*)\s+@%p\d+ bra\s+(\$\w+);"
        r"\s+(atom\.[^\n]*)\s+(st\.shared[^\n]*)\s+\$\w+:"
    )
    found = re.search(atomic, made.ptx)
    assert found is not None
    chooses, guard, end, ordered, kept = found.groups()
    plain = ordered.replace(ORDERED, "atom.global.add.u32")
    leaves, release, acquire, wait = f"@{guard} bra {end};", "fence.release.gpu;", "fence.acquire.gpu;", "bar.sync 0;"
    mine, others, turned = f"@!{guard}", f"@{guard}", f"not.pred {guard}, {guard};"
    proxy = "fence.proxy.tensormap::generic.release.gpu;"
    for lines, differs in (
        ((wait, chooses, leaves, release, plain, acquire, kept, f"{end}:"), False),
        ((wait, release, chooses, leaves, plain, acquire, kept, f"{end}:"), False),  # of all threads
        ((wait, "fence.sc.gpu;", chooses, leaves, plain, "membar.gl;", kept, f"{end}:"), False),
        ((wait, chooses, f"{mine} {release}", f"{mine} {plain}", f"{mine} {acquire}", f"{mine} {kept}"), False),
        ((release, wait, chooses, leaves, plain, acquire, kept, f"{end}:"), True),  # before what others stored
        ((wait, chooses, leaves, release, plain, kept, f"{end}:", wait, acquire), True),
        ((wait, chooses, f"{others} {release}", turned, f"{others} {plain}", f"{others} {acquire}"), True),
        ((wait, chooses, f"{mine} {release}", f"{mine} {plain}", turned, f"{mine} {acquire}"), True),
        ((wait, chooses, leaves, proxy, plain, acquire, kept, f"{end}:"), True),
        ((wait, chooses, leaves, "membar.proxy.alias;", plain, acquire, kept, f"{end}:"), True),
    ):
        ptx = made.ptx.replace(found[0], "\n".join(lines))
        entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
        seen = looked(entry, Assembled(made.cubin, ptx, made.host), "sm_90")
        assert (bool(seen.differences), seen.why_not) == (differs, ""), lines


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("kernel", "what"), [("hand_on", "releases what another"), ("take_over", "acquires what another")]
)
def test_all_threads_of_a_block_take_part_in_a_hand_over(
    units: dict[str, KernelUnit], kernel: str, what: str
) -> None:  # fmt: skip
    """One thread makes the atomic, so barriers stand between it and what the others do."""
    unit = units[kernel]
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    assert not looked(entry, made, "sm_90").differences
    without = re.sub(r"\n\s*bar\.sync[^\n]*", "", made.ptx)
    assert without != made.ptx
    (first, *_) = looked(entry, Assembled(made.cubin, without, made.host), "sm_90").differences
    assert what in first.text


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("kernel", "moved", "what"),
    [("hand_on", "st.global.b32", "stores behind its release"), ("take_over", ORDERED, "takes before its acquire")],
)
def test_nothing_moves_over_a_hand_over(units: dict[str, KernelUnit], kernel: str, moved: str, what: str) -> None:
    """Barriers stand between both, so that they are ordered: the other way round."""
    unit = units[kernel]
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    (line,) = (each for each in made.ptx.split("\n") if moved in each)
    guard = made.ptx[: made.ptx.index(line)].rsplit("@", 1)[1].split()[0]
    head, end, tail = made.ptx.replace(line + "\n", "").rpartition("\tret;")
    entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    late = Assembled(made.cubin, f"{head}\t@!{guard} {line.strip()}\n{end}{tail}", made.host)
    (first, *_) = looked(entry, late, "sm_90").differences
    assert what in first.text


@pytest.mark.assembler("tileiras")
def test_what_was_executed_before_is_no_part_of_a_look(unit: KernelUnit) -> None:
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    head, end, tail = made.ptx.rpartition("\tret;")
    unmet = f"{head}\tbra.uni $UNMET;\n\tst.global.b32 [%rd4], %r10;\n$UNMET:\n{end}{tail}"
    entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    first = looked(entry, Assembled(made.cubin, unmet, made.host), "sm_90")
    assert first.accesses[1] == 1
    code = read(unmet).entry(unit.symbol)
    for number in range(len(code.instructions)):
        program_of(code).compile(number)
    assert looked(entry, Assembled(made.cubin, unmet, made.host), "sm_90") == first


@pytest.mark.assembler("tileiras")
def test_an_access_under_a_guard_that_never_holds_is_not_executed(unit: KernelUnit) -> None:
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    head, end, tail = made.ptx.rpartition("\tret;")
    unmet = f"{head}\tsetp.ne.s32 %p99, %r99, %r99;\n\t@%p99 st.global.b32 [%rd4], %r10;\n{end}{tail}"
    entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    assert looked(entry, Assembled(made.cubin, unmet, made.host), "sm_90").accesses[1] == 1


@pytest.mark.assembler("tileiras")
def test_code_that_stops_differs(unit: KernelUnit) -> None:
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    assert made.ptx is not None
    head, end, tail = made.ptx.rpartition("\tret;")
    entry = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    found = looked(entry, Assembled(made.cubin, f"{head}\ttrap;\n{end}{tail}", made.host), "sm_90")
    assert [each.text for each in found.differences] == ["the launch is stopped: a trap is executed"]
