"""Kernels that were proved and built elsewhere: a bundle, launched without compiler, solver or cuda.tile."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final, Unpack

from ..backend.gpu import driver
from ..backend.gpu.loaded import GpuKernel, Plan
from ..backend.guard import Guard, compile_guard
from ..backend.guard.arguments import ArrayValue, Grid, Value, lengths_of, spelled_out
from ..contract.launch import KernelUnit, LaunchSpec
from ..contract.trustable import launched_text, taken_for_granted, trusted_text
from ..pipeline.verdict_cache import default_folder
from ..system.errors import UsageError
from . import on_cpu
from .bundle.manifest import Bundle, read_bundle
from .bundle.trust import check_proof, trusted_cubin, trusted_keys
from .calls import Touched, device_of, grid_of, use_of, values_by_contract
from .contents import contents_of
from .launch_cache import Again, Planned, Remembered, never
from .launch_types import Arguments, GivenGrid, GivenOptions, Stream, options_of
from .on_cpu import HOST, HostPlan
from .proofs import arrays_ahead, look_at, touched_by

MOST_LENGTHS: Final = 64
"""Lengths of lists for which the guard of a kernel is kept."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What admits launches whose lists have certain lengths; ``arrays``: the names of each list's arrays."""

    guard: Guard
    touched: Touched
    arrays: Mapping[str, tuple[str, ...]]

    def lists(self, named: Mapping[str, Value]) -> dict[str, tuple[ArrayValue, ...]]:
        found = {name: tuple(named[each] for each in of) for name, of in self.arrays.items()}
        return {name: tuple(each for each in of if isinstance(each, ArrayValue)) for name, of in found.items()}

    def plain(self, named: Mapping[str, Value]) -> list[Value]:
        """The values of all arguments that are no lists, in order."""
        of_lists = {each for name, of in self.arrays.items() for each in (f"{name}.length", *of)}
        return [value for name, value in named.items() if name not in of_lists]


@dataclass
class BundledKernel:
    """A bundle that may run here.  ``keys``: PEM files with the public keys whose bundles are trusted."""

    bundle: Bundle
    file: str
    keys: Sequence[Path] = ()
    only_signed: bool = False
    _loaded: dict[int, GpuKernel] = field(default_factory=dict)
    _by_lengths: dict[tuple[tuple[str, int], ...], Admission] = field(default_factory=dict)
    tileverify_again: Again = field(default=never, repr=False)
    _remembered: Remembered = field(default_factory=Remembered)
    _early: Remembered = field(default_factory=Remembered)

    @property
    def name(self) -> str:
        return self.bundle.certificate.kernel

    @property
    def trusted(self) -> tuple[str, ...]:
        """What its proof takes for granted beyond what every proof does, a sentence each (`contract.trustable`)."""
        return trusted_text(taken_for_granted(self.bundle.certificate.launch))

    @cached_property
    def guard(self) -> Guard:
        """Of a kernel without lists; raises `UsageError` for others, whose guard depends on the lists' lengths."""
        return compile_guard(self._launch, self.bundle.certificate.requires, self._touched.written)

    @cached_property
    def _launch(self) -> LaunchSpec:
        return replace(self.bundle.certificate.launch, kernel=self.name)

    def _admission(self, arguments: Arguments) -> Admission:
        """The guard of a launch with lists of these lengths."""
        lengths = lengths_of(self._launch.arguments, arguments)
        if not lengths:
            return Admission(self.guard, self._touched, {})
        key = tuple(lengths.items())
        if key not in self._by_lengths:
            while len(self._by_lengths) >= MOST_LENGTHS:
                del self._by_lengths[next(iter(self._by_lengths))]
            spelled = spelled_out(self._launch, lengths)
            touched = self._touched._replace(written=spelled.names(self._touched.written))
            clauses = spelled.clauses(self.bundle.certificate.requires)
            guard = compile_guard(spelled.launch, clauses, touched.written)
            self._by_lengths[key] = Admission(guard, touched, spelled.arrays)
        return self._by_lengths[key]

    @cached_property
    def _touched(self) -> Touched:
        return touched_by(self.unit)

    @cached_property
    def unit(self) -> KernelUnit:
        """What was proved, for the interpreter."""
        certificate = self.bundle.certificate
        return KernelUnit(
            file=Path(self.file),
            kernel=certificate.kernel,
            launch=certificate.launch,
            bytecode=self.bundle.bytecode,
            symbol=certificate.symbol,
            parameters=certificate.parameters,
        )

    def launch(self, stream: Stream, grid: GivenGrid, arguments: Arguments, **options: Unpack[GivenOptions]) -> None:
        """Check the contract and run; raises `LaunchRefused` (TV501, TV502) before anything runs.

        ``options``: fields of `LaunchOptions`, without ``data``.
        """
        if options or not self.tileverify_again(stream, grid, arguments):
            self.look_and_launch(stream, grid, arguments, **options)

    def look_and_launch(
        self, stream: Stream, grid: GivenGrid, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> None:
        """`launch` for what `tileverify_again` did not make."""
        early = options_of(options).programmatic_dependent_launch
        remembered = self._early if early else self._remembered
        if remembered.made(stream, grid, arguments, untried=early):
            return
        remembered.first(stream, grid, arguments, self.planned(stream, grid, arguments, looked=False, **options))
        if not early:
            self.tileverify_again = remembered.again

    @cached_property
    def _ahead(self) -> frozenset[str] | None:
        """What it reads before it waits for the launch ahead of it; ``None`` if it may not be started early."""
        return arrays_ahead(self.unit)

    def planned(
        self,
        stream: Stream,
        grid: GivenGrid,
        arguments: Arguments,
        *,
        looked: bool = True,
        **options: Unpack[GivenOptions],
    ) -> Planned:
        """A launch that was checked and is ready to be made; ``looked``: at contents, too (`Planned.look`)."""
        said = options_of(options)
        if said.data:
            raise UsageError(f"'{self.name}' is launched from a bundle, whose facts are those that it was built with")
        given = tuple(map(on_cpu.host_arrays, arguments))
        on_host = on_cpu.lies_on_host(self.name, given)
        admission = self._admission(given)
        guard = admission.guard
        values = values_by_contract(self.bundle.certificate.launch.arguments, given, self.name)
        axes = self._covering(guard, values) if grid is None else grid_of(grid)
        guard.check(values, axes)
        named = {each.name: value for each, value in zip(guard.order, guard.passed(values), strict=True)}
        lists = admission.lists(named)
        contents = contents_of(named, on_host, stream)
        look = None
        if guard.data and not said.vouch:
            names = guard.named(values, axes)
            look = partial(look_at, self.name, guard.data, names, contents)
            if looked:
                look()
        device = HOST if on_host else device_of(self.name, values)
        use = use_of(self.name, device, axes, named, admission.touched)
        plan: Plan | HostPlan
        if on_host:
            on_cpu.refuse_read_only(self.name, named, {}, admission.touched.written)  # lists are spelled out
            run = partial(on_cpu.run, self.unit, admission.plain(named), lists, axes, self._touched.written, look)
            plan = HostPlan(self, self.bundle.bytecode, axes, run)
        else:
            tell(self.name, self.file, self.bundle.certificate.launch.trust)
            early = said.programmatic_dependent_launch and self._ahead == frozenset()
            plan = self._on(device).plan(axes, named, lists, early=early)
        return Planned(plan, use, again=not guard.data, ahead=None if on_host else self._ahead, look=look)

    def _covering(self, guard: Guard, values: Sequence[Value]) -> Grid:
        grid = guard.covered(values)
        if grid is None:
            raise UsageError(f"'{self.name}' needs a grid: its contract does not say which covers the arrays")
        return grid

    def _on(self, device: int) -> GpuKernel:
        if device not in self._loaded:
            from ..backend.assembler import AssemblyError, find_assembler

            try:
                assembler = find_assembler()
            except AssemblyError:
                assembler = None
            cubin = trusted_cubin(
                self.bundle,
                driver.architecture(device),
                self.file,
                keys=trusted_keys(self.keys) if self.keys else (),
                only_signed=self.only_signed,
                assembler=assembler,
            )
            certificate = self.bundle.certificate
            types = self.bundle.parameter_types
            self._loaded[device] = GpuKernel(cubin, certificate.symbol, certificate.parameters, types, device)
        return self._loaded[device]


def load(
    file: str | Path,
    *,
    keys: Sequence[str | Path] = (),
    only_signed: bool = False,
    trust_proof: bool = False,
) -> BundledKernel:
    """The kernel of a bundle; raises `BundleRefused` (TV503) for one that was changed, or is signed wrongly.

    Its proof and its machine code are believed if one of ``keys`` (Ed25519 public keys in PEM files) signed it.  Else
    its kernel is proved again here, under the contract in the bundle, which ``trust_proof`` leaves out, and its machine
    code runs if this machine's own ``tileiras`` makes the same of the bytecode.  With ``only_signed``, bundles that no
    such key signed are refused, wherever their arrays lie.  A warning tells what its proof trusts beyond what every
    proof does (``trusted`` of the kernel).
    """
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the bundle '{file}': {error.strerror or error}") from None
    bundle, files = read_bundle(data, str(file)), tuple(map(Path, keys))
    check_proof(
        bundle,
        str(file),
        keys=trusted_keys(files) if files else (),
        only_signed=only_signed,
        trust_proof=trust_proof,
        cache=default_folder(),
    )
    kernel = BundledKernel(bundle, str(file), files, only_signed)
    if kernel.trusted:
        warnings.warn(f"the proof in '{file}' trusts {' and '.join(kernel.trusted)}", stacklevel=2)
    return kernel


# -------------------------------------------------------------------------------------------------------- trust warning
# What a proof takes for granted beyond what every proof does is told where its kernel is launched.


_told: set[tuple[str, str]] = set()


def tell(kernel: str, file: str, trust: Sequence[str]) -> None:
    """Warn of the first launch of a kernel on a GPU; in the interpreter a failed assertion ends its block alone."""
    if trust and (kernel, file) not in _told:
        warnings.warn(f"{kernel} is proved under a trust: {launched_text(trust)}", RuntimeWarning, 5)
        _told.add((kernel, file))
