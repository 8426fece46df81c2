"""The access summary: everything the verifier sees of a kernel.

One *generic* tile block is described.  Terms may mention launch variables, the block's own ``bid.x/y/z``,
one iteration variable per enclosing loop, and lane variables.  A set of dynamic accesses is the set of all
assignments to those variables that satisfy ``guard``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...contract.terms import TRUE, Function, Term, add, const, scale, var
from ...results.codes import TV
from ..bytecode.enums import MemoryOrdering, MemoryScope
from ..bytecode.location import Location


class Access(enum.Enum):
    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"  # read-modify-write; a compare-and-swap counts as a write even if it may fail


class OriginKind(enum.Enum):
    PARAMETER = "parameter"  # an array argument; distinct parameters are distinct unless the contract says so
    LIST_ELEMENT = "list element"  # an array of a list argument; ``index`` says which
    LIST = "list"  # the descriptor buffer behind a list argument (launcher-owned, read only)
    GLOBAL = "global"  # a module variable, shared by all blocks
    LOCAL = "local"  # alloca without `global`: private to the block
    SHARED_LOCAL = "shared local"  # alloca with `global`
    UNKNOWN = "unknown"  # int_to_ptr without a known source: TV906


@dataclass(frozen=True, slots=True)
class Origin:
    """What a pointer was derived from.  Two accesses with different origins never meet, unless either is
    unknown or the contract lets the arguments overlap.

    ``shape``/``strides`` (elements) are the parameter's own layout, empty for a raw pointer, globals and locals;
    ``extent`` is the allocated size in bytes where it is known without a layout (globals, locals), ``alignment`` what
    the address of the first byte is divisible by where the module says so; an argument is aligned to its elements.
    ``address``: where memory begins that a block makes for itself, or a global; the launch chose where arguments do.
    """

    kind: OriginKind
    name: str
    element_bytes: int
    shape: tuple[Term, ...] = ()
    strides: tuple[Term, ...] = ()
    extent: Term | None = None
    index: Term | None = None
    alignment: int | None = None
    address: Term | None = None


@dataclass(frozen=True, slots=True)
class ViewFootprint:
    """A tile of a view: lane ``l`` touches element ``coordinates(l)`` of a strided layout.

    The layout starts ``base`` bytes behind the origin's first byte and has ``shape``/``strides`` in elements.
    A lane is live where ``0 <= coordinates[k] < shape[k]`` for all k (hardware clips; the guard does not repeat it).
    ``index``: the tile index per view dimension in its unsigned reading (of one lane for the sparse dimension of a
    gather/scatter view); ``index_space``: the number of tiles per view dimension, ``None`` where the index is an
    element offset.  ``inbounds[d]``: the kernel promises that the whole tile lies inside along d (TV303).
    ``tile``/``step``: tile size and distance between neighbouring tiles per view dimension; ``dim_map[d]``: the
    layout dimension of view dimension d.
    """

    origin: Origin
    base: Term
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    element_bytes: int
    coordinates: tuple[Term, ...]
    index: tuple[Term, ...]
    index_space: tuple[Term | None, ...]
    tile: tuple[int, ...]
    step: tuple[int, ...]
    dim_map: tuple[int, ...]
    inbounds: tuple[bool, ...] = ()
    packed: bool = False  # two 4-bit elements per byte


@dataclass(frozen=True, slots=True)
class PointerFootprint:
    """Lane ``l`` touches ``element_bytes`` bytes at ``offset(l)`` bytes behind the origin's first byte."""

    origin: Origin
    offset: Term
    element_bytes: int


Footprint: TypeAlias = ViewFootprint | PointerFootprint


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane variable and the tile extent it runs over: ``0 <= variable < size``."""

    variable: Term
    size: int


@dataclass(frozen=True, slots=True)
class Loop:
    """One enclosing loop: ``iteration`` counts from 0; ``value`` is a ``for``'s induction variable, in terms of it.

    Of a loop that ends by a ``break`` (no ``value``): ``reached`` holds in every iteration that was entered, of those
    before as well; ``last`` gives, for iterations of the loops around, the number of the iteration that broke off
    (``None``: only iteration 0 is ever entered).
    """

    name: str
    iteration: Term
    location: Location | None = None
    value: Term | None = None
    reached: Term = TRUE
    last: Function | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """This access waits for instances of ``site``: those whose iteration variables satisfy ``condition``.

    In ``condition`` the iteration variables of the awaited site appear as ``earlier(variable)``, those of the
    waiting access as themselves.  The relation is already transitively closed.
    """

    site: int
    condition: Term = TRUE


def earlier(iteration: Term) -> Term:
    """The variable that stands for ``iteration`` of the awaited instance in `Wait.condition`."""
    symbol = iteration.symbol
    return var(f"earlier({symbol.name})", symbol.scope, symbol.low, symbol.high)


@dataclass(frozen=True, slots=True)
class Site:
    """One static memory access.

    ``guard``: path condition and mask; lanes and iterations for which it is false do not access memory.
    ``scope``: ``None`` where the access is weak.
    ``mode``: what an atomic or a reduction does (``add``, ``xchg``, ``cas`` ...).  ``value``: what a read or atomic
    gave back, where it is an integer; ``argument``: the integer that is stored, added or swapped in; ``compare``: what
    a compare-and-swap expects.  All three per lane.  ``used``: something depends on what the access gave back.
    """

    number: int
    op: str
    access: Access
    ordering: MemoryOrdering
    scope: MemoryScope | None
    footprint: Footprint
    guard: Term
    lanes: tuple[Lane, ...]
    loops: tuple[Loop, ...]
    waits: tuple[Wait, ...]
    location: Location | None
    offset: int = 0  # of the op in the bytecode: its identity for the replay
    in_mask: Term = TRUE  # the mask part of `guard` alone, for reports
    mode: str | None = None
    value: Term | None = None
    argument: Term | None = None
    compare: Term | None = None
    used: bool = True

    @property
    def origin(self) -> Origin:
        return self.footprint.origin

    @property
    def writes(self) -> bool:
        return self.access is not Access.READ

    @property
    def atomic(self) -> bool:
        """Carries a scope, so that it may meet another such access (memory model: morally strong)."""
        return self.scope is not None


@dataclass(frozen=True, slots=True)
class Promise:
    """Something the producer promised or the semantics demand: on every ``guard``, ``condition`` must hold.

    ``code``: TV401 (assume), TV402 (arithmetic defined, subtile indices in range) ...  ``text`` says it in words,
    e.g. ``divisor is not 0``.
    """

    code: TV
    condition: Term
    guard: Term
    text: str
    location: Location | None
    lanes: tuple[Lane, ...] = ()
    loops: tuple[Loop, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class LoopValue:
    """A loop-carried integer for which no closed form was found: ``v(0) = init``, ``v(k + 1) = next`` of iteration k.

    Terms hold ``rest + modulus * function(*context, k, *lanes)`` for ``v(k)``, k >= 1.  ``context``: the iteration
    variables of the loops around.  ``entered``: the path that leads to the loop; ``handed_on``: where iteration k runs
    and another may follow.  Meant for whoever can show what stays true from iteration to iteration.
    """

    function: Function
    modulus: int
    rest: int
    context: tuple[Term, ...]
    iteration: Term
    lanes: tuple[Term, ...]
    init: Term
    next: Term
    entered: Term
    handed_on: Term

    def at(self, function_value: Term) -> Term:
        """v(k), given an application of ``function``."""
        return add(scale(self.modulus, function_value), const(self.rest))


@dataclass(frozen=True, slots=True)
class LoopForm:
    """What is said of the values that one loop carries, for whoever checks it without finding it.

    ``offset``: of the loop in the bytecode.  ``time``: a variable for "when iteration number time begins", also the
    one that no longer runs.  ``carried``: of each carried value what it is then: a term; of a pointer its origin and
    offset; of a token, by the offsets of accesses, the condition under which it awaits them; ``None`` of the rest.
    ``left``: what tokens behind the loop await.  ``reached`` (of a `loop`): what holds in iteration ``iteration``
    if it runs; ``last``: the symbol for the number of the one that broke off.
    """

    offset: int
    iteration: Term
    time: Term
    carried: tuple[Term | tuple[Origin, Term] | Mapping[int, Term] | None, ...]
    left: tuple[Mapping[int, Term] | None, ...] = ()
    reached: Term = TRUE
    last: Function | None = None


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """All accesses and promises of one entry.

    ``names`` maps variables introduced by loops and loads to readable text for reports.
    Definitions of trip counts and exit iterations are part of the guards of the sites behind the loop.
    ``stable_arrays``: parameters that no block of this launch writes, whose contents are launch functions.
    ``order_ops``: names of ops that order memory beyond tokens (gdc_wait_tko ...), for reports.
    ``notes``: what was seen and left out of the obligations on purpose, in words.
    ``read_axes``: the axes of the grid whose block number decides what a block does (see `written`).
    ``open_uses``: where something that the specification leaves open may decide something (TV403, see `open_values`).
    ``order_bound``: reductions and scans that may have another result in another order (`combining`); no obligations.
    ``assertions``: those at which blocks are trusted to stop, so that guards behind them rest on them; ``text`` is what
    they tell.  They are no obligations.
    ``loop_forms``: of each loop that is reached; ``written``: the names of memory that blocks may write (`written`).
    """

    entry: str
    sites: tuple[Site, ...]
    promises: tuple[Promise, ...]
    origins: Mapping[str, Origin]
    stable_arrays: frozenset[str]
    order_ops: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    loop_values: tuple[LoopValue, ...] = ()
    read_axes: frozenset[int] = frozenset({0, 1, 2})
    open_uses: tuple[Promise, ...] = ()
    order_bound: tuple[Promise, ...] = ()
    assertions: tuple[Promise, ...] = ()
    loop_forms: tuple[LoopForm, ...] = ()
    written: frozenset[str] = frozenset()
