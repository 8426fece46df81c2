"""Where nothing isolates, nothing runs; and walls that do not stand are found out."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tileverify.gating import GateOptions, IsolationUnavailable, Sandbox, Submission, judge
from tileverify.gating.sandbox import isolation
from tileverify.gating.sandbox import isolation as syscalls
from tileverify.gating.sandbox.isolation import Confinement, broken_wall, confine

from .hostile import HONEST


def test_the_walls_stand() -> None:
    assert broken_wall() is None


@pytest.mark.parametrize(
    ("wall", "found"),
    [("forbid_system_calls", "read a file|open a socket"), ("_limit_resources", "memory"), ("confine", "read a file")],
)
def test_a_missing_wall_is_found(wall: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, wall, lambda *arguments: None)
    if wall == "forbid_system_calls":
        monkeypatch.setattr(isolation, "landlock_version", lambda: 0)
    told = broken_wall()
    assert told is not None
    assert any(part in told for part in found.split("|"))


@pytest.mark.parametrize("kind", ["auto", "bubblewrap", "landlock"])
def test_without_any_isolation_nothing_is_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "landlock_version", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(IsolationUnavailable, match=r"nothing was run|install bubblewrap"):
        Sandbox(kind)


@pytest.mark.parametrize(("module", "name", "value"), [("sys", "platform", "darwin"), ("seccomp", "TABLES", {})])
def test_other_systems_are_refused(module: str, name: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileverify.gating.sandbox import isolation as seccomp

    monkeypatch.setattr(sys if module == "sys" else seccomp, name, value)
    with pytest.raises(IsolationUnavailable, match="Linux"):
        Sandbox()


def test_a_worker_with_a_hole_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileverify.gating.sandbox.sandbox.command", lambda kind, arguments: ["/bin/true"])
    with pytest.raises(IsolationUnavailable, match="did not start"):
        Sandbox("landlock")


@pytest.mark.parametrize("machine", syscalls.TABLES)
def test_no_system_call_reaches_outside(machine: str) -> None:
    forbidden = {"socket", "connect", "execve", "fork", "clone", "clone3", "kill", "ptrace", "mount", "unlink",
                 "openat", "open", "io_uring_setup", "process_vm_writev", "memfd_create", "unshare"}  # fmt: skip
    assert not forbidden & set(syscalls.ALLOWED)
    table = syscalls.TABLES[machine]
    assert len(table.allowed) == len(syscalls.ALLOWED)
    assert not table.allowed & table.refused.keys()


def test_confined_for_good() -> None:
    """A confined process cannot loosen anything again, and a call of the other ABI ends it."""
    import ctypes

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        confine(Confinement(cpu_s=5, memory=1 << 28), writing)
        libc = ctypes.CDLL(None, use_errno=True)
        raised = libc.prlimit(0, 9, None, None) == 0
        os.write(writing, b"raised" if raised else b"held")
        libc.syscall(0x4000_0000 | 39)  # getpid of x32, or nothing at all
        os.write(writing, b" alive")
        os._exit(0)
    os.close(writing)
    status = os.waitpid(pid, 0)[1]
    assert os.read(reading, 100) == b"held"
    os.close(reading)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGSYS


def _accepted(source: bytes) -> bool:
    return judge(Submission(source), GateOptions()).accepted


def test_judges_in_a_pool_of_processes() -> None:
    sources = [HONEST.encode(), b"import os\n", HONEST.replace("(i,), tile", "(0,), tile").encode()] * 2
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(_accepted, sources)) == [True, False, False] * 2


def test_a_worker_that_died_is_replaced(sandbox: Sandbox) -> None:
    os.kill(sandbox.process_id, signal.SIGKILL)
    os.waitid(os.P_PID, sandbox.process_id, os.WEXITED | os.WNOWAIT)
    assert judge(Submission(HONEST.encode()), GateOptions(), sandbox).accepted
    assert Path(f"/proc/{sandbox.process_id}").exists()
