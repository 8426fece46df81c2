"""Kernels whose blocks come in any order, where it matters and where it does not."""

import cuda.tile as ct

import tileverify

RELAXED = ct.MemoryOrder.RELAXED


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]"}, grid=["cdiv(N, 128)"])
@ct.kernel
def total(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(out, (0,), ct.sum(t), memory_order=RELAXED)


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]", "seen": "f32[cdiv(N, 128)]"}, grid=["cdiv(N, 128)"])
@ct.kernel
def total_seen(x, out, seen):
    """What each block found there is stored."""
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)
    before = ct.atomic_add(out, (0,), ct.sum(t), memory_order=RELAXED)
    ct.store(seen, (i,), ct.reshape(before, (1,)))


@tileverify.launch(args={"queue": "i32[1]", "out": "f32[N]"}, grid=["N"], data=["range(queue, 0, 1)"])
@ct.kernel
def places(queue, out):
    """Each block stores its number where a ticket says."""
    t = ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()
    ct.store(out, (t,), ct.full((1,), ct.bid(0), ct.float32))


@tileverify.launch(args={"out": "f32[N]"}, grid=["N"])
@ct.kernel
def own_places(out):
    ct.store(out, (ct.bid(0),), ct.full((1,), ct.bid(0), ct.float32))


@tileverify.launch(args={"queue": "i32[1]", "out": "f32[N]"}, grid=["N"], data=["range(queue, 0, 1)"])
@ct.kernel
def places_by_block(queue, out):
    """As `places`, with the numbers that the tickets have if blocks come in order."""
    i = ct.bid(0)
    ct.atomic_add(queue, (0,), 1, memory_order=RELAXED)
    ct.store(out, (i,), ct.full((1,), i, ct.float32))


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]"}, grid=[1], requires=["N == 4"])
@ct.kernel
def doubled_first(x, out):
    """One addition, which adds nothing up."""
    t = ct.load(x, (0,), (4,))
    ct.store(out, (0,), ct.reshape(ct.reduce(t, 0, lambda a, b: a + a, 0.0), (1,)))


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]"}, grid=[1], requires=["N == 4"])
@ct.kernel
def differences(x, out):
    t = ct.load(x, (0,), (4,))
    ct.store(out, (0,), ct.reshape(ct.reduce(t, 0, lambda a, b: a - b, 0.0), (1,)))


@tileverify.launch(args={"x": "f32[N]", "out": "f32[N]"}, grid=[1], requires=["N == 4"])
@ct.kernel
def running_differences(x, out):
    t = ct.load(x, (0,), (4,))
    ct.store(out, (0,), ct.scan(t, 0, lambda a, b: a - b, 0.0))


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]"}, grid=[1], requires=["N == 4"])
@ct.kernel
def sum_and_one(x, out):
    """The compiler may put the identity in, where there are fewer lanes than threads."""
    t = ct.load(x, (0,), (4,))
    ct.store(out, (0,), ct.reshape(ct.reduce(t, 0, lambda a, b: a + b, 1.0), (1,)))


@tileverify.launch(args={"x": "f32[N]", "out": "f32[1]"}, grid=[1], requires=["N == 4"])
@ct.kernel
def joined_probabilities(x, out):
    """a + b - a * b, which is associative, and 0 its identity."""
    t = ct.load(x, (0,), (4,))
    ct.store(out, (0,), ct.reshape(ct.reduce(t, 0, lambda a, b: a + b - a * b, 0.0), (1,)))
