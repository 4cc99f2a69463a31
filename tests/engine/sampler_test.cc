#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<TokenId> Ids(const std::vector<int>& numbers) {
  std::vector<TokenId> ids;
  for (const int number : numbers) ids.push_back(TokenId{number});
  return ids;
}

TEST(Greedy, TakesTheLargestOfTheAllowedOnly) {
  const std::vector<float> logits{9, 1, 5, 7, 8};
  EXPECT_EQ(Greedy(logits, Ids({1, 2, 3}), {}), TokenId{3});
  EXPECT_EQ(Greedy(logits, Ids({1}), {}), TokenId{1});
  EXPECT_EQ(Greedy(logits, Ids({0, 1, 2, 3, 4}), {}), TokenId{0});
}

TEST(Greedy, OfEqualOnesTheLowestIdIsTaken) {
  const std::vector<float> logits{1, 3, 3, 3, -0.0f, 0.0f};
  EXPECT_EQ(Greedy(logits, Ids({0, 2, 3}), {}), TokenId{2});
  EXPECT_EQ(Greedy(logits, Ids({4, 5}), {}), TokenId{4}) << "0 and -0 are equal";
}

TEST(Greedy, BiasesAreAddedInTheOrderOfTheAllowed) {
  const std::vector<float> logits{1, 2, 3};
  const std::vector<float> biases{1.5f, -1};
  EXPECT_EQ(Greedy(logits, Ids({1, 2}), biases), TokenId{1});
  const std::vector<float> equal{1, 0};
  EXPECT_EQ(Greedy(logits, Ids({1, 2}), equal), TokenId{1}) << "a tie";
  const std::vector<float> never{-kInfinity, 0};
  EXPECT_EQ(Greedy(logits, Ids({1, 2}), never), TokenId{2});
}

TEST(Greedy, PassesOverNaNWhereverItStands) {
  EXPECT_EQ(Greedy(std::vector<float>{kNaN, 1, 2}, Ids({0, 1, 2}), {}), TokenId{2});
  EXPECT_EQ(Greedy(std::vector<float>{1, kNaN, 2}, Ids({0, 1, 2}), {}), TokenId{2});
  EXPECT_EQ(Greedy(std::vector<float>{2, 1, kNaN}, Ids({0, 1, 2}), {}), TokenId{0});
  EXPECT_EQ(Greedy(std::vector<float>{kNaN, -kInfinity}, Ids({0, 1}), {}), TokenId{1});
  const std::vector<float> opposite{-kInfinity, 0};  // infinity - infinity is NaN
  EXPECT_EQ(Greedy(std::vector<float>{kInfinity, 1}, Ids({0, 1}), opposite), TokenId{1});
}

TEST(Greedy, WhereAllAreNaNTheLowestIdIsTaken) {
  EXPECT_EQ(Greedy(std::vector<float>(4, kNaN), Ids({1, 3}), {}), TokenId{1});
  EXPECT_EQ(Greedy(std::vector<float>(4, -kInfinity), Ids({1, 3}), {}), TokenId{1});
}

TEST(Greedy, AgreesWithSortingOnRandomLogits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<float> logits(64);
    std::vector<int> allowed;
    std::vector<float> biases;
    for (int i = 0; i < 64; ++i) {
      logits[static_cast<std::size_t>(i)] = static_cast<float>(random() % 20);
      if (random() % 3 != 0 && i != 0) continue;
      allowed.push_back(i);
      biases.push_back(static_cast<float>(random() % 5));
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < allowed.size(); ++i) {
      const auto sum = [&](std::size_t k) {
        return logits[static_cast<std::size_t>(allowed[k])] + biases[k];
      };
      if (sum(i) > sum(best)) best = i;
    }
    EXPECT_EQ(Greedy(logits, Ids(allowed), biases), TokenId{allowed[best]});
  }
}

TEST(Greedy, AssertsOnNothingAllowedAndOnIdsOutsideTheVocabulary) {
  const std::vector<float> logits{1, 2};
  EXPECT_DEATH(Greedy(logits, {}, {}), "empty");
  EXPECT_DEATH(Greedy(logits, Ids({2}), {}), "logits.size");
  EXPECT_DEATH(Greedy(logits, Ids({0}), std::vector<float>{1, 2}), "biases.size");
}

}  // namespace
}  // namespace engine
