"""TV712: reads of arrays that hold nothing when the launch begins, right ones beside ones that lack a premise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.written_kernel import judged, unit_at, written

from tileverify.contract.as_terms import build_contract
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.symbolic.summary import Access, AccessSummary, Footprint, Site, ViewFootprint
from tileverify.pipeline.unit_summary import summary_of
from tileverify.results import KernelResult, Verdict
from tileverify.results.codes import TV
from tileverify.verifier.obligations.answers import Answer
from tileverify.verifier.obligations.obligations import every_obligation
from tileverify.verifier.obligations.prepare import Preparer, launch_facts
from tileverify.verifier.smt import Solver

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, flags, work, out, n: int):\n    i = ct.bid(0)\n"
ARGS = 'x = "f32[M, N]", flags = "i32[M]", work = "f32[M, N]", out = "f32[M, N]", n = "i32"'
FILL = "ct.store(work, (i, k), ct.load(x, (i, k), (1, 64)))\n"
USE = "ct.store(out, (i, k), ct.load(work, (i, k), (1, 64)))\n"
TILES = "ct.cdiv(x.shape[1], 64)"

PROVED = {
    "one-tile": f"    k = 0\n    {FILL}    {USE}",
    "loop-after-loop": f"    for k in range({TILES}):\n        {FILL}    for k in range({TILES}):\n        {USE}",
    "in-one-iteration": f"    for k in range({TILES}):\n        {FILL}        {USE}",
    "in-one-iteration-that-may-break": (
        f"    k = 0\n    while k < n:\n        if k >= {TILES}:\n            break\n"
        f"        {FILL}        {USE}        k += 1\n"
    ),
    "fewer-are-read": f"    for k in range({TILES}):\n        {FILL}    for k in range({TILES} - 1):\n        {USE}",
    "in-one-branch": f"    k = 0\n    if n > 3:\n        {FILL}        {USE}",
    "either-branch": f"    k = 0\n    if n > 3:\n        {FILL}    else:\n        {FILL}    {USE}",
    "behind-a-return": f"    k = 0\n    if n > 3:\n        return\n    {FILL}    {USE}",
    "by-the-same-data": (
        f"    k = 0\n    if ct.load(flags, (i,), ()).item() > 3:\n        {FILL}"
        f"    if ct.load(flags, (i,), ()).item() > 2:\n"
        f"        if ct.load(flags, (i,), ()).item() > 3:\n            {USE}"
    ),
    "same-mask": (
        "    at = ct.arange(64, dtype=ct.int32)\n    ct.scatter(work, (i, at), 1.0, mask=at < n)\n"
        "    ct.scatter(out, (i, at), ct.gather(work, (i, at), mask=at < n, padding_value=0.0))\n"
    ),
    "added-to-zero": (
        "    at = ct.arange(64, dtype=ct.int32)\n    ct.scatter(work, (i, at), 0.0)\n"
        "    ct.atomic_add(work, (i, at), 1.0)\n"
    ),
    "exchange-that-nobody-uses": "    ct.atomic_xchg(work, (i, 0), 1.0)\n    ct.atomic_add(work, (i, 0), 1.0)\n",
    "nothing-is-read": f"    k = 0\n    {FILL}",
}

REFUTED = {
    "before-the-store": f"    k = 0\n    {USE}    {FILL}",
    "never-stored": f"    k = 0\n    {USE}",
    "added-to-nothing": "    at = ct.arange(64, dtype=ct.int32)\n    ct.atomic_add(work, (i, at), 1.0)\n",
    "exchange-that-is-used": "    ct.store(out, (i, 0), ct.atomic_xchg(work, (i, 0), 1.0))\n",
    "one-branch-stores": f"    k = 0\n    if n > 3:\n        {FILL}    {USE}",
    "loop-of-no-rounds": f"    k = 0\n    for j in range(n):\n        {FILL}    {USE}",
    "one-tile-less": f"    for k in range({TILES} - 1):\n        {FILL}    for k in range({TILES}):\n        {USE}",
    "from-the-second": f"    for k in range(1, {TILES}):\n        {FILL}    for k in range({TILES}):\n        {USE}",
    "one-iteration-late": f"    for k in range({TILES}):\n        {USE}        {FILL}",
    "narrower-mask": (
        "    at = ct.arange(64, dtype=ct.int32)\n    ct.scatter(work, (i, at), 1.0, mask=at < n)\n"
        "    ct.scatter(out, (i, at), ct.gather(work, (i, at), mask=at <= n, padding_value=0.0))\n"
    ),
    "half-a-tile": "    ct.store(work, (i, 0), ct.ones((1, 32), ct.float32))\n    k = 0\n    " + USE,
    "another-row": f"    k = 0\n    ct.store(work, (M_1 - i, 0), ct.ones((1, 64), ct.float32))\n    {USE}".replace(
        "M_1", "x.shape[0] - 1"
    ),
}

UNDECIDED = {
    # Whether the store happens is a matter of data, of which one content shows nothing.
    "by-other-data": (
        f"    k = 0\n    if ct.load(flags, (i,), ()).item() > 3:\n        {FILL}"
        f"    if ct.load(flags, (i,), ()).item() > 2:\n        {USE}"
    ),
    # A loop that may end before the store.
    "loop-that-breaks": (
        f"    for j in range(4):\n        if ct.load(flags, (i,), ()).item() > j:\n            break\n"
        f"        k = 0\n        {FILL}    k = 0\n    {USE}"
    ),
    # Right, and out of reach: the store is in other iterations than the read.
    "other-iterations": (
        f"    for a in range(2):\n        for b in range(3):\n            k = a * 3 + b\n            {FILL}"
        f"    for a in range(3):\n        for b in range(2):\n            k = a * 2 + b\n            {USE}"
    ),
}


def verdict_on(folder: Path, body: str) -> KernelResult:
    requires = 'requires = ["N >= 384"]\n' if "a * 3 + b" in body else 'requires = ["N >= 64"]\n'
    return judged(folder, HEAD + body, f'kernel = "k"\ngrid = ["M"]\nempty = ["work"]\n{requires}args = {{ {ARGS} }}')


@pytest.mark.parametrize("name", PROVED)
def test_what_was_written_before_may_be_read(name: str, tmp_path: Path) -> None:
    result = verdict_on(tmp_path, PROVED[name])
    assert result.verdict is Verdict.PROVED, result.findings
    assert (TV.UNFILLED_READ in result.proved_codes) is (name != "nothing-is-read")


@pytest.mark.parametrize("name", REFUTED)
def test_what_nobody_wrote_is_told_with_element_and_launch(name: str, tmp_path: Path) -> None:
    result = verdict_on(tmp_path, REFUTED[name])
    assert result.verdict is Verdict.REFUTED, result.findings
    finding = next(each for each in result.findings if each.code == TV.UNFILLED_READ)
    assert finding.witness is not None
    assert finding.witness.element.startswith("work[")
    assert finding.witness.confirmed_by


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_nobody_knows_is_undecided(name: str, tmp_path: Path) -> None:
    result = verdict_on(tmp_path, UNDECIDED[name])
    assert result.verdict is Verdict.UNDECIDED, result.findings
    assert TV.UNFILLED_READ in {each.obligation for each in result.findings}


@pytest.mark.parametrize("name", [*REFUTED, *UNDECIDED])
def test_without_the_word_nothing_is_asked(name: str, tmp_path: Path) -> None:
    body = {**REFUTED, **UNDECIDED}[name]
    requires = 'requires = ["N >= 384"]' if "a * 3 + b" in body else 'requires = ["N >= 64"]'
    result = judged(tmp_path, HEAD + body, f'kernel = "k"\ngrid = ["M"]\n{requires}\nargs = {{ {ARGS} }}')
    assert TV.UNFILLED_READ not in {each.obligation or each.code for each in result.findings}
    assert TV.UNFILLED_READ not in result.proved_codes


# ------------------------------------------------------------------------------------------------ each premise
def unproved(unit: KernelUnit, summary: AccessSummary) -> list[Site | None]:
    """The reads that are not shown to be of what was written."""
    contract = build_contract(unit.launch)
    solver = Solver(launch_facts(contract))
    preparer = Preparer(summary, contract, solver)
    sites = [preparer.site(site) for site in summary.sites]
    asked = (each for each in every_obligation(sites, (), contract) if each.code == TV.UNFILLED_READ)
    return [each.first for each in asked if solver.decide(each.conditions).answer is not Answer.UNSATISFIABLE]


def packed(footprint: Footprint) -> Footprint:
    assert isinstance(footprint, ViewFootprint)
    return replace(footprint, packed=True)


CHANGES: dict[str, Callable[[Site], Site]] = {
    "no-token": lambda site: replace(site, waits=()),
    "another-array": lambda site: replace(
        site, footprint=replace(site.footprint, origin=replace(site.origin, name="out"))
    ),
    "compare-and-swap": lambda site: replace(site, mode="cas"),
    "a-sum": lambda site: replace(site, mode="add"),
    "several-devices": lambda site: replace(site, op="multimem_store_view_tko"),
    "half-of-a-byte": lambda site: replace(site, footprint=packed(site.footprint)),
    "an-atomic": lambda site: replace(site, access=Access.ATOMIC, mode="add"),
    "a-loop-that-may-have-ended": lambda site: replace(site, loops=tuple(replace(e, value=None) for e in site.loops)),
}
OF_THE_READ = ("no-token",)


@pytest.mark.parametrize("name", CHANGES)
def test_every_premise_counts(name: str, tmp_path: Path) -> None:
    body = PROVED["loop-after-loop"]
    spec = f'kernel = "k"\ngrid = ["M"]\nempty = ["work"]\nrequires = ["N >= 64"]\nargs = {{ {ARGS} }}'
    unit = unit_at(written(tmp_path, HEAD + body, spec))
    summary = summary_of(decode(unit.bytecode), unit)
    assert not unproved(unit, summary)
    wanted = Access.READ if name in OF_THE_READ else Access.WRITE

    def changed(site: Site) -> Site:
        return CHANGES[name](site) if site.origin.name == "work" and site.access is wanted else site

    left = unproved(unit, replace(summary, sites=tuple(map(changed, summary.sites))))
    assert {site.origin.name for site in left if site is not None} == {"work"}
