"""PTX with delays in it: warps of a block, and blocks, come to each access of memory at other times than they would.

A race that one timing hides shows in another.  `with_delays` puts a wait before each access of global and shared
memory and behind each barrier.  How long it is hangs on the block, the warp, how many waits the thread made, and a
seed.  The seed is a variable of the module, `SEED`: one cubin makes all schedules, and seed 0 makes no wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SEED = "tileverify_delay_seed"

LONGEST = 4096
"""Nanoseconds; half of all waits are none, and the first of each warp is up to eight times as long."""

_GUARD = r"\s*(@!?%?\w+\s+)?"
_ACCESS = re.compile(
    _GUARD + r"((ld|st)\.(?!param|local|const)|atom\.|red\.|cp\.async|cp\.reduce|ldmatrix|stmatrix"
    r"|mbarrier\.(arrive|try_wait|test_wait))"
)
_BARRIER = re.compile(_GUARD + r"(bar\.(sync|red|warp\.sync)|barrier\.(sync|cluster\.wait)).*;")
_ENTRY = re.compile(r"\.visible \.entry ")

_AT_FIRST = f"""
	.reg .pred %tv_wait;
	.reg .b32 %tv_state, %tv_mask, %tv_time, %tv_part;
	.reg .b64 %tv_place;
	mov.u64 %tv_place, {SEED};
	ld.volatile.global.u32 %tv_state, [%tv_place];
	setp.ne.u32 %tv_wait, %tv_state, 0;
	selp.b32 %tv_mask, {LONGEST - 1}, 0, %tv_wait;
	mov.u32 %tv_part, %tid.x;
	shr.u32 %tv_part, %tv_part, 5;
	mad.lo.u32 %tv_state, %tv_state, 0x9E3779B1, %tv_part;
	mov.u32 %tv_part, %ctaid.x;
	mad.lo.u32 %tv_state, %tv_state, 0x85EBCA77, %tv_part;
	mov.u32 %tv_part, %ctaid.y;
	mad.lo.u32 %tv_state, %tv_state, 0xC2B2AE3D, %tv_part;
	mov.u32 %tv_part, %ctaid.z;
	mad.lo.u32 %tv_state, %tv_state, 0x27D4EB2F, %tv_part;
	shr.u32 %tv_part, %tv_state, 15;
	xor.b32 %tv_state, %tv_state, %tv_part;
	mul.lo.u32 %tv_state, %tv_state, 0x2C1B3C6D;
	shr.u32 %tv_part, %tv_state, 12;
	xor.b32 %tv_state, %tv_state, %tv_part;
	and.b32 %tv_time, %tv_state, %tv_mask;
	shl.b32 %tv_time, %tv_time, 3;
	setp.ne.u32 %tv_wait, %tv_time, 0;
	@%tv_wait nanosleep.u32 %tv_time;
"""
_WAIT = f"""	mad.lo.u32 %tv_state, %tv_state, 1664525, 1013904223;
	shr.u32 %tv_time, %tv_state, 19;
	add.s32 %tv_time, %tv_time, -{LONGEST};
	max.s32 %tv_time, %tv_time, 0;
	and.b32 %tv_time, %tv_time, %tv_mask;
	setp.ne.u32 %tv_wait, %tv_time, 0;
	@%tv_wait nanosleep.u32 %tv_time;
"""


def with_delays(ptx: str) -> str:
    """``ptx`` with waits in all its entries; raises `ValueError` where there is none."""
    first = _ENTRY.search(ptx)
    if first is None:
        raise ValueError("the PTX has no entry")
    head, code = ptx[: first.start()], ptx[first.start() :]
    return f"{head}.visible .global .align 4 .u32 {SEED};\n\n" + "".join(_lines(code))


def waits(ptx: str) -> int:
    """How many waits `with_delays` puts into ``ptx``."""
    return with_delays(ptx).count("nanosleep")


def _lines(code: str) -> Iterator[str]:
    depth, entry, inside = 0, False, False
    for line in code.splitlines(keepends=True):
        entry = entry or _ENTRY.match(line) is not None
        if inside and _ACCESS.match(line):
            yield _WAIT
        yield line
        if inside and _BARRIER.match(line):
            yield _WAIT
        depth += line.count("{") - line.count("}")
        if entry and not inside and depth:
            inside = True
            yield _AT_FIRST
        elif inside and not depth:
            inside = entry = False
