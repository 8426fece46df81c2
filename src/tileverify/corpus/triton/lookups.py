"""Indices from data: embeddings, padding slots, pages, scatters, and their gradients."""

import triton
import triton.language as tl


@triton.jit
def embedding(out, table, tokens, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + row * D + at, tl.load(table + token * D + at, mask=at < D), mask=at < D)


@triton.jit
def embedding_in_32_bits(out, table, tokens, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + row * D + at, tl.load(table + token * D + at, mask=at < D), mask=at < D)


@triton.jit
def embedding_padded(out, table, tokens, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(table + token * D + at, mask=(at < D) & (token >= 0), other=0.0)
    tl.store(out + row * D + at, value, mask=at < D)


@triton.jit
def embedding_gradient(gradient, dy, tokens, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.atomic_add(gradient + token * D + at, tl.load(dy + row * D + at, mask=at < D), mask=at < D)


@triton.jit
def embedding_gradient_plain(gradient, dy, tokens, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row).to(tl.int64)
    at = tl.arange(0, BLOCK)
    place = gradient + token * D + at
    tl.store(place, tl.load(place, mask=at < D) + tl.load(dy + row * D + at, mask=at < D), mask=at < D)


@triton.jit
def scatter_rows(out, x, index, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(index + row).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.store(out + target * D + at, tl.load(x + row * D + at, mask=at < D), mask=at < D)


@triton.jit
def scatter_rows_padded(out, x, index, D, BLOCK: tl.constexpr):
    """Slots of -1 stand for no row."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(index + row).to(tl.int64)
    if target < 0:
        return
    at = tl.arange(0, BLOCK)
    tl.store(out + target * D + at, tl.load(x + row * D + at, mask=at < D), mask=at < D)


@triton.jit
def write_cache(cache, key, slots, D, BLOCK: tl.constexpr):
    """The key of each token goes into its slot of a paged cache; padding tokens have none."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)
    at = tl.arange(0, BLOCK)
    live = (at < D) & (slot != -1)
    tl.store(cache + slot * D + at, tl.load(key + token * D + at, mask=at < D), mask=live)


@triton.jit
def read_pages(out, cache, pages, lengths, PAGES, D: tl.constexpr, PAGE: tl.constexpr):
    """The rows of one sequence, page by page."""
    sequence = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + sequence)
    lane, at = tl.arange(0, PAGE), tl.arange(0, D)
    total = tl.zeros([D], dtype=tl.float32)
    for number in range(tl.cdiv(length, PAGE)):
        page = tl.load(pages + sequence * PAGES + number).to(tl.int64)
        live = number * PAGE + lane < length
        total += tl.sum(
            tl.load(cache + (page * PAGE + lane[:, None]) * D + at[None, :], mask=live[:, None], other=0.0), 0
        )
    tl.store(out + sequence * D + at, total)


@triton.jit
def histogram(counts, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + key, 1, mask=at < n)


@triton.jit
def histogram_by_blocks(counts, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(counts + tl.arange(0, BINS), found)


@triton.jit
def histogram_stored(counts, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    bins = tl.arange(0, BINS)
    tl.store(counts + bins, tl.load(counts + bins) + found)


@triton.jit
def segment_sums(out, x, offsets, D, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(tl.load(offsets + segment), tl.load(offsets + segment + 1)):
        total += tl.load(x + row.to(tl.int64) * D + at, mask=at < D, other=0.0)
    tl.store(out + segment.to(tl.int64) * D + at, total, mask=at < D)


@triton.jit
def concatenate(out, a, b, c, A, B, C, BLOCK: tl.constexpr):
    """Programs (i, 0), (i, 1), (i, 2) copy one of three arrays behind those before it."""
    which = tl.program_id(1)
    if which == 0:
        source, size, start = a, A, 0
    elif which == 1:
        source, size, start = b, B, A
    else:
        source, size, start = c, C, A + B
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + start + at, tl.load(source + at, mask=at < size), mask=at < size)


@triton.jit
def concatenate_by_first_size(out, a, b, c, A, B, C, BLOCK: tl.constexpr):
    """All three are taken to be as long as the first."""
    which = tl.program_id(1)
    if which == 0:
        source, start = a, 0
    elif which == 1:
        source, start = b, A
    else:
        source, start = c, A + B
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + start + at, tl.load(source + at, mask=at < A), mask=at < A)


@triton.jit
def concatenate_over_first(out, a, b, c, A, B, C, BLOCK: tl.constexpr):
    """The third array lands where the second one does."""
    which = tl.program_id(1)
    if which == 0:
        source, size, start = a, A, 0
    elif which == 1:
        source, size, start = b, B, A
    else:
        source, size, start = c, C, A
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + start + at, tl.load(source + at, mask=at < size), mask=at < size)


@triton.jit
def fill_one_of_two(a, b, A, B, BLOCK: tl.constexpr):
    """Stores go to one of two arrays, as the program's number says."""
    second = tl.program_id(1) == 1
    target = tl.where(second, b, a)
    size = tl.where(second, B, A)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, at, mask=at < size)


@triton.jit
def mark_where_said(out, chosen, BLOCK: tl.constexpr):
    """Each program marks the same elements, if its part of a mask says so."""
    lane = tl.arange(0, BLOCK)
    tl.store(out + lane, 1.0, mask=tl.load(chosen + tl.program_id(0) * BLOCK + lane))


@triton.jit
def mark_own_where_said(out, chosen, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1.0, mask=tl.load(chosen + at))
