"""Try what might mend a refuted kernel, and offer what was proved."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Final, TypeAlias

from ...contract.expressions import print_expression
from ...contract.launch import Apply, ConstantArgument, Expression, KernelUnit, LaunchSpec, Number
from ...frontend.sources.cutile import Compile, edited_unit
from ...frontend.symbolic.written import read_axes
from ...reports.snippets import text_digest
from ...results import COMBINATIONS, WARNINGS, Finding, Hint, KernelResult, Verdict
from ...results.codes import TV
from ...system.errors import TileVerifyError
from ...system.readings import cell_text, text_of
from ...verifier.large_arrays import NOT_FOUND_OUT
from ..options import CheckOptions
from .catalogue import ADVICE, KINDS
from .kernel_source import KernelSource, edited
from .proposals import Proposal, proposals
from .small_runs import Comparison, SmallRuns, decoded

MOST_TRIALS: Final = 24
"""Changed kernels that are compiled and proved for one result."""
QUICK_TRIALS: Final = 4
QUICK_EFFORT: Final = 0.03
"""The same where nobody asked for repairs: so many, each for so much of the usual account of a proof."""
CODE_TRIALS: Final = 6
"""The same for compiled code that differs, which is assembled for each of them."""

Prove: TypeAlias = Callable[[bool], KernelResult | None]
"""The same of one kernel; ``None`` where there is no verdict to be had."""


def trials_of(result: KernelResult, options: CheckOptions) -> tuple[int, CheckOptions]:
    """How many changed kernels are tried, and what is asked of each: of a proof whose compiled code differs (TV503)
    the same proof, and code that compares equal."""
    most, effort = (
        (MOST_TRIALS, options.effort) if options.repair else (QUICK_TRIALS, min(QUICK_EFFORT, options.effort))
    )
    compiled: tuple[str, ...] = ()
    if any(each.code == TV.LAUNCH_ARTIFACT for each in result.findings):
        most, effort, compiled = max(most, CODE_TRIALS), options.effort, options.compiled
    trial = CheckOptions(
        timeout_s=options.timeout_s,
        deny_requires=options.deny_requires,
        effort=effort,
        witnesses=False,
        compiled=compiled,
    )
    return most, trial


def with_repairs(
    unit: KernelUnit,
    result: KernelResult,
    check: Check,
    most: int = MOST_TRIALS,
    compiled: Compile | None = None,
) -> KernelResult:
    """``result`` with hints on what mends its findings; ``check`` decides whether a changed kernel is proved.

    ``compiled``: how a kernel is compiled for the launch, where that does not say it all.

    Only what proves the whole kernel under the same contract is offered with edits.  Kernels that are neither in a
    Python file nor in a notebook's cell, as recorded ones, get advice alone.
    """
    cell = cell_text(str(unit.file))
    if not any(map(can_be_mended, result.findings)):
        return result
    if cell is None and unit.file.suffix != ".py":
        return replace(result, findings=tuple(map(_advised, result.findings)))
    try:
        text = text_of(unit.file) if cell is None else cell
        source = KernelSource(text)
    except (OSError, SyntaxError, ValueError):
        return result
    has_grid = unit.launch.grid is not None and most > QUICK_TRIALS  # any grid is a large question
    changed = _Changed(unit, check, compiled, SmallRuns(unit, result.findings))
    trials = Trials(
        text,
        changed.prepared,
        has_grid,
        most,
        result.requires,
        changed.compared,
        block_unread=changed.block_unread,
        codes=codes_of(result),
    )
    findings = [repaired(finding, proposals(source, finding, result.findings), trials) for finding in result.findings]
    if compiled is None and cell is None:
        tiles = OtherTiles(unit, source, result, check, changed.runs)
        findings = [_with_other_tile(each, tiles) for each in findings]
    return replace(result, findings=tuple(findings))


def _with_other_tile(finding: Finding, tiles: OtherTiles) -> Finding:
    """Compiled code that differs, with another tile beside an edit: which of them is faster is not known here."""
    hint = tiles.hint(finding) if finding.code == TV.LAUNCH_ARTIFACT else None
    return (
        finding
        if hint is None
        else replace(finding, hints=(*(known for known in finding.hints if known.id != ADVICE), hint))
    )


def can_be_mended(finding: Finding) -> bool:
    """Whether edits are looked for."""
    return finding.witness is not None or finding.code in _WITHOUT_WITNESS


_WITHOUT_WITNESS: Final = (TV.SYNCHRONISATION_PROTOCOL, TV.INDEX_WRAPS, TV.LAUNCH_ARTIFACT)


def repaired(finding: Finding, proposed: Iterable[Proposal], trials: Trials) -> Finding:
    """``finding`` with a hint: the first of the proposals that proves the kernel, else advice."""
    if not can_be_mended(finding):
        return finding
    for proposal in proposed:
        hint = trials.hint(proposal, warning=finding.code if finding.code in WARNINGS else None)
        if hint is not None:
            others = [known for known in finding.hints if known.id not in (hint.id, ADVICE)]  # advice without edits
            return replace(finding, hints=(*others, hint))
    other_grid = tuple(trials.other_grid(finding))
    advice = () if any(hint.id == "one-block" for hint in other_grid) else _advice(finding)
    return replace(finding, hints=(*finding.hints, *other_grid, *advice))


@dataclass
class Trials:
    """Each changed text is tried once, however many findings it might mend.

    ``prepared``: makes ready to prove a changed source, under the launch of the result; for ``None`` the source as it
    is, under any grid; no proof for a source that does not compile.  ``has_grid``: the launch has one of its own.
    ``most``: texts that are tried.  ``requires``: clauses under which the kernel was looked at as it is.
    ``block_unread``: no block knows its number, so that ``None`` is prepared for one block.
    ``codes``: of the findings of the kernel as it is.
    ``compared``: a changed source with the one that is, in runs (`small_runs`); ``True``: of lanes that are left open.
    """

    text: str
    prepared: Callable[[str | None], Prove | None]
    has_grid: bool
    most: int = MOST_TRIALS
    requires: tuple[str, ...] = ()
    compared: Callable[[str, bool], Comparison] | None = None
    block_unread: bool = False
    codes: frozenset[str] = frozenset()
    _known: dict[str | None, KernelResult | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Texts that were tried."""
        return len(self._known)

    def hint(self, proposal: Proposal, *, warning: str | None = None) -> Hint | None:
        """The hint for a proposal that proves the kernel, without the ``warning`` that it is for; a kernel that is
        determined then has to give what was meant."""
        determined = warning == TV.UNDETERMINED
        text = edited(self.text, proposal.edits)
        seen = self.compared(text, True) if self.compared is not None and determined else None
        if seen is Comparison.OTHER:
            return None
        outcome = self._outcome(text)
        if outcome is None or outcome.verdict is not Verdict.PROVED:
            return None
        if determined and (outcome.findings or outcome.deterministic is False):
            return None
        equal = compared_equal(outcome, self.codes) if warning == TV.LAUNCH_ARTIFACT else ""
        if warning == TV.LAUNCH_ARTIFACT and not equal:
            return None
        if warning == TV.INDEX_WRAPS and not fits_large_arrays(outcome):
            return None
        if self.compared is not None and proposal.same_results and not determined:
            seen = self.compared(text, False)
            if warning == TV.LAUNCH_ARTIFACT and seen is Comparison.OTHER:
                return None
        kind = KINDS[proposal.kind]
        new = [clause for clause in outcome.requires if clause not in self.requires]
        safe = proposal.same_results and not new and seen in (None, Comparison.SAME)
        proved = f"proved when {' and '.join(new)}" if new else "proved"
        proved = f"{proved}, {equal}" if equal else proved
        doubt = _DOUBTS.get(seen, "") if proposal.same_results and seen is not None else ""
        advice = f"{kind.text}: {proposal.text} ({proved}{doubt})"
        return Hint(kind.id, "safe" if safe else "maybe", advice, proposal.edits, text_digest(self.text))

    def other_grid(self, finding: Finding) -> Iterator[Hint]:
        """What the kernel is proved for if the grid is left open, or is one block where all do the same."""
        if self.block_unread and finding.code in KINDS["one-block"].codes:
            outcome = self._outcome(None)
            if outcome is not None and outcome.verdict is Verdict.PROVED:
                yield Hint("one-block", "maybe", f"{KINDS['one-block'].text}: launch one, grid = [1] (proved)")
            return
        if not self.has_grid or finding.code not in KINDS["fit-grid"].codes:
            return
        outcome = self._outcome(None)
        if outcome is not None and outcome.verdict is Verdict.PROVED and not self._is_idle(finding, outcome):
            clauses = " and ".join(outcome.requires) or "any grid"
            yield Hint("fit-grid", "maybe", f"{KINDS['fit-grid'].text}: the kernel is proved for {clauses}")

    def _is_idle(self, finding: Finding, outcome: KernelResult) -> bool:
        """Whether the proof leaves one block along an axis whose block ids the kernel reads: no grid that is meant."""
        line = next((site.line for site in finding.sites if site.line is not None), None)
        source = KernelSource(self.text)
        function = None if line is None else source.function_at(line)
        read = [] if function is None else source.block_ids(function)
        alone = [f"grid.{'xyz'[axis]} == 1" for axis in read if axis < 3]
        return any(words in clause for words in alone for clause in outcome.requires)

    def _outcome(self, text: str | None) -> KernelResult | None:
        if text not in self._known and len(self._known) < self.most:
            self._known[text] = self._tried(text)
        return self._known.get(text)

    def _tried(self, text: str | None) -> KernelResult | None:
        prove = self.prepared(text)
        outcome = None if prove is None else prove(False)
        if prove is None or outcome is None or text is None or not outcome.requires:
            return outcome
        # Clauses may only say how far the proof reaches beyond a launch of numbers: it may hold without them.
        exact = prove(True)
        return exact if exact is not None and exact.verdict is Verdict.PROVED else outcome


@dataclass
class _Changed:
    """Changed sources of ``unit``, each compiled once."""

    unit: KernelUnit
    check: Check
    compiled: Compile | None
    runs: SmallRuns
    _units: dict[str, KernelUnit | None] = field(default_factory=dict)

    @cached_property
    def block_unread(self) -> bool:
        """Whether no block number has a part in anything that the kernel does."""
        _, entry = decoded(self.unit)
        return not read_axes(entry)

    def prepared(self, text: str | None) -> Prove | None:
        """As `Trials` wants it."""
        if text is None:
            grid = (Number(1), Number(1), Number(1)) if self.block_unread else None
            return partial(self.check, replace(self.unit, launch=replace(self.unit.launch, grid=grid, grid_text=())))
        changed = self._of(text)
        return None if changed is None else partial(self.check, changed)

    def compared(self, text: str, lanes: bool) -> Comparison:
        changed = self._of(text)
        return Comparison.UNKNOWN if changed is None else self.runs.compared(changed, lanes=lanes)

    def _of(self, text: str) -> KernelUnit | None:
        if text not in self._units:
            try:
                self._units[text] = edited_unit(self.unit, text, self.compiled)
            except TileVerifyError:
                self._units[text] = None
        return self._units[text]


_DOUBTS: Final[Mapping[Comparison, str]] = {
    Comparison.OTHER: "; on small launches it does something else than before",
    Comparison.UNKNOWN: "; no run shows that it does what it did before",
    Comparison.PARTLY: "; what is meant beyond the array is not known",
}
"""Why a repair that may well do what the kernel did is not called safe."""


def _advised(finding: Finding) -> Finding:
    hints = tuple(_advice(finding)) if can_be_mended(finding) and not finding.hints else ()
    return replace(finding, hints=(*finding.hints, *hints))


def _advice(finding: Finding) -> Iterator[Hint]:
    """What can be said where no edit was found."""
    between_blocks = finding.code == TV.SYNCHRONISATION_PROTOCOL and finding.obligation != TV.UNORDERED_IN_BLOCK
    code = finding.code if between_blocks else finding.obligation or finding.code
    one_access = len({(site.line, site.column, site.access) for site in finding.sites}) == 1
    kind = "separate-lanes" if code == TV.DUPLICATE_LANES and one_access else _ADVICE.get(code)
    if code == TV.UNDETERMINED and finding.sites and finding.sites[0].access in COMBINATIONS:
        kind = "give-identity"
    if kind is not None:
        yield Hint(kind, "display", KINDS[kind].text)


_ADVICE: Final[Mapping[str, str]] = {
    TV.RACE_WRITE_WRITE: "split-output-index",
    TV.RACE_READ_WRITE: "separate-output",
    TV.RACE_ATOMIC_MIXED: "separate-launch",
    TV.UNORDERED_IN_BLOCK: "order-accesses",
    TV.DUPLICATE_LANES: "order-accesses",
    TV.ARITHMETIC_UNDEFINED: "guard-divisor",
    TV.UNDETERMINED: "pad-load",
    TV.SYNCHRONISATION_PROTOCOL: "strengthen-order",
}


# ------------------------------------------------------------------------------------------------------- trial outcomes
# What the verdict on a changed kernel has to say for the change to be offered.


Check: TypeAlias = Callable[[KernelUnit, bool], KernelResult]
"""The verdict on a changed kernel; with `True` under its contract alone, with no clause added."""


def fits_large_arrays(outcome: KernelResult) -> bool:
    """Whether the proof comes without the warning that an index wraps in large arrays, which was asked to its end."""
    return NOT_FOUND_OUT not in outcome.notes and all(each.code != TV.INDEX_WRAPS for each in outcome.findings)


def codes_of(result: KernelResult) -> frozenset[str]:
    return frozenset(each.code for each in result.findings)


def compared_equal(outcome: KernelResult, before: frozenset[str]) -> str:
    """For which architectures the code of a proved kernel compared equal, in words; empty where one did not, or where
    there are warnings of other codes than ``before``."""
    new = codes_of(outcome) - (before - {TV.LAUNCH_ARTIFACT})
    compared = outcome.compared_code
    if outcome.verdict is not Verdict.PROVED or new or not compared or not all(each.launches for each in compared):
        return ""
    return f"compiled code compared equal for {' and '.join(each.architecture for each in compared)}"


# ---------------------------------------------------------------------------------------------------------- other tiles
# Other tiles for a launch of which the assembler makes other code than its bytecode says.
#
# A tile is a constant of the launch, so it stands where the launch is made: what is offered is advice, without edits of
# the kernel.  It is tried like an edit all the same: the grid counts the new tiles, small launches give what they gave
# before, the kernel is proved under the same contract, and its code compares equal.


MOST: Final = 4
"""Tiles that are compiled."""
_LARGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class OtherTiles:
    """``result``: of the unit as it is."""

    unit: KernelUnit
    source: KernelSource
    result: KernelResult
    check: Check
    runs: SmallRuns

    def hint(self, finding: Finding) -> Hint | None:
        """The first other tile that is right."""
        launches = other_launches(self.unit.launch, self._constants(finding))
        return next(filter(None, (self._tried(*each) for each in islice(launches, MOST))), None)

    def _constants(self, finding: Finding) -> list[ConstantArgument]:
        """Constants that the accesses of the arrays at fault name."""
        line = next((site.line for site in finding.sites if site.line is not None), None)
        function = None if line is None else self.source.function_at(line)
        if function is None or line is None:
            return []
        calls = list(self.source.calls(function))
        at_fault = [each for each in calls if each.node.lineno <= line <= (each.node.end_lineno or 0)]
        arrays = {self.source.of(each.arguments["array"]) for each in at_fault}
        accesses = [each.node for each in calls if self.source.of(each.arguments["array"]) in arrays]
        named = {part.id for node in accesses for part in ast.walk(node) if isinstance(part, ast.Name)}
        return [
            each
            for each in self.unit.launch.arguments
            if isinstance(each, ConstantArgument) and each.name in named and type(each.value) is int and each.value > 1
        ]

    def _tried(self, what: str, launch: LaunchSpec) -> Hint | None:
        try:
            changed = edited_unit(replace(self.unit, launch=launch), self.source.text)
        except TileVerifyError:
            return None
        if self.runs.compared(changed) is not Comparison.SAME:
            return None
        outcome = self.check(changed, False)
        equal = compared_equal(outcome, codes_of(self.result))
        if not equal or not set(outcome.requires) <= set(self.result.requires):
            return None
        return Hint("other-tile", "maybe", f"{KINDS['other-tile'].text}: launch with {what} (proved, {equal})")


def other_launches(launch: LaunchSpec, constants: list[ConstantArgument]) -> Iterator[tuple[str, LaunchSpec]]:
    """What changes, in words, and the launch with it; larger tiles first, as too small ones repeat elements."""
    for constant in constants:
        size: int = constant.value
        for other in (2 * size, 4 * size, size // 2):
            if 1 <= other <= _LARGEST:
                arguments = tuple(replace(each, value=other) if each == constant else each for each in launch.arguments)
                grid = _grid(launch, {size: other})
                words = f"{constant.name} = {other} for {size}"
                if grid is not None and grid != launch.grid:
                    axes = [*map(print_expression, grid)]
                    while len(axes) > 1 and axes[-1] == "1":
                        axes.pop()
                    words += f" and grid = [{', '.join(axes)}]"
                yield words, replace(launch, arguments=arguments, grid=grid, grid_text=())


def _grid(launch: LaunchSpec, sizes: Mapping[int, int]) -> tuple[Expression, Expression, Expression] | None:
    """The grid with other numbers in the place of the tile's, and a block for what is left of the last tile."""
    if launch.grid is None:
        return None
    x, y, z = (_with(axis, sizes) for axis in launch.grid)
    return x, y, z


def _with(expression: Expression, sizes: Mapping[int, int]) -> Expression:
    if isinstance(expression, Number):
        return Number(sizes.get(expression.value, expression.value))
    if isinstance(expression, Apply):
        if expression.op == "//" and expression.args[1] in [*map(Number, sizes)]:
            expression = Apply("cdiv", expression.args)
        return Apply(expression.op, tuple(_with(each, sizes) for each in expression.args))
    return expression
