"""What is taken for an accumulation, and above all what is not: no proof would show that an atomic is wrong there."""

from __future__ import annotations

from textwrap import indent

import pytest

from tileverify.pipeline.repair.accumulating import accumulations, as_atomic, summed_by_atomic
from tileverify.pipeline.repair.kernel_source import KernelSource
from tileverify.reports.snippets import edited

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef kernel(x, out, other, n, T):\n"


def source_of(body: str) -> KernelSource:
    return KernelSource(HEAD + indent(body, "    ") + "\n")


def mended(body: str, *, by_tiles: bool = False) -> str | None:
    """The body with its accumulations as atomics; ``None`` if it has none."""
    source = source_of(body)
    function = source.function_at(6)
    assert function is not None
    found = accumulations(source, function, list(source.calls(function)))
    done = [as_atomic(source, each, by_tiles=by_tiles) for each in found]
    edits = [edit for each in done if each is not None for edit in each[1]]
    if not edits:
        return None
    changed = edited(source.text, edits).removeprefix(HEAD)
    return "\n".join(line.removeprefix("    ") for line in changed.splitlines())


BLOCK = "i = ct.bid(0)\n"

ADDED = {
    "ct.store(out, (0,), ct.load(out, (0,), (1,)) + x)": "ct.atomic_add(out, (0,), x)",
    "ct.store(out, (i,), x + ct.load(out, (i,), (T,)))": "out.tiled_view((T,)).atomic_store_add((i,), x)",
    "ct.store(out, (i,), ct.load(out, (i,), (T,)) - x * n)": "out.tiled_view((T,)).atomic_store_add((i,), -(x * n))",
    "ct.store(out, (i,), x + ct.load(out, (i,), (T,)) + n)": "out.tiled_view((T,)).atomic_store_add((i,), x + n)",
    "t = ct.load(out, (i,), (T,))\nt += x\nct.store(out, (i,), t)": "out.tiled_view((T,)).atomic_store_add((i,), x)",
    "ct.scatter(out, i, ct.gather(out, i) + 1)": "ct.atomic_add(out, i, 1)",
    "ct.scatter(out, i, ct.maximum(ct.gather(out, i), x))": "ct.atomic_max(out, i, x)",
    "ct.scatter(out, i, ct.gather(out, i) + 1, mask=n)": "ct.atomic_add(out, i, ct.where(n, 1, 0))",
    "c = ct.gather(out, i)\nd = c + x\nct.scatter(out, i, d)": "ct.atomic_add(out, i, x)",
}


@pytest.mark.parametrize("body", ADDED)
def test_accumulations(body: str) -> None:
    assert mended(BLOCK + body) == BLOCK + ADDED[body]


def test_a_tile_of_one_element_by_a_view() -> None:
    """Where what is added is a tile of that shape, which `atomic_add` does not take at an index without one."""
    body = "ct.store(out, (0,), ct.load(out, (0,), (1,)) + x)"
    assert mended(BLOCK + body, by_tiles=True) == BLOCK + "out.tiled_view((1,)).atomic_store_add((0,), x)"


@pytest.mark.parametrize("axis", ["1", "-1", "(1,)"])
def test_the_sum_along_an_axis_that_blocks_share_out(axis: str) -> None:
    text = f"t = ct.load(x, (ct.bid(0), ct.bid(1)), (1, T))\nct.store(out, (ct.bid(0),), ct.sum(t, axis={axis}))"
    assert summed(text)[0] == "out.tiled_view(part.shape).atomic_store_add((ct.bid(0),), part)"


@pytest.mark.parametrize(
    "body",
    [
        "ct.store(out, (i,), 2 * ct.load(out, (i,), (T,)) + x)",  # what is done to the loaded value would be lost
        "ct.store(out, (i,), x - ct.load(out, (i,), (T,)))",
        "ct.store(out, (i,), ct.load(out, (i,), (T,)) * x)",
        "ct.store(out, (i,), ct.load(out, (0,), (T,)) + x)",  # another place
        "ct.store(out, (i,), ct.load(other, (i,), (T,)) + x)",
        "ct.scatter(out, i, ct.load(out, (i,), (T,)) + x)",  # a tile's number is no element's
        "ct.scatter(out, i, ct.maximum(ct.gather(out, i), x), mask=n)",
        "ct.scatter(out, i, ct.gather(out, i, mask=x) + 1, mask=n)",
        "c = ct.gather(out, i)\nct.scatter(out, i, c + 1)\nct.store(other, (i,), c)",  # the value is needed elsewhere
        "c = ct.gather(out, i)\nct.scatter(out, i, 5)\nct.scatter(out, i, c + 1)",  # the store between would be lost
        "c = ct.gather(out, i)\nfor k in range(n):\n    ct.scatter(out, i, c + k)",  # only the last one counted
        "k = 0\nc = ct.gather(out, k)\nk = k + 1\nct.scatter(out, k, c + 1)",  # the index means two places
        "c = ct.gather(out, i)\nd = c + x\nx = 0\nct.scatter(out, i, d)",  # what is added has changed meanwhile
    ],
)
def test_what_is_none_is_left_alone(body: str) -> None:
    assert mended(BLOCK + body) is None


def summed(body: str) -> list[str]:
    source = source_of(body)
    function = source.function_at(6)
    assert function is not None
    writes = [call for call in source.calls(function) if call.name in ("store", "scatter")]
    return [text for write in writes for text, _ in summed_by_atomic(source, function, write)]


LOOP = """acc = ct.zeros((T, T), dtype=ct.float32)
for k in range({steps}):
    a = ct.load(x, index=({row}, {count}), shape=(T, T))
    acc = ct.mma(a, a, acc)
"""


@pytest.mark.parametrize(
    ("steps", "count", "value", "put"),
    [
        (
            "ct.bid(1), n, ct.num_blocks(1)",
            "k",
            "acc",
            "out.tiled_view(acc.shape).atomic_store_add((ct.bid(0), 0), acc)",
        ),
        ("n", "ct.bid(1) * n + k", "acc", "out.tiled_view(acc.shape).atomic_store_add((ct.bid(0), 0), acc)"),
        (
            "ct.bid(1), n, ct.num_blocks(1)",
            "k",
            "acc.astype(ct.float16)",
            "out.tiled_view(part.shape).atomic_store_add((ct.bid(0), 0), part)",
        ),
    ],
)
def test_parts_of_a_sum(steps: str, count: str, value: str, put: str) -> None:
    loop = LOOP.format(steps=steps, row="ct.bid(0)", count=count)
    assert summed(f"{loop}ct.store(out, index=(ct.bid(0), 0), tile={value})")[0] == put


def test_the_sum_of_a_tile_to_one_place() -> None:
    assert "ct.atomic_add(out, (0,), ct.sum(t))" in summed(
        "t = ct.load(x, (ct.bid(0),), (T,))\nct.store(out, (0,), ct.sum(t))"
    )


@pytest.mark.parametrize(
    "body",
    [
        "ct.store(out, (0,), ct.load(x, (ct.bid(0),), (T,)))",  # no sum
        "t = ct.load(x, (ct.bid(0), ct.bid(1)), (1, T))\nct.store(out, (ct.bid(0),), ct.sum(t, axis=0))",  # of its own
        "t = ct.load(x, i, (1, T))\nct.store(out, (ct.bid(0),), ct.sum(t, axis=1) * ct.bid(1))",  # nobody knows of what
        LOOP.format(steps="n", row="ct.bid(1)", count="k") + "ct.store(out, (0, 0), acc)",  # products of a batch
        LOOP.format(steps="ct.bid(1), n, 2", row="0", count="k")
        + "ct.store(out, (0, ct.bid(1)), acc)",  # its own place
        LOOP.format(steps="ct.bid(1), n, 2", row="0", count="k") + "ct.store(out, (0, 0), acc + x)",  # x added by each
        LOOP.format(steps="ct.bid(1), n, 2", row="0", count="k") + "ct.store(out, (0, 0), ct.maximum(acc, x))",
    ],
)
def test_what_is_no_part_of_a_sum_is_left_alone(body: str) -> None:
    assert not summed(body)
