"""Which findings are one: of a kernel, by their cause, and of two runs, by a fingerprint.

An addition of many blocks by load and store shows as a race of stores, two of stores with loads, and lanes that meet.
It is one mistake: it is mended in one place.  Findings have one cause where one proved repair mends them, where the
same store has a part in each, or where accesses leave their arrays by the same index.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..results import Finding, KernelResult, SourceSite, Verdict
from ..results.codes import BOUNDS, CODES, CONFLICTS, Family
from .snippets import Snippets


def with_causes(result: KernelResult) -> KernelResult:
    """``result`` with the cause of each of its findings, which have their fingerprints."""
    findings = result.findings
    leaders = _leaders(findings)
    caused = (replace(each, cause=findings[leader].fingerprint) for each, leader in zip(findings, leaders, strict=True))
    return replace(result, findings=tuple(caused))


def mistakes(result: KernelResult) -> list[Finding]:
    """The finding that is told of each mistake, whether or not fingerprints and causes are known yet."""
    findings = result.findings
    return [findings[number] for number in dict.fromkeys(_leaders(findings))]


def _leaders(findings: Sequence[Finding]) -> list[int]:
    """For each finding, the first of those that are one mistake with it."""
    leaders = list(range(len(findings)))
    for number in range(len(findings)):
        for earlier in range(number):
            if leaders[earlier] != leaders[number] and _is_one(findings[earlier], findings[number]):
                first, other = sorted((leaders[earlier], leaders[number]))
                leaders = [first if leader == other else leader for leader in leaders]
    return leaders


def cards(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[Finding, ...]]]:
    """One for each cause: the finding that is told, and what else comes of it.  What is suppressed has its own."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = not finding.cause or finding.suppression is not None
        groups.setdefault(number if alone else finding.cause, []).append(finding)
    return [(first, tuple(others)) for first, *others in groups.values()]


def also(finding: Finding, others: Sequence[Finding]) -> Iterator[str]:
    """``also TV101 at line 15: two tile blocks store to the same element of `db```, for what else is of a cause."""
    lines = {site.line for site in finding.sites}
    told: set[str] = set()
    for other in others:
        places = [site.line for site in other.sites if site.line is not None]
        line = next((each for each in places if each not in lines), places[0] if places else None)
        at = f" at line {line}" if line is not None else ""
        text = f"also {other.code}{at}: {other.message.splitlines()[0]}"
        if text not in told:
            told.add(text)
            yield text


def _is_one(first: Finding, second: Finding) -> bool:
    if first.level is not second.level or first.code.startswith("TV9") is not second.code.startswith("TV9"):
        return False
    if any(hint.edits and hint.edits in {other.edits for other in second.hints} for hint in first.hints):
        return True
    codes = {first.obligation or first.code, second.obligation or second.code}
    if codes.issubset(CONFLICTS):
        return bool(_written_places(first) & _written_places(second))
    return len(codes) == 1 and codes.issubset(BOUNDS) and bool(_indices(first) & _indices(second))


def _written_places(finding: Finding) -> set[tuple[str | None, int | None, int | None]]:
    return {
        (site.file, site.line, site.column)
        for site in finding.sites
        if site.access in ("store", "atomic") and site.line is not None
    }


def _indices(finding: Finding) -> set[str]:
    """The index terms of accesses, whatever their array is called."""
    return {
        site.expression.removeprefix(site.array) for site in finding.sites if site.expression and site.line is not None
    }


# -------------------------------------------------------------------------------------------------------------- checked
# What was proved of a kernel, in words: the kinds of obligations, each with the codes that stood for it.


_KINDS: Final[Mapping[Family, str]] = {
    Family.BETWEEN_BLOCKS: "races between blocks",
    Family.INSIDE_BLOCK: "order inside a block",
    Family.BOUNDS: "bounds",
    Family.PROMISE: "promises and arithmetic",
    Family.BEYOND: "memory that is filled",
}


def checked(result: KernelResult) -> str:
    """``races between blocks (TV101, TV102), bounds (TV301)``; nothing where nothing was proved.

    Of a proved kernel it is said, too, why there was no race to ask for.
    """
    return ", ".join(_kinds(result)) if result.proved_codes else ""


def _kinds(result: KernelResult) -> Iterator[str]:
    for family, words in _KINDS.items():
        codes = [code for code in result.proved_codes if CODES[code].family is family]
        if codes:
            yield f"{words} ({', '.join(codes)})"
        elif family is Family.BETWEEN_BLOCKS and result.verdict is Verdict.PROVED:
            yield f"{words} (they meet in atomics of their scope, or not at all)"


# --------------------------------------------------------------------------------------------------------- fingerprints
# What makes two findings of different runs the same fault: code, kernel, and the pair of accesses.
#
# No line numbers, no launch and no witness: a fault that moves, or that another launch shows as well, is the same one.
# An access is its kind, its array, and its source as `ast.unparse` spells it; where there is no source, its index
# terms.


_VERSION = 1


def with_fingerprints(result: KernelResult, snippets: Snippets) -> KernelResult:
    """``result`` with a fingerprint in each of its findings.

    Findings of one result that nothing tells apart but their place are numbered from the top of the file.
    """
    keys = [_key(result.kernel, finding, snippets) for finding in result.findings]
    order = sorted(range(len(keys)), key=lambda number: (_places(result.findings[number]), number))
    seen: Counter[str] = Counter()
    digests = dict[int, str]()
    for number in order:
        digests[number] = _digest([_VERSION, keys[number], seen[keys[number]]])
        seen[keys[number]] += 1
    findings = (replace(finding, fingerprint=digests[number]) for number, finding in enumerate(result.findings))
    return replace(result, findings=tuple(findings))


def _key(kernel: str, finding: Finding, snippets: Snippets) -> str:
    accesses = sorted(_access(site, snippets) for site in finding.sites)
    # Without a place only the message tells what the finding is about.
    rest = [] if accesses else [finding.message]
    return json.dumps([finding.code, finding.obligation, kernel, accesses, rest])


def _access(site: SourceSite, snippets: Snippets) -> list[str]:
    return [site.access, site.array, snippets.expression(site) or site.expression]


def _places(finding: Finding) -> list[tuple[str, int, int]]:
    return [(site.file or "", site.line or 0, site.column or 0) for site in finding.sites]


def _digest(key: object) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
