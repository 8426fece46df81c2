"""An entry as a launch takes it: with what its contract trusts beyond the specification (`contract.trustable`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...contract.trustable import ASSERT_STOPS
from .model import Entry


def under_trust(entry: Entry, trust: Collection[str]) -> Entry:
    """``entry`` for whoever executes it, by terms or by numbers; the entry itself where nothing is trusted."""
    return replace(entry, asserts_stop=True) if ASSERT_STOPS in trust else entry
