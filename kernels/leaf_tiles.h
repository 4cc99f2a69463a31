// Tiles of the products: a few neighbouring panels times a few rows of activations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/leaf_math.h"
#include "kernels/leaf_table.h"
#include "kernels/weight_formats.h"

namespace kernels {
namespace {

// Layout of a panel's units (kernels/weight_formats.h).
template <bool kHasNibbles, bool kHasMinimum, int kZero>
struct QuantPanels {
  static constexpr bool kNibbles = kHasNibbles;
  static constexpr bool kMinimum = kHasMinimum;
  static constexpr int kOffset = kZero;  // the stored quant that means zero
  static constexpr size_t kQuantBytes = kNibbles ? 256 : 512;
  static constexpr size_t kUnitBytes = 2 * kQuantBytes + (kMinimum ? 128 : 64);
};
using NibblesWithScale = QuantPanels<true, false, 8>;
using NibblesWithMinimum = QuantPanels<true, true, 0>;
using BytesWithScale = QuantPanels<false, false, kSignedBytes ? 0 : 128>;

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

// Sets dots to the exact dots of one 32-block.
template <class Format, int kRows, int kPanels>
inline void DotBlock(I (&dots)[kRows][kPanels], const uint8_t* const (&quants)[kPanels],
                     const int8_t* values, const int32_t* sums) {
  if constexpr (Format::kNibbles) {
    P acc[kRows][kPanels];
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kPanels; ++n) acc[m][n] = StartNibbles(-Format::kOffset * sums[m]);
    }
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
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kPanels; ++n) {
        dots[m][n] = FinishNibbles(acc[m][n], -Format::kOffset * sums[m]);
      }
    }
  } else {
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kPanels; ++n) dots[m][n] = SetInt1(-Format::kOffset * sums[m]);
    }
    for (int g = 0; g < 8; ++g) {
      Q w[kPanels];
      for (int n = 0; n < kPanels; ++n) w[n] = LoadQuants(quants[n] + g * 64);
      for (int m = 0; m < kRows; ++m) {
        const X x = Broadcast(values + m * kQuantBlock + g * 4);
        for (int n = 0; n < kPanels; ++n) dots[m][n] = DotBytes(dots[m][n], w[n], x);
      }
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
  const size_t step = static_cast<size_t>(job.row_count);
  const int8_t* values = job.values + static_cast<size_t>(tile.row) * kQuantBlock;
  const float* scales = job.scales + tile.row;
  const int32_t* sums = job.sums + tile.row;
  for (int b = 0; b < job.columns / kQuantBlock; ++b) {
    for (int l = 0; l < tile.next_lines; ++l, next += 64) __builtin_prefetch(next, 0, 2);
    const size_t unit = static_cast<size_t>(b / 2) * Format::kUnitBytes;
    const size_t half = static_cast<size_t>(b % 2);
    const uint8_t* quants[kPanels];
    for (int n = 0; n < kPanels; ++n) quants[n] = panels[n] + unit + half * Format::kQuantBytes;
    I dots[kRows][kPanels];
    DotBlock<Format, kRows, kPanels>(dots, quants, values, sums);
    for (int n = 0; n < kPanels; ++n) {
      const uint8_t* factors = panels[n] + unit + 2 * Format::kQuantBytes + half * 32;
      const F scale = LoadHalf(factors);
      for (int m = 0; m < kRows; ++m) {
        sum[m][n] = Fma(FromInt(dots[m][n]), Mul(scale, Set1(scales[m])), sum[m][n]);
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

}  // namespace
}  // namespace kernels
