#include <torch/library.h>

#include "lattice/ops.h"

TORCH_LIBRARY(lattice, m) {
  m.def("paged_sparse_decode", &lattice::paged_sparse_decode);
  m.def("fp8_gemm", &lattice::fp8_gemm);
  m.def("fused_moe", &lattice::fused_moe);
}
