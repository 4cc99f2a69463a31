#include "cache/prefix_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace cache {
namespace {

using Tokens = std::vector<TokenId>;

// count tokens that differ from place to place and from seed to seed.
Tokens MakeTokens(int seed, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(TokenId{seed * 1000 + i});
  return tokens;
}

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::span<const TokenId> BlockOf(const Tokens& tokens, std::size_t index) {
  return std::span(tokens).subspan(index * 64, 64);
}

constexpr BlockId kFirst{0};
constexpr BlockId kSecond{1};
constexpr BlockId kThird{2};

// Blocks 0 and 1 hold the 128 tokens.
PrefixIndex IndexOfTwo(const Tokens& tokens, int hash_bits = 64) {
  PrefixIndex index({.block_count = 8, .hash_bits = hash_bits});
  index.Insert(kFirst, kNoBlock, BlockOf(tokens, 0), 0);
  index.Insert(kSecond, kFirst, BlockOf(tokens, 1), 0);
  return index;
}

TEST(PrefixIndex, MatchIsExactAtEveryLength) {
  const Tokens stored = MakeTokens(1, 128);
  const PrefixIndex index = IndexOfTwo(stored);
  for (int length = 0; length <= 128; ++length) {
    const Tokens asked = Joined(Tokens(stored.begin(), stored.begin() + length), MakeTokens(2, 10));
    const auto match = index.LongestMatch(asked, 0);
    EXPECT_EQ(match.full.size(), static_cast<std::size_t>(length / 64)) << length;
    EXPECT_EQ(match.partial_tokens, length % 64) << length;
    EXPECT_EQ(match.partial == kNoBlock, length % 64 == 0) << length;
  }
  EXPECT_EQ(index.CheckIntegrity(), "");
}

TEST(PrefixIndex, MatchStopsAtTheFirstDifferentBlock) {
  const Tokens stored = MakeTokens(1, 128);
  const PrefixIndex index = IndexOfTwo(stored);
  // The second block's tokens under another first block are not a match.
  const Tokens asked = Joined(MakeTokens(3, 64), Tokens(stored.begin() + 64, stored.end()));
  const auto match = index.LongestMatch(asked, 0);
  EXPECT_TRUE(match.full.empty());
  EXPECT_EQ(match.partial, kNoBlock);
  EXPECT_EQ(match.partial_tokens, 0);
}

// Goal: a hash alone is never believed. Method: with hashes of one bit half of all blocks collide;
// every other block of 64 tokens is asked for and none may be found.
TEST(PrefixIndex, ACollidingHashIsNotAHit) {
  const Tokens stored = MakeTokens(1, 128);
  const PrefixIndex index = IndexOfTwo(stored, 1);
  for (int seed = 2; seed < 50; ++seed) {
    const Tokens asked = MakeTokens(seed, 64);
    EXPECT_EQ(index.FindChild(kNoBlock, asked, 0), kNoBlock);
    const auto match = index.LongestMatch(asked, 0);
    EXPECT_TRUE(match.full.empty());
    EXPECT_EQ(match.partial_tokens, 0);
  }
  // One token differs, the last one.
  Tokens asked(stored);
  asked[127] = TokenId{-5};
  const auto match = index.LongestMatch(asked, 0);
  EXPECT_EQ(match.full, std::vector<BlockId>{kFirst});
  EXPECT_EQ(match.partial_tokens, 63);
  EXPECT_EQ(index.LongestMatch(stored, 0).full, (std::vector<BlockId>{kFirst, kSecond}));
}

// The same tokens after another beginning have other keys and values. With hashes of one bit half
// of the beginnings collide.
TEST(PrefixIndex, ABlockIsFoundOnlyBelowItsParentWhenHashesCollide) {
  PrefixIndex index({.block_count = 24, .hash_bits = 1});
  for (std::uint32_t i = 0; i < 20; ++i) {
    index.Insert(BlockId{i}, kNoBlock, MakeTokens(static_cast<int>(i), 64), 0);
  }
  const Tokens below = MakeTokens(50, 64);
  index.Insert(BlockId{20}, kFirst, below, 0);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto match = index.LongestMatch(Joined(MakeTokens(static_cast<int>(i), 64), below), 0);
    EXPECT_EQ(match.full.size(), i == 0 ? 2u : 1u) << i;
    EXPECT_EQ(match.partial, kNoBlock);
    EXPECT_EQ(index.FindChild(BlockId{i}, below, 0), i == 0 ? BlockId{20} : kNoBlock);
  }
}

TEST(PrefixIndex, ThousandsOfBlocksAreFoundWithAnEightBitHash) {
  constexpr int kCount = 2000;
  PrefixIndex index({.block_count = kCount, .hash_bits = 8});
  for (int i = 0; i < kCount; ++i) {
    index.Insert(BlockId{static_cast<std::uint32_t>(i)}, kNoBlock, MakeTokens(i, 64), 0);
  }
  EXPECT_EQ(index.CheckIntegrity(), "");
  int hits = 0;
  for (int i = 0; i < kCount; ++i) {
    const auto match = index.LongestMatch(MakeTokens(i, 64), 0);
    ASSERT_EQ(match.full, std::vector<BlockId>{BlockId{static_cast<std::uint32_t>(i)}});
    ++hits;
  }
  EXPECT_EQ(hits, kCount);
}

TEST(PrefixIndex, ThePartialMatchIsTheLongestOfAllChildren) {
  PrefixIndex index({.block_count = 8});
  const Tokens base = MakeTokens(1, 64);
  for (std::uint32_t i = 0; i < 4; ++i) {  // 10, 30, 20, 40 common tokens
    const int common = std::vector<int>{10, 30, 20, 40}[i];
    const Tokens tokens = Joined(Tokens(base.begin(), base.begin() + common),
                                 MakeTokens(static_cast<int>(i) + 5, 64 - common));
    index.Insert(BlockId{i}, kNoBlock, tokens, 0);
  }
  const auto match = index.LongestMatch(base, 0);
  EXPECT_EQ(match.partial, BlockId{3});
  EXPECT_EQ(match.partial_tokens, 40);
  const auto shorter = index.LongestMatch(std::span(base).first(25), 0);
  EXPECT_EQ(shorter.partial_tokens, 25);
}

TEST(PrefixIndex, APartlyFilledTailIsALeafAndMatchesWhatItHolds) {
  const Tokens stored = MakeTokens(1, 128 + 17);
  PrefixIndex index = IndexOfTwo(stored);
  index.Insert(kThird, kSecond, std::span(stored).subspan(128), 0);
  const auto match = index.LongestMatch(Joined(stored, MakeTokens(9, 60)), 0);
  EXPECT_EQ(match.full.size(), 2u);
  EXPECT_EQ(match.partial, kThird);
  EXPECT_EQ(match.partial_tokens, 17);
  EXPECT_DEATH(index.Insert(BlockId{3}, kThird, MakeTokens(9, 64), 0), "token_count");
}

TEST(PrefixIndex, ASaltSeparatesButNotFromWhatIsPinned) {
  const Tokens stored = MakeTokens(1, 128);
  PrefixIndex index = IndexOfTwo(stored);
  EXPECT_EQ(index.LongestMatch(stored, 0).full.size(), 2u);
  EXPECT_TRUE(index.LongestMatch(stored, 7).full.empty());
  EXPECT_EQ(index.LongestMatch(stored, 7).partial, kNoBlock);
  index.PinPath(kFirst);
  EXPECT_EQ(index.LongestMatch(stored, 7).full, std::vector<BlockId>{kFirst});
  EXPECT_EQ(index.LongestMatch(stored, 7).partial, kNoBlock) << "the block below is not pinned";
  EXPECT_EQ(index.FindChild(kNoBlock, BlockOf(stored, 0), 7), kFirst);
  index.UnpinPath(kFirst);
  EXPECT_TRUE(index.LongestMatch(stored, 7).full.empty());
}

// A pinned block and one of the asker's salt hold the same tokens; only below one of them does the
// prompt go on.
TEST(PrefixIndex, TheWayDownForksOverSalts) {
  const Tokens stored = MakeTokens(1, 128);
  for (const bool below_pinned : {true, false}) {
    PrefixIndex index({.block_count = 4});
    index.Insert(kFirst, kNoBlock, BlockOf(stored, 0), 0);
    index.Insert(kSecond, kNoBlock, BlockOf(stored, 0), 7);
    index.PinPath(kFirst);
    index.Insert(kThird, below_pinned ? kFirst : kSecond, BlockOf(stored, 1), 7);
    const auto match = index.LongestMatch(stored, 7);
    EXPECT_EQ(match.full, (std::vector<BlockId>{below_pinned ? kFirst : kSecond, kThird}));
  }
}

TEST(PrefixIndex, TheVictimIsTheLeastRecentlyUsedLeaf) {
  auto pool = BlockPool::Create({.block_count = 4, .block_bytes = 64});
  ASSERT_TRUE(pool.has_value());
  PrefixIndex index({.block_count = 4});
  for (int i = 0; i < 4; ++i) ASSERT_EQ(IndexOf(pool->Acquire()), static_cast<std::size_t>(i));
  EXPECT_EQ(index.Victim(*pool), kNoBlock);
  const Tokens chain = MakeTokens(1, 128);
  index.Insert(BlockId{0}, kNoBlock, BlockOf(chain, 0), 0);  // the oldest, but no leaf
  index.Insert(BlockId{1}, kNoBlock, MakeTokens(2, 64), 0);
  index.Insert(BlockId{2}, BlockId{0}, BlockOf(chain, 1), 0);
  index.Insert(BlockId{3}, kNoBlock, MakeTokens(3, 64), 0);
  EXPECT_EQ(index.Victim(*pool), BlockId{1});
  index.TouchPath(BlockId{1});
  EXPECT_EQ(index.Victim(*pool), BlockId{2});
  pool->Share(BlockId{2});  // used by a sequence
  EXPECT_EQ(index.Victim(*pool), BlockId{3});
  index.PinPath(BlockId{3});
  EXPECT_EQ(index.Victim(*pool), BlockId{1});
  pool->Release(BlockId{2});
  index.Remove(BlockId{2});
  EXPECT_EQ(index.Victim(*pool), BlockId{0});
  EXPECT_EQ(index.CheckIntegrity(), "");
}

TEST(PrefixIndex, PinsAreCountedAlongThePath) {
  const Tokens stored = MakeTokens(1, 128);
  PrefixIndex index = IndexOfTwo(stored);
  index.PinPath(kSecond);
  index.PinPath(kFirst);
  index.UnpinPath(kSecond);
  EXPECT_TRUE(index.IsPinned(kFirst));
  EXPECT_FALSE(index.IsPinned(kSecond));
  EXPECT_DEATH(index.UnpinPath(kSecond), "pins > 0");
  index.UnpinPath(kFirst);
  EXPECT_FALSE(index.IsPinned(kFirst));
}

TEST(PrefixIndex, ARemovedBlockIsNotFoundAndCanHoldOtherTokens) {
  const Tokens stored = MakeTokens(1, 128);
  PrefixIndex index = IndexOfTwo(stored);
  EXPECT_DEATH(index.Remove(kFirst), "IsLeaf");
  index.Remove(kSecond);
  EXPECT_FALSE(index.Contains(kSecond));
  EXPECT_EQ(index.LongestMatch(stored, 0).full, std::vector<BlockId>{kFirst});
  index.Insert(kSecond, kNoBlock, MakeTokens(4, 64), 0);
  EXPECT_EQ(index.LongestMatch(MakeTokens(4, 64), 0).full, std::vector<BlockId>{kSecond});
  EXPECT_EQ(index.CheckIntegrity(), "");
}

}  // namespace
}  // namespace cache
