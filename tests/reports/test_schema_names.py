"""Names that other programs read are never changed, whatever moves inside the package."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tileverify"
SCHEMAS = {
    "baseline",
    "bundle",
    "certificate",
    "crash",
    "doctor",
    "history",
    "recheck",
    "recording",
    "report",
    "stability",
}
ENVIRONMENT = {"CACHE_DIR", "CRASH_DIR", "STRICT", "TRACEBACK", "WORKER"}


def found(pattern: str) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
    return set(re.findall(pattern, text))


def test_schemas_keep_their_names() -> None:
    """A new one is added here by hand; no name is spelled in full, so that nothing renames it along with a module."""
    assert found(r"\btileverify/([a-z_/-]+)/1\b") == SCHEMAS


def test_environment_variables_keep_their_names() -> None:
    assert {name for name in found(r"\bTILEVERIFY_([A-Z_]+)\b") if not name.startswith("RECORD_")} == ENVIRONMENT
