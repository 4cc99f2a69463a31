// The cache as the scheduler sees it: match a prompt against what is kept, reserve the rest.
//
// A prompt prefix is never computed twice: its blocks are shared by reference. The match is
// token-exact: tokens are compared on every hit (a hash only finds candidates), and a block that
// matches in part is copied, so that exactly the unmatched tokens are left to prefill. A prompt
// that matches whole leaves its last token to be computed, since its logits are needed.
//
// Thread: the engine thread only; no locks. Memory: one arena, allocated and touched at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_layout.h"
#include "cache/prefix_index.h"
#include "cache/sequence_blocks.h"
#include "cache/token_id.h"

namespace cache {

struct MatchOptions {
  bool force_miss = false;       // same code path, but nothing is reused (tests, measurements)
  std::uint64_t cache_salt = 0;  // sequences with different salts share only pinned blocks
};

struct Stats {
  int blocks_total = 0;
  int blocks_pinned = 0;
  int blocks_shared = 0;  // used by running sequences
  int blocks_kept = 0;    // findable, evictable
  int blocks_free = 0;
  std::uint64_t lookups = 0;
  std::uint64_t hits = 0;  // lookups that reused at least one token
  std::uint64_t query_tokens = 0;
  std::uint64_t hit_tokens = 0;
  std::uint64_t evictions = 0;
  std::uint64_t copies_on_write = 0;  // blocks
  std::uint64_t stored = 0;           // blocks that became findable
};

class KvCache {
 public:
  struct Options {
    KvLayout layout;
    int block_count = 0;
    int numa_node = -1;         // -1: no preference
    bool poison_freed = false;  // fill freed blocks with NaN; debug builds always do
    int index_hash_bits = 64;   // fewer make hash collisions, for tests
  };
  // Returns: a sentence when the memory can't be had.
  [[nodiscard]] static std::expected<KvCache, std::string> Create(const Options& options);
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) = delete;
  // Requires: every sequence is gone (asserted).
  ~KvCache();

  // Finds the longest kept prefix of `tokens` (at most size - 1) and reserves blocks for
  // tokens.size() + answer_tokens_max tokens, evicting kept blocks as needed.
  // Requires: at least one token. A refused call changes nothing and is not counted.
  // Returns: nothing when the pool has no room now (pinned and running blocks are never taken).
  [[nodiscard]] std::optional<SequenceBlocks> MatchAndReserve(std::span<const TokenId> tokens,
                                                              int answer_tokens_max,
                                                              const MatchOptions& options);

  // Makes the blocks that `tokens` fill completely findable. `tokens` is the sequence from its
  // first token to the last one whose keys and values are stored. Call it as soon as a block is
  // full, so that others share it while this sequence still runs.
  void Commit(SequenceBlocks& blocks, std::span<const TokenId> tokens);

  // As Commit, and pins everything up to the last token, the partly filled block included: never
  // evicted until Unpin. One call per generation of the prefix; several may be pinned at once.
  void Pin(SequenceBlocks blocks, std::span<const TokenId> tokens, std::uint32_t generation);
  void Unpin(std::uint32_t generation);

  std::byte* BlockBase(BlockId block) const;
  const KvLayout& layout() const { return layout_; }
  Stats stats() const;

  // Checks every invariant (ref-counts, lists, index against pool).
  // Returns: an empty string, or the first broken one.
  std::string CheckIntegrity() const;
  // The same, and that no block is in use but by the index and these sequences, which are all.
  std::string CheckIntegrity(std::span<const SequenceBlocks* const> sequences) const;

 private:
  struct PinnedGeneration {
    std::uint32_t generation = 0;
    BlockId deepest = kNoBlock;
  };
  KvCache(const Options& options, BlockPool pool);
  bool IsKept(BlockId block) const;  // findable, evictable once it is a leaf
  int kept_count() const;
  BlockId AcquireOrEvict();
  bool FillBlocks(SequenceBlocks& blocks, std::size_t block_count,
                  const PrefixIndex::PrefixMatch& match);
  void CommitBlock(SequenceBlocks& blocks, std::span<const TokenId> block_tokens);

  KvLayout layout_;
  // On the heap, so that sequences can refer to them while the cache moves.
  std::unique_ptr<BlockPool> pool_;
  std::unique_ptr<PrefixIndex> index_;
  std::vector<PinnedGeneration> pinned_;
  Stats counts_;  // the counters only; the gauges are counted when asked for
};

}  // namespace cache
