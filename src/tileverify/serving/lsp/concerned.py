"""Which sources a changed module concerns: what they import, and what that imports, read off their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([\w \t,(*]+)|import[ \t]+([\w., \t]+))", re.M
)

Text = Callable[[Path], str]
"""The text of a file as it is shown, or as it lies there; raises OSError or UnicodeDecodeError."""


def imports(source: Path, module: Path, text: Text) -> bool:
    """Whether ``source`` imports ``module``, directly or not.

    A module that is found in another way is missed until ``source`` itself is checked again; nothing is taken from an
    earlier check then, so what is shown is late and never wrong for the text that it was about.
    """
    return any(each == module for each in imported(source, text))


def imported(source: Path, text: Text, elsewhere: Sequence[Path] = ()) -> Iterator[Path]:
    """All files that ``source`` imports, directly or not; ``elsewhere``: folders that are looked into after its own."""
    seen, ahead = {source}, [source]
    while ahead:
        for each in _imported(ahead.pop(), text, elsewhere):
            if each not in seen:
                yield each
                seen.add(each)
                ahead.append(each)


def _imported(source: Path, text: Text, elsewhere: Sequence[Path]) -> Iterator[Path]:
    """The files that it names in imports: below its folder, those of packages that it lies in, and ``elsewhere``."""
    try:
        found = _IMPORT.findall(text(source))
    except (OSError, UnicodeDecodeError):
        return
    for module, members, modules in found:
        names = [module] if module else [each.split()[0] for each in modules.split(",") if each.strip()]
        names += [f"{module.rstrip('.')}.{each}" if module.strip(".") else f"{module}{each}"
                  for each in re.findall(r"\w+", members)]  # fmt: skip
        for name in names:
            yield from _files(source, name, elsewhere)


def _files(source: Path, name: str, elsewhere: Sequence[Path]) -> Iterator[Path]:
    dots = len(name) - len(name.lstrip("."))
    parts = [part for part in name.split(".") if part]
    folders = [source.parents[dots - 1]] if 0 < dots <= len(source.parents) else [source.parent]
    if not dots:
        while (folders[-1] / "__init__.py").is_file() and folders[-1].parent != folders[-1]:
            folders.append(folders[-1].parent)
        folders += elsewhere
    for folder in folders:
        place = folder.joinpath(*parts)
        yield from (each for each in (place.with_name(f"{place.name}.py"), place / "__init__.py") if each.is_file())
