#include "cache/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cache {
namespace {

BlockPool MakePool(int block_count, bool poison_freed = true) {
  auto pool = BlockPool::Create(
      {.block_count = block_count, .block_bytes = 128, .poison_freed = poison_freed});
  EXPECT_TRUE(pool.has_value());
  return std::move(*pool);
}

TEST(BlockPool, GivesEachBlockOnceAndThenNone) {
  BlockPool pool = MakePool(5);
  std::set<BlockId> taken;
  for (int i = 0; i < 5; ++i) {
    const BlockId block = pool.Acquire();
    ASSERT_NE(block, kNoBlock);
    EXPECT_TRUE(taken.insert(block).second);
    EXPECT_EQ(pool.ref_count(block), 1);
    EXPECT_EQ(pool.free_count(), 4 - i);
  }
  EXPECT_EQ(pool.Acquire(), kNoBlock);
  EXPECT_EQ(pool.block_count(), 5);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

TEST(BlockPool, BlocksDoNotOverlapAndStartAtCacheLines) {
  BlockPool pool = MakePool(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto base = reinterpret_cast<std::uintptr_t>(pool.BlockBase(BlockId{i}));
    EXPECT_EQ(base % 64, 0u);
    EXPECT_EQ(base - reinterpret_cast<std::uintptr_t>(pool.BlockBase(BlockId{0})), 128u * i);
  }
}

TEST(BlockPool, ASharedBlockComesBackWithTheLastRelease) {
  BlockPool pool = MakePool(1);
  const BlockId block = pool.Acquire();
  pool.Share(block);
  pool.Share(block);
  EXPECT_EQ(pool.ref_count(block), 3);
  pool.Release(block);
  pool.Release(block);
  EXPECT_EQ(pool.free_count(), 0);
  EXPECT_EQ(pool.Acquire(), kNoBlock);
  pool.Release(block);
  EXPECT_EQ(pool.free_count(), 1);
  EXPECT_EQ(pool.ref_count(block), 0);
  EXPECT_EQ(pool.Acquire(), block);
}

TEST(BlockPool, AFreedBlockIsFilledWithNaN) {
  BlockPool pool = MakePool(2);
  const BlockId block = pool.Acquire();
  std::memset(pool.BlockBase(block), 0, pool.block_bytes());
  pool.Share(block);
  pool.Release(block);
  EXPECT_EQ(*pool.BlockBase(block), std::byte{0}) << "still in use";
  pool.Release(block);
  float read = 0;
  std::memcpy(&read, pool.BlockBase(block), sizeof(read));
  EXPECT_NE(read, read);
  const std::byte* base = pool.BlockBase(block);
  EXPECT_TRUE(std::all_of(base, base + pool.block_bytes(),
                          [](std::byte byte) { return byte == BlockPool::kPoison; }));
}

TEST(BlockPool, IntegrityCheckSeesAWriteToAFreeBlock) {
  BlockPool pool = MakePool(3);
  const BlockId block = pool.Acquire();
  pool.Release(block);
  EXPECT_EQ(pool.CheckIntegrity(), "");
  pool.BlockBase(block)[127] = std::byte{1};
  EXPECT_EQ(pool.CheckIntegrity(), "block 0 was written after it was freed");
}

TEST(BlockPool, AssertsOnReleaseOfAFreeBlock) {
  BlockPool pool = MakePool(2);
  const BlockId block = pool.Acquire();
  pool.Release(block);
  EXPECT_DEATH(pool.Release(block), "ref_count");
  EXPECT_DEATH(pool.Share(block), "ref_count");
  EXPECT_DEATH(static_cast<void>(pool.ref_count(BlockId{2})), "ref_counts_");
}

TEST(BlockPool, AnUnaffordablePoolIsRefusedWithASentence) {
  const auto pool = BlockPool::Create(
      {.block_count = BlockPool::kBlocksMax, .block_bytes = std::size_t{1} << 44});
  ASSERT_FALSE(pool.has_value());
  EXPECT_NE(pool.error().find("configure a smaller pool"), std::string::npos) << pool.error();
}

}  // namespace
}  // namespace cache
