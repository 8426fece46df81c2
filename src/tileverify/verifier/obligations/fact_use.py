"""Facts on data and lists in a question: which count, what they say of elements that it mentions, which they fix.

Offered facts come from a recording, or are suggestions for an open question.  A search decides which of them a question
*takes up*; a fact that was taken up counts for all later questions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Protocol, TypeAlias

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.element_types import INDEX_MAX, INT_BITS
from ...contract.facts.fact_terms import kind_instances
from ...contract.facts.form import Subject
from ...contract.facts.kind import FactKind
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.loaded import Loaded
from ...contract.facts.statements import DataTerm
from ...contract.launch import ArrayArgument, ListArgument, only_axis
from ...contract.list_terms import (
    described_number,
    described_word,
    list_in_fact,
    member_of_list,
    member_variable,
    values_of_each,
)
from ...contract.terms import Scope, Term, TermKind
from ...contract.terms.launch_wide import launch_function
from ...contract.variables import list_length
from ...frontend.symbolic.summary import LoopValue, Origin, OriginKind, list_word
from .answers import Answer, Result, SolverProtocol
from .simplify import known_ranges


class ChooseFacts(Protocol):
    """A search among offered facts."""

    def __call__(
        self,
        use: FactUse,
        conditions: Sequence[Term],
        origins: Mapping[str, Origin],
        closes: Callable[[Sequence[Term]], bool],
    ) -> Sequence[DataTerm] | None:
        """Facts whose instances for ``conditions`` make ``closes`` true; ``None`` if none do."""


@dataclass
class FactUse:
    """``choose``: finds the offered facts that a question needs.  ``taken``: the facts found so far.

    ``said``: a cache of instances, shared between contracts that differ only in their data facts.
    ``clauses``: added to the contract.  Contract and clauses also give facts on the arrays of lists.
    """

    contract: Contract
    choose: ChooseFacts | None = None
    taken: list[DataTerm] = field(default_factory=list)
    said: Said = field(default_factory=dict)
    clauses: Sequence[Term] = ()
    _of_lists: tuple[Term, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._of_lists = about_lists((*self.contract.facts, *self.clauses), self.contract.lists)

    def adopt(self, clauses: Iterable[Term]) -> None:
        """Add clauses to the contract."""
        self._of_lists = (*self._of_lists, *about_lists(clauses, self.contract.lists))

    def forget_all_but(self, taken: list[DataTerm]) -> None:
        """Reset ``taken``: forget facts that were taken up in vain."""
        self.taken = taken

    def known(self, conditions: Iterable[Term], origins: Mapping[str, Origin]) -> tuple[Term, ...]:
        """The instances, for values in ``conditions``, of the contract's facts and of those taken up."""
        wanted, facts = tuple(conditions), (*self.contract.data, *self.taken)
        said = instances(wanted, facts, self.contract, origins, self.said)
        sizes = stated_sizes(wanted, self.contract) if self.contract.lists else ()
        return (*said, *self.of_arrays(wanted), *sizes)

    def of_arrays(self, conditions: Iterable[Term]) -> Iterator[Term]:
        """The facts of contract and clauses on list arrays that ``conditions`` mention."""
        return element_facts(conditions, self._of_lists, self.contract)

    def take_up(
        self, conditions: Sequence[Term], origins: Mapping[str, Origin], closes: Callable[[Sequence[Term]], bool]
    ) -> Sequence[DataTerm] | None:
        """Facts whose instances for ``conditions`` make ``closes`` true, taken up; ``None`` if none do."""
        found = None if self.choose is None else self.choose(self, conditions, origins, closes)
        self.taken = [*self.taken, *(fact for fact in found or () if fact not in self.taken)]
        return found


@dataclass(frozen=True, slots=True)
class Informed:
    """A solver that adds the known data facts to each question."""

    solver: SolverProtocol
    use: FactUse
    origins: Mapping[str, Origin]

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        wanted = tuple(conditions)

        def asked(more: Sequence[Term]) -> Result:
            return self.solver.decide((*wanted, *self.use.known(wanted, self.origins), *more), twins=twins)

        def closes(more: Sequence[Term]) -> bool:
            return asked(more).answer is Answer.UNSATISFIABLE

        result = asked(())
        if result.answer is not Answer.UNSATISFIABLE and self.use.take_up(wanted, self.origins, closes):
            return asked(())
        return result


# ------------------------------------------------------------------------------------------------------- fact instances
# Facts about index data, instantiated on the loaded values that a question mentions.
#
# The table of `contract.facts.kinds` says what each kind means.  An instance speaks of indices inside the array only:
# what a load gives elsewhere is not the array's.


def loaded_values(conditions: Iterable[Term]) -> dict[str, list[Term]]:
    """The applications that stand for elements of an array, by array."""
    found: dict[str, list[Term]] = {}
    for condition in conditions:
        for leaf in sorted(condition.free):
            if leaf.kind is TermKind.APPLY and leaf.function.array is not None:
                values = found.setdefault(leaf.function.array, [])
                if leaf not in values:
                    values.append(leaf)
    return found


def data_facts(conditions: Iterable[Term], contract: Contract, origins: Mapping[str, Origin]) -> Iterator[Term]:
    """Instances of the contract's data facts for the values in ``conditions``."""
    return instances(conditions, contract.data, contract, origins)


Said: TypeAlias = "dict[tuple[int, tuple[str, ...], tuple[tuple[Term, ...], ...]], tuple[DataTerm, list[Term]]]"
"""What facts say of values, by fact (its identity: it is kept, too), arrays and values."""


def instances(
    conditions: Iterable[Term],
    facts: Iterable[DataTerm],
    contract: Contract,
    origins: Mapping[str, Origin],
    said: Said | None = None,
) -> Iterator[Term]:
    """Instances of ``facts`` for the values in ``conditions``.

    ``said``: those that were made before under this contract, whatever its facts were.
    """
    conditions, wanted, said = tuple(conditions), tuple(facts), {} if said is None else said
    found = loaded_values(conditions) if wanted else {}
    for data in wanted:
        for names in _spellings(data, contract):
            key = id(data), names, tuple([tuple(found.get(name, ())) for name in names])
            if key not in said:
                kind = meaning_of(data)
                loaded = [_loaded(name, found, contract, origins, kind) for name in names]
                arrays = [array for array in loaded if array is not None]
                complete = len(arrays) == len(names)
                said[key] = data, list(kind_instances(kind, data, *arrays)) if complete else []
            of_lists = bool(contract.lists) and list_in_fact(data.fact, contract.lists) is not None
            if not of_lists or subject_of(data) is not Subject.ELEMENT:
                yield from said[key][1]
            if of_lists:
                yield from of_every_array(said[key][1], conditions, contract)


def _spellings(data: DataTerm, contract: Contract) -> Iterator[tuple[str, ...]]:
    """The fact's arrays, and the other names of what is the same array."""

    def names(array: str) -> list[str]:
        if not contract.same:
            return [array]
        return [array, *(other for other in contract.arrays if other != array and contract.is_same(other, array))]

    yield from product(*map(names, data.fact.arrays))


def _loaded(
    name: str, found: Mapping[str, list[Term]], contract: Contract, origins: Mapping[str, Origin], kind: FactKind
) -> Loaded | None:
    """The elements of one array that were found; ``None`` for an array that the kernel does not have, or of whose
    elements a fact of the kind says nothing."""
    origin = origins.get(name)
    shape = None if origin is None else origin.shape or _in_a_row(origin, contract, kind)
    axis = 0 if shape is None or len(shape) == 1 else only_axis(contract.arrays[name].shape)
    if shape is None or (kind.in_a_row and axis is None):
        return None
    values = [v for v in found.get(name, ()) if v.function.name == name and len(v.args) == len(shape)]
    dtype = contract.arrays[name].dtype
    read = partial(t.unsigned, INT_BITS[dtype]) if dtype.startswith("u") else _as_it_is
    axes = () if origin is None or origin.shape or kind.in_a_row else _axes_in_a_row(contract.arrays[name], contract)
    return Loaded(values, shape, read, name in contract.injective, axis if kind.in_a_row else None, axes)


def _in_a_row(origin: Origin, contract: Contract, kind: FactKind) -> tuple[Term, ...] | None:
    """The one size by which elements behind a plain pointer are counted: that of all of them in row-major order, where
    they lie so without gaps; facts that ask for its axes speak of it where `_axes_in_a_row` knows them."""
    array = contract.arrays.get(origin.name) if origin.kind is OriginKind.PARAMETER else None
    if array is None:
        return None
    several = only_axis(array.shape) is None if kind.in_a_row else len(array.shape) != 1
    if several and kind.of_axes and (kind.in_a_row or not _axes_in_a_row(array, contract)):
        return None
    count = in_a_row(array, contract)
    return None if count is None else (count,)


def _axes_in_a_row(array: ArrayArgument, contract: Contract) -> tuple[Term, ...]:
    """The sizes of several axes by which an index into all elements is taken apart; empty unless all but the first are
    numbers: quotients by others say too little for what they cost."""
    sizes = tuple(t.substitute(size, contract.values) for size in array_layout(array)[0])
    known = all(size.kind is TermKind.CONST and size.value > 0 for size in sizes[1:])
    return sizes if len(sizes) > 1 and known else ()


def in_a_row(array: ArrayArgument, contract: Contract) -> Term | None:
    """How many elements the array has, where they lie in row-major order without gaps."""
    shape, strides = ([t.substitute(part, contract.values) for part in parts] for parts in array_layout(array))
    row_major = all(step is t.product(shape[dim + 1 :]) for dim, step in enumerate(strides))
    return t.product(shape) if row_major else None


def _as_it_is(value: Term) -> Term:
    return value


# ---------------------------------------------------------------------------------------- contents to try
def ordinary_data(
    conditions: Iterable[Term], origins: Mapping[str, Origin], spacing: int = 1, only: Container[str] | None = None
) -> Iterator[Term]:
    """``a[i] = spacing * i``, counted in row-major order: contents that are injective and sorted at once.

    For every array, or for those of ``only``.

    A race that shows both with indices that count up and with offsets far apart is the kernel's own, not the data's.
    """
    for array, values in loaded_values(conditions).items():
        for v in values if only is None or array in only else ():
            origin = origins.get(array)
            linear = t.ZERO
            for i, argument in enumerate(v.args):
                extent = origin.shape[i] if origin and len(origin.shape) == len(v.args) else t.ONE
                linear = t.add(t.mul(linear, extent), argument)
            yield t.eq(v, t.scale(spacing, linear))


SPACING_TRIED = 4096
"""Apart by more than any tile is wide in one dimension."""


def computed_addresses(
    terms: Iterable[Term], loop_values: Iterable[LoopValue] = (), known: Container[str] = ()
) -> bool:
    """Whether an address depends on values that the block computes from data.

    When loops end does not count, nor what a load gives outside its array, nor do ``known`` functions; ``loop_values``
    are what they are made of.
    """
    by_function = {value.function: value for value in loop_values}
    left, seen = list(terms), set()
    while left:
        for leaf in left.pop().free:
            if leaf.kind is TermKind.APPLY and leaf.function not in seen:
                seen.add(leaf.function)
                value = by_function.get(leaf.function)
                if value is not None:
                    left += [value.init, value.next]
                elif (
                    leaf.function.scope is not Scope.LAUNCH
                    and not leaf.function.name.startswith(_OF_LOOPS)
                    and not leaf.function.name.endswith(_OUTSIDE)
                    and leaf.function.name not in known
                ):
                    return True
    return False


_OF_LOOPS = ("trips", "last", "overflow")
"""Functions that say when loops end."""

_OUTSIDE = ".outside"
"""What a load gives where the array has no element; the replay knows."""


# ----------------------------------------------------------------------------------------------------------- list facts
# What a contract says of the arrays of a list, and of the one in a row that a question mentions.
#
#     F(xs.address, xs.shape[d], xs.strides[d])   |-   F(address(xs, k), shape[d](xs, k), strides[d](xs, k))
#
# ``requires = ["xs.address % 16 == 0"]`` holds of every array of the list, so of the one in row ``k``, whatever ``k``
# is: a row that the list does not have is read by an access that is at fault itself (TV301), and what depends on what
# it gave is no first fault.  Instances of ``data = ["range(idx, 0, xs.shape[0])"]`` hold of every array in the same
# way.  The names themselves stand for the numbers of the first array, for a contract that says something of a list's
# arrays is about lists that have one (`contract.list_terms`).


MARK = "[]."
"""Between the name of a list and the word of its descriptors."""


def described_in(word: Term, contract: Contract) -> Term | None:
    """A size or stride in a list's descriptors, as the launch spec describes every element of the list."""
    name, separator, field_name = word.function.name.partition(MARK)
    lists = contract.lists
    if not separator or name not in lists or field_name == "address":
        return None
    element = lists[name].element
    limit = INDEX_MAX[element.index_bits]
    part, _, rest = field_name.partition("[")
    dim = int(rest.rstrip("]"))
    if lists[name].each:
        return _of_each(lists[name], part, dim, word.args[0])

    def described(part: str, d: int) -> Term:
        known = described_word(element, part, d)
        if isinstance(known, int):
            return t.const(known)
        known = known or f"{part}[{d}]"
        stated = stated_word(name, known, word.args[0], contract)
        function = replace(word.function, name=f"{name}{MARK}{known}", low=0, high=limit)
        return t.apply(function, *word.args) if stated is None else stated

    if part == "strides" and element.strides is None:
        return t.product(described("shape", d) for d in range(dim + 1, len(element.shape)))
    return described(part, dim)


def _of_each(listed: ListArgument, part: str, dim: int, index: Term) -> Term:
    """A size or stride of array ``index``, by its number; what is beyond the list is not read."""
    numbers = [described_number(array, part, dim) for array in listed.each]
    found = t.const(numbers[-1])
    for position in range(len(numbers) - 2, -1, -1):
        found = t.ite(t.eq(index, t.const(position)), t.const(numbers[position]), found)
    return found


def about_lists(facts: Iterable[Term], lists: Mapping[str, ListArgument]) -> tuple[Term, ...]:
    """Those of ``facts`` that speak of the arrays of lists."""
    if not lists:
        return ()
    return tuple(dict.fromkeys(part for part in t.conjuncts(*facts) if any(_members(part, lists))))


def _members(term: Term, lists: Mapping[str, ListArgument]) -> Iterator[tuple[Term, str, str]]:
    """The names for numbers of arrays in lists: variable, list, and the word that it stands for."""
    for leaf in term.free:
        if leaf.kind is TermKind.VAR:
            name, word = member_of_list(leaf.symbol.name, lists)
            if name:
                yield leaf, name, word


def list_of(fact: Term, lists: Mapping[str, ListArgument]) -> str:
    """The list that a fact (`about_lists`) is about."""
    return next(_members(fact, lists))[1]


def element_facts(conditions: Iterable[Term], facts: Sequence[Term], contract: Contract) -> Iterator[Term]:
    """What ``facts`` (`about_lists`) say of the arrays that ``conditions`` mention."""
    if not facts:
        return
    rows: dict[str, dict[Term, None]] = {}
    for condition in conditions:
        for leaf in sorted(condition.free):
            for name, row in _rows(leaf, contract):
                rows.setdefault(name, {})[row] = None
    for fact in facts:
        members = list(_members(fact, contract.lists))
        name = list_of(fact, contract.lists)
        for row in rows.get(name, ()):
            meant = {leaf: _word(listed, word, row, contract) for leaf, listed, word in members}
            said = t.substitute(fact, meant)
            yield t.implies(in_list(name, row, contract), said) if contract.lists[name].addresses else said


def of_every_array(instances: Sequence[Term], conditions: Iterable[Term], contract: Contract) -> Iterator[Term]:
    """What ``instances`` of data facts with numbers of a list's arrays say with those of the arrays that ``conditions``
    mention, and of the arrays that the contract gives in numbers."""
    about = about_lists(instances, contract.lists)
    yield from element_facts(conditions, about, contract)
    for fact in about:
        numbers = values_of_each(contract.lists[list_of(fact, contract.lists)])
        yield from (t.substitute(fact, each) for each in numbers)


def _word(name: str, word: str, row: Term, contract: Contract) -> Term:
    if word == "index":
        return row
    read = t.apply(list_word(name, word), row)
    return described_in(read, contract) or read


# --------------------------------------------------------------------------------------------------------- stated words
# Sizes and strides of a list's arrays that stand in an array of integers, where a fact says so.
#
#     value_at(sizes, c * xs.index + d, xs.shape[0])  and  0 <= k < length(xs)   ->   shape[0](xs, k) = sizes[c*k + d]
#
# The kernel compares with what it loads from `sizes`, so that is what the size is called in questions.  The fact says
# that `sizes` has the element.  Of k outside the list there is no array: whoever follows such an address has read
# behind the addresses, which is at fault itself, and every fact on the arrays of the list is said of a k inside it
# (`element_facts`).  Sizes and strides are not negative, so neither are such elements.


def in_list(name: str, row: Term, contract: Contract) -> Term:
    """The list has an array of this number."""
    length = t.substitute(list_length(name), contract.values)
    return t.and_(t.le(t.ZERO, row), t.lt(row, length))


def stated_word(name: str, word: str, row: Term, contract: Contract) -> Term | None:
    """The element that a fact of the contract says holds ``word`` of array ``row``; ``None`` without such a fact.

    The array is one that every convention passes alike: with one axis, without gaps.
    """
    listed = contract.lists[name]
    index, member = member_variable(listed, "index"), member_variable(listed, word)
    for data in stated_by(contract.data) if listed.addresses else ():
        array = contract.arrays[data.fact.array]
        one_row = len(array.shape) == 1 and array.strides is None and array.dtype.startswith("i")
        if data.amount is None or any(word != "index" for *_, word in _members(data.amount, {name: listed})):
            continue  # a place that depends on the array itself
        if data.low is member and one_row:
            half = 1 << (INT_BITS[array.dtype] - 1)
            function = launch_function(array.name, -half, half - 1, array=array.name)
            return t.apply(function, t.substitute(data.amount, {index: row}))
    return None


def stated_sizes(conditions: Iterable[Term], contract: Contract) -> Iterator[Term]:
    """That elements which hold sizes or strides are not negative."""
    for leaf in dict.fromkeys(leaf for condition in conditions for leaf in sorted(condition.free)):
        for listed, row, data in _stated_rows(leaf, contract):
            if any(data.low is member for member, *_ in _members(data.low or t.ZERO, {listed.name: listed})):
                yield t.implies(in_list(listed.name, row, contract), t.le(t.ZERO, leaf))


def stated_by(facts: Iterable[DataTerm]) -> tuple[DataTerm, ...]:
    """Those of ``facts`` from which `stated_word` reads sizes and strides."""
    return tuple(data for data in facts if subject_of(data) is Subject.ELEMENT)


def _rows(leaf: Term, contract: Contract) -> Iterator[tuple[str, Term]]:
    """The lists and numbers of arrays that a leaf of a question speaks of, by a word or an element that holds one."""
    if leaf.kind is TermKind.APPLY:
        name, mark, _ = leaf.function.name.partition(MARK)
        if mark and name in contract.lists:
            yield name, leaf.args[0]
        yield from ((listed.name, row) for listed, row, _ in _stated_rows(leaf, contract))


def _stated_rows(leaf: Term, contract: Contract) -> Iterator[tuple[ListArgument, Term, DataTerm]]:
    """The facts that say what an element holds, each with the list and the number of the array that it is about."""
    if leaf.kind is TermKind.APPLY and leaf.function.array is not None and len(leaf.args) == 1:
        for data in stated_by(contract.data):
            listed = contract.lists.get(list_in_fact(data.fact, contract.lists) or "")
            if listed is not None and listed.addresses and data.fact.array == leaf.function.array:
                row = _solved(data, listed, leaf.args[0])
                if row is not None:
                    yield listed, row, data


def _solved(data: DataTerm, listed: ListArgument, place: Term) -> Term | None:
    """The k with ``place = c * k + d``, where the terms show one if wraps are left out: what is said of array k holds
    whatever was loaded, so a wrong k only says nothing."""
    assert data.amount is not None
    index = member_variable(listed, "index")
    factor = {part: factor for factor, part in t.linear_parts(data.amount)[1]}.get(index, 0)
    if factor == 0:
        return None
    place = t.transform(place, lambda part: part.args[0] if part.kind is TermKind.WRAP else None)
    constant, parts = t.linear_parts(t.sub(place, t.substitute(data.amount, {index: t.ZERO})))
    if constant % factor or any(each % factor for each, _ in parts):
        return None
    return t.add(t.const(constant // factor), *(t.scale(each // factor, part) for each, part in parts))


# ------------------------------------------------------------------------------------------------ clauses
def for_every_array(conditions: Sequence[Term], contract: Contract, known: Container[Term] = ()) -> Term | None:
    """What has to hold of each array of a list for ``conditions`` not to hold together, in the names of its members.

    ``None`` unless one condition alone speaks of a list's arrays, of the one in one row, and the others speak of the
    row, of blocks and iterations and of how long lists are: what else a launch decides may be that nothing is asked.
    What is ``known`` of the arrays already does not count.
    """
    conditions = [each for each in conditions if each not in known] if contract.lists else []
    spoken = [each for each in conditions if any(_words(each, contract))]
    words = [word for each in spoken for word in _words(each, contract)]
    rows, names = {word.args[0] for word in words}, {word.function.name.partition(MARK)[0] for word in words}
    if len(spoken) != 1 or len(rows) != 1 or len(names) != 1:
        return None
    (row,) = rows
    of_rows = row.free | set(map(list_length, contract.lists))
    others = {leaf for condition in conditions if condition is not spoken[0] for leaf in condition.free}
    if any(leaf.kind is not TermKind.VAR or leaf.symbol.scope is t.Scope.LAUNCH for leaf in others - of_rows):
        return None
    (name,) = names
    values = {word: member_variable(contract.lists[name], word.function.name.partition(MARK)[2]) for word in words}
    said = t.not_(t.substitute(spoken[0], values))
    return said if said.free <= set(values.values()) else None


def _words(term: Term, contract: Contract) -> Iterator[Term]:
    for leaf in term.free:
        name, mark, _ = leaf.function.name.partition(MARK) if leaf.kind is TermKind.APPLY else ("", "", "")
        if mark and name in contract.lists:
            yield leaf


# ------------------------------------------------------------------------------------------------------- fixed elements
# Elements of index data that facts leave one number for: the number is put in for them, before anything is made of it.
#
#     range(a, c, c + 1)  and  0 <= i < size(a), as i and the size are written   ->   a[i] is read as c
#
# A load from an array that nobody writes gives ``a[i]``, the same in all blocks, and every launch of the contract keeps
# the fact.  So whatever breaks an obligation breaks it with ``c`` put in as well: no solution is lost.  An index that
# is not seen to lie inside the array is left alone, as facts say nothing there.
#
# What is won: a number of tiles that a kernel loads and divides by is a number to divide by; as a condition it leaves
# quotients by a variable.


@dataclass(frozen=True, slots=True)
class DeterminedElements:
    """Reads elements as the numbers that ``facts``, some of those of ``contract``, leave; ``origins``: the arrays, in
    terms of the contract."""

    facts: tuple[DataTerm, ...]
    contract: Contract
    origins: Mapping[str, Origin]

    def number(self, value: Term) -> Term | None:
        """The number that ``value``, an application, stands for; ``None`` if that is not known."""
        if value.function.array is None:
            return None
        said = t.and_(*instances((value,), self.facts, self.contract, self.origins))
        parts = said.args if said.kind is TermKind.AND else (said,)
        low, high = known_ranges(frozenset(parts)).get(value, (None, None))
        return t.const(low) if low is not None and low == high else None


def of_one_number(facts: Iterable[DataTerm]) -> tuple[DataTerm, ...]:
    """Those that leave one number for all elements of an array."""
    return tuple(filter(_leaves_one_number, facts))


def _leaves_one_number(data: DataTerm) -> bool:
    low, high = data.low, data.high
    if subject_of(data) is not Subject.LIMITS or data.unless or low is None or high is None:
        return False
    return low.kind is high.kind is TermKind.CONST and high.value == low.value + 1
