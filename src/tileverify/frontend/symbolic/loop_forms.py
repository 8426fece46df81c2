"""What is noted of a loop for a checker: its carried values at any time, as the execution found them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from ...contract.terms import Scope, Term, var
from .summary import LoopForm, Origin
from .tokens import Token
from .values import Pointer, SymbolicValue

if TYPE_CHECKING:
    from .loops import Body, Solution
    from .machine import Machine


def note_form(m: Machine, body: Body, solution: Solution | None = None, left: Sequence[SymbolicValue] = ()) -> None:
    """Note the forms of ``solution``, and what tokens of ``left`` await behind the loop; not while rehearsing."""
    if not m.recording:
        return
    offsets = {number: op.offset for op, number in m.numbering.site.items()}
    time = var(f"t{body.number}", Scope.ITERATION, 0)
    values = () if solution is None else solution.at(time, solution.tokens.at(time))
    m.loop_forms.append(
        LoopForm(
            body.op.offset,
            body.loop.iteration,
            time,
            tuple(_form(value, offsets) for value in values),
            tuple(_awaits(value, offsets) if isinstance(value, Token) else None for value in left),
            body.loop.reached,
            body.loop.last,
        )
    )


def without(form: LoopForm, dead: Set[int]) -> LoopForm:
    """``form`` without what it says of accesses that never happen."""
    if not dead:
        return form

    def living(awaits: Mapping[int, Term]) -> Mapping[int, Term]:
        return {offset: condition for offset, condition in awaits.items() if offset not in dead}

    return replace(
        form,
        carried=tuple(living(each) if isinstance(each, Mapping) else each for each in form.carried),
        left=tuple(each if each is None else living(each) for each in form.left),
    )


def _form(value: SymbolicValue, offsets: Mapping[int, int]) -> Term | tuple[Origin, Term] | Mapping[int, Term] | None:
    match value:
        case Term():
            return value
        case Pointer(origin, offset):
            return origin, offset
        case Token():
            return _awaits(value, offsets)
        case _:
            return None


def _awaits(token: Token, offsets: Mapping[int, int]) -> Mapping[int, Term]:
    return {offsets[key]: condition for key, condition in token.awaits.items() if isinstance(key, int)}
