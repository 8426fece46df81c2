"""Arrays that are written whole: right kernels of every usual form, each beside one that leaves something out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.corpus.launches import drawn_launches
from tests.corpus.written import written_elements
from tests.written_kernel import unit_at

from tileverify.contract.launch import KernelUnit
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict, WrittenArrays
from tileverify.results.claim import claim_from_json
from tileverify.results.codes import TV
from tileverify.results.json_report import result_from_json, result_to_json

HEAD = "import cuda.tile as ct\n\nC = ct.Constant[int]\n\n"


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel that writes ``out`` whole, and changes of its text or spec under which it does not."""

    body: str
    args: str
    grid: str
    twins: Mapping[str, tuple[str, str]]
    requires: str = ""


FLAT = 'out = "f32[N]"'
ROWS = 'out = "f32[M, N]"'

FORMS = {
    "tiles": Form(
        "    ct.store(out, index=(ct.bid(0),), tile=ct.zeros((64,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 64)"',
        {
            "rounded-down": ('"cdiv(N, 64)"', '"max(1, N // 64)"'),
            "one-short": ('"cdiv(N, 64)"', '"max(1, cdiv(N, 64) - 1)"'),
            "half-a-tile": ("zeros((64,)", "zeros((32,)"),
            "but-one": ("    ct.store", "    if ct.bid(0) != 3:\n        ct.store"),
            "only-some": ("    ct.store", "    if ct.bid(0) % 2 == 0:\n        ct.store"),
            "as-large": ("    ct.store", "    if out.shape[0] > 70:\n        ct.store"),
            "but-the-last": ("    ct.store", "    if ct.bid(0) + 1 < ct.num_blocks(0):\n        ct.store"),
        },
        'requires = ["N >= 1"]',
    ),
    "backwards": Form(
        "    ct.store(out, index=(ct.num_blocks(0) - 1 - ct.bid(0),), tile=ct.zeros((64,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 64)"',
        {"but-the-first": ("    ct.store", "    if ct.bid(0) > 0:\n        ct.store")},
    ),
    "two-axes": Form(
        "    ct.store(out, index=(ct.bid(1), ct.bid(0)), tile=ct.zeros((32, 64), ct.float32))\n",
        ROWS,
        '"cdiv(N, 64)", "cdiv(M, 32)"',
        {
            "upper-half": ('"cdiv(M, 32)"', '"cdiv(M, 64)"'),
            "diagonal": ("    ct.store", "    if ct.bid(0) == ct.bid(1):\n        ct.store"),
        },
    ),
    "quotient-and-remainder": Form(
        "    n = ct.cdiv(out.shape[1], 64)\n"
        "    i = ct.bid(0)\n"
        "    ct.store(out, index=(i // n, i % n), tile=ct.zeros((32, 64), ct.float32))\n",
        ROWS,
        '"cdiv(M, 32) * cdiv(N, 64)"',
        {
            "some-columns": ("    ct.store", "    if i % n < 2:\n        ct.store"),
            "one-short": ('cdiv(N, 64)"', 'cdiv(N, 64) - 1"'),
            "fewer-rows": ("cdiv(M, 32)", "cdiv(M, 64)"),
        },
        'requires = ["M * N >= 5000", "M <= 1000"]',
    ),
    "grid-stride": Form(
        "    for i in range(ct.bid(0), ct.cdiv(out.shape[0], 64), ct.num_blocks(0)):\n"
        "        ct.store(out, index=(i,), tile=ct.zeros((64,), ct.float32))\n",
        FLAT,
        '"min(N, 7)"',
        {
            "from-the-second": ("range(ct.bid(0),", "range(ct.bid(0) + 1,"),
            "to-the-last-but-one": ("ct.cdiv(out.shape[0], 64),", "ct.cdiv(out.shape[0], 64) - 1,"),
            "twice-as-far": ("ct.num_blocks(0))", "2 * ct.num_blocks(0))"),
            "whole-tiles": ("ct.cdiv(out.shape[0], 64),", "out.shape[0] // 64,"),
        },
        'requires = ["N >= 1"]',
    ),
    "rows-in-a-loop": Form(
        "    row = ct.bid(0)\n"
        "    for j in range(ct.cdiv(out.shape[1], 16)):\n"
        "        ct.store(out, index=(row, j), tile=ct.zeros((1, 16), ct.float32))\n",
        ROWS,
        '"M"',
        {
            "from-the-second": ("range(ct.cdiv", "range(1, ct.cdiv"),
            "every-other": ("ct.cdiv(out.shape[1], 16)):", "0, ct.cdiv(out.shape[1], 16), 2):"),
            "not-the-first-row": ('"M"', '"max(1, M - 1)"'),
            "triangle": ("ct.cdiv(out.shape[1], 16)):", "min(row + 1, ct.cdiv(out.shape[1], 16))):"),
        },
        'requires = ["M >= 1", "N >= 1"]',
    ),
    "scatter": Form(
        "    i = ct.bid(0) * 64 + ct.arange(64, dtype=ct.int32)\n"
        "    ct.scatter(out, (i,), ct.zeros((64,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 64)"',
        {
            "every-other-lane": ("(i,)", "(2 * i,)"),
            "dropped-lanes": ("(i,), ", "(ct.where(i % 64 < 60, i, -1),), "),
            "reversed-but-one": ("(i,)", "(out.shape[0] - 2 - i,)"),
            "every-other-tile": ("bid(0) * 64", "bid(0) * 128"),
        },
    ),
    "scatter-in-rows": Form(
        "    row = ct.bid(1) * 4 + ct.arange(4, dtype=ct.int32)\n"
        "    column = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)\n"
        "    ct.scatter(out, (row[:, None], column[None, :]), ct.zeros((4, 16), ct.float32))\n",
        'out = "f32[M, N; strides=(ld, 1)]"',
        '"cdiv(N, 16)", "cdiv(M, 4)"',
        {
            "three-of-four-rows": ("row[:, None]", "ct.where(row % 4 < 3, row, -1)[:, None]"),
            "a-row-short": ("row[:, None]", "ct.where(row + 1 < out.shape[0], row, -1)[:, None]"),
        },
    ),
    "exchanged-lanes": Form(
        "    i = ct.arange(4, dtype=ct.int32)\n"
        "    i = ct.bid(0) * 4 + i % 2 * 2 + i // 2\n"
        "    ct.scatter(out, (i,), ct.zeros((4,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 4)"',
        {"every-other": ("bid(0) * 4", "bid(0) * 8")},
    ),
    "either-side": Form(
        "    i = ct.bid(0)\n"
        "    if i < 3:\n"
        "        ct.store(out, index=(i,), tile=ct.zeros((64,), ct.float32))\n"
        "    else:\n"
        "        ct.store(out, index=(i,), tile=ct.ones((64,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 64)"',
        {"neither": ("    else:\n", "    elif i > 4:\n")},
    ),
    "two-stores": Form(
        "    i = ct.bid(0)\n"
        "    ct.store(out, index=(2 * i,), tile=ct.zeros((64,), ct.float32))\n"
        "    if 2 * i + 1 < ct.cdiv(out.shape[0], 64):\n"
        "        ct.store(out, index=(2 * i + 1,), tile=ct.ones((64,), ct.float32))\n",
        FLAT,
        '"cdiv(N, 128)"',
        {
            "one": ("    if 2 * i + 1 <", "    if 2 * i + 3 <"),
            "the-same": ("index=(2 * i + 1,)", "index=(2 * i,)"),
        },
    ),
    "added-up": Form(
        "    i = ct.bid(0) * 64 + ct.arange(64, dtype=ct.int32)\n    ct.atomic_add(out, (i,), 1.0)\n",
        FLAT,
        '"cdiv(N, 64)", "3"',
        {"one-short": ("bid(0) * 64", "bid(1) * 64")},
    ),
}  # fmt: skip
RIGHT = tuple(FORMS)
TWINS = tuple((form, twin) for form, each in FORMS.items() for twin in each.twins)


RIGHT_BUT_OPEN = {
    "a-loop-that-breaks": Form(
        "    i = ct.bid(0)\n"
        "    while i < ct.cdiv(out.shape[0], 64):\n"
        "        ct.store(out, index=(i,), tile=ct.zeros((64,), ct.float32))\n"
        "        i += ct.num_blocks(0)\n",
        FLAT,
        '"min(N, 7)"',
        {},
        'requires = ["N >= 1"]',
    ),
    "by-contents": Form(
        "    old = ct.load(out, index=(ct.bid(0),), shape=(1,)).item()\n"
        "    if old > 0:\n"
        "        ct.store(out, index=(ct.bid(0),), tile=ct.zeros((1,), ct.int32))\n"
        "    else:\n"
        "        ct.store(out, index=(ct.bid(0),), tile=ct.ones((1,), ct.int32))\n",
        'out = "i32[N]"',
        '"N"',
        {},
        'requires = ["N >= 1"]',
    ),
}  # fmt: skip
"""Written whole, but by a rule that says nothing there."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def unit_of(folder: Path, name: str, form: Form, change: tuple[str, str] | None = None) -> KernelUnit:
    body, grid = form.body, form.grid
    if change is not None:
        assert change[0] in body + grid
        body, grid = body.replace(*change), grid.replace(*change)
    path = folder / f"{name}.py"
    path.write_text(f"{HEAD}@ct.kernel\ndef k(out):\n{body}")
    spec = f'[[launch]]\nkernel = "k"\ngrid = [{grid}]\n{form.requires}\nargs = {{ {form.args} }}\n'
    path.with_suffix(".tileverify.toml").write_text(spec)
    return unit_at(path)


def with_the_word(unit: KernelUnit) -> KernelUnit:
    """The same launch, which says that ``out`` is complete."""
    return replace(unit, launch=replace(unit.launch, complete=("out",)))


def checked(unit: KernelUnit) -> KernelResult:
    return check_unit(unit, CheckOptions(complete=True, deny_requires=True))


@pytest.mark.parametrize("name", RIGHT)
def test_every_element_is_proved_to_be_written(name: str, folder: Path) -> None:
    unit = unit_of(folder, name, FORMS[name])
    result = checked(unit)
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.written is not None
    assert result.written.whole == ("out",), result.written
    assert result_from_json(result_to_json(result)).written == result.written
    for launch in drawn_launches(unit.launch, 3, seed=1):
        assert written_elements(unit, launch)["out"].all()
    asked = check_unit(with_the_word(unit), CheckOptions(deny_requires=True))
    assert asked.verdict is Verdict.PROVED
    assert asked.written == WrittenArrays(("out",))
    assert TV.NEVER_WRITTEN in asked.proved_codes


@pytest.mark.parametrize(("name", "twin"), TWINS, ids=lambda each: each)
def test_nothing_is_claimed_where_elements_stay_unwritten(name: str, twin: str, folder: Path) -> None:
    unit = unit_of(folder, f"{name}-{twin}".replace("-", "_"), FORMS[name], FORMS[name].twins[twin])
    result = checked(unit)
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.written is not None
    assert result.written.whole == ()
    launches = drawn_launches(unit.launch, 12, seed=2)
    assert any(not written_elements(unit, launch)["out"].all() for launch in launches), "the twin is right"
    (never,) = result.written.never
    assert result_from_json(result_to_json(result)).written == result.written
    asked = check_unit(with_the_word(unit), CheckOptions(deny_requires=True))
    assert asked.verdict is Verdict.REFUTED
    assert asked.holds_for is None
    (finding,) = asked.findings
    assert finding.code == TV.NEVER_WRITTEN
    assert finding.witness == never.witness
    assert never.witness.elements is not None
    assert never.witness.launch is not None
    launch, _ = claim_from_json(never.witness.launch)
    left = ~written_elements(unit, launch)["out"]
    assert left.sum() == never.witness.elements.count
    if never.witness.elements.ranges:
        assert left[tuple(slice(*each) for each in never.witness.elements.ranges)].all()


@pytest.mark.parametrize("name", RIGHT_BUT_OPEN)
def test_rules_say_nothing_where_they_cannot(name: str, folder: Path) -> None:
    unit = unit_of(folder, name, RIGHT_BUT_OPEN[name])
    result = checked(unit)
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.written == WrittenArrays((), ("out",))
    asked = check_unit(with_the_word(unit), CheckOptions(deny_requires=True))
    assert asked.verdict is Verdict.UNDECIDED
    assert [finding.obligation for finding in asked.findings] == [TV.NEVER_WRITTEN]
    for launch in drawn_launches(unit.launch, 3, seed=1):
        assert written_elements(unit, launch)["out"].all()
