"""Witnesses of a saved JSON report, replayed on the kernels that it speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...contract.launch import KernelUnit
from ...results.claim import Confirmation
from ...results.documents import Json
from ...system.errors import UsageError
from .replaying import replay


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
