"""What is the same in every block of a launch: the one place that decides it.

Rule.  A value is *launch-wide* if any two blocks of a launch that compute it, in whatever iterations of the loops
around, get the same one, lane by lane.  A term is where all its variables and function symbols are of scope ``LAUNCH``
or ``LANE``.  A value that is not followed (`Opaque`, or a fresh symbol of `scope_of`) is where everything it was *made
from* is: its operands, and whatever else chose it: the coordinates that elements were moved by, the condition of a
choice.

Argument, by induction over the ops that a block runs.

* The leaves are the launch's own: what `launch_variable` and `launch_function` make.  Sizes, strides, scalars and the
  addresses of arguments and globals are passed to all blocks; there is one grid; contents are those of memory that
  existed before the launch and that no block writes.  All else that an op brings into being (other loaded values, what
  atomics give back, undefined lanes, memory that a block makes for itself and its address) is the block's own.
* An op without an effect is one function of its operands, also a float op: however the device rounds, all blocks
  run the same instruction.  So equal operands give equal results.  Reductions and scans are not even asked that: their
  order is the compiler's.  Nor is inline assembly, which may read a clock or the number of its block.
* A side of an ``if`` is entered by some blocks only.  Those that enter compute the same; what leaves it is chosen by
  the condition, and so made from the condition, too.
* In a loop, nothing that is launch-wide depends on the iteration, as iteration variables are not; so it does not matter
  in which iteration a block leaves.  What a loop carries is launch-wide only in closed form, as a term, or by
  `carried_alike`; a carried float that is not followed never is.
* Two values of one Python object are not one value of the program: a tile and the same tile permuted are `Opaque`.

*Bits.* For a launch that allows equal stores, floats have terms, too: `Opaque.bits`. Rule. If the bits term of a
value in one block, iteration and lane is the number that it, or another value's, is in another one, both lanes hold
the same bits. Argument, by induction over the ops: constants are their bits. A load from memory that no block writes
gives what its element held before the launch. Ops that move or choose elements give a lane of an operand. Another op
that works lane by lane is one function of the iterations, the lane's place and its operands' bits: at one place of a
tile, in one iteration, all blocks run the same instruction. Two *different* ops are different functions, also where
their text is the same: a compiler may fuse only one of them. Sums of lanes, matrix products and what a loop carries
have no bits, unless they are launch-wide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from . import ONE, ZERO, Function, Scope, Sort, Term, TermKind, apply, choice, substitute, var

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Opaque:
    """A float, or a tile of floats: its value is not followed.  Made by `opaque` alone.

    ``bits``: what determines the bits of a lane, where a launch asks for that.
    """

    launch_wide: bool
    bits: Term | None = None


def opaque(*made_from: object, bits: Term | None = None) -> Opaque:
    """A value that is one function of ``made_from`` (of nothing: a constant)."""
    return Opaque(all(map(is_launch_wide, made_from)), bits)


OWN = Opaque(False)
"""A value that is not followed and may differ between blocks."""


def bits_of(value: object) -> Term | None:
    """The number that determines the bits of each lane of ``value``."""
    if isinstance(value, Opaque):
        return value.bits
    if not isinstance(value, Term):
        return None
    return choice(value, ONE, ZERO) if value.sort is Sort.BOOL else value


def computed_bits(
    function: Function, at: Sequence[Term], made_from: Sequence[object], *, lane_by_lane: bool
) -> Term | None:
    """Of the results of an op without an effect, in the iterations and at the lanes ``at``."""
    operands = [bits_of(each) for each in made_from] if lane_by_lane else []
    if not lane_by_lane and not all(map(is_launch_wide, made_from)):
        return None
    return None if None in operands else apply(function, *at, *(each for each in operands if each is not None))


def moved_bits(value: Opaque, coordinates: Mapping[Term, Term]) -> Term | None:
    """Of a tile whose element is that of ``value`` at other ``coordinates``."""
    return None if value.bits is None else substitute(value.bits, coordinates)


def chosen_bits(condition: Term, then: Opaque, otherwise: Opaque) -> Term | None:
    """Of one of two values."""
    if then.bits is None or otherwise.bits is None:
        return None
    return choice(condition, then.bits, otherwise.bits)


def without_bits(value: _Value) -> _Value | Opaque:
    """``value`` as it leaves a loop: its bits speak of an iteration that nobody outside knows."""
    return Opaque(value.launch_wide) if isinstance(value, Opaque) else value


def scope_of(*made_from: object) -> Scope:
    """The scope of a fresh symbol whose value is one function of ``made_from``."""
    return Scope.LAUNCH if all(map(is_launch_wide, made_from)) else Scope.BLOCK


def is_launch_wide(value: object) -> bool:
    """Whether a value of the program is launch-wide; pointers, views and tokens are not asked."""
    if isinstance(value, Opaque):
        return value.launch_wide
    return isinstance(value, Term) and all(
        (part.symbol if part.kind is TermKind.VAR else part.function).scope in (Scope.LAUNCH, Scope.LANE)
        for part in value.free
    )


def carried_alike(
    carried: Mapping[Function, tuple[Term, Term]], iteration: Term, around: Collection[Term]
) -> frozenset[Function]:
    """Those of the ``carried`` values of a loop that are one function v(c, k) of the launch, lane by lane: c are the
    iterations of the loops ``around``, k is the loop's own.

    Of each value, by what stands for v(c, k), the initial value and what iteration k hands on.  Rule: the largest set G
    of which every ``init`` mentions only what is launch-wide and c, every ``next`` also k and values of G.

    Argument, by induction over k.  Two blocks that begin iteration k of the loop in iterations c of those around have
    made all iterations before it, and each of these has handed on its ``next``.  v(c, 0) is ``init``, one function of
    the launch and c; v(c, k + 1) is ``next``, one function of the launch, c, k and v(c, k).  Blocks that do not get so
    far do not matter, as v(c, k) is the value of those that do.  What decides which of several values is handed on is
    part of ``next``.
    """

    def outside(term: Term, known: Collection[Term], group: Collection[Function]) -> bool:
        return not all(
            part in known
            or (part.symbol if part.kind is TermKind.VAR else part.function).scope in (Scope.LAUNCH, Scope.LANE)
            or (part.kind is TermKind.APPLY and part.function in group)
            for part in term.free
        )

    group = {function for function, (init, _) in carried.items() if not outside(init, around, ())}
    while True:
        left = {function for function in group if outside(carried[function][1], (*around, iteration), group)}
        if not left:
            return frozenset(group)
        group -= left


def narrower(scope: Scope, other: Scope) -> Scope:
    """Of two scopes that were found for one value, the one that claims less."""
    return other if scope is Scope.LAUNCH else scope


def carried_scope(alike: bool) -> Scope:
    """The scope of a function that stands for a carried value, which ``alike`` says is the same in all blocks."""
    return Scope.LAUNCH if alike else Scope.BLOCK


# --------------------------------------------------------------------------------------------- the leaves
def launch_variable(name: str, low: int | None = None, high: int | None = None, sort: Sort = Sort.INT) -> Term:
    """A number that the launch has chosen before its first block begins."""
    return var(name, Scope.LAUNCH, low, high, sort)


def launch_function(
    name: str, low: int | None = None, high: int | None = None, sort: Sort = Sort.INT, array: str | None = None
) -> Function:
    """What the launch keeps in a table that no block changes: equal places give equal values in all blocks."""
    return Function(name, Scope.LAUNCH, low, high, sort, array)
