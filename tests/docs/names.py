"""What documents name: files, modules, and options of commands; and whether each is there under that name.

Read are inline code and code blocks of Markdown.  A file is named by its path from the root, from ``src/tileverify``,
from the page's own folder, or from a folder that the same section named before, by itself or by a file in it.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import click

from tileverify.commands.cli import command

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "tileverify"
_FENCE: Final = re.compile(r"^( *)```[^\n]*\n.*?^\1```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_FILE: Final = re.compile(r"(?:[\w.*-]+/)*[\w-]+\.(?:py|md|toml|yml|cu|v|lua|cjs|ipynb|sh|txt|json)")
_FOLDER: Final = re.compile(r"[\w-]+(?:/[\w-]+)+/?|[\w-]+/")
_LINK: Final = re.compile(r"\]\(([\w./-]+)(?:#[\w-]+)?\)")
_DOTTED: Final = re.compile(r"(?<![\w./-])(?:tileverify|tests|campaigns|benchmarks|tools)(?:\.\w+)+")
_OPTION: Final = re.compile(r"--[a-z][\w-]*")
_MODULE_RUN: Final = re.compile(r"python3? -m ((?:tests|campaigns|benchmarks|tools|qwen3)(?:\.\w+)*)([^\n`;|&]*)")
_TARGET: Final = re.compile(r"\bmake ([a-z]+)\b")


@dataclass(frozen=True, slots=True)
class Named:
    """A name of a page that leads nowhere, and its line (from 1)."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.name}"


def missing(text: str, folder: Path) -> list[Named]:
    """Names in a page of this folder that lead nowhere."""
    found = [*_files(text, folder), *_links(text, folder), *_modules(text), *_options(text), *_targets(text)]
    return sorted(found, key=lambda named: named.line)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


@cache
def _prose(text: str) -> str:
    """The page with code blocks and comments blanked out; every character keeps its place."""
    for pattern in (_FENCE, _COMMENT):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return text


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Code blocks, with the places where they begin."""
    for found in _FENCE.finditer(text):
        yield found.start(), found.group()


def _inline(text: str) -> Iterator[tuple[int, str]]:
    """Inline code, with the places where it begins."""
    for found in _CODE.finditer(_prose(text)):
        if "\n\n" not in found.group():
            yield found.start(), " ".join(found.group(2).split())


def _section(text: str, place: int) -> int:
    """Where the section of a place begins."""
    return max((found.start() for found in re.finditer(r"^#", text[:place], re.MULTILINE)), default=0)


def _files(text: str, folder: Path) -> Iterator[Named]:
    prose = _prose(text)
    written = set(re.findall(r'title="([^"]+)"', text))
    links = [(found.start(), found.group(1)) for found in _LINK.finditer(prose)]
    named = [(place, (folder / target).resolve()) for place, target in links if (folder / target).exists()]
    for place, code in _inline(text):
        if not (_FILE.fullmatch(code) or (_FOLDER.fullmatch(code) and _is_ours(code))):
            continue
        if code in written or code.split("/")[-1] in written:
            continue
        start = _section(prose, place)
        before = [path for at, path in named if start <= at < place + len(code) + 4]  # a link on the name itself counts
        there = _resolved(code, [ROOT, PACKAGE, folder, *(each for path in before for each in (path, path.parent))])
        if there is None:
            yield Named(code, _line(text, place))
        else:
            named.append((place, there))


def _links(text: str, folder: Path) -> Iterator[Named]:
    for found in _LINK.finditer(_prose(text)):
        if not (folder / found.group(1)).exists():
            yield Named(found.group(1), _line(text, found.start()))


def _is_ours(code: str) -> bool:
    """Whether a path begins in one of the repository's folders."""
    first = code.split("/")[0]
    return (ROOT / first).is_dir() or (PACKAGE / first).is_dir()


def _resolved(name: str, folders: list[Path]) -> Path | None:
    for place in folders:
        if "*" in name and any(place.glob(name)):
            return place / name
        if (place / name).exists():
            return place / name
    return None


def _modules(text: str) -> Iterator[Named]:
    for start, code in (*_inline(text), *_blocks(text)):
        for found in _DOTTED.finditer(code):
            if not _is_module(found.group()):
                yield Named(found.group(), _line(text, start) + code.count("\n", 0, found.start()))


@cache
def _is_module(name: str) -> bool:
    """A module, or a name that a module defines, or what a public object has under that name."""
    if name.endswith((".toml", ".json", ".html", ".md")):
        return True
    if name.startswith("tileverify."):
        return _is_attribute(name)
    path, *rest = name.split(".")
    place = ROOT / path
    while rest and ((place / rest[0]).is_dir() or (place / f"{rest[0]}.py").is_file()):
        place = place / rest.pop(0)
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return not rest or (source.is_file() and rest[0] in _defined(source))


def _is_attribute(name: str) -> bool:
    parts = name.split(".")
    for known in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:known]))
        except ModuleNotFoundError:
            continue
        for each in parts[known:]:
            if not hasattr(value, each) and each not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, each, None)
        return True
    return False


@cache
def _defined(source: Path) -> frozenset[str]:
    """Names that a module defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return frozenset(names)


def _options(text: str) -> Iterator[Named]:
    for start, code in _inline(text):
        for name, option in _unknown_options(code):
            if not any(_module_says(module, option) for module in _run_in_section(text, start)):
                yield Named(name, _line(text, start))
    for start, block in _blocks(text):
        for number, line in enumerate(_joined(block)):
            called = re.match(r"\s*(?:\$ |time |run: )?(tileverify [a-z].*)", line)
            for name, _ in _unknown_options(called.group(1)) if called else ():
                yield Named(name, _line(text, start) + number)
    for start, code in (*_inline(text), *_blocks(text)):
        for found in _MODULE_RUN.finditer(code):
            for option in _OPTION.findall(found.group(2)):
                if not _module_says(found.group(1), option):
                    yield Named(f"{found.group(1)} {option}", _line(text, start) + code.count("\n", 0, found.start()))


def _run_in_section(text: str, place: int) -> list[str]:
    """Modules that the section of a place runs by ``python -m``, whose options it may explain."""
    start = _section(_prose(text), place)
    end = re.compile(r"^#", re.MULTILINE).search(_prose(text), place)
    return [found.group(1) for found in _MODULE_RUN.finditer(text[start : end.start() if end else len(text)])]


def _joined(block: str) -> list[str]:
    return block.replace("\\\n", "  ").split("\n")


@cache
def _commands() -> dict[str, frozenset[str]]:
    """The commands with the options of each, those of nested ones (`report diff`) among them."""
    return {name: _options_of(each) for name, each in command.commands.items()}


def _options_of(each: click.Command) -> frozenset[str]:
    own = {spelling for option in each.params for spelling in (*option.opts, *option.secondary_opts)}
    nested = each.commands.values() if isinstance(each, click.Group) else ()
    return frozenset({"--help", *own}.union(*(_options_of(inner) for inner in nested)))


def _unknown_options(code: str) -> list[tuple[str, str]]:
    """Options in one command, or in a code that begins with an option or a command's name, that no command has."""
    words = _words(code.removeprefix("tileverify ").split(" -- ")[0])
    if not words:
        return []
    given = [word.partition("=")[0] for word in words if _OPTION.match(word)]
    if words[0] in _commands():
        allowed = _commands()[words[0]]
    elif words[0].startswith("--") or code.startswith("tileverify "):
        allowed = frozenset[str]().union(*_commands().values(), {"--version", "--traceback"}, _pytest_options())
    else:
        return []
    return [(f"{code}: {option}", option) for option in given if option not in allowed]


@cache
def _pytest_options() -> frozenset[str]:
    """Options of the plugin for pytest, and of this repository's own tests."""
    sources = [*(PACKAGE / "record" / "pytest_plugin").glob("*.py"), ROOT / "conftest.py"]
    return frozenset(re.findall(r'"(--[a-z][\w-]*)"', "".join(each.read_text(encoding="utf-8") for each in sources)))


def _words(code: str) -> list[str]:
    try:
        return shlex.split(code)
    except ValueError:
        return code.split()


@cache
def _module_says(module: str, option: str) -> bool:
    """Whether a module that is run, or one that it imports from this repository, names the option."""
    source = _source(module)
    if source is None:
        return False
    package = source.parent.relative_to(_root(module)).parts
    imported: list[str] = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            whole = ".".join([*above, *([node.module] if node.module else [])])
            imported += [whole, *(f"{whole}.{each.name}" for each in node.names)]
    sources = {source, *filter(None, map(_source, imported))}
    return any(f'"{option}"' in each.read_text(encoding="utf-8") for each in sources)


def _root(module: str) -> Path:
    return ROOT / "examples" if module.split(".")[0] == "qwen3" else ROOT


def _source(module: str) -> Path | None:
    """The file of a module of this repository, that of a package being what runs."""
    place = _root(module).joinpath(*module.split("."))
    for source in (place / "__main__.py", place.with_suffix(".py")):
        if source.is_file():
            return source
    return None


def _targets(text: str) -> Iterator[Named]:
    rules = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for start, code in (*_inline(text), *_blocks(text)):
        for found in _TARGET.finditer(code):
            if found.group(1) not in rules and (code.startswith("make ") or "\n" in code):
                yield Named(found.group(), _line(text, start) + code.count("\n", 0, found.start()))
