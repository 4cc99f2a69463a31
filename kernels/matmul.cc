#include "kernels/matmul.h"

#include <cassert>

#include "kernels/isa.h"
#include "kernels/onednn_matmul.h"

namespace kernels {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace

std::size_t QuantizedRowsBytes(int row_count, int columns) {
  const std::size_t blocks =
      static_cast<std::size_t>(columns / kQuantBlock) * static_cast<std::size_t>(row_count);
  return Aligned(blocks * kQuantBlock) + Aligned(blocks * sizeof(float)) +
         Aligned(blocks * sizeof(std::int32_t));
}

void QuantizeRow(const float* floats, int row, ActivationRows& x) {
  assert(row >= 0 && row < x.row_count);
  const auto step = static_cast<std::size_t>(x.row_count);
  Leaves().quantize_row(floats, x.columns, x.values + static_cast<std::size_t>(row) * kQuantBlock,
                        step * kQuantBlock, x.scales + row, x.sums + row, step);
}

void PrepareMatmul(const PackedMatrix& weights, int worker_count) {
  if (weights.format == WeightFormat::kF32) {
    PrepareFloat(weights.rows, weights.columns, worker_count);
  }
}

void Matmul(const PackedMatrix& weights, const ActivationRows& x, float* y, std::size_t y_stride,
            const Worker& worker) {
  assert(x.columns == weights.columns);
  if (weights.format == WeightFormat::kF32) {
    MultiplyFloat(weights, x, y, y_stride, worker);
    return;
  }
  const Range share = worker.Share(PanelCount(weights.rows));
  if (share.begin == share.end) return;
  MatmulJob job{};
  job.format = static_cast<int>(weights.format);
  job.panels = reinterpret_cast<const std::uint8_t*>(weights.panels);
  job.panel_bytes = PanelBytes(weights.format, weights.columns);
  job.panel_begin = share.begin;
  job.panel_end = share.end;
  job.rows = weights.rows;
  job.columns = weights.columns;
  job.values = x.values;
  job.scales = x.scales;
  job.sums = x.sums;
  job.floats = x.floats;
  job.row_count = x.row_count;
  job.y = y;
  job.y_stride = y_stride;
  Leaves().matmul(job);
}

}  // namespace kernels
