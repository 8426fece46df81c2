"""Array and scalar descriptions: read, print, refuse."""

from __future__ import annotations

import pytest

from tileverify.contract.arguments import parse_description, print_array, print_constant, print_description
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import Apply, ArrayArgument, Name, Number, ScalarArgument
from tileverify.system.errors import SpecError


@pytest.mark.parametrize(
    "text",
    [
        "f16[M, 2 * K]",
        "f16[M, N; strides=(ld, 1)]",
        "f32[N; index=i64]",
        "bf16[M, N; strides=(1, 1); index=i64]",
        "f32[]",
        "f32[4, cdiv(M, 128), min(M, N)]",
        "i64[N; strides=(2)]",
    ],
)
def test_arrays_print_as_they_were_read(text: str) -> None:
    array = parse_description("x", text)
    assert isinstance(array, ArrayArgument)
    assert print_array(array) == text
    assert print_description(array) == f'"{text}"'


def test_the_parts_of_an_array() -> None:
    array = parse_description("c", "f16[M, 2*N ; index=i64; strides = (ld,1,)]")
    assert array == ArrayArgument(
        "c", "f16", (Name("M"), Apply("*", (Number(2), Name("N")))), (Name("ld"), Number(1)), 64
    )


def test_scalars() -> None:
    assert parse_description("n", "i32") == ScalarArgument("n", "i32")
    assert parse_description("n", " i32 = 2 * M ") == ScalarArgument("n", "i32", Apply("*", (Number(2), Name("M"))))
    assert parse_description("flag", "bool = 1") == ScalarArgument("flag", "bool", Number(1))


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_every_element_type(dtype: str) -> None:
    assert parse_description("x", f"{dtype}[N]") == ArrayArgument("x", dtype, (Name("N"),))
    assert parse_description("x", dtype) == ScalarArgument("x", dtype)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f33[M]", "unknown element type 'f33'; did you mean 'f32'?"),
        ("float16[M]", "did you mean 'f16'?"),
        ("quux[M]", "known: bool i8"),
        ("N", "a scalar with the value of 'N' is 'i32 = N'"),
        ("f32[M, ]", "a size is empty"),
        ("f32[, M]", "a size is empty"),
        ("f32[M", "describes neither an array such as 'f32[M, N]' nor a scalar such as 'i32'"),
        ("", "describes neither"),
        ("f32[-1]", "the size -1 is negative"),
        ("f32[M; strides=(-1)]", "the stride -1 is negative"),
        ("f32[2147483648]", "does not fit i32; write index=i64"),
        ("f32[2**63; index=i64]", "does not fit i64"),
        ("f32[M, N; strides=(1)]", "has 1 entries for an array of rank 2"),
        ("f32[M; strides=1]", "strides stand in parentheses"),
        ("f32[M; stride=(1)]", "unknown array option 'stride'; did you mean 'strides'?"),
        ("f32[M; index=i16]", "sizes and strides are i32 or i64"),
        ("f32[M; strides=(1); strides=(2)]", "given twice"),
        ("f32[M; i64]", "is not an option of an array"),
        ("f32[M / 2]", "'/' is not exact"),
        ("f32 = M", "only an integer or bool can be tied to an expression"),
        ("i8 = 300", "300 does not fit i8"),
        ("u8 = -1", "-1 does not fit u8"),
        ("bool = 2", "2 does not fit bool"),
        ("i32 = ", "an expression is empty"),
        ("i32 == 3", "describes neither"),
    ],
)
def test_refuses_other_descriptions(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_description("x", text)
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (1e-05, "1e-05"),
        ("ct.float16", '"ct.float16"'),
        (None, '"None"'),
        ((1, "a"), '[1, "a"]'),
        ('a"b\\', '"a\\"b\\\\"'),
    ],
)
def test_constants_print_as_toml(value: object, text: str) -> None:
    assert print_constant(value) == text
