#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "tests/support/kernel_inputs.h"

namespace {

using kernels::WeightFormat;
using support::InputRows;
using support::RandomFloats;
using support::RandomMatrix;

constexpr std::array kFormats = {WeightFormat::kF32,  WeightFormat::kF16,  WeightFormat::kBF16,
                                 WeightFormat::kQ8_0, WeightFormat::kQ4_0, WeightFormat::kQ4_1};

struct Shape {
  int rows;
  int columns;
};

// Whole and partial panels and units; enough panels for every tile width with a rest.
constexpr std::array kShapes = {Shape{16, 32}, Shape{1, 64}, Shape{33, 96}, Shape{80, 64},
                                Shape{136, 320}};

std::string Described(WeightFormat format, Shape shape, int row_count) {
  return "format " + std::to_string(static_cast<int>(format)) + ", " + std::to_string(shape.rows) +
         " x " + std::to_string(shape.columns) + ", " + std::to_string(row_count) + " rows";
}

constexpr float kUntouched = -12345.0F;

// y with a stride that leaves a gap behind each row.
struct Output {
  Output(int row_count, int rows)
      : stride(static_cast<std::size_t>(rows) + 5),
        values(static_cast<std::size_t>(row_count) * stride, kUntouched) {}
  std::vector<float> Row(int row, int rows) const {
    const auto begin = values.begin() + row * static_cast<std::ptrdiff_t>(stride);
    return {begin, begin + rows};
  }
  std::size_t stride;
  std::vector<float> values;
};

Output Multiplied(const RandomMatrix& matrix, const InputRows& x, int workers) {
  Output y(x.rows.row_count, matrix.packed.rows);
  kernels::Team team(workers);
  kernels::PrepareMatmul(matrix.packed, workers);
  team.Run([&](kernels::Worker& worker) {
    kernels::Matmul(matrix.packed, x.rows, y.values.data(), y.stride, worker);
  });
  return y;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <typename Check>
void ForEachCase(const Check& check) {
  for (const WeightFormat format : kFormats) {
    for (const Shape shape : kShapes) {
      std::mt19937 random(static_cast<unsigned>(shape.rows * 1000 + shape.columns));
      const RandomMatrix matrix(format, shape.rows, shape.columns, random);
      for (const int row_count : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 40}) {
        const auto count = static_cast<std::size_t>(row_count * shape.columns);
        const InputRows x(RandomFloats(count, random), row_count, shape.columns);
        SCOPED_TRACE(Described(format, shape, row_count));
        check(matrix, x);
      }
    }
  }
}

// Goal: all instruction sets give the bits of the scalar kernels.
// Method: the leaf in force and the scalar leaf over the same panels, every tile shape.
TEST(Matmul, EqualsTheScalarKernelBitForBit) {
  const kernels::LeafTable& scalar = *kernels::LeavesFor("scalar");
  ForEachCase([&](const RandomMatrix& matrix, const InputRows& x) {
    if (matrix.packed.format == WeightFormat::kF32) return;
    const Output y = Multiplied(matrix, x, 1);
    Output expected(x.rows.row_count, matrix.packed.rows);
    kernels::MatmulJob job{};
    job.format = static_cast<int>(matrix.packed.format);
    job.panels = reinterpret_cast<const std::uint8_t*>(matrix.packed.panels);
    job.panel_bytes = kernels::PanelBytes(matrix.packed.format, matrix.packed.columns);
    job.panel_end = kernels::PanelCount(matrix.packed.rows);
    job.rows = matrix.packed.rows;
    job.columns = matrix.packed.columns;
    job.values = x.rows.values;
    job.scales = x.rows.scales;
    job.sums = x.rows.sums;
    job.floats = x.rows.floats;
    job.row_count = x.rows.row_count;
    job.y = expected.values.data();
    job.y_stride = expected.stride;
    scalar.matmul(job);
    EXPECT_TRUE(SameBits(y.values, expected.values));
  });
}

TEST(Matmul, ARowsResultDoesNotDependOnTheRowsBesideIt) {
  ForEachCase([](const RandomMatrix& matrix, const InputRows& x) {
    const int columns = matrix.packed.columns;
    const Output together = Multiplied(matrix, x, 1);
    for (int row = 0; row < x.rows.row_count; row += 3) {
      const InputRows alone(std::span(x.floats).subspan(static_cast<std::size_t>(row * columns),
                                                        static_cast<std::size_t>(columns)),
                            1, columns);
      EXPECT_TRUE(SameBits(Multiplied(matrix, alone, 1).Row(0, matrix.packed.rows),
                           together.Row(row, matrix.packed.rows)))
          << "row " << row;
    }
  });
}

TEST(Matmul, TheNumberOfWorkersDoesNotMatter) {
  ForEachCase([](const RandomMatrix& matrix, const InputRows& x) {
    const Output one = Multiplied(matrix, x, 1);
    for (const int workers : {2, 3}) {
      EXPECT_TRUE(SameBits(Multiplied(matrix, x, workers).values, one.values)) << workers;
    }
  });
}

TEST(Matmul, WritesNothingBeyondTheMatrixsRows) {
  ForEachCase([](const RandomMatrix& matrix, const InputRows& x) {
    const Output y = Multiplied(matrix, x, 2);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const bool inside = i % y.stride < static_cast<std::size_t>(matrix.packed.rows);
      ASSERT_EQ(inside, y.values[i] != kUntouched) << i;
    }
  });
}

// Goal: the product is the one of the expanded weights.
// Method: in double; quantized formats with the quantized activations, so only rounding is left.
TEST(Matmul, IsAccurate) {
  ForEachCase([](const RandomMatrix& matrix, const InputRows& x) {
    const int columns = matrix.packed.columns;
    const int row_count = x.rows.row_count;
    const Output y = Multiplied(matrix, x, 1);
    for (int output = 0; output < matrix.packed.rows; output += 7) {
      const std::vector<float> weights = matrix.Row(output);
      for (int row = 0; row < row_count; ++row) {
        double sum = 0;
        double magnitude = 0;
        for (int k = 0; k < columns; ++k) {
          const int block = k / kernels::kQuantBlock * row_count + row;
          const double value =
              kernels::TakesQuantizedRows(matrix.packed.format)
                  ? double{x.rows.scales[block]} *
                        x.rows.values[block * kernels::kQuantBlock + k % kernels::kQuantBlock]
                  : double{x.floats[static_cast<std::size_t>(row * columns + k)]};
          const double product = value * double{weights[static_cast<std::size_t>(k)]};
          sum += product;
          magnitude += std::abs(product);
        }
        const double got = y.Row(row, matrix.packed.rows)[static_cast<std::size_t>(output)];
        ASSERT_NEAR(got, sum, 2e-6 * magnitude) << "output " << output << ", row " << row;
      }
    }
  });
}

TEST(QuantizeRow, EqualsTheScalarKernelBitForBit) {
  const kernels::LeafTable& scalar = *kernels::LeavesFor("scalar");
  std::mt19937 random(7);
  for (const int columns : {32, 96, 640}) {
    const auto blocks = static_cast<std::size_t>(columns / 32);
    std::vector<float> floats = RandomFloats(static_cast<std::size_t>(columns), random);
    std::fill(floats.begin(), floats.begin() + 32, columns == 96 ? 0.0F : 1e-39F);
    const InputRows x(floats, 1, columns);
    std::vector<std::int8_t> values(static_cast<std::size_t>(columns));
    std::vector<float> scales(blocks);
    std::vector<std::int32_t> sums(blocks);
    scalar.quantize_row(floats.data(), columns, values.data(), 32, scales.data(), sums.data(), 1);
    EXPECT_EQ(std::memcmp(values.data(), x.rows.values, values.size()), 0);
    EXPECT_EQ(std::memcmp(scales.data(), x.rows.scales, blocks * 4), 0);
    EXPECT_EQ(std::memcmp(sums.data(), x.rows.sums, blocks * 4), 0);
  }
}

TEST(QuantizeRow, IsWithinHalfAStepAndSumsItsValues) {
  std::mt19937 random(8);
  const int columns = 320;
  const std::vector<float> floats = RandomFloats(2 * columns, random);
  const InputRows x(floats, 2, columns);
  for (int row = 0; row < 2; ++row) {
    for (int block = 0; block < columns / 32; ++block) {
      const int at = block * 2 + row;
      int sum = 0;
      for (int i = 0; i < 32; ++i) {
        const int value = x.rows.values[at * 32 + i];
        sum += value;
        const float original = floats[static_cast<std::size_t>(row * columns + block * 32 + i)];
        EXPECT_NEAR(static_cast<float>(value) * x.rows.scales[at], original,
                    x.rows.scales[at] * 0.5001F);
      }
      EXPECT_EQ(sum, x.rows.sums[at]);
    }
  }
}

TEST(QuantizeRow, ABlockTooSmallForAnInverseIsZero) {
  std::vector<float> floats(32, 1e-39F);
  const InputRows x(floats, 1, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(x.rows.values[i], 0);
  EXPECT_EQ(x.rows.sums[0], 0);
}

}  // namespace
