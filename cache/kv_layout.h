// Where layer, KV head and token slot lie inside a block. Pure arithmetic.
//
//   block (64 token slots, all layers and KV heads)
//   ├─ layer 0 ─┬─ KV head 0: K transposed [head_dim][64] float16, then V [64][head_dim] float16
//   │           └─ KV head 1: …
//   ├─ layer 1 ─┬─ …
//
// K is transposed so that one vector load takes the same dimension of 16 tokens.
#pragma once

#include <cstddef>

namespace cache {

struct KvLayout {
  static constexpr int kBlockTokens = 64;
  static constexpr std::size_t kElementBytes = 2;  // float16

  int layer_count = 0;
  int kv_head_count = 0;
  int head_dim = 0;

  constexpr std::size_t head_bytes() const {
    return std::size_t{2} * kBlockTokens * static_cast<std::size_t>(head_dim) * kElementBytes;
  }
  constexpr std::size_t layer_bytes() const {
    return head_bytes() * static_cast<std::size_t>(kv_head_count);
  }
  constexpr std::size_t block_bytes() const {
    return layer_bytes() * static_cast<std::size_t>(layer_count);
  }
  constexpr std::size_t HeadOffset(int layer, int kv_head) const {
    return static_cast<std::size_t>(layer) * layer_bytes() +
           static_cast<std::size_t>(kv_head) * head_bytes();
  }
};

// Blocks that hold token_count tokens.
constexpr int BlocksFor(int token_count) {
  return (token_count + KvLayout::kBlockTokens - 1) / KvLayout::kBlockTokens;
}

}  // namespace cache
