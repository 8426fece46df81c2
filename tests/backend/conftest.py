"""Remembers which ops the tests of this folder made the interpreter execute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests import op_coverage

from tileverify.backend.interpreter import control
from tileverify.backend.interpreter.control import RULES

COUNTS = "test_every_op_is_executed_by_a_test"
"""The test that asks, after all others of the folder."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.name == COUNTS)


@pytest.fixture(scope="package", autouse=True)
def executed() -> Iterator[set[str]]:
    """Names of the ops executed so far."""
    names = op_coverage.executed

    def noted(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            names.add(name)
            return rule(*arguments)

        return run

    run_list = control.execute

    def execute(*arguments: Any) -> control.Steps:
        left = yield from run_list(*arguments)
        names.add(left.kind)
        return left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "execute", execute)
        for table in (RULES, control.REGION_OPS, control.COMBINING_OPS):
            for name, rule in list(table.items()):
                patch.setitem(table, name, noted(name, rule))
        yield names
