// 16 lanes in plain C++: what "correct" means for all instruction sets.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/half.h"
#include "kernels/leaf_table.h"

namespace kernels {
namespace {

struct F {
  float lane[16];
};
struct I {
  int32_t lane[16];
};
struct Q {
  uint8_t byte[64];
};
struct X {
  int8_t byte[4];
};

using P = I;

constexpr bool kSignedBytes = false;
constexpr int kTileRows = 4;
constexpr int kTilePanels = 2;
constexpr int kDecodePanels = 4;
constexpr int kAttentionRows = 4;
constexpr int kAccumulators = 8;

template <class Make>
inline F Each(Make make) {
  F result;
  for (int i = 0; i < 16; ++i) result.lane[i] = make(i);
  return result;
}
template <class Make>
inline I EachInt(Make make) {
  I result;
  for (int i = 0; i < 16; ++i) result.lane[i] = make(i);
  return result;
}

inline F Load(const float* p) {
  return Each([&](int i) { return p[i]; });
}
inline void Store(float* p, F x) { memcpy(p, x.lane, sizeof x.lane); }
inline F Set1(float value) {
  return Each([&](int) { return value; });
}
inline F Zero() { return Set1(0.0F); }
inline F Add(F a, F b) {
  return Each([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline F Sub(F a, F b) {
  return Each([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline F Mul(F a, F b) {
  return Each([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline F Div(F a, F b) {
  return Each([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline F Fma(F a, F b, F c) {
  return Each([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline F Max(F a, F b) {
  return Each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline F Abs(F a) {
  return Each([&](int i) { return FloatFromBits(BitsOf(a.lane[i]) & 0x7FFFFFFFU); });
}
// Nearest, ties to even. Requires: |a| < 2^22.
inline I ToInt(F a) {
  const float shift = 12582912.0F;
  return EachInt([&](int i) { return static_cast<int32_t>((a.lane[i] + shift) - shift); });
}
inline F FromInt(I a) {
  return Each([&](int i) { return static_cast<float>(a.lane[i]); });
}
inline F PowerOfTwo(F n) {
  const I exponent = ToInt(n);
  return Each(
      [&](int i) { return FloatFromBits(static_cast<uint32_t>(exponent.lane[i] + 127) << 23); });
}
inline F LoadHalf(const void* p) {
  uint16_t halves[16];
  memcpy(halves, p, sizeof halves);
  return Each([&](int i) { return HalfToFloat(halves[i]); });
}
inline void StoreHalf(uint16_t* p, F a) {
  for (int i = 0; i < 16; ++i) p[i] = FloatToHalf(a.lane[i]);
}
inline F LoadBfloat(const void* p) {
  uint16_t values[16];
  memcpy(values, p, sizeof values);
  return Each([&](int i) { return BfloatToFloat(values[i]); });
}
inline float SumLanes(F a) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a.lane[i] = a.lane[i] + a.lane[i + half];
  }
  return a.lane[0];
}
inline float MaxLanes(F a) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      a.lane[i] = a.lane[i] > a.lane[i + half] ? a.lane[i] : a.lane[i + half];
    }
  }
  return a.lane[0];
}
inline F KeepFirst(F a, int count, float rest) {
  return Each([&](int i) { return i < count ? a.lane[i] : rest; });
}

inline I SetInt1(int32_t value) {
  return EachInt([&](int) { return value; });
}
inline I AddInt(I a, I b) {
  return EachInt([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline int32_t SumInts(I a) {
  int32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += a.lane[i];
  return sum;
}
inline void StoreBytes(int8_t* p, I a) {
  for (int i = 0; i < 16; ++i) {
    const int32_t v = a.lane[i];
    p[i] = static_cast<int8_t>(v < -128 ? -128 : v > 127 ? 127 : v);
  }
}

inline Q LoadQuants(const uint8_t* p) {
  Q q;
  memcpy(q.byte, p, sizeof q.byte);
  return q;
}
inline Q LowNibbles(Q q) {
  for (uint8_t& byte : q.byte) byte = byte & 15;
  return q;
}
inline Q HighNibbles(Q q) {
  for (uint8_t& byte : q.byte) byte = static_cast<uint8_t>(byte >> 4);
  return q;
}
inline X Broadcast(const int8_t* p) {
  X x;
  memcpy(x.byte, p, sizeof x.byte);
  return x;
}
inline I DotNibbles(I acc, Q q, X x) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 4; ++j) acc.lane[i] += q.byte[i * 4 + j] * x.byte[j];
  }
  return acc;
}
inline I DotBytes(I acc, Q q, X x) { return DotNibbles(acc, q, x); }
inline P StartNibbles(int32_t start) { return SetInt1(start); }
inline I FinishNibbles(P acc, int32_t) { return acc; }

}  // namespace
}  // namespace kernels

#include "kernels/leaf_table_maker.h"

namespace kernels {
const LeafTable kScalarLeaves = MakeTable("scalar");
}
