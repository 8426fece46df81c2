"""Launches of numbers that the proof leaves open: what a run of all blocks may say of them, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict

OPTIONS = CheckOptions(cache=None)
HEAD = """import cuda.tile as ct

RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


def mixed(i):
    # A permutation of [0, 16) that no closed form tells.
    p, n = i, 7
    while n > 1:
        p = (p * 5 + 3) % 16
        n = n // 2
    return p


def folded(i):
    # No permutation: 0 and 4 meet.
    p, n = i, 7
    while n > 1:
        p = (p * 4 + 3) % 16
        n = n // 2
    return p


def one():
    return ct.full((1,), 1.0, ct.float32)


@ct.kernel
"""
SPEC = """kernel = "kernel"
grid = {grid}
args = {{ {args} }}
{more}"""


def checked(folder: Path, body: str, args: str, *, grid: object = 16, more: str = "") -> KernelResult:
    names = ", ".join(part.split("=")[0].strip() for part in args.split(", ") if "=" in part)
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    source = f"{HEAD}def kernel({names}):\n    i = ct.bid(0)\n{lines}"
    result = judged(folder, source, SPEC.format(grid=[grid], args=args, more=more), OPTIONS)
    assert result.verdict is not Verdict.ERROR, result.findings
    return result


def codes(result: KernelResult) -> set[str]:
    return {finding.obligation or finding.code for finding in result.findings}


STORE = "ct.store(out, (mixed(i),), one())"
OUT = 'out = "f32[16]"'


def test_a_run_of_all_blocks_proves_this_launch(tmp_path: Path) -> None:
    result = checked(tmp_path, STORE, OUT)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "launch")
    count = result.obligations
    assert count.enumerated > 0
    assert count.total == count.structural + count.solver + count.enumerated
    (note,) = (note for note in result.notes if note.startswith("enumerated: "))
    assert f"{count.enumerated} of {count.total} obligations" in note
    assert "this launch alone, whatever its arrays hold" in note
    assert "all 16 blocks" in note
    assert result.deterministic


WRONG = {
    "two blocks at one place": ("ct.store(out, (folded(i),), one())", OUT, "TV101"),
    "an element behind the end": (STORE, 'out = "f32[15]"', "TV301"),
    "what another block writes is read": (
        "t = ct.load(out, (mixed(i + 1),), (1,))\nct.store(out, (mixed(i),), t)",
        OUT,
        "TV102",
    ),
    "lanes of one store meet": (
        "at = ct.cumsum(ct.full((16,), 1, ct.int32), axis=0) // 2\n"
        "ct.scatter(out, i * 16 + at, ct.full((16,), 1.0, ct.float32))",
        'out = "f32[256]"',
        "TV202",
    ),
    "an atomic meets a plain load": (
        "ct.atomic_add(out, (folded(i),), 1, memory_order=RELAXED)\nct.store(got, (i,), ct.load(out, (i,), (1,)))",
        'out = "i32[16]", got = "i32[16]"',
        "TV103",
    ),
    "a divisor is 0": (
        "ct.store(out, (i,), ct.full((1,), 16 // (mixed(i) - 3), ct.int32))",
        'out = "i32[16]"',
        "TV402",
    ),
    "an index that the block stored": (
        "ct.store(own, (i,), ct.full((1,), folded(i), ct.int32))\n"
        "ct.store(out, (ct.load(own, (i,), (1,)).item(),), one())",
        'own = "i32[16]", out = "f32[16]"',
        "TV101",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_fault_of_the_launch_is_found(tmp_path: Path, what: str) -> None:
    body, args, code = WRONG[what]
    result = checked(tmp_path, body, args)
    assert (result.verdict, result.obligations.enumerated) == (Verdict.REFUTED, 0)
    assert code in codes(result)
    assert all(finding.witness is not None for finding in result.findings if finding.refutes)


RIGHT = {
    "an index that the block stored": (
        "ct.store(own, (i,), ct.full((1,), mixed(i), ct.int32))\n"
        "ct.store(out, (ct.load(own, (i,), (1,)).item(),), one())",
        'own = "i32[16]", out = "f32[16]"',
    ),
    "atomics that give nothing": (
        "ct.atomic_add(sums, (folded(i),), 1, memory_order=RELAXED)\n" + STORE,
        'sums = "i32[16]", out = "f32[16]"',
    ),
    "values that go nowhere": (
        "t = ct.load(x, (i,), (1,))\nct.store(out, (mixed(i),), ct.exp(t) / t)",
        'x = "f32[16]", out = "f32[16]"',
    ),
    "the place that the block reads, too": (
        "t = ct.load(out, (mixed(i),), (1,))\nct.store(out, (mixed(i),), t + 1)",
        OUT,
    ),
}


@pytest.mark.parametrize("what", RIGHT)
def test_a_right_launch_is_proved(tmp_path: Path, what: str) -> None:
    result = checked(tmp_path, *RIGHT[what])
    assert result.verdict is Verdict.PROVED, result.notes
    assert result.obligations.enumerated


# ------------------------------------------------------------------------------------------- what is not claimed
OPEN = {
    "contents that nobody gives": (
        "ct.store(out, (ct.load(idx, (i,), (1,)).item(),), one())",
        'idx = "i32[16]", ' + OUT,
    ),
    "a float decides": (
        "if ct.load(x, (i,), (1,)).item() > 0.5:\n    ct.store(out, (folded(i),), one())",
        'x = "f32[16]", ' + OUT,
    ),
    "a float scalar decides": ("if a > 0.5:\n    ct.store(out, (folded(i),), one())", 'a = "f32", ' + OUT),
    "an integer scalar of any value": ("ct.store(out, ((mixed(i) + n) % 16,), one())", 'n = "i32", ' + OUT),
    "a rounded number is an index": (
        "t = ct.exp(ct.full((1,), 1.0, ct.float32) * mixed(i))\n"
        "ct.store(out, (ct.astype(t, ct.int32).item() % 16,), one())",
        OUT,
    ),
    "what an atomic gives is an index": (
        "t = ct.atomic_add(next, (0,), 1, memory_order=RELAXED).item()\nct.store(out, (mixed(t % 16),), one())",
        'next = "i32[1]", ' + OUT,
    ),
    "a divisor is loaded": (
        "t = ct.load(x, (i,), (1,)).item()\nct.store(out, (mixed(i),), ct.full((1,), 16 // t, ct.int32))",
        'x = "i32[16]", out = "i32[16]"',
    ),
    "another block says when": (
        "while ct.atomic_add(flag, (0,), 0, memory_order=ACQUIRE).item() != i:\n    pass\n"
        "ct.store(out, (folded(i),), one())\n"
        "ct.atomic_xchg(flag, (0,), mixed(i), memory_order=RELEASE)",
        'flag = "i32[1]", ' + OUT,
    ),
    "a compare-and-swap": (
        "ct.atomic_cas(word, (folded(i),), 0, i, memory_order=RELAXED)\n" + STORE,
        'word = "i32[16]", ' + OUT,
    ),
}


@pytest.mark.parametrize("what", OPEN)
def test_nothing_is_claimed_where_more_than_numbers_decides(tmp_path: Path, what: str) -> None:
    result = checked(tmp_path, *OPEN[what])
    assert not result.obligations.enumerated
    assert result.verdict is Verdict.UNDECIDED, result.findings


def test_nothing_is_claimed_of_arguments_that_may_share_memory(tmp_path: Path) -> None:
    body, args = "ct.store(out, (mixed(i),), ct.load(x, (i,), (1,)))", 'x = "f32[16]", ' + OUT
    assert checked(tmp_path, body, args).obligations.enumerated
    shared = checked(tmp_path, body, args, more='overlap = [["x", "out"]]')
    assert not shared.obligations.enumerated
    assert shared.verdict is not Verdict.PROVED


def test_any_grid_is_no_launch_of_numbers(tmp_path: Path) -> None:
    result = checked(tmp_path, STORE, OUT, grid="N", more='names = ["N"]\nrequires = ["N >= 2"]')
    assert not result.obligations.enumerated
    assert result.verdict is not Verdict.PROVED


def test_a_launch_with_too_many_blocks_says_so(tmp_path: Path) -> None:
    result = checked(tmp_path, "ct.store(out, (i + mixed(i),), one())", 'out = "f32[9000000]"', grid=8_000_000)
    assert result.verdict is not Verdict.PROVED
    if result.verdict is Verdict.UNDECIDED:
        assert any("8,000,000 blocks take more than" in note for note in result.notes), result.notes


# -------------------------------------------------------------------------------------------------------- contents
INDIRECT = "ct.store(out, (mixed(ct.load(idx, (i,), (1,)).item()),), one())"
ALL_OF = '["permutation(idx)", "nondecreasing(idx)"]'


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (ALL_OF, Verdict.PROVED),
        ('["range(idx, 3, 4)"]', Verdict.REFUTED),
        ('["range(idx, 0, 16)"]', Verdict.UNDECIDED),
        ('["range(idx, 0, 16)", "nondecreasing(idx)"]', Verdict.UNDECIDED),
        ('["injective(idx, 0, 16)", "nondecreasing(idx)", "range(idx, 0, 17)"]', Verdict.UNDECIDED),
        ('["injective(idx)", "range(idx, 0, 16, unless=99)", "nondecreasing(idx)"]', Verdict.UNDECIDED),
    ],
)
def test_contents_are_given_where_facts_leave_few(tmp_path: Path, facts: str, verdict: Verdict) -> None:
    result = checked(tmp_path, INDIRECT, 'idx = "i32[16]", ' + OUT, more=f"data = {facts}")
    assert result.verdict is verdict, result.notes
    assert bool(result.obligations.enumerated) == (verdict is Verdict.PROVED)
    if verdict is Verdict.PROVED:
        assert any("for the contents that the facts on idx allow" in note for note in result.notes)


def test_each_of_few_contents_has_to_be_right(tmp_path: Path) -> None:
    """``idx`` is (0, 0), (0, 1), (1, 0) or (1, 1), and two of them are wrong; of different ones none is."""
    args = 'idx = "i32[2]", ' + OUT
    few = checked(tmp_path, INDIRECT, args, grid=2, more='data = ["range(idx, 0, 2)"]')
    assert not few.obligations.enumerated
    assert few.verdict is not Verdict.PROVED
    other = checked(tmp_path, INDIRECT, args, grid=2, more='data = ["range(idx, 0, 2)", "injective(idx)"]')
    assert other.verdict is Verdict.PROVED
    assert any("each of the 2 contents" in note for note in other.notes)


@pytest.mark.parametrize(("writes", "right"), [("mixed(j)", True), ("mixed(i)", False), ("(mixed(j) + 1) % 16", False)])
def test_given_contents_that_another_block_writes(tmp_path: Path, writes: str, right: bool) -> None:
    """``idx`` counts up when the launch begins; a block reads an element there and stores to one."""
    body = (
        f"j = i\nk = ct.load(idx, (mixed(j),), (1,)).item()\nct.store(idx, ({writes},), ct.full((1,), k, ct.int32))\n"
    )
    body += "ct.store(out, (mixed(k),), one())" if right else "ct.store(out, (k,), one())"
    body = body if writes != "mixed(i)" else body.replace("(mixed(j),), (1,)", "(i,), (1,)")
    result = checked(tmp_path, body, 'idx = "i32[16]", ' + OUT, more=f"data = {ALL_OF}")
    assert (result.verdict is Verdict.PROVED) == right, result.notes
    assert right or "TV102" in codes(result)


# ------------------------------------------------------------------------------------------------------ certificates
def test_an_enumerated_proof_has_no_certificate_and_says_why(tmp_path: Path) -> None:
    options = CheckOptions(cache=None, certificate=True)
    source = f"{HEAD}def kernel(out):\n    i = ct.bid(0)\n    {STORE}\n"
    result = judged(tmp_path, source, SPEC.format(grid=[16], args=OUT, more=""), options)
    assert result.verdict is Verdict.PROVED
    assert result.certificate is None
    assert any(
        "no certificate: " in note and "enumerated in the reference interpreter" in note for note in result.notes
    )


@pytest.mark.parametrize("body", ["ct.store(out, (mixed(i), 0), x @ y)", "ct.store(out, (folded(i), 0), x @ y)"])
def test_a_wide_product_is_not_computed(tmp_path: Path, body: str) -> None:
    """Of tiles with a million lanes whose values go nowhere only the places count."""
    loads = "x = ct.load(a, (i, 0), (512, 1024))\ny = ct.load(b, (0, 0), (1024, 1024))\n"
    args = 'a = "f16[8192, 1024]", b = "f16[1024, 1024]", out = "f16[8192, 1024]"'
    result = checked(tmp_path, loads + body, args)
    assert result.verdict is (Verdict.PROVED if "mixed" in body else Verdict.REFUTED), result.notes
