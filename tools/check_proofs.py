"""Checks ``proofs/`` with Coq: ``python3 tools/check_proofs.py``; ``--weakened`` tries what must not be provable.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROOFS: Final = Path(__file__).resolve().parents[1] / "proofs"
CLOSED: Final = "Closed under the global context"
_ASSUMED: Final = re.compile(r"\b(Admitted|admit|Axioms?|Conjecture|Parameters?|Abort)\b")
_COMMENT: Final = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_STATED: Final = re.compile(r"^Print Assumptions (\w+)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Weakening:
    """``old`` in ``file`` becomes ``new``, which says less; then ``fails`` cannot be compiled, and all before it can."""

    name: str
    file: str
    old: str
    new: str
    fails: str


OBLIGATIONS: Final = "Obligations.v"
RACE_FREE: Final = "RaceFree.v"
BOUNDS: Final = "Bounds.v"
SUMMARY: Final = "Summary.v"
REDUCTION: Final = "Reduction.v"
HARMLESS: Final = "HarmlessAtomics.v"
ATOMICS: Final = "Atomics.v"

WEAKENINGS: Final = (
    Weakening(
        "TV101 of one op alone: two stores of the text may meet",
        OBLIGATIONS,
        "weak a -> weak a' -> both_write a a' -> False.",
        "weak a -> weak a' -> both_write a a' -> i = i' -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV102 of accesses to the very same bytes alone",
        OBLIGATIONS,
        "~ both_write a a' -> False.",
        "~ both_write a a' -> bytes a = bytes a' -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 without widths",
        OBLIGATIONS,
        "one_writes a a' -> morally_strong b a b' a'.",
        "one_writes a a' -> scope_includes a b b' /\\ scope_includes a' b' b.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 without scopes: any two scoped accesses of one width may meet",
        OBLIGATIONS,
        "one_writes a a' -> morally_strong b a b' a'.",
        "one_writes a a' -> scoped a <> None /\\ scoped a' <> None /\\ width a = width a'.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 of two scoped accesses alone: a weak one may meet an atomic",
        OBLIGATIONS,
        "~ (weak a /\\ weak a') -> one_writes a a'",
        "~ weak a -> ~ weak a' -> one_writes a a'",
        RACE_FREE,
    ),
    Weakening(
        "TV201 of two writes alone",
        OBLIGATIONS,
        "same_op i i' = false -> one_writes a a' ->",
        "same_op i i' = false -> both_write a a' ->",
        RACE_FREE,
    ),
    Weakening(
        "TV201 without widths: scoped accesses of different widths need no token",
        OBLIGATIONS,
        "~ (scoped a <> None /\\ scoped a' <> None /\\ width a = width a') ->",
        "~ (scoped a <> None /\\ scoped a' <> None) ->",
        RACE_FREE,
    ),
    Weakening(
        "TV201 by program order instead of tokens",
        OBLIGATIONS,
        "waits b r i i' \\/ waits b r i' i.",
        "earlier i i' \\/ earlier i' i.",
        RACE_FREE,
    ),
    Weakening(
        "TV202 of lanes that store different values alone",
        OBLIGATIONS,
        "kind_of a = Store -> weak a -> False.",
        "kind_of a = Store -> weak a -> (exists x, written_by a nil x <> written_by a' nil x) -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV301 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV301_in_index_space.",
        "one_access b r i a -> writes a = true -> demands a TV301_in_index_space.",
        BOUNDS,
    ),
    Weakening(
        "TV302 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> inside a.",
        "one_access b r i a -> writes a = true -> inside a.",
        RACE_FREE,
    ),
    Weakening(
        "TV302 of reads alone: a write may leave its array",
        OBLIGATIONS,
        "one_access b r i a -> inside a.",
        "one_access b r i a -> reads a = true -> inside a.",
        RACE_FREE,
    ),
    Weakening(
        "TV302 without alignment of atomics",
        OBLIGATIONS,
        "one_access b r i a -> aligned a.",
        "one_access b r i a -> weak a -> aligned a.",
        BOUNDS,
    ),
    Weakening(
        "TV303 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV303_promised_in_bounds.",
        "one_access b r i a -> writes a = true -> demands a TV303_promised_in_bounds.",
        BOUNDS,
    ),
    Weakening(
        "TV401 of what accesses memory alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV401_assumed.",
        "one_access b r i a -> kind_of a <> NoAccess -> demands a TV401_assumed.",
        BOUNDS,
    ),
    Weakening(
        "TV402 of what accesses memory alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV402_arithmetic.",
        "one_access b r i a -> kind_of a <> NoAccess -> demands a TV402_arithmetic.",
        BOUNDS,
    ),
    Weakening(
        "written arrays without those that atomics write",
        OBLIGATIONS,
        "one_access b r i a -> writes a = true -> written (origin a).",
        "one_access b r i a -> kind_of a = Store -> written (origin a).",
        RACE_FREE,
    ),
    Weakening(
        "loads of arrays that the launch writes find what it began with",
        OBLIGATIONS,
        "Forall2 (fun x v => read_only x -> v = initial L x) (bytes a) l.",
        "Forall2 (fun x v => v = initial L x) (bytes a) l.",
        RACE_FREE,
    ),
    Weakening(
        "obligations for blocks that have read everything alone",
        OBLIGATIONS,
        "in_grid L b /\\ allowed b r /\\ does b r i = Some a.",
        "in_grid L b /\\ allowed b r /\\ does b r i = Some a /\\ forall j, does b r j <> None -> r j <> None.",
        RACE_FREE,
    ),
    Weakening(
        "questions between blocks may assume more than what holds if the accesses race",
        OBLIGATIONS,
        "obligations_hold_with written (fun _ _ _ _ _ _ => True).",
        "obligations_hold_with written (fun _ _ i _ _ i' => i = i').",
        RACE_FREE,
    ),
    Weakening(
        "values out of thin air",
        "Machine.v",
        "no_thin_air : well_founded causes",
        "no_thin_air : well_founded (fun c e => causes c e /\\ fst c = fst e)",
        RACE_FREE,
    ),
    Weakening(
        "atomics commute inside a block alone",
        HARMLESS,
        "kind_of a = Rmw -> kind_of a' = Rmw -> share_a_byte a a' ->\n",
        "kind_of a = Rmw -> kind_of a' = Rmw -> share_a_byte a a' -> b = b' ->\n",
        ATOMICS,
    ),
    Weakening(
        "results of atomics may decide what waits",
        HARMLESS,
        "forall j, depends j i = false /\\ ~ steers j i.",
        "forall j, depends j i = false.",
        ATOMICS,
    ),
    Weakening(
        "scoped loads beside atomics",
        HARMLESS,
        "one_access written b r i a -> ~ weak a -> kind_of a = Rmw.",
        "one_access written b r i a -> ~ weak a -> kind_of a <> Store.",
        ATOMICS,
    ),
    Weakening(
        "atomics of several widths",
        HARMLESS,
        "kind_of a = Rmw -> share_a_byte a a' -> bytes a' = bytes a.",
        "kind_of a = Rmw -> share_a_byte a a' -> width a' = width a -> bytes a' = bytes a.",
        ATOMICS,
    ),
    Weakening(
        "question TV101 in one iteration alone",
        SUMMARY,
        "    ~ block_copies s v o k l s' o' k' l'.\n\n  Definition asked_TV102",
        "    k = k' -> ~ block_copies s v o k l s' o' k' l'.\n\n  Definition asked_TV102",
        REDUCTION,
    ),
    Weakening(
        "two copies that share what the blocks have read",
        SUMMARY,
        "bid o <> bid o' /\\ footprints_meet",
        "bid o <> bid o' /\\ o = o' /\\ footprints_meet",
        REDUCTION,
    ),
    Weakening(
        "question TV201 of one op alone",
        SUMMARY,
        "guard s' v o k' l' -> (s, k) <> (s', k') ->\n",
        "guard s' v o k' l' -> s = s' -> (s, k) <> (s', k') ->\n",
        REDUCTION,
    ),
    Weakening(
        "question TV202 of neighbouring footprints alone",
        SUMMARY,
        "l <> l' -> footprints_meet s v o k l s o k l' -> False.",
        "l <> l' -> footprint s v o k l <> footprint s v o k l' -> footprints_meet s v o k l s o k l' -> False.",
        REDUCTION,
    ),
)


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
        required = re.findall(r"From TileVerify Require Import ([\w\s]+)\.", (PROOFS / name).read_text(encoding="utf-8"))
        if name in stale or any(f"{each}.v" in stale for line in required for each in line.split()):
            stale.add(name)
            yield name


if __name__ == "__main__":
    sys.exit(main())
