"""A generated kernel as files that ``tileverify check`` reads: bytecode and launch spec."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import ArrayArgument, LaunchSpec, ListArgument, ScalarArgument

from .kernels import Generated


def keep(generated: Generated, folder: Path, name: str) -> Path:
    """Write ``NAME.tileirbc`` and ``NAME.tileverify.toml`` into ``folder``; returns the bytecode's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tileirbc"
    path.write_bytes(generated.unit.bytecode)
    path.with_suffix(".tileverify.toml").write_text(spec_text(generated.contract.spec))
    return path


def spec_text(spec: LaunchSpec) -> str:
    return "\n".join(_lines(spec)) + "\n"


def _lines(spec: LaunchSpec) -> Iterator[str]:
    yield "[[launch]]"
    yield f"kernel = {json.dumps(spec.kernel)}"
    yield f"name = {json.dumps(spec.name)}"
    if spec.grid is not None:
        yield f"grid = {json.dumps([print_expression(axis) for axis in spec.grid])}"
    yield f"requires = {json.dumps([print_expression(clause) for clause in spec.requires])}"
    if spec.data:
        yield f"data = {json.dumps([fact.text for fact in spec.data])}"
    if spec.overlap:
        yield f"overlap = {json.dumps([sorted(group) for group in spec.overlap])}"
    yield ""
    yield "[launch.args]"
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            of, length = json.dumps(_description(argument.element)), json.dumps(print_expression(argument.length))
            yield f"{argument.name} = {{ list = {of}, length = {length} }}"
            continue
        assert isinstance(argument, ArrayArgument | ScalarArgument)
        yield f"{argument.name} = {json.dumps(_description(argument))}"


def _description(argument: ArrayArgument | ScalarArgument) -> str:
    if isinstance(argument, ScalarArgument):
        tied = "" if argument.value is None else f" = {print_expression(argument.value)}"
        return f"{argument.dtype}{tied}"
    parts = [", ".join(map(print_expression, argument.shape))]
    if argument.strides is not None:
        comma = "," if len(argument.strides) == 1 else ""
        parts.append(f"strides=({', '.join(map(print_expression, argument.strides))}{comma})")
    if argument.index_bits == 64:
        parts.append("index=i64")
    return f"{argument.dtype}[{'; '.join(parts)}]"
