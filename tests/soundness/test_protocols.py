"""Right protocols of the corpus, and counters of one block, with one thing taken away: what is still proved must show
no race in any order.

The whole launch runs under several schedules, and races are judged by happens-before, which shares nothing with the
prover.  So this also holds the prover's reading of scopes, acquire, release and tokens to the interpreter's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tileverify.backend.interpreter.ordering import standard_schedules
from tileverify.backend.replay.explore import explore
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.builder import constant
from tileverify.frontend.bytecode.model import Module, TileType
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import KernelResult, Verdict

from ..corpus.compiled import units
from ..corpus.launches import drawn_launches
from .edits import Site, finished, integer_bits, sites

LAUNCHES = 2
SCHEDULES = standard_schedules(8)
AS_IT_STANDS = CheckOptions(deny_requires=True, witnesses=False)
"""Says no less of what is proved without clauses; one refuted change of a kernel is asked for."""
STEPS = 1 << 24
"""For the runs of one launch: a changed protocol may wait for ever."""
WEAKER = {"acq_rel": ("acquire", "release", "relaxed"), "acquire": ("relaxed",), "release": ("relaxed",)}

Change = Callable[[Site], None]


@dataclass(frozen=True, slots=True)
class Changed:
    """``unit`` with the change ``text``."""

    unit: KernelUnit
    original: KernelUnit
    text: str


def right_protocols() -> list[Labelled]:
    found = [label for label in corpus_launches(ROOT / "protocols") if label.verdict is Verdict.PROVED]
    return sorted(found, key=lambda label: (str(label.file), label.kernel, label.launch))


def right_counters() -> list[Labelled]:
    found = [label for label in corpus_launches(ROOT / "data") if label.file.stem == "own_counters"]
    return sorted((label for label in found if label.verdict is Verdict.PROVED), key=lambda label: label.kernel)


def compiled(label: Labelled) -> KernelUnit:
    return units()[str(label.file), label.kernel, label.launch]


def weakened(unit: KernelUnit) -> Iterator[Changed]:
    """Every token left out, every order and every scope lowered: one at a time."""
    for number, site in enumerate(_sites(unit)):
        for text, change in (*_without_tokens(site), *_weaker(site)):
            yield from _made(unit, number, text, change)


def renumbered(unit: KernelUnit) -> Iterator[Changed]:
    """Every integer constant one more, or one less."""
    for number, site in enumerate(_sites(unit)):
        kind = site.op.results[0].type if site.op.name == "constant" else None
        if isinstance(kind, TileType) and integer_bits(kind) > 1 and site.op.attributes["value"].is_splat:
            old = site.op.attributes["value"].element(0)
            for new in (old - 1, old + 1):
                yield from _made(unit, number, f"{old} becomes {new}", _set("value", constant(kind, new)))


def _sites(unit: KernelUnit) -> list[Site]:
    module = decode(unit.bytecode)
    return list(sites(entry_of(module, unit).body))


def _made(unit: KernelUnit, number: int, text: str, change: Change) -> Iterator[Changed]:
    module: Module = decode(unit.bytecode)
    site = list(sites(entry_of(module, unit).body))[number]
    change(site)
    data = finished(module)
    if data is not None:
        yield Changed(replace(unit, bytecode=data), unit, f"{site.op.name} #{number}: {text}")


def _without_tokens(site: Site) -> Iterator[tuple[str, Change]]:
    if site.op.operands.get("token") is not None and not site.op.declaration.counted:
        yield "token dropped", lambda there: there.drop_operand("token")
    for member in range(len(site.op.group("tokens"))) if site.op.name == "join_tokens" else ():
        if len(site.op.group("tokens")) > 1:
            yield f"without token {member}", partial(_leave_out, member=member)


def _leave_out(site: Site, member: int) -> None:
    tokens = site.op.group("tokens")
    site.op.operands = {"tokens": (*tokens[:member], *tokens[member + 1 :])}


def _weaker(site: Site) -> Iterator[tuple[str, Change]]:
    for order in WEAKER.get(site.op.attributes.get("ord", "weak"), ()):
        yield order, _set("ord", order)
    if site.op.attributes.get("scope") not in (None, "tl_blk"):
        yield "tl_blk", _set("scope", "tl_blk")


def _set(name: str, value: object) -> Change:
    return lambda site: site.set_attribute(name, value)


# ------------------------------------------------------------------------------------------------- judging
def seen_faults(changed: Changed, result: KernelResult) -> set[str]:
    """The obligations that some order of a launch within the contract breaks."""
    unit = changed.unit
    module = decode(unit.bytecode)
    found: set[str] = set()
    for launch in drawn_launches(changed.original.launch, LAUNCHES, seed=7, most_blocks=12):
        entry = entry_of(module, unit)
        exploration = explore(module, entry, unit.parameters, launch, {}, schedules=SCHEDULES, budget=STEPS)
        found |= exploration.codes
    return found


def check(changes: Iterator[Changed]) -> tuple[int, bool]:
    """How many changed kernels were proved, and whether one was refuted; none of the proved ones shows a fault."""
    wrong, proved, refuted = [], 0, False
    for changed in changes:
        result = check_unit(changed.unit, AS_IT_STANDS if refuted else CheckOptions())
        assert result.verdict is not Verdict.ERROR, changed.text
        refuted |= result.verdict is Verdict.REFUTED
        if result.verdict is Verdict.PROVED and not result.requires:
            proved += 1
            faults = seen_faults(changed, result)
            wrong += [f"{changed.text}: {sorted(faults)}"] if faults else []
    assert not wrong, "\n".join(wrong)
    return proved, refuted


RIGHT = [*right_protocols(), *right_counters()]
SOME = [pytest.param(label, marks=[pytest.mark.slow] if number % 7 else []) for number, label in enumerate(RIGHT)]
"""Every seventh; each takes many seconds."""


@pytest.mark.parametrize("label", SOME, ids=lambda label: label.kernel)
def test_a_weakened_protocol_that_is_proved_shows_no_race(label: Labelled) -> None:
    changes = list(weakened(compiled(label)))
    _, refuted = check(iter(changes))
    assert changes
    assert refuted or not any(order in changed.text for changed in changes for order in ("acquire", "release"))


@pytest.mark.slow
@pytest.mark.parametrize("label", RIGHT, ids=lambda label: label.kernel)
def test_a_protocol_with_other_numbers_that_is_proved_shows_no_race(label: Labelled) -> None:
    changes = list(renumbered(compiled(label)))
    check(iter(changes))
    assert changes


NEEDED = (("sum_and_exchange", "atomic_rmw_tko"), ("add_locked", "load_view_tko"))
"""Accesses that must wait: a counter may not be put back before its block has counted itself, though it must know the
count for that (no run shows it), and a total may not be read before the lock is taken."""


@pytest.mark.parametrize(("kernel", "op"), NEEDED)
def test_an_order_that_no_token_gives_is_not_taken_for_granted(kernel: str, op: str) -> None:
    label = next(label for label in RIGHT if label.kernel == kernel)
    changes = [each for each in weakened(compiled(label)) if each.text.startswith(op) and "dropped" in each.text]
    assert check_unit(changes[-1].unit).verdict is not Verdict.PROVED
