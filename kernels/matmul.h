// y = W x for one to many rows of activations, weights in packed panels.
//
// The arithmetic contract (version kArithmeticContract): an exact int32 dot over each 32-block,
// then one float fma per block (Q4_1 takes a second one for the minimum), blocks in K order; F16
// and BF16 take one fma per weight in K order. Nothing else touches the accumulator. So a row's
// result does not depend on the number of rows, on the row's index, on workers or instruction sets.
// F32 matrices go through oneDNN, at every row count, in calls whose shape never depends on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/parallel.h"
#include "kernels/weight_formats.h"

namespace kernels {

// Changes whenever any kernel may give other bits; part of every cache fingerprint.
inline constexpr int kArithmeticContract = 1;

// Rows of activations, one of the two forms filled as the matrix's format demands.
struct ActivationRows {
  // Quantized: per 32-block symmetric int8; layout [columns / 32][row_count] of blocks.
  std::int8_t* values = nullptr;  // [columns / 32][row_count][32]
  float* scales = nullptr;        // [columns / 32][row_count]
  std::int32_t* sums = nullptr;   // [columns / 32][row_count], sum of the block's values
  // Float: row-major [row_count][columns].
  float* floats = nullptr;
  int row_count = 0;
  int columns = 0;
};

// Bytes needed for the quantized form (values, scales and sums at 64-byte borders each).
std::size_t QuantizedRowsBytes(int row_count, int columns);

// A weight matrix after load. A view: the bytes belong to the caller and are 64-byte aligned.
struct PackedMatrix {
  WeightFormat format = WeightFormat::kF32;
  int rows = 0;     // outputs
  int columns = 0;  // inputs
  const std::byte* panels = nullptr;
};

int PanelCount(int rows);
std::size_t PanelBytes(WeightFormat format, int columns);

// Packs one panel.
//
//   rows  [16] pointers to stored GGUF rows, null for a padding row
//   out   PanelBytes(format, columns), 64-byte aligned
//
// Requires: columns % 32 == 0. Any worker may pack any panel (this is the first touch).
void PackPanel(WeightFormat format, const std::byte* const* rows, int columns, std::byte* out);

// Expands one stored GGUF row to float32; used for embedding look-ups and tests.
void DequantizeRow(WeightFormat format, const std::byte* stored_row, int columns, float* out);

// Expands row `row` of a packed matrix to float32: a tied embedding is kept only once.
void UnpackRow(const PackedMatrix& weights, int row, float* out);

// Quantizes float row `row` into x (values, scales, sums); leaves other rows alone.
void QuantizeRow(const float* floats, int row, ActivationRows& x);

// Makes ready what products with this matrix need beside it (F32: oneDNN's), so that a step makes
// nothing. Load time; not while a team runs.
void PrepareMatmul(const PackedMatrix& weights, int worker_count);

// Computes this worker's share of y[row_count][weights.rows] (row stride y_stride floats).
//
// Every worker of the team calls it with the same arguments; no barrier inside. Padding rows of the
// last panel are not written beyond weights.rows.
// Requires: x.columns == weights.columns, the form that the format takes is filled, and
// PrepareMatmul was called.
void Matmul(const PackedMatrix& weights, const ActivationRows& x, float* y, std::size_t y_stride,
            const Worker& worker);

}  // namespace kernels
