"""What is refuted of a kernel with a data-dependent place or mask shows its fault whatever the index array may hold.

Small kernels are put together at random.  For those that are refuted, contents are drawn here, by other means than the
prover's, that keep the facts of the launch; none may get blocks to the accesses at stake without the fault, unless that
is chance: the same values in another order show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import KernelResult, Verdict, Witness
from tileverify.results.claim import claim_from_json

from ..profiles import tries

ADDRESSES: Final = (
    "v", "v * TILE", "v // 2", "v % 7", "max(v, 500)", "min(v, 5)", "w", "0", "b", "b * TILE + v", "v * 3", "v - w",
    "v + 5000 * b",
)  # fmt: skip
GUARDS: Final = ("v == v", "v != 0", "v == 1", "v > 2", "v < b", "v >= 0", "v > 5000", "v != w", "v % 2 == 0")
TILES: Final = (1, 16, 8192)
SIZES: Final = ((9, 64), (12, 1 << 18))
"""Elements of the index array, each with a block, and of the output, in which contents are drawn; at least as many as
the witness has, and places enough for all tiles."""
KERNELS: Final = 24
DRAWN: Final = tries(short=10, long=40)
"""Contents for each kernel, and each of the sizes."""
LIKE: Final = 12

Keeps = Callable[[Sequence[int], int], bool]


def _distinct(values: Sequence[int], n: int) -> bool:
    return len(set(values)) == len(values)


FACTS: Final[dict[tuple[str, ...], Keeps]] = {
    (): lambda values, n: True,
    ("injective(idx)",): _distinct,
    ("range(idx, 0, 2)",): lambda values, n: all(v in (0, 1) for v in values),
    ("range(idx, 0, N)",): lambda values, n: all(0 <= v < n for v in values),
    ("injective(idx)", "range(idx, 0, N)"): lambda v, n: _distinct(v, n) and 0 <= min(v) <= max(v) < n,
    ("nondecreasing(idx)",): lambda values, n: list(values) == sorted(values),
    ("multiples(idx, 16)",): lambda values, n: all(v % 16 == 0 for v in values),
    ("permutation(idx)",): lambda values, n: sorted(values) == list(range(len(values))),
}  # fmt: skip

KERNEL: Final = """
@ct.kernel
def k{number}(idx, out, TILE: ct.Constant[int]):
    b = ct.bid(0)
    v = ct.load(idx, index=(b,), shape=()).item()
    w = ct.load(idx, index=(b // 2,), shape=()).item()
    if {guard}:
        ct.scatter(out, ({address} + ct.arange(TILE, dtype=ct.int32),), b)
"""
LAUNCH: Final = """
[[launch]]
kernel = "k{number}"
grid = ["R"]
data = [{data}]
args = {{ idx = "i32[R]", out = "i32[N]", TILE = {tile} }}
"""


@dataclass(frozen=True, slots=True)
class Made:
    address: str
    guard: str
    tile: int
    facts: tuple[str, ...]


EVERY: Final = [Made(*parts) for parts in product(ADDRESSES, GUARDS, TILES, FACTS)]


def contents(random: Random, count: int, n: int, keeps: Keeps) -> Iterator[tuple[int, ...]]:
    """Values of all kinds that keep the facts: near and far apart, alike but for some, in order, small and large."""
    for _ in range(20 * DRAWN):
        step = random.choice((1, 1, 2, 3, 16, 1000, 8192, 10_000, 1 << 20))
        base = random.choice((0, 0, 0, 1, -1, 7, 501, 6000, n - count, -5000))
        match random.randrange(5):
            case 0:
                values = [base + step * i for i in range(count)]
            case 1:
                values = [base + step * random.randrange(count) for _ in range(count)]
            case 2:
                values = [base] * count
                values[random.randrange(count)] = base + step
            case 3:
                values = [random.randrange(n) for _ in range(count)]
            case _:
                values = random.sample(range(base, base + 2 * count), count)
        values = random.choice((sorted, lambda each: random.sample(each, len(each)), list))(values)
        if keeps(values, n):
            yield tuple(values)


def _launch(witness: Witness) -> Mapping[str, Any]:
    assert witness.launch is not None
    return witness.launch


def _fault(replayer: Replayer, result: KernelResult, sizes: tuple[int, int], values: Sequence[int]) -> bool | None:
    """Whether the launch shows a fault with these contents; ``None`` where no block gets to what is at stake."""
    witness = next(finding.witness for finding in result.findings if finding.witness)
    _, claim = claim_from_json(_launch(witness))
    count, places = sizes
    arrays = {
        "idx": ConcreteArray("i32", (count,), (1,), dict(enumerate(values)), 0, "idx"),
        "out": ConcreteArray("i32", (places,), (1,), {}, 0, "out"),
    }
    shown = replayer.anywhere(ConcreteLaunch((count, 1, 1), arrays, {}), replace(claim, block_a=(0, 0, 0)))
    if shown.confirmation is not None or shown.otherwise:
        return True
    return False if shown.at_stake else None


def _sizes(result: KernelResult) -> tuple[int, int]:
    """The most elements of both arrays that a witness has: in smaller launches its fault need not be there."""
    witnesses = [_launch(finding.witness)["arrays"] for finding in result.findings if finding.witness]
    count, places = (max(arrays[name]["shape"][0] for arrays in witnesses) for name in ("idx", "out"))
    return count, places


def _escapes(replayer: Replayer, result: KernelResult, made: Made, seed: int) -> Iterator[tuple[int, ...]]:
    """Contents without the fault, which no others show either that are like them."""
    random, keeps = Random(seed), FACTS[made.facts]
    least = _sizes(result)
    for few in SIZES:
        count = max(few[0], least[0])
        sizes = (count, max(few[1], least[1], count * made.tile))
        drawn = dict.fromkeys(contents(random, *sizes, keeps))
        for values in list(drawn)[:DRAWN]:
            if _fault(replayer, result, sizes, values) is not False:
                continue
            if not any(_fault(replayer, result, sizes, other) for other in _alike(random, values, sizes[1])):
                yield values


def _alike(random: Random, values: Sequence[int], n: int) -> Iterator[tuple[int, ...]]:
    """Contents of which every fact holds that holds of ``values``: no fact can keep these and exclude those."""
    facts = [keeps for keeps in FACTS.values() if keeps(values, n)]
    low, high, step = min(values), max(values) + 1, max(1, gcd(*values))
    count = len(values)
    near = [low + step * i for i in range(count)]
    others = [random.sample(values, count) for _ in range(LIKE)] + [near, random.sample(near, count)]
    for _ in range(LIKE):
        places = range(low, high, step)
        others.append(random.sample(places, count) if _distinct(values, n) else random.choices(places, k=count))
    for other in others:
        in_order = sorted(other) if list(values) == sorted(values) else other
        if all(keeps(in_order, n) for keeps in facts):
            yield tuple(in_order)


def _units(folder: Path, chosen: Sequence[Made]) -> Iterator[KernelUnit]:
    source, spec = ["import cuda.tile as ct\n"], []
    for number, made in enumerate(chosen):
        source.append(KERNEL.format(number=number, guard=made.guard, address=made.address))
        data = ", ".join(f'"{fact}"' for fact in made.facts)
        spec.append(LAUNCH.format(number=number, data=data, tile=made.tile))
    file = folder / "made.py"
    file.write_text("".join(source))
    (folder / "made.tileverify.toml").write_text("".join(spec))
    for unit in discover([str(file)]):
        assert isinstance(unit, KernelUnit), unit
        yield unit


def _wrong(folder: Path, chosen: Sequence[Made]) -> tuple[int, list[tuple[Made, tuple[int, ...]]]]:
    """How many of the kernels are refuted, and contents that clear them."""
    refuted, wrong = 0, []
    for unit in _units(folder, chosen):
        result = check_unit(unit)
        if result.verdict is Verdict.ERROR:  # the facts shut the guard: nothing is left to do
            assert {finding.code for finding in result.findings} == {"TV004"}
            continue
        if result.verdict is Verdict.REFUTED:
            refuted += 1
            module = decode(unit.bytecode)
            replayer = Replayer(module, entry_of(module, unit), unit.parameters)
            made = chosen[int(result.kernel[1:])]
            wrong += [(made, values) for values in _escapes(replayer, result, made, refuted)]
    return refuted, wrong


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (Made("v", "v == v", 8192, ("injective(idx)",)), Verdict.UNDECIDED),
        (Made("v", "v == v", 8192, ("injective(idx)", "range(idx, 0, N)")), Verdict.UNDECIDED),
        (Made("w", "v == v", 8192, ("injective(idx)", "range(idx, 0, N)")), Verdict.REFUTED),
        (Made("0", "v != 0", 16, ("range(idx, 0, 2)",)), Verdict.UNDECIDED),
        (Made("0", "v >= 0", 16, ("range(idx, 0, 2)",)), Verdict.REFUTED),
        (Made("max(v, 500)", "v == v", 1, ("injective(idx)",)), Verdict.UNDECIDED),
        (Made("v % 7", "v == v", 1, ("injective(idx)",)), Verdict.REFUTED),
        (Made("v % 7", "v > 2", 1, ("permutation(idx)",)), Verdict.REFUTED),
        (Made("max(v, 500)", "v == v", 8192, ("injective(idx)", "range(idx, 0, N)")), Verdict.UNDECIDED),
        (Made("v // 2", "v == v", 8192, ("injective(idx)",)), Verdict.UNDECIDED),
        (Made("v * 3", "v != w", 8192, ("injective(idx)",)), Verdict.UNDECIDED),
        (Made("w", "v != w", 8192, ("injective(idx)",)), Verdict.UNDECIDED),
        (Made("w", "v != w", 8192, ("injective(idx)", "range(idx, 0, N)")), Verdict.REFUTED),
    ],
)
def test_what_contents_can_clear_is_undecided(made: Made, verdict: Verdict, tmp_path: Path) -> None:
    """Rows far apart once all is done to their numbers, one block let through, values beyond a limit or outside
    the array clear a kernel; others nothing clears."""
    (unit,) = _units(tmp_path, [made])
    result = check_unit(unit)
    assert result.verdict is verdict, result.findings
    assert {finding.code for finding in result.findings} == {"TV101" if verdict is Verdict.REFUTED else "TV901"}
    if made.guard == "v != 0":
        assert "shares(idx, 1)" in result.findings[0].hints[0].text


@pytest.mark.random
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_contents_clear_a_refuted_kernel(seed: int, tmp_path: Path) -> None:
    refuted, wrong = _wrong(tmp_path, Random(seed).sample(EVERY, KERNELS))
    assert refuted, "kernels at fault whatever they read must be among those drawn"
    assert not wrong


@pytest.mark.slow
def test_no_contents_clear_one_of_many_refuted_kernels(tmp_path: Path) -> None:
    refuted, wrong = _wrong(tmp_path, Random(99).sample(EVERY, 400))
    assert refuted > 20
    assert not wrong


IN_PLACE: Final = """
import cuda.tile as ct

@ct.kernel
def gradients(mask, logits, out, TILE: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    if ct.load(mask, (row, column), shape=()) != 0:
        for k in range(ct.num_tiles(logits, axis=2, shape=(1, 1, TILE))):
            tile = ct.load(logits, (row, column, k), (1, 1, TILE))
            ct.store(out, (row, column, k), tile * 2.0)
"""

IN_PLACE_LAUNCH: Final = """
[[launch]]
kernel = "gradients"
grid = [2, 16]
requires = ["out is logits"]
overlap = [["out", "logits"]]
args = { mask = "i32[2, 16]", logits = "f32[2, 16, 8192]", out = "f32[2, 16, 8192]", TILE = 1024 }
"""


def test_a_launch_of_many_blocks_leaves_steps_for_all_contents(tmp_path: Path) -> None:
    """In place, which the compiler was not told: each block whose mask is set is at fault, whichever these are."""
    unit = unit_at(written(tmp_path, IN_PLACE, IN_PLACE_LAUNCH, "gradients"))
    result = check_unit(unit)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV201"})


OUTSIDE: Final = """
import cuda.tile as ct

@ct.kernel
def outside(idx, out):
    b = ct.bid(0)
    v = ct.load(idx, index=(b,), shape=()).item()
    if {guard}:
        ct.scatter(out, ({address},), b, check_bounds=False)
"""
OUTSIDE_LAUNCH: Final = """
[[launch]]
kernel = "outside"
grid = ["R"]
data = [{data}]
args = {{ idx = "i32[R]", out = "i32[R]" }}
"""


@pytest.mark.parametrize(
    ("address", "guard", "data", "verdict"),
    [
        ("b + idx.shape[0]", "v == 1", "", Verdict.REFUTED),
        ("b + idx.shape[0]", "v >= 0 and v < idx.shape[0]", "", Verdict.REFUTED),
        ("b + 1", "v == v", "", Verdict.REFUTED),
        ("b + 1", "v == 1", "", Verdict.UNDECIDED),
        ("v + idx.shape[0]", "v == v", "", Verdict.UNDECIDED),
        ("v + idx.shape[0]", "v == v", '"range(idx, 0, R)"', Verdict.REFUTED),
    ],
)
def test_an_access_outside_whatever_lets_blocks_get_there(
    address: str, guard: str, data: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Nobody bounds what the index array holds: that clears a kernel only where it has a part in the address, or keeps
    those blocks away that go outside."""
    unit = unit_at(
        written(tmp_path, OUTSIDE.format(address=address, guard=guard), OUTSIDE_LAUNCH.format(data=data), "outside")
    )
    result = check_unit(unit)
    assert result.verdict is verdict, result.findings
    codes = {finding.code for finding in result.findings}
    assert codes == ({"TV302"} if verdict is Verdict.REFUTED else {"TV901"})
