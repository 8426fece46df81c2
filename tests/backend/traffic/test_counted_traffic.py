"""Bytes that a launch moves, counted from the summary and beside what the interpreter logs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import tileverify.corpus
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.backend.numbers.inputs import Given, make_inputs
from tileverify.backend.traffic.accounts import KernelAccounts, logged
from tileverify.backend.traffic.launch_numbers import small_values
from tileverify.backend.traffic.measured import traffic_of
from tileverify.backend.traffic.regions import NotCounted
from tileverify.contract.expression_parser import parse_size
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_summary import entry_of, summary_of, unit_traffic
from tileverify.results.details import Traffic
from tileverify.system.errors import UsageError

CORPUS = Path(tileverify.corpus.__file__).parent
FOLDERS = ("race_free", "showcase", "loops", "twins")
DRAWN = 14
"""Files of the corpus; others are drawn when the corpus grows."""


def units(path: Path | str) -> Iterator[KernelUnit]:
    for each in discover([str(path)]):
        assert isinstance(each, KernelUnit), each
        yield each


def traffic(name: str, launch: str, at: Mapping[str, int]) -> Traffic:
    (unit,) = (each for each in units(f"{CORPUS}/{name}") if each.launch.name == launch)
    return unit_traffic(unit, at)


def files() -> list[Path]:
    every = sorted(path for folder in FOLDERS for path in CORPUS.glob(f"{folder}/*.py"))
    return sorted(random.Random(7).sample(every, DRAWN))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_the_interpreter_moves_what_is_counted(path: Path) -> None:
    """In launches of which none is among those that `traffic_of` itself compares: others are drawn last."""
    compared = 0
    for unit in list(units(path))[:2]:
        module = decode(unit.bytecode)
        entry = entry_of(module, unit)
        try:
            accounts = KernelAccounts.of(entry, unit.parameters, unit.launch, summary_of(module, unit))
        except NotCounted:
            continue
        contract = ContractInNumbers(unit.launch)
        for number, values in enumerate(small_values(contract, entry)[3:8]):
            try:
                inputs = make_inputs(contract, Given(values, {}, {}, None, number + 100))
                account = accounts.at(inputs.launch)
            except (UsageError, NotCounted):
                continue
            log = logged(module, entry, unit.parameters, inputs)
            if log is not None:
                assert accounts.difference(account, log) == "", (unit.kernel, values)
                compared += 1
    if path.stem in ("axpy", "matmul", "stencil", "transpose", "matmul_swizzled", "layer_norm"):
        assert compared


# --------------------------------------------------------------------------------------- kernels by hand
def test_a_matrix_product_reads_each_matrix_once_for_each_tile_of_the_other_side() -> None:
    """In grouped order, too, where one block number gives both tiles."""
    found = traffic("showcase/matmul_swizzled.py", "any-size", {"M": 4096, "N": 512, "K": 1024})
    assert [(each.array, each.moves.expression) for each in found.accesses] == [
        ("A", "2 * M * K * cdiv(N, 128)"),
        ("B", "2 * K * N * cdiv(M, 128)"),
        ("C", "2 * M * N"),
    ]
    loads = 2 * 4096 * 1024 * 4 + 2 * 1024 * 512 * 32
    assert found.moves.bytes == (loads + 2 * 4096 * 512,) * 2
    least = 2 * (4096 * 1024 + 1024 * 512 + 4096 * 512)
    assert found.least.bytes == (least, least)
    assert found.ratio == (found.moves.bytes[0] / least,) * 2
    assert found.compared == 3


def test_causal_attention_moves_half_of_the_square() -> None:
    found = traffic("showcase/flash_attention.py", "grouped-causal", {"B": 1, "HK": 2, "S": 1000})
    keys = next(each for each in found.accesses if each.array == "K")
    rows = sum(min(1000, 128 * (block + 1)) for block in range(8))
    assert keys.moves.bytes == (8 * rows * 64 * 2,) * 2
    assert evaluate(parse_size(keys.moves.expression), {"B": 1, "HK": 2, "S": 1000}) == keys.moves.bytes[0]


def test_neighbours_are_moved_again_and_have_to_be_moved_once() -> None:
    found = traffic("race_free/stencil.py", "distinct-arrays", {"N": 1000})
    assert {(each.array, each.written): each.least.bytes[0] for each in found.arrays} == {
        ("x", False): 4000,
        ("out", True): 4000,
    }
    assert found.moves.bytes == ((999 + 1000 + 1000 + 1000) * 4,) * 2


def test_an_atomic_reads_and_writes() -> None:
    found = traffic("race_free/split_k_atomic.py", "four-parts", {"M": 64, "N": 64, "K": 512})
    (sums,) = (each for each in found.accesses if each.array == "C")
    assert sums.moves.bytes == (2 * 4 * 64 * 64 * 4,) * 2
    assert [each.least.bytes[0] for each in found.arrays if each.array == "C"] == [64 * 64 * 4] * 2


def test_contents_that_decide_make_a_bound() -> None:
    """Rows that are gathered may be one and the same, or none inside the table."""
    found = traffic("race_free/gather_rows.py", "ids-32-bit", {"T": 64, "V": 32, "D": 128})
    (table,) = (each for each in found.accesses if each.array == "table")
    assert table.moves.bytes == (0, 64 * 128 * 2)
    (rows,) = (each for each in found.arrays if each.array == "table")
    assert rows.least.bytes == (0, 32 * 128 * 2)
    assert table.moves.at_most
    assert found.ratio is not None
    assert found.ratio[0] < found.ratio[1]  # type: ignore[operator]


def test_a_kernel_that_waits_is_not_counted() -> None:
    found = traffic("protocols/lock.py::add_locked", "two-to-eight-blocks", {})
    assert "nobody knows before the launch how often the loop at line" in found.reason
    assert found.ratio is None


def test_an_expression_holds_beyond_the_sizes_at_which_the_grid_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grid ends at 4096 blocks of 64 elements: `4 * N` would be right in any launch of usual size."""
    monkeypatch.chdir(tmp_path)
    source = "import cuda.tile as ct\n\n@ct.kernel\ndef clear(x):\n    zero = ct.zeros((64,), ct.float32)\n"
    Path("clear.py").write_text(source + "    ct.store(x, index=(ct.bid(0),), tile=zero)\n")
    Path("clear.tileverify.toml").write_text(
        '[[launch]]\nkernel = "clear"\ngrid = ["min(cdiv(N, 64), 4096)"]\nargs = { x = "f32[N]" }\n'
    )
    (unit,) = units("clear.py")
    small = unit_traffic(unit, {"N": 1000})
    assert small.moves.bytes == (4000, 4000)
    large = unit_traffic(unit, {"N": 2**20})
    assert large.moves.bytes == (4 * 64 * 4096,) * 2
    for each in (small, large):
        for shown in (small, large):
            if each.moves.expression:
                assert evaluate(parse_size(each.moves.expression), shown.values) == shown.moves.bytes[0]


def test_an_interpreter_that_disagrees_takes_all_numbers_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelAccounts, "difference", lambda *_: "access 0 moves 4 to 4 bytes, the interpreter moved 8")
    (unit,) = (each for each in units(CORPUS / "race_free/axpy.py") if each.launch.name == "any-size")
    module = decode(unit.bytecode)
    found = traffic_of(module, entry_of(module, unit), unit.parameters, unit.launch, summary_of(module, unit), {})
    assert found.reason == "the interpreter disagrees: access 0 moves 4 to 4 bytes, the interpreter moved 8"
    assert found.moves.bytes == (0, 0)


def test_sizes_outside_the_contract_are_refused() -> None:
    with pytest.raises(UsageError, match="no free size, scalar or grid axis 'Q'"):
        traffic("race_free/axpy.py", "any-size", {"Q": 3})
