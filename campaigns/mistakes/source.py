"""Mistakes that people make in the source of a cuTile kernel, one at a time.

Each kind of mistake is a function that finds all its places in the kernel and in the functions of the file that the
kernel calls.  Some changes do not compile, and some change nothing: whoever judges them drops those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, TypeAlias

from .text import Change, Text, inside

_INDEXED: Final = {"load": 1, "store": 1, "gather": 1, "scatter": 1, "store_advanced_indexing": 1}
"""Functions that touch memory, with the place of their index; so are all atomics."""
_SHAPED: Final = {"load": 2}
_CHECKED: Final = ("load", "store", "gather", "scatter")
"""Functions that check bounds unless they are told otherwise."""
_LOOSER: Final = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass(frozen=True)
class Kernel:
    """A kernel in the text of its file."""

    text: Text
    name: str

    @cached_property
    def functions(self) -> tuple[ast.FunctionDef, ...]:
        """The kernel and, behind it, what it calls."""
        tree = ast.parse(self.text.text)
        known = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
        wanted = [self.name.rpartition(".")[2]]
        for name in wanted:
            called = (each.id for each in inside(known[name]) if isinstance(each, ast.Name))
            wanted += [each for each in dict.fromkeys(called) if each in known and each not in wanted]
        return tuple(known[name] for name in wanted)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(node for function in self.functions for each in function.body for node in inside(each))

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """What the kernel touches memory of by a plain name."""
        touched = (arguments.get("array") for _, _, arguments in self.accesses())
        return tuple(dict.fromkeys(each.id for each in touched if isinstance(each, ast.Name)))

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """Parameters that are compiled in, by the annotation of the kernel."""
        parameters = self.functions[0].args.args
        return tuple(each.arg for each in parameters if each.annotation and "Const" in ast.unparse(each.annotation))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        yield from (
            node for node in self.nodes if isinstance(node, ast.Call) and (called(node) in names or names == ())
        )

    def accesses(self) -> Iterator[tuple[ast.Call, str, dict[str, ast.expr]]]:
        """Calls that touch memory, with array, index and shape by name, where they are written down."""
        for call in self.calls():
            name = called(call)
            if name in _INDEXED or name.startswith("atomic_"):
                found = {each.arg: each.value for each in call.keywords if each.arg}
                found.setdefault("array", call.args[0]) if call.args else None
                index = found.get("index", found.get("indices"))
                if index is None and len(call.args) > 1:
                    index = call.args[1]
                if index is not None:
                    found["index"] = index
                if name in _SHAPED and "shape" not in found and len(call.args) > _SHAPED[name]:
                    found["shape"] = call.args[_SHAPED[name]]
                yield call, name, found

    def indices(self) -> Iterator[ast.Tuple]:
        """The index of each access, where it is a tuple."""
        for _, _, arguments in self.accesses():
            index = arguments.get("index")
            if isinstance(index, ast.Tuple):
                yield index


def called(call: ast.Call) -> str:
    """``load`` of ``ct.load(...)``; empty for any other call."""
    function = call.func
    owner = function.value if isinstance(function, ast.Attribute) else None
    return function.attr if isinstance(function, ast.Attribute) and isinstance(owner, ast.Name) else ""


Maker: TypeAlias = Callable[[Kernel], Iterator[Change]]


# -------------------------------------------------------------------------------------------- which element
def swapped_indices(kernel: Kernel) -> Iterator[Change]:
    for index in kernel.indices():
        for first, second in combinations(index.elts, 2):
            if kernel.text.of(first) != kernel.text.of(second):
                yield _swapped("swapped-index", kernel, index, first, second)


def _swapped(kind: str, kernel: Kernel, outer: ast.expr, first: ast.expr, second: ast.expr) -> Change:
    texts = {first: kernel.text.of(second), second: kernel.text.of(first)}
    return kernel.text.with_parts(kind, outer, texts)


def wrong_axis(kernel: Kernel) -> Iterator[Change]:
    """Another axis of the grid, of an array's tiles, of a shape."""
    for node in kernel.nodes:
        place: ast.expr | None = None
        if isinstance(node, ast.Call) and called(node) in ("bid", "num_blocks") and node.args:
            place = node.args[0]
        elif isinstance(node, ast.Call) and called(node) == "num_tiles":
            place = next(iter([*(each.value for each in node.keywords if each.arg == "axis"), *node.args[1:2]]), None)
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr in ("shape", "strides")
        ):
            place = node.slice
        if isinstance(place, ast.Constant) and isinstance(place.value, int):
            for axis in {0, 1, place.value + 1, place.value - 1} - {place.value}:
                if 0 <= axis <= 3:
                    yield kernel.text.replaced("wrong-axis", place, str(axis))


def off_by_one(kernel: Kernel) -> Iterator[Change]:
    """An index one too far, tiles counted from below, a lane too many, ``<=`` for ``<``."""
    for index in kernel.indices():
        for part in index.elts:
            if not isinstance(part, ast.Slice):
                yield _further("off-by-one", kernel, part)
    for call in kernel.calls("arange", "bid"):
        yield _further("off-by-one", kernel, call)
    for node in kernel.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _LOOSER:
            left, right = map(kernel.text.of, (node.left, node.comparators[0]))
            yield kernel.text.replaced("off-by-one", node, f"{left} {_LOOSER[type(node.ops[0])]} {right}")


def _further(kind: str, kernel: Kernel, node: ast.expr) -> Change:
    text = kernel.text.of(node)
    return kernel.text.replaced(kind, node, f"({text} + 1)")


def wrong_array(kernel: Kernel) -> Iterator[Change]:
    for _, _, arguments in kernel.accesses():
        array = arguments.get("array")
        for other in kernel.arrays:
            if isinstance(array, ast.Name) and other != array.id:
                yield kernel.text.replaced("wrong-array", array, other)


def quotient_and_remainder(kernel: Kernel) -> Iterator[Change]:
    """``//`` and ``%`` mixed up, and divisors of each other."""
    divisions = [
        node for node in kernel.nodes if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod))
    ]
    for node in divisions:
        left, right = map(kernel.text.of, (node.left, node.right))
        this, other = ("//", "%") if isinstance(node.op, ast.FloorDiv) else ("%", "//")
        yield kernel.text.replaced("divisor", node, f"{left} {other} {right}")
        for divisor in dict.fromkeys(kernel.text.of(each.right) for each in divisions):
            if divisor != right:
                yield kernel.text.replaced("divisor", node, f"{left} {this} {divisor}")


# ------------------------------------------------------------------------------------------------- tiles
def wrong_tile(kernel: Kernel) -> Iterator[Change]:
    """The shape of a tile turned round, or another tile's size in it or in an offset; half a tile, or two."""
    for _, _, arguments in kernel.accesses():
        shape = arguments.get("shape")
        if isinstance(shape, ast.Tuple):
            for first, second in combinations(shape.elts, 2):
                if kernel.text.of(first) != kernel.text.of(second):
                    yield _swapped("tile-size", kernel, shape, first, second)
    for node in kernel.nodes:
        if isinstance(node, ast.Name) and node.id in kernel.constants:
            for other in kernel.constants:
                if other != node.id:
                    yield kernel.text.replaced("tile-size", node, other)
            yield kernel.text.replaced("tile-size", node, f"(2 * {node.id})")
            yield kernel.text.replaced("tile-size", node, f"({node.id} // 2)")


def forgotten_factors(kernel: Kernel) -> Iterator[Change]:
    """Offsets that count tiles where they should count elements."""
    for node in kernel.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, ast.Name) and other.id in kernel.constants:
                    yield kernel.text.replaced("stride", node, f"({kernel.text.of(side)})")


def rounded_down(kernel: Kernel) -> Iterator[Change]:
    """``n // T`` for ``cdiv(n, T)`` and the other way round: tiles that do not divide."""
    for call in kernel.calls("cdiv"):
        first, second = map(kernel.text.of, call.args)
        yield kernel.text.replaced("rounding", call, f"({first} // ({second}))")
    for node in kernel.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            rounded = f"ct.cdiv({kernel.text.of(node.left)}, {kernel.text.of(node.right)})"
            yield kernel.text.replaced("rounding", node, rounded)


# ------------------------------------------------------------------------------------------------ guards
def dropped_masks(kernel: Kernel) -> Iterator[Change]:
    """A mask, a side of it, a bounds check, a clamp of lanes."""
    for call, _, _ in kernel.accesses():
        yield from _without(kernel, call, "mask", "dropped-mask")
    for node in kernel.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            for side in (node.left, node.right):
                yield kernel.text.replaced("dropped-mask", node, f"({kernel.text.of(side)})")
        if isinstance(node, ast.Call) and called(node) == "where" and len(node.args) == 3:
            yield kernel.text.replaced("dropped-mask", node, f"({kernel.text.of(node.args[1])})")
        if isinstance(node, ast.Call) and called(node) in ("minimum", "maximum") and len(node.args) == 2:
            yield kernel.text.replaced("dropped-mask", node, f"({kernel.text.of(node.args[0])})")
    for call, name, _ in kernel.accesses():
        if name in _CHECKED and not any(each.arg == "check_bounds" for each in call.keywords):
            yield _call("unchecked", kernel, call, further="check_bounds=False")


def dropped_padding(kernel: Kernel) -> Iterator[Change]:
    for call in kernel.calls():
        for keyword in ("padding_mode", "padding_value"):
            yield from _without(kernel, call, keyword, "dropped-padding")


def _without(kernel: Kernel, call: ast.Call, name: str, kind: str) -> Iterator[Change]:
    if any(each.arg == name for each in call.keywords):
        yield _call(kind, kernel, call, left_out=name)


def _call(kind: str, kernel: Kernel, call: ast.Call, left_out: str = "", further: str = "") -> Change:
    """The call without a keyword, or with one more."""
    kept = [f"{each.arg}={kernel.text.of(each.value)}" for each in call.keywords if each.arg != left_out]
    parts = [*map(kernel.text.of, call.args), *kept, *([further] if further else [])]
    return kernel.text.replaced(kind, call, f"{kernel.text.of(call.func)}({', '.join(parts)})")


def dropped_guards(kernel: Kernel) -> Iterator[Change]:
    """``if`` without its condition, one side of an ``and``, an early ``return`` that does not come."""
    for node in kernel.nodes:
        if isinstance(node, ast.If):
            leaves = len(node.body) == 1 and isinstance(node.body[0], (ast.Return, ast.Continue, ast.Break))
            yield kernel.text.replaced("dropped-guard", node.test, "False" if leaves else "True")
        if isinstance(node, ast.BoolOp) and len(node.values) == 2:
            for side in node.values:
                yield kernel.text.replaced("dropped-guard", node, f"({kernel.text.of(side)})")


# ------------------------------------------------------------------------------------------------- loops
def wrong_loops(kernel: Kernel) -> Iterator[Change]:
    """A round too many, a start or a step that was forgotten."""
    for node in kernel.nodes:
        ranged = node.iter if isinstance(node, ast.For) else None
        if not (isinstance(ranged, ast.Call) and isinstance(ranged.func, ast.Name) and ranged.func.id == "range"):
            continue
        texts = [kernel.text.of(each) for each in ranged.args]
        stop = min(1, len(texts) - 1)

        def of(*parts: str) -> Change:
            return kernel.text.replaced("loop-bound", ranged, f"range({', '.join(parts)})")  # noqa: B023

        yield of(*texts[:stop], f"{texts[stop]} + 1", *texts[stop + 1 :])
        if len(texts) > 1:
            yield of("0", *texts[1:])
            yield of(texts[0], texts[1], *["1"] * (len(texts) > 2))
            yield of(f"{texts[0]} + 1", *texts[1:])
        if len(texts) > 2:
            yield of(texts[0], texts[1], "2")


# ------------------------------------------------------------------------------------------------- order
def without_atomics(kernel: Kernel) -> Iterator[Change]:
    """A plain store for an atomic addition, an order or a scope that is too weak."""
    for node in kernel.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value).startswith("atomic_"):
            parts = [kernel.text.of(each) for each in node.value.args[:3]]
            yield kernel.text.replaced("no-atomic", node.value, f"ct.scatter({', '.join(parts)})")
    for call in kernel.calls():
        for keyword in call.keywords:
            weaker = {"memory_order": "ct.MemoryOrder.RELAXED", "memory_scope": "ct.MemoryScope.BLOCK"}
            becomes = weaker.get(keyword.arg or "")
            if becomes and kernel.text.of(keyword.value) != becomes:
                yield kernel.text.replaced("weak-order", keyword.value, becomes)


MAKERS: Final[tuple[Maker, ...]] = (
    swapped_indices,
    wrong_axis,
    off_by_one,
    wrong_array,
    quotient_and_remainder,
    wrong_tile,
    forgotten_factors,
    rounded_down,
    dropped_masks,
    dropped_padding,
    dropped_guards,
    wrong_loops,
    without_atomics,
)


def mistakes(text: str, kernel: str) -> Iterator[Change]:
    """Every mistake that fits somewhere, each once."""
    made = Kernel(Text(text), kernel)
    known: set[tuple[int, int, str]] = set()
    for maker in MAKERS:
        for change in maker(made):
            place = (change.begin, change.end, change.becomes)
            if place not in known and change.was != change.becomes:
                known.add(place)
                yield change
