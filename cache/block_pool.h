// A fixed number of equal blocks in one arena: acquire, share, release.
//
// Everything is allocated and touched at start; nothing grows. A block is free or has a count of
// those who use it; it comes back when the last of them lets go. Freed blocks can be filled with
// a pattern that is NaN in every float format, so that a read of stale bytes shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "kernels/numa_memory.h"

namespace cache {

enum class BlockId : std::uint32_t {};
inline constexpr BlockId kNoBlock{0xFFFFFFFF};

// Blocks are numbered from 0.
constexpr std::size_t IndexOf(BlockId block) { return static_cast<std::size_t>(block); }

// Thread: one. Invariant: a block is on the free list exactly when its count is 0.
class BlockPool {
 public:
  static constexpr std::byte kPoison{0xFF};  // NaN as float16, bfloat16 and float32
  static constexpr int kBlocksMax = 1 << 24;

  struct Options {
    int block_count = 0;          // 1 to kBlocksMax
    std::size_t block_bytes = 0;  // a multiple of 64
    int numa_node = -1;           // -1: no preference
    bool poison_freed = false;    // debug builds always do; costs a write of each freed block
  };
  // Returns: a sentence when the memory can't be had.
  [[nodiscard]] static std::expected<BlockPool, std::string> Create(const Options& options);

  // Takes a free block, its count 1. Returns: kNoBlock when none is free.
  [[nodiscard]] BlockId Acquire();
  // Adds one to the count. Requires: the block is in use (asserted).
  void Share(BlockId block);
  // Takes one from the count; at 0 the block is free. Requires: as Share.
  void Release(BlockId block);

  int ref_count(BlockId block) const;
  int block_count() const { return static_cast<int>(ref_counts_.size()); }
  int free_count() const { return static_cast<int>(free_.size()); }
  std::size_t block_bytes() const { return block_bytes_; }
  std::byte* BlockBase(BlockId block) const;

  // Returns: an empty string, or the first broken invariant.
  std::string CheckIntegrity() const;

 private:
  BlockPool(const Options& options, kernels::NumaMemory memory);
  void Poison(BlockId block);

  std::size_t block_bytes_;
  bool poison_freed_;
  kernels::NumaMemory memory_;
  std::vector<std::int32_t> ref_counts_;
  std::vector<BlockId> free_;  // the last one is taken next
};

}  // namespace cache
