"""Recorded launches as launch specs in TOML (``docs``: "Launch specs").

A spec for bytecode names the entry symbol and leaves constants out; a spec for the source names the function and has
a value for every ``ct.Constant``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import gcd, lcm
from typing import Any, Final

from .element_types import ELEMENT_TYPES
from .scope import LARGEST_ALIGNMENT

Recorded = Mapping[str, Any]


MOST_LISTED: Final = 64
"""Arrays of a list that are described one by one."""


class NotExpressible(Exception):
    """A recorded argument that launch specs have no words for."""


def launch_table(
    kernel: str,
    names: Sequence[str],
    launch: Recorded,
    *,
    constants: bool,
    name: str,
    signature: Sequence[Recorded] | None = None,
    options: str = "",
) -> str:
    """One ``[[launch]]`` for a recorded launch (``grid``, ``arguments``, ``overlaps``, ``test``), or for several in
    one (`generalise`), whose numbers may be expressions.

    ``constants`` says whether constant parameters are written; ``signature``: what the compiler was promised of each
    parameter, if it was; ``options``: those of Triton's compiler, as a table.  Raises `NotExpressible`.
    """
    arguments = []
    for parameter, argument, constraint in zip(names, launch["arguments"], signature or repeat({}), strict=False):
        text = _argument(argument, parameter, constants, constraint)
        if text is not None:
            arguments.append(f"{_key(parameter)} = {text}")
    lines = ["[[launch]]", f"kernel = {_string(kernel)}", f"name = {_string(name)}", 'origin = "recorded"']
    if launch["grid"] is not None:
        grid = [str(axis) for axis in launch["grid"]]
        while len(grid) > 1 and grid[-1] == "1":
            grid.pop()
        lines.append(f"grid = {_strings(grid)}")
    if options:
        lines.append(f"options = {options}")
    requires = list(_requires(names, launch, signature or repeat({})))
    if requires:
        lines.append(f"requires = {_strings(requires)}")
    if launch["overlaps"]:
        pairs = [dict.fromkeys((pair["first"], pair["second"])) for pair in launch["overlaps"]]
        groups = ", ".join(_strings(list(pair)) for pair in pairs)
        lines.append(f"overlap = [{groups}]")
    if launch.get("alias"):
        lines.append(f"alias = [{', '.join(map(_strings, launch['alias']))}]")
    if launch.get("observed"):
        lines.append(f"observed = {_strings(launch['observed'])}")
    if launch.get("test"):
        lines.insert(0, f"# recorded in {' '.join(launch['test'].split())}")
    if launch.get("remark"):
        lines.insert(0, f"# {launch['remark']}")
    return "\n".join([*lines, "", "[launch.args]", *arguments, ""])


def _requires(names: Sequence[str], launch: Recorded, signature: Iterable[Recorded]) -> Iterator[str]:
    yield from (f"{pair['first']} is {pair['second']}" for pair in launch["overlaps"] if pair["same"])
    yield from launch.get("requires", ())
    for parameter, argument, constraint in zip(names, launch["arguments"], signature, strict=False):
        yield from _of_lists(parameter, argument, constraint)
    yield from _alignments(names, launch["arguments"])


def _argument(argument: Recorded, name: str, constants: bool, constraint: Recorded) -> str | None:
    """The TOML value that describes ``argument``; ``None`` for a constant that is left out."""
    kind = argument["kind"]
    if kind == "array":
        return _string(array_text(argument, name))
    if kind == "scalar":
        return _string(_scalar_text(argument))
    if kind == "constant":
        return _constant(argument) if constants else None
    if kind == "list":
        element = _list_element(argument["items"], name, constraint)
        length = _string(str(len(argument["items"])))
        return f"{{ list = {_string(element)}, length = {length}{_elements(argument['items'])} }}"
    if kind == "descriptor":
        return f"{{ desc = {_string(array_text(argument['array'], name))}, block = {argument['block']} }}"
    if kind == "tuple":
        return _tuple(argument, name, constants, constraint)
    raise NotExpressible(f"{name} is a {argument.get('type', kind)}")


def _tuple(argument: Recorded, name: str, constants: bool, constraint: Recorded) -> str | None:
    fields = argument.get("fields") or [None] * len(argument["items"])
    texts: list[str] = []
    constraints = constraint.get("items", constraint.get("fields", repeat({})))
    for field, item, each in zip(fields, argument["items"], constraints, strict=False):
        text = _argument(item, f"{name}_{field or len(texts)}", constants, each)
        if text is not None:
            texts.append(f"{field} = {text}" if field else text)
    if not texts and argument["items"]:
        return None
    return f"{{ {', '.join(texts)} }}" if argument.get("fields") else f"[{', '.join(texts)}]"


def _alignments(names: Sequence[str], arguments: Sequence[Recorded]) -> list[str]:
    """What is known of the addresses that arrays behind plain pointers have."""
    known = zip(names, arguments, strict=False)
    return [f"{name}.address % {each['aligned']} == 0" for name, each in known if each.get("aligned", 1) > 1]


def array_text(argument: Recorded, name: str) -> str:
    """``f16[64, 128]``, with ``strides=`` where the array is not contiguous and ``index=i64`` for wide sizes."""
    return _array_text(argument["dtype"], argument["shape"], argument["strides"], argument["index_bits"])


def _array_text(dtype: str, shape: Sequence[object], strides: Sequence[object] | None, index_bits: int) -> str:
    if dtype not in ELEMENT_TYPES:
        raise NotExpressible(f"its elements are of type {dtype}")
    options = []
    if strides is not None and not is_contiguous(shape, strides):
        comma = "," if len(strides) == 1 else ""
        options.append(f"strides=({', '.join(map(str, strides))}{comma})")
    if index_bits == 64:
        options.append("index=i64")
    return f"{dtype}[{', '.join(map(str, shape))}{''.join('; ' + option for option in options)}]"


def is_contiguous(shape: Sequence[object], strides: Sequence[object]) -> bool:
    """Row-major without gaps.  The stride of a dimension of size 1 reaches no element and may be anything."""
    if not all(isinstance(value, int) for value in (*shape, *strides)):
        return False
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size  # type: ignore[operator]
    return True


def _of_lists(path: str, argument: Recorded, constraint: Recorded) -> Iterator[str]:
    """What the compiler was promised of the arrays of lists, as the JIT saw it in all of them: where they lie, and
    strides that are not said in numbers."""
    if argument["kind"] == "tuple":
        fields = argument.get("fields")
        paths = [f".{field}" for field in fields] if fields else [f"[{n}]" for n in range(len(argument["items"]))]
        constraints = constraint.get("items", constraint.get("fields", repeat({})))
        for part, item, each in zip(paths, argument["items"], constraints, strict=False):
            yield from _of_lists(f"{path}{part}", item, each)
    elif argument["kind"] == "list" and argument["items"]:
        element = constraint.get("element", {})
        aligned = gcd(element.get("base_addr_divisible_by", 1), LARGEST_ALIGNMENT)
        if aligned > 1:
            yield f"{path}.address % {aligned} == 0"
        for dim, divisor in enumerate(element.get("stride_divisible_by", ())):
            strides = {item["strides"][dim] for item in argument["items"]}
            if gcd(divisor, *strides) > 1 and len(strides) > 1:
                yield f"{path}.strides[{dim}] % {gcd(divisor, *strides)} == 0"


def _list_element(items: Sequence[Recorded], name: str, constraint: Recorded) -> str:
    """One description for all arrays of a list: sizes and strides that differ become fresh names."""
    if not items:
        raise NotExpressible(f"the list {name} is empty")
    first = items[0]
    if any(item["dtype"] != first["dtype"] or len(item["shape"]) != len(first["shape"]) for item in items):
        raise NotExpressible(f"the list {name} mixes data types or ranks")
    rank = len(first["shape"])
    shape = _common([item["shape"] for item in items], f"{name}_size", _promised(constraint, rank))
    if all(is_contiguous(item["shape"], item["strides"]) for item in items):
        dtype, width = first["dtype"], "; index=i64" if first["index_bits"] == 64 else ""
        return f"{dtype}[{', '.join(map(str, shape))}{width}]"
    strides = _common([item["strides"] for item in items], f"{name}_stride", [1] * rank)  # names alone mean: apart
    return _array_text(first["dtype"], shape, strides, first["index_bits"])


def _elements(items: Sequence[Recorded]) -> str:
    """What every array of a list was like, where they differ: the launch is one of these, and of no others."""
    texts = [array_text(item, "") for item in items]
    return f", elements = {_strings(texts)}" if len(set(texts)) > 1 and len(texts) <= MOST_LISTED else ""


def _common(rows: Sequence[Sequence[int]], stem: str, divisors: Sequence[int]) -> list[object]:
    """What the rows have in common, column by column: a number, or multiples of the part of its divisor that divides
    all."""
    found: list[object] = []
    for axis, (column, divisor) in enumerate(zip(zip(*rows, strict=True), divisors, strict=True)):
        known = gcd(divisor, *column)
        name = f"{stem}_{axis}" if known == 1 else f"{known} * {stem}_{axis}"
        found.append(column[0] if len(set(column)) == 1 else name)
    return found


def _promised(constraint: Recorded, rank: int) -> list[int]:
    """What divides each size of a contiguous array, as far as promises to the compiler speak of it: the size's own, and
    those of the strides that it is a factor of."""
    element = constraint.get("element", {})
    shape, strides = (element.get(f"{each}_divisible_by", [1] * rank) for each in ("shape", "stride"))
    return [lcm(shape[axis], *strides[:axis]) for axis in range(rank)]


def _scalar_text(argument: Recorded) -> str:
    value = argument.get("tied", argument["value"])
    if isinstance(value, int):
        value = int(value)  # a bool is written as a number
    elif "tied" not in argument:
        value = None  # a float is nothing that a contract speaks of
    return str(argument["dtype"]) if value is None else f"{argument['dtype']} = {value}"


def _constant(argument: Recorded) -> str:
    """A constant as specs spell it: ``"None"``, and for a data type ``"ct.float16"`` or ``"tl.float16"``."""
    value, kind = argument["value"], argument.get("type")
    if value is None:
        return '"None"'
    if kind == "float":
        return str(value)
    if kind == "dtype":
        return _string(value)
    if kind is not None or (isinstance(value, str) and (value == "None" or value.startswith(("ct.", "tl.")))):
        raise NotExpressible(f"a constant is the {kind or 'string'} {value!r}")
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if name.isascii() else _string(name)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _strings(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"
