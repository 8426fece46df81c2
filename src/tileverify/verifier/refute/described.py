"""From a solver model to numbers: the launch that it describes and what it claims to show there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.element_types import INT_BITS
from ...contract.facts.statements import DataTerm, NumberedFact
from ...contract.launch import (
    Block,
    ConcreteArray,
    ConcreteLaunch,
    LaunchSpec,
    ListArgument,
    Name,
    ScalarArgument,
    TupleArgument,
)
from ...contract.list_terms import (
    described_number,
    described_word,
    list_in_fact,
    member_values,
    member_variable,
)
from ...contract.strides import apart
from ...contract.terms import Function, Term
from ...contract.terms.evaluate import Value, evaluate
from ...contract.variables import BID, GRID, argument_address, list_length, scalar_variable
from ...frontend.symbolic.summary import Origin, Promise, Site
from ...results.claim import Claim
from ...results.codes import FILLED
from ..obligations.answers import Model
from ..obligations.fact_use import about_lists, list_of, stated_word
from ..obligations.footprint_overlap import PRIME, CopyLevel, PrimedCopy, overlap_distance
from ..obligations.obligations import Obligation
from ..obligations.prepare import contract_values
from .sampled_contents import NoContents, completed, segments_keep

MOST_ELEMENTS: Final = 1 << 12
"""Elements of an array whose addresses are compared one by one."""
_PARTS: Final = ("shape", "strides")
MOST_LISTED: Final = 1 << 10
"""Arrays that a list of a witness may hold."""


class NoLaunch(Exception):
    """The model describes no launch that could be run; the text says why."""


class DescribedNumbers(Mapping[Term, Value]):
    """Variables of a model, with harmless defaults for those that the question did not mention.

    Called, it gives the number of an integer term.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._words = {(f.name, arguments): value for (f, arguments), value in model.applications.items()}

    def __getitem__(self, term: Term) -> Value:
        if term in self.model.variables:
            return self.model.variables[term]
        symbol = term.symbol
        if symbol.sort is t.Sort.BOOL:
            return False
        low = 1 if symbol.low is None or symbol.low <= 1 else symbol.low
        return low if symbol.high is None else min(low, symbol.high)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.model.variables)

    def __len__(self) -> int:
        return len(self.model.variables)

    def __call__(self, term: Term) -> int:
        return int(evaluate(term, self, self._apply))

    def holds(self, condition: Term) -> bool:
        """Whether a condition holds of the model's numbers."""
        return bool(evaluate(condition, self, self._apply))

    def _apply(self, function: Function, arguments: tuple[Value, ...]) -> Value:
        return self.word(function.name, arguments, 1)

    def word(self, name: str, arguments: tuple[Value, ...], default: int) -> Value:
        """The value of a function where the model mentions it."""
        return self._words.get((name, arguments), default)


def meets_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements share an address; also true where it would take too long to tell."""
    return not apart(shape, strides, MOST_ELEMENTS)


def mentioned(model: Model, name: str, shape: Sequence[int], strides: Sequence[int]) -> dict[int, int]:
    """The elements of an array that a question mentions, by storage index."""
    return {
        sum(int(i) * s for i, s in zip(arguments, strides, strict=True)): int(value)
        for (function, arguments), value in model.applications.items()
        if function.array == name
        and function.name == name
        and len(arguments) == len(strides)
        and all(0 <= int(i) < size for i, size in zip(arguments, shape, strict=True))
    }


def numbered_facts(
    number: DescribedNumbers, contract: Contract, lists: Mapping[str, Sequence[ConcreteArray]]
) -> list[NumberedFact]:
    """The contract's data facts with the numbers that a model gives them; those with numbers of a list's arrays with
    the numbers of each of ``lists``."""
    values = contract_values(contract)

    def numbered(data: DataTerm, own: Mapping[Term, Term]) -> NumberedFact:
        return NumberedFact.of(data, lambda term: number(t.substitute(t.substitute(term, own), values)))

    def arrays_of(data: DataTerm) -> Iterator[Mapping[Term, Term]]:
        name = list_in_fact(data.fact, contract.lists)
        if name is None:
            yield {}
        else:
            for index, array in enumerate(lists[name]):
                yield member_values(contract.lists[name], index, array.shape, array.strides)

    return list(dict.fromkeys(numbered(data, own) for data in contract.data for own in arrays_of(data)))


def concrete_launch(
    model: Model,
    contract: Contract,
    launch: LaunchSpec,
    origins: Mapping[str, Origin],
    *,
    without: Collection[str] = frozenset(),
) -> ConcreteLaunch:
    """The launch that the model describes; index arrays ``without`` contents get theirs elsewhere.

    Others keep the contract's facts, also where no question mentions them: their numbers may have been put in.

    :raises NoLaunch: its lists cannot be built, an array would overlap itself, which the contract excludes, or no
    contents of an index array keep the contract's facts.
    """
    return _Builder(DescribedNumbers(model), contract, launch, origins, without).build()


@dataclass
class _Builder:
    number: DescribedNumbers
    contract: Contract
    launch: LaunchSpec
    origins: Mapping[str, Origin]
    without: Collection[str]
    _values: dict[Term, Term] = field(init=False)
    _facts: list[NumberedFact] = field(init=False)

    def __post_init__(self) -> None:
        self._values = contract_values(self.contract)

    def build(self) -> ConcreteLaunch:
        lists = {name: tuple(self._list(listed)) for name, listed in self.contract.lists.items()}
        self._facts = numbered_facts(self.number, self.contract, lists)
        arrays = dict(_from_zero({name: self._array(name) for name in self.contract.arrays}))
        self._keep_aligned(arrays)
        kept = [fact for fact in self._facts if not {*fact.arrays} & {*self.without}]
        if not segments_keep(arrays, kept):
            raise NoLaunch("segments, ranks or buckets break what is said of two arrays")
        self._keep_said(lists)
        scalars = {argument.name: self._scalar(argument) for argument in _integer_scalars(self.launch)}
        x, y, z = map(self._read, GRID)
        return ConcreteLaunch((x, y, z), arrays, scalars, lists)

    def _read(self, term: Term) -> int:
        return self.number(self._values.get(term, term))

    def _scalar(self, scalar: ScalarArgument) -> int:
        """As the launch spec names it: an unsigned one is not negative."""
        value = self._read(scalar_variable(scalar.name, scalar.dtype))
        return value % (1 << INT_BITS[scalar.dtype]) if scalar.dtype[0] == "u" else value

    def _array(self, name: str) -> ConcreteArray:
        array = self.contract.arrays[name]
        shape, strides = (tuple(map(self._read, terms)) for terms in array_layout(array))
        if name in self.contract.injective and meets_itself(shape, strides):
            raise NoLaunch(f"two elements of {name} would share an address")
        known = {} if name in self.without else mentioned(self.number.model, name, shape, strides)
        allocation, offset = self._allocation(name)
        found = ConcreteArray(array.dtype, shape, strides, known, 0, allocation, offset)
        if name in self.without:
            return found
        try:
            return completed(found, [fact for fact in self._facts if fact.array == name])
        except NoContents as failure:
            raise NoLaunch(f"{name}: {failure}") from failure

    def _keep_aligned(self, arrays: Mapping[str, ConcreteArray]) -> None:
        """Allocations are aligned as far as a contract can ask for (`divisibility`), places inside them may not be."""
        places = {argument_address(name): t.const(array.byte_offset) for name, array in arrays.items()}
        if any(t.substitute(fact, places) is t.FALSE for fact in self.contract.facts if fact.free & places.keys()):
            raise NoLaunch("an array is not aligned as the contract says")

    def _allocation(self, name: str) -> tuple[str, int]:
        """Arguments that are one array share an allocation; those that may overlap do at the model's distance."""
        for first in self.contract.arrays:
            if first == name:
                break
            if self.contract.is_same(first, name):
                return self._allocation(first)
            if self.contract.may_overlap(first, name):
                distance = overlap_distance(self.origins[first], self.origins[name])
                if distance.free & self.number.model.variables.keys():
                    base, offset = self._allocation(first)
                    return base, offset + self.number(distance)
        return name, 0

    # ------------------------------------------------------------------------------------------ lists
    def _list(self, listed: ListArgument) -> Iterator[ConcreteArray]:
        """The arrays of a list; one that the question did not mention is as large as those that it did."""
        length = self._read(list_length(listed.name))
        if length > MOST_LISTED:
            raise NoLaunch(f"the list {listed.name} holds {length} arrays")
        contents, words = f"{listed.name}[]", f"{listed.name}[]."
        if any(f.name.startswith(contents) and not f.name.startswith(words) for f in self._functions):
            raise NoLaunch(f"the fault depends on what the arrays of {listed.name} hold")
        element = listed.element
        for array in listed.each:
            shape, strides = (
                tuple(described_number(array, part, d) for d in range(len(array.shape))) for part in _PARTS
            )
            yield ConcreteArray(array.dtype, shape, strides)
        for index in range(0 if listed.each else length):
            shape = tuple(self._word(listed, "shape", d, index, 1) for d in range(len(element.shape)))
            close = _contiguous(shape)
            if element.strides is None:
                strides = close
            else:
                strides = tuple(self._word(listed, "strides", d, index, step) for d, step in enumerate(close))
                named = any(isinstance(stride, Name) for stride in element.strides)
                if named and not _keeps_apart(shape, strides):
                    raise NoLaunch(f"rows of an array in {listed.name} overlap, which the contract does not say")
            yield ConcreteArray(element.dtype, shape, strides)

    def _keep_said(self, lists: Mapping[str, Sequence[ConcreteArray]]) -> None:
        """What the contract says of the arrays of a list holds of each, also of those that no question mentioned; the
        interpreter aligns them all."""
        for fact in about_lists(self.contract.facts, self.contract.lists):
            name = list_of(fact, self.contract.lists)
            listed = self.contract.lists[name]
            for index, array in enumerate(lists[name]):
                values = {member_variable(listed, "address"): t.ZERO}
                values |= member_values(listed, index, array.shape, array.strides)
                if not self.number.holds(t.substitute(fact, values)):
                    raise NoLaunch(f"an array of {name} is not as the contract says")

    @property
    def _functions(self) -> Iterator[Function]:
        return (function for function, _ in self.number.model.applications)

    def _word(self, listed: ListArgument, part: str, d: int, index: int, default: int) -> int:
        """A size or stride of one array of the list; of one that the question did not mention, the largest that it did,
        or what the contract says of every array."""
        known = described_word(listed.element, part, d)
        if isinstance(known, int):
            return known
        if known is None:
            raise NoLaunch(f"the sizes of the arrays in {listed.name} are expressions")
        stated = stated_word(listed.name, known, t.const(index), self.contract)
        if stated is not None:
            said = self.number.word(stated.function.name, tuple(self.number(each) for each in stated.args), default)
            return max(int(said), 0)
        name = f"{listed.name}[].{known}"
        said = int(self.number.model.variables.get(member_variable(listed, known), default))
        usual = max((int(v) for (f, _), v in self.number.model.applications.items() if f.name == name), default=said)
        return int(self.number.word(name, (index,), usual))


def _from_zero(arrays: Mapping[str, ConcreteArray]) -> Iterator[tuple[str, ConcreteArray]]:
    """The same arrays, where the first byte of an allocation belongs to the lowest array in it."""
    for name, array in arrays.items():
        lowest = min(other.byte_offset for other in arrays.values() if other.allocation == array.allocation)
        yield name, replace(array, byte_offset=array.byte_offset - lowest)


def _keeps_apart(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether every stride steps over all that the smaller ones reach, or there are no elements."""
    if 0 in shape:
        return True
    reach = 1
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride < reach:
            return False
        reach = stride * (size - 1) + reach
    return True


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides[: len(shape)])


def _integer_scalars(launch: LaunchSpec) -> Iterator[ScalarArgument]:
    stack = list(launch.arguments)
    while stack:
        argument = stack.pop()
        if isinstance(argument, TupleArgument):
            stack.extend(argument.items)
        elif isinstance(argument, ScalarArgument) and argument.dtype in INT_BITS:
            yield argument


# --------------------------------------------------------------------------------------------- the claim
def concrete_claim(obligation: Obligation, model: Model) -> Claim:
    """What the model says happens in its launch."""
    return Claim(
        code=obligation.code,
        block_a=_block(model, block_ids("")),
        block_b=_block(model, block_ids(PRIME)) if obligation.level == CopyLevel.BLOCK else None,
        offset_a=_offset(obligation.first or obligation.promise),
        offset_b=_offset(obligation.second),
        array=obligation.array if obligation.code in FILLED else "",
    )


def block_ids(mark: str) -> tuple[Term, ...]:
    """The block id of one side: its own, or (marked) that of the other copy."""
    copy = PrimedCopy(CopyLevel.BLOCK, mark)
    return tuple(copy(bid) if mark else bid for bid in BID)


def _block(model: Model, ids: Iterable[Term]) -> Block:
    x, y, z = (int(model.variables.get(bid, 0)) for bid in ids)
    return x, y, z


def _offset(item: Site | Promise | None) -> int | None:
    return None if item is None else item.offset
