"""All launch specs of one source file, and the part of them that speaks of one kernel."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..system.errors import SpecError
from .descriptions import suggestion
from .spec_files import RawLaunch, read_pyproject, read_spec_file, spec_path


@dataclass(frozen=True, slots=True)
class SourceSpecs:
    """The launches written for a source file, in the order: spec file, ``pyproject.toml``; decorators follow."""

    launches: tuple[RawLaunch, ...]
    given: bool = False

    @classmethod
    def beside(cls, source: Path) -> SourceSpecs:
        """The specs in the file beside ``source`` and in the nearest ``pyproject.toml``."""
        path = spec_path(source)
        own = read_spec_file(path) if os.path.lexists(path) else ()
        return cls((*own, *read_pyproject(source.resolve().parent)))

    @classmethod
    def from_file(cls, path: Path) -> SourceSpecs:
        """The specs of ``--spec FILE``, which stand for all others, decorators included.

        Raises `SpecError` for a file without any: nobody names it to have launches guessed.
        """
        launches = read_spec_file(path)
        if not launches:
            raise SpecError("there is no [[launch]] in this file; without --spec launches are guessed", str(path))
        return cls(launches, given=True)

    def of_kernel(self, names: Container[str], decorated: Iterable[RawLaunch] = ()) -> tuple[RawLaunch, ...]:
        """The launches of the kernel with these names."""
        own = tuple(raw for raw in self.launches if raw.kernel in names)
        return own if self.given else (*own, *decorated)

    def strangers(self, kernels: Sequence[str]) -> Iterator[tuple[RawLaunch, SpecError]]:
        """Launches that name a kernel the source does not have; a file shared by many sources may name others'."""
        for raw in self.launches:
            if not raw.shared and raw.kernel not in kernels:
                known = suggestion(raw.kernel, kernels) or f"; there is {', '.join(kernels) or 'none'}"
                yield raw, raw.error("kernel", f"there is no kernel '{raw.kernel}'{known}")


def named_launches(raws: Sequence[RawLaunch]) -> Iterator[tuple[str, RawLaunch, SpecError | None]]:
    """Each launch of one kernel with its name (its position where it has none), and an error for a name used twice."""
    seen: set[str] = set()
    for position, raw in enumerate(raws):
        name = str(raw.fields.get("name", position))
        twice = raw.error("name", f"'{raw.kernel}' has two launches named '{name}'") if name in seen else None
        seen.add(name)
        yield name, raw, twice
