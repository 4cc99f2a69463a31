#include "engine/token_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/answer_oracle.h"

namespace engine {
namespace {

using Entries = std::vector<TokenTrie::Entry>;
using Spellings = std::map<std::string, std::vector<TokenId>>;

// What the nodes say: each node's path, and the ids there.
Spellings Walk(const TokenTrie& trie) {
  Spellings found;
  std::vector<std::uint32_t> ends;
  std::string path;
  const auto nodes = trie.nodes();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    while (!ends.empty() && i >= ends.back()) {
      ends.pop_back();
      path.pop_back();
    }
    EXPECT_GT(nodes[i].subtree_end, i);
    EXPECT_LE(nodes[i].subtree_end, ends.empty() ? nodes.size() : ends.back());
    path += static_cast<char>(nodes[i].byte);
    ends.push_back(nodes[i].subtree_end);
    const auto ids = trie.ids(nodes[i]);
    EXPECT_TRUE(found.emplace(path, std::vector(ids.begin(), ids.end())).second) << "twice";
  }
  return found;
}

Entries RandomEntries(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Entries entries;
  std::int32_t id = 0;
  for (std::size_t i = random() % 200; i > 0; --i) {
    id += 1 + static_cast<std::int32_t>(random() % 3);
    std::string bytes;
    for (std::size_t n = random() % 5; n > 0; --n) {
      bytes += static_cast<char>(std::vector<int>{'a', 'b', 0xC3, 0xA9, 0xFF, 0}[random() % 6]);
    }
    entries.push_back({TokenId{id}, bytes});
  }
  std::ranges::shuffle(entries, random);
  return entries;
}

TEST(TokenTrie, HoldsEverySpellingWithAllItsTokensAndEveryBeginning) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Entries entries = RandomEntries(seed);
    const TokenTrie trie(entries, {});
    Spellings expected;
    for (const auto& entry : entries) {
      for (std::size_t n = 1; n <= entry.bytes.size(); ++n) expected[entry.bytes.substr(0, n)];
      if (!entry.bytes.empty()) expected[entry.bytes].push_back(entry.id);
      EXPECT_EQ(trie.bytes(entry.id), entry.bytes);
    }
    for (auto& [bytes, ids] : expected) std::ranges::sort(ids);
    EXPECT_EQ(Walk(trie), expected);
  }
}

TEST(TokenTrie, SiblingsAreInTheOrderOfTheirBytes) {
  const TokenTrie trie(RandomEntries(3), {});
  const auto nodes = trie.nodes();
  int before = -1;
  for (std::uint32_t i = 0; i < nodes.size(); i = nodes[i].subtree_end) {
    EXPECT_GT(int{nodes[i].byte}, before);
    before = nodes[i].byte;
  }
  EXPECT_GT(before, 0x80) << "bytes are unsigned";
}

TEST(TokenTrie, OnlyTheLowestEndIdIsOfferedAndEndIdsSpellNothing) {
  const Entries entries{{TokenId{1}, "a"}, {TokenId{5}, "</s>"}, {TokenId{3}, "<end>"}};
  const std::vector<TokenId> ends{TokenId{5}, TokenId{3}};
  const TokenTrie trie(entries, ends);
  EXPECT_EQ(trie.end_id(), TokenId{3});
  EXPECT_EQ(trie.token_count(), 1u);
  EXPECT_EQ(trie.nodes().size(), 1u);
  EXPECT_EQ(trie.bytes(TokenId{5}), "");
  EXPECT_EQ(trie.bytes(TokenId{-1}), "");
  EXPECT_EQ(trie.bytes(TokenId{100}), "");
  EXPECT_FALSE(TokenTrie(entries, {}).has_end_id());
}

TEST(TokenTrie, TheLongestTokenIsKnown) {
  EXPECT_EQ(TokenTrie(Entries{{TokenId{0}, "ab"}, {TokenId{1}, "abcde"}}, {}).bytes_max(), 5u);
}

TEST(TokenTrie, TextChoicesAreTheTokensThatGoOnWithEachState) {
  const auto bytes = answer_oracle::RandomBytes(1);
  answer_oracle::Draw draw(bytes);
  const auto language = answer_oracle::MakeLanguage(draw);
  const auto vocabulary = answer_oracle::MakeVocabulary(draw, language);
  const TokenTrie trie(vocabulary.entries, vocabulary.end_ids);
  const std::map<TextState, std::string> beginnings = {
      {TextState::kBoundary, "x"},         {TextState::kOneMore, "\xC3"},
      {TextState::kTwoMore, "\xE1"},       {TextState::kThreeMore, "\xF1"},
      {TextState::kAfterC2, "\xC2"},       {TextState::kAfterE0, "\xE0"},
      {TextState::kAfterE2, "\xE2"},       {TextState::kAfterE280, "\xE2\x80"},
      {TextState::kAfterE281, "\xE2\x81"}, {TextState::kAfterED, "\xED"},
      {TextState::kAfterF0, "\xF0"},       {TextState::kAfterF4, "\xF4"}};
  EXPECT_EQ(beginnings.size(), static_cast<std::size_t>(kTextStateCount - 2));
  for (const auto& [state, before] : beginnings) {
    ASSERT_EQ(StepText(TextState::kBoundary, before), state);
    std::map<TokenId, std::size_t> expected;
    for (const auto& entry : vocabulary.entries) {
      const auto missing = answer_oracle::MissingBytes(before + entry.bytes);
      if (!entry.bytes.empty() && missing) expected[entry.id] = entry.bytes.size() + *missing;
    }
    if (state == TextState::kBoundary) expected[trie.end_id()] = 0;
    const auto& choices = trie.text_choices(state);
    ASSERT_EQ(choices.ids.size(), choices.needed.size());
    std::map<TokenId, std::size_t> found;
    for (std::size_t i = 0; i < choices.ids.size(); ++i) {
      found[choices.ids[i]] = choices.needed[i];
      EXPECT_LE(choices.needed[i], choices.needed_max);
    }
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(std::ranges::is_sorted(choices.ids, std::ranges::less_equal()));
  }
}

TEST(TokenTrie, AssertsOnAnIdThatComesTwice) {
  const Entries entries{{TokenId{1}, "a"}, {TokenId{1}, "b"}};
  EXPECT_DEATH(TokenTrie(entries, {}), "index >= spelling_ends_");
}

}  // namespace
}  // namespace engine
