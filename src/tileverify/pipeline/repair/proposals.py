"""What might mend a finding: edits of the source, none of them trusted before it was proved.

Each function proposes edits of one kind (`catalogue.KINDS`) for one finding, the likeliest first: what an edit does,
and the edit itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from ...results import Edit, Finding
from ...results.codes import TV
from .accumulating import ValueParts, accumulations, as_atomic, summed_by_atomic
from .catalogue import KINDS
from .guards import (
    Guards,
    edits_of,
    fills,
    guard_access,
    is_only_summed,
    modes,
    return_anyway,
    return_early,
    unpadded_loads,
    with_fill,
    with_padding,
)
from .kernel_source import FaultyPlace, Found, KernelSource, TileCall
from .triton_proposals import proposed_edits, triton_place

# ------------------------------------------------------------------------------------------------------- code proposals
# Edits of sources of which the assembler makes other code than their bytecode says.


_KEPT: Final = frozenset({"memory_order", "memory_scope", "check_bounds"})
_GONE: Final = frozenset({"index", "shape", "tile", "latency", "allow_tma"})
"""Keywords that an atomic does without."""


def access_by_atomic(place: FaultyPlace) -> Found:
    """Scoped loads and stores as atomics that do the same: those at fault, those of all findings, all of the kernel."""
    atomics = {
        id(call.node): (call, text)
        for call in place.source.calls(place.function)
        if (text := _atomic(place, call)) is not None
    }
    for nodes in place.growing([call.node for call, _ in atomics.values()]):
        chosen = [atomics[id(node)] for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))]
        edits: tuple[Edit, ...] = tuple(place.replacing(call.node, text) for call, text in chosen)
        yield " and ".join(dict.fromkeys(f"`{text}`" for _, text in chosen)), edits


def _atomic(place: FaultyPlace, call: TileCall) -> str | None:
    """``atomic_add`` of nothing for a scoped load of one element, ``atomic_xchg`` for a scoped store; else ``None``."""
    keywords = {each.arg: place.of(each.value) for each in call.node.keywords if each.arg is not None}
    order = keywords.get("memory_order", "WEAK")
    if call.index is None or order.endswith("WEAK") or not keywords.keys() <= _KEPT | _GONE:
        return None
    kept = "".join(f", {name}={text}" for name, text in keywords.items() if name in _KEPT)
    target = f"{place.of(call.arguments['array'])}, {place.of(call.index)}"
    module = place.source.module
    if call.name == "load" and _is_single(call.arguments.get("shape")):
        return f"{module}.atomic_add({target}, 0{kept})"
    if call.name == "store" and "tile" in call.arguments:
        return f"{module}.atomic_xchg({target}, {place.of(call.arguments['tile'])}{kept})"
    return None


def _is_single(shape: ast.expr | None) -> bool:
    parts = shape.elts if isinstance(shape, ast.Tuple) else () if shape is None else (shape,)
    return shape is not None and all(isinstance(part, ast.Constant) and part.value == 1 for part in parts)


# ------------------------------------------------------------------------------------------------------------ proposals


@dataclass(frozen=True, slots=True)
class Proposal:
    """``text`` completes the kind's advice: what the edit does.  ``same_results``: run in order, the changed kernel
    does what it did before; without that somebody has to say whether the change is meant."""

    kind: str
    text: str
    edits: tuple[Edit, ...]
    same_results: bool


def proposals(source: KernelSource, finding: Finding, others: Sequence[Finding] = ()) -> Iterator[Proposal]:
    """Every edit that is worth a try, what changes least first; ``others``: what else is wrong with the kernel, and is
    best mended at once."""
    place = _place(source, finding, others)
    if (in_triton := triton_place(source, finding, others)) is not None:
        yield from (Proposal(*each) for each in proposed_edits(in_triton))
        return
    if place is None:
        return
    code = finding.obligation or finding.code
    for kind, propose, same in sorted(_PROPOSERS, key=lambda each: finding.wraps and each[0] != "widen-index"):
        if {code, finding.code} & {*KINDS[kind].codes} and not (finding.wraps and kind == "mask-tail"):
            yield from (Proposal(kind, text, edits, same(place)) for text, edits in propose(place))


def _place(source: KernelSource, finding: Finding, others: Sequence[Finding]) -> FaultyPlace | None:
    line = next((site.line for site in finding.sites if site.line is not None), None)
    function = source.function_at(line) if line is not None and source.module else None
    if function is None:
        return None
    named = [call for each in (finding, *others) for call in _calls(source, function, each)]
    codes = frozenset(each.obligation or each.code for each in (finding, *others))
    return FaultyPlace(source, function, finding, _once(_calls(source, function, finding)), _once(named), codes)


def _calls(source: KernelSource, function: ast.FunctionDef, finding: Finding) -> Iterator[TileCall]:
    for site in finding.sites:
        call = None if site.line is None else source.call_at(function, site.line, site.column)
        if call is not None:
            yield call


def _once(calls: Iterable[TileCall]) -> tuple[TileCall, ...]:
    return tuple({id(call.node): call for call in calls}.values())


# ------------------------------------------------------------------------------------------------ atomics
def _use_atomic(place: FaultyPlace) -> Found:
    """All accumulations that findings name, together; those of this finding; all of the function."""
    every = [call for call in place.source.calls(place.function) if call.name in ("store", "scatter")]
    named = [call for call in every if any(call.node is each.node for each in place.named)]
    tried: list[list[ast.expr]] = []
    told: list[list[str]] = []
    for writes in (named, place.accesses, every):
        found = accumulations(place.source, place.function, writes)
        nodes: list[ast.expr] = [each.write.node for each in found]
        if nodes and nodes not in tried:
            tried.append(nodes)
            for by_tiles in (False, True):  # a tile of one element is none of none: only one of the two may fit
                atomic = [as_atomic(place.source, each, by_tiles=by_tiles) for each in found]
                done = [each for each in atomic if each is not None]
                texts = [f"`{text}`" for text, _ in done]
                if len(done) == len(atomic) and texts not in told:
                    told.append(texts)
                    text = " and ".join(texts)
                    if not _of_single_lanes(place):
                        text += ", which counts every one of the lanes that meet, where the kernel counts one"
                    yield text, tuple(edit for _, edits in done for edit in edits)


def _store_by_atomic(place: FaultyPlace) -> Found:
    """What blocks store one over the other is a part of a sum (split-K)."""
    for access in place.accesses:
        for text, edits in summed_by_atomic(place.source, place.function, access):
            yield f"`{text}`", edits


def _widen_scope(place: FaultyPlace) -> Found:
    narrow = [
        node
        for node in ast.walk(place.function)
        if isinstance(node, ast.Attribute) and node.attr == "BLOCK" and "MemoryScope" in place.of(node)
    ]
    for some in place.growing(narrow):
        yield "DEVICE for BLOCK", tuple(_last_part(place, node, "DEVICE") for node in some)


def _strengthen_order(place: FaultyPlace) -> Found:
    """The accesses of one array as strong as their kind may be, where their order is weak; those of all arrays; all."""
    module = place.source.module
    strongest = {"load": "ACQUIRE", "store": "RELEASE"}
    weak: dict[str, list[Edit]] = {}
    all_of_them = []
    for call in place.source.calls(place.function):
        for keyword in call.node.keywords:
            if keyword.arg == "memory_order":
                order = f"{module}.MemoryOrder.{strongest.get(call.name, 'ACQ_REL')}"
                edit = place.replacing(keyword.value, order)
                all_of_them.append(edit)
                if place.of(keyword.value).endswith(("RELAXED", "WEAK")):
                    weak.setdefault(place.of(call.arguments["array"]), []).append(edit)
    together = [edit for edits in weak.values() for edit in edits]
    for edits in dict.fromkeys(map(tuple, (*weak.values(), together, all_of_them))):
        if edits:
            yield "acquire, release, or both for atomics", edits


def _last_part(place: FaultyPlace, node: ast.Attribute, name: str) -> Edit:
    return place.replacing(node, f"{place.of(node.value)}.{name}")


# ------------------------------------------------------------------------------------------------- bounds
def _mask_tail(place: FaultyPlace) -> Found:
    """The accesses at fault checked; those of all findings; all of the function."""
    calls = [node for node in ast.walk(place.function) if isinstance(node, ast.Call)]
    promises = [promise for promise in map(_unchecked, calls) if promise is not None]
    for some in place.growing(promises):
        yield "without check_bounds=False", tuple(place.replacing(each, "True") for each in some)


def _unchecked(node: ast.Call) -> ast.expr | None:
    """The False of ``check_bounds=False``."""
    given = [each.value for each in node.keywords if each.arg == "check_bounds"]
    return next((each for each in given if isinstance(each, ast.Constant) and each.value is False), None)


# ------------------------------------------------------------------------------------------------- indices
def _split_output_index(place: FaultyPlace) -> Found:
    for store in place.accesses:
        if store.name not in ("store", "scatter", "atomic_xchg"):
            continue
        parts = [part for component in store.components for part in place.parts(component)]
        for part in parts:
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv | ast.Mod):
                yield _instead(place, part, place.of(part.left))
        yield from _own_component(place, store, {place.of(part) for part in parts})
        yield from _own_stride(place, parts)
        if _is_in_place(place, store):
            continue  # a transposition in place would become one of each tile
        for one, other in combinations(store.components, 2):
            first, second = place.of(one), place.of(other)
            edits = (place.replacing(one, second), place.replacing(other, first))
            yield f"`{first}` and `{second}` in each other's place", edits


def _is_in_place(place: FaultyPlace, store: TileCall) -> bool:
    """Whether the kernel loads from the array that ``store`` writes to."""
    array = place.of(store.arguments["array"])
    calls = place.source.calls(place.function)
    return any(each.name in ("load", "gather") and place.of(each.arguments["array"]) == array for each in calls)


def _in_one_block(place: FaultyPlace) -> Found:
    """A store that no block id tells apart, of what no block loads for itself, by the first block alone."""
    guards, names = Guards(place.source, place.function), ValueParts(place.source, place.function)
    ids = place.source.block_ids(place.function)
    first = " and ".join(f"{block} == 0" for _, block in sorted(ids.items()))
    for store in place.accesses:
        value = store.arguments.get({"store": "tile", "scatter": "value"}.get(store.name, ""))
        if value is None or not first or any(names.axes(component) for component in store.components):
            continue
        loads = [call for part in names.parts(value) for call in place.source.calls(part) if call.node is part]
        array = place.of(store.arguments["array"])
        own = any(place.of(load.arguments["array"]) == array or any(map(names.axes, load.components)) for load in loads)
        found = None if own else guards.around(store.node, first)
        if found is not None:
            yield f"`if {first}` around it", edits_of(place.source, [found])


def _mask_lanes(place: FaultyPlace) -> Found:
    """A scatter with the mask of the gather that its index comes from: masked lanes have one index, the padding."""
    for scatter in place.accesses:
        if scatter.name != "scatter" or any(each.arg == "mask" for each in scatter.node.keywords):
            continue
        parts = [part for component in scatter.components for part in place.parts(component)]
        gathers = [call for part in parts for call in place.source.calls(part) if call.node is part]
        masks = [each.value for call in gathers for each in call.node.keywords if each.arg == "mask"]
        text = place.of(scatter.node)
        for mask in dict.fromkeys(map(place.of, masks)):
            yield f"`mask={mask}`", (place.replacing(scatter.node, f"{text[:-1].rstrip().rstrip(',')}, mask={mask})"),)


def _own_component(place: FaultyPlace, store: TileCall, used: set[str]) -> Found:
    """A block id that the index lacks, where it has a constant; an index without what is added to it."""
    for component in store.components:
        if isinstance(component, ast.Constant):
            for block in place.source.block_ids(place.function).values():
                if block not in used:
                    yield _instead(place, component, block)
        elif isinstance(component, ast.BinOp) and isinstance(component.op, ast.Add | ast.Sub):
            yield _instead(place, component, place.of(component.left))


def _own_stride(place: FaultyPlace, parts: list[ast.expr]) -> Found:
    """``block * (the number of lanes) + lanes``."""
    lanes = [part for part in parts if isinstance(part, ast.Call) and place.source.called(part) == "arange"]
    for length in dict.fromkeys(place.of(each.args[0]) for each in lanes if each.args):
        for part in parts:
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) and place.of(part.right) != length:
                yield _instead(place, part.right, length)


def _instead(place: FaultyPlace, node: ast.expr, text: str) -> tuple[str, tuple[Edit, ...]]:
    return f"`{text}` for `{place.of(node)}`", (place.replacing(node, text),)


def _widen_index(place: FaultyPlace) -> Found:
    """The products of an index; the block ids in it; both, and its lanes.  Where the kernel is right but for large
    arrays, those of all findings at once."""
    large = _is_of_large_arrays(place)
    accesses = place.named if large else place.accesses
    every = [part for access in accesses for component in access.components for part in place.parts(component)]
    parts = list({id(part): part for part in every}.values())
    ids = [part for part in parts if place.source.axis_of(part) is not None]
    factors = [factor for part in parts if (factor := _factor(place, part)) is not None]
    lanes = [lane for part in parts if (lane := _narrow_lanes(place, part)) is not None]
    tried = [("block ids", ids), ("products", factors)]
    for text, wide in tried[::-1] if large else tried:
        if wide:
            yield f"{text} in 64 bits", _widened(place, wide, ())
    if lanes:
        yield "block ids, products and lanes in 64 bits", _widened(place, [*ids, *factors], lanes)


def _widened(place: FaultyPlace, nodes: Sequence[ast.expr], types: Sequence[ast.expr]) -> tuple[Edit, ...]:
    """``nodes`` as integers of 64 bits, and the same in place of ``types``."""
    wide = f"{place.source.module}.int64"
    within = {id(part) for node in nodes for part in ast.walk(node) if part is not node}
    outer = {id(node): node for node in nodes if id(node) not in within}
    widened = (
        place.replacing(each, f"{place.source.module}.astype({place.of(each)}, {wide})") for each in outer.values()
    )
    return (*widened, *(place.replacing(each, wide) for each in types))


def _factor(place: FaultyPlace, node: ast.expr) -> ast.expr | None:
    """The first factor of a product that is no constant; of ``a * b * c`` it is ``a``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    if any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) for part in ast.walk(node) if part is not node
    ):
        return None
    constants = {
        each.arg
        for each in (*place.function.args.args, *place.function.args.kwonlyargs)
        if each.annotation is not None and "Const" in place.of(each.annotation)
    }
    for factor in (node.left, node.right):
        if not isinstance(factor, ast.Constant) and not (isinstance(factor, ast.Name) and factor.id in constants):
            return factor
    return None


def _narrow_lanes(place: FaultyPlace, node: ast.expr) -> ast.expr | None:
    """The data type of ``ct.arange(..., dtype=ct.int32)``."""
    if not isinstance(node, ast.Call) or place.source.called(node) != "arange":
        return None
    return next((each.value for each in node.keywords if each.arg == "dtype" and "int32" in place.of(each.value)), None)


def _mend_loop(place: FaultyPlace) -> Found:
    for loop in ast.walk(place.function):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and place.of(loop.iter.func) == "range":
            yield from _own_step(place, loop.iter.args)
            for argument in loop.iter.args[:2]:
                for part in ast.walk(argument):
                    yield from _nearer_end(place, part)


def _own_step(place: FaultyPlace, arguments: list[ast.expr]) -> Found:
    """``range(block, end, number of blocks)``."""
    if len(arguments) == 3:
        start, _, step = arguments
        for axis, block in place.source.block_ids(place.function).items():
            if place.of(start) in (block, f"{place.source.module}.bid({axis})"):
                yield _instead(place, step, f"{place.source.module}.num_blocks({axis})")


def _nearer_end(place: FaultyPlace, part: ast.AST) -> Found:
    """An end without what is added to it, or by another axis of the array."""
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub):
        yield _instead(place, part, place.of(part.left))
    if isinstance(part, ast.Call) and place.source.called(part) == "num_tiles":
        for keyword in part.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant):
                others = (axis for axis in range(3) if axis != keyword.value.value)
                yield from (_instead(place, keyword.value, str(axis)) for axis in others)


# ------------------------------------------------------------------------------------------------- padding
def _pad_sums(place: FaultyPlace) -> Found:
    """Zeros, where the tiles are only multiplied and summed."""
    for loads in unpadded_loads(place.source, place.function, place.accesses):
        if all(is_only_summed(place.source, place.function, load) for load in loads):
            yield _padded(place, loads, ["ZERO"] * len(loads))


def _pad_others(place: FaultyPlace) -> Found:
    for loads in unpadded_loads(place.source, place.function, place.accesses):
        wanted = [modes(place.source, place.function, load) for load in loads]
        for ranked in dict.fromkeys(zip(*wanted, strict=False)):
            if set(ranked) != {"ZERO"} or not all(is_only_summed(place.source, place.function, load) for load in loads):
                yield _padded(place, loads, ranked)
        for load in loads if len(loads) == 1 else ():
            for value in fills(place.source, place.function, load):
                text = with_fill(place.source, load, value)
                if text is not None:
                    yield (
                        f"{value} beyond the array, which is no padding mode: `{text}`",
                        (place.replacing(load.node, text),),
                    )


def _padded(place: FaultyPlace, loads: Sequence[TileCall], chosen: Sequence[str]) -> tuple[str, tuple[Edit, ...]]:
    names = " and ".join(dict.fromkeys(f"`padding_mode={place.source.module}.PaddingMode.{mode}`" for mode in chosen))
    edits = [
        place.replacing(load.node, with_padding(place.source, load, mode))
        for load, mode in zip(loads, chosen, strict=True)
    ]
    return f"{names} for {', '.join(f'`{place.of(load.node)}`' for load in loads)}", tuple(edits)


def _always(place: FaultyPlace) -> bool:
    return True


def _never(place: FaultyPlace) -> bool:
    return False


def _is_of_large_arrays(place: FaultyPlace) -> bool:
    """Whether the kernel is right but for arrays so large that no run shows them."""
    return place.finding.code == TV.INDEX_WRAPS


def _of_single_lanes(place: FaultyPlace) -> bool:
    """Of lanes that meet, a scatter keeps one; atomics count them all."""
    return not place.codes & {TV.DUPLICATE_LANES}


_PROPOSERS: Final[tuple[tuple[str, Callable[[FaultyPlace], Found], Callable[[FaultyPlace], bool]], ...]] = (
    ("use-atomic", _use_atomic, _of_single_lanes),
    ("access-by-atomic", access_by_atomic, _always),
    ("update-by-atomic", _use_atomic, _always),
    ("mask-tail", _mask_tail, _always),
    ("guard-launch", return_early, _always),
    ("guard-access", guard_access, _always),
    ("widen-scope", _widen_scope, _always),
    ("strengthen-order", _strengthen_order, _always),
    ("pad-load", _pad_sums, _always),
    ("pad-load", _pad_others, _never),
    ("use-atomic", _store_by_atomic, _never),
    (
        "widen-index",
        _widen_index,
        _is_of_large_arrays,
    ),  # where an index wrapped, another element is touched than before
    ("split-output-index", _split_output_index, _never),
    ("mend-loop", _mend_loop, _never),
    ("mask-lanes", _mask_lanes, _never),
    ("one-block", _in_one_block, _never),
    ("guard-launch", return_anyway, _never),
)
"""Kind, how it is proposed, and whether the changed kernel does in order what it did before."""
