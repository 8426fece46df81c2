"""Does everybody mean the same launches by a contract?  Guard, prover, `run` and packer against the printed clauses.

    python -m campaigns.readings.campaign --count 100000 --seed 1

Contracts and launches are drawn, legal and illegal ones.  Of each launch is asked

* what Python says of the printed contract, clause by clause (`plain`),
* whether the guard admits it, and checks what index arrays hold,
* whether the prover's contract is about it: its terms are evaluated on the launch's numbers, as they are passed,
* whether `run` would choose it (numbers alone),
* of one that is admitted, whether every number comes out of the packer as it went in, and every instance of a data
  fact that the prover would use is true.

All have to say the same.  The summary holds no times.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from tileverify.contract.arguments import print_description
from tileverify.contract.data_facts import print_data_fact
from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import Apply, ArrayArgument, LaunchSpec, ListArgument
from tileverify.system.errors import SpecError, UsageError

from .contracts import contract
from .launches import Given, draw, order
from .plain import Plain, Unclear, plainly
from .proofs import proved_for, unkept_instance
from .readings import Read, conditions_hold, packed_wrongly
from .solving import Unsolved

LAUNCHES: int = 8
"""Launches that are drawn for one contract."""


@dataclass
class Tally:
    """``differences``: what two readings said of one launch, with the contract."""

    launches: int = 0
    contracts: int = 0
    legal: int = 0
    illegal: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def run(count: int, seed: int, *, first: bool = False) -> Tally:
    """Draw until ``count`` launches were compared, or until the ``first`` difference."""
    tally = Tally()
    number = 0
    while tally.launches < count and not (first and tally.differences):
        random = Random(f"{seed}/{number}")
        number += 1
        spec = contract(random)
        names = [each.name for each in order(spec) if isinstance(each, ArrayArgument | ListArgument)]
        read = Read(spec, frozenset(name for name in names if random.random() < 0.6))
        tally.contracts += 1
        for _ in range(LAUNCHES):
            if tally.launches >= count or not _compare(read, draw(spec, random), tally, f"{seed}/{number - 1}"):
                break
    return tally


def _compare(read: Read, given: Given, tally: Tally, number: str) -> bool:
    """Whether the contract is one that all can read."""
    try:
        read.contract  # noqa: B018
        read.guard(given)
        plain = plainly(read.spec, read.written, given)
    except SpecError:
        tally.unread["a power whose exponent is no number"] += 1
        return False
    except UsageError:
        tally.unread["a name that no number of a launch gives"] += 1
        return False
    except Unsolved:
        tally.unread["a name that the equations leave open"] += 1
        return False
    except Unclear:
        tally.unread["a layout that is too large to enumerate"] += 1
        return True
    tally.launches += 1
    tally.legal += plain.legal
    if not plain.legal:
        tally.illegal["numbers" if not plain.numbers else "memory" if not plain.memory else "data"] += 1
    found = _differences(read, given, plain)
    tally.differences += [f"{number}: {each}\n{_shown(read, given)}" for each in found]
    return True


def _differences(read: Read, given: Given, plain: Plain) -> Iterator[str]:
    legal = plain.legal
    said = {True: "legal", False: "illegal"}
    try:
        admitted = read.admitted(given)
        proved = proved_for(read, read.described(given))
    except Unclear:
        return
    if admitted != legal:
        yield f"the guard says {said[admitted]}, Python {said[legal]}"
    if proved != legal and not (proved and _open_list(read.spec)):
        yield f"the prover says {said[proved]}, Python {said[legal]}"
    if admitted and not proved:
        yield "the guard admits what was not proved"
    if not plain.numbers:
        return
    passed = read.described(given)
    if not any(".address" in text for text in map(print_expression, read.spec.requires)) and not conditions_hold(
        read, passed
    ):
        yield "run says illegal, Python that the numbers are legal"
    if legal and (wrong := packed_wrongly(read, passed)) is not None:
        yield f"packed wrongly: {wrong}"
    if legal and (instance := unkept_instance(read, passed)) is not None:
        yield f"the prover believes of these contents: {instance}"


def _open_list(spec: LaunchSpec) -> bool:
    """The prover takes nothing for granted of a size in a list that is an expression: it is about more launches."""
    lists = [argument.element for argument in order(spec) if isinstance(argument, ListArgument)]
    sizes = [size for element in lists for size in (*element.shape, *(element.strides or ()))]
    return any(isinstance(size, Apply) for size in sizes)


def _shown(read: Read, given: Given) -> str:
    spec: LaunchSpec = read.spec
    lines = [f"    {each.name} = {print_description(each)}" for each in spec.arguments]
    lines += [f"    grid = {[print_expression(axis) for axis in spec.grid]}"] if spec.grid else []
    lines += [f"    requires {print_expression(clause)}" for clause in spec.requires]
    lines += [f"    data {print_data_fact(fact)}" for fact in spec.data]
    lines += [f"    may share {sorted(group)}" for group in spec.sharing()]
    lines += [f"    written {sorted(read.written)}", f"    launch {given}"]
    return "\n".join(lines)


def summary(tally: Tally, seed: int) -> str:
    lines = [f"{tally.launches} launches of {tally.contracts} contracts, seed {seed}"]
    lines += [f"  differences: {len(tally.differences)}", f"  legal    {tally.legal:7}"]
    lines += [f"  illegal  {number:7}  by {what}" for what, number in sorted(tally.illegal.items())]
    lines += [f"  not read {number:7}  {what}" for what, number in sorted(tally.unread.items())]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10_000, help="launches to compare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    options = parser.parse_args(arguments)
    tally = run(options.count, options.seed)
    print(summary(tally, options.seed))
    for difference in tally.differences[: options.show]:
        print(difference)
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
