#pragma once

#include <cuda_fp4.h>

namespace lattice::moe {

// One block per expert tile; scales ride along in shared memory.
struct BlockwiseTile {
  static constexpr int kRows = 128;
  static constexpr int kColumns = 256;
  static constexpr int kStages = 4;
  static constexpr int kScaleBytes = kRows * kColumns / 16;
  static constexpr int kStageBytes = kRows * kColumns / 2 + kScaleBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};

template <typename Tile>
__global__ void blockwise_fp4_kernel(const unsigned char* packed, float* accumulated) {
  extern __shared__ unsigned char staging[];
  for (int stage = 0; stage < Tile::kStages; ++stage) {
    staging[threadIdx.x] = packed[stage * Tile::kStageBytes + threadIdx.x];
  }
  accumulated[blockIdx.x] = staging[threadIdx.x];
}

}  // namespace lattice::moe
