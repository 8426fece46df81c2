"""Kernels beside references: what is equal, what is not, what is not decided, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import command_line
from tests.corpus.kept import keep

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.equality.answer_text import sentence
from tileverify.equality.deciding import Decision, ExactAnswer, decide
from tileverify.equality.points import Options
from tileverify.equality.reference_runs import loaded, other_of
from tileverify.equality.targets import judge, kernel_of
from tileverify.frontend.sources.discover import discover

from . import corpus
from .corpus import LABELS, decided, exact_case

HERE = Path(__file__).parent
OPTIONS = Options(steps=1 << 24)


@cache
def _units(file: str = "cheats.py") -> dict[str, KernelUnit]:
    return {unit.kernel: unit for unit in discover([str(HERE / file)]) if isinstance(unit, KernelUnit)}


def _answer(kernel: str, reference: str, file: str = "cheats.py") -> ExactAnswer:
    unit = _units(file)[kernel]
    other = other_of(loaded(f"{HERE / 'references.py'}::{reference}"))
    return decide(unit, kernel_of(unit), ContractInNumbers(unit.launch), other, OPTIONS)


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("softmax", "softmax"),
        ("softmax", "softmax_unshifted"),
        ("softmax_online", "softmax"),
        ("gelu", "gelu"),
        ("gelu_by_sigmoid", "gelu"),
        ("step", "step"),
    ],
)
def test_the_same_function_is_equal_however_it_is_written(kernel: str, reference: str) -> None:
    found = _answer(kernel, reference)
    assert found.answer is Decision.EQUAL, found.reason
    assert found.bits >= 60
    assert len(found.launches) >= 4


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("softmax_zero_padded", "softmax"),
        ("softmax_first_rows", "softmax"),
        ("gelu_rounded_constant", "gelu"),
        ("gelu_off_by_little", "gelu"),
        ("gelu_unless_large", "gelu"),
        ("gelu_of_neighbour", "gelu"),
        ("mean_of_a_seed", "centred"),
        ("no_step", "step"),
    ],
)
def test_cheats_are_different(kernel: str, reference: str) -> None:
    found = _answer(kernel, reference)
    assert found.answer is Decision.DIFFERENT, sentence(found)
    assert found.difference is not None
    assert found.difference.kernel != found.difference.reference


SILU = [
    "by_size", "by_grid", "last_tile_copied", "off_by_1e6", "off_by_an_ulp", "wrong_when_large", "wrong_when_huge",
    "wrong_when_tiny", "wrong_at_zero", "clipped", "nan_trick", "nan_everywhere", "by_first_value", "by_sum",
    "one_element", "old_output",
]  # fmt: skip


def _silu(kernel: str) -> ExactAnswer:
    return _answer(kernel, "silu", "branch_cheats.py")


@pytest.mark.parametrize("kernel", SILU)
def test_cheats_that_are_wrong_on_one_branch_are_different(kernel: str) -> None:
    found = _silu(kernel)
    assert found.answer is Decision.DIFFERENT, (sentence(found), found.one_way)


def test_what_is_off_by_less_than_float64_shows_is_not_equal() -> None:
    assert _silu("right").answer is Decision.EQUAL
    assert _silu("polynomial").answer is Decision.NOT_DECIDED


def test_a_branch_that_no_contents_take_is_told() -> None:
    found = _silu("unreachable")
    assert found.answer is Decision.EQUAL
    assert [each.rpartition(" at line ")[0] for each in found.one_way] == ["the comparison >"]
    assert found.one_way[0].endswith("was false at every point")
    assert not _silu("right").one_way


def test_an_inferred_launch_makes_no_difference_to_a_reference(tmp_path: Path) -> None:
    (tmp_path / "means.py").write_text(
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef means(x, out):\n    i = ct.bid(0)\n"
        "    row = ct.load(x, (i, 0), (1, 64), padding_mode=ct.PaddingMode.ZERO)\n"
        "    ct.store(out, (i,), ct.sum(row, axis=1) / x.shape[1])\n"
    )
    (found,) = judge(f"{tmp_path / 'means.py'}::means", lambda x: x.mean(axis=1))
    assert found.equality.answer is Decision.NOT_DECIDED
    assert found.equality.difference is None
    told = "write a launch spec (tileverify init means.py): "
    assert f"{told}the reference's out has the shape (1,), not (64,)" in found.equality.reason
    (found,) = judge(f"{tmp_path / 'means.py'}::means", lambda x, out: {"out": 0 * out})
    assert found.equality.answer is Decision.NOT_DECIDED
    assert f"{told}out differs at x0 = " in found.equality.reason
    (itself,) = judge(f"{tmp_path / 'means.py'}::means", f"{tmp_path / 'means.py'}::means")
    assert itself.equality.answer is Decision.EQUAL


@pytest.mark.parametrize(("origin", "answer"), [("recorded", Decision.NOT_DECIDED), ("written", Decision.DIFFERENT)])
def test_a_recorded_launch_without_a_grid_makes_no_difference(tmp_path: Path, origin: str, answer: Decision) -> None:
    (tmp_path / "scale.py").write_text(
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef scale(x, out):\n    i = ct.bid(0)\n"
        "    ct.store(out, (i,), ct.load(x, (i,), (16,)) * 2)\n"
    )
    spec = f'[[launch]]\nkernel = "scale"\norigin = "{origin}"\nargs = {{ x = "f32[N]", out = "f32[N]" }}\n'
    (tmp_path / "scale.tileverify.toml").write_text(spec)
    (found,) = judge(f"{tmp_path / 'scale.py'}::scale", lambda x: {"out": 2 * x})
    assert found.equality.answer is answer
    assert ("say its grid in the launch spec" in (found.equality.reason or "")) is (origin == "recorded")


def test_a_power_beyond_float64_makes_no_difference() -> None:
    unit, reference = _units()["powers_in_parts"], other_of(loaded(f"{HERE / 'references.py'}::powers"))
    contract = ContractInNumbers(unit.launch)

    def at(*values: float) -> ExactAnswer:
        options = Options(values={"N": len(values)}, inputs={"x": np.array(values)})
        return decide(unit, kernel_of(unit), contract, reference, options)

    assert at(600.0, 3.0, -2.0).answer is Decision.EQUAL
    for values in ((3000.0, 3.0, -2.0), (705.0, -4.0, -2.0)):
        far = at(*values)
        assert far.answer is Decision.NOT_DECIDED
        assert far.reason == "out: a number goes beyond float64 on the way (contents: given) (N = 3)"
    assert at(705.0, 3.0, -2.0).answer is Decision.EQUAL
    assert _answer("powers_in_parts", "powers").answer is Decision.EQUAL


def test_what_has_no_rule_is_named() -> None:
    unit = _units()["gelu"]

    def reference(x: Any) -> dict[str, object]:
        return {"out": np.fft.fft(x)}

    found = decide(unit, kernel_of(unit), ContractInNumbers(unit.launch), other_of(reference), OPTIONS)
    assert found.answer is Decision.NOT_DECIDED
    assert "fft" in found.reason


SAMPLE = [
    "contract/empty_rows.py::negate_rows[rows-may-be-empty]",
    "determined/product_tail.py::product_padded[any-depth]",
    "showcase/layer_norm.py::layer_norm[any-size]",
    "showcase/rope.py::rope[heads-up-to-32]",
    "showcase/softmax.py::softmax[any-rows]",
    "race_free/persistent_softmax.py::persistent_softmax[528-blocks]",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_kernels_of_the_corpus_are_their_references(name: str) -> None:
    """All of them: ``python -m tests.equality.corpus``."""
    found = decided(LABELS[name])
    assert found.answer is Decision.EQUAL, sentence(found)


def test_a_corpus_that_was_compiled_elsewhere_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    label = LABELS[SAMPLE[0]]
    unit = replace(exact_case(label)[0], parameters=())  # so that it is seen whose unit is taken
    keep([unit], tmp_path / "units")
    monkeypatch.setattr(corpus, "KEPT", {})
    corpus.take_units(tmp_path / "units")
    assert exact_case.__wrapped__(label)[0] == unit


def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    target, reference = f"{HERE / 'cheats.py'}::gelu", f"{HERE / 'references.py'}::gelu"
    said = run("equal", target, "--reference", reference, "--size", "N=130")
    assert said.code == 0, said.err
    assert "equal over the real numbers at 1 launch, 6 points" in said.out
    wrong = f"{HERE / 'cheats.py'}::gelu_off_by_little"
    said = run("equal", wrong, "--reference", reference, "--format", "json")
    assert said.code == 1
    (answer,) = json.loads(said.out)["equal"]
    assert answer["answer"] == "different"
    assert abs(answer["difference"]["kernel"] - answer["difference"]["reference"] - 9e-5) < 1e-9
    said = run("equal", target, f"{HERE / 'cheats.py'}::gelu_by_sigmoid", "--size", "N=130")
    assert said.code == 0, said.err
    assert run("equal", target).code == 2
    rows = f"{HERE / 'cheats.py'}::softmax", "--reference", f"{HERE / 'references.py'}::softmax"
    said = run("equal", *rows, "--size", "N=130")
    assert (said.code, "give every size a value, or none: 'M' has none" in said.err) == (2, True)


def test_what_a_reference_returns_without_a_name_is_what_the_kernel_writes(capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    step, references = f"{HERE / 'cheats.py'}::step", HERE / "references.py"
    said = run("equal", step, "--reference", f"{references}::step_returned", "--size", "N=130")
    assert (said.code, said.out[-1]) == (0, "\n"), said.out
    said = run("equal", step, "--reference", f"{references}::step_and_gradient")
    assert said.code == 3
    head, *left_out = said.out.splitlines()
    assert head.endswith(
        "not decided: the reference returns 2 arrays without names, the kernel writes w; return a table by name"
    )
    assert left_out[-1].endswith("more, all in --format json")
    assert len(left_out) <= 7


def _inputs(kernel: str, reference: str) -> dict[str, Any]:
    found = _answer(kernel, reference)
    assert found.difference is not None
    assert found.difference.inputs is not None
    return {name: np.asarray(held).tolist() for name, held in found.difference.inputs.items()}


def test_a_difference_is_made_small() -> None:
    assert _inputs("gelu_off_by_little", "gelu") == {"x": [0.0], "out": [0.0]}
    assert _inputs("gelu_rounded_constant", "gelu") == {"x": [1.0], "out": [0.0]}
    assert _inputs("no_step", "step") == {"w": [0.0], "g": [1.0]}
    large = _inputs("gelu_unless_large", "gelu")["x"]  # one element is neither 0 nor 1: it has to be large
    assert sum(value not in (0, 1) for value in large) == 1
    assert max(map(abs, large)) > 20
    far = _inputs("gelu_of_neighbour", "gelu")["x"]
    assert len(far) == 129  # the second block is the first that shows it
    assert set(far) <= {0, 1}


def test_playback_shows_the_difference_as_long_as_it_is_there(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command_line(capfd)
    kernels = tmp_path / "kernels.py"
    kernels.write_text((HERE / "cheats.py").read_text())
    reference, file = f"{HERE / 'references.py'}::gelu", tmp_path / "tests" / "test_shown.py"
    file.parent.mkdir()
    said = run("equal", f"{kernels}::gelu_off_by_little", "--reference", reference, "--playback", str(file))
    assert said.code == 1
    names: dict[str, Any] = {"__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    names["test_the_difference_shows"]()
    kernels.write_text(kernels.read_text().replace(" + 9e-5", ""))
    with pytest.raises(AssertionError, match="there is none any more"):
        names["test_the_difference_shows"]()
    none = tmp_path / "test_none.py"
    said = run("equal", f"{HERE / 'cheats.py'}::gelu", "--reference", reference, "--playback", str(none))
    assert (said.code, none.exists()) == (0, False)
    assert "none was written" in said.err
