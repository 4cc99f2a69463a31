#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/isa.h"
#include "tests/support/kernel_inputs.h"

namespace {

using support::RandomFloats;

const kernels::LeafTable& Scalar() { return *kernels::LeavesFor("scalar"); }

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(RmsNorm, EqualsTheScalarKernelBitForBitAndIsAccurate) {
  std::mt19937 random(1);
  for (const int width : {16, 48, 576, 1024}) {
    const auto count = static_cast<std::size_t>(width);
    const std::vector<float> x = RandomFloats(count, random);
    const std::vector<float> weight = RandomFloats(count, random);
    std::vector<float> got(count), expected(count);
    kernels::RmsNorm(x.data(), weight.data(), 1e-5F, width, got.data());
    Scalar().rms_norm(x.data(), weight.data(), 1e-5F, width, expected.data());
    EXPECT_TRUE(SameBits(got, expected)) << width;
    double squares = 0;
    for (const float v : x) squares += double{v} * double{v};
    const double factor = 1 / std::sqrt(squares / width + 1e-5);
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = double{x[i]} * factor * double{weight[i]};
      EXPECT_NEAR(double{got[i]}, exact, 1e-6 * std::abs(exact));
    }
  }
}

TEST(RotateHead, EqualsTheScalarKernelBitForBitAndIsAccurate) {
  std::mt19937 random(2);
  for (const int rope_dims : {2, 16, 32, 48, 64, 128}) {
    const auto pairs = static_cast<std::size_t>(rope_dims / 2);
    const std::vector<float> cosines = RandomFloats(pairs, random);
    const std::vector<float> sines = RandomFloats(pairs, random);
    const std::vector<float> head = RandomFloats(2 * pairs + 3, random);
    std::vector<float> got = head, expected = head;
    kernels::RotateHead(cosines.data(), sines.data(), rope_dims, got.data());
    Scalar().rotate_head(cosines.data(), sines.data(), rope_dims / 2, expected.data());
    EXPECT_TRUE(SameBits(got, expected)) << rope_dims;
    for (std::size_t i = 0; i < pairs; ++i) {
      EXPECT_NEAR(got[i], head[i] * cosines[i] - head[pairs + i] * sines[i], 1e-5F);
      EXPECT_NEAR(got[pairs + i], head[i] * sines[i] + head[pairs + i] * cosines[i], 1e-5F);
    }
    for (std::size_t i = 2 * pairs; i < head.size(); ++i) EXPECT_EQ(got[i], head[i]);
  }
}

TEST(SwiGlu, EqualsTheScalarKernelBitForBit) {
  std::mt19937 random(3);
  for (const int width : {16, 80, 1536}) {
    const auto count = static_cast<std::size_t>(width);
    std::vector<float> gate = RandomFloats(count, random);
    for (float& g : gate) g *= 30.0F;
    const std::vector<float> up = RandomFloats(count, random);
    std::vector<float> got(count), expected(count);
    kernels::SwiGlu(gate.data(), up.data(), width, got.data());
    Scalar().swiglu(gate.data(), up.data(), width, expected.data());
    EXPECT_TRUE(SameBits(got, expected)) << width;
  }
}

// Goal: our exp is good over the whole range where silu isn't 0 or x.
TEST(SwiGlu, IsAccurateOverTheWholeRangeOfExp) {
  std::vector<float> gate;
  for (float g = -86.0F; g < 86.0F; g += 0.0137F) gate.push_back(g);
  gate.resize(gate.size() / 16 * 16);
  const std::vector<float> up(gate.size(), 1.0F);
  std::vector<float> got(gate.size());
  kernels::SwiGlu(gate.data(), up.data(), static_cast<int>(gate.size()), got.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double exact = double{gate[i]} / (1 + std::exp(-double{gate[i]}));
    ASSERT_NEAR(double{got[i]}, exact, 4e-7 * std::abs(exact)) << gate[i];
  }
}

TEST(SwiGlu, FarOutItIsZeroOrTheGate) {
  std::vector<float> gate(16, -500.0F);
  std::vector<float> got(16);
  const std::vector<float> up(16, 1.0F);
  kernels::SwiGlu(gate.data(), up.data(), 16, got.data());
  EXPECT_NEAR(got[0], 0.0F, 1e-30F);
  gate.assign(16, 500.0F);
  kernels::SwiGlu(gate.data(), up.data(), 16, got.data());
  EXPECT_EQ(got[0], 500.0F);
}

TEST(AddInPlace, AddsEveryElement) {
  std::mt19937 random(4);
  const std::vector<float> x = RandomFloats(96, random);
  const std::vector<float> y = RandomFloats(96, random);
  std::vector<float> got = x;
  kernels::AddInPlace(y.data(), 96, got.data());
  for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(got[i], x[i] + y[i]);
}

TEST(FillRotationTables, AreTheSinesAndCosinesToAFloatsPrecision) {
  const std::vector<double> frequencies = {1.0, 0.7071, 1e-2, 3.3e-5};
  const int positions = 9000;
  std::vector<float> cosines(4 * positions), sines(4 * positions);
  kernels::FillRotationTables(frequencies.data(), 8, positions, 1.25F, cosines.data(),
                              sines.data());
  for (int position = 0; position < positions; ++position) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>(position) * 4 + i;
      ASSERT_NEAR(double{cosines[at]}, 1.25 * std::cos(position * frequencies[i]), 1.3e-7);
      ASSERT_NEAR(double{sines[at]}, 1.25 * std::sin(position * frequencies[i]), 1.3e-7);
    }
  }
}

}  // namespace
