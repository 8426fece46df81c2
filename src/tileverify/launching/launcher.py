"""`tileverify.launch`: every launch of a program is covered by a proof, or is not made."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..backend.launch import LaunchRefused
from ..backend.launch.arguments import Grid
from ..check import CheckOptions
from ..errors import UsageError
from . import calls, on_cpu
from .calls import Kernel
from .proofs import Proof, Specialisation, broken_fact

STRICT: Final = "TILEVERIFY_STRICT"
"""With this environment variable set to anything but 0, nothing runs unproved."""


@dataclass(frozen=True, slots=True)
class Exception_:
    """Placeholder."""


@dataclass
class Launcher:
    """All kernels that a process launches, and what was proved of them."""

    options: CheckOptions = field(default_factory=CheckOptions)
    _known: dict[Any, Specialisation] = field(default_factory=dict)
    _kernels: dict[int, Kernel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
