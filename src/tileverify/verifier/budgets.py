"""What every question and every search may take: the solver's resource units, never seconds.

No verdict rests on them: a question that ends without an answer stays open.  Larger numbers decide more and take
longer.  `Limits` are of one question; all else is of many, and ends a search.

    the proof            Limits()            a question of the launch's own proof, times ``--effort``
    clauses              CLAUSE, CLOSING, FIRST, LAST, WORDING      contracts that leave fewer launches
    any launch           GENERALISED, WIDER_FIT                     contracts wider than the launch
    facts                CHOICE, NATURAL, EVERY, MORE, CHOICE_FIT, TRIAL
    a recording          FIRST_LOOK, HOPELESS
    the contract         WORK
    what is open         OPEN
    every element        COVERAGE
    a smaller witness    SMALLER
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .obligations.answers import Limits

# ------------------------------------------------------------------------------------------- the whole account
KERNEL_EFFORT: Final = 120_000_000
"""Units for one kernel, some 20 to 30 seconds of a processor.  The most expensive known proof takes 76,000,000."""

QUESTION: Final = 5_000
"""What a question costs before the solver looks at it: Python writes it down in about this time."""

STRUCTURAL: Final = 500
"""The same of an obligation that is simplified, where mostly no question is left."""

WIDER_SHARE: Final = 8
"""A contract wider than the launch takes at most this part of the account.  The launch's own proof, which was asked
for, gets the rest."""

SOON_SHARE: Final = 160
"""The same before the launch's own proof was tried.  Of 100 contracts for any grid 97 take less."""

LACKING_SHARE: Final = 8
"""The same of the search for clauses that a written contract lacks: they only help people."""

HASTE: Final = 2_000_000
"""Units for whether integers fit, in a proof without facts on data: with them it is asked again."""

# ---------------------------------------------------------------------------------------------------- clauses
CLAUSE_LIMITS: Final = Limits(linear=300_000, nonlinear=0, rounds=12, total=400_000)
"""For one choice of clauses in a narrow proof: one that needs more is not the natural one."""

WORDING_LIMITS: Final = Limits(linear=50_000, nonlinear=0, rounds=6, total=60_000)
"""For whether one clause follows from the others."""

SEARCH_TOTAL: Final = 5_000_000
"""Units in vain after which the search for clauses ends."""

# ------------------------------------------------------------------------------------------------- any launch
GENERALISED_LIMITS: Final = Limits(linear=600_000, nonlinear=300_000, rounds=60, total=800_000)
"""For a contract wider than the user's.  What it cannot prove soon, the user's own numbers may."""

FIRST_LIMITS: Final = replace(GENERALISED_LIMITS, nonlinear=0)
"""For a question that a clause may close.  Exact products come last, for what no clause closes."""

LAST_LIMITS: Final = replace(GENERALISED_LIMITS, rounds=0)
"""For what no clause closes.  A contract for any launch does without: of 85 questions in 840 launches it closed none,
and one took longer than all others of its launch."""

CLOSING_LIMITS: Final = Limits(linear=200_000, nonlinear=0, rounds=12, total=200_000)
"""For one choice of clauses.  Most that close a question need a tenth of this."""

WIDER_FIT_LIMITS: Final = Limits(linear=80_000, nonlinear=0, rounds=10, total=100_000)
"""For whether a machine integer fits, where a clause may say so instead."""

WIDEST_TOTAL: Final = 3_000_000
"""Units after which a contract for any launch is given up.  Those that work out take 2,600,000 at most, nearly all of
them a fifth of that."""

WIDEST_AHEAD: Final = 1_000_000
"""Of these, what may be spent ahead of the share of obligations that are proved by then.  Of 4,492 proofs that work out
none spent more, of 1,444 that do not 80."""

PREPARING_TOTAL: Final = 750_000
"""Of these, until it is known which machine integers fit (`search.patience`).  Of 210 proofs that work out two take
more than 250,000, and those 620,000."""

SEARCH_IN_VAIN: Final = 700_000
"""Units for groups of clauses that do not close a question, after which no more are tried.  Of 3,600 questions that
clauses closed one took 610,000 until then, one 540,000, all others 403,000 at most."""

FIT_SHARES: Final = 6
"""A question on machine integers takes at most this part of what is left."""

FIT_LEAST: Final = 10_000
"""Units below which such a question is not worth asking: then the account is spent."""

FIT_LEAST_AT_FIRST: Final = 20_000
"""Units for an integer that was not asked about in vain yet, however many others were."""

MOST_UNFIT: Final = 6
"""Integers that stay open before no more questions are asked.  Of 4,492 proofs that worked out none had more than five,
of 257 that ran out of their account 228 had."""

# ------------------------------------------------------------------------------------------------------- facts
CHOICE_LIMITS: Final = Limits(linear=400_000, nonlinear=0, rounds=60, total=800_000)
"""For one obligation under some facts."""

NATURAL_LIMITS: Final = replace(Limits(), bits=0)
"""For one obligation under few natural facts, as in the proof that follows.  Where they suffice, no other set of facts
is tried."""

EVERY_LIMITS: Final = Limits(linear=200_000, nonlinear=0, rounds=30, total=400_000, bits=0)
"""For one obligation under all facts that are offered."""

MORE_LIMITS: Final = Limits(linear=600_000, nonlinear=0, rounds=60, total=2_000_000, bits=0)
"""For one obligation that the solver gave up on, where no other facts suffice.  What stays open then, stays open."""

CHOICE_FIT_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For whether a machine integer fits, under fewer facts than all that were offered."""

CHOICE_LEAST: Final = 100_000
"""Units that a check under fewer facts gets at least."""

TRIAL_LEAST: Final = 40_000
"""The same of facts that people are told to add."""

FEWER_FACTS: Final = 3
"""A check under fewer facts gets so many times the units that all facts took."""

MOST_EACH: Final = 1_000_000
"""Units of one such check.  One that takes more counts as a no, which keeps a fact that might have been left out."""

TRIAL_LIMITS: Final = Limits(linear=400_000, nonlinear=0, rounds=60, total=800_000)
"""For one set of facts that people would be told to add: one that needs more is not what is missing."""

TRIAL_TOTAL: Final = 4_000_000
"""Units after which no further facts are looked for: what people are told to add is found in a tenth of it."""

FIRST_LOOK: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For a proof without the facts that a recording offers."""

HOPELESS: Final = Limits(linear=20_000, nonlinear=0, rounds=6, total=20_000, bits=0, merges=False)
"""For a question about data in such a proof, once another one stays open: facts have to be found anyway."""

# ----------------------------------------------------------------------------------------- beside the proof
WORK_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=20, total=150_000, bits=0)
"""For whether a block of any launch gets to an access.  Without an answer it is taken to get there."""

OPEN_LIMITS: Final = Limits(linear=100_000, nonlinear=0, rounds=12, total=150_000, bits=0)
"""For whether something that the specification leaves open decides something (TV403).  No verdict hangs on it."""

COVERAGE_LIMITS: Final = Limits(linear=100_000, nonlinear=200_000, rounds=20, total=200_000, bits=0)
"""For whether an element is written: what a right candidate needs is found soon."""

SMALLER_LIMITS: Final = Limits(linear=100_000, nonlinear=200_000, rounds=20, total=300_000)
"""For a smaller witness: one that is hard to find is not worth the wait."""

SMALLER_TOTAL: Final = 1_500_000
"""Units of all questions for a smaller witness together."""

CERTIFICATE_UNITS: Final = 4_000_000
"""For one look at what a certificate is going to say."""
