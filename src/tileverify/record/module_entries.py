"""The entries of Tile IR modules, told to a recorded program: it starts this with the recorder's own Python.

Reads the paths of bytecode files, a line each as JSON, and answers each with a line: ``version`` and ``entries``, or
``error``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ..contract.element_types import ELEMENT_TYPES
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import DivBy, Entry
from ..frontend.bytecode.traverse import walk
from ..frontend.sources.entry_launch import parameter_names, parameter_types, spec_type
from ..hook.modules import NotedEntries, NotedEntry, NotedParameter
from ..results.conditional import plain_name
from ..system.errors import TileVerifyError


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(module_entries(Path(json.loads(line)))), flush=True)


def module_entries(path: Path) -> NotedEntries:
    """What the bytecode at ``path`` can be launched with."""
    try:
        content = path.read_bytes()
        entries = [_entry(entry) for entry in decode(content, file=str(path)).entries]
    except (TileVerifyError, OSError) as error:
        return {"error": str(error)}
    return {"version": f"{content[8]}.{content[9]}", "entries": entries}


def _entry(entry: Entry) -> NotedEntry:
    types = parameter_types(entry)
    name, location = plain_name(entry.name), entry.location
    given = parameter_names(Path(location.file), name, location.line) if location is not None else ()
    names = given if len(given) == len(types) else [f"arg{index}" for index in range(len(types))]
    return {
        "symbol": entry.name,
        "name": name,
        "file": location.file if location is not None else "",
        "line": location.line if location is not None else 0,
        "parameters": [_parameter(*each) for each in zip(names, types, _taken_for_granted(entry), strict=True)],
    }


def _taken_for_granted(entry: Entry) -> list[int]:
    """What the entry assumes to divide each of its parameters, 1 for nothing."""
    found = dict.fromkeys(entry.parameters, 1)
    for op in walk(entry.body):
        predicate = op.attributes["pred"] if op.name == "assume" else None
        if isinstance(predicate, DivBy) and predicate.every is None and op.value("s") in found:
            found[op.value("s")] = max(found[op.value("s")], predicate.divisor)
    return list(found.values())


def _parameter(name: str, type: tuple[bool, str], divisor: int) -> NotedParameter:
    is_pointer, element = type
    dtype = spec_type(element)
    bits = ELEMENT_TYPES[dtype].bits if dtype is not None else 0
    return {"name": name, "is_pointer": is_pointer, "dtype": dtype or element, "bits": bits, "divisor": divisor}


if __name__ == "__main__":
    main()
