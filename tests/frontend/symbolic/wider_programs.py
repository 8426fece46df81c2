"""Random programs with values that no term follows: floats, comparisons and conversions of them, packed bytes,
reductions with an index, and memory that a block makes for itself."""

from __future__ import annotations

from tileverify.frontend.bytecode.builder import F32, I1, I8, I32, I64, TOKEN, pointer, tile
from tileverify.frontend.bytecode.model import FloatAttribute, IntegerAttribute, ScalarType, TileType, Type, Value

from ...tiles import tile_of
from .programs import SHAPES, ProgramMaker

NUMBERS = (0.0, 1.0, 2.0, 3.0, -1.0, 0.5)
BITS = {0.0: 0, 1.0: 0x3F800000, 2.0: 0x40000000, 3.0: 0x40400000, -1.0: 0xBF800000, 0.5: 0x3F000000}
SMALL = {(4,): 4, (2, 2): 4}


class WiderProgramMaker(ProgramMaker):
    """Half of the statements of a `ProgramMaker`, half about floats.  ``floats`` are kept apart from ``pool``."""

    def __init__(self, seed: int, *, size: int = 18) -> None:
        super().__init__(seed, flags=False, size=size)
        self.floats: list[Value] = []

    # -------------------------------------------------------------------------------------------- the pool
    def keep(self, value: Value) -> None:
        (self.floats if tile_of(value).element == F32 else self.pool).append(value)

    def number_of(self, shape: tuple[int, ...]) -> Value:
        """A known float tile of the shape, or a new one."""
        fitting = [value for value in self.floats if tile_of(value).shape == shape]
        choice = self.rng.random()
        if fitting and choice < 0.7:
            return self.rng.choice(fitting[-8:])
        if choice < 0.85:
            return self._as_floats(self.pick(I32, shape))
        if shape == (4,) and choice < 0.95:
            return self._as_floats(self.f.op("iota", results=[tile(I32, 4)]))
        count = 1 if not shape or self.rng.random() < 0.5 else SMALL[shape]
        values = [BITS[self.rng.choice(NUMBERS)] for _ in range(count)]
        return self.f.constant(TileType(F32, shape), *values)

    def _as_floats(self, integers: Value) -> Value:
        made: Value = self.f.op("itof", s=integers, sgn="signed", results=[TileType(F32, tile_of(integers).shape)])
        return made

    def scoped(self) -> tuple[list[Value], ...]:
        return list(self.pool), list(self.tokens), list(self.floats)

    def restore(self, saved: tuple[list[Value], ...]) -> None:
        self.pool, self.tokens, self.floats = (list(part) for part in saved)

    def enter(self, arguments: tuple[Value, ...], saved: tuple[list[Value], ...]) -> list[Value]:
        self.restore(saved)
        self._sort(arguments)
        return list(arguments)

    def leave(self, results: tuple[Value, ...], saved: tuple[list[Value], ...]) -> None:
        self.restore(saved)
        self._sort(results)

    def _sort(self, values: tuple[Value, ...]) -> None:
        for value in values:
            if value.type == TOKEN:
                self.tokens.append(value)
            else:
                self.keep(value)

    # ---------------------------------------------------------------------------------------- control flow
    def branch(self, depth: int) -> None:
        """With a float result beside those of a plain branch."""
        shape = self.rng.choice(SHAPES)
        types: list[Type] = [TileType(F32, shape), TileType(I32, ()), TOKEN]
        saved = self.scoped()
        with self.f.if_(self.truth(()), types) as branch:
            for side in (branch.then, branch.otherwise):
                with side():
                    self.restore(saved)
                    self.statements(self.rng.randrange(3), depth + 1)
                    args = [self.number_of(shape), self.pick(I32, ()), self.rng.choice(self.tokens)]
                    self.f.op("yield", args=args)
        self.restore(saved)
        self._sort(branch.results)

    def carried(self) -> list[Value]:
        inits = super().carried()
        if self.rng.random() < 0.6:
            inits.insert(0, self.number_of(self.rng.choice(SHAPES)))
        return inits

    def next_values(self, arguments: list[Value]) -> list[Value]:
        rest = iter(super().next_values([a for a in arguments if a.type == TOKEN or tile_of(a).element != F32]))
        return [
            next(rest) if argument.type == TOKEN or tile_of(argument).element != F32 else self._next_number(argument)
            for argument in arguments
        ]

    def _next_number(self, argument: Value) -> Value:
        if self.rng.random() < 0.3:
            return argument
        found: Value = self.f.op("addf", lhs=argument, rhs=self.number_of(tile_of(argument).shape))
        return found

    # -------------------------------------------------------------------------------------------- arithmetic
    def arithmetic(self) -> None:
        if self.rng.random() < 0.5:
            super().arithmetic()
            return
        kind = self.rng.randrange(12)
        shape = self.rng.choice(SHAPES)
        if kind <= 1:
            self.compute(shape)
        elif kind <= 4:
            self.move_floats()
        elif kind <= 7:
            self.back_to_integers(shape)
        elif kind == 8:
            self.reduction()
        elif kind == 9:
            self.packing()
        else:
            self.own_memory()

    def compute(self, shape: tuple[int, ...]) -> None:
        f, kind = self.f, self.rng.randrange(4)
        if kind == 0:
            self.keep(f.op("negf", s=self.number_of(shape)))
        elif kind == 1 and shape == (2, 2):
            self.keep(f.op("mmaf", lhs=self.number_of(shape), rhs=self.number_of(shape), acc=self.number_of(shape)))
        else:
            name = self.rng.choice(["addf", "mulf", "maxf", "subf"])
            self.keep(f.op(name, lhs=self.number_of(shape), rhs=self.number_of(shape)))

    def move_floats(self) -> None:
        f, kind = self.f, self.rng.randrange(7)
        if kind <= 1:
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 3))
            one = f.op("extract", s=self.number_of((4,)), index=[index], results=[tile(F32, 1)])
            self.keep(f.op("reshape", s=one, results=[tile(F32)]))
        elif kind == 2:
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 1))
            halves = [f.op("extract", s=self.number_of((4,)), index=[index], results=[tile(F32, 2)]) for _ in range(2)]
            self.keep(f.op("cat", lhs=halves[0], rhs=halves[1], dim=0, results=[tile(F32, 4)]))
        elif kind == 3:
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 3))
            piece = f.op("reshape", s=self.number_of(()), results=[tile(F32, 1)])
            self.keep(f.op("insert", s=piece, dest=self.number_of((4,)), index=[index]))
        elif kind == 4:
            square = self.number_of((2, 2))
            turned = f.op("permute", s=square, perm=(1, 0), results=[tile(F32, 2, 2)])
            shape: tuple[int, ...] = () if self.rng.random() < 0.5 else (2, 2)
            condition = self.truth(shape)
            if not shape:
                condition = f.op("reshape", s=condition, results=[tile(I1, 1, 1)])
                condition = f.op("broadcast", s=condition, results=[tile(I1, 2, 2)])
            self.keep(f.op("select", c=condition, t=square, f=turned))
        elif kind == 5:
            self.keep(f.op("reshape", s=self.number_of((2, 2)), results=[tile(F32, 4)]))
        else:
            shape = self.rng.choice(SHAPES)
            self.keep(f.op("select", c=self.truth(shape), t=self.number_of(shape), f=self.number_of(shape)))

    def back_to_integers(self, shape: tuple[int, ...]) -> None:
        f, kind = self.f, self.rng.randrange(3)
        source = self.number_of(shape)
        if kind == 0:
            sign = self.rng.choice(["signed", "unsigned"])
            self.keep(f.op("ftoi", s=source, sgn=sign, flags=["sat"], results=[TileType(I32, shape)]))
        elif kind == 1:
            self.keep(f.op("bitcast", s=source, results=[TileType(I32, shape)]))
        else:
            pred = self.rng.choice(["equal", "less_than", "greater_than_or_equal"])
            self.keep(f.op("cmpf", lhs=source, rhs=self.number_of(shape), pred=pred, fcmp="ordered"))

    def reduction(self) -> None:
        """The largest float and where it is, or a sum."""
        f = self.f
        if self.rng.random() < 0.5:
            inputs = [self.pick(I32, (4,))]
            with f.reduce(inputs, 0, [IntegerAttribute(I32, 0)]) as body:
                f.op("yield", args=[f.op("addi", lhs=body.arguments[0], rhs=body.arguments[1])])
        else:
            inputs = [self.number_of((4,)), f.op("iota", results=[tile(I32, 4)])]
            identities = [FloatAttribute(F32, 0xFF800000), IntegerAttribute(I32, 0)]
            with f.reduce(inputs, 0, identities) as body:
                a, b, i, j = body.arguments
                first = f.op("cmpf", lhs=a, rhs=b, pred="greater_than_or_equal", fcmp="ordered")
                f.op("yield", args=[f.op("select", c=first, t=a, f=b), f.op("select", c=first, t=i, f=j)])
        for result in body.results:
            self.keep(result)

    def packing(self) -> None:
        f = self.f
        if self.rng.random() < 0.5:
            packed = f.op("pack", s=self.number_of((4,)), results=[tile(I8, 16)])
            index = f.op("andi", lhs=self.pick(I32, ()), rhs=f.constant(tile(I32), 3))
            self.keep(f.op("extract", s=packed, index=[index], results=[tile(I8, 4)]))
        else:
            packed = f.op("pack", s=self.pick(I32, (4,)), results=[tile(I8, 16)])
            self.keep(f.op("unpack", s=packed, results=[tile(F32, 4)]))

    # ------------------------------------------------------------------------------------------ own memory
    def own_memory(self) -> None:
        """An allocation: read as it was made, read after a store, or looked at as an address."""
        f = self.f
        place = f.op("alloca", results=[tile(pointer(I32))], num_elem=4, align=16)
        kind = self.rng.randrange(3)
        if kind == 0:
            address = f.op("ptr_to_int", s=place, results=[tile(I64)])
            self.keep(f.op("shri", lhs=address, rhs=f.constant(tile(I64), 4), sgn="unsigned"))
            return
        token = f.op("make_token")
        if kind == 1:
            token = f.op("store_ptr_tko", ptr=place, val=self.pick(I32, ()), token=token)
        value, _ = f.op("load_ptr_tko", ptr=place, token=token)
        self.keep(value)

    def pick(self, element: ScalarType | None = None, shape: tuple[int, ...] | None = None) -> Value:
        value = super().pick(element, shape)
        assert tile_of(value).element != F32
        return value
