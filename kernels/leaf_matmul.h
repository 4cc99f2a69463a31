// The product's leaf: the order in which tiles pass over the panels.
#pragma once

#include "kernels/leaf_tiles.h"

namespace kernels {
namespace {

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
  const uint8_t* next = tile.next;
  const float* x = job.floats + static_cast<size_t>(tile.row) * static_cast<size_t>(job.columns);
  for (int k = 0; k < job.columns; ++k) {
    if (k % kQuantBlock == 0) {
      for (int l = 0; l < tile.next_lines; ++l, next += 64) __builtin_prefetch(next, 0, 2);
    }
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

template <class Format, int kPanels, int kRows>
void RunRows(int rows, const Tile& tile) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      RunRows<Format, kPanels, kRows - 1>(rows, tile);
      return;
    }
  }
  if constexpr (requires { Format::kNibbles; }) {
    QuantTile<Format, kRows, kPanels>(tile);
  } else {
    FloatTile<Format, kRows, kPanels>(tile);
  }
}

// Panels outermost, so that a tile's panels stay in the first cache while all rows pass them; the
// panels of the next tile are fetched meanwhile.
template <class Format>
void MultiplyPanels(const MatmulJob& job) {
  const bool decodes = job.row_count <= 2;
  const int most_rows = decodes ? 2 : kTileRows;
  const int tiles = (job.row_count + most_rows - 1) / most_rows;
  const size_t blocks = static_cast<size_t>(job.columns / kQuantBlock);
  for (int panel = job.panel_begin; panel < job.panel_end;) {
    const int left = job.panel_end - panel;
    const int wanted = decodes ? kDecodePanels : kTilePanels;
    const int width = wanted <= left ? wanted : 1;
    Tile tile{&job, panel, 0, job.panels + static_cast<size_t>(panel + width) * job.panel_bytes, 0};
    const size_t ahead = static_cast<size_t>(Least(left - width, width)) * job.panel_bytes;
    const size_t turns = static_cast<size_t>(tiles) * blocks;
    tile.next_lines = static_cast<int>((ahead / 64 + turns - 1) / turns);
    for (int t = 0; t < tiles; ++t) {
      const int rows = (job.row_count - tile.row + tiles - t - 1) / (tiles - t);
      if (width == 1) {
        RunRows<Format, 1, kTileRows>(rows, tile);
      } else if (decodes) {
        RunRows<Format, kDecodePanels, 2>(rows, tile);
      } else {
        RunRows<Format, kTilePanels, kTileRows>(rows, tile);
      }
      tile.next += static_cast<size_t>(tile.next_lines) * 64 * blocks;
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

}  // namespace
}  // namespace kernels
