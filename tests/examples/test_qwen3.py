"""The engine on a tiny random model in the interpreter, from bundles of its own, against NumPy in float64."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.qwen3 import generate as generating
from examples.qwen3.build import build, wanted
from examples.qwen3.cache import Cache
from examples.qwen3.command import main
from examples.qwen3.config import SIZES, Config
from examples.qwen3.errors import EngineError
from examples.qwen3.generate import Model, Session, generate
from examples.qwen3.launches import Launches
from examples.qwen3.memory import HostMemory
from examples.qwen3.report import as_page, as_text, document
from examples.qwen3.step import Sampling, State, Step
from examples.qwen3.tiles import ALTERNATIVES, LANES, RESIDENT, RowTile, StepTile, step_tile
from examples.qwen3.weights import named, random_weights
from tests.examples.qwen3_reference import logits

import tileverify
from tileverify.kernels import prepared
from tileverify.kernels.device import decoding_rows
from tileverify.kernels.references import layers as references

CONFIG = Config(2, 32, 4, 2, 32, vocabulary=48, head_width=16, positions=96, dtype="f32")
TEXTS = [17, 3, 41, 8, 47], [30, 2]
GREEDY, SAMPLED = Sampling(), Sampling(4.0, 0.95, seed=3)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives import serialization as form

    key, folder = ed25519.Ed25519PrivateKey.generate(), tmp_path_factory.mktemp("keys")
    plain = form.PrivateFormat.PKCS8, form.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(form.Encoding.PEM, *plain))
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pub").write_bytes(public)
    return folder / "key.pem", folder / "key.pub"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Path, Path]) -> Path:
    """What `python -m qwen3.build` makes, for heads of this width, and without machine code."""
    folder = tmp_path_factory.mktemp("bundles")
    each = list(wanted(CONFIG.dtype, [1, 8], CONFIG.head_width))
    build(folder, each, ["--arch", "none", "--sign", str(keys[0])])
    assert len(list(folder.glob("*.tvk"))) == len(each)
    return folder


@pytest.fixture(scope="module")
def at_hand(bundles: Path, keys: tuple[Path, Path]) -> prepared.AtHand:
    found = prepared.AtHand()
    found.add(bundles, [keys[1]], only_signed=True)
    return found


@pytest.fixture(autouse=True)
def _from_bundles(at_hand: prepared.AtHand, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is compiled: what has no bundle is an error."""
    monkeypatch.setattr(prepared, "at_hand", at_hand)

    def no_kernel(module: str, name: str) -> Any:
        raise LookupError(f"there is no bundle for this launch of {module}.{name}")

    monkeypatch.setattr(prepared, "kernel_of", no_kernel)


@pytest.fixture(scope="module")
def model() -> Model:
    memory = HostMemory()
    weights = random_weights(CONFIG, memory, 5)
    for name, array in named(weights, CONFIG):
        if "norm" not in name:
            array *= 8  # at this width, weights as models begin with would hardly change a token
    return Model(CONFIG, weights, memory, Launches(memory))


def expected(model: Model, texts: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    weights = dict(named(model.weights, model.config))
    return np.stack([logits(model.config, weights, text) for text in texts])


def likeliest(model: Model, texts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Step by step, by the reference."""
    grown = [list(text) for text in texts]
    for _ in range(count):
        tokens = expected(model, grown).argmax(axis=1).tolist()
        grown = [[*text, token] for text, token in zip(grown, tokens, strict=True)]
    return [list(step) for step in zip(*(text[-count:] for text in grown), strict=True)]


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


@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["one", "two"])
def test_the_likeliest_tokens(model: Model, texts: Sequence[list[int]]) -> None:
    """By one graph that is replayed; of a batch, each sequence is what it is alone."""
    assert list(generate(model, texts, GREEDY, 3)) == likeliest(model, texts, 3)


def test_long_prompts_in_pieces(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces behind others see what those left in the cache; a prompt of one token begins with nothing."""
    monkeypatch.setattr("examples.qwen3.prompt.PIECE", 2)
    wanted = expected(model, TEXTS)
    np.testing.assert_allclose(Session(model, TEXTS).logits(), wanted, atol=1e-4 * np.abs(wanted).max())


def test_the_cache_grows(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generating, "ROOM", 3)
    session = Session(model, TEXTS)
    assert session.cache.capacity == 6
    tokens = [session.choose()(), *(session.step()() for _ in range(2))]
    assert session.cache.capacity == 12
    assert tokens == likeliest(model, TEXTS, 3)


def test_sampled_tokens(model: Model) -> None:
    """The same for the same seed, and for a sequence alone; another seed gives others."""
    twice = [TEXTS[1]] * 2
    batch = list(generate(model, twice, SAMPLED, 2))
    assert batch == list(generate(model, twice, SAMPLED, 2))
    assert [[step[0]] for step in batch] == list(generate(model, twice[:1], SAMPLED, 2))
    assert batch != list(generate(model, twice, replace(SAMPLED, seed=4), 2))
    assert [step[0] for step in batch] != [step[1] for step in batch]


def test_of_few_candidates_and_of_all(model: Model) -> None:
    """A small share leaves the likeliest token; the whole one, at a high temperature, any."""
    assert list(generate(model, TEXTS, Sampling(5.0, 1e-6), 1)) == likeliest(model, TEXTS, 1)
    wild = [token for step in generate(model, TEXTS, Sampling(1e4, 1.0), 2) for token in step]
    drawn = Sampling(1e4, 1.0).drawn(2, 8)
    wanted = [
        int(drawn[each, len(text) - 1 + number] * CONFIG.vocabulary)
        for number in range(2)
        for each, text in enumerate(TEXTS)
    ]
    assert all(abs(one - other) <= 1 for one, other in zip(wild, wanted, strict=True) if one is not None)


def test_sequences_end(model: Model) -> None:
    """By a token that stops them, each alone, and by the model's positions."""
    steps = likeliest(model, TEXTS, 2)
    stop = steps[0][0]
    found = list(generate(model, TEXTS, GREEDY, 2, stops=[stop]))
    for number in range(2):
        own = [step[number] for step in steps]
        kept = own[: own.index(stop)] if stop in own else own
        assert [step[number] for step in found if step[number] is not None] == kept
    short = replace(model, config=replace(CONFIG, positions=7))
    assert len(list(generate(short, TEXTS[:1], GREEDY, 9))) == 2


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "there is no prompt"),
        ([[1], []], "prompt 1 is empty"),
        ([[1] * 96], "prompt 0 has 96 tokens, and the model has 96 positions"),
        ([[48]], "prompt 0 holds a token that is none of the model's 48"),
        ([[1]] * 9, "9 sequences at once are too many: up to 8 of f32"),
    ],
)
def test_prompts_that_cannot_be(model: Model, texts: list[list[int]], why: str) -> None:
    with pytest.raises(EngineError, match=why):
        Session(model, texts)


def test_the_report_holds_every_launch(model: Model, bundles: Path) -> None:
    """Each with the hash of a bundle that is there, and with what it was proved for."""
    model, made = replace(model, launches=Launches(model.memory)), 2
    assert len(list(generate(model, TEXTS, GREEDY, made))) == made
    found = document("a run", model.launches.noted)
    layers, prompts, steps = CONFIG.layers, len(TEXTS), made - 1
    of_prompts = prompts * (2 + 9 * layers)
    of_head = 3 * made
    assert found["made"] == of_prompts + of_head + steps * (1 + 6 * layers)
    names = {path.name for path in bundles.glob("*.tvk")}
    for launch in found["launches"]:
        proof = found["proofs"][launch["proof"]]
        assert proof["bundle"] in names
        assert (proof["holds_for"], proof["signed"], proof["assumes"]) == ("any", True, ())
        assert proof["contract"]
    json.dumps(found)
    for text in (as_text("a run", model.launches.noted), as_page("<a run>", model.launches.noted)):
        assert all(each["proof"][:16] in text for each in found["launches"])
    assert "<a run>" not in as_page("<a run>", model.launches.noted)


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.qwen3.command.SIZES", {"tiny": CONFIG})
    monkeypatch.setattr("examples.qwen3.tokens.Bytes.encode", lambda self, text: [each % 48 for each in text.encode()])


@pytest.mark.usefixtures("_tiny")
def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--random", "tiny", "--device", "cpu", "Hello", "you", "--max-tokens", "2"]
    assert main([*arguments, "--report", str(tmp_path / "run.json")]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("[0] ")
    assert "\n[1] " in told.out
    assert "prompt: 8 tokens" in told.err
    assert "then 2 tokens" in told.err
    assert json.loads((tmp_path / "run.json").read_text())["made"] > 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "say which model: a folder, or --random with one of"),
        (["nowhere", "Hello"], "there is no folder 'nowhere'"),
        (
            ["--random", "tiny", "--report", "nowhere/run.txt", "--max-tokens", "1", "A"],
            "cannot write 'nowhere/run.txt'",
        ),
        (["--random", "tiny", "--bundles", ".", "A"], "there are no bundles"),
    ],
)
@pytest.mark.usefixtures("_tiny")
def test_what_the_command_refuses(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence."""
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--device", "cpu"]) == 2
    assert why in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("what", ALTERNATIVES)
@pytest.mark.parametrize("sequences", [1, 2, 8])
@pytest.mark.parametrize("hidden", [1024, 5120])
def test_float32_takes_no_tensor_cores(what: str, sequences: int, hidden: int) -> None:
    """They would take fewer bits of it."""
    tile = step_tile(what, "f32", sequences, hidden)
    assert isinstance(tile, StepTile)
    assert not tile.tensor_cores


def test_products_of_one_sequence_in_bf16() -> None:
    """Those of a layer, as a step launches them, against the references."""
    pytest.importorskip("ml_dtypes")
    config, memory = replace(CONFIG, dtype="bf16"), HostMemory()
    weights = random_weights(config, memory, 5)
    cache = Cache(config, memory, Launches(memory), 1, 8)
    calls: list[tuple[str, tuple[int, ...], tuple[Any, ...]]] = []
    step = Step(config, weights, memory, cache, State(config, memory, GREEDY, cache))
    step.layers(lambda kernel, grid, *arguments: calls.append((kernel, grid, arguments)))
    products = [each for each in calls if each[0].startswith("decoding_rows.")]
    names = [kernel.partition(".")[2] for kernel, _, _ in products]
    assert names == ["row_normed", "row_add", "row_normed_gated", "row_add"] * config.layers
    normal = memory.normal(7, 1.0)
    for name, (_, grid, arguments) in zip(names[:4], products, strict=False):
        *given, out, eps = arguments[:-3] if "normed" in name else (*arguments[:-3], None)
        for each in given:
            normal(each)
        wanted = getattr(references, name.replace("row_", "step_"))(*given, *([] if eps is None else [eps]))
        tileverify.launch(None, grid, getattr(decoding_rows, name), arguments)
        assert np.abs(memory.numbers(out) - wanted).max() <= 0.02 * np.abs(wanted).max()


@pytest.mark.parametrize("config", SIZES.values(), ids=SIZES)
def test_tiles_of_one_sequence_hold_the_vectors(config: Config) -> None:
    for what, rows in (("normed", config.packed_heads * config.head_width), ("normed_gated", config.intermediate)):
        tile = step_tile(what, "bf16", 1, config.hidden)
        assert isinstance(tile, RowTile)
        assert config.hidden <= LANES * tile.tiles
        blocks = tile.blocks(what, rows)
        assert blocks <= RESIDENT
        assert -(-rows // (blocks * tile.rows)) == -(-rows // (min(RESIDENT, -(-rows // tile.rows)) * tile.rows))
