// Matrices through tensor views, which say how large they are.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using matrix = ct::extents<int, ct::dynamic_extent, ct::dynamic_extent>;
using tile = ct::tile<float, ct::shape<32, 32>>;

// A product of two matrices through partition views; the wrong one forgets that the grid has columns.
__tile_global__ void product(float* __restrict__ c, float const* __restrict__ a, float const* __restrict__ b,
                             int m, int n, int k) {
  auto left = ct::partition_view(ct::tensor_span(a, matrix(m, k)), ct::shape<32, 16>{});
  auto right = ct::partition_view(ct::tensor_span(b, matrix(k, n)), ct::shape<16, 32>{});
  auto made = ct::partition_view(ct::tensor_span(c, matrix(m, n)), ct::shape<32, 32>{});
  auto sum = ct::zeros<tile>();
  for (int i : ct::irange(0, (k + 15) / 16))
    sum = ct::mma(left.load_masked(ct::bid().x, i), right.load_masked(i, ct::bid().y), sum);
  made.store_masked(sum, ct::bid().x, ct::bid().y);
}

__tile_global__ void product_one_column(float* __restrict__ c, float const* __restrict__ a,
                                        float const* __restrict__ b, int m, int n, int k) {
  auto left = ct::partition_view(ct::tensor_span(a, matrix(m, k)), ct::shape<32, 16>{});
  auto right = ct::partition_view(ct::tensor_span(b, matrix(k, n)), ct::shape<16, 32>{});
  auto made = ct::partition_view(ct::tensor_span(c, matrix(m, n)), ct::shape<32, 32>{});
  auto sum = ct::zeros<tile>();
  for (int i : ct::irange(0, (k + 15) / 16))
    sum = ct::mma(left.load_masked(ct::bid().x, i), right.load_masked(i, ct::bid().y), sum);
  made.store_masked(sum, ct::bid().x, 0);
}

// A product whose inner dimension is split over the grid: parts are added by atomics, or (wrongly) stored.
__tile_global__ void product_in_parts(float* __restrict__ c, float const* __restrict__ a,
                                      float const* __restrict__ b, int m, int n, int k) {
  auto left = ct::partition_view(ct::tensor_span(a, matrix(m, k)), ct::shape<32, 32>{});
  auto right = ct::partition_view(ct::tensor_span(b, matrix(k, n)), ct::shape<32, 32>{});
  auto made = ct::partition_view(ct::tensor_span(c, matrix(m, n)), ct::shape<32, 32>{});
  auto sum = ct::zeros<tile>();
  for (int i : ct::irange(int(ct::bid().z), (k + 31) / 32, int(ct::num_blocks().z)))
    sum = ct::mma(left.load_masked(ct::bid().x, i), right.load_masked(i, ct::bid().y), sum);
  made.atomic_add(sum, ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{}, ct::bid().x, ct::bid().y);
}

__tile_global__ void product_in_parts_stored(float* __restrict__ c, float const* __restrict__ a,
                                             float const* __restrict__ b, int m, int n, int k) {
  auto left = ct::partition_view(ct::tensor_span(a, matrix(m, k)), ct::shape<32, 32>{});
  auto right = ct::partition_view(ct::tensor_span(b, matrix(k, n)), ct::shape<32, 32>{});
  auto made = ct::partition_view(ct::tensor_span(c, matrix(m, n)), ct::shape<32, 32>{});
  auto sum = ct::zeros<tile>();
  for (int i : ct::irange(int(ct::bid().z), (k + 31) / 32, int(ct::num_blocks().z)))
    sum = ct::mma(left.load_masked(ct::bid().x, i), right.load_masked(i, ct::bid().y), sum);
  made.store_masked(sum, ct::bid().x, ct::bid().y);
}

// A transposed copy by tiles of 32 by 32; the wrong one does so in place.
__tile_global__ void transposed(float* __restrict__ out, float const* __restrict__ in, int rows, int columns) {
  auto source = ct::partition_view(ct::tensor_span(in, matrix(rows, columns)), ct::shape<32, 32>{});
  auto target = ct::partition_view(ct::tensor_span(out, matrix(columns, rows)), ct::shape<32, 32>{});
  target.store_masked(ct::transpose(source.load_masked(ct::bid().x, ct::bid().y)), ct::bid().y, ct::bid().x);
}

__tile_global__ void transposed_in_place(float* data, int rows) {
  auto all = ct::partition_view(ct::tensor_span(data, matrix(rows, rows)), ct::shape<32, 32>{});
  all.store_masked(ct::transpose(all.load_masked(ct::bid().x, ct::bid().y)), ct::bid().y, ct::bid().x);
}
