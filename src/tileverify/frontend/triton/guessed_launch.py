"""What the parameters of a Triton kernel may be, where nobody says it: read off the source.

A kernel's text gives its parameters no types.  Those that an access goes through are pointers, others scalars; of
arrays whose elements reach an address the elements are taken for integers, of others for floats.  Compile-time
constants have their defaults, or the values of the first configuration of ``@triton.autotune``; options of the
compiler are small.  A parameter with
methods of a tensor descriptor is one; along each axis its block is the constant that the index there is made of.  All
of it is a guess, and told as one.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .inductor import element_type, is_inductor

_ACCESSES: Final = ("load", "store")
_BLOCK: Final = 128
"""What a constant is taken for that has no value anywhere: most are extents of a block."""
_OPTIONS: Final[Mapping[str, int]] = {"num_stages": 3, "num_warps": 4, "num_ctas": 1, "loop_unroll_factor": 2}
"""What those are taken for that are options of the compiler, by the keyword that takes them."""
_OPTION: Final = re.compile(r"(?:.*_)?(stages|warps|ctas|unroll_factor)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GuessedParameters:
    """``pointers``: the element type of each pointer; ``descriptors``: the block of each tensor descriptor;
    ``constants``: the values that are compiled in; ``words``: what Triton calls the types of parameters that are
    known."""

    pointers: Mapping[str, str]
    descriptors: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, object]
    words: Mapping[str, str] = field(default_factory=dict)


def guessed_parameters(function: Any, decorated: object) -> GuessedParameters:
    """A guess for ``function``, Triton's `JITFunction`; ``decorated`` is what stands in the module under its name."""
    if is_inductor(decorated):
        signature = {name: str(word) for name, word in decorated.triton_meta["signature"].items()}
        pointers = {name: element_type(word) for name, word in signature.items() if word.startswith("*")}
        constants = {**decorated.triton_meta.get("constants", {}), **decorated.configs[0].kwargs}
        return GuessedParameters(pointers, {}, constants, signature)
    use = _PointerUse(function)
    names = [parameter.name for parameter in function.params if not parameter.is_constexpr]
    pointers = {name: "i32" if name in use.indices else "f32" for name in names if name in use.pointers}
    chosen: dict[str, object] = next((dict(each.kwargs) for each in configurations(decorated)), {})
    constants = {
        each.name: chosen.get(each.name, each.default if each.has_default else use.usual(each.name))
        for each in function.params
        if each.is_constexpr
    }
    descriptors = {
        name: tuple(_extent(constants, axis) for axis in axes)
        for name, axes in use.descriptors.items()
        if name in names
    }
    plain = {name: element for name, element in pointers.items() if name not in descriptors}
    return GuessedParameters(plain, descriptors, constants)


def _extent(constants: Mapping[str, object], axis: int | str | None) -> int:
    value = constants.get(axis) if isinstance(axis, str) else axis
    return value if isinstance(value, int) else _BLOCK


def configurations(decorated: object) -> Sequence[Any]:
    """What ``@triton.autotune`` chooses from (`triton.Config`), if it stands above the kernel."""
    while decorated is not None:
        found: Sequence[Any] | None = getattr(decorated, "configs", None)
        if found:
            return found
        decorated = getattr(decorated, "fn", None) if type(decorated).__module__.startswith("triton.") else None
    return ()


@dataclass
class _PointerUse:
    """Which parameters are ``pointers``, and which of them hold ``indices`` or flags, by the accesses of a text.

    ``callers``: functions that call this one, which it may call in turn.

    ``descriptors``: of each tensor descriptor, axis by axis, the extent of its block or the constant that gives it.
    """

    function: Any
    callers: tuple[Any, ...] = ()
    pointers: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    descriptors: dict[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    _options: dict[str, int] = field(default_factory=dict)
    _values: dict[str, list[ast.expr]] = field(default_factory=dict)
    _names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        tree = ast.parse(textwrap.dedent(self.function.src)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self._names = tuple(argument.arg for argument in tree.args.args)
        for node in ast.walk(tree):
            for target, value in _bindings(node):
                self._values.setdefault(target, []).append(value)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(node)

    def usual(self, constant: str) -> int:
        """The guess for a constant: by the compiler option that it sets, then by its name."""
        named = _OPTION.fullmatch(constant)
        option = next((each for each in _OPTIONS if named is not None and each.endswith(named[1].lower())), "")
        return self._options.get(constant, _OPTIONS.get(option, _BLOCK))

    def _call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if (option := keyword.arg or "") in _OPTIONS and isinstance(keyword.value, ast.Name):
                self._options[keyword.value.id] = _OPTIONS[option]
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        self._descriptor(node)
        for place in self._places(node):
            roots = set(self._roots(place, frozenset()))
            self.pointers |= roots
            if called.startswith("atomic_") and called != "atomic_add":
                self.indices |= roots  # most locks and flags are integers
            self._note_indices(place)

    def _places(self, node: ast.Call) -> Iterator[ast.expr]:
        """The pointers that a call goes through: its own, or those of a helper."""
        called = node.func
        if isinstance(called, ast.Attribute) and (called.attr in _ACCESSES or called.attr.startswith("atomic_")):
            in_language = isinstance(called.value, ast.Name) and called.value.id not in self._values
            yield from node.args[:1] if in_language else [called.value]
        elif isinstance(called, ast.Name):
            inner = self._helper(called.id)
            if inner is not None:
                yield from (
                    value for name, value in zip(inner._names, node.args, strict=False) if name in inner.pointers
                )

    def _descriptor(self, node: ast.Call) -> None:
        """Note a parameter that a method of tensor descriptors is called of, or a helper that calls one."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=called), attr=method), args=[ast.List(elts=axes), *_]):
                if method in _ACCESSES or method.startswith("atomic_"):
                    self._note_descriptor(called, tuple(map(self._axis, axes)))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=called), attr="gather"), args=[rows, column]):
                if self._note_descriptor(called, (1, self._axis(column))):
                    self._note_indices(rows)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=called), attr="scatter"), args=[_, rows, column]):
                if self._note_descriptor(called, (1, self._axis(column))):
                    self._note_indices(rows)
            case ast.Call(func=ast.Name(id=called)) if (inner := self._helper(called)) is not None:
                given = dict(zip(inner._names, node.args, strict=False))
                for parameter, block in inner.descriptors.items():
                    passed = given.get(parameter)
                    if isinstance(passed, ast.Name):
                        self._note_descriptor(passed.id, tuple(self._given(extent, given) for extent in block))

    def _given(self, extent: int | str | None, given: Mapping[str, ast.expr]) -> int | str | None:
        """An extent of a helper's descriptor in the words of its caller."""
        return self._axis(given[extent]) if isinstance(extent, str) and extent in given else extent

    def _helper(self, name: str) -> _PointerUse | None:
        """The function of ``@triton.jit`` that the kernel calls by ``name``."""
        helper, callers = self.function.fn.__globals__.get(name), (*self.callers, self.function)
        known = hasattr(helper, "src") and not any(helper is each for each in callers)
        return _PointerUse(helper, callers) if known else None

    def _note_descriptor(self, name: str, axes: tuple[int | str | None, ...]) -> bool:
        """Whether ``name`` is a parameter, or a local name of one."""
        match self._values.get(name):
            case None if name in self._names:
                self.descriptors.setdefault(name, axes)
                return True
            case [ast.Name(id=other)] if other != name:
                return self._note_descriptor(other, axes)
        return False

    def _note_indices(self, node: ast.expr) -> None:
        for loaded in self._loaded(node, frozenset()):
            self.indices |= set(self._roots(loaded, frozenset()))

    def _axis(self, index: ast.expr) -> str | None:
        """The constant that an index along one axis is made of (``pid * BLOCK``, a loop in steps of ``BLOCK``); another
        parameter where there is none, whose value a caller may know."""
        seen: dict[str, None] = {}
        waiting: list[ast.expr] = [index]
        while waiting:
            for part in ast.walk(waiting.pop()):
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen[part.id] = None
                    waiting += self._values.get(part.id, ())
        constants = {parameter.name for parameter in self.function.params if parameter.is_constexpr}
        return next((name for known in (constants, self._names) for name in seen if name in known), None)

    def _roots(self, node: ast.expr, seen: frozenset[str]) -> Iterator[str]:
        """The parameters that ``node`` may be a pointer into."""
        match node:
            case ast.Name(id=name) if name in self._values and name not in seen:
                for value in self._values[name]:
                    yield from self._roots(value, seen | {name})
                if name in self._names:
                    yield name
            case ast.Name(id=name) if name in self._names and name not in self._values:
                yield name
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                found = list(self._roots(left, seen))
                yield from found or self._roots(right, seen)
            case ast.BinOp(left=left, op=ast.Sub()):
                yield from self._roots(left, seen)
            case ast.Subscript(value=value) | ast.Attribute(value=value):
                yield from self._roots(value, seen)
            case ast.IfExp(body=first, orelse=second):
                yield from (*self._roots(first, seen), *self._roots(second, seen))
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name not in _ACCESSES:
                if name in (
                    "make_block_ptr",
                    "make_tensor_descriptor",
                    "advance",
                    "cast",
                    "multiple_of",
                    "broadcast_to",
                ):
                    yield from self._roots(first, seen)
            case ast.Call(func=ast.Attribute(value=value, attr="to")):
                yield from self._roots(value, seen)

    def _loaded(self, node: ast.expr, seen: frozenset[str]) -> Iterator[ast.expr]:
        """The places of loads whose values are part of ``node``."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "load":
                yield from part.args[:1]
            elif isinstance(part, ast.Name) and part.id in self._values and part.id not in seen:
                for value in self._values[part.id]:
                    yield from self._loaded(value, seen | {part.id})


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, with their values."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from _pairs(target.elts, node.value.elts)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, ast.BinOp(ast.Name(node.target.id), node.op, node.value)
    elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        yield node.target.id, node.iter
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def _pairs(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    for target, value in zip(targets, values, strict=False):
        if isinstance(target, ast.Name):
            yield target.id, value
