"""What loops in loops hand on: every store of an iteration lies on the elements of those of the iteration before.

The right ones order all of them, each in another way; of each way there is one that leaves out a store.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.checker.test_read_again import checked as read_by_the_checker
from tests.checker.test_read_again import summary
from tests.written_kernel import judged, unit_at

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I32, TOKEN, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.results import Verdict

SPEC = 'kernel = "k"\ngrid = [1]\nargs = { a = "i32[8]" }'


class Rounds:
    """``rounds`` times a loop that stores to a[0], a[1], a[2]; what it hands on is up to each of `WAYS`."""

    def __init__(self, f: BodyBuilder) -> None:
        self.f = f
        self.a = f.parameters[0]

    def number(self, value: int) -> Value:
        return self.f.constant(tile(I32), value)

    def token(self) -> Value:
        made: Value = self.f.op("make_token")
        return made

    def joined(self, *tokens: Value) -> Value:
        made: Value = self.f.op("join_tokens", tokens=list(tokens))
        return made

    def store(self, at: Value, after: Value) -> Value:
        place = self.f.op("offset", ptr=self.a, off=at)
        made: Value = self.f.op("store_ptr_tko", ptr=place, val=at, token=after)
        return made

    def compared(self, a: Value, how: str, b: int) -> Value:
        made: Value = self.f.op("cmpi", lhs=a, rhs=self.number(b), pred=how, sgn="signed")
        return made

    # ----------------------------------------------------------------------------------- one loop in the other
    def collected(self, *, all_of_them: bool) -> None:
        """A recurrence over steps in a persistent loop: stores wait for the round before, not for each other."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            with self.f.for_(self.number(0), self.number(3), self.number(1), [outer.arguments[1]]) as inner:
                done = self.store(inner.arguments[0], outer.arguments[1])
                self.f.op("continue", args=[self.joined(inner.arguments[1], done) if all_of_them else done])
            self.f.op("continue", args=[inner.results[0]])

    def chained(self, *, all_of_them: bool) -> None:
        """Each store waits for the one before; the round hands on the last one, or what it was given."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            with self.f.for_(self.number(0), self.number(3), self.number(1), [outer.arguments[1]]) as inner:
                self.f.op("continue", args=[self.store(inner.arguments[0], inner.arguments[1])])
            self.f.op("continue", args=[inner.results[0] if all_of_them else outer.arguments[1]])

    def begun_anew(self, *, all_of_them: bool) -> None:
        """What the inner loop collects begins with nothing; its stores wait for the round before, or for nothing."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            nothing = self.token()
            with self.f.for_(self.number(0), self.number(3), self.number(1), [nothing]) as inner:
                done = self.store(inner.arguments[0], outer.arguments[1] if all_of_them else nothing)
                self.f.op("continue", args=[self.joined(inner.arguments[1], done)])
            self.f.op("continue", args=[inner.results[0]])

    def swapped(self, *, all_of_them: bool) -> None:
        """Two tokens change places; a round waits for both, or for the one of the round before the last."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token(), self.token()]) as outer:
            _, older, newer = outer.arguments
            before = self.joined(older, newer) if all_of_them else older
            with self.f.for_(self.number(0), self.number(3), self.number(1), [before]) as inner:
                done = self.store(inner.arguments[0], before)
                self.f.op("continue", args=[self.joined(inner.arguments[1], done)])
            self.f.op("continue", args=[newer, inner.results[0]])

    def broken_off(self, *, all_of_them: bool) -> None:
        """The inner loop is left with its last store, or with what it had collected before."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            with self.f.loop([self.number(0), outer.arguments[1]], results=[TOKEN]) as inner:
                at, collected = inner.arguments
                together = self.joined(collected, self.store(at, outer.arguments[1]))
                with self.f.if_(self.compared(at, "greater_than_or_equal", 2)) as last, last.then():
                    self.f.op("break", args=[together if all_of_them else collected])
                self.f.op("continue", args=[self.f.op("addi", lhs=at, rhs=self.number(1)), together])
            self.f.op("continue", args=[inner.results[0]])

    def chosen(self, *, all_of_them: bool) -> None:
        """Both sides of a branch take the store in, or one of them."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            with self.f.for_(self.number(0), self.number(3), self.number(1), [outer.arguments[1]]) as inner:
                done = self.store(inner.arguments[0], outer.arguments[1])
                with self.f.if_(self.compared(inner.arguments[0], "less_than", 2), [TOKEN]) as branch:
                    with branch.then():
                        self.f.op("yield", args=[self.joined(inner.arguments[1], done)])
                    with branch.otherwise():
                        rest = self.joined(done, inner.arguments[1]) if all_of_them else inner.arguments[1]
                        self.f.op("yield", args=[rest])
                self.f.op("continue", args=[branch.results[0]])
            self.f.op("continue", args=[inner.results[0]])

    def left_early(self, *, all_of_them: bool) -> None:
        """Rounds with an odd number store nothing; they hand on what they were given, or begin anew."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            odd = self.f.op("andi", lhs=outer.arguments[0], rhs=self.number(1))
            with self.f.if_(self.compared(odd, "equal", 1)) as branch, branch.then():
                self.f.op("continue", args=[outer.arguments[1] if all_of_them else self.token()])
            with self.f.for_(self.number(0), self.number(3), self.number(1), [outer.arguments[1]]) as inner:
                done = self.store(inner.arguments[0], outer.arguments[1])
                self.f.op("continue", args=[self.joined(inner.arguments[1], done)])
            self.f.op("continue", args=[inner.results[0]])

    def three_deep(self, *, all_of_them: bool) -> None:
        """The middle loop hands on all that its rounds collected, or those of the last one."""
        with self.f.for_(self.number(0), self.number(4), self.number(1), [self.token()]) as outer:
            with self.f.for_(self.number(0), self.number(2), self.number(1), [outer.arguments[1]]) as middle:
                with self.f.for_(self.number(0), self.number(3), self.number(1), [outer.arguments[1]]) as inner:
                    row = self.f.op("muli", lhs=middle.arguments[0], rhs=self.number(3))
                    done = self.store(self.f.op("addi", lhs=row, rhs=inner.arguments[0]), outer.arguments[1])
                    self.f.op("continue", args=[self.joined(inner.arguments[1], done)])
                rest = [middle.arguments[1]] if all_of_them else []
                self.f.op("continue", args=[self.joined(inner.results[0], *rest, self.token())])
            self.f.op("continue", args=[middle.results[0]])


WAYS = (
    Rounds.collected, Rounds.chained, Rounds.begun_anew, Rounds.swapped, Rounds.broken_off, Rounds.chosen,
    Rounds.left_early, Rounds.three_deep,
)  # fmt: skip


def kernel(way: str, *, all_of_them: bool) -> bytes:
    builder = ModuleBuilder()
    with builder.entry("k", (tile(pointer(I32)),)) as f:
        getattr(Rounds(f), way)(all_of_them=all_of_them)
        f.op("return")
    return encode(builder.build())


@pytest.mark.parametrize("way", [way.__name__ for way in WAYS])
def test_rounds_in_order_are_proved_and_the_checker_reads_them(tmp_path: Path, way: str) -> None:
    result = judged(tmp_path, kernel(way, all_of_them=True), SPEC)
    assert result.verdict is Verdict.PROVED, result.findings
    unit = unit_at(tmp_path)
    read_by_the_checker(unit, summary(unit))


@pytest.mark.parametrize("way", [way.__name__ for way in WAYS])
def test_a_store_that_a_round_does_not_hand_on_races_with_the_next(tmp_path: Path, way: str) -> None:
    result = judged(tmp_path, kernel(way, all_of_them=False), SPEC)
    assert (result.verdict, {finding.code for finding in result.findings}) == (Verdict.REFUTED, {"TV201"})
