"""`tileverify.launch`: a launch is covered by a proof, or it is not made."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Unpack

from ..backend.assembler import CodeDiffers, find_assembler
from ..backend.compiled.cubin_look import ProvedEntry, looked, refuse_differences
from ..backend.gpu import driver
from ..backend.gpu.loaded import GpuKernel, Plan
from ..backend.guard import LaunchRefused
from ..backend.guard.arguments import Grid
from ..contract.launch import KernelUnit
from ..pipeline import CheckOptions
from ..pipeline.verdict_cache import default_folder
from ..system.errors import UsageError
from ..system.paths import display_path
from . import calls, on_cpu, trust_warning
from .arguments import use_of
from .asked import Asked
from .bundle.manifest import parameter_types
from .bundled import BundledKernel
from .calls import Kernel
from .cubins import CubinCache
from .given import Arguments, GivenGrid, GivenOptions, Key, Stream
from .on_cpu import HOST, HostPlan
from .options import options_of
from .optouts import OptOut, current, note
from .proofs import BrokenFact, LaunchProof, Request, Specialisation
from .remembered import Planned, Remembered, never


@dataclass
class Launcher:
    """All kernels that a process launches, and what was proved of them; threads may share it."""

    options: CheckOptions = field(default_factory=lambda: CheckOptions(cache=default_folder()))
    _specialisations: dict[Key, Specialisation] = field(default_factory=dict)
    _kernels: weakref.WeakKeyDictionary[object, Kernel] = field(default_factory=weakref.WeakKeyDictionary)
    _loaded: dict[tuple[int, int], GpuKernel] = field(default_factory=dict)
    _remembered: weakref.WeakKeyDictionary[object, Remembered] = field(default_factory=weakref.WeakKeyDictionary)
    _early: weakref.WeakKeyDictionary[object, Remembered] = field(default_factory=weakref.WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def launch(
        self, stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> None:
        """Verify and run.

        ``kernel``: of cuda.tile, or a `BundledKernel`.  ``grid``: as cuda.tile takes it, or ``None`` for the one that
        covers the arrays, where the contract says which that is.  ``options``: fields of `LaunchOptions`.

        Raises `LaunchRefused` (TV501, TV502), `UsageError` for arguments that make no launch, and errors of the
        compiler at the user's line.
        """
        again = never if options else getattr(kernel, "tileverify_again", never)
        if not again(stream, grid, arguments):
            self.look_and_launch(stream, grid, kernel, arguments, **options)

    def look_and_launch(
        self, stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> None:
        """`launch` for what the kernel's ``tileverify_again`` did not make, which it gets with its first launch."""
        if isinstance(kernel, BundledKernel):
            kernel.look_and_launch(stream, grid, arguments, **options)
            return
        early = options_of(options).programmatic_dependent_launch
        launches = self._early if early else self._remembered
        remembered = launches.get(kernel)
        if remembered is not None and remembered.made(stream, grid, arguments, untried=early):
            return
        remembered = launches.setdefault(kernel, Remembered())
        try:
            remembered.first(
                stream, grid, arguments, self.planned(stream, grid, kernel, arguments, looked=False, **options)
            )
        except BrokenFact:  # another proof, or none
            remembered.first(stream, grid, arguments, self.planned(stream, grid, kernel, arguments, **options))
        if not early:
            self._kernel(kernel).object.tileverify_again = remembered.again

    def planned(
        self,
        stream: Stream,
        grid: GivenGrid,
        kernel: object,
        arguments: Arguments,
        *,
        looked: bool = True,
        **options: Unpack[GivenOptions],
    ) -> Planned:
        """A launch that is verified and ready to be made.  What it raises is what `launch` raises.

        ``looked``: at contents, too; else whoever makes it has to (`Planned.look`).
        """
        if isinstance(kernel, BundledKernel):
            return kernel.planned(stream, grid, arguments, looked=looked, **options)
        asked = self.asked(stream, kernel, arguments, **options)
        known, named, device = asked.kernel, asked.named, asked.device
        specialisation = self._specialisation(asked)

        def request(axes: Grid | None) -> Request:
            @cache
            def unit() -> KernelUnit:
                return replace(specialisation.unit, launch=asked.spec(axes))

            return Request(named, axes, asked.contents, asked.said.vouch, unit)

        axes = specialisation.covering_grid(request(None), self.options) if grid is None else calls.grid_of(grid)
        wanted = request(axes)
        proof = self._admitted(known, specialisation, wanted, looked)
        look = None if proof is None else proof.look(wanted)
        lists = dict(calls.lists_of(known.parameters, asked.descriptions))
        if proof is not None and proof.guard is not None:
            named = dict(zip(named, proof.guard.passed(tuple(named.values())), strict=True))
        touched = specialisation.touched
        if proof is None:  # nobody showed that it stays within its arrays' elements
            touched = touched.anywhere()
        plan: Plan | HostPlan
        if device is None:
            on_cpu.refuse_read_only(known.name, named, lists, touched.written)
            unit = wanted.unit()
            run = partial(on_cpu.run, unit, tuple(named.values()), lists, axes, touched.written, look)
            plan = HostPlan(specialisation, unit.bytecode, axes, run)
        else:
            trust_warning.tell(known.name, str(known.file), () if proof is None else proof.launch.trust)
            early = (
                asked.said.programmatic_dependent_launch and proof is not None and specialisation.ahead == frozenset()
            )
            plan = self._on(device, specialisation).plan(axes, named, lists, early=early)
        use = use_of(known.name, HOST if device is None else device, axes, named, touched, lists)
        # What depends on contents, or ran by an opt-out, is asked again each time.
        ahead = None if proof is None or device is None else specialisation.ahead
        return Planned(plan, use, again=proof is not None and not proof.assumed, ahead=ahead, look=look)

    def asked(self, stream: Stream, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]) -> Asked:
        """A launch looked at, not verified; ``options`` and errors are those of `launch`."""
        return Asked.of(self._kernel(kernel), arguments, options_of(options), stream)

    def proof(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> LaunchProof:
        """The proof that covers a launch of a kernel of cuda.tile; what it raises is what `launch` raises."""
        return self.proved_unit(grid, kernel, arguments)[1]

    def proved_unit(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> tuple[KernelUnit, LaunchProof]:
        """The kernel with the numbers of a launch as its contract, and the proof that covers it, as `proof` has it."""
        asked = self.asked(None, kernel, arguments)
        axes = calls.grid_of(grid)
        specialisation = self._specialisation(asked)

        @cache
        def unit() -> KernelUnit:
            return replace(specialisation.unit, launch=asked.spec(axes))

        return unit(), specialisation.admit(Request(asked.named, axes, asked.contents, False, unit), self.options)

    def unit_of(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> KernelUnit:
        """The kernel with the numbers of a launch as its contract, whatever a proof says of it."""
        asked = self.asked(None, kernel, arguments)
        return replace(self._specialisation(asked).unit, launch=asked.spec(calls.grid_of(grid)))

    def _admitted(
        self, kernel: Kernel, specialisation: Specialisation, request: Request, looked: bool
    ) -> LaunchProof | None:
        """The proof; ``None`` where an opt-out lets the launch pass without one."""
        try:
            return specialisation.admit(request, self.options, looked=looked)
        except LaunchRefused as refused:
            reason = current()
            if reason is None:
                raise
            note(OptOut(reason, kernel.name, str(kernel.file), kernel.line, refused.message))
            return None

    def _kernel(self, kernel: object) -> Kernel:
        try:
            known = self._kernels.get(kernel)
            if known is None:
                known = self._kernels[kernel] = Kernel.of(kernel)
        except TypeError:
            raise UsageError(f"{kernel!r} is not a kernel: decorate the function with @ct.kernel") from None
        return known

    def _specialisation(self, asked: Asked) -> Specialisation:
        kernel = asked.kernel.object
        options = repr(kernel._compiler_options)
        key = (kernel._annotated_function.pyfunc, options, asked.signature.symbol, asked.architecture)
        with self._lock:
            found = self._specialisations.get(key)
            if found is None:
                found = self._specialisations[key] = Specialisation(asked.compiled(None))
        return found

    @cached_property
    def _cubins(self) -> CubinCache:
        return CubinCache((self.options.cache or default_folder()) / "cubins", find_assembler())

    def _on(self, device: int, specialisation: Specialisation) -> GpuKernel:
        key = (id(specialisation), device)
        with self._lock:
            if key not in self._loaded:
                unit = specialisation.unit
                architecture = driver.architecture(device)
                proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
                try:
                    cubin = self._cubins.cubin(
                        unit.bytecode, architecture, lambda made: refuse_differences(looked(proved, made, architecture))
                    )
                except CodeDiffers as error:
                    raise _with_command(error, unit, architecture) from None
                types = parameter_types(unit.bytecode, unit.symbol, str(unit.file))
                self._loaded[key] = GpuKernel(cubin, unit.symbol, unit.parameters, types, device)
        return self._loaded[key]


def _with_command(error: CodeDiffers, unit: KernelUnit, architecture: str) -> CodeDiffers:
    """``error`` with the command that tries repairs: to try them here would run the program in which we are again."""
    if unit.file.suffix != ".py":
        return error
    command = f"tileverify check --compiled {architecture} {display_path(unit.file)}::{unit.kernel}"
    return CodeDiffers(f"{error.message}; repairs are tried by: {command}", error.file, error.line)


@cache
def of_this_process() -> Launcher:
    """The launcher that all of a process shares, so that it knows of each launch what it must not meet."""
    return Launcher()
