"""Whether inline PTX computes: from its operands and the number of its block, and nothing else.

All else is refused where it comes from, or called open: memory, other lanes, clocks, and the number of a thread.  A
scalar of Triton is held by many threads, and a compiler may run the text again in each place that uses its value.
"""

from __future__ import annotations

import re
from typing import Final

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INSTRUCTION: Final = re.compile(r"\.?[a-z]\w*")
_GUARD: Final = re.compile(r"^@!?\s*[$\w]+\s+")
"""A predicate in front of an instruction, which may leave its result as it was: any value."""
_SPECIAL: Final = re.compile(r"%\w+")
_OF_BLOCK: Final = frozenset({"%ctaid", "%nctaid", "%ntid"})
"""Special registers that all threads of a block read alike, at all times."""
_COMPUTING: Final = frozenset({
    ".reg", "mov", "cvt", "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "neg", "abs", "min", "max", "div", "rem",
    "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "and", "or", "xor", "not", "cnot", "shl", "shr", "shf",
    "lop3", "prmt", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "popc", "sad", "selp", "set", "setp", "slct", "testp",
    "copysign", "dp2a", "dp4a",
})  # fmt: skip


def only_computes(text: str) -> bool:
    """Whether each instruction of ``text`` is known to do so.

    >>> only_computes("ex2.approx.f32 $0, $1;"), only_computes("mov.u32 $0, %clock;")
    (True, False)
    """
    plain = _COMMENT.sub(" ", text)
    statements = [part.strip(" \t\r\n{}") for part in plain.split(";")]
    found = [_INSTRUCTION.match(_GUARD.sub("", statement, count=1)) for statement in statements if statement]
    known = all(each is not None and each[0] in _COMPUTING for each in found)
    return known and {*_SPECIAL.findall(plain)} <= _OF_BLOCK
