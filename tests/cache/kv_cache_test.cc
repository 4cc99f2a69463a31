// Every test here asserts the hit counters: a cache that never hits passes all others.
#include "cache/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cache {
namespace {

using Tokens = std::vector<TokenId>;
constexpr KvLayout kLayout{.layer_count = 2, .kv_head_count = 1, .head_dim = 2};

KvCache MakeCache(int block_count, int index_hash_bits = 64) {
  auto cache = KvCache::Create({.layout = kLayout,
                                .block_count = block_count,
                                .poison_freed = true,
                                .index_hash_bits = index_hash_bits});
  EXPECT_TRUE(cache.has_value());
  return std::move(*cache);
}

Tokens MakeTokens(int seed, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(TokenId{seed * 1000 + i});
  return tokens;
}

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

SequenceBlocks Reserve(KvCache& cache, const Tokens& tokens, int answer_tokens_max = 0,
                       const MatchOptions& options = {}) {
  auto blocks = cache.MatchAndReserve(tokens, answer_tokens_max, options);
  EXPECT_TRUE(blocks.has_value());
  return blocks ? std::move(*blocks) : SequenceBlocks();
}

// Reserves, commits and gives back: what a finished request leaves behind.
void Keep(KvCache& cache, const Tokens& tokens) {
  SequenceBlocks blocks = Reserve(cache, tokens);
  cache.Commit(blocks, tokens);
}

void PinTokens(KvCache& cache, const Tokens& tokens, std::uint32_t generation) {
  cache.Pin(Reserve(cache, tokens), tokens, generation);
}

void ExpectHits(const KvCache& cache, std::uint64_t lookups, std::uint64_t hits,
                std::uint64_t hit_tokens) {
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.lookups, lookups);
  EXPECT_EQ(stats.hits, hits);
  EXPECT_EQ(stats.hit_tokens, hit_tokens);
  EXPECT_EQ(stats.blocks_total,
            stats.blocks_pinned + stats.blocks_shared + stats.blocks_kept + stats.blocks_free);
}

// Goal: P1, exactly the command is prefilled. Method: a pinned prefix of every length modulo the
// block size; a command behind it reuses the whole prefix, the copied tail included.
TEST(KvCache, APinnedPrefixIsReusedToTheLastTokenForEveryLength) {
  for (int length = 1; length <= 130; ++length) {
    KvCache cache = MakeCache(8);
    const Tokens prefix = MakeTokens(1, length);
    PinTokens(cache, prefix, 1);
    const SequenceBlocks blocks = Reserve(cache, Joined(prefix, MakeTokens(2, 9)), 20);
    EXPECT_EQ(blocks.reused_tokens(), length);
    ExpectHits(cache, 2, 1, static_cast<std::uint64_t>(length));
    EXPECT_EQ(cache.stats().copies_on_write, length % 64 == 0 ? 0u : 1u);
    EXPECT_EQ(cache.stats().query_tokens, static_cast<std::uint64_t>(2 * length + 9));
    const SequenceBlocks* running = &blocks;
    EXPECT_EQ(cache.CheckIntegrity({&running, 1}), "");
  }
}

TEST(KvCache, AWholeMatchLeavesTheLastTokenToBeComputed) {
  for (const int length : {1, 2, 63, 64, 65, 127, 128, 129}) {
    KvCache cache = MakeCache(8);
    const Tokens prefix = MakeTokens(1, length);
    PinTokens(cache, prefix, 1);
    const SequenceBlocks blocks = Reserve(cache, prefix);
    EXPECT_EQ(blocks.reused_tokens(), length - 1);
    ExpectHits(cache, 2, length > 1 ? 1 : 0, static_cast<std::uint64_t>(length - 1));
  }
}

TEST(KvCache, ACopiedBlockHasTheBytesOfItsSourceAndLeavesThemAlone) {
  KvCache cache = MakeCache(8);
  const Tokens prefix = MakeTokens(1, 80);
  SequenceBlocks first = Reserve(cache, prefix);
  const BlockId source = first.ids()[1];
  for (std::size_t i = 0; i < kLayout.block_bytes(); ++i) {
    cache.BlockBase(source)[i] = std::byte(i % 251);
  }
  cache.Pin(std::move(first), prefix, 1);
  const SequenceBlocks blocks = Reserve(cache, Joined(prefix, MakeTokens(2, 9)));
  ASSERT_EQ(blocks.ids().size(), 2u);
  EXPECT_NE(blocks.ids()[1], source);
  std::byte* copy = cache.BlockBase(blocks.ids()[1]);
  EXPECT_EQ(std::memcmp(copy, cache.BlockBase(source), kLayout.block_bytes()), 0);
  std::memset(copy, 0, kLayout.block_bytes());
  EXPECT_EQ(cache.BlockBase(source)[250], std::byte{250});
  ExpectHits(cache, 2, 1, 80);
}

TEST(KvCache, FullBlocksAreSharedByReference) {
  KvCache cache = MakeCache(8);
  const Tokens prefix = MakeTokens(1, 128);
  PinTokens(cache, prefix, 1);
  const SequenceBlocks a = Reserve(cache, Joined(prefix, MakeTokens(2, 9)));
  const SequenceBlocks b = Reserve(cache, Joined(prefix, MakeTokens(3, 9)));
  EXPECT_EQ(a.ids()[0], b.ids()[0]);
  EXPECT_EQ(a.ids()[1], b.ids()[1]);
  EXPECT_NE(a.ids()[2], b.ids()[2]);
  EXPECT_EQ(cache.stats().blocks_free, 8 - 4);
  EXPECT_EQ(cache.stats().copies_on_write, 0u);
  ExpectHits(cache, 3, 2, 256);
}

TEST(KvCache, ABlockIsSharedAsSoonAsItIsCommittedWhileItsSequenceRuns) {
  KvCache cache = MakeCache(16);
  const Tokens prompt = MakeTokens(1, 200);
  SequenceBlocks first = Reserve(cache, prompt);
  EXPECT_EQ(Reserve(cache, prompt).reused_tokens(), 0);
  cache.Commit(first, std::span(prompt).first(127));
  EXPECT_EQ(Reserve(cache, prompt).reused_tokens(), 64);
  cache.Commit(first, std::span(prompt).first(128));
  const SequenceBlocks second = Reserve(cache, prompt);
  EXPECT_EQ(second.reused_tokens(), 128);
  first = SequenceBlocks();  // cancelled; the other one goes on
  const SequenceBlocks* running = &second;
  EXPECT_EQ(cache.CheckIntegrity({&running, 1}), "");
  ExpectHits(cache, 4, 2, 192);
}

TEST(KvCache, TwoSequencesThatComputeTheSameBlockKeepTheirOwnAndFindOne) {
  KvCache cache = MakeCache(8);
  const Tokens prompt = MakeTokens(1, 65);
  SequenceBlocks a = Reserve(cache, prompt);
  SequenceBlocks b = Reserve(cache, prompt);
  const std::vector<BlockId> ids_before(b.ids().begin(), b.ids().end());
  cache.Commit(a, prompt);
  cache.Commit(b, prompt);
  EXPECT_TRUE(std::ranges::equal(b.ids(), ids_before));
  EXPECT_EQ(cache.stats().stored, 1u);
  {
    const SequenceBlocks c = Reserve(cache, prompt);
    EXPECT_EQ(c.ids()[0], a.ids()[0]);
  }
  a = SequenceBlocks();
  b = SequenceBlocks();
  EXPECT_EQ(cache.stats().blocks_kept, 1);
  EXPECT_EQ(cache.stats().blocks_free, 7);
  ExpectHits(cache, 3, 1, 64);
}

TEST(KvCache, ForceMissReusesNothingAndIsCountedAsAMiss) {
  KvCache cache = MakeCache(8);
  const Tokens prefix = MakeTokens(1, 100);
  PinTokens(cache, prefix, 1);
  const Tokens prompt = Joined(prefix, MakeTokens(2, 9));
  {
    const SequenceBlocks missed = Reserve(cache, prompt, 10, {.force_miss = true});
    const SequenceBlocks hit = Reserve(cache, prompt, 10);
    EXPECT_EQ(missed.reused_tokens(), 0);
    EXPECT_EQ(missed.ids().size(), hit.ids().size());
    EXPECT_NE(missed.ids()[0], hit.ids()[0]);
  }
  EXPECT_EQ(cache.stats().blocks_free, 6);
  ExpectHits(cache, 3, 1, 100);
}

TEST(KvCache, PinsSurviveAnyLoad) {
  KvCache cache = MakeCache(6);
  const Tokens prefix = MakeTokens(1, 100);
  PinTokens(cache, prefix, 1);
  for (int seed = 2; seed < 40; ++seed) Keep(cache, MakeTokens(seed, 64 + seed * 4));
  EXPECT_GT(cache.stats().evictions, 30u);
  EXPECT_EQ(cache.stats().blocks_pinned, 2);
  const SequenceBlocks blocks = Reserve(cache, Joined(prefix, MakeTokens(99, 5)));
  EXPECT_EQ(blocks.reused_tokens(), 100);
  ExpectHits(cache, 40, 1, 100);
}

TEST(KvCache, WhatIsPinnedOrRunningIsNeverTakenAndARefusalChangesNothing) {
  KvCache cache = MakeCache(4);
  PinTokens(cache, MakeTokens(1, 64), 1);
  const SequenceBlocks running = Reserve(cache, MakeTokens(2, 64));
  Keep(cache, MakeTokens(3, 64));
  const Stats before = cache.stats();
  EXPECT_FALSE(cache.MatchAndReserve(MakeTokens(4, 65), 64, {}).has_value());
  EXPECT_FALSE(cache.MatchAndReserve(MakeTokens(4, 1), 100'000'000, {}).has_value());
  const Stats after = cache.stats();
  EXPECT_EQ(std::memcmp(&before, &after, sizeof(Stats)), 0);
  const SequenceBlocks fits = Reserve(cache, MakeTokens(4, 65), 63);
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().blocks_free, 0);
  ExpectHits(cache, 4, 0, 0);
}

TEST(KvCache, TheLeastRecentlyUsedLeafGoesFirst) {
  KvCache cache = MakeCache(3);
  Keep(cache, MakeTokens(1, 64));
  Keep(cache, MakeTokens(2, 64));
  Keep(cache, MakeTokens(3, 64));
  // Looking at the first one makes the second the oldest (63 of its 64 tokens are asked for).
  EXPECT_EQ(Reserve(cache, MakeTokens(1, 64)).reused_tokens(), 63);
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(Reserve(cache, Joined(MakeTokens(2, 64), MakeTokens(9, 1))).reused_tokens(), 0);
  ExpectHits(cache, 5, 1, 63);
}

TEST(KvCache, APrefixIsEvictedFromItsEnd) {
  for (int taken = 1; taken <= 5; ++taken) {
    KvCache cache = MakeCache(5);
    const Tokens prompt = MakeTokens(1, 256);
    Keep(cache, prompt);
    static_cast<void>(Reserve(cache, MakeTokens(2, 64 * taken)));
    EXPECT_EQ(cache.stats().evictions, static_cast<std::uint64_t>(taken - 1));
    const int reused = taken == 1 ? 255 : (5 - taken) * 64;
    EXPECT_EQ(Reserve(cache, prompt).reused_tokens(), reused);
    ExpectHits(cache, 3, reused > 0 ? 1 : 0, static_cast<std::uint64_t>(reused));
  }
}

TEST(KvCache, TwoGenerationsStayPinnedUntilEachIsUnpinned) {
  KvCache cache = MakeCache(8);
  const Tokens common = MakeTokens(1, 90);
  const Tokens old_prefix = Joined(common, MakeTokens(2, 50));
  const Tokens new_prefix = Joined(common, MakeTokens(3, 50));
  PinTokens(cache, old_prefix, 1);
  SequenceBlocks built = Reserve(cache, new_prefix);
  EXPECT_EQ(built.reused_tokens(), 90) << "an edit costs only what follows it";
  cache.Pin(std::move(built), new_prefix, 2);
  EXPECT_EQ(cache.stats().blocks_pinned, 5);  // the first block is shared
  cache.Unpin(1);
  EXPECT_EQ(cache.stats().blocks_pinned, 3);
  EXPECT_EQ(cache.stats().blocks_kept, 2);
  EXPECT_EQ(Reserve(cache, old_prefix).reused_tokens(), 139) << "kept for a roll-back";
  cache.Unpin(2);
  EXPECT_EQ(cache.stats().blocks_pinned, 0);
  EXPECT_EQ(cache.CheckIntegrity(), "");
  ExpectHits(cache, 3, 2, 90 + 139);
}

TEST(KvCache, OtherSaltsShareOnlyThePinnedPrefix) {
  KvCache cache = MakeCache(16);
  const Tokens prefix = MakeTokens(1, 70);
  PinTokens(cache, prefix, 1);
  const Tokens prompt = Joined(prefix, MakeTokens(2, 70));
  SequenceBlocks blocks = Reserve(cache, prompt, 0, {.cache_salt = 7});
  cache.Commit(blocks, prompt);
  EXPECT_EQ(Reserve(cache, prompt, 0, {.cache_salt = 7}).reused_tokens(), 128);
  EXPECT_EQ(Reserve(cache, prompt, 0, {.cache_salt = 8}).reused_tokens(), 70);
  EXPECT_EQ(Reserve(cache, prompt).reused_tokens(), 70);
  ExpectHits(cache, 5, 4, 70 + 128 + 70 + 70);
}

// The pool holds the prompt's blocks and no more, one of them to be copied: it is taken instead.
TEST(KvCache, InATightPoolThePartlyMatchingBlockItselfIsTaken) {
  KvCache cache = MakeCache(2);
  Keep(cache, MakeTokens(1, 64));
  const Tokens prompt = Joined(MakeTokens(1, 40), MakeTokens(2, 60));
  const SequenceBlocks blocks = Reserve(cache, prompt);
  EXPECT_EQ(blocks.reused_tokens(), 40);
  EXPECT_EQ(cache.stats().copies_on_write, 0u);
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().blocks_free, 0);
  ExpectHits(cache, 2, 1, 40);
}

TEST(KvCache, HitsAreTheSameWhenHashesHaveEightBits) {
  for (const int bits : {64, 8, 1}) {
    KvCache cache = MakeCache(300, bits);
    for (int seed = 1; seed <= 250; ++seed) Keep(cache, MakeTokens(seed, 65));
    for (int seed = 1; seed <= 250; ++seed) {
      EXPECT_EQ(Reserve(cache, MakeTokens(seed, 65)).reused_tokens(), 64);
    }
    EXPECT_EQ(cache.CheckIntegrity(), "");
    ExpectHits(cache, 500, 250, 250 * 64);
  }
}

TEST(KvCache, MovedBlocksAreGivenBackOnce) {
  KvCache cache = MakeCache(4);
  Keep(cache, MakeTokens(1, 65));
  SequenceBlocks a = Reserve(cache, MakeTokens(1, 65));
  SequenceBlocks b = std::move(a);
  EXPECT_EQ(b.reused_tokens(), 64);
  a = std::move(b);
  a = Reserve(cache, MakeTokens(1, 65));  // the earlier blocks go back
  const SequenceBlocks* running = &a;
  EXPECT_EQ(cache.CheckIntegrity({&running, 1}), "");
  KvCache moved = std::move(cache);
  EXPECT_EQ(a.capacity_tokens(), 128);
  a = SequenceBlocks();
  EXPECT_EQ(moved.stats().blocks_free, 3);
  ExpectHits(moved, 3, 2, 128);
}

TEST(KvCache, AssertsWhenTokensAreCommittedThatWereNotMatched) {
  KvCache cache = MakeCache(4);
  Keep(cache, MakeTokens(1, 65));
  SequenceBlocks blocks = Reserve(cache, MakeTokens(1, 65));
  EXPECT_DEATH(cache.Commit(blocks, MakeTokens(2, 65)), "equal");
  EXPECT_DEATH(cache.Commit(blocks, MakeTokens(1, 129)), "capacity_tokens");
  ExpectHits(cache, 2, 1, 64);
}

}  // namespace
}  // namespace cache
