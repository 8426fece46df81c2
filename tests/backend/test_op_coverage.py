"""No op without a test: what the tests of this folder executed, against the op table."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode.optable import OPERATIONS

NOT_MODELLED = {"preview$call"}


@pytest.mark.usefixtures("whole_folder")
def test_every_op_is_executed_by_a_test(executed: set[str]) -> None:
    assert {op.name for op in OPERATIONS} - executed == NOT_MODELLED
