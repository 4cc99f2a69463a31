// The row-wise leaves, and the table of all leaves of an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/leaf_attention.h"
#include "kernels/leaf_math.h"
#include "kernels/leaf_matmul.h"
#include "kernels/leaf_table.h"

namespace kernels {
namespace {

// Per 32-block: scale = max |x| / 127, values = nearest(x * (1 / scale)). A block whose scale has
// no finite inverse counts as zero.
void Quantize(const float* floats, int columns, int8_t* values, size_t value_step, float* scales,
              int32_t* sums, size_t step) {
  constexpr float kLeast = 1e-37F;
  for (int b = 0; b < columns / kQuantBlock; ++b) {
    const F low = Load(floats + b * kQuantBlock);
    const F high = Load(floats + b * kQuantBlock + 16);
    const float scale = MaxLanes(Max(Abs(low), Abs(high))) / 127.0F;
    const F inverse = Set1(scale > kLeast ? 1.0F / scale : 0.0F);
    const I low_ints = ToInt(Mul(low, inverse));
    const I high_ints = ToInt(Mul(high, inverse));
    StoreBytes(values, low_ints);
    StoreBytes(values + 16, high_ints);
    *scales = scale;
    *sums = SumInts(AddInt(low_ints, high_ints));
    values += value_step;
    scales += step;
    sums += step;
  }
}

// Chunks in order; the output row collects the sums.
void Merge(const MergeJob& job) {
  float maximum = job.maxima[0];
  for (int c = 1; c < job.chunk_count; ++c) {
    const float candidate = job.maxima[static_cast<size_t>(c) * job.totals_stride];
    maximum = candidate > maximum ? candidate : maximum;
  }
  F total = Zero();
  for (int d = 0; d < job.head_dim; d += 16) Store(job.out + d, Zero());
  for (int c = 0; c < job.chunk_count; ++c) {
    const size_t at = static_cast<size_t>(c) * job.totals_stride;
    const float* sums = job.sums + static_cast<size_t>(c) * job.sums_stride;
    const F weight = Exp(Set1(job.maxima[at] - maximum));
    total = Fma(weight, Set1(job.totals[at]), total);
    for (int d = 0; d < job.head_dim; d += 16) {
      Store(job.out + d, Fma(weight, Load(sums + d), Load(job.out + d)));
    }
  }
  const F inverse = Div(Set1(1.0F), total);
  for (int d = 0; d < job.head_dim; d += 16) Store(job.out + d, Mul(Load(job.out + d), inverse));
}

void StoreToBlock(const float* key, const float* value, int head_dim, uint16_t* keys,
                  uint16_t* values, int slot) {
  for (int d = 0; d < head_dim; d += 16) {
    alignas(32) uint16_t halves[16];
    StoreHalf(halves, Load(key + d));
    for (int i = 0; i < 16; ++i) keys[(d + i) * kBlockTokens + slot] = halves[i];
    StoreHalf(values + static_cast<size_t>(slot) * static_cast<size_t>(head_dim) + d,
              Load(value + d));
  }
}

void Norm(const float* x, const float* weight, float epsilon, int width, float* out) {
  F squares = Zero();
  for (int i = 0; i < width; i += 16) {
    const F v = Load(x + i);
    squares = Fma(v, v, squares);
  }
  const float mean = SumLanes(squares) / static_cast<float>(width);
  const F factor = Set1(1.0F / __builtin_sqrtf(mean + epsilon));
  for (int i = 0; i < width; i += 16) {
    Store(out + i, Mul(Mul(Load(x + i), factor), Load(weight + i)));
  }
}

// Rotates up to 16 pairs that lie in registers.
inline void RotatePairs(const float* cosines, const float* sines, float* first, float* second) {
  const F a = Load(first);
  const F b = Load(second);
  const F c = Load(cosines);
  const F s = Load(sines);
  Store(first, Fma(Sub(Zero(), b), s, Mul(a, c)));
  Store(second, Fma(a, s, Mul(b, c)));
}

// A rest of fewer than 16 pairs goes through a padded copy, so that its bits are the same.
void Rotate(const float* cosines, const float* sines, int pairs, float* head) {
  int i = 0;
  for (; i + 16 <= pairs; i += 16) {
    RotatePairs(cosines + i, sines + i, head + i, head + pairs + i);
  }
  if (i == pairs) return;
  float rest[4][16] = {};
  for (int j = 0; i + j < pairs; ++j) {
    rest[0][j] = cosines[i + j];
    rest[1][j] = sines[i + j];
    rest[2][j] = head[i + j];
    rest[3][j] = head[pairs + i + j];
  }
  RotatePairs(rest[0], rest[1], rest[2], rest[3]);
  for (int j = 0; i + j < pairs; ++j) {
    head[i + j] = rest[2][j];
    head[pairs + i + j] = rest[3][j];
  }
}

void Gate(const float* gate, const float* up, int width, float* out) {
  const F one = Set1(1.0F);
  for (int i = 0; i < width; i += 16) {
    const F g = Load(gate + i);
    const F silu = Div(g, Add(one, Exp(Sub(Zero(), g))));
    Store(out + i, Mul(silu, Load(up + i)));
  }
}

void Accumulate(const float* y, int width, float* x) {
  for (int i = 0; i < width; i += 16) Store(x + i, Add(Load(x + i), Load(y + i)));
}

constexpr LeafTable MakeTable(const char* name) {
  return {name,         Multiply, AttendChunk, Merge, Quantize,
          StoreToBlock, Norm,     Rotate,      Gate,  Accumulate};
}

}  // namespace
}  // namespace kernels
