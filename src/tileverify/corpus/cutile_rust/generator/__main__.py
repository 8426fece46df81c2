"""``python -m tileverify.corpus.cutile_rust.generator`` writes the files anew; a test compares them with these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ....frontend.bytecode import encode
from ....frontend.bytecode.builder import ModuleBuilder
from .positions import add_positions
from .rows import add_rows
from .tiles import add_tiles

VERSION: Final = (13, 3)
"""What the compiler's writer made when its files were looked at."""

FILES: Final[Mapping[str, Callable[[ModuleBuilder], None]]] = {
    "rows.tileirbc": add_rows,
    "positions.tileirbc": add_positions,
    "tiles.tileirbc": add_tiles,
}


def made() -> dict[str, bytes]:
    """The files by name."""
    found = {}
    for name, add in FILES.items():
        module = ModuleBuilder(VERSION)
        add(module)
        found[name] = encode(module.build())
    return found


if __name__ == "__main__":
    for file, data in made().items():
        (Path(__file__).parent.parent / file).write_bytes(data)
