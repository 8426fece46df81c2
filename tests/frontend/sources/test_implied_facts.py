"""Divisibility and self-overlap: what a spec implies must hold for every launch of it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tileverify.contract.arguments import parse_description
from tileverify.contract.expression_parser import parse_condition, parse_size
from tileverify.contract.expressions import Undefined, evaluate
from tileverify.contract.launch import (
    Apply,
    ArrayArgument,
    Expression,
    LaunchSpec,
    Name,
    Number,
    SameArray,
    contiguous_strides,
)
from tileverify.contract.scope import alignments, divisor_of, known_divisors
from tileverify.contract.strides import may_overlap_itself
from tileverify.frontend.sources.abi import array_facts, spec_divisors
from tileverify.system.errors import SpecError


def array(text: str) -> ArrayArgument:
    described = parse_description("x", text)
    assert isinstance(described, ArrayArgument)
    return described


def small_sizes() -> st.SearchStrategy[Expression]:
    leaves = st.integers(-40, 40).map(Number) | st.sampled_from([Name("M"), Name("N")])

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        binary = st.sampled_from(["+", "-", "*", "//", "%", "cdiv", "min", "max"])
        powers = st.builds(lambda base, exponent: Apply("**", (base, Number(exponent))), inner, st.integers(0, 3))
        return st.builds(Apply, binary, st.tuples(inner, inner)) | powers | inner.map(lambda e: Apply("neg", (e,)))

    return st.recursive(leaves, grow, max_leaves=8)


@given(
    small_sizes(),
    st.dictionaries(st.sampled_from(["M", "N"]), st.integers(0, 12)),
    st.integers(-9, 9),
    st.integers(-9, 9),
)
def test_a_divisor_divides_every_value(expression: Expression, divisors: dict[str, int], m: int, n: int) -> None:
    environment = {"M": m * divisors.get("M", 1), "N": n * divisors.get("N", 1)}
    try:
        value = evaluate(expression, environment)
    except Undefined:
        assume(False)
    divisor = divisor_of(expression, divisors)
    assert value == 0 if divisor == 0 else value % divisor == 0


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (["K % 64 == 0"], {"K": 64}),
        (["0 == K % 64"], {"K": 64}),
        (["K % 4 == 0 and K % 6 == 0", "M == 128"], {"K": 12, "M": 128}),
        (["K % 64 == 0 or M == 1"], {}),
        (["not K % 64 == 0"], {}),
        (["K % 64 == 1"], {}),
        (["K % 64 != 0"], {}),
        (["K % M == 0"], {}),
        (["K == 0"], {"K": 0}),
        (["K >= 64"], {}),
        (["(K + 1) % 64 == 0"], {}),
        (["2 * K % 64 == 0"], {}),
    ],
)
def test_divisors_come_from_plain_facts_only(facts: list[str], expected: dict[str, int]) -> None:
    conditions = [parse_condition(fact) for fact in facts]
    assert known_divisors([fact for fact in conditions if not isinstance(fact, SameArray)]) == expected


def test_facts_about_members_are_facts_about_their_sizes() -> None:
    fact = parse_condition("x.shape[1] % 32 == 0 and x.strides[0] % 4 == 0")
    described = array("f32[M, N; strides=(ld, 1)]")
    spec = LaunchSpec("k", "0", (described,), requires=(fact, SameArray("x", "x")))
    assert spec_divisors(spec) == {"N": 32, "ld": 4}


def conditions(*facts: str) -> list[Expression]:
    parsed = map(parse_condition, facts)
    return [fact for fact in parsed if not isinstance(fact, SameArray)]


def test_arrays_that_facts_say_are_aligned() -> None:
    facts = conditions("x.address % 16 == 0 and N >= 1", "y.address % 64 == 0", "y.address % 32 == 0", "N % 8 == 0")
    assert alignments(facts, {"x", "y", "z"}) == {"x": 16, "y": 64}
    assert alignments(conditions("p.address >= 3"), {"x"}) == {}, "a field of a dataclass is called so"


@pytest.mark.parametrize(
    "fact",
    [
        "x.address % 16 == 4",
        "x.address % 12 == 0",
        "x.address % 8192 == 0",
        "x.address % N == 0",
        "x.address % 16 == 0 or N == 0",
        "not x.address % 16 == 0",
        "x.address == 4096",
        "x.address < y.address",
        "(x.address + 4) % 16 == 0",
    ],
)
def test_nothing_else_is_said_of_an_address(fact: str) -> None:
    with pytest.raises(SpecError, match=r"only its alignment can be said, as in 'x\.address % 16 == 0'"):
        alignments(conditions(fact), {"x", "y"})


def test_the_compiler_is_told_of_alignments_as_by_the_jit() -> None:
    for bytes_, told in ((4, 1), (8, 1), (16, 16), (64, 16)):
        (fact,) = conditions(f"x.address % {bytes_} == 0")
        spec = LaunchSpec("k", "0", (array("f32[N]"),), requires=(fact,))
        assert array_facts(array("f32[N]"), divisors=spec_divisors(spec)).address_divisible_by == told


@pytest.mark.parametrize(
    ("text", "divisor"), [("16 * K", 16), ("16 * K + 8", 8), ("(16 * K) // 4", 4), ("K // 16", 1), ("K * N", 1)]
)
def test_divisors_of_sizes(text: str, divisor: int) -> None:
    assert divisor_of(parse_size(text), {}) == divisor


def test_facts_of_a_contiguous_array() -> None:
    facts = array_facts(array("f16[M, 1, 16 * K]"))
    assert facts.shape_constant == (None, 1, None)
    assert facts.stride_constant == (None, None, 1)
    assert facts.shape_divisible_by == (1, 1, 16)
    assert facts.stride_divisible_by == (8, 8, 1)
    assert not facts.may_alias_internally


def test_divisibility_needs_the_whole_factor() -> None:
    facts = array_facts(array("f32[M, 8 * K]"))
    assert facts.shape_divisible_by == (1, 1)
    assert facts.stride_divisible_by == (4, 1)
    facts = array_facts(array("f32[M, N]"), divisors={"N": 64})
    assert facts.shape_divisible_by == (1, 16)


def test_a_numeric_stride_is_compiled_in_only_as_a_unit_last_stride() -> None:
    assert array_facts(array("f32[M, N; strides=(ld, 1)]")).stride_constant == (None, 1)
    assert array_facts(array("f32[M, N; strides=(1, ld)]")).stride_constant == (None, None)
    assert array_facts(array("f32[M, N; strides=(64, 2)]")).stride_constant == (None, None)
    assert array_facts(array("f32[]")).stride_constant == ()


@pytest.mark.parametrize(
    ("text", "overlaps"),
    [
        ("f32[M, N]", False),
        ("f32[M, N; strides=(ld, 1)]", False),
        ("f32[M, N; strides=(s, t)]", False),
        ("f32[M, N; strides=(1, 1)]", True),
        ("f32[M, N; strides=(0, 1)]", True),
        ("f32[1, N; strides=(0, 1)]", False),
        ("f32[M, 128; strides=(128, 1)]", False),
        ("f32[M, 128; strides=(127, 1)]", True),
        ("f32[M, N; strides=(128, 1)]", True),
        ("f32[128, M; strides=(1, 128)]", False),
        ("f32[M, N; strides=(2 * N, 1)]", False),
        ("f32[M, N; strides=(N // 2, 1)]", True),
        ("f32[M, N; strides=(N + 1, 1)]", True),
        ("f32[B, M, N; strides=(M * N, N, 1)]", False),
        ("f32[B, M, N; strides=(M * N, 1, M)]", False),
        ("f32[B, M, N; strides=(2 * N, 1, 2 * M)]", True),
        ("f32[B, M, N; strides=(N * K, N, 1)]", True),
        ("f32[B, M, N; strides=(ld, 1, 1)]", True),
        ("f32[N; strides=(2)]", False),
        ("f32[N; strides=(0)]", True),
        ("f32[M, N; strides=(0, ld)]", True),
    ],
)
def test_self_overlap(text: str, overlaps: bool) -> None:
    assert may_overlap_itself(array(text)) is overlaps


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12)), min_size=1, max_size=3),
)
def test_numbers_that_are_said_to_be_apart_are_apart(dims: list[tuple[int, int]]) -> None:
    shape, strides = zip(*dims, strict=True)
    described = ArrayArgument("x", "f32", tuple(map(Number, shape)), tuple(map(Number, strides)))
    offsets = [
        sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*(range(size) for size in shape))
    ]
    if not may_overlap_itself(described):
        assert len(set(offsets)) == len(offsets)


_TERMS: list[Expression] = [Number(1), Number(2), Number(3), Name("A"), Name("B")]


@given(
    st.lists(st.sampled_from(_TERMS), min_size=1, max_size=3),
    st.lists(
        st.lists(st.sampled_from(_TERMS), min_size=2, max_size=3).map(lambda terms: Apply("*", (terms[0], terms[1])))
        | st.sampled_from(_TERMS[:3]),
        min_size=3,
        max_size=3,
    ),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_products_that_are_said_to_be_apart_are_apart(
    shape: list[Expression], strides: list[Expression], a: int, b: int
) -> None:
    described = ArrayArgument("x", "f32", tuple(shape), tuple(strides[: len(shape)]))
    environment = {"A": a, "B": b}
    sizes = [evaluate(size, environment) for size in shape]
    steps = [evaluate(stride, environment) for stride in strides[: len(shape)]]
    offsets = [
        sum(i * step for i, step in zip(index, steps, strict=True))
        for index in itertools.product(*(range(size) for size in sizes))
    ]
    if not may_overlap_itself(described):
        assert len(set(offsets)) == len(offsets)


@given(st.lists(st.integers(1, 4), max_size=4))
def test_contiguous_strides_are_row_major(shape: list[int]) -> None:
    strides = [evaluate(stride, {}) for stride in contiguous_strides([Number(size) for size in shape])]
    offsets = [
        sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*(range(size) for size in shape))
    ]
    assert offsets == list(range(len(offsets)))
