"""`tileverify.launch`: a launch is covered by a proof, or it is not made."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Unpack

from ..backend.assembler import find_assembler
from ..backend.gpu import driver
from ..backend.gpu.kernel import GpuKernel, Plan
from ..backend.guard import LaunchRefused
from ..backend.guard.arguments import Grid
from ..cache.verdicts import default_folder
from ..check import CheckOptions
from ..contract.launch import LaunchSpec
from ..errors import UsageError
from ..hook.launches import numpy_as_cuda
from . import calls, on_cpu
from .arguments import device_of, use_of
from .bundle.manifest import parameter_types
from .bundled import BundledKernel
from .calls import Kernel
from .contents import contents_of
from .cubins import CubinCache
from .given import Arguments, GivenGrid, GivenOptions, Key, Signature, Stream
from .on_cpu import HOST, HostPlan
from .options import options_of
from .optouts import OptOut, current, note
from .proofs import Proof, Request, Specialisation
from .remembered import Planned, Remembered, never

Spec = Callable[[Grid | None], LaunchSpec]


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
        planned = self.planned(stream, grid, kernel, arguments, **options)
        if isinstance(planned.plan, HostPlan):
            planned.plan.launch(stream)
            return
        remembered = launches.setdefault(kernel, Remembered())
        remembered.first(stream, grid, arguments, planned)
        if not early:
            self._kernel(kernel).object.tileverify_again = remembered.again

    def planned(
        self, stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> Planned:
        """A launch that is verified and ready to be made.  What it raises is what `launch` raises."""
        if isinstance(kernel, BundledKernel):
            return kernel.planned(stream, grid, arguments, **options)
        said = options_of(options)
        known = self._kernel(kernel)
        given = tuple(map(on_cpu.host_arrays, arguments))
        on_host = any(map(on_cpu.on_host, given))
        seen = tuple(map(numpy_as_cuda, given))
        signature = calls.signature_of(known, seen)
        descriptions = calls.described(seen, signature)
        named = dict(calls.named_values(known.parameters, descriptions))
        device = None if on_host else device_of(known.name, named.values())
        contents = contents_of(named, on_host, stream)
        spec = partial(calls.spec_of, known, descriptions, contents, (*known.facts(), *said.data), said.vouch)
        specialisation = self._specialisation(known, signature, spec, device)

        def request(axes: Grid | None) -> Request:
            return Request(named, axes, contents, said.vouch, lambda: replace(specialisation.unit, launch=spec(axes)))

        axes = specialisation.covering_grid(request(None), self.options) if grid is None else calls.grid_of(grid)
        proof = self._admitted(known, specialisation, request(axes))
        lists = dict(calls.lists_of(known.parameters, descriptions))
        if proof is not None and proof.guard is not None:
            named = dict(zip(named, proof.guard.passed(tuple(named.values())), strict=True))
        touched = specialisation.touched
        if proof is None:  # nobody showed that it stays within its arrays' elements
            touched = touched.anywhere()
        plan: Plan | HostPlan
        if device is None:
            on_cpu.refuse_read_only(known.name, named, lists, touched.written)
            unit = request(axes).unit()
            run = partial(on_cpu.run, unit, tuple(named.values()), lists, axes, touched.written)
            plan = HostPlan(specialisation, unit.bytecode, axes, run)
        else:
            early = said.programmatic_dependent_launch and proof is not None and specialisation.waits_first
            plan = self._on(device, specialisation).plan(axes, named, lists, early=early)
        use = use_of(known.name, HOST if device is None else device, axes, named, touched, lists)
        # What depends on contents, or ran by an opt-out, is asked again each time.
        return Planned(plan, use, again=proof is not None and not proof.assumed)

    def _admitted(self, kernel: Kernel, specialisation: Specialisation, request: Request) -> Proof | None:
        """The proof; ``None`` where an opt-out lets the launch pass without one."""
        try:
            return specialisation.admit(request, self.options)
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

    def _specialisation(self, kernel: Kernel, signature: Signature, spec: Spec, device: int | None) -> Specialisation:
        architecture = None if device is None else driver.architecture(device)
        options = repr(kernel.object._compiler_options)
        key = (kernel.object._annotated_function.pyfunc, options, signature.symbol, architecture)
        with self._lock:
            found = self._specialisations.get(key)
            if found is None:
                unit = calls.compiled(kernel, signature, spec(None), architecture)
                found = self._specialisations[key] = Specialisation(unit)
        return found

    @cached_property
    def _cubins(self) -> CubinCache:
        return CubinCache((self.options.cache or default_folder()) / "cubins", find_assembler())

    def _on(self, device: int, specialisation: Specialisation) -> GpuKernel:
        key = (id(specialisation), device)
        with self._lock:
            if key not in self._loaded:
                unit = specialisation.unit
                cubin = self._cubins.cubin(unit.bytecode, driver.architecture(device))
                types = parameter_types(unit.bytecode, unit.symbol, str(unit.file))
                self._loaded[key] = GpuKernel(cubin, unit.symbol, unit.parameters, types, device)
        return self._loaded[key]
