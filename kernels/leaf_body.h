// The leaf kernels, written once over 16 lanes; each instruction set brings its lanes.
//
// A leaf file (kernels/scalar, avx2, avx512) defines, in an unnamed namespace, the types and the
// operations used below and then includes this file:
//
//   F    16 floats: Load Store Set1 Zero Add Sub Mul Div Fma Max Abs ToInt FromInt PowerOfTwo
//        LoadHalf StoreHalf LoadBfloat SumLanes MaxLanes KeepFirst
//   I    16 int32: SetInt1 AddInt StoreBytes SumInts
//   Q    64 unsigned bytes, 16 rows x 4 k: LoadQuants LowNibbles HighNibbles
//   X    4 signed bytes for all rows: Broadcast;  DotNibbles DotBytes add 4 products per lane
//   kSignedBytes  DotBytes takes the stored bytes as signed (offset already gone)
//   kTileRows     most activation rows per tile
//
// This is the arithmetic contract: which operations, in which order. Lanes are independent, and
// SumLanes and MaxLanes fold lane i with i + 8, then + 4, + 2, + 1, everywhere.
// IWYU pragma: private
#pragma once

#include "kernels/leaf_table.h"
#include "kernels/weight_formats.h"

namespace kernels {
namespace {

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

// Layout of a panel's units (kernels/weight_formats.h).
struct NibblesWithScale {
  static constexpr bool kNibbles = true;
  static constexpr bool kMinimum = false;
  static constexpr int kOffset = 8;
  static constexpr size_t kQuantBytes = 256;
  static constexpr size_t kUnitBytes = 2 * 256 + 64;
};
struct NibblesWithMinimum {
  static constexpr bool kNibbles = true;
  static constexpr bool kMinimum = true;
  static constexpr int kOffset = 0;
  static constexpr size_t kQuantBytes = 256;
  static constexpr size_t kUnitBytes = 2 * 256 + 2 * 64;
};
struct BytesWithScale {
  static constexpr bool kNibbles = false;
  static constexpr bool kMinimum = false;
  static constexpr int kOffset = kSignedBytes ? 0 : 128;
  static constexpr size_t kQuantBytes = 512;
  static constexpr size_t kUnitBytes = 2 * 512 + 64;
};

// A few neighbouring panels times a few rows.
struct Tile {
  const MatmulJob* job;
  int panel;
  int row;
  const uint8_t* next;  // what to prefetch while this tile is multiplied
  int next_lines;       // 64-byte lines of it per 32-block
};

inline void StoreTile(const Tile& tile, int panel_index, int row_index, F value) {
  const MatmulJob& job = *tile.job;
  const int first = (tile.panel + panel_index) * kPanelRows;
  float* out = job.y + static_cast<size_t>(tile.row + row_index) * job.y_stride + first;
  const int left = job.rows - first;
  if (left >= kPanelRows) {
    Store(out, value);
    return;
  }
  alignas(64) float lanes[kPanelRows];
  Store(lanes, value);
  for (int i = 0; i < left; ++i) out[i] = lanes[i];
}

template <int kRows, int kPanels>
inline void DotBlock(I (&acc)[kRows][kPanels], const uint8_t* const (&quants)[kPanels],
                     const int8_t* values, NibblesWithScale) {
  for (int g = 0; g < 4; ++g) {
    Q low[kPanels];
    Q high[kPanels];
    for (int n = 0; n < kPanels; ++n) {
      const Q both = LoadQuants(quants[n] + g * 64);
      low[n] = LowNibbles(both);
      high[n] = HighNibbles(both);
    }
    for (int m = 0; m < kRows; ++m) {
      const X x = Broadcast(values + m * kQuantBlock + g * 4);
      for (int n = 0; n < kPanels; ++n) acc[m][n] = DotNibbles(acc[m][n], low[n], x);
      const X x2 = Broadcast(values + m * kQuantBlock + 16 + g * 4);
      for (int n = 0; n < kPanels; ++n) acc[m][n] = DotNibbles(acc[m][n], high[n], x2);
    }
  }
}

template <int kRows, int kPanels>
inline void DotBlock(I (&acc)[kRows][kPanels], const uint8_t* const (&quants)[kPanels],
                     const int8_t* values, NibblesWithMinimum) {
  DotBlock<kRows, kPanels>(acc, quants, values, NibblesWithScale{});
}

template <int kRows, int kPanels>
inline void DotBlock(I (&acc)[kRows][kPanels], const uint8_t* const (&quants)[kPanels],
                     const int8_t* values, BytesWithScale) {
  for (int g = 0; g < 8; ++g) {
    Q w[kPanels];
    for (int n = 0; n < kPanels; ++n) w[n] = LoadQuants(quants[n] + g * 64);
    for (int m = 0; m < kRows; ++m) {
      const X x = Broadcast(values + m * kQuantBlock + g * 4);
      for (int n = 0; n < kPanels; ++n) acc[m][n] = DotBytes(acc[m][n], w[n], x);
    }
  }
}

// Per 32-block an exact int32 dot, then one fma (with a minimum: a second one for it).
template <class Format, int kRows, int kPanels>
__attribute__((noinline)) void QuantTile(const Tile& tile) {
  const MatmulJob& job = *tile.job;
  F sum[kRows][kPanels];
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kPanels; ++n) sum[m][n] = Zero();
  }
  const uint8_t* panels[kPanels];
  for (int n = 0; n < kPanels; ++n) {
    panels[n] = job.panels + static_cast<size_t>(tile.panel + n) * job.panel_bytes;
  }
  const uint8_t* next = tile.next;
  const int blocks = job.columns / kQuantBlock;
  const size_t step = static_cast<size_t>(job.row_count);
  const int8_t* values = job.values + static_cast<size_t>(tile.row) * kQuantBlock;
  const float* scales = job.scales + tile.row;
  const int32_t* sums = job.sums + tile.row;
  for (int b = 0; b < blocks; ++b) {
    for (int l = 0; l < tile.next_lines; ++l, next += 64) __builtin_prefetch(next, 0, 2);
    const size_t unit = static_cast<size_t>(b / 2) * Format::kUnitBytes;
    const size_t half = static_cast<size_t>(b % 2);
    const uint8_t* quants[kPanels];
    for (int n = 0; n < kPanels; ++n) quants[n] = panels[n] + unit + half * Format::kQuantBytes;
    I acc[kRows][kPanels];
    for (int m = 0; m < kRows; ++m) {
      const I start = SetInt1(-Format::kOffset * sums[m]);
      for (int n = 0; n < kPanels; ++n) acc[m][n] = start;
    }
    DotBlock<kRows, kPanels>(acc, quants, values, Format{});
    for (int n = 0; n < kPanels; ++n) {
      const uint8_t* factors = panels[n] + unit + 2 * Format::kQuantBytes + half * 32;
      const F scale = LoadHalf(factors);
      for (int m = 0; m < kRows; ++m) {
        sum[m][n] = Fma(FromInt(acc[m][n]), Mul(scale, Set1(scales[m])), sum[m][n]);
      }
      if constexpr (Format::kMinimum) {
        const F minimum = LoadHalf(factors + 64);
        for (int m = 0; m < kRows; ++m) {
          const F x = Set1(scales[m] * static_cast<float>(sums[m]));
          sum[m][n] = Fma(minimum, x, sum[m][n]);
        }
      }
    }
    values += step * kQuantBlock;
    scales += step;
    sums += step;
  }
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kPanels; ++n) StoreTile(tile, n, m, sum[m][n]);
  }
}

struct HalfPanels {
  static F LoadWeights(const uint8_t* bytes) { return LoadHalf(bytes); }
};
struct BfloatPanels {
  static F LoadWeights(const uint8_t* bytes) { return LoadBfloat(bytes); }
};

// One fma per weight, in K order.
template <class Format, int kRows, int kPanels>
__attribute__((noinline)) void FloatTile(const Tile& tile) {
  const MatmulJob& job = *tile.job;
  F sum[kRows][kPanels];
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kPanels; ++n) sum[m][n] = Zero();
  }
  const float* x = job.floats + static_cast<size_t>(tile.row) * static_cast<size_t>(job.columns);
  for (int k = 0; k < job.columns; ++k) {
    for (int n = 0; n < kPanels; ++n) {
      const uint8_t* panel = job.panels + static_cast<size_t>(tile.panel + n) * job.panel_bytes;
      const F w = Format::LoadWeights(panel + static_cast<size_t>(k) * 2 * kPanelRows);
      for (int m = 0; m < kRows; ++m) {
        const size_t at = static_cast<size_t>(m) * static_cast<size_t>(job.columns);
        sum[m][n] = Fma(w, Set1(x[at + static_cast<size_t>(k)]), sum[m][n]);
      }
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kPanels; ++n) StoreTile(tile, n, m, sum[m][n]);
  }
}

template <class Format, int kRows, int kPanels>
void RunTile(const Tile& tile) {
  if constexpr (requires { Format::kNibbles; }) {
    QuantTile<Format, kRows, kPanels>(tile);
  } else {
    FloatTile<Format, kRows, kPanels>(tile);
  }
}

template <class Format, int kPanels, int kRows = kTileRows>
void RunRows(int rows, const Tile& tile) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      RunRows<Format, kPanels, kRows - 1>(rows, tile);
      return;
    }
  }
  RunTile<Format, kRows, kPanels>(tile);
}

// Panels outermost, so that a panel pair stays in the first cache while all rows pass it.
template <class Format>
void MultiplyPanels(const MatmulJob& job) {
  const int tiles = (job.row_count + kTileRows - 1) / kTileRows;
  const int blocks = job.columns / kQuantBlock;
  for (int panel = job.panel_begin; panel < job.panel_end;) {
    const int left = job.panel_end - panel;
    const int width = job.row_count <= 2 && left >= 4 ? 4 : left >= 2 ? 2 : 1;
    Tile tile{&job, panel, 0, job.panels + static_cast<size_t>(panel + width) * job.panel_bytes, 0};
    const size_t ahead = static_cast<size_t>(left > width ? width : 0) * job.panel_bytes;
    const size_t turns = static_cast<size_t>(tiles) * static_cast<size_t>(blocks);
    tile.next_lines = static_cast<int>((ahead / 64 + turns - 1) / turns);
    for (int t = 0; t < tiles; ++t) {
      const int rows = (job.row_count - tile.row + tiles - t - 1) / (tiles - t);
      if (width == 4) {
        RunRows<Format, 4, 2>(rows, tile);
      } else if (width == 2) {
        RunRows<Format, 2>(rows, tile);
      } else {
        RunRows<Format, 1>(rows, tile);
      }
      tile.next += static_cast<size_t>(tile.next_lines) * 64 * static_cast<size_t>(blocks);
      tile.row += rows;
    }
    panel += width;
  }
}

void Multiply(const MatmulJob& job) {
  switch (static_cast<WeightFormat>(job.format)) {
    case WeightFormat::kQ4_0:
      return MultiplyPanels<NibblesWithScale>(job);
    case WeightFormat::kQ4_1:
      return MultiplyPanels<NibblesWithMinimum>(job);
    case WeightFormat::kQ8_0:
      return MultiplyPanels<BytesWithScale>(job);
    case WeightFormat::kF16:
      return MultiplyPanels<HalfPanels>(job);
    case WeightFormat::kBF16:
      return MultiplyPanels<BfloatPanels>(job);
    case WeightFormat::kF32:
      break;
  }
  __builtin_trap();
}

// Per 32-block: scale = max |x| / 127, values = nearest(x * (1 / scale)).
void Quantize(const float* floats, int columns, int8_t* values, size_t value_step, float* scales,
              int32_t* sums, size_t step) {
  for (int b = 0; b < columns / kQuantBlock; ++b) {
    const F low = Load(floats + b * kQuantBlock);
    const F high = Load(floats + b * kQuantBlock + 16);
    const float scale = MaxLanes(Max(Abs(low), Abs(high))) / 127.0F;
    const F inverse = Set1(scale > 0.0F ? 1.0F / scale : 0.0F);
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

constexpr int kChunkTokens = 256;
constexpr int kBlockTokens = 64;

inline int Least(int a, int b) { return a < b ? a : b; }

inline const float* QueryOf(const AttentionJob& job, int item) {
  const size_t row = static_cast<size_t>(item / job.group);
  return job.queries + row * job.query_stride +
         static_cast<size_t>(item % job.group) * static_cast<size_t>(job.head_dim);
}

inline int VisibleTo(const AttentionJob& job, int item) {
  return Least(job.first_visible + item / job.group, kChunkTokens);
}

// scores[m][t] = scale * (q[m] . k[t]), dimensions in order.
template <int kRows>
inline void Scores(const AttentionJob& job, int item, int visible,
                   float (&scores)[kRows][kChunkTokens]) {
  const F scale = Set1(job.scale);
  for (int t = 0; t < visible; t += 16) {
    const uint8_t* keys = job.heads[t / kBlockTokens] + static_cast<size_t>(t % kBlockTokens) * 2;
    F sum[kRows];
    const float* query[kRows];
    for (int m = 0; m < kRows; ++m) {
      sum[m] = Zero();
      query[m] = QueryOf(job, item + m);
    }
    for (int d = 0; d < job.head_dim; ++d) {
      const F key = LoadHalf(keys + static_cast<size_t>(d) * kBlockTokens * 2);
      for (int m = 0; m < kRows; ++m) sum[m] = Fma(key, Set1(query[m][d]), sum[m]);
    }
    for (int m = 0; m < kRows; ++m) Store(scores[m] + t, Mul(sum[m], scale));
  }
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

// sums[m][d] = sum over t of weight[m][t] * v[t][d], tokens in order; a row never touches tokens
// that it can't see (they may hold anything).
template <int kRows>
inline void WeightedValues(const AttentionJob& job, int item,
                           const float (&weights)[kRows][kChunkTokens], float* sums) {
  const int shared = VisibleTo(job, item);  // the first row of the tile sees least
  const size_t row_bytes = static_cast<size_t>(job.head_dim) * 2;
  const size_t keys_bytes = row_bytes * kBlockTokens;
  for (int d = 0; d < job.head_dim; d += 16) {
    F sum[kRows];
    for (int m = 0; m < kRows; ++m) sum[m] = Zero();
    for (int t = 0; t < shared; ++t) {
      const uint8_t* values = job.heads[t / kBlockTokens] + keys_bytes +
                              static_cast<size_t>(t % kBlockTokens) * row_bytes;
      const F value = LoadHalf(values + static_cast<size_t>(d) * 2);
      for (int m = 0; m < kRows; ++m) sum[m] = Fma(value, Set1(weights[m][t]), sum[m]);
    }
    for (int m = 0; m < kRows; ++m) {
      for (int t = shared; t < VisibleTo(job, item + m); ++t) {
        const uint8_t* values = job.heads[t / kBlockTokens] + keys_bytes +
                                static_cast<size_t>(t % kBlockTokens) * row_bytes;
        sum[m] = Fma(LoadHalf(values + static_cast<size_t>(d) * 2), Set1(weights[m][t]), sum[m]);
      }
      Store(sums + static_cast<size_t>(m) * static_cast<size_t>(job.head_dim) + d, sum[m]);
    }
  }
}

template <int kRows>
__attribute__((noinline)) void AttendRows(const AttentionJob& job, int item) {
  alignas(64) float scores[kRows][kChunkTokens];
  Scores<kRows>(job, item, VisibleTo(job, item + kRows - 1), scores);
  for (int m = 0; m < kRows; ++m) {
    Weights(scores[m], VisibleTo(job, item + m), job.maxima[item + m], job.totals[item + m]);
  }
  WeightedValues<kRows>(
      job, item, scores,
      job.sums + static_cast<size_t>(item) * static_cast<size_t>(job.head_dim));
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
    const int rows = Least(kTileRows, items - item);
    AttendUpTo<kTileRows>(rows, job, item);
    item += rows;
  }
}

void Merge(const MergeJob& job) {
  float maximum = job.maxima[0];
  for (int c = 1; c < job.chunk_count; ++c) {
    const float candidate = job.maxima[static_cast<size_t>(c) * job.totals_stride];
    maximum = candidate > maximum ? candidate : maximum;
  }
  F total = Zero();
  for (int c = 0; c < job.chunk_count; ++c) {
    const size_t at = static_cast<size_t>(c) * job.totals_stride;
    const F weight = Exp(Set1(job.maxima[at] - maximum));
    total = Fma(weight, Set1(job.totals[at]), total);
  }
  const F inverse = Div(Set1(1.0F), total);
  for (int d = 0; d < job.head_dim; d += 16) {
    F sum = Zero();
    for (int c = 0; c < job.chunk_count; ++c) {
      const size_t at = static_cast<size_t>(c) * job.totals_stride;
      const F weight = Exp(Set1(job.maxima[at] - maximum));
      sum = Fma(weight, Load(job.sums + static_cast<size_t>(c) * job.sums_stride + d), sum);
    }
    Store(job.out + d, Mul(sum, inverse));
  }
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
  const F factor = Set1(1.0F / SquareRoot(mean + epsilon));
  for (int i = 0; i < width; i += 16) {
    Store(out + i, Mul(Mul(Load(x + i), factor), Load(weight + i)));
  }
}

// Lanes of 16 pairs; a rest of fewer goes through a padded copy, so that its bits are the same.
void Rotate(const float* cosines, const float* sines, int pairs, float* head) {
  for (int i = 0; i < pairs; i += 16) {
    const int count = Least(16, pairs - i);
    float first[16] = {};
    float second[16] = {};
    float cosine[16] = {};
    float sine[16] = {};
    for (int j = 0; j < count; ++j) {
      first[j] = head[i + j];
      second[j] = head[pairs + i + j];
      cosine[j] = cosines[i + j];
      sine[j] = sines[i + j];
    }
    const F a = Load(first);
    const F b = Load(second);
    const F c = Load(cosine);
    const F s = Load(sine);
    Store(first, Fma(Sub(Zero(), b), s, Mul(a, c)));
    Store(second, Fma(a, s, Mul(b, c)));
    for (int j = 0; j < count; ++j) {
      head[i + j] = first[j];
      head[pairs + i + j] = second[j];
    }
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
  return {name, Multiply, AttendChunk, Merge, Quantize, StoreToBlock, Norm, Rotate, Gate,
          Accumulate};
}

}  // namespace
}  // namespace kernels
