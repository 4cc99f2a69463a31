// Dots without VNNI: products in pairs of 16 bits.
#include <immintrin.h>

#include "kernels/avx2/avx2_lanes.h"

namespace kernels {
namespace {

constexpr bool kSignedBytes = true;

// Sums of 16 products in each int16 lane fit: 16 * 15 * 127 < 2^15.
struct P {
  __m256i low;
  __m256i high;
};
inline P StartNibbles(int32_t) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline P DotNibbles(P acc, Q q, X x) {
  return {_mm256_add_epi16(acc.low, _mm256_maddubs_epi16(q.low, x)),
          _mm256_add_epi16(acc.high, _mm256_maddubs_epi16(q.high, x))};
}
inline __m256i WidenPairs(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
inline I FinishNibbles(P acc, int32_t start) {
  return AddInt({WidenPairs(acc.low), WidenPairs(acc.high)}, SetInt1(start));
}

// Unsigned bytes would overflow the pairs: |w| times x with w's sign fits, 2 * 128 * 127.
inline __m256i DotSignedHalf(__m256i acc, __m256i q, __m256i x) {
  const __m256i w = _mm256_xor_si256(q, _mm256_set1_epi8(-128));
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  return _mm256_add_epi32(acc, WidenPairs(pairs));
}
inline I DotBytes(I acc, Q q, X x) {
  return {DotSignedHalf(acc.low, q.low, x), DotSignedHalf(acc.high, q.high, x)};
}

}  // namespace
}  // namespace kernels

#include "kernels/leaf_table_maker.h"

namespace kernels {
const LeafTable kAvx2Leaves = MakeTable("avx2");
}
