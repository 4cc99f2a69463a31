// Causal attention of query rows over a sequence's KV blocks (64 tokens each, float16).
//
// Inside a block, KV head h of this layer lies at layer_offset + h * head_stride:
// K transposed [head_dim][64], then V [64][head_dim].
//
// Work is cut into items (KV head, 256-token chunk counted from position 0), each giving partial
// sums for all query rows of that head (grouped-query heads share every load); a second phase
// merges a row's chunks in order. Chunk edges depend on absolute positions only, so a row's result
// does not depend on batch, chunking of the prefill, workers or instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/parallel.h"

namespace kernels {

inline constexpr int kKvBlockTokens = 64;
inline constexpr int kAttentionChunkTokens = 256;

struct AttentionShape {
  int head_count = 0;
  int kv_head_count = 0;
  int head_dim = 0;    // multiple of 16
  float scale = 0.0F;  // multiplies q . k
};

// Consecutive query rows of one sequence; row r is at first_position + r and sees 0..itself.
struct AttentionInput {
  const std::byte* const* blocks = nullptr;  // one base address per 64 tokens, in order
  std::size_t layer_offset = 0;
  std::size_t head_stride = 0;
  int first_position = 0;
  int row_count = 0;
  const float* queries = nullptr;  // [row_count][query_stride], head h at h * head_dim, rotated
  std::size_t query_stride = 0;
};

// Floats needed for the partial sums of row_count rows that see up to `visible_tokens` tokens.
std::size_t AttentionScratchFloats(const AttentionShape& shape, int row_count, int visible_tokens);

// Phase 1: this worker's share of the items. A barrier must follow.
void AttentionPartials(const AttentionShape& shape, const AttentionInput& input, float* scratch,
                       const Worker& worker);

// Phase 2: this worker's share of the (row, head) merges into out [row_count][out_stride], head h
// at h * head_dim.
void AttentionMerge(const AttentionShape& shape, const AttentionInput& input, const float* scratch,
                    float* out, std::size_t out_stride, const Worker& worker);

// Writes one token's key and value of one KV head into its block as float16.
//
//   key, value  [head_dim] float32 (key rotated)
//   head_base   start of this layer's and head's part inside the block
//   slot        0..63
void StoreKeyValue(const float* key, const float* value, int head_dim, std::byte* head_base,
                   int slot);

}  // namespace kernels
