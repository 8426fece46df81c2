"""The campaign that deletes premises: what it deletes, and that kernels notice a premise that they need."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.child import in_child
from tests.corpus.compiled import units

from tileverify.corpus import corpus_launches
from tileverify.pipeline.unit_check import check_unit
from tileverify.verifier import obligations

from ..premises.deletions import deleted, deletions
from ..premises.judgement import judge, subjects_of

OBLIGATIONS = Path(obligations.__file__).parent

SOURCE = """
def f(a, b, t):
    if a is None:
        return ()
    if a < 3 and b:
        return a
    return t.or_(a, t.lt(a, b))
"""


def test_each_kind_of_premise_is_deleted_once(tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text(SOURCE)
    found = deletions(file)
    assert [(each.kind, each.lines[0]) for each in found] == [
        ("guard", 3),
        ("and", 5),
        ("and", 5),
        ("comparison", 5),
        ("or_", 7),
        ("or_", 7),
        ("lt for le", 7),
    ]
    assert len({compile(deleted(each), "", "exec").co_consts[0] for each in found}) == len(found)


def test_what_breaks_down_in_a_child_is_an_error_here() -> None:
    assert list(in_child(lambda: [1, "two"], 30)) == [1, "two"]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(in_child(lambda: (1 // each for each in (1, 0)), 30))


def test_a_child_that_is_too_slow_is_ended() -> None:
    with pytest.raises(TimeoutError):
        list(in_child(lambda: [sum(range(1 << 40))], 0.2))


def test_a_kernel_is_wrongly_proved_without_the_premise_that_it_needs() -> None:
    """Whoever puts a counter back must have found all the others' additions in it."""
    label = next(label for label in corpus_launches() if label.kernel == "sum_and_exchange_early")
    unit = units()[str(label.file), label.kernel, label.launch]
    check_unit(unit)
    gc.freeze()  # as when tests were collected that load these modules
    subjects = subjects_of([unit], {(label.file, label.kernel, label.launch): label}, OBLIGATIONS, 120)
    last = next(
        each for each in deletions(OBLIGATIONS / "protocols/counters.py") if (each.kind, each.text) == ("and_", "last")
    )
    assert judge(last, subjects, [], 120).how == "wrong"
    assert judge(last, [], [], 120).how == "not run"
