"""Closed forms of loop-carried values: ``v(0) = init``, ``v(k + 1) = next(v(k), k)``.

`next` is a term over *placeholders*, one for each carried value, standing for its value when iteration k begins.  A
form is accepted only if it follows by induction; what has none becomes a fresh function of k that equals ``init`` at 0.

A form is evaluated at two times: at the iteration variable k, and at the trip count T behind the loop.  T may lie one
beyond the range of k, so a form is never obtained by substituting T for k in a term that was simplified with k's
range: `Form.at` builds it anew, and uses `next` at ``time - 1``, an iteration that took place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from ...contract.terms import (
    FALSE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    apply,
    assuming,
    const,
    eq,
    fits_signed,
    ite,
    linear_parts,
    literals,
    mul,
    not_,
    postorder,
    scale,
    substitute,
    transform,
    wrap,
)
from ...contract.terms.launch_wide import carried_alike, carried_scope
from .invariants import Invariant, State, closed_groups, find_cycle, invariants
from .tokens import previous_to
from .values import CoordinateMap

Form: TypeAlias = Callable[[Term], Term]
"""Time -> value when the iteration of that number begins, over the canonical lanes of the value's shape."""

_MINUS_ONE: Final = const(-1)
_MOST_RUNS: Final = 8
"""Loops of up to this many iterations are run out where a carried value has no closed form."""
_MOST_NODES: Final = 1500
"""A value that grows beyond this many terms on the way stays a fresh function."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """One carried value.  ``lanes``: the lane variables it may depend on; ``placeholder`` applies to exactly these.

    Where no form is found, a fresh function stands for it, applied to ``context`` (the outer iterations), k and the
    lanes; ``declare`` makes it known and gives back the one symbol of that name.
    """

    placeholder: Term
    init: Term
    next: Term
    lanes: tuple[Term, ...]
    context: tuple[Term, ...]
    declare: Callable[[Function], Function] = lambda function: function

    @property
    def name(self) -> str:
        return self.placeholder.function.name

    def unknown(self, invariant: Invariant, scope: Scope) -> Function:
        """The function G with ``v(k) = rest + modulus * G(k)`` behind the first iteration."""
        low, high, modulus, rest = invariant.low, invariant.high, invariant.modulus, invariant.rest
        if low is not None:
            low = -(-(low - rest) // modulus)
        if high is not None:
            high = (high - rest) // modulus
        if low is not None and high is not None and low > high:
            # No launch comes to this loop, but a question may still mention the value: it must have one.
            low = high = None
        name = f"{self.name}{invariant.suffix(self.placeholder.function)}"
        return self.declare(Function(name, scope, low, high, self.placeholder.sort))

    def fresh(self, function: Function, invariant: Invariant) -> Form:
        """An arbitrary value for each iteration that keeps ``invariant``, the initial one at the first."""

        def form(time: Term) -> Term:
            if function.low is not None and function.low == function.high:
                value = const(function.low)
            else:
                value = apply(function, *self.context, time, *self.lanes)
            if self.placeholder.sort is Sort.INT:
                value = add(scale(invariant.modulus, value), const(invariant.rest))
            return at_start(time, self.init, value)

        return form


def at_start(time: Term, init: Term, later: Term) -> Term:
    """``init`` at time 0, ``later`` afterwards; one term where ``later`` gives ``init`` at 0 anyway."""
    if time.kind is TermKind.VAR and substitute(later, {time: ZERO}) is init:
        return later
    return ite(eq(time, ZERO), init, later)


class Recurrences:
    """Solves the carried values of one loop together."""

    def __init__(self, iteration: Term, items: Sequence[Recurrence]) -> None:
        self.k = iteration
        self.items = items
        self.forms: dict[Function, Form] = {}
        self.fresh: list[tuple[Recurrence, Function, Invariant]] = []  # which function stands for which value
        self._by_function = {item.placeholder.function: item for item in items}
        self._invariants: dict[Function, Invariant] = {}
        self._alike: frozenset[Function] = frozenset()  # values that are the same in all blocks
        self._unknown: set[Function] = set()
        self._exact: dict[int, list[Term] | None] = {}
        self._now: dict[Function, Term] = {}
        self._solve()

    def at(self, time: Term) -> list[Term]:
        """All values at ``time``, in order."""
        forms = [self.forms[item.placeholder.function](time) for item in self.items]
        if time.kind is TermKind.CONST and any(self._is_fresh(form) for form in forms):
            exact = self._run(time.value)
            if exact is not None:
                return [value if self._is_fresh(form) else form for form, value in zip(forms, exact, strict=True)]
        return forms

    def is_unknown(self, position: int) -> bool:
        """Whether no form was found for a value."""
        return self._is_fresh(self.forms[self.items[position].placeholder.function](self.k))

    def is_plainly(self, item: Recurrence, function: Function) -> bool:
        """Whether ``function`` stands for ``item`` behind the first iteration; one of a single value is that value."""
        value = self.forms[item.placeholder.function](self.k)
        alone = function.low is not None and function.low == function.high
        return not alone and value is item.fresh(function, self._invariants[item.placeholder.function])(self.k)

    def resolve(self, term: Term) -> Term:
        """``term`` of iteration k with the placeholders replaced by their forms."""
        return self._resolve(term, {})

    # ---------------------------------------------------------------------------------------- resolution
    def _resolve(self, term: Term, memo: dict[Term, Term]) -> Term:
        if not self._pending(term, solved=True):
            return term

        def leaf(part: Term) -> Term | None:
            if part.kind is TermKind.APPLY and part.function in self.forms:
                item = self._by_function[part.function]
                if part.function not in self._now:
                    self._now[part.function] = self.forms[part.function](self.k)
                moved: CoordinateMap = dict(zip(item.lanes, part.args, strict=True))
                return substitute(self._now[part.function], moved)
            return None

        return transform(term, leaf, memo)

    def _pending(self, term: Term, *, solved: bool = False) -> bool:
        """Whether placeholders of this loop occur: unsolved ones, or any with ``solved``."""
        return any(
            part.kind is TermKind.APPLY
            and part.function in self._by_function
            and (solved or part.function not in self.forms)
            for part in term.free
        )

    # -------------------------------------------------------------------------------------------- solving
    def _solve(self) -> None:
        waiting = self._solve_plain(list(self.items))
        if self._solve_cycles(waiting):
            waiting = self._solve_plain([item for item in waiting if item.placeholder.function not in self.forms])
        self._invariants = invariants(
            {item.placeholder: item for item in waiting}, lambda term: self._resolve(term, {})
        )
        self._alike = carried_alike(
            {item.placeholder.function: (item.init, self._resolve(item.next, {})) for item in waiting},
            self.k,
            {each for item in waiting for each in item.context},
        )
        while waiting:
            flag = next((item for item in waiting if self._is_exit_flag(item)), None)
            if flag is not None:
                self.forms[flag.placeholder.function] = self._fresh(flag)
                waiting = self._solve_before_exit([item for item in waiting if item is not flag], flag)
            else:
                first = waiting.pop(0)
                self.forms[first.placeholder.function] = self._fresh(first)
            waiting = self._solve_plain(waiting)

    def _fresh(self, item: Recurrence) -> Form:
        invariant = self._invariants[item.placeholder.function]
        function = item.unknown(invariant, carried_scope(item.placeholder.function in self._alike))
        self._unknown.add(function)
        self.fresh.append((item, function, invariant))
        return item.fresh(function, invariant)

    def _is_fresh(self, value: Term) -> bool:
        """Whether a value falls back on a function that stands for it."""
        return any(part.kind is TermKind.APPLY and part.function in self._unknown for part in value.free)

    def _run(self, times: int) -> list[Term] | None:
        """The values after a known, small number of iterations, by running them; None where that grows too large."""
        if times > _MOST_RUNS:
            return None
        if times == 0:
            return [item.init for item in self.items]
        if times not in self._exact:
            before = self._run(times - 1)
            self._exact[times] = None if before is None else self._run_once(before, const(times - 1))
        return self._exact[times]

    def _run_once(self, before: list[Term], time: Term) -> list[Term] | None:
        after = _next_state(self.items, [substitute(item.next, {self.k: time}) for item in self.items], before)
        size = len({part for value in after for part in postorder(value)})
        return list(after) if size <= _MOST_NODES else None

    def _solve_plain(self, waiting: list[Recurrence]) -> list[Recurrence]:
        """Find forms until no more turn up; one value's form may make another's visible."""
        progress = True
        while progress:
            progress = False
            for item in list(waiting):
                form = self._form(item, self._resolve(item.next, {}))
                if form is not None:
                    self.forms[item.placeholder.function] = form
                    waiting.remove(item)
                    progress = True
        return waiting

    def _solve_cycles(self, waiting: Sequence[Recurrence]) -> bool:
        """Find values that come back to what they were; whether there are any."""
        steps = {item.placeholder: self._resolve(item.next, {}) for item in waiting}
        items = {item.placeholder: item for item in waiting}
        functions = {item.placeholder.function: item.placeholder for item in waiting}
        needs = {
            now: frozenset(
                functions[part.function]
                for part in step.free
                if part.kind is TermKind.APPLY and part.function in functions
            )
            for now, step in steps.items()
            if self.k not in step.free
        }
        for group in closed_groups(needs):
            if group[0].function in self.forms:
                continue
            members = [items[now] for now in group]
            step = partial(_next_state, members, [steps[now] for now in group])
            cycle = find_cycle(tuple(item.init for item in members), step)
            if cycle is not None:
                for position, now in enumerate(group):
                    self.forms[now.function] = partial(cycle.value, position)
        return any(function in self.forms for function in functions)

    def _is_exit_flag(self, item: Recurrence) -> bool:
        """A boolean that stays true once it is: how a `for` with a `break` is lowered."""
        if item.placeholder.sort is not Sort.BOOL or item.lanes:
            return False
        after = assuming(self._resolve(item.next, {}), literals(item.placeholder))
        return after is TRUE

    def _solve_before_exit(self, waiting: list[Recurrence], flag: Recurrence) -> list[Recurrence]:
        """Values that have a form as long as ``flag`` is false.

        Let F be the flag and v a value whose ``next`` is g(v, k) wherever ``next F`` is false.  Claim: if F(k) is
        false, then v(k) is the form of ``v(0) = init, v(k+1) = g(v(k), k)``.  Induction: F never returns to false, so
        F(k+1) false implies F(k) false, hence v(k) has the form, and as ``next F`` is false in iteration k,
        v(k+1) = g(v(k), k).  Once F is true nothing is claimed: the value is a fresh function.
        """
        raised = self.forms[flag.placeholder.function]
        now = literals(not_(flag.next)) | literals(not_(flag.placeholder))
        progress = True
        while progress:
            progress = False
            for item in list(waiting):
                step = self._resolve(assuming(item.next, now), {})
                step = assuming(step, literals(not_(raised(self.k))))
                form = self._form(item, step)
                if form is not None:
                    self.forms[item.placeholder.function] = _while_lowered(raised, form, self._fresh(item))
                    waiting.remove(item)
                    progress = True
        return waiting

    # ---------------------------------------------------------------------------------------------- forms
    def _form(self, item: Recurrence, step: Term) -> Form | None:
        if step is item.placeholder:
            return lambda time: item.init
        if not self._pending(step):
            return self._shifted(item.init, step)
        if item.placeholder.sort is Sort.BOOL:
            return None
        return self._affine(item, step, item.init, 0) or self._affine_after_first(item, step)

    def _shifted(self, init: Term, step: Term) -> Form:
        """``next`` does not look at carried values: v(k) is ``next`` of the iteration before, or ``init``.

        Where ``next`` at -1 is the very term ``init``, no choice is needed.
        """
        k = self.k  # alone: a form that knew this object would keep it, which keeps the forms
        plain = substitute(step, {k: _MINUS_ONE}) is init

        def form(time: Term) -> Term:
            later = substitute(step, {k: previous_to(time)})
            return later if plain else ite(eq(time, ZERO), init, later)

        return form

    def _affine(self, item: Recurrence, step: Term, init: Term, start: int) -> Form | None:
        """``next = wrap(v + d)`` with d the same in every iteration: v(k) = wrap(init + (k - start) * d).

        ``wrap_N(wrap_N(x) + d) = wrap_N(x + d)``, so one wrap of the sum is exact for any number of iterations; without
        a wrap in ``next`` every v(k) is the sum itself.  ``init`` is the value at time ``start``.
        """
        bits = step.payload if step.kind is TermKind.WRAP else None
        inner = step.args[0] if step.kind is TermKind.WRAP else step
        if {term: c for c, term in linear_parts(inner)[1]}.get(item.placeholder) != 1:
            return None
        distance = add(inner, mul(_MINUS_ONE, item.placeholder))
        if self._pending(distance) or self.k in distance.free:
            return None

        def form(time: Term) -> Term:
            total = add(init, mul(add(time, const(-start)), distance))
            if bits is None:
                return total
            value = wrap(bits, total)
            # A narrower wrap than the value's own type does not hold for the initial value.
            return value if fits_signed(init, bits) else ite(eq(time, const(start)), init, value)

        return form

    def _affine_after_first(self, item: Recurrence, step: Term) -> Form | None:
        """``next`` differs in the first iteration (nvcc's C loops count up only from the second on)."""
        first = eq(self.k, ZERO)
        in_first = substitute(assuming(step, {first: TRUE}), {item.placeholder: item.init, self.k: ZERO})
        if self._pending(in_first):
            return None
        later = self._affine(item, assuming(step, {first: FALSE}), in_first, 1)
        if later is None:
            return None
        return lambda time: at_start(time, item.init, later(time))


def _next_state(items: Sequence[Recurrence], steps: Sequence[Term], before: Sequence[Term]) -> State:
    """What ``steps`` (of ``items``) hand on where the values are ``before``."""
    now = {item.placeholder.function: (item, value) for item, value in zip(items, before, strict=True)}

    def leaf(part: Term) -> Term | None:
        if part.kind is TermKind.APPLY and part.function in now:
            item, value = now[part.function]
            return substitute(value, dict(zip(item.lanes, part.args, strict=True)))
        return None

    return tuple(transform(step, leaf) for step in steps)


def _while_lowered(raised: Form, form: Form, fresh: Form) -> Form:
    return lambda time: ite(raised(time), fresh(time), form(time))


def placeholder(name: str, sort: Sort, low: int | None, high: int | None, lanes: tuple[Term, ...]) -> Term:
    """What stands for a carried value while its loop is examined."""
    return apply(Function(name, Scope.ITERATION, low, high, sort), *lanes)
