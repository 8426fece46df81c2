"""Definitions of ``proofs/`` that say less than they must: with none of them can the theorem be proved.

``python3 -m tools.check_proofs --weakened`` tries each, and ``proofs/README.md`` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Weakening:
    """``old`` in ``file`` becomes ``new``, which says less: ``fails`` cannot be compiled, all before it can."""

    name: str
    file: str
    old: str
    new: str
    fails: str


OBLIGATIONS: Final = "Obligations.v"
RACE_FREE: Final = "RaceFree.v"
BOUNDS: Final = "Bounds.v"
SUMMARY: Final = "Summary.v"
REDUCTION: Final = "Reduction.v"
HARMLESS: Final = "HarmlessAtomics.v"
ATOMICS: Final = "Atomics.v"

WEAKENINGS: Final = (
    Weakening(
        "TV101 of one op alone: two stores of the text may meet",
        OBLIGATIONS,
        "weak a -> weak a' -> both_write a a' -> False.",
        "weak a -> weak a' -> both_write a a' -> i = i' -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV102 of accesses to the very same bytes alone",
        OBLIGATIONS,
        "~ both_write a a' -> False.",
        "~ both_write a a' -> bytes a = bytes a' -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 without widths",
        OBLIGATIONS,
        "one_writes a a' -> morally_strong b a b' a'.",
        "one_writes a a' -> scope_includes a b b' /\\ scope_includes a' b' b.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 without scopes: any two scoped accesses of one width may meet",
        OBLIGATIONS,
        "one_writes a a' -> morally_strong b a b' a'.",
        "one_writes a a' -> scoped a <> None /\\ scoped a' <> None /\\ width a = width a'.",
        RACE_FREE,
    ),
    Weakening(
        "TV103 of two scoped accesses alone: a weak one may meet an atomic",
        OBLIGATIONS,
        "~ (weak a /\\ weak a') -> one_writes a a'",
        "~ weak a -> ~ weak a' -> one_writes a a'",
        RACE_FREE,
    ),
    Weakening(
        "TV201 of two writes alone",
        OBLIGATIONS,
        "same_op i i' = false -> one_writes a a' ->",
        "same_op i i' = false -> both_write a a' ->",
        RACE_FREE,
    ),
    Weakening(
        "TV201 without widths: scoped accesses of different widths need no token",
        OBLIGATIONS,
        "~ (scoped a <> None /\\ scoped a' <> None /\\ width a = width a') ->",
        "~ (scoped a <> None /\\ scoped a' <> None) ->",
        RACE_FREE,
    ),
    Weakening(
        "TV201 by program order instead of tokens",
        OBLIGATIONS,
        "waits b r i i' \\/ waits b r i' i.",
        "earlier i i' \\/ earlier i' i.",
        RACE_FREE,
    ),
    Weakening(
        "TV202 of lanes that store different values alone",
        OBLIGATIONS,
        "kind_of a = Store -> weak a -> False.",
        "kind_of a = Store -> weak a -> (exists x, written_by a nil x <> written_by a' nil x) -> False.",
        RACE_FREE,
    ),
    Weakening(
        "TV301 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV301_in_index_space.",
        "one_access b r i a -> writes a = true -> demands a TV301_in_index_space.",
        BOUNDS,
    ),
    Weakening(
        "TV302 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> inside a.",
        "one_access b r i a -> writes a = true -> inside a.",
        RACE_FREE,
    ),
    Weakening(
        "TV302 of reads alone: a write may leave its array",
        OBLIGATIONS,
        "one_access b r i a -> inside a.",
        "one_access b r i a -> reads a = true -> inside a.",
        RACE_FREE,
    ),
    Weakening(
        "TV302 without alignment of atomics",
        OBLIGATIONS,
        "one_access b r i a -> aligned a.",
        "one_access b r i a -> weak a -> aligned a.",
        BOUNDS,
    ),
    Weakening(
        "TV303 of writes alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV303_promised_in_bounds.",
        "one_access b r i a -> writes a = true -> demands a TV303_promised_in_bounds.",
        BOUNDS,
    ),
    Weakening(
        "TV401 of what accesses memory alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV401_assumed.",
        "one_access b r i a -> kind_of a <> NoAccess -> demands a TV401_assumed.",
        BOUNDS,
    ),
    Weakening(
        "TV402 of what accesses memory alone",
        OBLIGATIONS,
        "one_access b r i a -> demands a TV402_arithmetic.",
        "one_access b r i a -> kind_of a <> NoAccess -> demands a TV402_arithmetic.",
        BOUNDS,
    ),
    Weakening(
        "written arrays without those that atomics write",
        OBLIGATIONS,
        "one_access b r i a -> writes a = true -> written (origin a).",
        "one_access b r i a -> kind_of a = Store -> written (origin a).",
        RACE_FREE,
    ),
    Weakening(
        "loads of arrays that the launch writes find what it began with",
        OBLIGATIONS,
        "Forall2 (fun x v => read_only x -> v = initial L x) (bytes a) l.",
        "Forall2 (fun x v => v = initial L x) (bytes a) l.",
        RACE_FREE,
    ),
    Weakening(
        "obligations for blocks that have read everything alone",
        OBLIGATIONS,
        "in_grid L b /\\ allowed b r /\\ does b r i = Some a.",
        "in_grid L b /\\ allowed b r /\\ does b r i = Some a /\\ forall j, does b r j <> None -> r j <> None.",
        RACE_FREE,
    ),
    Weakening(
        "questions between blocks may assume more than what holds if the accesses race",
        OBLIGATIONS,
        "obligations_hold_with written (fun _ _ _ _ _ _ => True).",
        "obligations_hold_with written (fun _ _ i _ _ i' => i = i').",
        RACE_FREE,
    ),
    Weakening(
        "values out of thin air",
        "Machine.v",
        "no_thin_air : well_founded causes",
        "no_thin_air : well_founded (fun c e => causes c e /\\ fst c = fst e)",
        RACE_FREE,
    ),
    Weakening(
        "atomics commute inside a block alone",
        HARMLESS,
        "kind_of a = Rmw -> kind_of a' = Rmw -> share_a_byte a a' ->\n",
        "kind_of a = Rmw -> kind_of a' = Rmw -> share_a_byte a a' -> b = b' ->\n",
        ATOMICS,
    ),
    Weakening(
        "results of atomics may decide what waits",
        HARMLESS,
        "forall j, depends j i = false /\\ ~ steers j i.",
        "forall j, depends j i = false.",
        ATOMICS,
    ),
    Weakening(
        "scoped loads beside atomics",
        HARMLESS,
        "one_access written b r i a -> ~ weak a -> kind_of a = Rmw.",
        "one_access written b r i a -> ~ weak a -> kind_of a <> Store.",
        ATOMICS,
    ),
    Weakening(
        "atomics of several widths",
        HARMLESS,
        "kind_of a = Rmw -> share_a_byte a a' -> bytes a' = bytes a.",
        "kind_of a = Rmw -> share_a_byte a a' -> width a' = width a -> bytes a' = bytes a.",
        ATOMICS,
    ),
    Weakening(
        "question TV101 in one iteration alone",
        SUMMARY,
        "    ~ block_copies s v o k l s' o' k' l'.\n\n  Definition asked_TV102",
        "    k = k' -> ~ block_copies s v o k l s' o' k' l'.\n\n  Definition asked_TV102",
        REDUCTION,
    ),
    Weakening(
        "two copies that share what the blocks have read",
        SUMMARY,
        "bid o <> bid o' /\\ footprints_meet",
        "bid o <> bid o' /\\ o = o' /\\ footprints_meet",
        REDUCTION,
    ),
    Weakening(
        "question TV201 of one op alone",
        SUMMARY,
        "guard s' v o k' l' -> (s, k) <> (s', k') ->\n",
        "guard s' v o k' l' -> s = s' -> (s, k) <> (s', k') ->\n",
        REDUCTION,
    ),
    Weakening(
        "question TV202 of neighbouring footprints alone",
        SUMMARY,
        "l <> l' -> footprints_meet s v o k l s o k l' -> False.",
        "l <> l' -> footprint s v o k l <> footprint s v o k l' -> footprints_meet s v o k l s o k l' -> False.",
        REDUCTION,
    ),
)
