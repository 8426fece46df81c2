"""Arrays behind plain pointers, as CUDA Tile C++ passes them: what facts say of their elements, and that an alignment
in a launch of numbers does not stand in the way of a wider proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import CommandLine

pytestmark = pytest.mark.assembler("nvcc")

KERNELS = """
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using row = ct::tile<int, ct::shape<32>>;

__tile_global__ void pick(float* out, float const* in_, int const* at, int n) {
  int i = int(ct::bid().x);
  if (i < n) out[i] = in_[at[i]];
}

__tile_global__ void scatter(float* out, float const* in_, int const* at, int n) {
  int i = int(ct::bid().x);
  if (i < n) out[at[i]] = in_[i];
}

__tile_global__ void falls(float* out, int const* at, int n) {
  int i = int(ct::bid().x);
  if (i < n) out[i] = 0.0f;
  if (i + 1 < n && at[i + 1] < at[i]) out[n] = 1.0f;
}

__tile_global__ void halves(float* out, float const* in_, int const* at, int n) {
  int i = int(ct::bid().x);
  if (i < n) out[i] = in_[reinterpret_cast<short const*>(at)[i]];
}

__tile_global__ void spread(float* out, float const* in_, int step, int n) {
  auto at = ct::iota<row>() + int(ct::bid().x) * 32;
  auto live = at < n;
  ct::store_masked(out + at * step, ct::load_masked(in_ + at, live), live);
}

__tile_global__ void twice(int* out, int const* in_, int n) {
  auto at = ct::iota<row>() + int(ct::bid().x) * 32;
  auto live = at < n;
  ct::store_masked(ct::assume_aligned<16>(out) + at, ct::load_masked(ct::assume_aligned<16>(in_) + at, live), live);
}
"""

PICK = """[[launch]]
kernel = "pick"
grid = [{count}]
data = ["range(at, 0, 9)"]
args = {{ out = "f32[{count}]", in_ = "f32[9]", at = "i32[{at}]", n = "i32 = {count}" }}
"""

SCATTER = """[[launch]]
kernel = "scatter"
grid = [6]
data = ["range(at, 0, 6)", "injective(at)"]
args = {{ out = "f32[6]", in_ = "f32[6]", at = "i32[{at}]", n = "i32 = 6" }}
"""

FALLS = """[[launch]]
kernel = "falls"
grid = [6]
data = ["range(at, 0, 9)", "nondecreasing(at)"]
args = {{ out = "f32[6]", at = "i32[{at}]", n = "i32 = 6" }}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    from tileverify.frontend.sources.bytecode_file import compile_tile_cpp

    source = tmp_path_factory.mktemp("pointers") / "pointers.cu"
    source.write_text(KERNELS)
    return compile_tile_cpp(source)


def verdict(tileverify: CommandLine, compiled: bytes, spec: str) -> str:
    """The first word of the report, with what the proof holds for; only the kernel of ``spec`` is asked."""
    name = spec.split('"')[1]
    Path("pointers.tileirbc").write_bytes(compiled)
    Path("pointers.tileverify.toml").write_text(spec)
    told = tileverify("check", f"pointers.tileirbc::{name}", "--no-cache").out
    width = told.partition("holds for ")[2].partition(";")[0].strip()
    return f"{told.split()[0]} {width}".strip()


@pytest.mark.parametrize("at", ["6", "2, 3", "1, 6, 1"])
def test_a_range_speaks_of_every_element(tileverify: CommandLine, compiled: bytes, at: str) -> None:
    assert verdict(tileverify, compiled, PICK.format(count=6, at=at)).startswith("proved")


def test_what_is_no_element_has_no_range(tileverify: CommandLine, compiled: bytes) -> None:
    """Halves of elements: the one of 70000 is 4464."""
    spec = """[[launch]]
kernel = "halves"
grid = [6]
data = ["range(at, 70000, 70009)"]
args = { out = "f32[6]", in_ = "f32[70009]", at = "i32[6]", n = "i32 = 6" }
"""
    assert verdict(tileverify, compiled, spec.replace("70009]", "9]")).split()[0] in ("undecided", "refuted")
    small = spec.replace("70000, 70009", "0, 9").replace("70009]", "9]")
    assert verdict(tileverify, compiled, small).split()[0] in ("undecided", "refuted")


def test_one_element_alone_has_a_range(tileverify: CommandLine, compiled: bytes) -> None:
    assert verdict(tileverify, compiled, PICK.format(count=1, at="")).startswith("proved")


def test_what_lies_between_the_elements_has_none(tileverify: CommandLine, compiled: bytes) -> None:
    found = verdict(tileverify, compiled, PICK.format(count=3, at="3; strides=(2,)"))
    assert not found.startswith("proved"), found


@pytest.mark.parametrize("at", ["6", "3, 2"])
def test_different_elements_are_different_whatever_the_axes(tileverify: CommandLine, compiled: bytes, at: str) -> None:
    assert verdict(tileverify, compiled, SCATTER.format(at=at)).startswith("proved")


def test_an_order_is_one_of_the_last_axis(tileverify: CommandLine, compiled: bytes) -> None:
    assert verdict(tileverify, compiled, FALLS.format(at="6")).startswith("proved")
    found = verdict(tileverify, compiled, FALLS.format(at="2, 3"))
    assert not found.startswith("proved"), found


def test_a_wider_proof_keeps_an_alignment(tileverify: CommandLine, compiled: bytes) -> None:
    spec = """[[launch]]
kernel = "twice"
grid = [4]
requires = ["out.address % 16 == 0", "in_.address % 16 == 0"]
args = { out = "i32[100]", in_ = "i32[100]", n = "i32 = 100" }
"""
    assert verdict(tileverify, compiled, spec).startswith("proved any ")


def test_places_that_are_multiples_of_a_step_need_one_that_is_not_zero(
    tileverify: CommandLine, compiled: bytes
) -> None:
    """Not one as long as the whole vector."""
    Path("pointers.tileirbc").write_bytes(compiled)
    told = tileverify("check", "pointers.tileirbc::spread", "--no-cache").out
    assert told.startswith("proved"), told
    assert "arg2 >= 1" in told, told
    assert "arg3 <= arg2" not in told, told
