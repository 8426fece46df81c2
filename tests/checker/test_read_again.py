"""The checker agrees with right summaries, and with no wrong one: planted misreadings, and changes of one claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.backend.audit.test_second_reading import PLANTED, proof
from tests.corpus.compiled import corpus_kernels
from tests.written_kernel import unit_at

from tileverify.checker import ReadAgain, read_again
from tileverify.checker.agreement import Misread, NotFollowed
from tileverify.contract import terms as t
from tileverify.contract.launch import EntryParameter, KernelUnit, Role
from tileverify.contract.terms import Function, Scope, Term, TermKind
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, tile
from tileverify.frontend.sources.abi import under_trust
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.recurrences import Recurrence
from tileverify.frontend.symbolic.summary import Access, AccessSummary, LoopForm, PointerFootprint, Site, ViewFootprint
from tileverify.pipeline.unit_summary import entry_of, summary_of
from tileverify.system.errors import UnsupportedOperation
from tileverify.verifier.certificate.reread import excluded
from tileverify.verifier.certificate.second_solver import SecondSolver
from tileverify.verifier.certificate.stated_accesses import reading_document, reading_of


@cache
def solver() -> SecondSolver:
    return SecondSolver()


def unit_of(file: str, kernel: str) -> KernelUnit:
    return next(each for each in corpus_kernels() if str(each.file).endswith(file) and each.kernel == kernel)


def summary(unit: KernelUnit) -> AccessSummary:
    """What a certificate would say, as it is read back from it."""
    found = summary_of(decode(unit.bytecode), unit)
    return reading_of(reading_document(found), found.entry)


def checked(unit: KernelUnit, claims: AccessSummary) -> ReadAgain:
    module = decode(unit.bytecode)
    entry = under_trust(entry_of(module, unit), unit.launch.trust)
    sharing, empty = unit.launch.sharing(), unit.launch.empty
    return read_again(module, entry, unit.parameters, claims, sharing, lambda asked: excluded(solver(), asked), empty)


# ------------------------------------------------------------------------------------------------ right summaries
def test_the_corpus_is_read_by_the_checker_itself() -> None:
    """Wrong kernels, too: the claims are about accesses, not about what is proved of them."""
    for unit in corpus_kernels():
        try:
            claims = summary(unit)
        except UnsupportedOperation:
            continue
        checked(unit, claims)


# ------------------------------------------------------------------------------------------------ wrong executors
@pytest.mark.parametrize("plant", PLANTED)
def test_planted_misreadings_are_rejected(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, kernel, _ = PLANTED[plant]
    unit, _ = proof(file, kernel)
    checked(unit, summary(unit))
    plant(monkeypatch)
    with pytest.raises(Misread):
        checked(unit, summary(unit))


# -------------------------------------------------------------------------------------------------- wrong claims
COPY = ("explained/tv302.py", "copy_lanes_inside")
SCALE = ("race_free/elementwise_2d.py", "scale_columns")
SWIZZLED = ("showcase/matmul_swizzled.py", "matmul_swizzled")
RING = ("loops/stages.py", "ring_of_three")
CURSOR = ("loops/stages.py", "cursor")
CHUNKS = ("race_free/while_loop.py", "copy_in_chunks")
SQUARE = ("explained/tv303.py", "square")
RUNNING = ("order/loop_carried.py", "running_sum")
BY_STRIDE = ("loops/while_stride.py", "double_by_stride")
IN_BYTES = ("loops/while_stride.py", "fill_by_bytes")
POWERS = ("integers/bit_patterns.py", "powers")
BY_ADDRESS = ("twins/integer_addresses.tileirbc", "word_by_address")
IN_PLACE = ("race_free/relu_inplace.py", "relu")

Change = Callable[[AccessSummary], AccessSummary]


def one_site(change: Callable[[Site], Site], which: int = -1) -> Change:
    def changed(claims: AccessSummary) -> AccessSummary:
        sites = list(claims.sites)
        sites[which] = change(sites[which])
        return replace(claims, sites=tuple(sites))

    return changed


def place(**changes: Callable[[Any], Any]) -> Callable[[Site], Site]:
    def changed(site: Site) -> Site:
        fields = {name: change(getattr(site.footprint, name)) for name, change in changes.items()}
        return replace(site, footprint=replace(site.footprint, **fields))

    return changed


def every_carried(change: Callable[[Term], Term]) -> Change:
    def changed_form(form: LoopForm) -> LoopForm:
        return replace(form, carried=tuple(change(each) if isinstance(each, Term) else each for each in form.carried))

    return lambda claims: replace(claims, loop_forms=tuple(map(changed_form, claims.loop_forms)))


def more(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(t.add(term, t.ONE) for term in terms)


def awaits_all(claims: AccessSummary) -> AccessSummary:
    def free(site: Site) -> Site:
        return replace(site, waits=tuple(replace(wait, condition=t.TRUE) for wait in site.waits))

    return replace(claims, sites=tuple(map(free, claims.sites)))


def unreached(claims: AccessSummary) -> AccessSummary:
    forms = tuple(replace(form, reached=t.eq(form.iteration, t.ZERO)) for form in claims.loop_forms)
    return replace(claims, loop_forms=forms)


def in_every_round(claim: Callable[[Term], Term]) -> Change:
    """``claim``, of a loop's iteration, is said to hold in each; promises are left as they are."""

    def changed(claims: AccessSummary) -> AccessSummary:
        forms = tuple(replace(form, reached=claim(form.iteration)) for form in claims.loop_forms)
        within = (tuple(replace(loop, reached=claim(loop.iteration)) for loop in site.loops) for site in claims.sites)
        sites = tuple(replace(site, loops=loops) for site, loops in zip(claims.sites, within, strict=True))
        return replace(claims, loop_forms=forms, sites=sites)

    return changed


def test_a_store_that_fills_an_array_is_not_said_to_happen_too_often() -> None:
    """Of other stores a claim may let more through."""
    unit = unit_of("explained/tv712.py", "add_to_zero")
    claims = summary(unit)
    (store,) = (number for number, site in enumerate(claims.sites) if site.access is Access.WRITE)
    wider = one_site(lambda site: replace(site, guard=t.TRUE), store)(claims)
    checked(unit, claims)
    with pytest.raises(Misread, match="is said to happen where it does not"):
        checked(unit, wider)
    checked(replace(unit, launch=replace(unit.launch, empty=())), wider)


def renumbered(claims: AccessSummary) -> AccessSummary:
    """Iterations are said to be at most two."""
    changes = {form.iteration: t.var(form.iteration.symbol.name, Scope.ITERATION, 0, 1) for form in claims.loop_forms}
    forms = tuple(replace(form, iteration=changes[form.iteration]) for form in claims.loop_forms)
    return replace(claims, loop_forms=forms)


def every_reached(change: Callable[[Term, Term, Term], Term]) -> Change:
    """``change`` gets what holds in every iteration, its number, and that of the one in which a counter wraps."""

    def changed_form(form: LoopForm) -> LoopForm:
        found = [part for part in form.reached.free if part.kind is TermKind.APPLY]
        wraps = next(part for part in found if part.function.name.startswith("overflow"))
        return replace(form, reached=change(form.reached, form.iteration, wraps))

    return lambda claims: replace(claims, loop_forms=tuple(map(changed_form, claims.loop_forms)))


def with_range(reached: Term, k: Term, wraps: Term) -> Term:
    return t.substitute(reached, {wraps: t.apply(replace(wraps.function, low=2), *wraps.args)})


def asserted(claims: AccessSummary) -> AccessSummary:
    return replace(claims, promises=claims.promises[1:], assertions=(*claims.assertions, claims.promises[0]))


def without(claims: AccessSummary, **parts: Any) -> AccessSummary:
    return replace(claims, **parts)


WRONG: dict[str, tuple[tuple[str, str], Change, str]] = {
    "a guard that is never true": (COPY, one_site(lambda site: replace(site, guard=t.FALSE)), "said not to"),
    "a mask that is another": (COPY, one_site(lambda site: replace(site, in_mask=t.FALSE)), "its mask"),
    "an access left out": (SCALE, lambda c: without(c, sites=c.sites[:-1]), "is left out"),
    "an access twice": (SCALE, lambda c: without(c, sites=(*c.sites, c.sites[0])), "claimed twice"),
    "a promise left out": (SWIZZLED, lambda c: without(c, promises=c.promises[1:]), "unsaid"),
    "a promise that is called an assertion": (SWIZZLED, asserted, "unsaid"),
    "fewer axes": (SCALE, one_site(place(strides=lambda strides: strides[:-1])), "number of axes"),
    "a place one element on": (SCALE, one_site(place(coordinates=more)), "coordinates"),
    "other strides": (SCALE, one_site(place(strides=more)), "strides"),
    "another size": (SCALE, one_site(place(shape=more)), "shape"),
    "another first byte": (SCALE, one_site(place(base=lambda base: t.add(base, t.const(4)))), "base"),
    "another index": (SCALE, one_site(place(index=more)), "index"),
    "wider tiles": (SCALE, one_site(place(step=lambda step: (step[0] * 2, *step[1:]))), "step"),
    "not in bounds": (SQUARE, one_site(place(inbounds=lambda flags: tuple(not flag for flag in flags))), "inbounds"),
    "another byte": (COPY, one_site(place(offset=lambda at: t.scale(2, at)), 0), "offset"),
    "a read in place of a write": (SCALE, one_site(lambda site: replace(site, access=Access.READ)), "its access"),
    "memory that stays as it is": (IN_PLACE, lambda c: without(c, written=frozenset()), "said to stay"),
    "awaited in every iteration": (RUNNING, awaits_all, "await"),
    "a loop's value one more": (RING, every_carried(lambda term: t.add(term, t.ONE)), "at first"),
    "a loop's value that stays": (RING, every_carried(lambda term: t.ZERO), ""),
    "a value without a form that begins later": (CURSOR, every_carried(lambda term: t.add(term, t.ONE)), "at first"),
    "no loop": (RING, lambda c: without(c, loop_forms=()), "nothing is said of a loop"),
    "a loop that breaks off at once": (CHUNKS, unreached, ""),
    "a loop that has one round": (RING, in_every_round(lambda k: t.eq(k, t.ZERO)), "is not handed on"),
    "a loop that begins with its second round": (RING, in_every_round(lambda k: t.lt(t.ZERO, k)), "at first"),
    "a loop's number of another range": (RING, renumbered, ""),
    "a counter that wraps nowhere": (
        BY_STRIDE,
        every_reached(lambda reached, k, wraps: t.transform(reached, {t.le(wraps, k): t.FALSE}.get)),
        "",
    ),
    "a counter of bytes that wraps nowhere": (
        IN_BYTES,
        every_reached(lambda reached, k, wraps: t.transform(reached, {t.le(wraps, k): t.FALSE}.get)),
        "",
    ),
    "a counter that wraps an iteration later": (
        BY_STRIDE,
        every_reached(lambda reached, k, wraps: t.transform(reached, {t.le(wraps, k): t.lt(wraps, k)}.get)),
        "",
    ),
    "a counter that wraps in the third iteration at the soonest": (
        BY_STRIDE,
        every_reached(lambda reached, k, wraps: t.substitute(reached, {wraps: t.add(wraps, t.ONE)})),
        "",
    ),
    "a counter that wraps whenever one likes": (
        BY_STRIDE,
        every_reached(lambda reached, k, wraps: t.substitute(reached, {wraps: k})),
        "",
    ),
    "a wrap of another range": (BY_STRIDE, every_reached(with_range), "something else"),
    "a power one more": (POWERS, one_site(place(index=more)), "index"),
    "a word behind its address": (BY_ADDRESS, one_site(place(offset=lambda at: t.add(at, t.const(4)))), "offset"),
    "an address that is of another array": (
        BY_ADDRESS,
        one_site(place(origin=lambda origin: replace(origin, name=f"{origin.name}'"))),
        "name",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_claims_are_rejected(name: str) -> None:
    kernel, change, sentence = WRONG[name]
    unit = unit_of(*kernel)
    claims = summary(unit)
    changed = change(claims)
    assert changed != claims
    with pytest.raises((Misread, NotFollowed)) as raised:
        checked(unit, changed)
    assert sentence in str(raised.value)


def test_footprints_of_both_kinds_are_tried() -> None:
    kinds = {type(summary(unit_of(*COPY)).sites[0].footprint), type(summary(unit_of(*SCALE)).sites[-1].footprint)}
    assert kinds == {PointerFootprint, ViewFootprint}


# ------------------------------------------------------------------------------------------- a few iterations
def squared(times: int) -> AccessSummary:
    """A store at what ``times`` iterations make of a number, each the square of the one before and its own number."""
    builder = ModuleBuilder()
    with builder.entry("k", (tile(pointer(I32)), tile(I32))) as f:
        zero, one, limit, small = (f.constant(tile(I32), each) for each in (0, 1, times, 63))
        with f.for_(zero, limit, one, [f.parameters[1]]) as loop:
            square = f.op("muli", lhs=loop.arguments[1], rhs=loop.arguments[1])
            f.op("continue", args=[f.op("andi", lhs=f.op("addi", lhs=square, rhs=loop.arguments[0]), rhs=small)])
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=f.parameters[0], off=loop.results[0]), val=one)
        f.op("return")
    module = decode(encode(builder.build()))
    parameters = (EntryParameter(Role.POINTER, "a"), EntryParameter(Role.SCALAR, "s"))
    found = summarize(module, module.entries[0], parameters)
    claims = reading_of(reading_document(found), found.entry)
    read_again(module, module.entries[0], parameters, claims, (), lambda asked: excluded(solver(), asked))
    wrong = one_site(place(offset=lambda at: t.add(at, t.const(4))))(claims)
    with pytest.raises((Misread, NotFollowed)):
        read_again(module, module.entries[0], parameters, wrong, (), lambda asked: excluded(solver(), asked))
    return claims


@pytest.mark.parametrize("times", [1, 2, 5, 9])
def test_what_a_few_iterations_make_is_run(times: int) -> None:
    (site,) = squared(times).sites
    assert isinstance(site.footprint, PointerFootprint)
    named = any(part.kind is TermKind.APPLY for part in site.footprint.offset.free)
    assert named is (times > 8)


NEVER_ENTERED = """
import cuda.tile as ct
import tileverify

@tileverify.launch(grid=["2"], args={"x": "i32[40]", "out": "i32[64]", "n": "i32"})
@ct.kernel
def store_first(x, out, n):
    place = 0
    if n < 3:
        if n > 5:
            moved = n
            while ct.load(x, index=(moved,), shape=()).item() < 60:
                moved = ct.maximum(ct.minimum(moved * 3, n), n - 1)
            place = moved
    ct.store(out, index=(place,), tile=ct.full((1,), ct.bid(0), dtype=ct.int32))
"""


def test_a_value_that_is_no_number_is_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no block comes to a loop all that is said of its values holds, but a question that mentions one of which
    it is said that there is none would have no answer either."""
    file = tmp_path / "kernel.py"
    file.write_text(NEVER_ENTERED)
    unit = unit_at(file)
    checked(unit, summary(unit))
    found = Recurrence.unknown

    def none(self: Recurrence, *args: Any) -> Function:
        return replace(found(self, *args), low=5, high=2)

    monkeypatch.setattr(Recurrence, "unknown", none)
    with pytest.raises(Misread, match="no number"):
        checked(unit, summary(unit))


def test_a_carried_value_of_one_number_is_that_number() -> None:
    builder = ModuleBuilder()
    with builder.entry("k", (tile(pointer(I32)), tile(I32), tile(I32))) as f:
        a, count, s = f.parameters
        zero, one = f.constant(tile(I32), 0), f.constant(tile(I32), 1)
        with f.for_(zero, count, one, [zero]) as loop:
            rest = f.op("remi", lhs=f.op("addi", lhs=s, rhs=loop.arguments[0]), rhs=one, sgn="signed")
            less = f.op("cmpi", lhs=loop.arguments[0], rhs=s, pred="less_than", sgn="signed")
            f.op("continue", args=[f.op("select", c=less, t=rest, f=loop.arguments[1])])
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=a, off=loop.results[0]), val=one)
        f.op("return")
    module = decode(encode(builder.build()))
    parameters = (EntryParameter(Role.POINTER, "a"), *(EntryParameter(Role.SCALAR, name) for name in ("count", "s")))
    claims = reading_of(reading_document(summarize(module, module.entries[0], parameters)), "k")
    read_again(module, module.entries[0], parameters, claims, (), lambda asked: excluded(solver(), asked))
    assert not claims.loop_values
