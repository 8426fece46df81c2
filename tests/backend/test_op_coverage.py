"""No op without a test: what the tests of this folder executed, against the op table."""

from __future__ import annotations

import pytest
from tests import op_coverage

from tileverify.frontend.bytecode.optable import OPERATIONS


def test_every_op_is_executed_by_a_test(request: pytest.FixtureRequest) -> None:
    if op_coverage.is_process_of_many(request.config):
        pytest.skip("what all processes executed is looked at when the run ends")
    if not op_coverage.is_whole(request.session):
        pytest.skip("only some of the interpreter's tests run")
    assert not op_coverage.untested(op_coverage.executed)


def test_what_is_missing_is_told() -> None:
    every = {op.name for op in OPERATIONS}
    assert op_coverage.untested(every - op_coverage.NOT_MODELLED) == []
    assert op_coverage.untested(every - op_coverage.NOT_MODELLED - {"addi", "addf"}) == ["addf", "addi"]
    assert op_coverage.untested(every) == ["preview$call"]
