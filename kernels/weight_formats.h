// The stored forms of weights, and their packed form after load.
//
// Packed form of the quantized formats: panels of 16 output rows; inside a panel K runs in units of
// 64, each unit two 32-blocks of quants (4-k interleave: 64 bytes = 16 rows x 4 k) followed by the
// blocks' scales. Quants are unsigned (nibbles as they are, bytes XOR 0x80), scales are GGUF's own.
// K is padded to a multiple of 64 with zero blocks, rows to a multiple of 16 with zero rows.
// kF16 and kBF16 panels are [columns][16]; kF32 stays row-major [rows][columns] for oneDNN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernels {

inline constexpr int kPanelRows = 16;
inline constexpr int kQuantBlock = 32;

enum class WeightFormat : std::uint8_t { kF32, kF16, kBF16, kQ8_0, kQ4_0, kQ4_1 };

// Whether products with this format take activations quantized to int8 (else float32 rows).
constexpr bool TakesQuantizedRows(WeightFormat format) {
  return format == WeightFormat::kQ8_0 || format == WeightFormat::kQ4_0 ||
         format == WeightFormat::kQ4_1;
}

// Bytes of one row of `columns` weights as GGUF stores it.
std::size_t StoredRowBytes(WeightFormat format, int columns);

}  // namespace kernels
