"""NVIDIA's ``tileirdisasm`` as an oracle: find it, run it, and compare its text with the printer's."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.toolkit import find_tool

from tileverify.frontend.bytecode import print_module
from tileverify.frontend.bytecode.model import Module

VARIABLE = "TILEIRDISASM"
_DEFINITION = re.compile(r"^(#[\w$.-]+) = (.*)$")
_REFERENCE = re.compile(r" loc\((#[\w$.-]+|unknown)\)$")
_VALUE = re.compile(r"%[\w$.-]+")


def find_disassembler() -> Path | None:
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else find_tool("tileirdisasm")


class Refused(Exception):
    """The disassembler does not accept the file; ``too_new`` if only because it is older than the file's version."""

    @property
    def too_new(self) -> bool:
        return "unsupported Tile version" in str(self)


def disassemble(file: Path, tool: Path, *, locations: bool = False) -> str:
    """Its text for ``file``; with ``locations`` every alias is replaced by the position that it stands for."""
    command = [str(tool), *(["-g"] if locations else []), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise Refused(done.stderr.strip())
    return resolve_locations(done.stdout) if locations else done.stdout


def resolve_locations(text: str) -> str:
    lines = text.splitlines()
    aliases = {match[1]: match[2] for line in lines if (match := _DEFINITION.match(line))}
    resolved = []
    for line in lines:
        if _DEFINITION.match(line):
            continue
        match = _REFERENCE.search(line)
        if match:
            frames = _frames(match[1], aliases)
            position = frames[-1]
            for frame in reversed(frames[:-1]):
                position = f"callsite({frame} at {position})"
            line = f"{line[: match.start()]} loc({position})"
        resolved.append(line)
    return "\n".join(resolved) + "\n"


def _frames(reference: str, aliases: dict[str, str]) -> list[str]:
    """The positions that an alias stands for, innermost first."""
    if reference in aliases:
        return _frames(aliases[reference], aliases)
    if match := re.fullmatch(r"loc\((.*)\)", reference):
        return _frames(match[1], aliases)
    if match := re.fullmatch(r"#cuda_tile\.di_loc<(\S+) in \S+>", reference):
        return _frames(match[1], aliases)
    if match := re.fullmatch(r"callsite\((\S+) at (\S+)\)", reference):
        return _frames(match[1], aliases) + _frames(match[2], aliases)
    return [reference]


def without_names(text: str) -> str:
    """The text with values numbered by first appearance, for tools that choose other names."""
    numbers: dict[str, int] = {}
    return _VALUE.sub(lambda match: f"%{numbers.setdefault(match[0], len(numbers))}", text)


def difference(module: Module, theirs: str, *, locations: bool = False) -> list[str]:
    """Lines that differ, as pairs of ours and theirs; values may be named differently."""
    ours = without_names(print_module(module, locations=locations)).splitlines()
    other = without_names(theirs).splitlines()
    lines = [f"- {b}\n+ {a}" for a, b in zip(ours, other, strict=False) if a != b]
    if len(ours) != len(other):
        lines.append(f"{len(ours)} lines instead of {len(other)}")
    return lines
