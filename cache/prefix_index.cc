#include "cache/prefix_index.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_layout.h"
#include "cache/token_id.h"

namespace cache {
namespace {

constexpr std::size_t kBlockTokens = KvLayout::kBlockTokens;

std::uint64_t Mix(std::uint64_t state, std::uint64_t value) {
  state = (state ^ value) * 0x9E3779B97F4A7C15u;
  return state ^ (state >> 29);
}

// Unlinks `block` from the list that starts at `head` and goes on through `next_of`.
template <typename NextOf>
void Unlink(BlockId& head, BlockId block, NextOf next_of) {
  BlockId* link = &head;
  while (*link != block) {
    assert(*link != kNoBlock);
    link = &next_of(*link);
  }
  *link = next_of(block);
}

}  // namespace

PrefixIndex::PrefixIndex(const Options& options) : hash_bits_(options.hash_bits) {
  assert(options.block_count > 0);
  assert(options.hash_bits >= 1);
  assert(options.hash_bits <= 64);
  const auto count = static_cast<std::size_t>(options.block_count);
  nodes_.resize(count + 1);
  tokens_.resize(count * kBlockTokens);
  buckets_.resize(std::bit_ceil(2 * count), kNoBlock);
}

PrefixIndex::PrefixMatch PrefixIndex::LongestMatch(std::span<const TokenId> tokens,
                                                   std::uint64_t cache_salt) const {
  // A pinned node and one of this salt may hold the same tokens, so the way down can fork.
  std::vector<BlockId> frontier{kNoBlock};
  std::vector<BlockId> next;
  std::size_t depth = 0;
  for (; (depth + 1) * kBlockTokens <= tokens.size(); ++depth) {
    const auto block_tokens = tokens.subspan(depth * kBlockTokens, kBlockTokens);
    next.clear();
    for (const BlockId above : frontier) {
      const std::uint64_t hash = Hash(above, block_tokens);
      for (BlockId block = buckets_[BucketOf(hash)]; block != kNoBlock;
           block = node(block).next_in_bucket) {
        const Node& candidate = node(block);
        if (candidate.hash != hash || candidate.parent != above) continue;
        if (!Sees(candidate, cache_salt)) continue;
        if (candidate.token_count != KvLayout::kBlockTokens) continue;
        if (CommonTokens(block, block_tokens) == KvLayout::kBlockTokens) next.push_back(block);
      }
    }
    if (next.empty()) break;
    frontier.swap(next);
  }

  PrefixMatch match;
  BlockId deepest = frontier.front();
  const auto rest = tokens.subspan(depth * kBlockTokens);
  for (const BlockId above : frontier) {
    for (BlockId block = node(above).first_child; block != kNoBlock;
         block = node(block).next_sibling) {
      if (!Sees(node(block), cache_salt)) continue;
      const int common = CommonTokens(block, rest);
      if (common <= match.partial_tokens) continue;
      match.partial = block;
      match.partial_tokens = common;
      deepest = above;
    }
  }
  match.full.resize(depth);
  for (std::size_t i = depth; i > 0; --i, deepest = parent(deepest)) match.full[i - 1] = deepest;
  return match;
}

BlockId PrefixIndex::FindChild(BlockId parent, std::span<const TokenId> tokens,
                               std::uint64_t cache_salt) const {
  assert(!tokens.empty());
  const std::uint64_t hash = Hash(parent, tokens);
  for (BlockId block = buckets_[BucketOf(hash)]; block != kNoBlock;
       block = node(block).next_in_bucket) {
    const Node& candidate = node(block);
    if (candidate.hash != hash || candidate.parent != parent) continue;
    if (!Sees(candidate, cache_salt)) continue;
    if (std::ranges::equal(this->tokens(block), tokens)) return block;
  }
  return kNoBlock;
}

void PrefixIndex::Insert(BlockId block, BlockId parent, std::span<const TokenId> tokens,
                         std::uint64_t cache_salt) {
  assert(block != kNoBlock);
  assert(!Contains(block));
  assert(parent == kNoBlock || node(parent).token_count == KvLayout::kBlockTokens);
  assert(!tokens.empty());
  assert(tokens.size() <= kBlockTokens);
  std::ranges::copy(tokens,
                    tokens_.begin() + static_cast<std::ptrdiff_t>(IndexOf(block) * kBlockTokens));
  Node& added = node(block);
  added.hash = Hash(parent, tokens);
  added.cache_salt = cache_salt;
  added.last_use = ++clock_;
  added.parent = parent;
  added.token_count = static_cast<std::int32_t>(tokens.size());
  added.next_sibling = node(parent).first_child;
  node(parent).first_child = block;
  BlockId& bucket = buckets_[BucketOf(added.hash)];
  added.next_in_bucket = bucket;
  bucket = block;
}

void PrefixIndex::Remove(BlockId leaf) {
  assert(Contains(leaf));
  assert(IsLeaf(leaf));
  assert(!IsPinned(leaf));
  Node& removed = node(leaf);
  Unlink(node(removed.parent).first_child, leaf,
         [this](BlockId block) -> BlockId& { return node(block).next_sibling; });
  Unlink(buckets_[BucketOf(removed.hash)], leaf,
         [this](BlockId block) -> BlockId& { return node(block).next_in_bucket; });
  removed = Node{};
}

void PrefixIndex::PinPath(BlockId deepest) {
  for (BlockId block = deepest; block != kNoBlock; block = parent(block)) {
    assert(Contains(block));
    ++node(block).pins;
  }
}

void PrefixIndex::UnpinPath(BlockId deepest) {
  for (BlockId block = deepest; block != kNoBlock; block = parent(block)) {
    assert(node(block).pins > 0);
    --node(block).pins;
  }
}

void PrefixIndex::TouchPath(BlockId deepest) {
  for (BlockId block = deepest; block != kNoBlock; block = parent(block)) {
    assert(Contains(block));
    node(block).last_use = ++clock_;
  }
}

BlockId PrefixIndex::Victim(const BlockPool& pool) const {
  BlockId victim = kNoBlock;
  for (std::uint32_t i = 0; i + 1 < nodes_.size(); ++i) {
    const BlockId block{i};
    const Node& candidate = nodes_[i];
    if (candidate.token_count == 0 || candidate.pins > 0) continue;
    if (candidate.first_child != kNoBlock || pool.ref_count(block) > 1) continue;
    if (victim == kNoBlock || candidate.last_use < node(victim).last_use) victim = block;
  }
  return victim;
}

std::span<const TokenId> PrefixIndex::tokens(BlockId block) const {
  return std::span(tokens_).subspan(IndexOf(block) * kBlockTokens,
                                    static_cast<std::size_t>(node(block).token_count));
}

const PrefixIndex::Node& PrefixIndex::node(BlockId block) const {
  return block == kNoBlock ? nodes_.back() : nodes_[IndexOf(block)];
}

PrefixIndex::Node& PrefixIndex::node(BlockId block) {
  return block == kNoBlock ? nodes_.back() : nodes_[IndexOf(block)];
}

std::uint64_t PrefixIndex::Hash(BlockId parent, std::span<const TokenId> tokens) const {
  std::uint64_t hash = Mix(0x243F6A8885A308D3u, IndexOf(parent));
  for (const TokenId token : tokens) hash = Mix(hash, static_cast<std::uint32_t>(token));
  hash ^= hash >> 32;
  return hash_bits_ == 64 ? hash : hash & ((std::uint64_t{1} << hash_bits_) - 1);
}

bool PrefixIndex::Sees(const Node& node, std::uint64_t cache_salt) const {
  return node.pins > 0 || node.cache_salt == cache_salt;
}

int PrefixIndex::CommonTokens(BlockId block, std::span<const TokenId> tokens) const {
  const auto kept = this->tokens(block);
  const auto difference = std::ranges::mismatch(kept, tokens);
  return static_cast<int>(difference.in1 - kept.begin());
}

std::string PrefixIndex::CheckIntegrity() const {
  std::size_t stored = 0;
  for (std::uint32_t i = 0; i + 1 < nodes_.size(); ++i) {
    if (nodes_[i].token_count == 0) continue;
    ++stored;
    const std::string broken = CheckNode(BlockId{i});
    if (!broken.empty()) return "node " + std::to_string(i) + " " + broken;
  }
  std::size_t in_buckets = 0;
  std::size_t children = 0;
  for (BlockId block : buckets_) {
    for (; block != kNoBlock; block = node(block).next_in_bucket) ++in_buckets;
  }
  for (const Node& parent : nodes_) {
    for (BlockId block = parent.first_child; block != kNoBlock; block = node(block).next_sibling) {
      ++children;
    }
  }
  if (in_buckets != stored) return "the buckets hold a node that is not stored";
  if (children != stored) return "the child lists hold a node that is not stored";
  return {};
}

std::string PrefixIndex::CheckNode(BlockId block) const {
  const Node& checked = node(block);
  if (checked.token_count < 0 || checked.token_count > KvLayout::kBlockTokens) {
    return "has a wrong number of tokens";
  }
  if (checked.hash != Hash(checked.parent, tokens(block))) return "has another hash";
  BlockId found = buckets_[BucketOf(checked.hash)];
  while (found != kNoBlock && found != block) found = node(found).next_in_bucket;
  if (found != block) return "is not in its bucket";
  found = node(checked.parent).first_child;
  while (found != kNoBlock && found != block) found = node(found).next_sibling;
  if (found != block) return "is not among its parent's children";
  if (checked.last_use > clock_) return "was used in the future";
  if (checked.parent == kNoBlock) return {};
  const Node& above = node(checked.parent);
  if (above.token_count != KvLayout::kBlockTokens) return "has a parent that is not full";
  int pins_below = 0;
  for (BlockId child = above.first_child; child != kNoBlock; child = node(child).next_sibling) {
    pins_below += node(child).pins;
  }
  if (above.pins < pins_below) return "is pinned more often than its parent";
  return {};
}

}  // namespace cache
