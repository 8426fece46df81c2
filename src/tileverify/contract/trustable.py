"""Words of a launch spec about its proof: what it trusts, ``trust = ["assert-stops"]``, and ``limits = "deny"``.

The words are part of the contract: of its text, of the keys of kept verdicts, of certificates and bundles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..system.errors import SpecError
from .arguments import suggestion
from .launch import LaunchSpec

ASSERT_STOPS: Final = "assert-stops"
"""A block stops at an assertion that fails: it makes no access that its program has behind it.

Tile IR does not promise that (``assert`` reports to the host, and the kernel may run on).  ``tileiras`` 13.5 was seen
to make a conditional trap of it, in front of the access.
"""

TRUSTABLE: Final = {ASSERT_STOPS: "that a block stops at an assertion that fails"}
"""Each word, and what is believed then."""


DECLARED: Final = "calls: "
"""How a word begins that says what a call touches (`declared_calls`)."""

ON_A_GPU: Final = "destroys the CUDA context of the whole program"
"""What a failing assertion does there: ``tileiras`` makes a trap of it."""
AT_A_LAUNCH: Final = {ASSERT_STOPS: f"an assertion that fails on a GPU {ON_A_GPU}"}
"""What each word means for whoever launches."""


def read_trust(value: object) -> tuple[str, ...]:
    """The words of ``trust``, in order and each once; raises `SpecError` for anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SpecError(f'must be a list of words, as in trust = ["{ASSERT_STOPS}"]')
    for word in value:
        if word not in TRUSTABLE:
            raise SpecError(f"'{word}' is nothing that can be trusted{suggestion(word, TRUSTABLE)}")
    return tuple(sorted(set(value)))


def trusted_text(words: Iterable[str]) -> tuple[str, ...]:
    """What is believed, a sentence for each word: ``that a block stops at ... (assert-stops)``."""
    return tuple(map(_believed, words))


def _believed(word: str) -> str:
    if word.startswith(DECLARED):
        return f"that {word.removeprefix(DECLARED)} (calls)"
    return f"{TRUSTABLE.get(word, 'that stores of equal bits which nothing orders leave these bits')} ({word})"


def taken_for_granted(launch: LaunchSpec) -> tuple[str, ...]:
    """All words of ``launch`` by which a proof rests on more than the specification."""
    return (*launch.trust, *launch.allow, *(f"{DECLARED}{call.text}" for call in launch.calls))


def launched_text(words: Iterable[str]) -> str:
    """What launching under these words may do, in one sentence; empty without words."""
    return "; ".join(f"{AT_A_LAUNCH[word]} ({word})" for word in words)


def trusting(launch: LaunchSpec, words: Iterable[str]) -> LaunchSpec:
    """``launch`` where these words are trusted, too."""
    return replace(launch, trust=tuple(sorted({*launch.trust, *words})))


# -------------------------------------------------------------------------------------------------------- denied limits
# Whether size limits of a proof are errors: ``limits = "deny"`` of a launch, or of the configuration for all.


DENY: Final = "deny"
ALLOW: Final = "allow"


def limits_are_denied(value: object) -> bool:
    """The meaning of ``limits``.  Raises `SpecError` for anything but the two words."""
    if value not in (DENY, ALLOW):
        raise SpecError(f'"{DENY}" or "{ALLOW}"')
    return value == DENY
