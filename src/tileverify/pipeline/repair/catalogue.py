"""The closed list of hints.  Ids are never renamed or reused; a new one raises `VERSION`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...results import Edit, Hint, KernelResult
from ...results.codes import BETWEEN_BLOCKS, BOUNDS, INSIDE_BLOCK, TV

VERSION: Final = 5


@dataclass(frozen=True, slots=True)
class RepairKind:
    """``codes``: the findings it is for.  ``text``: advice in a sentence."""

    id: str
    codes: tuple[TV, ...]
    text: str


ADVICE: Final = "write-otherwise"
"""Of compiled code: what might be written instead, where no repair was tried with success."""

_ALL: Final = (
    RepairKind(
        "use-atomic",
        (*BETWEEN_BLOCKS, TV.DUPLICATE_LANES),
        "several tile blocks add to the same elements: add with an atomic, and clear the array before the launch",
    ),
    RepairKind(
        "split-output-index",
        BETWEEN_BLOCKS,
        "give each tile block elements of its own: its block ids have to tell the index apart",
    ),
    RepairKind(
        "widen-scope",
        (*BETWEEN_BLOCKS, TV.SYNCHRONISATION_PROTOCOL),
        "a scope that includes only one block orders nothing between blocks: use the scope of the device",
    ),
    RepairKind(
        "strengthen-order",
        (*BETWEEN_BLOCKS, TV.SYNCHRONISATION_PROTOCOL),
        "relaxed accesses hand nothing over: release what other blocks wait for, and acquire where they wait",
    ),
    RepairKind(
        "separate-launch",
        (TV.RACE_ATOMIC_MIXED,),
        "plain and atomic accesses of different blocks meet: use two launches",
    ),
    RepairKind(
        "separate-output",
        (TV.RACE_WRITE_WRITE, TV.RACE_READ_WRITE),
        "blocks read what other blocks overwrite: write to an array that no block reads",
    ),
    RepairKind(
        "mask-tail",
        BOUNDS,
        "check_bounds=False promises that no element lies outside, which does not hold: let the access be checked",
    ),
    RepairKind(
        "mask-index",
        (*BOUNDS, TV.DATA_DEPENDENT),
        "an index that comes from data may lie anywhere: mask it before it is used",
    ),
    RepairKind(
        "keep-promise",
        (TV.ASSUME_PROMISE,),
        "a promise to the compiler has to hold in every launch: take it back, or make it true",
    ),
    RepairKind(
        "guard-launch",
        (TV.TILE_OUT_OF_INDEX_SPACE, TV.INBOUNDS_PROMISE),
        "a block whose tile lies outside the array has nothing to do: let it return",
    ),
    RepairKind(
        "guard-access",
        (TV.TILE_OUT_OF_INDEX_SPACE, TV.INBOUNDS_PROMISE),
        "a tile outside the array is not accessed: guard the access, and what the block does beside it stays",
    ),
    RepairKind(
        "one-block",
        (TV.RACE_WRITE_WRITE, TV.RACE_READ_WRITE),
        "every block stores to the same elements: let one block do it",
    ),
    RepairKind(
        "mask-lanes",
        (TV.RACE_WRITE_WRITE, TV.DUPLICATE_LANES),
        "lanes that are masked where their index is read all store to one element: mask the store as well",
    ),
    RepairKind(
        "mend-loop",
        (*BETWEEN_BLOCKS, TV.TILE_OUT_OF_INDEX_SPACE, TV.INBOUNDS_PROMISE),
        "the loop makes a step too many, or its step is not the number of blocks",
    ),
    RepairKind(
        "fit-grid",
        (*BETWEEN_BLOCKS, TV.TILE_OUT_OF_INDEX_SPACE, TV.INBOUNDS_PROMISE),
        "the grid of the launch does not fit the kernel",
    ),
    RepairKind(
        "add-grid-axis",
        BETWEEN_BLOCKS,
        "the kernel ignores an axis of its grid: use it in the index, or launch one block along it",
    ),
    RepairKind(
        "widen-index",
        (*BETWEEN_BLOCKS, TV.TILE_OUT_OF_INDEX_SPACE, TV.POINTER_OUT_OF_ALLOCATION, TV.ASSUME_PROMISE, TV.INDEX_WRAPS),
        "an index wraps in 32 bits: compute it in 64",
    ),
    RepairKind(
        "order-accesses",
        INSIDE_BLOCK,
        "two accesses of one block touch the same elements in no order: reach them through one array, or say `alias`",
    ),
    RepairKind(
        "separate-lanes", (TV.DUPLICATE_LANES,), "lanes of one access write the same element: give each lane its own"
    ),
    RepairKind(
        "pad-load",
        (TV.UNDETERMINED,),
        "what a load gives beyond the array is left open: say what it shall be by a padding mode, or choose with where",
    ),
    RepairKind(
        "give-identity",
        (TV.UNDETERMINED,),
        "a reduction may take the lanes in any order and the identity any number of times: combine by an associative "
        "and commutative function, with the identity that leaves all as it is (0 for a sum, 1 for a product)",
    ),
    RepairKind(
        "guard-divisor", (TV.ARITHMETIC_UNDEFINED,), "a divisor, a step or a shift may have a value that is not allowed"
    ),
    RepairKind(
        "update-by-atomic",
        (TV.LAUNCH_ARTIFACT,),
        "threads that hold one element update it in no order: add with an atomic, which updates it once",
    ),
    RepairKind(
        "access-by-atomic",
        (TV.LAUNCH_ARTIFACT,),
        "every thread makes the scoped access for itself: use an atomic, which the block makes once",
    ),
    RepairKind("other-tile", (TV.LAUNCH_ARTIFACT,), "with another tile the assembler makes right code"),
    RepairKind(ADVICE, (TV.LAUNCH_ARTIFACT,), "write it so that the assembler makes right code of it"),
    RepairKind("declare-injective", (TV.DATA_DEPENDENT,), "say that no value of an index array repeats"),
    RepairKind(
        "declare-range",
        (TV.DATA_DEPENDENT, TV.SYNCHRONISATION_PROTOCOL),
        "say what the values of an index array lie between",
    ),
    RepairKind("declare-facts", (TV.DATA_DEPENDENT,), "say what holds of the contents of index arrays"),
)

KINDS: Final = {kind.id: kind for kind in _ALL}
"""Id -> kind."""


# ------------------------------------------------------------------------------------------------------------ elsewhere
# What a repair does under other launches of its kernel: one that was tried under a single one is not called safe.


_NOT_TRIED = "not tried under its other launches"


def weighed(results: Sequence[KernelResult]) -> list[KernelResult]:
    """``results`` with repairs called safe only where every launch of the kernel among them has the same one."""
    launches: dict[tuple[str, str], list[frozenset[tuple[Edit, ...]]]] = {}
    for result in results:
        safe = (hint.edits for finding in result.findings for hint in finding.hints if _is_safe(hint))
        launches.setdefault((result.file, result.kernel), []).append(frozenset(safe))

    def hint_of(result: KernelResult, hint: Hint) -> Hint:
        everywhere = all(hint.edits in safe for safe in launches[result.file, result.kernel])
        if everywhere or not _is_safe(hint):
            return hint
        return replace(hint, applicability="maybe", text=f"{hint.text}; {_NOT_TRIED}")

    def result_of(result: KernelResult) -> KernelResult:
        if not any(_is_safe(hint) for finding in result.findings for hint in finding.hints):
            return result
        findings = (
            replace(finding, hints=tuple(hint_of(result, hint) for hint in finding.hints))
            for finding in result.findings
        )
        return replace(result, findings=tuple(findings))

    return [result_of(result) for result in results]


def _is_safe(hint: Hint) -> bool:
    return hint.applicability == "safe" and bool(hint.edits)
