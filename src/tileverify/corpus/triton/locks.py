"""Locks, flags and counters between programs, in the spellings of Triton's tutorials and of stream-K."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_backward(
    dx, dy, weight_parts, bias_parts, x, weight, mean, rstd, locks, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Gradients of the weights are added up by groups of rows, under the lock of the group; behind the locks stand the
    marks of groups that hold something."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    start = row.to(tl.int64) * stride
    value = tl.load(x + start + at, mask=inside, other=0.0)
    gradient = tl.load(dy + start + at, mask=inside, other=0.0)
    factor = tl.load(weight + at, mask=inside, other=0.0)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    scaled = tl.where(inside, factor * gradient, 0.0)
    both, alone = tl.sum(normal * scaled, 0) / N, tl.sum(scaled, 0) / N
    tl.store(dx + start + at, (scaled - (normal * both + alone)) * scale, mask=inside)
    group = row % GROUP
    lock = locks + group
    mark = locks + GROUP + group
    weights = weight_parts + group * N + at
    biases = bias_parts + group * N + at
    weight_part, bias_part = gradient * normal, gradient
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(mark) == 0:
        tl.atomic_xchg(mark, 1)
    else:
        weight_part += tl.load(weights, mask=inside)
        bias_part += tl.load(biases, mask=inside)
    tl.store(weights, weight_part, mask=inside)
    tl.store(biases, bias_part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_lock(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_lock_not_zero(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_lock_positive(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_xchg(lock, 1) > 0:
        pass
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_lock_in_variable(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 1)
    while old == 1:
        old = tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_lock_until_taken(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = 1
    while old == 1:
        old = tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_while_free(total, x, lock, BLOCK: tl.constexpr):
    """Goes on while another program holds the lock."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 0:
        pass
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_after_look(total, x, lock, BLOCK: tl.constexpr):
    """Waits until nobody holds the lock, and does not take it."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_or(lock, 0) != 0:
        pass
    tl.store(total, tl.load(total) + part)


@triton.jit
def add_given_early(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(total)
    tl.atomic_xchg(lock, 0)
    tl.store(total, before + part)


@triton.jit
def add_relaxed(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1, sem="relaxed") == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0, sem="relaxed")


@triton.jit
def add_to_third_state(total, x, lock, BLOCK: tl.constexpr):
    """A program that finds 2 leaves the loop without the lock."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 2)


@triton.jit
def sum_by_last(out, parts, count, x, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """Whoever counts last adds up the parts, and puts the counter back for the next launch."""
    pid = tl.program_id(0)
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_add(count, 1) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS)), 0))
        tl.store(count, 0)


@triton.jit
def sum_by_last_relaxed(out, parts, count, x, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_add(count, 1, sem="relaxed") == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS)), 0))
        tl.store(count, 0)


@triton.jit
def sum_by_last_but_one(out, parts, count, x, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_add(count, 1) == PROGRAMS - 2:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS)), 0))


@triton.jit
def hand_over(out, hand, flag, x, BLOCK: tl.constexpr):
    """Program 0 hands a block to program 1, which waits for the flag as stream-K does."""
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(hand + at, tl.load(x + at) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:
            pass
        tl.store(out + at, tl.load(hand + at))


@triton.jit
def hand_over_before_store(out, hand, flag, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.atomic_xchg(flag, 1)
        tl.store(hand + at, tl.load(x + at) * 2)
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:
            pass
        tl.store(out + at, tl.load(hand + at))


@triton.jit
def hand_over_plain_flag(out, hand, flag, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(hand + at, tl.load(x + at) * 2)
        tl.debug_barrier()
        tl.store(flag, 1)
    else:
        while tl.load(flag, volatile=True) != 1:
            pass
        tl.store(out + at, tl.load(hand + at))


@triton.jit
def add_to_given_state(total, x, lock, state, BLOCK: tl.constexpr):
    """Nothing is known of what is written to the lock."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, state)


@triton.jit
def add_under_lock_relaxed_again(total, x, lock, BLOCK: tl.constexpr):
    """Who takes the lock at the second try does not see what was stored under it."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 1)
    while old == 1:
        old = tl.atomic_cas(lock, 0, 1, sem="relaxed")
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_other_word(total, x, lock, BLOCK: tl.constexpr):
    """The second try takes a lock of the program's own."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 1)
    while old == 1:
        old = tl.atomic_cas(lock + tl.program_id(0), 0, 1)
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_in_variable_while_free(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 1)
    while old == 0:
        old = tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_in_variable_given_early(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 1)
    while old == 1:
        old = tl.atomic_cas(lock, 0, 1)
    before = tl.load(total)
    tl.atomic_xchg(lock, 0)
    tl.store(total, before + part)


@triton.jit
def add_in_variable_after_look(total, x, lock, BLOCK: tl.constexpr):
    """The first exchange puts a 0 in place of a 0: it only looks."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    old = tl.atomic_cas(lock, 0, 0)
    while old == 1:
        old = tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_every_round_but_one(total, x, lock, R, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    for i in range(R):
        if i != 3:
            while tl.atomic_cas(lock, 0, 1) == 1:
                pass
            tl.store(total, tl.load(total) + part)
            tl.debug_barrier()
            tl.atomic_xchg(lock, 0)


@triton.jit
def add_without_lock_in_one_round(total, x, lock, R, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    for i in range(R):
        if i != 3:
            while tl.atomic_cas(lock, 0, 1) == 1:
                pass
        tl.store(total, tl.load(total) + part)
        if i != 3:
            tl.debug_barrier()
            tl.atomic_xchg(lock, 0)


@triton.jit
def add_under_small_lock(total, x, lock, BLOCK: tl.constexpr):
    """The lock has 16 bits."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    free, held = tl.full([], 0, tl.int16), tl.full([], 1, tl.int16)
    while tl.atomic_cas(lock, free, held) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_store(lock, free)


@triton.jit
def add_under_small_lock_given_early(total, x, lock, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    free, held = tl.full([], 0, tl.int16), tl.full([], 1, tl.int16)
    while tl.atomic_cas(lock, free, held) == 1:
        pass
    before = tl.load(total)
    tl.atomic_store(lock, free)
    tl.store(total, before + part)


@triton.jit
def hand_over_polled(out, hand, flag, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(hand + at, tl.load(x + at) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1)
    else:
        tl.atomic_poll(flag, 1)
        tl.store(out + at, tl.load(hand + at))


@triton.jit
def hand_over_polled_in_time(out, hand, flag, x, BLOCK: tl.constexpr):
    """Who finds no flag in time stores nothing."""
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(hand + at, tl.load(x + at) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1)
    elif tl.atomic_poll(flag, 1, timeout_ns=1000):
        tl.store(out + at, tl.load(hand + at))


@triton.jit
def hand_over_polled_relaxed(out, hand, flag, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(hand + at, tl.load(x + at) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1)
    else:
        tl.atomic_poll(flag, 1, sem="relaxed")
        tl.store(out + at, tl.load(hand + at))
