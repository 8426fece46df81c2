"""What was seen of the code that an assembler makes of a proved kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComparedCode:
    """``architecture``: ``sm_90`` or the like; ``assembler``: its version; ``said``: ``compared at 2 launches``,
    ``differs from the bytecode``, or ``not looked at`` and why; ``footprints``: ``proved for all launches``, or that
    they are not and why, empty where nobody tried.  ``launches``: so many compared equal, 0 where one differs.
    ``ptx_sha256`` and ``cubin_sha256``: of the code, empty where it was not seen."""

    architecture: str
    assembler: str
    said: str
    footprints: str = ""
    launches: int = 0
    ptx_sha256: str = ""
    cubin_sha256: str = ""

    @property
    def outcome(self) -> str:
        """What was compared and proved, in words."""
        return f"{self.said}; footprints {self.footprints}" if self.footprints else self.said

    def __str__(self) -> str:
        return f"{self.architecture} ({self.assembler}): {self.outcome}"
