// Dots of the machines that have VNNI but not AVX-512.
#include <immintrin.h>

#include "kernels/avx2/avx2_lanes.h"

namespace kernels {
namespace {

constexpr bool kSignedBytes = false;

using P = I;
// An asm wrapper: GCC 12 and 14 spill the intrinsic's accumulators.
inline __m256i DotHalf(__m256i acc, __m256i q, __m256i x) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(q), "x"(x));
  return acc;
}
inline P StartNibbles(int32_t start) { return SetInt1(start); }
inline P DotNibbles(P acc, Q q, X x) {
  return {DotHalf(acc.low, q.low, x), DotHalf(acc.high, q.high, x)};
}
inline I FinishNibbles(P acc, int32_t) { return acc; }
inline I DotBytes(I acc, Q q, X x) { return DotNibbles(acc, q, x); }

}  // namespace
}  // namespace kernels

#include "kernels/leaf_table_maker.h"

namespace kernels {
const LeafTable kAvxVnniLeaves = MakeTable("avxvnni");
}
