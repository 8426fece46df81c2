"""A launch spec as the TOML that reads back as it: one ``[[launch]]`` table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from .data_facts import print_data_fact
from .descriptions import print_description
from .launch import LaunchSpec

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def spec_text(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str] = ()) -> str:
    """The table for ``launch`` under ``name``, with ``requires`` behind its own conditions and remarks above it."""
    return "".join(f"{line}\n" for line in _lines(launch, name, requires, remarks))


def _lines(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str]) -> Iterator[str]:
    yield from (f"# {' '.join(remark.split())}" for remark in remarks)
    yield "[[launch]]"
    yield f"kernel = {_string(launch.kernel)}"
    yield f"name = {_string(name)}"
    if launch.origin != "written":
        yield f"origin = {_string(launch.origin)}"
    if launch.grid_text:
        yield f"grid = {_strings(launch.grid_text)}"
    if launch.names:
        yield f"names = {_strings(launch.names)}"
    yield from _list("requires", tuple(dict.fromkeys((*launch.requires_text, *requires))))
    yield from _list("data", [fact.text or print_data_fact(fact) for fact in launch.data])
    for key, groups in (("alias", launch.alias), ("overlap", launch.overlap)):
        if groups:
            yield f"{key} = [{', '.join(_strings(sorted(group)) for group in groups)}]"
    yield from _list("trust", launch.trust)
    yield ""
    yield "[launch.args]"
    for argument in launch.arguments:
        key = argument.name if _BARE_KEY.fullmatch(argument.name) else _string(argument.name)
        yield f"{key} = {print_description(argument)}"


def _list(key: str, texts: Sequence[str]) -> Iterator[str]:
    """One line, or one for each text where there are several."""
    if len(texts) > 1:
        yield f"{key} = ["
        yield from (f"    {_string(text)}," for text in texts)
        yield "]"
    elif texts:
        yield f"{key} = {_strings(texts)}"


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
