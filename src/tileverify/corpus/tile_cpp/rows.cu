// Rows with a stride, a block for each.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using row = ct::tile<float, ct::shape<256>>;
using lanes = ct::tile<int, ct::shape<256>>;

// Softmax of rows with a stride, a block for each row; the wrong one stores every row to the first one's place.
__tile_global__ void softmax_rows(float* __restrict__ out, float const* __restrict__ in, int out_stride,
                                  int in_stride, int columns) {
  int at = ct::bid().x;
  auto column = ct::iota<lanes>();
  auto live = column < columns;
  auto x = ct::load_masked(in + at * in_stride + column, live, ct::full<row>(-1e30f));
  auto powers = ct::exp(x - float(ct::reduce_max(x, 0_ic)));
  ct::store_masked(out + at * out_stride + column, powers / float(ct::sum(powers, 0_ic)), live);
}

__tile_global__ void softmax_rows_to_one(float* __restrict__ out, float const* __restrict__ in, int out_stride,
                                         int in_stride, int columns) {
  int at = ct::bid().x;
  auto column = ct::iota<lanes>();
  auto live = column < columns;
  auto x = ct::load_masked(in + at * in_stride + column, live, ct::full<row>(-1e30f));
  auto powers = ct::exp(x - float(ct::reduce_max(x, 0_ic)));
  ct::store_masked(out + column, powers / float(ct::sum(powers, 0_ic)), live);
}

// RMS norm of rows in several tiles; the wrong one stores one 1/rms for all rows.
__tile_global__ void rms_norm_rows(float* __restrict__ y, float* __restrict__ rstd,
                                   float const* __restrict__ x, float const* __restrict__ weight, int n,
                                   float eps) {
  int at = ct::bid().x;
  auto squares = ct::zeros<row>();
  for (int j : ct::irange(0, n, 256)) {
    auto column = ct::iota<lanes>() + j;
    auto values = ct::load_masked(x + at * n + column, column < n, ct::zeros<row>());
    squares = squares + values * values;
  }
  float scale = ct::rsqrt(float(ct::sum(squares, 0_ic)) / float(n) + eps);
  rstd[at] = scale;
  for (int j : ct::irange(0, n, 256)) {
    auto column = ct::iota<lanes>() + j;
    auto live = column < n;
    auto values = ct::load_masked(x + at * n + column, live) * ct::load_masked(weight + column, live);
    ct::store_masked(y + at * n + column, values * scale, live);
  }
}

__tile_global__ void rms_norm_rows_one_scale(float* __restrict__ y, float* __restrict__ rstd,
                                             float const* __restrict__ x, float const* __restrict__ weight,
                                             int n, float eps) {
  int at = ct::bid().x;
  auto squares = ct::zeros<row>();
  for (int j : ct::irange(0, n, 256)) {
    auto column = ct::iota<lanes>() + j;
    auto values = ct::load_masked(x + at * n + column, column < n, ct::zeros<row>());
    squares = squares + values * values;
  }
  float scale = ct::rsqrt(float(ct::sum(squares, 0_ic)) / float(n) + eps);
  rstd[0] = scale;
  for (int j : ct::irange(0, n, 256)) {
    auto column = ct::iota<lanes>() + j;
    auto live = column < n;
    auto values = ct::load_masked(x + at * n + column, live) * ct::load_masked(weight + column, live);
    ct::store_masked(y + at * n + column, values * scale, live);
  }
}
