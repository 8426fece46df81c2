"""Kernels that store scalars, and loops that Triton may pipeline; `test_ordered_by_triton.py` reads what it makes of
them."""

import triton
import triton.language as tl


@triton.jit
def twice(x, n):
    tl.store(x, 1)
    tl.store(x, 2)


@triton.jit
def computed_place(x, n):
    tl.store(x, 1)
    tl.store(x + 0 * tl.program_id(0), 2)


@triton.jit
def loaded_between(x, n):
    tl.store(x, 1)
    value = tl.load(x + 1)
    tl.store(x, value + 2)


@triton.jit
def masked(x, n):
    tl.store(x, 1, mask=n > 3)
    tl.store(x, 2, mask=n > 9)
    tl.store(x, 3, mask=n > 4)


@triton.jit
def modified(x, n):
    tl.store(x, 1, cache_modifier=".wb")
    tl.store(x, 2, cache_modifier=".cg")
    tl.store(x, 3, cache_modifier=".cs")
    tl.store(x, 4, cache_modifier=".wt")


@triton.jit
def in_branches(x, n):
    if n > 3:
        tl.store(x, 1)
    else:
        tl.store(x, 2)
    if tl.load(x + 1) == 0:
        tl.store(x, 3)


@triton.jit
def returned_early(x, n):
    tl.store(x, 1)
    if n > 3:
        tl.store(x, 2)
        return
    tl.store(x, 3)


@triton.jit
def in_rounds(x, n):
    for step in range(n):
        tl.store(x, 1)
        at = n
        while at > 3 + tl.load(x + 1):
            tl.store(x, 2)
            at -= 1
        tl.store(x, 3)
    tl.store(x, 4)


@triton.jit
def around_tiles(x, n):
    """Between them tiles are loaded, summed up, and stored elsewhere."""
    lane = tl.arange(0, 64)
    tl.store(x, 1)
    total = tl.zeros((64,), tl.int32)
    for step in range(n):
        total += tl.load(x + 64 + lane).to(tl.int32)
    tl.store(x + 64 + lane, total)
    tl.store(x, 2 + tl.sum(total))


@triton.jit
def through_bytes(x, n):
    tl.store(x, 1)
    tl.store(x.to(tl.pointer_type(tl.int8), bitcast=True), 2)


STORED = {
    twice: [1, 2],
    computed_place: [1, 2],
    loaded_between: [1, 2],
    masked: [1, 3],
    modified: [1, 2, 3, 4],
    in_branches: [1, 3],
    returned_early: [1, 2],
    in_rounds: [1, 2, 2, 3] * 5 + [4],
    around_tiles: [1, 2],
    through_bytes: [1, 2],
}
"""What thread 0 stores at the first place of `x`, which begins as zeros, one after the other, for n = 5."""


@triton.jit(noinline=True)
def put(x, value):
    tl.store(x, value)


@triton.jit
def called(x, n):
    put(x, 1)
    tl.store(x, 2)
    put(x, 3)


@triton.jit(noinline=True)
def wait():
    tl.debug_barrier()


@triton.jit
def products(x, turns, n, SIZE: tl.constexpr, HOW: tl.constexpr):
    """Each round multiplies what the round before it has stored."""
    lane = tl.arange(0, SIZE)
    tile = x + lane[:, None] * SIZE + lane[None, :]
    for step in range(n):
        value = tl.load(tile + step * SIZE * SIZE)
        tl.store(tile + (step + 1) * SIZE * SIZE, tl.dot(value, value, out_dtype=tl.float32).to(tl.float16))
        if HOW == "atomic":
            tl.atomic_add(turns, 1)
        elif HOW == "barrier":
            tl.debug_barrier()
        elif HOW == "barrier in a branch":
            if step > 3:
                tl.debug_barrier()
        elif HOW == "barrier of a function":
            wait()
        elif HOW == "loop":
            while tl.atomic_add(turns, 1) < n:
                pass
        elif HOW == "loop in a branch":  # noqa: SIM102
            if step > 3:
                while tl.atomic_add(turns, 1) < n:
                    pass


@triton.jit
def sums(x, turns, n, SIZE: tl.constexpr, STAGES: tl.constexpr):
    lane = tl.arange(0, SIZE)
    for step in tl.range(0, n, num_stages=STAGES):
        tl.store(x + (step + 1) * SIZE + lane, tl.load(x + step * SIZE + lane) + 1)
        tl.atomic_add(turns, 1)


@triton.jit
def sums_by_descriptor(x, turns, n, SIZE: tl.constexpr):
    view = tl.make_tensor_descriptor(x, [n + 1, SIZE], [SIZE, 1], [1, SIZE])
    for step in range(n):
        view.store([step + 1, 0], view.load([step, 0]) + 1)
        tl.atomic_add(turns, 1)


@triton.jit
def loops(x, turns, n, SIZE: tl.constexpr, FLAT: tl.constexpr):
    lane = tl.arange(0, SIZE)
    tile = x + lane[:, None] * SIZE + lane[None, :]
    for row in tl.range(0, n, flatten=FLAT):
        tl.atomic_add(turns, 1)
        total = tl.zeros((SIZE, SIZE), tl.float32)
        for step in range(n):
            value = tl.load(tile + step * SIZE * SIZE)
            total = tl.dot(value, value, total)
        tl.store(tile + (row + 1) * SIZE * SIZE, total.to(tl.float16))
