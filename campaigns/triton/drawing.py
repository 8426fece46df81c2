"""Draw Triton kernels at random: loops, branches, masks, pointers that move, numbers of every width.

What a kernel does is defined on every input: divisors are not zero, shifts below the width, float casts in range,
indices inside of their arrays, and the lanes of a store apart.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

LANES: Final = 8
SIZE: Final = 128
"""Elements of each array; a power of two."""

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "float32")
ARRAYS: Final = {"a": "int32", "b": "int8", "c": "uint16", "d": "float32", "e": "int64", "f": "float16"}
SHORT: Final = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
                "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Variable:
    """``scalar``: a number without dimensions, else a tensor of `LANES`."""

    name: str
    type: str
    scalar: bool = False


@dataclass
class _Pointer:
    """A tensor of pointers into ``array``, which may still move by ``room`` elements."""

    name: str
    array: str
    room: int


@dataclass
class Drawing:
    """One kernel under construction."""

    source: random.Random
    lines: list[str] = field(default_factory=list)
    variables: list[_Variable] = field(default_factory=list)
    pointers: list[_Pointer] = field(default_factory=list)
    depth: int = 0
    rounds: int = 1
    """How often the statements under construction run at most."""
    count: int = 0

    # ------------------------------------------------------------------------------------------- text
    def line(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def chance(self, of: float) -> bool:
        return self.source.random() < of

    def variable(self, kind: str = "any", scalar: bool | None = None) -> _Variable:
        fitting = [
            each for each in self.variables
            if (kind == "any" or (each.type in INTEGERS) == (kind == "integer")) and scalar in (None, each.scalar)
        ]  # fmt: skip
        return self.source.choice(fitting)

    # ------------------------------------------------------------------------------------------- values
    def integer(self, scalar: bool | None = None, deep: int = 2) -> str:
        """An expression of integers; a tensor, unless ``scalar``."""
        s = self.source
        if deep == 0 or self.chance(0.15):
            if self.chance(0.15):
                return str(s.choice((0, 1, 2, 3, 7, 100)))
            return self.variable("integer", True if scalar else None).name
        x, y = self.alike(scalar, deep - 1)
        kind = s.randrange(12)
        if kind < 5:
            return f"({x} {s.choice('+-*&|^')} {y})"
        if kind in (5, 6):
            type = s.choice(INTEGERS)
            few = f"({self.typed_integer(scalar, deep - 1)}.to(tl.{type}) & 7)"
            kept = f"({few} + 1)" if kind == 5 else few
            return f"({x}.to(tl.{type}) {s.choice(('//', '%') if kind == 5 else ('<<', '>>'))} {kept})"
        if kind == 7:
            return f"tl.{s.choice(('minimum', 'maximum'))}({x}, {y})"
        if kind == 8:
            return f"tl.where({self.condition(scalar, deep - 1)}, {x}, {y})"
        if kind == 9:
            return f"({x}).to(tl.{s.choice(INTEGERS)})"
        if kind == 10 and not scalar:
            return self.moved(self.variable("integer", False).name)
        if kind == 11 and not scalar:
            return f"tl.clamp(tl.abs({self.floating(deep - 1)}), 0.0, 100.0).to(tl.{s.choice(INTEGERS)})"
        return f"(-{self.variable('integer', True if scalar else None).name})" if self.chance(0.3) else f"(~{x})"

    def alike(self, scalar: bool | None, deep: int) -> tuple[str, str]:
        """Two of one type, or the second a bare number: of mixed signs Triton's interpreter makes other numbers."""
        x, y, type = self.typed_integer(scalar, deep), self.integer(scalar, deep), self.source.choice(INTEGERS)
        return f"{x}.to(tl.{type})", y if y.isdigit() else f"{y}.to(tl.{type})"

    def typed_integer(self, scalar: bool | None, deep: int) -> str:
        """One that is no bare number, so that operators are those of Triton."""
        made = self.integer(scalar, deep)
        return self.variable("integer", True if scalar else None).name if made.isdigit() else made

    def moved(self, name: str) -> str:
        """Lanes of a tensor combined, or in another order."""
        s = self.source
        half = LANES // 2
        return s.choice((
            f"tl.cumsum({name}, 0, reverse={self.chance(0.5)}).to(tl.int32)",
            f"tl.sum({name}, 0)",
            f"tl.{s.choice(('max', 'min', 'argmax', 'argmin'))}({name}, 0)",
            f"tl.reshape(tl.trans(tl.reshape({name}, (2, {half}))), ({LANES},))",
            f"tl.flip({name}, 0)",
            f"tl.sort({name})",
            f"tl.reshape(tl.sum(tl.reshape({name}, ({half}, 2)), 1)[:, None] + tl.zeros(({half}, 2), tl.int32), "
            f"({LANES},))",
            f"tl.interleave(*tl.split(tl.reshape({name}, ({half}, 2))))",
            f"tl.gather({name}, {self.index(LANES)}, 0)",
            f"tl.histogram(({name}.to(tl.int32) & 7), {LANES})",
            f"tl.associative_scan({name}, 0, {s.choice(('_last', '_most'))}, reverse={self.chance(0.5)})",
            f"tl.reduce({name}, 0, _most)",
        ))  # fmt: skip

    def floating(self, deep: int = 2) -> str:
        s = self.source
        if deep == 0 or self.chance(0.2):
            return self.variable("float").name
        x, y = self.floating(deep - 1), self.floating(deep - 1)
        return s.choice((
            f"({x} {s.choice('+-*')} {y})",
            f"tl.where({self.condition(False, deep - 1)}, {x}, {y})",
            f"tl.{s.choice(('minimum', 'maximum'))}({x}, {y})",
            f"(-{x})",
            f"tl.abs({x})",
            f"({self.variable('integer', False).name}).to(tl.{s.choice(FLOATS)})",
            f"({x}).to(tl.{s.choice(FLOATS)})",
            f"tl.{s.choice(('max', 'min'))}({self.variable('float').name}, 0)",
        ))  # fmt: skip

    def condition(self, scalar: bool | None = None, deep: int = 1) -> str:
        s = self.source
        if not scalar and self.chance(0.25):
            made = f"({self.floating(0)} {s.choice(('<', '<=', '>', '>=', '==', '!='))} {self.floating(0)})"
        else:
            x, y = self.alike(scalar, deep)
            made = f"({x} {s.choice(('<', '<=', '>', '>=', '==', '!='))} {y})"
        if deep and self.chance(0.3):
            made = f"({made} {s.choice('&|^')} {self.condition(scalar, 0)})"
        return made

    def index(self, size: int) -> str:
        """A tensor of numbers from 0 to below ``size``."""
        return f"((lane + {self.typed_integer(True, 1)}.to(tl.int32)) & {size - 1})" if self.chance(0.01) else (
            f"(({self.tensor_integer()}).to(tl.{self.source.choice(('int32', 'int64'))}) & {size - 1})"
        )  # fmt: skip

    def tensor_integer(self) -> str:
        return f"(lane * 0 + {self.integer(None, 1)})"

    def places(self) -> str:
        """Indices of distinct elements."""
        s = self.source
        return f"((lane * {s.choice((1, 3, 5, 9))} + {s.randrange(SIZE)}) & {SIZE - 1})"

    # --------------------------------------------------------------------------------------- statements
    def statement(self) -> None:
        s = self.source
        kind = s.choices(
            ("define", "assign", "load", "store", "for", "while", "if", "move", "atomic", "through", "call"),
            (5, 5, 4, 4, 2, 1, 3, 2, 1, 3, 1),
        )[0]
        getattr(self, f"_{kind}")()

    def _define(self) -> None:
        s = self.source
        scalar = self.chance(0.25)
        floats = not scalar and self.chance(0.3)
        type = s.choice(FLOATS if floats else INTEGERS)
        self._value(self.fresh(), type, scalar, new=True)

    def _value(self, name: str, type: str, scalar: bool, *, new: bool) -> None:
        if type in FLOATS:
            value = f"tl.full(({LANES},), 0.0, tl.{type}) + {self.floating()}"
        elif scalar:
            value = f"{self.typed_integer(True, 2)}"
        else:
            value = f"lane * 0 + {self.integer()}"
        self.line(f"{name} = ({value}).to(tl.{type})")
        if new:
            self.variables.append(_Variable(name, type, scalar))

    def _assign(self) -> None:
        able = [each for each in self.variables if each.name.startswith("v")]
        if able:
            target = self.source.choice(able)
            self._value(target.name, target.type, target.scalar, new=False)

    def _load(self) -> None:
        s = self.source
        array = s.choice(list(ARRAYS))
        name = self.fresh()
        mask = f", mask={self.masking()}, other={s.choice((0, 1, 5))}" if self.chance(0.5) else ""
        self.line(f"{name} = tl.load({array} + {self.index(SIZE)}{mask})")
        self.variables.append(_Variable(name, ARRAYS[array]))

    def masking(self) -> str:
        return f"(tl.where({self.condition(None, 1)}, lane, -1) >= 0)"

    def _store(self) -> None:
        array = self.source.choice(list(ARRAYS))
        value = self.floating() if ARRAYS[array] in FLOATS else self.integer()
        mask = f", mask={self.masking()}" if self.chance(0.5) else ""
        self.line(f"tl.store({array} + {self.places()}, ({self.wide(value, array)}).to(tl.{ARRAYS[array]}){mask})")

    def wide(self, value: str, array: str) -> str:
        """``value`` as a tensor; of a number of Python, too."""
        return f"tl.zeros(({LANES},), tl.{'float16' if ARRAYS[array] in FLOATS else 'int8'}) + {value}"

    def _block(self, count: int) -> None:
        variables, pointers = len(self.variables), len(self.pointers)
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.line("pass")
        self.depth -= 1
        del self.variables[variables:], self.pointers[pointers:]

    def _for(self) -> None:
        if self.depth > 2:
            return self._define()
        counter = self.fresh().replace("v", "k")
        rounds = self.source.randint(1, 3)
        step = self.source.choice(("", ", 2", ", -1"))
        bounds = {"": f"n, n + {rounds}", ", 2": f"n, n + {2 * rounds}, 2", ", -1": f"n + {rounds}, n, -1"}[step]
        self.line(f"for i{counter} in range({bounds}):")
        self.line(f"    {counter} = n * 0 + i{counter}")
        self._repeated(rounds, counter)
        return None

    def _repeated(self, rounds: int, counter: str | None) -> None:
        if counter is not None:
            self.variables.append(_Variable(counter, "int32", True))
        before, self.rounds = self.rounds, self.rounds * rounds
        self._block(self.source.randint(1, 4))
        self.rounds = before
        if counter is not None:
            self.variables = [each for each in self.variables if each.name != counter]

    def _while(self) -> None:
        if self.depth > 1:
            return self._define()
        counter = self.fresh().replace("v", "w")
        rounds = self.source.randint(1, 3)
        self.line(f"{counter} = n * 0")
        self.line(f"while ({counter} < {rounds}) & ({self.condition(True, 1)} | ({counter} < 1)):")
        self.variables.append(_Variable(counter, "int32", True))
        before, self.rounds = self.rounds, self.rounds * rounds
        self.depth += 1
        self.line(f"{counter} += 1")
        self.depth -= 1
        self._block(self.source.randint(1, 3))
        self.rounds = before
        return None

    def _if(self) -> None:
        if self.depth > 2:
            return self._define()
        self.line(f"if {self.condition(True, 1)}:")
        self._block(self.source.randint(1, 3))
        if self.chance(0.5):
            self.line("else:")
            self._block(self.source.randint(1, 3))
        if self.depth == 0 and self.chance(0.1):
            self.line(f"if {self.condition(True, 1)}:")
            self.line("    return")
        return None

    def _move(self) -> None:
        """A new pointer, or one that moves on."""
        movable = [each for each in self.pointers if each.room >= self.rounds]
        if movable and self.chance(0.6):
            pointer = self.source.choice(movable)
            step = self.source.randint(1, min(8, pointer.room // self.rounds))
            pointer.room -= step * self.rounds
            self.line(f"{pointer.name} += {step}")
            return
        array, start = self.source.choice(list(ARRAYS)), self.source.randrange(16)
        name = self.fresh().replace("v", "p")
        form = self.source.choice(
            ("{a} + {s} + lane", "{a} + (lane + {s}).to(tl.int64)", "({a} + {s}) + ({l} - 1 - lane)")
        )
        self.line(f"{name} = {form.format(a=array, s=start, l=LANES)}")
        self.pointers.append(_Pointer(name, array, SIZE - LANES - start))

    def _through(self) -> None:
        """A load or a store through a pointer."""
        if not self.pointers:
            return self._move()
        pointer = self.source.choice(self.pointers)
        type = ARRAYS[pointer.array]
        if self.chance(0.5):
            name = self.fresh()
            self.line(f"{name} = tl.load({pointer.name})")
            self.variables.append(_Variable(name, type))
        else:
            value = self.floating(1) if type in FLOATS else self.integer(None, 1)
            self.line(f"tl.store({pointer.name}, ({self.wide(value, pointer.array)}).to(tl.{type}))")
        return None

    def _atomic(self) -> None:
        s = self.source
        array = s.choice(("a", "e"))
        kind = s.choice(("add", "max", "min", "and", "or", "xor", "xchg"))
        value = f"(lane * 0 + {self.integer(None, 1)}).to(tl.{ARRAYS[array]})"
        order = s.choice(("relaxed", "acquire", "release", "acq_rel"))
        name = self.fresh()
        self.line(f"{name} = tl.atomic_{kind}({array} + {self.places()}, {value}, sem='{order}')")
        self.variables.append(_Variable(name, ARRAYS[array]))

    def _call(self) -> None:
        called, scalar = self.source.choice((("_inlined", False), ("_called", True)))
        x, y = self.variable("integer", scalar), self.variable("integer", True)
        name = self.fresh()
        self.line(f"{name} = {called}({x.name}, {y.name}, a).to(tl.int32)")
        self.variables.append(_Variable(name, "int32", scalar))


HEAD: Final = """import triton
import triton.language as tl


@triton.jit
def _last(x, y):
    return tl.where(y == 0, x, y)


@triton.jit
def _most(x, y):
    return tl.where(x > y, x, y)


@triton.jit
def _inlined(x, n, at):
    x = x.to(tl.int32)
    if n > 3:
        x = x + tl.load(at + 4)
    return x * 2 - tl.load(at + 5)


@triton.jit(noinline=True)
def _called(x, n, at):
    tl.store(at + 7, n.to(tl.int32))
    if n % 2 == 0:
        return x.to(tl.int32) + 1
    return x.to(tl.int32) - tl.load(at + 6)
"""


def drawn_kernel(name: str, seed: int) -> str:
    """The text of a kernel, the same for the same seed."""
    drawing = Drawing(random.Random(seed))
    drawing.line("pid = tl.program_id(0)")
    drawing.line(f"lane = tl.arange(0, {LANES})")
    for variable in ("pid", "n"):
        drawing.variables.append(_Variable(variable, "int32", True))
    drawing.variables.append(_Variable("m", "int64", True))
    drawing.variables.append(_Variable("lane", "int32"))
    drawing.line("start = tl.load(d + lane)")
    drawing.variables.append(_Variable("start", "float32"))
    for _ in range(drawing.source.randint(4, 14)):
        drawing.statement()
    for each in drawing.variables:
        if each.name.startswith("v") and not each.scalar and each.type in INTEGERS:
            drawing.line(f"tl.store(o + pid * {LANES} + lane, tl.load(o + pid * {LANES} + lane) * 31 + {each.name})")
    return f"@triton.jit\ndef {name}({', '.join(ARRAYS)}, o, n, m):\n" + "\n".join(drawing.lines) + "\n"
