"""Findings in words: what is broken, where, and what would decide it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ..contract import terms as t
from ..contract.launch import DataFact
from ..contract.terms import Term
from ..contract.trustable import ON_A_GPU
from ..frontend.bytecode.location import Location
from ..frontend.bytecode.model import ASSEMBLY, OPAQUE
from ..frontend.symbolic.summary import Access, Promise, Site, ViewFootprint
from ..results import COMBINATIONS, Finding, Hint, SourceSite
from ..results.codes import CODES, CONFLICTS, TV
from ..results.conditional import plain_name
from .budgets import KERNEL_EFFORT
from .effort import ResourceBudget
from .obligations.fact_use import loaded_values
from .obligations.footprint_overlap import CopyLevel
from .obligations.obligations import MISALIGNED, Obligation, one_width

_VERB = {Access.READ: "load", Access.WRITE: "store", Access.ATOMIC: "atomic"}


def sites(obligation: Obligation) -> tuple[SourceSite, ...]:
    """The source places of an obligation."""
    if obligation.promise is not None:
        return (_promise_site(obligation.promise),)
    pair = [site for site in (obligation.first, obligation.second) if site is not None]
    return tuple(source_site(site) for site in pair)


def source_site(site: Site) -> SourceSite:
    return _place(site.location, _VERB[site.access], site.origin.name, index_text(site))


def in_words(site: Site) -> str:
    """``the load of `flag` at line 12``."""
    place = source_site(site)
    at = f" at line {place.line}" if place.line is not None else ""
    return f"the {_VERB[site.access]} of `{site.origin.name}`{at}"


LONGEST_ADVICE: Final = 100
"""Characters of clauses that a person would write."""


def is_readable(clauses: Sequence[str]) -> bool:
    """Whether a person would write these clauses: short, and without the arithmetic of machine integers."""
    return len(" and ".join(clauses)) <= LONGEST_ADVICE and not any("% 2 **" in clause for clause in clauses)


def would_be_proved(clauses: Sequence[str]) -> Hint:
    """The advice to promise more than the contract does."""
    text = f"would be proved if {' and '.join(f'`{clause}`' for clause in clauses)}"
    added = f"if every launch is like that, add requires = {json.dumps(list(clauses))} to the launch spec"
    return Hint("declare-requires", "maybe", f"{text}: {added}", requires=tuple(clauses))


def assertion(promise: Promise) -> str:
    """What is told of an assertion that is not shown to hold, where its block is trusted to stop."""
    line = _promise_site(promise).line
    at = "" if line is None else f" at line {line}"
    stops = f"a block where it fails is trusted to stop there, which on a GPU {ON_A_GPU}"
    return f"the assertion '{promise.text}'{at} is not shown to hold; {stops}"


_COMBINED = dict(zip(("reduce", "scan"), COMBINATIONS, strict=True))


def combination(promise: Promise) -> str:
    """What is told of a reduction whose result may hang on its order."""
    line = combination_site(promise).line
    at = "" if line is None else f" at line {line}"
    what = f"what the {_COMBINED[promise.text]}{at} gives"
    return f"{what} may hang on the order in which lanes are combined, or on how often its identity takes part"


def combination_site(promise: Promise) -> SourceSite:
    return _place(promise.location, _COMBINED[promise.text], "", "")


def _promise_site(promise: Promise) -> SourceSite:
    return _place(promise.location, "assume" if promise.code == TV.ASSUME_PROMISE else "arithmetic", "", promise.text)


def _place(location: Location | None, access: str, array: str, expression: str) -> SourceSite:
    if location is None:
        return SourceSite(None, None, None, access, array, expression=expression)
    frames = list(location.chain())
    user = user_frame(frames)
    chain = tuple((f.file, f.line, f.offset) for f in frames) if len(frames) > 1 else ()
    function = plain_name(user.function) if user.function else user.function
    return SourceSite(user.file, user.line, user.offset, access, array, function, chain, expression)


def user_frame(frames: list[Location]) -> Location:
    """The innermost frame in user code: toolkit headers and the compiler's own library do not help anybody."""
    for frame in frames:
        if not any(part in frame.file for part in ("/cuda_tile", "/nvidia/cu13/", "/cuda/include/", "/cuda/tile/")):
            return frame
    return frames[-1]


def index_text(site: Site) -> str:
    """``out[bid.x, 0]`` for views (tile numbers), ``xs[bid.x][0]`` in a list; ``out[bid.x*32 + lane]`` for pointers
    into what lies in one row, else how many elements, or bytes, behind the first one.
    """
    footprint, origin = site.footprint, site.origin
    array = origin.name if origin.index is None else f"{origin.name}[{in_plain_words(origin.index, 80)}]"
    if isinstance(footprint, ViewFootprint):
        return f"{array}[{', '.join(in_plain_words(_as_written(i), 80) for i in footprint.index)}]"
    elements = _in_elements(footprint.offset, origin.element_bytes)
    if elements is None:
        return f"{array} + {_of_lanes(site, footprint.offset)} bytes"
    in_a_row = len(origin.shape) < 2 and origin.strides in ((), (t.ONE,))
    text = _of_lanes(site, elements)
    return f"{array}[{text}]" if in_a_row else f"{array} + {text} elements"


def _in_elements(offset: Term, size: int) -> Term | None:
    """``offset``, in bytes, counted in elements, if it is a sum of whole ones."""
    constant, parts = t.linear_parts(offset)
    if any(number % size for number in (constant, *(coefficient for coefficient, _ in parts))):
        return None
    return t.from_linear(constant // size, {summand: coefficient // size for coefficient, summand in parts})


def _of_lanes(site: Site, term: Term) -> str:
    """``term`` as text, in which lanes are called so."""
    names = ["lane"] if len(site.lanes) == 1 else [f"lane{axis}" for axis in range(len(site.lanes))]
    pairs = ((lane.variable, name) for lane, name in zip(site.lanes, names, strict=True))
    called = {old: t.var(name, old.symbol.scope, old.low, old.high) for old, name in pairs if old.kind is _VAR}
    return in_plain_words(t.substitute(term, called), 120)


_VAR = t.TermKind.VAR


def _as_written(index: Term) -> Term:
    """A tile number as the source computes it, where the op reads it without its sign."""
    if index.kind is t.TermKind.ITE:
        _, shifted, signed = index.args
        if t.sub(shifted, signed) is t.const(1 << 32):
            return signed
    return index


def in_plain_words(term: Term, limit: int) -> str:
    """``term`` as text, where names that only the executor knows say what they stand for."""
    text, parts = t.render(term, 4 * limit), list[str]()
    while (found := _INTERNAL.search(text)) is not None:
        parts += [text[: found.start()], _meaning(found["op"], found["suffix"] or "")]
        text = _behind_brackets(text[found.end() :])
    plain = "".join([*parts, text])
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


_INTERNAL = re.compile(rf"\b(?P<op>{OPAQUE}[\w.]+|[a-z]\w*)#\d+(?P<suffix>\.\w+)?")


def _meaning(op: str, suffix: str) -> str:
    if suffix == ".outside":
        return "<what lies beyond the array>"
    if op.startswith(OPAQUE):
        return f"<value of {_function(op).strip('`')}>"
    if op.startswith("load"):
        return "<what is loaded>"
    return "<what an atomic gives>" if op.startswith("atomic") else "<what is computed>"


def _behind_brackets(text: str) -> str:
    """``text`` without the indices that it begins with."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth == 0:
            return text[position + 1 :] if character == "]" else text[position:]
    return ""


def broken(obligation: Obligation) -> str:
    array = obligation.array
    if obligation.detail == MISALIGNED:
        return f"an access to `{array}` is not aligned to the elements it reads or writes"
    if obligation.code == TV.RACE_ATOMIC_MIXED and _of_two_widths(obligation.first, obligation.second):
        return f"two atomic accesses of different widths overlap in `{array}`, in two tile blocks"
    text = CODES[obligation.code].broken.format(array=array, detail=obligation.detail)
    return text.removesuffix(" ()")


WIDEN: Final = Hint("widen-index", "display", "an index wraps in 32 bits: compute it in 64")


def of_wrapped_index(finding: Finding, site: Site, meant: Term, value: int) -> Finding:
    """The fault of an access whose 32-bit index wraps: the number that it should be says so."""
    past = "exceeds 2**31 - 1" if value > 0 else "is below -2**31"
    said = f"a 32-bit index wraps: `{_of_lanes(site, meant)}` is {value}, which {past}"
    return replace(finding, message=f"{finding.message}; {said}", hints=(*finding.hints, WIDEN))


def _of_two_widths(first: Site | None, second: Site | None) -> bool:
    if first is None or second is None:
        return False
    return first.atomic and second.atomic and not one_width(first, second)


def short(obligation: Obligation) -> str:
    """``TV101, the store of `out` at line 12``."""
    item = obligation.promise
    line = sites(obligation)[0].line if item is not None else None
    subject = f"`{item.text}`" + (f" at line {line}" if line is not None else "") if item is not None else ""
    each = [in_words(site) for site in (obligation.first, obligation.second) if site is not None]
    return ", ".join([str(obligation.code), *filter(None, [subject, " and ".join(dict.fromkeys(each))])])


def spent(effort: ResourceBudget) -> str:
    """That the account of a kernel's proof is spent, and on what."""
    stage, obligation, units = effort.most_expensive()
    about = f" for {short(obligation)}" if obligation is not None else ""
    return (
        f"the effort of {effort.most:,} units for this kernel's proof is spent, {units:,} of it on {stage}{about} "
        f"(--effort {2 * effort.most / KERNEL_EFFORT:.3g} allows twice as much)"
    )


class OpenReason(NamedTuple):
    """Why an obligation is open: a TV9xx code, the reason in words, and what would help."""

    code: TV
    text: str
    hints: tuple[Hint, ...] = ()


WIDER = {"any": "a contract for any sizes and grid", "sizes": "a contract for any grid"}
"""What a proof wider than a launch of numbers is at, by how widely it would hold."""

NOT_EQUAL: Final = (
    "runs saw equal values, which proves nothing; terms do not prove them equal: a sum of lanes, a matrix product and "
    "a float that a loop carries have no term, and two ops of one kind are two functions"
)
SIZE_UNKNOWN = "nobody said how large `{0}` is, and no condition on that was found; a launch spec can say it"

AS_OBSERVED = "the fault shows in contents that keep all that was observed of the arrays"

FILLED_OTHERWISE = OpenReason(
    TV.ARITHMETIC_OUT_OF_REACH,
    "the array has stores, but none of the block's own is seen to write the same elements, under the same condition, "
    "before; what other blocks wrote before is not followed",
)

LEFT_BEHIND = OpenReason(
    TV.TOKEN_INCOMPLETE_EXIT,
    "the access behind the loop waits for its last iteration only, and the specification does not settle whether that "
    "covers the iterations before",
)


def undecided(
    obligation: Obligation, conditions: tuple[Term, ...], *, unknown: bool, known: OpenReason | None = None
) -> Finding:
    """Why an obligation is open, and what the user can add; ``known``: somebody knows better than the question says."""
    reason = known or _reason(obligation, conditions, unknown)
    return Finding(
        code=reason.code,
        message=f"not decided whether {_question(obligation)}: {reason.text}",
        sites=sites(obligation),
        hints=reason.hints,
        obligation=obligation.code,
    )


def with_facts(finding: Finding, facts: Sequence[DataFact], whole: Sequence[DataFact]) -> Finding:
    """The finding with the facts on index data under which it was proved; ``whole`` would prove the whole kernel."""
    alone = ", ".join(f"`{fact.text}`" for fact in facts)
    texts = json.dumps([fact.text for fact in whole or facts])
    effect = "proves the kernel" if whole else "decides this"
    hint = Hint(
        "declare-facts", "maybe", f"if it holds of the data, data = {texts} in the launch spec {effect} (verified)"
    )
    return replace(finding, message=f"{finding.message}; it holds under {alone}", hints=(hint,))


def with_clauses(finding: Finding, clauses: Sequence[str]) -> Finding:
    """The finding with clauses that would close it, and that the tool does not add by itself."""
    texts = json.dumps(list(clauses))
    said = " and ".join(f"`{clause}`" for clause in clauses)
    hint = Hint("declare-requires", "maybe", f"if every launch is like that, add requires = {texts} to the launch spec")
    message = f"{finding.message}; it holds under {said}, which keeps the kernel from some of its work"
    return replace(finding, message=message, hints=(*finding.hints, hint))


def _question(obligation: Obligation) -> str:
    return broken(obligation).replace("does not hold", "holds").replace("is not defined", "is defined")


def _reason(obligation: Obligation, conditions: tuple[Term, ...], unknown: bool) -> OpenReason:
    if obligation.blocked is not None:
        return OpenReason(*obligation.blocked)
    called = _called(conditions)
    if called:
        what = f"the value of {' and of '.join(called)}, about which the proof knows nothing"
        return OpenReason(TV.DATA_DEPENDENT, f"the address or the path depends on {what}")
    arrays = list(loaded_values(conditions))
    if arrays:
        masks = _only_in_conditions(obligation, arrays)
        facts = list(_data_hints(obligation, conditions, arrays, masks))
        names = ", ".join(f"`{a}`" for a in arrays)
        what = "which blocks get there depends" if len(masks) == len(arrays) else "the address depends"
        return OpenReason(TV.DATA_DEPENDENT, f"{what} on the contents of {names}", tuple(facts))
    if unknown:
        return OpenReason(TV.ARITHMETIC_OUT_OF_REACH, "the arithmetic is out of the solver's reach")
    seen = _seen_otherwise(conditions)
    if seen:
        places = _places(obligation)
        what = "the address depends" if _seen_otherwise(places) else "which blocks get there depends"
        return OpenReason(TV.DATA_DEPENDENT, f"{what} on the contents of {', '.join(f'`{name}`' for name in seen)}")
    own = [leaf.function.name for c in conditions for leaf in c.free if _is_of_block(leaf)]
    if any(not _OF_LOOPS.match(name) for name in own):
        return OpenReason(
            TV.DATA_DEPENDENT, "the address or the path depends on data that the kernel computes or writes itself"
        )
    if own:
        return OpenReason(
            TV.ARITHMETIC_OUT_OF_REACH, "no invariant was found for a loop whose end or values are not known in advance"
        )
    return OpenReason(TV.ARITHMETIC_OUT_OF_REACH, "the solver found a candidate, but no replay confirmed it")


_OF_LOOPS = re.compile(r"(loop|last|trips|overflow)\d")
"""Functions that stand for what loops hand on, and for when they end."""


def _called(conditions: tuple[Term, ...]) -> list[str]:
    """The functions, unknown to Tile IR, that gave integers which occur in ``conditions``."""
    leaves = {leaf for c in conditions for leaf in c.free if leaf.kind is t.TermKind.APPLY}
    found = (_INTERNAL.match(leaf.function.name) for leaf in leaves)
    return sorted({_function(each["op"]) for each in found if each and each["op"].startswith(OPAQUE)})


def _function(title: str) -> str:
    name = title.removeprefix(OPAQUE)
    return "inline assembly" if name == ASSEMBLY.strip() else f"`{name}`"


def _is_of_block(leaf: Term) -> bool:
    return leaf.kind is t.TermKind.APPLY and leaf.function.scope is t.Scope.BLOCK


_SEEN_OTHERWISE: Final = re.compile(r"global (\S+).*|(\S+)(?: as \w+)?(?: at byte)|(\S+) as \w+")
"""Functions that stand for what an array holds, seen as other elements: bytes of booleans, words of floats."""


def _seen_otherwise(conditions: Sequence[Term]) -> list[str]:
    """The arrays whose contents occur in ``conditions`` in a form of which no data fact speaks."""
    functions = {leaf.function for c in conditions for leaf in c.free if leaf.kind is t.TermKind.APPLY}
    found = (_SEEN_OTHERWISE.fullmatch(each.name) for each in functions if each.array is None)
    return sorted({match[match.lastindex or 0] for match in found if match})


def _places(obligation: Obligation) -> list[Term]:
    """Where the accesses go that are asked about."""
    places: list[Term] = []
    for site in (obligation.first, obligation.second):
        if site is not None:
            footprint, index = site.footprint, site.origin.index
            where = (
                (footprint.base, *footprint.coordinates)
                if isinstance(footprint, ViewFootprint)
                else (footprint.offset,)
            )
            places += [*where, *(() if index is None else (index,))]
    return places


def _only_in_conditions(obligation: Obligation, arrays: list[str]) -> set[str]:
    """Those of the arrays whose values say whether an access is made, and not where."""
    places = _places(obligation)
    if not places or any(_is_of_block(leaf) and leaf.function.array is None for term in places for leaf in term.free):
        return set()  # what loops hand on may come from anywhere
    return set(arrays) - loaded_values(places).keys()


def _keeps_out(array: str, conditions: tuple[Term, ...], number: Term) -> bool:
    """Whether no block gets there if every value is ``number``."""
    values = dict.fromkeys(loaded_values(conditions).get(array, ()), number)
    return t.and_(*(t.substitute(condition, values) for condition in conditions)) is t.FALSE


def _data_hints(
    obligation: Obligation, conditions: tuple[Term, ...], arrays: list[str], masks: set[str]
) -> Iterator[Hint]:
    for array in arrays:
        if obligation.level == CopyLevel.BLOCK and array in masks:
            if _keeps_out(array, conditions, t.ZERO) and not _keeps_out(array, conditions, t.ONE):
                yield Hint(
                    "declare-shares",
                    "maybe",
                    f"if one value is 1 at most and all others are 0, add"
                    f' data = ["shares({array}, 1)"] to the launch spec',
                )
        elif obligation.code in CONFLICTS:
            yield Hint(
                "declare-injective",
                "maybe",
                f'if no value repeats, add data = ["injective({array})"] to the launch spec',
            )
        else:
            yield Hint(
                "declare-range",
                "maybe",
                f'if the values are bounded, add data = ["range({array}, 0, N)"] to the launch spec',
            )
