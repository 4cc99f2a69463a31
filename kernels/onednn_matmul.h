// F32 matrices through oneDNN: one path at every row count, decode included.
//
// Calls have a shape that depends on the matrix alone: groups of 16 rows (the last one padded)
// times slices of at most 64 outputs. So a row's bits don't depend on how many rows share the call,
// and since each call runs on one worker, not on the number of workers.
#pragma once

#include "kernels/matmul.h"

namespace kernels {

// Makes what MultiplyFloat needs for a matrix of this shape, so that a step makes nothing.
void PrepareFloat(int rows, int columns, int worker_count);

// As Matmul, for kF32. Requires: PrepareFloat was called for the shape (asserted).
void MultiplyFloat(const PackedMatrix& weights, const ActivationRows& x, float* y,
                   std::size_t y_stride, const Worker& worker);

}  // namespace kernels
