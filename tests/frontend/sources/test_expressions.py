"""The expression language: what it reads, prints, computes and refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expression_parser import parse_condition, parse_size
from tileverify.contract.expressions import (
    MOST_BITS,
    Undefined,
    constant_value,
    evaluate,
    free_names,
    print_expression,
    substitute,
)
from tileverify.contract.launch import Apply, Expression, Name, Number, SameArray
from tileverify.system.errors import SpecError


def sizes(depth: int = 4) -> st.SearchStrategy[Expression]:
    names = st.sampled_from(["M", "n", "grid.x", "a.shape[0]", "pair[1].strides[2]", "params.scale"])
    leaves = st.integers(-(2**70), 2**70).map(Number) | names.map(Name)

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pairs = st.tuples(inner, inner)
        divisors = inner.filter(lambda divisor: divisor != Number(0))
        plain = st.builds(Apply, st.sampled_from(["+", "-", "*", "min", "max"]), pairs)
        powers = st.builds(Apply, st.just("**"), st.tuples(leaves, st.integers(0, 64).map(Number) | names.map(Name)))
        dividing = st.builds(Apply, st.sampled_from(["//", "%", "cdiv"]), st.tuples(inner, divisors))
        # The parser reads '-3' as one number.
        negated = inner.filter(lambda each: not isinstance(each, Number)).map(lambda each: Apply("neg", (each,)))
        return plain | powers | dividing | negated | st.builds(Apply, st.just("min"), st.tuples(inner, inner, inner))

    return st.recursive(leaves, grow, max_leaves=2**depth)


def conditions() -> st.SearchStrategy[Expression]:
    relations = st.builds(Apply, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.tuples(sizes(2), sizes(2)))

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.builds(Apply, st.sampled_from(["and", "or"]), several) | inner.map(lambda each: Apply("not", (each,)))

    return st.recursive(relations, grow, max_leaves=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("128", Number(128)),
        ("-3", Number(-3)),
        (" M ", Name("M")),
        ("2 * K", Apply("*", (Number(2), Name("K")))),
        ("cdiv(M, 128)", Apply("cdiv", (Name("M"), Number(128)))),
        ("min(M, N, 4)", Apply("min", (Name("M"), Name("N"), Number(4)))),
        ("M // 2 % 3", Apply("%", (Apply("//", (Name("M"), Number(2))), Number(3)))),
        ("2 ** L", Apply("**", (Number(2), Name("L")))),
        ("-M", Apply("neg", (Name("M"),))),
        ("grid.x", Name("grid.x")),
        ("a.shape[0] + a.strides[1]", Apply("+", (Name("a.shape[0]"), Name("a.strides[1]")))),
        ("pair[0].shape[1]", Name("pair[0].shape[1]")),
    ],
)
def test_reads_sizes(text: str, expected: Expression) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M >= 1", Apply(">=", (Name("M"), Number(1)))),
        ("0 <= M < 8", Apply("and", (Apply("<=", (Number(0), Name("M"))), Apply("<", (Name("M"), Number(8)))))),
        ("not M == N", Apply("not", (Apply("==", (Name("M"), Name("N"))),))),
        ("flag", Name("flag")),
        ("not flag or pair[0]", Apply("or", (Apply("not", (Name("flag"),)), Name("pair[0]")))),
        ("x is out", SameArray("x", "out")),
        ("pair[0] is params.out", SameArray("pair[0]", "params.out")),
    ],
)
def test_reads_conditions(text: str, expected: Expression | SameArray) -> None:
    assert parse_condition(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("M +", "not an expression"),
        ("M / 2", "'/' is not exact; use '//' or cdiv(a, b)"),
        ("4 + M / 2", "at column 5"),
        ("M // 0", "the divisor is 0"),
        ("cdiv(M, 0)", "the divisor is 0"),
        ("cdiv(M)", "cdiv takes two integers"),
        ("min(M)", "min takes two or more integers"),
        ("ceil(M)", "there is no function 'ceil', only cdiv, min and max; use cdiv(a, b)"),
        ("math.ceil(M)", "there is no function 'math.ceil'"),
        ("M if N else K", "only integers, names"),
        ("1.5", "only integers, names"),
        ("'M'", "only integers, names"),
        ("True", "only integers, names"),
        ("[M for M in N]", "only integers, names"),
        ("lambda: 1", "only integers, names"),
        ("M >= 1", "a condition stands where an integer is needed"),
        ("grid.w", "the grid has the axes grid.x, grid.y and grid.z"),
        ("a.shape", ".shape needs a dimension, as in .shape[0]"),
        ("a.shape[M]", ".shape[...] needs a literal dimension"),
        ("a.shape[-1]", ".shape[...] needs a literal dimension"),
        ("a.shape[True]", ".shape[...] needs a literal dimension"),
        ("M << 2", "only integers, names"),
        ("f(x)(y)", "there is no function"),
        ("(" * 500 + "M" + ")" * 500, "not an expression"),
        ("M + " * 2000 + "M", "longer than"),
    ],
)
def test_refuses_other_sizes(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_size(text)
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3", "a fact is a condition such as 'M >= 1', not a number"),
        ("M + 1", "a fact is a condition"),
        ("M in N", "only == != < <= > >= compare sizes"),
        ("x is not out", "only 'x is out'"),
        ("x is 3", "the name of an array argument is needed here"),
        ("M >= 1 and 3", "a fact is a condition"),
        ("not M + 1", "a fact is a condition"),
        ("(M >= 1) >= 1", "a condition stands where an integer is needed"),
    ],
)
def test_refuses_other_conditions(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_condition(text)
    assert problem in caught.value.message


M_POWERS = Apply("*", tuple(Apply("**", (Number(-(2**bits)), Name("M"))) for bits in (63, 64)))


@given(sizes())
@example(M_POWERS)
def test_printed_sizes_read_back_as_they_were(expression: Expression) -> None:
    assert _reads_back(expression, parse_size)


@given(conditions())
@example(Apply("==", (Number(0), M_POWERS)))
def test_printed_conditions_read_back_as_they_were(expression: Expression) -> None:
    assert _reads_back(expression, parse_condition)


def _reads_back(expression: Expression, read: Callable[[str], Expression | SameArray]) -> bool:
    """Or is refused in words, where a product of powers may be larger than the numbers of a spec."""
    try:
        return read(print_expression(expression)) == expression
    except SpecError as refused:
        return _powers(expression) > 1 and f"more than {MOST_BITS} bits" in refused.message


def _powers(expression: Expression) -> int:
    inside = expression.args if isinstance(expression, Apply) else ()
    return (isinstance(expression, Apply) and expression.op == "**") + sum(map(_powers, inside))


@pytest.mark.parametrize("text", ["M", "cdiv(M, 128)", "(M + 1) * 2", "M - (N - K)", "-(M + 1)", "x is out"])
def test_canonical_text_stays(text: str) -> None:
    assert print_expression(parse_condition(text) if " is " in text else parse_size(text)) == text


def condition(text: str) -> Expression:
    parsed = parse_condition(text)
    assert not isinstance(parsed, SameArray)
    return parsed


@given(st.integers(-100, 100), st.integers(-100, 100))
def test_computes_like_exact_arithmetic(m: int, n: int) -> None:
    environment = {"M": m, "N": n}

    def value(text: str) -> int:
        return evaluate(parse_size(text), environment)

    assert value("M + N * 2 - 3") == m + n * 2 - 3
    assert value("min(M, N) + max(M, N)") == m + n
    if n:
        assert value("M // N") * n + value("M % N") == m
        quotient = value("cdiv(M, N)")
        assert quotient * n >= m if n > 0 else quotient * n <= m
        assert abs(quotient * n - m) < abs(n)
    assert evaluate(condition("M < N or M >= N"), environment) == 1
    assert evaluate(condition("M < N and not M < N"), environment) == 0


def test_undefined_values() -> None:
    for text in ("M // N", "M % N", "cdiv(M, N)", "2 ** (N - 1)", "3 ** (M * 10 ** 9)"):
        with pytest.raises(Undefined):
            evaluate(parse_size(text), {"M": 7, "N": 0})
    with pytest.raises(KeyError):
        evaluate(Name("K"), {})
    assert evaluate(condition("N != 0 and M // N > 1"), {"M": 7, "N": 0}) == 0


def test_free_names_and_substitution() -> None:
    expression = parse_size("cdiv(M, tm) + grid.x * a.shape[0]")
    assert free_names(expression) == {"M", "tm", "grid.x", "a.shape[0]"}
    assert substitute(expression, {"tm": Number(128)}) == parse_size("cdiv(M, 128) + grid.x * a.shape[0]")
    assert constant_value(parse_size("2 * 3 - 1")) == 5
    assert constant_value(expression) is None


# --------------------------------------------------------------------------------------- absurdly large numbers
@pytest.mark.parametrize(
    "text",
    [
        "9 ** 9 ** 9 ** 9",
        "N ** 9 ** 9 ** 9",
        "((2 ** 64) ** 64) ** 64",
        "((N ** 64) ** 64) ** M",
        "N ** (M ** 64 ** 64)",
        "2 ** -1",
        "2 ** 65",
        " * ".join(["2 ** 64"] * 200),
        f"cdiv(N ** {10**400}, 2)",
        f"min(1, 1 % {'9' * 3000} ** 64)",
    ],
)
def test_no_number_is_computed_that_nothing_can_have(text: str) -> None:
    """Each would take years, or all memory, if somebody computed it before looking at it."""
    for read, written in (
        (parse_size, text),
        (parse_condition, f"{text} > 0"),
        (parse_data_fact, f"range(a, 0, {text})"),
    ):
        with pytest.raises(SpecError, match=r"exponent between 0 and 64|may have more than \d+ bits"):
            read(written)


@pytest.mark.parametrize("text", ["2 ** M", "(N * N) ** M", "N ** M ** M"])
def test_a_power_of_names_is_bounded_where_they_have_values(text: str) -> None:
    expression = parse_size(text)
    for value in (65, 10**9, -1, 10**400):
        with pytest.raises(Undefined):
            evaluate(expression, {"N": 10**400, "M": value})


def test_powers_that_people_write_are_computed() -> None:
    assert evaluate(parse_size("2 ** 31 - N ** 2 ** 3 + 0 ** 0"), {"N": 3}) == 2**31 - 3**8 + 1
    assert evaluate(parse_size("2 ** M"), {"M": 64}) == 2**64
