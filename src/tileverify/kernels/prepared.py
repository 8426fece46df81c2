"""What a host function launches: a bundle that was built for such arguments, or the kernel itself, proved here.

tileverify build src/tileverify/kernels/device/norms.py -o bundles --sign key.pem     where the compiler is
tileverify.kernels.use("bundles", keys=["key.pub"])                                   where the kernels run
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from ..backend.guard import LaunchRefused
from ..backend.guard.arguments import array_value
from ..contract.launch import Argument, ArrayArgument, ConstantArgument, ListArgument
from ..launching.bundle.manifest import SUFFIX
from ..launching.bundled import BundledKernel, load
from ..launching.calls import same_constant
from ..launching.launch_types import Arguments, GivenOptions, LaunchedKernel, Stream
from ..launching.launcher import of_this_process
from ..system.errors import UsageError
from ..system.printable import display_path
from .arrays import A, AnyArray, Array, ArrayOf, differentiable, is_jax, stream_of

ALIGNED: Final = 16
"""Bytes: whether arrays begin at a multiple of them decides which bundle admits them."""

MOST_REMEMBERED: Final = 1024
"""Kinds of launches for which it is remembered which bundle admits them: seeds and positions differ each time."""


@dataclass
class AtHand:
    """The bundles at hand, by the name of the kernel; those that promise more about a launch come first."""

    bundles: dict[str, list[BundledKernel]] = field(default_factory=dict)
    _fitting: dict[tuple[object, ...], list[BundledKernel]] = field(default_factory=dict)

    def add(self, folder: Path, keys: Sequence[str | Path], *, only_signed: bool) -> int:
        """Take up the bundles of a folder, and tell how many there are; raises `BundleRefused`."""
        files = sorted(folder.glob(f"*{SUFFIX}"))
        for file in files:
            bundle = load(file, keys=keys, only_signed=only_signed)
            self.bundles.setdefault(bundle.name, []).append(bundle)
        for of_kernel in self.bundles.values():
            of_kernel.sort(key=_promises, reverse=True)
        self._fitting.clear()
        return len(files)

    def launch(self, kernel: str, grid: tuple[int, ...] | None, arguments: Arguments, stream: Stream) -> bool:
        """Launch the first bundle of the kernel whose contract admits it; false if there is none for such arguments.

        Raises `LaunchRefused`, as the last one says, if there are some and none admits it.
        """
        if kernel not in self.bundles:
            return False
        key = kernel, grid, *map(_kind, arguments)
        fitting = self._fitting.get(key)
        if fitting is None:
            fitting = [bundle for bundle in self.bundles[kernel] if fits(bundle, arguments)]
        while fitting:
            try:
                of_this_process().launch(stream, grid, fitting[0], arguments)
            except LaunchRefused:
                if len(fitting) == 1:
                    raise
                fitting = fitting[1:]
            else:
                if len(self._fitting) >= MOST_REMEMBERED:
                    self._fitting.clear()
                self._fitting[key] = fitting
                return True
        return False


at_hand: Final = AtHand()
"""What `use` found."""


def use(folder: str | Path, *, keys: Sequence[str | Path] = (), only_signed: bool = False) -> int:
    """From now on, launch the bundles of ``folder`` where one fits; gives how many there are.

    ``keys``, ``only_signed``: as for `tileverify.load`.  Raises `BundleRefused` for one that is not whole or not
    trusted, and `UsageError` for a folder without any.

    >>> from tileverify.kernels import use
    >>> use("nowhere")
    Traceback (most recent call last):
        ...
    tileverify.system.errors.UsageError: there are no bundles (*.tvk) in 'nowhere'; `tileverify build` makes them
    """
    count = at_hand.add(Path(folder), keys, only_signed=only_signed)
    if not count:
        raise UsageError(f"there are no bundles (*{SUFFIX}) in '{folder}'; `tileverify build` makes them")
    return count


def launch(
    kernel: str, grid: tuple[int, ...] | None, *arguments: object, like: object, data: Sequence[str] = ()
) -> None:  # fmt: skip
    """Launch ``module.kernel`` on the stream that ``like`` is used on; ``grid``: as for `tileverify.launch`.

    ``data``: the facts about index arrays that the kernel's contract states, in the names of its parameters; a bundle
    has them in it.  They are checked either way.
    """
    module, _, name = kernel.partition(".")
    stream = stream_of(like)
    if not at_hand.launch(name, grid, arguments, stream):
        stated = GivenOptions(data=data) if data else GivenOptions()
        of_this_process().launch(stream, grid, kernel_of(module, name), arguments, **stated)


@cache
def kernel_of(module: str, name: str) -> LaunchedKernel:
    """The kernel itself, which takes the compiler; raises `UsageError` where that is not installed."""
    try:
        kernel: LaunchedKernel = getattr(import_module(f".device.{module}", __package__), name)
    except ModuleNotFoundError as missing:
        folder = display_path(Path(__file__).with_name("device"))
        raise UsageError(
            f"no bundle of '{module}.{name}' is for these arguments, and there is no compiler: {missing.name} is not "
            f"installed; run `tileverify build {folder}/{module}.py -o FOLDER` where it is, and "
            "tileverify.kernels.use(FOLDER) here"
        ) from None
    return kernel


# ----------------------------------------------------------------------------------------------- what fits
def _kind(argument: object) -> object:
    """What decides which bundle fits, and mostly also whether it admits a launch."""
    if isinstance(argument, bool | int):
        return argument
    if isinstance(argument, list | tuple):
        return tuple(map(_kind, argument))
    value = array_value(argument)
    return type(argument) if value is None else value._replace(address=value.address % ALIGNED)


def fits(bundle: BundledKernel, arguments: Arguments) -> bool:
    """Whether the bundle is for arguments of such kinds; its contract may still refuse them."""
    expected = bundle.bundle.certificate.launch.arguments
    return len(expected) == len(arguments) and all(map(_accepts, expected, arguments))


def _accepts(expected: Argument, given: object) -> bool:
    match expected:
        case ConstantArgument(value=value):
            return same_constant(value, given)
        case ListArgument(element=element):
            return isinstance(given, list | tuple) and all(_accepts(element, each) for each in given)
        case ArrayArgument(dtype=dtype, shape=shape):
            value = array_value(given)
            return value is not None and (value.dtype, len(value.shape)) == (dtype, len(shape))
    return isinstance(given, bool | int | float)


def _promises(bundle: BundledKernel) -> int:
    return len(bundle.bundle.certificate.launch.requires)


# --------------------------------------------------------------------------------------------------------------- chosen
# Which proved kernel makes a launch of the library, for graphs and for accounts of what ran.


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a proof.

    ``bundle``: the file that it came in, nothing where the kernel was proved here; ``sha256``: of that file, or of the
    bytecode that was proved here.  ``contract``: the launches that it covers, a clause a line.
    """

    kernel: str
    bundle: str
    sha256: str
    bytecode_sha256: str
    contract: tuple[str, ...]
    assumes: tuple[str, ...]
    holds_for: str
    obligations: int
    deterministic: bool | None
    signed: bool


def chosen(kernel: str, grid: tuple[int, ...] | None, arguments: Arguments) -> BundledKernel | LaunchedKernel:
    """What makes the launch of ``module.kernel`` that `prepared.launch` would make: a bundle, or the kernel itself.

    Raises `LaunchRefused` where there are bundles for such arguments and none admits the launch, and `UsageError` where
    there is none, and no compiler either.
    """
    module, _, name = kernel.partition(".")
    refused = None
    for bundle in at_hand.bundles.get(name, ()):
        if fits(bundle, arguments):
            try:
                bundle.planned(None, grid, arguments)
            except LaunchRefused as reason:
                refused = reason
            else:
                return bundle
    if refused is not None:
        raise refused
    return kernel_of(module, name)


def account(kernel: BundledKernel | LaunchedKernel, grid: tuple[int, ...] | None, arguments: Arguments) -> Account:
    """Of the proof that covers a launch of what `chosen` gave; raises what `tileverify.launch` raises."""
    if isinstance(kernel, BundledKernel):
        return _of_bundle(kernel)
    proof = of_this_process().proof(grid, kernel, arguments)
    result = proof.result
    assert result.holds_for is not None
    return Account(
        kernel=result.kernel,
        bundle="",
        sha256=result.bytecode_sha256,
        bytecode_sha256=result.bytecode_sha256,
        contract=result.stated,
        assumes=result.assumes,
        holds_for=str(result.holds_for),
        obligations=result.obligations.total,
        deterministic=result.deterministic,
        signed=False,
    )


def _of_bundle(kernel: BundledKernel) -> Account:
    bundle = kernel.bundle
    return Account(
        kernel=kernel.name,
        bundle=Path(kernel.file).name,
        sha256=hashlib.sha256(Path(kernel.file).read_bytes()).hexdigest(),
        bytecode_sha256=bundle.certificate.bytecode_sha256,
        contract=bundle.contract,
        assumes=bundle.assumes,
        holds_for=str(bundle.holds_for),
        obligations=len(bundle.certificate.obligations),
        deterministic=bundle.deterministic,
        signed=bundle.signature is not None,
    )


# ------------------------------------------------------------------------------------------------------------ gradients
# Host functions that torch and JAX can differentiate.


P = ParamSpec("P")
R = TypeVar("R")

Saved: TypeAlias = tuple[AnyArray, ...]
"""What a function keeps for its gradient."""

Gradients: TypeAlias = tuple[Array | None, ...]
"""Of the arrays of a function, ``None`` for those that have none or are not wanted."""


class OfOne(Protocol):
    """A function of one array."""

    def __call__(self, x: ArrayOf[A], /) -> A: ...


def with_gradient(forward: Callable[P, tuple[R, Saved]], backward: Callable[..., Gradients]) -> Callable[P, R]:
    """A function of arrays, and of numbers by name, with its gradient.

    ``forward(*arrays, **numbers)``: the result, or a tuple of results, and the arrays that ``backward`` needs.
    ``backward(saved, dout, wanted, **numbers)``: the gradients of the arrays, ``None`` for those that are not
    ``wanted``; ``dout`` is a tuple where there is a tuple of results.
    """

    def called(*arrays: P.args, **numbers: P.kwargs) -> R:
        torch = sys.modules.get("torch")
        if torch is not None and torch.is_grad_enabled() and any(map(_wants_gradient, arrays)):
            of_torch: R = _function().apply(forward, backward, numbers, *arrays)
            return of_torch
        if any(map(is_jax, arrays)):
            ahead, back = partial(forward, **numbers), partial(backward, **numbers)
            of_jax: R = differentiable(ahead, back, len(arrays))(*arrays)
            return of_jax
        return forward(*arrays, **numbers)[0]

    return called


def no_gradient(function: str, **arrays: object) -> None:
    """Raises `UsageError` for an array whose gradient torch would want, of a function that has none."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        for name, array in arrays.items():
            if _wants_gradient(array):
                raise UsageError(f"{function} has no gradient: call it under `torch.no_grad()`, or detach `{name}`")


def _wants_gradient(array: object) -> bool:
    return bool(getattr(array, "requires_grad", False))


@cache
def _function() -> Any:
    """What torch's graph calls; made when it is needed first, as torch is not loaded for it."""
    import torch

    class Launched(torch.autograd.Function):
        @staticmethod
        def forward(
            context: Any,
            ahead: Callable[..., tuple[object, Saved]],
            back: Callable[..., Gradients],
            numbers: dict[str, object],
            *arrays: torch.Tensor,
        ) -> object:
            out, saved = ahead(*(array.detach() for array in arrays), **numbers)
            context.back, context.numbers = back, numbers
            context.save_for_backward(*saved)
            return out

        @staticmethod
        def backward(context: Any, *douts: torch.Tensor) -> tuple[object, ...]:
            wanted: Sequence[bool] = context.needs_input_grad[3:]
            dout = douts if len(douts) > 1 else douts[0]
            gradients: Gradients = context.back(context.saved_tensors, dout, wanted, **context.numbers)
            return None, None, None, *gradients

    return Launched
