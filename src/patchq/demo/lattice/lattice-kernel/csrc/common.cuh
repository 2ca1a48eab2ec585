#pragma once

#include <cuda_runtime.h>

constexpr int kWarp = 32;

__device__ __forceinline__ float warp_sum(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, lane);
  }
  return value;
}
