// 16 lanes as one register: AVX-512 F, BW, VL and VNNI.
#include <immintrin.h>

#include "kernels/leaf_table.h"

namespace kernels {
namespace {

using F = __m512;
using I = __m512i;
using Q = __m512i;
using X = __m512i;

using P = I;

constexpr bool kSignedBytes = false;
constexpr int kTileRows = 6;
constexpr int kTilePanels = 2;
constexpr int kDecodePanels = 4;
constexpr int kAttentionRows = 8;
constexpr int kAccumulators = 16;

inline F Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, F x) { _mm512_storeu_ps(p, x); }
inline F Set1(float value) { return _mm512_set1_ps(value); }
inline F Zero() { return _mm512_setzero_ps(); }
inline F Add(F a, F b) { return _mm512_add_ps(a, b); }
inline F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F Div(F a, F b) { return _mm512_div_ps(a, b); }
inline F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline F Max(F a, F b) { return _mm512_max_ps(a, b); }
inline F Abs(F a) { return _mm512_abs_ps(a); }
inline I ToInt(F a) { return _mm512_cvtps_epi32(a); }
inline F FromInt(I a) { return _mm512_cvtepi32_ps(a); }
inline F PowerOfTwo(F n) {
  const I biased = _mm512_add_epi32(ToInt(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
inline F LoadHalf(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
inline void StoreHalf(uint16_t* p, F a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline F LoadBfloat(const void* p) {
  const __m256i values = _mm256_loadu_si256(static_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

// Folds the halves of 16, 8, 4 and 2 lanes.
template <class Fold>
inline float FoldLanes(F a, Fold fold) {
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
  const F eight = fold(a, _mm512_castps256_ps512(high));
  const __m128 upper = _mm256_extractf128_ps(_mm512_castps512_ps256(eight), 1);
  const F four = fold(eight, _mm512_castps128_ps512(upper));
  const __m128 quarter = _mm512_castps512_ps128(four);
  const F two = fold(four, _mm512_castps128_ps512(_mm_movehl_ps(quarter, quarter)));
  const __m128 pair = _mm512_castps512_ps128(two);
  const F one = fold(two, _mm512_castps128_ps512(_mm_movehdup_ps(pair)));
  return _mm512_cvtss_f32(one);
}
inline float SumLanes(F a) {
  return FoldLanes(a, [](F x, F y) { return Add(x, y); });
}
inline float MaxLanes(F a) {
  return FoldLanes(a, [](F x, F y) { return Max(x, y); });
}
inline F KeepFirst(F a, int count, float rest) {
  if (count >= 16) return a;
  const __mmask16 keep = static_cast<__mmask16>((1U << count) - 1);
  return _mm512_mask_mov_ps(Set1(rest), keep, a);
}

inline I SetInt1(int32_t value) { return _mm512_set1_epi32(value); }
inline I AddInt(I a, I b) { return _mm512_add_epi32(a, b); }
inline int32_t SumInts(I a) { return _mm512_reduce_add_epi32(a); }
inline void StoreBytes(int8_t* p, I a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(a));
}

inline Q LoadQuants(const uint8_t* p) { return _mm512_load_si512(p); }
inline Q LowNibbles(Q q) { return _mm512_and_si512(q, _mm512_set1_epi8(15)); }
inline Q HighNibbles(Q q) {
  return _mm512_and_si512(_mm512_srli_epi16(q, 4), _mm512_set1_epi8(15));
}
inline X Broadcast(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm512_set1_epi32(four);
}
// An asm wrapper: GCC 12 and 14 spill the intrinsic's accumulators.
inline I DotNibbles(I acc, Q q, X x) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(q), "v"(x));
  return acc;
}
inline I DotBytes(I acc, Q q, X x) { return DotNibbles(acc, q, x); }
inline P StartNibbles(int32_t start) { return SetInt1(start); }
inline I FinishNibbles(P acc, int32_t) { return acc; }

}  // namespace
}  // namespace kernels

#include "kernels/leaf_table_maker.h"

namespace kernels {
const LeafTable kAvx512Leaves = MakeTable("avx512");
}
