"""Arguments of a launch as the contract speaks of them: arrays of other libraries, and lists of arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ...contract.expression_parser import parse_condition
from ...contract.expressions import print_expression
from ...contract.launch import (
    Apply,
    Argument,
    ArrayArgument,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    flat,
)
from ...contract.list_terms import list_in_fact, list_spoken_of, of_arrays, said_of_each
from ...hook.described_launch import contiguous_strides, read_capsule, read_element, strides_in_elements
from ...results.codes import TV
from ...system.errors import TileVerifyError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ArrayValue(NamedTuple):
    """An array in memory: the address of its first element, sizes, strides in elements, and its element type.

    ``read_only``: its owner forbids writing, where that is known.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    read_only: bool = False


Value: TypeAlias = ArrayValue | int | float
Grid: TypeAlias = tuple[int, int, int]


@dataclass
class LaunchRefused(TileVerifyError):
    """TV501 (arguments overlap) or TV502 (outside the contract): the launch was not made.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def clear(out):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((128,), ct.float32))
    >>> try:
    ...     tileverify.launch(None, (3,), clear, (np.ones(256, np.float32),))
    ... except tileverify.LaunchRefused as refused:
    ...     print(refused.code)
    TV502
    """

    __module__ = "tileverify"
    code: TV = TV.LAUNCH_CONTRACT

    exit_code = 1


# -------------------------------------------------------------------------------------------------------------- buffers
# Arrays of other libraries as a launch sees them: address, sizes, strides and element type.
#
# torch tensors and NumPy arrays are asked directly, as neither DLPack nor an array interface can say everything that
# they are; whatever else there is shows itself by the CUDA array interface (CuPy, Numba) or DLPack (JAX).


_NAMED: Final = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
}  # fmt: skip
"""Element types as torch calls them, and NumPy, with those of ml_dtypes."""

_FOREIGN: Final = {"little": ">", "big": "<"}[sys.byteorder]
"""The order of bytes that is not the machine's, in a ``typestr``."""
_LETTERS: Final = {"i": "i", "u": "u", "f": "f"}
_DLPACK: Final = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool", 10: "f8e4m3", 12: "f8e5m2", 14: "f8e8m0"}
"""Type codes of ``DLDataTypeCode`` (dlpack.h)."""


def array_value(value: object) -> ArrayValue | None:
    """``value`` as an array; ``None`` if it is none.  Raises `UsageError` for elements or strides of no kernel."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if name not in _NAMED:
            raise UsageError(f"a tensor has elements of {value.dtype}, which no kernel takes")
        return ArrayValue(value.data_ptr(), tuple(value.shape), tuple(value.stride()), _NAMED[name])
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _of_numpy(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(interface)
    if hasattr(value, "__dlpack__"):
        capsule = value.__dlpack__()
        at, (code, bits) = read_capsule(capsule), read_element(capsule)
        return ArrayValue(at.address, at.shape, at.strides, _dlpack_name(code, bits))
    return None


def _of_numpy(array: NDArray[np.generic]) -> ArrayValue:
    name = array.dtype.name
    if name not in _NAMED or not array.dtype.isnative:
        raise UsageError(f"an array has elements of type '{array.dtype}', which no kernel takes")
    try:
        strides = strides_in_elements(array.strides, array.itemsize)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return ArrayValue(array.ctypes.data, array.shape, strides, _NAMED[name], not array.flags.writeable)


def _from_interface(interface: dict[str, Any]) -> ArrayValue:
    text, shape = interface["typestr"], tuple(interface["shape"])
    kind, width = text[1], int(text[2:])
    if text[0] == _FOREIGN or kind not in "iufb" or (kind == "b" and width != 1):
        raise UsageError(f"an array has elements of type '{text}', which no kernel takes")
    dtype = "bool" if kind == "b" else f"{_LETTERS[kind]}{8 * width}"
    strides = interface.get("strides")
    try:
        elements = contiguous_strides(shape) if strides is None else strides_in_elements(tuple(strides), width)
    except ValueError as error:
        raise UsageError(str(error)) from None
    address, read_only = interface["data"]
    return ArrayValue(address, shape, elements, dtype, bool(read_only))


def _dlpack_name(code: int, bits: int) -> str:
    name = _DLPACK.get(code)
    if name is None:
        raise UsageError(f"an array has elements of DLPack's type {code} with {bits} bits, which no kernel takes")
    return name if name in ("bool",) or name.startswith("f8") else f"{name}{bits}"


# ---------------------------------------------------------------------------------------------------------------- lists
# Launches with lists of arrays, in words that a guard knows: as many arguments as the lists hold arrays.
#
# A contract describes all arrays of a list at once, and its guard depends on how many there are.  So there is one
# contract for every choice of lengths, in which a list ``xs`` is its length, ``xs.length``, and the arrays ``xs[0]``,
# ``xs[1]``, ...  Names in a list's description are fresh for each of its arrays, and what a condition says of the
# list's arrays (``xs.address % 16 == 0``), or a fact with their sizes (``range(idx, 0, xs.shape[0])``), is said of
# each.


MOST_ARRAYS: Final = 128
"""In all lists of a launch: any two of them are compared."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A contract without lists, and the names that stand for each list's arrays."""

    launch: LaunchSpec
    arrays: Mapping[str, tuple[str, ...]]

    def clauses(self, texts: Sequence[str]) -> list[str]:
        """Clauses of a proof, said of each array where they are about those of a list."""
        found: list[str] = []
        for text in texts:
            clause = parse_condition(text)
            about = list_spoken_of(clause, self.arrays)
            found += [text] if about is None else map(print_expression, self._of_each(clause, about))
        return found

    def _of_each(self, clause: Expression | SameArray, about: str) -> list[Expression]:
        """A condition on each array of a list, and that the list has an array."""
        assert not isinstance(clause, SameArray)
        return [_holds_some(about), *of_arrays(clause, about, self.arrays[about])]

    def requires(self, conditions: Iterable[Expression | SameArray]) -> Iterator[Expression | SameArray]:
        """The same of what the contract requires."""
        for each in conditions:
            about = list_spoken_of(each, self.arrays)
            yield from (each,) if about is None else self._of_each(each, about)

    def names(self, known: Sequence[str] | frozenset[str]) -> frozenset[str]:
        """The same arguments, lists by their arrays."""
        return frozenset(each for name in known for each in self.arrays.get(name, (name,)))


def lengths_of(arguments: Sequence[Argument], given: Sequence[object]) -> dict[str, int]:
    """How many arrays each list holds; raises `UsageError` for what is no list."""
    lengths = {}
    for argument, value in zip(arguments, given, strict=False):
        if isinstance(argument, ListArgument):
            if not isinstance(value, list | tuple):
                raise UsageError(f"`{argument.name}` is a {type(value).__name__}, the contract says a list of arrays")
            lengths[argument.name] = len(value)
    return lengths


def spelled_out(spec: LaunchSpec, lengths: Mapping[str, int]) -> Spelled:
    """The contract of the launches whose lists have these lengths; raises `UsageError` if no guard can state it."""
    if sum(lengths.values()) > MOST_ARRAYS:
        raise UsageError(f"'{spec.kernel}' is launched with lists of more than {MOST_ARRAYS} arrays in all")
    arrays = {name: tuple(f"{name}[{number}]" for number in range(count)) for name, count in lengths.items()}
    spelled = Spelled(spec, arrays)
    for name in (*(name for fact in spec.data for name in fact.arrays), *_compared(spec)):
        if name in arrays:
            raise UsageError(f"the contract of '{spec.kernel}' says of the list `{name}` what no launch can be asked")
    about = filter(None, (list_in_fact(fact, arrays) for fact in spec.data))
    requires = (*spelled.requires(spec.requires), *map(_holds_some, dict.fromkeys(about)))
    launch = replace(
        spec,
        arguments=tuple(_arguments(spec.arguments, arrays)),
        requires=requires,
        requires_text=spec.requires_text if requires == spec.requires else (),
        data=tuple(said_of_each(spec.data, arrays)),
        alias=tuple(map(spelled.names, spec.alias)),
        overlap=tuple(map(spelled.names, spec.overlap)),
    )
    return replace(spelled, launch=launch)


def _holds_some(listed: str) -> Expression:
    """The list has an array: a condition on its arrays is about lists that have one."""
    return Apply(">=", (Name(f"{listed}.length"), Number(1)))


def _compared(spec: LaunchSpec) -> Iterator[str]:
    for each in spec.requires:
        if isinstance(each, SameArray):
            yield from (each.first, each.second)


def _arguments(arguments: Sequence[Argument], arrays: Mapping[str, tuple[str, ...]]) -> Iterator[Argument]:
    for argument in flat(arguments):
        if not isinstance(argument, ListArgument):
            yield argument
            continue
        if argument.name not in arrays:
            raise UsageError(f"a launch with the list `{argument.name}` inside a tuple cannot be guarded")
        yield ScalarArgument(f"{argument.name}.length", "i32", argument.length)
        if argument.each and len(argument.each) != len(arrays[argument.name]):
            raise UsageError(f"the contract is about {len(argument.each)} arrays in the list `{argument.name}`")
        for number, name in enumerate(arrays[argument.name]):
            yield replace(argument.each[number], name=name) if argument.each else _fresh(argument.element, name)


def _fresh(element: ArrayArgument, name: str) -> ArrayArgument:
    def renamed(expression: Expression) -> Expression:
        match expression:
            case Name(each):
                return Name(f"{each} of {name}")
            case Apply(op, args):
                return Apply(op, tuple(map(renamed, args)))
        return expression

    strides = None if element.strides is None else tuple(map(renamed, element.strides))
    return replace(element, name=name, shape=tuple(map(renamed, element.shape)), strides=strides)
