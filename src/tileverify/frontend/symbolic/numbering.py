"""Fixed numbers for the ops, accesses and loops of an entry, so that every run uses the same names."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..bytecode.model import Block, Entry, Op


@dataclass(slots=True)
class Numbering:
    """``ordinal``: position in program order; ``site``: number of an access; ``loop``: number of a loop;
    ``within``: the accesses inside a loop, nested loops included; ``living``: by the name of the memory that an
    ``alloca`` makes, the accesses in the block of ops at whose end that memory ends."""

    ordinal: dict[Op, int] = field(default_factory=dict)
    site: dict[Op, int] = field(default_factory=dict)
    loop: dict[Op, int] = field(default_factory=dict)
    within: dict[Op, frozenset[int]] = field(default_factory=dict)
    living: dict[str, frozenset[int]] = field(default_factory=dict)

    def local_name(self, op: Op) -> str:
        """The name of the memory that an ``alloca`` makes."""
        return f"local#{self.ordinal[op]}"


def number(entry: Entry) -> Numbering:
    """Number everything in ``entry``."""
    numbering = Numbering()
    _visit(entry.body, numbering)
    return numbering


def _visit(block: Block, numbering: Numbering) -> set[int]:
    """The accesses in ``block``, once everything in it is numbered."""
    found: set[int] = set()
    for op in block.ops:
        numbering.ordinal[op] = len(numbering.ordinal)
        if op.declaration.address:
            numbering.site[op] = len(numbering.site)
            found.add(numbering.site[op])
        if op.declaration.body == "loop":
            numbering.loop[op] = len(numbering.loop)
        inner = {site for region in op.regions for body in region.blocks for site in _visit(body, numbering)}
        if op in numbering.loop:
            numbering.within[op] = frozenset(inner)
        found |= inner
    made = [op for op in block.ops if op.name == "alloca"]
    numbering.living.update((numbering.local_name(op), frozenset(found)) for op in made)
    return found
