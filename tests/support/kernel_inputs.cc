#include "tests/support/kernel_inputs.h"

#include <cstring>

#include "kernels/half.h"

namespace support {
namespace {

using kernels::WeightFormat;

constexpr std::size_t kAlignment = 64;

void PutHalf(std::byte* at, float value) {
  const std::uint16_t half = kernels::FloatToHalf(value);
  std::memcpy(at, &half, sizeof half);
}

std::size_t StoredBytes(WeightFormat format, int rows, int columns) {
  return static_cast<std::size_t>(rows) * kernels::StoredRowBytes(format, columns);
}

std::size_t PanelsBytes(WeightFormat format, int rows, int columns) {
  return static_cast<std::size_t>(kernels::PanelCount(rows)) * kernels::PanelBytes(format, columns);
}

// Any bits are a valid quant; scales and float weights must be of a sane size.
void FillRow(WeightFormat format, std::span<std::byte> row, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (std::byte& byte : row) byte = static_cast<std::byte>(random() & 0xFFU);
  const std::size_t block = format == WeightFormat::kQ4_0   ? 18
                            : format == WeightFormat::kQ4_1 ? 20
                                                            : 34;
  if (kernels::TakesQuantizedRows(format)) {
    for (std::size_t at = 0; at < row.size(); at += block) {
      PutHalf(&row[at], normal(random) * 0.1F);
      if (format == WeightFormat::kQ4_1) PutHalf(&row[at + 2], normal(random));
    }
    return;
  }
  const std::size_t width = format == WeightFormat::kF32 ? 4 : 2;
  for (std::size_t at = 0; at < row.size(); at += width) {
    const float value = normal(random);
    if (format == WeightFormat::kF16) {
      PutHalf(&row[at], value);
    } else {  // bfloat16 is the upper half of a float
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      std::memcpy(&row[at], bytes + (4 - width), width);
    }
  }
}

}  // namespace

AlignedBytes::AlignedBytes(std::size_t size)
    : memory_(std::make_unique<std::byte[]>(size + kAlignment)), size_(size) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  aligned_ = memory_.get() + (kAlignment - address % kAlignment) % kAlignment;
}

std::vector<float> RandomFloats(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

RandomMatrix::RandomMatrix(WeightFormat format, int rows, int columns, std::mt19937& random)
    : stored(StoredBytes(format, rows, columns)),
      panels(PanelsBytes(format, rows, columns)),
      packed{format, rows, columns, panels.data()} {
  const std::size_t row_bytes = kernels::StoredRowBytes(format, columns);
  std::vector<const std::byte*> pointers(
      static_cast<std::size_t>(kernels::PanelCount(rows) * kernels::kPanelRows), nullptr);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const std::span bytes = std::span(stored).subspan(row * row_bytes, row_bytes);
    FillRow(format, bytes, random);
    pointers[row] = bytes.data();
  }
  for (int panel = 0; panel < kernels::PanelCount(rows); ++panel) {
    kernels::PackPanel(
        format, &pointers[static_cast<std::size_t>(panel * kernels::kPanelRows)], columns,
        panels.data() + static_cast<std::size_t>(panel) * kernels::PanelBytes(format, columns));
  }
}

std::vector<float> RandomMatrix::Row(int row) const {
  std::vector<float> values(static_cast<std::size_t>(packed.columns));
  kernels::DequantizeRow(packed.format,
                         stored.data() + static_cast<std::size_t>(row) *
                                             kernels::StoredRowBytes(packed.format, packed.columns),
                         packed.columns, values.data());
  return values;
}

InputRows::InputRows(std::span<const float> values, int row_count, int columns)
    : floats(values.begin(), values.end()),
      quantized(kernels::QuantizedRowsBytes(row_count, columns)) {
  const std::size_t blocks = static_cast<std::size_t>(columns / kernels::kQuantBlock) *
                             static_cast<std::size_t>(row_count);
  const auto aligned = [](std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::byte* at = quantized.data();
  rows.values = reinterpret_cast<std::int8_t*>(at);
  at += aligned(blocks * kernels::kQuantBlock);
  rows.scales = reinterpret_cast<float*>(at);
  at += aligned(blocks * sizeof(float));
  rows.sums = reinterpret_cast<std::int32_t*>(at);
  rows.floats = floats.data();
  rows.row_count = row_count;
  rows.columns = columns;
  for (int row = 0; row < row_count; ++row) {
    kernels::QuantizeRow(floats.data() + static_cast<std::size_t>(row * columns), row, rows);
  }
}

}  // namespace support
