"""A kind of data fact is one entry in a table: nobody else names it, and what entries name is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tools.rooms import SOURCE, modules

from tileverify.contract.facts import facts_of_contents
from tileverify.contract.facts.form import DISTINCT, Subject
from tileverify.contract.facts.formula import elements_in, names_in
from tileverify.contract.facts.kind import FactKind
from tileverify.contract.facts.kinds import FACTS, KINDS, by_subject, joining
from tileverify.contract.facts.layouts import HINTS
from tileverify.contract.facts.observations import HELD, SEEN
from tileverify.contract.facts.pairs import shape_of
from tileverify.contract.facts.steered import OFFERED

TABLE = "tileverify/contract/facts/kinds.py"

OTHERS = {
    ("tileverify/corpus/examples.py", "range"),
    ("tileverify/frontend/sources/usage.py", "range"),
    ("tileverify/frontend/sources/import_purity.py", "range"),
    ("tileverify/pipeline/repair/guards.py", "range"),
    ("tileverify/pipeline/repair/proposals.py", "range"),
    *(("tileverify/contract/facts/layouts.py", word) for word in ("segments",)),
    *(("tileverify/contract/facts/observations.py", word) for word in ("segments", "ranks", "buckets", "chunks")),
    *(("tileverify/contract/facts/steered.py", word) for word in ("segments", "ranks", "buckets", "chunks")),
}
"""Where such a word is Python's function, the name of a label in the corpus, or of a hint that an entry has."""

EACH = pytest.mark.parametrize("kind", KINDS, ids=FACTS)


def literals(source: str) -> Iterator[str]:
    """Strings that are the name of a kind and nothing else."""
    for node in ast.walk(ast.parse(source)) if any(word in source for word in FACTS) else ():
        if isinstance(node, ast.Constant) and node.value in FACTS:
            yield str(node.value)


def test_each_kind_is_named_in_the_table_alone() -> None:
    named = {(str(path), kind) for path in modules() for kind in literals((SOURCE / path).read_text(encoding="utf-8"))}
    assert {each for each in named if each[0] != TABLE} == OTHERS
    assert {kind for path, kind in named if path == TABLE} == set(FACTS)


def test_a_name_is_seen_wherever_it_stands() -> None:
    assert list(literals('match fact.kind:\n    case "shares" | "range": pass')) == ["shares", "range"]
    assert list(literals('fact.kind in ("injective",), f"multiples({n})", "a range"')) == ["injective"]


@EACH
def test_an_entry_names_what_there_is(kind: FactKind) -> None:
    assert kind.made in HINTS
    assert not kind.seen or kind.seen in SEEN
    assert kind.held in HELD
    assert not kind.offered or kind.offered in OFFERED
    assert set(kind.stronger) <= FACTS.keys()
    assert kind.implies is None or (kind.implies.kind in FACTS and kind.implies.array in kind.form.arrays)
    assert set(kind.measures) <= set(kind.form.arrays)
    words = dict.fromkeys(("low", "high", "n", "width"), "7")
    assert "{" not in kind.words(kind.form.arrays, words)


def test_every_hint_is_somebody_s() -> None:
    assert {kind.made for kind in KINDS} == HINTS.keys()
    assert {kind.seen for kind in KINDS} - {""} == SEEN.keys() - {"strongest"}
    assert {kind.held for kind in KINDS} == HELD.keys()
    assert {kind.offered for kind in KINDS} - {""} == OFFERED.keys()


@EACH
def test_a_formula_speaks_of_what_the_fact_has(kind: FactKind) -> None:
    numbers = {
        *kind.form.numbers,
        *(("low", "high") if kind.form.bounds else ()),
        *(("unless",) if kind.form.unless else ()),
    }
    spoken: set[str] = set()
    for clause in (*kind.clauses, *kind.taken):
        spoken |= names_in(clause.formula) - {*clause.indices}
        assert set(clause.arrays) <= set(kind.form.arrays)
        assert elements_in(clause.formula) <= set(kind.form.arrays)
        assert len(clause.indices) < 2 or shape_of(clause)
    assert spoken == numbers | {*kind.form.arrays}
    assert all(clause.broken for clause in kind.clauses)


@EACH
def test_a_kind_has_the_numbers_that_its_subject_speaks_of(kind: FactKind) -> None:
    needed = set(kind.form.numbers)
    assert (kind.subject in (Subject.LIMITS, Subject.COLUMN)) == ({"low", "high"} <= needed)
    assert (kind.subject is Subject.COLUMN) <= ("n" in needed)
    assert kind.subject not in (Subject.STEPS, Subject.SUM) or "n" in needed
    assert (kind.subject in DISTINCT) == (kind.different is not None)
    assert (kind.subject is Subject.RELATION) <= kind.joins


def test_kinds_by_what_they_speak_of() -> None:
    assert {kind.word for kind in by_subject()} == FACTS.keys()
    assert [kind.subject for kind in by_subject([Subject.SUM, Subject.ROWS])] == [Subject.SUM, Subject.ROWS]
    assert [kind.word for kind in joining()][:3] == ["segments", "ranks", "buckets"]


def test_every_subject_has_its_place_in_what_a_recording_says() -> None:
    """Facts about one that is missing there would never be observed."""
    assert set(facts_of_contents._WRITTEN) == set(Subject)
    assert len(facts_of_contents._WRITTEN) == len(Subject)
