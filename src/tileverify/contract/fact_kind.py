"""The words that begin data facts in a launch spec; what each says is in `contract.facts`."""

from __future__ import annotations

import enum


class FactKind(enum.StrEnum):
    INJECTIVE = "injective"
    PERMUTATION = "permutation"
    NONDECREASING = "nondecreasing"
    RANGE = "range"
    MULTIPLES = "multiples"
    SHARES = "shares"
    DISJOINT_ROWS = "disjoint_rows"
    SEGMENTS = "segments"
    RANKS = "ranks"
    BUCKETS = "buckets"
