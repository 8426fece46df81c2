"""What a host function launches: a bundle that was built for such arguments, or the kernel itself, proved here.

tileverify build src/tileverify/kernels/device/norms.py -o bundles --sign key.pem     where the compiler is
tileverify.kernels.use("bundles", keys=["key.pub"])                                   where the kernels run
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..backend.guard.buffers import array_value
from ..contract.expressions import print_expression
from ..contract.launch import Argument, ArrayArgument, ConstantArgument, ListArgument, SameArray
from ..errors import UsageError
from ..launching.bundle.model import SUFFIX
from ..launching.bundled import BundledKernel, load
from ..launching.launcher import of_this_process
from .arrays import stream_of

ALIGNED: Final = 16
"""Bytes at which all arrays have to begin for bundles that were built for aligned ones."""


@dataclass
class AtHand:
    """The bundles at hand, by the name of the kernel; those that promise more about their arrays come first."""

    bundles: dict[str, list[BundledKernel]] = field(default_factory=dict)
    _found: dict[tuple[object, ...], BundledKernel | None] = field(default_factory=dict)

    def add(self, folder: Path, keys: Sequence[str | Path], *, only_signed: bool) -> int:
        """Take up the bundles of a folder, and tell how many there are; raises `BundleRefused`."""
        files = sorted(folder.glob(f"*{SUFFIX}"))
        for file in files:
            bundle = load(file, keys=keys, only_signed=only_signed)
            self.bundles.setdefault(bundle.name, []).append(bundle)
        for of_kernel in self.bundles.values():
            of_kernel.sort(key=lambda bundle: len(_addressed(bundle)), reverse=True)
        self._found.clear()
        return len(files)

    def find(self, kernel: str, arguments: Sequence[Any]) -> BundledKernel | None:
        """A bundle of the kernel for arguments of these types, and these numbers where they are compiled in."""
        if kernel not in self.bundles:
            return None
        key = kernel, *map(_kind, arguments)
        if key not in self._found:
            fitting = (bundle for bundle in self.bundles[kernel] if _fits(bundle, arguments))
            self._found[key] = next(fitting, None)
        return self._found[key]


_prepared: Final = AtHand()


def use(folder: str | Path, *, keys: Sequence[str | Path] = (), only_signed: bool = False) -> int:
    """From now on, launch the bundles of ``folder`` where one fits; gives how many there are.

    ``keys``, ``only_signed``: as for `tileverify.load`.  Raises `BundleRefused` for one that is not whole or not
    trusted, and `UsageError` for a folder without any.
    """
    count = _prepared.add(Path(folder), keys, only_signed=only_signed)
    if not count:
        raise UsageError(f"there are no bundles (*{SUFFIX}) in '{folder}'; `tileverify build` makes them")
    return count


def launch(kernel: str, grid: tuple[int, ...] | None, *arguments: Any, like: Any) -> None:
    """Launch ``module.kernel`` on the stream that ``like`` is used on; ``grid``: as for `tileverify.launch`."""
    module, _, name = kernel.partition(".")
    found = _prepared.find(name, arguments)
    of_this_process().launch(stream_of(like), grid, found or _kernel(module, name), arguments)


@cache
def _kernel(module: str, name: str) -> Any:
    return getattr(import_module(f".device.{module}", __package__), name)


# ----------------------------------------------------------------------------------------------- what fits
def _kind(argument: Any) -> object:
    """What decides which bundle fits."""
    if isinstance(argument, bool | int | float):
        return argument if isinstance(argument, int) else float
    if isinstance(argument, list | tuple):
        return tuple(map(_kind, argument[:1]))
    value = array_value(argument)
    return type(argument) if value is None else (value.dtype, len(value.shape), value.address % ALIGNED == 0)


def _fits(bundle: BundledKernel, arguments: Sequence[Any]) -> bool:
    expected = bundle.bundle.certificate.launch.arguments
    if len(expected) != len(arguments):
        return False
    return all(_accepts(each, given) for each, given in zip(expected, arguments, strict=True)) and all(
        value is not None and value.address % ALIGNED == 0
        for each, given in zip(expected, arguments, strict=True)
        if each.name in _addressed(bundle)
        for value in (array_value(given),)
    )


def _accepts(expected: Argument, given: Any) -> bool:
    match expected:
        case ConstantArgument(value=value):
            return bool(given == value)
        case ListArgument(element=element):
            return isinstance(given, list | tuple) and all(_accepts(element, each) for each in given)
        case ArrayArgument(dtype=dtype, shape=shape):
            value = array_value(given)
            return value is not None and (value.dtype, len(value.shape)) == (dtype, len(shape))
    return isinstance(given, bool | int | float)


def _addressed(bundle: BundledKernel) -> frozenset[str]:
    """The arrays that the contract says lie at round addresses."""
    facts = bundle.bundle.certificate.launch.requires
    texts = (print_expression(fact).partition(".address ") for fact in facts if not isinstance(fact, SameArray))
    return frozenset(name for name, said, _ in texts if said)
