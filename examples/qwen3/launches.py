"""The one way to a launch: by name, under its proof, and noted for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tileverify
from tileverify.backend.guard.arguments import array_value
from tileverify.kernels.prepared import Account, account, chosen

from .memory import Array, Memory

Grid = tuple[int, ...]


@dataclass(slots=True)
class Noted:
    """Launches that are alike but for where their arrays lie; ``made``: how often."""

    kernel: str
    grid: Grid
    arrays: tuple[str, ...]
    proof: Account
    made: int = 0


class Launches:
    """All launches of a run.

    What makes a launch is looked up once for each kind of arguments; every launch is compared with its proof's contract
    when it is made, one of a graph when it becomes part of it.  ``early``: launches of graphs may start before the one
    ahead of them has ended.
    """

    def __init__(self, memory: Memory, *, early: bool = True) -> None:
        self._memory, self._early = memory, early
        self._chosen: dict[tuple[object, ...], tuple[Any, Noted]] = {}

    @property
    def noted(self) -> Sequence[Noted]:
        return [noted for _, noted in self._chosen.values()]

    def __call__(self, kernel: str, grid: Grid, *arguments: Any) -> None:
        """Launch ``module.kernel`` at once."""
        made_by, noted = self._look(kernel, grid, arguments)
        tileverify.launch(self._memory.stream, grid, made_by, arguments)
        if noted is None:
            noted = self._note(kernel, grid, arguments, made_by)
        noted.made += 1

    def _look(self, kernel: str, grid: Grid, arguments: Sequence[Any]) -> tuple[Any, Noted | None]:
        found = self._chosen.get(_key(kernel, grid, arguments))
        return found if found is not None else (chosen(kernel, grid, arguments), None)

    def _note(self, kernel: str, grid: Grid, arguments: Sequence[Any], made_by: Any) -> Noted:
        noted = Noted(kernel, grid, tuple(_words(arguments)), account(made_by, grid, arguments))
        self._chosen[_key(kernel, grid, arguments)] = made_by, noted
        return noted

    def graph(self) -> Recording:
        """Launches that are made together, as often as wanted."""
        return Recording(self)


class Recording:
    """``with launches.graph() as graph: graph(kernel, grid, ...)``, one behind the other; then `replay`.

    Each may start while the one ahead of it still runs, where its kernel waits for that.
    """

    def __init__(self, launches: Launches) -> None:
        self._launches = launches
        self._graph = tileverify.graph()
        self._noted: list[Noted] = []

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._graph.__exit__(*raised)

    def __call__(self, kernel: str, grid: Grid, *arguments: Any) -> None:
        made_by, noted = self._launches._look(kernel, grid, arguments)
        self._graph.launch(grid, made_by, arguments, programmatic_dependent_launch=self._launches._early)
        self._noted.append(noted or self._launches._note(kernel, grid, arguments, made_by))

    def replay(self) -> None:
        self._graph.replay(self._launches._memory.stream)
        for noted in self._noted:
            noted.made += 1

    def __len__(self) -> int:
        return len(self._noted)


def _key(kernel: str, grid: Grid, arguments: Sequence[Any]) -> tuple[object, ...]:
    """What decides which proof covers a launch; where exactly arrays lie does not."""
    return (kernel, grid, *map(_kind, arguments))


def _kind(argument: Any) -> object:
    if isinstance(argument, bool | int | float):
        return argument
    value = array_value(argument)
    assert value is not None
    return value._replace(address=value.address % 16)


def _words(arguments: Sequence[Array]) -> Sequence[str]:
    values = [None if isinstance(each, bool | int | float) else array_value(each) for each in arguments]
    return [f"{value.dtype}{list(value.shape)}" for value in values if value is not None]
