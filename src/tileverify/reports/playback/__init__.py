"""Reproductions of refuted findings: pytest files that replay a witness by themselves.

A file holds the bytecode, the meaning of the entry's parameters and the launch; `replay` runs it in the reference
interpreter, `count_on_device` on a GPU where there is one.
"""

from .replaying import FaultNotSeen, bytecode, replay
from .saved import Replayed, replay_report

__all__ = ["FaultNotSeen", "Replayed", "bytecode", "count_on_device", "no_device", "replay", "replay_report"]


def no_device(launch: dict[str, object], code: bytes = b"") -> str | None:
    """Why ``launch``, of the kernel with the bytecode ``code``, cannot be tried on a GPU here; ``None`` if it can."""
    from .device import no_device as reason

    return reason(launch, code)


def count_on_device(
    code: bytes, entry: str, parameters: list[tuple[str, str, int | None, int | None]], launch: dict[str, object],
    *, times: int,
) -> int:  # fmt: skip
    """In how many of ``times`` launches the memory ended up different from what most of them left.

    Never a proof of absence: a race that does not show today may show on another device or under another load.
    """
    from .device import count

    return count(code, entry, parameters, launch, times)
