"""Several sequences by tensor cores: who computes a vector prepares it for the norm behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from examples.qwen3.config import SIZES, Config
from examples.qwen3.generate import Model, Session
from examples.qwen3.launches import Launches
from examples.qwen3.memory import HostMemory
from examples.qwen3.step import HandingOn
from examples.qwen3.tiles import SeveralTile, step_tile
from examples.qwen3.weights import named, random_weights
from tests.examples.qwen3_reference import logits

CONFIG = Config(2, 32, 4, 2, 32, vocabulary=48, head_width=16, positions=96, dtype="bf16")
TEXTS = [17, 3, 41, 8, 47], [30, 2]


def test_steps_in_bf16() -> None:
    """Of two sequences, against the reference, as near as bf16 allows."""
    pytest.importorskip("ml_dtypes")
    memory = HostMemory()
    weights = random_weights(CONFIG, memory, 5)
    random = np.random.default_rng(3)
    for name, array in named(weights, CONFIG):
        if "norm" in name:
            array[...] = random.uniform(0.2, 2, array.shape)  # among equal ones, those of another norm would do
        else:
            array *= 8
    model = Model(CONFIG, weights, memory, Launches(memory))
    session = Session(model, TEXTS)
    assert isinstance(session._step, HandingOn)
    grown = [list(text) for text in TEXTS]
    for _ in range(2):
        tokens = session.choose()()
        grown = [[*text, token] for text, token in zip(grown, tokens, strict=True)]
        session.advance()
        wanted = np.stack([logits(CONFIG, dict(named(weights, CONFIG)), text) for text in grown])
        assert np.abs(session.logits() - wanted).max() <= 0.05 * np.abs(wanted).max()


@pytest.mark.parametrize("config", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("sequences", [2, 8, 9, 64])
def test_tiles_hold_the_sequences(config: Config, sequences: int) -> None:
    """All products of a layer are of one kind, and those that add leave sums of squares for the same elements."""
    found = {
        what: step_tile(what, "bf16", sequences, config.hidden) for what in ("normed", "normed_gated", "add", "down")
    }
    for tile in found.values():
        assert isinstance(tile, SeveralTile)
        assert tile.sequences >= sequences
    assert found["add"] == found["down"]


def test_other_element_types() -> None:
    """float32 takes no tensor cores, and one sequence streams nothing through them."""
    assert not isinstance(step_tile("add", "f32", 8, CONFIG.hidden), SeveralTile)
    assert isinstance(step_tile("add", "f16", 8, CONFIG.hidden), SeveralTile)
    one = replace(CONFIG, dtype="f16")
    assert not isinstance(step_tile("down", one.dtype, 1, one.hidden), SeveralTile)
