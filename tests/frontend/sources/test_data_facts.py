"""Facts about index data: read, refused, printed."""

import pytest

from tileverify.contract.data_facts import (
    parse_data_fact,
    print_data_fact,
)
from tileverify.contract.facts.kinds import FACTS
from tileverify.contract.launch import Apply, DataFact, Name, Number, expressions_of, with_expressions
from tileverify.system.errors import SpecError


def test_reads_the_simple_facts() -> None:
    assert parse_data_fact("injective(idx)") == DataFact("injective", "idx", text="injective(idx)")
    fact = parse_data_fact("range(idx, 0, N - 1)")
    assert (fact.low, fact.high) == (Number(0), Apply("-", (Name("N"), Number(1))))


def test_reads_amounts_bounds_and_exceptions() -> None:
    assert parse_data_fact("multiples(offsets, T)").amount == Name("T")
    assert parse_data_fact("injective(ids, 0, N)").high == Name("N")
    assert parse_data_fact("range(labels, 0, V, unless=-100)").unless == (Number(-100),)
    assert parse_data_fact("disjoint_rows(table, unless=(-1, P))").unless == (Number(-1), Name("P"))
    segments = parse_data_fact("segments(starts, lengths, 0, N)")
    assert (segments.arrays, segments.high) == (("starts", "lengths"), Name("N"))
    ranks = parse_data_fact("ranks(a, keys, C)")
    assert (ranks.arrays, ranks.amount, ranks.width) == (("a", "keys"), Name("C"), None)
    buckets = parse_data_fact("buckets(a, keys, C, W, 0, N)")
    assert (buckets.amount, buckets.width, buckets.low, buckets.high) == (Name("C"), Name("W"), Number(0), Name("N"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("idx", "expected injective(a)"),
        ("sorted(idx)", "there is no fact 'sorted'"),
        ("range(idx)", "'range' takes 3 argument(s), 1 given"),
        ("injective(idx, 3)", "'injective' takes 1 or 3 argument(s), 2 given"),
        ("injective()", "'injective' takes 1 or 3 argument(s), 0 given"),
        ("permutation(idx, 0, 4)", "'permutation' takes 1 argument(s), 3 given"),
        ("segments(starts)", "'segments' takes 2 or 4 argument(s), 1 given"),
        ("segments(starts, 3)", "the name of an array argument is needed here"),
        ("ranks(a, keys)", "'ranks' takes 3 argument(s), 2 given"),
        ("ranks(a, 4, 4)", "the name of an array argument is needed here"),
        ("buckets(a, keys, 4)", "'buckets' takes 4 or 6 argument(s), 3 given"),
        ("buckets(a, keys, 4, 8, unless=0)", "nothing may be given by name here, not 'unless'"),
        ("rank(a)", "distinct_where(a, counts) or in_segments(a, numbers, offsets)"),
        ("multiples(idx, 4, unless=0)", "nothing may be given by name here, not 'unless'"),
        ("range(idx, 0, 4, except_=0)", "only 'unless' once may be given by name here, not 'except_'"),
        ("range(idx, 0, 4, **more)", "not 'None'"),
        ("unique_rows(table, 0, 4)", "'unique_rows' takes 1 argument(s), 3 given"),
        ("column_range(table, 0, 4)", "'column_range' takes 4 argument(s), 3 given"),
        ("injective(3)", "the name of an array argument is needed here"),
        ("range(idx, 0, M > 1)", "a condition stands where"),
    ],
)
def test_refuses_other_data_facts(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_data_fact(text)
    assert problem in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "injective(idx)",
        "injective(idx, 0, N)",
        "permutation(pair[0])",
        "nondecreasing(offsets)",
        "range(idx, -1, M * N + 1)",
        "range(labels, 0, V, unless=-100)",
        "column_range(table, 1, 0, cdiv(N, 2))",
        "unique_rows(table)",
        "multiples(offsets, cdiv(N, 2))",
        "shares(counts, N)",
        "disjoint_rows(table, 0, P, unless=(-1, P))",
        "segments(starts, lengths)",
        "segments(starts, lengths, 0, N)",
        "ranks(a, keys, cdiv(N, 2))",
        "buckets(a, keys, 8, W)",
        "buckets(a, keys, 8, W + 1, -1, N)",
        "chunks(first, offsets, 64)",
        "chunks(first, offsets, N, 0, C + 1)",
        "distinct_where(rows, counts)",
        "distinct_where(rows, counts, unless=-1)",
        "in_segments(places, experts, offsets)",
    ],
)
def test_canonical_text_stays(text: str) -> None:
    fact = parse_data_fact(text)
    assert print_data_fact(fact) == text
    assert fact.kind in FACTS


def test_every_number_of_a_fact_can_be_replaced() -> None:
    fact = parse_data_fact("injective(idx, L, H, unless=(X, Y))")
    assert expressions_of(fact) == (Name("L"), Name("H"), Name("X"), Name("Y"))
    assert expressions_of(with_expressions(fact, lambda _: Number(7))) == (Number(7),) * 4
    fact = parse_data_fact("buckets(a, keys, C, W, L, H)")
    assert sorted(map(str, expressions_of(fact))) == sorted(map(str, map(Name, "CWLH")))
    assert print_data_fact(with_expressions(fact, lambda _: Number(7))) == "buckets(a, keys, 7, 7, 7, 7)"
    assert expressions_of(with_expressions(parse_data_fact("multiples(idx, N)"), lambda _: Number(7))) == (Number(7),)
