"""The identity that a reduction is given changes no number."""

from __future__ import annotations

from typing import Final

import pytest

from tileverify.frontend.bytecode.builder import BodyBuilder, scalar, tile
from tileverify.frontend.bytecode.model import IntegerAttribute, Value
from tileverify.frontend.triton.ttir_arithmetic import _LANE_BY_LANE
from tileverify.frontend.triton.ttir_lanes import _COMBINING, identity

from ...backend.helpers import lanes

INTEGERS: Final = {
    "i1": (0, 1), "i8": (0, 1, 127, 128, 255), "i16": (0, 32767, 32768), "i32": (0, 2**31 - 1, 2**31, 2**32 - 1),
    "i64": (0, 2**63 - 1, 2**63, 2**64 - 1),
}  # fmt: skip
FLOATS: Final = {
    "f16": (0x0000, 0x3C00, 0xFBFF, 0x7C00), "bf16": (0x0000, 0x3F80, 0xFF7F, 0xFF80),
    "f32": (0, 0x3F800000, 0xFF800000), "f64": (0, 0x7FF0000000000000, 0xBFF0000000000000),
}  # fmt: skip
EACH: Final = [(op, element) for op in _COMBINING for element in (FLOATS if op.endswith("f") else INTEGERS)]


@pytest.mark.parametrize(("op", "element"), EACH)
def test_it_is_neutral(op: str, element: str) -> None:
    numbers = FLOATS.get(element) or INTEGERS[element]
    kind = scalar(element)
    what, sign = _COMBINING[op]
    neutral = identity(what, kind, sign)
    number = neutral.value & ((1 << kind.bits) - 1) if isinstance(neutral, IntegerAttribute) else neutral.bits
    name, attributes, flags = _LANE_BY_LANE[op]
    for pattern in numbers:

        def combined(body: BodyBuilder, pattern: int = pattern) -> Value:
            lhs, rhs = body.constant(tile(kind), number), body.constant(tile(kind), pattern)
            made: Value = body.op(name, lhs=lhs, rhs=rhs, flags=flags, **attributes)
            return made

        alone = lanes(lambda body, pattern=pattern: body.constant(tile(kind), pattern))  # type: ignore[misc]
        assert lanes(combined) == alone
