#include "cache/block_pool.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "kernels/numa_memory.h"

namespace cache {
namespace {

#ifdef INGLENOOK_POISON_FREED
constexpr bool kAlwaysPoison = true;
#else
constexpr bool kAlwaysPoison = false;
#endif

}  // namespace

std::expected<BlockPool, std::string> BlockPool::Create(const Options& options) {
  assert(options.block_count >= 1);
  assert(options.block_count <= kBlocksMax);
  assert(options.block_bytes > 0);
  assert(options.block_bytes % 64 == 0);
  const auto count = static_cast<std::size_t>(options.block_count);
  if (options.block_bytes > PTRDIFF_MAX / count) {
    return std::unexpected("The KV pool of " + std::to_string(count) + " blocks of " +
                           std::to_string(options.block_bytes) +
                           " bytes exceeds the address space; configure a smaller pool.");
  }
  auto memory = kernels::NumaMemory::Allocate(count * options.block_bytes, options.numa_node);
  if (!memory) {
    return std::unexpected("The KV pool of " + std::to_string(count) + " blocks of " +
                           std::to_string(options.block_bytes) +
                           " bytes can't be allocated; configure a smaller pool. " +
                           memory.error());
  }
  memory->Touch();
  return BlockPool(options, std::move(*memory));
}

BlockPool::BlockPool(const Options& options, kernels::NumaMemory memory)
    : block_bytes_(options.block_bytes),
      poison_freed_(options.poison_freed || kAlwaysPoison),
      memory_(std::move(memory)),
      ref_counts_(static_cast<std::size_t>(options.block_count), 0) {
  free_.reserve(ref_counts_.size());
  for (std::size_t i = ref_counts_.size(); i > 0; --i) {
    const BlockId block{static_cast<std::uint32_t>(i - 1)};
    free_.push_back(block);
    Poison(block);
  }
}

BlockId BlockPool::Acquire() {
  if (free_.empty()) return kNoBlock;
  const BlockId block = free_.back();
  free_.pop_back();
  assert(ref_counts_[IndexOf(block)] == 0);
  ref_counts_[IndexOf(block)] = 1;
  return block;
}

void BlockPool::Share(BlockId block) {
  assert(ref_count(block) > 0);
  ++ref_counts_[IndexOf(block)];
}

void BlockPool::Release(BlockId block) {
  assert(ref_count(block) > 0);
  if (--ref_counts_[IndexOf(block)] > 0) return;
  Poison(block);
  free_.push_back(block);
}

int BlockPool::ref_count(BlockId block) const {
  assert(IndexOf(block) < ref_counts_.size());
  return ref_counts_[IndexOf(block)];
}

std::byte* BlockPool::BlockBase(BlockId block) const {
  assert(IndexOf(block) < ref_counts_.size());
  return memory_.bytes() + IndexOf(block) * block_bytes_;
}

void BlockPool::Poison(BlockId block) {
  if (!poison_freed_) return;
  std::memset(BlockBase(block), std::to_integer<int>(kPoison), block_bytes_);
}

std::string BlockPool::CheckIntegrity() const {
  std::vector<bool> is_free(ref_counts_.size(), false);
  for (const BlockId block : free_) {
    const std::string name = "block " + std::to_string(IndexOf(block));
    if (IndexOf(block) >= ref_counts_.size()) return name + " is free but not in the pool";
    if (is_free[IndexOf(block)]) return name + " is twice on the free list";
    is_free[IndexOf(block)] = true;
    if (ref_counts_[IndexOf(block)] != 0) return name + " is free and in use";
    const std::byte* base = BlockBase(block);
    if (poison_freed_ &&
        std::any_of(base, base + block_bytes_, [](std::byte byte) { return byte != kPoison; })) {
      return name + " was written after it was freed";
    }
  }
  for (std::size_t i = 0; i < ref_counts_.size(); ++i) {
    if (ref_counts_[i] < 0) return "block " + std::to_string(i) + " has a negative count";
    if (ref_counts_[i] == 0 && !is_free[i]) return "block " + std::to_string(i) + " is lost";
  }
  return {};
}

}  // namespace cache
