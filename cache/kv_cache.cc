#include "cache/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_layout.h"
#include "cache/prefix_index.h"
#include "cache/sequence_blocks.h"
#include "cache/token_id.h"

namespace cache {
namespace {

constexpr std::size_t kBlockTokens = KvLayout::kBlockTokens;

}  // namespace

std::expected<KvCache, std::string> KvCache::Create(const Options& options) {
  auto pool = BlockPool::Create({.block_count = options.block_count,
                                 .block_bytes = options.layout.block_bytes(),
                                 .numa_node = options.numa_node,
                                 .poison_freed = options.poison_freed});
  if (!pool) return std::unexpected(std::move(pool.error()));
  return KvCache(options, std::move(*pool));
}

KvCache::KvCache(const Options& options, BlockPool pool)
    : layout_(options.layout),
      pool_(std::make_unique<BlockPool>(std::move(pool))),
      index_(std::make_unique<PrefixIndex>(PrefixIndex::Options{
          .block_count = options.block_count, .hash_bits = options.index_hash_bits})) {}

KvCache::KvCache(KvCache&& other) noexcept = default;

KvCache::~KvCache() {
  if (pool_ != nullptr) assert(CheckIntegrity(std::span<const SequenceBlocks* const>()).empty());
}

std::optional<SequenceBlocks> KvCache::MatchAndReserve(std::span<const TokenId> tokens,
                                                       int answer_tokens_max,
                                                       const MatchOptions& options) {
  assert(!tokens.empty());
  assert(answer_tokens_max >= 0);
  const std::size_t token_count = tokens.size() + static_cast<std::size_t>(answer_tokens_max);
  const std::size_t block_count = (token_count + kBlockTokens - 1) / kBlockTokens;
  // The last token is always computed: its logits are needed.
  const auto findable = options.force_miss ? tokens.first(0) : tokens.first(tokens.size() - 1);
  const PrefixIndex::PrefixMatch match = index_->LongestMatch(findable, options.cache_salt);

  SequenceBlocks blocks;
  blocks.pool_ = pool_.get();
  blocks.index_ = index_.get();
  blocks.cache_salt_ = options.cache_salt;
  blocks.reused_tokens_ = static_cast<int>(match.full.size() * kBlockTokens) + match.partial_tokens;
  if (!FillBlocks(blocks, block_count, match)) return std::nullopt;

  ++counts_.lookups;
  counts_.hits += blocks.reused_tokens_ > 0 ? 1 : 0;
  counts_.query_tokens += tokens.size();
  counts_.hit_tokens += static_cast<std::uint64_t>(blocks.reused_tokens_);
  return blocks;
}

// Shares the blocks that match whole, copies the one that matches in part, and reserves the rest.
// Returns: false when there is no room; then nothing has changed.
bool KvCache::FillBlocks(SequenceBlocks& blocks, std::size_t block_count,
                         const PrefixIndex::PrefixMatch& match) {
  const bool copies = match.partial != kNoBlock;
  const std::size_t fresh_count = block_count - match.full.size();
  // What this sequence shares is no longer for the taking, nor is the block that it copies.
  for (const BlockId block : match.full) pool_->Share(block);
  const bool partial_was_kept = copies && IsKept(match.partial);
  if (copies) pool_->Share(match.partial);
  const auto available = static_cast<std::size_t>(pool_->free_count() + kept_count());
  // In a pool this tight the partly matching block itself becomes the sequence's own.
  const bool takes_over = partial_was_kept && available + 1 == fresh_count;
  if (available < fresh_count && !takes_over) {
    if (copies) pool_->Release(match.partial);
    for (const BlockId block : match.full) pool_->Release(block);
    blocks.pool_ = nullptr;
    return false;
  }

  blocks.ids_.reserve(block_count);
  blocks.path_.reserve(block_count);
  blocks.ids_ = match.full;
  blocks.path_ = match.full;
  while (blocks.ids_.size() < block_count - (takes_over ? 1 : 0)) {
    blocks.ids_.push_back(AcquireOrEvict());
  }
  const auto own_first = blocks.ids_.begin() + static_cast<std::ptrdiff_t>(match.full.size());
  if (takes_over) {
    index_->Remove(match.partial);
    pool_->Release(match.partial);  // the index's use; the sequence's stays
    ++counts_.evictions;
    blocks.ids_.insert(own_first, match.partial);
  } else if (copies) {
    std::memcpy(pool_->BlockBase(*own_first), pool_->BlockBase(match.partial),
                pool_->block_bytes());
    index_->TouchPath(match.partial);
    pool_->Release(match.partial);
    ++counts_.copies_on_write;
  }
  return true;
}

// Requires: a block is free or can be evicted (asserted).
BlockId KvCache::AcquireOrEvict() {
  if (pool_->free_count() == 0) {
    const BlockId victim = index_->Victim(*pool_);
    assert(victim != kNoBlock);
    index_->Remove(victim);
    pool_->Release(victim);
    ++counts_.evictions;
  }
  const BlockId block = pool_->Acquire();
  assert(block != kNoBlock);
  return block;
}

void KvCache::Commit(SequenceBlocks& blocks, std::span<const TokenId> tokens) {
  assert(blocks.pool_ == pool_.get());
  assert(tokens.size() <= static_cast<std::size_t>(blocks.capacity_tokens()));
  assert(tokens.size() >= blocks.path_.size() * kBlockTokens);
  assert(
      blocks.path_.empty() ||
      std::ranges::equal(index_->tokens(blocks.path_.back()),
                         tokens.subspan((blocks.path_.size() - 1) * kBlockTokens, kBlockTokens)));
  while ((blocks.path_.size() + 1) * kBlockTokens <= tokens.size()) {
    CommitBlock(blocks, tokens.subspan(blocks.path_.size() * kBlockTokens, kBlockTokens));
  }
}

// Makes the next block of the sequence, which holds block_tokens, findable, unless another one
// with the same tokens is.
void KvCache::CommitBlock(SequenceBlocks& blocks, std::span<const TokenId> block_tokens) {
  const BlockId above = blocks.path_.empty() ? kNoBlock : blocks.path_.back();
  const BlockId own = blocks.ids_[blocks.path_.size()];
  BlockId node = index_->FindChild(above, block_tokens, blocks.cache_salt_);
  if (node == kNoBlock) {
    index_->Insert(own, above, block_tokens, blocks.cache_salt_);
    ++counts_.stored;
    node = own;
  }
  pool_->Share(node);  // the index's use of a new node, or this sequence's of another's
  blocks.path_.push_back(node);
}

void KvCache::Pin(SequenceBlocks blocks, std::span<const TokenId> tokens,
                  std::uint32_t generation) {
  assert(!tokens.empty());
  assert(std::ranges::find(pinned_, generation, &PinnedGeneration::generation) == pinned_.end());
  Commit(blocks, tokens);
  const auto tail = tokens.subspan(blocks.path_.size() * kBlockTokens);
  if (!tail.empty()) CommitBlock(blocks, tail);
  const BlockId deepest = blocks.path_.back();
  index_->PinPath(deepest);
  pinned_.push_back({.generation = generation, .deepest = deepest});
}

void KvCache::Unpin(std::uint32_t generation) {
  const auto pinned = std::ranges::find(pinned_, generation, &PinnedGeneration::generation);
  assert(pinned != pinned_.end());
  index_->UnpinPath(pinned->deepest);
  index_->TouchPath(pinned->deepest);
  pinned_.erase(pinned);
}

std::byte* KvCache::BlockBase(BlockId block) const { return pool_->BlockBase(block); }

bool KvCache::IsKept(BlockId block) const {
  return index_->Contains(block) && !index_->IsPinned(block) && pool_->ref_count(block) == 1;
}

int KvCache::kept_count() const {
  int count = 0;
  for (int i = 0; i < pool_->block_count(); ++i) {
    count += IsKept(BlockId{static_cast<std::uint32_t>(i)}) ? 1 : 0;
  }
  return count;
}

Stats KvCache::stats() const {
  Stats stats = counts_;
  stats.blocks_total = pool_->block_count();
  for (int i = 0; i < pool_->block_count(); ++i) {
    const BlockId block{static_cast<std::uint32_t>(i)};
    stats.blocks_pinned += index_->IsPinned(block) ? 1 : 0;
  }
  stats.blocks_kept = kept_count();
  stats.blocks_free = pool_->free_count();
  stats.blocks_shared =
      stats.blocks_total - stats.blocks_pinned - stats.blocks_kept - stats.blocks_free;
  return stats;
}

std::string KvCache::CheckIntegrity() const {
  std::string broken = pool_->CheckIntegrity();
  if (broken.empty()) broken = index_->CheckIntegrity();
  if (!broken.empty()) return broken;
  std::vector<int> pins(static_cast<std::size_t>(pool_->block_count()), 0);
  for (const PinnedGeneration& pinned : pinned_) {
    for (BlockId block = pinned.deepest; block != kNoBlock; block = index_->parent(block)) {
      ++pins[IndexOf(block)];
    }
  }
  for (int i = 0; i < pool_->block_count(); ++i) {
    const BlockId block{static_cast<std::uint32_t>(i)};
    const std::string name = "block " + std::to_string(i);
    if (index_->IsPinned(block) != (pins[IndexOf(block)] > 0)) return name + " has a wrong pin";
    if (!index_->Contains(block)) continue;
    if (pool_->ref_count(block) == 0) return name + " is findable and free";
    const BlockId above = index_->parent(block);
    if (above != kNoBlock && IsKept(above) && !IsKept(block)) {
      return name + " is held, but the one before it can be evicted";
    }
  }
  const Stats now = stats();
  if (now.blocks_shared < 0) return "more blocks are accounted for than there are";
  if (now.hits > now.lookups) return "there are more hits than lookups";
  if (now.hit_tokens > now.query_tokens) return "more tokens are reused than asked for";
  return {};
}

std::string KvCache::CheckIntegrity(std::span<const SequenceBlocks* const> sequences) const {
  std::string broken = CheckIntegrity();
  if (!broken.empty()) return broken;
  std::vector<int> uses(static_cast<std::size_t>(pool_->block_count()), 0);
  for (const SequenceBlocks* sequence : sequences) {
    for (const BlockId block : sequence->ids_) ++uses[IndexOf(block)];
    for (std::size_t i = 0; i < sequence->path_.size(); ++i) {
      if (sequence->path_[i] != sequence->ids_[i]) ++uses[IndexOf(sequence->path_[i])];
    }
  }
  for (int i = 0; i < pool_->block_count(); ++i) {
    const BlockId block{static_cast<std::uint32_t>(i)};
    const int expected = uses[IndexOf(block)] + (index_->Contains(block) ? 1 : 0);
    if (pool_->ref_count(block) != expected) {
      return "block " + std::to_string(i) + " is used " + std::to_string(expected) +
             " times, but counts " + std::to_string(pool_->ref_count(block));
    }
  }
  return {};
}

}  // namespace cache
