"""What goes between the gate and its worker in front of the bytes: orders, how a job ended, what stands around it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec


class JobKind(StrEnum):
    """What a confined process can be asked for."""

    COMPILE = "compile"
    PROVE = "prove"
    TRY = "try"
    EXACT = "exact"
    PROPOSE = "propose"


class CutOff(StrEnum):
    """The limit that the worker itself watches, where a job broke it."""

    WALL = "wall"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one job may use: seconds of the processor and of the clock; bytes of address space beyond what the worker
    has, and of output."""

    cpu_s: int
    wall_s: float
    memory: int
    output: int


@dataclass(frozen=True, slots=True)
class JobOrder:
    """One job.  ``request``: the JSON of what it is asked, which the confined child alone reads."""

    job: JobKind
    limits: JobLimits
    request: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended.  ``stopped``: the limit that cut it off; ``signal``: what killed it, or 0; ``exit``: its
    status."""

    stopped: CutOff | None
    signal: int
    exit: int
    cpu_s: float
    memory_kib: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Walls:
    """The worker's first message: the layers around it, and what is wrong with them, if anything is."""

    layers: tuple[str, ...]
    broken: str | None
