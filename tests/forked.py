"""Command lines in processes of their own, forked from one that has loaded the tool already.

Most of what a short command costs is loading modules.  A forked process knows nothing of what the others did: its
variables, its folder and its path are those that are asked for, and no command has run before but one on another file.
What a process reads while it loads the tool (its variables, `python -O`, what shadows a module) takes a real one.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from .command_line import Ran

ROOT: Final = Path(__file__).parents[1]
_START: Final = "import sys; sys.path[:0] = sys.argv[1:]; from tests.forked import serve; serve()"
_KERNEL: Final = """import cuda.tile as ct

@ct.kernel
def rehearsal(x, out, TILE: ct.Constant[int]):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)) * 2)
"""
_SPEC: Final = '[[launch]]\nkernel = "rehearsal"\ngrid = [{}]\nargs = {{ x = "f32[N]", out = "f32[N]", TILE = 64 }}\n'


class Forked:
    """``python -m tileverify`` as often as it is asked for."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", _START, str(ROOT / "src"), str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, folder: Path, environment: Mapping[str, str]) -> Ran:
        """What the command line comes to in ``folder``, with these variables and no others."""
        server = self._server
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps([arguments, str(folder), dict(environment)]), file=server.stdin, flush=True)
        answer = server.stdout.readline()
        assert answer, "the process that forks the others has ended"
        return Ran(*json.loads(answer))

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


@contextmanager
def forked() -> Iterator[Forked]:
    server = Forked()
    try:
        yield server
    finally:
        server.close()


# ------------------------------------------------------------------------------------------- in the server
def serve() -> None:
    """Run what is asked for, each in a child, until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    here = [path for path in sys.path if path != str(ROOT)]
    _rehearse()
    gc.collect()
    gc.freeze()  # children share its pages
    for line in sys.stdin:
        arguments, folder, environment = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                _command(arguments, Path(folder), environment, here)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(json.dumps([code, _written(out), _written(err)]), file=answers, flush=True)


def _rehearse() -> None:
    """Load what a check loads, for one kernel that is proved and one that is refuted."""
    from tileverify.commands import cli

    with tempfile.TemporaryDirectory() as folder:
        for number, grid in enumerate(('"cdiv(N, 64)"', '"cdiv(N, 64) + 1"')):
            source = Path(folder) / f"rehearsal_{number}.py"
            source.write_text(_KERNEL)
            source.with_suffix(".tileverify.toml").write_text(_SPEC.format(grid))
        with suppress(SystemExit):
            cli.command(["check", folder, "--format", "json", "--no-cache"], prog_name="tileverify")


def _command(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], path: Sequence[str]) -> None:
    """Never returns."""
    code: Any = 70
    try:
        from tileverify.commands import cli

        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path[:] = [str(folder), *path]
        sys.argv[:] = ["tileverify", *arguments]
        cli.command(list(arguments), prog_name="tileverify")
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 70)


def _written(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())
