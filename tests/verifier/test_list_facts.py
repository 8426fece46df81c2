"""What is said of every array of a list: used of the array that a question mentions, and found where it is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.backend.guard import LaunchRefused, compile_guard
from tileverify.backend.guard.arguments import ArrayValue, Value, spelled_out
from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import KernelUnit, LaunchSpec, SameArray
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

FILE = ROOT / "contract" / "every_array_of_list.py"


def aligned_rows(requires: list[str]) -> KernelResult:
    """The kernel that was compiled for aligned arrays with rows of 64, under another contract that nobody wrote."""
    (unit,) = (
        each for each in discover([str(FILE)]) if isinstance(each, KernelUnit) and each.launch.name == "rows-of-a-tile"
    )
    kept = [
        each for each in unit.launch.requires if not isinstance(each, SameArray) and print_expression(each) in requires
    ]
    launch = replace(unit.launch, requires=tuple(kept), requires_text=tuple(requires), origin="inferred")
    return check_unit(replace(unit, launch=launch))


def test_what_a_promise_needs_of_every_array_is_a_clause() -> None:
    found = aligned_rows(["xs.shape[1] == 64"])
    assert found.verdict is Verdict.PROVED, found.findings
    assert {"xs.address % 16 == 0", "xs.strides[0] % 4 == 0"} <= set(found.requires)


def test_a_clause_on_every_array_is_in_the_certificate(tileverify: CommandLine) -> None:
    for name in ("k.py", "k.tileverify.toml"):
        own = FILE.with_suffix("".join(Path(name).suffixes))
        Path(name).write_text(own.read_text())
    checked = tileverify("check", "k.py::double_rows::rows-of-a-tile", "--no-cache", "--certificate", "certificates")
    assert checked.code == 0, checked.out
    rechecked = tileverify("recheck", "certificates")
    assert rechecked.code == 0, rechecked.out
    assert "xs.strides[0] % 4 == 0" in rechecked.out
    (certificate,) = Path("certificates").glob("*.tvcert.json")
    text = certificate.read_text()
    assert "xs.strides[0] % 4 == 0" in text
    certificate.write_text(text.replace("xs.strides[0] % 4 == 0", "xs.strides[0] % 2 == 0"))
    assert tileverify("recheck", "certificates").code != 0


def test_the_words_of_the_descriptors_are_no_words_of_the_arrays() -> None:
    """`xs.address` in a contract is that of every array; what the list's own pointer is nobody asks."""
    unsaid = aligned_rows(["xs.shape[1] == 64", "xs.strides[0] % 4 == 0"])
    assert "xs.address % 16 == 0" in unsaid.requires


LIST = {
    "kernel": "k",
    "grid": ["M"],
    "requires": ["xs.shape[0] <= M", "xs.address % 8 == 0"],
    "args": {"xs": {"list": "f32[n]", "length": "L"}, "y": "f32[M]"},
}


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ([(64, 5), (128, 8)], None),
        ([(64, 5), (132, 8)], r"xs\[1\]\.address % 8 == 0"),
        ([(64, 9), (128, 8)], r"xs\[0\]\.shape\[0\] <= M"),
        ([], r"xs\.length >= 1"),
    ],
)
def test_a_guard_asks_every_array_and_that_there_is_one(arrays: list[tuple[int, int]], problem: str | None) -> None:
    spec: LaunchSpec = build_launch(RawLaunch(LIST, "k.tileverify.toml", 1, 0), "0", None)
    guard = compile_guard(spelled_out(spec, {"xs": len(arrays)}).launch, (), frozenset())
    given: list[Value] = [len(arrays), *(ArrayValue(address, (size,), (1,), "f32") for address, size in arrays)]
    given.append(ArrayValue(4096, (8,), (1,), "f32"))
    if problem is None:
        guard.check(given, (8, 1, 1))
    else:
        with pytest.raises(LaunchRefused, match=f"'{problem}' does not hold"):
            guard.check(given, (8, 1, 1))


def test_clauses_of_a_proof_are_said_of_every_array() -> None:
    spec = build_launch(RawLaunch(LIST, "k.tileverify.toml", 1, 0), "0", None)
    spelled = spelled_out(spec, {"xs": 2})
    assert spelled.clauses(["M >= 1", "xs.shape[0] >= 3"]) == [
        "M >= 1",
        "xs.length >= 1",
        "xs[0].shape[0] >= 3",
        "xs[1].shape[0] >= 3",
    ]


@pytest.mark.parametrize(("elements", "verdict"), [((64, 128), Verdict.PROVED), ((64, 96), Verdict.ERROR)])
def test_what_is_said_of_arrays_in_numbers_is_said_of_their_numbers(
    tmp_path: Path, elements: tuple[int, ...], verdict: Verdict
) -> None:
    """A contract whose own arrays are not so has no launch."""
    (tmp_path / "k.py").write_text(FILE.read_text())
    each = ", ".join(f'"f32[{size}]"' for size in elements)
    (tmp_path / "k.tileverify.toml").write_text(
        '[[launch]]\nkernel = "double_arrays"\ngrid = [2]\nrequires = ["xs.shape[0] % 64 == 0"]\n'
        f'args = {{ xs = {{ list = "f32[n]", length = 2, elements = [{each}] }}, TILE = 64 }}\n'
    )
    found = [each for each in check_paths([str(tmp_path / "k.py")]).results if each.kernel == "double_arrays"]
    assert [each.verdict for each in found] == [verdict]
