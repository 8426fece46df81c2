"""Writes the corpus' bytecode that no compiler writes from cuTile Python: python tools/handwritten_bytecode.py

Mixed element widths, memory of a block's own, module variables, addresses as integers, and tokens that are joined or
left out.  Every entry takes arrays as bare pointers, as CUDA Tile C++ passes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import (
    I8,
    I32,
    I64,
    TOKEN,
    BodyBuilder,
    ModuleBuilder,
    constant,
    pointer,
    tile,
)
from tileverify.frontend.bytecode.model import ScalarType, Value

CORPUS = Path(__file__).resolve().parents[1] / "src" / "tileverify" / "corpus"
WORD, BYTE = tile(pointer(I32)), tile(pointer(I8))
LANES = 64


class Body:
    """The ops of one entry, in the words of the kernels below."""

    def __init__(self, builder: BodyBuilder) -> None:
        self.builder = builder
        self.arrays = builder.parameters
        self.block: Value = builder.op("get_tile_block_id")[0]

    def number(self, value: int) -> Value:
        return self.builder.constant(tile(I32), value)

    def times(self, left: Value, right: int) -> Value:
        made: Value = self.builder.op("muli", lhs=left, rhs=self.number(right), ovf="none")
        return made

    def plus(self, left: Value, right: Value) -> Value:
        made: Value = self.builder.op("addi", lhs=left, rhs=right, ovf="none")
        return made

    def minus(self, left: Value, right: Value) -> Value:
        made: Value = self.builder.op("subi", lhs=left, rhs=right, ovf="none")
        return made

    def quotient(self, left: Value, right: int) -> Value:
        divisor = self.spread(self.number(right)) if left.type != tile(I32) else self.number(right)
        made: Value = self.builder.op("divi", lhs=left, rhs=divisor, sgn="signed", rnd="zero")
        return made

    def at(self, base: Value, offset: Value) -> Value:
        """``base + offset``, in elements of the pointer."""
        made: Value = self.builder.op("offset", ptr=base, off=offset)
        return made

    def bytes_of(self, base: Value) -> Value:
        made: Value = self.builder.op("ptr_to_ptr", s=base, results=[BYTE])
        return made

    def own_lanes(self) -> Value:
        return self.builder.op("iota", results=[tile(I32, LANES)])  # type: ignore[no-any-return]

    def spread(self, value: Value) -> Value:
        """A scalar or pointer in all lanes."""
        element = value.type.element  # type: ignore[union-attr]
        single = self.builder.op("reshape", s=value, results=[tile(element, 1)])
        made: Value = self.builder.op("broadcast", s=single, results=[tile(element, LANES)])
        return made

    def part(self, base: Value) -> Value:
        """Pointers to the block's own 64 elements."""
        first = self.spread(self.times(self.block, LANES))
        return self.at(self.spread(base), self.plus(first, self.own_lanes()))

    def load(self, place: Value, *after: Value) -> tuple[Value, Value]:
        """The value and the load's token; the load waits for ``after``."""
        made: tuple[Value, Value] = self.builder.op("load_ptr_tko", ptr=place, **self._token(after))
        return made

    def store(self, place: Value, value: Value, *after: Value, scope: str | None = None) -> Value:
        """The store's token; relaxed in ``scope`` if one is given, else weak."""
        order = {} if scope is None else {"ord": "relaxed", "scope": scope}
        made: Value = self.builder.op("store_ptr_tko", ptr=place, val=value, **order, **self._token(after))
        return made

    def _token(self, after: tuple[Value, ...]) -> dict[str, Value]:
        if len(after) > 1:
            return {"token": self.builder.op("join_tokens", tokens=after, results=[TOKEN])}
        return {"token": after[0]} if after else {}

    @contextmanager
    def if_first_block(self, predicate: str = "equal") -> Iterator[None]:
        """Ops of block 0, or with ``not_equal`` of all others."""
        first = self.builder.op("cmpi", lhs=self.block, rhs=self.number(0), pred=predicate, sgn="signed")
        with self.builder.if_(first) as branch, branch.then():
            yield
            self.builder.op("yield", args=[])

    def scratch(self, element: ScalarType, count: int) -> Value:
        """Memory of the block's own."""
        made: Value = self.builder.op("alloca", num_elem=count, align=16, results=[tile(pointer(element))])
        return made

    def variable(self) -> Value:
        """The module's variable ``shared``."""
        made: Value = self.builder.op("get_global", name="shared", results=[WORD])
        return made


Kernel = Callable[[Body], None]


# -------------------------------------------------------------------------------------------- mixed widths
def word_and_its_last_byte(f: Body) -> None:
    (words,) = f.arrays
    stored = f.store(f.at(words, f.block), f.block)
    byte = f.plus(f.times(f.block, 4), f.number(3))
    f.store(f.at(f.bytes_of(words), byte), f.builder.constant(tile(I8), 1), stored)


def word_and_the_next_byte(f: Body) -> None:
    (words,) = f.arrays
    stored = f.store(f.at(words, f.block), f.block)
    byte = f.plus(f.times(f.block, 4), f.number(4))
    f.store(f.at(f.bytes_of(words), byte), f.builder.constant(tile(I8), -1), stored)


def bytes_side_by_side(f: Body) -> None:
    (words,) = f.arrays
    f.store(f.at(f.bytes_of(words), f.block), f.builder.constant(tile(I8), 7))


def bytes_beside_words(f: Body) -> None:
    (words,) = f.arrays
    value, loaded = f.load(f.at(words, f.quotient(f.block, 4)))
    byte = f.builder.op("trunci", s=f.plus(value, f.number(1)), ovf="none", results=[tile(I8)])
    f.store(f.at(f.bytes_of(words), f.block), byte, loaded)


# ----------------------------------------------------------------------------------------- a block's own memory
def reverse_in_scratch(f: Body) -> None:
    source, target = f.arrays
    scratch = f.spread(f.scratch(I32, LANES))
    values, _ = f.load(f.part(source))
    stored = f.store(f.at(scratch, f.own_lanes()), values)
    reverse = f.minus(f.spread(f.number(LANES - 1)), f.own_lanes())
    values, _ = f.load(f.at(scratch, reverse), stored)
    f.store(f.part(target), values)


def reverse_in_scratch_unordered(f: Body) -> None:
    source, target = f.arrays
    scratch = f.spread(f.scratch(I32, LANES))
    cleared = f.store(f.at(scratch, f.own_lanes()), f.spread(f.number(0)))
    values, _ = f.load(f.part(source))
    f.store(f.at(scratch, f.own_lanes()), values, cleared)
    reverse = f.minus(f.spread(f.number(LANES - 1)), f.own_lanes())
    values, _ = f.load(f.at(scratch, reverse), cleared)
    f.store(f.part(target), values)


def scratch_too_short(f: Body) -> None:
    source, target = f.arrays
    scratch = f.spread(f.scratch(I32, LANES - 1))
    values, _ = f.load(f.part(source))
    stored = f.store(f.at(scratch, f.own_lanes()), values)
    values, _ = f.load(f.at(scratch, f.own_lanes()), stored)
    f.store(f.part(target), values)


# ------------------------------------------------------------------------------------------- module variables
def count_in_variable(f: Body) -> None:
    (out,) = f.arrays
    f.builder.op(
        "atomic_rmw_tko", ptr=f.variable(), arg=f.number(1), ord="relaxed", scope="device", mode="add",
    )  # fmt: skip
    f.store(f.at(out, f.block), f.block)


def publish_from_all(f: Body) -> None:
    (out,) = f.arrays
    stored = f.store(f.variable(), f.block)
    value, _ = f.load(f.variable(), stored)
    f.store(f.at(out, f.block), value)


def publish_from_first(f: Body) -> None:
    (out,) = f.arrays
    with f.if_first_block():
        f.store(f.variable(), f.number(5))
    f.store(f.at(out, f.block), f.block)


def publish_and_read(f: Body) -> None:
    (out,) = f.arrays
    with f.if_first_block():
        f.store(f.variable(), f.number(5))
    with f.if_first_block("not_equal"):
        value, _ = f.load(f.variable())
        f.store(f.at(out, f.block), value)


# -------------------------------------------------------------------------------------- addresses as integers
def _word_at(f: Body, number: Value) -> Value:
    (words,) = f.arrays
    base = f.builder.op("ptr_to_int", s=words, results=[tile(I64)])
    distance = f.builder.op("exti", s=f.times(number, 4), sgn="signed", results=[tile(I64)])
    address = f.builder.op("addi", lhs=base, rhs=distance, ovf="none")
    made: Value = f.builder.op("int_to_ptr", s=address, results=[WORD])
    return made


def word_by_address(f: Body) -> None:
    f.store(_word_at(f, f.block), f.block)


def word_by_halved_address(f: Body) -> None:
    f.store(_word_at(f, f.quotient(f.block, 2)), f.block)


# -------------------------------------------------------------------------------------------------- tokens
def fill_both_then_read(f: Body) -> None:
    words, out = f.arrays
    first = f.store(f.at(words, f.times(f.block, 2)), f.block)
    second = f.store(f.at(words, f.plus(f.times(f.block, 2), f.number(1))), f.number(3))
    value, _ = f.load(f.at(words, f.times(f.block, 2)), first, second)
    f.store(f.at(out, f.block), value)


def fill_both_then_wait_for_one(f: Body) -> None:
    words, out = f.arrays
    f.store(f.at(words, f.times(f.block, 2)), f.plus(f.block, f.number(100)))
    second = f.store(f.at(words, f.plus(f.times(f.block, 2), f.number(1))), f.number(3))
    value, _ = f.load(f.at(words, f.times(f.block, 2)), second)
    f.store(f.at(out, f.block), value)


def relaxed_twice(f: Body) -> None:
    (words,) = f.arrays
    for _ in range(2):
        f.store(f.at(words, f.block), f.block, scope="tl_blk")


def relaxed_pairs(f: Body) -> None:
    (words,) = f.arrays
    pair = f.quotient(f.own_lanes(), 2)
    place = f.plus(f.spread(f.times(f.block, LANES // 2)), pair)
    f.store(f.at(f.spread(words), place), pair, scope="tl_blk")


MODULES: dict[str, list[tuple[Kernel, int]]] = {
    "twins/mixed_widths": [
        (word_and_its_last_byte, 1),
        (word_and_the_next_byte, 1),
        (bytes_side_by_side, 1),
        (bytes_beside_words, 1),
    ],
    "twins/own_memory": [(reverse_in_scratch, 2), (reverse_in_scratch_unordered, 2), (scratch_too_short, 2)],
    "twins/module_variable": [
        (count_in_variable, 1),
        (publish_from_all, 1),
        (publish_from_first, 1),
        (publish_and_read, 1),
    ],
    "twins/integer_addresses": [(word_by_address, 1), (word_by_halved_address, 1)],
    "order/joined_tokens": [(fill_both_then_read, 2), (fill_both_then_wait_for_one, 2)],
    "order/relaxed_stores": [(relaxed_twice, 1), (relaxed_pairs, 1)],
}
"""File of the corpus: its entries, each with the number of arrays it takes."""


def bytecode(name: str) -> bytes:
    """The module that stands in the corpus' file ``name``."""
    module = ModuleBuilder((13, 3))
    if name == "twins/module_variable":
        module.add_global("shared", constant(tile(I32, 1), 0), alignment=4)
    for kernel, arrays in MODULES[name]:
        with module.entry(kernel.__name__, [WORD] * arrays) as builder:
            kernel(Body(builder))
            builder.op("return")
    return encode(module.build())


if __name__ == "__main__":
    for name in MODULES:
        (CORPUS / f"{name}.tileirbc").write_bytes(bytecode(name))
