"""What was seen of the code that an assembler makes of a proved kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComparedCode:
    """``architecture``: ``sm_90`` or the like; ``assembler``: its version; ``said``: ``compared at 2 launches``,
    ``differs from the bytecode``, or ``not looked at`` and why; ``footprints``: ``proved for all launches``, or that
    they are not and why, empty where nobody tried."""

    architecture: str
    assembler: str
    said: str
    footprints: str = ""

    def __str__(self) -> str:
        return f"{self.architecture} ({self.assembler}): {self.said}" + (
            f"; footprints {self.footprints}" if self.footprints else ""
        )
