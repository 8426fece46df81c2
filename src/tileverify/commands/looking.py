"""The commands that show what a kernel does and verify nothing: ``footprint`` and ``dis``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..system.errors import UsageError
from ..system.printable import printable
from .options import architectures, writable
from .shell import Working, emit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..contract.launch import KernelUnit


@click.command()
@click.argument("target", metavar="FILE::KERNEL")
@click.option(
    "--bytes", "bytes_", is_flag=True, help="Count the bytes that a launch moves, and the least that it has to move."
)
@click.option(
    "--at", "sizes", multiple=True, metavar="M=4096,N=4096", help="With --bytes, count at these sizes; implies it."
)
@click.option(
    "--compiled", multiple=True, metavar="SM", help="Show what tileiras says of each access for sm_80 to sm_121."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def footprint(
    target: str,
    bytes_: bool,
    sizes: tuple[str, ...],
    compiled: tuple[str, ...],
    format_: str,
    spec: Path | None,
    output: Path | None,
) -> None:
    """Show what a kernel reads and writes, as the verifier sees it.

    Array, kind of access, index terms over block id, loop and lane names, guards, tokens and source lines. With
    --bytes, how many bytes a launch moves: every access counts in every block, iteration and lane. The least is each
    byte once.
    """
    from .run import pairs, whole

    writable(output)
    given = pairs("--at", [each for text in sizes for each in text.split(",")])
    at = {name: whole(f"--at {name}", value) for name, value in given}
    asked = _Asked(at if bytes_ or at else None, architectures(compiled))
    if format_ == "json":
        if asked.at is None and not asked.compiled:
            raise UsageError("--format json: say --bytes or --compiled, too; index terms have no JSON")
        documents = [_described(unit, asked) for unit in _units(target, spec)]
        emit(json.dumps(documents, indent=2) + "\n", output)
    else:
        emit("\n".join(_footprint_text(unit, asked) for unit in _units(target, spec)), output)


@dataclass(frozen=True)
class _Asked:
    """``at``: sizes at which bytes are counted, ``None`` where they are not; ``compiled``: architectures."""

    at: Mapping[str, int] | None
    compiled: tuple[str, ...]


def _footprint_text(unit: KernelUnit, asked: _Asked) -> str:
    from ..frontend.bytecode import decode
    from ..frontend.symbolic.printed import footprint_text
    from ..pipeline import summary_of
    from ..pipeline.unit_traffic import access_remarks, unit_traffic
    from ..reports.traffic_tables import remark_lines, traffic_lines

    parts = [_heading(unit)]
    if asked.at is None and not asked.compiled:
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(footprint_text(summary_of(module, unit)).rstrip())
    if asked.at is not None:
        parts += map(printable, traffic_lines(unit_traffic(unit, asked.at)))
    for architecture in asked.compiled:
        parts += map(printable, remark_lines(architecture, access_remarks(unit, architecture)))
    return "\n".join(parts) + "\n"


def _described(unit: KernelUnit, asked: _Asked) -> dict[str, Any]:
    from ..pipeline.unit_traffic import access_remarks, unit_traffic
    from ..reports.traffic_tables import remarks_document, traffic_document
    from ..system.paths import display_path

    row: dict[str, Any] = {"file": display_path(unit.file), "kernel": unit.kernel, "launch": unit.launch.name}
    if asked.at is not None:
        row["bytes"] = traffic_document(unit_traffic(unit, asked.at))
    if asked.compiled:
        row["compiled"] = {each: remarks_document(access_remarks(unit, each)) for each in asked.compiled}
    return row


@click.command()
@click.argument("target", metavar="FILE")
@click.option("--locations", is_flag=True, help="Add the source position to every op.")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def dis(target: str, locations: bool, spec: Path | None, output: Path | None) -> None:
    """Print Tile IR bytecode as text.

    FILE is bytecode, or a source (also FILE::KERNEL) that is compiled for its launches first.
    """
    from ..frontend.bytecode import decode, print_module

    writable(output)
    path = Path(target)
    if path.is_file() and path.suffix not in (".py", ".cu"):
        emit(print_module(decode(_read(path), file=target), locations=locations), output)
        return
    parts = []
    for unit in _units(target, spec):
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(f"// {_heading(unit)}\n{print_module(module, locations=locations)}")
    emit("\n".join(parts), output)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None


def _units(target: str, spec: Path | None) -> Iterator[KernelUnit]:
    from ..frontend.sources.discover import SourceFailure, discover

    with Working(live=False):
        found = list(discover([target], spec_file=spec))
    for item in found:
        if isinstance(item, SourceFailure):
            raise item.error
        yield item


def _heading(unit: KernelUnit) -> str:
    from ..system.paths import display_path

    return printable(f"{display_path(unit.file)}::{unit.kernel} [{unit.launch.name}]")
