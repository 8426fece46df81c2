"""Every TV code: what it means, the formula in words, how to mend it.  Codes are stable and never reused."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


class TV(enum.StrEnum):
    """Every code by its name, which machines read as ``race-write-write``."""

    SOURCE_ERROR = "TV001"
    SPEC_ERROR = "TV002"
    BYTECODE_ERROR = "TV003"
    CONTRADICTORY_CONTRACT = "TV004"
    TOOL_FAILURE = "TV005"
    RACE_WRITE_WRITE = "TV101"
    RACE_READ_WRITE = "TV102"
    RACE_ATOMIC_MIXED = "TV103"
    UNORDERED_IN_BLOCK = "TV201"
    DUPLICATE_LANES = "TV202"
    TILE_OUT_OF_INDEX_SPACE = "TV301"
    POINTER_OUT_OF_ALLOCATION = "TV302"
    INBOUNDS_PROMISE = "TV303"
    INDEX_WRAPS = "TV304"
    ASSUME_PROMISE = "TV401"
    ARITHMETIC_UNDEFINED = "TV402"
    UNDETERMINED = "TV403"
    LAUNCH_OVERLAP = "TV501"
    LAUNCH_CONTRACT = "TV502"
    LAUNCH_ARTIFACT = "TV503"
    LAUNCH_IN_FLIGHT = "TV504"
    SUPPRESSION_UNUSED = "TV601"
    SUPPRESSION_EXPIRED = "TV602"
    SUPPRESSION_MALFORMED = "TV603"
    NEVER_WRITTEN = "TV711"
    UNFILLED_READ = "TV712"
    DATA_DEPENDENT = "TV901"
    UNSUPPORTED_OP = "TV902"
    BUDGET = "TV903"
    ARITHMETIC_OUT_OF_REACH = "TV904"
    SYNCHRONISATION_PROTOCOL = "TV905"
    UNKNOWN_POINTER = "TV906"
    TOKEN_INCOMPLETE_EXIT = "TV907"

    __repr__ = str.__repr__  # in a prompt, too, a finding's code is text


class Family(enum.Enum):
    """What a finding with a code of this family says about the kernel."""

    ERROR = "not checked"  # TV0xx: the kernel, its spec or the tool failed before there was anything to prove
    BETWEEN_BLOCKS = "race between tile blocks"  # TV1xx
    INSIDE_BLOCK = "order inside a tile block"  # TV2xx
    BOUNDS = "bounds"  # TV3xx
    PROMISE = "broken promise"  # TV4xx
    LAUNCH = "launch time"  # TV5xx
    SUPPRESSION = "suppression"  # TV6xx: what shall not fail a run is not said well
    BEYOND = "beyond one launch"  # TV7xx: memory that nobody filled, before the launch or in it
    UNDECIDED = "undecided"  # TV9xx: neither proved nor refuted


@dataclass(frozen=True, slots=True)
class Code:
    """``title`` completes "obligation:" (TV1xx to TV5xx, TV7xx) or "reason:" (the others), ``is_not`` "It is not".

    ``fault`` is what a finding says where ``title`` says what had to hold.  ``broken`` is the sentence about a kernel
    that breaks the obligation, of its ``{array}`` and a ``{detail}``: obligations that refute a kernel have one.
    ``warns``: such a finding leaves a proof a proof.
    """

    code: TV
    title: str
    meaning: str
    formula: str
    fix: str
    is_not: str
    fault: str = ""
    broken: str = ""
    warns: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "fault", self.fault or self.title)

    @property
    def name(self) -> str:
        """For machines: ``race-write-write``."""
        return self.code.name.lower().replace("_", "-")

    @property
    def family(self) -> Family:
        return _FAMILIES[self.code[2]]


_FAMILIES: Final = dict(zip("012345679", Family, strict=True))

_ALL: Final = (
    Code(
        TV.SOURCE_ERROR,
        "the kernel's source could not be compiled",
        "The file could not be imported, or cuda.tile's own compiler rejects the kernel for this launch. "
        "Nothing was verified.",
        "none: there is no bytecode to reason about.",
        "Mend the line that the message names. If the kernel is right, the launch spec gives it arguments that it "
        "was not written for: compare ranks and element types.",
        "a verdict on the kernel: other launches of it may compile, and be proved.",
    ),
    Code(
        TV.SPEC_ERROR,
        "the launch spec cannot be used",
        "The launch spec is malformed, names something that the kernel does not have, or leaves a parameter out.",
        "none: without a launch the kernel has no types.",
        "Mend the field that the message names; the documentation of launch specs lists what each field may hold.",
        "a fault of the kernel.",
    ),
    Code(
        TV.BYTECODE_ERROR,
        "the bytecode cannot be decoded",
        "The Tile IR bytecode is truncated, corrupt, or uses a version, an op or a flag that this decoder does not "
        "know. Nothing is guessed about such a file.",
        "none: what cannot be read cannot be proved.",
        "Write the file again; for a newer bytecode version ask the producer for one between 13.1 and 13.5.",
        "a fault of the kernel that the file was made from. An op that can be read and has no rule is TV902.",
    ),
    Code(
        TV.CONTRADICTORY_CONTRACT,
        "no launch satisfies the contract",
        "The facts of the launch spec contradict each other, so that every obligation would hold vacuously: clauses, "
        "facts on data that no contents keep, strides that cannot keep elements apart (one name for two), numbers that "
        "do not fit what passes them. So does a contract that only launches without work satisfy. A proof under it "
        "says nothing, so none is given; the message names the fewest lines that contradict each other.",
        "there are sizes, scalars, strides, contents and a grid that satisfy grid, requires, data and the layouts "
        "together, with a block that does something.",
        "Remove or correct one of the lines that are named; sizes are >= 0 and each grid axis is at least 1.",
        "a proof, although nothing can go wrong where nothing is launched; nor a fault of the kernel.",
    ),
    Code(
        TV.TOOL_FAILURE,
        "tileverify itself failed on this kernel",
        "An unexpected error inside tileverify, or a worker process that the system ended (for want of memory, "
        "for instance). It says nothing about the kernel. With `check --audit`, also a proof that a run of the "
        "interpreter contradicts: one of the two misreads the kernel.",
        "none.",
        "Please report it, with the archive `tileverify-crash-....zip` that `check` names, once you have looked "
        "through it: it holds the kernel, its spec and bytecode, versions, the command line and the traceback.",
        "a verdict on the kernel. A proof that merely takes too much is TV903.",
    ),
    Code(
        TV.RACE_WRITE_WRITE,
        "no write/write race between tile blocks",
        "Two tile blocks of one launch write the same byte. Tile blocks run in any order, also at the same time: "
        "which value remains is a matter of luck and may change between runs.",
        "no two different tile blocks write one byte, unless both accesses are atomic with a scope that covers both.",
        "Give each block its own part of the output: make the store's index an injective function of the block id "
        "(not `bid // 2`), let every axis of the grid take part, make an axis that the kernel ignores 1 in `grid`, "
        "or use an atomic with device scope where blocks are meant to meet.",
        "a matter of what a run shows: that both blocks store the same value, or always come in one order on "
        "today's hardware, does not mend it. (A launch may allow stores that are proved to leave equal values: "
        "`allow` in launch specs.) Two stores of one block are TV201, two lanes of one store TV202, two launches at a "
        "time TV504.",
        fault="two tile blocks write one element",
        broken="two tile blocks store to the same element of `{array}`",
    ),
    Code(
        TV.RACE_READ_WRITE,
        "no read/write race between tile blocks",
        "One tile block reads a byte that another one of the same launch writes. The reader may see the old or the "
        "new value. Updating an array in place with a neighbourhood (a stencil) is the usual case.",
        "no tile block reads a byte that another one writes, unless both accesses are atomic with a scope that "
        "covers both.",
        "Write to a second array, split the work into two launches, or let each block read only what it writes "
        "itself. If two arguments are one array on purpose, say so with `alias`/`overlap` in the launch spec.",
        "anything that an order inside the blocks could mend: tokens order the accesses of one block. Blocks that "
        "wait for each other by atomics are proved where the protocol is understood, and TV905 where it is not.",
        fault="a tile block reads an element that another one writes",
        broken="a tile block reads an element of `{array}` that another block writes",
    ),
    Code(
        TV.RACE_ATOMIC_MIXED,
        "atomics are adequate",
        "An atomic excludes races only with other atomics whose scope covers both blocks. Here a plain access meets "
        "an atomic on one location, an atomic with block scope is shared between blocks, or two atomics of different "
        "widths overlap.",
        "no weak access of one block meets an atomic of another on one byte; no `tl_blk` scope across blocks; atomics "
        "that meet are of one width.",
        "Make both accesses atomic, with device scope; to read a counter that others update use an atomic load.",
        "about atomics alone: those of one width and device scope may meet wherever they like. Where neither side "
        "is atomic it is TV101 or TV102.",
        fault="an atomic meets an access that it gives no order",
        broken="an atomic access to `{array}` meets an access of another block that its scope does not cover",
    ),
    Code(
        TV.UNORDERED_IN_BLOCK,
        "conflicting accesses of one block are ordered by tokens",
        "In Tile IR nothing orders the memory accesses of one block but tokens: not program order, not data, not "
        "control flow. Two accesses of this block meet on one byte, at least one writes, and no token path joins "
        "them: the compiler may swap them.",
        "any two accesses of one block that meet on one byte, one of them writing, are joined by a token path.",
        "Thread the token of the first access into the second (join_tokens where several come together). cuTile "
        "Python inserts tokens itself: then it believes that the arguments do not overlap; declare `alias` if "
        "they do.",
        "a race between blocks (TV101, TV102). That the source has one access behind the other is no order, either.",
        fault="two accesses of one block conflict, and no token orders them",
        broken="two accesses of one tile block to the same element of `{array}` are not ordered by a token",
    ),
    Code(
        TV.DUPLICATE_LANES,
        "one store, one address",
        "Two lanes of one store hit the same byte, and nothing says which of them wins: duplicate indices in a "
        "scatter, a stride of 0, rows that overlap.",
        "two live lanes of one weak store never write one byte.",
        "Make the indices distinct (state it as `injective(idx)` if the data guarantees it), mask duplicates away, "
        "or use an atomic read-modify-write, which accepts duplicates.",
        "about loads, whose lanes may read one element together, nor about two stores (TV201).",
        fault="two lanes of one store write one element",
        broken="two lanes of one store hit the same element of `{array}`",
    ),
    Code(
        TV.TILE_OUT_OF_INDEX_SPACE,
        "every tile index lies in its view's index space",
        "A view of shape s cut into tiles of size t has ceildiv(s, t) tiles along that axis. A tile that lies partly "
        "outside is clipped; one that lies fully outside is undefined behaviour, although today's hardware masks it.",
        "0 <= tile index < ceildiv(shape, tile) on every axis, read as unsigned.",
        "Launch no more blocks than tiles (`grid` in the launch spec), or return early from blocks beyond the last "
        "tile; check the bounds of loops over tiles.",
        "about the tail: a tile that lies partly inside is clipped, and right. Accesses by pointers are TV302.",
        fault="a tile index lies outside the index space of its view",
        broken="the tile index into `{array}` leaves its index space ({detail})",
    ),
    Code(
        TV.POINTER_OUT_OF_ALLOCATION,
        "every pointer access stays in its allocation",
        "A live lane of a pointer access lies outside the array that the pointer was derived from.",
        "0 <= offset and offset + element size <= extent of the array, for every lane that the mask leaves.",
        "Mask the access with `index < size` on every axis, computed in an integer type that does not wrap.",
        "about tiles of views (TV301), and not about addresses that are read from arrays of which nothing is known "
        "(TV901).",
        fault="a pointer access leaves its allocation",
        broken="an access leaves the array `{array}`",
    ),
    Code(
        TV.INBOUNDS_PROMISE,
        "promise kept: in bounds",
        "The kernel promises that whole tiles lie inside the array (`inbounds=true`, `check_bounds=False`), so the "
        "compiler leaves the bounds checks out, and here a tile reaches outside.",
        "tile index * tile size + tile size <= shape on every axis with that promise.",
        "Take the promise back, or make it true: require sizes that are multiples of the tile (`M % 128 == 0`).",
        "a fault without the promise, where a part of the tile lies inside: it would be clipped.",
        fault="broken promise: in bounds",
        broken="`{array}` is accessed with a promise of in-bounds tiles that does not hold ({detail})",
    ),
    Code(
        TV.INDEX_WRAPS,
        "no index wraps in an array that a card can hold",
        "The kernel is right up to arrays of 2**31 elements. Beyond, its 32-bit arithmetic wraps: it touches another "
        "element, or a mask hides the wrapped index and rows are silently left out. It is a warning.",
        "an index or a mask fits its integer type wherever every size alone is below 2**30.",
        "Compute the index in 64 bits, as the finding says, or write the limit into `requires`.",
        "about sizes of 2**30 and more, which are limits without a warning.",
        fault="an index wraps in an array that a card can hold",
        warns=True,
    ),
    Code(
        TV.ASSUME_PROMISE,
        "promise kept: assume",
        "The kernel contains an `assume` (divisibility, a range, equal elements) that does not follow from the "
        "contract. The compiler relies on it: if it is false, anything may happen.",
        "every `assume` that is reached holds.",
        "Add the fact to `requires`, so that every launch is held to it, or compile without the assumption.",
        "about facts of the launch spec: those are yours, and a launch that does not keep one is TV502.",
        fault="broken promise: assume",
        broken="a promise to the compiler does not hold: {detail}",
    ),
    Code(
        TV.ARITHMETIC_UNDEFINED,
        "arithmetic is defined",
        "Integer arithmetic outside its definition: a divisor of 0, the smallest integer divided by -1, a loop step "
        "that is not positive, an addition marked nsw/nuw that overflows, a pointer offset that overflows, the index "
        "of an `extract` or `insert` beyond its tile.",
        "divisor != 0, not (INT_MIN / -1), step > 0, results of nsw/nuw arithmetic fit, `offset` does not overflow, "
        "subtile index < number of subtiles.",
        "Add the missing fact to `requires` (for instance `K >= 1`), or keep blocks without work from reaching "
        "the operation.",
        "about integers that wrap around, which is defined, and followed as it wraps; nor about floats, of which "
        "nothing is asked.",
        fault="arithmetic is undefined",
        broken="the arithmetic is not defined: {detail}",
    ),
    Code(
        TV.UNDETERMINED,
        "determined",
        "A value that the specification leaves open decides something: what a load without `padding_mode` gives beyond "
        "the array, what a masked load without a padding value gives in lanes that are off, local memory that was not "
        "written, or what a reduction gives that may hang on the order of its lanes, or on how often its identity is "
        "among them. It takes part in what is stored inside an array, in an address, a mask or a branch, so that "
        "results may differ between devices, compilers and runs. It is a warning: the proof stays, and `deterministic` "
        "is false. Multiplying by zero does not help (infinity times 0 is no number), choosing with `where` does.",
        "nothing that the specification leaves open reaches an element inside an array, an address, a mask or a branch "
        "(asked in the launches of your own contract).",
        "Give the load a padding mode (`padding_mode=ct.PaddingMode.ZERO` for sums and matrix products, NEG_INF for a "
        "maximum, also one in front of a sum of exponentials), choose with `ct.where(index < size, x, ...)` (1 for a "
        "product of the lanes), or require sizes that are whole tiles, as the message says. Give a reduction an "
        "associative and commutative function, and the identity that leaves all as it is, tuples that equal it in some "
        "inputs alone included.",
        "a race, nor an access out of bounds: the proof stands. Rounding has no part in it.",
        fault="a result hangs on what the specification leaves open",
        warns=True,
    ),
    Code(
        TV.LAUNCH_OVERLAP,
        "arguments do not overlap",
        "At launch two arguments that the contract keeps apart share memory.",
        "the byte ranges of distinct arguments are disjoint, but for the groups in `alias` and `overlap`.",
        "Pass distinct arrays, or declare the group in the launch spec and verify again.",
        "a race that was seen: nothing was launched. Arrays that lie side by side in one allocation do not overlap.",
        fault="arguments overlap",
    ),
    Code(
        TV.LAUNCH_CONTRACT,
        "the launch satisfies the contract",
        "A launch lies outside the contract under which the kernel was proved.",
        "grid, sizes, strides, scalars and data of the launch satisfy every clause of the contract.",
        "Launch with arguments inside the contract, or prove the kernel under a wider one.",
        "a fault that was seen: nothing was proved of such a launch, so it is not made.",
        fault="the launch does not satisfy the contract",
    ),
    Code(
        TV.LAUNCH_ARTIFACT,
        "the artifact is the proved one",
        "The binary that is about to run was not made from the bytecode that was proved. Or the assembler made code "
        "that does other than the bytecode; `check --compiled` warns then, since the proof is of the bytecode.",
        "the digests of bytecode and binary are those that the certificate names.",
        "Build and verify again. Where it is the assembler's fault, `check --compiled SM --fix` makes a repair whose "
        "code compares equal. If it finds none: add with `atomic_add`, take another tile, or store in a second launch.",
        "a fault of the kernel: all that is known of the binary is that it is another one.",
        fault="the artifact is not the proved one",
        warns=True,
    ),
    Code(
        TV.LAUNCH_IN_FLIGHT,
        "no conflict with work in flight",
        "A launch writes memory that a launch which has not ended yet reads or writes, and no stream order or event "
        "stands between them.",
        "footprints of concurrent launches do not conflict.",
        "Use one stream, or wait for an event of the other launch.",
        "about the blocks of one launch (TV101 to TV103), nor about launches that only read what they share.",
        fault="a launch conflicts with work in flight",
    ),
    Code(
        TV.SUPPRESSION_UNUSED,
        "a suppression that hides nothing",
        "The finding that a suppression names is not there (any more). Left where it is, it would hide the next fault "
        "of that kind.",
        "none: it says nothing about a kernel.",
        "Remove the suppression, or the code that is not found; it may also stand beside another line than the one "
        "that the finding names.",
        "a fault of the kernel.",
    ),
    Code(
        TV.SUPPRESSION_EXPIRED,
        "a suppression that has expired",
        "The day named with `until` is over. The suppression has no effect any more, and what it hid fails again.",
        "none: it says nothing about a kernel.",
        "Mend the fault, or look at it again and give another day, with the reason why it may still wait.",
        "a new fault: the old one was hidden, not mended.",
    ),
    Code(
        TV.SUPPRESSION_MALFORMED,
        "a suppression that has no effect",
        "A suppression names its codes, a reason, and where it is wanted a last day; this one lacks the reason or "
        "has a placeholder for it (`TODO`, `...`), names a code that does not exist or cannot be suppressed, or cannot "
        "be read. It hides nothing.",
        "none: it says nothing about a kernel.",
        "Write `# tileverify: ignore[TV101] -- why this is fine (until 2027-12-31)`. Kernels that could not be checked "
        "(TV0xx) cannot be suppressed.",
        "a fault of the kernel; what it should hide is reported as if it were not there.",
    ),
    Code(
        TV.NEVER_WRITTEN,
        "every element of an output is written",
        "The launch spec says that an array is `complete`, and in some launch of the contract no block writes one of "
        "its elements: what was in memory before stays there. A grid that is rounded down, a mask by another size "
        "than the array's, a tail that no block takes are the usual cases.",
        "for each element of the array there are a block, iterations and a lane that write it.",
        "Launch enough blocks, mask with the size of the array that is written, or store a value (0, say) where the "
        "kernel has nothing to say. If a part is left alone on purpose, take the array out of `complete`.",
        "about kernels without `complete`: a histogram or a cache is not meant to be written whole, and "
        "`check --complete` only tells. It counts writes, not values.",
        fault="an element of an output is never written",
        broken="an element of `{array}` is never written",
    ),
    Code(
        TV.UNFILLED_READ,
        "what is read from an empty array was written before",
        "The launch spec says that an array is `empty` when the launch begins (`torch.empty`), and a block reads an "
        "element of it, or adds to it by an atomic, that it has not written before. The value is whatever was in that "
        "memory.",
        "an access that reads an empty array waits for stores of its own block that wrote each of its elements.",
        "Fill the array before the launch (`torch.zeros`) and take it out of `empty`, or store to the elements first, "
        "with the same mask, in every path that leads to the access.",
        "about arrays that the spec does not call empty, nor about lanes beyond an array (TV403). Elements that "
        "another block fills are undecided.",
        fault="an element of an empty array is read before it is written",
        broken="an element of `{array}` is read that nobody has written",
    ),
    Code(
        TV.DATA_DEPENDENT,
        "an index depends on data, and no contract says what the data is",
        "Where a store goes is read from an array, and nothing is known about its contents. Whether blocks or lanes "
        "meet depends on the data.",
        "the obligation holds for some contents of the index array and fails for others.",
        "State what the data guarantees in `data`: injective(idx), permutation(idx), range(idx, 0, N) or "
        "nondecreasing(idx); the message names the array.",
        "a fault that was seen, nor about data that a block only computes with: what matters is where it reads and "
        "writes, and whether.",
    ),
    Code(
        TV.UNSUPPORTED_OP,
        "an operation without a rule",
        "The kernel uses an operation that the symbolic executor does not model in this form. It is never guessed.",
        "none: the access summary would be incomplete.",
        "Write the kernel without the operation where that is possible; please report it if it is common. Of a call "
        "into a tile library, declare what it touches: `calls` in launch specs.",
        "a fault of the kernel: it may well compile and run.",
    ),
    Code(
        TV.BUDGET,
        "the budget ran out",
        "What the whole proof of one kernel may take of the solver's resources was spent, or --timeout ended it, "
        "before there was an answer; the message says which stage and which obligation took most.",
        "neither a proof nor a counterexample was found within the budget.",
        "Allow more with --effort (or --timeout), or help it: fix sizes that never change, add facts to `requires`.",
        "a fault, nor a sign of one, nor (but for --timeout) a matter of a slow machine: steps of the solver are "
        "counted, not seconds.",
    ),
    Code(
        TV.ARITHMETIC_OUT_OF_REACH,
        "arithmetic out of reach",
        "The obligation needs integer arithmetic that neither the lemmas nor the solver mastered, or a candidate "
        "counterexample that the replay did not confirm.",
        "the solver answered unknown, or its model is not a real launch.",
        "Fix strides or tile counts to numbers, or state the relation between them in `requires`.",
        "a fault: a counterexample that no replay confirms is never reported as one.",
    ),
    Code(
        TV.SYNCHRONISATION_PROTOCOL,
        "blocks synchronise with each other",
        "Blocks order their accesses with a protocol of their own that is not understood here or lacks something: "
        "the message says what. Understood are counters (last block done, barriers, trees), tickets and shares, "
        "flags and bits, turns, claims and locks, with acquire, release and tokens in place.",
        "the accesses conflict unless the protocol orders them.",
        "Add what the message names (a data fact such as range(counter, 0, 1), or the memory order of an access), "
        "split the kernel into two launches, or let the reduction use atomics alone.",
        "a race that was seen: those are TV101 to TV103.",
    ),
    Code(
        TV.UNKNOWN_POINTER,
        "a pointer of unknown origin",
        "An access goes through a pointer that was made from an integer or loaded from memory, so that it may point "
        "anywhere, or to an array of a list whose arrays may overlap.",
        "the access may meet every other one.",
        "Derive the pointer from a kernel parameter; leave the list out of `overlap` if its arrays are distinct.",
        "a fault that was seen, nor about lists of arrays that are distinct.",
    ),
    Code(
        TV.TOKEN_INCOMPLETE_EXIT,
        "a loop exit leaves a token behind",
        "The bytecode leaves a loop without handing on the tokens of its accesses, as nvcc writes it for early "
        "exits, so later accesses are not ordered behind the loop's although the source orders them.",
        "the accesses are ordered in the source and unordered in the bytecode.",
        "Restructure the loop so that it ends at its condition, or accept the finding as a limit of the producer.",
        "a fault of the source, which has the accesses in order.",
    ),
)

CODES: Final[Mapping[str, Code]] = MappingProxyType({code.code: code for code in _ALL})
"""All codes in numeric order."""


# ------------------------------------------------------------------------------------------------------------- families
# The obligations that refute a kernel, by what goes wrong: those that ask for a kind of fault ask here.


def _refuting(family: Family) -> tuple[TV, ...]:
    """The obligations of one family that refute a kernel."""
    return tuple(code.code for code in CODES.values() if code.broken and code.family is family)


BETWEEN_BLOCKS: Final = _refuting(Family.BETWEEN_BLOCKS)
INSIDE_BLOCK: Final = _refuting(Family.INSIDE_BLOCK)
CONFLICTS: Final = (*BETWEEN_BLOCKS, *INSIDE_BLOCK)
"""Two accesses or lanes meet in an element."""
BOUNDS: Final = _refuting(Family.BOUNDS)
"""An access goes where it may not."""
FILLED: Final = (TV.NEVER_WRITTEN, TV.UNFILLED_READ)
"""Memory that nobody filled: a run shows what was written when."""
EVENTS: Final = (*BOUNDS, *_refuting(Family.PROMISE))
"""What happens at one op: a run of one block shows it."""


# ---------------------------------------------------------------------------------------------------------------- tiers
# By which theory it was found that conditions contradict each other, as reports and certificates name it.


class Tier(enum.StrEnum):
    """From the cheapest to the dearest; a question is decided by the first that can."""

    STRUCTURAL = "structural"  # equations and bounds, without a solver
    AS_WRITTEN = "as written"  # a condition is a fact, or what a fact excludes
    EXAMPLE = "example"  # numbers of an earlier answer satisfy it
    LINEAR = "linear integers"  # products, quotients, operations on bits: congruent functions, known by lemmas alone
    BIT_VECTORS = "bit-vectors"  # all on words so wide that nothing in the question overflows
    NONLINEAR = "non-linear integers"  # products and quotients are the solver's own
    ENUMERATED = "enumerated"  # no formula: all blocks of a launch of numbers were run


THEORIES: Final = (Tier.LINEAR, Tier.BIT_VECTORS, Tier.NONLINEAR)
"""Those by which a solver proves."""
