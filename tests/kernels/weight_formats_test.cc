#include "kernels/weight_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/half.h"
#include "kernels/matmul.h"
#include "tests/support/kernel_inputs.h"

namespace {

using kernels::WeightFormat;

TEST(WeightFormats, AStoredRowHasGgufsSize) {
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kF32, 64), 256U);
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kF16, 64), 128U);
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kBF16, 64), 128U);
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kQ8_0, 64), 68U);
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kQ4_0, 64), 36U);
  EXPECT_EQ(kernels::StoredRowBytes(WeightFormat::kQ4_1, 64), 40U);
}

TEST(WeightFormats, APackedRowExpandsToTheSameFloatsAsTheStoredOne) {
  for (const WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kF16, WeightFormat::kBF16, WeightFormat::kQ8_0,
        WeightFormat::kQ4_0, WeightFormat::kQ4_1}) {
    for (const int columns : {32, 64, 160}) {
      std::mt19937 random(11);
      const support::RandomMatrix matrix(format, 21, columns, random);
      for (int row = 0; row < 21; ++row) {
        std::vector<float> unpacked(static_cast<std::size_t>(columns));
        kernels::UnpackRow(matrix.packed, row, unpacked.data());
        EXPECT_EQ(unpacked, matrix.Row(row)) << static_cast<int>(format) << ", row " << row;
      }
    }
  }
}

// Source: the block structures of ggml: low nibbles are elements 0..15, high ones 16..31.
TEST(WeightFormats, BlocksMeanWhatGgufSays) {
  std::vector<std::byte> block(34);
  const auto put_half = [&](std::size_t at, float value) {
    const std::uint16_t half = kernels::FloatToHalf(value);
    std::memcpy(&block[at], &half, 2);
  };
  std::vector<float> out(32);
  put_half(0, 0.5F);
  block[2] = std::byte{0xF3};
  kernels::DequantizeRow(WeightFormat::kQ4_0, block.data(), 32, out.data());
  EXPECT_EQ(out[0], 0.5F * (3 - 8));
  EXPECT_EQ(out[16], 0.5F * (15 - 8));
  EXPECT_EQ(out[1], 0.5F * (0 - 8));
  put_half(2, -1.5F);
  block[4] = std::byte{0xF3};
  kernels::DequantizeRow(WeightFormat::kQ4_1, block.data(), 32, out.data());
  EXPECT_EQ(out[0], 0.5F * 3 - 1.5F);
  EXPECT_EQ(out[16], 0.5F * 15 - 1.5F);
  block[2] = std::byte{0x80};
  block[33] = std::byte{0x7F};
  kernels::DequantizeRow(WeightFormat::kQ8_0, block.data(), 32, out.data());
  EXPECT_EQ(out[0], 0.5F * -128);
  EXPECT_EQ(out[31], 0.5F * 127);
}

TEST(Half, EveryFiniteHalfHasItsValueAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const std::uint32_t exponent = (bits >> 10) & 31;
    const std::uint32_t mantissa = bits & 1023;
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = kernels::HalfToFloat(half);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), mantissa != 0);
      EXPECT_EQ(std::isinf(value), mantissa == 0);
      continue;
    }
    const double magnitude = exponent == 0
                                 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
    ASSERT_EQ(double{value}, (bits & 0x8000) != 0 ? -magnitude : magnitude) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(kernels::FloatToHalf(value), half) << bits;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const float low = kernels::HalfToFloat(half);
    const float high = kernels::HalfToFloat(next);
    const float middle = (low + high) / 2;  // exact
    ASSERT_EQ(kernels::FloatToHalf(middle), half % 2 == 0 ? half : next) << half;
    ASSERT_EQ(kernels::FloatToHalf(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(kernels::FloatToHalf(std::nextafter(middle, 1e9F)), next) << half;
  }
  EXPECT_EQ(kernels::FloatToHalf(65519.0F), 0x7BFF);
  EXPECT_EQ(kernels::FloatToHalf(65520.0F), 0x7C00);
}

}  // namespace
