"""A verified launch without a GPU: the proved bytecode, in the reference interpreter, on the memory of NumPy arrays."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..backend.guard import ArrayValue
from ..backend.guard.arguments import Grid, Value
from ..backend.interpreter.values import RUN
from ..backend.ledger import ByteAccess
from ..backend.ledger.ordered_work import conflicts
from ..backend.numbers.blocks import execute_launch
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import Argument, ArrayArgument, ConcreteArray, ConcreteLaunch, KernelUnit, ScalarArgument, flat
from ..frontend.bytecode.model import Entry, Module
from ..hook.described_launch import HOST_MEMORY, Described
from ..hook.foreign import TritonSpecialisation
from ..hook.launch_hooks import host_as_cuda
from ..pipeline.unit_summary import entry_of
from ..system.errors import TileVerifyError, UsageError
from . import calls
from .calls import span
from .launch_log import leaves
from .launch_types import Arguments, GivenGrid, Key, Stream
from .reach import decoded
from .triton_calls import CalledTritonKernel

Bytes = NDArray[np.uint8]
Look = Callable[[], None]


class RunStopped(TileVerifyError):
    """A block of a launch could not run to its end; nothing was written."""

    exit_code = 1


def lies_on_host(kernel: str, arguments: Arguments) -> bool:
    """Whether the arrays of a launch, also those inside of arguments, lie in the memory of the host.

    Raises `UsageError` where some do and others do not: an address means something else on each side.
    """
    given = list(leaves(arguments))
    on_host = any(map(_is_host_array, given))
    if on_host and any(map(_is_elsewhere, given)):
        raise UsageError(f"'{kernel}' was given arrays on the host and on a GPU: move all of them to one of both")
    return on_host


class _HostTensor(Protocol):
    """Of torch, on the CPU."""

    @property
    def dtype(self) -> object: ...

    def detach(self) -> _HostTensor: ...

    def element_size(self) -> int: ...

    def view(self, dtype: object) -> _HostTensor: ...

    def numpy(self) -> NDArray[np.generic]: ...


def _is_host_array(value: object) -> bool:
    return isinstance(value, np.ndarray) or _is_host_tensor(value)


def _is_elsewhere(value: object) -> bool:
    """Whether ``value`` is an array that the host cannot read."""
    if _is_host_array(value):
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return True
    if hasattr(value, "__cuda_array_interface__"):
        return True
    dlpack_device = getattr(value, "__dlpack_device__", None)
    return dlpack_device is not None and int(dlpack_device()[0]) not in HOST_MEMORY


def _is_host_tensor(value: object) -> TypeGuard[_HostTensor]:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and value.device.type == "cpu"


def host_arrays(value: object) -> object:
    """The argument with tensors of torch as NumPy arrays on the same memory, inside tuples and lists too."""
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(host_arrays, value))
    if isinstance(value, list):
        return list(map(host_arrays, value))
    if not isinstance(value, np.ndarray) and _is_host_tensor(value):
        try:
            return _numpy(value.detach())
        except (TypeError, AttributeError, ImportError) as error:
            raise UsageError(f"a tensor cannot be used on the CPU: {error}") from None
    return value


def _numpy(tensor: _HostTensor) -> NDArray[np.generic]:
    """The same memory; element types that NumPy does not have are those of the package ml_dtypes."""
    name = str(tensor.dtype).removeprefix("torch.")
    if not name.startswith(("bfloat16", "float8_")):
        return tensor.numpy()
    import ml_dtypes

    bits = tensor.view(getattr(sys.modules["torch"], f"int{8 * tensor.element_size()}"))
    return bits.numpy().view(getattr(ml_dtypes, name))


HOST: Final = -1
"""The number that stands for the host among those of GPUs."""


@dataclass(eq=False, slots=True)
class HostPlan:
    """A launch that was checked, on arrays in the host's memory: the interpreter makes it, and it is done at once.

    ``kernel``: one object for all launches of a specialisation; ``code``: its bytecode.
    """

    kernel: object
    code: bytes
    grid: Grid
    run: Callable[[], None]
    alive: tuple[()] = ()

    def launch(self, stream: Stream) -> None:
        """Every stream is in order with everything; raises `RunStopped`."""
        self.run()


def refuse_read_only(
    kernel: str, named: Mapping[str, Value], lists: Mapping[str, Sequence[ArrayValue]], written: Collection[str]
) -> None:
    """Raises `UsageError` for an array that the kernel may write and its owner forbids to."""
    arrays = [(name, value) for name, value in named.items() if isinstance(value, ArrayValue)]
    arrays += [(name, value) for name, of in lists.items() for value in of]
    for name, value in arrays:
        if value.read_only and name in written:
            raise UsageError(f"'{kernel}' writes `{name}`, which is read-only: launch on a copy")


def run(
    unit: KernelUnit, values: Sequence[Value], lists: Mapping[str, Sequence[ArrayValue]], grid: Grid,
    written: Collection[str] | None = None, look: Look | None = None,
) -> None:  # fmt: skip
    """Run all blocks in the order of their ids and put what they wrote into the arrays' memory.

    Launches that touch the same bytes take turns; ``written``: arguments that the kernel may write, all for ``None``;
    ``look``: asked when the turn has come; what it raises ends the launch.  Raises `RunStopped` where a block cannot go
    on, and `UsageError` where one wrote what is read-only; then nothing is written.
    """
    module = decoded(unit)
    entry = entry_of(module, unit)
    named = dict(_named(unit.launch.arguments, values))
    arrays = {name: value for name, value in named.items() if isinstance(value, ArrayValue)}
    elements = {f"{name}[{n}]": array for name, of in lists.items() for n, array in enumerate(of)}
    accesses = [
        ByteAccess(*span(array), written is None or not {name, name.rpartition("[")[0]}.isdisjoint(written), name)
        for name, array in {**arrays, **elements}.items()
    ]
    with turns().turn(accesses):
        if look is not None:
            look()
        _run(unit, module, entry, named, arrays, elements, lists, grid)


def _run(
    unit: KernelUnit, module: Module, entry: Entry, named: Mapping[str, Value], arrays: Mapping[str, ArrayValue],
    elements: Mapping[str, ArrayValue], lists: Mapping[str, Sequence[ArrayValue]], grid: Grid,
) -> None:  # fmt: skip
    """`run`, when nobody else touches what it touches; ``elements``: the arrays of lists by name."""
    memory = _Memory([*arrays.values(), *elements.values()])
    placed = {name: memory.placed(array) for name, array in {**arrays, **elements}.items()}
    launch = ConcreteLaunch(
        grid=grid,
        arrays={name: placed[name] for name in arrays},
        scalars={name: value for name, value in named.items() if isinstance(value, int)},
        lists={name: tuple(placed[f"{name}[{n}]"] for n in range(len(of))) for name, of in lists.items()},
        floats={name: value for name, value in named.items() if isinstance(value, float)},
    )
    done = execute_launch(module, entry, unit.parameters, launch, memory.before, RUN)
    if done.stopped is not None:
        raise RunStopped(f"{unit.kernel} stopped in block {done.block}: {done.stopped}")
    for name in done.contents:
        if (done.written[name] & ~memory.writable(name)).any():
            raise UsageError(f"'{unit.kernel}' writes an array that is read-only: launch on a copy of it")
    for name, contents in done.contents.items():
        memory.write(name, contents, done.written[name])


def _named(arguments: Iterable[Argument], values: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    """Arguments by name; a float scalar may be given as a whole number."""
    passed = [each for each in flat(arguments) if isinstance(each, ArrayArgument | ScalarArgument)]
    for argument, value in zip(passed, values, strict=True):
        if isinstance(argument, ScalarArgument) and not isinstance(value, ArrayValue):
            yield argument.name, float(value) if ELEMENT_TYPES[argument.dtype].kind == "f" else value
        else:
            yield argument.name, value


class _Memory:
    """The bytes that arrays lie in, a piece for each group of arrays that overlap."""

    def __init__(self, arrays: Sequence[ArrayValue]) -> None:
        self._arrays = arrays
        self._pieces: list[tuple[int, int]] = []
        for low, high in sorted(map(span, arrays)):
            if self._pieces and low < self._pieces[-1][1]:
                self._pieces[-1] = (self._pieces[-1][0], max(high, self._pieces[-1][1]))
            else:
                self._pieces.append((low, high))
        self._views = {_name(low): _bytes_at(low, high) for low, high in self._pieces}
        self.before: dict[str, Bytes] = {name: view.copy() for name, view in self._views.items()}

    def placed(self, array: ArrayValue) -> ConcreteArray:
        start, end = span(array)
        low = next((low for low, high in self._pieces if low <= start and end <= high), start)
        return ConcreteArray(array.dtype, array.shape, array.strides, allocation=_name(low), byte_offset=start - low)

    def writable(self, name: str) -> NDArray[np.bool_]:
        """The bytes of a piece that lie in an array which may be written."""
        low, high = next((low, high) for low, high in self._pieces if _name(low) == name)
        mask = np.zeros(high - low, np.bool_)
        for start, end in (span(array) for array in self._arrays if not array.read_only):
            mask[max(start - low, 0) : max(end - low, 0)] = True
        return mask

    def write(self, name: str, contents: Bytes, written: NDArray[np.bool_]) -> None:
        """Only what was written: the bytes between are somebody else's."""
        np.copyto(self._views[name], contents, where=written)


class SavedHostMemory:
    """Bytes of the host's memory as they were, put back where they lie; ``ranges``: first byte and end of each."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._copies = [(view, view.copy()) for view in (_bytes_at(low, high) for low, high in ranges)]

    def restore(self, stream: Stream) -> None:
        """At once."""
        for view, copy in self._copies:
            view[:] = copy


def _bytes_at(low: int, high: int) -> Bytes:
    if low == high:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))


def _name(low: int) -> str:
    return f"memory at {low:#x}"


# ---------------------------------------------------------------------------------------------------------------- turns
# Launches on host arrays that touch the same bytes take turns, in the order in which they were made.
#
#     launch L waits for W   iff   W began to wait or run before L, has not ended, and an access of W and one of L share
#                                  a byte that at least one of both writes
#
# Who waits for somebody waits for an earlier one alone, so nobody waits for ever.


@dataclass(eq=False, slots=True)
class _Turn:
    accesses: Sequence[ByteAccess]


@dataclass
class Turns:
    """Threads share one object."""

    _changed: threading.Condition = field(default_factory=threading.Condition)
    _all: list[_Turn] = field(default_factory=list)  # in the order in which they came

    @contextmanager
    def turn(self, accesses: Sequence[ByteAccess]) -> Iterator[None]:
        """Nobody who conflicts with ``accesses`` runs inside."""
        mine = _Turn(accesses)
        with self._changed:
            self._all.append(mine)
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._waits(mine))
            yield
        finally:
            with self._changed:
                self._all.remove(mine)
                self._changed.notify_all()

    def _waits(self, mine: _Turn) -> bool:
        before = self._all[: self._all.index(mine)]
        return any(next(conflicts(mine.accesses, other.accesses), None) is not None for other in before)


_turns = Turns()


def turns() -> Turns:
    """Those of this process."""
    return _turns


def _in_child() -> None:
    """Threads that held a turn are not there in a child."""
    global _turns
    _turns = Turns()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# ---------------------------------------------------------------------------------------------------------- interpreted
# Launches without a GPU and without a proof: what ``cuda.tile`` would compile, run by the interpreter on host arrays.
#
# Programs that are recorded or tested without a GPU get the results that they wait for.


@dataclass
class Interpreter:
    """Kernels are compiled once for each signature."""

    _units: dict[Key, KernelUnit] = field(default_factory=dict)
    _triton: dict[TritonSpecialisation, tuple[CalledTritonKernel, KernelUnit]] = field(default_factory=dict)

    def launch_triton(self, made: TritonSpecialisation, grid: GivenGrid, descriptions: Sequence[Described]) -> None:
        """The same of a ``@triton.jit`` function, whose arguments are described; raises what `launch` does."""
        kernel, unit = self._triton.get(made, (CalledTritonKernel(made), None))
        named = dict(calls.named_values(kernel.parameters, descriptions))
        _in_memory(kernel.name, named.values())
        axes = calls.grid_of(grid)
        spec = kernel.spec(descriptions, {}, axes)
        if unit is None:
            unit = kernel.compiled(spec)
            self._triton[made] = kernel, unit
        run(replace(unit, launch=spec), tuple(named.values()), {}, axes)

    def launch(self, kernel: object, grid: GivenGrid, arguments: Arguments) -> None:
        """Run all blocks in the order of their ids.

        Raises `UsageError` for what cannot be launched, `SourceError` for what does not compile, and
        `on_cpu.RunStopped` where a block cannot go on.
        """
        known = calls.Kernel.of(kernel)
        seen = tuple(map(host_as_cuda, arguments))
        signature = calls.signature_of(known, seen)
        descriptions = calls.described(seen, signature)
        named = dict(calls.named_values(known.parameters, descriptions))
        lists = dict(calls.lists_of(known.parameters, descriptions))
        _in_memory(known.name, [*named.values(), *(array for of in lists.values() for array in of)])
        axes = calls.grid_of(grid)
        spec = calls.spec_of(known, descriptions, {}, (), False, axes)
        key = (known.object._annotated_function.pyfunc, repr(known.object._compiler_options), signature.symbol)
        if key not in self._units:
            self._units[key] = calls.compiled(known, signature, spec)
        run(replace(self._units[key], launch=spec), tuple(named.values()), lists, axes)


def _in_memory(kernel: str, values: Iterable[Value]) -> None:
    """Raises `UsageError` for an array that no memory of this process belongs to; looks where the system can be asked.

    An array may say that it lies on a GPU where there is none.
    """
    if not sys.platform.startswith("linux"):
        return
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for array in values:
            if isinstance(array, ArrayValue) and 0 not in array.shape:
                low, high = span(array)
                try:
                    for address in (low, high - 1):
                        memory.seek(address)
                        memory.read(1)
                except (OSError, ValueError, OverflowError):
                    raise UsageError(
                        f"'{kernel}' cannot be interpreted: an array at {low:#x} is not in this program's memory"
                    ) from None
