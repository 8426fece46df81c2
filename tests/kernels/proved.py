"""The library's kernels, proved under their contracts alone.

Element types change little of a proof: of launches that differ in nothing else, one is proved in a usual run, and
stands for the others; `--long` proves every one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from tools.kernels_page import tables_of

import tileverify
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.spec_files import combined
from tileverify.results import KernelResult

from ..profiles import tries
from ..shared import once

DEVICE = Path(__file__).parents[2] / "src" / "tileverify" / "kernels" / "device"
MODULES = sorted(path for path in DEVICE.glob("*.py") if path.stem != "__init__")

Named = tuple[str, str]
"""A kernel and one of its launches."""


@cache
def checked(module: Path) -> tuple[KernelResult, ...]:
    """What is said of every launch, in the order of the spec; see above for which of them it was found."""
    like = stands_for(module) if tries(short=True, long=False) else {each: each for each in stands_for(module)}
    asked = [f"{module}::{kernel}::{launch}" for kernel, launch in dict.fromkeys(like.values())]

    def proved() -> tuple[KernelResult, ...]:
        found = tileverify.check(asked, deny_requires=True, complete=True).results
        by_name = {(result.kernel, str(result.launch)): result for result in found}
        return tuple(replace(by_name[other], launch=own[1]) for own, other in like.items())

    return once(f"proved {asked}", proved)


@cache
def stands_for(module: Path) -> dict[Named, Named]:
    """For each launch one that differs from it in element types alone, if in anything."""
    found: dict[Named, Named] = {}
    for number, table in enumerate(tables(module)):
        each: Mapping[str, list[Any]] = table.get("each", {})
        named = {
            values: (str(launch["kernel"]), str(launch["name"]))
            for values, launch in zip(product(*each.values()), combined(table), strict=True)
        }
        for values, launch in named.items():
            like = tuple(
                choices[number % len(choices)] if value in ELEMENT_TYPES else value
                for value, choices in zip(values, each.values(), strict=True)
            )
            found[launch] = named[like]
    return found


def tables(module: Path) -> list[dict[str, Any]]:
    """The launches of a module's spec, as they are written, each with one kernel."""
    return tables_of(module.stem)
