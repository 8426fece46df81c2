"""Hand-made modules through builder, encoder and decoder, for every version of the format."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode import decode, encode, print_module
from tileverify.frontend.bytecode.model import Module
from tileverify.frontend.bytecode.optable import VERSIONS, available
from tileverify.frontend.bytecode.traverse import walk
from tileverify.system.errors import EncodeError

from .samples import SAMPLES, Version, sample, samples

each_sample = pytest.mark.parametrize(("name", "version"), samples(), ids=lambda part: str(part).replace(", ", "."))


@each_sample
def test_survives_encoding_and_decoding(name: str, version: Version) -> None:
    made = sample(name, version)
    data = encode(made)
    read = decode(data)
    assert print_module(read, locations=True) == print_module(made, locations=True)
    assert encode(read) == data
    assert facts(read) == facts(made)


def facts(module: Module) -> list[object]:
    """What the text leaves out: flags, attributes, operand and result numbers of every op."""
    return [
        (
            op.name,
            sorted(op.flags),
            dict(op.attributes),
            [value.number for value in op.results],
            {key: _numbers(operand) for key, operand in op.operands.items()},
        )
        for entry in module.entries
        for op in walk(entry.body)
    ]


def _numbers(operand: object) -> object:
    if isinstance(operand, tuple):
        return [value.number for value in operand]
    return getattr(operand, "number", None)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_samples_reach_every_op_of_a_version(version: Version) -> None:
    modules = [sample(name, version) for name, (_, since) in SAMPLES.items() if since <= version]
    seen = {op.name for module in modules for entry in module.entries for op in walk(entry.body)}
    assert seen == {op.name for op in available(version)} - {"preview$call"}


@pytest.mark.parametrize(
    "name",
    [name for name, (_, since) in SAMPLES.items() if since < (13, 5) and name not in ("reductions", "foreign")],
)
def test_newer_content_cannot_be_written_as_an_older_version(name: str) -> None:
    made = sample(name, (13, 5))
    made.version = (13, 1)
    with pytest.raises(EncodeError, match=r"needs? bytecode version 13\.[2-5]"):
        encode(made)
