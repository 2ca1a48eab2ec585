#include "lattice/ops.h"
#include "moe/blockwise_fp4.cuh"

at::Tensor lattice::fused_moe(const at::Tensor& tokens, const at::Tensor& experts) {
  auto out = at::zeros({tokens.size(0), experts.size(2)}, tokens.options());
  using Tile = lattice::moe::BlockwiseTile;
  lattice::moe::blockwise_fp4_kernel<Tile><<<experts.size(0), 128, Tile::kSharedBytes>>>(
      experts.data_ptr<unsigned char>(), out.data_ptr<float>());
  return out;
}
