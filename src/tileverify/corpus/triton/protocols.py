"""Protocols between programs: tries, numbers drawn by twos, turns, meetings, barriers used twice, flags as bits."""

import triton
import triton.language as tl


@triton.jit
def fill_if_free(table, lock, BLOCK: tl.constexpr):
    if tl.atomic_cas(lock, 0, 1) == 0:
        tl.store(table + tl.arange(0, BLOCK), tl.full((BLOCK,), 7.0, tl.float32))
        tl.atomic_xchg(lock, 0)


@triton.jit
def fill_if_free_and_give_always(table, lock, BLOCK: tl.constexpr):
    """A program that did not get the lock gives back that of another."""
    if tl.atomic_cas(lock, 0, 1) == 0:
        tl.store(table + tl.arange(0, BLOCK), tl.full((BLOCK,), 7.0, tl.float32))
    tl.atomic_xchg(lock, 0)


@triton.jit
def fill_by_twos(out, queue, tiles, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    t = tl.atomic_add(queue, 2)
    while t < tiles:
        tl.store(out + t * BLOCK + at, tl.full((BLOCK,), 1.0, tl.float32))
        if t + 1 < tiles:
            tl.store(out + (t + 1) * BLOCK + at, tl.full((BLOCK,), 2.0, tl.float32))
        t = tl.atomic_add(queue, 2)


@triton.jit
def fill_two_of_one(out, queue, tiles, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    t = tl.atomic_add(queue, 1)
    while t < tiles:
        tl.store(out + t * BLOCK + at, tl.full((BLOCK,), 1.0, tl.float32))
        if t + 1 < tiles:
            tl.store(out + (t + 1) * BLOCK + at, tl.full((BLOCK,), 2.0, tl.float32))
        t = tl.atomic_add(queue, 1)


@triton.jit
def add_in_turn(total, x, turn, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    part = tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_add(turn, 0) < pid:
        pass
    tl.store(total, tl.load(total) + part)
    tl.atomic_add(turn, 1)


@triton.jit
def pass_turn_and_add(total, x, turn, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    part = tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_add(turn, 0) < pid:
        pass
    before = tl.load(total)
    tl.atomic_add(turn, 1)
    tl.store(total, before + part)


@triton.jit
def sum_by_second_to_come(out, parts, met, x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    pair = pid // 2
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_cas(met + pair, 0, 1) == 1:
        tl.store(out + pair, tl.load(parts + 2 * pair) + tl.load(parts + 2 * pair + 1))


@triton.jit
def sum_by_second_to_come_relaxed(out, parts, met, x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    pair = pid // 2
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_cas(met + pair, 0, 1, sem="relaxed") == 1:
        tl.store(out + pair, tl.load(parts + 2 * pair) + tl.load(parts + 2 * pair + 1))


@triton.jit
def rotate_in_place(moved, arrived, BLOCK: tl.constexpr):
    pid, n = tl.program_id(0), tl.num_programs(0)
    at = tl.arange(0, BLOCK)
    next_block = tl.load(moved + (pid + 1) % n * BLOCK + at)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < n:
        pass
    tl.store(moved + pid * BLOCK + at, next_block)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < 2 * n:
        pass
    other_block = tl.load(moved + (pid + n - 1) % n * BLOCK + at)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < 3 * n:
        pass
    tl.store(moved + pid * BLOCK + at, other_block)


@triton.jit
def rotate_in_place_by_one_target(moved, arrived, BLOCK: tl.constexpr):
    """Nobody waits the second time."""
    pid, n = tl.program_id(0), tl.num_programs(0)
    at = tl.arange(0, BLOCK)
    next_block = tl.load(moved + (pid + 1) % n * BLOCK + at)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < n:
        pass
    tl.store(moved + pid * BLOCK + at, next_block)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < n:
        pass
    other_block = tl.load(moved + (pid + n - 1) % n * BLOCK + at)
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < 3 * n:
        pass
    tl.store(moved + pid * BLOCK + at, other_block)


@triton.jit
def sum_behind_all_bits(out, parts, bits, x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid < 4:
        tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
        tl.atomic_or(bits, 1 << pid)
    else:
        while (tl.atomic_or(bits, 0) & 15) != 15:
            pass
        tl.store(out + pid - 4, tl.sum(tl.load(parts + tl.arange(0, 4)), 0))


@triton.jit
def sum_behind_any_bit(out, parts, bits, x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid < 4:
        tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))
        tl.atomic_or(bits, 1 << pid)
    else:
        while (tl.atomic_or(bits, 0) & 15) == 0:
            pass
        tl.store(out + pid - 4, tl.sum(tl.load(parts + tl.arange(0, 4)), 0))
