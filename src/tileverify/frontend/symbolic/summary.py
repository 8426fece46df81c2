"""The access summary: the verifier's whole knowledge of a kernel.

It describes one *generic* tile block.  Terms may mention launch variables, the block's own ``bid.x/y/z``, one iteration
variable per enclosing loop, and lane variables.  Each assignment to these variables that satisfies a site's ``guard``
is one dynamic access.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...contract.terms import TRUE, Function, Sort, Term, add, and_, apply, const, le, scale, var
from ...contract.terms.launch_wide import launch_function, launch_variable
from ...contract.variables import ADDRESS_MAX, argument_address
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
    """The memory that a pointer was derived from.  Accesses with different origins never touch the same byte, unless
    one origin is unknown or the contract lets the arguments overlap.

    ``shape``/``strides`` (elements): the parameter's own layout; empty for a raw pointer, globals and locals.
    ``extent``: the allocated size in bytes, if known without a layout (globals, locals).
    ``alignment``: a divisor of the first byte's address, if the module gives one; arguments are aligned to elements.
    ``address``: the start of a global or of a block's own memory; the launch chooses the addresses of arguments.
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

    ``reached`` holds in each entered iteration, for it and for all before it; of a ``for``, it says what the iteration
    before found where blocks synchronise.  For a loop that ends by a ``break`` (no ``value``), ``last``: a function of
    the outer iterations, the number of the iteration that broke off (``None``: only iteration 0 is ever entered).
    """

    name: str
    iteration: Term
    location: Location | None = None
    value: Term | None = None
    reached: Term = TRUE
    last: Function | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """This access waits for the instances of ``site`` whose iteration variables satisfy ``condition``.

    In ``condition`` the awaited site's iteration variables are written ``earlier(variable)``; those of the waiting
    access keep their names.  The relation is transitively closed.
    """

    site: int
    condition: Term = TRUE


def earlier(iteration: Term) -> Term:
    """The variable in `Wait.condition` for ``iteration`` of the awaited instance."""
    symbol = iteration.symbol
    return var(f"earlier({symbol.name})", symbol.scope, symbol.low, symbol.high)


@dataclass(frozen=True, slots=True)
class Site:
    """One static memory access.

    ``guard``: path condition and mask; lanes and iterations for which it is false do not access memory.
    ``scope``: ``None`` for a weak access.
    ``mode``: the operation of an atomic or a reduction (``add``, ``xchg``, ``cas`` ...).
    Integers, per lane: ``value``: the result of a read or atomic; ``argument``: stored, added or swapped in;
    ``compare``: expected by a compare-and-swap.  ``used``: something depends on the result.
    ``stored``: determines the bits that a store leaves in each lane (`launch_wide`), if its launch lets blocks store
    equal values there.
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
    stored: Term | None = None

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
    """A promise of the producer or a demand of the semantics: wherever ``guard`` holds, ``condition`` must hold.

    ``code``: TV401 (assume), TV402 (arithmetic defined, subtile indices in range) ...  ``text``: in words, such as
    ``divisor is not 0``.
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
    """A loop-carried integer or truth value without a closed form: ``v(0) = init``, ``v(k + 1) = next`` of iteration k.

    For k >= 1, terms contain ``rest + modulus * function(*context, k, *lanes)`` as ``v(k)``.  ``context``: the
    iteration variables of the outer loops.  ``entered``: the path condition of the loop.  ``handed_on``: iteration k
    runs and another may follow.  Searches for loop invariants use it.
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
        if self.function.sort is Sort.BOOL:
            return function_value
        return add(scale(self.modulus, function_value), const(self.rest))

    def can_be(self, value: Term) -> Term:
        """Whether a value of ``function`` makes ``value``, where the modulus is 1."""
        low, high = self.function.low, self.function.high
        least = TRUE if low is None else le(const(low + self.rest), value)
        return least if high is None else and_(least, le(value, const(high + self.rest)))


@dataclass(frozen=True, slots=True)
class LoopForm:
    """The forms of the values that one loop carries, for the checker, which verifies but does not find them.

    ``offset``: of the loop in the bytecode.  ``time``: a variable, the number of an iteration that begins; also of the
    one after the last.  ``carried``: each carried value at that time: a term; for a pointer its origin and offset; for
    a token a map from offsets of accesses to the condition under which it awaits them; else ``None``.
    ``left``: the same maps for tokens after the loop.  ``reached``: holds in iteration ``iteration`` if it runs, and of
    a ``for`` behind the last one, too.  ``last`` (of a `loop`): the symbol for the number of the iteration that broke
    off.
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

    ``names`` maps variables of loops and loads to readable text for reports.
    Guards of sites after a loop contain the definitions of its trip count and exit iteration.
    ``stable_arrays``: parameters that no block of this launch writes; their contents are launch functions.
    ``order_ops``: names of ops that order memory beyond tokens (gdc_wait_tko ...), for reports.
    ``notes``: facts that the obligations leave out on purpose, in words.
    ``read_axes``: the grid axes whose block number the kernel reads (see `written`).
    ``open_uses``: places where a value that the specification leaves open may have an effect (TV403, `open_values`).
    ``order_bound``: reductions and scans whose result may depend on the order (`combining`); no obligations.
    ``assertions``: trusted to stop their block, so that later guards rest on them; ``text``: their message.  They are
    no obligations.
    ``loop_forms``: of each reached loop.  ``written``: the names of memory that blocks may write (`written`).
    ``computed_from``: the arrays behind values that are not followed, by the names of their functions (`sources`); no
    proof asks for them.
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
    computed_from: Mapping[str, frozenset[str]] = field(default_factory=dict)


# ----------------------------------------------------------------------------------------------------- origin addresses
# Where memory begins: the byte address of what a pointer was derived from, and the words of a list's descriptors.


def address_of(origin: Origin) -> Term:
    """The byte address of an origin's first byte."""
    if origin.address is not None:
        return origin.address
    if origin.index is not None:
        return apply(list_word(origin.name, "address"), origin.index)
    if origin.kind is OriginKind.LIST:  # of its descriptors: `xs.address` is what contracts call those of its arrays
        return launch_variable(f"descriptors of {origin.name}", 0, ADDRESS_MAX)
    return argument_address(origin.name)


def list_word(name: str, word: str) -> Function:
    """A word of a list's descriptors, by row: ``address``, ``shape[d]`` or ``strides[d]``."""
    return launch_function(f"{name}[].{word}", 0, ADDRESS_MAX)
