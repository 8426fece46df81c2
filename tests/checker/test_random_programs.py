"""The checker and the executor agree on random programs: two readings by different people's rules."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from tests.frontend.symbolic.programs import ProgramMaker
from tests.frontend.symbolic.token_programs import TokenProgramMaker
from tests.profiles import tries

from tileverify.checker import read_again
from tileverify.checker.agreement import NotFollowed
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.encoder import encode
from tileverify.frontend.symbolic.execute import summarize
from tileverify.verifier.certificate.reread import excluded
from tileverify.verifier.certificate.second_solver import SecondSolver
from tileverify.verifier.certificate.stated_accesses import reading_document, reading_of

pytestmark = pytest.mark.random

PROGRAMS = tries(short=40, long=1000)


@pytest.mark.parametrize("maker", [ProgramMaker, TokenProgramMaker])
def test_random_programs_are_read_alike(maker: type[ProgramMaker]) -> None:
    told: Counter[str] = Counter()
    solver = SecondSolver()
    for seed in range(PROGRAMS):
        made, parameters, _ = maker(seed).make()
        module = decode(encode(made))
        entry = module.entries[0]
        claims = reading_of(reading_document(summarize(module, entry, parameters)), entry.name)
        try:
            read_again(module, entry, parameters, claims, (), partial(excluded, solver))
            told["read"] += 1
        except NotFollowed as error:
            told[error.message] += 1
    assert told["read"] >= 0.94 * PROGRAMS, told
