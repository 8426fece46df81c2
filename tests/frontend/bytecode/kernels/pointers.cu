// Tile C++ kernels that reach pointer accesses, atomics, loops, globals and local arrays.
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

using row = ct::tile<float, ct::shape<128>>;
using ints = ct::tile<int, ct::shape<128>>;

__tile_global__ void saxpy(float* __restrict__ x, float const* __restrict__ y, float a, int n) {
  auto lane = ct::iota<ints>() + int(ct::bid().x) * 128;
  auto live = lane < n;
  auto left = ct::load_masked(x + lane, live);
  auto right = ct::load_masked(y + lane, live, 1.0f);
  ct::store_masked(x + lane, a * left + right, live);
}

__tile_global__ void count_down(int* p, unsigned n) {
  for (unsigned i = n; i > 2u; i /= 2u) {
    if (p[i] == 7) continue;
    if (p[i] > 100) break;
    p[i] = p[i] + int(i % 3u);
  }
}

__tile_global__ void over_range(float* p, int n) {
  float sum = 0;
  for (int i : ct::irange(0, n)) sum += p[i];
  for (unsigned i : ct::irange(0u, unsigned(n), 4u)) p[i] = sum;
}

__tile__ int classify(int v) {
  int made = v << 2;
  switch (v) {
    case 0: made = 10; break;
    case 3: made = 20; break;
    default: break;
  }
  if (v < 0) return -v;
  return made;
}

__tile_global__ void inlined(int* p, int n) {
  int i = int(ct::bid().x) + int(ct::num_blocks().y);
  if (i >= n) return;
  p[i] = classify(p[i]) ^ classify(i);
}

__tile_global__ void atomics(int* counter, float* sums, unsigned long long* big, int const* values) {
  auto lane = ct::iota<ints>();
  auto v = ct::load(values + lane);
  auto old = ct::atomic_add(counter + (v & 15), v, ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{});
  ct::atomic_add_masked(sums + lane, ct::element_cast<float>(old), v > 0, ct::memory_order_acq_rel_t{}, ct::thread_scope_system_t{});
  ct::atomic_max(counter, 3, ct::memory_order_release_t{}, ct::thread_scope_device_t{});
  ct::atomic_xchg(big, 1ull, ct::memory_order_acquire_t{}, ct::thread_scope_block_t{});
  ct::atomic_compare_exchange(counter + 1, 0, 1, ct::memory_order_acq_rel_t{}, ct::thread_scope_device_t{});
  auto seen = ct::atomic_load(counter + lane, ct::memory_order_acquire_t{}, ct::thread_scope_device_t{});
  ct::atomic_store(counter + lane, seen, ct::memory_order_release_t{}, ct::thread_scope_device_t{});
}

__tile_global__ void arithmetic(int* p, unsigned* q, long long* r, double* d) {
  int a = p[0], b = p[1];
  unsigned u = q[0], w = q[1];
  p[2] = a / b; p[3] = a % b; p[4] = a >> b; p[5] = a & ~b; p[6] = a | b;
  q[2] = u / w; q[3] = u % w; q[4] = u >> w; q[5] = ct::mulhi(u, w);
  r[0] = (long long)a * b; r[1] = -r[2]; p[7] = int(r[3]); p[8] = int(d[0]); d[1] = double(u);
  d[2] = ct::sqrt(d[3]) + ct::exp(d[4]) * ct::tanh(d[5]); p[9] = ct::abs(a); p[10] = ct::min(a, b);
  q[11] = d[6] < d[7] || !(d[8] > d[9]);
}

__tile_global__ void reductions(float* out, float const* in, int* index) {
  using square = ct::tile<float, ct::shape<16, 32>>;
  auto lane = ct::reshape(ct::iota<ct::tile<int, ct::shape<512>>>(), ct::shape<16, 32>{});
  auto x = ct::load(in + lane);
  auto largest = ct::reduce_max<1>(x);
  auto total = ct::sum<0>(x);
  auto running = ct::partial_sum<1>(x);
  ct::store(out + lane, ct::select(x > 0.5f, running, square(x)));
  ct::store(out + 512 + ct::iota<ct::tile<int, ct::shape<32>>>(), ct::reshape(total, ct::shape<32>{}));
  ct::store(out + 1024 + ct::iota<ct::tile<int, ct::shape<16>>>(), ct::reshape(largest, ct::shape<16>{}));
}

__tile_global__ void local_array(int* p, int n) {
  int buffer[32];
  for (int i = 0; i < 32; ++i) buffer[i] = p[i];
  p[0] = buffer[n & 31];
}
