"""Ops that give the same in every block are computed once; what a block has to report, every block reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileverify.backend.interpreter import Budget, GridRun, run_grid
from tileverify.backend.interpreter.machine import uniform_ops
from tileverify.contract.launch import EntryParameter, Role
from tileverify.frontend.bytecode.builder import F32, I32, I64, TOKEN, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import DivBy, Entry
from tileverify.frontend.bytecode.traverse import walk

from .helpers import array, hand_made, launch

P = tile(pointer(I32))
PARAMETERS = (EntryParameter(Role.POINTER, "a"), EntryParameter(Role.SCALAR, "n"))


def names(entry: Entry) -> dict[str, int]:
    counted: dict[str, int] = {}
    for op in walk(entry.body):
        if op in uniform_ops(entry):
            counted[op.name] = counted.get(op.name, 0) + 1
    return counted


def kernel(f: BodyBuilder, divisor: int = 1) -> None:
    """``a[bid] = 10 * n + bid`` with a promise about ``n``."""
    a, n = f.parameters
    promised = f.op("assume", s=n, pred=DivBy(divisor, None, None))
    ten = f.op("muli", lhs=promised, rhs=f.constant(tile(I32), 10))
    bid, _, _ = f.op("get_tile_block_id")
    value = f.op("addi", lhs=ten, rhs=bid)
    f.op("store_ptr_tko", ptr=f.op("offset", ptr=a, off=bid), val=value)


def run(build: Any, n: int) -> GridRun:
    module, entry = hand_made([P, tile(I32)], build)
    concrete = launch((4, 1, 1), {"n": n}, a=array("i32", 4))
    contents = {"a": np.zeros(4, np.int32)}
    return run_grid(module, entry, PARAMETERS, concrete, contents, Budget(1 << 24))


def test_what_depends_on_the_block_alone_is_not_uniform() -> None:
    _, entry = hand_made([P, tile(I32)], kernel)
    assert names(entry) == {"assume": 1, "muli": 1, "constant": 1}


def test_blocks_share_what_is_uniform() -> None:
    made = run(kernel, 7)
    assert made.arrays["a"].tolist() == [70, 71, 72, 73]


def test_a_broken_promise_is_reported_by_every_block() -> None:
    made = run(lambda f: kernel(f, 4), 6)
    assert [[event.code for event in log.events] for log in made.logs] == [["TV401"]] * 4
    assert made.arrays["a"].tolist() == [60, 61, 62, 63]


def test_ops_with_effects_and_memory_of_a_block_are_not_uniform() -> None:
    def build(f: BodyBuilder) -> None:
        a, n = f.parameters
        local = f.op("alloca", num_elem=1, align=4, results=[P])
        f.op("load_ptr_tko", ptr=local)
        f.op("load_ptr_tko", ptr=a)
        f.op("print_tko", str="%d", args=[n], results=[TOKEN])
        f.op("int_to_ptr", s=f.op("ptr_to_int", s=a, results=[tile(I64)]), results=[tile(pointer(F32))])

    _, entry = hand_made([P, tile(I32)], build)
    assert names(entry) == {"ptr_to_int": 1}


def test_inside_loops_what_does_not_change_is_uniform() -> None:
    def build(f: BodyBuilder) -> None:
        _, n = f.parameters
        zero, one = f.constant(tile(I32), 0), f.constant(tile(I32), 1)
        with f.for_(zero, n, one) as loop:
            f.op("addi", lhs=n, rhs=one)
            f.op("addi", lhs=loop.arguments[0], rhs=one)
            f.op("continue", args=[])

    _, entry = hand_made([P, tile(I32)], build)
    uniform = uniform_ops(entry)
    added = [op for op in walk(entry.body) if op.name == "addi"]
    assert [op in uniform for op in added] == [True, False]
