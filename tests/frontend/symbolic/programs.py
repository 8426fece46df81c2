"""Random Tile IR programs: integer arithmetic, moved tiles, branches, loops and tokens.

Addresses of loads and stores depend on every bit of what was computed.
"""

from __future__ import annotations

import random

from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import (
    I1,
    I8,
    I16,
    I32,
    I64,
    TOKEN,
    BodyBuilder,
    ModuleBuilder,
    pointer,
    tile,
)
from tileverify.frontend.bytecode.model import Module, ScalarType, TileType, Type, Value
from tileverify.frontend.bytecode.optable import VERSIONS

from ...tiles import Parts, scalar_of, tile_of

SCALARS = (I8, I16, I32, I64)
SHAPES = ((), (4,), (2, 2))
ELEMENTS = 1021  # a prime: an address modulo it depends on every bit of the value
ARRAYS = ("a", "b")

BINARY = ("addi", "subi", "muli", "andi", "ori", "xori", "mulhii")


class ProgramMaker:
    """One random entry over two i32 arrays and a few scalars; with ``asserts``, also assertions that mostly hold."""

    def __init__(self, seed: int, *, flags: bool = True, size: int = 14, asserts: bool = False) -> None:
        self.rng = random.Random(seed)
        self.flags = flags
        self.size = size
        self.asserts = asserts

    def make(self) -> tuple[Module, tuple[EntryParameter, ...], ConcreteLaunch]:
        """The module as decoded from its bytes, its parameters, and a launch."""
        builder = ModuleBuilder(VERSIONS[-1])
        scalars = [self.rng.choice(SCALARS) for _ in range(3)]
        types = [*(tile(pointer(I32)) for _ in ARRAYS), *(tile(scalar) for scalar in scalars)]
        with builder.entry("random", types) as f:
            self.f: BodyBuilder = f
            self.arrays = f.parameters[: len(ARRAYS)]
            bid = f.op("get_tile_block_id")[0]
            self.pool: list[Value] = [*f.parameters[len(ARRAYS) :], bid]
            self.tokens: list[Value] = [f.op("make_token")]
            self.statements(self.size, depth=0)
            for _ in range(2):
                self.store()
            f.op("return")
        module = decode(encode(builder.build()))
        names = [f"s{i}" for i in range(len(scalars))]
        parameters = (
            *(EntryParameter(Role.POINTER, name) for name in ARRAYS),
            *(EntryParameter(Role.SCALAR, name) for name in names),
        )
        values = {name: self.number(scalar) for name, scalar in zip(names, scalars, strict=True)}
        arrays = {name: ConcreteArray("i32", (ELEMENTS,), (1,), self.contents()) for name in ARRAYS}
        return module, parameters, ConcreteLaunch((3, 1, 1), arrays, values)

    def contents(self) -> dict[int, int]:
        return {i: self.rng.choice([0, 1, 2, 5, -1, -7, 2**31 - 1]) for i in range(ELEMENTS)}

    def number(self, scalar: ScalarType) -> int:
        half = 1 << (scalar.bits - 1)
        near = self.rng.choice([0, 1, -1, 2, 3, 5, half - 1, -half, half // 2])
        return self.rng.choice([near, self.rng.randrange(-half, half), self.rng.randrange(-8, 9)])

    # ------------------------------------------------------------------------------------------ statements
    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            if self.asserts and self.rng.random() < 0.15:
                self.f.op("assert", c=self.f.op("ori", lhs=self.truth(()), rhs=self.condition(())), msg="it holds")
            choice = self.rng.random()
            if choice < 0.08 and depth < 2:
                self.branch(depth)
            elif choice < 0.18 and depth < 2:
                self.counted(depth)
            elif choice < 0.23 and depth < 2:
                self.endless(depth)
            elif choice < 0.36:
                self.access()
            else:
                self.arithmetic()

    def pick(self, element: ScalarType | None = None, shape: tuple[int, ...] | None = None) -> Value:
        """A known value of the type, or a new constant."""
        fitting = [
            value
            for value in self.pool
            if (element is None or tile_of(value).element == element)
            and (shape is None or tile_of(value).shape == shape)
        ]
        if fitting and self.rng.random() < 0.85:
            return self.rng.choice(fitting[-8:])
        element = element or self.rng.choice(SCALARS)
        shape = shape if shape is not None else self.rng.choice(SHAPES)
        return self.constant(TileType(element, shape))

    def constant(self, type: TileType) -> Value:
        if type.element == I1:
            values = [self.rng.randrange(2)] * 1
        else:
            count = 1 if not type.shape or self.rng.random() < 0.7 else type.size
            values = [self.number(scalar_of(type)) for _ in range(count)]
        return self.f.constant(type, *values)

    def keep(self, value: Value) -> None:
        self.pool.append(value)

    def arithmetic(self) -> None:
        rng, f = self.rng, self.f
        shape = rng.choice(SHAPES)
        element = rng.choice(SCALARS)
        kind = rng.randrange(14)
        if kind <= 2:
            name = rng.choice(BINARY)
            flag: Parts = {"ovf": rng.choice(["nsw", "nuw", "nw"])} if self.overflow(name) else {}
            self.keep(f.op(name, lhs=self.pick(element, shape), rhs=self.pick(element, shape), **flag))
        elif kind == 3:
            sign = rng.choice(["signed", "unsigned"])
            roundings = ["zero", "positive_inf", "negative_inf"][: 3 if sign == "signed" else 2]
            parts: Parts = {"rnd": rng.choice(roundings)} if rng.random() < 0.5 else {}
            name = "divi" if parts else "remi"
            self.keep(f.op(name, lhs=self.pick(element, shape), rhs=self.pick(element, shape), sgn=sign, **parts))
        elif kind == 4:
            name = rng.choice(["mini", "maxi"])
            sign = rng.choice(["signed", "unsigned"])
            self.keep(f.op(name, lhs=self.pick(element, shape), rhs=self.pick(element, shape), sgn=sign))
        elif kind == 5:
            bits = element.bits
            amount = self.pick(element, shape)
            if rng.random() < 0.8:
                amount = f.constant(TileType(element, shape), rng.randrange(bits))
            if rng.random() < 0.5:
                flag = {"ovf": "nsw"} if self.overflow("shli") and amount not in self.pool else {}
                self.keep(f.op("shli", lhs=self.pick(element, shape), rhs=amount, **flag))
            else:
                sign = rng.choice(["signed", "unsigned"])
                self.keep(f.op("shri", lhs=self.pick(element, shape), rhs=amount, sgn=sign))
        elif kind == 6:
            self.keep(f.op(rng.choice(["absi", "negi"]), s=self.pick(element, shape)))
        elif kind == 7:
            self.widen_or_narrow(element, shape)
        elif kind == 8:
            self.keep(self.condition(shape))
        elif kind == 9:
            self.keep(f.op("select", c=self.truth(shape), t=self.pick(element, shape), f=self.pick(element, shape)))
        elif kind == 10:
            self.python_modulo(element, shape)
        else:
            self.movement(element, shape)

    def overflow(self, name: str) -> bool:
        return self.flags and name in ("addi", "subi", "muli", "shli") and self.rng.random() < 0.2

    def python_modulo(self, element: ScalarType, shape: tuple[int, ...]) -> None:
        """``a % b`` as cuTile lowers it."""
        f = self.f
        a, b = self.pick(element, shape), self.pick(element, shape)
        zero = f.constant(TileType(element, shape), 0)
        r = f.op("remi", lhs=a, rhs=b, sgn="signed")
        negative = f.op("cmpi", lhs=r, rhs=zero, pred="less_than", sgn="signed")
        opposite = f.op("cmpi", lhs=b, rhs=zero, pred="less_than", sgn="signed")
        nonzero = f.op("cmpi", lhs=r, rhs=zero, pred="not_equal", sgn="signed")
        mixed = f.op("andi", lhs=f.op("xori", lhs=negative, rhs=opposite), rhs=nonzero)
        self.keep(f.op("select", c=mixed, t=f.op("addi", lhs=r, rhs=b), f=r))

    def widen_or_narrow(self, element: ScalarType, shape: tuple[int, ...]) -> None:
        value = self.pick(None, shape)
        narrow, wide = scalar_of(value).bits, element.bits
        target = TileType(element, shape)
        if narrow < wide:
            self.keep(self.f.op("exti", s=value, results=[target], sgn=self.rng.choice(["signed", "unsigned"])))
        elif narrow > wide:
            flag: Parts = {"ovf": "nsw"} if self.flags and self.rng.random() < 0.2 else {}
            self.keep(self.f.op("trunci", s=value, results=[target], **flag))

    def condition(self, shape: tuple[int, ...]) -> Value:
        element = self.rng.choice(SCALARS)
        predicates = ["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"]
        found: Value = self.f.op(
            "cmpi",
            lhs=self.pick(element, shape),
            rhs=self.pick(element, shape),
            pred=self.rng.choice(predicates),
            sgn=self.rng.choice(["signed", "unsigned"]),
        )
        return found

    def truth(self, shape: tuple[int, ...]) -> Value:
        return self.pick(I1, shape) if self.rng.random() < 0.4 else self.condition(shape)

    def movement(self, element: ScalarType, shape: tuple[int, ...]) -> None:
        rng, f = self.rng, self.f
        kind = rng.randrange(7)
        if kind == 0:
            self.keep(f.op("iota", results=[tile(element, 4)]))
        elif kind == 1:
            small = f.op("reshape", s=self.pick(element, ()), results=[tile(element, 1, 1)])
            self.keep(f.op("broadcast", s=small, results=[tile(element, 2, 2)]))
        elif kind == 2:
            self.keep(f.op("reshape", s=self.pick(element, (4,)), results=[tile(element, 2, 2)]))
        elif kind == 3:
            self.keep(f.op("reshape", s=self.pick(element, (2, 2)), results=[tile(element, 4)]))
        elif kind == 4:
            self.keep(f.op("permute", s=self.pick(element, (2, 2)), perm=(1, 0), results=[tile(element, 2, 2)]))
        elif kind == 5:
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 1))
            half = f.op("extract", s=self.pick(element, (4,)), index=[index], results=[tile(element, 2)])
            other = f.op("extract", s=self.pick(element, (4,)), index=[index], results=[tile(element, 2)])
            self.keep(f.op("cat", lhs=half, rhs=other, dim=0, results=[tile(element, 4)]))
        else:
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 3))
            piece = f.op("reshape", s=self.pick(element, ()), results=[tile(element, 1)])
            self.keep(f.op("insert", s=piece, dest=self.pick(element, (4,)), index=[index]))

    # -------------------------------------------------------------------------------------------- accesses
    def address(self, shape: tuple[int, ...]) -> Value:
        """An element of one of the arrays, from a random value."""
        f = self.f
        value = self.pick(self.rng.choice(SCALARS), shape)
        if tile_of(value).element != I64:
            value = f.op("exti", s=value, results=[TileType(I64, shape)], sgn="signed")
        prime = f.constant(TileType(I64, shape), ELEMENTS)
        place = f.op("remi", lhs=value, rhs=prime, sgn="unsigned")
        base = self.rng.choice(self.arrays)
        if shape:
            ones = (1,) * len(shape)
            base = f.op("reshape", s=base, results=[TileType(tile_of(base).element, ones)])
            base = f.op("broadcast", s=base, results=[TileType(base.type.element, shape)])
        found: Value = f.op("offset", ptr=base, off=place)
        return found

    def token(self) -> Value | None:
        rng = self.rng
        if rng.random() < 0.15:
            return None
        if rng.random() < 0.3 and len(self.tokens) > 1:
            joined: Value = self.f.op("join_tokens", tokens=rng.sample(self.tokens, 2))
            return joined
        return rng.choice(self.tokens[-4:])

    def access(self) -> None:
        if self.rng.random() < 0.5:
            self.store()
        else:
            self.load()

    def parts(self, shape: tuple[int, ...]) -> Parts:
        parts: Parts = {"ptr": self.address(shape)}
        if (token := self.token()) is not None:
            parts["token"] = token
        if self.rng.random() < 0.5:
            parts["mask"] = self.truth(shape)
        return parts

    def store(self) -> None:
        shape = self.rng.choice(SHAPES)
        self.tokens.append(self.f.op("store_ptr_tko", val=self.pick(I32, shape), **self.parts(shape)))

    def load(self) -> None:
        shape = self.rng.choice(SHAPES)
        parts = self.parts(shape)
        if "mask" in parts:
            parts["pad"] = self.pick(I32, shape)
        value, token = self.f.op("load_ptr_tko", **parts)
        self.keep(value)
        self.tokens.append(token)

    # ------------------------------------------------------------------------------------------- control flow
    def scoped(self) -> tuple[list[Value], ...]:
        return list(self.pool), list(self.tokens)

    def restore(self, saved: tuple[list[Value], ...]) -> None:
        self.pool, self.tokens = list(saved[0]), list(saved[1])

    def branch(self, depth: int) -> None:
        element, shape = self.rng.choice(SCALARS), self.rng.choice(SHAPES)
        types: list[Type] = [TileType(element, shape), TOKEN]
        saved = self.scoped()
        with self.f.if_(self.truth(()), types) as branch:
            for side in (branch.then, branch.otherwise):
                with side():
                    self.restore(saved)
                    self.statements(self.rng.randrange(3), depth + 1)
                    self.f.op("yield", args=[self.pick(element, shape), self.rng.choice(self.tokens)])
        self.restore(saved)
        self.keep(branch.results[0])
        self.tokens.append(branch.results[1])

    def carried(self) -> list[Value]:
        shape = self.rng.choice(SHAPES)
        inits = [self.pick(self.rng.choice(SCALARS), shape) for _ in range(self.rng.randrange(1, 4))]
        if self.rng.random() < 0.4:
            inits.append(self.truth(()))
        return [*inits, *(self.rng.choice(self.tokens) for _ in range(self.rng.randrange(1, 4)))]

    def next_values(self, arguments: list[Value]) -> list[Value]:
        """What a body hands on: kept, stepped, swapped, or anything."""
        rng, values = self.rng, []
        for argument in arguments:
            alike = [other for other in arguments if other.type == argument.type]
            choice = rng.random()
            if argument.type == TOKEN:
                values.append(rng.choice([*alike, *self.tokens[-3:]]))
            elif choice < 0.25:
                values.append(argument)
            elif choice < 0.4:
                values.append(rng.choice(alike))
            elif tile_of(argument).element == I1:
                values.append(self.truth(tile_of(argument).shape))
            elif choice < 0.85:
                step = (
                    self.constant(tile_of(argument))
                    if rng.random() < 0.6
                    else self.pick(scalar_of(argument), tile_of(argument).shape)
                )
                values.append(self.f.op(rng.choice(["addi", "subi"]), lhs=argument, rhs=step))
            else:
                values.append(self.pick(scalar_of(argument), tile_of(argument).shape))
        return values

    def enter(self, arguments: tuple[Value, ...], saved: tuple[list[Value], ...]) -> list[Value]:
        self.restore(saved)
        for argument in arguments:
            (self.tokens if argument.type == TOKEN else self.pool).append(argument)
        return list(arguments)

    def leave(self, results: tuple[Value, ...], saved: tuple[list[Value], ...]) -> None:
        self.restore(saved)
        for result in results:
            (self.tokens if result.type == TOKEN else self.pool).append(result)

    def counted(self, depth: int) -> None:
        rng, f = self.rng, self.f
        lower = f.constant(tile(I32), rng.randrange(-3, 4))
        count = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 7))
        upper = count if rng.random() < 0.5 else f.constant(tile(I32), rng.randrange(-2, 6))
        if rng.random() < 0.3:
            lower = f.op("get_tile_block_id")[0]
        step = f.constant(tile(I32), rng.randrange(1, 4))
        if rng.random() < 0.3:
            step = f.op("get_num_tile_blocks")[0]
        inits = self.carried()
        saved = self.scoped()
        with f.for_(lower, upper, step, inits, unsigned=rng.random() < 0.15) as body:
            _, *arguments = self.enter(body.arguments, saved)
            if rng.random() < 0.5:
                self.early_continue(arguments)
            self.statements(rng.randrange(1, 4), depth + 1)
            f.op("continue", args=self.next_values(arguments))
        self.leave(body.results, saved)

    def early_continue(self, arguments: list[Value]) -> None:
        """``if c: continue``, with the values unchanged (an exit flag) or not."""
        flags = [argument for argument in arguments if argument.type == tile(I1)]
        condition = self.rng.choice(flags) if flags and self.rng.random() < 0.7 else self.truth(())
        saved = self.scoped()
        with self.f.if_(condition) as branch, branch.then():
            keep = self.rng.random() < 0.7
            self.f.op("continue", args=arguments if keep else self.next_values(arguments))
        self.restore(saved)

    def endless(self, depth: int) -> None:
        """A loop that counts down from a small number, or leaves on the way."""
        rng, f = self.rng, self.f
        start = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 7))
        inits = [start, *self.carried()]
        saved = self.scoped()
        with f.loop(inits) as body:
            counter, *arguments = self.enter(body.arguments, saved)
            if rng.random() < 0.4:
                with f.if_(self.truth(())) as early, early.then():
                    inner = self.scoped()
                    self.statements(rng.randrange(2), depth + 1)
                    f.op("break", args=[counter, *self.next_values(arguments)])
                self.restore(inner)
            done = f.op("cmpi", lhs=counter, rhs=f.constant(tile(I32), 0), pred="less_than_or_equal", sgn="signed")
            with f.if_(done) as last, last.then():
                f.op("break", args=[counter, *arguments])
            self.statements(rng.randrange(1, 3), depth + 1)
            lower = f.op("subi", lhs=counter, rhs=f.constant(tile(I32), 1))
            f.op("continue", args=[lower, *self.next_values(arguments)])
        self.leave(body.results, saved)
