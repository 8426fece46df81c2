"""Launches that somebody let pass without a proof: local, with a reason, and listed.

    with tileverify.unproved(reason="the vendor's kernel, reviewed by hand"):
        tileverify.launch(stream, grid, kernel, args)

Nothing passes where the environment variable ``TILEVERIFY_STRICT`` is set to anything but 0.

A generator shares the context of whoever it yields to, so an opt-out in one counts only while it runs.  One that
`contextlib.contextmanager` makes a ``with`` of is part of the function that has the ``with``.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from ..system.errors import UsageError

STRICT: Final = "TILEVERIFY_STRICT"

_YIELDS: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True, eq=False, slots=True)
class _Open:
    """An opt-out that launches are in; ``generator``: the frame of the one that opened it."""

    reason: str
    generator: FrameType | None


_open: ContextVar[tuple[_Open, ...]] = ContextVar("tileverify_unproved", default=())
_noted: dict[tuple[str, str, str], OptOut] = {}


@dataclass(frozen=True, slots=True)
class OptOut:
    """A launch that ran unproved: why somebody let it, and why it was refused otherwise."""

    reason: str
    kernel: str
    file: str
    line: int
    refusal: str


class UnprovedLaunch(UserWarning):
    """A launch ran without a proof, as an opt-out around it says.

    >>> import warnings
    >>> import tileverify
    >>> warnings.simplefilter("error", tileverify.UnprovedLaunch)  # in a program that shall not have any
    """

    __module__ = "tileverify"


@contextmanager
def unproved(*, reason: str) -> Iterator[None]:
    """Let the launches inside pass without a proof.

    In a generator it counts while the generator runs, not for whoever it yields to.  Raises `UsageError` without a
    reason, and where opt-outs are forbidden.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def all_clear(out):
    ...     ct.store(out, (0,), ct.zeros((128,), ct.float32))
    >>> with tileverify.unproved(reason="every block stores the same"):
    ...     tileverify.launch(None, (2,), all_clear, (np.ones(128, np.float32),))
    """
    if not reason.strip():
        raise UsageError("tileverify.unproved needs a reason, for those who read it later")
    if os.environ.get(STRICT, "0") not in ("", "0"):
        raise UsageError(f"tileverify.unproved(reason={reason!r}) is forbidden: {STRICT} is set")
    mine = _Open(reason, _generator(sys._getframe()))
    _open.set((*_open.get(), mine))
    try:
        yield
    finally:  # a generator may end after what was opened later
        _open.set(tuple(each for each in _open.get() if each is not mine))


def current() -> str | None:
    """The reason of the innermost opt-out around the caller."""
    return next((each.reason for each in reversed(_open.get()) if _runs(each.generator)), None)


def _generator(frame: FrameType | None) -> FrameType | None:
    """The generator whose ``with`` enters the context manager of ``frame``; ``None`` where a function does."""
    while frame is not None and frame.f_code.co_flags & _YIELDS:
        around = frame.f_back
        if around is None or around.f_globals.get("__name__") != "contextlib":
            return frame
        while around is not None and around.f_globals.get("__name__") == "contextlib":
            around = around.f_back
        frame = around
    return None


def _runs(generator: FrameType | None) -> bool:
    """Whether the caller runs inside of the generator, where there is one."""
    if generator is None:
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame is not generator:
        frame = frame.f_back
    return frame is generator


def note(opt_out: OptOut) -> None:
    """List it; the first of its kind warns."""
    key = (opt_out.kernel, opt_out.file, opt_out.reason)
    if key not in _noted:
        warnings.warn(f"{opt_out.kernel} runs unproved ({opt_out.reason}): {opt_out.refusal}", UnprovedLaunch, 4)
    _noted[key] = opt_out


def unproved_launches() -> tuple[OptOut, ...]:
    """What ran unproved in this process so far, one for each kernel and reason.

    >>> import tileverify
    >>> seen = [(each.kernel, each.reason, each.refusal) for each in tileverify.unproved_launches()]
    """
    return tuple(_noted.values())


# ------------------------------------------------------------------------------------------------------ opt out sources
# Where sources let launches pass without a proof: every call of ``tileverify.unproved``, found without running them.
#
# A call counts by any name that the file imports it under (``from tileverify import unproved as trusted``), and so does
# a mention that is no call, as whoever gets the function may call it.


_PACKAGES: Final = frozenset({"tileverify", "tileverify.launching.optouts"})
_NAME: Final = "unproved"


@dataclass(frozen=True, slots=True)
class SourceOptOut:
    """``reason``: what the call says, as source text where it is no plain string."""

    file: str
    line: int
    function: str
    reason: str


def opt_outs(paths: Iterable[Path]) -> Iterator[SourceOptOut]:
    """Those of Python files, and of all in folders, in the order of names and lines.

    Raises `UsageError` for a path that is not there, and for a file that is no Python.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no '{path}'")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield from _of_file(file)


def _of_file(file: Path) -> Iterator[SourceOptOut]:
    try:
        text = file.read_bytes()
        tree = ast.parse(text, str(file))
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror or error}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"'{file}' is no Python: {error}") from None
    if _NAME.encode() in text:
        yield from _Finder(file).found(tree)


class _Finder(ast.NodeVisitor):
    """Walks a module with the names that its imports give the package and the function."""

    def __init__(self, file: Path) -> None:
        self._file = str(file)
        self._packages: set[str] = set()
        self._functions: set[str] = set()
        self._inside: list[str] = []
        self._found: list[SourceOptOut] = []

    def found(self, tree: ast.Module) -> list[SourceOptOut]:
        for node in ast.walk(tree):  # an import may stand below its use, in a function that runs first
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        self.visit(tree)
        return sorted(self._found, key=lambda each: each.line)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name in _PACKAGES or alias.name.startswith("tileverify."):
                self._packages.add(alias.asname or alias.name)
                if alias.asname is None:
                    self._packages.add("tileverify")

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if node.module in _PACKAGES and alias.name in (_NAME, "*"):
                self._functions.add(_NAME if alias.name == "*" else alias.asname or _NAME)
            elif f"{node.module}.{alias.name}" in _PACKAGES:
                self._packages.add(alias.asname or alias.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for each in node.decorator_list:
            self.visit(each)
        self._inside.append(node.name)
        for child in ast.iter_child_nodes(node):
            if child not in node.decorator_list:
                self.visit(child)
        self._inside.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815
    visit_ClassDef = visit_FunctionDef  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        if self._names_it(node.func):
            given = [each.value for each in node.keywords if each.arg == "reason"] + node.args
            self._note(node.lineno, _said(given[0]) if given else "no reason")
            for each in [*node.args, *(keyword.value for keyword in node.keywords)]:
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and self._names_it(node):
            self._note(node.lineno, "handed on")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._names_it(node):
            self._note(node.lineno, "handed on")
        else:
            self.generic_visit(node)

    def _names_it(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._functions
        return isinstance(node, ast.Attribute) and node.attr == _NAME and ast.unparse(node.value) in self._packages

    def _note(self, line: int, reason: str) -> None:
        self._found.append(SourceOptOut(self._file, line, ".".join(self._inside) or "<module>", reason))


def _said(reason: ast.expr) -> str:
    plain = isinstance(reason, ast.Constant) and isinstance(reason.value, str)
    return str(reason.value) if plain and isinstance(reason, ast.Constant) else ast.unparse(reason)
