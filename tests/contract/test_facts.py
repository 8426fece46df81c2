"""Every engine does what the formulas of facts say, read one element after the other (`formulas`), on small arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import gcd, prod
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tileverify.contract import terms as t
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate as evaluate_expression
from tileverify.contract.facts import array_facts
from tileverify.contract.facts.contents import Described, several, several_joined, several_segments
from tileverify.contract.facts.counting import Count, Counted, counts
from tileverify.contract.facts.fact_terms import kind_instances
from tileverify.contract.facts.facts_of_contents import held_facts, observed_facts
from tileverify.contract.facts.form import Subject
from tileverify.contract.facts.kind import FactKind
from tileverify.contract.facts.kinds import FACTS
from tileverify.contract.facts.layouts import HINTS
from tileverify.contract.facts.loaded import Loaded, Promised
from tileverify.contract.facts.statements import DataTerm, NumberedFact
from tileverify.contract.facts.weaker import follows
from tileverify.contract.launch import ConcreteArray, DataFact
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.terms.evaluate import evaluate

from .. import facts as meaning
from .formulas import keeps

Array = NDArray[Any]
KINDS = pytest.mark.parametrize("kind", FACTS.values(), ids=FACTS)


@dataclass(frozen=True)
class Case:
    """A fact of numbers and contents of its arrays; ``kept``: its formula says so."""

    kind: FactKind
    fact: NumberedFact
    arrays: Mapping[str, Array]

    @property
    def kept(self) -> bool:
        return keeps(self.kind, self.fact, self.named)

    @property
    def named(self) -> dict[str, Array]:
        """By their names in formulas, with one axis where a fact counts elements along one."""
        return dict(zip(self.kind.form.arrays, self.in_a_row.values(), strict=True))

    @property
    def in_a_row(self) -> dict[str, Array]:
        return {name: array.reshape(-1) if self.kind.in_a_row else array for name, array in self.arrays.items()}


def cases(kind: FactKind, count: int, seed: int = 0) -> Iterator[Case]:
    """Drawn ones, and half of them with contents that are made for the fact."""
    random = Random(f"{kind.word} {seed}")
    for _ in range(count):
        fact = drawn_fact(kind, random)
        shapes = [drawn_shape(kind, random) for _ in fact.arrays]
        contents = drawn(shapes, random)
        if random.random() < 0.35:
            contents = made(kind, fact, shapes, random) or contents
            if random.random() < 0.3:
                one = random.choice(contents)
                if one.size:
                    one.reshape(-1)[random.randrange(one.size)] += random.choice((-1, 1))
        dtype = random.choice((np.int32, np.int64, np.int8))
        yield Case(kind, fact, {n: a.astype(dtype) for n, a in zip(fact.arrays, contents, strict=True)})


def drawn_fact(kind: FactKind, random: Random) -> NumberedFact:
    names = [f"x{i}" for i in range(len(kind.form.arrays))]
    low = random.randint(-2, 2)
    numbers = {"low": low, "high": low + random.randint(0, 6), "n": random.randint(0, 4), "width": random.randint(1, 3)}
    given = {*kind.form.numbers, *(("low", "high") if kind.form.bounds and random.random() < 0.6 else ())}
    low_, high, n, width = (numbers[name] if name in given else None for name in numbers)
    unless = frozenset(random.sample(range(-1, 4), random.randint(0, 2)) if kind.form.unless else ())
    return NumberedFact(kind.word, names[0], tuple(names[1:]), low_, high, n, unless, width)


def drawn_shape(kind: FactKind, random: Random) -> tuple[int, ...]:
    ranks = [rank for rank in (1, 2, 2, 3) if kind.placed.misplaced("a", rank) is None]
    rank = random.choice(ranks)
    if kind.in_a_row and random.random() < 0.3:
        return random.choice(((random.randint(0, 4), 1), (1, random.randint(0, 4))))
    return tuple(random.randint(0 if rank == 1 else 1, 5 if rank == 1 else 2) for _ in range(rank))


def drawn(shapes: Sequence[tuple[int, ...]], random: Random) -> list[Array]:
    values = range(random.choice((-1, 0)), random.choice((2, 3, 5)))
    return [np.asarray(random.choices(values, k=prod(shape)), np.int64).reshape(shape) for shape in shapes]


def below_least(kind: FactKind, fact: NumberedFact) -> bool:
    return kind.least is not None and any(n is not None and n < kind.least for n in (fact.amount, fact.width))


def made(kind: FactKind, fact: NumberedFact, shapes: Sequence[tuple[int, ...]], random: Random) -> list[Array] | None:
    found = [] if below_least(kind, fact) else list(samples(kind, fact, shapes))
    found = [one for one in found if all(abs(value) <= 100 for values in one for value in values)]
    if not found:
        return None
    chosen = random.choice(found)
    return [np.asarray(values, np.int64).reshape(shape) for values, shape in zip(chosen, shapes, strict=True)]


def samples(
    kind: FactKind, fact: NumberedFact, shapes: Sequence[tuple[int, ...]]
) -> Iterator[tuple[Sequence[int], ...]]:
    """What the search for contents finds."""
    described = {n: Described.of(concrete(shape), [fact]) for n, shape in zip(fact.arrays, shapes, strict=True)}
    if not kind.joins:
        yield from ((values,) for values in several(described[fact.array]))
    elif HINTS[kind.made].both is not None:
        yield from several_segments(fact, *described.values())
    else:
        yield from (tuple(each[name] for name in fact.arrays) for each in several_joined([fact], described))


def concrete(shape: tuple[int, ...], values: Sequence[int] = ()) -> ConcreteArray:
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return ConcreteArray("i32", shape, strides, dict(enumerate(map(int, values))))


# -------------------------------------------------------------------------------------------- on arrays
@KINDS
def test_arrays_keep_what_the_formula_says(kind: FactKind) -> None:
    outcomes = []
    for case in cases(kind, 250):
        problem = array_facts.violation(kind, case.fact, case.arrays)
        assert (problem is None) == case.kept, (case, problem)
        assert array_facts.keeps(kind, case.fact, *case.arrays.values()) == case.kept
        assert problem is None or (
            "{" not in problem and (case.fact.array in problem or "x1" in problem or "below" in problem)
        )
        outcomes.append(case.kept)
    assert 20 < sum(outcomes) < 248


@KINDS
def test_a_formula_says_what_is_meant(kind: FactKind) -> None:
    """As it was written down before there were formulas."""
    for case in cases(kind, 250, seed=8):
        if not below_least(kind, case.fact):
            meant = meaning.keeps(parse_fact(case.fact), case.in_a_row, lambda part: evaluate_expression(part, {}))
            assert meant == case.kept, case


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@KINDS
def test_ends_of_types_are_numbers_like_all_others(kind: FactKind, dtype: type) -> None:
    random, limits = Random(kind.word), np.iinfo(dtype)
    ends = (int(limits.min), int(limits.min) + 1, 0, 1, int(limits.max) - 1, int(limits.max))
    for _ in range(80):
        fact = drawn_fact(kind, random)
        far = random.choice((0, limits.min, limits.max, 1 << 70, -(1 << 70)))
        if fact.low is not None and fact.high is not None:
            fact = replace(fact, low=fact.low + far, high=fact.high + far)
        if fact.amount is not None:
            fact = replace(fact, amount=max(fact.amount, 1) * random.choice((1, 1 << 40, 1 << 70)))
        shapes = [drawn_shape(kind, random) for _ in fact.arrays]
        arrays: list[Array] = [np.asarray(random.choices(ends, k=prod(s)), dtype).reshape(s) for s in shapes]
        case = Case(kind, fact, dict(zip(fact.arrays, arrays, strict=True)))
        assert array_facts.keeps(kind, fact, *arrays) == case.kept, case


# ---------------------------------------------------------------------------------------------- as terms
def data_term(fact: NumberedFact) -> DataTerm:
    low, high, n, width = (None if part is None else t.const(part) for part in fact.numbers.values())
    said = DataFact(fact.kind, fact.array, others=fact.others)
    return DataTerm(said, low, high, n, tuple(map(t.const, sorted(fact.unless))), width)


def function(name: str) -> Function:
    return Function(name, Scope.LAUNCH, -(1 << 31), (1 << 31) - 1, array=name)


def loaded(
    name: str, array: Array, random: Random, *, everywhere: bool, in_a_row: bool, injective: bool
) -> tuple[Loaded, dict[Term, int]]:
    """All elements by their indices, and some at indices with names, which may lie elsewhere."""
    values = [t.apply(function(name), *map(t.const, index)) for index in np.ndindex(*array.shape)]
    if not everywhere:
        values = random.sample(values, min(len(values), random.randint(0, 2)))
    known: dict[Term, int] = {}
    for number in range(0 if everywhere else random.randint(0, 2)):
        index = [t.var(f"i_{name}_{number}_{axis}", Scope.LAUNCH) for axis in range(array.ndim)]
        known |= {i: random.randint(-1, size) for i, size in zip(index, array.shape, strict=True)}
        values.append(t.apply(function(name), *index))
    shape = [t.const(size) for size in array.shape]
    axis = int(array.ndim == 2 and array.shape[0] == 1) if in_a_row else None
    return Loaded(values, shape, lambda value: value, injective=injective, axis=axis), known


def unkept(case: Case, random: Random, *, everywhere: bool, injective: bool = True) -> list[Term]:
    """What the prover would take for true, and is not."""
    arrays, names = [], dict[Term, int]()
    for name, array in case.arrays.items():
        one, known = loaded(
            name, array, random, everywhere=everywhere, in_a_row=case.kind.in_a_row, injective=injective
        )
        arrays.append(one)
        names |= known

    def element(asked: Function, arguments: tuple[Any, ...]) -> int:
        if asked.array is None:
            n, chunk, key = arguments
            keys = case.in_a_row[asked.name.removeprefix("count of ")]
            return sum(int(each) == key and i // n == chunk for i, each in enumerate(keys))
        array = case.arrays[asked.array]
        inside = all(0 <= i < size for i, size in zip(arguments, array.shape, strict=True))
        return int(array[arguments]) if inside else 9999

    said = kind_instances(case.kind, data_term(case.fact), *arrays)
    return [each for each in said if not evaluate(each, names, element)]


@KINDS
def test_what_the_prover_takes_for_true_follows(kind: FactKind) -> None:
    random, kept, broken, told = Random(1), 0, 0, 0
    for case in cases(kind, 160, seed=1):
        if below_least(kind, case.fact):
            continue  # no launch of the contract
        if case.kept:
            kept += 1
            for everywhere in (True, False, False):
                assert not unkept(case, random, everywhere=everywhere), case
        else:
            broken += 1
            told += bool(unkept(case, random, everywhere=True))
    assert kept > 20
    assert told == broken > 3


def unkept_in_a_row(case: Case, random: Random, *, everywhere: bool) -> list[Term]:
    """The same of a kernel that counts the elements of all axes by one index."""
    (array,) = case.arrays.values()
    name, count = case.fact.array, t.const(array.size)
    values = [t.apply(function(name), t.const(k)) for k in range(array.size)]
    names: dict[Term, int] = {}
    if not everywhere:
        values = random.sample(values, min(len(values), random.randint(0, 2)))
        for number in range(random.randint(0, 2)):
            index = t.var(f"k{number}", Scope.LAUNCH)
            names[index] = random.randint(-2, array.size + 1)
            values.append(t.apply(function(name), index))
    loaded_ = Loaded(values, (count,), lambda value: value, True, axes=[t.const(size) for size in array.shape])

    def element(_: Function, arguments: tuple[Any, ...]) -> int:
        (k,) = arguments
        return int(array.reshape(-1)[k]) if 0 <= k < array.size else 9999

    said = kind_instances(case.kind, data_term(case.fact), loaded_)
    return [each for each in said if not evaluate(each, names, element)]


@KINDS
def test_one_index_through_all_axes_says_the_same(kind: FactKind) -> None:
    if kind.joins or kind.in_a_row:
        return  # the axes of several arrays are not asked for
    random, kept, broken, told = Random(10), 0, 0, 0
    for case in cases(kind, 160, seed=10):
        (array,) = case.arrays.values()
        if below_least(kind, case.fact) or array.ndim < 2 or not array.size:
            continue
        if case.kept:
            kept += 1
            for everywhere in (True, False, False):
                assert not unkept_in_a_row(case, random, everywhere=everywhere), case
        else:
            broken += 1
            told += bool(unkept_in_a_row(case, random, everywhere=True))
    assert kept > 10
    assert told == broken > 1


@KINDS
def test_two_names_of_one_element_are_not_told_apart(kind: FactKind) -> None:
    """Where the first axis has no stride, and the one row that there is keeps the fact."""
    random, said = Random(9), 0
    for case in cases(kind, 300, seed=9):
        row = all(array.ndim == 1 for array in case.arrays.values()) or not kind.in_a_row
        if below_least(kind, case.fact) or not row or any(len(array) < 1 for array in case.arrays.values()):
            continue
        stored = Case(kind, case.fact, {name: array[:1] for name, array in case.arrays.items()})
        if not stored.kept:
            continue
        seen = {name: np.repeat(array, 2, axis=0) for name, array in stored.arrays.items()}
        wide = Case(kind, case.fact, seen)
        for everywhere in (True, False):
            assert not unkept(wide, random, everywhere=everywhere, injective=False), wide
        said += 1
    assert said > 10


@KINDS
def test_promises_hold_wherever_the_fact_does(kind: FactKind) -> None:
    kept = 0
    for case in cases(kind, 150, seed=2):
        if not case.kept:
            continue
        kept += 1

        def array(name: str, case: Case = case) -> Promised:
            values = list(map(int, case.arrays[name].reshape(-1)))
            low, high = min(values, default=0), max(values, default=0) + 1
            facts = [(Subject.LIMITS, DataTerm(DataFact("range", name), t.const(low), t.const(high)))]
            facts.append((Subject.STEPS, DataTerm(DataFact("multiples", name), amount=t.const(gcd(*values) or 1))))
            if len(set(values)) == len(values):
                facts.append((Subject.ELEMENTS, DataTerm(DataFact("injective", name))))
            shape = [t.const(size) for size in case.arrays[name].shape]
            return Promised(facts, shape, (t.const(-(1 << 31)), t.const(1 << 31)), True, partial(array, case=case))

        for promise in kind.promised(data_term(case.fact), array(case.fact.array)):
            assert evaluate(promise, {}, lambda *_: 0), (case, promise)
        needed = kind.values_needed(array(case.fact.array))
        if needed is not None and not case.fact.unless and case.fact.low is None:
            assert len({*case.arrays[case.fact.array].reshape(-1)}) >= needed.value
    assert kept > 20


# ----------------------------------------------------------------------------- what follows, and limits
@KINDS
def test_facts_that_say_no_more_hold_too(kind: FactKind) -> None:
    random, known, denied = Random(3), 0, 0
    for case in cases(kind, 250, seed=3):
        for other in FACTS.values():
            if other.form.arrays != kind.form.arrays or any(
                other.placed.misplaced("", a.ndim) for a in case.arrays.values()
            ):
                continue
            wanted = drawn_fact(other, random)
            if other is kind and random.random() < 0.7:
                wanted = near(case.fact, random)
            if follows(wanted, case.fact):
                known += 1
                assert not case.kept or keeps(other, wanted, case.named), (case, wanted)
            elif case.kept:
                denied += other is kind and not keeps(other, wanted, case.named)
    assert known > 20
    assert denied or not kind.form.numbers


def near(fact: NumberedFact, random: Random) -> NumberedFact:
    """The same but for one number, or without bounds."""
    match random.randrange(4):
        case 0:
            return replace(fact, low=None, high=None) if FACTS[fact.kind].form.bounds else fact
        case 1 if fact.high is not None:
            return replace(fact, high=fact.high + random.choice((-1, 1)))
        case 2 if fact.low is not None:
            return replace(fact, low=fact.low + random.choice((-1, 1)))
        case 3 if fact.amount is not None:
            return replace(fact, amount=random.randint(0, 6))
    return fact


@KINDS
def test_kept_values_lie_within_their_limits(kind: FactKind) -> None:
    for case in cases(kind, 200, seed=4):
        values = case.arrays[case.fact.array].reshape(-1)
        limits = kind.limits(case.fact, values.size)
        if case.kept and limits is not None:
            assert all(limits[0] <= int(v) < limits[1] or int(v) in case.fact.unless for v in values)
        said = parse_fact(case.fact)
        implied = kind.implied(said)
        if case.kept and implied is not None and case.arrays[implied.array].size <= values.size:
            numbered = NumberedFact.evaluated(implied, lambda part: evaluate_expression(part, {}))
            assert keeps(FACTS[implied.kind], numbered, {"a": case.in_a_row[implied.array]})
    assert (kind.limits(drawn_fact(kind, Random(1)), 3) is not None) == kind.bounded


def parse_fact(fact: NumberedFact) -> DataFact:
    given = [*fact.arrays, *(str(part) for part in (fact.amount, fact.width, fact.low, fact.high) if part is not None)]
    unless = f", unless=({', '.join(map(str, sorted(fact.unless)))},)" if fact.unless else ""
    return parse_data_fact(f"{fact.kind}({', '.join(given)}{unless})")


@KINDS
def test_a_device_counts_what_the_formula_says(kind: FactKind) -> None:
    counted = 0
    for case in cases(kind, 200, seed=5):
        values = [int(value) for value in case.arrays[case.fact.array].reshape(-1)]
        limits = NumberedFact("range", case.fact.array, low=min(values, default=0), high=max(values, default=0) + 1)
        asked = counts(case.fact, [case.fact, limits], len(values))
        if asked and case.arrays[case.fact.array].ndim == 1:
            counted += 1
            assert all(_count(each, values) == len(values) for each in asked) == case.kept, (case, asked)
    assert (counted > 0) == (kind.word in ("injective", "permutation", "nondecreasing", "range"))


def _count(count: Count, values: list[int]) -> int:
    inside = [count.low <= value < count.high for value in values]
    match count.what:
        case Counted.IN_RANGE:
            return sum(inside)
        case Counted.NOT_FALLING:
            return sum(a <= b for a, b in pairwise(values)) + bool(values)
    return sum(within and value not in values[:i] for i, (within, value) in enumerate(zip(inside, values, strict=True)))


# ------------------------------------------------------------------------------- made and found contents
@KINDS
def test_contents_that_are_made_keep_the_formula(kind: FactKind) -> None:
    random, found = Random(6), 0
    for _ in range(30):
        fact = drawn_fact(kind, random)
        shapes = [drawn_shape(kind, random) for _ in fact.arrays]
        for values in () if below_least(kind, fact) else samples(kind, fact, shapes):
            found += 1
            arrays = [np.asarray(one, np.int64).reshape(s) for one, s in zip(values, shapes, strict=True)]
            assert Case(kind, fact, dict(zip(fact.arrays, arrays, strict=True))).kept, (fact, values)
    assert found > 30


@KINDS
def test_facts_that_are_found_hold(kind: FactKind) -> None:
    seen = 0
    for case in cases(kind, 110, seed=7):
        arrays = {name: concrete(array.shape, array.reshape(-1).tolist()) for name, array in case.arrays.items()}
        found = [each for each in held_facts(arrays, set()) if each.kind == kind.word]
        if all(array.size for array in case.arrays.values()):
            texts = observed_facts({name: [array, array] for name, array in case.arrays.items()})
            read = (parse_data_fact(text) for text in texts)
            found += [NumberedFact.evaluated(fact, lambda part: evaluate_expression(part, {})) for fact in read]
        for fact in found:
            seen += fact.kind == kind.word
            own = Case(FACTS[fact.kind], fact, {name: case.arrays[name] for name in fact.arrays})
            assert own.kept, (case, fact)
    assert seen > 3
