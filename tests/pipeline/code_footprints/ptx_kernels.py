"""Small kernels as PTX, and their launches: on the machine with numbers, and as terms with the same numbers put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tileverify.backend.compiled.machine.machine import ThreadMachine
from tileverify.backend.compiled.machine.run import run
from tileverify.backend.compiled.machine.storage import GlobalMemory
from tileverify.backend.compiled.ptx import PtxEntry, read
from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.contract.variables import BID, GRID
from tileverify.pipeline.code_footprints.ptx_paths import follow
from tileverify.pipeline.code_footprints.ptx_text import CodeAccess, Followed

THREADS = 64
SOME = (0, 1, 6, 13, 31, 32, 63)
"""The threads that are looked at."""
MOST_ROUNDS = 24
BASE = 1 << 44
HEAD = f""".version 9.4
.target sm_90a
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u32 k_param_1,
	.param .u32 k_param_2
)
.reqntid {THREADS}
.minnctapersm 1
{{
	.reg .pred 	%p<20>;
	.reg .b16 	%rs<20>;
	.reg .b32 	%r<40>;
	.reg .b64 	%rd<40>;
	.shared .align 16 .b8 buffer[256];
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b32 	%r1, [k_param_1];
	ld.param.b32 	%r2, [k_param_2];
	mov.u32 	%r3, %tid.x;
	mov.u32 	%r4, %clusterid.x;
"""
ARRAY = t.var("array.address", Scope.LAUNCH, 0, 2**63 - 1)
FIRST = t.var("first", Scope.LAUNCH, -(2**31), 2**31 - 1)
SECOND = t.var("second", Scope.LAUNCH, -(2**31), 2**31 - 1)


def entry_of(body: str) -> PtxEntry:
    return read(f"{HEAD}{body}\n\tret;\n}}\n").entry("k")


Touched = frozenset[tuple[int, int, int, int]]
"""Line of the text, thread, block, offset in the array."""


def on_the_machine(entry: PtxEntry, first: int, second: int, blocks: int, elements: int = 4096) -> Touched:
    memory = GlobalMemory([(BASE, np.arange(elements, dtype="<i4").view("u1").copy())])
    parameters = {
        "k_param_0": BASE.to_bytes(8, "little"),
        "k_param_1": first.to_bytes(4, "little", signed=True),
        "k_param_2": second.to_bytes(4, "little", signed=True),
    }
    machine = ThreadMachine(entry, (blocks, 1, 1), [(b, 0, 0) for b in range(blocks)], memory, parameters, {})
    run(machine)
    found = set()
    for access in memory.log:
        line = entry.instructions[access.number].line
        for thread, place in zip(access.threads.tolist(), access.places.tolist(), strict=True):
            if thread % THREADS in SOME:
                found.add((line, thread % THREADS, thread // THREADS, place))
    return frozenset(found)


def followed(entry: PtxEntry) -> Followed:
    return follow(entry, {"k_param_0": ARRAY, "k_param_1": FIRST, "k_param_2": SECOND})


def as_terms(found: Followed, first: int, second: int, blocks: int) -> Touched:
    """The same from the terms, in each round that is reached."""
    return frozenset(
        (access.instruction.line, thread, block, int(evaluate(access.address, values, _anything)) - BASE)
        for access in found.accesses
        for block in range(blocks)
        for thread in SOME
        for values in _rounds(found, access, _launch(found, first, second, blocks, block, thread), 0)
    )


def _launch(found: Followed, first: int, second: int, blocks: int, block: int, thread: int) -> dict[Term, int | bool]:
    values: dict[Term, int | bool] = {ARRAY: BASE, FIRST: first, SECOND: second, found.thread: thread}
    values |= dict(zip(BID, (block, 0, 0), strict=True)) | dict(zip(GRID, (blocks, 1, 1), strict=True))
    return values


def _rounds(
    found: Followed, access: CodeAccess, values: dict[Term, int | bool], depth: int
) -> Iterator[dict[Term, int | bool]]:
    """The rounds of the loops around in which the access is made, the outer loop's first."""
    decided = [each for each in access.path if each.free <= values.keys()]
    if not all(_holds(found, condition, values) for condition in decided):
        return
    if depth == len(access.loops):
        yield values
        return
    for number in range(MOST_ROUNDS):
        yield from _rounds(found, access, {**values, access.loops[depth].number: number}, depth + 1)


def _holds(found: Followed, condition: Term, values: Mapping[Term, int | bool]) -> bool:
    """A condition of the path; of a loop whose rounds nobody counts, of all rounds before as well."""
    loop = found.reached.get(condition)
    if loop is None:
        return bool(evaluate(condition, values, _anything))
    return all(evaluate(loop.goes_on, {**values, loop.number: k}, _anything) for k in range(int(values[loop.number])))


def _anything(function: Function, arguments: tuple[int | bool, ...]) -> int:
    """For values of which nothing is known, where none may matter."""
    return 0x1234567
