"""Checks ``proofs/`` with Coq: ``python3 -m tools.check_proofs``; ``--weakened`` tries what must not be provable.

The standard library alone, so that it runs on a bare Debian.  Files are compiled in a scratch folder, one at a time, in
the order of ``proofs/_CoqProject``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .proof_weakenings import WEAKENINGS, Weakening

PROOFS: Final = Path(__file__).resolve().parents[1] / "proofs"
CLOSED: Final = "Closed under the global context"
_ASSUMED: Final = re.compile(r"\b(Admitted|admit|Axioms?|Conjecture|Parameters?|Abort)\b")
_COMMENT: Final = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_REQUIRED: Final = re.compile(r"From TileVerify Require Import ([\w\s]+)\.")
_STATED: Final = re.compile(r"^Print Assumptions (\w+)\.$", re.MULTILINE)


class CannotCheck(Exception):
    """Says in one sentence why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weakened", action="store_true", help="also weaken each definition: a proof must fail")
    chosen = parser.parse_args()
    try:
        coqc = find_coqc(install=True)
        with tempfile.TemporaryDirectory(prefix="tileverify-proofs-") as scratch:
            folder = Path(scratch) / "proofs"
            report(check(coqc, folder))
            if chosen.weakened:
                for weakening in WEAKENINGS:
                    try_weakened(coqc, weakening, folder, Path(scratch) / "weakened")
                    print(f"no longer provable, as it must be: {weakening.name}", flush=True)
                print(f"{len(WEAKENINGS)} weakenings, none provable.")
    except CannotCheck as error:
        print(f"proofs: {error}", file=sys.stderr)
        return 1
    return 0


def find_coqc(*, install: bool) -> str:
    """The compiler; where there is none, Debian's is installed if that can be done."""
    found = shutil.which("coqc")
    if found is None and install and os.geteuid() == 0 and shutil.which("apt-get"):
        print("coqc is missing; installing Debian's package coq ...", flush=True)
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "coq"]):
            subprocess.run(["apt-get", "--quiet", "--quiet", *command], check=False, stdout=subprocess.DEVNULL)
        found = shutil.which("coqc")
    if found is None:
        raise CannotCheck("coqc is not there and could not be installed: `apt-get install coq` as root brings it.")
    return found


def files() -> list[str]:
    """The files of the proof, each behind those that it needs."""
    return [line for line in (PROOFS / "_CoqProject").read_text(encoding="utf-8").split("\n") if line.endswith(".v")]


def check(coqc: str, folder: Path) -> str:
    """Compiles everything in a copy; what the last file, which prints assumptions, printed.

    :raises CannotCheck: a file cannot be compiled, or assumes something.
    """
    shutil.copytree(PROOFS, folder, ignore=lambda _, names: [name for name in names if not name.endswith(".v")])
    left_out = {path.name for path in folder.glob("*.v")} - {*files()}
    if left_out:
        raise CannotCheck(f"_CoqProject does not name {', '.join(sorted(left_out))}.")
    for name in files():
        assumed = _ASSUMED.search(_COMMENT.sub("", (folder / name).read_text(encoding="utf-8")))
        if assumed:
            raise CannotCheck(f"{name} says `{assumed[0]}`.")
    told = ""
    for name in files():
        begin = time.monotonic()
        done = compiled(coqc, folder, name)
        if done.returncode:
            raise CannotCheck(f"{name} cannot be proved:\n{done.stdout}{done.stderr}")
        print(f"{name} ({time.monotonic() - begin:.1f} s)", flush=True)
        told = done.stdout
    return told


def report(told: str) -> None:
    """Prints what each main theorem assumes.

    :raises CannotCheck: it is more than nothing.
    """
    stated = _STATED.findall((PROOFS / files()[-1]).read_text(encoding="utf-8"))
    if told.split("\n") != [*[CLOSED] * len(stated), ""]:
        raise CannotCheck(f"a theorem rests on an axiom:\n{told}")
    print("\nWhat the theorems assume:")
    for name in stated:
        print(f"{name}: {CLOSED}")


def compiled(coqc: str, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [coqc, "-q", "-Q", ".", "TileVerify", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)


def weakened(weakening: Weakening) -> str:
    """The text of the file that it changes.

    :raises CannotCheck: the text that it weakens is not there once.
    """
    text = (PROOFS / weakening.file).read_text(encoding="utf-8")
    if text.count(weakening.old) != 1:
        raise CannotCheck(f"{weakening.file} does not hold the text of `{weakening.name}` once.")
    return text.replace(weakening.old, weakening.new)


def try_weakened(coqc: str, weakening: Weakening, whole: Path, scratch: Path) -> None:
    """Compiles what depends on the change, from a copy of ``whole``, which is compiled.

    :raises CannotCheck: all can be proved, or another file cannot be compiled.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(whole, scratch)
    (scratch / weakening.file).write_text(weakened(weakening), encoding="utf-8")
    for name in _depending(weakening.file):
        failed = compiled(coqc, scratch, name).returncode != 0
        if failed and name != weakening.fails:
            raise CannotCheck(f"weakened by `{weakening.name}`, {name} cannot be compiled.")
        if failed:
            return
        if name == weakening.fails:
            break
    raise CannotCheck(f"`{weakening.name}` can be proved all the same.")


def _depending(changed: str) -> Iterable[str]:
    """``changed`` and the files that need it, in order."""
    stale = {changed}
    for name in files():
        required = re.findall(
            r"From TileVerify Require Import ([\w\s]+)\.", (PROOFS / name).read_text(encoding="utf-8")
        )
        if name in stale or any(f"{each}.v" in stale for line in required for each in line.split()):
            stale.add(name)
            yield name


if __name__ == "__main__":
    sys.exit(main())
