"""The corpus under many solver seeds and resource limits: no broken launch is ever proved, no right one refuted.

    python -m campaigns.seeds [--seeds 20] [--limits 0.1,1,10] [--only TEXT] [--jobs N] [--json FILE]

Limits are multiples of the usual ones.  What comes out as `undecided` is no failure: with few resources much does.  A
verdict that hangs on the seed, or on the limits in another way, is told as `tileverify stability` tells it; where only
clauses do, or what a proof holds for, it is told and fails nothing.  With ``--json`` a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from tests.corpus.compiled import corpus_kernels
from tests.corpus.kept import kept

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import corpus_launches
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.stability import OneRun, OneVerdict, Stability, stability_of
from tileverify.results import Verdict
from tileverify.system.parallel import map_ordered

SEEDS: Final = 20
LIMITS: Final = (0.1, 1.0, 10.0)

_OPPOSITE: Final = {Verdict.PROVED: Verdict.REFUTED, Verdict.REFUTED: Verdict.PROVED}


@dataclass(frozen=True, slots=True)
class Tried:
    """One launch under all seeds and limits; ``label``: what is true of it, ``died`` that its process did."""

    launch: str
    label: Verdict
    found: Stability
    died: bool = False

    @property
    def wrong(self) -> tuple[OneRun, ...]:
        """The runs whose verdict contradicts the label."""
        return tuple(run for run in self.found.runs if run.told.verdict is _OPPOSITE.get(self.label))

    @property
    def failed(self) -> bool:
        """Whether a verdict is wrong, or another one with other seeds, or there is none."""
        bare = tuple(replace(run, told=OneVerdict(run.told.verdict, "", (), ())) for run in self.found.runs)
        return bool(self.wrong or replace(self.found, runs=bare).changes or self.found.failed or self.died)

    @property
    def told(self) -> Iterator[str]:
        """What a person has to look at."""
        yield from (f"WRONG {self.launch}: {run}" for run in self.wrong)
        yield from (f"changes: {self.launch}: {words}" for words in self.found.changes)
        if self.died:
            yield f"died: {self.launch}"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A launch with its label; it is picklable."""

    launch: str
    label: Verdict
    unit: KernelUnit


def labelled_units(units: Iterable[KernelUnit], only: str = "") -> Iterator[Labelled]:
    """Those of the corpus' launches whose name contains ``only``."""
    labels = {(str(one.file), one.kernel, one.launch): one for one in corpus_launches()}
    for unit in units:
        label = labels.get((str(unit.file), unit.kernel, unit.launch.name))
        if label is not None and only in label.id:
            yield Labelled(label.id, label.verdict, unit)


def tried(one: Labelled, *, seeds: int, limits: Sequence[float]) -> Tried:
    """``one`` under the seeds 0 to ``seeds`` - 1 and all ``limits``."""
    return Tried(one.launch, one.label, stability_of(one.unit, seeds, limits, CheckOptions()))


def _died(one: Labelled) -> Tried:
    return Tried(one.launch, one.label, Stability(str(one.unit.file), one.unit.kernel, one.unit.launch.name, ()), True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many (%(default)s)")
    parser.add_argument("--limits", default=",".join(f"{each:g}" for each in LIMITS), help="as in %(default)s")
    parser.add_argument("--only", default="", help="only launches whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--units", type=Path, metavar="FILE", help="the corpus, as tests.corpus.kept wrote it")
    parser.add_argument("--json", type=Path, help="write one JSON line for each launch; launches that it has are kept")
    options = parser.parse_args(arguments)
    limits = tuple(float(each) for each in options.limits.split(","))
    units = kept(options.units) if options.units else corpus_kernels()
    found = _read(options.json, options.seeds * len(limits))
    print("".join(f"{line}\n" for each in found for line in each.told), end="", flush=True)
    done = {each.launch for each in found}
    left = [each for each in labelled_units(units, options.only) if each.launch not in done]
    one = partial(tried, seeds=options.seeds, limits=limits)
    log = options.json.open("a") if options.json else None
    for each in map(one, left) if options.jobs == 1 else map_ordered(one, left, jobs=options.jobs, crashed=_died):
        found.append(each)
        if log:
            print(_line(each), end="", file=log, flush=True)
        print("".join(f"{line}\n" for line in each.told), end="", flush=True)
    print("\n".join(summary(found)))
    return 1 if any(each.failed for each in found) else 0


def summary(found: Sequence[Tried]) -> Iterator[str]:
    """Counts of runs by label, limits and verdict; then of launches."""
    counted = collections.Counter(
        (each.label.value, run.limits, run.told.verdict.value) for each in found for run in each.found.runs
    )
    for (label, limits, verdict), count in sorted(counted.items()):
        yield f"labelled {label:9}  limits x {limits:<5g}  {verdict:9} {count:7}"
    less = sum(each.found.undecided_below is not None for each in found)
    changed = sum(bool(each.found.changes) for each in found)
    wrong, failed = sum(len(each.wrong) for each in found), sum(each.failed for each in found)
    died = sum(each.died for each in found)
    yield (
        f"{len(found)} launches, {counted.total()} runs: {wrong} wrong; {changed} launches change, {less} are undecided"
        f" with less, {died} died; {failed} fail"
    )


def _read(file: Path | None, complete: int) -> list[Tried]:
    """The launches of an earlier call with as many runs."""
    if file is None or not file.exists():
        return []
    read = [msgspec.json.decode(line, type=Tried) for line in file.read_bytes().splitlines()]
    whole = [each for each in read if len(each.found.runs) == complete]
    file.write_text("".join(_line(each) for each in whole))
    return whole


def _line(each: Tried) -> str:
    return msgspec.json.encode(each).decode() + "\n"


if __name__ == "__main__":
    sys.exit(main())
