"""What a second reading of a proof compared: the access summary that was proved, with runs of the interpreter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .json_fields import REQUIRED


@dataclass(frozen=True, slots=True)
class SecondReading:
    """``asked`` for so many launches, of which the contract had ``launches``.

    ``accesses`` and ``waits`` (an access that waits for another one) are those that were compared, ``not_compared``
    counts by reason what was not.  ``unclaimed``: order that a run had and the summary leaves out inside of loops; that
    costs proofs and makes none wrong.  ``disagreement``: the first one, in a sentence.
    """

    asked: int
    launches: int = field(default=0, metadata=REQUIRED)
    blocks: int = field(default=0, metadata=REQUIRED)
    accesses: int = field(default=0, metadata=REQUIRED)
    waits: int = field(default=0, metadata=REQUIRED)
    unclaimed: int = field(default=0, metadata=REQUIRED)
    not_compared: Mapping[str, int] = field(default_factory=dict, metadata=REQUIRED)
    disagreement: str | None = field(default=None, metadata=REQUIRED)

    @property
    def agrees(self) -> bool:
        """Nothing speaks against the proof; that is little where nothing was compared."""
        return not self.disagreement


@dataclass(slots=True)
class ReadingTally:
    """A second reading on its way."""

    blocks: int = 0
    accesses: int = 0
    waits: int = 0
    unclaimed: int = 0
    not_compared: Counter[str] = field(default_factory=Counter)


def reading_lines(reading: SecondReading) -> list[str]:
    """What was compared, what was not, and what does not agree; for people."""
    launches = _plural(reading.launches, "launch", "launches")
    if reading.launches < reading.asked:
        launches += f" ({reading.asked} were asked for)"
    if reading.accesses or reading.disagreement:
        blocks, accesses = _plural(reading.blocks, "block", "blocks"), _plural(reading.accesses, "access", "accesses")
        compared = f"{blocks}, {accesses} and {_plural(reading.waits, 'wait', 'waits')} compared"
        lines = [f"{launches}: {compared}" + ("" if reading.disagreement else ", all as the proof says")]
    else:
        lines = [f"{launches}: nothing could be compared"]
    lines += [f"not compared, {count} times: {reason}" for reason, count in sorted(reading.not_compared.items())]
    if reading.disagreement:
        lines.append(f"disagreement: {reading.disagreement}")
    return lines


def _plural(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
