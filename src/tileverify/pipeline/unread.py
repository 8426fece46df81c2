"""Fingerprints and causes of findings whose source may not be read: it is a stranger's, and so are the names in it."""

from __future__ import annotations

from ..reports.causes import with_causes, with_fingerprints
from ..reports.snippets import Snippets
from ..results import KernelResult, SourceSite


class _Unread(Snippets):
    """Opens nothing: accesses are told apart by their index terms."""

    def expression(self, site: SourceSite) -> str | None:
        return None


def told_apart(result: KernelResult) -> KernelResult:
    """``result`` with a fingerprint and the cause of each of its findings."""
    return with_causes(with_fingerprints(result, _Unread()))
