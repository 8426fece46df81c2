"""References in torch: rules on arrays without it, and whole functions where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.command_line import command_line

from tileverify.equality import torch_moving, torch_rules
from tileverify.equality.exact import same
from tileverify.equality.field import Undecided
from tileverify.equality.points import drawn
from tileverify.equality.reference_code import uses_torch

HERE = Path(__file__).parent
RULES: Mapping[str, Callable[..., Any]] = {**torch_rules.RULES, **torch_moving.RULES, **torch_rules.LAYER_RULES}
X = drawn(np.random.default_rng(3), np.random.default_rng(4).standard_normal((4, 6)))


def test_rules_agree_with_each_other_over_the_reals() -> None:
    log = RULES["_log_softmax"](X, -1)
    powers = RULES["exp"](X)
    whole = RULES["sum"](powers, [-1], True)
    assert same(RULES["_softmax"](X, -1), RULES["div"](powers, whole)).all()
    assert np.allclose(log["s"], X["s"] - np.log(whole["s"]))
    normal, mean, rstd = RULES["native_layer_norm"](X, [6], None, None, 1e-5)
    assert same(normal, RULES["mul"](RULES["sub"](X, mean), rstd)).all()
    assert not same(normal, X).any()
    assert same(RULES["silu"](X), RULES["mul"](X, RULES["sigmoid"](X))).all()
    assert same(RULES["addmm"](X[:, :4], X, X[:4].T, beta=0, alpha=2), RULES["mul"](2, RULES["mm"](X, X[:4].T))).all()


def test_views_are_views_and_copies_are_not() -> None:
    x = X.copy()
    RULES["select"](RULES["transpose"](x, 0, 1), 0, 2)[...] = RULES["zeros"]([])
    assert not x["s"][:, 2].any()
    assert x["s"][:, [0, 1, 3, 4, 5]].all()
    RULES["clone"](x)[...] = RULES["zeros"]([])
    assert x["s"][:, 0].all()


def test_places_that_several_elements_go_to() -> None:
    index = np.array([0, 0, 1, 2])
    added = RULES["index_add"](RULES["zeros"]([3, 6]), 0, index, X)
    assert same(added[0], RULES["add"](X[0], X[1])).all()
    with pytest.raises(Undecided, match="several elements for one place"):
        RULES["index_put"](RULES["zeros"]([3, 6]), [index], X)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod", "linalg_vector_norm", "norm"])
def test_a_reduction_in_integers_is_of_integers(name: str) -> None:
    """torch casts before it adds up: what is cut off is cut off of each element."""
    place = {"dim": 0} if name.startswith("cum") else {}
    assert RULES[name](X, dtype="float64", **place)["s"].size
    with pytest.raises(Undecided, match="int32"):
        RULES[name](X, dtype="int32", **place)


@pytest.mark.filterwarnings("ignore")
def test_a_variance_with_too_few_elements_is_none() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(RULES["var"](X[:1, :1], [0], 1)["s"]).all()
        assert np.isinf(RULES["var"](X[:2], [0], 3)["s"]).all()


def test_what_names_no_torch_is_numpy() -> None:
    assert not uses_torch(lambda x: np.tanh(x))


def test_torch_is_found_in_variables_around_a_function() -> None:
    torch = ModuleType("torch")

    def layer(x: Any) -> Any:
        return torch.tanh(x)

    assert uses_torch(lambda x: torch.tanh(x))
    if "torch" in sys.modules:
        assert uses_torch(lambda x: layer(x))


def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    run = command_line(capfd)
    target, references = f"{HERE / 'cheats.py'}::gelu", HERE / "torch_references.py"
    for name in ("gelu", "gelu_in_place"):
        said = run("equal", target, "--reference", f"{references}::{name}", "--size", "N=130")
        assert said.code == 0, said.out + said.err
    assert run("equal", target, "--reference", f"{references}::gelu_of_erf", "--size", "N=130").code == 1
    for name, reason in (("median", "aten.median has no exact rule"), ("noise", "aten.rand_like is random")):
        said = run("equal", target, "--reference", f"{references}::{name}", "--size", "N=130")
        assert said.code == 3, said.out + said.err
        assert reason in said.out
