"""``confined.py WAY FOLDER KEY PROJECT FILE``: ask a worker by its key to check a file, confined in some way.

As a program would that wants out: it looks for no worker of its own kind, and compares nothing.  Prints the exit code,
or why the worker did not do it; ``no ...`` where the system does not let it confine itself so.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Mapping

from tileverify.serving.worker import client
from tileverify.serving.worker.client import WorkerPlace

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_CREATE_RULESET, SYS_RESTRICT_SELF, SYS_SECCOMP = 444, 446, 317 if os.uname().machine == "x86_64" else 277
WRITE_FILE = 1 << 1
ALLOW = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)  # return SECCOMP_RET_ALLOW


def must(result: int) -> int:
    if result < 0:
        print("no", os.strerror(ctypes.get_errno()))
        sys.exit()
    return result


def no_new_privileges() -> None:
    must(LIBC.prctl(38, 1, 0, 0, 0))


def landlock() -> None:
    rights = struct.pack("=Q", WRITE_FILE)
    must(LIBC.syscall(SYS_RESTRICT_SELF, must(LIBC.syscall(SYS_CREATE_RULESET, rights, len(rights), 0)), 0))


def landlock_of_anybody() -> None:
    no_new_privileges()
    landlock()


def filter_of_calls() -> None:
    program = ctypes.create_string_buffer(ALLOW, len(ALLOW))
    must(LIBC.syscall(SYS_SECCOMP, 1, 0, struct.pack("@HP", 1, ctypes.addressof(program))))


def fewer_capabilities() -> None:
    must(LIBC.prctl(24, 5, 0, 0, 0))  # PR_CAPBSET_DROP, CAP_KILL


def another_namespace() -> None:
    must(LIBC.unshare(0x04000000))  # CLONE_NEWUTS


def another_limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


WAYS: Mapping[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        no_new_privileges, landlock, landlock_of_anybody, filter_of_calls, fewer_capabilities, another_namespace,
        another_limit,
    )
}  # fmt: skip


def main() -> None:
    way, folder, key, project, file = sys.argv[1:]
    client.place = lambda of=None: WorkerPlace(folder, key, project)  # type: ignore[assignment]
    client.may_do_the_same = lambda connection: True
    if way in WAYS:
        WAYS[way]()
    elif way != "not_at_all":
        client.seal_of = lambda process: way
    try:
        with client.ask(("check", "--no-cache", file), (0, 1, 2)) as request:
            print("exit", request.wait())
    except client.NoWorker as problem:
        print(problem)


if __name__ == "__main__":
    main()
