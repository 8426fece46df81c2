"""Where launch specs stand: ``NAME.tileverify.toml``, ``pyproject.toml``, ``--spec FILE``, decorators.

This module finds and reads them into :class:`RawLaunch` (keys and values as written, and the place);
:mod:`.spec` gives them meaning.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias, TypeVar

from ..system.errors import SpecError, UsageError
from ..system.printable import bare_lines
from ..system.readings import read
from .arguments import suggestion
from .spec_text import WrittenKey, keys_of_call, place_of, top_place, written_keys

SPEC_SUFFIX = ".tileverify.toml"
CONFIGS: Final = "configs"
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
    "complete",
    "empty",
    "trust",
    "allow",
    "calls",
    "limits",
    "names",
    "origin",
    "order",
    "options",
    CONFIGS,
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

    def refuse_triton_words(self) -> None:
        """Raises `SpecError` if the launch has fields that belong to Triton kernels alone, as this is none."""
        for field in ("order", "options", CONFIGS):
            if field in self.fields:
                raise self.error(field, f"'{self.kernel}' is no Triton kernel, so the launch has no '{field}'")
        given = self.fields.get("args")
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if isinstance(value, Mapping) and "desc" in value and "block" in value:
                raise self.error(
                    f"args.{name}", f"'{self.kernel}' is no Triton kernel, so it takes no tensor descriptor"
                )


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


# --------------------------------------------------------------------------------------------------------- combinations
# One table for many launches: ``each = { T = ["f16", "f32"], TILE = [512, 1024] }`` makes one for every combination.
#
# ``{T}`` in a text of the table stands for the value; a text that is nothing but ``{TILE}`` is the value itself.  What
# neither ``name`` nor ``kernel`` mentions comes behind the name.


EACH: Final = "each"
MOST_LAUNCHES: Final = 1000
"""Of one table."""

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")

Value: TypeAlias = "str | int | float"


class Uncombined(Exception):
    """What is wrong with ``each``."""


def combined(fields: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The launches that the table stands for, each without ``each``; itself where it has none.

    Raises `Uncombined`.
    """
    rest: Mapping[str, object] = {key: value for key, value in fields.items() if key != EACH}
    if EACH not in fields:
        yield dict(rest)
        return
    choices = _choices(fields[EACH])
    used = dict.fromkeys(_places(rest))
    for unused in choices.keys() - used.keys():
        raise Uncombined(f"'{{{unused}}}' stands nowhere in the launch")
    for place in used:
        if place not in choices:
            raise Uncombined(f"there is no '{place}'{suggestion(place, list(choices))} for '{{{place}}}'")
    for values in product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        found = {key: _filled(value, chosen) for key, value in rest.items()}
        if (name := _named(rest, found, chosen)) is not None:
            found["name"] = name
        yield found


def _choices(each: object) -> dict[str, list[Value]]:
    if not isinstance(each, Mapping) or not each:
        raise Uncombined('must be a table of names with lists of values, as in { T = ["f16", "f32"] }')
    for name, values in each.items():
        if not _NAME.fullmatch(str(name)):
            raise Uncombined(f"'{name}' is no name")
        if not isinstance(values, list | tuple) or not values:
            raise Uncombined(f"'{name}' must be a list of values")
        if not all(isinstance(value, str | int | float) for value in values):
            raise Uncombined(f"the values of '{name}' must be texts or numbers")
        if len(set(map(str, values))) < len(values):
            raise Uncombined(f"'{name}' has a value twice")
    if prod(map(len, each.values())) > MOST_LAUNCHES:
        raise Uncombined(f"makes more than {MOST_LAUNCHES} launches")
    return {str(name): list(values) for name, values in each.items()}


def _places(value: object) -> Iterator[str]:
    match value:
        case str():
            yield from _PLACE.findall(value)
        case Mapping():
            for part in value.values():
                yield from _places(part)
        case list() | tuple():
            for part in value:
                yield from _places(part)


def _filled(value: object, chosen: Mapping[str, Value]) -> object:
    match value:
        case str():
            alone = _PLACE.fullmatch(value)
            return chosen[alone[1]] if alone else _PLACE.sub(lambda place: str(chosen[place[1]]), value)
        case Mapping():
            return {key: _filled(part, chosen) for key, part in value.items()}
        case list() | tuple():
            return [_filled(part, chosen) for part in value]
    return value


def _named(written: Mapping[str, object], found: Mapping[str, object], chosen: Mapping[str, Value]) -> object:
    """The name with the values that are not mentioned; what is no text is told where names are checked."""
    name = found.get("name")
    if name is not None and not isinstance(name, str):
        return name
    mentioned = {*_places(written.get("name")), *_places(written.get("kernel"))}
    parts = [*([] if name is None else [name]), *(str(chosen[each]) for each in chosen if each not in mentioned)]
    return "-".join(parts) or None


# --------------------------------------------------------------------------------------------------------------- gather
# All launch specs of one source file, and the part of them that speaks of one kernel.


@dataclass(frozen=True, slots=True)
class SourceSpecs:
    """The launches written for a source file, in the order: spec file, ``pyproject.toml``; decorators follow."""

    launches: tuple[RawLaunch, ...]
    given: bool = False

    @classmethod
    def beside(cls, source: Path) -> SourceSpecs:
        """The specs in the file beside ``source`` and in the nearest ``pyproject.toml``."""
        path = spec_path(source)
        own = read_spec_file(path) if os.path.lexists(path) else ()
        return cls((*own, *read_pyproject(source.resolve().parent)))

    @classmethod
    def from_file(cls, path: Path) -> SourceSpecs:
        """The specs of ``--spec FILE``, which stand for all others, decorators included.

        Raises `SpecError` for a file without any: nobody names it to have launches guessed.
        """
        launches = read_spec_file(path)
        if not launches:
            raise SpecError("there is no [[launch]] in this file; without --spec launches are guessed", str(path))
        return cls(launches, given=True)

    def of_kernel(self, names: Container[str], decorated: Iterable[RawLaunch] = ()) -> tuple[RawLaunch, ...]:
        """The launches of the kernel with these names."""
        own = tuple(raw for raw in self.launches if raw.kernel in names)
        return own if self.given else (*own, *decorated)

    def strangers(self, kernels: Sequence[str]) -> Iterator[tuple[RawLaunch, SpecError]]:
        """Launches that name a kernel the source does not have; a file shared by many sources may name others'."""
        for raw in self.launches:
            if not raw.shared and raw.kernel not in kernels:
                known = suggestion(raw.kernel, kernels) or f"; there is {', '.join(kernels) or 'none'}"
                yield raw, raw.error("kernel", f"there is no kernel '{raw.kernel}'{known}")


def named_launches(raws: Sequence[RawLaunch]) -> Iterator[tuple[str, RawLaunch, SpecError | None]]:
    """Each launch of one kernel with its name (its position where it has none), and an error for a name used twice."""
    seen: set[str] = set()
    for position, raw in enumerate(raws):
        name = str(raw.fields.get("name", position))
        twice = raw.error("name", f"'{raw.kernel}' has two launches named '{name}'") if name in seen else None
        seen.add(name)
        yield name, raw, twice


@dataclass(frozen=True, slots=True)
class AutotuneConfiguration:
    """One of ``@triton.autotune``: ``values`` of constants, ``options`` of the compiler."""

    values: Mapping[str, object]
    options: Mapping[str, int]

    def of(self, raw: RawLaunch, name: str) -> RawLaunch:
        """The launch ``raw``, called ``name``, with this configuration; raises `SpecError` where it says the same."""
        given = raw.fields.get("args", {})
        arguments = dict(given) if isinstance(given, Mapping) else {}
        for twice in sorted(self.values.keys() & arguments.keys()):
            raise raw.error(f"args.{twice}", "the configurations of @triton.autotune give it a value")
        if "options" in raw.fields:
            raise raw.error("options", "the configurations of @triton.autotune give them")
        words = (name, *(f"{key}={each}" for key, each in self.values.items()), f"w{self.options['num_warps']}")
        others = {key: value for key, value in raw.fields.items() if key != CONFIGS}
        fields = {"name": "-".join(words), "args": {**arguments, **self.values}, "options": dict(self.options)}
        return replace(raw, fields={**others, **fields})

    def long_name(self, name: str) -> str:
        """``name``, told apart from that of a configuration that differs in no more than its stages."""
        return f"{name}-s{self.options['num_stages']}"


@dataclass(frozen=True, slots=True)
class ExpandedLaunch:
    """A launch of one kernel.  ``written``: the name of the one that was written, which stands for one for each
    configuration where it says ``configs``.  ``problem``: why there is none."""

    written: str
    name: str
    raw: RawLaunch
    configuration: AutotuneConfiguration | None = None
    problem: SpecError | None = None


def expanded_launches(
    raws: Sequence[RawLaunch], configurations: Sequence[AutotuneConfiguration] = ()
) -> Iterator[ExpandedLaunch]:
    """The launches of one kernel, of which ``configurations`` are tuned; those that differ in nothing come once."""
    for name, raw, twice in named_launches(raws):
        if CONFIGS not in raw.fields or twice is not None:
            yield ExpandedLaunch(name, name, raw, problem=twice)
            continue
        try:
            yield from _configured(raw, name, configurations)
        except SpecError as error:
            yield ExpandedLaunch(name, name, raw, problem=error)


def _configured(raw: RawLaunch, name: str, configurations: Sequence[AutotuneConfiguration]) -> Iterator[ExpandedLaunch]:
    if raw.fields[CONFIGS] != "autotune":
        raise raw.error(CONFIGS, "must be 'autotune'")
    if not configurations:
        raise raw.error(CONFIGS, f"'{raw.kernel}' has no @triton.autotune")
    seen: dict[str, AutotuneConfiguration] = {}
    for each in configurations:
        made = each.of(raw, name)
        own = str(made.fields["name"])
        if own in seen and each != seen[own]:
            own = each.long_name(own)
        if own not in seen:
            seen[own] = each
            yield ExpandedLaunch(name, own, replace(made, fields={**made.fields, "name": own}), each)


# ------------------------------------------------------------------------------------------------------------ decorator
# ``@tileverify.launch(...)``: a launch spec beside the kernel it speaks of.
#
# The decorator takes the fields of a ``[[launch]]`` table as keywords and only writes them down, so the kernel
# behaves as without it.  It may stand above or below ``@ct.kernel``, and more than once; nothing is checked until
# tileverify reads the file.


ATTRIBUTE = "__tileverify_launches__"
_Kernel = TypeVar("_Kernel")


@dataclass(frozen=True, slots=True)
class DecoratedLaunch:
    """The fields as given, and the file and line of the decorator."""

    fields: Mapping[str, Any]
    file: str | None
    line: int | None


def written_at(
    fields: Mapping[str, Any], unnamed: Sequence[object], frame: FrameType | None
) -> Callable[[_Kernel], _Kernel]:
    """The decorator with these ``fields``, which are those of ``[[launch]]`` without ``kernel``; ``frame``: its caller.

    Unknown fields are kept and reported by ``tileverify check``, with this line, like any other mistake in a spec.
    Raises `UsageError` if anything was given without a name.
    """
    if any(each is not None for each in unnamed):
        raise UsageError(
            "tileverify.launch takes a stream, a grid, a kernel and its arguments; a launch spec, names alone"
        )
    given = {key: value for key, value in fields.items() if value is not None}
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else (None, None)
    spec = DecoratedLaunch(given, file, line)

    def decorate(kernel: _Kernel) -> _Kernel:
        setattr(kernel, ATTRIBUTE, (spec, *getattr(kernel, ATTRIBUTE, ())))
        return kernel

    return decorate


def decorated_launches(*objects: object) -> tuple[DecoratedLaunch, ...]:
    """The launches written on these objects (the kernel, then its function), in the order of the source."""
    return tuple(spec for each in objects for spec in getattr(each, ATTRIBUTE, ()))


def launches_on(kernel: str, file: Path, *objects: object) -> tuple[RawLaunch, ...]:
    """The same, as the launches of ``kernel`` of ``file`` that they are; raises `SpecError`."""
    found: list[RawLaunch] = []
    for position, spec in enumerate(decorated_launches(*objects)):
        fields = {"kernel": kernel, **spec.fields}
        for raw in raw_launches(fields, spec.file or str(file), spec.line, position):
            if raw.kernel != kernel:
                raise raw.error("kernel", f"the decorator stands on '{kernel}'; leave the field out")
            found.append(raw)
    return tuple(found)
