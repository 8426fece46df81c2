"""Host functions of the library on arrays of NumPy, against the references; their gradients, against torch's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.command_line import CommandLine
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal

import tileverify as tileverify_package
from tileverify import kernels
from tileverify.kernels import prepared
from tileverify.kernels.references import elements
from tileverify.launching.bundled import BundledKernel
from tileverify.system.errors import UsageError

SHAPES = pytest.mark.parametrize("shape", [(5, 37), (2, 3, 1030), (1, 4097), (7,), (0, 4), (1, 16)], ids=str)
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


@SHAPES
def test_norms(shape: tuple[int, ...]) -> None:
    x, residual, weight, bias = normal(*shape), normal(*shape, seed=1), normal(shape[-1], seed=2), normal(shape[-1])
    rows = x.reshape(-1, shape[-1])
    assert_close(kernels.rms_norm(x, weight, 1e-6), elements.rms_norm(x, weight, 1e-6)[0])
    normed = kernels.layer_norm(x, weight, bias, 1e-5)
    assert normed.shape == shape
    assert_close(normed.reshape(rows.shape), elements.layer_norm(rows, weight, bias, 1e-5)[0])
    total, normed = kernels.add_rms_norm(x, residual, weight, 1e-6)
    assert_close(total, x + residual)
    assert_close(normed, elements.rms_norm(x + residual, weight, 1e-6)[0])


@SHAPES
def test_softmax(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    assert_close(kernels.softmax(x), elements.softmax(x))
    assert_close(kernels.log_softmax(x), elements.log_softmax(x))


def test_rows_without_elements() -> None:
    """Nothing is launched, and what there is to return has no elements, or is the sum of nothing."""
    x, none = normal(3, 0), normal(0)
    for found in (
        kernels.rms_norm(x, none),
        kernels.layer_norm(x, none, none),
        *kernels.add_rms_norm(x, x, none),
        kernels.softmax(x),
        kernels.log_softmax(x),
    ):
        assert found.shape == (3, 0)
    assert kernels.cross_entropy(x, np.full(3, -1)).tolist() == [0.0, 0.0, 0.0]


def test_cross_entropy_leaves_out_rows_without_a_label() -> None:
    logits, labels = normal(2, 3, 11), np.array([[0, 10, -100], [4, -1, 5]], np.int64)
    loss = kernels.cross_entropy(logits, labels)
    assert loss.shape == labels.shape
    assert loss[0, 2] == loss[1, 1] == 0
    chosen = np.take_along_axis(elements.log_softmax(logits), np.maximum(labels, 0)[..., None], axis=-1)[..., 0]
    assert_close(loss, np.where(labels >= 0, -chosen, 0))


@TYPES
def test_elements(dtype: DTypeLike) -> None:
    x, y = normal(3, 50, dtype=dtype), normal(3, 50, dtype=dtype, seed=1)
    for name in ("silu", "gelu", "relu"):
        assert_close(getattr(kernels, name)(x), getattr(elements, name)(x))
    for name in ("silu_mul", "gelu_mul"):
        assert_close(getattr(kernels, name)(x, y), getattr(elements, name)(x, y))
    assert kernels.silu(x).dtype == dtype


def test_dropout_depends_on_seed_and_stream_alone() -> None:
    x = np.ones((40, 50), np.float32)
    once = kernels.dropout(x, 0.25, seed=3)
    assert np.array_equal(once, kernels.dropout(x, 0.25, seed=3))
    assert set(np.unique(once)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(np.mean(once == 0) - 0.25) < 0.04
    for other in (kernels.dropout(x, 0.25, seed=4), kernels.dropout(x, 0.25, seed=3, stream=1)):
        assert not np.array_equal(once, other)
    assert np.array_equal(kernels.dropout(x, 0.0, seed=1), x)


def test_arrays_may_be_views() -> None:
    """Also those whose axis of one element has a stride of its own."""
    for x in (normal(37, 5).T, normal(1, 5).T, normal(4, 14)[2:3, :7]):
        assert_close(kernels.softmax(x), elements.softmax(x))


@pytest.mark.parametrize(
    ("function", "shapes", "told"),
    [
        (kernels.rms_norm, [(4, 30), (29,)], r"`weight` has the shape \(29,\), and it takes \(30,\)"),
        (kernels.layer_norm, [(4, 30), (30,), (31,)], "`bias` has the shape"),
        (kernels.add_rms_norm, [(4, 30), (5, 30), (30,)], "`residual` has the shape"),
        (kernels.add_rms_norm, [(4, 30), (4, 30), (1,)], "`weight` has the shape"),
        (kernels.cross_entropy, [(4, 30), (3,)], "`labels` has the shape"),
        (kernels.silu_mul, [(4, 30), (30, 4)], "`up` has the shape"),
        (kernels.gelu_mul, [(4,), (5,)], "`up` has the shape"),
    ],
)
def test_arrays_of_other_shapes_are_told(function: Any, shapes: list[tuple[int, ...]], told: str) -> None:
    """A kernel would stay within its arrays, and compute something else."""
    with pytest.raises(UsageError, match=told):
        function(*(normal(*shape) for shape in shapes))


def test_what_is_no_array_is_told() -> None:
    with pytest.raises(UsageError, match="a list is no array of numpy, torch, cupy or jax"):
        kernels.silu([1.0, 2.0])  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- bundles
def test_a_bundle_stands_for_the_kernel(
    tileverify: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Path(prepared.__file__).parent / "device"
    bundles = prepared.AtHand()
    monkeypatch.setattr(prepared, "at_hand", bundles)
    Path("bundles").mkdir(exist_ok=True)
    for launch in ("bf16", "bf16-aligned", "f32"):
        target = f"{device / 'activations.py'}::silu::{launch}"
        built = tileverify("build", target, "-o", f"bundles/{launch}.tvk", "--arch", "none")
        assert built.code == 0, built.err
    assert kernels.use("bundles") == 3
    monkeypatch.setattr(prepared, "kernel_of", _no_kernel)
    assert_close(kernels.silu(normal(300)), elements.silu(normal(300)))
    asked: list[str] = []
    again = BundledKernel.look_and_launch

    def noted(bundle: BundledKernel, *given: Any, **options: Any) -> None:
        asked.append(Path(bundle.file).stem)
        again(bundle, *given, **options)

    monkeypatch.setattr(BundledKernel, "look_and_launch", noted)
    room = np.zeros(1024, BFLOAT16)
    aligned = (-room.ctypes.data // 2) % 8
    for begin, length, names in (
        (aligned, 512, ["bf16-aligned"]),
        (aligned, 512, ["bf16-aligned"]),
        (aligned, 500, ["bf16-aligned", "bf16"]),  # refused by the first, as no multiple of 16
        (aligned, 500, ["bf16"]),  # and remembered
        (aligned + 1, 512, ["bf16-aligned", "bf16"]),
    ):
        asked.clear()
        x = room[begin : begin + length]
        assert bundles.launch("silu", (1,), (x, np.empty_like(room)[aligned:][:length], 2048), None)
        assert asked == names
    monkeypatch.setattr(prepared, "MOST_REMEMBERED", 3)
    for length in range(1, 8):
        assert bundles.launch("silu", (1,), (room[:length], np.empty(length, BFLOAT16), 2048), None)
    assert len(bundles._fitting) <= 3
    assert not bundles.launch("silu", (1,), (room, room, 1024), None)  # another tile
    with pytest.raises(tileverify_package.LaunchRefused, match="TV501"):
        bundles.launch("silu", (1,), (room[1:], room[:-1], 2048), None)
    with pytest.raises(AssertionError, match="gelu"):
        kernels.gelu(normal(300))


def _no_kernel(module: str, name: str) -> Any:
    raise AssertionError(name)


def test_a_folder_without_bundles_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there are no bundles \(\*\.tvk\)"):
        kernels.use(tmp_path)


# --------------------------------------------------------------------------------------------------- torch
def test_gradients_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    n, rows = 37, (3, 5)

    def tensors(*arrays: Array) -> list[Any]:
        return [torch.from_numpy(array.copy()).requires_grad_(array.dtype.kind == "f") for array in arrays]

    x, y, weight, bias = normal(*rows, n), normal(*rows, n, seed=1), normal(n, seed=2), normal(n, seed=3)
    labels = np.arange(15).reshape(rows)
    cases: list[tuple[Any, Any, tuple[Array, ...]]] = [
        (kernels.rms_norm, lambda x, w: functional.rms_norm(x, (n,), w, 1e-6), (x, weight)),
        (kernels.layer_norm, lambda x, w, b: functional.layer_norm(x, (n,), w, b), (x, weight, bias)),
        (kernels.softmax, lambda x: functional.softmax(x, -1), (x,)),
        (kernels.log_softmax, lambda x: functional.log_softmax(x, -1), (x,)),
        (
            kernels.cross_entropy,
            lambda x, at: functional.cross_entropy(x.reshape(-1, n), at.reshape(-1), reduction="none").reshape(rows),
            (x, labels),
        ),
        (kernels.silu, functional.silu, (x,)),
        (kernels.gelu, lambda x: functional.gelu(x, approximate="tanh"), (x,)),
        (kernels.relu, functional.relu, (x,)),
        (kernels.silu_mul, lambda gate, up: functional.silu(gate) * up, (x, y)),
        (kernels.gelu_mul, lambda gate, up: functional.gelu(gate, approximate="tanh") * up, (x, y)),
    ]
    for ours, theirs, arrays in cases:
        mine, other = tensors(*arrays), tensors(*arrays)
        found, expected = ours(*mine), theirs(*other)
        assert_close(found.detach().numpy(), expected.detach().numpy())
        dout = torch.from_numpy(normal(*expected.shape, seed=4))
        found.backward(dout)
        expected.backward(dout)
        for one, two in zip(mine, other, strict=True):
            if two.requires_grad:
                assert_close(one.grad.numpy(), two.grad.numpy())
    dropped = torch.from_numpy(x.copy()).requires_grad_()
    kept = kernels.dropout(dropped, 0.3, seed=7)
    kept.sum().backward()
    assert torch.equal(kept != 0, dropped.grad != 0)


@pytest.mark.parametrize("shape", [(3, 0), (0, 5)], ids=str)
def test_gradients_of_empty_arrays(shape: tuple[int, ...]) -> None:
    """Those of weights are sums over no rows, or have no elements."""
    torch = pytest.importorskip("torch")
    for function, count in ((kernels.rms_norm, 1), (kernels.layer_norm, 2)):
        x = torch.ones(shape, requires_grad=True)
        weights = [torch.ones(shape[-1:], requires_grad=True) for _ in range(count)]
        function(x, *weights).sum().backward()
        assert x.grad.shape == shape
        assert all(torch.equal(each.grad, torch.zeros_like(each)) for each in weights)


def test_what_has_no_gradient_is_told() -> None:
    torch = pytest.importorskip("torch")
    x, weight = torch.ones(2, 3), torch.ones(3, requires_grad=True)
    with pytest.raises(UsageError, match=r"add_rms_norm has no gradient: .* or detach `weight`"):
        kernels.add_rms_norm(x, x, weight)
    with torch.no_grad():
        kernels.add_rms_norm(x, x, weight)
