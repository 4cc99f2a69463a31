// float16 and bfloat16 by hand: what the scalar kernels use, and what F16C's results must equal.
//
// Internal linkage, so that leaf files may include it (a copy per file, none for the linker).
#pragma once

#include <cstdint>
#include <cstring>

namespace kernels {

static inline float FloatFromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Exact; a signalling NaN comes out quiet.
static inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {
    return FloatFromBits(BitsOf(static_cast<float>(mantissa) * 0x1p-24F) | sign);
  }
  if (exponent == 31) {
    const uint32_t quiet = mantissa != 0 ? 0x400000U : 0U;
    return FloatFromBits(sign | 0x7F800000U | (mantissa << 13) | quiet);
  }
  return FloatFromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// To nearest, ties to even; overflow gives infinity.
static inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) {
    return static_cast<uint16_t>(sign | 0x7E00U | ((rest >> 13) & 0x3FFU));
  }
  if (rest >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);
  if (rest < 0x38800000U) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24
    const uint32_t moved = BitsOf(FloatFromBits(rest) + 0.5F);
    return static_cast<uint16_t>(sign | (moved - 0x3F000000U));
  }
  rest += 0xFFFU + ((rest >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rest - 0x38000000U) >> 13));
}

static inline float BfloatToFloat(uint16_t value) {
  return FloatFromBits(static_cast<uint32_t>(value) << 16);
}

}  // namespace kernels
