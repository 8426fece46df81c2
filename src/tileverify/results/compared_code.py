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


@dataclass(frozen=True, slots=True)
class CodeAgain:
    """What a certificate has ``stated``, ``confirmed`` by comparing again; else ``contradicted`` and by what, or
    neither and ``why_not``."""

    stated: ComparedCode
    confirmed: bool = False
    contradicted: str = ""
    why_not: str = ""

    def __str__(self) -> str:
        made = (
            f"{self.stated.architecture} ({self.stated.assembler})"
            if self.stated.assembler
            else self.stated.architecture
        )
        if self.confirmed:
            return f"{made}, compared again: {self.stated.outcome}"
        said = f"; the certificate says: {self.stated.outcome}" if self.stated.outcome else ""
        return f"{made}, {self.contradicted or f'not compared again ({self.why_not})'}{said}"
