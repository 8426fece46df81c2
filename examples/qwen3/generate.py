"""Texts that go on: prompts first, then one step after the other, each a replay of one graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .cache import Cache
from .config import Config
from .errors import EngineError
from .launches import Launches, Recording
from .memory import Memory
from .prompt import Prompt
from .step import Sampling, State, Step, step_of
from .tiles import step_tile
from .weights import Weights

ROOM: Final = 512
"""Positions that a cache has room for are a multiple of this."""


@dataclass(frozen=True, slots=True)
class Model:
    """What to run and where, and the launches of all that was run."""

    config: Config
    weights: Weights
    memory: Memory
    launches: Launches


@dataclass(slots=True)
class Times:
    """Seconds of the prompts, each with its first token, and of the steps behind them; how many tokens those gave."""

    prompts: float = 0.0
    steps: float = 0.0
    tokens: int = 0


class Session:
    """Several sequences in one cache.  ``capacity``: positions to begin with; the cache grows when they are used up.

    Raises `EngineError` for prompts that are empty, or longer than the model's positions.
    """

    def __init__(
        self, model: Model, prompts: Sequence[Sequence[int]], sampling: Sampling | None = None, capacity: int = 0
    ) -> None:
        config = model.config
        step_tile("normed", config.dtype, len(prompts), config.hidden)  # refuses too many
        _check(config, prompts)
        self._model, self.lengths = model, [len(each) for each in prompts]
        room = max(capacity, max(self.lengths) + 1)
        sampling = sampling or Sampling()
        self.cache = Cache(config, model.memory, model.launches, len(prompts), _rounded(room, config))
        self.state = State(config, model.memory, sampling, self.cache)
        filling = Prompt(config, model.weights, model.memory, model.launches, self.cache)
        for number, prompt in enumerate(prompts):
            filling.fill(number, prompt, self.state.x[number : number + 1])
        self.state.stand_at([length - 1 for length in self.lengths])
        self._furthest = max(self.lengths) - 1
        self._step = self._new_step()
        self._graph: Recording | None = None

    def logits(self) -> np.ndarray[Any, Any]:
        """f32[B, V]: of what follows the token at which each sequence stands."""
        return self._model.memory.numbers(self._step.logits(self._model.launches))

    def choose(self) -> Callable[[], list[int]]:
        """The tokens that follow the prompts, or the tokens of the latest `advance`; the call waits for them."""
        self._step.choose(self._model.launches)
        self._furthest += 1
        return self._model.memory.later(self.state.ids)

    def advance(self) -> None:
        """The layers alone, for the tokens at which the sequences stand."""
        self._have_room()
        self._step.layers(self._model.launches)

    def step(self) -> Callable[[], list[int]]:
        """`advance` and `choose` in one graph, which is made when it is first wanted."""
        self._have_room()
        if self._graph is None:
            self.record()
        assert self._graph is not None
        self._graph.replay()
        self._furthest += 1
        return self._model.memory.later(self.state.ids)

    def record(self) -> Recording:
        """Make the graph of a step."""
        with self._model.launches.graph() as self._graph:
            self._step.layers(self._graph)
            self._step.choose(self._graph)
        return self._graph

    @property
    def more(self) -> bool:
        """Whether there is a position for what follows the next step."""
        return self._furthest + 1 < self._model.config.positions

    def _have_room(self) -> None:
        """For the token that a step puts into the cache, and the position behind it."""
        if self._furthest + 1 < self.cache.capacity:
            return
        positions = self._model.memory.numbers(self.state.positions).tolist()
        self.cache.grow(_rounded(2 * self.cache.capacity, self._model.config))
        self.state.take_room(self.cache)
        self.state.stand_at(positions)
        self._step, self._graph = self._new_step(), None

    def _new_step(self) -> Step:
        model = self._model
        return step_of(model.config, model.weights, model.memory, self.cache, self.state)


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    most: int,
    stops: Collection[int] = (),
    times: Times | None = None,
) -> Iterator[list[int | None]]:
    """Step by step, the token of each sequence; ``None`` for one that has ended, by ``stops`` or its positions.

    ``most``: tokens of each sequence.  A token is given while the device computes the next one.
    """
    times = times if times is not None else Times()
    begun = time.perf_counter()
    session = Session(model, prompts, sampling, max(map(len, prompts), default=0) + most)
    waiting = session.choose()
    waiting()
    times.prompts = time.perf_counter() - begun
    if most > 1 and session.more:
        session.record()
    begun = time.perf_counter()
    ended = [False] * len(prompts)
    for number in range(most):
        last = number + 1 == most or not session.more
        following = None if last else session.step()
        tokens = waiting()
        if number > 0:
            times.steps = time.perf_counter() - begun
            times.tokens += ended.count(False)
        ended = [done or token in stops for done, token in zip(ended, tokens, strict=True)]
        yield [None if done else token for done, token in zip(ended, tokens, strict=True)]
        if following is None or all(ended):
            return
        waiting = following


def _check(config: Config, prompts: Sequence[Sequence[int]]) -> None:
    if not prompts:
        raise EngineError("there is no prompt")
    for number, prompt in enumerate(prompts):
        if not prompt:
            raise EngineError(f"prompt {number} is empty")
        if len(prompt) >= config.positions:
            raise EngineError(
                f"prompt {number} has {len(prompt)} tokens, and the model has {config.positions} positions"
            )
        if not all(0 <= each < config.vocabulary for each in prompt):
            raise EngineError(f"prompt {number} holds a token that is none of the model's {config.vocabulary}")


def _rounded(positions: int, config: Config) -> int:
    """To a multiple of `ROOM`, and no more than the model has."""
    return min(-(-positions // ROOM) * ROOM, config.positions)
