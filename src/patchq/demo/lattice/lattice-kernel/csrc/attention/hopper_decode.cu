#include "common.cuh"

__global__ void __cluster_dims__(2, 1, 1) hopper_decode_kernel(const float* keys, float* out) {
  out[blockIdx.x] = warp_sum(keys[blockIdx.x * kWarp + threadIdx.x]);
}
