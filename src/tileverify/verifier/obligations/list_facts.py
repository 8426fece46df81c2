"""What a contract says of the arrays of a list, and of the one in a row that a question mentions.

    F(xs.address, xs.shape[d], xs.strides[d])   |-   F(address(xs, k), shape[d](xs, k), strides[d](xs, k))

``requires = ["xs.address % 16 == 0"]`` holds of every array of the list, so of the one in row ``k``, whatever ``k``
is: a row that the list does not have is read by an access that is at fault itself (TV301), and what depends on what it
gave is no first fault.  The names themselves stand for the numbers of the first array, for a contract that says
something of a list's arrays is about lists that have one (`contract.list_terms`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.element_types import INDEX_MAX
from ...contract.launch import ListArgument
from ...contract.list_terms import described_number, described_word, member_of_list, member_variable
from ...contract.terms import Term, TermKind
from ...contract.variables import list_length
from ...frontend.symbolic.origin_addresses import list_word

MARK = "[]."
"""Between the name of a list and the word of its descriptors."""


def described_in(word: Term, lists: Mapping[str, ListArgument]) -> Term | None:
    """A size or stride in a list's descriptors, as the launch spec describes every element of the list."""
    name, separator, field_name = word.function.name.partition(MARK)
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
        function = replace(word.function, name=f"{name}{MARK}{known or f'{part}[{d}]'}", low=0, high=limit)
        return t.apply(function, *word.args)

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
            name, mark, _ = leaf.function.name.partition(MARK) if leaf.kind is TermKind.APPLY else ("", "", "")
            if mark and name in contract.lists:
                rows.setdefault(name, {})[leaf.args[0]] = None
    for fact in facts:
        members = list(_members(fact, contract.lists))
        for row in rows.get(list_of(fact, contract.lists), ()):
            yield t.substitute(fact, {leaf: _word(name, word, row, contract) for leaf, name, word in members})


def _word(name: str, word: str, row: Term, contract: Contract) -> Term:
    read = t.apply(list_word(name, word), row)
    return described_in(read, contract.lists) or read


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
