"""What ends a run of the interpreter early, and what a run notices on its way.

None of these is a user error: a replay turns each into "not confirmed" with the sentence as its reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...results.codes import TV


class InterpreterStop(Exception):
    """The run cannot go on; the text is one sentence that says why."""


class BlockEnded(Exception):
    """The block's program ends here, as by a ``return``: nothing is wrong with the run."""


class NotModelled(InterpreterStop):
    """An op, type or launch that this interpreter has no exact rule for."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not modelled")
        self.what = what


@dataclass(frozen=True, slots=True)
class OpenUse:
    """A value that the specification (or this run) leaves open reached what it may not decide.

    ``what`` it is, and the ``use`` that it reached of the op at bytecode ``offset``.  ``lanes`` of ``size`` are open,
    ``first`` is the first of them, ``element`` what that one would have been written to.  ``source``: bytecode offset
    of the op that made the value, where that is known.
    """

    what: str
    use: str
    op: str
    offset: int
    lanes: int = 1
    size: int = 1
    first: tuple[int, ...] = ()
    element: str = ""
    source: int | None = None

    def __str__(self) -> str:
        return f"{self.what} reaches the {self.use} of {self.op} at {self.offset:#x}"


class UnspecifiedUse(InterpreterStop):
    """An open value reached an index, a mask, a branch, an address, or a store; ``use`` tells which."""

    def __init__(self, text: str, use: OpenUse | None = None) -> None:
        super().__init__(text)
        self.use = use


class BudgetSpent(InterpreterStop):
    """The run needs more steps, accesses or memory than it was given."""


class EndlessLoop(InterpreterStop):
    """A loop that came back to where it was, in values and in memory."""


class LaunchMismatch(InterpreterStop):
    """The concrete launch does not fit the entry: a missing argument, a size that its type cannot hold."""


class UndefinedStop(InterpreterStop):
    """Undefined behaviour that ends the run; it is the last event of the block's log.

    Some ends every run, for there is no sensible way to continue (a loop whose step is not positive).
    """


@dataclass(frozen=True, slots=True)
class UndefinedBehaviour:
    """One event of undefined behaviour: obligation ``code`` broken by the op at bytecode ``offset``.

    ``time`` orders it among the block's accesses and events.  Where it is about an access, ``origin`` and ``address``
    say where in memory, and ``coordinates`` which element of a view came first.
    """

    code: TV
    op: str
    offset: int
    time: int
    message: str
    origin: int | None = None
    address: int | None = None
    coordinates: tuple[int, ...] | None = None
