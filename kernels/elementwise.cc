#include "kernels/elementwise.h"

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace kernels {
namespace {

struct SineCosine {
  double sine;
  double cosine;
};

// Angle to [-pi/4, pi/4] by quarter turns (pi/2 in three parts), then Taylor series to 2^-60.
SineCosine SineCosineOf(double angle) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kHalfPi1 = 1.57079632673412561417e+00;
  constexpr double kHalfPi2 = 6.07710050630396597660e-11;
  constexpr double kHalfPi3 = 2.02226624879595063154e-21;
  const double turns = angle * kTwoOverPi;
  const auto quarter = static_cast<std::int64_t>(turns + (turns < 0 ? -0.5 : 0.5));
  const auto n = static_cast<double>(quarter);
  const double r = ((angle - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  const double square = r * r;
  double sine = 1;
  double cosine = 1;
  for (int k = 18; k >= 2; k -= 2) {
    sine = 1 - sine * square / (k * (k + 1));
    cosine = 1 - cosine * square / (k * (k - 1));
  }
  sine *= r;
  switch (quarter & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

void RmsNorm(const float* x, const float* weight, float epsilon, int width, float* out) {
  assert(width % 16 == 0);
  Leaves().rms_norm(x, weight, epsilon, width, out);
}

void RotateHead(const float* cosines, const float* sines, int rope_dims, float* head) {
  Leaves().rotate_head(cosines, sines, rope_dims / 2, head);
}

void SwiGlu(const float* gate, const float* up, int width, float* out) {
  assert(width % 16 == 0);
  Leaves().swiglu(gate, up, width, out);
}

void AddInPlace(const float* y, int width, float* x) {
  assert(width % 16 == 0);
  Leaves().add_in_place(y, width, x);
}

void FillRotationTables(const double* frequencies, int rope_dims, int position_count,
                        float magnitude, float* cosines, float* sines) {
  const int pairs = rope_dims / 2;
  for (int position = 0; position < position_count; ++position) {
    for (int i = 0; i < pairs; ++i) {
      const SineCosine value = SineCosineOf(position * frequencies[i]);
      const std::size_t at = static_cast<std::size_t>(position) * static_cast<std::size_t>(pairs) +
                             static_cast<std::size_t>(i);
      cosines[at] = static_cast<float>(value.cosine) * magnitude;
      sines[at] = static_cast<float>(value.sine) * magnitude;
    }
  }
}

}  // namespace kernels
