#include "tests/support/kv_cache_model.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/kv_cache.h"

namespace cache_model {
namespace {

using cache::TokenId;
constexpr std::size_t kBlockTokens = cache::KvLayout::kBlockTokens;
constexpr std::size_t kSequencesMax = 6;
constexpr std::size_t kGenerationsMax = 3;
// One stamp of four bytes per token slot.
constexpr cache::KvLayout kLayout{.layer_count = 1, .kv_head_count = 1, .head_dim = 1};
static_assert(kLayout.block_bytes() == kBlockTokens * sizeof(std::uint32_t));

std::uint8_t Take(std::span<const std::uint8_t>& bytes) {
  if (bytes.empty()) return 0;
  const std::uint8_t byte = bytes.front();
  bytes = bytes.subspan(1);
  return byte;
}

std::size_t CommonTokens(std::span<const TokenId> a, std::span<const TokenId> b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

KvCacheModel::KvCacheModel(int block_count) : block_count_(block_count) {}

KvCacheModel::Entry& KvCacheModel::Of(int id) {
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  assert(found != entries_.end());
  return *found;
}

bool KvCacheModel::Sees(const Entry& entry, std::uint64_t cache_salt) const {
  return entry.pins > 0 || entry.cache_salt == cache_salt;
}

bool KvCacheModel::IsKept(int id) { return Of(id).pins == 0 && Of(id).holders == 0; }

int KvCacheModel::KeptCount() const {
  return static_cast<int>(std::ranges::count_if(
      entries_, [](const Entry& entry) { return entry.pins == 0 && entry.holders == 0; }));
}

int KvCacheModel::FreeCount() const {
  return block_count_ - own_blocks_ - static_cast<int>(entries_.size());
}

// Every way down, level by level; of equals the newest.
KvCacheModel::Match KvCacheModel::Find(std::span<const TokenId> tokens, std::uint64_t cache_salt) {
  std::vector<int> level{-1};
  std::size_t depth = 0;
  for (;; ++depth) {
    std::vector<int> next;
    const auto rest = tokens.subspan(depth * kBlockTokens);
    for (const int above : level) {
      for (std::size_t i = entries_.size(); i-- > 0;) {
        const Entry& entry = entries_[i];
        if (entry.parent != above || !Sees(entry, cache_salt)) continue;
        if (entry.tokens.size() == kBlockTokens &&
            CommonTokens(entry.tokens, rest) == kBlockTokens) {
          next.push_back(entry.id);
        }
      }
    }
    if (next.empty()) break;
    level = next;
  }
  Match match;
  int deepest = level.front();
  for (const int above : level) {
    for (std::size_t i = entries_.size(); i-- > 0;) {
      const Entry& entry = entries_[i];
      if (entry.parent != above || !Sees(entry, cache_salt)) continue;
      const std::size_t common = CommonTokens(entry.tokens, tokens.subspan(depth * kBlockTokens));
      if (static_cast<int>(common) <= match.partial_tokens) continue;
      match.partial = entry.id;
      match.partial_tokens = static_cast<int>(common);
      deepest = above;
    }
  }
  for (int id = deepest; id >= 0; id = Of(id).parent) match.full.insert(match.full.begin(), id);
  return match;
}

std::optional<KvCacheModel::Sequence> KvCacheModel::MatchAndReserve(
    std::span<const TokenId> tokens, int answer_tokens_max, const cache::MatchOptions& options) {
  const Match match = Find(options.force_miss ? tokens.first(0) : tokens.first(tokens.size() - 1),
                           options.cache_salt);
  Sequence sequence;
  sequence.cache_salt = options.cache_salt;
  sequence.block_count = cache::BlocksFor(static_cast<int>(tokens.size()) + answer_tokens_max);
  sequence.reused_tokens =
      static_cast<int>(match.full.size() * kBlockTokens) + match.partial_tokens;
  sequence.path = match.full;
  sequence.path_owned.assign(match.full.size(), true);
  const int fresh = sequence.block_count - static_cast<int>(match.full.size());
  const bool partial_was_kept = match.partial >= 0 && IsKept(match.partial);
  for (const int id : match.full) ++Of(id).holders;
  if (match.partial >= 0) ++Of(match.partial).holders;
  const int available = FreeCount() + KeptCount();
  const bool takes_over = partial_was_kept && available + 1 == fresh;
  if (available < fresh && !takes_over) {
    for (const int id : match.full) --Of(id).holders;
    if (match.partial >= 0) --Of(match.partial).holders;
    return std::nullopt;
  }
  for (int i = takes_over ? 1 : 0; i < fresh; ++i) {
    if (FreeCount() == 0) EvictOne();
    ++own_blocks_;
  }
  if (takes_over) {
    Remove(match.partial);
    ++own_blocks_;
    ++take_overs_;
  } else if (match.partial >= 0) {
    --Of(match.partial).holders;
    Touch(match.partial);
    ++counts_.copies_on_write;
  }
  ++counts_.lookups;
  if (sequence.reused_tokens > 0) ++counts_.hits;
  counts_.query_tokens += tokens.size();
  counts_.hit_tokens += static_cast<std::uint64_t>(sequence.reused_tokens);
  return sequence;
}

void KvCacheModel::EvictOne() {
  const Entry* victim = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.pins > 0 || entry.holders > 0) continue;
    if (std::ranges::find(entries_, entry.id, &Entry::parent) != entries_.end()) continue;
    if (victim == nullptr || entry.last_use < victim->last_use) victim = &entry;
  }
  assert(victim != nullptr);
  Remove(victim->id);
}

void KvCacheModel::Remove(int id) {
  std::erase_if(entries_, [id](const Entry& entry) { return entry.id == id; });
  ++counts_.evictions;
}

void KvCacheModel::Touch(int deepest) {
  for (int id = deepest; id >= 0; id = Of(id).parent) Of(id).last_use = ++clock_;
}

void KvCacheModel::Commit(Sequence& sequence, std::span<const TokenId> tokens) {
  while ((sequence.path.size() + 1) * kBlockTokens <= tokens.size()) {
    CommitBlock(sequence, tokens.subspan(sequence.path.size() * kBlockTokens, kBlockTokens));
  }
}

void KvCacheModel::CommitBlock(Sequence& sequence, std::span<const TokenId> tokens) {
  const int above = sequence.path.empty() ? -1 : sequence.path.back();
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.parent != above || !Sees(entry, sequence.cache_salt)) continue;
    if (!std::ranges::equal(entry.tokens, tokens)) continue;
    ++entry.holders;
    sequence.path.push_back(entry.id);
    sequence.path_owned.push_back(false);
    return;
  }
  entries_.push_back({.id = next_id_++,
                      .parent = above,
                      .cache_salt = sequence.cache_salt,
                      .last_use = ++clock_,
                      .holders = 1,
                      .tokens = {tokens.begin(), tokens.end()}});
  --own_blocks_;
  ++counts_.stored;
  sequence.path.push_back(entries_.back().id);
  sequence.path_owned.push_back(true);
}

void KvCacheModel::Pin(Sequence sequence, std::span<const TokenId> tokens,
                       std::uint32_t generation) {
  Commit(sequence, tokens);
  const auto tail = tokens.subspan(sequence.path.size() * kBlockTokens);
  if (!tail.empty()) CommitBlock(sequence, tail);
  for (const int id : sequence.path) ++Of(id).pins;
  pinned_.push_back({generation, sequence.path.back()});
  Release(sequence);
}

void KvCacheModel::Unpin(std::uint32_t generation) {
  const auto pinned = std::ranges::find(pinned_, generation, &Pinned::generation);
  assert(pinned != pinned_.end());
  for (int id = pinned->deepest; id >= 0; id = Of(id).parent) --Of(id).pins;
  Touch(pinned->deepest);
  pinned_.erase(pinned);
}

void KvCacheModel::Release(const Sequence& sequence) {
  for (const int id : sequence.path) --Of(id).holders;
  if (!sequence.path.empty()) Touch(sequence.path.back());
  const auto owned = static_cast<int>(std::ranges::count(sequence.path_owned, true));
  own_blocks_ -= sequence.block_count - owned;
}

cache::Stats KvCacheModel::stats() const {
  cache::Stats stats = counts_;
  stats.blocks_total = block_count_;
  stats.blocks_free = FreeCount();
  stats.blocks_kept = KeptCount();
  for (const Entry& entry : entries_) {
    if (entry.pins > 0) {
      ++stats.blocks_pinned;
    } else if (entry.holders > 0) {
      ++stats.blocks_shared;
    }
  }
  stats.blocks_shared += own_blocks_;
  return stats;
}

KvCacheDriver::KvCacheDriver(int block_count, int index_hash_bits)
    : cache_(std::move(*cache::KvCache::Create({.layout = kLayout,
                                                .block_count = block_count,
                                                .poison_freed = true,
                                                .index_hash_bits = index_hash_bits}))),
      model_(block_count) {
  running_.reserve(kSequencesMax);
}

std::string KvCacheDriver::Step(std::span<const std::uint8_t>& bytes) {
  const std::uint8_t operation = Take(bytes);
  const std::size_t which = Take(bytes);
  std::string differs;
  if (operation % 16 >= 14 && !generations_.empty()) {
    Unpin(which % generations_.size());
  } else if (running_.empty() || (operation % 16 < 4 && running_.size() < kSequencesMax)) {
    differs = Start(bytes);
  } else if (operation % 16 < 8) {
    const std::size_t count = Take(bytes);
    Advance(running_[which % running_.size()], count, Take(bytes));
  } else if (operation % 16 < 10) {
    Running& running = running_[which % running_.size()];
    const auto stored = std::span(running.tokens).first(running.stored);
    cache_.Commit(running.blocks, stored);
    model_.Commit(running.model, stored);
  } else if (operation % 16 < 13) {
    Release(which % running_.size());
  } else {
    Pin(which % running_.size());
  }
  return differs.empty() ? Compare() : differs;
}

// A prompt is one of three texts up to some token, and one of three others from there on.
std::string KvCacheDriver::Start(std::span<const std::uint8_t>& bytes) {
  const std::size_t text = Take(bytes);
  const std::size_t cut = Take(bytes);
  const std::size_t length = std::size_t{1} + Take(bytes) + (text / 16);
  const int answer_tokens_max = Take(bytes);
  const std::uint8_t flags = Take(bytes);
  const cache::MatchOptions options{.force_miss = flags % 16 == 1,
                                    .cache_salt = std::uint64_t{flags} / 64};
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t source = i < cut ? text % 3 : 3 + text / 3 % 3;
    tokens.push_back(TokenId{static_cast<std::int32_t>(1000 * source + i % 7)});
  }
  auto blocks = cache_.MatchAndReserve(tokens, answer_tokens_max, options);
  auto model = model_.MatchAndReserve(tokens, answer_tokens_max, options);
  if (blocks.has_value() != model.has_value()) return "one has room, the other has not";
  if (!blocks) {
    ++refusals_;
    return {};
  }
  if (blocks->reused_tokens() != model->reused_tokens) {
    return std::to_string(blocks->reused_tokens()) + " tokens are reused instead of " +
           std::to_string(model->reused_tokens);
  }
  if (static_cast<int>(blocks->ids().size()) != model->block_count) return "a wrong block count";
  Running running{.tokens = tokens,
                  .stamps = {},
                  .stored = static_cast<std::size_t>(model->reused_tokens),
                  .blocks = std::move(*blocks),
                  .model = *model};
  std::uint32_t stamp = 1;
  for (const TokenId token : tokens) {
    stamp = stamp * 0x01000193u + static_cast<std::uint32_t>(token);
    running.stamps.push_back(stamp);
  }
  running_.push_back(std::move(running));
  return {};
}

// Stores keys and values of the next tokens: the prompt's, then an answer's.
void KvCacheDriver::Advance(Running& running, std::size_t count, std::uint8_t token) {
  const auto capacity = static_cast<std::size_t>(running.blocks.capacity_tokens());
  for (; count > 0 && running.stored < capacity; --count) {
    if (running.stored == running.tokens.size()) {
      const TokenId added{token % 4};
      running.stamps.push_back(running.stamps.back() * 0x01000193u +
                               static_cast<std::uint32_t>(added));
      running.tokens.push_back(added);
    }
    const std::size_t at = running.stored++;
    std::byte* base = cache_.BlockBase(running.blocks.ids()[at / kBlockTokens]);
    std::memcpy(base + at % kBlockTokens * sizeof(std::uint32_t), &running.stamps[at],
                sizeof(std::uint32_t));
  }
}

void KvCacheDriver::Pin(std::size_t index) {
  Running& running = running_[index];
  if (generations_.size() == kGenerationsMax || running.stored == 0) return;
  const auto stored = std::span(running.tokens).first(running.stored);
  cache_.Pin(std::move(running.blocks), stored, next_generation_);
  model_.Pin(std::move(running.model), stored, next_generation_);
  generations_.push_back(next_generation_++);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
}

void KvCacheDriver::Unpin(std::size_t index) {
  cache_.Unpin(generations_[index]);
  model_.Unpin(generations_[index]);
  generations_.erase(generations_.begin() + static_cast<std::ptrdiff_t>(index));
}

void KvCacheDriver::Release(std::size_t index) {
  model_.Release(running_[index].model);
  running_[index].blocks = cache::SequenceBlocks();
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::string KvCacheDriver::Drain() {
  while (!running_.empty()) Release(running_.size() - 1);
  while (!generations_.empty()) Unpin(generations_.size() - 1);
  return Compare();
}

std::string KvCacheDriver::Compare() const {
  std::vector<const cache::SequenceBlocks*> sequences;
  for (const Running& running : running_) sequences.push_back(&running.blocks);
  std::string broken = cache_.CheckIntegrity(sequences);
  if (!broken.empty()) return broken;

  const cache::Stats is = cache_.stats();
  const cache::Stats should = model_.stats();
  const auto compare = [&](const char* name, auto member) {
    if (is.*member == should.*member || !broken.empty()) return;
    broken = std::string(name) + " is " + std::to_string(is.*member) + " instead of " +
             std::to_string(should.*member);
  };
  compare("blocks_total", &cache::Stats::blocks_total);
  compare("blocks_pinned", &cache::Stats::blocks_pinned);
  compare("blocks_shared", &cache::Stats::blocks_shared);
  compare("blocks_kept", &cache::Stats::blocks_kept);
  compare("blocks_free", &cache::Stats::blocks_free);
  compare("lookups", &cache::Stats::lookups);
  compare("hits", &cache::Stats::hits);
  compare("query_tokens", &cache::Stats::query_tokens);
  compare("hit_tokens", &cache::Stats::hit_tokens);
  compare("evictions", &cache::Stats::evictions);
  compare("copies_on_write", &cache::Stats::copies_on_write);
  compare("stored", &cache::Stats::stored);

  for (const Running& running : running_) {
    for (std::size_t i = 0; i < running.stored; ++i) {
      std::uint32_t stamp = 0;
      const std::byte* base = cache_.BlockBase(running.blocks.ids()[i / kBlockTokens]);
      std::memcpy(&stamp, base + i % kBlockTokens * sizeof(stamp), sizeof(stamp));
      if (stamp != running.stamps[i]) return "token " + std::to_string(i) + " has other values";
    }
  }
  return broken;
}

}  // namespace cache_model
