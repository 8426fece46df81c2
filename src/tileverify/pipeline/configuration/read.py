"""Find, read and check the configuration.

``--config FILE`` names a file, ``--config KEY=VALUE`` sets one key, ``--isolated`` reads none; otherwise it is the
nearest ``pyproject.toml`` at or above the working folder with a table ``[tool.tileverify]``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...contract.descriptions import suggestion
from ...errors import ConfigError
from ...reports.formats import FORMATS
from ...reports.suppress.model import Rule, TableRule, wrong_codes
from ...results import SuppressionKind
from .model import Configuration, FileSettings
from .patterns import file_pattern, name_pattern

Reader: TypeAlias = Callable[[Any], Any]
"""From a TOML value to a setting.  Raises ValueError with what should be there."""

_TOOL: Final = "tool.tileverify"


def configuration(given: Sequence[str] = (), *, isolated: bool = False) -> Configuration:
    """The settings of a run; ``given`` are the values of ``--config``, of which later ones win.

    Raises `ConfigError` for a file that cannot be read, an unknown key or a value of the wrong kind.
    """
    single = {value: pair for value in given if (pair := _key_and_value(value)) is not None}
    files = [value for value in given if value not in single]
    if len(files) > 1:
        raise ConfigError("--config: one configuration file at most", files[1])
    if files and isolated:
        raise ConfigError("--config FILE and --isolated exclude each other")
    file = Path(files[0]) if files else None if isolated else _nearest()
    table, text = ({}, "") if file is None else _load(file)
    settings = _Reading(str(file) if file else "--config", file.parent if file else Path(), text).read(table)
    for value, document in single.items():
        settings |= _Reading(f"--config {value}", Path(), "").read(document)
    return Configuration(file=file, **settings)


def _key_and_value(value: str) -> Mapping[str, Any] | None:
    """``timeout=5`` as TOML reads it; ``None`` for what is a file's name."""
    key, equals, rest = value.partition("=")
    if not equals or not re.fullmatch(r"[\w-]+", key.strip()):
        return None
    try:
        return tomllib.loads(value)
    except tomllib.TOMLDecodeError:
        return {key.strip(): rest.strip()}  # a string without quotation marks


def _nearest() -> Path | None:
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / "pyproject.toml"
        if file.is_file() and "tileverify" in _section(_document(file)[0]):
            return Path(os.path.relpath(file))
    return None


def _load(file: Path) -> tuple[Mapping[str, Any], str]:
    """The table ``[tool.tileverify]``, or all of a file that has no table ``tool``."""
    document, text = _document(file)
    if "tool" not in document and file.name != "pyproject.toml":
        return document, text
    table = _section(document).get("tileverify", {})
    if not isinstance(table, dict):
        raise ConfigError(f"[{_TOOL}] must be a table", str(file))
    return table, text


def _section(document: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = document.get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _document(file: Path) -> tuple[Mapping[str, Any], str]:
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text), text
    except FileNotFoundError:
        raise ConfigError("there is no such configuration file", str(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read ({error})", str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", str(file)) from None


# ------------------------------------------------------------------------------------------------ values
def _a_string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError('a string such as "name"')
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError('a list of strings such as ["a", "b"]')
    return tuple(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError("a number of seconds greater than 0")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def _format(value: Any) -> str:
    if value not in FORMATS:
        raise ValueError(f"one of {', '.join(FORMATS)}")
    return str(value)


def _day(value: Any) -> date:
    if isinstance(value, str):
        value = date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else None
    if type(value) is not date:
        raise ValueError("a day such as 2027-12-31")
    return value


def _codes(value: Any) -> tuple[str, ...]:
    codes = _strings(value)
    if wrong := wrong_codes(codes):
        raise ValueError(f"a list of codes such as ['TV101'], but it {wrong}")
    return codes


# ------------------------------------------------------------------------------------------------ tables
class _Reading:
    """One source of settings: ``name`` for messages, ``folder`` that its paths are relative to, its ``text``."""

    def __init__(self, name: str, folder: Path, text: str) -> None:
        self._name = name
        self._folder = folder
        self._text = text
        self._readers: Mapping[str, Reader] = {
            "paths": lambda value: tuple(os.path.normpath(folder / path) for path in _strings(value)),
            "exclude": self._patterns,
            "format": _format,
            "output": _strings,
            "strict": _truth,
            "deny-requires": _truth,
            "deny-undetermined": _truth,
            "timeout": _seconds,
            "jobs": _count,
            "cache": _truth,
            "baseline": lambda value: folder / _a_string(value),
            "per-file": partial(self._tables, self._file_settings, "per-file"),
            "ignore": partial(self._tables, self._ignore, "ignore"),
            "launch": lambda value: value,  # launch specs, which are read beside the sources
        }

    def read(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Settings by the names of `Configuration`'s fields."""
        read = self._values(table, self._readers, "")
        read.pop("launch", None)
        names = {"ignore": "ignores"}
        return {names.get(key, key.replace("-", "_")): value for key, value in read.items()}

    def _values(self, table: Mapping[str, Any], readers: Mapping[str, Reader], where: str) -> dict[str, Any]:
        read = {}
        for key, value in table.items():
            if key not in readers:
                raise self._error(f"{where}unknown key '{key}'{suggestion(key, readers)}")
            try:
                read[key] = readers[key](value)
            except ValueError as error:
                raise self._error(f"{where}'{key}' must be {error}") from None
        return read

    def _tables(self, reader: Callable[[Mapping[str, Any], str, int | None], Any], key: str, value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise ValueError(f"tables, written [[{_TOOL}.{key}]]")
        header = re.compile(rf"\s*\[\[\s*(?:tool\s*\.\s*tileverify\s*\.\s*)?{re.escape(key)}\s*\]\]")
        lines = [number for number, line in enumerate(self._text.split("\n"), start=1) if header.match(line)]
        return tuple(
            reader(each, f"{key} {number + 1}, ", lines[number] if number < len(lines) else None)
            for number, each in enumerate(value)
        )

    def _file_settings(self, table: Mapping[str, Any], where: str, line: int | None) -> FileSettings:
        readers: Mapping[str, Reader] = {
            "files": self._patterns,
            "timeout": _seconds,
            "deny-requires": _truth,
            "strict": _truth,
        }
        read = self._values(table, readers, where)
        if not read.get("files"):
            raise self._error(f"{where}'files' is missing: the patterns of the files that it is about")
        return FileSettings(read["files"], read.get("timeout"), read.get("deny-requires"), read.get("strict"))

    def _ignore(self, table: Mapping[str, Any], where: str, line: int | None) -> TableRule:
        readers: Mapping[str, Reader] = {
            "file": _a_string,
            "kernel": _a_string,
            "launch": _a_string,
            "codes": _codes,
            "reason": _a_string,
            "until": _day,
        }
        read = self._values(table, readers, where)
        for key in ("file", "codes", "reason"):
            if not read.get(key):
                raise self._error(f"{where}'{key}' is missing: a suppression names a file, codes and a reason")
        rule = Rule(SuppressionKind.TABLE, read["codes"], read["reason"], read.get("until"), self._name, line)
        names = (name_pattern(read.get(key, "*")) for key in ("kernel", "launch"))
        return TableRule(rule, file_pattern(read["file"], self._folder), *names)

    def _patterns(self, value: Any) -> tuple[re.Pattern[str], ...]:
        return tuple(file_pattern(pattern, self._folder) for pattern in _strings(value))

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(problem, self._name)
