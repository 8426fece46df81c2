"""``check --changed``: which of the files that a commit touches are to be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from ..system.errors import SourceError, UsageError
from .shell import talk

if TYPE_CHECKING:
    from ..pipeline.configuration import Configuration

_SETTINGS: Final = "pyproject.toml"


def changed_targets(files: Sequence[str], settings: Configuration) -> tuple[str, ...]:
    """The sources with kernels among ``files``, and those whose launch specs are; ``paths`` where settings changed.

    Files that are gone, and those that the configuration excludes, are left out.  What imports a changed file is not
    looked for.
    """
    targets: dict[str, None] = {}
    for name in files:
        path = Path(name)
        if path.name == _SETTINGS:
            targets.update(dict.fromkeys(settings.paths))
        for source in _sources(path):
            if source.is_file() and not settings.excludes(source) and _may_hold_kernels(source):
                targets[str(source)] = None
    return tuple(targets)


def nothing_to_check(context: click.Context, *, changed: bool) -> NoReturn:
    """Without paths: no error where they are what changed, else `UsageError`."""
    if not changed:
        raise UsageError("no PATH given: name a file, a folder or FILE::KERNEL, or `paths` in [tool.tileverify]")
    talk("nothing to check: no changed file holds kernels")
    context.exit(0)


def _sources(path: Path) -> Iterator[Path]:
    """The file itself, or what a launch spec stands beside."""
    from ..contract.spec_files import SPEC_SUFFIX

    if not path.name.endswith(SPEC_SUFFIX):
        yield path
        return
    stem = path.name.removesuffix(SPEC_SUFFIX)
    if path.parent.is_dir():
        yield from sorted(each for each in path.parent.iterdir() if each.stem == stem)


def _may_hold_kernels(source: Path) -> bool:
    from ..frontend.sources.bytecode_file import is_bytecode
    from ..frontend.sources.python_scan import scan_python
    from ..frontend.sources.tile_cpp import holds_tile_code

    if source.suffix == ".py":
        try:
            scan = scan_python(source)
        except SourceError:
            return True  # for `check` to complain about
        return scan.may_hold_kernels or bool(scan.nested)
    return holds_tile_code(source) if source.suffix == ".cu" else is_bytecode(source)
