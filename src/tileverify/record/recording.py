"""A recording: what the journals of a run say, and the folder that is made of it.

The folder holds, for every specialisation of a kernel, ``NAME.HASH.tileirbc`` and its launch specs
``NAME.HASH.tileverify.toml``; ``sources/`` has launch specs for the kernels' source files; ``index.json`` lists all.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .overlap import overlaps
from .spec import NotExpressible, launch_table

SCHEMA = "tileverify/recording/1"
INDEX = "index.json"


@dataclass(slots=True)
class Recording:
    """``specialisations`` by file stem, in the order of their first launch, in the form that ``index.json`` has;
    ``observed`` counts the launches in the journals, ``earlier`` are the runs of a recording that this one extends."""

    specialisations: dict[str, dict[str, Any]] = field(default_factory=dict)
    bytecode: dict[str, Path] = field(default_factory=dict)
    earlier: list[dict[str, Any]] = field(default_factory=list)
    observed: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    imported_cuda_tile: bool = False

    @property
    def launches(self) -> int:
        return sum(len(entry["launches"]) for entry in self.specialisations.values())

    @property
    def kernels(self) -> int:
        return len({entry["source"]["id"] for entry in self.specialisations.values()})

    def read_journals(self, folder: Path, launches: int) -> None:
        """Add what the processes of a run wrote down; at most ``launches`` launches a specialisation."""
        for journal in sorted(folder.glob("*.jsonl")):
            stems: dict[int, str] = {}
            for event in _events(journal):
                self._add_event(event, stems, folder, launches)

    def _add_event(self, event: dict[str, Any], stems: dict[int, str], folder: Path, launches: int) -> None:
        kind = event.pop("event")
        if kind == "cuda_tile":
            self.imported_cuda_tile = True
        elif kind == "left_out":
            self.left_out += 1
        elif kind == "error":
            failure = _failure(event)
            if failure not in self.failures:
                self.failures.append(failure)
        elif kind == "specialisation":
            stem = f"{re.sub(r'[^A-Za-z0-9_]', '_', event['kernel']['name'])}.{event['bytecode'][:12]}"
            stems[event.pop("key")] = stem
            self.bytecode[stem] = folder / f"{event['bytecode']}.tileirbc"
            self.specialisations.setdefault(stem, _entry(stem, event))
        elif kind == "launch":
            self.observed += 1
            entry = self.specialisations[stems[event.pop("key")]]
            _add_launch(entry, _launch(entry["parameters"], event), launches)

    def read_folder(self, folder: Path, launches: int) -> None:
        """Add an earlier recording."""
        index = read_index(folder)
        self.earlier += index["runs"]
        for entry in index["specialisations"]:
            stem = entry["bytecode"].removesuffix(".tileirbc")
            self.bytecode.setdefault(stem, folder / entry["bytecode"])
            for launch in entry.pop("launches"):
                _add_launch(self.specialisations.setdefault(stem, {**entry, "launches": []}), launch, launches)

    def write(self, folder: Path, run: dict[str, Any]) -> None:
        """Fill the empty ``folder``; ``run`` (command, exit code, ...) is added to the runs in the index."""
        self._name_source_specs()
        for stem, entry in self.specialisations.items():
            shutil.copyfile(self.bytecode[stem], folder / entry["bytecode"])
            tables = [
                launch_table(entry["symbol"], entry["parameters"], launch, constants=False, name=str(position))
                for position, launch in enumerate(entry["launches"])
            ]
            (folder / entry["spec"]).write_text("\n".join(tables), encoding="utf-8")
        self._write_source_specs(folder)
        index = {
            "schema": SCHEMA,
            "runs": [*self.earlier, {**run, "left_out": self.left_out, "failures": self.failures}],
            "kernels": self.kernels,
            "specialisations": list(self.specialisations.values()),
        }
        (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")

    def _write_source_specs(self, folder: Path) -> None:
        """``sources/MODULE.tileverify.toml`` for ``check FILE --spec``; it says which launches TOML cannot express."""
        texts: dict[str, list[str]] = {}
        for stem, entry in self.specialisations.items():
            tables = texts.setdefault(entry["source_spec"], [f"# {entry['source']['file']}\n"])
            for position, launch in enumerate(entry["launches"]):
                name, kernel = f"{stem.split('.')[-1]}-{position}", entry["source"]["name"]
                try:
                    tables.append(launch_table(kernel, entry["parameters"], launch, constants=True, name=name))
                except NotExpressible as reason:
                    tables.append(f"# launch {name} of {kernel} is left out: {reason}\n")
        for name, tables in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("\n".join(tables), encoding="utf-8")

    def _name_source_specs(self) -> None:
        """One spec file for each source file; equal file names are numbered."""
        names: dict[str, str] = {}
        for entry in self.specialisations.values():
            file = entry["source"]["file"]
            if file not in names:
                stem = Path(file).stem
                number = sum(Path(other).stem == stem for other in names) + 1
                suffix = f".{number}" if number > 1 else ""
                names[file] = f"sources/{stem}{suffix}.tileverify.toml"
            entry["source_spec"] = names[file]


def read_index(folder: Path) -> dict[str, Any]:
    """``index.json`` of a recording; `UsageError` if ``folder`` is not one."""
    path = folder / INDEX
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        if index["schema"] != SCHEMA:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"not a recording: {INDEX} with schema {SCHEMA} is missing", file=str(folder)) from None
    return dict(index)


def _events(journal: Path) -> Iterator[dict[str, Any]]:
    """The events of one process; a line cut short by its death ends them."""
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def _entry(stem: str, event: dict[str, Any]) -> dict[str, Any]:
    source = event.pop("kernel")
    return {
        "kernel": source["qualname"],
        "source": source,
        **event,
        "bytecode": f"{stem}.tileirbc",
        "bytecode_sha256": event["bytecode"],
        "spec": f"{stem}.tileverify.toml",
        "launches": [],
    }


def _failure(event: dict[str, Any]) -> dict[str, Any]:
    source = event.pop("kernel") or {}
    return {"kernel": source.get("qualname"), "file": source.get("file"), "line": source.get("line"), **event}


def _launch(parameters: list[str], event: dict[str, Any]) -> dict[str, Any]:
    pairs = overlaps(parameters, event["arguments"])
    return {
        "grid": event["grid"],
        "arguments": [_relocatable(argument) for argument in event["arguments"]],
        "overlaps": [{"first": p.first, "second": p.second, "same": p.same} for p in pairs],
        "how": event["how"],
        "test": event["test"],
    }


def _relocatable(argument: dict[str, Any]) -> dict[str, Any]:
    """The argument without its address, which means nothing once the process is gone."""
    plain = {key: value for key, value in argument.items() if key != "address"}
    if "items" in plain:
        plain["items"] = [_relocatable(item) for item in plain["items"]]
    return plain


def _add_launch(entry: dict[str, Any], launch: dict[str, Any], limit: int) -> None:
    def essence(launch: dict[str, Any]) -> tuple[Any, ...]:
        return launch["grid"], launch["arguments"], launch["overlaps"]

    known = entry["launches"]
    if len(known) < limit and all(essence(launch) != essence(other) for other in known):
        known.append(launch)
