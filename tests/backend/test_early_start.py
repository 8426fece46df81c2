"""Which kernels may be started early: every block waits, and every access waits for that."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda.tile as ct
import pytest
from tests.written_kernel import unit_at

from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Entry
from tileverify.launching.reach import reads_ahead, waits_first


def waits(x: Any, out: Any) -> None:
    i = ct.bid(0)
    ct.grid_dependency_control_wait()
    tile = ct.load(x, (i,), (16,))
    ct.grid_dependency_control_launch_dependents()
    ct.store(out, (i,), tile)


def waits_before_a_loop(x: Any, out: Any) -> None:
    ct.grid_dependency_control_wait()
    total = ct.zeros((16,), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=0, shape=(16,))):
        total = total + ct.load(x, (k,), (16,))
        if k == 3:
            ct.store(out, (k,), total)
    ct.store(out, (0,), total)


def waits_before_an_early_return(x: Any, out: Any) -> None:
    ct.grid_dependency_control_wait()
    if ct.bid(0) > 3:
        return
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def never_waits(x: Any, out: Any) -> None:
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)))


def loads_ahead(x: Any, out: Any) -> None:
    i = ct.bid(0)
    tile = ct.load(x, (i,), (16,))
    ct.grid_dependency_control_wait()
    ct.store(out, (i,), tile)


def waits_in_some_blocks(x: Any, out: Any) -> None:
    i = ct.bid(0)
    if i > 0:
        ct.grid_dependency_control_wait()
    ct.store(out, (i,), ct.load(x, (i,), (16,)))


def returns_ahead(x: Any, out: Any) -> None:
    i = ct.bid(0)
    if i > 7:
        return
    ct.grid_dependency_control_wait()
    ct.store(out, (i,), ct.load(x, (i,), (16,)))


def lets_others_start_and_never_waits(x: Any, out: Any) -> None:
    i = ct.bid(0)
    ct.grid_dependency_control_launch_dependents()
    ct.store(out, (i,), ct.load(x, (i,), (16,)))


def entry_of(function: Callable[..., None], tmp_path: Path) -> Entry:
    """As cuTile compiles it."""
    file = tmp_path / "kernels.py"
    source = inspect.getsource(function).replace("x: Any, out: Any", "x, out").replace(" -> None", "")
    file.write_text(f"import cuda.tile as ct\n\n\n@ct.kernel\n{source}")
    unit = unit_at(file)
    return decode(unit.bytecode).entries[0]


@pytest.mark.parametrize("function", [waits, waits_before_a_loop, waits_before_an_early_return])
def test_kernels_that_wait_first(function: Callable[..., None], tmp_path: Path) -> None:
    assert waits_first(entry_of(function, tmp_path))


@pytest.mark.parametrize(
    "function", [never_waits, loads_ahead, waits_in_some_blocks, returns_ahead, lets_others_start_and_never_waits]
)
def test_kernels_that_do_not(function: Callable[..., None], tmp_path: Path) -> None:
    assert not waits_first(entry_of(function, tmp_path))


def stores_ahead(x: Any, out: Any) -> None:
    i = ct.bid(0)
    tile = ct.load(x, (i,), (16,))
    ct.store(out, (i,), tile)
    ct.grid_dependency_control_wait()
    ct.store(out, (i,), tile)


def test_reads_that_need_not_wait(tmp_path: Path) -> None:
    """They are told apart from those behind the wait; stores that need not wait forbid early starts."""
    ahead = reads_ahead(entry_of(loads_ahead, tmp_path))
    assert ahead is not None
    assert len(ahead) == 1
    assert reads_ahead(entry_of(waits, tmp_path)) == frozenset()
    for function in (stores_ahead, never_waits, waits_in_some_blocks, returns_ahead):
        assert reads_ahead(entry_of(function, tmp_path)) is None


@pytest.mark.parametrize("joined", [False, True])
def test_program_text_orders_nothing(joined: bool) -> None:
    """A store behind the wait, with a token of its own."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("kernel", [tile(pointer(I32)), tile(I32)]) as f:
        own = f.op("make_token")
        waited = f.op("gdc_wait_tko", token=own)
        token = f.op("join_tokens", tokens=[own, waited]) if joined else own
        f.op("store_ptr_tko", ptr=f.parameters[0], val=f.parameters[1], token=token, ord="weak")
        f.op("return")
    (entry,) = decode(encode(builder.build())).entries
    assert waits_first(entry) == joined
