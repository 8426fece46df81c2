"""Remembers which ops the tests of this folder made the interpreter execute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tileverify.backend.interpreter import control
from tileverify.backend.interpreter.table import RULES

COUNTS = "test_every_op_is_executed_by_a_test"
"""The test that asks, after all others of the folder."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.name == COUNTS)


@pytest.fixture(scope="package", autouse=True)
def executed() -> Iterator[set[str]]:
    """Names of the ops executed so far."""
    names: set[str] = set()

    def noted(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            names.add(name)
            return rule(*arguments)

        return run

    run_list = control.execute

    def execute(*arguments: Any) -> control.Exit:
        left = run_list(*arguments)
        names.add(left.kind)
        return left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "execute", execute)
        for table in (RULES, control.REGION_OPS):
            for name, rule in list(table.items()):
                patch.setitem(table, name, noted(name, rule))
        yield names


@pytest.fixture
def whole_folder(request: pytest.FixtureRequest) -> None:
    """Skips where only some of the folder's tests run: what these execute says nothing about the rest."""
    config = request.config
    here = Path(__file__).parent
    files = {item.path for item in request.session.items if item.path.parent == here}
    chosen = config.option.keyword or config.option.markexpr or config.option.deselect
    if chosen or files != set(here.glob("test_*.py")) or any("::" in argument for argument in config.args):
        pytest.skip("only some of the interpreter's tests run")
