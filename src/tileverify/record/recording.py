"""A recording: what the journals of a run say, and the folder that is made of it.

The folder holds, for every specialisation of a kernel, ``NAME.HASH.tileirbc`` (of a Triton kernel: its IR,
``NAME.HASH.ttir``) and its launch specs ``NAME.HASH.tileverify.toml``; ``sources/`` has launch specs for the kernels'
source files; ``index.json`` lists all.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from ..contract.as_table import NotExpressible, launch_table
from ..contract.facts.columns import Array
from ..contract.facts.facts_of_contents import observed_facts
from ..contract.spec_files import SPEC_SUFFIX
from ..contract.strides import overlaps
from ..hook import notes
from ..hook.described_launch import Described, DescribedArray
from ..system.errors import UsageError
from ..system.printable import plain_stem
from .recorded import (
    Index,
    LaunchFailure,
    RecordedArgument,
    RecordedArray,
    RecordedLaunch,
    RecordedRun,
    RecordedSpecialisation,
    WhatThereIs,
    is_triton,
)

SCHEMA = "tileverify/recording/1"
INDEX = "index.json"


@dataclass(slots=True)
class _ProcessNotes:
    """What one process writes down, and how far it has been read: files of specialisations and launches by the
    numbers that the process gave them."""

    path: Path
    stems: dict[int, str] = field(default_factory=dict)
    numbered: dict[int, list[RecordedLaunch]] = field(default_factory=dict)
    _read: int = 0

    def events(self) -> Iterator[notes.Event]:
        """The new ones; a line that is not whole, cut short by the process's death or still being written, is left."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                event: notes.Event = json.loads(line)
                yield event


@dataclass(slots=True)
class Recording:
    """``specialisations`` by file stem, in the order of their first launch, in the form that ``index.json`` has;
    ``observed`` counts the launches in the journals, ``earlier`` are the runs of a recording that this one extends."""

    specialisations: dict[str, RecordedSpecialisation] = field(default_factory=dict)
    bytecode: dict[str, Path] = field(default_factory=dict)
    earlier: list[RecordedRun] = field(default_factory=list)
    observed: int = 0
    failures: list[LaunchFailure] = field(default_factory=list)
    left_out: int = 0
    imported_cuda_tile: bool = False
    _journals: dict[Path, _ProcessNotes] = field(default_factory=dict)
    _read_alone: dict[str, frozenset[str]] = field(default_factory=dict)  # parameters, by specialisation

    @property
    def launches(self) -> int:
        return sum(len(entry["launches"]) for entry in self.specialisations.values())

    @property
    def generalised(self) -> int:
        return sum(len(entry.get("generalised", ())) for entry in self.specialisations.values())

    @property
    def kernels(self) -> int:
        return len({entry["source"]["id"] for entry in self.specialisations.values()})

    def read_journals(self, folder: Path, launches: int) -> list[tuple[str, RecordedLaunch]]:
        """Add what the processes of a run have written down since the last time; at most ``launches`` launches a
        specialisation.  Returns the launches that they made, each with its specialisation, once."""
        held: dict[int, tuple[RecordedLaunch, list[dict[str, Array]]]] = {}  # launches by identity, with contents
        made: dict[int, tuple[str, RecordedLaunch]] = {}
        for path in sorted(folder.glob("*.jsonl")):
            notes = self._journals.setdefault(path, _ProcessNotes(path))
            for event in notes.events():
                if event["event"] == "launch" or event["event"] == "again" or event["event"] == "contents":
                    stem = notes.stems[event["key"]]
                    launch = self._made(event, stem, notes, launches)
                    made[id(launch)] = stem, launch
                    if event["event"] == "contents":
                        arrays = self._known(event, notes)
                        found = _contents(self.specialisations[stem]["parameters"], launch, arrays, folder)
                        held.setdefault(id(launch), (launch, []))[1].append(found)
                else:
                    self._add_event(event, notes, folder)
        for launch, contents in held.values():
            _observe(launch, contents)
        return list(made.values())

    def _made(
        self, event: notes.NotedLaunch | notes.Again | notes.ArrayContents, stem: str, notes: _ProcessNotes, limit: int
    ) -> RecordedLaunch:
        """The launch that the event is about, which is added if it is a new one."""
        numbered = notes.numbered.setdefault(event["key"], [])
        if event["event"] != "launch":
            return numbered[event["number"]]
        entry = self.specialisations[stem]
        self.observed += 1
        numbered.append(_add_launch(entry, _launch(entry["parameters"], event), limit))
        return numbered[-1]

    def _known(self, event: notes.ArrayContents, notes: _ProcessNotes) -> dict[str, str]:
        """The contents that no earlier launch has overwritten."""

        def written(number: int, parameter: str) -> bool:
            return parameter not in self._only_read(notes.stems[number])

        doubts = event.get("unless_written", {})
        return {
            name: content
            for name, content in event["arrays"].items()
            if not any(written(*writer) for writer in doubts.get(name, ()))
        }

    def _only_read(self, stem: str) -> frozenset[str]:
        if stem not in self._read_alone:
            from .recorded import only_read  # the verifier, which few recordings need

            self._read_alone[stem] = only_read(self.specialisations[stem], self.bytecode[stem].read_bytes())
        return self._read_alone[stem]

    def _add_event(
        self,
        event: notes.NotedSpecialisation | notes.LeftOut | notes.LaunchError | notes.Imported,
        notes: _ProcessNotes,
        folder: Path,
    ) -> None:
        if event["event"] == "specialisation":
            name = plain_stem(re.sub(r"[^A-Za-z0-9_]", "_", event["kernel"]["name"]))
            stem = f"{name}.{event['bytecode'][:12]}"
            notes.stems[event["key"]] = stem
            self.bytecode[stem] = folder / f"{event['bytecode']}{_suffix(event)}"
            self.specialisations.setdefault(stem, _entry(stem, event))
        elif event["event"] == "cuda_tile":
            self.imported_cuda_tile = True
        elif event["event"] == "left_out":
            self.left_out += 1
        else:
            failure = _failure(event)
            if failure not in self.failures:
                self.failures.append(failure)

    def read_folder(self, folder: Path, launches: int) -> None:
        """Add an earlier recording."""
        index = read_index(folder)
        self.earlier += index["runs"]
        for entry in index["specialisations"]:
            stem = plain_stem(Path(entry["bytecode"]).name.removesuffix(_suffix(entry)))
            self.bytecode.setdefault(stem, folder / Path(entry["bytecode"]).name)
            entry["bytecode"], entry["spec"] = f"{stem}{_suffix(entry)}", f"{stem}{SPEC_SUFFIX}"
            entry.pop("generalised", None)
            entry.pop("not_generalised", None)
            for launch in entry.pop("launches"):
                _add_launch(self.specialisations.setdefault(stem, {**entry, "launches": []}), launch, launches)

    def write(self, folder: Path, run: RecordedRun) -> None:
        """Fill the empty ``folder``; ``run`` (command, exit code, ...) is added to the runs in the index."""
        self._name_source_specs()
        for stem, entry in self.specialisations.items():
            shutil.copyfile(self.bytecode[stem], folder / entry["bytecode"])
            tables = _tables(entry, entry["symbol"], constants=False, prefix="")
            (folder / entry["spec"]).write_text("\n".join(tables), encoding="utf-8")
        self._write_source_specs(folder)
        index: Index = {
            "schema": SCHEMA,
            "runs": [*self.earlier, {**run, "left_out": self.left_out, "failures": self.failures}],
            "kernels": self.kernels,
            "specialisations": list(self.specialisations.values()),
        }
        (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")

    def _write_source_specs(self, folder: Path) -> None:
        """``sources/MODULE.tileverify.toml`` for ``check FILE --spec``."""
        texts: dict[str, list[str]] = {}
        for stem, entry in self.specialisations.items():
            tables = texts.setdefault(entry["source_spec"], [f"# {entry['source']['file']}\n"])
            tables += _tables(entry, entry["source"]["name"], constants=True, prefix=f"{stem.split('.')[-1]}-")
        for name, tables in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("\n".join(tables), encoding="utf-8")

    def _name_source_specs(self) -> None:
        """One spec file for each source file; equal file names are numbered."""
        names: dict[str, str] = {}
        for entry in self.specialisations.values():
            file = entry["source"]["file"]
            if file not in names:
                stem = plain_stem(Path(file).stem)
                number = sum(plain_stem(Path(other).stem) == stem for other in names) + 1
                suffix = f".{number}" if number > 1 else ""
                names[file] = f"sources/{stem}{suffix}.tileverify.toml"
            entry["source_spec"] = names[file]


def read_index(folder: Path) -> Index:
    """``index.json`` of a recording; `UsageError` if ``folder`` is not one."""
    path = folder / INDEX
    try:
        index: Index = json.loads(path.read_text(encoding="utf-8"))
        if index["schema"] != SCHEMA:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"not a recording: {INDEX} with schema {SCHEMA} is missing", file=str(folder)) from None
    return index


def _tables(entry: RecordedSpecialisation, kernel: str, *, constants: bool, prefix: str) -> Iterator[str]:
    """The launches of a specialisation, equal specs once, and what they are in general; a comment stands for each that
    TOML cannot express."""
    named: list[tuple[str, Mapping[str, object]]]
    named = [(str(position), launch) for position, launch in enumerate(entry["launches"])]
    named += [(general["name"], general) for general in entry.get("generalised", ())]
    written = set()
    options = entry["options"] if constants and is_triton(entry) else ""
    write = partial(
        launch_table,
        kernel,
        entry["parameters"],
        constants=constants,
        signature=entry["signature"],
        options=options,
    )
    for name, launch in named:
        try:
            text, essence = write(launch, name=f"{prefix}{name}"), write({**launch, "test": ""}, name="")
        except NotExpressible as reason:
            yield f"# launch {prefix}{name} of {kernel} is left out: {reason}\n"
            continue
        if essence not in written:
            written.add(essence)
            yield text


def _entry(stem: str, event: notes.NotedSpecialisation) -> RecordedSpecialisation:
    entry: RecordedSpecialisation = {
        "kernel": event["kernel"]["qualname"],
        "source": event["kernel"],
        "symbol": event["symbol"],
        "options": event["options"],
        "parameters": event["parameters"],
        "signature": event["signature"],
        "calling_convention": event["calling_convention"],
        "bytecode_version": event["bytecode_version"],
        "architecture": event["architecture"],
        "bytecode": f"{stem}{_suffix(event)}",
        "bytecode_sha256": event["bytecode"],
        "spec": f"{stem}{SPEC_SUFFIX}",
        "launches": [],
    }
    if is_triton(event):
        entry["producer"] = "triton"
    return entry


def _suffix(of: notes.Produced) -> str:
    return ".ttir" if is_triton(of) else ".tileirbc"


def _failure(event: notes.LaunchError) -> LaunchFailure:
    source = event["kernel"]
    return {
        "kernel": None if source is None else source["qualname"],
        "file": None if source is None else source["file"],
        "line": None if source is None else source["line"],
        "outcome": event["outcome"],
        "type": event["type"],
        "message": event["message"],
        "test": event["test"],
    }


def _launch(parameters: list[str], event: notes.NotedLaunch) -> RecordedLaunch:
    pairs = overlaps(parameters, event["arguments"])
    alias: WhatThereIs = {"alias": event["alias"]} if event["alias"] else {}
    return {
        "grid": event["grid"],
        "arguments": [_relocatable(argument) for argument in event["arguments"]],
        "overlaps": [{"first": p.first, "second": p.second, "same": p.same} for p in pairs],
        **alias,
        "how": event["how"],
        "test": event["test"],
    }


def _relocatable(argument: Described) -> RecordedArgument:
    """The argument without addresses, which mean nothing once the process is gone."""
    if argument["kind"] == "array":
        return _relocatable_array(argument)
    if argument["kind"] == "list":
        return {"kind": "list", "items": [_relocatable_array(item) for item in argument["items"]]}
    if argument["kind"] == "descriptor":
        return {**argument, "array": _relocatable_array(argument["array"])}
    if argument["kind"] == "tuple":
        return {**argument, "items": [_relocatable(item) for item in argument["items"]]}
    return argument


def _relocatable_array(argument: DescribedArray) -> RecordedArray:
    return cast(RecordedArray, {key: value for key, value in argument.items() if key != "address"})


def _contents(
    parameters: Sequence[str], launch: RecordedLaunch, arrays: Mapping[str, str], folder: Path
) -> dict[str, Array]:
    """What integer arrays of the launch held, by parameter."""
    found = {}
    for parameter, argument in zip(parameters, launch["arguments"], strict=True):
        if argument["kind"] == "array" and parameter in arrays:
            content = (folder / f"{arrays[parameter]}.contents").read_bytes()
            dtype = np.dtype(f"{argument['dtype'][0]}{argument['bits'] // 8}")
            found[parameter] = np.frombuffer(content, dtype).reshape(argument["shape"])
    return found


def _observe(launch: RecordedLaunch, contents: Sequence[dict[str, Array]]) -> None:
    """Note what held of all the contents with which the launch was made."""
    named = {name: [each[name] for each in contents] for name in contents[0] if all(name in each for each in contents)}
    facts = observed_facts(named)
    known = launch.get("observed")
    launch["observed"] = facts if known is None else [fact for fact in known if fact in facts]


def _add_launch(entry: RecordedSpecialisation, launch: RecordedLaunch, limit: int) -> RecordedLaunch:
    """The recorded launch that stands for this one: an equal one, if there is one."""

    def essence(launch: RecordedLaunch) -> tuple[object, ...]:
        return launch["grid"], launch["arguments"], launch["overlaps"]

    known = entry["launches"]
    for other in known:
        if essence(launch) == essence(other):
            return other
    if len(known) < limit:
        known.append(launch)
    return launch
