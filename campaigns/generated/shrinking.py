"""Smaller kernels with the same flaw: draws are left out or lowered as long as the flaw stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MOST_TRIES = 3000


def shrunk(
    tape: Sequence[int], flawed: Callable[[tuple[int, ...]], bool], most_tries: int = MOST_TRIES
) -> tuple[int, ...]:
    """A tape that is still ``flawed`` and from which nothing more can be left out, or ``most_tries`` are spent.

    Draws are in the order in which the kernel is written, so a run of them is a statement, an operand, a choice.
    """
    best, tries = tuple(tape), 0

    def better(candidate: tuple[int, ...]) -> bool:
        nonlocal best, tries
        if tries >= most_tries or candidate == best:
            return False
        tries += 1
        if not flawed(candidate):
            return False
        best = candidate
        return True

    while True:
        before = best
        for length in (64, 32, 16, 8, 4, 2, 1):
            place = len(best) - length
            while place >= 0:
                without = best[:place] + best[place + length :]
                zeroed = best[:place] + (0,) * length + best[place + length :]
                if better(without) or not better(zeroed):
                    place -= length
        for place in range(len(best)):
            for lower in (0, best[place] // 2, best[place] - 1):
                if 0 <= lower < best[place]:
                    better((*best[:place], lower, *best[place + 1 :]))
        if best == before:
            return best
