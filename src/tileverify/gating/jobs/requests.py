"""What the gate asks of a job, beside the bytes that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Only: TypeAlias = tuple[str, str | None]
"""A kernel and one of its launches; ``None``: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRequest:
    """How a submission is compiled and proved.

    ``file``: its name in answers.  ``spec`` and ``own_spec``: texts of launch specs, the caller's and its own.
    ``screen``: look at the source first.  ``kernels``: how many there may be, each launch counted.  ``only``: compile
    nothing else.  ``any_grid`` leaves out what the launch says of its grid.  The others are as in `GateOptions`.
    """

    file: str
    spec: str | None = None
    own_spec: str | None = None
    screen: bool = True
    kernels: int = 64
    deny_requires: bool = False
    bundles: bool = False
    complete: bool = False
    only: Only | None = None
    any_grid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest:
    """Try the kernel with this ``index`` among those that were compiled, on floats or on exact numbers, under the
    clauses ``requires`` too.  The same ``seed`` gives the same launches.  ``deterministic``: it has one result,
    whatever the order of its blocks."""

    submission: SubmissionRequest
    index: int
    requires: tuple[str, ...]
    seed: int
    deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """Propose edits, ``most`` of them for a finding, for the findings of ``result`` (as in the report)."""

    result: dict[str, object]
    most: int


JobRequest: TypeAlias = SubmissionRequest | TrialRequest | ProposalRequest
