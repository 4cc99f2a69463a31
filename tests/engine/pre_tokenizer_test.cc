#include "engine/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/unicode.h"
#include "tests/support/vocabulary.h"

namespace {

using engine::PreTokenizer;
using testing::ElementsAre;

std::vector<std::string> Pieces(PreTokenizer pre_tokenizer, std::string_view text) {
  const std::vector<char32_t> code_points = engine::DecodeUtf8(text);
  std::vector<std::string> pieces;
  std::size_t at = 0;
  for (const std::size_t end : engine::SplitPieces(pre_tokenizer, code_points)) {
    pieces.emplace_back();
    for (; at < end; ++at) engine::AppendUtf8(code_points[at], pieces.back());
  }
  return pieces;
}

std::vector<std::string> Gpt2(std::string_view text) { return Pieces(PreTokenizer::kGpt2, text); }
std::vector<std::string> SmolLm(std::string_view text) {
  return Pieces(PreTokenizer::kSmolLm, text);
}

// The regular expressions, one alternative after the other, as a matcher with backtracking does
// it. Each gives the length of its match at the beginning of the text, 0 for none.
using Text = std::span<const char32_t>;
using Class = std::function<bool(char32_t)>;

bool IsOther(char32_t c) {
  return !engine::IsWhiteSpace(c) && !engine::IsLetter(c) && !engine::IsNumber(c);
}

std::size_t MatchWord(Text text, std::u32string_view word) {
  return text.size() >= word.size() && std::ranges::equal(text.first(word.size()), word)
             ? word.size()
             : 0;
}

std::size_t MatchRun(Text text, const Class& is_member) {  // ` ?[class]+`
  for (const std::size_t blank : {1u, 0u}) {
    if (blank == 1 && (text.empty() || text[0] != U' ')) continue;
    std::size_t end = blank;
    while (end < text.size() && is_member(text[end])) ++end;
    if (end > blank) return end;
  }
  return 0;
}

std::size_t MatchSpaceBeforeSpace(Text text) {  // `\s+(?!\S)`
  std::size_t end = 0;
  while (end < text.size() && engine::IsWhiteSpace(text[end])) ++end;
  for (; end > 0; --end) {
    if (end == text.size() || engine::IsWhiteSpace(text[end])) return end;
  }
  return 0;
}

std::size_t MatchGpt2(Text text) {
  for (const std::u32string_view word : {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"}) {
    if (const std::size_t length = MatchWord(text, word)) return length;
  }
  for (const Class& member : {Class(engine::IsLetter), Class(engine::IsNumber), Class(IsOther)}) {
    if (const std::size_t length = MatchRun(text, member)) return length;
  }
  return MatchSpaceBeforeSpace(text);
}

// What lies between two matches is a piece of its own.
void SplitSlowly(Text text, std::size_t offset, std::vector<std::size_t>& ends) {
  std::size_t unmatched = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = MatchGpt2(text.subspan(at));
    if (length == 0) {
      ++at;
      continue;
    }
    if (unmatched < at) ends.push_back(offset + at);
    at += length;
    ends.push_back(offset + at);
    unmatched = at;
  }
  if (unmatched < text.size()) ends.push_back(offset + text.size());
}

std::vector<std::size_t> SplitSlowly(PreTokenizer pre_tokenizer, Text text) {
  std::vector<std::size_t> ends;
  if (pre_tokenizer == PreTokenizer::kGpt2) {
    SplitSlowly(text, 0, ends);
    return ends;
  }
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && !engine::IsNumber(text[at])) continue;
    SplitSlowly(text.subspan(start, at - start), start, ends);
    if (at < text.size()) ends.push_back(at + 1);
    start = at + 1;
  }
  return ends;
}

TEST(PreTokenizer, IsFoundByItsNameInTheFile) {
  EXPECT_EQ(engine::PreTokenizerNamed("gpt-2"), PreTokenizer::kGpt2);
  EXPECT_EQ(engine::PreTokenizerNamed("smollm"), PreTokenizer::kSmolLm);
  for (const char* name : {"", "qwen2", "llama-bpe", "default", "SmolLM", "gpt2"}) {
    EXPECT_EQ(engine::PreTokenizerNamed(name), std::nullopt) << name;
  }
}

TEST(PreTokenizer, ABlankBelongsToTheWordAfterIt) {
  EXPECT_THAT(Gpt2("turn on  the\tlight \n"),
              ElementsAre("turn", " on", " ", " the", "\t", "light", " \n"));
  EXPECT_THAT(Gpt2("a\u00A0b \u3000 c"), ElementsAre("a", "\u00A0", "b", " \u3000", " c"));
  EXPECT_THAT(Gpt2("user\nTurn"), ElementsAre("user", "\n", "Turn"));
  EXPECT_THAT(Gpt2("   "), ElementsAre("   "));
  EXPECT_THAT(Gpt2(""), ElementsAre());
}

TEST(PreTokenizer, ContractionsAreCutInLowerCaseOnly) {
  EXPECT_THAT(Gpt2("it's we'll I'VE"), ElementsAre("it", "'s", " we", "'ll", " I", "'", "VE"));
  EXPECT_THAT(Gpt2(" 's ''s"), ElementsAre(" '", "s", " ''", "s"));
  EXPECT_THAT(Gpt2("'sun'r"), ElementsAre("'s", "un", "'", "r"));
}

TEST(PreTokenizer, SmolLmCutsEachDigitOff) {
  EXPECT_THAT(Gpt2("to 125 %"), ElementsAre("to", " 125", " %"));
  EXPECT_THAT(SmolLm("to 125 %"), ElementsAre("to", " ", "1", "2", "5", " %"));
  EXPECT_THAT(SmolLm("a½ ٣b"), ElementsAre("a", "½", " ", "٣", "b"));
  EXPECT_THAT(SmolLm("  7"), ElementsAre("  ", "7"));
}

// Goal: the scanners cut as the regular expressions do. Method: all texts of up to six characters
// of one each of the kinds that matter, and all texts of the token tests.
TEST(PreTokenizer, CutsAsTheRegularExpressionsDo) {
  const auto check = [](Text text) {
    for (const PreTokenizer pre_tokenizer : {PreTokenizer::kGpt2, PreTokenizer::kSmolLm}) {
      ASSERT_EQ(engine::SplitPieces(pre_tokenizer, text), SplitSlowly(pre_tokenizer, text))
          << testing::PrintToString(std::u32string(text.begin(), text.end()));
    }
  };
  constexpr std::u32string_view kKinds = U"sl'r1 \n\u00A0.";
  constexpr std::size_t kLengthMax = 5;
  for (std::size_t length = 1; length <= kLengthMax; ++length) {
    std::array<std::size_t, kLengthMax> digits{};
    std::array<char32_t, kLengthMax> text{};
    while (digits[length - 1] < kKinds.size()) {
      for (std::size_t i = 0; i < length; ++i) text[i] = kKinds[digits[i]];
      check(Text(text).first(length));
      std::size_t place = 0;
      while (++digits[place] == kKinds.size() && place + 1 < length) digits[place++] = 0;
    }
  }
  for (const std::string& text : support::ReadTexts("tokenizer/texts.txt")) {
    check(engine::DecodeUtf8(text));
  }
}

}  // namespace
