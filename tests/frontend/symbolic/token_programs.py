"""Random programs about tokens: loops in loops that carry, swap, join and drop them."""

from __future__ import annotations

from tileverify.frontend.bytecode.builder import I32, I64, TOKEN, tile
from tileverify.frontend.bytecode.model import Value

from ...tiles import Parts
from .programs import ProgramMaker

DEPTH = 3


class TokenProgramMaker(ProgramMaker):
    """A `ProgramMaker` that computes little: mostly single elements are loaded and stored, and tokens handed around."""

    def __init__(self, seed: int, *, size: int = 6) -> None:
        super().__init__(seed, flags=False, size=size)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            choice = self.rng.random()
            if choice < 0.15 and depth < DEPTH:
                self.branch(depth)
            elif choice < 0.40 and depth < DEPTH:
                self.counted(depth)
            elif choice < 0.50 and depth < DEPTH:
                self.endless(depth)
            elif choice < 0.60:
                self.arithmetic()
            else:
                self.access()

    def access(self) -> None:
        """One element at a number of its own, so that no place and no mask takes an answer."""
        f = self.f
        place = f.op("offset", ptr=self.rng.choice(self.arrays), off=f.constant(tile(I64), self.rng.randrange(8)))
        parts: Parts = {} if (token := self.token()) is None else {"token": token}
        if self.rng.random() < 0.7:
            self.tokens.append(f.op("store_ptr_tko", val=f.constant(tile(I32), 1), ptr=place, **parts))
        else:
            value, token = f.op("load_ptr_tko", ptr=place, **parts)
            self.keep(value)
            self.tokens.append(token)

    def carried(self) -> list[Value]:
        tokens = [self.rng.choice(self.tokens) for _ in range(self.rng.randrange(1, 4))]
        return [self.pick(I32, ()), *tokens] if self.rng.random() < 0.3 else tokens

    def next_values(self, arguments: list[Value]) -> list[Value]:
        """Tokens are kept, swapped, joined with what was done, or begun anew."""
        values = super().next_values(arguments)
        own = [argument for argument in arguments if argument.type == TOKEN]
        for position, argument in enumerate(arguments):
            if argument.type == TOKEN and self.rng.random() < 0.6:
                parts = [self.rng.choice([argument, *own]), *self.rng.sample(self.tokens[-4:], 1)]
                values[position] = self.f.op("join_tokens", tokens=parts)
        return values
