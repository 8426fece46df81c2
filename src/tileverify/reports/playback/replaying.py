"""What a reproduction runs: its launch in the reference interpreter."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...backend.replay.replay import Replayer
from ...contract.concrete import ConcreteLaunch
from ...contract.launch import EntryParameter, Role
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Module
from ...results.claim import Claim, Confirmation, claim_from_json
from ...system.errors import UsageError

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
