"""What might mend a finding of a Triton kernel: edits of its source, none of them trusted before it was proved.

As `proposals`, for calls of ``triton.language``: masks, values for masked lanes, barriers, 64 bits, atomics, one
program, promises that are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ...results import Edit, Finding
from ...results.codes import BETWEEN_BLOCKS, BOUNDS, INSIDE_BLOCK, TV
from .kernel_source import Found, KernelSource

_PLACES: Final = {"load": ("pointer", "mask", "other"), "store": ("pointer", "value", "mask")}
"""Function of triton.language -> its first arguments."""

_USUAL: Final = frozenset({"program_id", "load", "store"})
"""Functions of triton.language that nearly every kernel calls."""

_PROMISES: Final = ("multiple_of", "max_contiguous", "max_constancy")
_MOST_MASKS: Final = 4


@dataclass(frozen=True, slots=True)
class TritonAccess:
    """A ``tl.load`` or ``tl.store``; ``arguments`` by name, positional ones included."""

    node: ast.Call
    name: str
    arguments: dict[str, ast.expr]


class TritonPlace:
    """A finding in the source of a Triton kernel, whose module knows triton.language as ``language``; ``others``: what
    else is wrong with the kernel."""

    def __init__(
        self,
        source: KernelSource,
        function: ast.FunctionDef,
        language: str,
        finding: Finding,
        others: Sequence[Finding],
    ) -> None:
        self.source, self.function, self.language = source, function, language
        self.finding, self.others = finding, others

    def of(self, node: ast.AST) -> str:
        return self.source.of(node)

    def replacing(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return self.source.lines.replacing(node, text)

    def with_argument(self, call: ast.Call, text: str) -> Edit:
        """``text`` behind the other arguments of a call: an insertion, as calls stand in one another."""
        whole = self.replacing(call, "")
        return Edit(whole.end_line, whole.end_column - 1, whole.end_line, whole.end_column - 1, f", {text}")

    def called(self, node: ast.AST) -> str | None:
        """``load`` for ``tl.load(...)``."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr if self.of(node.func.value) == self.language else None
        return None

    def calls(self, *names: str) -> list[ast.Call]:
        found = (node for node in ast.walk(self.function) if isinstance(node, ast.Call) and self.called(node) in names)
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def accesses(self) -> list[TritonAccess]:
        found = []
        for node in self.calls(*_PLACES):
            name = self.called(node) or ""
            arguments = dict(zip(_PLACES[name], node.args, strict=False))
            arguments |= {each.arg: each.value for each in node.keywords if each.arg}
            found.append(TritonAccess(node, name, arguments))
        return found

    def growing(self, accesses: Sequence[TritonAccess]) -> Iterator[list[TritonAccess]]:
        """Those of ``accesses`` that the finding names; that any finding names; all: what changes least first."""
        told: list[list[TritonAccess]] = []
        for findings in ((self.finding,), self.others, None):
            some = [each for each in accesses if findings is None or any(_names(finding, each) for finding in findings)]
            if some and some not in told:
                told.append(some)
                yield some

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All that stand in the function, outer ones first."""
        return [node for node in ast.walk(self.function) if isinstance(node, ast.stmt) and node is not self.function]

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost one."""
        around = [each for each in self.statements if each.lineno <= line <= (each.end_lineno or 0)]
        return max(around, key=lambda each: each.lineno, default=None)

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """Name -> whether it is a ``tl.constexpr``."""
        return {
            each.arg: each.annotation is not None and "constexpr" in self.of(each.annotation)
            for each in self.function.args.args
        }


def _names(finding: Finding, access: TritonAccess) -> bool:
    """Whether one of the finding's sites is this access."""
    node = access.node
    on_lines = [
        site for site in finding.sites if site.line is not None and node.lineno <= site.line <= (node.end_lineno or 0)
    ]
    return any(site.access == access.name for site in on_lines) and any(
        site.column is None or site.line != node.lineno or site.column == node.col_offset for site in on_lines
    )


def triton_place(source: KernelSource, finding: Finding, others: Sequence[Finding]) -> TritonPlace | None:
    """``None`` where no Triton kernel stands at the finding."""
    line = next((site.line for site in finding.sites if site.line is not None), None)
    function = None if line is None else source.function_at(line)
    language = None if function is None else _imported(source.tree) or _calling(function)
    if function is None or language is None or not any("jit" in source.of(each) for each in function.decorator_list):
        return None
    return TritonPlace(source, function, language, finding, others)


def _calling(function: ast.AST) -> str | None:
    """The name in ``tl.program_id(0)`` and the like: a notebook's cell need not import triton.language."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _USUAL:
            return node.value.id
    return None


def _imported(tree: ast.AST) -> str | None:
    """The name under which a module knows triton.language."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            outer = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if f"{outer}{alias.name}" == "triton.language":
                    return alias.asname or alias.name
    return None


def proposed_edits(place: TritonPlace) -> Iterator[tuple[str, str, tuple[Edit, ...], bool]]:
    """Kind, what the edits do, the edits, and whether the changed kernel does in order what it did before."""
    code = place.finding.obligation or place.finding.code
    wraps = place.finding.wraps
    may_wrap = wraps or any("wrap32(" in site.expression for site in place.finding.sites)
    for kind, codes, propose, same in sorted(_PROPOSERS, key=lambda each: wraps and each[0] != "widen-index"):
        if (code in codes and not (wraps and kind == "mask-tail")) or (kind == "widen-index" and may_wrap):
            for text, edits in propose(place):
                yield kind, text, edits, same or (kind == "widen-index" and code == TV.INDEX_WRAPS)


# ------------------------------------------------------------------------------------------------------------ bounds
def _masked(place: TritonPlace) -> Found:
    """Accesses without a mask with one that the kernel has, or with a bound by a scalar that it takes."""
    bare = [each for each in place.accesses if "mask" not in each.arguments]
    for some in place.growing(bare):
        alike = [_mask_beside(place, each) for each in some]
        if all(mask is not None for mask in alike):
            yield _with_masks(place, some, [mask or "" for mask in alike])
        for mask in _masks(place):
            yield _with_masks(place, some, [mask] * len(some))


def _with_masks(
    place: TritonPlace, accesses: Sequence[TritonAccess], masks: Sequence[str]
) -> tuple[str, tuple[Edit, ...]]:
    told = " and ".join(dict.fromkeys(f"`mask={mask}`" for mask in masks))
    edits = (place.with_argument(each.node, f"mask={mask}") for each, mask in zip(accesses, masks, strict=True))
    return told, tuple(edits)


def _offset(place: TritonPlace, pointer: ast.expr) -> frozenset[str]:
    """The summands of a pointer beside the parameter that it begins with."""
    if isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add):
        return _offset(place, pointer.left) | _offset(place, pointer.right)
    text = place.of(pointer)
    return frozenset() if text in place.parameters else frozenset({text})


def _mask_beside(place: TritonPlace, access: TritonAccess) -> str | None:
    """The mask of an access at the same offset."""
    own = _offset(place, access.arguments["pointer"]) if "pointer" in access.arguments else None
    for each in place.accesses:
        if own is not None and "mask" in each.arguments and _offset(place, each.arguments["pointer"]) == own:
            return place.of(each.arguments["mask"])
    return None


def _masks(place: TritonPlace) -> list[str]:
    """Masks of the kernel, then bounds of its offsets by the scalars that it takes; the likeliest first."""
    there = [place.of(each.arguments["mask"]) for each in place.accesses if "mask" in each.arguments]
    pointers = {
        name
        for each in place.accesses
        for node in ast.walk(each.arguments.get("pointer", each.node))
        if isinstance(node, ast.Name) and (name := node.id) in place.parameters
    }
    scalars = [name for name, constant in place.parameters.items() if not constant and name not in pointers]
    lanes = [
        node.targets[0].id
        for node in place.statements
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and any(place.called(part) == "arange" for part in ast.walk(node.value))
    ]
    bounds = [f"{name} < {size}" for name in lanes for size in scalars]
    return list(dict.fromkeys([*there, *bounds]))[:_MOST_MASKS]


def _strict(place: TritonPlace) -> Found:
    """``<`` for ``<=``: a mask that lets one element too many in."""
    loose = [
        node
        for node in ast.walk(place.function)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.LtE)
    ]
    if loose:
        texts = [f"{place.of(each.left)} < {place.of(each.comparators[0])}" for each in loose]
        edits = (place.replacing(each, text) for each, text in zip(loose, texts, strict=True))
        yield " and ".join(f"`{text}`" for text in dict.fromkeys(texts)), tuple(edits)


# -------------------------------------------------------------------------------------------------- values, order, bits
def _filled(place: TritonPlace) -> Found:
    """What a maximum leaves as it is, where the kernel has one; else what a sum does."""
    open_loads = [
        each for each in place.accesses
        if each.name == "load" and "mask" in each.arguments and "other" not in each.arguments
    ]  # fmt: skip
    fills = ["0.0", 'float("-inf")', 'float("inf")']
    if place.calls("max", "argmax") or ".max(" in place.of(place.function):
        fills = [fills[1], fills[0], fills[2]]
    for some in place.growing(open_loads):
        for fill in fills:
            yield f"`other={fill}`", tuple(place.with_argument(each.node, f"other={fill}") for each in some)


def _barriers(place: TritonPlace) -> Found:
    """A barrier before the later access of the finding; before all later ones that findings of order name."""
    tried: list[list[ast.stmt]] = []
    inside = [each for each in (place.finding, *place.others) if (each.obligation or each.code) in INSIDE_BLOCK]
    for findings in ([place.finding], inside):
        lines = {site.line for each in findings for site in each.sites if site.line is not None}
        found = {id(each): each for line in lines if (each := place.statement_at(line)) is not None}
        later = sorted(found.values(), key=lambda each: each.lineno)[1:]
        if later and later not in tried:
            tried.append(later)
            barrier = f"{place.language}.debug_barrier()"
            yield f"`{barrier}`", tuple(place.source.lines.before(each, [barrier]) for each in later)


def _widened(place: TritonPlace) -> Found:
    """Program ids in 64 bits; lanes, too."""
    converted = {
        id(node.func.value)
        for node in ast.walk(place.function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    }
    for names in (("program_id",), ("program_id", "arange")):
        narrow = [node for node in place.calls(*names) if id(node) not in converted]
        wide = [f"{place.of(node)}.to({place.language}.int64)" for node in narrow]
        if narrow:
            edits = (place.replacing(node, text) for node, text in zip(narrow, wide, strict=True))
            yield " and ".join(f"`{text}`" for text in dict.fromkeys(wide)), tuple(edits)


# ------------------------------------------------------------------------------------------------------- programs
def _atomics(place: TritonPlace) -> Found:
    """``tl.store(p, tl.load(p) + v)`` as an atomic."""
    definitions = place.source.definitions(place.function)
    for access in place.accesses:
        value = access.arguments.get("value")
        if access.name != "store" or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        pointer = place.of(access.arguments["pointer"])
        for old, added in ((value.left, value.right), (value.right, value.left)):
            read = definitions.get(old.id, old) if isinstance(old, ast.Name) else old
            if isinstance(read, ast.Call) and place.called(read) == "load" and place.of(read.args[0]) == pointer:
                mask = access.arguments.get("mask")
                masked = "" if mask is None else f", mask={place.of(mask)}"
                text = f"{place.language}.atomic_add({pointer}, {place.of(added)}{masked})"
                yield f"`{text}`", (place.replacing(access.node, text),)


def _in_one_program(place: TritonPlace) -> Found:
    """A store that all programs make, made by the first."""
    for some in place.growing([each for each in place.accesses if each.name == "store"]):
        statements = [place.statement_at(each.node.lineno) for each in some]
        if len(some) == 1 and isinstance(statement := statements[0], ast.Expr) and statement.value is some[0].node:
            condition = f"if {place.language}.program_id(0) == 0:"
            indent = " " * statement.col_offset
            text = f"{condition}\n{indent}    {place.of(statement)}"
            yield f"`{condition}`", (place.replacing(statement, text),)


def _own_elements(place: TritonPlace) -> Found:
    """A program id times a block of another size than the lanes have."""
    constants = [name for name, constant in place.parameters.items() if constant]
    for node in ast.walk(place.function):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        left, right = node.left, node.right
        if place.called(left) == "program_id" and isinstance(right, ast.Constant):
            for name in constants:
                yield f"`{place.of(left)} * {name}`", (place.replacing(right, name),)


# ------------------------------------------------------------------------------------------------------- promises
def _without_promise(place: TritonPlace) -> Found:
    """The promise at fault left out."""
    lines = {site.line for site in place.finding.sites}
    for node in place.calls("assume", *_PROMISES):
        if node.lineno not in lines or not node.args:
            continue
        statement = place.statement_at(node.lineno)
        if place.called(node) != "assume":
            yield f"without `{place.of(node)}`", (place.replacing(node, place.of(node.args[0])),)
        elif isinstance(statement, ast.Expr) and statement.value is node:
            yield f"without `{place.of(node)}`", (place.source.lines.without(statement),)


_Codes = Iterable[str]
_PROPOSERS: Final[tuple[tuple[str, _Codes, Callable[[TritonPlace], Found], bool], ...]] = (
    ("mask-tail", BOUNDS, _strict, False),
    ("mask-tail", (*BOUNDS, TV.RACE_WRITE_WRITE), _masked, False),
    ("pad-load", (TV.UNDETERMINED,), _filled, False),
    ("order-accesses", INSIDE_BLOCK, _barriers, True),
    ("widen-index", (TV.INDEX_WRAPS,), _widened, False),
    ("use-atomic", BETWEEN_BLOCKS, _atomics, False),
    ("split-output-index", BETWEEN_BLOCKS, _own_elements, False),
    ("one-block", (TV.RACE_WRITE_WRITE,), _in_one_program, False),
    ("keep-promise", (TV.ASSUME_PROMISE,), _without_promise, True),
)
"""Kind, the findings it is for, how it is proposed, and whether the changed kernel does what it did before."""
