"""What the gate takes and says.  All of it can be pickled, so that submissions may be spread over processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Final, TypedDict

from ..results import KernelResult
from ..results.json_report import result_to_json
from ..system.errors import TileVerifyError
from ..system.file_names import distinct_stem

REJECTED: Final = "rejected"
"""The verdict on a submission that the screen or the sandbox stopped, or that broke a limit."""


MASKED: Final = "masked"
"""What differs where contents are as large as what a kernel masks with: it is told."""
ROUNDING: Final = "rounding"
"""What is off by a few roundings of 1: no reason against a kernel that is its reference over the real numbers."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not accepted.  ``id`` is stable; ``line`` is 1-based and ``column`` 0-based, in the source."""

    id: str
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line}, column {(self.column or 0) + 1})"
        return f"{self.id}: {self.message}{place}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one submission may use, in the sandbox.  ``memory_mib`` is beyond what the worker itself takes.

    ``compile_*`` bound the import and compilation of the source, ``prove_*`` the decoding and the proof of what came of
    it, of all its kernels together.  ``hint_*`` bound what repairs of one submission cost: changed sources that are
    tried, and processor seconds of all of them.  The processor's seconds end a submission that would take forever; a
    kernel that uses them up is rejected, never accepted.  ``*_wall_s`` end one that waits: they are far more, so that
    neighbours on a busy machine cost nobody his answer.
    """

    compile_cpu_s: int = 20
    compile_wall_s: float = 120.0
    compile_memory_mib: int = 1024
    prove_cpu_s: int = 120
    prove_wall_s: float = 720.0
    prove_memory_mib: int = 3072
    output_mib: int = 32
    trial_output_mib: int = 256
    kernels: int = 64
    hint_trials: int = 10
    hint_cpu_s: int = 60


@dataclass(frozen=True, slots=True)
class GateOptions:
    """``spec``: the text of a launch spec (TOML) that the caller vouches for; each of its launches must be proved, and
    the submission's own specs count for nothing.  Without one the submission's own specs, or inferred launches, say
    how a kernel is launched.  ``deny_requires``: no clause beyond the contract.  ``allow_requires``: clauses that leave
    out launches, where ``spec`` is not given.  ``allow_idle``: accept kernels that compute what
    changes nothing at all inputs of ``exact``.  ``allow_undetermined``: accept kernels whose results depend on what the
    specification leaves open (TV403), or may depend on the order of their blocks.  ``bundles``: make a bundle of each
    accepted kernel.  ``isolation``: ``auto``, or a kind of `Isolation`.  ``screen``: only the tests of the sandbox turn
    it off.  ``hints``: look for changes of the source that would be proved.
    ``reference``: ``FILE.py::FUNCTION``, trusted code that a proved kernel must agree with on small inputs (`trial`).
    ``exact``: and be equal to on exact numbers (`GatedKernel.equal`): what is not decided is not accepted.
    ``complete``: of each array that a kernel writes it must write every element, there; for which arrays that is proved
    for every launch stands in the result.  ``seed``: of the inputs of trials; without one they are secret until the
    result tells it."""

    spec: str | None = None
    deny_requires: bool = False
    bundles: bool = False
    limits: Limits = field(default_factory=Limits)
    isolation: str = "auto"
    screen: bool = True
    hints: bool = True
    reference: str | None = None
    exact: bool = True
    complete: bool = False
    allow_undetermined: bool = False
    allow_requires: bool = False
    allow_idle: bool = False
    seed: int | None = None


class GivenGateOptions(TypedDict, total=False):
    """The fields of `GateOptions`, as keyword arguments."""

    spec: str | None
    deny_requires: bool
    bundles: bool
    limits: Limits
    isolation: str
    screen: bool
    hints: bool
    reference: str | None
    exact: bool
    complete: bool
    allow_undetermined: bool
    allow_requires: bool
    allow_idle: bool
    seed: int | None


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """How a proved kernel was tried: the number of launches, how much of each array they wrote at least and at most,
    what was too large to be tried (in words), the seed of the inputs, and elements that lost digits beside 1."""

    launches: int
    written: Mapping[str, tuple[float, float]]
    not_tried: tuple[str, ...]
    seed: int
    rounding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GatedKernel:
    """The answer for one kernel under one launch; for a submission that was stopped, the one answer for all of it.

    ``rejected``: the screen, the sandbox or a limit stopped it.  ``bundle``: the bytes of its ``.tvk``, if accepted.
    ``equal``: whether it is its reference on exact numbers, as ``tileverify equal --format json`` has it.
    """

    result: KernelResult
    accepted: bool
    reasons: tuple[Reason, ...] = ()
    rejected: bool = False
    bundle: bytes | None = None
    trial: TrialSummary | None = None
    equal: Mapping[str, object] | None = None

    @property
    def verdict(self) -> str:
        """``proved``, ``refuted``, ``undecided``, ``error`` or ``rejected``."""
        return REJECTED if self.rejected else self.result.verdict.value

    def to_json(self) -> dict[str, object]:
        """The line of ``tileverify gate``: a result of the report, ``accepted`` and ``reasons``."""
        document: dict[str, object] = {
            **result_to_json(self.result),
            "verdict": self.verdict,
            "accepted": self.accepted,
            "reasons": [str(reason) for reason in self.reasons],
            "details": [
                {"id": reason.id, "message": reason.message, "line": reason.line, "column": reason.column}
                for reason in self.reasons
            ],
        }
        if self.trial is not None:
            document["trial"] = asdict(self.trial)
        if self.equal is not None:
            document["equal"] = dict(self.equal)
        return document


@dataclass(frozen=True, slots=True)
class GateResult:
    """The answers for one submission, whose ``source`` hints are edits of.  ``isolation``: the layers of the sandbox
    that stood around it."""

    kernels: tuple[GatedKernel, ...]
    isolation: tuple[str, ...] = ()
    source: bytes = field(default=b"", repr=False)

    @property
    def accepted(self) -> bool:
        """Every kernel of the submission was accepted, and there is one."""
        return bool(self.kernels) and all(kernel.accepted for kernel in self.kernels)

    def lines(self) -> str:
        """One line of JSON in plain ASCII for each kernel, each ending with a newline."""
        around = {"isolation": list(self.isolation)}
        return "".join(json.dumps({**kernel.to_json(), **around}, allow_nan=False) + "\n" for kernel in self.kernels)

    def prompt(self) -> str:
        """What to tell the model that wrote the submission: less than `prompt.LONGEST` characters."""
        from .prompt import prompt_text

        return prompt_text(self)

    def write_bundles(self, folder: Path, below: PurePath | None = None) -> tuple[Path, ...]:
        """Write the bundles of accepted kernels as ``BELOW/STEM.KERNEL.LAUNCH.tvk``; raises OSError.

        ``below``: the folder of the submission, where it lies below the one that was judged.  The same submission gets
        the same names, and no other one gets them.
        """
        from ..system.atomic_file import write_whole

        place = folder.joinpath(*_folder_names(below))
        written = []
        for kernel in self.kernels:
            if kernel.bundle is not None:
                result = kernel.result
                names = map(distinct_stem, (PurePath(result.file).stem, result.kernel, result.launch))
                path = place / f"{'.'.join(names)}.tvk"
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, kernel.bundle)
                written.append(path)
        return tuple(written)


_LONGEST_FOLDERS: Final = 512


def _folder_names(below: PurePath | None) -> tuple[str, ...]:
    """One for each folder; for so many that no path would hold them, one for all."""
    parts = () if below is None else below.parts
    together = "/".join(parts)
    return tuple(map(distinct_stem, parts if len(together) <= _LONGEST_FOLDERS else (together,)))


@dataclass
class IsolationUnavailable(TileVerifyError):
    """This machine cannot isolate untrusted code; nothing of it was run."""


@dataclass
class SandboxFailure(TileVerifyError):
    """The sandbox itself failed: its worker did not start, or died between two submissions."""
