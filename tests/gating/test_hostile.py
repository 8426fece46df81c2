"""Hostile submissions: refused, and nothing is touched, with the screen and by the sandbox alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileverify.gating import GateOptions, GateResult, Limits, Sandbox, Submission, judge

from .conftest import SECRET, Canary
from .hostile import ALONE, HONEST, LIMITED, PROGRAMS

LIMITS = Limits(
    compile_cpu_s=1, compile_wall_s=6, compile_memory_mib=512, prove_cpu_s=4, prove_wall_s=20, prove_memory_mib=1024,
    output_mib=8, kernels=8,
)  # fmt: skip


def submitted(program: str, canary: Canary) -> Submission:
    source = canary.put_into(PROGRAMS[program]) + "\n" + HONEST
    return Submission(source.encode("utf-8", errors="surrogatepass"), f"{program}.py")


def holds(result: GateResult, canary: Canary, sandbox: Sandbox) -> None:
    """What is true of every submission, whatever it tried."""
    assert canary.touched() is None
    lines = result.lines()
    assert result.kernels
    assert SECRET not in lines
    assert lines.isascii()
    assert all(line.isprintable() for line in lines.splitlines())
    assert len(lines) < 1 << 20
    assert children(sandbox) == []


def children(sandbox: Sandbox) -> list[str]:
    """Processes that the worker has not seen the end of."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", number, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == sandbox.process_id and fields[0] != "Z":
            found.append(Path("/proc", number, "cmdline").read_text().replace("\0", " "))
    # bubblewrap itself is the child of bubblewrap, and the worker that one's.
    return [each for each in found if "tileverify.gating.sandbox.worker" not in each]


@pytest.mark.parametrize("program", PROGRAMS)
def test_screen_refuses(program: str, canary: Canary, one_sandbox: Sandbox) -> None:
    """Before anything of it runs, so that it is the same behind all walls."""
    result = judge(submitted(program, canary), GateOptions(limits=LIMITS), one_sandbox)
    holds(result, canary, one_sandbox)
    assert [kernel.verdict for kernel in result.kernels] == ["rejected"]
    assert all(kernel.reasons and not kernel.accepted for kernel in result.kernels)
    assert not any(reason.id.startswith(("sandbox", "limit", "crash")) for reason in result.kernels[0].reasons)


@pytest.mark.parametrize("program", PROGRAMS)
def test_sandbox_alone_holds(program: str, canary: Canary, sandbox: Sandbox) -> None:
    result = judge(submitted(program, canary), GateOptions(limits=LIMITS, screen=False), sandbox)
    holds(result, canary, sandbox)
    if program not in ALONE:
        assert not result.accepted, result.lines()
        assert all(kernel.reasons for kernel in result.kernels if not kernel.accepted)


@pytest.mark.parametrize("program", LIMITED)
def test_limits_stop_what_the_screen_cannot_see(program: str, canary: Canary, sandbox: Sandbox) -> None:
    source = canary.put_into(LIMITED[program]) + "\n" + HONEST
    result = judge(Submission(source.encode(), f"{program}.py"), GateOptions(limits=LIMITS), sandbox)
    holds(result, canary, sandbox)
    stopped = [kernel.reasons[0].id for kernel in result.kernels if not kernel.accepted]
    assert stopped
    assert set(stopped) <= {"limit-memory", "limit-cpu", "limit-time", "TV001"}


def test_a_declared_encoding_changes_nothing(canary: Canary, sandbox: Sandbox) -> None:
    """In UTF-7 the comment holds the end of a line, and a call behind it."""
    source = canary.put_into("# coding: utf-7\n# +AAo-open('{folder}/new', 'w')\n") + HONEST
    for screen in (True, False):
        result = judge(Submission(source.encode()), GateOptions(limits=LIMITS, screen=screen), sandbox)
        holds(result, canary, sandbox)
        assert result.accepted, result.lines()


def test_honest_kernel_is_accepted(canary: Canary, sandbox: Sandbox) -> None:
    for screen in (True, False):
        result = judge(Submission(HONEST.encode()), GateOptions(screen=screen), sandbox)
        holds(result, canary, sandbox)
        assert result.accepted, result.lines()
