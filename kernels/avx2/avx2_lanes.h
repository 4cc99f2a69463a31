// 16 lanes as two registers: AVX2, FMA and F16C. The dots come from the file that includes this.
#pragma once

#include <immintrin.h>

#include "kernels/leaf_table.h"

namespace kernels {
namespace {

struct F {
  __m256 low;
  __m256 high;
};
struct I {
  __m256i low;
  __m256i high;
};
using Q = I;
using X = __m256i;

// 16 registers: 3 x 1 tiles keep 6 sums and 6 dots of them.
constexpr int kTileRows = 3;
constexpr int kTilePanels = 1;
constexpr int kDecodePanels = 2;
constexpr int kAttentionRows = 4;
constexpr int kAccumulators = 6;

inline F Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void Store(float* p, F x) {
  _mm256_storeu_ps(p, x.low);
  _mm256_storeu_ps(p + 8, x.high);
}
inline F Set1(float value) {
  const __m256 all = _mm256_set1_ps(value);
  return {all, all};
}
inline F Zero() { return Set1(0.0F); }
inline F Add(F a, F b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline F Sub(F a, F b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline F Mul(F a, F b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline F Div(F a, F b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline F Fma(F a, F b, F c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline F Max(F a, F b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline F Abs(F a) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
inline I ToInt(F a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
inline F FromInt(I a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
inline __m256 PowerOfTwoHalf(__m256 n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
inline F PowerOfTwo(F n) { return {PowerOfTwoHalf(n.low), PowerOfTwoHalf(n.high)}; }
inline F LoadHalf(const void* p) {
  const __m128i* halves = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}
inline void StoreHalf(uint16_t* p, F a) {
  __m128i* halves = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(halves, _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
}
inline __m256 BfloatHalf(const __m128i* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline F LoadBfloat(const void* p) {
  const __m128i* values = static_cast<const __m128i*>(p);
  return {BfloatHalf(values), BfloatHalf(values + 1)};
}
inline float SumLanes(F a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float MaxLanes(F a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline __m256 KeepFirstHalf(__m256 a, int count, float rest) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i keep = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), index);
  return _mm256_blendv_ps(_mm256_set1_ps(rest), a, _mm256_castsi256_ps(keep));
}
inline F KeepFirst(F a, int count, float rest) {
  return {KeepFirstHalf(a.low, count, rest), KeepFirstHalf(a.high, count - 8, rest)};
}

inline I SetInt1(int32_t value) {
  const __m256i all = _mm256_set1_epi32(value);
  return {all, all};
}
inline I AddInt(I a, I b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
inline int32_t SumInts(I a) {
  const __m256i eight = _mm256_add_epi32(a.low, a.high);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1)));
}
inline __m128i PackHalf(__m256i a) {
  return _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
}
inline void StoreBytes(int8_t* p, I a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(PackHalf(a.low), PackHalf(a.high)));
}

inline Q LoadQuants(const uint8_t* p) {
  const __m256i* bytes = reinterpret_cast<const __m256i*>(p);
  return {_mm256_load_si256(bytes), _mm256_load_si256(bytes + 1)};
}
inline Q LowNibbles(Q q) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(q.low, mask), _mm256_and_si256(q.high, mask)};
}
inline Q HighNibbles(Q q) {
  return LowNibbles({_mm256_srli_epi16(q.low, 4), _mm256_srli_epi16(q.high, 4)});
}
inline X Broadcast(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm256_set1_epi32(four);
}

}  // namespace
}  // namespace kernels
