"""The budgets of questions and searches, in the solver's resource units, never seconds.

No wrong verdict can come from a budget: a question without an answer stays open.  Larger numbers decide more and take
longer.  `Limits` bound one question; every other constant bounds many questions and ends a search.

    the proof            Limits()            a question of the launch's own proof, times ``--effort``
    clauses              CLAUSE, WORDING                                       contracts with fewer launches
    any launch           GENERALISED, FIRST, LAST, CLOSING, WIDER_FIT          contracts wider than the launch
    facts                CHOICE, NATURAL, EVERY, MORE, CHOICE_FIT, TRIAL
    a recording          FIRST_LOOK, QUICK_REST
    the contract         WORK
    what is open         OPEN
    every element        COVERAGE
    a smaller witness    SMALLER
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .obligations.answers import Limits

# ----------------------------------------------------------------------------------------------------- the whole budget
KERNEL_EFFORT: Final = 120_000_000
"""Units for one kernel: 20 to 30 seconds of a processor.  The most expensive known proof takes 76,000,000."""

QUESTION: Final = 5_000
"""The fixed price of a question: Python needs about this time to write it down for the solver."""

STRUCTURAL: Final = 500
"""The fixed price of simplifying an obligation; mostly no question for the solver remains."""

WIDER_SHARE: Final = 8
"""A contract wider than the launch gets at most one of so many parts of the budget.  The user asked for the launch's
own proof, which gets the rest."""

SOON_SHARE: Final = 160
"""The same before the launch's own proof.  Of 100 contracts for any grid, 97 take less."""

LACKING_SHARE: Final = 8
"""The same for the search for clauses that a written contract lacks: these clauses are only advice."""

WEAKER_SHARE: Final = 16
"""The same for the search for clauses that a proof does not need."""

QUICK_PASS: Final = 2_000_000
"""Units for whether integers fit, in a quick pass without data facts.  The proof with facts asks again."""

REMAINDER_LIMITS: Final = Limits(linear=20_000, nonlinear=0, rounds=8, total=30_000, bits=0)
"""For a question with variables in the place of remainders: where these suffice, they soon do."""

# ---------------------------------------------------------------------------------------------------- clauses
CLAUSE_LIMITS: Final = Limits(linear=300_000, nonlinear=0, rounds=12, total=400_000)
"""For one choice of clauses in a narrow proof: a choice that needs more is not the natural one."""

WORDING_LIMITS: Final = Limits(linear=50_000, nonlinear=0, rounds=6, total=60_000)
"""For whether one clause follows from the others."""

SEARCH_TOTAL: Final = 5_000_000
"""The search for clauses ends after so many units without a success."""

# ------------------------------------------------------------------------------------------------- any launch
GENERALISED_LIMITS: Final = Limits(linear=600_000, nonlinear=300_000, rounds=60, total=800_000)
"""For a contract wider than the user's.  If its proof is not quick, the proof for the user's own numbers may be."""

FIRST_LIMITS: Final = replace(GENERALISED_LIMITS, nonlinear=0)
"""For a question that a clause may close.  Exact products come later, for questions that no clause closes."""

LAST_LIMITS: Final = replace(GENERALISED_LIMITS, rounds=0)
"""For questions that no clause closes.  Contracts for any launch skip this step: of 85 questions in 840 launches it
closed none, and one took longer than all others of its launch."""

CLOSING_LIMITS: Final = Limits(linear=200_000, nonlinear=0, rounds=12, total=200_000)
"""For one choice of clauses.  Most choices that close a question need a tenth of this."""

WIDER_FIT_LIMITS: Final = Limits(linear=80_000, nonlinear=0, rounds=10, total=100_000)
"""For whether a machine integer fits, if a clause can make it fit instead."""

WIDEST_TOTAL: Final = 3_000_000
"""A contract for any launch is abandoned after so many units.  Successful ones take at most 2,600,000, and nearly all
of them a fifth of that."""

WIDEST_AHEAD: Final = 1_000_000
"""Of these units, the proof may be so far ahead of its share of proved obligations.  Of 4,492 successful proofs none
spent more; of 1,444 failures 80 did."""

PREPARING_TOTAL: Final = 750_000
"""Of these units, the part for finding the machine integers that fit (`prover`).  Of 210 successful proofs
two take more than 250,000: 620,000 each."""

SEARCH_IN_VAIN: Final = 700_000
"""The search tries no more groups of clauses after so many units without closing the question.  Of 3,600 questions that
clauses closed, one took 610,000 until then, one 540,000, and all others at most 403,000."""

NEAR_LIMITS: Final = Limits(linear=20_000, nonlinear=0, rounds=6, total=30_000, bits=0)
"""For whether an obligation fails in a launch of numbers."""

FIT_SHARES: Final = 6
"""A question on machine integers gets at most one of so many parts of the units that are left."""

FIT_LEAST: Final = 10_000
"""With fewer units left, such a question is not asked: the budget counts as spent."""

FIT_LEAST_AT_FIRST: Final = 20_000
"""The least units for the first question on an integer, however many others stayed open."""

MOST_UNFIT: Final = 6
"""No more questions once so many integers stay open.  Of 4,492 successful proofs none had more than five; of 257 that
ran out of budget 228 had."""

# ------------------------------------------------------------------------------------------------------- facts
CHOICE_LIMITS: Final = Limits(linear=400_000, nonlinear=0, rounds=60, total=800_000)
"""For one obligation under some facts."""

NATURAL_LIMITS: Final = replace(Limits(), bits=0)
"""For one obligation under few natural facts, as in the proof that follows.  If they suffice, no other set of facts is
tried."""

EVERY_LIMITS: Final = Limits(linear=200_000, nonlinear=0, rounds=30, total=400_000, bits=0)
"""For one obligation under all offered facts."""

MORE_LIMITS: Final = Limits(linear=600_000, nonlinear=0, rounds=60, total=2_000_000, bits=0)
"""For an obligation on which the solver gave up, if no other facts suffice.  This is the last try."""

CHOICE_FIT_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For whether a machine integer fits, under a part of the offered facts."""

CHOICE_LEAST: Final = 100_000
"""The least units for a check under fewer facts."""

TRIAL_LEAST: Final = 40_000
"""The same for facts that the report suggests."""

FEWER_FACTS: Final = 3
"""A check under fewer facts gets so many times the units of the check under all facts."""

MOST_EACH: Final = 1_000_000
"""The most units for one such check.  A check that needs more counts as a no: a removable fact may then stay."""

TRIAL_LIMITS: Final = Limits(linear=400_000, nonlinear=0, rounds=60, total=800_000)
"""For one set of suggested facts: a set that needs more is not the missing one."""

TRIAL_TOTAL: Final = 4_000_000
"""The search for suggested facts ends after so many units: successful searches take a tenth."""

FIRST_LOOK: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For a proof without the facts that a recording offers."""

QUICK_REST: Final = Limits(linear=20_000, nonlinear=0, rounds=6, total=20_000, bits=0, merges=False)
"""For a data question in such a proof after an earlier one stayed open: the search for facts must run anyway."""

# ----------------------------------------------------------------------------------------- beside the proof
WORK_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For whether a block of any launch reaches an access.  Without an answer, assume that one does."""

OPEN_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=12, total=150_000, bits=0)
"""For whether a value that the specification leaves open has an effect (TV403).  No verdict depends on it."""

COVERAGE_LIMITS: Final = Limits(linear=100_000, nonlinear=200_000, rounds=20, total=200_000, bits=0)
"""For whether an element is written: a right candidate is confirmed soon."""

SMALLER_LIMITS: Final = Limits(linear=100_000, nonlinear=200_000, rounds=20, total=300_000)
"""For a smaller witness: a hard search is not worth the wait."""

SMALLER_TOTAL: Final = 1_500_000
"""Units of all questions for smaller witnesses together."""

CERTIFICATE_UNITS: Final = 4_000_000
"""For one search for the facts and lemmas that a certificate needs."""
