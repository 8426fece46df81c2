// Vectors over raw pointers, whose sizes nothing says: sums, neighbours, places from memory.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using row = ct::tile<float, ct::shape<128>>;
using lanes = ct::tile<int, ct::shape<128>>;

// A sum of two vectors, over raw pointers; the wrong one moves on by half a tile for each block.
__tile_global__ void add_vectors(float* __restrict__ c, float const* __restrict__ a,
                                 float const* __restrict__ b, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  auto live = at < n;
  ct::store_masked(c + at, ct::load_masked(a + at, live) + ct::load_masked(b + at, live), live);
}

__tile_global__ void add_vectors_half(float* __restrict__ c, float const* __restrict__ a,
                                      float const* __restrict__ b, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 64;
  auto live = at < n;
  ct::store_masked(c + at, ct::load_masked(a + at, live) + ct::load_masked(b + at, live), live);
}

// A sum of all elements: by an atomic addition of each block's sum, and wrongly by += of it.
__tile_global__ void sum_vector(float* sum, float const* __restrict__ x, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  float part = float(ct::sum(ct::load_masked(x + at, at < n, ct::zeros<row>()), 0_ic));
  ct::atomic_add(sum, part, ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{});
}

__tile_global__ void sum_vector_plain(float* sum, float const* __restrict__ x, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  float part = float(ct::sum(ct::load_masked(x + at, at < n, ct::zeros<row>()), 0_ic));
  sum[0] = sum[0] + part;
}

// Three-point mean of a vector; one wrong one reads in front of it, the other writes where neighbours read.
__tile_global__ void mean_of_three(float* __restrict__ out, float const* __restrict__ in, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  auto left = ct::load_masked(in + (at - 1), (at > 0) & (at < n), ct::zeros<row>());
  auto here = ct::load_masked(in + at, at < n, ct::zeros<row>());
  auto right = ct::load_masked(in + (at + 1), at < n - 1, ct::zeros<row>());
  ct::store_masked(out + at, (left + here + right) / 3.0f, at < n);
}

__tile_global__ void mean_of_three_from_before(float* __restrict__ out, float const* __restrict__ in, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  auto left = ct::load_masked(in + (at - 1), at < n, ct::zeros<row>());
  auto here = ct::load_masked(in + at, at < n, ct::zeros<row>());
  ct::store_masked(out + at, (left + here) / 2.0f, at < n);
}

__tile_global__ void mean_of_three_in_place(float* data, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  auto left = ct::load_masked(data + (at - 1), (at > 0) & (at < n), ct::zeros<row>());
  auto here = ct::load_masked(data + at, at < n, ct::zeros<row>());
  auto right = ct::load_masked(data + (at + 1), at < n - 1, ct::zeros<row>());
  ct::store_masked(data + at, (left + here + right) / 3.0f, at < n);
}

// Rows of a table by their numbers, and a histogram that loses what two lanes and blocks count at once.
__tile_global__ void gather_rows(float* __restrict__ out, float const* __restrict__ table,
                                 int const* __restrict__ ids, int columns, int rows) {
  int id = ids[ct::bid().x];
  if (id < 0 || id >= rows) return;
  for (int j : ct::irange(0, columns, 128)) {
    auto column = ct::iota<lanes>() + j;
    auto live = column < columns;
    auto values = ct::load_masked(table + id * columns + column, live);
    ct::store_masked(out + int(ct::bid().x) * columns + column, values, live);
  }
}

__tile_global__ void count_bins(int* counts, int const* __restrict__ bins, int n, int most) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  auto bin = ct::load_masked(bins + at, at < n, ct::full<lanes>(-1));
  auto live = (bin >= 0) & (bin < most);
  ct::store_masked(counts + bin, ct::load_masked(counts + bin, live) + 1, live);
}
