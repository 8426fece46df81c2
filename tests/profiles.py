"""How much a test with random inputs tries: a few in every run, as many as pay off with ``--long`` (`make soak`).

A test asks when it is imported, or later; `conftest.py` chooses before that.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

MANY_TIMES = 5
"""What ``--long`` makes of the examples of a property that names no number."""

_chosen = "short"


def choose(*, long: bool) -> None:
    """Choose for this process, hypothesis included.  No deadlines: tests judge the code, not a busy machine."""
    global _chosen
    _chosen = "long" if long else "short"
    few: int = settings.get_profile("default").max_examples
    for name, count in (("short", few), ("long", MANY_TIMES * few)):
        settings.register_profile(name, deadline=None, max_examples=count, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile(_chosen)


def tries(*, short: int, long: int) -> int:
    """The number of the profile that was chosen."""
    return long if _chosen == "long" else short
