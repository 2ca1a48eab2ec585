#include "common.cuh"
#include "lattice/ops.h"

__global__ void decode_kernel(const float* query, const float* keys, float* out, int width) {
  float partial = 0.f;
  for (int i = threadIdx.x; i < width; i += kWarp) {
    partial += query[i] * keys[blockIdx.x * width + i];
  }
  float score = warp_sum(partial);
  if (threadIdx.x == 0) out[blockIdx.x] = score;
}

at::Tensor lattice::paged_sparse_decode(const at::Tensor& query, const at::Tensor& pages) {
  auto out = at::empty({pages.size(0)}, query.options());
  decode_kernel<<<pages.size(0), kWarp>>>(
      query.data_ptr<float>(), pages.data_ptr<float>(), out.data_ptr<float>(), query.size(0));
  return out;
}
