"""Reproductions of refuted findings: pytest files that replay a witness by themselves.

A file holds the bytecode, the meaning of the entry's parameters and the launch; `replay` runs it in the reference
interpreter, `count_on_device` on a GPU where there is one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ...backend.replay.replay import Replayer
from ...contract.launch import ConcreteLaunch, EntryParameter, KernelUnit, Role
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Module
from ...results.claim import Claim, Confirmation, claim_from_json
from ...results.json_report import Json
from ...system.errors import UsageError


def no_device(launch: dict[str, object], code: bytes = b"") -> str | None:
    """Why ``launch``, of the kernel with the bytecode ``code``, cannot be tried on a GPU here; ``None`` if it can."""
    from .device import no_device as reason

    return reason(launch, code)


def count_on_device(
    code: bytes, entry: str, parameters: list[tuple[str, str, int | None, int | None]], launch: dict[str, object],
    *, times: int,
) -> int:  # fmt: skip
    """In how many of ``times`` launches the memory ended up different from what most of them left.

    Never a proof of absence: a race that does not show today may show on another device or under another load.
    """
    from .device import count

    return count(code, entry, parameters, launch, times)


# ------------------------------------------------------------------------------------------------------------ replaying
# What a reproduction runs: its launch in the reference interpreter.


Parameter: TypeAlias = tuple[str, str, int | None, int | None]
"""Role, argument, dimension, compiled-in value of an `EntryParameter`."""


class FaultNotSeen(AssertionError):
    """The launch ran (or could not), and the fault did not show."""


def bytecode(text: str) -> bytes:
    """The bytes of base64 ``text``, which may hold line breaks.  Raises `UsageError` for anything else."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise UsageError(f"the bytecode of this reproduction is not base64: {error}") from None


def replay(code: bytes, entry: str, parameters: Sequence[Parameter], launch: Mapping[str, object]) -> Confirmation:
    """Run the launch and return the fault as it was seen; the same every time.

    :raises FaultNotSeen: it did not show; the text says why.
    :raises UsageError: the launch is none, or the bytecode has no such entry.
    """
    module, concrete, claim = load(code, entry, launch)
    replayer = Replayer(module, entry, entry_parameters(parameters))
    seen = replayer(concrete, claim)
    if seen is None:
        raise FaultNotSeen(f"{claim.code} did not show in this launch: {replayer.last_reason}")
    return seen


def load(code: bytes, entry: str, launch: Mapping[str, object]) -> tuple[Module, ConcreteLaunch, Claim]:
    """The parts of a reproduction; errors as of `replay`."""
    module = decode(code, file="reproduction")
    if entry not in [each.name for each in module.entries]:
        raise UsageError(f"the bytecode of this reproduction has no entry '{entry}'")
    try:
        return module, *claim_from_json(launch)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the launch of this reproduction is incomplete: {error!r}") from None


def entry_parameters(parameters: Sequence[Parameter]) -> tuple[EntryParameter, ...]:
    """Raises `UsageError` for a role that there is not."""
    try:
        return tuple(EntryParameter(Role(role), name, dim, static) for role, name, dim, static in parameters)
    except ValueError as error:
        raise UsageError(f"a parameter of this reproduction is unknown: {error}") from None


# ---------------------------------------------------------------------------------------------------------------- saved
# Witnesses of a saved JSON report, replayed on the kernels that it speaks of.


@dataclass(frozen=True, slots=True)
class Replayed:
    """A refuted finding, ``code`` of a kernel under a launch spec, as it was ``seen`` again."""

    file: str
    kernel: str
    launch: str
    code: str
    seen: Confirmation


def replay_report(document: Json, *, spec: Path | None = None) -> Iterator[Replayed]:
    """Replay every witness of a report of ``check --format json``, with its files where the report says they are.

    ``spec``: the file that ``check --spec`` was given.

    :raises FaultNotSeen: a fault did not show.
    :raises UsageError: a kernel is no longer there, or compiles to other bytecode than the report speaks of.
    """
    for result in document["results"]:
        refuted = [finding for finding in result["findings"] if "launch" in finding.get("witness", {})]
        if not refuted:
            continue
        names = result["file"], result["kernel"], result["launch"]
        unit = unit_of(*names, result["bytecode_sha256"], spec)
        for finding in refuted:
            seen = replay_of(unit, finding["witness"]["launch"])
            yield Replayed(result["file"], result["kernel"], result["launch"], finding["code"], seen)


def replay_of(unit: KernelUnit, launch: Mapping[str, object]) -> Confirmation:
    """The launch of a witness, run again; raises `FaultNotSeen`."""
    parameters = [(p.role.value, p.argument, p.dim, p.static) for p in unit.parameters]
    return replay(unit.bytecode, unit.symbol, parameters, launch)


def unit_of(file: str, kernel: str, launch: str, bytecode_sha256: str, spec: Path | None) -> KernelUnit:
    """The kernel of a result, compiled again.  Raises `UsageError` if it is gone, or another one."""
    from ...frontend.sources.discover import discover

    for unit in discover([f"{file}::{kernel}"], spec_file=spec):
        if isinstance(unit, KernelUnit) and (unit.kernel, unit.launch.name) == (kernel, launch):
            if hashlib.sha256(unit.bytecode).hexdigest() != bytecode_sha256:
                raise UsageError(f"{file}::{kernel} [{launch}] is not what the report speaks of; check it again")
            return unit
    raise UsageError(f"{file}::{kernel} [{launch}], which the report speaks of, is not there any more")
