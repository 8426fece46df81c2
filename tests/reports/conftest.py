"""Hand-made reports that show everything a report can hold, with the sources they speak of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.results import (
    Elements,
    Finding,
    Hint,
    KernelResult,
    ObligationCount,
    Report,
    SeenValues,
    SideValue,
    SourceSite,
    Suppression,
    SuppressionKind,
    Times,
    Verdict,
    Witness,
)

SOURCES = {
    "matmul.py": "import cuda.tile as ct\n",
    "halves.py": """\
import cuda.tile as ct


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(64,))
    ct.store(out, index=(i // 2,), tile=tile)
""",
    "stencil.py": """\
import cuda.tile as ct


@ct.kernel
def smooth(a):
\ti = ct.bid(0)
\tc = "Größe 寬度"; left = ct.load(a, index=(i - 1,), shape=(16,)) + 1.0
\tct.store(
\t    a,
\t    index=(i,),
\t    tile=left,
\t)
""",
    "tile.cu": """\
__tile_global__ void scatter(int *idx, float *out) {
    auto p = out + ct::load(idx);
    ct::store<int>(p, f(1)); // weak
}
""",
}

SHA = "0123456789abcdef" * 4


def proved() -> KernelResult:
    return KernelResult(
        file="matmul.py",
        kernel="matmul",
        launch="gemm-f16",
        verdict=Verdict.PROVED,
        holds_for="any",
        deterministic=True,
        requires=("grid.y == 1", "grid.x <= cdiv(M, 128) * cdiv(N, 128)"),
        assumes=("injective(idx)",),
        obligations=ObligationCount(12, 9, 3),
        proved_codes=("TV101", "TV102", "TV301"),
        stated=("M >= 1", "K % 64 == 0"),
        arguments=('a = "f16[M, K]"', "tile = 64"),
        bytecode_sha256=SHA,
        time_ms=Times(812.25, 1.5, 4.25, 28.125),
        line=9,
    )


def inferred() -> KernelResult:
    return KernelResult(
        file="matmul.py",
        kernel="scale",
        launch="inferred",
        verdict=Verdict.PROVED,
        holds_for="sizes",
        deterministic=False,
        obligations=ObligationCount(2, 2, 0),
        bytecode_sha256=SHA,
        time_ms=Times(100.0, 0.2, 0.3, 0.1),
        notes=("no launch spec: ranks inferred from the kernel, float32, contiguous, any grid",),
        cached=True,
    )


def conditional() -> KernelResult:
    """A proof of some launches of a contract that nobody wrote."""
    return KernelResult(
        file="halves.py",
        kernel="halves",
        launch="inferred",
        verdict=Verdict.PROVED,
        holds_for="any",
        deterministic=True,
        contract="inferred",
        requires=("P % 4 == 0", "A == 1 or B == 1"),
        limits=("M * N < 2**31",),
        conditional=True,
        obligations=ObligationCount(3, 2, 1),
        proved_codes=("TV301",),
        stated=("any grid",),
        bytecode_sha256=SHA,
        time_ms=Times(90.0, 0.5, 0.75, 12.0),
        line=5,
    )


def limited() -> KernelResult:
    """A proof of every launch of usual size."""
    return KernelResult(
        file="stencil.py",
        kernel="smooth",
        launch="0",
        verdict=Verdict.PROVED,
        holds_for="any",
        deterministic=True,
        limits=("K <= 2147483616", "N >= 1"),
        obligations=ObligationCount(2, 2, 0),
        proved_codes=("TV301",),
        stated=("grid = (cdiv(N, 16))",),
        bytecode_sha256=SHA,
        time_ms=Times(90.0, 0.5, 0.75, 12.0),
        line=5,
    )


def refuted_one_place() -> KernelResult:
    site = SourceSite("halves.py", 8, 4, "store", "out", function="halves", expression="out[i // 2 * 64 + lane]")
    return KernelResult(
        file="halves.py",
        kernel="halves",
        launch="0",
        verdict=Verdict.REFUTED,
        findings=(
            Finding(
                "TV101",
                "two tile blocks write the same elements of out",
                sites=(site, site),
                witness=Witness(
                    sizes={"N": 128},
                    grid=(4, 1, 1),
                    block_a=(2, 0, 0),
                    block_b=(3, 0, 0),
                    element="out[64:128]",
                    variables=(("bid.x", 2, 3), ("i // 2", 1, 1), ("lane", 0, 0)),
                    confirmed_by="reference interpreter",
                    elements=Elements("out", ((64, 128),), 64),
                    values=SeenValues(
                        "out[64]", (SideValue("a", "store", "129.0"), SideValue("b", "store", "193.0")), counting=True
                    ),
                ),
                hints=(Hint("split-output-index", "maybe", "give each block its own index: index=(i,)"),),
            ),
        ),
        obligations=ObligationCount(4, 2, 2),
        bytecode_sha256=SHA,
        time_ms=Times(90.0, 0.5, 0.75, 12.0),
        line=5,
    )


def refuted_two_places() -> KernelResult:
    column = len('\tc = "Größe 寬度"; left = '.encode())
    load = SourceSite("stencil.py", 7, column, "load", "a", call_chain=(("stencil.py", 7, column), ("main.py", 3, 0)))
    store = SourceSite("stencil.py", 8, 1, "store", "a")
    witness = Witness(
        sizes={"N": 32},
        grid=(2, 1, 1),
        block_a=(1, 0, 0),
        block_b=(0, 0, 0),
        element="a[0] and 6 more",
        scalars={"n": 7},
        strides={"ld": 1},
        data={"idx": (0, 0, 3)},
        variables=(("寬", 1, 0), ("long name of a variable", -5, None)),
        confirmed_by="reference interpreter",
        elements=Elements("a", (), 7),
        values=SeenValues("a[0]", (SideValue("a", "load", "0.0", "about 1.5"), SideValue("b", "store", "about 1.5"))),
    )
    cu = SourceSite("tile.cu", 3, 4, "store", "out")
    return KernelResult(
        file="stencil.py",
        kernel="smooth",
        launch="0",
        verdict=Verdict.REFUTED,
        findings=(
            Finding("TV102", "one tile block reads what another one writes", sites=(load, store), witness=witness),
            Finding(
                "TV202",
                "two lanes of one store hit the same element",
                sites=(cu,),
                witness=Witness(
                    {},
                    (1, 1, 1),
                    (0, 0, 0),
                    (0, 0, 0),
                    "out[3]",
                    variables=(("lane", 0, 5),),
                    values=SeenValues("out[3]", (SideValue("a", "store", "1"), SideValue("b", "store", "1"))),
                ),
            ),
            Finding(
                "TV402",
                "divisor may be 0",
                sites=(SourceSite(None, None, None, "divide", ""),),
                witness=Witness({"N": 0}, (1, 1, 1), (0, 0, 0), None, "", variables=(("N", 0, None),)),
            ),
        ),
        bytecode_sha256=SHA,
    )


def undecided() -> KernelResult:
    missing = SourceSite("gone.py", 4, 0, "store", "out", expression="out[idx[i]]")
    return KernelResult(
        file="gone.py",
        kernel="scatter",
        launch="0",
        verdict=Verdict.UNDECIDED,
        findings=(
            Finding(
                "TV901",
                "where out is written depends on idx; state injective(idx) if the data guarantees it",
                sites=(missing, missing),
                obligation="TV101",
            ),
        ),
        obligations=ObligationCount(3, 2, 0),
        stated=("N >= 1",),
        bytecode_sha256=SHA,
        time_ms=Times(1.0, 1.0, 1.0, 1500.0),
    )


def failed() -> KernelResult:
    return KernelResult(
        file="halves.py",
        kernel="",
        launch="",
        verdict=Verdict.ERROR,
        findings=(Finding("TV001", "ct.load() takes no argument 'shapes'", (SourceSite("halves.py", 7, 11, "", ""),)),),
    )


def hostile() -> KernelResult:
    site = SourceSite("evil\x1b[2J.py", 1, 0, "store", "o\x1b]0;title\x07ut", expression="a\u202eb")
    return KernelResult(
        file="evil\x1b[2J.py",
        kernel="k\nproved  all.py::all",
        launch="\x9b31m",
        verdict=Verdict.REFUTED,
        findings=(
            Finding(
                "TV101",
                "line\r\x1b[1Aover",
                sites=(site, site),
                witness=Witness(
                    {"N\x08": 1},
                    (1, 1, 1),
                    (0, 0, 0),
                    (0, 0, 0),
                    "\udcff",
                    variables=(("\x1b[8m", 1, 2),),
                    confirmed_by="x",
                    elements=Elements("\x1b[2J", ((0, 1),), 1),
                    values=SeenValues("o\x07ut[0]", (SideValue("b", "store", "\x1b[1A7"),)),
                ),
                hints=(Hint("i\x00d", "maybe", "[red]not markup[/red] :smile:"),),
            ),
        ),
        bytecode_sha256=SHA,
    )


def suppressed() -> tuple[KernelResult, ...]:
    """One kernel of which nothing is left that fails, one of which something is."""
    kinds = (
        Suppression(SuppressionKind.COMMENT, "blocks write equal values", "2027-12-31", "halves.py", 8),
        Suppression(SuppressionKind.TABLE, "bytecode of a vendor", None, "pyproject.toml", None),
        Suppression(SuppressionKind.BASELINE, "known in baseline.json"),
    )
    excused, partly = refuted_one_place(), refuted_two_places()
    excused = replace(excused, findings=(replace(excused.findings[0], suppression=kinds[0], fingerprint="0" * 32),))
    findings = (
        replace(partly.findings[0], suppression=kinds[1], fingerprint="1" * 32),
        replace(partly.findings[0], suppression=kinds[2], fingerprint="2" * 32),
        replace(partly.findings[0], fingerprint="3" * 32),
    )
    return excused, replace(partly, findings=findings)


ABOUT_SUPPRESSIONS = (
    Finding("TV601", "the suppression of TV102 hides nothing", (SourceSite("halves.py", 5, None, "", ""),)),
    Finding("TV603", "the suppression has no reason\x1b[2J", (SourceSite("stencil.py", 5, None, "", ""),)),
)

REPORTS = {
    "proved": (proved(), inferred()),
    "refuted-one-place": (refuted_one_place(),),
    "refuted-two-places": (refuted_two_places(),),
    "undecided": (undecided(),),
    "error": (failed(),),
    "hostile": (hostile(),),
    "mixed": (proved(), refuted_one_place(), undecided(), failed()),
    "nothing": (),
    "suppressed": suppressed(),
    "conditional": (conditional(), limited(), proved()),
}


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Each of the reports, in a folder that holds their sources."""
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    about = ABOUT_SUPPRESSIONS if request.param == "suppressed" else ()
    return Report(REPORTS[request.param], tool_version="0.0.test", solver="z3 test", findings=about)
