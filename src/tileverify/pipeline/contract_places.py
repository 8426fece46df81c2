"""Where the lines of a launch spec stand that a message about a contradictory contract (TV004) names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..contract.launch import LaunchSpec
from ..contract.written_keys import WrittenKey, place_of
from ..contract.written_places import keys_of_launch
from ..results import Finding, SourceSite
from ..results.codes import TV

_NAMED: Final = re.compile(r"`([^`]+)`")


def with_places(findings: tuple[Finding, ...], launch: LaunchSpec) -> tuple[Finding, ...]:
    """``findings``, of which those on the contract have a site for each line of it that they name, in the file's
    order."""
    if not launch.file or launch.line is None or all(each.code != TV.CONTRADICTORY_CONTRACT for each in findings):
        return findings
    keys = keys_of_launch(launch.file, launch.line)

    def placed(finding: Finding) -> Finding:
        if finding.code != TV.CONTRADICTORY_CONTRACT or finding.sites:
            return finding
        places: list[tuple[int, int | None]] = sorted(set(_places(launch, finding.message, keys)))
        places = places or [(launch.line or 1, None)]
        return replace(finding, sites=tuple(SourceSite(launch.file, *place, access="", array="") for place in places))

    return tuple(map(placed, findings))


def _places(launch: LaunchSpec, message: str, keys: tuple[WrittenKey, ...]) -> Iterator[tuple[int, int]]:
    from ..verifier.contradiction import lines_of

    named = set(_NAMED.findall(message))
    for line in lines_of(launch):
        if line.text in named:
            fields = {"grid": "grid", "args": f"args.{line.text.partition(' = ')[0]}"}
            place = place_of(keys, fields.get(line.kind, f"{line.kind}[{line.place}]"), "")
            if place is not None:
                yield place
