"""A kind of data fact is one module of `contract.facts`: nobody else names it, and each says what all of them say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tools.rooms import SOURCE, modules

from tileverify.contract.fact_kind import FactKind
from tileverify.contract.facts import observed
from tileverify.contract.facts.base import Fact, FactOfTwo
from tileverify.contract.facts.form import DISTINCT, Subject
from tileverify.contract.facts.kinds import FACTS, by_subject, of_two

FOLDER = Path("tileverify/contract/facts")

PYTHONS_OWN = {
    ("tileverify/corpus/examples.py", "range"),
    ("tileverify/frontend/sources/usage.py", "range"),
    ("tileverify/frontend/sources/import_purity.py", "range"),
    ("tileverify/pipeline/repair/guards.py", "range"),
    ("tileverify/pipeline/repair/proposals.py", "range"),
}
"""Modules in which ``range`` is Python's function of that name, or the name of a label in the corpus."""

DECLARED = {("tileverify/contract/fact_kind.py", kind.value) for kind in FactKind}


def literals(source: str) -> Iterator[str]:
    """Strings that are the name of a kind and nothing else, and members of `FactKind`."""
    spoken = any(kind.name in source or kind.value in source for kind in FactKind)
    for node in ast.walk(ast.parse(source)) if spoken else ():
        match node:
            case ast.Constant(value=str(name)) if name in FACTS:
                yield name
            case ast.Attribute(value=ast.Name(id="FactKind"), attr=name):
                yield FactKind[name].value


def own_module(fact: Fact) -> str:
    return type(fact).__module__.replace(".", "/") + ".py"


def test_each_kind_is_named_in_its_own_module_alone() -> None:
    named = [(str(path), kind) for path in modules() for kind in literals((SOURCE / path).read_text(encoding="utf-8"))]
    own = [(own_module(fact), kind) for kind, fact in FACTS.items()]
    assert sorted(each for each in named if each not in PYTHONS_OWN | DECLARED) == sorted(own)
    assert set(named) >= PYTHONS_OWN | DECLARED


def test_a_name_is_seen_wherever_it_stands() -> None:
    assert list(literals('match fact.kind:\n    case "shares" | "range": pass')) == ["shares", "range"]
    assert list(literals("fact.kind is FactKind.RANGE")) == ["range"]
    assert list(literals('fact.kind in ("injective",), f"multiples({n})", "a range"')) == ["injective"]


def test_every_kind_has_a_module_of_its_own_and_a_line_in_the_table() -> None:
    found: dict[str, list[str]] = {}
    for path in modules():
        if path.parent == FOLDER:
            module = import_module(".".join(path.with_suffix("").parts))
            kinds = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Fact)]
            own = [each.kind.value for each in kinds if each.__module__ == module.__name__ and "kind" in vars(each)]
            found |= {str(path): own} if own else {}
    assert found == {own_module(fact): [kind] for kind, fact in FACTS.items()}


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_a_kind_is_explained_where_it_stands(fact: Fact) -> None:
    assert (import_module(type(fact).__module__).__doc__ or "").startswith(f"``{fact.kind}``")
    assert (type(fact).__doc__ or "").startswith(f"``{fact.form.example(fact.kind)}``")


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_a_kind_has_the_numbers_that_its_subject_speaks_of(fact: Fact) -> None:
    needed = set(fact.form.needed)
    assert (fact.subject is Subject.LIMITS) == ({"low", "high"} <= needed)
    assert (fact.subject in (Subject.STEPS, Subject.SUM, Subject.RANKS, Subject.BUCKETS)) == ("amount" in needed)
    assert (fact.subject is Subject.BUCKETS) == ("width" in needed)
    assert isinstance(fact, FactOfTwo) == ("other" in needed)
    assert (type(fact).different is not Fact.different) == (fact.subject in DISTINCT)
    assert (type(fact).limits is not Fact.limits) == fact.bounded


def test_kinds_by_what_they_speak_of() -> None:
    assert {fact.kind for fact in by_subject()} == FACTS.keys()
    assert [fact.subject for fact in by_subject([Subject.SUM, Subject.ROWS])] == [Subject.SUM, Subject.ROWS]
    assert [fact.subject for fact in of_two()] == [Subject.SEGMENTS, Subject.RANKS, Subject.BUCKETS]
    assert [fact.subject for fact in of_two() if fact.measured] == [Subject.SEGMENTS]


def test_every_subject_has_its_place_in_what_a_recording_says() -> None:
    """Facts about one that is missing there would never be observed."""
    assert set(observed._WRITTEN) == set(Subject)
    assert len(observed._WRITTEN) == len(Subject)
