// The blocks of one sequence in order, and its place in the prefix index.
//
// The first blocks may be shared with the index and with other sequences; they are full and never
// written again. From the block that holds token `reused_tokens()` on they are this sequence's own
// until they are full and committed. Given back when destroyed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_layout.h"
#include "cache/prefix_index.h"

namespace cache {

// Thread: the engine thread. Ownership: the KvCache that made it outlives it.
class SequenceBlocks {
 public:
  SequenceBlocks() = default;  // no blocks
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&& other) noexcept;
  ~SequenceBlocks();

  // One per 64 tokens of capacity. The ids never change.
  std::span<const BlockId> ids() const { return ids_; }
  // The keys and values of this many first tokens are there already.
  int reused_tokens() const { return reused_tokens_; }
  int capacity_tokens() const { return static_cast<int>(ids_.size()) * KvLayout::kBlockTokens; }

 private:
  friend class KvCache;
  void GiveBack();

  BlockPool* pool_ = nullptr;
  PrefixIndex* index_ = nullptr;
  std::uint64_t cache_salt_ = 0;
  int reused_tokens_ = 0;
  std::vector<BlockId> ids_;
  // The index's nodes for the committed tokens. An entry differs from ids_ where another sequence
  // committed the same tokens first; this sequence then uses its own block, and holds both.
  std::vector<BlockId> path_;
};

}  // namespace cache
