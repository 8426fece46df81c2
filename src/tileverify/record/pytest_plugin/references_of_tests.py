"""What the tests and the settings of a pytest run state, with mistakes as pytest tells them."""

from __future__ import annotations

import pytest

from ...system.errors import UsageError
from .stated_references import StatedReference, of_marker, of_settings


def of_configuration(config: pytest.Config) -> list[StatedReference]:
    """The ini option ``tileverify_references``, whose files are relative to the folder of that file."""
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    try:
        return of_settings(config.getini("tileverify_references"), folder)
    except UsageError as error:
        raise pytest.UsageError(error.message) from None


def of_item(item: pytest.Item) -> list[StatedReference]:
    """``reference=`` of the markers of a test, the nearest first, whose files are relative to the test's own."""
    found: list[StatedReference] = []
    for mark in item.iter_markers("tileverify"):
        if "reference" in mark.kwargs:
            try:
                found += of_marker(mark.kwargs["reference"], item.path.parent)
            except UsageError as error:
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.tileverify: {error.message}") from None
    return found
