"""Settings in ``[tool.tileverify]`` of ``pyproject.toml``; what the command line says wins over them."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from ..contract.arguments import suggestion
from ..contract.trustable import limits_are_denied
from ..reports import FORMATS
from ..reports.suppression_rules import Rule, TableRule, is_placeholder, wrong_codes
from ..results import SuppressionKind
from ..system.errors import ConfigError, SpecError
from ..system.readings import text_of

# ----------------------------------------------------------------------------------------------------------- configured
# What a configuration can say.


MOST_EFFORT: Final = 1_000_000
"""What ``effort`` may be at most: months."""


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Settings for the files that one of ``files`` matches; ``None``: as everywhere.  ``timeout``: seconds;
    ``effort``: times the usual resources for a proof."""

    files: tuple[re.Pattern[str], ...]
    timeout: float | None = None
    effort: float | None = None
    deny_requires: bool | None = None
    strict: bool | None = None

    def matches(self, file: Path) -> bool:
        return any(pattern.fullmatch(file.as_posix()) for pattern in self.files)


@dataclass(frozen=True, slots=True)
class Configuration:
    """``None``: not set.  ``paths`` and ``baseline`` are relative to the working folder, or absolute.

    ``per_file``: later entries win over earlier ones.  ``ignores`` are the suppressions for sources without comments.
    """

    file: Path | None = None
    paths: tuple[str, ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    format: str | None = None
    output: tuple[str, ...] = ()
    strict: bool | None = None
    deny_requires: bool | None = None
    deny_limits: bool | None = None
    deny_undetermined: bool | None = None
    timeout: float | None = None
    effort: float | None = None
    jobs: int | None = None
    cache: bool | None = None
    baseline: Path | None = None
    per_file: tuple[FileSettings, ...] = ()
    ignores: tuple[TableRule, ...] = ()

    def excludes(self, file: Path) -> bool:
        """Whether a file that is found in a folder shall be left out."""
        name = file.resolve().as_posix()
        return any(pattern.fullmatch(name) for pattern in self.exclude)

    def strict_for(self, file: str) -> bool | None:
        """What the table of a file says of undecided kernels, ``None`` if none does."""
        resolved = Path(file).resolve()
        said = [each.strict for each in self.per_file if each.strict is not None and each.matches(resolved)]
        return said[-1] if said else None


# ------------------------------------------------------------------------------------------------------------- patterns
# File patterns of the configuration: ``kernels``, ``*.py``, ``vendor/**/*.tileirbc``.


def file_pattern(pattern: str, folder: Path) -> re.Pattern[str]:
    """For whole, resolved paths with forward slashes.

    A pattern with a slash starts at ``folder``, one without may match at any depth below it; what matches a folder
    matches everything in it.  ``*`` and ``?`` stay inside one name, ``**`` crosses folders.
    """
    parts = [part for part in pattern.replace("\\", "/").split("/") if part not in ("", ".")]
    anchored = "/" in pattern.rstrip("/")
    text = "".join(map(_part, parts))
    root = re.escape(folder.resolve().as_posix().rstrip("/"))
    return re.compile(f"{root}{'' if anchored else '(?:/[^/]+)*'}{text}(?:/.*)?", re.DOTALL)


def name_pattern(pattern: str) -> re.Pattern[str]:
    """For names of kernels and launches; ``*`` and ``?`` match anything."""
    return re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern), re.DOTALL)


def _part(part: str) -> str:
    if part == "**":
        return "(?:/[^/]+)*"
    return "/" + "".join({"*": "[^/]*", "?": "[^/]"}.get(each, re.escape(each)) for each in part)


# ----------------------------------------------------------------------------------------------------------------- read
# Find, read and check the configuration.
#
# ``--config FILE`` names a file, ``--config KEY=VALUE`` sets one key, ``--isolated`` reads none; otherwise it is the
# nearest ``pyproject.toml`` at or above the working folder with a table ``[tool.tileverify]``.


Toml: TypeAlias = "str | int | float | date | datetime | time | list[Toml] | dict[str, Toml]"
"""A value of a TOML document; ``bool`` is an ``int``."""
TomlTable: TypeAlias = Mapping[str, Toml]

Settings = TypeVar("Settings")
Setter: TypeAlias = Callable[[Settings, Toml], Settings]
"""The settings with one more, from a TOML value.  Raises ValueError with what should be there."""

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
    reading = _Reading(str(file) if file else "--config", file.parent if file else Path(), text)
    settings = reading.read(table, Configuration(file=file))
    for value, document in single.items():
        settings = _Reading(f"--config {value}", Path(), "").read(document, settings)
    return settings


def _key_and_value(value: str) -> TomlTable | None:
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
        if file.exists() and not file.is_dir() and "tileverify" in _section(_document(file)[0]):
            return Path(os.path.relpath(file))
    return None


def _load(file: Path) -> tuple[TomlTable, str]:
    """The table ``[tool.tileverify]``, or all of a file that has no table ``tool``."""
    document, text = _document(file)
    if "tool" not in document and file.name != "pyproject.toml":
        return document, text
    table = _section(document).get("tileverify", {})
    if not isinstance(table, dict):
        raise ConfigError(f"[{_TOOL}] must be a table", str(file))
    return table, text


def _section(document: TomlTable) -> TomlTable:
    tool = document.get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _document(file: Path) -> tuple[TomlTable, str]:
    try:
        text = text_of(file).removeprefix("\ufeff")
        return tomllib.loads(text), text
    except FileNotFoundError:
        raise ConfigError("there is no such configuration file", str(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read ({error})", str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", str(file)) from None


# ------------------------------------------------------------------------------------------------ values
def _a_string(value: Toml) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError('a string such as "name"')
    return value


def _strings(value: Toml) -> tuple[str, ...]:
    strings = [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else None
    if strings is None or strings != value:
        raise ValueError('a list of strings such as ["a", "b"]')
    return tuple(strings)


def _truth(value: Toml) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _denied(value: Toml) -> bool:
    try:
        return limits_are_denied(value)
    except SpecError as error:
        raise ValueError(error.message) from None


def _seconds(value: Toml) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError("a number of seconds greater than 0")
    return float(value)


def _times(value: Toml) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_EFFORT:
        raise ValueError(f"a number greater than 0, {MOST_EFFORT:,} at most")
    return float(value)


def _count(value: Toml) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def _format(value: Toml) -> str:
    if value not in FORMATS:
        raise ValueError(f"one of {', '.join(FORMATS)}")
    return str(value)


def _day(value: Toml) -> date:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return date.fromisoformat(value)
    if type(value) is not date:
        raise ValueError("a day such as 2027-12-31")
    return value


def _codes(value: Toml) -> tuple[str, ...]:
    codes = _strings(value)
    if wrong := wrong_codes(codes):
        raise ValueError(f"a list of codes such as ['TV101'], but it {wrong}")
    return codes


# ------------------------------------------------------------------------------------------------ tables
@dataclass(frozen=True, slots=True)
class _Ignored:
    """A table of ``ignore`` as it is read; what is empty is missing."""

    file: str = ""
    kernel: str = "*"
    launch: str = "*"
    codes: tuple[str, ...] = ()
    reason: str = ""
    until: date | None = None


_OF_SUPPRESSIONS: Final[Mapping[str, Setter[_Ignored]]] = {
    "file": lambda ignored, value: replace(ignored, file=_a_string(value)),
    "kernel": lambda ignored, value: replace(ignored, kernel=_a_string(value)),
    "launch": lambda ignored, value: replace(ignored, launch=_a_string(value)),
    "codes": lambda ignored, value: replace(ignored, codes=_codes(value)),
    "reason": lambda ignored, value: replace(ignored, reason=_a_string(value)),
    "until": lambda ignored, value: replace(ignored, until=_day(value)),
}


class _Reading:
    """One source of settings: ``name`` for messages, ``folder`` that its paths are relative to, its ``text``."""

    def __init__(self, name: str, folder: Path, text: str) -> None:
        self._name = name
        self._folder = folder
        self._text = text
        self._of_files: Mapping[str, Setter[FileSettings]] = {
            "files": lambda settings, value: replace(settings, files=self._patterns(value)),
            "timeout": lambda settings, value: replace(settings, timeout=_seconds(value)),
            "effort": lambda settings, value: replace(settings, effort=_times(value)),
            "deny-requires": lambda settings, value: replace(settings, deny_requires=_truth(value)),
            "strict": lambda settings, value: replace(settings, strict=_truth(value)),
        }
        self._of_all: Mapping[str, Setter[Configuration]] = {
            "paths": lambda settings, value: replace(settings, paths=self._paths(value)),
            "exclude": lambda settings, value: replace(settings, exclude=self._patterns(value)),
            "format": lambda settings, value: replace(settings, format=_format(value)),
            "output": lambda settings, value: replace(settings, output=_strings(value)),
            "strict": lambda settings, value: replace(settings, strict=_truth(value)),
            "deny-requires": lambda settings, value: replace(settings, deny_requires=_truth(value)),
            "limits": lambda settings, value: replace(settings, deny_limits=_denied(value)),
            "deny-undetermined": lambda settings, value: replace(settings, deny_undetermined=_truth(value)),
            "timeout": lambda settings, value: replace(settings, timeout=_seconds(value)),
            "effort": lambda settings, value: replace(settings, effort=_times(value)),
            "jobs": lambda settings, value: replace(settings, jobs=_count(value)),
            "cache": lambda settings, value: replace(settings, cache=_truth(value)),
            "baseline": lambda settings, value: replace(settings, baseline=folder / _a_string(value)),
            "per-file": lambda settings, value: replace(
                settings, per_file=self._tables(self._file_settings, "per-file", value)
            ),
            "ignore": lambda settings, value: replace(settings, ignores=self._tables(self._ignore, "ignore", value)),
            "launch": lambda settings, value: settings,  # launch specs, which are read beside the sources
        }

    def read(self, table: TomlTable, settings: Configuration) -> Configuration:
        """``settings`` with what the table says in their place."""
        return self._values(table, self._of_all, settings, "")

    def _values(
        self, table: TomlTable, setters: Mapping[str, Setter[Settings]], settings: Settings, where: str
    ) -> Settings:
        for key, value in table.items():
            if key not in setters:
                raise self._error(f"{where}unknown key '{key}'{suggestion(key, setters)}")
            try:
                settings = setters[key](settings, value)
            except ValueError as error:
                raise self._error(f"{where}'{key}' must be {error}") from None
        return settings

    def _tables(
        self, reader: Callable[[TomlTable, str, int | None], Settings], key: str, value: Toml
    ) -> tuple[Settings, ...]:
        tables = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else None
        if tables is None or tables != value:
            raise ValueError(f"tables, written [[{_TOOL}.{key}]]")
        header = re.compile(rf"\s*\[\[\s*(?:tool\s*\.\s*tileverify\s*\.\s*)?{re.escape(key)}\s*\]\]")
        lines = [number for number, line in enumerate(self._text.split("\n"), start=1) if header.match(line)]
        return tuple(
            reader(each, f"{key} {number + 1}, ", lines[number] if number < len(lines) else None)
            for number, each in enumerate(tables)
        )

    def _file_settings(self, table: TomlTable, where: str, line: int | None) -> FileSettings:
        settings = self._values(table, self._of_files, FileSettings(()), where)
        if not settings.files:
            raise self._error(f"{where}'files' is missing: the patterns of the files that it is about")
        return settings

    def _ignore(self, table: TomlTable, where: str, line: int | None) -> TableRule:
        ignored = self._values(table, _OF_SUPPRESSIONS, _Ignored(), where)
        for key, said in (("file", ignored.file), ("codes", ignored.codes), ("reason", ignored.reason)):
            if not said:
                raise self._error(f"{where}'{key}' is missing: a suppression names a file, codes and a reason")
        if is_placeholder(ignored.reason):
            raise self._error(f"{where}'reason' is a placeholder, '{ignored.reason}': say why this is fine")
        rule = Rule(SuppressionKind.TABLE, ignored.codes, ignored.reason, ignored.until, self._name, line)
        kernel, launch = name_pattern(ignored.kernel), name_pattern(ignored.launch)
        return TableRule(rule, file_pattern(ignored.file, self._folder), kernel, launch)

    def _paths(self, value: Toml) -> tuple[str, ...]:
        return tuple(os.path.normpath(self._folder / path) for path in _strings(value))

    def _patterns(self, value: Toml) -> tuple[re.Pattern[str], ...]:
        return tuple(file_pattern(pattern, self._folder) for pattern in _strings(value))

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(problem, self._name)
