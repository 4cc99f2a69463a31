// A naive model of the KV cache, and a driver that runs both with the same operations.
//
// The model keeps every findable block as a plain list entry and scans it for everything: no
// hashes, no ref-counts, no linked lists. The driver turns bytes into operations, fills each token
// slot with a stamp of the tokens up to it (as keys and values depend on all of them), and compares
// after each operation: the counters, the gauges, what was reused, and every stamp that a running
// sequence can see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/kv_cache.h"

namespace cache_model {

// What the cache should do. Blocks are counted, not numbered.
class KvCacheModel {
 public:
  explicit KvCacheModel(int block_count);

  struct Sequence {
    std::uint64_t cache_salt = 0;
    int block_count = 0;
    int reused_tokens = 0;
    std::vector<int> path;         // entries, from the first token on
    std::vector<bool> path_owned;  // the sequence's block is the entry's
  };
  std::optional<Sequence> MatchAndReserve(std::span<const cache::TokenId> tokens,
                                          int answer_tokens_max,
                                          const cache::MatchOptions& options);
  void Commit(Sequence& sequence, std::span<const cache::TokenId> tokens);
  void Pin(Sequence sequence, std::span<const cache::TokenId> tokens, std::uint32_t generation);
  void Unpin(std::uint32_t generation);
  void Release(const Sequence& sequence);
  cache::Stats stats() const;
  int take_overs() const { return take_overs_; }

 private:
  struct Entry {
    int id = 0;
    int parent = -1;
    std::uint64_t cache_salt = 0;
    std::uint64_t last_use = 0;
    int pins = 0;
    int holders = 0;  // sequences
    std::vector<cache::TokenId> tokens;
  };
  struct Match {
    std::vector<int> full;
    int partial = -1;
    int partial_tokens = 0;
  };
  struct Pinned {
    std::uint32_t generation = 0;
    int deepest = -1;
  };
  Entry& Of(int id);
  bool Sees(const Entry& entry, std::uint64_t cache_salt) const;
  bool IsKept(int id);
  int KeptCount() const;
  int FreeCount() const;
  Match Find(std::span<const cache::TokenId> tokens, std::uint64_t cache_salt);
  void CommitBlock(Sequence& sequence, std::span<const cache::TokenId> tokens);
  void EvictOne();
  void Remove(int id);
  void Touch(int deepest);

  int block_count_;
  int own_blocks_ = 0;  // of sequences, not findable
  int next_id_ = 0;
  int take_overs_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<Entry> entries_;  // oldest first
  std::vector<Pinned> pinned_;
  cache::Stats counts_;
};

class KvCacheDriver {
 public:
  KvCacheDriver(int block_count, int index_hash_bits);

  // Takes as many bytes as it needs from the front; missing ones are 0.
  // Returns: an empty string, or what differs.
  std::string Step(std::span<const std::uint8_t>& bytes);
  // Ends all sequences and pins.
  std::string Drain();

  cache::Stats stats() const { return cache_.stats(); }
  int refusals() const { return refusals_; }
  int take_overs() const { return model_.take_overs(); }

 private:
  struct Running {
    std::vector<cache::TokenId> tokens;
    std::vector<std::uint32_t> stamps;
    std::size_t stored = 0;
    cache::SequenceBlocks blocks;
    KvCacheModel::Sequence model;
  };
  std::string Start(std::span<const std::uint8_t>& bytes);
  void Advance(Running& running, std::size_t count, std::uint8_t token);
  void Pin(std::size_t index);
  void Unpin(std::size_t index);
  void Release(std::size_t index);
  std::string Compare() const;

  cache::KvCache cache_;
  KvCacheModel model_;
  std::vector<Running> running_;
  std::vector<std::uint32_t> generations_;
  std::uint32_t next_generation_ = 1;
  int refusals_ = 0;
};

}  // namespace cache_model
