"""Small changes of a kernel that may or may not break it: each takes one site and says what it did, or ``None``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeAlias

from tests.soundness.edits import Place, Site, integer_bits, made_constant, made_op, places, visible

from tileverify.frontend.bytecode.builder import constant, scalar
from tileverify.frontend.bytecode.enums import ENUMS
from tileverify.frontend.bytecode.model import Bounded, DivBy, Entry, Op, TileType, TokenType, Value
from tileverify.frontend.bytecode.optable import BY_NAME

from .directed import (
    change_traversal,
    lower_scope,
    off_by_one,
    relax_order,
    resize_tile,
    scale_stride,
    shift_bound,
    swap_indices,
    weaken_comparison,
)
from .view_mutators import change_view

Mutator: TypeAlias = Callable[[Entry, Site, Random], "str | None"]

_SIBLINGS: Final = (
    ("addi", "subi", "muli"),
    ("divi", "remi"),
    ("maxi", "mini"),
    ("andi", "ori", "xori"),
    ("shli", "muli", "addi"),
)
_LOADS_AND_STORES: Final = ("load_ptr_tko", "store_ptr_tko", "load_view_tko", "store_view_tko")
_ATOMICS: Final = ("atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko")
_FURTHER: Final = (
    ("addi", 1), ("subi", 1), ("addi", 1 << 31), ("muli", 2), ("muli", -1), ("muli", 0), ("muli", 1 << 16),
    ("divi", 2), ("divi", 3), ("remi", 2), ("remi", 5), ("mini", 3), ("maxi", 1), ("xori", 1), ("xori", -1),
    ("andi", -2), ("andi", 3), ("ori", 1), ("shli", 1), ("shri", 1), ("mulhii", 1 << 30),
)  # fmt: skip
_INDEX: Final = ("index", "off", "lower", "upper", "step", "inits", "shape", "strides", "arg", "cmp")
_ROUNDINGS: Final = ("zero", "negative_inf", "positive_inf")
_COMMUTATIVE: Final = ("addi", "muli", "andi", "ori", "xori", "mini", "maxi", "mulhii", "addf", "mulf", "join_tokens")
_FIXED: Final = ("assume",)
"""Ops whose operand is a promise: another value there makes a promise that nobody could keep."""


def _steers(value: Value) -> bool:
    """Whether a value can steer an address, a branch or an order: everything but floats."""
    kind = value.type
    return not isinstance(kind, TileType) or integer_bits(kind) > 0 or hasattr(kind.element, "pointee")


def _steering(op: Op) -> list[tuple[Place, Value]]:
    return [(place, value) for place, value in places(op) if _steers(value)]


def _integers(op: Op, bits: int = 1) -> list[tuple[Place, Value]]:
    return [(place, value) for place, value in places(op) if integer_bits(value.type) >= bits]


def _other(value: object, choices: tuple[str, ...], random: Random) -> str:
    return random.choice([choice for choice in choices if choice != value])


# ------------------------------------------------------------------------------------------------- operands
def change_constant(entry: Entry, site: Site, random: Random) -> str | None:
    kind = site.op.results[0].type if site.op.name == "constant" else None
    if not isinstance(kind, TileType) or not integer_bits(kind):
        return None
    old = site.op.attributes["value"]
    values = [old.element(place) for place in range(1 if old.is_splat else old.count)]
    change = random.choice((
        lambda v: v + 1, lambda v: v - 1, lambda v: v * 2, lambda v: v // 2, lambda v: 0, lambda v: -v, lambda v: v + 2,
    ))  # fmt: skip
    if integer_bits(kind) == 1:
        changed = [1 - value for value in values]
    else:
        only = random.randrange(len(values)) if random.random() < 0.5 else None
        changed = [change(value) if only in (None, n) else value for n, value in enumerate(values)]
    if changed == values:
        return None
    site.set_attribute("value", constant(kind, *changed))
    return f"constant {values[:4]} becomes {changed[:4]}"


def swap_operands(entry: Entry, site: Site, random: Random) -> str | None:
    taken = [] if site.op.name in _COMMUTATIVE else _steering(site.op)
    pairs = [
        (first, second)
        for number, first in enumerate(taken)
        for second in taken[number + 1 :]
        if first[1].type == second[1].type and first[1] is not second[1]
    ]
    if not pairs:
        return None
    (place, value), (other_place, other) = random.choice(pairs)
    site.set_operand(place, other)
    site.set_operand(other_place, value)
    return f"{site.op.name}: {place} and {other_place} swapped"


def _rewire(entry: Entry, site: Site, random: Random, taken: list[tuple[Place, Value]]) -> str | None:
    if not taken:
        return None
    place, value = random.choice(taken)
    others = [v for v in visible(entry, site.op) if v.type == value.type and v is not value]
    if not others:
        return None
    # Half of the time a near one, which is likelier to be of the same kind: an induction variable, a block id.
    other = random.choice(others[-8:] if random.random() < 0.5 else others)
    site.set_operand(place, other)
    return f"{site.op.name}: {place} rewired from %{value.number} to %{other.number}"


def rewire_operand(entry: Entry, site: Site, random: Random) -> str | None:
    return _rewire(entry, site, random, [] if site.op.name in _FIXED else _steering(site.op))


def rewire_index(entry: Entry, site: Site, random: Random) -> str | None:
    taken = [(p, value) for p, value in places(site.op) if p[0] in (*_INDEX, "ptr", "view", "base", "mask")]
    return _rewire(entry, site, random, taken)


def rewire_loop(entry: Entry, site: Site, random: Random) -> str | None:
    return _rewire(entry, site, random, list(places(site.op)) if site.op.name in ("for", "loop") else [])


def rewire_carried(entry: Entry, site: Site, random: Random) -> str | None:
    """Hand on another value to the next iteration, or out of a region."""
    return _rewire(entry, site, random, _steering(site.op) if site.op.declaration.terminator else [])


def rewire_token(entry: Entry, site: Site, random: Random) -> str | None:
    return _rewire(entry, site, random, [(p, v) for p, v in places(site.op) if isinstance(v.type, TokenType)])


def pin_operand(entry: Entry, site: Site, random: Random) -> str | None:
    """An integer operand becomes a constant."""
    taken = _integers(site.op)
    if not taken or site.op.name in _FIXED:
        return None
    place, value = random.choice(taken)
    assert isinstance(value.type, TileType)
    number = random.choice((0, 0, 1))
    made = made_constant(value.type, number)
    site.insert_before(made)
    site.set_operand(place, made.result)
    return f"{site.op.name}: {place} becomes {number}"


def _perturb(site: Site, random: Random, taken: list[tuple[Place, Value]]) -> str | None:
    """An integer operand is computed further: plus 1, times 2, modulo 2, through a narrower type, ..."""
    if not taken:
        return None
    place, value = random.choice(taken)
    kind = value.type
    assert isinstance(kind, TileType)
    narrower = [bits for bits in (8, 16, 32) if bits < integer_bits(kind)]
    if narrower and random.random() < 0.15:
        made, text = _through(kind, value, random.choice(narrower), random)
    else:
        made, text = _computed(kind, value, random)
    site.insert_before(*made)
    site.set_operand(place, made[-1].result)
    return f"{site.op.name}: {place} becomes {text}"


def _computed(kind: TileType, value: Value, random: Random) -> tuple[tuple[Op, ...], str]:
    name, number = random.choice(_FURTHER)
    other = made_constant(kind, number)
    attributes: dict[str, Any] = {}
    for attribute in BY_NAME[name].attributes:
        attributes[attribute.name] = "none" if attribute.name == "ovf" else random.choice(ENUMS["signedness"])
    if name == "divi":
        attributes["rnd"] = "zero" if attributes["sgn"] == "unsigned" else random.choice(_ROUNDINGS)
    made = made_op(name, kind, {"lhs": value, "rhs": other.result}, attributes)
    return (other, made), f"{name} of itself and {number} {' '.join(attributes.values())}".rstrip()


def _through(kind: TileType, value: Value, bits: int, random: Random) -> tuple[tuple[Op, ...], str]:
    narrow = made_op("trunci", TileType(scalar(f"i{bits}"), kind.shape), {"s": value}, {"ovf": "none"})
    reading = random.choice(ENUMS["signedness"])
    return (narrow, made_op("exti", kind, {"s": narrow.result}, {"sgn": reading})), f"its low {bits} bits, {reading}"


def perturb_operand(entry: Entry, site: Site, random: Random) -> str | None:
    return _perturb(site, random, [] if site.op.name in _FIXED else _integers(site.op, bits=2))


def perturb_index(entry: Entry, site: Site, random: Random) -> str | None:
    return _perturb(site, random, [(place, value) for place, value in _integers(site.op, bits=2) if place[0] in _INDEX])


def permute_grid(entry: Entry, site: Site, random: Random) -> str | None:
    """The axes of the block id, or of the grid, change places."""
    if site.op.name not in ("get_tile_block_id", "get_num_tile_blocks"):
        return None
    order = random.sample(site.op.results, 3)
    if order == list(site.op.results):
        return None
    names = [f"%{value.number}" for value in order]
    site.op.results = tuple(order)
    return f"{site.op.name} gives {', '.join(names)}"


# ---------------------------------------------------------------------------------------------- opcodes
def change_opcode(entry: Entry, site: Site, random: Random) -> str | None:
    siblings = [name for group in _SIBLINGS if site.op.name in group for name in group if name != site.op.name]
    if not siblings:
        return None
    old, new = site.op.name, BY_NAME[random.choice(siblings)]
    attributes = dict(site.op.attributes)
    if new.name == "divi":
        attributes["rnd"] = "zero"
    site.op.declaration = new
    site.op.attributes = {a.name: attributes.get(a.name, "none") for a in new.attributes}
    return f"{old} becomes {new.name}"


def change_arithmetic(entry: Entry, site: Site, random: Random) -> str | None:
    """Predicate, signedness, rounding or overflow promise of an integer op."""
    op = site.op
    if op.name == "for":
        op.flags = op.flags ^ {"unsignedCmp"}
        return f"for: counts {'unsigned' if op.flags else 'signed'}"
    names = [name for name in ("pred", "sgn", "rnd", "ovf") if name in op.attributes]
    if not _integers(op) or op.name == "assume" or not names:
        return None
    name = random.choice(names)
    kind = next(a.kind for a in op.declaration.attributes if a.name == name)
    new = _other(op.attributes[name], _ROUNDINGS if name == "rnd" else ENUMS[kind], random)
    text = f"{op.name}: {name} {op.attributes[name]} becomes {new}"
    site.set_attribute(name, new)
    return text


def change_promise(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.name != "assume":
        return None
    old = site.op.attributes["pred"]
    new: Bounded | DivBy
    if isinstance(old, Bounded):
        lower = None if old.lower is None else old.lower + random.choice((-1, 1, 2))
        upper = random.choice((None, 1, 1000)) if old.upper is None else old.upper + random.choice((-1, 1))
        new = Bounded(lower, upper)
    elif isinstance(old, DivBy):
        new = DivBy(random.choice((max(1, old.divisor // 2), old.divisor * 2, 1)), old.every, old.along)
    else:
        return None
    site.set_attribute("pred", new)
    return f"assume {old} becomes {new}"


# ------------------------------------------------------------------------------------------- memory accesses
def drop_token(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.operands.get("token") is None or site.op.declaration.counted:
        return None
    site.drop_operand("token")
    return f"{site.op.name}: token dropped"


def drop_joined(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.name != "join_tokens" or len(site.op.group("tokens")) < 2:
        return None
    tokens = list(site.op.group("tokens"))
    dropped = tokens.pop(random.randrange(len(tokens)))
    site.op.operands = {"tokens": tuple(tokens)}
    return f"join_tokens: %{dropped.number} dropped"


def drop_mask(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.operands.get("mask") is None:
        return None
    site.drop_operand("mask")
    return f"{site.op.name}: mask dropped"


def change_order(entry: Entry, site: Site, random: Random) -> str | None:
    op = site.op
    if op.name in _ATOMICS:
        name = random.choice(("ord", "scope"))
        legal = ENUMS["memory_scope"] if name == "scope" else ("relaxed", "acquire", "release", "acq_rel")
        new = _other(op.attributes[name], legal, random)
        text = f"{op.name}: {op.attributes[name]} becomes {new}"
        site.set_attribute(name, new)
        return text
    if op.name not in _LOADS_AND_STORES:
        return None
    old = op.attributes["ord"]
    if old == "weak":
        stronger = "release" if op.name.startswith("store") else "acquire"
        site.set_attribute("ord", random.choice(("relaxed", stronger)))
        site.set_attribute("scope", random.choice(ENUMS["memory_scope"]))
        op.flags = op.flags | {"scope"}
    else:
        site.set_attribute("ord", "weak")
        site.set_attribute("scope", None)
        op.flags = op.flags - {"scope"}
    return f"{op.name}: {old} becomes {op.attributes['ord']} {op.attributes['scope'] or ''}".rstrip()


def change_atomic_mode(entry: Entry, site: Site, random: Random) -> str | None:
    old = site.op.attributes.get("mode")
    if site.op.name not in _ATOMICS or old in (None, "addf"):
        return None
    new = _other(old, ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg"), random)
    site.set_attribute("mode", new)
    return f"{site.op.name}: {old} becomes {new}"


def flip_inbounds(entry: Entry, site: Site, random: Random) -> str | None:
    promised = list(site.op.attributes.get("inbounds") or ())
    if not promised:
        return None
    axis = random.randrange(len(promised))
    promised[axis] = not promised[axis]
    site.set_attribute("inbounds", tuple(promised))
    return f"{site.op.name}: inbounds {promised}"


def repeat_store(entry: Entry, site: Site, random: Random) -> str | None:
    """The same store again, behind nothing or behind itself."""
    op = site.op
    if op.declaration.effect != "write":
        return None
    again = Op(op.declaration, tuple(Value(-1, r.type) for r in op.results), op.operands, op.attributes, op.flags)
    waits = op.operands.get("token") is not None and random.random() < 0.5
    if waits:
        again.operands = {**op.operands, "token": op.results[0]}
    site.replace_by((op, again))
    return f"{op.name} twice, {'in order' if waits else 'in no order'}"


# --------------------------------------------------------------------------------------------- control flow
def swap_branches(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.name != "if" or not all(region.blocks for region in site.op.regions):
        return None
    site.op.regions = site.op.regions[::-1]
    return "if: branches swapped"


def drop_guard(entry: Entry, site: Site, random: Random) -> str | None:
    """An ``if`` without results goes: its body stands there unguarded, or not at all."""
    if site.op.name != "if" or site.op.results:
        return None
    body = site.op.regions[0].blocks[0].ops
    if body[-1].name == "yield" and random.random() < 0.7:
        site.replace_by(body[:-1])
        return "if: guard dropped"
    site.replace_by(())
    return f"if: dropped with its body, which ended in {body[-1].name}"


MUTATORS: Final[Mapping[str, Mutator]] = {
    "constant": change_constant,
    "swap": swap_operands,
    "rewire": rewire_operand,
    "index": rewire_index,
    "loop": rewire_loop,
    "carried": rewire_carried,
    "pin": pin_operand,
    "perturb": perturb_operand,
    "perturb-index": perturb_index,
    "grid": permute_grid,
    "opcode": change_opcode,
    "arithmetic": change_arithmetic,
    "promise": change_promise,
    "token": rewire_token,
    "no-token": drop_token,
    "joined": drop_joined,
    "no-mask": drop_mask,
    "order": change_order,
    "mode": change_atomic_mode,
    "view": change_view,
    "inbounds": flip_inbounds,
    "repeat": repeat_store,
    "branches": swap_branches,
    "guard": drop_guard,
    "index-swap": swap_indices,
    "off-by-one": off_by_one,
    "comparison": weaken_comparison,
    "loop-bound": shift_bound,
    "scope": lower_scope,
    "relaxed": relax_order,
    "stride": scale_stride,
    "traversal": change_traversal,
    "tile-size": resize_tile,
}

_OFTENER: Final = ("perturb", "perturb-index", "index", "rewire", "carried", "swap", "constant", "opcode")
KINDS: Final = (*MUTATORS, *_OFTENER, *_OFTENER)
"""What a change is drawn from: changes of what is computed are oftener harmless than those of accesses."""
