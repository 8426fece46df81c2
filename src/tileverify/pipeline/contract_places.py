"""Where the lines of a launch spec stand that a message about a contradictory contract (TV004) names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..contract.launch import LaunchSpec
from ..contract.written_calls import keys_of_call
from ..contract.written_keys import WrittenKey, place_of, written_keys
from ..results import Finding, SourceSite
from ..results.codes import TV
from ..system.readings import text_of

_NAMED: Final = re.compile(r"`([^`]+)`")


def with_places(findings: tuple[Finding, ...], launch: LaunchSpec) -> tuple[Finding, ...]:
    """``findings``, of which those on the contract have a site for each line of it that they name, in the file's
    order."""
    if not launch.file or launch.line is None or all(each.code != TV.CONTRADICTORY_CONTRACT for each in findings):
        return findings
    keys = _keys(launch.file, launch.line)

    def placed(finding: Finding) -> Finding:
        if finding.code != TV.CONTRADICTORY_CONTRACT or finding.sites:
            return finding
        places: list[tuple[int, int | None]] = sorted(set(_places(launch, finding.message, keys)))
        places = places or [(launch.line or 1, None)]
        return replace(finding, sites=tuple(SourceSite(launch.file, *place, access="", array="") for place in places))

    return tuple(map(placed, findings))


def _keys(file: str, line: int) -> tuple[WrittenKey, ...]:
    """Of the launch whose header, or decorator, stands at ``line``; none in what has changed beyond that."""
    if Path(file).suffix != ".toml":
        return keys_of_call(file, line, ())
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = text_of(Path(file))
        if line <= text.count("\n"):
            return written_keys(text, line)
    return ()


def _places(launch: LaunchSpec, message: str, keys: tuple[WrittenKey, ...]) -> Iterator[tuple[int, int]]:
    from ..verifier.contradiction import lines_of

    named = set(_NAMED.findall(message))
    for line in lines_of(launch):
        if line.text in named:
            fields = {"grid": "grid", "args": f"args.{line.text.partition(' = ')[0]}"}
            place = place_of(keys, fields.get(line.kind, f"{line.kind}[{line.place}]"), "")
            if place is not None:
                yield place
