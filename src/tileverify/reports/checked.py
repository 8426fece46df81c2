"""What was proved of a kernel, in words: the kinds of obligations, each with the codes that stood for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ..results import KernelResult, Verdict
from ..results.codes import CODES, Family

_KINDS: Final[Mapping[Family, str]] = {
    Family.BETWEEN_BLOCKS: "races between blocks",
    Family.INSIDE_BLOCK: "order inside a block",
    Family.BOUNDS: "bounds",
    Family.PROMISE: "promises and arithmetic",
}


def checked(result: KernelResult) -> str:
    """``races between blocks (TV101, TV102), bounds (TV301)``; nothing where nothing was proved.

    Of a proved kernel it is said, too, why there was no race to ask for.
    """
    return ", ".join(_kinds(result)) if result.proved_codes else ""


def _kinds(result: KernelResult) -> Iterator[str]:
    for family, words in _KINDS.items():
        codes = [code for code in result.proved_codes if CODES[code].family is family]
        if codes:
            yield f"{words} ({', '.join(codes)})"
        elif family is Family.BETWEEN_BLOCKS and result.verdict is Verdict.PROVED:
            yield f"{words} (they meet in atomics of their scope, or not at all)"
