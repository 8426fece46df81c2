"""A recorded launch as what the verifier is given, and what is known of its arrays without a proof."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..contract.as_table import NotExpressible, launch_table
from ..contract.launch import KernelUnit
from ..contract.spec import build_launch
from ..contract.spec_files import raw_launch
from ..frontend.bytecode import decode
from ..frontend.sources.bytecode_file import bytecode_entries, entry_unit
from ..pipeline.unit_summary import summary_of
from ..system.errors import TileVerifyError
from .recorded import GeneralWords, RecordedLaunch, RecordedSpecialisation


def unit_of_launch(entry: RecordedSpecialisation, bytecode: bytes, launch: RecordedLaunch | GeneralWords) -> KernelUnit:
    """Raises a `TileVerifyError`, or `NotExpressible` for what a spec cannot say."""
    symbol, file = entry["symbol"], Path(entry["bytecode"])
    table = launch_table(symbol, entry["parameters"], launch, constants=False, name="general")
    spec = build_launch(raw_launch(tomllib.loads(table)["launch"][0], str(file), None, 0), "general", None)
    known = next(each for each in bytecode_entries(bytecode, file) if each.symbol == symbol)
    return entry_unit(known, spec)


def only_read(entry: RecordedSpecialisation, bytecode: bytes) -> frozenset[str]:
    """The array parameters that no block writes; none of a kernel that the tool cannot read."""
    try:
        unit = unit_of_launch(entry, bytecode, entry["launches"][0])
        return summary_of(decode(bytecode, file=str(unit.file)), unit).stable_arrays
    except (TileVerifyError, NotExpressible):
        return frozenset()
