"""What a bytecode file fixes beyond its meaning: section and table order, raw debug tables, header flags.

The decoder records it, the encoder replays it, so that decoding and encoding gives the same bytes.  Nothing else reads
it.  A module that was changed or made by hand has no layout and is written in the canonical form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .model import Constant, Type


@dataclass(frozen=True, slots=True)
class SectionLayout:
    """One section in file order; ``alignment`` is 0 where the section header gives none."""

    id: int
    alignment: int


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The parts of a function header that carry no meaning."""

    flags: int
    debug_index: int


@dataclass(frozen=True, slots=True)
class DebugLayout:
    """The debug section: one slice of attribute ids for each function, and the attribute records as stored."""

    functions: tuple[tuple[int, ...], ...]
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ModuleLayout:
    """Everything needed to write the same file again.

    ``constant_index`` says which constant record each constant used: equal bytes of different types have records of
    their own in files written by nvcc.
    """

    sections: tuple[SectionLayout, ...]
    strings: tuple[bytes, ...]
    types: tuple[Type, ...]
    constants: tuple[bytes, ...]
    constant_index: Mapping[Constant, int]
    entries: tuple[EntryLayout, ...]
    debug: DebugLayout | None
    function_padding: int
