"""The result model: what the verifier says and every report renders.

These classes are the JSON of reports as well, key by key in this order; `json_fields` has the marks of their fields.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .codes import CODES, TV
from .json_fields import HIDDEN, OMITTED, REQUIRED, coded, keyed, read_as

if TYPE_CHECKING:
    from ..contract.launch import LaunchSpec
    from .details import KernelDetails


class Verdict(enum.Enum):
    """Ordered from best to worst for the exit code of a whole run."""

    PROVED = "proved"
    UNDECIDED = "undecided"
    REFUTED = "refuted"
    ERROR = "error"


HoldsFor: TypeAlias = Literal["any", "sizes", "launch"]
"""Which launches a proof is about: all with the types of the given one, all with its sizes, or that one."""

ContractOrigin: TypeAlias = Literal["written", "recorded", "inferred"]
"""Who vouches for a contract: a person, a recording of launches, or nobody (the tool made it up)."""

Applicability: TypeAlias = Literal["safe", "maybe", "display"]
SideName: TypeAlias = Literal["a", "b"]
SideAccess: TypeAlias = Literal["load", "store"]


COMBINATIONS: Final = ("reduction", "scan")
"""What a `SourceSite` calls ops that combine lanes."""


@dataclass(frozen=True, slots=True)
class SourceSite:
    """Where an access stands.  ``line`` 1-based, ``column`` 0-based; ``call_chain`` innermost frame first."""

    file: str | None
    line: int | None
    column: int | None
    access: str  # "load", "store", "atomic", "assume", ...
    array: str
    function: str | None = None
    call_chain: tuple[tuple[str, int, int], ...] = field(default=(), metadata=keyed("file", "line", "column"))
    expression: str = ""  # index terms of the access, for people


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of ``array`` that a fault is about: ``count`` of them.

    ``ranges`` holds one half-open index range for each dimension if they form a box, and is empty if they do not.
    """

    array: str
    ranges: tuple[tuple[int, int], ...]
    count: int


@dataclass(frozen=True, slots=True)
class SideValue:
    """What one side of a fault read or wrote.

    ``after``: what a load gives once the other side has stored; ``value`` is what it gives before that.
    """

    side: SideName
    access: SideAccess
    value: str
    after: str | None = field(default=None, metadata=REQUIRED)


@dataclass(frozen=True, slots=True)
class SeenValues:
    """What the sides of a fault read and wrote at ``element``, as far as the specification says.

    ``equal``: what both sides do comes to the same value, so that nothing shows although it is a fault.
    ``counting``: float arrays held small numbers that count up; otherwise they were zero.
    """

    element: str
    sides: tuple[SideValue, ...]
    equal: bool = field(init=False, compare=False, repr=False, metadata=REQUIRED)
    counting: bool = field(default=False, metadata=REQUIRED)

    def __post_init__(self) -> None:
        values = {value for side in self.sides for value in (side.value, side.after) if value is not None}
        exact = len(values) == 1 and not any(value.startswith(ABOUT) for value in values)
        object.__setattr__(self, "equal", exact and len(self.sides) == 2)


ABOUT = "about "
"""Stands before a float that another device may round differently."""


TILE_INDEX = "tile index"
"""How the names of a witness' variables begin that are tile numbers, as the op reads them: without a sign."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A concrete launch that breaks an obligation; ``confirmed_by`` names the independent replay.

    ``launch`` is the whole of it, in JSON's types, for a replay elsewhere (`claim.claim_from_json`).
    ``element`` in words, ``elements`` for programs: everything that both sides touch.
    """

    sizes: Mapping[str, int]
    grid: tuple[int, int, int]
    block_a: tuple[int, int, int]
    block_b: tuple[int, int, int] | None
    element: str  # "c[1, 0:64]", "c[5] and 11 more", or "out+0x40" without a layout
    scalars: Mapping[str, int] = field(default_factory=dict)
    strides: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # contents of index arrays that matter
    # name, value in block A, value in block B
    variables: tuple[tuple[str, int | None, int | None], ...] = field(default=(), metadata=keyed("name", "a", "b"))
    confirmed_by: str = ""
    launch: Mapping[str, object] | None = field(default=None, metadata=OMITTED)
    elements: Elements | None = field(default=None, metadata=OMITTED)
    values: SeenValues | None = field(default=None, metadata=OMITTED)

    @property
    def negative_tiles(self) -> str:
        """``(0, -1)`` where a tile index is negative, which the op reads as a huge one; else empty."""
        values = [first for name, first, _ in self.variables if name.startswith(TILE_INDEX) and first is not None]
        if not any(value >= 1 << 31 for value in values):
            return ""
        signed = [value - (1 << 32) if value >= 1 << 31 else value for value in values]
        return str(signed[0]) if len(signed) == 1 else f"({', '.join(map(str, signed))})"


@dataclass(frozen=True, slots=True)
class Edit:
    """Text to put in place of a part of the source; lines count from 1, columns (in characters) from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class SpecPlace:
    """Where a launch is written: the spec, or the source with a decorator, and the line of its header, from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Hint:
    """``applicability``: ``safe`` where the kernel with ``edits`` was proved and does in order what it did before,
    ``maybe`` where somebody has to say whether it is meant, ``display`` where there is only advice.
    ``source_sha256``: of the text (UTF-8) that ``edits`` are for, where it is known.  ``requires``: clauses that a
    person may add to the launch at ``spec``."""

    id: str  # of the closed list in `repair.catalogue`
    applicability: Applicability
    text: str
    edits: tuple[Edit, ...] = field(default=(), metadata=OMITTED)
    source_sha256: str = field(default="", metadata=OMITTED)
    requires: tuple[str, ...] = field(default=(), metadata=OMITTED)
    spec: SpecPlace | None = field(default=None, metadata=OMITTED)


class FindingLevel(enum.StrEnum):
    """How much a finding weighs."""

    ERROR = "error"  # something is wrong
    WARNING = "warning"  # undecided, or wrong without touching the verdict
    NOTE = "note"  # fails nothing: the launch allows it

    __repr__ = str.__repr__


class SuppressionKind(enum.Enum):
    """Who says that a finding shall not fail a run."""

    COMMENT = "comment"  # beside the kernel or the access
    TABLE = "table"  # in the configuration, for sources without comments
    BASELINE = "baseline"  # it was there when the baseline was written


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding does not fail a run.  It changes the exit code and nothing else, least of all a verdict.

    ``until``: the last day on which it holds (ISO 8601); ``file`` and ``line``: where it is written down.
    """

    kind: SuppressionKind
    reason: str
    until: str | None = field(default=None, metadata=REQUIRED)
    file: str | None = field(default=None, metadata=REQUIRED)
    line: int | None = field(default=None, metadata=REQUIRED)


_LEADS_TO_EXAMPLE: Final = ", for example:"


def _was_denied(read: Finding) -> bool:
    return read.code in WARNINGS and read.level == FindingLevel.ERROR


def _was_allowed(read: Finding) -> bool:
    return read.level == FindingLevel.NOTE


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken or undecided obligation.  ``code``: TV1xx-TV4xx refuted, TV9xx undecided; a `TV`, or one that a report
    of another version has.

    ``obligation`` is the code of the obligation that a TV9xx finding could not decide.  ``fingerprint`` is the same in
    every run that finds the same fault, wherever its lines have moved (`reports.causes`).  ``cause``: the
    fingerprint of the finding that stands for the mistake behind it; all findings of one cause are one mistake
    (`reports.causes`).
    """

    code: str
    level: FindingLevel = field(init=False, compare=False, repr=False)
    message: str
    sites: tuple[SourceSite, ...] = field(default=(), metadata=REQUIRED)
    hints: tuple[Hint, ...] = field(default=(), kw_only=True, metadata=REQUIRED)
    witness: Witness | None = field(default=None, metadata=OMITTED)
    obligation: str | None = field(default=None, metadata=OMITTED)
    fingerprint: str = field(default="", metadata=OMITTED)
    cause: str = field(default="", metadata=OMITTED)
    suppression: Suppression | None = field(default=None, metadata=OMITTED)
    denied: bool = field(default=False, metadata=read_as(_was_denied))  # a warning that counts as an error in this run
    allowed: bool = field(default=False, metadata=read_as(_was_allowed))  # by the launch (`contract.allowed`)

    def __post_init__(self) -> None:
        warns = self.code.startswith("TV9") if self.code not in WARNINGS else not self.denied
        level = FindingLevel.WARNING if warns else FindingLevel.ERROR
        object.__setattr__(self, "level", FindingLevel.NOTE if self.allowed else level)

    @property
    def sentence(self) -> str:
        """The message in one line: without the lines of an example below it, and the words that lead to them."""
        return self.message.split("\n")[0].removesuffix(_LEADS_TO_EXAMPLE)

    @property
    def example(self) -> tuple[str, ...]:
        """The further lines of the message."""
        return tuple(self.message.split("\n")[1:])

    @property
    def refutes(self) -> bool:
        """Whether it says that something is wrong and counts, and not only undecided or worth a look."""
        return self.level is FindingLevel.ERROR

    @property
    def wraps(self) -> bool:
        """Whether a 32-bit index wraps there: a mask would only hide it."""
        return any(hint.id == "widen-index" for hint in self.hints)

    def target(self, site: SourceSite) -> str:
        """The element that ``site`` is about.

        The load that left something open (TV403) did not touch the element that it reached: its array alone.  Nor does
        a store touch what nobody writes (TV711).
        """
        elsewhere = self.code == TV.UNDETERMINED and site.access == "load" and len(self.sites) > 1
        if self.code == TV.TILE_OUT_OF_INDEX_SPACE and self.witness is not None and self.witness.negative_tiles:
            return f"{site.array} at tile index {self.witness.negative_tiles}"
        elsewhere |= self.code == TV.NEVER_WRITTEN
        return site.array if self.witness is None or elsewhere else self.witness.element or site.array


WARNINGS = frozenset(code.code for code in CODES.values() if code.warns)
"""Codes of findings that leave a proof a proof."""


MOST_REFUTATIONS = 4
"""So many broken obligations of one kernel are looked for where nobody asks for more."""

EVERY_REFUTATION = 1_000_000
"""As many as what pays for the kernel's proof allows."""


@dataclass(frozen=True, slots=True)
class ObligationCount:
    total: int = field(default=0, metadata=REQUIRED)
    structural: int = field(default=0, metadata=REQUIRED)
    solver: int = field(default=0, metadata=REQUIRED)
    enumerated: int = field(default=0, metadata=OMITTED)  # all blocks of the one launch were run


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds."""

    compile: float = field(default=0.0, metadata=REQUIRED)
    decode: float = field(default=0.0, metadata=REQUIRED)
    execute: float = field(default=0.0, metadata=REQUIRED)
    prove: float = field(default=0.0, metadata=REQUIRED)


@dataclass(frozen=True, slots=True)
class NeverWritten:
    """Elements of ``array`` that no block writes in the launch of ``witness``, which names them."""

    array: str
    witness: Witness


@dataclass(frozen=True, slots=True)
class WrittenArrays:
    """Arrays that a proved kernel writes: ``whole``, every element in every launch of the contract, as was proved too,
    and ``open``, of which that is not known; some of those are never written in full.  ``never``: elements of ``open``
    arrays that a launch leaves out."""

    whole: tuple[str, ...] = field(default=(), metadata=REQUIRED)
    open: tuple[str, ...] = field(default=(), metadata=REQUIRED)
    never: tuple[NeverWritten, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class PlaybackFile:
    """A pytest file that reproduces one finding by itself."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The proof of one kernel, and the bytecode that it speaks of."""

    text: str
    bytecode: bytes


# Earlier versions had in ``contract`` what is ``stated`` now.
_CONTRACT = coded(ContractOrigin | list[str], str, lambda read: read.contract if _names_origin(read) else "written")
_STATED = coded(list[str], tuple, lambda read: tuple(read.stated if _names_origin(read) else read.contract))


def _names_origin(read: KernelResult) -> bool:
    return isinstance(read.contract, str)


@dataclass(frozen=True, slots=True)
class KernelResult:
    file: str
    kernel: str
    launch: str
    line: int | None = field(default=None, kw_only=True)
    verdict: Verdict
    holds_for: HoldsFor | None = field(default=None, metadata=REQUIRED)  # None unless proved
    deterministic: bool | None = field(default=None, metadata=REQUIRED)
    contract: ContractOrigin = field(default="written", metadata=_CONTRACT)
    stated: tuple[str, ...] = field(default=(), metadata=_STATED)  # the contract as understood, one clause a line
    # `x = "f32[N]"`, as in the launch that `stated` describes
    arguments: tuple[str, ...] = field(default=(), metadata=OMITTED)
    # clauses that the tool added, to open parts of a contract or to one it made up
    requires: tuple[str, ...] = field(default=(), metadata=REQUIRED)
    limits: tuple[str, ...] = ()  # clauses that every launch of usual size satisfies (`verifier.limits`)
    conditional: bool = False  # a proof of fewer launches than the contract has: those that `requires` leaves
    assumes: tuple[str, ...] = field(default=(), metadata=REQUIRED)
    observed: tuple[str, ...] = ()  # those of `assumes` that nobody stated: a recording saw that they held
    findings: tuple[Finding, ...] = field(default=(), metadata=REQUIRED)
    obligations: ObligationCount = field(default=ObligationCount(), metadata=REQUIRED)
    proved_codes: tuple[str, ...] = ()  # obligations that were checked and hold, by code
    # of a proof, where it was asked for: the next two, and, for the architectures that were asked for, the third
    written: WrittenArrays | None = field(default=None, metadata=OMITTED)
    second_reading: SecondReading | None = field(default=None, metadata=OMITTED)
    compared_code: tuple[ComparedCode, ...] = field(default=(), metadata=OMITTED)
    notes: tuple[str, ...] = ()
    producer: str = field(default="", metadata=OMITTED)  # `triton`, where the bytecode is a translation
    bytecode_sha256: str = field(default="", metadata=REQUIRED)
    time_ms: Times = field(default=Times(), metadata=REQUIRED)
    cached: bool = False  # taken from the cache: `time_ms` is that of the run that decided it
    # what the launch's contract trusts beyond `TRUSTED`: words of `contract.trustable`
    trusted: tuple[str, ...] = field(default=(), metadata=OMITTED)
    # something else that is open was not looked at, after as many faults as were asked for
    cut_short: bool = field(default=False, metadata=OMITTED)

    # Where it was asked for: a file for each refuted finding, the proof of a proof, what a page shows beyond all this.
    playback: tuple[PlaybackFile, ...] = field(default=(), metadata=HIDDEN)
    certificate: CertificateFiles | None = field(default=None, metadata=HIDDEN)
    details: KernelDetails | None = field(default=None, metadata=HIDDEN)
    # what a proof speaks of: the launch, or a wider one
    proved_launch: LaunchSpec | None = field(default=None, metadata=HIDDEN)

    @property
    def clauses(self) -> tuple[str, ...]:
        """Everything that a launch has to satisfy beyond the stated contract."""
        return (*self.requires, *self.limits)

    @property
    def counts_as(self) -> Verdict | None:
        """The verdict that the exit code goes by: without what is suppressed; ``None`` if nothing else is left.

        A proof with a warning that is denied counts as refuted.

        Errors cannot be suppressed, nor can a kernel of which not everything was looked at.
        """
        if self.verdict is Verdict.ERROR:
            return self.verdict
        left = [finding for finding in self.findings if finding.suppression is None]
        if self.verdict is Verdict.PROVED:
            return Verdict.REFUTED if any(finding.refutes for finding in left) else Verdict.PROVED
        if self.cut_short or any(finding.refutes for finding in left):
            return self.verdict
        return Verdict.UNDECIDED if left or not self.findings else None


TRUSTED = ("tileiras", "ptxas", "driver", "hardware", "solver", "reading of the Tile IR specification")
"""What every verdict rests on, and nothing here checks."""


@dataclass(frozen=True, slots=True)
class Report:
    results: tuple[KernelResult, ...]
    tool_version: str
    solver: str
    trusted: tuple[str, ...] = TRUSTED
    findings: tuple[Finding, ...] = ()  # about suppressions and the baseline, not about a kernel

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What is trusted, with what the contracts of single launches trust beyond that."""
        from ..contract.trustable import trusted_text

        words = dict.fromkeys(word for result in self.results for word in result.trusted)
        return tuple(dict.fromkeys((*self.trusted, *trusted_text(words))))

    @property
    def exit_code(self) -> int:
        """0 all proved; 1 something refuted; 2 an error; 3 something undecided; 4 nothing found.

        What is suppressed does not count; a suppression that is no good is an error, but none that hides a refutation.
        """
        verdicts = {result.counts_as for result in self.results}
        if Verdict.ERROR in verdicts:
            return 2
        if Verdict.REFUTED in verdicts:
            return 1
        if self.findings:
            return 2
        if Verdict.UNDECIDED in verdicts:
            return 3
        return 0 if verdicts else 4

    @property
    def conditional(self) -> int:
        """Proofs under conditions that nobody wrote."""
        return sum(result.conditional for result in self.results)

    @property
    def warnings(self) -> int:
        """Findings that leave a proof a proof and are not suppressed."""
        every = (finding for result in self.results for finding in result.findings)
        return sum(finding.code in WARNINGS and finding.suppression is None for finding in every)


# ------------------------------------------------------------------------------------------------------- second reading
# What a second reading of a proof compared: the access summary that was proved, with runs of the interpreter.


@dataclass(frozen=True, slots=True)
class SecondReading:
    """``asked`` for so many launches, of which the contract had ``launches``.

    ``accesses`` and ``waits`` (an access that waits for another one) are those that were compared, ``not_compared``
    counts by reason what was not.  ``unclaimed``: order that a run had and the summary leaves out inside of loops; that
    costs proofs and makes none wrong.  ``disagreement``: the first one, in a sentence.
    """

    asked: int
    launches: int = field(default=0, metadata=REQUIRED)
    blocks: int = field(default=0, metadata=REQUIRED)
    accesses: int = field(default=0, metadata=REQUIRED)
    waits: int = field(default=0, metadata=REQUIRED)
    unclaimed: int = field(default=0, metadata=REQUIRED)
    not_compared: Mapping[str, int] = field(default_factory=dict, metadata=REQUIRED)
    disagreement: str | None = field(default=None, metadata=REQUIRED)

    @property
    def agrees(self) -> bool:
        """Nothing speaks against the proof; that is little where nothing was compared."""
        return not self.disagreement


@dataclass(slots=True)
class ReadingTally:
    """A second reading on its way."""

    blocks: int = 0
    accesses: int = 0
    waits: int = 0
    unclaimed: int = 0
    not_compared: Counter[str] = field(default_factory=Counter)


def reading_lines(reading: SecondReading) -> list[str]:
    """What was compared, what was not, and what does not agree; for people."""
    launches = _plural(reading.launches, "launch", "launches")
    if reading.launches < reading.asked:
        launches += f" ({reading.asked} were asked for)"
    if reading.accesses or reading.disagreement:
        blocks, accesses = _plural(reading.blocks, "block", "blocks"), _plural(reading.accesses, "access", "accesses")
        compared = f"{blocks}, {accesses} and {_plural(reading.waits, 'wait', 'waits')} compared"
        lines = [f"{launches}: {compared}" + ("" if reading.disagreement else ", all as the proof says")]
    else:
        lines = [f"{launches}: nothing could be compared"]
    lines += [f"not compared, {count} times: {reason}" for reason, count in sorted(reading.not_compared.items())]
    if reading.disagreement:
        lines.append(f"disagreement: {reading.disagreement}")
    return lines


def _plural(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


# -------------------------------------------------------------------------------------------------------- compared code
# What was seen of the code that an assembler makes of a proved kernel.


@dataclass(frozen=True, slots=True)
class ComparedCode:
    """``architecture``: ``sm_90`` or the like; ``assembler``: its version; ``said``: ``compared at 2 launches``,
    ``differs from the bytecode``, or ``not looked at`` and why; ``footprints``: ``proved for all launches``, or that
    they are not and why, empty where nobody tried.  ``launches``: so many compared equal, 0 where one differs.
    ``ptx_sha256`` and ``cubin_sha256``: of the code, empty where it was not seen."""

    architecture: str
    assembler: str
    said: str
    footprints: str = ""
    launches: int = 0
    ptx_sha256: str = ""
    cubin_sha256: str = ""

    @property
    def outcome(self) -> str:
        """What was compared and proved, in words."""
        return f"{self.said}; footprints {self.footprints}" if self.footprints else self.said

    def __str__(self) -> str:
        return f"{self.architecture} ({self.assembler}): {self.outcome}"


@dataclass(frozen=True, slots=True)
class CodeAgain:
    """What a certificate has ``stated``, ``confirmed`` by comparing again; else ``contradicted`` and by what, or
    neither and ``why_not``."""

    stated: ComparedCode
    confirmed: bool = False
    contradicted: str = ""
    why_not: str = ""

    def __str__(self) -> str:
        made = (
            f"{self.stated.architecture} ({self.stated.assembler})"
            if self.stated.assembler
            else self.stated.architecture
        )
        if self.confirmed:
            return f"{made}, compared again: {self.stated.outcome}"
        said = f"; the certificate says: {self.stated.outcome}" if self.stated.outcome else ""
        return f"{made}, {self.contradicted or f'not compared again ({self.why_not})'}{said}"
