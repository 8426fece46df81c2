"""Tries of a racy launch on a GPU, with cuda-python and torch, on the very cubin that `tileiras` makes.

What a try shows is a difference: memory that another launch of the same inputs left otherwise.  Floats get random
contents, so that blocks that race write different values; integers keep those of the witness, which may steer it.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...backend.assembler import AssemblyError, find_assembler, refuse_foreign_functions, refuse_split_loads
from ...backend.interpreter import BoundLaunch, bind_launch
from ...backend.interpreter.grid_runs import extent_bytes
from ...backend.interpreter.memory import Allocation
from ...backend.interpreter.rounding import to_bits
from ...backend.interpreter.values import Tile
from ...backend.numbers.array_files import rounded
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import ConcreteLaunch, EntryParameter, Role
from ...frontend.bytecode.model import PointerType, TileType
from ...results.claim import claim_from_json
from ...results.codes import CONFLICTS
from ...system.errors import UsageError
from . import Parameter, entry_parameters, load

MOST_BYTES: Final = 1 << 30


def no_device(launch: Mapping[str, Any], code: bytes = b"") -> str | None:
    """Why the launch (of the kernel ``code``) cannot be tried here, or ``None``."""
    fault = launch["claim"]["code"]
    if fault not in CONFLICTS:  # these change results at most
        return f"{fault} is not tried on a GPU: an access outside its array may end the process"
    if _bytes_needed(claim_from_json(launch)[0]) > MOST_BYTES:
        return f"the launch needs more than {MOST_BYTES >> 20} MiB, too much to try often"
    try:
        refuse_foreign_functions(code)
        refuse_split_loads(code)
    except AssemblyError as error:
        return error.message
    try:
        import torch
    except ImportError:
        return "no torch"
    if not torch.cuda.is_available():
        return "no CUDA device"
    try:
        from cuda.bindings import driver  # noqa: F401
    except ImportError:
        return "no cuda-python (pip install 'tileverify[cuda]')"
    try:
        find_assembler()
    except AssemblyError as error:
        return error.message
    return None


def count(code: bytes, entry: str, parameters: Sequence[Parameter], launch: Mapping[str, object], times: int) -> int:
    """How many of ``times`` launches left memory that differs from what most of them left.

    :raises AssemblyError: tileiras refuses the kernel, or would make something else of it.
    :raises UsageError: the driver refuses it.
    """
    import torch

    module, concrete, _ = load(code, entry, launch)
    meaning = entry_parameters(parameters)
    (found,) = (each for each in module.entries if each.name == entry)
    bound = bind_launch(module, found, meaning, concrete)
    major, minor = torch.cuda.get_device_capability()
    torch.cuda.init()
    torch.zeros(1, device="cuda")  # makes the context current that the driver calls below work in
    refuse_split_loads(code)
    function = _Function(find_assembler().assemble(code, f"sm_{major}{minor}"), entry)
    before = _contents(bound, concrete)
    outcomes: Counter[bytes] = Counter()
    for _ in range(times):
        memory = {name: torch.from_numpy(data).cuda() for name, data in before.items()}
        addresses = {name: tensor.data_ptr() for name, tensor in memory.items()}
        tables = {
            name: torch.from_numpy(table).cuda() for name, table in _descriptors(concrete, meaning, addresses).items()
        }
        addresses |= {name: table.data_ptr() for name, table in tables.items()}
        function.launch(concrete.grid, _values(bound, concrete, meaning, addresses))
        torch.cuda.synchronize()
        outcomes[b"".join(tensor.cpu().numpy().tobytes() for tensor in memory.values())] += 1
    return times - max(outcomes.values())


# --------------------------------------------------------------------------------------------- the launch
def _bytes_needed(launch: ConcreteLaunch) -> int:
    sizes: dict[str, int] = {}
    for name, array in launch.named_arrays():
        place = array.allocation or name
        sizes[place] = max(sizes.get(place, 0), array.byte_offset + extent_bytes(array))
    return sum(sizes.values())


def _contents(bound: BoundLaunch, launch: ConcreteLaunch) -> dict[str, NDArray[np.uint8]]:
    """The initial bytes of every argument's memory."""
    dtypes: dict[str, set[str]] = {}
    for name, array in launch.named_arrays():
        dtypes.setdefault(array.allocation or name, set()).add(array.dtype)
    source = np.random.default_rng(0)
    allocations: dict[str, Allocation] = {each.name: each for each in bound.image.allocations if each.name in dtypes}
    contents = {}
    for name, allocation in allocations.items():
        data = allocation.initial(np.arange(allocation.size))
        (dtype,) = dtypes[name] if len(dtypes[name]) == 1 else ("",)
        if dtype and ELEMENT_TYPES[dtype].kind == "f":
            count = allocation.size * 8 // ELEMENT_TYPES[dtype].bits
            data = rounded(source.standard_normal(count), dtype).view(np.uint8)
        contents[name] = np.concatenate([data, np.zeros(16, np.uint8)])  # torch gives no memory to nothing
    return contents


def _descriptors(
    launch: ConcreteLaunch, meaning: Sequence[EntryParameter], addresses: Mapping[str, int]
) -> dict[str, NDArray[np.int64]]:
    """What a list argument points to: a row of 64-bit words for every array, its address, sizes and strides, or its
    address alone."""
    tables = {}
    alone = {parameter.argument for parameter in meaning if parameter.role is Role.ADDRESSES}
    for name, arrays in launch.lists.items():
        rows = [
            (
                addresses[array.allocation or f"{name}[{number}]"] + array.byte_offset,
                *(() if name in alone else (*array.shape, *array.strides)),
            )
            for number, array in enumerate(arrays)
        ]
        tables[name] = np.array(rows or [(0,)], np.int64)  # torch gives no memory to nothing
    return tables


def _values(
    bound: BoundLaunch, launch: ConcreteLaunch, meaning: Sequence[EntryParameter], addresses: Mapping[str, int]
) -> list[bytes]:
    """Every entry parameter as its bytes in memory."""
    values = []
    for parameter, (value, argument) in zip(meaning, bound.arguments.items(), strict=True):
        assert isinstance(value.type, TileType)
        assert isinstance(argument, Tile)
        element = value.type.element
        if parameter.role in (Role.LIST_POINTER, Role.ADDRESSES):
            values.append(addresses[parameter.argument].to_bytes(8, "little"))
        elif parameter.role is Role.POINTER:
            array = launch.arrays[parameter.argument]
            address = addresses[array.allocation or parameter.argument] + array.byte_offset
            values.append(address.to_bytes(8, "little"))
        else:
            assert not isinstance(element, PointerType)
            values.append(to_bits(argument.data, element).tobytes())
    return values


# ---------------------------------------------------------------------------------------------- the kernel
class _Function:
    """A loaded kernel.  The grid counts tile blocks; the cubin itself says how many threads run one."""

    def __init__(self, cubin: bytes, symbol: str) -> None:
        from cuda.bindings import driver

        self._driver = driver
        (module,) = self._checked(driver.cuModuleLoadData(cubin))
        (self._function,) = self._checked(driver.cuModuleGetFunction(module, symbol.encode()))

    def launch(self, grid: Sequence[int], values: Sequence[bytes]) -> None:
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(buffer) for buffer in buffers))
        self._checked(self._driver.cuLaunchKernel(self._function, *grid, 1, 1, 1, 0, 0, ctypes.addressof(pointers), 0))

    def _checked(self, answer: tuple[Any, ...]) -> tuple[Any, ...]:
        status, *results = answer
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise UsageError(f"the CUDA driver refuses the launch: {status.name}")
        return tuple(results)
