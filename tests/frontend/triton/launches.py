"""The launches whose Triton IR and results are stored in `data`: kernels, arrays before, constants."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

Numbers = Sequence[int | float]


@dataclass(frozen=True, slots=True)
class TritonLaunch:
    """``arrays``: element type and elements; ``scalars``: type and value; ``within`` as in `stored`.

    ``after``: what the launch leaves, where Triton's interpreter cannot run it or is known to be wrong.
    """

    name: str
    module: str
    kernel: str
    arrays: Mapping[str, tuple[str, Numbers]]
    constants: Mapping[str, int | str] = field(default_factory=dict)
    scalars: Mapping[str, tuple[str, int | float]] = field(default_factory=dict)
    grid: tuple[int, int, int] = (1, 1, 1)
    within: float = 0.0
    after: Mapping[str, Numbers] | None = None
    options: Mapping[str, bool] = field(default_factory=dict)

    @property
    def interpretable(self) -> TritonLaunch:
        """The same with f32 for bf16, in which Triton's interpreter cannot compute; what it stores is rounded."""
        arrays = {name: ("f32" if dtype == "bf16" else dtype, values) for name, (dtype, values) in self.arrays.items()}
        return replace(self, arrays=arrays)


INTEGERS: Final = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS: Final = ("f16", "bf16", "f32", "f64")
WITHIN: Final = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-6, "f64": 1e-12}
SIZE: Final = 16


def integers(dtype: str, seed: int, count: int = SIZE, *, zero: bool = True) -> list[int]:
    """The ends of the range, numbers around 0, and drawn ones."""
    source = random.Random(seed)
    bits, signed = int(dtype[1:]), dtype[0] == "i"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    special = [low, high, high - 1, 1, 2, 3, 7, *([-1, -2, -7] if signed else [high // 2, high // 2 + 1])]
    drawn = special + [source.randint(low, high) for _ in range(count)]
    source.shuffle(drawn)
    return [number if number or zero else 5 for number in drawn[:count]]


def small(seed: int, count: int, low: int = -20, high: int = 20) -> list[int]:
    source = random.Random(seed)
    return [source.randint(low, high) for _ in range(count)]


def reals(seed: int, count: int = SIZE, *, special: bool = False) -> list[float]:
    """Multiples of 1/8 in -8 to 8, exact in each format but those of 8 bits."""
    source = random.Random(seed)
    made = [source.randint(-64, 64) / 8 for _ in range(count)]
    if special:
        made[:6] = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0]
        source.shuffle(made)
    return made


def zeros(count: int) -> list[int]:
    return [0] * count


def _plus(first: Numbers, second: Numbers) -> list[int | float]:
    return [a + b for a, b in zip(first, second, strict=True)]


def all_launches() -> Iterator[TritonLaunch]:
    yield from _integers()
    yield from _floats()
    yield from _casts()
    yield from _lanes()
    yield from _products()
    yield from _scaled()
    yield from _flow()
    yield from _memory()
    yield from _atomics()
    yield from _descriptors()


def _integers() -> Iterator[TritonLaunch]:
    for t in INTEGERS:
        x, y = integers(t, 1), integers(t, 2, zero=False)
        # The smallest number by -1 is undefined.
        y = [3 if t[0] == "i" and b == -1 else b for b in y]
        s = small(3, SIZE, 0, int(t[1:]) - 1)
        n = {"N": SIZE}
        yield TritonLaunch(
            f"integers_{t}",
            "numbers",
            "integers",
            {"x": (t, x), "y": (t, y), "s": (t, s), "out": (t, zeros(15 * SIZE))},
            n,
        )
        yield TritonLaunch(
            f"compared_{t}", "numbers", "compared", {"x": (t, x), "y": (t, y), "out": ("i8", zeros(9 * SIZE))}, n
        )
        yield TritonLaunch(f"constants_{t}", "numbers", "with_constants", {"x": (t, x), "out": (t, zeros(7 * SIZE))}, n)
        if t[0] == "i":
            yield TritonLaunch(f"negated_{t}", "numbers", "negated", {"x": (t, x), "out": (t, zeros(2 * SIZE))}, n)
        if t in ("i32", "u32", "i64", "u64"):
            yield TritonLaunch(f"high_{t}", "numbers", "high", {"x": (t, x), "y": (t, y), "out": (t, zeros(SIZE))}, n)


def _floats() -> Iterator[TritonLaunch]:
    n = {"N": SIZE}
    for t in FLOATS:
        x, y, z = reals(1, special=True), reals(2, special=True), reals(3)
        yield TritonLaunch(
            f"floats_{t}",
            "numbers",
            "floats",
            {"x": (t, x), "y": (t, y), "z": (t, z), "out": (t, zeros(10 * SIZE))},
            n,
            within=1e-30,
        )
        yield TritonLaunch(
            f"compared_{t}", "numbers", "compared", {"x": (t, x), "y": (t, y), "out": ("i8", zeros(9 * SIZE))}, n
        )
        plain = [value or 0.5 for value in reals(4)]
        yield TritonLaunch(
            f"divided_{t}",
            "numbers",
            "divided",
            {"x": (t, reals(5)), "y": (t, plain), "out": (t, zeros(4 * SIZE))},
            n,
            within=WITHIN[t],
        )
    for t in ("f32", "f64"):
        yield TritonLaunch(
            f"functions_{t}",
            "numbers",
            "functions",
            {"x": (t, plain), "out": (t, zeros(10 * SIZE))},
            n,
            within=WITHIN[t] * 4,
        )
    yield TritonLaunch(
        "precise_f32",
        "numbers",
        "precise",
        {"x": ("f32", reals(6)), "y": ("f32", plain), "out": ("f32", zeros(4 * SIZE))},
        n,
    )
    for t in ("f16", "f32"):
        yield TritonLaunch(
            f"clamped_{t}", "numbers", "clamped", {"x": (t, reals(7, special=True)), "out": (t, zeros(2 * SIZE))}, n
        )
    yield TritonLaunch("float_constants", "numbers", "float_constants", {"out": ("f32", zeros(6 * SIZE))}, n)
    yield TritonLaunch(
        "bits",
        "numbers",
        "bits",
        {"x": ("f32", reals(8)), "out": ("i32", zeros(SIZE)), "back": ("f32", zeros(SIZE))},
        n,
    )
    yield TritonLaunch(
        "scalars",
        "numbers",
        "scalars",
        {"out": ("f32", zeros(2 * SIZE + 1))},
        n,
        {"n": ("i32", -5), "m": ("i64", 1 << 33), "f": ("f32", 1.5), "g": ("f32", -0.25)},
        within=1e-6,
    )


def _casts() -> Iterator[TritonLaunch]:
    out = {f"o_{t}": (t, zeros(SIZE)) for t in (*INTEGERS, *FLOATS) if t != "bf16"}
    for t in (*INTEGERS, "f16", "f32", "f64"):
        x: Numbers = integers(t, 9) if t in INTEGERS else [v * 1.03 for v in reals(10)]
        yield TritonLaunch(
            f"to_bf16_{t}",
            "numbers",
            "to_bf16",
            {"x": (t, x), "out": ("bf16", zeros(SIZE))},
            {"N": SIZE},
            within=8e-3,
            after={"out": x},
        )
    for t in INTEGERS:
        yield TritonLaunch(f"casts_{t}", "numbers", "casts", {"x": (t, integers(t, 9)), **out}, {"N": SIZE})
        yield TritonLaunch(
            f"to_bool_{t}",
            "numbers",
            "to_bool",
            {"x": (t, [*integers(t, 9)[:-2], 0, 0]), "out": ("i8", zeros(SIZE))},
            {"N": SIZE},
        )
    for t in FLOATS:
        x = [abs(value) for value in reals(10)]
        yield TritonLaunch(f"casts_{t}", "numbers", "casts", {"x": (t, x), **out}, {"N": SIZE})
    fine = [0.0, -0.0, 1.0625, -1.0625, 3.1875, 448.0, -240.0, 0.0019, 2.0**-9, 17.0, 19.0, -0.3, 100.0, 5.5, 1e-3, 9.7]
    for t in ("f8e4m3", "f8e5m2"):
        yield TritonLaunch(
            f"eight_bits_{t}",
            "numbers",
            "eight_bits",
            {"x": (t, fine), "o_f16": ("f16", zeros(SIZE)), "o_f32": ("f32", zeros(SIZE)), "o_8": (t, zeros(SIZE))},
            {"N": SIZE},
            within=0.13,
        )
    # Triton's interpreter rounds ties to 8 bits away from zero, the device to even.
    for t in ("f16", "bf16", "f32"):
        yield TritonLaunch(
            f"to_eight_bits_{t}",
            "numbers",
            "to_eight_bits",
            {"x": (t, fine), "o_4": ("f8e4m3", zeros(SIZE)), "o_5": ("f8e5m2", zeros(SIZE))},
            {"N": SIZE},
            after={"o_4": fine, "o_5": fine},
        )
    odd = [1 + k * 2.0**-13 for k in range(8)] + [-1 - k * 2.0**-13 for k in range(8)]
    cut = [float(f"{(1 + (k >> 3) * 2.0**-10)}") for k in range(8)]
    yield TritonLaunch(
        "toward_zero",
        "numbers",
        "toward_zero",
        {"x": ("f32", odd), "out": ("f16", zeros(SIZE))},
        {"N": SIZE},
        after={"out": [*cut, *(-value for value in cut)]},
    )


def _lanes() -> Iterator[TritonLaunch]:
    m, n = 4, 8
    shape = {"M": m, "N": n}
    ties = small(13, m * n, -3, 3)
    for t in ("i8", "i16", "i32", "i64", "u8", "u32"):
        x = integers(t, 11, 32)
        yield TritonLaunch(
            f"combined_{t}", "lanes", "integers_combined", {"x": (t, x), "out": (t, zeros(2))}, {"N": 32}
        )
        yield TritonLaunch(f"whole_{t}", "lanes", "whole", {"x": (t, x), "out": ("i64", zeros(3))}, {"N": 32})
        few = ties if t[0] == "i" else [abs(value) for value in ties]
        yield TritonLaunch(
            f"places_{t}", "lanes", "places", {"x": (t, few), "out": ("i32", zeros(3 * m + 2 * n))}, shape
        )
    below = {"x": ("i32", small(12, 32, -50, -1)), "out": ("i64", zeros(3))}
    yield TritonLaunch("below_zero", "lanes", "whole", below, {"N": 32})
    for t in ("i32", "u8", "f32", "f16"):
        x = [abs(value) for value in ties] if t == "u8" else ties
        yield TritonLaunch(f"rows_{t}", "lanes", "rows", {"x": (t, x), "out": (t, zeros(3 * m + 3 * n))}, shape)
    yield TritonLaunch(
        "places_f32", "lanes", "places", {"x": ("f32", ties), "out": ("i32", zeros(3 * m + 2 * n))}, shape
    )
    for t in ("i32", "i64", "f32"):
        # A sum and a count; the squares differ, as lanes are combined in any order.
        x = small(14, m * n, -3, 3) if t == "f32" else small(14, m * n, -100, 100)
        yield TritonLaunch(
            f"scanned_{t}", "lanes", "scanned", {"x": (t, x), "out": (t, zeros(6 * m * n))}, shape, within=1e-6
        )
    apart = random.Random(15).sample(range(-1000, 1000), m * n)
    yield TritonLaunch(
        "reduced_i32", "lanes", "reduced", {"x": ("i32", apart), "out": ("i32", zeros(m + 3 * n))}, shape
    )
    for t in ("i32", "i8", "u8", "f32", "i64"):
        x = [v % 200 for v in apart] if t == "u8" else [v % 200 - 100 for v in apart]
        yield TritonLaunch(f"sorted_{t}", "lanes", "sorted_rows", {"x": (t, x), "out": (t, zeros(3 * m * n))}, shape)
        yield TritonLaunch(f"largest_{t}", "lanes", "largest", {"x": (t, x), "out": (t, zeros(m * 4))}, shape)
    x, y = small(16, 8), small(17, 8)
    for t in ("i32", "f16"):
        yield TritonLaunch(
            f"joined_{t}", "lanes", "joined", {"x": (t, x), "y": (t, y), "out": (t, zeros(60))}, {"N": 8}
        )
    yield TritonLaunch(
        "mapped",
        "lanes",
        "mapped",
        {"x": ("i32", x), "y": ("i32", y), "out": ("i32", zeros(16))},
        {"N": 8},
        after={"out": [*(a + b for a, b in zip(x, y, strict=True)), *(a - b for a, b in zip(x, y, strict=True))]},
    )
    yield TritonLaunch("shaped", "lanes", "shaped", {"x": ("i32", small(18, 64)), "out": ("i32", zeros(320))})
    for t in ("i32", "f16"):
        yield TritonLaunch(
            f"gathered_{t}",
            "lanes",
            "gathered",
            {
                "x": (t, small(19, 32)),
                "rows_of": ("i32", small(20, 32, 0, 3)),
                "columns_of": ("i32", small(21, 32, 0, 7)),
                "out": (t, zeros(64)),
            },
            shape,
        )
    yield TritonLaunch(
        "gathered_deep",
        "lanes",
        "gathered_deep",
        {"x": ("i32", small(22, 64)), "index": ("i32", small(23, 64, 0, 7)), "out": ("i32", zeros(192))},
    )
    yield TritonLaunch(
        "counted",
        "lanes",
        "counted",
        {"x": ("i32", small(24, 32, 0, 7)), "out": ("i32", zeros(16))},
        {"N": 32, "BINS": 8},
        {"n": ("i32", 19)},
    )


def _products() -> Iterator[TritonLaunch]:
    m, n, k = 2, 4, 32
    shape = {"M": m, "N": n, "K": k}
    x, y, z = small(30, m * k, -4, 4), small(31, k * n, -4, 4), small(32, m * n, -9, 9)
    for t, of in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"), ("f8e5m2", "f32")):
        yield TritonLaunch(
            f"multiplied_{t}_{of}",
            "lanes",
            "multiplied",
            {"x": (t, x), "y": (t, y), "z": (of, z), "out": (of, zeros(m * n))},
            shape,
        )
    for precision in ("ieee", "tf32", "tf32x3"):
        yield TritonLaunch(
            f"multiplied_{precision}",
            "lanes",
            "multiplied_plain",
            {"x": ("f32", x), "y": ("f32", y), "out": ("f32", zeros(m * n))},
            {**shape, "P": precision},
        )
    yield TritonLaunch(
        "multiplied_batches",
        "lanes",
        "multiplied_batches",
        {"x": ("f16", x + x[::-1]), "y": ("f16", y[::-1] + y), "out": ("f32", zeros(2 * m * n))},
        shape,
    )


def _scaled() -> Iterator[TritonLaunch]:
    """Formats of both operands, and along which dimensions two numbers of 4 bits lie in a byte."""
    m, k, n = 4, 64, 8
    stored = {"e2m1": "u8", "e4m3": "f8e4m3", "e5m2": "f8e5m2", "fp16": "f16"}
    for lhs, rhs, along in (
        ("e2m1", "e2m1", (True, True)), ("e2m1", "e2m1", (False, False)), ("e4m3", "e2m1", (True, True)),
        ("e2m1", "e5m2", (True, True)), ("e4m3", "e5m2", (True, True)),
        ("e5m2", "fp16", (True, True)), ("fp16", "e2m1", (True, True)),
    ):  # fmt: skip
        left = (m, k // 2) if along[0] else (m // 2, k)
        right = (k // 2, n) if along[1] else (k, n // 2)
        shapes = [shape if kind == "e2m1" else whole
                  for kind, shape, whole in ((lhs, left, (m, k)), (rhs, right, (k, n)))]  # fmt: skip
        x, y = (
            small(80 + at, a * b, 0, 255) if kind == "e2m1" else reals(80 + at, a * b)
            for at, (kind, (a, b)) in enumerate(zip((lhs, rhs), shapes, strict=True))
        )
        (mp, kp), (kq, nq) = shapes
        yield TritonLaunch(
            f"scaled_{lhs}_{rhs}_{''.join('k' if each else 'o' for each in along)}",
            "lanes",
            "scaled",
            {
                "x": (stored[lhs], x), "y": (stored[rhs], y), "s": ("u8", small(82, m * 2, 120, 130)),
                "t": ("u8", small(83, n * 2, 122, 132)), "out": ("f32", zeros(m * n)),
            },
            {"M": m, "K": k, "N": n, "G": 2, "MP": mp, "KP": kp, "KQ": kq, "NQ": nq, "LHS": lhs, "RHS": rhs},
            within=1e-5,
        )  # fmt: skip
    x, y = small(84, m * k // 2, 0, 255), reals(85, k * n)
    edges = [0, 254, 255, *small(86, 2 * m - 3, 100, 140)]
    for name, scales in (("plain", small(87, 2 * m, 120, 130)), ("edges", edges)):
        yield TritonLaunch(
            f"scaled_once_{name}",
            "lanes",
            "scaled_once",
            {"x": ("u8", x), "y": ("f8e4m3", y), "s": ("u8", scales), "out": ("f32", zeros(m * n))},
            {"M": m, "K": k, "N": n, "LHS": "e2m1", "RHS": "e4m3"},
            within=1e-5,
        )

    yield _scaled_by_floats()


def _scaled_by_floats() -> TritonLaunch:
    """Scales that are floats of 8 bits, as of nvfp4, which Triton's interpreter does not take."""
    m, k, n, g = 2, 32, 4, 2
    x, y = small(90, m * k // 2, 0, 255), small(91, k // 2 * n, 0, 255)
    s, t = ([number / 2 for number in small(seed, count * g, -8, 8)] for seed, count in ((92, m), (93, n)))
    left = [[_four_bits(x[i * k // 2 + j // 2], j % 2) * s[i * g + j * g // k] for j in range(k)] for i in range(m)]
    right = [[_four_bits(y[j // 2 * n + c], j % 2) * t[c * g + j * g // k] for j in range(k)] for c in range(n)]
    product = [sum(map(operator.mul, row, column)) for row in left for column in right]
    return TritonLaunch(
        "scaled_by_floats",
        "lanes",
        "scaled",
        {"x": ("u8", x), "y": ("u8", y), "s": ("f8e4m3", s), "t": ("f8e4m3", t), "out": ("f32", zeros(m * n))},
        {"M": m, "K": k, "N": n, "G": g, "MP": m, "KP": k // 2, "KQ": k // 2, "NQ": n, "LHS": "e2m1", "RHS": "e2m1"},
        within=1e-5,
        after={"out": product},
    )


def _four_bits(byte: int, upper: int) -> float:
    """The number of e2m1 in one half of a byte."""
    code = byte >> 4 if upper else byte & 15
    return (-1.0 if code & 8 else 1.0) * (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)[code & 7]


def _flow() -> Iterator[TritonLaunch]:
    n = {"N": 8}
    x = small(40, 64)
    for rounds in (1, 3):
        yield TritonLaunch(
            f"pointers_in_a_loop_{rounds}",
            "flow",
            "pointers_in_a_loop",
            {"x": ("i32", x), "out": ("i32", zeros(16))},
            n,
            {"n": ("i32", rounds)},
        )
    yield TritonLaunch(
        "pointer_in_a_while",
        "flow",
        "pointer_in_a_while",
        {"x": ("i32", [3, 1, 4, 99, 5]), "out": ("i32", zeros(10))},
        {},
        {"n": ("i32", 99)},
    )
    yield TritonLaunch("nested", "flow", "nested", {"out": ("i32", zeros(8))}, n, {"n": ("i32", 7), "m": ("i32", 9)})
    yield TritonLaunch(
        "branches",
        "flow",
        "branches",
        {"x": ("i32", x), "y": ("i32", small(41, 16)), "out": ("i32", zeros(64))},
        n,
        {"n": ("i32", 2)},
        (4, 1, 1),
    )
    yield TritonLaunch(
        "early", "flow", "early", {"x": ("i32", x), "out": ("i32", zeros(64))}, n, {"n": ("i32", 5)}, (8, 1, 1)
    )
    yield TritonLaunch("functions", "flow", "functions", {"x": ("i32", x), "out": ("i32", zeros(96))}, n, {}, (3, 1, 1))
    four = [4, *small(42, 7, 0, 9)]
    yield TritonLaunch(
        "called_in_loops",
        "flow",
        "called_in_loops",
        {"x": ("i32", four), "out": ("i32", zeros(8))},
        n,
        {"n": ("i32", 5)},
    )
    yield TritonLaunch("unrolled", "flow", "unrolled", {"x": ("i32", x[:8]), "out": ("i32", zeros(16))}, n)
    yield TritonLaunch("axes", "flow", "axes", {"out": ("i32", zeros(24))}, {}, {}, (2, 3, 4))
    yield TritonLaunch(
        "wide_counter",
        "flow",
        "wide_counter",
        {"out": ("i64", zeros(8))},
        n,
        {"n": ("i64", (1 << 40) + 1)},
        after={"out": [3 * ((1 << 40) + 2) * k for k in range(8)]},
    )
    for rounds in (4, 5):
        yield TritonLaunch(
            f"swapped_{rounds}",
            "flow",
            "swapped",
            {"x": ("i32", x[:8]), "y": ("i32", x[8:16]), "out": ("i32", zeros(8))},
            n,
            {"n": ("i32", rounds)},
        )
    yield TritonLaunch(
        "promises",
        "flow",
        "promises",
        {"x": ("i32", x[:13]), "out": ("i32", zeros(16))},
        n,
        {"n": ("i32", 13)},
        (2, 1, 1),
        options={"debug": True},
    )
    yield TritonLaunch(
        "more_promises", "flow", "more_promises", {"x": ("i32", list(range(128))), "out": ("i32", zeros(64))}, n
    )
    yield TritonLaunch(
        "chosen",
        "flow",
        "chosen",
        {"x": ("i32", x[:16]), "y": ("i32", x[16:32]), "out": ("i32", zeros(16))},
        n,
        {"n": ("i32", 3)},
    )
    yield TritonLaunch(
        "ended",
        "flow",
        "ended",
        {"x": ("i32", [900, 5, 77, 3, 1000, 8, 0, 64]), "out": ("i32", zeros(9))},
        n,
        {"n": ("i32", 50)},
    )


def _memory() -> Iterator[TritonLaunch]:
    n = {"N": 8}
    x = small(50, 64)
    for t in ("i32", "f16", "u8"):
        values = [abs(v) for v in x]
        yield TritonLaunch(
            f"masked_{t}",
            "memory",
            "masked",
            {"x": (t, values[:16]), "y": (t, values[16:32]), "out": (t, [3] * 48)},
            n,
            {"n": ("i32", 11)},
            (2, 1, 1),
        )
    yield TritonLaunch(
        "wide",
        "memory",
        "wide",
        {"x": ("i32", x * 4), "out": ("i32", zeros(32))},
        n,
        {"stride": ("i32", 2147483647)},
        after={"out": [*x[:8], *x[2:10], *x[:8], *(x * 4)[200:208]]},
    )
    yield TritonLaunch(
        "negative",
        "memory",
        "negative",
        {"x": ("i32", x[:8]), "out": ("i32", zeros(32))},
        n,
        after={"out": x[:8][::-1] * 4},
    )
    for rounds in (1, 3):
        yield TritonLaunch(f"in_place_{rounds}", "memory", "in_place", {"x": ("i32", x[:8])}, n, {"n": ("i32", rounds)})
    yield TritonLaunch(
        "retyped", "memory", "retyped", {"x": ("i32", integers("i32", 51, 16)), "out": ("i32", zeros(24))}, n
    )
    yield TritonLaunch(
        "pointer_numbers", "memory", "pointer_numbers", {"x": ("i16", x[:8]), "out": ("i64", zeros(8))}, n
    )
    yield TritonLaunch(
        "flags", "memory", "flags", {"x": ("bool", [1, 0, 1, 1, 0, 0, 0, 1]), "out": ("bool", zeros(8))}, n
    )


def _atomics() -> Iterator[TritonLaunch]:
    for t in ("i32", "u32", "i64", "u64"):
        x, v = integers(t, 60, 64), integers(t, 61, 8)
        v = [x[56 + k] if k % 2 else value for k, value in enumerate(v)]
        yield TritonLaunch(
            f"atomics_{t}",
            "memory",
            "atomics",
            {"x": (t, x), "v": (t, v), "old": (t, zeros(64))},
            {"N": 8},
            {"n": ("i32", 5)},
        )
    for t in ("i16", "u16", "i32", "i64", "f16", "bf16", "f32"):
        cells = integers(t, 64, 9) if t[0] in "iu" else reals(64, 9)
        held = [value if k % 2 else 3 for k, value in enumerate(cells[:8])]
        yield TritonLaunch(
            f"swaps_{t}", "memory", "swaps", {"x": (t, cells), "v": (t, held), "old": (t, zeros(9))}, {"N": 8}
        )
    for t in ("i8", "u8", "i16", "f16", "bf16"):
        cells = small(65, 8, 1, 9)
        yield TritonLaunch(
            f"small_atomics_{t}", "memory", "small_atomics", {"x": (t, cells), "old": (t, zeros(8))}, {"N": 8}
        )
    for t in ("i16", "u32", "i64"):
        cells = integers(t, 66, 8)
        yield TritonLaunch(
            f"polls_{t}", "memory", "polls", {"x": (t, [*cells, *cells]), "out": ("i8", zeros(18))}, {"N": 8}
        )
    for t in ("i16", "i32"):
        yield TritonLaunch(
            f"polled_{t}",
            "memory",
            "polled",
            {"flag": (t, [0]), "x": (t, [*small(67, 4), *zeros(4)])},
            {"N": 4},
            grid=(3, 1, 1),
        )
    for t in ("f32", "f64"):
        cells, others = reals(62), reals(63, 8)
        yield TritonLaunch(
            f"float_atomics_{t}",
            "memory",
            "float_atomics",
            {"x": (t, cells), "v": (t, others), "old": (t, zeros(16))},
            {"N": 8},
            after={"x": [*_plus(cells[:8], others), *others], "old": cells},
        )
        most = [max(a, b) for a, b in zip(cells[:8], others, strict=True)]
        least = [min(a, b) for a, b in zip(cells[8:], others, strict=True)]
        yield TritonLaunch(
            f"float_extremes_{t}",
            "memory",
            "float_extremes",
            {"x": (t, cells), "v": (t, others)},
            {"N": 8},
            after={"x": most + least},
        )
    for t in ("i32", "f32", "f16", "f64", "u64"):
        yield TritonLaunch(
            f"added_{t}", "memory", "added", {"x": (t, small(64, 4, 0, 9)), "v": (t, small(65, 16, 0, 9))}, {"N": 16}
        )
    chosen = ((68, "x"), (70, "y"), (72, "z"))
    yield TritonLaunch(
        "chosen_pointers",
        "memory",
        "chosen_pointers",
        {name: ("i32", [*small(seed, 32, 1, 9), *zeros(8), *small(seed + 1, 32)]) for seed, name in chosen},
        {"N": 8},
        {"n": ("i32", 5)},
        (3, 1, 1),
    )
    yield TritonLaunch(
        "flagged",
        "memory",
        "flagged",
        {"x": ("i32", small(66, 16, 0, 9)), "flag": ("i32", [0])},
        {"N": 8},
        {},
        (3, 1, 1),
    )
    yield TritonLaunch(
        "counter", "memory", "counter", {"x": ("i32", zeros(9)), "ticket": ("i32", zeros(2))}, {}, {}, (8, 1, 1)
    )


def _descriptors() -> Iterator[TritonLaunch]:
    shape, block = {"M": ("i32", 6), "N": ("i32", 12)}, {"BM": 4, "BN": 8}
    x = small(70, 72)
    for t in ("i32", "f32"):
        yield TritonLaunch(
            f"descriptors_{t}", "memory", "descriptors", {"x": (t, x), "out": (t, zeros(72))}, block, shape
        )
        yield TritonLaunch(f"outside_{t}", "memory", "outside", {"x": (t, x), "out": (t, [5] * 96)}, block, shape)
    yield TritonLaunch(
        "handed_descriptors",
        "memory",
        "handed_descriptors",
        {"x": ("f32", x), "y": ("f32", small(74, 72)), "out": ("f32", [5] * 224)},
        block,
        shape,
    )
    yield TritonLaunch("padded", "memory", "padded", {"x": ("f32", x), "out": ("f32", [5] * 32)}, block, shape)
    for t in ("i32", "u32"):
        values = x if t == "i32" else [v % 40 + (v % 3) * (1 << 30) for v in x]
        more = small(71, 32, *((0, 1 << 31) if t == "u32" else (-30, 30)))
        yield TritonLaunch(
            f"atomic_descriptors_{t}",
            "memory",
            "atomic_descriptors",
            {"x": (t, values), "v": (t, more)},
            block,
            shape,
            after={"x": _combined(values, more, [("add", 1, 0), ("max", 0, 4), ("min", 2, 4)])},
        )
        yield TritonLaunch(
            f"bit_descriptors_{t}",
            "memory",
            "bit_descriptors",
            {"x": (t, values), "v": (t, more)},
            block,
            shape,
            after={"x": _combined(values, more, [("and", 0, 0), ("or", 1, 4), ("xor", 2, 2)])},
        )
    yield TritonLaunch(
        "descriptor_rows",
        "memory",
        "descriptor_rows",
        {"x": ("f32", small(72, 6 * 20)), "index": ("i32", [5, 0, 6, 3, 1, 2, 9, 4]), "out": ("f32", zeros(6 * 20))},
        {"B": 8, "BN": 16},
        {"M": ("i32", 6), "N": ("i32", 20)},
    )
    yield TritonLaunch(
        "deep_descriptor",
        "memory",
        "deep_descriptor",
        {"x": ("f32", small(73, 2 * 4 * 12)), "out": ("f32", zeros(64))},
        block,
        {"A": ("i32", 2), "M": ("i32", 4), "N": ("i32", 12)},
    )


_COMBINED: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "max": max,
    "min": min,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def _combined(cells: Sequence[int], block: Sequence[int], kinds: Sequence[tuple[str, int, int]]) -> list[int]:
    """A 6 x 12 array after atomics of a 4 x 8 block at places that may leave it."""
    after = list(cells)
    for kind, row, column in kinds:
        for position, value in enumerate(block):
            y, x = row + position // 8, column + position % 8
            if y < 6 and x < 12:
                after[y * 12 + x] = _COMBINED[kind](after[y * 12 + x], value)
    return after
