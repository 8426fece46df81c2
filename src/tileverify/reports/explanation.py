"""A finding in a few plain lines, for places that have no room for source and colours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..results import Finding, KernelResult, SourceSite, Witness
from ..results.codes import CODES
from ..system.printable import printable
from .causes import also
from .findings import values_text
from .reasons import position, suppressed_because


def explanation(result: KernelResult | None, finding: Finding, others: Sequence[Finding] = ()) -> str:
    """What is wrong, in which launch, who meets whom where, and what to do about it; lines of printable text.
    ``others``: further findings of the same cause."""
    return "\n".join(printable(line) for line in _lines(result, finding, others))


def title(finding: Finding) -> str:
    """``TV101 race-write-write``."""
    code = CODES.get(finding.code)
    return f"{finding.code} {code.name}" if code else finding.code


def sides(finding: Finding) -> tuple[str, ...]:
    """How to call the tile block of each site: ``block A (2, 0, 0)``; empty where no block is known."""
    witness = finding.witness
    if witness is None:
        return ("",) * len(finding.sites)
    if two_blocks(witness):
        names = (f"block A {witness.block_a}", f"block B {witness.block_b}")
        return tuple(names[min(number, 1)] for number in range(len(finding.sites)))
    return (f"block {witness.block_a}",) * len(finding.sites)


def two_blocks(witness: Witness) -> bool:
    """Whether the fault lies between two tile blocks, and not inside one."""
    return witness.block_b is not None and witness.block_b != witness.block_a


def action(site: SourceSite, finding: Finding) -> str:
    """``store out[64:128]``."""
    return f"{site.access} {finding.target(site) if site.array else ''}".strip()


def from_repository(file: str) -> str:
    """``file`` as GitHub names it: relative to the repository, which is ``GITHUB_WORKSPACE`` in its runners."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    path = Path(file)
    if workspace:
        whole = Path(os.path.abspath(path))
        if whole.is_relative_to(workspace):
            return whole.relative_to(workspace).as_posix()
    return path.as_posix()


def _lines(result: KernelResult | None, finding: Finding, others: Sequence[Finding]) -> Iterator[str]:
    yield finding.message.split("\n")[0]
    yield from (f"  | {line}" for line in finding.example)
    if result is not None and result.kernel:
        yield f"kernel {result.kernel}" + (f", launch {result.launch}" if result.launch else "")
    if finding.obligation and (asked := CODES.get(finding.obligation)):
        yield f"about {asked.code}: {asked.title}"
    told = zip(sides(finding), map(partial(_access, finding), finding.sites), strict=True)
    yield from dict.fromkeys(": ".join(filter(None, each)) for each in told)
    if finding.witness is not None:
        yield from _witness(finding.witness, values_text(finding))
    yield from also(finding, others)
    for hint in finding.hints:
        yield f"help: {hint.text} [{hint.id}, {hint.applicability}]"
    if finding.suppression is not None:
        yield f"suppressed: {suppressed_because(finding.suppression)}"
    if finding.code in CODES:
        yield f"more: tileverify explain {finding.code}"


def _access(finding: Finding, site: SourceSite) -> str:
    place = f" at {position(site.file, site.line)}" if site.file else ""
    return f"{action(site, finding)}{place}".strip()


def _witness(witness: Witness, values: str) -> Iterator[str]:
    known: dict[str, object] = {"grid": witness.grid}
    for group in (witness.sizes, witness.scalars, witness.strides, _data(witness.data)):
        known.update(group)
    yield "launch: " + ", ".join(f"{name} = {value}" for name, value in known.items())
    if values:
        yield f"values: {values}"


def _data(data: Mapping[str, tuple[int, ...]]) -> Mapping[str, list[int]]:
    return {name: list(contents) for name, contents in data.items()}
