// Attention's leaves: one chunk of 256 tokens for all query rows of a KV head; the merge.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/leaf_math.h"
#include "kernels/leaf_table.h"

namespace kernels {
namespace {

constexpr int kChunkTokens = 256;
constexpr int kBlockTokens = 64;

// Vectors that kRows rows pass at once: as many as registers hold, so that loads are shared and no
// fma waits for the one before.
template <int kRows>
constexpr int kVectors = kRows * 4 <= kAccumulators   ? 4
                         : kRows * 2 <= kAccumulators ? 2
                                                      : 1;

inline const float* QueryOf(const AttentionJob& job, int item) {
  const size_t row = static_cast<size_t>(item / job.group);
  return job.queries + row * job.query_stride +
         static_cast<size_t>(item % job.group) * static_cast<size_t>(job.head_dim);
}

inline int VisibleTo(const AttentionJob& job, int item) {
  return Least(job.first_visible + item / job.group, kChunkTokens);
}

inline const uint8_t* ValuesOf(const AttentionJob& job, int token) {
  const size_t row_bytes = static_cast<size_t>(job.head_dim) * 2;
  return job.heads[token / kBlockTokens] + row_bytes * kBlockTokens +
         static_cast<size_t>(token % kBlockTokens) * row_bytes;
}

// scores[m][t] = scale * (q[m] . k[t]), dimensions in order.
template <int kRows>
inline void Scores(const AttentionJob& job, int item, int visible,
                   float (&scores)[kRows][kChunkTokens]) {
  constexpr int kWidth = kVectors<kRows>;
  const F scale = Set1(job.scale);
  const float* query[kRows];
  for (int m = 0; m < kRows; ++m) query[m] = QueryOf(job, item + m);
  for (int t = 0; t < visible; t += kWidth * 16) {
    const uint8_t* keys = job.heads[t / kBlockTokens] + static_cast<size_t>(t % kBlockTokens) * 2;
    F sum[kRows][kWidth];
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kWidth; ++n) sum[m][n] = Zero();
    }
    for (int d = 0; d < job.head_dim; ++d) {
      const uint8_t* line = keys + static_cast<size_t>(d) * kBlockTokens * 2;
      if constexpr (kWidth == 4) {  // the values follow
        const uint8_t* ahead = line + static_cast<size_t>(job.head_dim) * kBlockTokens * 2;
        __builtin_prefetch(ahead, 0, 3);
        __builtin_prefetch(ahead + 64, 0, 3);
      }
      F key[kWidth];
      for (int n = 0; n < kWidth; ++n) key[n] = LoadHalf(line + n * 32);
      for (int m = 0; m < kRows; ++m) {
        const F q = Set1(query[m][d]);
        for (int n = 0; n < kWidth; ++n) sum[m][n] = Fma(key[n], q, sum[m][n]);
      }
    }
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kWidth; ++n) Store(scores[m] + t + n * 16, Mul(sum[m][n], scale));
    }
  }
}

// sums[m][d] = sum over t of weight[m][t] * v[t][d], tokens in order, for kWidth vectors from d on.
// A row never touches tokens that it can't see (they may hold anything).
template <int kRows, int kWidth>
inline void WeightedValues(const AttentionJob& job, int item, int d,
                           const float (&weights)[kRows][kChunkTokens]) {
  const int shared = VisibleTo(job, item);  // the first row of the pass sees least
  F sum[kRows][kWidth];
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kWidth; ++n) sum[m][n] = Zero();
  }
  for (int t = 0; t < shared; ++t) {
    const uint8_t* values = ValuesOf(job, t) + static_cast<size_t>(d) * 2;
    F value[kWidth];
    for (int n = 0; n < kWidth; ++n) value[n] = LoadHalf(values + n * 32);
    if constexpr (kWidth == 4) {
      const uint8_t* ahead = job.next[t / kBlockTokens] + (values - job.heads[t / kBlockTokens]) -
                             static_cast<size_t>(job.head_dim) * kBlockTokens * 2;
      __builtin_prefetch(ahead, 0, 3);
      __builtin_prefetch(ahead + 64, 0, 3);
    }
    for (int m = 0; m < kRows; ++m) {
      const F w = Set1(weights[m][t]);
      for (int n = 0; n < kWidth; ++n) sum[m][n] = Fma(value[n], w, sum[m][n]);
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int t = shared; t < VisibleTo(job, item + m); ++t) {
      const uint8_t* values = ValuesOf(job, t) + static_cast<size_t>(d) * 2;
      const F w = Set1(weights[m][t]);
      for (int n = 0; n < kWidth; ++n) sum[m][n] = Fma(LoadHalf(values + n * 32), w, sum[m][n]);
    }
    float* out = job.sums + static_cast<size_t>(item + m) * static_cast<size_t>(job.head_dim) + d;
    for (int n = 0; n < kWidth; ++n) Store(out + n * 16, sum[m][n]);
  }
}

template <int kRows>
__attribute__((noinline)) void AttendRows(const AttentionJob& job, int item) {
  constexpr int kWidth = kVectors<kRows>;
  alignas(64) float scores[kRows][kChunkTokens];
  Scores<kRows>(job, item, VisibleTo(job, item + kRows - 1), scores);
  for (int m = 0; m < kRows; ++m) {
    Weights(scores[m], VisibleTo(job, item + m), job.maxima[item + m], job.totals[item + m]);
  }
  int d = 0;
  for (; d + kWidth * 16 <= job.head_dim; d += kWidth * 16) {
    WeightedValues<kRows, kWidth>(job, item, d, scores);
  }
  for (; d < job.head_dim; d += 16) WeightedValues<kRows, 1>(job, item, d, scores);
}

template <int kRows>
void AttendUpTo(int rows, const AttentionJob& job, int item) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      AttendUpTo<kRows - 1>(rows, job, item);
      return;
    }
  }
  AttendRows<kRows>(job, item);
}

void AttendChunk(const AttentionJob& job) {
  const int items = job.row_count * job.group;
  int item = job.first_visible > 0 ? 0 : Least(items, (1 - job.first_visible) * job.group);
  while (item < items) {
    const int rows = Least(kAttentionRows, items - item);
    AttendUpTo<kAttentionRows>(rows, job, item);
    item += rows;
  }
}

}  // namespace
}  // namespace kernels
