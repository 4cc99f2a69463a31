// Token prefix → filled blocks: a radix tree whose nodes are blocks of up to 64 tokens.
//
//   root ── [64 tokens] ── [64 tokens] ─┬─ [17 tokens]   a pinned tail: partly filled, a leaf
//                                       ├─ [64 tokens]   salt 0
//                                       └─ [64 tokens]   salt 7
//
// A hash over a block's tokens only finds candidates: tokens are compared on every hit. Where no
// child matches whole, the one with the longest common beginning is the source of a copy. Nodes
// are as many as blocks and live in arrays, so that nothing is allocated after construction but
// the answers of LongestMatch. A node is seen by lookups of its own salt, and by all while pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_layout.h"
#include "cache/token_id.h"

namespace cache {

// Thread: one. The index knows blocks by number only; their use counts are the pool's.
class PrefixIndex {
 public:
  struct Options {
    int block_count = 0;
    int hash_bits = 64;  // 1 to 64; few bits make collisions, for tests
  };
  explicit PrefixIndex(const Options& options);

  struct PrefixMatch {
    std::vector<BlockId> full;   // from the first token on, all 64 tokens equal
    BlockId partial = kNoBlock;  // the block that begins with the tokens that follow
    int partial_tokens = 0;      // how many of them; 0 exactly when there is no such block
  };
  // Finds the longest prefix of `tokens` that lookups of `cache_salt` may see.
  PrefixMatch LongestMatch(std::span<const TokenId> tokens, std::uint64_t cache_salt) const;
  // Finds the child of `parent` (kNoBlock: the root) that holds exactly `tokens`, or kNoBlock.
  BlockId FindChild(BlockId parent, std::span<const TokenId> tokens,
                    std::uint64_t cache_salt) const;

  // Requires: block is not in the index; parent is kNoBlock or a full node; 1 to 64 tokens.
  void Insert(BlockId block, BlockId parent, std::span<const TokenId> tokens,
              std::uint64_t cache_salt);
  // Requires: a leaf that is not pinned.
  void Remove(BlockId leaf);

  // Pins or unpins a node and all above it. Pins are counted.
  void PinPath(BlockId deepest);
  void UnpinPath(BlockId deepest);
  // Marks a node and all above it as just used, a parent later than its child.
  void TouchPath(BlockId deepest);

  // Returns: the least recently used leaf that is neither pinned nor used by a sequence (its only
  // use is the index's), or kNoBlock. Cost: one pass over the nodes.
  BlockId Victim(const BlockPool& pool) const;

  bool Contains(BlockId block) const { return node(block).token_count > 0; }
  bool IsPinned(BlockId block) const { return node(block).pins > 0; }
  bool IsLeaf(BlockId block) const { return node(block).first_child == kNoBlock; }
  BlockId parent(BlockId block) const { return node(block).parent; }
  std::span<const TokenId> tokens(BlockId block) const;

  // Returns: an empty string, or the first broken invariant.
  std::string CheckIntegrity() const;

 private:
  // Lists are newest first. The last node is the root: no block, no tokens.
  struct Node {
    std::uint64_t hash = 0;
    std::uint64_t cache_salt = 0;
    std::uint64_t last_use = 0;
    BlockId parent = kNoBlock;
    BlockId first_child = kNoBlock;
    BlockId next_sibling = kNoBlock;
    BlockId next_in_bucket = kNoBlock;
    std::int32_t token_count = 0;  // 0: not in the index
    std::int32_t pins = 0;
  };
  const Node& node(BlockId block) const;
  Node& node(BlockId block);
  std::uint64_t Hash(BlockId parent, std::span<const TokenId> tokens) const;
  std::size_t BucketOf(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  bool Sees(const Node& node, std::uint64_t cache_salt) const;
  int CommonTokens(BlockId block, std::span<const TokenId> tokens) const;
  std::string CheckNode(BlockId block) const;

  int hash_bits_;
  std::uint64_t clock_ = 0;
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;  // [node][64]
  std::vector<BlockId> buckets_;
};

}  // namespace cache
