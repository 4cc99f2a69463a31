#include "kernels/attention.h"

#include <algorithm>
#include <cassert>

#include "kernels/isa.h"

namespace kernels {
namespace {

constexpr int kChunkBlocks = kAttentionChunkTokens / kKvBlockTokens;

int ChunksFor(int visible_tokens) {
  return (visible_tokens + kAttentionChunkTokens - 1) / kAttentionChunkTokens;
}

// The partial sums: [kv_head][chunk] of {sums [items][head_dim], maxima [items], totals [items]},
// items being the query rows times the heads of the group.
struct Scratch {
  Scratch(const AttentionShape& shape, int row_count, int visible_tokens)
      : items(static_cast<std::size_t>(row_count * (shape.head_count / shape.kv_head_count))),
        chunks(ChunksFor(visible_tokens)),
        stride(items * static_cast<std::size_t>(shape.head_dim + 2)) {
    // Sums stay aligned for whole vectors.
    stride = (stride + 15) / 16 * 16;
  }
  std::size_t At(int kv_head, int chunk) const {
    return static_cast<std::size_t>(kv_head * chunks + chunk) * stride;
  }
  std::size_t items;
  int chunks;
  std::size_t stride;
};

// Where a KV head lies in a block of the sequence; null beyond the last block.
const std::uint8_t* HeadIn(const AttentionInput& input, int kv_head, int block) {
  if (block * kKvBlockTokens >= input.first_position + input.row_count) return nullptr;
  return reinterpret_cast<const std::uint8_t*>(input.blocks[block]) + input.layer_offset +
         static_cast<std::size_t>(kv_head) * input.head_stride;
}

}  // namespace

std::size_t AttentionScratchFloats(const AttentionShape& shape, int row_count, int visible_tokens) {
  const Scratch scratch(shape, row_count, visible_tokens);
  return scratch.At(shape.kv_head_count, 0);
}

void AttentionPartials(const AttentionShape& shape, const AttentionInput& input, float* scratch,
                       const Worker& worker) {
  assert(shape.head_dim % 16 == 0);
  const int group = shape.head_count / shape.kv_head_count;
  const int visible = input.first_position + input.row_count;
  const Scratch layout(shape, input.row_count, visible);
  const Range share = worker.Share(shape.kv_head_count * layout.chunks);
  for (int item = share.begin; item < share.end; ++item) {
    const int kv_head = item / layout.chunks;
    const int chunk = item % layout.chunks;
    AttentionJob job{};
    const int next = std::min(item + 1, share.end - 1);
    for (int b = 0; b < kChunkBlocks; ++b) {
      job.heads[b] = HeadIn(input, kv_head, chunk * kChunkBlocks + b);
      job.next[b] = HeadIn(input, next / layout.chunks, next % layout.chunks * kChunkBlocks + b);
      if (job.next[b] == nullptr) job.next[b] = job.heads[b];
    }
    job.head_dim = shape.head_dim;
    job.scale = shape.scale;
    job.queries = input.queries + static_cast<std::size_t>(kv_head * group) *
                                      static_cast<std::size_t>(shape.head_dim);
    job.query_stride = input.query_stride;
    job.group = group;
    job.row_count = input.row_count;
    job.first_visible = input.first_position + 1 - chunk * kAttentionChunkTokens;
    job.sums = scratch + layout.At(kv_head, chunk);
    job.maxima = job.sums + layout.items * static_cast<std::size_t>(shape.head_dim);
    job.totals = job.maxima + layout.items;
    Leaves().attention_chunk(job);
  }
}

void AttentionMerge(const AttentionShape& shape, const AttentionInput& input, const float* scratch,
                    float* out, std::size_t out_stride, const Worker& worker) {
  const int group = shape.head_count / shape.kv_head_count;
  const auto head_dim = static_cast<std::size_t>(shape.head_dim);
  const Scratch layout(shape, input.row_count, input.first_position + input.row_count);
  const Range share = worker.Share(input.row_count * shape.head_count);
  for (int merge = share.begin; merge < share.end; ++merge) {
    const int row = merge / shape.head_count;
    const int head = merge % shape.head_count;
    const auto item = static_cast<std::size_t>(row * group + head % group);
    const float* first = scratch + layout.At(head / group, 0);
    MergeJob job{};
    job.chunk_count = ChunksFor(input.first_position + row + 1);
    job.head_dim = shape.head_dim;
    job.sums = first + item * head_dim;
    job.sums_stride = layout.stride;
    job.maxima = first + layout.items * head_dim + item;
    job.totals = job.maxima + layout.items;
    job.totals_stride = layout.stride;
    job.out = out + static_cast<std::size_t>(row) * out_stride +
              static_cast<std::size_t>(head) * head_dim;
    Leaves().attention_merge(job);
  }
}

void StoreKeyValue(const float* key, const float* value, int head_dim, std::byte* head_base,
                   int slot) {
  auto* keys = reinterpret_cast<std::uint16_t*>(head_base);
  Leaves().store_key_value(key, value, head_dim, keys, keys + head_dim * kKvBlockTokens, slot);
}

}  // namespace kernels
