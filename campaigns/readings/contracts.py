"""Random launch specs, as text: arrays, scalars, lists, clauses, groups and facts, all that the language has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tileverify.contract.launch import LaunchSpec
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.system.errors import SpecError

NAMES = ("M", "N", "K", "ld")
DTYPES = ("f32", "f16", "bool", "i8", "i32", "i64", "u8", "u16", "f64")
SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "f32", "f64")
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 127, 128, 255, 2**15, 2**24 - 1, 2**31 - 1, 2**31, 2**32, 2**63 - 1)
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass
class Drawn:
    """What is being drawn; ``atoms`` are the names that an expression may use, by how they are written."""

    random: Random
    args: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)  # dtype and rank
    lists: list[str] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


def contract(random: Random) -> LaunchSpec:
    """A spec that can be read; what is refused (a name that is nothing, a clause that never holds) is drawn anew."""
    while True:
        fields = _fields(Drawn(random))
        try:
            return build_launch(RawLaunch(fields, "drawn.tileverify.toml", 1, 0), "0", None)
        except SpecError:
            continue


def _fields(drawn: Drawn) -> dict[str, Any]:
    random = drawn.random
    for name in ("x", "y", "z")[: random.choice((1, 1, 2, 2, 3))]:
        drawn.args[name] = _array(drawn, name)
    if random.random() < 0.15:
        drawn.args["xs"] = {"list": _element(drawn), "length": random.choice(("2", "L", "L + 1", "1", "0"))}
        drawn.lists.append("xs")
        drawn.atoms.append("L")
    for name in ("n", "k")[: random.choice((0, 0, 1, 1, 2))]:
        drawn.args[name] = _scalar(drawn, name)
    if random.random() < 0.2:
        drawn.args["pair"] = [_array(drawn, "pair[0]"), _scalar(drawn, "pair[1]")]
    drawn.atoms += [
        f"{a}.{part}[{d}]"
        for a, (_, rank) in drawn.arrays.items()
        for d in range(rank)
        for part in ("shape", "strides")
    ]
    fields: dict[str, Any] = {"kernel": "k", "args": drawn.args}
    if random.random() < 0.6:
        fields["grid"] = [_size(drawn, 2) for _ in range(random.choice((1, 1, 2, 3)))]
    drawn.atoms += ["grid.x", "grid.y", "grid.z"]
    fields["requires"] = [_fact(drawn) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    fields["data"] = list(_data(drawn))
    for key in ("alias", "overlap"):
        if random.random() < 0.15 and len(drawn.arrays) > 1:
            fields[key] = [random.sample(list(drawn.arrays), random.choice((2, min(3, len(drawn.arrays)))))]
        elif random.random() < 0.1 and drawn.lists:
            fields[key] = [["xs"]]
    return fields


def _array(drawn: Drawn, name: str) -> str:
    random, dtype = drawn.random, drawn.random.choice(DTYPES)
    rank = random.choice((0, 1, 1, 1, 2, 2, 2, 3))
    sizes = [_extent(drawn) for _ in range(rank)]
    options = ""
    if rank and random.random() < 0.4:
        own = [f"ld{len(drawn.arrays)}", "ld", "1", "1", "2", "0", "3", *sizes, f"2 * ({sizes[-1]})", "M * N", "M"]
        strides = [random.choice(own) for _ in range(rank)]
        if random.random() < 0.5:
            strides[-1] = "1"
        options += f"; strides=({', '.join(strides)}{',' if rank == 1 else ''})"
        drawn.atoms += [each for each in strides if each.isidentifier()]
    wide = random.random() < 0.25
    if wide:
        options += "; index=i64"
    drawn.arrays[name] = (dtype, rank)
    drawn.atoms += [each for each in sizes if each.isidentifier()]
    described = f"{dtype}[{', '.join(sizes)}{options}]"
    if rank and not wide and random.random() < 0.1:
        return f"&mut {described} @ [{', '.join(str(random.choice((1, 1, 2, 3, 64))) for _ in range(rank))}]"
    return f"&{described}" if random.random() < 0.05 else described


def _extent(drawn: Drawn) -> str:
    name, other = drawn.random.choice(NAMES), drawn.random.choice(NAMES)
    number = drawn.random.choice((0, 1, 1, 2, 3, 4, 8))
    return drawn.random.choice(
        (name, name, name, name, name, str(number), str(number), f"2 * {name}", f"{name} + {number}",
         f"{name} - {number}", f"{name} * {other}", f"cdiv({name}, 4)", f"max({name}, {number})",
         f"{name} // 2", f"{name} ** 2",
         f"3 * {name} + {other}", f"{name} % 8", "n", f"min({name}, {other})", f"{number} - {name}")
    )  # fmt: skip


def _element(drawn: Drawn) -> str:
    return drawn.random.choice(
        ("f32[P]", "f32[P, Q]", "i32[4]", "f32[P, P]", "f32[P, 4]", "f16[P, Q; strides=(lp, 1)]",
         "f32[2, P; index=i64]",
         "f32[P, Q; strides=(lp, lq)]", "f32[P + 1]", "f32[P; strides=(2,)]")
    )  # fmt: skip


def _scalar(drawn: Drawn, name: str) -> str:
    random, dtype = drawn.random, drawn.random.choice(SCALARS)
    if dtype.startswith("f"):
        return dtype
    drawn.atoms.append(name)
    if dtype == "bool":
        drawn.flags.append(name)
    if random.random() < 0.5:
        return dtype
    tied = _condition(drawn, 1) if dtype == "bool" and random.random() < 0.7 else _size(drawn, 2)
    return f"{dtype} = {tied}"


# ------------------------------------------------------------------------------------------- expressions
def _size(drawn: Drawn, depth: int) -> str:
    random = drawn.random
    choice = random.random()
    if depth == 0 or choice < 0.35:
        if drawn.atoms and random.random() < 0.75:
            return random.choice(drawn.atoms)
        number = random.choice(NUMBERS)
        return str(number) if random.random() < 0.9 else f"-{number}"
    a, b = _size(drawn, depth - 1), _size(drawn, depth - 1)
    if choice < 0.42:
        return f"{random.choice(('min', 'max'))}({', '.join([a, b, _size(drawn, depth - 1)][: random.choice((2, 3))])})"
    if choice < 0.52:
        return f"cdiv({a}, {random.choice((b, '2', '128'))})"
    if choice < 0.57:
        return f"-({a})"
    if choice < 0.64:
        return f"({a}) ** {random.choice(('0', '1', '2', '3', '2 ** 2', '1 + 1'))}"
    if choice < 0.82:
        return f"({a}) {random.choice(('//', '%'))} ({random.choice((b, '2', '4', '-3'))})"
    return f"({a}) {random.choice(('+', '-', '*'))} ({b})"


def _condition(drawn: Drawn, depth: int) -> str:
    random, choice = drawn.random, drawn.random.random()
    if depth and choice < 0.2:
        return f"not ({_condition(drawn, depth - 1)})"
    if depth and choice < 0.5:
        word = f" {random.choice(('and', 'or'))} "
        return word.join(f"({_condition(drawn, depth - 1)})" for _ in range(random.choice((2, 2, 3))))
    if drawn.flags and choice < 0.6:
        return random.choice(drawn.flags)
    sides = [_size(drawn, 2) for _ in range(random.choice((2, 2, 2, 3)))]
    return "".join(f"{side} {random.choice(RELATIONS)} " for side in sides[:-1]) + sides[-1]


def _fact(drawn: Drawn) -> str:
    random, choice = drawn.random, drawn.random.random()
    if drawn.arrays and choice < 0.06:
        return f"{random.choice(list(drawn.arrays))}.address % {random.choice((1, 16, 64, 4096))} == 0"
    if len(drawn.arrays) > 1 and choice < 0.14:
        return " is ".join(random.sample(list(drawn.arrays), 2))
    if drawn.lists and choice < 0.3:
        return _of_each_array(drawn)
    # What most launches keep, so that legal ones are found.
    atom = random.choice(drawn.atoms)
    usual = (f"{atom} >= {random.choice((0, 1, 2))}", f"{atom} <= {random.choice(NUMBERS)}", f"{atom} % 2 == 0")
    return random.choice(usual) if choice < 0.5 else _condition(drawn, 2)


def _of_each_array(drawn: Drawn) -> str:
    """What is said of every array of a list."""
    random = drawn.random
    part = random.choice(("shape[0]", "shape[0]", "strides[0]", "shape[1]", "strides[1]"))
    member, other = f"{random.choice(drawn.lists)}.{part}", random.choice((*drawn.atoms, "4"))
    aligned = f"{drawn.lists[0]}.address % {random.choice((1, 8, 16, 64))} == 0"
    usual = (f"{member} >= {random.choice((0, 1))}", f"{member} % {random.choice((1, 2, 4))} == 0", aligned)
    unusual = (f"{member} {random.choice(RELATIONS)} {other}", f"{member} != 3 and {aligned}")
    return random.choice((*usual, *usual, *unusual))


def _data(drawn: Drawn) -> Iterator[str]:
    random = drawn.random
    whole = [name for name, (dtype, rank) in drawn.arrays.items() if dtype[0] in "iu"]
    for name in whole:
        rank = drawn.arrays[name][1]
        for _ in range(random.choice((0, 1, 1, 2))):
            low, high = (
                random.choice(("0", "1", "-2", _size(drawn, 1))),
                random.choice(("4", "8", "N", _size(drawn, 1))),
            )
            unless = random.choice(("", "", f", unless={random.choice(('-1', '0', '(1, 2)'))}"))
            bounds = random.choice(("", f", {low}, {high}"))
            several = [f"injective({name}{bounds}{unless})", f"permutation({name})", f"nondecreasing({name})"]
            several += [f"range({name}, {low}, {high}{unless})"] * 3
            several += [f"multiples({name}, {random.choice(('1', '2', '4', _size(drawn, 1)))})"]
            several += [f"shares({name}, {high})"]
            if rank >= 2:
                several.append(f"disjoint_rows({name}{bounds}{unless})")
            partners = [other for other in whole if other != name and drawn.arrays[other][1] == 1]
            if rank == 1 and partners:
                keys, n = random.choice(partners), random.choice(("1", "2", "3", _size(drawn, 1)))
                several.append(f"segments({name}, {random.choice(partners)}{bounds})")
                several.append(f"ranks({name}, {keys}, {n})")
                several.append(f"buckets({name}, {keys}, {n}, {random.choice(('1', '2', _size(drawn, 1)))}{bounds})")
            yield random.choice(several)
