"""A proof within limits on sizes: the guard of a launch, and that of a bundle, refuse what lies beyond them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import CommandLine
from tests.written_kernel import unit_at

from tileverify.backend.guard import ArrayValue, Guard, LaunchRefused
from tileverify.launching.bundled import load
from tileverify.launching.proofs import proof_of
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit

KERNEL = """
import cuda.tile as ct


@ct.kernel
def shift(x, out, n):
    at = ct.bid(0) * 256 + 1 + ct.arange(256, dtype=ct.int32)
    tile = ct.gather(x, (at,), mask=at < n, check_bounds=False)
    ct.scatter(out, (at,), tile, mask=at < n, check_bounds=False)
"""
SPEC = """[[launch]]
kernel = "shift"
grid = ["cdiv(N, 256)"]
args = { x = "f32[N]", out = "f32[N]", n = "i32 = N" }
"""


def proved_here(tileverify: CommandLine) -> tuple[Guard, tuple[str, ...]]:
    unit = unit_at("rows.py")
    result = check_unit(unit, CheckOptions())
    guard = proof_of(unit, result).guard
    assert guard is not None
    return guard, result.limits


def built(tileverify: CommandLine) -> tuple[Guard, tuple[str, ...]]:
    assert tileverify("build", "rows.py", "-o", "rows.tvk", "--arch", "none").code == 0
    kernel = load("rows.tvk")
    return kernel.guard, kernel.bundle.certificate.requires


@pytest.mark.parametrize("guarded", [proved_here, built])
def test_a_launch_beyond_a_limit_is_refused(
    tileverify: CommandLine, guarded: Callable[[CommandLine], tuple[Guard, tuple[str, ...]]]
) -> None:
    Path("rows.py").write_text(KERNEL)
    Path("rows.tileverify.toml").write_text(SPEC)
    guard, limits = guarded(tileverify)
    assert limits

    def launch(size: int) -> None:
        x, out = (ArrayValue(at << 40, (size,), (1,), "f32") for at in (1, 2))
        guard.check([x, out, size], (-(-size // 256), 1, 1))

    launch(1 << 30)
    with pytest.raises(LaunchRefused, match=r"does not hold.*\(TV502\)") as refused:
        launch((1 << 31) - 1)  # the last block's indices wrap
    assert any(limit in str(refused.value) for limit in limits)
