// What the leaf kernels share; included by the leaf_*.h files after an instruction set's lanes.
//
// The leaf kernels are written once over 16 lanes; each instruction set brings its lanes. A leaf
// file (kernels/scalar, avx2, avx512) defines, in an unnamed namespace, the types and operations
// below and then includes leaf_table_maker.h:
//
//   F    16 floats: Load Store Set1 Zero Add Sub Mul Div Fma Max Abs ToInt FromInt PowerOfTwo
//        LoadHalf StoreHalf LoadBfloat SumLanes MaxLanes KeepFirst
//   I    16 int32: SetInt1 AddInt StoreBytes SumInts
//   Q    64 unsigned bytes, 16 rows x 4 k: LoadQuants LowNibbles HighNibbles
//   X    4 signed bytes for all rows: Broadcast
//   P    a dot of nibbles under way: StartNibbles DotNibbles FinishNibbles (8 dots at most)
//        a dot of bytes under way is an I: DotBytes adds 4 products per lane
//
//   kSignedBytes       DotBytes takes the stored bytes as signed (their offset is already gone)
//   kTileRows          most activation rows per tile
//   kTilePanels        panels per tile; kDecodePanels for one or two rows
//   kAttentionRows     most query rows per pass
//   kAccumulators      F that stay in registers during a pass of attention
//
// This is the arithmetic contract: which operations, in which order. Lanes are independent, and
// SumLanes and MaxLanes fold lane i with i + 8, then + 4, + 2, + 1, everywhere.
#pragma once

namespace kernels {
namespace {

inline int Least(int a, int b) { return a < b ? a : b; }

// Nearest integer, ties to even, for |x| < 2^22.
inline F Round(F x) {
  const F shift = Set1(12582912.0F);
  return Sub(Add(x, shift), shift);
}

// e^x for x in [-87, 88]; beyond, the value at the edge. Error below 2 ulp.
inline F Exp(F x) {
  x = Max(x, Set1(-87.0F));
  x = Sub(Zero(), Max(Sub(Zero(), x), Set1(-88.0F)));
  const F n = Round(Mul(x, Set1(1.44269504F)));
  F r = Fma(n, Set1(-0.693145752F), x);
  r = Fma(n, Set1(-1.42860677e-6F), r);
  F p = Set1(1.0F / 720);
  p = Fma(p, r, Set1(1.0F / 120));
  p = Fma(p, r, Set1(1.0F / 24));
  p = Fma(p, r, Set1(1.0F / 6));
  p = Fma(p, r, Set1(0.5F));
  p = Fma(p, r, Set1(1.0F));
  p = Fma(p, r, Set1(1.0F));
  return Mul(p, PowerOfTwo(n));
}

// Turns the first `visible` scores into weights e^(score - max); gives max and sum of weights.
inline void Weights(float* scores, int visible, float& maximum, float& total) {
  const float kNone = -__builtin_inff();
  F largest = Set1(kNone);
  for (int t = 0; t < visible; t += 16) {
    largest = Max(KeepFirst(Load(scores + t), visible - t, kNone), largest);
  }
  maximum = MaxLanes(largest);
  const F highest = Set1(maximum);
  F sum = Zero();
  for (int t = 0; t < visible; t += 16) {
    const F weight = KeepFirst(Exp(Sub(Load(scores + t), highest)), visible - t, 0.0F);
    Store(scores + t, weight);
    sum = Add(sum, weight);
  }
  total = SumLanes(sum);
}

}  // namespace
}  // namespace kernels
