"""Random cuTile kernels in which what lies beyond an array may reach what is stored: for TV403.

A kernel computes one tile of `out` from tiles of `x` (floats) and `y` (integers), loaded with and without padding, by
arithmetic, choices, reductions, scans, products, moved lanes, branches, loops that end early, and indices.  Its
launch has the numbers of one launch, or names with bounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

ROWS, COLUMNS = 8, 16
TILE = f"({ROWS}, {COLUMNS})"


@dataclass(frozen=True, slots=True)
class OpenKernel:
    """``launches``: numbers for the names of its contract."""

    source: str
    spec: str
    launches: tuple[dict[str, int], ...]


class _Writer:
    def __init__(self, rng: random.Random, tiles: tuple[int, int]) -> None:
        self.rng, self.tiles = rng, tiles
        self.lines: list[str] = []
        self.count = 0

    def say(self, text: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + text)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def load(self, index: str | None = None) -> str:
        index = index or self.rng.choice(
            (f"(i % {self.tiles[0]}, j % {self.tiles[1]})", f"({self.tiles[0] - 1}, j % {self.tiles[1]})", "(0, 0)")
        )
        array = self.rng.choice(("x", "x", "y"))
        padding = self.rng.choice(("", "", ", padding_mode=ct.PaddingMode.ZERO"))
        text = f"ct.load({array}, index={index}, shape={TILE}{padding})"
        return text if array == "x" else f"ct.astype({text}, ct.float32)"

    def mask(self, a: str) -> str:
        rows, columns = self.rng.randint(1, ROWS), self.rng.randint(1, COLUMNS)
        edge = f"({self.tiles[1]} - 1) * {COLUMNS}"
        return self.rng.choice(
            (
                f"(columns < {columns})",
                f"(rows < {rows})",
                f"((j % {self.tiles[1]}) * {COLUMNS} + columns < x.shape[1])",
                f"({edge} + columns < x.shape[1])",
                f"({a} > 0)",
                f"((columns < {columns}) & ({a} > 0))",
                f"((rows < {rows}) | ({a} > 0))",
            )
        )

    def value(self, a: str, b: str) -> str:
        """One more float tile, made of two."""
        axis = self.rng.randrange(2)
        square = f"ct.mma({a}, ct.permute({b}, (1, 0)), ct.zeros(({ROWS}, {ROWS}), dtype=ct.float32))"
        part = f"ct.extract({a}, index=(0, {self.rng.randrange(2)}), shape=({ROWS}, {COLUMNS // 2}))"
        return self.rng.choice(
            (
                f"{a} + {b}",
                f"{a} * {b}",
                f"ct.maximum({a}, {b})",
                f"{a} * 0.0",
                f"ct.where({self.mask(a)}, {a}, {b})",
                f"ct.where({self.mask(b)}, {a}, 0.0)",
                f"ct.where({self.mask(a)}, 1.0, {b})",
                f"{b} + ct.sum({a}, axis={axis}, keepdims=True)",
                f"{b} * ct.max({a}, axis={axis}, keepdims=True)",
                f"ct.cumsum({a}, axis={axis})",
                f"ct.reshape(ct.permute({a}, (1, 0)), {TILE})",
                f"ct.reshape(ct.reshape({a}, ({COLUMNS}, {ROWS})), {TILE})",
                f"ct.cat(({part}, {part}), 1)",
                f"ct.cat(({square}, {square}), 1)",
                self.load(),
                self.load(f"(ct.astype(ct.max({a}), ct.int32) % {self.tiles[0]}, 0)"),
            )
        )

    def loop(self, a: str, b: str, depth: int = 1) -> tuple[str, str]:
        """Two values that are carried around a loop, and perhaps change places; the loop may end early."""
        first, second, loaded, counter = self.name(), self.name(), self.name(), self.name()
        trips = self.rng.choice(("0", "1", str(self.tiles[1]), "ct.cdiv(x.shape[1], 16)"))
        counted = self.rng.random() < 0.6
        self.say(f"{first}, {second} = {a}, {b}", depth)
        if counted:
            self.say(f"for {counter} in range({trips}):", depth)
        else:
            self.say(f"{counter} = 0", depth)
            self.say(f"while {counter} < {trips}:", depth)
        self.say(f"{loaded} = {self.load(f'(0, {counter} % {self.tiles[1]})')}", depth + 1)
        other = self.rng.choice((first, second, loaded))
        if depth == 1 and self.rng.random() < 0.3:
            other = self.rng.choice(self.loop(first, other, depth + 1))
        if not counted and self.rng.random() < 0.4:
            self.say(f"if {self.rng.choice(('j > 0', f'ct.max({loaded}) > 1', 'x.shape[1] > 20'))}:", depth + 1)
            self.say("break", depth + 2)
        new = self.value(first, other)
        self.say(f"{first}, {second} = {self.rng.choice((f'{second}, {new}', f'{new}, {second}'))}", depth + 1)
        if not counted:
            self.say(f"{counter} += 1", depth + 1)
        return first, second

    def branch(self, a: str, b: str) -> str:
        result = self.name()
        condition = self.rng.choice(("i == 0", "j > 0", f"ct.max({a}) > 0", "x.shape[1] > 20"))
        self.say(f"{result} = {b}")
        self.say(f"if {condition}:")
        self.say(f"{result} = {self.value(a, b)}", 2)
        return result


def make(seed: int) -> OpenKernel:
    rng = random.Random(f"open kernel {seed}")
    tiles = rng.randint(1, 2), rng.randint(1, 2)
    writer = _Writer(rng, tiles)
    pool = [writer.load(), writer.load()]
    for number, text in enumerate(pool):
        pool[number] = writer.name()
        writer.say(f"{pool[number]} = {text}")
    for _ in range(rng.randint(1, 5)):
        a, b, chance = rng.choice(pool[-3:]), rng.choice(pool), rng.random()
        if chance < 0.25:
            pool += writer.loop(a, b)
        elif chance < 0.28:
            writer.say(f"if {rng.choice(('j > 1', f'ct.max({a}) > 3'))}:")
            writer.say("return", 2)
        elif chance < 0.42:
            pool.append(writer.branch(a, b))
        else:
            name = writer.name()
            writer.say(f"{name} = {writer.value(a, b)}")
            pool.append(name)
    kernel = f"open_{seed}"
    head = [
        "@ct.kernel",
        f"def {kernel}(x, y, out):",
        "    i, j = ct.bid(0), ct.bid(1)",
        f"    rows = ct.arange({ROWS}, dtype=ct.int32)[:, None]",
        f"    columns = ct.arange({COLUMNS}, dtype=ct.int32)[None, :]",
    ]
    source = "\n".join((*head, *writer.lines, f"    ct.store(out, index=(i, j), tile={pool[-1]})"))
    return OpenKernel(source, *_launch(rng, kernel, tiles))


def _launch(rng: random.Random, kernel: str, tiles: tuple[int, int]) -> tuple[str, tuple[dict[str, int], ...]]:
    def size(axis: int) -> int:
        tile = (ROWS, COLUMNS)[axis]
        return tile * (tiles[axis] - 1) + rng.choice((tile, rng.randint(1, tile)))

    def numbers() -> dict[str, int]:
        return {"M": size(0), "N": size(1), "P": rng.randint(1, 12), "Q": rng.randint(1, 20)}

    names: Callable[[str], object] = str
    requires, launches = "", tuple(numbers() for _ in range(4))
    if rng.random() < 0.5:
        (chosen, *_), launches = launches, ({},)
        names = chosen.__getitem__
    else:
        bounds = [f"{8 * (tiles[0] - 1)} < M", f"M <= {8 * tiles[0]}", f"{16 * (tiles[1] - 1)} < N"]
        bounds += [f"N <= {16 * tiles[1]}", *rng.choice(([], ["N % 16 == 0"], ["M % 8 == 0"]))]
        if "N % 16 == 0" in bounds:
            launches = tuple({**each, "N": 16 * tiles[1]} for each in launches)
        if "M % 8 == 0" in bounds:
            launches = tuple({**each, "M": 8 * tiles[0]} for each in launches)
        requires = f"requires = {bounds}\n".replace("'", '"')
    m, n, p, q = (names(each) for each in "MNPQ")
    arrays = f'x = "f32[{m}, {n}]", y = "i32[{m}, {n}]", out = "f32[{p}, {q}]"'
    grid = f'["cdiv({p}, {ROWS})", "cdiv({q}, {COLUMNS})"]'
    return f'[[launch]]\nkernel = "{kernel}"\ngrid = {grid}\n{requires}args = {{ {arrays} }}\n', launches
