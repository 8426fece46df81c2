"""What a kernel decides: how each op takes part in it, and the comparisons of integers and signs that it hangs on.

A function that is not smooth asks something of its operands, as a comparison does: where an absolute value turns, a
power of a large negative number is 0, or a root has a negative operand.  `branches` has to see it, or the answer to say
that what stands behind it has no law.  A test holds this table against the list of all ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ..backend.interpreter.machine import uniform_ops
from ..backend.interpreter.reductions import only_op
from ..backend.interpreter.tiles import constant_tile
from ..frontend.bytecode.model import Block, Constant, Entry, Op, Value
from ..frontend.bytecode.traverse import operands, walk
from . import exact, formulas
from .field import Array

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockInterpreter


class Nature(Enum):
    SMOOTH = "one formula wherever it is defined, which the residues follow"
    MOVING = "moves lanes, reads or writes memory, or goes where a value says that another op decided"
    ASKING = "asks something of its operands, and is noted with the way that it took"
    STEPPED = "follows the shadow, and what it decides has no probability"
    INTEGER = "integers and bits, which are computed as the machine does; those of arrays have no probability"
    REFUSED = "has no rule for numbers, and ends in 'not decided'"


def _all(nature: Nature, names: str) -> dict[str, Nature]:
    return dict.fromkeys(names.split(), nature)


NATURES: Final[dict[str, Nature]] = {
    **_all(Nature.SMOOTH, "addf subf mulf divf fma negf sin cos tan sinh cosh tanh mmaf mmaf_scaled"),
    **_all(Nature.SMOOTH, "ftof itof fpowi constant"),
    **_all(Nature.ASKING, "cmpf cmpi maxf minf maxi mini andi ori"),
    **_all(Nature.ASKING, "absf absi exp exp2 sqrt rsqrt log log2 fpowf reduce"),
    **_all(Nature.STEPPED, "floor ceil remf ftoi"),
    **_all(Nature.INTEGER, "addi subi muli mulhii divi remi negi shli shri xori exti trunci mmai iota"),
    **_all(Nature.REFUSED, "atan2 pack unpack bitcast atomic_cas_tko"),
    **_all(Nature.REFUSED, "multimem_load_reduce_view_tko multimem_reduce_view_tko multimem_store_view_tko"),
    **_all(Nature.REFUSED, "get_global opaque preview$call"),
    **_all(Nature.MOVING, "select broadcast cat permute reshape extract insert scan assume offset alloca"),
    **_all(Nature.MOVING, "int_to_ptr ptr_to_int ptr_to_ptr make_tensor_view make_partition_view"),
    **_all(Nature.MOVING, "make_gather_scatter_view make_strided_view get_index_space_shape get_tensor_shape"),
    **_all(Nature.MOVING, "get_num_tile_blocks get_tile_block_id load_ptr_tko store_ptr_tko load_view_tko"),
    **_all(Nature.MOVING, "store_view_tko atomic_rmw_tko atomic_red_view_tko make_token join_tokens assert print_tko"),
    **_all(Nature.MOVING, "gdc_launch_dependents_tko gdc_wait_tko memory_fence_alias_tko"),
    **_all(Nature.MOVING, "for loop if break continue return yield"),
}


# ------------------------------------------------------------------------------------------------------------ questions
# What ops that are no comparisons ask of their operands: where the answer is yes, and who asks it.


Asked: TypeAlias = "Callable[[BlockInterpreter, Op], tuple[Array, Array] | None]"
"""The lanes in which the answer is yes, and those that ask it of a variable; None where nothing is asked."""


def _of_operand(yes: Callable[[Array], Array], *, beside_squares: bool = False) -> Asked:
    """``beside_squares``: nothing is asked of what is never negative."""

    def asked(run: BlockInterpreter, op: Op) -> tuple[Array, Array] | None:
        if beside_squares and op.value("s") in never_negative(run.program.entry):
            return None
        data = run.tile(op, "s").data
        return yes(data), exact.has_variables(data)

    return asked


def _is_negative(x: Array) -> Array:
    return np.asarray(x["s"] < 0)


def _base_is_negative(run: BlockInterpreter, op: Op) -> tuple[Array, Array] | None:
    """Of powers with exponents that are no integers."""
    exponents = run.tile(op, "rhs").data["s"]
    if op.value("lhs") in never_negative(run.program.entry) or (exponents % 1 == 0).all():
        return None
    data, broken = np.broadcast_arrays(run.tile(op, "lhs").data, exponents % 1 != 0)
    return _is_negative(data) & broken, exact.has_variables(data)


ASKED: Final[dict[str, Asked]] = {
    "absf": _of_operand(lambda x: np.asarray(x["s"] >= 0)),
    "exp": _of_operand(formulas.exp_vanishes),
    "exp2": _of_operand(formulas.exp2_vanishes),
    "fpowf": _base_is_negative,
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2"), _of_operand(_is_negative, beside_squares=True)),
}
"""Beside ops whose rules note it themselves."""


# ---------------------------------------------------------------------------------------------------------------- signs
# Values of a kernel that are never negative, whatever its arrays hold: squares, absolute values, sums of such.
#
# Where a root or a logarithm is taken of one, nobody has to see what becomes of a negative number.  Sizes and scalars
# count as not negative: scalars of either sign are tried one at a time.


_Known: TypeAlias = Callable[[Value], bool]

_ALWAYS: Final = frozenset({"absf", "exp", "exp2", "cosh", "sqrt", "rsqrt"})
_MOVING: Final = frozenset({"broadcast", "reshape", "permute", "extract", "cat", "ftof", "assume"})
"""Nothing but operands that are in the result."""
_OF_BOTH: Final = frozenset({"addf", "divf", "minf", "mulf"})
_FOLDED: Final = frozenset({"addf", "maxf", "minf", "mulf"})


@lru_cache(maxsize=64)
def never_negative(entry: Entry) -> frozenset[Value]:
    """What cannot be shown to be so is taken out until nothing changes: what loops hand on may rest on itself."""
    ops = list(walk(entry.body))
    handed = dict(_handed_on(ops))
    known = {*entry.parameters, *handed, *(result for op in ops for result in op.results)}
    uniform = uniform_ops(entry)
    left = True
    while left:
        wrong = {value for value, sources in handed.items() if value in known and not known.issuperset(sources)}
        for op in ops:
            if not op.regions or op.declaration.body == "combination":
                fine = (op in uniform and op.name == "itof") or _holds(op, known.__contains__)
                wrong |= set() if fine else known.intersection(op.results)
        known -= wrong
        left = bool(wrong)
    return frozenset(known)


def _holds(op: Op, known: _Known) -> bool:
    """Whether the results of ``op`` are not negative where the values that are ``known`` are not."""
    if op.name in _ALWAYS:
        return True
    if op.name == "constant":
        data = constant_tile(op.attributes["value"]).data
        return data.dtype.kind == "f" and bool((data >= 0).all())
    if op.name in _MOVING:
        return all(map(known, operands(op)))
    if op.name == "mulf" and op.value("lhs") is op.value("rhs"):
        return True
    if op.name in _OF_BOTH:
        return known(op.value("lhs")) and known(op.value("rhs"))
    if op.name == "maxf":
        return known(op.value("lhs")) or known(op.value("rhs"))
    if op.name == "select":
        return known(op.value("t")) and known(op.value("f"))
    if op.name == "fma":
        square = op.value("lhs") is op.value("rhs")
        return known(op.value("acc")) and (square or (known(op.value("lhs")) and known(op.value("rhs"))))
    if op.declaration.body == "combination":
        inner = only_op(op)
        return inner is not None and inner.name in _FOLDED and all(map(known, op.group("inputs")))
    return False


def _handed_on(ops: list[Op]) -> Iterator[tuple[Value, list[Value]]]:
    """What loops carry, and results of loops and branches, each with the values that it may be."""
    for op in ops:
        if op.name not in ("for", "loop", "if"):
            continue
        ends = [end for region in op.regions for block in region.blocks for end in _ends(block)]
        begin = list(op.group("inits")) if op.name != "if" else []
        handed = [list(end.group("args")) for end in ends if end.name == "continue"]
        left = [list(end.group("args")) for end in ends if end.name == ("break" if op.name == "loop" else "yield")]
        if op.name == "for":
            left = [begin, *handed]
        if op.name != "if":
            carried = op.regions[0].blocks[0].arguments[op.name == "for" :]
            yield from _columns(carried, [begin, *handed])
        yield from _columns(op.results, left)


def _columns(names: Sequence[Value], rows: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, list[Value]]]:
    return ((name, [row[place] for row in rows]) for place, name in enumerate(names))


def _ends(block: Block) -> Iterator[Op]:
    """The terminators that belong to the op around ``block``: a branch passes those of a loop on."""
    yield block.terminator
    for op in block.ops:
        if op.name == "if":
            for region in op.regions:
                for inner in region.blocks:
                    yield from (end for end in _ends(inner) if end.name != "yield")


# ----------------------------------------------------------------------------------------------------- integer branches
# Comparisons of integers that a branch may hang on, so that what came out in one way alone has to be told.
#
# Most of a kernel's say whether a lane lies in an array, and are true throughout where a tile fits; of those none is.


_ASKING: Final = frozenset({"absi", "cmpi", "maxi", "mini"})
_CHOOSING: Final = frozenset({"if", "select"})
_PASSING: Final = {
    "broadcast": ("s",), "reshape": ("s",), "andi": ("lhs", "rhs"), "ori": ("lhs", "rhs"), "xori": ("lhs", "rhs"),
}  # fmt: skip
"""Operands by which a condition goes through an op."""


@lru_cache(maxsize=64)
def integer_branches(entry: Entry) -> frozenset[Op]:
    """Comparisons, maxima, minima and magnitudes of integers: of sizes and scalars alone; with a number that the
    bytecode holds (but 0, the least index); and those that an ``if`` or a choice of elements asks for.  Not those of
    numbers alone, nor the signs by which a compiler makes Python's remainder of the machine's."""
    ops = list(walk(entry.body))
    made = {result: op for op in ops for result in op.results}
    uniform = uniform_ops(entry)
    choices = [op for op in ops if op.name in _CHOOSING]
    chosen = set(_behind(made, (op.value("c") for op in choices)))
    signs = {sign for op in choices if op.name == "select" for sign in _signs_of_remainder(made, op)}
    asking = (op for op in ops if op.name in _ASKING and op not in signs)
    fixed = of_numbers(ops)
    return frozenset(
        op for op in asking if op.result not in fixed and (op in uniform or op in chosen or _holds_number(made, op))
    )


def of_numbers(ops: Iterable[Op], *, and_lanes: bool = False) -> set[Value]:
    """What is computed of nothing but constants, and so comes out in one way whatever the launch is; ``and_lanes``: and
    of the numbers of lanes."""
    fixed: set[Value] = set()
    for op in ops:
        operands = op.operands.values()
        if (
            op.name == "constant"
            or (and_lanes and op.name == "iota")
            or (
                operands
                and op.declaration.effect == "none"
                and not op.regions
                and all(each in fixed for each in operands)
            )
        ):
            fixed.update(op.results)
    return fixed


def _signs_of_remainder(made: Mapping[Value, Op], choice: Op) -> Iterator[Op]:
    """The comparisons of r and d with 0 in the condition of ``select c, r + d, r``, where ``r = remi n, d``."""
    rest, moved = made.get(choice.value("f")), made.get(choice.value("t"))
    if rest is None or moved is None or (rest.name, moved.name) != ("remi", "addi"):
        return
    parts = {rest.result, rest.value("rhs")}
    if {moved.value("lhs"), moved.value("rhs")} != parts:
        return
    for op in _behind(made, [choice.value("c")]):
        if op.name == "cmpi" and op.value("lhs") in parts and _is_zero(made, op.value("rhs")):
            yield op


@lru_cache(maxsize=64)
def floor_remainders(entry: Entry) -> frozenset[Op]:
    """The ops by which a compiler makes Python's remainder of the machine's, where signs alone decide."""
    ops = list(walk(entry.body))
    made = {result: op for op in ops for result in op.results}
    found: set[Op] = set()
    for choice in (op for op in ops if op.name == "select"):
        signs, behind = {*_signs_of_remainder(made, choice)}, {*_behind(made, [choice.value("c")])}
        if signs and all(op in signs or op.name in _PASSING for op in behind):
            found |= {*behind, made[choice.value("t")]}
    return frozenset(found)


def _is_zero(made: Mapping[Value, Op], value: Value) -> bool:
    source = made.get(value)
    return source is not None and source.name == "constant" and _number(made, value) == 0


def _holds_number(made: Mapping[Value, Op], op: Op) -> bool:
    return op.name != "absi" and any(_number(made, op.value(side)) for side in ("lhs", "rhs"))


def _number(made: Mapping[Value, Op], value: Value) -> int:
    """The constant that ``value`` is in every lane, or 0."""
    source = made.get(value)
    while source is not None and source.name in ("broadcast", "reshape"):
        source = made.get(source.value("s"))
    if source is None or source.name != "constant":
        return 0
    constant = source.attributes["value"]
    assert isinstance(constant, Constant)
    return constant.element(0) if constant.is_splat else 0


def _behind(made: Mapping[Value, Op], conditions: Iterable[Value]) -> Iterator[Op]:
    """The ops that these conditions come from, joins of conditions followed."""
    left, seen = list(conditions), set()
    while left:
        value = left.pop()
        source = made.get(value)
        if source is None or source in seen:
            continue
        seen.add(source)
        yield source
        left += [source.value(side) for side in _PASSING.get(source.name, ())]
