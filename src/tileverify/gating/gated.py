"""What the gate takes and says, and its answer in words for the model that wrote the submission."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Final, TypedDict

from ..pipeline.repair import kernel_source
from ..results import WARNINGS, Finding, Hint, KernelResult, SourceSite, Witness
from ..results.codes import TV
from ..results.conditional import proved_if
from ..results.json_report import result_to_json
from ..system.errors import TileVerifyError
from ..system.printable import distinct_stem, plural, printable

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


# --------------------------------------------------------------------------------------------------------------- prompt
# An answer of the gate in words for the model that wrote the submission: short, and the worst thing first.


LONGEST: Final = 1500
"""Characters; the text has less."""
_LONGEST_LINE: Final = 260
_MOST_CHANGED: Final = 8


def prompt_text(result: GateResult, longest: int = LONGEST) -> str:
    """Verdict; for each kernel that is not accepted its first finding with both sides, and the hint with the edited
    lines; as many as there is room for.  Of the submission's text, only printable characters get here."""
    accepted = sum(kernel.accepted for kernel in result.kernels)
    verdict = "ACCEPTED" if result.accepted else "NOT ACCEPTED"
    head = f"{verdict}: {accepted} of {len(result.kernels)} kernel launches are accepted."
    worst_first = sorted(result.kernels, key=lambda each: (each.accepted, each.verdict != "refuted"))
    lines = chain.from_iterable(_kernel(kernel, result.source) for kernel in worst_first)
    return _bounded(chain([head], lines), longest)


def _bounded(lines: Iterable[str], longest: int) -> str:
    """Whole lines while there is room, the last for what was left out; no more lines are asked for than that."""
    end = "... (there is more)"
    kept: list[str] = []
    room = longest - len(end) - 2
    for line in lines:
        short = _cut(printable(line[: _LONGEST_LINE + 1]), _LONGEST_LINE)
        if len(short) + 1 > room:
            return "\n".join([*kept, end]) + "\n"
        room -= len(short) + 1
        kept.append(short)
    return "\n".join(kept) + "\n"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


def _kernel(kernel: GatedKernel, source: bytes) -> Iterator[str]:
    name = kernel.result.kernel or kernel.result.file
    name += f" [{kernel.result.launch}]" if kernel.result.launch else ""
    if kernel.accepted:
        yield f"{name}: {proved_if(kernel.result) or 'proved'}"
        yield from (f"  limit: {limit}" for limit in kernel.result.limits)
        yield from _equality(kernel)
        return
    yield f"{name}: {proved_if(kernel.result) or kernel.verdict}"
    yield from _equality(kernel)
    if not kernel.result.findings:
        yield from (f"  {reason}" for reason in kernel.reasons[:3])
        return
    found = {finding.code for finding in kernel.result.findings}
    first, *others = kernel.result.findings
    yield from _finding(first, source, "program" if kernel.result.producer == "triton" else "block")
    yield from (f"  {reason}" for reason in kernel.reasons if reason.id not in found)
    yield from (f"  also {finding.code}: {finding.sentence}" for finding in others)


def _equality(kernel: GatedKernel) -> Iterator[str]:
    """What exact numbers say of the reference; a difference is a reason, which is told for itself."""
    if kernel.equal is None:
        return
    match kernel.equal["answer"]:
        case "equal":
            sure = f"a wrong yes is less likely than 2^{kernel.equal['probability_log2']}"
            yield f"  over the real numbers it is equal to its reference at {_launches(kernel.equal)} ({sure})"
            if kernel.reasons:
                yield "  so what its floats show is rounding"
        case "not decided":
            yield f"  whether it is its reference over the real numbers is not decided: {kernel.equal['reason']}"


def _launches(equal: Mapping[str, object]) -> str:
    launches = equal["launches"]
    count = len(launches) if isinstance(launches, list) else 0
    return plural(count, "launch")


def _finding(finding: Finding, source: bytes, unit: str) -> Iterator[str]:
    """``unit``: what a kernel's author calls a tile block."""
    yield f"  {finding.code}: {finding.sentence}"
    yield from (f"    {line}" for line in finding.example)
    for side, site in zip("ab", finding.sites, strict=False):
        yield f"  side {side.upper()}: {_side(side, site, finding.witness, unit)}" if site.access else _place(site)
    if finding.witness is not None:
        witness = finding.witness
        sizes = ", ".join(f"{name} = {value}" for name, value in [*witness.sizes.items(), *witness.scalars.items()])
        yield f"  {_touches(finding)} {witness.element} with grid {tuple(witness.grid)}" + (
            f" and {sizes}" if sizes else ""
        )
    for hint in finding.hints:
        yield from _hint(hint, source)


def _touches(finding: Finding) -> str:
    if finding.code == TV.DUPLICATE_LANES:
        return "two lanes touch"
    return "it reaches" if finding.code in WARNINGS or len(finding.sites) < 2 else "both touch"


def _place(site: SourceSite) -> str:
    """Of what is no access: the line that a compiler refused."""
    return f"  at line {site.line}"


def _side(side: str, site: SourceSite, witness: Witness | None, unit: str) -> str:
    # The expression of an element begins with the array's name.
    what = site.expression if site.expression.startswith(site.array) else f"{site.array} {site.expression}"
    words = [f"{site.access} of {what.rstrip()}"]
    words.append("" if site.line is None else f"at line {site.line}")
    block = _blocks(witness).get(side)
    words.append("" if block is None else f"in {unit} {block}")
    values = witness.values if witness is not None else None
    seen = [each.value for each in (values.sides if values is not None else ()) if each.side == side]
    words.append(f"with the value {seen[0]}" if seen else "")
    return " ".join(filter(None, words))


def _blocks(witness: Witness | None) -> dict[str, tuple[int, int, int]]:
    if witness is None:
        return {}
    return {"a": witness.block_a} | ({} if witness.block_b is None else {"b": witness.block_b})


def _hint(hint: Hint, source: bytes) -> Iterator[str]:
    how = {"safe": "FIX", "maybe": "POSSIBLE FIX", "display": "ADVICE"}[hint.applicability]
    yield f"  {how} ({hint.id}): {hint.text}"
    if hint.edits:
        yield from (f"    {line}" for line in changed_lines(source, hint, _MOST_CHANGED))


def changed_lines(source: bytes, hint: Hint, most: int) -> list[str]:
    """``-12: before`` and ``+12: after`` for each line that the hint changes, ``most`` of them at most."""
    return list(islice(kernel_source.changed_lines(source.decode("utf-8", errors="replace"), hint.edits), most))
