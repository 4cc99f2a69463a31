// Random inputs of kernels, in the memory layouts that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/matmul.h"

namespace support {

// Memory at a 64-byte border, zeroed.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size);
  std::byte* data() const { return aligned_; }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::byte* aligned_;
  std::size_t size_;
};

std::vector<float> RandomFloats(std::size_t count, std::mt19937& random);

// A matrix of random weights as a GGUF file stores it, and packed.
struct RandomMatrix {
  RandomMatrix(kernels::WeightFormat format, int rows, int columns, std::mt19937& random);
  // The weights of one row, expanded.
  std::vector<float> Row(int row) const;

  std::vector<std::byte> stored;
  AlignedBytes panels;
  kernels::PackedMatrix packed;
};

// Rows of activations in both forms.
struct InputRows {
  InputRows(std::span<const float> values, int row_count, int columns);

  std::vector<float> floats;
  AlignedBytes quantized;
  kernels::ActivationRows rows;
};

}  // namespace support
