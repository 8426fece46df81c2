"""Reading a kernel takes a bounded number of steps, however locks, barriers and skipped rounds are nested in loops."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import pytest

from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.tokens import entails, weaken
from tileverify.frontend.triton.translate import translate
from tileverify.frontend.triton.ttir_reader import read_ttir

MOST_COMPARED: Final = 400_000
"""Pairs of conditions that are compared: of the programs below none needs more than half of it."""

HEAD: Final = """module {
  tt.func public @k(%x: !tt.ptr<i32>, %lock: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %true = arith.constant true
"""


class LockProgram:
    """Random loops and branches around the taking and giving back of one lock, and what it guards."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = 0

    def text(self) -> str:
        return HEAD + "".join(self.loop(3)) + "    tt.return\n  }\n}\n"

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def loop(self, depth: int) -> Iterator[str]:
        counter = self.name()
        yield f"scf.for {counter} = %zero to %n step %one : i32 {{\n"
        for _ in range(self.rng.randint(2, 5)):
            yield from self.statement(counter, depth)
        yield "}\n"

    def statement(self, counter: str, depth: int) -> Iterator[str]:
        kinds = [self.take, self.give, self.add, self.barrier]
        kind = self.rng.choice(kinds)
        if self.rng.random() < 0.25 and depth > 1:
            yield from self.loop(depth - 1)
        elif self.rng.random() < 0.6:
            skipped = self.name()
            yield f"{skipped} = arith.cmpi {self.rng.choice(['ne', 'eq', 'slt'])}, {counter}, %three : i32\n"
            yield f"scf.if {skipped} {{\n"
            yield from kind()
            yield "}\n"
        else:
            yield from kind()

    def take(self) -> Iterator[str]:
        old, again = self.name(), self.name()
        yield "scf.while : () -> () {\n"
        yield f"{old} = tt.atomic_cas acq_rel, gpu, %lock, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32\n"
        yield f"{again} = arith.cmpi eq, {old}, %one : i32\n"
        yield f"scf.condition({again})\n}} do {{\nscf.yield\n}}\n"

    def give(self) -> Iterator[str]:
        yield f"{self.name()} = tt.atomic_rmw exch, acq_rel, gpu, %lock, %zero, %true : "
        yield "(!tt.ptr<i32>, i32, i1) -> i32\n"

    def add(self) -> Iterator[str]:
        before, after = self.name(), self.name()
        yield f"{before} = tt.load %x : !tt.ptr<i32>\n"
        yield f"{after} = arith.addi {before}, %one : i32\n"
        yield f"tt.store %x, {after} : !tt.ptr<i32>\n"

    def barrier(self) -> Iterator[str]:
        yield "ttg.barrier all\n"


@pytest.mark.parametrize("seed", range(30))
def test_few_conditions_are_compared(seed: int) -> None:
    module = decode(encode(translate(read_ttir(LockProgram(seed).text(), "k.ttir"), order="triton")), file="k")
    entails.cache_clear()
    weaken.cache_clear()
    summarize(module, module.entries[0])
    assert entails.cache_info().misses <= MOST_COMPARED
