// Tile C++ kernels that reach the view types.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using extents2 = ct::extents<int, ct::dynamic_extent, ct::dynamic_extent>;

__tile_global__ void matmul(float* __restrict__ c, float const* __restrict__ a, float const* __restrict__ b, int m, int n, int k) {
  auto left = ct::partition_view(ct::tensor_span(a, extents2(m, k)), ct::shape<32, 16>{});
  auto right = ct::partition_view(ct::tensor_span(b, extents2(k, n)), ct::shape<16, 32>{});
  auto made = ct::partition_view(ct::tensor_span(c, extents2(m, n)), ct::shape<32, 32>{});
  auto acc = ct::zeros<ct::tile<float, ct::shape<32, 32>>>();
  for (int i : ct::irange(0, (k + 15) / 16))
    acc = ct::mma(left.load_masked(ct::bid().x, i), right.load_masked(i, ct::bid().y), acc);
  made.store_masked(acc, ct::bid().x, ct::bid().y);
}

__tile_global__ void stencil(float* out, float const* in, int n) {
  auto source = ct::strided_view(ct::tensor_span(in, ct::extents<int, ct::dynamic_extent>(n)), ct::shape<64>{}, ct::strides<int, 32>{});
  auto target = ct::partition_view(ct::tensor_span(out, ct::extents<int, ct::dynamic_extent>(n)), ct::shape<32>{});
  auto tile = source.load_masked(ct::bid().x);
  target.store(ct::extract(tile, ct::shape<32>{}, 0), ct::bid().x);
  target.atomic_add(ct::extract(tile, ct::shape<32>{}, 1), ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{}, ct::bid().x);
}
