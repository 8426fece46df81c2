"""What the registers that a loop changes hold as round k begins.

r(k)  =  r(0) + k * step      where a round adds the same to it each time
r(k)  =  what round k - 1 hands on, made of registers whose r(k - 1) is known
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from .ptx_values import signed

Registers: TypeAlias = "dict[str, Term]"


def closed(
    handed_on: Mapping[str, Term], standing: Mapping[str, Term], begins: Mapping[str, Term], number: Term, begun: int
) -> Registers:
    """The registers whose value in iteration ``number`` is known."""
    owners = {variable: name for name, variable in standing.items()}
    known: Registers = {}
    waiting = dict(handed_on)
    while True:
        found = {}
        for name, term in waiting.items():
            begin = begins.get(name)
            closed = None if begin is None else _closed_form(name, term, begin, standing, owners, known, number, begun)
            if closed is not None:
                found[name] = closed
        if not found:
            return known
        known |= found
        waiting = {name: term for name, term in waiting.items() if name not in known}


def _closed_form(
    name: str, term: Term, begin: Term, standing: Mapping[str, Term], owners: Mapping[Term, str], known: Registers,
    number: Term, begun: int,
) -> Term | None:  # fmt: skip
    own = standing[name]
    if term is own:
        return begin
    carried = {owners[each] for each in term.free if each in owners}
    if any(_made_inside(each, begun) for each in term.free):
        return None
    before = {standing[other]: t.substitute(known[other], {number: t.sub(number, t.ONE)})
              for other in carried if other in known}  # fmt: skip
    if name not in carried and carried <= known.keys():
        return t.ite(t.eq(number, t.ZERO), begin, t.substitute(term, before))
    bits, inner = (term.payload, term.args[0]) if term.kind is TermKind.WRAP else (None, term)
    step = t.sub(inner, own)
    if own in step.free or own.sort is Sort.BOOL:
        return None
    others = {owners[each] for each in step.free if each in owners}
    constant = {standing[other]: known[other] for other in others if other in known and number not in known[other].free}
    if len(constant) < len(others) or number in step.free:
        return None
    moved = t.add(begin, t.mul(number, t.substitute(step, constant)))
    if bits is None:
        return moved
    return signed(bits, moved) if _fits(begin, bits) else t.ite(t.eq(number, t.ZERO), begin, signed(bits, moved))


def _fits(term: Term, bits: int) -> bool:
    """Whether it is a signed number of so many bits."""
    half = 1 << bits - 1
    return term.low is not None and term.high is not None and -half <= term.low and term.high < half


def _made_inside(term: Term, begun: int) -> bool:
    """Whether it is a value of which nothing is known, made after so many others."""
    if term.kind is not TermKind.APPLY:
        return False
    _, numbered, number = term.function.name.rpartition("#")
    return bool(numbered) and int(number) > begun
