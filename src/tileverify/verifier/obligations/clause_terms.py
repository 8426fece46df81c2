"""Clauses read back from their text: what a certificate proves is what it prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.contract import Contract
from ...contract.expression_parser import parse_condition
from ...contract.expressions import ARITHMETIC, COMPARISONS, LARGEST_EXPONENT, joined, print_expression
from ...contract.launch import Apply, Expression, LaunchSpec, Name, Number, SameArray
from ...contract.list_terms import described_member, member_names
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.variables import GRID
from ...frontend.symbolic.summary import AccessSummary
from ...system.errors import SpecError
from .answers import Answer, Result
from .obligations import every_obligation
from .prepare import Preparer


def clause_terms(texts: Sequence[str], summary: AccessSummary, launch: LaunchSpec) -> tuple[Term, ...]:
    """What each of ``texts`` says about the launches of ``launch``; raises `SpecError` for what none of them knows."""
    if not texts:
        return ()
    contract = build_contract(launch)
    names: dict[str, Term | None] = {}
    own = {leaf.symbol.name: leaf for leaf in contract.variables}  # of the spec, whose language this is
    flags = {leaf.symbol.name for leaf in contract.values if leaf.kind is TermKind.VAR and leaf.sort is Sort.BOOL}
    for leaf in _launch_variables(summary, contract):
        if leaf.symbol.name in flags and leaf.sort is not Sort.BOOL:
            continue  # the byte that CUDA Tile C++ passes a bool as
        leaf = own.get(leaf.symbol.name, leaf)
        meaning = contract.values.get(leaf, leaf)
        if names.setdefault(leaf.symbol.name, meaning) is not meaning:
            names[leaf.symbol.name] = None  # two variables of one name: the text does not say which
    for listed in contract.lists.values():
        names |= {name: described_member(listed, name.rpartition(".")[2]) for name in member_names(listed)}
    return clause_terms_of(texts, names)


def clause_terms_of(texts: Sequence[str], names: Mapping[str, Term | None]) -> tuple[Term, ...]:
    """The same, where ``names`` gives the terms that names stand for, and ``None`` for those that are not clear."""
    return tuple(_clause(text, names) for text in texts)


def _clause(text: str, names: Mapping[str, Term | None]) -> Term:
    parsed = parse_condition(text)
    if isinstance(parsed, SameArray):
        raise SpecError(f"the clause '{text}' is no condition")
    return _condition(parsed, names)


class _Silent:
    """Answers nothing, so that every wrap stays."""

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        return Result(Answer.UNKNOWN, None)


def _launch_variables(summary: AccessSummary, contract: Contract) -> Iterator[Term]:
    """The variables over whole launches that an obligation, or the contract, may mention."""
    preparer = Preparer(summary, contract, _Silent())
    sites = [preparer.site(site) for site in summary.sites]
    promises = [preparer.promise(item) for item in summary.promises]
    spoken = [condition for each in every_obligation(sites, promises, contract) for condition in each.conditions]
    for term in (*GRID, *contract.variables, *contract.values, *contract.facts, *spoken):
        for leaf in term.free:
            if leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LAUNCH:
                yield leaf


def _condition(expression: Expression, names: Mapping[str, Term | None]) -> Term:
    match expression:
        case Apply("and" | "or" as op, args):
            parts = (_condition(arg, names) for arg in args)
            return t.and_(*parts) if op == "and" else t.or_(*parts)
        case Apply("not", (arg,)):
            return t.not_(_condition(arg, names))
        case Apply(op, (a, b)) if op in COMPARISONS:
            return joined(op, [_number(a, names), _number(b, names)])
        case Name(name) if (known := _known(name, names)).sort is Sort.BOOL:
            return known
    raise SpecError(f"'{print_expression(expression)}' is a number, and no condition")


def _number(expression: Expression, names: Mapping[str, Term | None]) -> Term:
    match expression:
        case Number(value):
            return t.const(value)
        case Name(name):
            known = _known(name, names)
            return t.ite(known, t.ONE, t.ZERO) if known.sort is Sort.BOOL else known
        case Apply("**", (Number(base), Number(exponent))) if 0 <= exponent <= LARGEST_EXPONENT:
            return t.const(base**exponent)
        case Apply(op, args) if op in ARITHMETIC and op != "**":
            return joined(op, [_number(arg, names) for arg in args])
    raise SpecError(f"the operator '{expression.op}' has no place in a clause")


def _known(name: str, names: Mapping[str, Term | None]) -> Term:
    known = names.get(name)
    if known is None:
        raise SpecError(f"`{name}` is nothing that a launch of this contract decides")
    return known
