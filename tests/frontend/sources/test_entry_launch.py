"""What is taken for granted of kernels of C++ that nobody wrote a launch spec for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.contract.arguments import print_description
from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import KernelUnit, SameArray
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.entry_launch import parameter_names

needs_nvcc = pytest.mark.assembler("nvcc")

LAYOUTS = """
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using row = ct::tile<float, ct::shape<32>>;
using ints = ct::tile<int, ct::shape<32>>;
using one = ct::extents<int, ct::dynamic_extent>;
using two = ct::extents<int, ct::dynamic_extent, ct::dynamic_extent>;

__tile_global__ void copy(float* out, float const* in, int m, int n) {
  auto from = ct::partition_view(ct::tensor_span(in, two(m, n)), ct::shape<4, 8>{});
  auto to = ct::partition_view(ct::tensor_span(out, two(n, m)), ct::shape<8, 4>{});
  to.store_masked(ct::transpose(from.load_masked(ct::bid().x, 0)), 0, ct::bid().x);
}

__tile_global__ void twice(float* out, float const* in, int m, int n) {
  auto from = ct::partition_view(ct::tensor_span(in, one(m)), ct::shape<32>{});
  auto again = ct::partition_view(ct::tensor_span(in, one(n)), ct::shape<32>{});
  auto to = ct::partition_view(ct::tensor_span(out, one(2 * m + 3)), ct::shape<32>{});
  to.store_masked(from.load_masked(ct::bid().x) + again.load_masked(ct::bid().x), ct::bid().x);
}

__tile_global__ void behind(float* out, float const* in, int m) {
  auto from = ct::partition_view(ct::tensor_span(in + 32, one(m)), ct::shape<32>{});
  auto to = ct::partition_view(ct::tensor_span(out, one(m / 2)), ct::shape<32>{});
  to.store_masked(from.load_masked(ct::bid().x), ct::bid().x);
}

__tile_global__ void flat(char* grid, bool flag, unsigned long long wide, float const* in, int stride, int pad) {
  auto at = ct::iota<ints>();
  auto values = ct::load_masked(in + int(ct::bid().x) * stride + at, at < 32 && flag);
  if (float(ct::sum<0>(values)) > float(pad)) grid[wide] = 1;
}
"""


def described(unit: KernelUnit) -> dict[str, str]:
    return {argument.name: print_description(argument).strip('"') for argument in unit.launch.arguments}


def required(unit: KernelUnit) -> list[str]:
    return [print_expression(each) for each in unit.launch.requires if not isinstance(each, SameArray)]


@needs_nvcc
def test_views_say_how_large_arrays_are(tmp_path: Path) -> None:
    source = tmp_path / "layouts.cu"
    source.write_text(LAYOUTS)
    units = {unit.kernel: unit for unit in discover([str(source)]) if isinstance(unit, KernelUnit)}
    assert {name: described(unit) for name, unit in units.items()} == {
        "copy": {"out": "f32[n, m]", "in_": "f32[m, n]", "m": "i32", "n": "i32"},
        # two views of different sizes, and a size that is computed
        "twice": {"out": "f32[2 * m + 3]", "in_": "f32[in_size]", "m": "i32", "n": "i32"},
        # a view that begins elsewhere, and a size without words
        "behind": {"out": "f32[out_size]", "in_": "f32[in_size]", "m": "i32"},
        # a name that specs keep for themselves
        "flat": {
            "arg0": "i8[arg0_size]",
            "arg1": "i8",
            "arg2": "i64",
            "arg3": "f32[arg3_size]",
            "arg4": "i32",
            "arg5": "i32",
        },
    }
    assert {name: unit.launch.unsized for name, unit in units.items()} == {
        "copy": frozenset(),
        "twice": {"in_"},
        "behind": {"out", "in_"},
        "flat": {"arg0", "arg3"},
    }
    assert required(units["flat"]) == ["arg4 >= 0"]
    assert all(unit.launch.inferred for unit in units.values())
    assert units["copy"].notes == (
        'no launch spec: assumed out = "f32[n, m]"; in_ = "f32[m, n]"; m = "i32"; n = "i32", any grid',
    )


NAMES = """
/* void k(int wrong) */
template <typename T, int N>
[[using cutile : hint(0, occupancy = 4)]]
__tile_global__ void k(T* __restrict__ out,  // k(first
                       ct::tile<float, ct::shape<N, 2>> const& tile, int sizes[2],
                       float in = f(1, ','), unsigned const n) {
  k(other);
}
void one_unnamed(float*, int n) {}
void twice_the_same(int n, int n) {}
void nothing() {}
void open(int n
"""


@pytest.mark.parametrize(
    ("function", "line", "names"),
    [
        ("k", 5, ("out", "tile", "sizes", "in_", "n")),
        ("k", 3, ("out", "tile", "sizes", "in_", "n")),
        ("one_unnamed", 10, ()),
        ("twice_the_same", 11, ()),
        ("nothing", 12, ()),
        ("open", 13, ()),
        ("missing", 5, ()),
        ("k", 100, ()),
    ],
)
def test_names_are_those_of_the_definition(tmp_path: Path, function: str, line: int, names: tuple[str, ...]) -> None:
    source = tmp_path / "names.cu"
    source.write_text(NAMES)
    assert parameter_names(source, function, line) == names


def test_no_source_no_names(tmp_path: Path) -> None:
    assert parameter_names(tmp_path / "gone.cu", "k", 1) == ()
