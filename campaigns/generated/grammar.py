"""The grammar of contracts: arrays, facts, scalars, lists and grids, drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expression_parser import parse_condition, parse_size
from tileverify.contract.launch import ArrayArgument, Expression, LaunchSpec, ListArgument, Name, Number, ScalarArgument

from .contracts import ANY_GRID, FiniteContract
from .draws import Draws

NAMES = ("N", "M")
FLOATS = "flt"
"""An array of floats whose contents may steer a kernel."""
FAR = (("N * 64",), ("N",))
"""A theme whose sizes do not all fit 8 bits."""
SYNC = "sync"
"""The array that blocks synchronise through; it holds 0 at first."""
THEMES: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("N * T",), ("N",)),
    (("N",), ("cdiv(N, T)",)),
    (("N",), ("N",)),
    (("N", "M"), ("N", "M")),
    (("N * T", "M"), ("N", "cdiv(M, T)")),
    (("N", "T"), ("N",)),
    (("N", "M"), ("cdiv(N, T)", "cdiv(M, T)")),
    (("N * T",), ("2",)),
    (("N * M",), ("N", "M")),
    (("N * T",), ()),
    (("N", "M"), ("N",)),
)
"""Shapes and grids that go together; ``T`` is the tile."""


@dataclass
class _Making:
    draws: Draws
    domains: dict[str, Sequence[int]] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)

    def number(self, name: str, low: int, high: int) -> None:
        self.domains[name] = range(low, high + 1)
        self.requires += [f"{name} >= {low}", f"{name} <= {high}"]

    def size(self, name: str) -> str:
        if name not in self.domains:
            low = self.draws.pick((1, 0, 2))
            self.number(name, low, low + self.draws.pick((2, 1, 3)))
            if self.draws.chance(15):
                self.requires.append(f"{name} % 2 == 0")
        return name


def make_contract(draws: Draws) -> FiniteContract:
    """A contract over one to three arrays and up to two scalars."""
    making = _Making(draws)
    draws.careful = draws.chance(75)
    tile = draws.pick((2, 1, 4))
    theme = draws.pick(THEMES) if draws.careful else ((), ())
    narrow = draws.weighted((17, ""), (1, "sizes"), (1, "scalars"))
    if narrow:
        draws.note(f"narrow {narrow}")
    if narrow == "sizes":
        theme = FAR
    arguments: list[ArrayArgument | ScalarArgument] = []
    names = ["a", "b", "c"][: draws.weighted((3, 2), (2, 1), (1, 3))]
    apart = draws.chance(10) and not narrow
    for name in names:
        two = apart and name == names[0]
        arguments.append(_two_strides(making, name) if two else _array(making, name, tile, theme[0]))
    protocol = draws.chance(10)
    steering = _steering(making, protocol)
    arguments += steering
    arguments += _scalars(making, narrow)
    lists: tuple[ListArgument, ...] = ()
    if not protocol and draws.chance(12):
        lists = (_list(making),)
        draws.note("list of arrays")
    grid = _grid(making, tile, theme[1])
    if grid is None:
        draws.note("open grid")
    if draws.chance(12) and making.domains:
        draws.note("boolean clause")
        making.requires.append(_boolean(making))
    overlap: tuple[frozenset[str], ...] = ()
    if len(names) > 1 and draws.chance(12):
        overlap = (frozenset(names[:2]),)
    spec = LaunchSpec(
        kernel="generated",
        name="all",
        arguments=(*arguments, *lists),
        grid=None if grid is None else tuple(map(parse_size, grid)),  # type: ignore[arg-type]
        requires=tuple(parse_condition(text) for text in making.requires),
        data=tuple(map(parse_data_fact, making.data)),
        overlap=overlap,
        requires_text=tuple(making.requires),
        grid_text=grid or (),
    )
    _note(draws, spec)
    return FiniteContract(spec, making.domains, tile, tuple(array.name for array in steering), narrow)


def _note(draws: Draws, spec: LaunchSpec) -> None:
    if any(array.index_bits == 64 for array in spec.arrays()):
        draws.note("64-bit sizes")
    facts = Counter(fact.array for fact in spec.data if fact.array != SYNC)
    if max(facts.values(), default=0) > 1:
        draws.note("two facts on one array")
    if len(facts) > 1:
        draws.note("facts on two arrays")


def _steering(making: _Making, protocol: bool) -> list[ArrayArgument]:
    """Arrays whose contents say where to go on, or when."""
    draws = making.draws
    if protocol:
        making.data.append(f"range({SYNC}, 0, 1)")
        return [ArrayArgument(SYNC, draws.pick(("i32", "i64")), (parse_size(draws.pick(("1", "2"))),))]
    found = _index_arrays(making) if draws.chance(40) else []
    if draws.chance(9):
        draws.note("array of floats that steer")
        found.append(ArrayArgument(FLOATS, "f32", (parse_size(draws.pick(("2", "1", "4"))),)))
    return found


def _scalars(making: _Making, narrow: str) -> list[ScalarArgument]:
    draws = making.draws
    found = [_scalar(making, name) for name in ("s", "t")[: draws.weighted((3, 0), (3, 1), (1, 2))]]
    if narrow == "scalars":
        making.number("v", 126, draws.pick((128, 129)))
        found.append(ScalarArgument("v", "i32"))
    if draws.chance(8):
        making.domains["p"] = (0, 1)
        found.append(ScalarArgument("p", "bool"))
    return found


def _two_strides(making: _Making, name: str) -> ArrayArgument:
    """Rows and columns at distances that have names."""
    draws = making.draws
    draws.note("two named strides")
    shape = draws.pick((("N", "M"), ("N", "2"), ("2", "M")))
    for free in NAMES:
        if free in shape:
            making.size(free)
    making.number(f"ld{name}", *draws.pick(((1, 3), (2, 4), (1, 2))))
    making.number(f"st{name}", *draws.pick(((1, 2), (1, 1), (2, 3))))
    strides = (parse_size(f"ld{name}"), parse_size(f"st{name}"))
    dtype = draws.pick(("i32", "f32", "i8", "i64"))
    return ArrayArgument(name, dtype, tuple(map(parse_size, shape)), strides, draws.weighted((4, 32), (1, 64)))


def _array(making: _Making, name: str, tile: int, usual: Sequence[str]) -> ArrayArgument:
    draws = making.draws
    dtype = draws.pick(("i32", "f32", "i8", "i64"))
    bits = draws.weighted((4, 32), (1, 64))
    if usual and not draws.slip(30):
        shape = tuple(size.replace("T", str(tile)) for size in usual)
    elif draws.chance(30):
        shape = draws.pick((("N", "M"), ("N", str(tile)), (str(tile), "N"), ("2", "3"), ("N", f"M * {tile}")))
    else:
        shape = draws.pick(((f"N * {tile}",), ("N",), ("M",), (f"{2 * tile}",), ("N * M",), ("N + 1",)))
    for size in shape:
        for free in NAMES:
            if free in size:
                making.size(free)
    strides: tuple[Expression, ...] | None = None
    if draws.chance(6):
        strides = tuple(parse_size(draws.pick(("1", "2", "0"))) for _ in shape)
    elif draws.chance(25):
        ld = f"ld{name}"
        making.number(ld, *draws.pick(((1, 4), (2, 5), (0, 3))))
        if len(shape) == 1:
            strides = (parse_size(ld),)
        else:
            strides = draws.pick(((parse_size(ld), parse_size("1")), (parse_size("1"), parse_size(ld))))
    return ArrayArgument(name, dtype, tuple(map(parse_size, shape)), strides, bits)


def _index_arrays(making: _Making) -> list[ArrayArgument]:
    """The array ``idx``; with segments also their lengths, ``cnt``, or keys that ``idx`` numbers or has buckets for, or
    ``cnt`` with facts of its own."""
    draws = making.draws
    size = draws.pick(("N", "2", "1", "3"))
    if size == "N":
        making.size("N")
    idx = ArrayArgument("idx", draws.pick(("i32", "i8", "i64")), (parse_size(size),))
    kind = draws.weighted(
        (3, "permutation"), (3, "range"), (3, "injective"), (2, "none"), (3, "nondecreasing"), (1, "multiples"),
        (1, "shares"), (2, "unless"), (2, "below"), (2, "segments"), (1, "rows"), (4, "pair"), (2, "rising"),
    )  # fmt: skip
    low, high = draws.pick((0, 1, -1)), draws.pick((2, 3, 4))
    if kind in ("segments", "pair"):
        facts = _segments if kind == "segments" else _pair
        making.data += facts(draws, low, high)
        return [idx, ArrayArgument("cnt", draws.pick(("i32", "i8", "i64")), (parse_size(draws.pick((size, "2"))),))]
    making.data += _facts(draws, kind, low, high)
    return [replace(idx, shape=(*idx.shape, Number(2)))] if kind == "rows" else [idx]


def _segments(draws: Draws, low: int, high: int) -> list[str]:
    bounds = draws.pick((f", 0, {high}", ""))
    if draws.chance(30):
        chunk = draws.pick((1, 2))
        said = draws.pick((f"ranks(idx, cnt, {chunk})", f"buckets(idx, cnt, {chunk}, {draws.pick((1, 2))}{bounds})"))
        return [said, "range(cnt, 0, 2)", f"range(idx, 0, {high + 1})"]
    return [f"segments(idx, cnt{bounds})", f"range(cnt, {draws.pick((0, 1))}, 3)", f"range(idx, 0, {high + 1})"]


def _pair(draws: Draws, low: int, high: int) -> list[str]:
    """Facts on both arrays."""
    own = draws.pick(("injective", "nondecreasing", "permutation", ""))
    found = ["permutation(idx)"] if own == "permutation" else [f"range(idx, {low}, {high})"]
    if own in ("injective", "nondecreasing"):
        found.append(f"{own}(idx)")
    found.append(f"range(cnt, {draws.pick((0, 1))}, {draws.pick((2, 3))})")
    if draws.chance(50):
        found.append(draws.pick(("injective(cnt)", "nondecreasing(cnt)")))
    return found


def _facts(draws: Draws, kind: str, low: int, high: int) -> list[str]:
    match kind:
        case "none":
            return []
        case "permutation":
            return ["permutation(idx)"]
        case "rising":
            return [f"range(idx, {low}, {high})", "nondecreasing(idx)", "injective(idx)"]
        case "shares":
            return ["range(idx, 0, 4)", f"shares(idx, {high})"]
        case "unless":
            excused = draws.pick((-1, 0, high))
            unless = draws.pick((excused, -1))
            return [f"range(idx, {low}, {high}, unless={excused})", f"injective(idx, unless={unless})"]
        case "below":
            return [f"range(idx, 0, {high + 1})", f"injective(idx, 0, {high})"]
        case "rows":
            return [f"range(idx, {low}, {high})", "disjoint_rows(idx)"]
        case "multiples":
            more = draws.pick(("nondecreasing(idx)", "injective(idx)"))
            return [f"range(idx, {low}, {high + 2})", f"multiples(idx, {draws.pick((2, 3))})", more]
    return [f"range(idx, {low}, {high})", *([] if kind == "range" else [f"{kind}(idx)"])]


def _list(making: _Making) -> ListArgument:
    """Arrays of a fixed size, often with strides that are each array's own."""
    draws = making.draws
    dtype = draws.pick(("i32", "f32", "i8"))
    size = parse_size(draws.pick(("4", "2", "3")))
    shape: tuple[Expression, ...] = (size,)
    strides: tuple[Expression, ...] | None = None
    if draws.chance(55):
        draws.note("list with named strides")
        own, one = Name("own"), Number(1)
        shape, strides = draws.pick(
            (((size,), (own,)), ((Number(2), size), (own, one)), ((Number(2), size), (one, own)))
        )
    length = draws.pick(("2", "N", "1"))
    element = ArrayArgument("xs", dtype, shape, strides, 64)
    return ListArgument("xs", element, parse_size(making.size(length) if length == "N" else length))


def _boolean(making: _Making) -> str:
    """A clause of two comparisons."""
    draws = making.draws

    def comparison() -> str:
        name = draws.pick(sorted(making.domains))
        if name == "p":
            return draws.pick(("p", "not p"))
        values = making.domains[name]
        return f"{name} {draws.pick(('!=', '<=', '==', '>'))} {draws.pick(sorted(values))}"

    first, second = comparison(), comparison()
    return draws.pick((f"{first} or {second}", f"not ({first}) or {second}", f"not ({first} and {second})"))


def _scalar(making: _Making, name: str) -> ScalarArgument:
    draws = making.draws
    dtype = draws.pick(("i32", "i8", "i64", "u8", "i16", "u32", "u16"))
    if draws.chance(30):
        return ScalarArgument(name, dtype, parse_size(making.size(draws.pick(NAMES))))
    ranges = [(0, 3), (1, 4), (2, 2), (1, 1)]
    if dtype[0] == "i":
        ranges += [(-2, 1), (-3, -1)]
    if dtype in ("i8", "u8"):
        ranges += [(125, 127)]
    if dtype[0] == "u":
        draws.note("unsigned scalar")
        most = (1 << int(dtype[1:])) - 1
        ranges += [(most - 1, most), ((most - 1) // 2, (most + 3) // 2)]
    making.number(name, *draws.pick(ranges))
    return ScalarArgument(name, dtype)


def _grid(making: _Making, tile: int, usual: Sequence[str]) -> tuple[str, str, str] | None:
    draws = making.draws
    axes: Sequence[str]
    if draws.chance(11):
        return None
    if usual and not draws.slip(40):
        axes = [axis.replace("T", str(tile)) for axis in usual]
    else:
        axes = draws.pick(
            (("N",), (f"cdiv(N, {tile})",), ("2",), ("N * M",), ("N", "M"), ("3",), ("M", "N"), ("2", "2"), (), ("1",))
        )
    known = making.domains.keys()
    axes = [axis if all(name in known for name in NAMES if name in axis) else "2" for axis in axes]
    if not axes:
        making.requires.append(ANY_GRID)
        return None
    x, y, z = (*axes, "1", "1")[:3]
    return x, y, z
