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
from ...hook.foreign import Grid, JitSignature, TileKernel, TritonSpecialisation
from ...hook.index_contents import IndexContents
from ...launching import calls
from ...launching.calls import Kernel
from ...launching.contents import Contents, host_bytes
from ...launching.proofs import LaunchProof, Request, proof_of
from ...launching.triton_calls import CalledTritonKernel
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
    """One launch: its own numbers as its contract, and the specialisation that it is of."""

    grid: tuple[int, int, int]
    descriptions: Sequence[Described]
    contents: _Held
    spec: LaunchSpec
    specialisation: _Specialisation


class Watcher:
    """An `Observer` and `TritonObserver` of launches that verifies them and tells ``note``.

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
        self._triton: dict[TritonSpecialisation, CalledTritonKernel] = {}
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
                function = known.object._annotated_function.pyfunc
                held = self._held(function, known.parameters, tuple(arguments), descriptions)
                return self._made(known, axes, signature, descriptions, held)

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
            return self._tell(begun, known, lambda: self._made(known, axes, signature, described, _Held({}), alias))

    def triton_room(self, function: FunctionType) -> bool:
        """All specialisations are looked at."""
        return True

    def triton_launch(
        self,
        specialisation: TritonSpecialisation,
        grid: Grid,
        described: Sequence[Described],
        arrays: Sequence[object],
    ) -> bool:
        """Verify one launch of a Triton kernel; ``arrays``: the objects behind what is described."""
        begun = time.perf_counter()
        with self._lock:
            kernel = self._triton.setdefault(specialisation, CalledTritonKernel(specialisation))

            def made() -> _Made:
                held = self._held(specialisation.function, kernel.parameters, arrays, described)
                axes = calls.grid_of(grid)
                spec = kernel.spec(described, held, axes)
                key = (specialisation.function, "", specialisation.text)
                known = self._specialisation(key, lambda: kernel.compiled(spec))
                return _Made(axes, described, held, spec, known)

            refused = self._tell(begun, kernel, made)
            if refused is not None:
                self.triton_failed(specialisation.function, refused)
        return False

    def triton_failed(self, function: FunctionType | None, error: Exception) -> None:
        """A launch that was made, and is not verified."""
        name = "a Triton kernel" if function is None else function.__qualname__
        file = "" if function is None else function.__code__.co_filename
        self._note(judged(_unverified(name, file, None, str(error)), new=True, seconds=0.0))

    def _made(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        signature: JitSignature,
        descriptions: Sequence[Described],
        held: _Held,
        alias: Sequence[Sequence[str]] = (),
    ) -> _Made:
        spec = calls.spec_of(kernel, descriptions, held, kernel.facts(), False, grid, alias)
        key = (kernel.object._annotated_function.pyfunc, repr(kernel.object._compiler_options), signature.symbol)
        known = self._specialisation(key, lambda: calls.compiled(kernel, signature, spec, self._architecture()))
        return _Made(grid, descriptions, held, spec, known)

    def _tell(self, begun: float, kernel: calls.NamedKernel, made: Callable[[], _Made]) -> Exception | None:
        """Note the verdict; an error of ``cuda.tile``'s compiler is returned."""
        try:
            result, new, equality = self._judge(kernel, made())
        except TileVerifyError as error:
            if not isinstance(error, UsageError):
                return error
            result, new, equality = _unverified(kernel.name, str(kernel.file), kernel.line, error.message), True, None
        except Exception as error:
            result, new, equality = (
                _unverified(kernel.name, str(kernel.file), kernel.line, failure_sentence(error)),
                True,
                None,
            )
        self._note(judged(result, new=new, seconds=time.perf_counter() - begun, equality=equality))
        return None

    def _judge(self, kernel: calls.NamedKernel, made: _Made) -> tuple[KernelResult, bool, LaunchEquality | None]:
        """The result that covers the launch, whether it was made for this one, and what comes of its reference."""
        named = dict(calls.named_values(kernel.parameters, made.descriptions))
        spec = made.spec
        unit = replace(made.specialisation.unit, launch=spec)
        essence = (
            spec.arguments,
            spec.grid,
            spec.requires,
            spec.data,
            spec.observed,
            spec.overlap,
            spec.trust,
            spec.allow,
        )
        result, new = self._verified(
            made.specialisation, unit, Request(named, made.grid, made.contents, False, lambda: unit), essence
        )
        return result, new, self._compared(kernel, unit, result, made, essence)

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
        kernel: calls.NamedKernel,
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
        for other, answer in made.specialisation.compared:
            if other == own:
                return replace(answer, new=False)
        constants = constants_of(kernel.parameters, made.descriptions)
        found = equality_of(ComparedLaunch(unit, result, constants, held), stated)
        made.specialisation.compared.append((own, found))
        return found

    def _held(
        self, kernel: FunctionType, names: Sequence[str], arguments: Sequence[object], descriptions: Sequence[Described]
    ) -> _Held:
        """Small index arrays, by parameter."""
        found = self._contents.of_launch(kernel, names, arguments, descriptions)
        held = {}
        for name, described in zip(names, descriptions, strict=True):
            if described["kind"] == "array" and name in found:
                dtype = np.dtype(f"{described['dtype'][0]}{described['bits'] // 8}")
                held[name] = np.frombuffer(found[name].elements, dtype).reshape(described["shape"])
        return _Held(held)

    def _specialisation(self, key: tuple[FunctionType, str, str], unit: Callable[[], KernelUnit]) -> _Specialisation:
        if key not in self._known:
            self._known[key] = _Specialisation(unit())
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


def _unverified(name: str, file: str, line: int | None, problem: str) -> KernelResult:
    return KernelResult(
        file=file,
        kernel=name,
        launch=calls.LAUNCH,
        verdict=Verdict.ERROR,
        findings=(Finding(TV.SOURCE_ERROR, problem),),
        line=line,
    )
