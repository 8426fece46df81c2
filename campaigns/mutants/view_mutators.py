"""Changes of view types: dimension maps, traversal, padding, static sizes and strides."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.soundness.edits import Site, sites

from tileverify.frontend.bytecode.model import (
    Entry,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Value,
)


def change_view(entry: Entry, site: Site, random: Random) -> str | None:
    """Another way to cut a tensor into tiles, or another static size or stride of the tensor."""
    if not site.op.results or site.op.name in ("for", "loop", "if"):
        return None
    value = site.op.results[0]
    match value.type:
        case TensorViewType():
            return _change_tensor(entry, value, value.type, random)
        case GatherScatterViewType():
            return _change_gather(value, value.type, random)
        case PartitionViewType() | StridedViewType():
            return _change_tiling(value, value.type, random)
    return None


def _change_tiling(value: Value, kind: PartitionViewType | StridedViewType, random: Random) -> str | None:
    choice = random.choice(("dim_map", "traversal", "padding"))
    if choice == "traversal" and isinstance(kind, StridedViewType):
        axis = random.randrange(len(kind.traversal))
        steps = list(kind.traversal)
        steps[axis] = max(1, random.choice((steps[axis] * 2, steps[axis] // 2, steps[axis] + 1, steps[axis] - 1)))
        value.type = replace(kind, traversal=tuple(steps))
        return f"traversal {kind.traversal} becomes {tuple(steps)}"
    if choice == "dim_map" and len(kind.dim_map) > 1:
        dim_map = tuple(random.sample(kind.dim_map, len(kind.dim_map)))
        value.type = replace(kind, dim_map=dim_map)
        return f"dim_map {kind.dim_map} becomes {dim_map}" if dim_map != kind.dim_map else None
    value.type = replace(kind, padding="zero" if kind.padding is None else None)
    return f"padding {kind.padding} becomes {'zero' if kind.padding is None else None}"


def _change_gather(value: Value, kind: GatherScatterViewType, random: Random) -> str:
    value.type = replace(kind, padding="zero" if kind.padding is None else None)
    return f"padding {kind.padding} becomes {'zero' if kind.padding is None else None}"


def _change_tensor(entry: Entry, value: Value, kind: TensorViewType, random: Random) -> str | None:
    static = [
        (name, axis, number)
        for name, numbers in (("shape", kind.shape), ("strides", kind.strides))
        for axis, number in enumerate(numbers)
        if number is not None
    ]
    if not static:
        return None
    name, axis, number = random.choice(static)
    changed = max(1, random.choice((number + 1, number - 1, number * 2, number // 2)))
    if changed == number:
        return None
    numbers = list(kind.shape if name == "shape" else kind.strides)
    numbers[axis] = changed
    tensor = replace(kind, shape=tuple(numbers)) if name == "shape" else replace(kind, strides=tuple(numbers))
    value.type = tensor
    for site in sites(entry.body):
        if site.op.operands.get("s") is value:
            view = site.op.results[0]
            assert isinstance(view.type, PartitionViewType | StridedViewType | GatherScatterViewType)
            view.type = replace(view.type, tensor=tensor)
    return f"static {name}[{axis}] {number} becomes {changed}"
