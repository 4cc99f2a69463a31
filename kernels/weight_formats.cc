// Stored GGUF rows to packed panels, and rows of either to float32. Load time only, so portable.
#include "kernels/weight_formats.h"

#include <cassert>
#include <cstring>

#include "kernels/half.h"
#include "kernels/matmul.h"

namespace kernels {
namespace {

constexpr int kUnitColumns = 64;

// A stored 32-block: [scale f16] [minimum f16, Q4_1 only] quants.
struct StoredBlock {
  std::size_t bytes;
  std::size_t quants_at;
};

StoredBlock BlockOf(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ4_0:
      return {18, 2};
    case WeightFormat::kQ4_1:
      return {20, 4};
    default:
      return {34, 2};
  }
}

// Where things lie in a packed unit of two 32-blocks (drawing in weight_formats.h).
struct UnitLayout {
  std::size_t quant_bytes;  // of one block, 16 rows
  std::size_t bytes;
  std::size_t ScalesAt(int block) const {
    return 2 * quant_bytes + static_cast<std::size_t>(block % 2) * 32;
  }
};

UnitLayout UnitOf(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ4_0:
      return {256, 576};
    case WeightFormat::kQ4_1:
      return {256, 640};
    default:
      return {512, 1088};
  }
}

std::uint16_t LoadU16(const std::byte* p) {
  std::uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

void StoreU16(std::byte* p, std::uint16_t value) { std::memcpy(p, &value, sizeof value); }

void PackBlock(WeightFormat format, const std::byte* stored, int row, int block, std::byte* unit) {
  const UnitLayout layout = UnitOf(format);
  const std::byte* quants = stored + BlockOf(format).quants_at;
  std::byte* out = unit + static_cast<std::size_t>(block % 2) * layout.quant_bytes;
  const std::size_t groups = layout.quant_bytes / 64;
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < 4; ++j) {
      std::byte value = quants[g * 4 + j];
      if (format == WeightFormat::kQ8_0) value ^= std::byte{0x80};
      out[g * 64 + static_cast<std::size_t>(row) * 4 + j] = value;
    }
  }
  std::byte* scales = unit + layout.ScalesAt(block) + row * 2;
  StoreU16(scales, LoadU16(stored));
  if (format == WeightFormat::kQ4_1) StoreU16(scales + 64, LoadU16(stored + 2));
}

// The value of stored quant i (0..31) of a block, as an unsigned quant minus its offset.
int QuantAt(WeightFormat format, const std::byte* quants, int i) {
  if (format == WeightFormat::kQ8_0) return static_cast<std::int8_t>(quants[i]);
  const int both = std::to_integer<int>(quants[i % 16]);
  const int nibble = i < 16 ? both & 15 : both >> 4;
  return format == WeightFormat::kQ4_0 ? nibble - 8 : nibble;
}

}  // namespace

std::size_t StoredRowBytes(WeightFormat format, int columns) {
  const auto count = static_cast<std::size_t>(columns);
  if (format == WeightFormat::kF32) return count * 4;
  if (!TakesQuantizedRows(format)) return count * 2;
  return count / kQuantBlock * BlockOf(format).bytes;
}

int PanelCount(int rows) { return (rows + kPanelRows - 1) / kPanelRows; }

std::size_t PanelBytes(WeightFormat format, int columns) {
  const auto count = static_cast<std::size_t>(columns);
  if (format == WeightFormat::kF32) return count * kPanelRows * 4;
  if (!TakesQuantizedRows(format)) return count * kPanelRows * 2;
  return (count + kUnitColumns - 1) / kUnitColumns * UnitOf(format).bytes;
}

void PackPanel(WeightFormat format, const std::byte* const* rows, int columns, std::byte* out) {
  std::memset(out, 0, PanelBytes(format, columns));
  const auto count = static_cast<std::size_t>(columns);
  for (int row = 0; row < kPanelRows; ++row) {
    const std::byte* stored = rows[row];
    if (stored == nullptr) continue;
    if (format == WeightFormat::kF32) {
      std::memcpy(out + static_cast<std::size_t>(row) * count * 4, stored, count * 4);
    } else if (!TakesQuantizedRows(format)) {
      for (std::size_t k = 0; k < count; ++k) {
        std::memcpy(out + (k * kPanelRows + static_cast<std::size_t>(row)) * 2, stored + k * 2, 2);
      }
    } else {
      for (int block = 0; block < columns / kQuantBlock; ++block) {
        PackBlock(format, stored + static_cast<std::size_t>(block) * BlockOf(format).bytes, row,
                  block, out + static_cast<std::size_t>(block / 2) * UnitOf(format).bytes);
      }
    }
  }
}

void DequantizeRow(WeightFormat format, const std::byte* stored_row, int columns, float* out) {
  if (format == WeightFormat::kF32) {
    std::memcpy(out, stored_row, static_cast<std::size_t>(columns) * 4);
    return;
  }
  for (int k = 0; k < columns; ++k) {
    if (!TakesQuantizedRows(format)) {
      const std::uint16_t bits = LoadU16(stored_row + static_cast<std::size_t>(k) * 2);
      out[k] = format == WeightFormat::kF16 ? HalfToFloat(bits) : BfloatToFloat(bits);
      continue;
    }
    const StoredBlock shape = BlockOf(format);
    const std::byte* block = stored_row + static_cast<std::size_t>(k / kQuantBlock) * shape.bytes;
    const auto quant =
        static_cast<float>(QuantAt(format, block + shape.quants_at, k % kQuantBlock));
    out[k] = quant * HalfToFloat(LoadU16(block));
    if (format == WeightFormat::kQ4_1) out[k] += HalfToFloat(LoadU16(block + 2));
  }
}

void UnpackRow(const PackedMatrix& weights, int row, float* out) {
  assert(row >= 0 && row < weights.rows);
  const WeightFormat format = weights.format;
  const auto count = static_cast<std::size_t>(weights.columns);
  const auto inside = static_cast<std::size_t>(row % kPanelRows);
  const std::byte* panel = weights.panels + static_cast<std::size_t>(row / kPanelRows) *
                                                PanelBytes(format, weights.columns);
  if (format == WeightFormat::kF32) {
    std::memcpy(out, panel + inside * count * 4, count * 4);
    return;
  }
  if (!TakesQuantizedRows(format)) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint16_t bits = LoadU16(panel + (k * kPanelRows + inside) * 2);
      out[k] = format == WeightFormat::kF16 ? HalfToFloat(bits) : BfloatToFloat(bits);
    }
    return;
  }
  // Back to the block as it was stored, so that both ways give the same floats.
  const UnitLayout layout = UnitOf(format);
  const StoredBlock shape = BlockOf(format);
  for (int block = 0; block < weights.columns / kQuantBlock; ++block) {
    const std::byte* unit = panel + static_cast<std::size_t>(block / 2) * layout.bytes;
    const std::byte* quants = unit + static_cast<std::size_t>(block % 2) * layout.quant_bytes;
    const std::byte* scales = unit + layout.ScalesAt(block) + inside * 2;
    std::byte stored[34];
    StoreU16(stored, LoadU16(scales));
    if (format == WeightFormat::kQ4_1) StoreU16(stored + 2, LoadU16(scales + 64));
    for (std::size_t i = 0; i < shape.bytes - shape.quants_at; ++i) {
      std::byte value = quants[i / 4 * 64 + inside * 4 + i % 4];
      if (format == WeightFormat::kQ8_0) value ^= std::byte{0x80};
      stored[shape.quants_at + i] = value;
    }
    DequantizeRow(format, stored, kQuantBlock, out + block * kQuantBlock);
  }
}

}  // namespace kernels
