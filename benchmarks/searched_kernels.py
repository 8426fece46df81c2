"""The kernels of `compiler_search`: each loads a tile of an array, changes it, and stores it to the same array.

A pattern is a way to load and a way to store.  `drawn_kernel` takes all patterns with all element types in turn, and
draws the rest from the number of the kernel: what happens between, how often, the shape, and what the contract says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from tileverify.contract.element_types import ELEMENT_TYPES

TYPES: Final = (
    "f32", "f16", "bf16", "f64", "i32", "i64", "i16", "i8", "u8", "u16", "u32", "u64", "bool", "f8e4m3", "f8e5m2",
)  # fmt: skip
ATOMIC_TYPES: Final = frozenset({"f32", "f16", "f64", "i32", "i64", "u32", "u64"})
PRODUCT_TYPES: Final = frozenset({"f16", "bf16"})
COMPUTED_AS: Final = {"bool": "i32", "f8e4m3": "f32", "f8e5m2": "f32"}
"""Types without arithmetic, and what they are computed as."""
SIZES: Final = (4, 8, 16, 32, 64, 128, 256)
LARGE, LARGE_SHARE = 4096, 0.03
"""Elements from which a tile takes long, and the share of such kernels that is kept."""
LEAST_PRODUCT, MOST_PRODUCT = 16, 128

SPREAD: Final = ("natural", "reversed", "permuted", "rotated")
"""How lanes are spread over the elements of a tile, for gathers and scatters."""
LOADS: Final = {
    1: ("view", "halves", "slice", "masked", "atomic", *SPREAD),
    2: ("view", "halves", "order", "row", "masked", "atomic", "turned", "crossed", *SPREAD),
}
STORES: Final = {
    1: ("view", "halves", "slice", "masked", "atomic", "scoped", *SPREAD),
    2: ("view", "halves", "order", "row", "masked", "atomic", "scoped", "turned", "crossed", *SPREAD),
}
CHANGES: Final = {
    1: {
        "doubled": "t + t",
        "less its sum": "t - ct.sum(t)",
        "summed up": "ct.cumsum(t, axis=0)",
        "shuffled": "ct.reshape(ct.transpose(ct.reshape(t, ({N} // 2, 2))), ({N},))",
        "column sums": "t + ct.sum({x}, axis=0)",
        "row sums": "t + ct.sum({y}, axis=1)",
        "column maxima": "t + ct.max({x}, axis=0)",
        "places of maxima": "t + ct.astype(ct.argmax({x}, axis=0), {work})",
    },
    2: {
        "doubled": "t + t",
        "less column sums": "t - ct.sum(t, axis=0, keepdims=True)",
        "less row sums": "t - ct.sum(t, axis=1, keepdims=True)",
        "column maxima": "t + ct.max(t, axis=0, keepdims=True)",
        "summed up columns": "ct.cumsum(t, axis=0)",
        "summed up rows": "ct.cumsum(t, axis=1)",
        "shuffled": "ct.transpose(ct.reshape(t, ({N}, {M})))",
        "halves swapped": "ct.cat((ct.extract(t, index=(0, 1), shape=({M}, {N} // 2)), "
        "ct.extract(t, index=(0, 0), shape=({M}, {N} // 2))), axis=1)",
        "column sums": "t + ct.sum({x}, axis=0, keepdims=True)",
        "row sums": "t + ct.sum({y}, axis=1, keepdims=True)",
        "product": "ct.astype(ct.mma(t, ct.load(w, index=(0, 0), shape=({N}, {N})), "
        "ct.zeros(({M}, {N}), dtype=ct.float32)), {work})",
    },
}
COURSES: Final = {
    "once": "L S", "again": "for L S", "along": "along L S", "carried": "carried L S+1", "reload": "L S L R",
    "handed on": "L for S L", "overwritten": "L S V", "if": "if L S",
}  # fmt: skip
"""``L`` loads, ``S`` stores what was changed, ``R`` stores to another array, ``V`` stores by a view what was loaded."""
TILES: Final = {"along": 3, "carried": 4}
"""Tiles of a block, where it has more than one."""


@dataclass(frozen=True)
class SearchedKernel:
    """``rank`` of the tile; ``axis`` along which the blocks have their tiles; ``depth``: of another input, which is
    reduced; ``ragged``: the array ends inside of a tile; ``aligned``: rows begin at multiples of 16 bytes."""

    rank: int
    load: str
    store: str
    change: str
    course: str
    element: str
    rows: int
    columns: int
    axis: int
    depth: int
    ragged: bool
    aligned: bool

    @property
    def pattern(self) -> str:
        """``gather reversed > view, 1-D``."""
        return f"{self.load} > {self.store}, {self.rank}-D"

    @property
    def text(self) -> str:
        """The module."""
        names = [name for name in ("out", "x", "y", "w", "places", "res") if name in self._arguments]
        lines = ["import cuda.tile as ct", "", "", "@ct.kernel", f"def searched({', '.join(names)}):"]
        return "\n".join([*lines, *(f"    {line}" for line in self._body()), ""])

    @property
    def launch(self) -> str:
        """The launch specification."""
        count, tile = TILES.get(self.course, 1), (self.rows, self.columns)[self._axis]
        requires = [f"W <= {3 * count * max(tile, 16)}"]
        grid = f"W // {count * tile}"
        if self.ragged:
            grid = f"cdiv(W, {tile}) // {count}"
            requires += [f"cdiv(W, {tile}) % {count} == 0"] if count > 1 else []
        else:
            requires.append(f"W % {count * tile} == 0")
        if self.aligned:
            requires += ["W % 16 == 0", *(f"{name}.address % 16 == 0" for name in self._arguments)]
        lines = ["[[launch]]", 'kernel = "searched"', f'grid = ["{grid}"]', f"requires = {requires}".replace("'", '"')]
        if "places" in self._arguments:
            lines.append('data = ["permutation(places)"]')
        return "\n".join([*lines, "", "[launch.args]", *(f'{n} = "{t}"' for n, t in self._arguments.items()), ""])

    # ---------------------------------------------------------------------------------------- contract
    @property
    def _axis(self) -> int:
        return self.axis if self.rank == 2 else 1

    @property
    def _arguments(self) -> dict[str, str]:
        """In the order of the parameters, with the types of a launch specification."""
        m, n, e, depth = self.rows, self.columns, self.element, self.depth
        change = CHANGES[self.rank][self.change]
        # The other axis of a ragged array ends one row early as well.
        whole = "W" if self.rank == 1 else f"{m - self.ragged}, W" if self.axis else f"W, {n - self.ragged}"
        found = {"out": f"{e}[{whole}]"}
        wanted = {"x": f"{e}[{depth}, {n}]", "y": f"{e}[{m if self.rank == 2 else n}, {depth}]", "w": f"{e}[{n}, {n}]"}
        found |= {name: kind for name, kind in wanted.items() if f"{{{name}}}" in change or f"load({name}," in change}
        if "permuted" in (self.load, self.store):
            found["places"] = f"i32[{n}]"
        if self.course == "reload":
            found["res"] = f"{e}[{whole}]"
        return found

    # ---------------------------------------------------------------------------------------- body
    def _body(self) -> Iterator[str]:
        steps = COURSES[self.course].split()
        yield "j = ct.bid(0)"
        place, indent = "j", ""
        for step in steps:
            match step:
                case "for":
                    yield "for i in range(3):"
                    indent = "    "
                case "along":
                    yield "for i in range(3):"
                    place, indent = "(j * 3 + i)", "    "
                case "carried":
                    yield "for i in range(3):"
                    place, indent = "(j * 4 + i)", "    "
                case "if":
                    yield "if j % 2 == 0:"
                    indent = "    "
                case "L":
                    yield from (indent + line for line in self._load(place))
                case "R":
                    yield f"{indent}ct.store(res, index={self._index(place)}, tile={self._narrow('t')})"
                case "V":
                    yield f"{indent}ct.store(out, index={self._index(place)}, tile={self._narrow('t')})"
                case "S" | "S+1":
                    yield f"{indent}v = {self._narrow(self._change)}"
                    yield from (indent + line for line in self._store("(j * 4 + i + 1)" if step == "S+1" else place))

    @property
    def _work(self) -> str:
        return COMPUTED_AS.get(self.element, self.element)

    def _wide(self, value: str) -> str:
        return value if self._work == self.element else f"ct.astype({value}, {_dtype(self._work)})"

    def _narrow(self, value: str) -> str:
        return value if self._work == self.element else f"ct.astype({value}, {_dtype(self.element)})"

    @property
    def _change(self) -> str:
        m, n = (self.rows, self.columns) if self.rank == 2 else (self.columns, self.columns)
        x = self._wide(f"ct.load(x, index=(0, 0), shape=({self.depth}, {n}))")
        y = self._wide(f"ct.load(y, index=(0, 0), shape=({m}, {self.depth}))")
        return CHANGES[self.rank][self.change].format(M=m, N=n, x=x, y=y, work=_dtype(self._work))

    def _index(self, place: str, row: str = "0") -> str:
        if self.rank == 1:
            return f"({place},)"
        return f"({row}, {place})" if self.axis else f"({place}, {row})"

    @property
    def _shape(self) -> str:
        return f"({self.columns},)" if self.rank == 1 else f"({self.rows}, {self.columns})"

    def _places(self, form: str, place: str) -> str:
        """The elements of the tile at ``place``, spread over the lanes."""
        m, n = self.rows, self.columns
        lanes = {
            "reversed": f"{n - 1} - ct.arange({n}, dtype=ct.int32)",
            "permuted": f"ct.load(places, index=(0,), shape=({n},))",
            "rotated": f"(ct.arange({n}, dtype=ct.int32) + {n // 2}) % {n}",
        }.get(form, f"ct.arange({n}, dtype=ct.int32)")
        if self.rank == 1:
            return f"{place} * {n} + {lanes}"
        rows, shapes = f"ct.arange({m}, dtype=ct.int32)", ((m, 1), (1, n))
        if form == "turned":
            rows = f"{m - 1} - {rows}"
        if form == "crossed":
            shapes = ((1, n), (m, 1))
        row, column = f"ct.reshape({rows}, {shapes[0]})", f"ct.reshape({lanes}, {shapes[1]})"
        if self.axis:
            return f"({row}, {place} * {n} + {column})"
        return f"({place} * {m} + {row}, {column})"

    @property
    def _mask(self) -> str:
        lanes = f"ct.arange({self.columns}, dtype=ct.int32) % 2 == 0"
        if self.rank == 1:
            return lanes
        return f"ct.broadcast_to(ct.reshape({lanes}, (1, {self.columns})), {self._shape})"

    def _load(self, place: str) -> Iterator[str]:
        m, n, zero = self.rows, self.columns, "padding_mode=ct.PaddingMode.ZERO"
        match self.load:
            case "view":
                value = f"ct.load(out, index={self._index(place)}, shape={self._shape}, {zero})"
            case "slice":
                value = f"ct.load({self._slice(place)}, index=(0,), shape={self._shape})"
            case "halves":
                parts = (f"ct.load(out, index={index}, shape={self._half}, {zero})" for index in self._halves(place))
                value = f"ct.cat(({', '.join(parts)}), axis={self.rank - 1})"
            case "order":
                index = f"({place}, 0)" if self.axis else f"(0, {place})"
                value = f"ct.transpose(ct.load(out, index={index}, shape=({n}, {m}), order=(1, 0), {zero}))"
            case "row":
                index = self._index(place) if self.axis else f"({place} * {m}, 0)"
                value = f"ct.broadcast_to(ct.load(out, index={index}, shape=(1, {n}), {zero}), {self._shape})"
            case "masked":
                value = f"ct.gather(out, {self._places('natural', place)}, mask={self._mask})"
            case "atomic":
                nothing = f"ct.zeros({self._shape}, dtype={_dtype(self.element)})"
                value = f"ct.atomic_add(out, {self._places('natural', place)}, {nothing})"
            case _:
                value = f"ct.gather(out, {self._places(self.load, place)})"
        yield f"t = {self._wide(value)}"

    def _store(self, place: str) -> Iterator[str]:
        m, n = self.rows, self.columns
        match self.store:
            case "view":
                yield f"ct.store(out, index={self._index(place)}, tile=v)"
            case "scoped":
                scope = "memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.DEVICE"
                yield f"ct.store(out, index={self._index(place)}, tile=v, {scope})"
            case "slice":
                yield f"ct.store({self._slice(place)}, index=(0,), tile=v)"
            case "halves":
                for number, index in enumerate(self._halves(place)):
                    at = f"({number},)" if self.rank == 1 else f"(0, {number})"
                    yield f"ct.store(out, index={index}, tile=ct.extract(v, index={at}, shape={self._half}))"
            case "order":
                index = f"({place}, 0)" if self.axis else f"(0, {place})"
                yield f"ct.store(out, index={index}, tile=ct.transpose(v), order=(1, 0))"
            case "row":
                index = self._index(place) if self.axis else f"({place} * {m}, 0)"
                yield f"ct.store(out, index={index}, tile=ct.extract(v, index=(0, 0), shape=(1, {n})))"
            case "masked":
                yield f"ct.scatter(out, {self._places('natural', place)}, v, mask={self._mask})"
            case "atomic":
                yield f"ct.atomic_add(out, {self._places('natural', place)}, v)"
            case _:
                yield f"ct.scatter(out, {self._places(self.store, place)}, v)"

    def _slice(self, place: str) -> str:
        return f"out.slice(axis=0, start={place} * {self.columns}, stop={place} * {self.columns} + {self.columns})"

    @property
    def _half(self) -> str:
        return f"({self.columns // 2},)" if self.rank == 1 else f"({self.rows}, {self.columns // 2})"

    def _halves(self, place: str) -> tuple[str, str]:
        if self.rank == 1 or self.axis:
            return self._index(f"2 * {place}"), self._index(f"2 * {place} + 1")
        return self._index(place, "0"), self._index(place, "1")


def _dtype(element: str) -> str:
    return f"ct.{ELEMENT_TYPES[element].cutile}"


def drawn_kernel(seed: int, number: int) -> SearchedKernel:
    """Always the same for one seed and number."""
    every = patterns(seed)
    draw = Random(f"{seed} {number}")
    rank, load, store, element = every[number % len(every)]
    rows, columns, depth = _drawn_shape(draw, rank, square="crossed" in (load, store))
    fitting = min(rows, columns) >= LEAST_PRODUCT and max(rows, columns) <= MOST_PRODUCT
    changes = [each for each in CHANGES[rank] if each != "product" or (element in PRODUCT_TYPES and fitting)]
    # What a slice, a half or a row reaches has to be inside of the array.
    whole = {"slice", "halves", "row"} & {load, store}
    ragged = not whole and draw.random() < 1 / 3
    return SearchedKernel(
        rank, load, store, draw.choice(changes), draw.choice(list(COURSES)), element, rows, columns,
        axis=draw.randrange(2), depth=depth, ragged=ragged, aligned=draw.random() < 1 / 3,
    )  # fmt: skip


def _drawn_shape(draw: Random, rank: int, *, square: bool) -> tuple[int, int, int]:
    """Rows, columns and depth; most tiles that take long to assemble are drawn again."""
    while True:
        columns, depth = draw.choice(SIZES), draw.choice(SIZES)
        rows = 1 if rank == 1 else columns if square else draw.choice(SIZES)
        if max(rows, columns, depth) * sorted((rows, columns, depth))[1] <= LARGE or draw.random() < LARGE_SHARE:
            return rows, columns, depth


@cache
def patterns(seed: int) -> tuple[tuple[int, str, str, str], ...]:
    """Rank, load, store and type: all that cuda.tile takes, in an order of their own."""
    found = [
        (rank, load, store, element)
        for rank in (1, 2)
        for load in LOADS[rank]
        for store in STORES[rank]
        for element in TYPES
        if element in ATOMIC_TYPES or "atomic" not in (load, store)
    ]
    Random(seed).shuffle(found)
    return tuple(found)
