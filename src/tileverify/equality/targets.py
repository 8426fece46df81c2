"""`tileverify equal`: prove a kernel, then compare it with a reference, or with another kernel, on exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from ..backend.interpreter import Budget
from ..backend.numbers.choose import ContractInNumbers, scalars
from ..backend.numbers.trial_launches import constants_of
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import ConcreteArray, ConcreteLaunch, KernelUnit, LaunchSpec, Name, strides_of
from ..frontend.bytecode import decode
from ..frontend.sources.discover import SourceFailure, discover
from ..frontend.symbolic.summary import Access
from ..pipeline import CheckOptions
from ..pipeline.unit_check import check_unit
from ..pipeline.unit_summary import entry_of, summary_of
from ..results import KernelResult, Verdict
from ..system.errors import UsageError
from .deciding import SHARE, Decision, ExactAnswer, Other, decide
from .field import Array, Undecided
from .launch_outcomes import arrays_of
from .op_rules import ExactKernel, run_exactly
from .points import Options, TrialPoint, sizes_text
from .reference_runs import loaded, other_of
from .rounding_runs import rounding_of


@dataclass(frozen=True, slots=True)
class EqualOptions:
    """``unproved``: compare what is not proved, too; the answer then holds for blocks that run one after the other.
    ``rounding``: measure it of what is equal."""

    exact: Options = field(default_factory=Options)
    check: CheckOptions = field(default_factory=CheckOptions)
    unproved: bool = False
    spec: Path | None = None
    rounding: bool = True


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """One kernel under one launch spec: its proof, and whether it is its reference."""

    target: str
    reference: str
    verdict: KernelResult
    equality: ExactAnswer


def judge(
    target: str, reference: str | Callable[..., object], options: EqualOptions | None = None
) -> list[JudgedKernel]:
    """Every launch of ``target`` beside ``reference``: a function, ``FILE.py::FUNCTION``, or ``FILE::KERNEL``.

    :raises UsageError: there is no such kernel or reference.
    """
    options = options or EqualOptions()
    units = _units(target, options)
    name = reference if isinstance(reference, str) else getattr(reference, "__name__", "the reference")
    make, is_kernel = _maker(reference, options)
    found = []
    for unit in units:
        verdict = check_unit(unit, options.check)
        answer = compared(unit, verdict, make(unit), options)
        if _unpromised(unit.launch) and not is_kernel and (answer.difference is not None or answer.launches):
            answer = _of_unpromised(unit, answer)
        found.append(JudgedKernel(_name(unit), name, verdict, answer))
    return found


def compared(unit: KernelUnit, verdict: KernelResult, other: Other, options: EqualOptions) -> ExactAnswer:
    """Of one kernel that was checked."""
    if verdict.verdict is Verdict.ERROR or (verdict.verdict is not Verdict.PROVED and not options.unproved):
        finding = verdict.findings[0]
        reason = f"the kernel is {verdict.verdict.value}, not proved ({finding.code}: {finding.sentence})"
        return ExactAnswer(Decision.NOT_DECIDED, reason=reason)
    contract = ContractInNumbers(unit.launch, verdict.clauses)
    kernel = kernel_of(unit)
    found = decide(unit, kernel, contract, other, options.exact)
    if found.answer is Decision.EQUAL and (reason := order_matters(unit, verdict)):
        return replace(found, answer=Decision.NOT_DECIDED, reason=reason)
    if found.answer is Decision.EQUAL and options.rounding:
        return replace(found, rounding=rounding_of(unit, kernel, contract, other, found, options.exact))
    return found


def _unpromised(launch: LaunchSpec) -> bool:
    """Whether nobody said which sizes and grids belong together: of recorded launches that have no grid, too."""
    return launch.inferred or (launch.origin == "recorded" and launch.grid is None)


def _of_unpromised(unit: KernelUnit, found: ExactAnswer) -> ExactAnswer:
    """A launch that nobody described leaves sizes and grid free of each other: that may make the difference."""
    if found.answer is Decision.EQUAL:
        return found
    what = found.reason
    if found.difference is not None:
        what = f"{found.difference.array} differs at {sizes_text(found.difference.point.inputs.values)}"
    advice = (
        "say its grid in the launch spec"
        if unit.launch.has_spec
        else f"write a launch spec (tileverify init {unit.file.name})"
    )
    reason = (
        f"its launch is {unit.launch.origin}, where sizes and grid are free of each other, and the reference may tie "
        f"them; {advice}: {what}"
    )
    return replace(found, answer=Decision.NOT_DECIDED, reason=reason, difference=None)


def order_matters(unit: KernelUnit, verdict: KernelResult) -> str:
    """Why one order of the blocks of a proved kernel does not stand for all over the real numbers, empty if it does.

    What is not known to have one result is not taken to have one.  Additions of floats have one in a field.
    """
    if verdict.verdict is not Verdict.PROVED or verdict.deterministic or only_adds(unit):
        return ""
    if verdict.deterministic is False:
        return "the result depends on the order of blocks, so one run says little"
    return "it is not known that every order of blocks gives the same result"


def only_adds(unit: KernelUnit) -> bool:
    """Whether all that blocks order among themselves are additions of floats whose results nobody uses, to arrays that
    nothing else touches."""
    sites = summary_of(decode(unit.bytecode, file=str(unit.file)), unit).sites
    scoped = [site for site in sites if site.atomic]
    touched = {site.origin.name for site in scoped}
    shared = {name for group in unit.launch.sharing() if len(group) > 1 for name in group}
    added = all(
        site.access is Access.ATOMIC and site.mode == "addf" and not site.used and not site.op.startswith("multimem")
        for site in scoped
    )
    apart = all(site.atomic or site.origin.name not in touched for site in sites)
    return added and apart and not touched & shared


def rival_of(unit: KernelUnit, verdict: KernelResult) -> RivalKernel:
    """A kernel that was checked, as a reference."""
    contract = ContractInNumbers(unit.launch, verdict.clauses)
    return RivalKernel(_name(unit), unit, kernel_of(unit), contract, order_matters(unit, verdict))


def kernel_of(unit: KernelUnit) -> ExactKernel:
    module = decode(unit.bytecode, file=str(unit.file))
    return ExactKernel(module, entry_of(module, unit), unit.parameters)


def _units(target: str, options: EqualOptions) -> list[KernelUnit]:
    units: list[KernelUnit] = []
    for each in discover([target], spec_file=options.spec):
        if isinstance(each, SourceFailure):
            raise each.error
        units.append(each)
    if not units:
        raise UsageError(f"there is no kernel '{target}'")
    return units


def _name(unit: KernelUnit) -> str:
    return f"{unit.file}::{unit.kernel} [{unit.launch.name}]"


def _maker(reference: str | Callable[..., object], options: EqualOptions) -> tuple[Callable[[KernelUnit], Other], bool]:
    """What makes the reference of each unit, and whether it is a kernel."""
    if not isinstance(reference, str):
        return lambda unit: other_of(reference, written_by(unit)), False
    from cuda.tile import kernel as kernel_type  # only now: a reference may be written without it

    function = loaded(reference)
    if not isinstance(function, kernel_type):
        return lambda unit: other_of(function, written_by(unit)), False
    rivals = []
    for each in _units(reference, options):
        verdict = check_unit(each, options.check)
        if verdict.verdict is not Verdict.PROVED and not options.unproved:
            raise UsageError(f"{_name(each)} is {verdict.verdict.value}, not proved, so it is no reference")
        rivals.append(rival_of(each, verdict))

    def other_kernel(unit: KernelUnit) -> Other:
        same = [rival for rival in rivals if rival.unit.launch.name == unit.launch.name] or rivals
        return same[0].beside(unit, _name(unit))

    return other_kernel, True


def written_by(unit: KernelUnit) -> list[str]:
    """The arrays that the kernel writes, in the order of its parameters."""
    module = decode(unit.bytecode, file=str(unit.file))
    sites = summary_of(module, unit).sites
    written = {site.origin.name for site in sites if site.writes}
    return [array.name for array in unit.launch.arrays() if array.name in written]


# -------------------------------------------------------------------------------------------------------- rival kernels
# A second kernel in the place of a reference: it runs on the same numbers, with a grid of its own.


@dataclass(frozen=True, slots=True)
class RivalKernel:
    """A kernel that was proved: ``contract`` with the clauses of its proof; ``unordered``: why one order of its blocks
    says little, empty if it says all."""

    name: str
    unit: KernelUnit
    kernel: ExactKernel
    contract: ContractInNumbers
    unordered: str = ""

    def beside(self, unit: KernelUnit, name: str) -> Beside:
        """What it does on launches of ``unit``: arguments of the same names, or in the same places.

        :raises UsageError: it takes another number of arrays.
        """
        ours = [array.name for array in unit.launch.arrays()]
        theirs = [array.name for array in self.unit.launch.arrays()]
        if len(ours) != len(theirs):
            raise UsageError(f"{self.name} takes {len(theirs)} arrays, {name} takes {len(ours)}")
        pairs = _paired(theirs, ours)
        floats = _paired(float_scalars(self.unit), float_scalars(unit))

        return Beside(self, name, pairs or {}, floats)

    def launch(self, point: TrialPoint, arrays: Mapping[str, ConcreteArray]) -> ConcreteLaunch:
        """With its own grid and scalars.

        :raises UsageError: its contract does not allow the launch.
        :raises Undecided: it has sizes of its own, or takes arrays of other shapes.
        """
        known = {**point.inputs.launch.scalars, **point.inputs.values}
        values = {name: known[name] for name in self.contract.roots if name in known}
        if missing := set(self.contract.roots) - set(values):
            raise Undecided(f"{self.name} has the size {min(missing)} of its own")
        for array in self.unit.launch.arrays():
            given = arrays[array.name]
            wanted = tuple(self.contract.value(size, values) for size in array.shape)
            if wanted != given.shape or _kind(array.dtype) != _kind(given.dtype):
                shown = ", ".join(map(str, wanted))
                raise Undecided(f"{self.name} takes {array.name} as {array.dtype}[{shown}], another array")
            strides = tuple(self.contract.value(stride, values) for stride in strides_of(array))
            if any(one != two for one, two, size in zip(strides, given.strides, wanted, strict=True) if size > 1):
                raise Undecided(f"{self.name} takes {array.name} with other strides")
        for condition in self.contract.conditions:
            if condition.broken_by(values):
                raise UsageError(f"{self.name} does not allow the launch: {condition.violation(values)}")
        self._share_as_allowed(arrays)
        grid = tuple(self.contract.value(axis, values) for axis in self.contract.grid)
        numbers = {
            each.name: self.contract.value(Name(each.name), values)
            for each in scalars(self.unit.launch)
            if ELEMENT_TYPES[each.dtype].kind != "f"
        }
        return replace(point.inputs.launch, grid=(grid[0], grid[1], grid[2]), arrays=arrays, scalars=numbers)

    def _share_as_allowed(self, arrays: Mapping[str, ConcreteArray]) -> None:
        """Raises `Undecided` where arrays are one that its contract keeps apart, or two that it takes for one."""
        may, must = self.unit.launch.sharing(), self.unit.launch.same_arrays()
        for one, two in combinations(arrays, 2):
            shared, pair = arrays[one].allocation == arrays[two].allocation, {one, two}
            if shared and not any(pair <= group for group in may):
                raise Undecided(f"{self.name} does not allow {one} and {two} to be one array")
            if not shared and any(pair <= group for group in must):
                raise Undecided(f"{self.name} takes {one} and {two} for one array")


@dataclass(frozen=True, slots=True)
class Beside:
    """A rival on launches of the kernel ``name``; ``pairs``: its arrays and those of that kernel, ``floats``: float
    scalars likewise, None where that kernel lacks some."""

    rival: RivalKernel
    name: str
    pairs: Mapping[str, str]
    floats: Mapping[str, str] | None

    def __call__(
        self, point: TrialPoint, arrays: Mapping[str, Array], arguments: Mapping[str, object]
    ) -> Mapping[str, Array]:
        rival = self.rival
        if rival.unordered:
            raise Undecided(f"{rival.name}: {rival.unordered}")
        if self.floats is None:
            raise Undecided(f"{rival.name} takes float scalars that {self.name} does not take")
        launch = rival.launch(point, {mine: point.inputs.launch.arrays[known] for mine, known in self.pairs.items()})
        numbers = {mine: point.floats[known] for mine, known in self.floats.items()}
        inputs = replace(point.inputs, launch=launch)
        after = run_exactly(rival.kernel, inputs, point.contents, numbers, Budget(SHARE))
        return {name: np.asarray(array) for name, array in arrays_of(point, after)}

    def numbers(self) -> Iterable[float]:
        known = constants_of(self.rival.kernel.entry)
        return (*known.floats, *map(float, known.integers))

    def one_way(self) -> Iterable[str]:
        return (f"{self.rival.name}: {each}" for each in self.rival.kernel.ways.one_way())

    def stepped(self) -> Iterable[str]:
        return self.rival.kernel.ways.stepped

    def compared(self) -> Iterable[str]:
        return ()  # all of them: a kernel says of every array what it is


def _kind(dtype: str) -> str:
    """Floats are numbers of one kind here, whatever their format."""
    return "float" if ELEMENT_TYPES[dtype].kind == "f" else dtype


def float_scalars(unit: KernelUnit) -> list[str]:
    """The names of the runtime scalars that are floats."""
    return [each.name for each in scalars(unit.launch) if ELEMENT_TYPES[each.dtype].kind == "f"]


def _paired(theirs: Sequence[str], ours: Sequence[str]) -> dict[str, str] | None:
    """By name where the names are the same, else by place; None where they are not as many."""
    if set(theirs) == set(ours):
        return {name: name for name in theirs}
    return dict(zip(theirs, ours, strict=True)) if len(theirs) == len(ours) else None
