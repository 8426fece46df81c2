"""What is measured on a GPU, as data: kernels with constants, compiler hints and the launch they are recorded with.

Where sizes of a recorded launch are no multiples of each other, its proof holds for any sizes.  `build` makes a signed
bundle of each variant, named like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

Argument = str | int | float | bool
"""``"f16[1024, 512]"``: an array; numbers: scalars and constants."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel as it is compiled; ``grid`` and ``arguments`` are of the recorded launch.

    ``hints``: ``num_ctas``, ``occupancy``, ``num_worker_warps`` of the compiler.
    """

    name: str
    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    hints: Mapping[str, int] = field(default_factory=dict)


ADDITION_TILES = ((1024, 0), (2048, 0), (4096, 0), (1024, 8), (2048, 4), (2048, 8), (4096, 4))
"""Elements of a tile, and blocks that are to share a multiprocessor (0: as the compiler likes)."""


def hinted(name: str, occupancy: int = 0, warps: int = 0) -> tuple[str, dict[str, int]]:
    """A name that tells what the compiler is told; 0: nothing."""
    said = {"occupancy": occupancy, "num_worker_warps": warps}
    marks = "".join(f"_{mark}{value}" for mark, value in (("o", occupancy), ("w", warps)) if value)
    return name + marks, {hint: value for hint, value in said.items() if value}


DIRECT_ADDITION_TILES = ((256, 0), (512, 0), (512, 16), (1024, 0), (1024, 8), (2048, 8))
"""The same of additions whose threads load and store themselves."""


def addition_variants(dtype: str) -> Iterator[tuple[str, str, int, dict[str, int]]]:
    """Name, kernel, tile and hints."""
    for kernel, tiles in (("add", ADDITION_TILES), ("add_direct", DIRECT_ADDITION_TILES)):
        for tile, occupancy in tiles:
            name, hints = hinted(f"{kernel}_{dtype}_{tile}", occupancy)
            yield name, kernel, tile, hints


def additions() -> Iterator[Variant]:
    for dtype in ("f16", "bf16", "f32"):
        array = f"{dtype}[{1 << 16}]"
        for name, kernel, tile, hints in addition_variants(dtype):
            yield Variant(name, kernel, ((1 << 16) // tile,), (array, array, array, tile), hints)


@dataclass(frozen=True, slots=True)
class RowTile:
    """Rows and columns of a tile, and what the compiler is told: blocks that are to share a multiprocessor, warps that
    compute, blocks of a cluster; 0: nothing.

    ``form``: of the kernel, a suffix of its name.
    """

    form: str
    rows: int
    columns: int
    occupancy: int
    warps: int = 0
    ctas: int = 0

    @property
    def hints(self) -> dict[str, int]:
        said = {"occupancy": self.occupancy, "num_worker_warps": self.warps, "num_ctas": self.ctas}
        return {hint: value for hint, value in said.items() if value}

    def name(self, function: str, dtype: str) -> str:
        said = (("o", self.occupancy), ("w", self.warps), ("c", self.ctas))
        marks = "".join(f"_{mark}{value}" for mark, value in said if value)
        return f"{function}{self.form}_{dtype}_{self.rows}x{self.columns}{marks}"

    @property
    def longest(self) -> int:
        """Columns of a row that it holds."""
        return 3 * self.columns if self.form == "_three" else self.columns

    def holds(self, columns: int) -> bool:
        """Whether rows of that length are computed with it."""
        return (2 * self.columns if self.form == "_three" else self.columns // 2) < columns <= self.longest


LOOPING = tuple(RowTile("", *each) for each in (
    (1, 1024, 8, 0), (2, 1024, 8, 0), (4, 1024, 4, 0),
    (1, 4096, 4, 0), (1, 4096, 4, 8), (2, 4096, 2, 8),
    (1, 16384, 1, 8), (1, 16384, 2, 0), (1, 16384, 2, 8),
))  # fmt: skip

ONCE = tuple(RowTile("_once", *each) for each in (
    (1, 1024, 12, 4), (1, 1024, 16, 4), (2, 1024, 8, 4), (4, 1024, 6, 4), (4, 1024, 8, 4), (8, 1024, 4, 8),
    (1, 4096, 8, 4), (1, 4096, 4, 8), (1, 4096, 8, 8),
    (1, 16384, 2, 8), (1, 16384, 3, 8),
))  # fmt: skip

THREE = tuple(RowTile("_three", 1, 4096, *each) for each in ((2, 8), (3, 8), (4, 8)))

ROW_TILES = (*LOOPING, *ONCE, *THREE)


def rows() -> Iterator[Variant]:
    """Softmax and norms, recorded with rows that do not fill their tile."""
    for dtype in ("f16", "bf16", "f32"):
        for function in ("softmax", "rms_norm", "layer_norm"):
            for tile in ROW_TILES:
                x, row = f"{dtype}[{480}, {tile.longest - 16}]", f"{dtype}[{tile.longest - 16}]"
                arguments = {
                    "softmax": (x, x),
                    "rms_norm": (x, row, x, 1e-5),
                    "layer_norm": (x, row, row, x, 1e-5),
                }[function]  # fmt: skip
                grid = (7 if not tile.form else -(-480 // tile.rows),)
                constants = tile.rows, tile.columns
                yield Variant(
                    tile.name(function, dtype), function + tile.form, grid, (*arguments, *constants), tile.hints
                )


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of a product (TM, TN, TK), rows of tiles in a group, and what the compiler is told; 0: nothing."""

    shape: tuple[int, int, int]
    group: int = 8
    ctas: int = 1
    occupancy: int = 0
    warps: int = 0
    latency: int = 0

    @property
    def name(self) -> str:
        said = (("c", self.ctas), ("o", self.occupancy), ("w", self.warps), ("l", self.latency))
        return "_".join(("x".join(map(str, self.shape)), f"g{self.group}", *(f"{k}{v}" for k, v in said if v)))

    @property
    def hints(self) -> dict[str, int]:
        said = {"num_ctas": self.ctas, "occupancy": self.occupancy, "num_worker_warps": self.warps}
        return {name: value for name, value in said.items() if value}


M, N, K = 1024 + 16, 1536 + 32, 512 + 48
"""Of recorded products."""


def swizzled(tiles: Tiles) -> Variant:
    tm, tn, _ = tiles.shape
    kernel, more = ("matmul_hinted", (tiles.latency,)) if tiles.latency else ("matmul", ())
    grid = (-(-M // tm) * -(-N // tn),)
    arrays = (f"f16[{M}, {K}]", f"f16[{K}, {N}]", f"f16[{M}, {N}]")
    return Variant(f"matmul_{tiles.name}", kernel, grid, (*arrays, *tiles.shape, tiles.group, *more), tiles.hints)


def persistent(tiles: Tiles) -> Variant:
    arrays = (f"f16[{M}, {K}]", f"f16[{K}, {N}]", f"f16[{M}, {N}]")
    arguments = (*arrays, *tiles.shape, tiles.group)
    return Variant(f"persistent_{tiles.name}", "matmul_persistent", (7,), arguments, tiles.hints)


def transposed(tiles: Tiles, *, persistent: bool = False) -> Variant:
    tm, tn, _ = tiles.shape
    arrays = (f"f8e4m3[{M}, {K}]", f"f8e4m3[{N}, {K}]", f"bf16[{M}, {N}]")
    arguments = (*arrays, 0.5, *tiles.shape, tiles.group)
    if persistent:
        name, kernel, grid = f"fp8_persistent_{tiles.name}", "matmul_transposed_persistent", (7,)
    else:
        name, kernel, grid = f"fp8_{tiles.name}", "matmul_transposed", (-(-M // tm) * -(-N // tn),)
    return Variant(name, kernel, grid, arguments, tiles.hints)


WIDE, SQUARE, TALL = (128, 256, 64), (128, 128, 64), (256, 128, 64)


def searched_products() -> Iterator[Tiles]:
    """Where the fastest f16 product is looked for: what spills no registers.  Eight warps are two warp groups."""
    for shape, ctas in product((WIDE, TALL), (1, 2)):
        yield from (Tiles(shape, group, ctas, warps=8) for group in (4, 8, 16))
    yield from (Tiles(WIDE, ctas=1, warps=8, latency=latency) for latency in (1, 3, 5, 8, 10))
    yield from (Tiles(WIDE, ctas=ctas, warps=8, occupancy=1) for ctas in (1, 2))
    yield from (Tiles((128, 256, 128), ctas=ctas, warps=8) for ctas in (1, 2))
    yield from (Tiles((256, 256, 64), group, ctas, warps=8) for group, ctas in ((4, 2), (8, 2), (8, 4)))
    yield from (Tiles(shape, 8, 2) for shape in (WIDE, TALL))
    yield from (Tiles(SQUARE, group, occupancy=occupancy) for group, occupancy in ((8, 0), (16, 0), (8, 2)))
    yield from (Tiles(SQUARE, ctas=ctas, warps=8) for ctas in (1, 2))
    yield Tiles((128, 128, 128), warps=8)
    yield from (Tiles(shape, occupancy=2) for shape in ((128, 64, 64), (64, 128, 64)))
    yield from (Tiles(shape) for shape in ((128, 64, 128), (64, 128, 128)))


def searched_persistent() -> Iterator[Tiles]:
    for shape, ctas in product((WIDE, TALL), (1, 2)):
        yield from (Tiles(shape, group, ctas, warps=8) for group in (8, 16))
    yield from (Tiles((256, 256, 64), group, ctas, warps=8) for group, ctas in ((4, 2), (8, 2), (16, 2), (8, 4)))
    yield Tiles(WIDE, ctas=2)
    yield from (Tiles(SQUARE, ctas=ctas) for ctas in (1, 2))
    yield Tiles(SQUARE, warps=8)


def searched_transposed() -> Iterator[Tiles]:
    """The same for products of 8-bit floats."""
    for shape, ctas in product(((128, 256, 128), (256, 128, 128), (128, 256, 64)), (1, 2)):
        yield Tiles(shape, ctas=ctas, warps=8)
    yield from (Tiles((128, 128, 128), ctas=ctas, warps=warps) for ctas, warps in ((1, 0), (2, 0), (1, 8)))
    yield Tiles((128, 256, 128), ctas=2)
    yield Tiles((256, 256, 128), ctas=2, warps=8)


def searched_transposed_persistent() -> Iterator[Tiles]:
    yield from (Tiles((256, 256, 128), group, 2, warps=8) for group in (8, 16))
    yield from (Tiles(shape, ctas=ctas, warps=8) for shape in ((128, 256, 128), (256, 128, 128)) for ctas in (1, 2))
    yield from (Tiles((128, 128, 128), ctas=ctas) for ctas in (1, 2))


def products() -> Iterator[Variant]:
    yield from map(swizzled, searched_products())
    yield from map(persistent, searched_persistent())
    yield from map(transposed, searched_transposed())
    yield from (transposed(tiles, persistent=True) for tiles in searched_transposed_persistent())


ATTENTION_TILES = (
    (128, 128, 0, 8, 0), (128, 128, 0, 8, 3), (128, 128, 0, 8, 8), (128, 64, 0, 8, 0), (128, 64, 0, 8, 8),
    (64, 128, 2, 0, 0), (64, 128, 2, 0, 3), (64, 128, 2, 0, 8), (64, 64, 2, 0, 0), (64, 64, 2, 0, 8), (64, 64, 3, 0, 0),
)  # fmt: skip
"""Queries and keys of a tile, with occupancy, warps and latency: what spills no registers."""

AttentionTile = tuple[int, int, int, int, int]


def attention_variant(causal: bool, tile: AttentionTile) -> tuple[str, dict[str, int]]:
    bm, bn, occupancy, warps, latency = tile
    name, hints = hinted(f"attention_{'causal' if causal else 'full'}_{bm}x{bn}", occupancy, warps)
    return (f"{name}_l{latency}" if latency else name), hints


def attentions() -> Iterator[Variant]:
    q, kv = "f16[3, 5, 1040, 128]", "f16[3, 5, 1072, 128]"
    for causal, tile in product((False, True), ATTENTION_TILES):
        name, hints = attention_variant(causal, tile)
        arguments = (q, kv, kv, q, 0.0884, 128, *tile[:2], 1, causal, tile[4])
        yield Variant(name, "attention", (-(-1040 // tile[0]), 15), arguments, hints)


DECODE_TILES = ((64, 0), (64, 4), (128, 0), (128, 2), (128, 3), (256, 0))
"""Keys of a tile, and occupancy."""

HEADS_TILES = ((64, 0), (128, 0), (256, 0))
"""The same, where one block takes all keys of a sequence."""


def decoding() -> Iterator[Variant]:
    """In two kernels, or in one that takes the query heads of one head of keys as positions."""
    q, kv, splits, heads = "f16[3, 5, 8, 128]", "f16[3, 5, 1072, 128]", 7, 16
    shares, numbers = f"f32[15, {splits}, {heads}, 128]", f"f32[15, {splits}, {heads}]"
    for tile, occupancy in DECODE_TILES:
        name, hints = hinted(f"decode_part_{tile}", occupancy)
        arguments = (q, kv, kv, shares, numbers, numbers, 0.0884, 128, tile, heads)
        yield Variant(name, "decode_part", (splits, 5, 3), arguments, hints)
    for most in (2, 4, 8, 16, 32):
        of_whole = (shares, numbers, numbers, "f16[15, 8, 128]", 128, most)
        yield Variant(f"decode_whole_{most}", "decode_whole", (15, 8), of_whole)
    for tile, occupancy in HEADS_TILES:
        name, hints = hinted(f"decode_heads_{tile}", occupancy)
        yield Variant(name, "attention", (1, 15), (q, kv, kv, q, 0.0884, 128, heads, tile, 1, False, 0), hints)


def variants() -> Iterator[Variant]:
    yield from additions()
    yield from rows()
    yield from products()
    yield from attentions()
    yield from decoding()
