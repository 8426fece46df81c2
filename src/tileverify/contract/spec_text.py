"""The text of a launch: where its lines stand, in whatever it is written, and how clauses are written into it."""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final

from ..system.errors import SpecError
from ..system.printable import bare_lines, source_lines
from ..system.readings import cell_text, text_of
from .arguments import print_description
from .data_facts import print_data_fact
from .declared_calls import calls_table
from .launch import LaunchSpec
from .trustable import DENY


def keys_of_launch(file: str, line: int) -> tuple[WrittenKey, ...]:
    """Of the launch whose header, or decorator, stands at ``line``; none in what has changed beyond that."""
    if Path(file).suffix != ".toml":
        return keys_of_call(file, line, ())
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = text_of(Path(file))
        if line <= text.count("\n"):
            return written_keys(text, line)
    return ()


def mistake_in(launch: LaunchSpec, problem: str) -> SpecError:
    """A mistake in the arguments of this spec, with its file, launch, and the line of the one that it quotes."""
    file, line = launch.file, launch.line
    found = place_of(keys_of_launch(file, line), "args", problem) if file and line else None
    label = launch.where.removeprefix(f"{file}: ")
    return SpecError(f"{label}, {problem}" if label else problem, file or None, *(found or (line, None)))


# --------------------------------------------------------------------------------------------------------- written keys
# Where the keys of a TOML table stand, so that an error can point at one; the parser does not tell.
#
# What `written_calls` finds in Python is looked into in the same way.


_KEY: Final = re.compile(
    r"""\s*(?P<quote>["']?)(?P<name>[A-Za-z_][\w-]*)(?P=quote)(?P<more>(\s*\.\s*["']?[\w-]+["']?)*)\s*="""
)
_TABLE: Final = re.compile(r"\s*\[(?P<many>\[?)(?P<path>[^\]]*)\]")
_FIELD: Final = re.compile(r"(?P<key>[\w-]+)(\.(?P<inner>[\w-]+))?(\[(?P<item>\d+)\])?")
_QUOTED: Final = re.compile(r"'(?P<text>[^']+)'( at column (?P<column>\d+))?")
_TOKEN: Final = re.compile(r"""(?P<skipped>\#.*|"(\\.|[^"\\])*"|'[^']*')|(?P<mark>[\[\](){},])|(?P<other>[^\s])""")


@dataclass(frozen=True, slots=True)
class WrittenKey:
    """``name``, dotted where it is (``args.x`` also in a table ``[launch.args]``), with the lines of its value;
    ``line`` (from 1) and ``column`` (from 0, in characters) of the first."""

    name: str
    line: int
    column: int
    lines: tuple[str, ...]

    def at(self, offset: int) -> tuple[int, int]:
        """Line (from 1) and column (from 0, in bytes of UTF-8) of a place in the joined lines."""
        before = "\n".join(self.lines)[:offset]
        return self.line + before.count("\n"), len(before[before.rfind("\n") + 1 :].encode())


def written_keys(text: str, header: int) -> tuple[WrittenKey, ...]:
    """The keys of the table whose header stands at line ``header`` (from 1), and of tables inside of it."""
    lines = bare_lines(text)
    own = _path(lines[header - 1])
    found: list[WrittenKey] = []
    starts: list[tuple[int, int, str]] = []  # line, column, name
    end = len(lines)
    depth = 0
    inner = ""
    for number in range(header, len(lines)):
        line = lines[number]
        if depth <= 0 and (table := _TABLE.match(line)) is not None:
            path = _path(line)
            if table["many"] or path[: len(own)] != own or len(path) == len(own):
                end = number
                break
            inner = ".".join(path[len(own) :])
            starts.append((number, line.find(path[-1]), inner))
            continue
        if depth <= 0 and (key := _KEY.match(line)) is not None:
            name = key["name"] + re.sub(r"""[\s"']""", "", key["more"])
            starts.append((number, key.start("name"), f"{inner}.{name}" if inner else name))
        bare = re.sub(r"""#.*|"[^"]*"|'[^']*'""", "", line)
        depth += sum(bare.count(each) for each in "[{") - sum(bare.count(each) for each in "]}")
    ends = [*(each for each, _, _ in starts[1:]), end]
    for (number, column, name), behind in zip(starts, ends[: len(starts)], strict=True):
        found.append(WrittenKey(name, number + 1, column, tuple(lines[number:behind])))
    return tuple(found)


def top_place(text: str, name: str) -> tuple[int | None, int | None]:
    """Line (from 1) and column (from 0, in bytes of UTF-8) where a document's key or table ``name`` begins."""
    pattern = re.compile(rf"""\s*(\[\[?\s*)?["']?(?P<name>{re.escape(name)})(?![\w-])""")
    for number, line in enumerate(bare_lines(text), 1):
        if (found := pattern.match(line)) is not None:
            return number, len(line[: found.start("name")].encode())
    return None, None


def place_of(keys: Sequence[WrittenKey], field: str, problem: str) -> tuple[int, int] | None:
    """Line (from 1) and column (from 0, in bytes of UTF-8) of what a ``problem`` of ``field`` is about: the text that
    it quotes, else the entry or the key; ``None`` where there is no such key."""
    named = _FIELD.match(field)
    if named is None:
        return None
    quoted = None if problem.startswith("missing ") else _QUOTED.search(problem)
    names = [named["inner"]] if named["inner"] else [quoted["text"]] if quoted is not None else []
    for name in names:  # a key of a table of its own is known best
        own = next((each for each in keys if each.name == f"{named['key']}.{name}"), None)
        if own is not None:
            return _within(own, own.column, 0, quoted if named["inner"] else None)
    key = next((each for each in keys if each.name == named["key"]), None)
    key = key or next((each for each in keys if each.name.startswith(f"{named['key']}.")), None)
    if key is None:
        return None
    return _inside(key, named, names, quoted)


def _inside(
    key: WrittenKey, named: re.Match[str], names: Sequence[str], quoted: re.Match[str] | None
) -> tuple[int, int]:
    """The place in the value of ``key``, a list or an inline table, or in the value as a whole."""
    entries = list(_entries(key))
    if named["item"] is not None and int(named["item"]) < len(entries):
        offset = entries[int(named["item"])]
        return _within(key, offset, offset, quoted)
    text = "\n".join(key.lines)
    for offset in entries:
        entry = _KEY.match(text, offset)
        if entry is not None and entry["name"] in names:
            return _within(key, entry.start("name"), offset, quoted if named["inner"] else None)
    return _within(key, key.column, 0, quoted)


def _within(key: WrittenKey, otherwise: int, start: int, quoted: re.Match[str] | None) -> tuple[int, int]:
    """The quoted text behind ``start``, as a whole word; the place ``otherwise`` without it."""
    if quoted is not None:
        words = re.escape(quoted["text"])
        before = r"(?<!\w)" if re.match(r"\w", quoted["text"]) else ""
        behind = r"(?!\w)" if re.search(r"\w\Z", quoted["text"]) else ""
        found = re.compile(before + words + behind).search("\n".join(key.lines), max(start, key.column))
        if found is not None:
            return key.at(found.start() + int(quoted["column"] or 1) - 1)
    return key.at(otherwise)


def _entries(key: WrittenKey) -> Iterator[int]:
    """Where the entries of a list or an inline table begin, as offsets into the joined lines."""
    text = "\n".join(key.lines)
    begin = text.find("=", key.column) + 1
    depth, fresh = 0, False
    for token in _TOKEN.finditer(text, begin):
        mark = token["mark"]
        if depth == 0 and mark not in ("[", "{", "("):
            return
        if fresh and mark not in ("]", "}", ")", ",") and not token[0].startswith("#"):
            yield token.start()
            fresh = False
        if mark is None:
            continue
        depth += (mark in "[{(") - (mark in "]})")
        fresh = depth == 1 and mark in "[{(,"
        if depth == 0:
            return


def _path(header: str) -> tuple[str, ...]:
    """The names in the header of a table."""
    found = _TABLE.match(header)
    return () if found is None else tuple(each.strip().strip("\"'") for each in found["path"].split("."))


# -------------------------------------------------------------------------------------------------------- written calls
# Where the fields of a launch stand that Python gives: ``@tileverify.launch(grid=...)``, ``%%tileverify --grid``.


_CALLED: Final = ("launch", "check")
MAGIC: Final = "%%tileverify"
"""The first line of a cell that is run by it is kept behind a ``#``."""
_OPTION: Final = re.compile(r"--(?P<name>grid|requires|data|arg)(\s+|=)(?P<quote>[\"']?)(?P<value>(?P<key>\w*))")


def keys_of_call(file: str | None, line: int | None, fields: Collection[str]) -> tuple[WrittenKey, ...]:
    """The places of the keyword arguments of the call that stands at ``line`` (from 1) of a file or a notebook's cell,
    or of the options of the cell's magic.

    None where the text cannot be read, where no call, or more than one, begins there that gives all ``fields`` by
    name, and for what is given as ``**values``.
    """
    text = None if file is None else _text(file)
    if text is not None and line == 1 and text.startswith(f"#{MAGIC}"):
        return tuple(_options(text.partition("\n")[0]))
    tree = None if text is None else _parsed(text)
    if text is None or tree is None:
        return ()
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno == line and _name(node.func) in _CALLED
    ]
    calls = [call for call in calls if set(fields) <= {each.arg for each in call.keywords}]
    return tuple(_keys(calls[0], text.split("\n"))) if len(calls) == 1 else ()


def _text(file: str) -> str | None:
    cell = cell_text(file)
    if cell is not None:
        return cell
    known = linecache.cache.get(file)
    if known is not None and len(known) == 4:  # the text that was run, which the gate's sandbox lets nobody open
        return "".join(known[2]).replace("\r\n", "\n")
    try:
        return text_of(Path(file)).replace("\r\n", "\n")
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _name(function: ast.expr) -> str | None:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _options(line: str) -> Iterator[WrittenKey]:
    for option in _OPTION.finditer(line):
        name = f"args.{option['key']}" if option["name"] == "arg" else option["name"]
        yield WrittenKey(name, 1, option.start("value"), (line,))


def _keys(call: ast.Call, lines: list[str]) -> Iterator[WrittenKey]:
    for each in call.keywords:
        if each.arg is None:
            continue
        yield _key(each.arg, each, lines)
        for name, start, end in _inner(each.value):
            yield _key(f"{each.arg}.{name}", start, lines, end)


def _inner(value: ast.expr) -> Iterator[tuple[str, ast.expr | ast.keyword, ast.expr]]:
    """The entries of a dict: name, where it begins, its value."""
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, entry in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, key, entry
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from ((each.arg, each, each.value) for each in keywords if each.arg is not None)


def _key(
    name: str, start: ast.expr | ast.keyword, lines: list[str], end: ast.expr | ast.keyword | None = None
) -> WrittenKey:
    """``start`` and what follows it until ``end`` does."""
    end = start if end is None else end
    last = end.end_lineno or end.lineno
    written = lines[start.lineno - 1 : last]
    if end.end_col_offset is not None:
        written[-1] = written[-1].encode()[: end.end_col_offset].decode(errors="ignore")
    column = len(lines[start.lineno - 1].encode()[: start.col_offset].decode(errors="ignore"))
    return WrittenKey(name, start.lineno, column, tuple(written))


# ------------------------------------------------------------------------------------------------------------ spec edit
# Clauses written into a launch spec, as a person would type them: behind those of ``requires``, or in a line of its
# own.
#
# Nothing else in the file changes.


_SPEC_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<text>"(\\.|[^"\\\n])*"|'[^'\n]*')|(?P<mark>[\[\]{}])|[^\s"'\[\]{}#]+"""
)


def inserted(text: str, header: int, clauses: Sequence[str], file: str) -> tuple[int, str]:
    """Where in ``text`` (a place in characters) and what `with_requires` inserts; raises what it raises."""
    changed = with_requires(text, header, clauses, file)
    place = next((at for at, (old, new) in enumerate(zip(text, changed, strict=False)) if old != new), len(text))
    return place, changed[place : place + len(changed) - len(text)]


def with_requires(text: str, header: int, clauses: Sequence[str], file: str) -> str:
    """The TOML document ``text`` in which the launch whose header stands at line ``header`` (from 1) requires
    ``clauses`` as well.

    Raises `SpecError` where its ``requires`` is written in a way that is not understood.
    """
    own = (key for key in written_keys(text, header) if "." not in key.name)
    keys = [key for key in own if not key.lines[0].lstrip().startswith("[")]  # tables of the launch come last
    added = ", ".join(json.dumps(clause, ensure_ascii=False) for clause in clauses)
    known = next((key for key in keys if key.name == "requires"), None)
    starts = [0, *accumulate(map(len, source_lines(text)))]
    if known is None:
        last = max(keys, key=lambda key: key.line, default=None)
        place = starts[header if last is None else last.line + _lines_of(last) - 1]
        line = f"requires = [{added}]\n"
        changed = f"{text[:place]}{line if text[:place].endswith(chr(10)) else chr(10) + line}{text[place:]}"
    else:
        value = "\n".join(known.lines)
        written = [token for token in _SPEC_TOKEN.finditer(value, value.index("=") + 1) if token["comment"] is None]
        strings = [token.end() for token in written if token["text"] is not None]
        opened = next((token.end() for token in written if token["mark"] == "["), len(value))
        place = starts[known.line - 1] + (strings[-1] if strings else opened)
        changed = f"{text[:place]}{', ' if strings else ''}{added}{text[place:]}"
    return _checked(changed, text, file, header)


def _lines_of(key: WrittenKey) -> int:
    """How many lines the value of ``key`` takes."""
    depth = 0
    for number, line in enumerate(key.lines, start=1):
        marks = [token["mark"] for token in _SPEC_TOKEN.finditer(line) if token["mark"] is not None]
        depth += sum(1 if mark in "[{" else -1 for mark in marks)
        if depth <= 0:
            return number
    return len(key.lines)


def _checked(text: str, before: str, file: str, header: int) -> str:
    """``text``, if it is what was meant: the same document, but for one list that is longer."""
    try:
        if tomllib.loads(text) != tomllib.loads(before):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise SpecError("its 'requires' is written in a way that no clause can be added to: add it by hand", file, header)


# ------------------------------------------------------------------------------------------------------------ spec text
# A launch spec as the TOML that reads back as it: one ``[[launch]]`` table.


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def spec_text(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str] = ()) -> str:
    """The table for ``launch`` under ``name``, with ``requires`` behind its own conditions and remarks above it."""
    return "".join(f"{line}\n" for line in _lines(launch, name, requires, remarks))


def _lines(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str]) -> Iterator[str]:
    yield from (f"# {' '.join(remark.split())}" for remark in remarks)
    yield "[[launch]]"
    yield f"kernel = {_string(launch.kernel)}"
    yield f"name = {_string(name)}"
    if launch.inferred:
        yield f"origin = {_string(launch.origin)}  # nobody promised this: delete the line once it is what you promise"
    elif launch.origin != "written":
        yield f"origin = {_string(launch.origin)}"
    if launch.grid_text:
        yield f"grid = {_strings(launch.grid_text)}"
    if launch.names:
        yield f"names = {_strings(launch.names)}"
    clauses = tuple(dict.fromkeys((*launch.requires_text, *requires)))
    if launch.inferred and clauses:
        yield "# assumed by tileverify, is this what you promise?"
    yield from _list("requires", clauses)
    yield from _list("data", [fact.text or print_data_fact(fact) for fact in launch.data])
    for key, groups in (("alias", launch.alias), ("overlap", launch.overlap)):
        if groups:
            yield f"{key} = [{', '.join(_strings(sorted(group)) for group in groups)}]"
    yield from _list("complete", launch.complete)
    yield from _list("empty", launch.empty)
    yield from _granted(launch)
    if launch.order == "program":
        yield f"order = {_string(launch.order)}"
    if launch.options:
        yield f"options = {{ {', '.join(f'{name} = {value}' for name, value in launch.options)} }}"
    if launch.deny_limits:
        yield f"limits = {_string(DENY)}"
    yield ""
    yield "[launch.args]"
    for argument in launch.arguments:
        key = argument.name if _BARE_KEY.fullmatch(argument.name) else _string(argument.name)
        yield f"{key} = {print_description(argument)}"


def _granted(launch: LaunchSpec) -> Iterator[str]:
    """By what a proof rests on more than the specification."""
    yield from _list("trust", launch.trust)
    yield from _list("allow", launch.allow)
    if launch.calls:
        yield f"calls = {_tables(calls_table(launch.calls))}"


def _list(key: str, texts: Sequence[str]) -> Iterator[str]:
    """One line, or one for each text where there are several."""
    if len(texts) > 1:
        yield f"{key} = ["
        yield from (f"    {_string(text)}," for text in texts)
        yield "]"
    elif texts:
        yield f"{key} = {_strings(texts)}"


def _tables(tables: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    rows = (
        f"{_string(name)} = {{ {', '.join(f'{key} = {_strings(texts)}' for key, texts in table.items())} }}"
        for name, table in tables.items()
    )
    return f"{{ {', '.join(rows)} }}"


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
