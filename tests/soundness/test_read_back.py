"""What loads read back of what their own block stored: kernels at the border of what is right, against plain counting.

Each kernel has counters in memory, counts them up, or wraps them around, and writes where they say.  Which places those
are is counted here in Python, for every first content that the facts allow, without anything of the package.  What is
proved must stay within its part of the array; how often the border itself is proved, says that the rule is of use.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import Verdict

from ..profiles import tries

OPTIONS = CheckOptions(witnesses=False, deny_requires=True)
BLOCKS, KINDS = 3, 4


@dataclass(frozen=True)
class Program:
    """A block counts by the kinds of ``rounds`` things.

    ``first``: its counters lie in ``range(first)`` when the launch begins.  ``zeroed``: how many of the `KINDS` it sets
    to 0 itself.  ``steps``: what is added, one store after another in each round; ``least``: no counter gets below.
    ``modulus``: counters go round, 0: they do not.  ``used``: the counter is a place before the loop, before the store
    of that number in each round, behind all of them, and behind the loop (``-1``, 0 to ``len(steps)``, ``-2``).
    ``twice``: the loop stands in another one of two rounds.
    """

    first: int
    zeroed: int
    steps: tuple[int, ...]
    modulus: int
    used: int
    rounds: int
    twice: bool

    @property
    def source(self) -> str:
        lines = ["import cuda.tile as ct", "", "", "@ct.kernel", "def kernel(kinds, counts, out, S: ct.Constant[int]):"]
        lines += ["    b = ct.bid(0)"]
        if self.zeroed:
            each = KINDS // self.zeroed
            lines += [f"    ct.store(counts, index=({each} * b,), tile=ct.zeros(({self.zeroed},), dtype=ct.int32))"]
        if self.used == -1:
            lines += self._use("    ", "b * 4 + 3")
        indent = "    "
        if self.twice:
            lines += [f"{indent}for again in range(2):"]
            indent += "    "
        lines += [f"{indent}for k in range({self.rounds}):"]
        inner = indent + "    "
        lines += [f"{inner}at = b * {KINDS} + ct.gather(kinds, b * {self.rounds} + k)"]
        for number, step in enumerate(self.steps):
            lines += self._use(inner, "at") if self.used == number else []
            after = f"ct.gather(counts, at) + {step}"
            after = f"({after}) % {self.modulus}" if self.modulus else after
            lines += [f"{inner}ct.scatter(counts, at, {after}, check_bounds=False)"]
        lines += self._use(inner, "at") if self.used == len(self.steps) else []
        lines += self._use("    ", "b * 4 + 3") if self.used == -2 else []
        return "\n".join(lines) + "\n"

    def _use(self, indent: str, at: str) -> list[str]:
        return [f"{indent}ct.scatter(out, b * S + ct.gather(counts, {at}), b, check_bounds=False)"]

    def spec(self, size: int) -> str:
        data = [f'"range(kinds, 0, {KINDS})"'] + ([f'"range(counts, 0, {self.first})"'] if self.first else [])
        sizes = {"kinds": self.rounds, "counts": KINDS, "out": size}
        args = ", ".join(f'{name} = "i32[{BLOCKS * each}]"' for name, each in sizes.items())
        return f"""[[launch]]
kernel = "kernel"
grid = [{BLOCKS}]
data = [{", ".join(data)}]
args = {{ {args}, S = {size} }}
"""

    def most(self) -> int | None:
        """The farthest place that a block may write to; ``None``: any that fits an integer.

        Things of one kind count the farthest, and each kind starts anywhere in its range.
        """
        places = [place for kind in range(KINDS) for place in self._places(kind)]
        return None if None in places else max((place for place in places if place is not None), default=-1)

    def _places(self, kind: int) -> Iterator[int | None]:
        if self.zeroed <= kind and not self.first:
            yield None
            return
        # What is zeroed when the counter is used in front of it was not asked for: the store comes first.
        starts = [0] if kind < self.zeroed else range(self.first)
        for start in starts:
            count = start
            if self.used < 0 and kind == 3:
                yield count
            for _ in range(self.rounds * (1 + self.twice)):
                for number, step in enumerate(self.steps):
                    if self.used == number:
                        yield count
                    count = (count + step) % self.modulus if self.modulus else count + step
                if self.used == len(self.steps):
                    yield count
                if self.used == -2 and kind == 3:  # there may be so many of it, and no more
                    yield count


def drawn(rng: random.Random) -> Program:
    return Program(
        first=rng.choice((0, 1, 1, 2, 5)), zeroed=rng.choice((0, 0, 2, 4, 4)),
        steps=tuple(rng.choice((0, 1, 1, 2)) for _ in range(rng.choice((1, 1, 2)))), modulus=rng.choice((0, 0, 0, 5)),
        used=rng.choice((-2, -1, 0, 0, 0, 1, 1, 2)), rounds=rng.choice((1, 3, 6)), twice=rng.random() < 0.2,
    )  # fmt: skip


def is_proved(folder: Path, program: Program, size: int) -> bool:
    result = judged(folder, program.source, program.spec(size), OPTIONS)
    assert result.verdict is not Verdict.ERROR, (result.findings, program.source, program.spec(size))
    return result.verdict is Verdict.PROVED


def test_what_is_proved_stays_within_what_was_counted(tmp_path: Path) -> None:
    rng, at_the_border = random.Random(20261128), 0
    for _ in range(tries(short=6, long=400)):
        program = drawn(rng)
        if program.used > len(program.steps):
            continue
        most = program.most()
        if most is None:
            assert not is_proved(tmp_path, program, 16), program
        else:
            assert most == 0 or not is_proved(tmp_path, program, most), program
            at_the_border += is_proved(tmp_path, program, most + 1)
    assert at_the_border >= tries(short=1, long=60)
