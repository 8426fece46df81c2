"""Which elements of its arrays a launch writes, as the reference interpreter sees it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.interpreter import Budget, Memory, bind_launch, run_block
from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES
from tileverify.backend.interpreter.values import KEEP_GOING
from tileverify.contract.launch import ConcreteLaunch, KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.pipeline.unit_summary import entry_of

STEPS = 1 << 40


def unfilled_codes(unit: KernelUnit, launch: ConcreteLaunch) -> frozenset[str]:
    """TV711 if a complete array has an element that nobody writes, TV712 if an empty one is read before that."""
    complete, empty = unit.launch.complete, unit.launch.empty
    codes = (
        {"TV711"} if complete and not all(written_elements(unit, launch)[name].all() for name in complete) else set()
    )
    return frozenset(codes | ({"TV712"} if empty and reads_unfilled(unit, launch) else set()))


def reads_unfilled(unit: KernelUnit, launch: ConcreteLaunch) -> bool:
    """Whether a block reads an element of an empty array that no block before it, or itself, has written.

    An exchange counts as a read; no kernel here makes one on an empty array.
    """
    module = decode(unit.bytecode, file=str(unit.file))
    bound = bind_launch(module, entry_of(module, unit), unit.parameters, launch)
    memory, budget, written = Memory(bound.image), Budget(STEPS), set[int]()
    for z, y, x in np.ndindex(*reversed(launch.grid)):
        log = run_block(bound.program, bound.arguments, memory, launch.grid, (x, y, z), budget, conduct=KEEP_GOING)
        for access in log.accesses:
            empty = access.origin >= 0 and bound.image.origins[access.origin].name in unit.launch.empty
            if empty and access.reads is not None and not written.issuperset(access.reads.addresses().tolist()):
                return True
            if access.writes is not None:
                written.update(access.writes.addresses().tolist())
    return False


def written_elements(unit: KernelUnit, launch: ConcreteLaunch) -> dict[str, NDArray[np.bool_]]:
    """For every array argument a mask of its shape: all bytes of the element were written by some block."""
    module = decode(unit.bytecode, file=str(unit.file))
    entry = entry_of(module, unit)
    bound = bind_launch(module, entry, unit.parameters, launch)
    memory, budget = Memory(bound.image), Budget(STEPS)
    touched = {each.name: np.zeros(each.size, np.bool_) for each in bound.image.allocations}
    for z, y, x in np.ndindex(*reversed(launch.grid)):
        log = run_block(bound.program, bound.arguments, memory, launch.grid, (x, y, z), budget, conduct=KEEP_GOING)
        assert log.stopped is None, f"{unit.kernel} {launch}: {log.stopped}"
        for access in log.accesses:
            if access.writes is not None and access.origin >= 0:
                allocation = bound.image.allocation_of(access.origin)
                if allocation.name not in touched:
                    continue  # the block's own memory
                for start, end in zip(*access.writes.runs, strict=True):
                    touched[allocation.name][start - allocation.base : end - allocation.base] = True
    masks = {}
    for name, array in launch.arrays.items():
        width = ELEMENT_BYTES[array.dtype]
        first = np.full(array.shape, array.byte_offset, np.int64)
        for axis, stride in enumerate(array.strides):
            steps = np.arange(array.shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(array.shape))])
            first = first + width * stride * steps
        bytes_ = touched[array.allocation or name]
        masks[name] = (
            np.all([bytes_[first + k] for k in range(width)], axis=0) if first.size else first.astype(np.bool_)
        )
    return masks
