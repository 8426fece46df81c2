"""One launch as a program makes it: kernel, grid and arguments, in the words of launch specs and of a contract."""

from __future__ import annotations

import ctypes
import inspect
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backend.gpu import driver
from ..backend.guard import ArrayValue, LaunchRefused
from ..backend.guard.arguments import Grid, Value, array_value
from ..backend.ledger import ByteAccess
from ..contract.as_table import NotExpressible, launch_table
from ..contract.element_types import ELEMENT_TYPES
from ..contract.facts.facts_of_contents import observed_facts
from ..contract.launch import GRID_MAX, Argument, ConstantArgument, KernelUnit, LaunchSpec, ListArgument, TupleArgument
from ..contract.spec import build_launch
from ..contract.spec_files import RawLaunch, decorated_launches, raw_launch
from ..contract.strides import overlaps
from ..frontend.sources.bytecode_file import bytecode_entries, entry_unit
from ..frontend.sources.cutile import CutileKernel, export_bytecode
from ..hook.described_launch import Described, DescribedArray, describe
from ..hook.driver_calls import NoDriver, stand_in
from ..hook.foreign import JitSignature
from ..system.errors import UsageError
from .launch_log import Use
from .launch_types import Arguments, GivenGrid, GivenKernel, LaunchedKernel, is_kernel
from .reach import Reach, Reached, within

IMITATED: Final = (10, 0)
"""The compute capability of the device that a machine without one is said to have."""
LAUNCH: Final = "call"
"""The name of a launch that a program makes, in messages."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A ``@ct.kernel`` and where it stands."""

    object: LaunchedKernel
    name: str
    file: Path
    line: int
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, kernel: GivenKernel) -> Kernel:
        """Raises `UsageError` for what is no kernel of cuda.tile."""
        if not is_kernel(kernel):
            raise UsageError(f"{kernel!r} is not a kernel: decorate the function with @ct.kernel")
        function = kernel._annotated_function.pyfunc
        names = tuple(inspect.signature(function).parameters)
        code = function.__code__
        return cls(kernel, function.__qualname__, Path(code.co_filename), code.co_firstlineno, names)

    def facts(self) -> tuple[str, ...]:
        """The facts about index data that ``@tileverify.launch(data=[...])`` states on the kernel."""
        function = self.object._annotated_function.pyfunc
        stated = [fact for each in decorated_launches(self.object, function) for fact in each.fields.get("data", ())]
        return tuple(dict.fromkeys(stated))


def grid_of(grid: GivenGrid) -> Grid:
    """All three axes; raises `UsageError` for a grid that cannot be launched."""
    axes = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    whole = all(isinstance(axis, int) and not isinstance(axis, bool) for axis in axes)
    if not whole or not 1 <= len(axes) <= 3 or not all(1 <= axis <= GRID_MAX for axis in axes):
        raise UsageError(f"grid {grid!r}: one to three whole numbers from 1 to {GRID_MAX} make a grid")
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def signature_of(kernel: Kernel, arguments: Arguments) -> JitSignature:
    """The signature for which cuda.tile's JIT would compile the kernel; raises `UsageError` where it would not."""
    from cuda.tile.compilation import CallingConvention, KernelSignature

    _need_driver()
    if len(arguments) != len(kernel.parameters):
        raise UsageError(f"'{kernel.name}' has {len(kernel.parameters)} parameters, {len(arguments)} were given")
    convention = getattr(CallingConvention, "cutile_python_v2", CallingConvention.cutile_python_v1)()
    try:
        given: JitSignature = KernelSignature.from_kernel_args(kernel.object, tuple(arguments), convention)
    except (TypeError, ValueError, AssertionError) as error:
        raise UsageError(f"'{kernel.name}' cannot be launched with these arguments: {error}") from None
    except OverflowError:
        raise LaunchRefused(f"{kernel.name} was not launched: {_too_large(kernel, arguments)} (TV502)") from None
    parameters = tuple(map(_without_list_promises, given.parameters))
    if parameters == given.parameters:
        return given
    plain: JitSignature = KernelSignature(parameters, convention).with_mangled_symbol(kernel.name.replace(".", "_"))
    return plain


def _too_large(kernel: Kernel, arguments: Arguments) -> str:
    """Which number is larger than what the kernel takes; without a word of its own that is int32."""
    known = ELEMENT_TYPES["i32"]
    pairs = zip(kernel.parameters, arguments, strict=True)
    found = [f"`{name}`" for name, value in pairs if isinstance(value, int) and not known.holds(value)]
    return f"{' and '.join(found) or 'a number'} does not fit int32, or what the kernel's annotation says"


def _without_list_promises(constraint: Any) -> object:
    """A proof of a launch with lists has no guard and is used for its like, wherever their arrays lie: so nothing is
    promised of them."""
    if type(constraint).__name__ != "ListConstraint":
        return constraint
    element = constraint.element
    ones = (1,) * element.ndim
    plain = replace(element, stride_divisible_by=ones, shape_divisible_by=ones, base_addr_divisible_by=1)
    return replace(constraint, element=plain)


@cache
def _need_driver() -> None:
    """cuda.tile looks at arguments through the driver; where there is none, nothing but looking is possible."""
    if stand_in() is not None:  # that of a recorded program
        return
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        NoDriver(IMITATED, multiprocessors=148).offer()


def described(arguments: Arguments, signature: JitSignature) -> list[Described]:
    """Every argument as plain data (see `hook.described_launch.describe`); raises `UsageError` for odd strides."""
    try:
        return [describe(value, constraint) for value, constraint in zip(arguments, signature.parameters, strict=True)]
    except ValueError as error:
        raise UsageError(str(error)) from None


def named_values(names: Iterable[str], descriptions: Sequence[Described]) -> Iterator[tuple[str, Value]]:
    """What a guard is told: arrays and scalars in order, tuples taken apart; constants are compiled in."""
    for name, each in zip(names, descriptions, strict=True):
        if each["kind"] == "array":
            yield name, _array_value(each)
        elif each["kind"] == "scalar":
            value = each["value"]
            yield name, float(value) if isinstance(value, str) else int(value)
        elif each["kind"] == "tuple":
            items = each["items"]
            fields = [f".{field}" for field in each.get("fields") or ()] or [f"[{n}]" for n in range(len(items))]
            yield from named_values([f"{name}{field}" for field in fields], items)


def named_arrays(names: Sequence[str], descriptions: Sequence[Described]) -> Iterator[tuple[str, ArrayValue]]:
    """All arrays, also those in tuples and lists."""
    yield from ((name, value) for name, value in named_values(names, descriptions) if isinstance(value, ArrayValue))
    yield from ((name, array) for name, of in lists_of(names, descriptions) for array in of)


def _array_value(described: DescribedArray) -> ArrayValue:
    shape, strides = tuple(described["shape"]), tuple(described["strides"])
    return ArrayValue(described["address"], shape, strides, described["dtype"], described.get("read_only", False))


def lists_of(names: Sequence[str], descriptions: Sequence[Described]) -> Iterator[tuple[str, tuple[ArrayValue, ...]]]:
    """The lists of arrays by name."""
    for name, each in zip(names, descriptions, strict=True):
        if each["kind"] == "list":
            yield name, tuple(map(_array_value, each["items"]))


def spec_of(
    kernel: Kernel,
    descriptions: Sequence[Described],
    contents: Mapping[str, NDArray[np.generic]],
    data: Sequence[str],
    vouched: bool,
    grid: Grid | None,
    alias: Sequence[Sequence[str]] = (),
) -> LaunchSpec:
    """The launch with its own numbers as its contract; any grid for ``None``.

    ``contents``: what integer arrays hold, by argument name; facts of them are observed, unless the caller ``vouched``
    for ``data``, the facts that are stated; ``alias``: groups of arguments that the compiler was told of.  Raises
    `UsageError` for an argument that launch specs cannot say, and `LaunchRefused` for one that no contract admits.
    """
    raw = raw_call(kernel, descriptions, contents, vouched, grid, alias)
    if data:
        raw = replace(raw, fields={**raw.fields, "data": list(data)})
    return build_launch(raw, LAUNCH, None)


class NamedKernel(Protocol):
    """A kernel as messages and specs name it."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Sequence[str]: ...
    @property
    def file(self) -> Path: ...
    @property
    def line(self) -> int: ...


def raw_call(
    kernel: NamedKernel,
    descriptions: Sequence[Described],
    contents: Mapping[str, NDArray[np.generic]],
    vouched: bool,
    grid: Grid | None,
    alias: Sequence[Sequence[str]] = (),
) -> RawLaunch:
    """The same as a spec file would have it."""
    for name, array in named_arrays(kernel.parameters, descriptions):
        if any(stride < 0 for stride in array.strides):
            raise LaunchRefused(
                f"{kernel.name} was not launched: `{name}` has a negative stride, launch on a copy of it (TV502)"
            )
    found = overlaps(kernel.parameters, descriptions)
    pairs = [{"first": each.first, "second": each.second, "same": each.same} for each in found]
    observed = [] if vouched else observed_facts({name: [array] for name, array in contents.items()})
    recorded = {"grid": grid or [1], "arguments": descriptions, "overlaps": pairs, "observed": observed, "alias": alias}
    try:
        text = launch_table(kernel.name, kernel.parameters, recorded, constants=False, name=LAUNCH)
    except NotExpressible as error:
        raise UsageError(f"'{kernel.name}' cannot be verified: {error}") from None
    fields = tomllib.loads(text)["launch"][0]
    del fields["origin"]  # it is no recording: who makes the call says so
    if grid is None:
        del fields["grid"]
    return raw_launch(fields, str(kernel.file), kernel.line, 0)


def compiled(kernel: Kernel, signature: JitSignature, spec: LaunchSpec, architecture: str | None = None) -> KernelUnit:
    """The kernel as cuda.tile compiles it for the signature; raises `SourceError` at the user's line."""
    cutile = CutileKernel(kernel.file, kernel.name, kernel.line, (), kernel.object)
    bytecode = export_bytecode(cutile, spec, signature, architecture)
    (entry,) = bytecode_entries(bytecode, kernel.file, plain_names=True)
    return entry_unit(entry, spec)


# ------------------------------------------------------------------------------------------------------------ arguments
# Arguments of a call, in the words of a contract: without constants, tuples taken apart.


class Touched(NamedTuple):
    """The arrays that a kernel may write, and those of which it touches elements alone, by name.

    ``reach``: how far it gets in them, where anything is known of that.
    """

    written: frozenset[str]
    by_elements: frozenset[str]
    reach: Reach | None = None

    def anywhere(self) -> Touched:
        """Of a launch that nobody proved: it may go where it likes."""
        return self._replace(by_elements=frozenset(), reach=None)


def values_by_contract(arguments: Sequence[Argument], given: Arguments, kernel: str) -> list[Value]:
    """What a guard of the contract with these ``arguments`` is told; raises `LaunchRefused` for other constants.

    Of a list, its length and then its arrays (`backend.launch.lists`).
    """
    if len(arguments) != len(given):
        raise UsageError(f"'{kernel}' has {len(arguments)} parameters, {len(given)} were given")
    return [value for argument, each in zip(arguments, given, strict=True) for value in _values(argument, each, kernel)]


def _values(argument: Argument, given: Any, kernel: str) -> Iterator[Value]:
    if isinstance(argument, ConstantArgument):
        if not same_constant(argument.value, given):
            raise LaunchRefused(
                f"{kernel} was not launched: it was compiled for {argument.name} = {argument.value!r}, not {given!r}"
                " (TV502)"
            )
    elif isinstance(argument, TupleArgument):
        items = _items(argument, given, kernel)
        if len(items) != len(argument.items):
            raise LaunchRefused(f"{kernel} was not launched: `{argument.name}` has {len(items)} items (TV502)")
        for inner, item in zip(argument.items, items, strict=True):
            yield from _values(inner, item, kernel)
    elif isinstance(argument, ListArgument):
        yield len(given)
        for item in given:
            yield _array(argument.name, item, kernel)
    elif isinstance(given, bool | int | float):
        yield given
    else:
        yield _array(argument.name, given, kernel)


def _items(argument: TupleArgument, given: object, kernel: str) -> Sequence[object]:
    if argument.fields:
        missing = next((field for field in argument.fields if not hasattr(given, field)), None)
        if missing is not None:
            raise UsageError(f"`{argument.name}` of '{kernel}' is a {type(given).__name__} without `{missing}`")
        return [getattr(given, field) for field in argument.fields]
    if not isinstance(given, tuple | list):
        raise UsageError(f"`{argument.name}` of '{kernel}' is a {type(given).__name__}, no tuple")
    return given


def _array(name: str, given: object, kernel: str) -> Value:
    value = array_value(given)
    if value is None:
        raise UsageError(f"`{name}` of '{kernel}' is a {type(given).__name__}, no array and no number")
    return value


def device_of(kernel: str, values: Iterable[Value]) -> int:
    """The GPU that all arrays lie on, 0 where there are none; raises `UsageError` for several."""
    arrays = [value for value in values if isinstance(value, ArrayValue) and 0 not in value.shape]
    devices = {driver.device_of(array.address) for array in arrays}
    if len(devices) > 1:
        raise UsageError(f"the arrays of '{kernel}' lie on several devices: {sorted(devices)}")
    return devices.pop() if devices else 0


def use_of(
    kernel: str,
    device: int,
    grid: Grid,
    named: Mapping[str, Value],
    touched: Touched,
    lists: Mapping[str, Sequence[ArrayValue]] | None = None,
) -> Use:
    """The bytes of every array that the launch may read, and those that it may write."""
    arrays = [(name, value) for name, value in named.items() if isinstance(value, ArrayValue)]
    arrays += [(name, value) for name, of in (lists or {}).items() for value in of]
    reached = {} if touched.reach is None else touched.reach.ranges(named, grid)
    accesses = tuple(each for name, value in arrays for each in _accesses(name, value, touched, reached.get(name)))
    return Use(kernel, device, accesses, tuple((value.address, name) for name, value in arrays))


def _accesses(name: str, array: ArrayValue, touched: Touched, reached: Reached | None) -> Iterator[ByteAccess]:
    """What is read, and what is written, too; of an array of which nothing is known, all of it."""
    start, end = span(array)
    writes = name in touched.written
    if reached is None:
        reached = Reached(None, (0, end - start)) if writes else Reached((0, end - start), None)
    period, width = rows(array) if name in touched.by_elements else (0, 0)
    for bytes_, write in zip(reached, (False, True), strict=True):
        low, high = within(bytes_, end - start)
        if low < high:
            low -= low % period if period else 0  # rows are counted from where they start
            yield ByteAccess(start + low, start + high, write, name, period, width)


def rows(array: ArrayValue) -> tuple[int, int]:
    """The bytes between the starts of rows that lie apart, and those of a row; 0 and 0 if there is one row.

    Dimensions from the smallest stride up make one row as long as they leave no gap; all larger strides are multiples
    of their greatest common divisor, which is the period.
    """
    bits = ELEMENT_TYPES[array.dtype].bits
    if bits % 8 or 0 in array.shape:
        return 0, 0
    width = bits // 8
    dims = sorted(
        (stride * bits // 8, size) for stride, size in zip(array.strides, array.shape, strict=True) if size > 1
    )
    while dims and dims[0][0] <= width:
        stride, size = dims.pop(0)
        width += (size - 1) * stride
    period = gcd(*(stride for stride, _ in dims))
    return (period, width) if width < period else (0, 0)


def span(array: ArrayValue) -> tuple[int, int]:
    """First byte and end of an array; an empty one has none."""
    if 0 in array.shape:
        return array.address, array.address
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    bits = ELEMENT_TYPES[array.dtype].bits
    return array.address, array.address + ((last + 1) * bits + 7) // 8


# -------------------------------------------------------------------------------------------------------- same constant
# What is compiled into a kernel, held against what a launch gives for it.


def same_constant(compiled: object, given: object) -> bool:
    """Whether the kernel that was compiled for one is the kernel for the other.

    ``compiled``: as a spec or a certificate has it, a tuple as a list in JSON.  1, 1.0 and True are three constants, as
    kernels compute in their types, and so are 0.0 and -0.0; nan is one.
    """
    if isinstance(compiled, tuple | list):
        return (
            isinstance(given, tuple | list) and len(compiled) == len(given) and all(map(same_constant, compiled, given))
        )
    if isinstance(compiled, bool) or isinstance(given, bool):
        return compiled is given
    if isinstance(compiled, int):
        return isinstance(given, Integral) and int(given) == compiled
    if isinstance(compiled, float):
        return isinstance(given, Real) and not isinstance(given, Integral) and float(given).hex() == compiled.hex()
    return isinstance(given, type(compiled)) and given == compiled
