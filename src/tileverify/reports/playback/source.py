"""The text of reproductions: one pytest file for each refuted finding."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Iterator
from pprint import pformat

from ...contract.launch import KernelUnit
from ...results import Finding, KernelResult, PlaybackFile, SourceSite, Witness
from ...system.printable import printable
from ...system.version import __version__
from ..findings import values_text

LAUNCHES = 100
"""How often the GPU test of a file tries."""

_FILE = '''\
"""{title}

{summary}

Written by tileverify {version}; run with: pytest {name}
"""

import pytest

from tileverify import playback

ENTRY = {entry!r}
PARAMETERS = {parameters}
LAUNCH = {launch}
BYTECODE = playback.bytecode("""
{code}
""")


def test_the_fault_shows_in_the_interpreter() -> None:
    seen = playback.replay(BYTECODE, ENTRY, PARAMETERS, LAUNCH)
    assert (seen.array, seen.element) == ({array!r}, {element!r})


def test_how_often_the_fault_shows_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """Reports a number and never fails for it: what did not show is not absent."""
    reason = playback.no_device(LAUNCH, BYTECODE)
    if reason is not None:
        pytest.skip(reason)
    seen = playback.count_on_device(BYTECODE, ENTRY, PARAMETERS, LAUNCH, times={launches})
    with capsys.disabled():
        print(f"\\n{{ENTRY}}: seen {{seen}} of {launches}")
'''


def playback_files(unit: KernelUnit, result: KernelResult) -> tuple[PlaybackFile, ...]:
    """A file for each finding of ``result`` that has a witness; the bytecode is that of ``unit``."""
    return tuple(_files(unit, result))


def _files(unit: KernelUnit, result: KernelResult) -> Iterator[PlaybackFile]:
    refuted = [finding for finding in result.findings if finding.witness and finding.witness.launch]
    for number, finding in enumerate(refuted, 1):
        codes = [each.code for each in refuted]
        numbered = f"_{number}" if codes.count(finding.code) > 1 else ""
        words = (unit.file.stem, unit.kernel, unit.launch.name, finding.code)
        name = "test_" + "_".join(re.sub(r"\W+", "_", word).strip("_") for word in words) + f"{numbered}.py"
        yield PlaybackFile(name, _text(unit, result, finding, name))


def _text(unit: KernelUnit, result: KernelResult, finding: Finding, name: str) -> str:
    from . import replay

    witness = finding.witness
    assert witness is not None
    assert witness.launch is not None
    parameters = [(p.role.value, p.argument, p.dim, p.static) for p in unit.parameters]
    seen = replay(unit.bytecode, unit.symbol, parameters, witness.launch)
    return _FILE.format(
        title=_quoted(f"{finding.code} in {result.file}::{result.kernel} [{result.launch}]: {finding.sentence}."),
        summary=_quoted("\n".join(_summary(finding, witness))),
        version=__version__,
        name=name,
        entry=unit.symbol,
        parameters=pformat(parameters, width=110),
        launch=pformat(dict(witness.launch), width=110, compact=True, sort_dicts=False),
        code="\n".join(textwrap.wrap(base64.b64encode(unit.bytecode).decode("ascii"), 110)),
        array=seen.array,
        element=seen.element,
        launches=LAUNCHES,
    )


def _summary(finding: Finding, witness: Witness) -> Iterator[str]:
    numbers = {**witness.sizes, **witness.scalars, **witness.strides}
    named = "".join(f", {name} = {value}" for name, value in numbers.items())
    yield f"Launch: grid {witness.grid}{named}."
    blocks = f"block {witness.block_a}"
    if witness.block_b is not None:
        blocks = f"blocks {witness.block_a} and {witness.block_b}"
    yield f"Seen by: {witness.confirmed_by}, {blocks}, at {witness.element}."
    if values := values_text(finding):
        yield f"Values at {values}."
    for site in finding.sites:
        yield f"{site.access} of {site.array or 'memory'}: {_place(site)}"


def _place(site: SourceSite) -> str:
    return f"{site.file or '?'}:{site.line or '?'}"


def _quoted(text: str) -> str:
    """Text from the user's code, harmless inside a docstring and readable on a terminal."""
    lines = (printable(line).replace("\\", "\\\\").replace('"""', "'''") for line in text.split("\n"))
    return "\n".join(lines)
