"""Steps: tokens, and when two accesses of a block are ordered by them.

A token is what it certainly awaits.  Claims are held against that from below: what is said to be awaited must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..contract.terms import FALSE, TRUE, Term, and_, eq, ite, or_
from ..frontend.bytecode.model import Op
from ..frontend.symbolic.summary import earlier
from .checked_values import Waiting
from .evaluator import Evaluator, Step


def joined(tokens: Iterable[Waiting]) -> Waiting:
    """What all of them await."""
    awaits: dict[int, Term] = {}
    for token in tokens:
        for access, condition in token.awaits.items():
            awaits[access] = or_(awaits.get(access, FALSE), condition)
    return Waiting(awaits)


def either(condition: Term, then: Waiting, otherwise: Waiting) -> Waiting:
    accesses = dict.fromkeys((*then.awaits, *otherwise.awaits))
    return Waiting(
        {each: ite(condition, then.awaits.get(each, FALSE), otherwise.awaits.get(each, FALSE)) for each in accesses}
    )


def this_one(ev: Evaluator, op: Op) -> Waiting:
    """The instance of an access that runs now."""
    return Waiting({op.offset: and_(TRUE, *(eq(earlier(k), k) for k in ev.iterations))})


def must_await(ev: Evaluator, path: Term, done: Waiting, said: Mapping[int, Term], what: str) -> None:
    """Whatever instance is ``said`` to be awaited, is."""
    for access, condition in said.items():
        if condition is FALSE:
            continue
        facts = [(if_, then) for inside, if_, then in ev.facts if access in inside]
        wanted = done.awaits.get(access, FALSE)
        ev.compare.follows(and_(path, condition), wanted, f"{what} does not await all that it is said to await", facts)


def make_token(ev: Evaluator, op: Op) -> Waiting:
    return Waiting({})


def join_tokens(ev: Evaluator, op: Op) -> Waiting:
    return joined(ev.waiting(value) for value in op.group("tokens"))


def passed_on(ev: Evaluator, op: Op) -> Waiting:
    """Grid dependency control and fences touch no memory; their token awaits what they are given."""
    return ev.waiting(op.optional("s" if "s" in op.operands else "token"))


def print_tko(ev: Evaluator, op: Op) -> tuple[Waiting, ...]:
    return (ev.waiting(op.optional("token")),) if op.results else ()


STEPS: Final[dict[str, Step]] = {
    "make_token": make_token,
    "join_tokens": join_tokens,
    "gdc_wait_tko": passed_on,
    "gdc_launch_dependents_tko": passed_on,
    "memory_fence_alias_tko": passed_on,
    "print_tko": print_tko,
}
