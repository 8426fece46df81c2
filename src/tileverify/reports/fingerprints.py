"""What makes two findings of different runs the same fault: code, kernel, and the pair of accesses.

No line numbers, no launch and no witness: a fault that moves, or that another launch shows as well, is the same one.
An access is its kind, its array, and its source as `ast.unparse` spells it; where there is no source, its index terms.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace

from ..results import Finding, KernelResult, SourceSite
from .snippets import Snippets

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
