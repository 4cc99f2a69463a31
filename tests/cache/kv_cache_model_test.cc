// Random operations on the KV cache and on a naive model of it (tests/support/kv_cache_model.h).
#include "tests/support/kv_cache_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cache_model {
namespace {

struct Seen {
  cache::Stats stats;
  int refusals = 0;
  int take_overs = 0;
};

// Runs 20,000 operations; the seed stands in every failure.
Seen RunRandomOperations(std::uint64_t seed, int block_count, int index_hash_bits) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  KvCacheDriver driver(block_count, index_hash_bits);
  std::vector<std::uint8_t> bytes(8);
  for (int i = 0; i < 20'000; ++i) {
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
    std::span<const std::uint8_t> left(bytes);
    const std::string differs = driver.Step(left);
    if (differs.empty()) continue;
    ADD_FAILURE() << "operation " << i << ": " << differs;
    break;
  }
  EXPECT_EQ(driver.Drain(), "");
  return {driver.stats(), driver.refusals(), driver.take_overs()};
}

void ExpectAllWaysWereTaken(const Seen& seen) {
  EXPECT_GT(seen.stats.hits, 500u);
  EXPECT_LT(seen.stats.hits, seen.stats.lookups);
  EXPECT_GT(seen.stats.hit_tokens, 10'000u);
  EXPECT_GT(seen.stats.evictions, 100u);
  EXPECT_GT(seen.stats.copies_on_write, 100u);
  EXPECT_GT(seen.refusals, 20);
}

TEST(KvCacheModel, RandomOperationsAgreeWithANaiveModel) {
  int take_overs = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Seen seen = RunRandomOperations(seed, 16, 64);
    ExpectAllWaysWereTaken(seen);
    take_overs += seen.take_overs;
  }
  EXPECT_GT(take_overs, 0);
}

TEST(KvCacheModel, RandomOperationsAgreeInAPoolOfFewBlocks) {
  const Seen seen = RunRandomOperations(4, 6, 64);
  EXPECT_GT(seen.stats.hits, 100u);
  EXPECT_GT(seen.take_overs, 10);
  EXPECT_GT(seen.refusals, 1000);
}

TEST(KvCacheModel, RandomOperationsAgreeWhenHashesCollide) {
  ExpectAllWaysWereTaken(RunRandomOperations(5, 16, 8));
  ExpectAllWaysWereTaken(RunRandomOperations(6, 16, 1));
}

}  // namespace
}  // namespace cache_model
