#pragma once

#include <torch/all.h>

namespace lattice {

at::Tensor paged_sparse_decode(const at::Tensor& query, const at::Tensor& pages);
at::Tensor fp8_gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& scale);
at::Tensor fused_moe(const at::Tensor& tokens, const at::Tensor& experts);

}  // namespace lattice
