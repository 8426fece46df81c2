"""Steps: ops that touch memory, each held against what is claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Final

from ..contract.terms import FALSE, TRUE, Term, and_, eq, ite, or_
from ..contract.terms.launch_wide import bits_of
from ..frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ..frontend.bytecode.model import Op, TokenType
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.symbolic.summary import Access, Footprint, Lane, Origin, OriginKind, PointerFootprint, Site, earlier
from . import steps_pointers
from .agreement import Misread, NotFollowed, Value, Waiting, lanes
from .evaluator import Step, SummaryChecker, pointee, shape, without_places
from .steps_pointers import tile_at


# ---------------------------------------------------------------------------------------------------- the ops
def load_pointer(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    mask = op.optional("mask")
    value = steps_pointers.of_pointer(ev, op, ev.address(op.value("ptr")), None if mask is None else ev.term(mask))
    return value, _at_pointer(ev, op, Access.READ, value)


def store_pointer(ev: SummaryChecker, op: Op) -> Value:
    return _at_pointer(ev, op, Access.WRITE, argument=op.value("val"))


def update(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    value = ev.any_value(op, op.results[0])
    return value, _at_pointer(ev, op, Access.ATOMIC, value, argument=op.value("arg"))


def swap(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    value = ev.any_value(op, op.results[0])
    return value, _at_pointer(ev, op, Access.ATOMIC, value, argument=op.value("val"), compare=op.value("cmp"))


def load_view(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    view = ev.tiling(op.value("view"))
    place = tile_at(ev, view, op.group("index"), op.attributes.get("inbounds") or ())
    value = steps_pointers.of_view(ev, op, view, place)
    return value, _touch(ev, op, Access.READ, place, view.tile, value=value)


def _into_view(access: Access, operand: str) -> Step:
    def step(ev: SummaryChecker, op: Op) -> Value:
        view = ev.tiling(op.value("view"))
        place = tile_at(ev, view, op.group("index"), op.attributes.get("inbounds") or ())
        stored = bits_of(ev.value(op.value(operand))) if op.name == "store_view_tko" else None
        return _touch(ev, op, access, place, view.tile, argument=op.value(operand), stored=stored)

    return step


def _at_pointer(
    ev: SummaryChecker,
    op: Op,
    access: Access,
    value: Value | None = None,
    *,
    argument: SsaValue | None = None,
    compare: SsaValue | None = None,
) -> Value:
    pointer, element = ev.address(op.value("ptr")), pointee(op.value("ptr"))
    if element.packed:
        raise NotFollowed("a pointer to elements of 4 bits")
    mask = op.optional("mask")
    place = PointerFootprint(pointer.origin, pointer.offset, element.bytes)
    guard = TRUE if mask is None else ev.term(mask)
    stored = None if access is not Access.WRITE or argument is None else bits_of(ev.value(argument))
    tile = shape(op.value("ptr"))
    return _touch(ev, op, access, place, tile, guard, value=value, argument=argument, compare=compare, stored=stored)


# --------------------------------------------------------------------------------------------------- the claims
def _touch(
    ev: SummaryChecker,
    op: Op,
    access: Access,
    place: Footprint,
    tile: tuple[int, ...],
    mask: Term = TRUE,
    *,
    value: Value | None = None,
    argument: SsaValue | None = None,
    compare: SsaValue | None = None,
    stored: Term | None = None,
) -> Waiting:
    """What ``op`` does, held against its claim; the token that it gives."""
    token = ev.waiting(op.optional("token"))
    after = joined((token, this_one(ev, op)))
    guard = and_(ev.path, mask)
    said = ev.claimed_site(op)
    if guard is FALSE:
        return after
    where = f"the {access.value} of '{place.origin.name}' by '{op.name}' at byte {op.offset}"
    if said is None:
        ev.compare.impossible((guard,), f"{where} is left out")
        return after
    ev.done_sites[op.offset] = said
    if access is not Access.READ and not steps_pointers.may_be_written(ev, place.origin):
        raise Misread(f"{where} writes memory that is said to stay as it is")
    _allowed(ev, op, access, place.origin)
    results = [result for result in op.results if not isinstance(result.type, TokenType)]
    done = replace(
        said,
        op=op.name,
        access=access,
        ordering=MemoryOrdering(op.attributes["ord"]),
        scope=None if (scope := op.attributes.get("scope")) is None else MemoryScope(scope),
        lanes=tuple(Lane(each, each.symbol.high + 1) for each in lanes(tile) if each.symbol.high is not None),
        loops=ev.loops,
        mode="cas" if compare is not None else op.attributes.get("mode") or op.attributes.get("red"),
        used=any(result in ev.used for result in results),
    )
    for name in ("op", "access", "ordering", "scope", "lanes", "loops", "mode", "used"):
        claimed = without_places(said.loops) if name == "loops" else getattr(said, name)
        if getattr(done, name) != claimed:
            if name == "loops":  # the same numbers may be written in another way
                raise NotFollowed(f"{where}: its loops are told in another way")
            raise Misread(f"{where}: its {name} is another")
    ev.speaks_of([said.guard, said.in_mask, *_terms_of(said)], where)
    ev.compare.follows(guard, said.guard, f"{where} happens where it is said not to")
    if access is not Access.READ and place.origin.name in ev.empty:
        ev.compare.follows(said.guard, guard, f"{where} is said to happen where it does not")
    ev.compare.same(ev.path, mask, said.in_mask, f"{where}: its mask")
    _same_place(ev, guard, place, said.footprint, where)
    operands = (
        ("value", value),
        ("argument", None if argument is None else ev.value(argument)),
        ("compare", None if compare is None else ev.value(compare)),
    )
    for name, number in operands:
        _same_number(ev, guard, number if isinstance(number, Term) else None, getattr(said, name), f"{where}: {name}")
    _same_number(
        ev, guard, stored if place.origin.name in ev.entry.equal_stores else None, said.stored, f"{where}: bits"
    )
    awaited = {ev.claims.sites[wait.site].offset: wait.condition for wait in said.waits}
    ev.speaks_of(list(awaited.values()), where)
    must_await(ev, guard, token, awaited, where)
    made = {site.offset for site in ev.claims.sites}
    if any(each in made and each not in awaited and term is not FALSE for each, term in token.awaits.items()):
        raise Misread(f"{where}: it awaits more accesses than is said")
    return after


def _same_place(ev: SummaryChecker, guard: Term, done: Footprint, said: Footprint, where: str) -> None:
    """All parts of a footprint: numbers are equal, terms are where the access happens."""
    if type(done) is not type(said):
        raise Misread(f"{where}: it is said to be another kind of access")
    for field in fields(done):
        mine, theirs = getattr(done, field.name), getattr(said, field.name)
        if isinstance(mine, Origin):
            _same_origin(ev, guard, mine, theirs, where)
        elif isinstance(mine, Term) or (isinstance(mine, tuple) and any(isinstance(part, Term) for part in mine)):
            done_terms, said_terms = ((mine,), (theirs,)) if isinstance(mine, Term) else (mine, theirs)
            if len(done_terms) != len(said_terms):
                raise Misread(f"{where}: its {field.name} has another number of axes")
            for one, other in zip(done_terms, said_terms, strict=True):
                _same_number(ev, guard, one, other, f"{where}: its {field.name}")
        elif mine != theirs:
            raise Misread(f"{where}: its {field.name} is another")


def _same_origin(ev: SummaryChecker, guard: Term, done: Origin, said: Origin, where: str) -> None:
    for field in fields(done):
        mine, theirs = getattr(done, field.name), getattr(said, field.name)
        if mine == theirs:
            continue
        if not isinstance(mine, Term) or not isinstance(theirs, Term):
            raise Misread(f"{where}: its array's {field.name} is another")
        _same_number(ev, guard, mine, theirs, f"{where}: its array's {field.name}")


def _same_number(ev: SummaryChecker, guard: Term, done: Term | None, said: Term | None, what: str) -> None:
    if done is said:
        return
    if done is None or said is None:
        raise Misread(f"{what} is said where there is none, or not where there is one")
    ev.speaks_of((said,), what)
    ev.compare.same(guard, done, said, what)


def _terms_of(site: Site) -> Iterator[Term]:
    for footprint in (site.footprint,):
        for field in fields(footprint):
            part = getattr(footprint, field.name)
            parts = part if isinstance(part, tuple) else (part,)
            yield from (each for each in parts if isinstance(each, Term))


def _allowed(ev: SummaryChecker, op: Op, access: Access, origin: Origin) -> None:
    """Accesses that no rule of the verifier is about; the prover refuses them, too."""
    match origin.kind:
        case OriginKind.UNKNOWN:
            raise NotFollowed("an address that is not known to lie in any array")
        case OriginKind.LOCAL | OriginKind.SHARED_LOCAL if op.offset not in ev.living[origin.name]:
            raise Misread("memory of a block is used behind the region that it was made in")
        case OriginKind.LIST if access is not Access.READ:
            raise Misread("the descriptors of a list are written")
        case OriginKind.GLOBAL if access is not Access.READ:
            if any(item.constant for item in ev.module.globals if item.name == origin.name):
                raise Misread("a constant of the module is written")


STEPS: Final[dict[str, Step]] = {
    "load_ptr_tko": load_pointer,
    "store_ptr_tko": store_pointer,
    "atomic_rmw_tko": update,
    "atomic_cas_tko": swap,
    "load_view_tko": load_view,
    "store_view_tko": _into_view(Access.WRITE, "tile"),
    "atomic_red_view_tko": _into_view(Access.ATOMIC, "value"),
}


# --------------------------------------------------------------------------------------------------------- steps tokens
# Steps: tokens, and when two accesses of a block are ordered by them.
#
# A token is what it certainly awaits.  Claims are held against that from below: what is said to be awaited must be.


def joined(tokens: Iterable[Waiting]) -> Waiting:
    """What all of them await."""
    awaits: dict[int, Term] = {}
    for token in tokens:
        for access, condition in token.awaits.items():
            awaits[access] = or_(awaits.get(access, FALSE), condition)
    return Waiting(awaits)


def either(condition: Term, then: Waiting, otherwise: Waiting) -> Waiting:
    accesses = dict.fromkeys((*then.awaits, *otherwise.awaits))
    return Waiting(
        {each: ite(condition, then.awaits.get(each, FALSE), otherwise.awaits.get(each, FALSE)) for each in accesses}
    )


def this_one(ev: SummaryChecker, op: Op) -> Waiting:
    """The instance of an access that runs now."""
    return Waiting({op.offset: and_(TRUE, *(eq(earlier(k), k) for k in ev.iterations))})


def must_await(ev: SummaryChecker, path: Term, done: Waiting, said: Mapping[int, Term], what: str) -> None:
    """Whatever instance is ``said`` to be awaited, is."""
    for access, condition in said.items():
        if condition is FALSE:
            continue
        facts = [(if_, then) for inside, if_, then in ev.facts if access in inside]
        wanted = done.awaits.get(access, FALSE)
        ev.compare.follows(and_(path, condition), wanted, f"{what} does not await all that it is said to await", facts)


def make_token(ev: SummaryChecker, op: Op) -> Waiting:
    return Waiting({})


def join_tokens(ev: SummaryChecker, op: Op) -> Waiting:
    return joined(ev.waiting(value) for value in op.group("tokens"))


def passed_on(ev: SummaryChecker, op: Op) -> Waiting:
    """Grid dependency control and fences touch no memory; their token awaits what they are given."""
    return ev.waiting(op.optional("s" if "s" in op.operands else "token"))


def print_tko(ev: SummaryChecker, op: Op) -> tuple[Waiting, ...]:
    return (ev.waiting(op.optional("token")),) if op.results else ()


TOKEN_STEPS: Final[dict[str, Step]] = {
    "make_token": make_token,
    "join_tokens": join_tokens,
    "gdc_wait_tko": passed_on,
    "gdc_launch_dependents_tko": passed_on,
    "memory_fence_alias_tko": passed_on,
    "print_tko": print_tko,
}
