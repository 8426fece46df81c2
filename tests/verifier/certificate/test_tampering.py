"""Forged certificates, with digests that fit, and bytecode that is not what was proved."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from tileverify.frontend.bytecode.container import Section, read_container
from tileverify.verifier.certificate.model import CertificateError, read_certificate
from tileverify.verifier.certificate.recheck import Rechecking, check_bytecode, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver

from .proofs import Json, certificates_of, forged

SWIZZLE = "showcase/matmul_swizzled.py"
ANY_GRID = "contract/any_grid.py"
WRAPPING = "integers/truncated_size.py"
SEQUENCES = "triton/sequences.py"


def rejected(text: str, bytecode: bytes | None) -> str:
    """Why a certificate is rejected; "" if it is not."""
    try:
        found = recheck(text, "forged", bytecode=bytecode, solver=SecondSolver())
    except CertificateError as error:
        return error.message
    return "a proof is none" if found.count(Rechecking.REJECTED) else ""


# ---------------------------------------------------------------------------------------------- bytecode
def test_every_flipped_byte_that_means_something_is_noticed() -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    certificate, data = read_certificate(written.text, ""), written.unit.bytecode
    meaningless = {
        position
        for section, (start, end) in read_container(data).sections.items()
        if section in (Section.DEBUG, Section.PRODUCER)
        for position in range(start, end)
    }
    assert meaningless
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x01
        if position in meaningless:
            check_bytecode(certificate, bytes(changed), "")
        elif not _is_padding(data, position):
            with pytest.raises(CertificateError):
                check_bytecode(certificate, bytes(changed), "")


def _is_padding(data: bytes, position: int) -> bool:
    """Between sections, where a changed byte is either refused or means nothing."""
    inside = any(start <= position < end for start, end in read_container(data).sections.values())
    return not inside and position >= 12


def test_other_bytecode_is_rejected() -> None:
    (written,), (other,) = certificates_of("showcase/vector_add.py"), certificates_of("showcase/transpose.py")
    assert "hash differs" in rejected(written.text, other.unit.bytecode)


# ------------------------------------------------------------------------------------------- certificates
def drop_obligation(document: Json) -> None:
    del document["obligations"][-1]


def drop_all_but_trivial(document: Json) -> None:
    document["obligations"] = [each for each in document["obligations"] if each["rung"] == "structural"]


def repeat_obligation(document: Json) -> None:
    document["obligations"][-1] = document["obligations"][0]


def borrow_a_question(document: Json) -> None:
    document["obligations"][-1]["question"] = document["obligations"][0]["question"]


def call_it_structural(document: Json) -> None:
    document["obligations"][-1]["rung"] = "structural"


def strengthen_conditions(document: Json) -> None:
    document["questions"][-1]["conditions"].append("false")


def drop_a_condition(document: Json) -> None:
    document["questions"][-1]["conditions"].pop()


def swap_questions(document: Json) -> None:
    questions = document["questions"]
    questions[0], questions[-1] = questions[-1], questions[0]


def rename_a_question(document: Json) -> None:
    document["questions"][-1]["id"] = "0" * 32


def assume_a_fact(document: Json) -> None:
    document["facts"].append("false")


def drop_a_fact(document: Json) -> None:
    document["facts"].pop()


def redefine(document: Json) -> None:
    document["definitions"]["t0"] = "0"


def narrow_a_symbol(document: Json) -> None:
    document["symbols"]["$bid.x"][4] = 0


def require_more(document: Json) -> None:
    document["launch"]["requires"].append("M == 1")


def require_nonsense(document: Json) -> None:
    document["launch"]["requires"].append("nobody == 1")


def require_a_clause(document: Json) -> None:
    document["requires"].append("grid.x == 1")


def smaller_array(document: Json) -> None:
    document["launch"]["arguments"][0]["is"] = "f16[M, 64]"


def other_parameters(document: Json) -> None:
    parameters = document["parameters"]
    parameters[1], parameters[2] = parameters[2], parameters[1]


def compiled_in(document: Json) -> None:
    document["parameters"][1][3] = 128


def other_element_type(document: Json) -> None:
    document["launch"]["arguments"][0]["is"] = "f32[M, K]"


def other_entry(document: Json) -> None:
    document["symbol"] = "main"


def equal_twins(document: Json) -> None:
    equal = document["questions"][-1]["equal"]
    equal.append([1, equal[0][1], equal[1][1], equal[0][3]])


def other_twins(document: Json) -> None:
    document["questions"][-1]["equal"][0][0] = 7


def drop_lemmas(document: Json) -> None:
    document["questions"][-1]["lemmas"] = []


FORGERIES = [
    drop_obligation,
    drop_all_but_trivial,
    repeat_obligation,
    borrow_a_question,
    call_it_structural,
    strengthen_conditions,
    drop_a_condition,
    swap_questions,
    rename_a_question,
    assume_a_fact,
    drop_a_fact,
    redefine,
    narrow_a_symbol,
    require_more,
    require_nonsense,
    require_a_clause,
    smaller_array,
    other_parameters,
    compiled_in,
    other_element_type,
    other_entry,
    equal_twins,
    other_twins,
    drop_lemmas,
]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_a_forgery_with_a_fitting_digest_is_rejected(change: Callable[[Json], None]) -> None:
    (written,) = certificates_of(SWIZZLE)
    assert not rejected(forged(written.text, lambda document: None), written.unit.bytecode)
    assert rejected(forged(written.text, change), written.unit.bytecode)


@pytest.mark.parametrize(
    "change",
    [assume_a_fact, drop_a_fact, require_more, require_nonsense, narrow_a_symbol, drop_a_condition, drop_lemmas],
    ids=lambda change: change.__name__,
)
def test_some_forgeries_show_without_the_bytecode(change: Callable[[Json], None]) -> None:
    (written,) = certificates_of(SWIZZLE)
    assert rejected(forged(written.text, change), None)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("name", {"a": 1}, "no text"),
        ("name", None, "no text"),
        ("alias", {"x": 1}, "in no lists"),
        ("alias", [["x", 1]], "no text"),
        ("overlap", "x", "in no lists"),
        ("arguments", [{"name": float("nan"), "constant": 1}], "no text"),
    ],
)
def test_what_is_no_name_is_refused(key: str, value: object, why: str) -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    assert why in rejected(forged(written.text, lambda document: document["launch"].update({key: value})), None)


def without_clause(number: int) -> Callable[[Json], object]:
    return lambda document: document["requires"].pop(number)


def test_a_clause_left_out_is_rejected() -> None:
    for written in certificates_of(ANY_GRID):
        for number in range(len(written.result.requires)):
            text = forged(written.text, without_clause(number))
            assert rejected(text, written.unit.bytecode)


def without_wraps(number: int) -> Callable[[Json], object]:
    return lambda document: document["obligations"][number]["wraps"].clear()


def test_the_proof_that_an_integer_does_not_wrap_cannot_be_left_out() -> None:
    seen = 0
    for written in certificates_of(WRAPPING):
        for number, proved in enumerate(json.loads(written.text)["obligations"]):
            if proved["wraps"]:
                seen += 1
                text = forged(written.text, without_wraps(number))
                assert rejected(text, written.unit.bytecode)
    assert seen


# ------------------------------------------------------------------------------------------------ lemmas
@pytest.mark.parametrize("bytecode", [True, False])
def test_no_term_of_a_used_lemma_can_be_changed(bytecode: bool) -> None:
    """Unless the lemma still holds and the proof goes through with it, which is then no forgery."""
    (written,) = certificates_of(SWIZZLE)
    data = written.unit.bytecode if bytecode else None
    certificate = read_certificate(written.text, "")
    shown = 0
    for number, lemma in enumerate(certificate.lemmas[:12]):
        if lemma.schema == "order":
            product = lemma.args[4]
            assert isinstance(product, str)
            wrong = next(name for name in certificate.definitions if name[0] == "t" and name != product)

            def change(document: Json, number: int = number, wrong: str = wrong) -> None:
                document["lemmas"][number][5] = wrong

            shown += 1
            assert rejected(forged(written.text, change), data)
    assert shown


def test_an_unknown_schema_is_malformed() -> None:
    (written,) = certificates_of(SWIZZLE)

    def change(document: Json) -> None:
        document["lemmas"][0][0] = "whatever helps"

    assert "malformed" in rejected(forged(written.text, change), None)


# ------------------------------------------------------------------------------------------------- texts
@pytest.mark.parametrize(
    "text",
    [
        "false))(assert (not true",
        "true)) (push 1) (assert (and true",
        "(and true) ; (",
        "(forall ((x Int)) (= x x))",
        "(let ((x 1)) true)",
        "$nobody",
        "t999",
        "",
        "(",
        ")",
        "(not)",
        "(not 1)",
        "(= 1 true)",
        "(< 1 01)",
        "(and true \x00)",
        '(and true "text")',
        "(ite true 1 2)",
        "|$N",
        "(= $N |$N)",
        "(not " * 100_000 + "true" + ")" * 100_000,
    ],
)
def test_texts_that_are_no_conditions_are_malformed(text: str) -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    change = lambda document: document["questions"][0]["conditions"].append(text)  # noqa: E731
    assert "malformed" in rejected(forged(written.text, change), None)


@pytest.mark.parametrize("name", ["M", "$a b", "|M|", "$x) (", "|$x| |$y|", "t0"])
def test_names_that_could_mean_something_else_are_malformed(name: str) -> None:
    (written,) = certificates_of("showcase/vector_add.py")

    def change(document: Json) -> None:
        document["symbols"][name] = ["Int", "launch", 0, 0, 1]

    assert "malformed" in rejected(forged(written.text, change), None)


def test_a_definition_cannot_speak_of_a_later_one() -> None:
    (written,) = certificates_of("showcase/vector_add.py")

    def change(document: Json) -> None:
        document["definitions"] = {"t0": "t1", "t1": "t0"}

    assert "malformed" in rejected(forged(written.text, change), None)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("facts"),
        lambda document: document.update(facts="true"),
        lambda document: document.update(launch=[]),
        lambda document: document["launch"].pop("grid"),
        lambda document: document["launch"].update(grid=["M"]),
        lambda document: document["obligations"][0].update(question=999),
        lambda document: document["obligations"][0].update(question=-1),
        lambda document: document["obligations"][0].update(question=True),
        lambda document: document["obligations"][0].update(rung="trust me"),
        lambda document: document["questions"][0].update(rung="structural"),
        lambda document: document["questions"][0].update(lemmas=[999]),
        lambda document: document["parameters"][0].__setitem__(0, "pointer to nowhere"),
        lambda document: document["symbols"].update({"$M": ["Real", "launch", 0, 0, 1]}),
    ],
    ids=lambda change: "",
)
def test_malformed_documents_are_refused_in_a_sentence(change: Callable[[Json], None]) -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    assert "certificate" in rejected(forged(written.text, change), None)


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"schema": "tileverify/report/1"}', "[" * 100_000])
def test_what_is_no_certificate_is_said_to_be_none(text: str) -> None:
    assert "no certificate" in rejected(text, None)


def test_damage_shows_in_the_digest() -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    assert "digest" in rejected(written.text.replace('"TV101"', '"TV102"'), None)


# -------------------------------------------------------------------------------------------- facts on tables
LOOSER: Final = {
    "unique_rows(chunk_indices)": "range(chunk_indices, 0, T)",
    "column_range(chunk_indices, 0, 0, N)": "column_range(chunk_indices, 0, 0, N + 1)",
    "column_range(chunk_indices, 1, 0, T)": "column_range(chunk_indices, 1, -1, T)",
    "range(cu_seqlens, 0, T + 1)": "range(cu_seqlens, 0, T + 2)",
    "nondecreasing(cu_seqlens)": "injective(cu_seqlens)",
    "chunks(chunk_offsets, cu_seqlens, 64, 0, C)": "chunks(chunk_offsets, cu_seqlens, 128, 0, C)",
}
"""Facts that the proofs rest on, with others that say less."""


def test_proofs_from_facts_on_tables_hold_under_no_weaker_facts() -> None:
    tried = set[str]()
    for written in certificates_of(SEQUENCES):
        bytecode, facts = written.unit.bytecode, json.loads(written.text)["launch"]["data"]
        assert rejected(written.text, bytecode) == ""
        for position, fact in enumerate(facts):
            tried.add(fact)
            for other in ([], [LOOSER[fact]]):
                said = [*facts[:position], *other, *facts[position + 1 :]]
                assert rejected(forged(written.text, _with_facts(said)), bytecode), (fact, other)
    assert tried == LOOSER.keys()


def _with_facts(facts: Sequence[str]) -> Callable[[Json], None]:
    def change(document: Json) -> None:
        document["launch"]["data"] = facts

    return change


@pytest.mark.parametrize("table", ["i32[M, 1]", "i32[M, 3]", "i32[2, M]", "i32[M, 2; strides=(3, 1)]", "i64[M, 2]"])
def test_a_table_of_another_shape_is_not_the_one_that_facts_speak_of(table: str) -> None:
    written = next(each for each in certificates_of(SEQUENCES) if each.unit.kernel == "scale_chunks")

    def reshape(document: Json) -> None:
        (argument,) = (each for each in document["launch"]["arguments"] if each["name"] == "chunk_indices")
        argument["is"] = table

    assert rejected(forged(written.text, reshape), written.unit.bytecode)
