"""Where launch specs stand: ``NAME.tileverify.toml``, ``pyproject.toml``, ``--spec FILE``, decorators.

This module finds and reads them into :class:`RawLaunch` (keys and values as written, and the place);
:mod:`.spec` gives them meaning.
"""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..system.errors import SpecError, UsageError
from ..system.printable import bare_lines
from ..system.readings import read
from .combinations import EACH, Uncombined, combined
from .descriptions import suggestion
from .written_calls import keys_of_call
from .written_keys import WrittenKey, place_of, top_place, written_keys

SPEC_SUFFIX = ".tileverify.toml"
MOST_BITS = 1024
"""Of an integer: no launch needs more than 64, and longer ones cannot even be printed."""
FIELDS = (
    "kernel",
    "name",
    "grid",
    "requires",
    "data",
    "observed",
    "alias",
    "overlap",
    "trust",
    "limits",
    "names",
    "origin",
    "args",
)


@dataclass(frozen=True, slots=True)
class RawLaunch:
    """One launch as written.  ``position`` counts from 0 in its file; ``shared``: the file speaks of many sources;
    ``keys``: where it has them, for errors; what Python describes is read only once there is one."""

    fields: Mapping[str, object]
    file: str
    line: int | None
    position: int
    shared: bool = False
    keys: tuple[WrittenKey, ...] = ()

    @property
    def kernel(self) -> str:
        return str(self.fields["kernel"])

    @property
    def label(self) -> str:
        """``launch "gemm-f16"`` or ``launch 2 ("matmul")``, as messages call it."""
        name = self.fields.get("name")
        if isinstance(name, str):
            return f'launch "{name}"'
        kernel = self.fields.get("kernel")
        return f"launch {self.position + 1}" + (f' ("{kernel}")' if isinstance(kernel, str) else "")

    def error(self, field: str, problem: str) -> SpecError:
        """The one shape of a spec's error: file, launch, field, problem."""
        keys = self.keys or keys_of_call(self.file, self.line, self.fields.keys() - {"kernel"})
        line, column = place_of(keys, field, problem) or (self.line, None)
        return SpecError(f"{self.label}, {field}: {problem}", file=self.file, line=line, column=column)


def spec_path(source: Path) -> Path:
    """``matmul.py`` -> ``matmul.tileverify.toml`` in the same folder."""
    return source.with_name(source.stem + SPEC_SUFFIX)


def read_spec_file(path: Path) -> tuple[RawLaunch, ...]:
    """All launches of a spec file; the file must exist and hold nothing but ``[[launch]]`` tables."""
    return launches_of_text(_read(path), path)


def launches_of_text(text: str, path: Path) -> tuple[RawLaunch, ...]:
    """The same for the text of a spec file; ``path`` is its name in errors."""
    table = _parse(text, path)
    if "launch" not in table and "tool" in table:
        return _raw_launches(_tool_table(table, path), text, path, header="tool.tileverify.launch")
    for key in table:
        if key != "launch":
            raise SpecError(
                f"unknown key '{key}'{suggestion(key, ['launch'])}; a spec holds [[launch]]",
                str(path),
                *top_place(text, key),
            )
    return _raw_launches(table, text, path, header="launch")


def read_pyproject(folder: Path) -> tuple[RawLaunch, ...]:
    """The launches in the nearest ``pyproject.toml`` at or above ``folder``; none without the file or the table."""
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if path.exists() and not path.is_dir():
            text = _read(path)
            table = _parse(text, path)
            return _raw_launches(_tool_table(table, path), text, path, header="tool.tileverify.launch", shared=True)
    return ()


def raw_launches(
    fields: Mapping[str, object],
    file: str,
    line: int | None,
    position: int,
    shared: bool = False,
    keys: tuple[WrittenKey, ...] = (),
) -> Iterator[RawLaunch]:
    """The launches of one table, which may stand for many (`combinations`), as `raw_launch` checks them."""
    try:
        for each in combined(fields):
            yield raw_launch(each, file, line, position, shared, keys)
    except Uncombined as error:
        raise RawLaunch(fields, file, line, position, keys=keys).error(EACH, str(error)) from None


def raw_launch(
    fields: Mapping[str, object],
    file: str,
    line: int | None,
    position: int,
    shared: bool = False,
    keys: tuple[WrittenKey, ...] = (),
) -> RawLaunch:
    """Check the keys of one launch and that it names a kernel."""
    raw = RawLaunch(fields, file, line, position, shared, keys)
    for key in fields:
        if key not in FIELDS:
            raise raw.error(key, f"unknown key '{key}'{suggestion(key, FIELDS)}")
    kernel = fields.get("kernel")
    if "kernel" in fields and not isinstance(kernel, str):
        raise raw.error("kernel", 'must be the name of the kernel function, as in kernel = "scale"')
    if not kernel:
        raise raw.error("kernel", 'the name of the kernel function is missing (kernel = "name")')
    name = fields.get("name")
    if name is not None and (not isinstance(name, str) or not name or "::" in name):
        raise raw.error("name", "a launch name is a non-empty string without '::'")
    return raw


def _read(path: Path) -> str:
    try:
        return io.TextIOWrapper(io.BytesIO(read(path)), encoding="utf-8-sig").read()
    except FileNotFoundError:
        raise UsageError(f"there is no spec file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read ({error})", str(path)) from None


def _parse(text: str, path: Path) -> Mapping[str, object]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        problem = re.sub(r"\s*\(at .*\)", "", str(error))
        line, column = (int(at[1]), int(at[2]) - 1) if at else (None, None)
        raise SpecError(f"not valid TOML: {problem}", str(path), line, column) from None
    except (ValueError, RecursionError):  # more digits than `int` reads, more brackets than the parser
        raise SpecError("a number in it is too long, or its values are nested too deeply", str(path)) from None
    if any(value.bit_length() > MOST_BITS for value in _integers(table)):
        raise SpecError(f"an integer in it has more than {MOST_BITS} bits", str(path))
    return table


def _integers(table: object) -> Iterator[int]:
    waiting = [table]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, int):
            yield value


def _tool_table(table: Mapping[str, object], path: Path) -> Mapping[str, object]:
    tool = table.get("tool", {})
    section = tool.get("tileverify", {}) if isinstance(tool, dict) else {}
    if not isinstance(section, dict):
        raise SpecError("[tool.tileverify] must be a table", str(path))
    return section


def _raw_launches(
    table: Mapping[str, object], text: str, path: Path, *, header: str, shared: bool = False
) -> tuple[RawLaunch, ...]:
    entries = table.get("launch", [])
    if isinstance(entries, dict):
        told = f"write [[{header}]] with two brackets: a kernel may have several launches"
        raise SpecError(told, str(path), *top_place(text, header))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecError(f"'{header}' must be tables, written [[{header}]]", str(path), *top_place(text, header))
    lines = _header_lines(text, header)
    found: list[RawLaunch] = []
    for i, entry in enumerate(entries):
        line = lines[i] if i < len(lines) else None
        keys = () if line is None else written_keys(text, line)
        found += raw_launches(entry, str(path), line, i, shared, keys)
    return tuple(found)


def _header_lines(text: str, header: str) -> Sequence[int]:
    pattern = re.compile(r"\s*\[\[\s*" + r"\s*\.\s*".join(map(re.escape, header.split("."))) + r"\s*\]\]")
    return [number for number, line in enumerate(bare_lines(text), 1) if pattern.match(line)]
