"""Launches: specs, the kernels made from them with their parameters, and launches of numbers.

A `LaunchSpec` is the user's contract as written (``docs/specs.md``); a `KernelUnit` is one
kernel compiled for one spec: bytecode, entry symbol, and the meaning of every entry parameter.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

GRID_MAX: Final = 2**24 - 1
"""Tile blocks along one axis of a grid: beyond it block ids may be wrong (Tile IR specification, launch limits)."""

INFERRED = "inferred"
"""The name of the launch that the tool makes up for a kernel without a spec."""


Origin: TypeAlias = Literal["written", "recorded", "inferred"]
"""Who says that a kernel is launched so: a person, who promises it; a recording (one launch, or several that the tool
generalised); or nobody, as the tool made it up."""

Order: TypeAlias = Literal["triton", "program"]
"""What orders the accesses of one program of a Triton kernel: what Triton's compiler promises (barriers, atomics, data
flow), or the text of the program, which this tool's translation keeps."""


# ---------------------------------------------------------------------------------------- expressions
@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """``M``, a scalar's name, ``grid.x``, ``a.shape[0]`` or ``a.strides[1]``, spelled exactly so."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """``op``: ``+ - * // % **`` (two arguments), ``neg``, ``cdiv min max``, ``== != < <= > >=`` (two arguments;
    chains are split into a conjunction), ``and or`` (two or more), ``not``."""

    op: str
    args: tuple[Expression, ...]


Expression: TypeAlias = Number | Name | Apply


@dataclass(frozen=True, slots=True)
class SameArray:
    """``requires = ["x is out"]``: two arguments are the same array."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class DataFact:
    """A fact about what an index array holds, such as ``range(idx, low, high)`` (high exclusive); the
    table of `contract.facts.kinds` says what each ``kind`` means.

    ``amount``: the ``n`` of ``multiples``, ``shares``, ``ranks`` and ``buckets``; ``width``: that of ``buckets``;
    ``others``: further arrays, as the lengths of ``segments`` and the keys of ``ranks`` and ``buckets``; ``unless``:
    values of which the fact says nothing.
    """

    kind: str
    array: str
    low: Expression | None = None
    high: Expression | None = None
    text: str = ""
    amount: Expression | None = None
    others: tuple[str, ...] = ()
    unless: tuple[Expression, ...] = ()
    width: Expression | None = None

    @property
    def arrays(self) -> tuple[str, ...]:
        """All that it speaks of."""
        return (self.array, *self.others)


# ------------------------------------------------------------------------------------------ arguments
def only_axis(shape: Sequence[Expression]) -> int | None:
    """The axis along which all elements lie: of ``[M]``, of ``[M, 1]`` and of ``[1, M]``; ``None`` if several may."""
    wide = [axis for axis, size in enumerate(shape) if size != Number(1)]
    return next(iter(wide or range(len(shape)))) if shape and len(wide) < 2 else None


def expressions_of(fact: DataFact) -> tuple[Expression, ...]:
    """The bounds and other numbers of the fact."""
    return tuple(part for part in (fact.low, fact.high, fact.amount, fact.width, *fact.unless) if part is not None)


def with_expressions(fact: DataFact, change: Callable[[Expression], Expression]) -> DataFact:
    """The fact with each of `expressions_of` changed."""

    def changed(part: Expression | None) -> Expression | None:
        return None if part is None else change(part)

    return replace(
        fact,
        low=changed(fact.low),
        high=changed(fact.high),
        amount=changed(fact.amount),
        width=changed(fact.width),
        unless=tuple(map(change, fact.unless)),
    )


@dataclass(frozen=True, slots=True)
class DescriptorBlock:
    """What a tensor descriptor of Triton says beside its array: the ``block`` that one access moves, and whether loads
    pad with NaN (``nan``) or with zero."""

    block: tuple[int, ...]
    nan: bool = False


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """``dtype`` as in a spec (``f16``, ``i32``, ``bool``); ``strides`` in elements, ``None`` when contiguous;
    ``index_bits`` is the width of sizes and strides in the ABI (32 or 64).

    ``partition``: the tile of each block, for an output of cuTile Rust (``&mut Tensor``), which is passed with twice as
    many further numbers as it has axes (`Role.PARTITION`).  ``descriptor``: Triton's host passes a tensor descriptor of
    the array: sizes and strides always come with the pointer."""

    name: str
    dtype: str
    shape: tuple[Expression, ...]
    strides: tuple[Expression, ...] | None = None
    index_bits: int = 32
    partition: tuple[int, ...] | None = None
    descriptor: DescriptorBlock | None = None


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A runtime scalar; ``value`` ties it to an expression."""

    name: str
    dtype: str
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class ConstantArgument:
    """A ``ct.Constant`` (any TOML value; data types as ``"ct.float16"``)."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class TupleArgument:
    """A tuple or (with ``fields``) a dataclass; item names are ``name[0]`` or ``name.field``."""

    name: str
    items: tuple[Argument, ...]
    fields: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListArgument:
    """A list of arrays of one description; names inside ``element`` are fresh for each element.

    ``each``: what every array is like, in numbers, where the spec says so.  ``addresses``: the kernel gets the arrays'
    addresses alone, as an array of 64-bit integers, and neither sizes, strides nor the length.
    """

    name: str
    element: ArrayArgument
    length: Expression
    each: tuple[ArrayArgument, ...] = ()
    addresses: bool = False


Argument: TypeAlias = ArrayArgument | ScalarArgument | ConstantArgument | TupleArgument | ListArgument


def flat(arguments: Iterable[Argument]) -> Iterator[Argument]:
    """Every argument that is no tuple, those inside tuples included, in order."""
    for argument in arguments:
        if isinstance(argument, TupleArgument):
            yield from flat(argument.items)
        else:
            yield argument


READS, WRITES, ATOMICS = KINDS = ("reads", "writes", "atomics")
"""What a call into a library may be declared to do with elements."""


@dataclass(frozen=True, slots=True)
class CallRegion:
    """``count`` elements from the pointer in ``operand`` on, or, where there is none, any element of ``array``."""

    operand: int | None = None
    count: int = 0
    array: str = ""

    def __str__(self) -> str:
        return self.array if self.operand is None else f"${self.operand}[{self.count}]"


@dataclass(frozen=True, slots=True)
class DeclaredCall:
    """``operand`` numbers count all operands of the call, from 0."""

    symbol: str
    reads: tuple[CallRegion, ...] = ()
    writes: tuple[CallRegion, ...] = ()
    atomics: tuple[CallRegion, ...] = ()

    def regions(self, kind: str) -> tuple[CallRegion, ...]:
        return {READS: self.reads, WRITES: self.writes, ATOMICS: self.atomics}[kind]

    @property
    def text(self) -> str:
        """``the call of fft reads $0[128], writes $1[128], and touches nothing else``."""
        said = [f"{kind} {', '.join(map(str, self.regions(kind)))}" for kind in KINDS if self.regions(kind)]
        said = [text.replace(ATOMICS, "updates by atomics", 1) for text in said]
        return f"the call of {self.symbol} {', '.join(said)}{', and' if said else ''} touches nothing else".strip()


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One ``[[launch]]``.  ``observed`` are facts that held of the contents when the launch was recorded: nobody
    vouches for them, but a proof that needs one may assume it and say so.  ``trust``: what else the proof takes for
    granted (`contract.trustable`), sorted.  ``allow``: what else blocks may do (`contract.allowed`), sorted.
    ``calls``: what functions of libraries touch (`contract.declared_calls`), sorted.  ``deny_limits``: size limits are
    errors.  ``order`` and ``options``, of Triton kernels alone: what orders accesses of one program, and what the
    compiler is told (``num_warps``).
    ``names``: integers, not negative, that stand in no argument, but in ``grid`` or ``requires``.  ``complete``: arrays
    of which every element has to be written.  ``empty``: arrays that hold nothing when the launch begins.  ``grid`` is
    ``None`` for any grid; missing axes are already filled with 1.

    ``requires_text``/``grid_text`` keep the user's spelling for reports.  ``where`` says where the spec stands (file
    and launch) for messages, ``file`` and ``line`` for programs.  ``origin``: who says so; what the tool made up itself
    stands in ``notes``, too.  ``unsized``: arrays of whose size nothing is known, so that it has a name of its own: an
    access behind their end shows nothing against the kernel.
    """

    kernel: str
    name: str
    arguments: tuple[Argument, ...]
    grid: tuple[Expression, Expression, Expression] | None = None
    requires: tuple[Expression | SameArray, ...] = ()
    data: tuple[DataFact, ...] = ()
    observed: tuple[DataFact, ...] = ()
    alias: tuple[frozenset[str], ...] = ()
    overlap: tuple[frozenset[str], ...] = ()
    trust: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    calls: tuple[DeclaredCall, ...] = ()
    deny_limits: bool = False
    names: tuple[str, ...] = ()
    complete: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    order: Order = "triton"
    options: tuple[tuple[str, Any], ...] = ()
    where: str = ""
    origin: Origin = "written"
    unsized: frozenset[str] = frozenset()
    requires_text: tuple[str, ...] = ()
    grid_text: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None

    @property
    def inferred(self) -> bool:
        """Whether nobody promises it: the tool made it up, and if it stands in a file, nobody edited it."""
        return self.origin == "inferred"

    @property
    def has_spec(self) -> bool:
        """Whether it stands in a spec, whoever wrote that."""
        return bool(self.where)

    def same_arrays(self) -> tuple[frozenset[str], ...]:
        """The arguments that ``requires`` says are one array, one set for each array."""
        same: list[frozenset[str]] = []
        for pair in (frozenset((r.first, r.second)) for r in self.requires if isinstance(r, SameArray)):
            joined = pair.union(*(group for group in same if group & pair))
            same = [joined, *(group for group in same if not group & pair)]
        return tuple(same)

    def sharing(self) -> tuple[frozenset[str], ...]:
        """Groups of arguments that may share memory: what may overlap one name of an array may overlap the others."""
        same = self.same_arrays()
        named = (*self.alias, *self.overlap)
        return (*(group.union(*(one for one in same if one & group)) for group in named), *same)

    def arrays(self) -> Iterator[ArrayArgument]:
        """All plain array arguments, those inside tuples included (list elements excluded)."""
        stack = list(reversed(self.arguments))
        while stack:
            argument = stack.pop()
            if isinstance(argument, ArrayArgument):
                yield argument
            elif isinstance(argument, TupleArgument):
                stack.extend(reversed(argument.items))

    def lists(self) -> Iterator[ListArgument]:
        """All lists of arrays, those inside tuples included."""
        return (argument for argument in flat(self.arguments) if isinstance(argument, ListArgument))


# ------------------------------------------------------------------------------------- entry parameters
class Role(enum.Enum):
    POINTER = "pointer"
    SHAPE = "shape"
    STRIDE = "stride"
    SCALAR = "scalar"
    LIST_POINTER = "list pointer"
    LIST_LENGTH = "list length"
    ADDRESSES = "array of addresses"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class EntryParameter:
    """The meaning of one parameter of the entry, in ABI order.

    ``argument`` is the spec's name of the array, list or scalar; ``dim`` the dimension of a shape or stride;
    ``static`` its value where the compilation fixed it (a contiguous last stride, a shape of 1).  Of a partition come
    first the sizes of its tile (``static``), then as many strides; ``dim`` counts them all.
    """

    role: Role
    argument: str
    dim: int | None = None
    static: int | None = None


@dataclass(frozen=True, slots=True)
class KernelUnit:
    """One kernel of one file under one launch spec, compiled to bytecode.

    The compilation was told no more than the spec implies: divisibility and constants are passed on only where they
    follow from it.  ``producer``: what the bytecode is a translation of.
    """

    file: Path
    kernel: str
    launch: LaunchSpec
    bytecode: bytes
    symbol: str
    parameters: tuple[EntryParameter, ...]
    compile_ms: float = 0.0
    line: int | None = None
    notes: tuple[str, ...] = field(default=())
    producer: Literal["", "triton"] = ""
    most_ordered: Callable[[], bytes] | None = field(default=None, compare=False)
    """Of a Triton kernel whose bytecode leaves out orders that Triton's compiler may keep, the same kernel with all of
    them: accesses that meet there in one program are at fault, accesses that meet in ``bytecode`` alone are
    undecided.  A function, because most verdicts need it not, and translating takes as long as a short proof."""


# ----------------------------------------------------------------------------------------------------------- parameters
# The parameters of a kernel as its source declares them, free of any compiler's own classes.


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter of a kernel function.

    ``hint`` is the plain type of its annotation (``int``, ``bool``, ``float``, ``str``), if it is one.
    ``constant``: annotated ``ct.Constant``.  ``default`` counts only with ``has_default``.  ``scalar_dtype`` and
    ``index_bits`` are what an annotation fixes (``ct.ScalarInt64``, ``ct.IndexedWithInt64``).  ``static_shape`` and
    ``static_strides`` are the dimensions that the annotation makes compile-time constants (negative ones count
    from the end).  For a tuple annotation ``items`` describes each item, or ``each`` all of them.
    """

    name: str
    hint: str | None = None
    constant: bool = False
    has_default: bool = False
    default: Any = None
    scalar_dtype: str | None = None
    index_bits: int | None = None
    static_shape: tuple[int, ...] = ()
    static_strides: tuple[int, ...] = ()
    items: tuple[KernelParameter, ...] | None = None
    each: KernelParameter | None = None

    def item(self, index: int) -> KernelParameter | None:
        """The declaration of one tuple item; a plain annotation holds for every item."""
        if self.items is not None:
            return self.items[index] if index < len(self.items) else None
        return self.each if self.each is not None else self


# ------------------------------------------------------------------------------------------------------------- concrete
# Launches of numbers: every size, every scalar, what index arrays hold.


Block: TypeAlias = tuple[int, int, int]


def every_block(grid: Block) -> Iterator[Block]:
    """Of a launch, ``x`` fastest."""
    return ((x, y, z) for z, y, x in product(*(range(size) for size in reversed(grid))))


@dataclass(frozen=True, slots=True)
class ConcreteArray:
    """One array argument of a concrete launch.

    ``shape``/``strides`` in elements.  ``contents`` gives integer elements by linear *storage* index (element
    offset from the base pointer); all others are ``fill``.  ``allocation`` names the memory that the array lives
    in and ``byte_offset`` its place there: two arguments overlap only if they name one allocation.
    ``allocation_bytes`` is the size of that memory behind the array's first byte.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contents: Mapping[int, int] = field(default_factory=dict)
    fill: int = 0
    allocation: str = ""
    byte_offset: int = 0


@dataclass(frozen=True, slots=True)
class ConcreteLaunch:
    """Numbers for every argument of the entry, by the launch spec's argument names, and the grid.

    ``floats``: float scalars; one that is not named is 0, as no contract speaks of them.
    """

    grid: Block
    arrays: Mapping[str, ConcreteArray]
    scalars: Mapping[str, int]
    lists: Mapping[str, tuple[ConcreteArray, ...]] = field(default_factory=dict)
    floats: Mapping[str, float] = field(default_factory=dict)

    def named_arrays(self) -> Iterator[tuple[str, ConcreteArray]]:
        """Every array by its name, those of lists as ``xs[0]``."""
        yield from self.arrays.items()
        for name, arrays in self.lists.items():
            yield from ((f"{name}[{number}]", array) for number, array in enumerate(arrays))


# ----------------------------------------------------------------------------------------------------------- contiguous
# The strides of an array in elements, also where its description leaves them out.


def contiguous_strides(shape: Sequence[Expression]) -> tuple[Expression, ...]:
    """The row-major strides of a shape, in elements: the last is 1, each other the product of the sizes after it."""
    strides: list[Expression] = []
    product: Expression = Number(1)
    for size in reversed(shape):
        strides.append(product)
        product = size if product == Number(1) else Apply("*", (size, product))
    return tuple(reversed(strides))


def strides_of(array: ArrayArgument) -> tuple[Expression, ...]:
    """The strides of an array in elements, also where the description leaves them out."""
    return contiguous_strides(array.shape) if array.strides is None else array.strides
