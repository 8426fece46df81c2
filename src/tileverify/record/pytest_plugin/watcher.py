"""The verdict on every launch that a process makes, each specialisation verified once where a proof covers the rest."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import TypeAlias

import numpy as np

from ...backend.guard import LaunchRefused
from ...contract.facts.columns import Array
from ...contract.launch import KernelUnit, LaunchSpec
from ...hook.described_launch import Described
from ...hook.foreign import Grid, JitSignature, TileKernel
from ...hook.index_contents import IndexContents
from ...launching import calls
from ...launching.calls import Kernel
from ...launching.contents import Contents, host_bytes
from ...launching.proofs import LaunchProof, Request, proof_of
from ...pipeline import CheckOptions
from ...pipeline.unit_check import check_unit
from ...results import Finding, KernelResult, Verdict
from ...results.codes import TV
from ...system.errors import TileVerifyError, UsageError, failure_sentence
from .judged import Judged, LaunchEquality, judged
from .stated_references import StatedReference

_Essence: TypeAlias = tuple[object, ...]
"""What makes a launch that has no proof the same as another one."""


@dataclass
class _Specialisation:
    """One bytecode of a kernel, and what is known of its launches."""

    unit: KernelUnit
    proofs: list[LaunchProof] = field(default_factory=list)
    others: list[tuple[_Essence, KernelResult]] = field(default_factory=list)
    compared: list[tuple[tuple[object, ...], LaunchEquality]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Made:
    """One launch; ``alias``: groups of arguments that the compiler was told may be one array."""

    grid: tuple[int, int, int]
    signature: JitSignature
    descriptions: Sequence[Described]
    contents: _Held
    alias: Sequence[Sequence[str]] = ()


class Watcher:
    """An `Observer` of launches that verifies them and tells ``note``.

    ``reference``: what is stated for a kernel, by its name, now.  ``architecture``: asks for the GPU that bytecode is
    made for, when there is one.  ``on_device``: arrays lie in a GPU's memory; ``kernels_run``: what index arrays hold
    means something.
    """

    def __init__(
        self,
        note: Callable[[Judged], None],
        options: CheckOptions,
        reference: Callable[[str], StatedReference | None],
        *,
        architecture: Callable[[], str | None],
        on_device: bool,
        kernels_run: bool,
    ) -> None:
        self._note = note
        self._reference = reference
        self._options = options
        self._architecture = architecture
        self._contents = IndexContents(on_device=on_device, kernels_run=kernels_run)
        self._kernels: weakref.WeakKeyDictionary[TileKernel, Kernel] = weakref.WeakKeyDictionary()
        self._known: dict[tuple[FunctionType, str, str], _Specialisation] = {}
        self._lock = threading.RLock()

    def launch(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object], how: str) -> Exception | None:
        """Verify; what cannot be launched at all is returned, and no launch."""
        begun = time.perf_counter()
        with self._lock:
            try:
                known = self._kernels.setdefault(kernel, Kernel.of(kernel))
                axes = calls.grid_of(grid)
                signature = calls.signature_of(known, arguments)
            except (UsageError, TypeError) as error:
                own = error.__context__  # cuda.tile's own error, which programs expect
                return own if isinstance(own, Exception) else error

            def made() -> _Made:
                descriptions = calls.described(arguments, signature)
                held = dict(self._held(known, tuple(arguments), descriptions))
                return _Made(axes, signature, descriptions, _Held(held))

            return self._tell(begun, known, made)

    def traced(
        self,
        kernel: TileKernel,
        grid: Grid,
        signature: JitSignature,
        described: Sequence[Described],
        alias: Sequence[Sequence[str]],
        how: str,
    ) -> Exception | None:
        """The same for a launch whose arguments lie in no memory yet."""
        begun = time.perf_counter()
        with self._lock:
            known = self._kernels.setdefault(kernel, Kernel.of(kernel))
            try:
                axes = calls.grid_of(grid)
            except UsageError as error:
                return error
            return self._tell(begun, known, lambda: _Made(axes, signature, described, _Held({}), alias))

    def _tell(self, begun: float, kernel: Kernel, made: Callable[[], _Made]) -> Exception | None:
        """Note the verdict; an error of ``cuda.tile``'s compiler is returned."""
        try:
            result, new, equality = self._judge(kernel, made())
        except TileVerifyError as error:
            if not isinstance(error, UsageError):
                return error
            result, new, equality = _unverified(kernel, error.message), True, None
        except Exception as error:
            result, new, equality = _unverified(kernel, failure_sentence(error)), True, None
        self._note(judged(result, new=new, seconds=time.perf_counter() - begun, equality=equality))
        return None

    def _judge(self, kernel: Kernel, made: _Made) -> tuple[KernelResult, bool, LaunchEquality | None]:
        """The result that covers the launch, whether it was made for this one, and what comes of its reference."""
        named = dict(calls.named_values(kernel.parameters, made.descriptions))
        spec = calls.spec_of(kernel, made.descriptions, made.contents, kernel.facts(), False, made.grid, made.alias)
        specialisation = self._specialisation(kernel, made.signature, spec)
        unit = replace(specialisation.unit, launch=spec)
        essence = (spec.arguments, spec.grid, spec.requires, spec.data, spec.observed, spec.overlap, spec.trust)
        result, new = self._verified(
            specialisation, unit, Request(named, made.grid, made.contents, False, lambda: unit), essence
        )
        return result, new, self._compared(kernel, specialisation, unit, result, made, essence)

    def _verified(
        self, specialisation: _Specialisation, unit: KernelUnit, request: Request, essence: _Essence
    ) -> tuple[KernelResult, bool]:
        for proof in specialisation.proofs:
            if proof.covers(request):
                return proof.result, False
        for other, result in specialisation.others:
            if other == essence:
                return result, False
        result = check_unit(unit, self._options)
        try:
            specialisation.proofs.append(proof_of(unit, result))
        except LaunchRefused:
            specialisation.others.append((essence, result))
        return result, True

    def _compared(
        self,
        kernel: Kernel,
        specialisation: _Specialisation,
        unit: KernelUnit,
        result: KernelResult,
        made: _Made,
        essence: _Essence,
    ) -> LaunchEquality | None:
        """With the reference that is stated for the kernel; a launch with the same numbers is not compared again."""
        stated = self._reference(kernel.name)
        if stated is None:
            return None
        from .compared_launches import ComparedLaunch, constants_of, equality_of  # only now: it loads exact numbers

        held = {name: made.contents[name] for name in made.contents}
        own = (stated.what, essence, {name: array.tobytes() for name, array in held.items()})
        for other, answer in specialisation.compared:
            if other == own:
                return replace(answer, new=False)
        constants = constants_of(kernel.parameters, made.descriptions)
        found = equality_of(ComparedLaunch(unit, result, constants, held), stated)
        specialisation.compared.append((own, found))
        return found

    def _held(
        self, kernel: Kernel, arguments: Sequence[object], descriptions: Sequence[Described]
    ) -> Iterator[tuple[str, Array]]:
        """Small index arrays, by parameter."""
        function = kernel.object._annotated_function.pyfunc
        found = self._contents.of_launch(function, kernel.parameters, arguments, descriptions)
        for name, described in zip(kernel.parameters, descriptions, strict=True):
            if described["kind"] == "array" and name in found:
                dtype = np.dtype(f"{described['dtype'][0]}{described['bits'] // 8}")
                yield name, np.frombuffer(found[name].elements, dtype).reshape(described["shape"])

    def _specialisation(self, kernel: Kernel, signature: JitSignature, spec: LaunchSpec) -> _Specialisation:
        options = repr(kernel.object._compiler_options)
        key = (kernel.object._annotated_function.pyfunc, options, signature.symbol)
        if key not in self._known:
            unit = calls.compiled(kernel, signature, spec, self._architecture())
            self._known[key] = _Specialisation(unit)
        return self._known[key]


class _Held(Contents):
    """Contents that were read already."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__({}, host_bytes)
        self._known = dict(arrays)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _unverified(kernel: Kernel, problem: str) -> KernelResult:
    return KernelResult(
        file=str(kernel.file),
        kernel=kernel.name,
        launch=calls.LAUNCH,
        verdict=Verdict.ERROR,
        findings=(Finding(TV.SOURCE_ERROR, problem),),
        line=kernel.line,
    )
