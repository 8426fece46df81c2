"""What an operator of torch is given is read by its rule, refused, or no part of what is computed."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

import pytest

from .aten import FILE, RULES, declared

OF_THE_DEVICE: Final = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking"})
"""Where in memory, and how it gets there; `ExactTorch.called` takes them away."""
TYPE: Final = "the result's type, which `ExactTorch.called` gives it"
TRAINING: Final = "of gradients alone"
IGNORED: Final[Mapping[str, str]] = {
    **{
        f"{name}.dtype": TYPE
        for name in (
            "arange", "empty", "empty_like", "empty_strided", "eye", "full", "full_like", "linspace", "new_empty",
            "new_full", "new_ones", "new_zeros", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like",
        )
    },
    "_softmax.half_to_float": "formats of floats are one", "_log_softmax.half_to_float": "formats of floats are one",
    "_softmax_backward_data.input_dtype": "formats of floats are one",
    "_log_softmax_backward_data.input_dtype": "formats of floats are one",
    "copy.non_blocking": "when, not what",
    "convolution.output_padding": "of the transposed kind, which is refused",
    "embedding.padding_idx": TRAINING, "embedding.scale_grad_by_freq": TRAINING, "embedding.sparse": TRAINING,
    "empty_strided.stride": "where in memory",
    "expand.implicit": "for torch's tracer", "gather.sparse_grad": TRAINING,
    "native_group_norm.HxW": "the product of the other sizes",
    **{f"new_{name}.self": "its type and device alone" for name in ("empty", "full", "ones", "zeros")},
    "sort.stable": "the order is the stable one, which is one of those that torch may give",
    "topk.sorted": "the order is the sorted one, which is one of those that torch may give",
}  # fmt: skip


@dataclass(frozen=True)
class Schema:
    """One overload; ``named``: arguments that are given by name alone."""

    rule: str
    text: str
    places: tuple[str, ...]
    named: tuple[str, ...]


def _schema(line: str) -> Schema:
    found = re.fullmatch(r"aten::(\w+)(?:\.\w+)?\((.*?)\) -> .*", line)
    assert found is not None, line
    name = found[1] if found[1] in RULES else found[1].removesuffix("_")
    places, _, named = f", {found[2]}".partition(", *")
    return Schema(name, line, tuple(_names(places)), tuple(_names(named)))


def _names(arguments: str) -> Iterator[str]:
    for each in filter(None, arguments.split(", ")):
        if not re.match(r"Tensor\(\w!\) (?!self)", each):  # what is written to, as `out=` is
            yield each.rpartition(" ")[2].partition("=")[0]


SCHEMAS = [_schema(line) for line in FILE.read_text().splitlines()]


def _read(rule: Callable[..., Any]) -> set[str]:
    """The parameters that the rule's code names."""
    return set(_loaded(rule.__code__))


def _loaded(code: CodeType) -> Iterator[str]:
    for each in dis.get_instructions(code):
        if each.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            yield from each.argval if isinstance(each.argval, tuple) else (str(each.argval),)


def ignored(schema: Schema) -> Iterator[str]:
    """The arguments of an overload that its rule takes and does not read, as ``operator.argument``."""
    rule = RULES[schema.rule]
    parameters = list(inspect.signature(rule).parameters.values())
    by_place = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    read = _read(rule)
    for place, name in enumerate(schema.places):
        if place < len(by_place) and by_place[place] not in read:
            yield f"{schema.rule}.{name}"
    for name in schema.named:
        if name not in OF_THE_DEVICE and any(each.name == name for each in parameters) and name not in read:
            yield f"{schema.rule}.{name}"


def test_no_rule_takes_what_it_cannot_name() -> None:
    """So that an argument that torch adds ends the attempt."""
    for name, rule in RULES.items():
        kinds = {each.kind for each in inspect.signature(rule).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}, name


def test_what_is_not_read_has_a_reason() -> None:
    assert {each for schema in SCHEMAS for each in ignored(schema)} == IGNORED.keys()


def test_arguments_by_place_mean_what_their_names_say() -> None:
    """A rule names its parameters as it likes, but one that has torch's name for another place is a slip."""
    for schema in SCHEMAS:
        parameters = list(inspect.signature(RULES[schema.rule]).parameters)
        for place, name in enumerate(schema.places):
            if name in parameters and place < len(parameters):
                assert parameters[place] == name, (schema.text, parameters)


def test_every_rule_is_of_an_operator() -> None:
    """Rules without a line are of operators that torch may take apart before it asks."""
    missing = RULES.keys() - {schema.rule for schema in SCHEMAS}
    assert missing <= {
        "_fused_rms_norm", "contiguous", "float_power", "isfinite", "matmul", "outer", "positive", "relu6", "reshape",
        "square", "to", "true_divide",
    }  # fmt: skip


def test_the_operators_are_todays() -> None:
    """``python -m tests.equality.aten`` writes them."""
    pytest.importorskip("torch")
    known = FILE.read_text().splitlines()
    assert [line for line in declared() if line not in known] == []
