"""SMT-LIB scripts put to the solver: whether what a certificate will say is enough, and how little of it is."""

from __future__ import annotations

import z3


def core_of_last(script: str, count: int, *, linear: bool, limit: int) -> tuple[int, ...] | None:
    """Which of the last ``count`` assertions a contradiction needs, counted from 0; ``None`` if none was found.

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
