// Attention of one head.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using rows = ct::extents<int, ct::dynamic_extent, 64>;
using tile = ct::tile<float, ct::shape<64, 64>>;
using column = ct::tile<float, ct::shape<64, 1>>;

// Attention of one head over all keys, a tile of queries for each block; the wrong one gives each tile to two blocks.
__tile_global__ void attention_of_head(float* __restrict__ out, float const* __restrict__ q,
                                       float const* __restrict__ k, float const* __restrict__ v, int queries,
                                       int keys, float scale) {
  auto of_q = ct::partition_view(ct::tensor_span(q, rows(queries)), ct::shape<64, 64>{});
  auto of_k = ct::partition_view(ct::tensor_span(k, rows(keys)), ct::shape<64, 64>{});
  auto of_v = ct::partition_view(ct::tensor_span(v, rows(keys)), ct::shape<64, 64>{});
  auto made = ct::partition_view(ct::tensor_span(out, rows(queries)), ct::shape<64, 64>{});
  auto query = of_q.load_masked(ct::bid().x, 0);
  auto largest = ct::full<column>(-1e30f);
  auto sum = ct::zeros<column>();
  auto result = ct::zeros<tile>();
  for (int i : ct::irange(0, (keys + 63) / 64)) {
    auto scores = ct::mma(query, ct::transpose(of_k.load_masked(i, 0)), ct::zeros<tile>()) * scale;
    auto now = ct::max(largest, ct::reshape(ct::reduce_max<1>(scores), ct::shape<64, 1>{}));
    auto powers = ct::exp(scores - now);
    auto shrunk = ct::exp(largest - now);
    sum = sum * shrunk + ct::reshape(ct::sum<1>(powers), ct::shape<64, 1>{});
    result = ct::mma(powers, of_v.load_masked(i, 0), result * shrunk);
    largest = now;
  }
  made.store_masked(result / sum, ct::bid().x, 0);
}

__tile_global__ void attention_of_head_twice(float* __restrict__ out, float const* __restrict__ q,
                                             float const* __restrict__ k, float const* __restrict__ v,
                                             int queries, int keys, float scale) {
  auto of_q = ct::partition_view(ct::tensor_span(q, rows(queries)), ct::shape<64, 64>{});
  auto of_k = ct::partition_view(ct::tensor_span(k, rows(keys)), ct::shape<64, 64>{});
  auto of_v = ct::partition_view(ct::tensor_span(v, rows(keys)), ct::shape<64, 64>{});
  auto made = ct::partition_view(ct::tensor_span(out, rows(queries)), ct::shape<64, 64>{});
  auto query = of_q.load_masked(ct::bid().x / 2, 0);
  auto sum = ct::zeros<column>();
  auto result = ct::zeros<tile>();
  for (int i : ct::irange(0, (keys + 63) / 64)) {
    auto powers = ct::exp(ct::mma(query, ct::transpose(of_k.load_masked(i, 0)), ct::zeros<tile>()) * scale);
    sum = sum + ct::reshape(ct::sum<1>(powers), ct::shape<64, 1>{});
    result = ct::mma(powers, of_v.load_masked(i, 0), result);
  }
  made.store_masked(result / sum, ct::bid().x / 2, 0);
}
