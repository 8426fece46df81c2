"""Which general launches are worth keeping: those that are proved, under clauses that the recorded launches keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ..backend.audit.legal_launches import tile_sizes
from ..backend.guard.arguments import Grid
from ..contract.as_table import NotExpressible
from ..frontend.bytecode import decode
from ..hook.described_launch import ConstraintWords, Described, DescribedArray
from ..launching.calls import named_values
from ..launching.proofs import proof_of, touched_by
from ..pipeline import CheckOptions
from ..pipeline.unit_check import check_unit
from ..pipeline.unit_summary import entry_of
from ..results import Verdict
from ..system.errors import TileVerifyError, UsageError
from .generalise import GeneralLaunch, general_launches, items_of
from .grid_trials import with_meant_grid
from .recorded import (
    Generalised,
    NotGeneralised,
    RecordedArgument,
    RecordedArray,
    RecordedLaunch,
    RecordedSpecialisation,
)
from .unit_of_launch import unit_of_launch

MOST_PROOFS: Final = 4
"""Of general launches of one kernel, over all its specialisations."""

_PAGE: Final = 4096


def generalise(
    specialisations: Mapping[str, RecordedSpecialisation], bytecode: Mapping[str, Path], options: CheckOptions
) -> None:
    """Add to each specialisation (as in ``index.json``, by stem) its general launches: ``generalised``, ready for
    `spec.launch_table`, and ``not_generalised``, each with the reason."""
    proofs: Counter[str] = Counter()
    for stem, entry in specialisations.items():
        if len(entry["launches"]) < 2:
            continue
        kernel = entry["source"]["id"]
        kept: list[Generalised] = []
        left: list[NotGeneralised] = []
        attempts = _Attempts(entry, bytecode[stem].read_bytes(), options)
        for fitted in attempts.launches():
            proofs[kernel] += 1
            if proofs[kernel] > MOST_PROOFS:
                left.append({"launches": fitted.positions, "why": f"the kernel has had {MOST_PROOFS} proofs"})
                continue
            try:
                general = attempts.with_grid(fitted)
                clauses = attempts.proved(general)
            except TileVerifyError as error:
                left.append({"launches": fitted.positions, "why": str(error)})
                continue
            name = f"general-{len(kept) + 1}" if kept else "general"
            kept.append(
                {
                    "name": name,
                    "launches": general.positions,
                    "names": general.names,
                    "clauses": clauses,
                    **general.launch,
                }
            )
        if kept:
            entry["generalised"] = kept
        if left:
            entry["not_generalised"] = left


@dataclass(slots=True)
class _Attempts:
    """On one specialisation; ``written``: the arrays that its kernel writes, once its launches are known."""

    entry: RecordedSpecialisation
    bytecode: bytes
    options: CheckOptions
    written: frozenset[str] = frozenset()

    def launches(self) -> list[GeneralLaunch]:
        """None for a kernel that the tool cannot read."""
        try:
            unit = unit_of_launch(self.entry, self.bytecode, self.entry["launches"][0])
            self.written = touched_by(unit).written
            tiles = tile_sizes(entry_of(decode(self.bytecode, file=str(unit.file)), unit))
        except (TileVerifyError, NotExpressible):
            return []
        return list(general_launches(self.entry, self.written, tiles))

    def with_grid(self, general: GeneralLaunch) -> GeneralLaunch:
        """With the grid that was meant, or any; raises a `TileVerifyError`."""
        return with_meant_grid(general, partial(unit_of_launch, self.entry, self.bytecode), self.written)

    def proved(self, general: GeneralLaunch) -> list[str]:
        """The clauses of the proof; raises a `TileVerifyError` where there is none that admits what was recorded."""
        unit = unit_of_launch(self.entry, self.bytecode, general.launch)
        result = check_unit(unit, self.options)
        if result.verdict is not Verdict.PROVED:
            first = f": {result.findings[0].message} [{result.findings[0].code}]" if result.findings else ""
            raise UsageError(f"in general it is {result.verdict.value}{first}")
        guard = proof_of(unit, result).guard
        assert guard is not None  # there are no lists in it
        for position in general.positions:
            launch = self.entry["launches"][position]
            x, y, z = launch["grid"]
            grid: Grid = (x, y, z)
            values = dict(named_values(self.entry["parameters"], list(_placed(self.entry, launch))))
            guard.check(list(values.values()), grid)
        return list(result.requires)


def _placed(entry: RecordedSpecialisation, launch: RecordedLaunch) -> Iterator[Described]:
    """The arguments with addresses, which a recording forgets: arrays apart from each other, except those that were
    one array, each as aligned as the JIT saw it, and no better."""
    same = {pair["second"]: pair["first"] for pair in launch["overlaps"] if pair["same"]}
    addresses: dict[str, int] = {}
    end = _PAGE

    def placed(name: str, argument: RecordedArray, constraint: ConstraintWords) -> DescribedArray:
        nonlocal end
        first = same.get(name, name)
        if first not in addresses:
            last = sum((n - 1) * step for n, step in zip(argument["shape"], argument["strides"], strict=True))
            addresses[first] = end + argument.get("aligned", constraint.get("base_addr_divisible_by", 1)) % _PAGE
            end += (max(0, last + 1) * argument["bits"] // 8 // _PAGE + 2) * _PAGE
        addresses[name] = addresses[first]
        return {**argument, "address": addresses[name]}

    def place(name: str, argument: RecordedArgument, constraint: ConstraintWords) -> Described:
        if argument["kind"] == "array":
            return placed(name, argument, constraint)
        if argument["kind"] == "tuple":
            fields = argument.get("fields")
            paths = [f".{field}" for field in fields] if fields else [f"[{n}]" for n in range(len(argument["items"]))]
            parts = zip(paths, argument["items"], items_of(constraint), strict=True)
            return {**argument, "items": [place(f"{name}{path}", item, each) for path, item, each in parts]}
        assert argument["kind"] != "list"  # launches with lists are left as they are
        return argument

    named = zip(entry["parameters"], launch["arguments"], entry["signature"], strict=True)
    yield from (place(name, argument, constraint) for name, argument, constraint in named)
