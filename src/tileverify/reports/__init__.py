"""Reports, and the formats of ``check --format``, by name, each a module that is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..results import Report

TEXT: Final = "text"

_RENDERERS: Final = {
    "json": ("..results.json_report", "json_report"),
    "github": (".ci_formats", "github_report"),
    "sarif": (".sarif", "sarif_report"),
    "junit": (".ci_formats", "junit_report"),
    "html": (".html.report", "html_report"),
    "concise": (".ci_formats", "concise_report"),
}
"""Format -> module of this package and its function from a `Report` to the whole text.  Text itself takes options."""

FORMATS: Final = (TEXT, *_RENDERERS)

PAGE: Final = "html"
"""The format that shows details (`CheckOptions.details`) and may go into a folder."""


def renderer(name: str) -> Callable[[Report], str]:
    """The function that writes a report in a format other than text."""
    module, function = _RENDERERS[name]
    found: Callable[[Report], str] = getattr(import_module(module, __package__), function)
    return found
