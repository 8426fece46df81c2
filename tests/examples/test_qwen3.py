"""The engine on a tiny random model in the interpreter, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from examples.qwen3.config import Config
from examples.qwen3.generate import Model, Session, generate
from examples.qwen3.launches import Launches
from examples.qwen3.memory import HostMemory
from examples.qwen3.step import Sampling
from examples.qwen3.weights import named, random_weights
from tests.examples.qwen3_reference import logits

CONFIG = Config(2, 32, 4, 2, 48, vocabulary=80, head_width=16, positions=96, dtype="f32")
TEXTS = [17, 3, 41, 8, 79], [60, 2]


def made(config: Config = CONFIG, seed: int = 5) -> Model:
    memory = HostMemory()
    weights = random_weights(config, memory, seed)
    for name, array in named(weights, config):
        if "norm" not in name:
            array *= 8  # at this width, weights as models begin with would hardly change a token
    return Model(config, weights, memory, Launches(memory))


@pytest.fixture(scope="module")
def model() -> Model:
    return made()


def expected(model: Model, texts: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    weights = dict(named(model.weights, model.config))
    return np.stack([logits(model.config, weights, text) for text in texts])


@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["one", "two of different lengths"])
def test_logits_of_prompts_and_of_what_follows(model: Model, texts: Sequence[list[int]]) -> None:
    """A step from the cache is what the longer text is from its beginning."""
    session = Session(model, texts)
    grown = [list(text) for text in texts]
    for _ in range(2):
        wanted = expected(model, grown)
        np.testing.assert_allclose(session.logits(), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
        tokens = session.choose()()
        assert tokens == wanted.argmax(axis=1).tolist()
        grown = [[*text, token] for text, token in zip(grown, tokens, strict=True)]
        session.advance()
