"""Every rule beside torch's own operator in float64: all overloads, at arguments that are drawn by their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest

from tileverify.equality.exact import is_lost, numbers_of
from tileverify.equality.field import Undecided
from tileverify.equality.points import drawn

from .aten import FILE

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
TRIES: Final = 8
SHAPES: Final = ((), (4,), (3, 4), (1, 4), (4, 4), (2, 3, 4), (2, 4, 4), (4, 1), (0, 4))
OWN_SHAPES: Final[dict[str, tuple[tuple[int, ...], ...]]] = {
    "addmv": ((3,), (3, 4), (4,)), "mv": ((3, 4), (4,)), "dot": ((5,), (5,)), "vdot": ((5,), (5,)),
    "addmm": ((3, 5), (3, 4), (4, 5)), "mm": ((3, 4), (4, 5)), "bmm": ((2, 3, 4), (2, 4, 5)),
    "baddbmm": ((2, 3, 5), (2, 3, 4), (2, 4, 5)), "index_add": ((4, 3), (2,), (2, 3)),
    "index_copy": ((4, 3), (1,), (1, 3)), "index_fill": ((4, 3), (2,), ()),
    "native_group_norm": ((2, 4, 3), (4,), (4,)),
    "nll_loss_forward": ((3, 4), (3,), (4,)), "convolution": ((2, 4, 6), (6, 2, 3), (6,)),
}  # fmt: skip
OWN_NUMBERS: Final[dict[str, dict[str, Any]]] = {
    "index_add": {"dim": 0}, "index_copy": {"dim": 0}, "native_group_norm": {"N": 2, "C": 4, "HxW": 3, "group": 2},
    "convolution": {"stride": [2], "padding": [1], "dilation": [1], "transposed": False, "output_padding": [0],
                    "groups": 2}, "nll_loss_forward": {"ignore_index": 1},
}  # fmt: skip
REFUSED: Final = frozenset({
    "addmm.dtype", "addmm.dtype_out", "baddbmm.dtype", "baddbmm.dtype_out", "bmm.dtype", "mm.dtype", "view.dtype",
    "scatter.reduce", "scatter.value_reduce", "scatter_.reduce", "scatter_.value_reduce",
})  # fmt: skip
NOT_WRITTEN: Final = ("empty", "new_empty")
OF_ANOTHER: Final = ("_softmax_backward", "_log_softmax_backward", "threshold_backward")
"""Torch reads beyond their tensors where these are of several shapes."""


def overloads() -> list[str]:
    found = []
    for line in FILE.read_text().splitlines():
        name = re.match(r"aten::(\w+)(?:\.(\w+))?\(", line)
        assert name is not None
        if not re.search(r"Tensor\(\w!\) (?!self)", line) and not name[1].startswith(NOT_WRITTEN):
            found.append(f"{name[1]}.{name[2] or 'default'}")
    return found


class Drawing:
    """Arguments of one operator."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.source = np.random.default_rng([seed, *name.encode()])
        own = OWN_SHAPES.get(name)
        self.shapes = iter(own) if own else None
        self.shape = SHAPES[self.source.integers(len(SHAPES) - name.startswith("native_layer_norm"))]

    def often(self, share: float) -> bool:
        return bool(self.source.random() < share)

    def tensor(self, name: str) -> Any:
        other = SHAPES[self.source.integers(len(SHAPES))]
        shape = next(self.shapes) if self.shapes else self.shape if self.often(0.6) else other
        if name in ("index", "indices", "target"):
            return torch.from_numpy(np.asarray(self.source.integers(0, 3, shape)))
        if name in ("mask", "condition") or self.often(0.04):
            return torch.from_numpy(np.asarray(self.source.random(shape) < 0.5))
        if self.often(0.1):
            return torch.from_numpy(np.asarray(self.source.integers(-3, 4, shape)))
        x = np.asarray(self.source.standard_normal(shape) * self.source.choice([0.7, 3]))
        x = np.abs(x) + 0.1 if self.often(0.3) else np.round(x) if self.often(0.2) else x
        if self.often(0.15):
            x = np.where(self.source.random(shape) < 0.2, self.source.choice([np.nan, np.inf, -np.inf, 0, 2]), x)
        return torch.from_numpy(np.asarray(x + 0.0, np.float64))  # no -0.0

    def argument(self, each: Any) -> Any:
        own = OWN_NUMBERS.get(self.name, {})
        kind = str(each.type)
        if each.name in own:
            return own[each.name]
        if "dtype" in each.name:
            return torch.float64
        if kind.startswith("Optional"):
            if self.often(0.3):
                return None
            kind = kind.removeprefix("Optional[").removesuffix("]")
        if kind == "Tensor":
            return self.tensor(each.name)
        if "Tensor" in kind:
            return [self.tensor(each.name) for _ in range(self.source.integers(1, 3))]
        if kind == "bool":
            return self.often(0.5)
        if kind.startswith("List"):
            if each.name in ("size", "normalized_shape"):
                return list(self.shape[-int(self.source.integers(1, 3)) :])
            return self.source.integers(-2, 3, self.source.integers(0, 3)).tolist()
        if kind == "int":
            return int(self.source.integers(-3, 4))
        if kind == "str":
            return str(self.source.choice(["floor", "trunc", "tanh", "none"]))
        return (
            float(self.source.choice([0.5, 1, 2, -1.5, 0, 3.25]))
            if self.often(0.7)
            else int(self.source.integers(-2, 4))
        )

    def call(self, operator: Any) -> tuple[list[Any], dict[str, Any]]:
        places: list[Any] = []
        named: dict[str, Any] = {}
        for each in operator._schema.arguments:
            if each.name in ("device", "layout", "pin_memory", "memory_format"):
                continue
            if each.has_default_value() and self.often(0.4):
                if not each.kwarg_only:
                    places.append(each.default_value)
            elif each.kwarg_only:
                named[each.name] = self.argument(each)
            else:
                places.append(self.argument(each))
        if self.name.startswith(OF_ANOTHER):
            places[1] = places[0] * 0.5
        return places, named


def exact(value: Any, source: np.random.Generator) -> Any:
    from tileverify.equality.torch_tensors import ExactTensor

    if isinstance(value, list):
        return [exact(each, source) for each in value]
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value.clone() if isinstance(value, torch.Tensor) else value
    held = value.numpy()
    with np.errstate(all="ignore"):
        plain = ~np.isfinite(held) | (held == np.round(held))
    found = drawn(source, np.where(plain, 1.5, held))
    found[plain] = numbers_of(held[plain])
    return ExactTensor(found, torch.float64)


def _copies(value: Any) -> Any:
    if isinstance(value, list):
        return [_copies(each) for each in value]
    return value.clone() if isinstance(value, torch.Tensor) else value


def _flat(value: Any) -> Iterator[Any]:
    for each in value if isinstance(value, list | tuple) else [value]:
        yield from _flat(each) if isinstance(each, list | tuple) else [each]


def _same(wanted: Any, found: Any) -> bool:
    from tileverify.equality.torch_tensors import ExactTensor

    if not isinstance(wanted, torch.Tensor):
        return bool(wanted == found)
    lost = is_lost(found.numbers) if isinstance(found, ExactTensor) else np.zeros((), np.bool_)
    held = found.numbers["s"] if isinstance(found, ExactTensor) else found.numpy()
    if wanted.shape != held.shape or wanted.is_floating_point() != found.is_floating_point():
        return False
    near = np.isclose(wanted.double().numpy(), held.astype(np.float64), rtol=1e-5, atol=1e-6, equal_nan=True)
    return bool((near | lost).all())


@pytest.mark.parametrize("overload", overloads())
def test_a_rule_gives_what_torch_gives(overload: str) -> None:
    """Where torch has no answer, and where the rule has none, there is nothing to compare."""
    from tileverify.equality.torch_tensors import ExactTorch

    name, _, last = overload.partition(".")
    operator = getattr(getattr(torch.ops.aten, name), last)
    told = 0
    for seed in range(40 * TRIES):  # most draws are calls that torch refuses
        draw = Drawing(name.rstrip("_") if name.rstrip("_") in OWN_SHAPES else name, seed)
        places, named = draw.call(operator)
        given = _copies(places)
        try:
            wanted = operator(*given, **named)
        except (RuntimeError, IndexError, ValueError):
            continue
        taken = exact(places, draw.source)
        try:
            with np.errstate(all="ignore"), ExactTorch({}):
                found = operator(*taken, **named)
        except (Undecided, ValueError, IndexError, TypeError, ZeroDivisionError):
            continue  # as `equal` does, which says so
        every = zip([*_flat(wanted), *_flat(given)], [*_flat(found), *_flat(taken)], strict=True)
        assert all(_same(one, other) for one, other in every), (places, named, wanted, found)
        told += 1
        if told == TRIES:
            break
    assert (told > 0) != (overload in REFUSED), told
