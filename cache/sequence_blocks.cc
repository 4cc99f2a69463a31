#include "cache/sequence_blocks.h"

#include <cassert>
#include <cstddef>
#include <utility>

#include "cache/block_pool.h"

namespace cache {

SequenceBlocks::SequenceBlocks(SequenceBlocks&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      index_(std::exchange(other.index_, nullptr)),
      cache_salt_(other.cache_salt_),
      reused_tokens_(std::exchange(other.reused_tokens_, 0)),
      ids_(std::exchange(other.ids_, {})),
      path_(std::exchange(other.path_, {})) {}

SequenceBlocks& SequenceBlocks::operator=(SequenceBlocks&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  pool_ = std::exchange(other.pool_, nullptr);
  index_ = std::exchange(other.index_, nullptr);
  cache_salt_ = other.cache_salt_;
  reused_tokens_ = std::exchange(other.reused_tokens_, 0);
  ids_ = std::exchange(other.ids_, {});
  path_ = std::exchange(other.path_, {});
  return *this;
}

SequenceBlocks::~SequenceBlocks() { GiveBack(); }

void SequenceBlocks::GiveBack() {
  if (pool_ == nullptr) return;
  assert(path_.size() <= ids_.size());
  if (!path_.empty()) index_->TouchPath(path_.back());
  for (std::size_t i = 0; i < path_.size(); ++i) {
    if (path_[i] != ids_[i]) pool_->Release(path_[i]);
  }
  for (const BlockId block : ids_) pool_->Release(block);
  pool_ = nullptr;
}

}  // namespace cache
