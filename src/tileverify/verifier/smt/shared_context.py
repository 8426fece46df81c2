"""The solver context that questions about one kernel share, with its translated terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import z3
from z3 import z3core

from ...contract.terms import Term
from ..effort import Effort
from .encode import Encoder


class Session:
    """One context, created by the first question, with a translation for each reading of products.

    A context belongs to one kernel: earlier questions influence the solver, so another kernel's could change a verdict.
    It costs as much as a dozen easy questions.  ``seed``: tests vary it to show that no verdict depends on luck.
    ``models``: for small models, not quick answers.  ``effort``: the budget that all contexts of one kernel share.
    """

    def __init__(self, seed: int = 0, *, models: bool = False, effort: Effort | None = None) -> None:
        self.seed = seed
        self.models = models
        self.effort = effort or Effort()
        self._spent_here = 0
        self._spent_elsewhere = 0
        self.expanded: dict[Term, Term] = {}  # the memo of `obligations.arithmetic.expand`

    def fresh(self, *, models: bool = False) -> Session:
        """A fresh context for the same kernel, without influence of earlier questions."""
        other = Session(self.seed, models=models, effort=self.effort)
        other.expanded = self.expanded  # depends on terms alone
        return other

    @contextmanager
    def another(self) -> Iterator[Session]:
        """`anew`, for a question of this session: its spending counts here, too."""
        other = self.fresh(models=self.models)
        try:
            yield other
        finally:
            self._spent_elsewhere += other.spent

    @cached_property
    def context(self) -> z3.Context:
        return z3.Context()

    @cached_property
    def congruent(self) -> Encoder:
        """Products and quotients are congruent functions."""
        return Encoder(self.context)

    @cached_property
    def exact(self) -> Encoder:
        """Products and quotients are the solver's own."""
        return Encoder(self.context, exact_products=True)

    def solver(self, *, linear: bool) -> z3.Solver:
        """A solver, of linear integers only or with its own non-linear arithmetic."""
        solver = z3.SimpleSolver(ctx=self.context)
        solver.set("random_seed", self.seed)
        if linear:
            solver.set("arith.nl", False)
            if not self.models:
                # The older of Z3's two simplex solvers: four times as fast on linear integers, and fewer unknowns.
                # The newer one finds smaller models, which replay faster.
                solver.set("arith.solver", 2)
        return solver

    @property
    def spent(self) -> int:
        """Resource units that all solvers of this session have used."""
        return self._spent_here + self._spent_elsewhere

    def charge(self, units: int) -> None:
        """Add resource units that another context used for this session."""
        self._spent_elsewhere += units
        self.effort.charge(units)

    def check(self, solver: z3.Solver) -> z3.CheckSatResult:
        """``solver.check``, counted in ``spent``."""
        outcome = solver.check()
        before = self._spent_here
        self._spent_here = _resource_count(solver) or before
        self.effort.charge(self._spent_here - before)
        return outcome


def _resource_count(solver: z3.Solver) -> int | None:
    """The resource count after the last check.

    Through the C interface: the Python wrapper would copy all statistics first.
    """
    context = solver.ctx.ref()
    statistics = z3core.Z3_solver_get_statistics(context, solver.solver)
    z3core.Z3_stats_inc_ref(context, statistics)
    try:
        for place in reversed(range(z3core.Z3_stats_size(context, statistics))):  # the counter stands near the end
            if z3core.Z3_stats_get_key(context, statistics, place) == "rlimit count":
                return int(z3core.Z3_stats_get_uint_value(context, statistics, place))
        return None
    finally:
        z3core.Z3_stats_dec_ref(context, statistics)


# ---------------------------------------------------------------------------------------------------------- put scripts
# SMT-LIB scripts for Z3: whether a certificate's facts and lemmas suffice, and which of them are needed.


def core_of_last(script: str, count: int, *, linear: bool, limit: int) -> tuple[int, ...] | None:
    """The positions, from 0, of the last ``count`` assertions that a contradiction needs; ``None`` without one.

    ``limit``: in Z3's resource units.  ``linear``: without the solver's own reasoning about products.
    """
    context = z3.Context()
    assertions = list(z3.parse_smt2_string(script, ctx=context))
    solver = z3.SimpleSolver(ctx=context)
    solver.set("random_seed", 0)
    solver.set("unsat_core", True)
    solver.set("rlimit", limit)
    if linear:
        solver.set("arith.nl", False)
    given = len(assertions) - count
    solver.add(*assertions[:given])
    for position, assertion in enumerate(assertions[given:]):
        solver.assert_and_track(assertion, z3.Bool(f"last{position}", context))
    if solver.check() != z3.unsat:
        return None
    needed = {str(label) for label in solver.unsat_core()}
    return tuple(position for position in range(count) if f"last{position}" in needed)
