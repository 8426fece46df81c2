"""Folders as Hugging Face keeps models: weights, sizes, tokens; and the sizes that are built in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.qwen3.config import SIZES, Config, read_config, stop_tokens
from examples.qwen3.errors import EngineError
from examples.qwen3.files import INDEX, ONE, load_weights
from examples.qwen3.memory import HostMemory
from examples.qwen3.tokens import Bytes, Stream, tokens_of
from examples.qwen3.weights import Weights, named, random_weights

CONFIG = Config(2, 32, 4, 2, 48, vocabulary=64, head_width=16, positions=96, dtype="f32")
WRITTEN = {
    "model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 64, "head_dim": 16, "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0, "max_position_embeddings": 96, "tie_word_embeddings": False, "torch_dtype": "float32",
    "hidden_act": "silu", "attention_bias": False, "eos_token_id": 7,
}  # fmt: skip


def write_config(folder: Path, **changes: Any) -> Path:
    fields = {key: value for key, value in {**WRITTEN, **changes}.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(fields))
    return folder


def write_weights(folder: Path, tensors: Mapping[str, Any], files: int = 1) -> None:
    save = pytest.importorskip("safetensors.numpy").save_file
    if files == 1:
        save(dict(tensors), folder / ONE)
        return
    places = {name: f"model-{number % files}.safetensors" for number, name in enumerate(tensors)}
    for file in set(places.values()):
        save({name: tensors[name] for name in tensors if places[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))


def made(config: Config) -> tuple[Weights, dict[str, Any]]:
    weights = random_weights(config, HostMemory(), 1)
    return weights, {name: np.ascontiguousarray(array) for name, array in named(weights, config)}


# -------------------------------------------------------------------------------------------------- weights
@pytest.mark.parametrize(("files", "tied"), [(1, False), (3, True)])
def test_weights_come_back(files: int, tied: bool, tmp_path: Path) -> None:
    config = replace(CONFIG, tied=tied)
    weights, tensors = made(config)
    write_weights(tmp_path, tensors, files)
    told: list[tuple[int, int]] = []
    found = load_weights(tmp_path, config, HostMemory(), lambda done, whole: told.append((done, whole)))
    for (name, one), (_, other) in zip(named(weights, config), named(found, config), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert (found.head is found.embedding) == tied
    assert told[-1] == (config.parameters, config.parameters)


@pytest.mark.parametrize("stored", ["float16", "bfloat16"])
def test_weights_of_other_types(stored: str, tmp_path: Path) -> None:
    """Are converted as they are read."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = ml_dtypes.bfloat16 if stored == "bfloat16" else np.float16
    _, tensors = made(CONFIG)
    write_weights(tmp_path, {name: array.astype(dtype) for name, array in tensors.items()})
    found = load_weights(tmp_path, CONFIG, HostMemory())
    for name, array in named(found, CONFIG):
        np.testing.assert_array_equal(array, tensors[name].astype(dtype).astype(np.float32))


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"has neither model\.safetensors nor model\.safetensors\.index\.json"):
        load_weights(tmp_path, CONFIG, HostMemory())
    _, tensors = made(CONFIG)
    name = "model.layers.1.mlp.up_proj.weight"
    write_weights(tmp_path, {key: value for key, value in tensors.items() if key != name})
    with pytest.raises(EngineError, match=f"has no tensor '{name}'"):
        load_weights(tmp_path, CONFIG, HostMemory())
    write_weights(tmp_path, tensors | {name: tensors[name][:-1]})
    with pytest.raises(EngineError, match=r"has the shape \(47, 32\), and the model takes \(48, 32\)"):
        load_weights(tmp_path, CONFIG, HostMemory())
    (tmp_path / ONE).write_bytes(b"nothing of the kind")
    with pytest.raises(EngineError, match="cannot read"):
        load_weights(tmp_path, CONFIG, HostMemory())


# ---------------------------------------------------------------------------------------------------- sizes
def test_sizes_are_read(tmp_path: Path) -> None:
    """As transformers wrote them before its version 5, and since."""
    assert read_config(write_config(tmp_path)) == CONFIG
    newer = {"rope_theta": ..., "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    assert read_config(write_config(tmp_path, **newer, torch_dtype=..., dtype="float32")) == CONFIG


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model_type": "llama"}, "a model of type 'llama'"),
        ({"hidden_size": ...}, "hidden_size is missing"),
        ({"attention_bias": True}, "attention_bias = True is nothing that this engine runs"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "scaled positions"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6}}, "scaled positions"),
        ({"torch_dtype": "int8"}, "element type 'int8' is none of bfloat16, float16, float32"),
        ({"head_dim": 80}, "heads of 80 numbers: kernels take powers of two"),
        ({"num_key_value_heads": 3}, "4 query heads over 3 of keys"),
        ({"num_hidden_layers": 0}, "every size of the model has to be at least 1"),
    ],
)
def test_sizes_that_no_kernel_takes(changes: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=why):
        read_config(write_config(tmp_path, **changes))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot read"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EngineError, match="is no JSON"):
        read_config(tmp_path)


def test_what_ends_a_text(tmp_path: Path) -> None:
    assert stop_tokens(tmp_path) == frozenset()
    write_config(tmp_path)
    assert stop_tokens(tmp_path) == {7}
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [3, 4]}')
    assert stop_tokens(tmp_path) == {3, 4}


@pytest.mark.parametrize(
    ("size", "billions", "read"),
    [("0.6B", 0.596, None), ("1.7B", 1.72, None), ("4B", 4.02, 8.04), ("8B", 8.19, 15.1), ("14B", 14.8, 28.0),
     ("32B", 32.8, 63.97)],
)  # fmt: skip
def test_the_published_sizes(size: str, billions: float, read: float | None) -> None:
    """Numbers of the models, and gigabytes that a step reads of their weights in bf16."""
    config = SIZES[size]
    assert config.parameters / 1e9 == pytest.approx(billions, rel=0.01)
    if read is not None:
        assert config.read_in_a_step(0) / 1e9 == pytest.approx(read, rel=0.01)
    cached = config.read_in_a_step(512, 8) - config.read_in_a_step(0)
    assert cached == 2 * 2 * config.layers * 8 * 128 * 512 * 8


# --------------------------------------------------------------------------------------------------- tokens
def test_bytes_stand_for_tokens() -> None:
    tokens = Bytes()
    assert tokens.encode("Aé") == [65, 0xC3, 0xA9]
    assert tokens.decode([65, 300, 0xC3, 0xA9]) == "Aé"


def test_characters_come_whole() -> None:
    """What is told is never taken back, and nothing is lost."""
    stream = Stream(Bytes())
    told = [stream.add(each) for each in "aé€!".encode()]
    assert told == ["a", "", "é", "", "", "€", "!"]
    stream.add(0xE2)
    assert stream.rest() == "\ufffd"


def test_a_trained_tokenizer(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({"hello": 0, "world": 1, "?": 2}, unk_token="?")
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    tokens = tokens_of(tmp_path)
    assert tokens.encode("world hello") == [1, 0]
    stream = Stream(tokens)
    assert "".join(stream.add(each) for each in [1, 0]) == "world hello"
    with pytest.raises(EngineError, match="the prompt is empty"):
        tokens.encode("")


def test_tokenizers_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"has no tokenizer\.json"):
        tokens_of(tmp_path)
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EngineError, match="cannot read"):
        tokens_of(tmp_path)
