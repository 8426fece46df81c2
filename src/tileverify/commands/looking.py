"""The commands that show what a kernel does and verify nothing: ``footprint`` and ``dis``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..system.errors import UsageError
from .options import writable
from .shell import Working, emit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..contract.launch import KernelUnit


@click.command()
@click.argument("target", metavar="FILE::KERNEL")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def footprint(target: str, spec: Path | None, output: Path | None) -> None:
    """Show what a kernel reads and writes, as the verifier sees it.

    Array, kind of access, index terms over block id, loop and lane names, guards, tokens and source lines.
    """
    from ..frontend.bytecode import decode
    from ..frontend.symbolic.printed import footprint_text
    from ..pipeline import summary_of

    writable(output)
    parts = []
    for unit in _units(target, spec):
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(f"{_heading(unit)}\n{footprint_text(summary_of(module, unit)).rstrip()}\n")
    emit("\n".join(parts), output)


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
    from ..system.printable import printable

    return printable(f"{display_path(unit.file)}::{unit.kernel} [{unit.launch.name}]")
