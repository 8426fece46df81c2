"""Whether a proof under a contract is about a launch: the prover's terms, evaluated on what is passed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import prod
from typing import Any

from tileverify.backend.guard.arguments import ArrayValue
from tileverify.contract import terms as t
from tileverify.contract.contract import array_layout
from tileverify.contract.element_types import ELEMENT_TYPES, INT_BITS
from tileverify.contract.facts.kept import keep_together, keeps
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import ArrayArgument, LaunchSpec, ScalarArgument
from tileverify.contract.list_terms import described_word
from tileverify.contract.terms import Function, Scope, Sort, Term, TermKind
from tileverify.contract.terms.evaluate import evaluate
from tileverify.contract.variables import GRID
from tileverify.frontend.symbolic.summary import Origin, OriginKind
from tileverify.verifier.obligations.fact_use import about_lists, data_facts, list_of
from tileverify.verifier.obligations.prepare import contract_values

from .launches import Given, order
from .plain import arrays, elements_apart, end, members, of_its_kind
from .readings import Read
from .solving import NoLaunch, numbers, solved


def proved_for(read: Read, given: Given) -> bool:
    """Whether a proof under the contract is about this launch, which is given as it is passed."""
    spec = read.spec
    try:
        values = _Values(spec, given, solved(spec, numbers(spec, given)))
    except NoLaunch:
        return False
    try:
        return all(_claims(read, given, values))
    except ZeroDivisionError:  # what is divided by zero describes no launch
        return False


def _claims(read: Read, given: Given, values: _Values) -> Iterator[bool]:
    """What a proof takes for granted, one after the other."""
    spec, contract = read.spec, read.contract
    yield all(of_its_kind(*each) for each in zip(order(spec), given.values, strict=True))
    for variable, meaning in contract_values(contract).items():
        if variable.kind is TermKind.VAR and variable.symbol.scope is Scope.LAUNCH:
            yield _value(variable, values) == _value(meaning, values)
    of_arrays = about_lists(contract.facts, contract.lists)
    parts = (part for fact in contract.facts for part in (fact.args if fact.kind is TermKind.AND else (fact,)))
    facts = [part for part in parts if part not in of_arrays]
    spoken = {leaf for fact in facts for leaf in fact.free} | {*contract.variables, *GRID}
    for leaf in spoken:
        low, high = leaf.symbol.low, leaf.symbol.high
        if leaf.sort is Sort.INT:
            yield (low is None or low <= values[leaf]) and (high is None or values[leaf] <= high)
    for fact in facts:
        yield bool(_value(fact, values))
    every = list(arrays(spec, given))
    for fact in of_arrays:
        about = list_of(fact, contract.lists)
        yield all(
            bool(_value(fact, _Values(spec, given, {**values.names, **members(name, array)})))
            for name, _, array in every
            if name == about
        )
    for name, described, value in every:
        yield all(0 <= number < 1 << (described.index_bits - 1) for number in (*value.shape, *value.strides))
        yield value.address % (ELEMENT_TYPES[described.dtype].bits // 8) == 0
        yield name not in contract.injective or elements_apart(described, value)
        yield name not in contract.lists or _words_as_described(described, value)
    for (a, one, x), (b, other, y) in combinations(every, 2):
        if a != b and contract.is_same(a, b):
            yield (x.address, x.shape, x.strides) == (y.address, y.shape, y.strides)
        elif not contract.may_overlap(a, b) and {a, b} & read.written:
            yield x.address >= end(other, y) or y.address >= end(one, x)
    for data in contract.data:
        yield _data_kept(given, data, values)


def _value(term: Term, values: _Values) -> Any:
    """The value of a term; what is divided by zero may be anything, so an operand that decides a junction does so.

    Raises `ZeroDivisionError` where the value depends on it.
    """
    if term.kind in (TermKind.AND, TermKind.OR):
        decisive, undefined = term.kind is TermKind.OR, False
        for each in term.args:
            try:
                if bool(_value(each, values)) is decisive:
                    return decisive
            except ZeroDivisionError:
                undefined = True
        if undefined:
            raise ZeroDivisionError
        return not decisive
    if term.kind is TermKind.NOT:
        return not _value(term.args[0], values)
    if term.kind is TermKind.ITE:
        return _value(term.args[1] if _value(term.args[0], values) else term.args[2], values)
    return evaluate(term, values)


class _Values(Mapping[Term, Any]):
    """The variables of a contract in a launch: parameters in the signed reading that the bytecode has."""

    def __init__(self, spec: LaunchSpec, given: Given, names: Mapping[str, int]) -> None:
        self.names = names
        self._scalars = {a.name: a.dtype for a in order(spec) if isinstance(a, ScalarArgument)}

    def __getitem__(self, variable: Term) -> Any:
        symbol = variable.symbol
        if symbol.name.startswith("block."):
            return 0
        value = self.names[symbol.name]
        if symbol.sort is Sort.BOOL:
            return bool(value)
        if symbol.name in self._scalars and symbol.low is not None and symbol.low < 0:
            bits = INT_BITS[self._scalars[symbol.name]]
            half = 1 << (max(bits, 8) - 1)
            return (value + half) % (2 * half) - half
        return value

    def __iter__(self) -> Iterator[Term]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _words_as_described(element: ArrayArgument, value: ArrayValue) -> bool:
    words = {f"shape[{d}]": size for d, size in enumerate(value.shape)}
    words |= {f"strides[{d}]": stride for d, stride in enumerate(value.strides)}
    for word, number in words.items():
        part, _, d = word.rstrip("]").partition("[")
        if part == "strides" and element.strides is None:
            if number != prod(value.shape[int(d) + 1 :]):
                return False
            continue
        known = described_word(element, part, int(d))
        if known is not None and number != (known if isinstance(known, int) else words[known]):
            return False
    return True


def _data_kept(given: Given, data: Any, values: _Values) -> bool:
    fact = data.fact
    try:
        numbered = NumberedFact.of(data, lambda term: int(_value(term, values)))
    except ZeroDivisionError:
        return False
    if not all(name in given.contents for name in fact.arrays):
        return True
    if fact.others:
        return keep_together(numbered, *(given.contents[name] for name in fact.arrays))
    contents, shape = given.contents[fact.array], given.shapes[fact.array]
    width = shape[-1] if shape else 1
    if fact.kind == "disjoint_rows":
        width = len(contents) // shape[0]
    return keeps(numbered, contents, width)


def unkept_instance(read: Read, given: Given) -> str | None:
    """An instance of a data fact that the prover would take for true, and that is not: it proves anything."""
    contract = read.contract
    names = solved(read.spec, numbers(read.spec, given))
    values = _Values(read.spec, given, names)
    origins: dict[str, Origin] = {}
    elements: list[Term] = []
    said: dict[tuple[str | None, tuple[int, ...]], int] = {}
    for name, numbers_ in given.contents.items():
        array = contract.arrays[name]
        shape, strides = ([t.substitute(term, contract.values) for term in part] for part in array_layout(array))
        origins[name] = Origin(OriginKind.PARAMETER, name, 4, tuple(shape), tuple(strides))
        bits = INT_BITS[array.dtype]
        function = Function(name, Scope.LAUNCH, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, array=name)
        for index, number in zip(product(*map(range, given.shapes[name])), numbers_, strict=True):
            elements.append(t.le(t.apply(function, *map(t.const, index)), t.ZERO))
            said[name, index] = (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))

    def element(function: Function, arguments: tuple[Any, ...]) -> Any:
        if function.name.startswith(_COUNT):
            n, chunk, key = arguments
            keys = given.contents[function.name.removeprefix(_COUNT)]
            return sum(each == key for i, each in enumerate(keys) if i // n == chunk)
        return said.get((function.array, arguments), 0)

    for instance in data_facts(elements, contract, origins):
        if not evaluate(instance, values, element):
            return str(instance)
    return None


_COUNT = "count of "
"""Begins the name of the function that says how many elements of a chunk of an array hold a number."""
