#include "engine/detokenizer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "engine/unicode.h"
#include "tests/support/vocabulary.h"

namespace {

using engine::WholeCharacters;

// The beginnings of all characters, without the whole ones.
std::set<std::string> BegunCharacters() {
  std::set<std::string> begun;
  for (char32_t code_point = 0x80; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string bytes;
    engine::AppendUtf8(code_point, bytes);
    if ((code_point & 0x3F) != 0) continue;  // differs in the last byte only
    for (std::size_t size = 1; size < bytes.size(); ++size) begun.insert(bytes.substr(0, size));
  }
  return begun;
}

TEST(WholeCharacters, StopBeforeACharacterThatWasBegun) {
  EXPECT_EQ(WholeCharacters(""), 0u);
  EXPECT_EQ(WholeCharacters("a"), 1u);
  EXPECT_EQ(WholeCharacters("a\xC3"), 1u);
  EXPECT_EQ(WholeCharacters("a\xC3\xA4"), 3u);
  EXPECT_EQ(WholeCharacters("\xE2\x82"), 0u);
  EXPECT_EQ(WholeCharacters("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(WholeCharacters("ab\xF0\x9F\x92"), 2u);
  EXPECT_EQ(WholeCharacters("ab\xF0\x9F\x92\xA1"), 6u);
}

TEST(WholeCharacters, AreThoseBeforeTheCutOfAnyText) {
  int cuts = 0;
  for (const std::string& text : support::ReadTexts("tokenizer/texts.txt")) {
    if (!engine::IsValidUtf8(text)) continue;
    std::size_t boundary = 0;
    for (std::size_t cut = 0; cut <= text.size(); ++cut, ++cuts) {
      const std::string_view part = std::string_view(text).substr(0, cut);
      if (engine::IsValidUtf8(part)) boundary = cut;
      ASSERT_EQ(WholeCharacters(part), boundary) << testing::PrintToString(text) << " at " << cut;
    }
  }
  EXPECT_GT(cuts, 5000);
}

// Goal: what can't become a character is never held back, what can always is. Method: all endings
// of one and two bytes, and of three and four where the first two begin a character.
TEST(WholeCharacters, WaitForNothingThatCannotCome) {
  const std::set<std::string> begun = BegunCharacters();
  const auto check = [&](const std::string& ending) {
    std::size_t expected = ending.size();
    for (std::size_t start = 0; start < ending.size(); ++start) {
      if (begun.contains(ending.substr(start))) expected = start;
    }
    ASSERT_EQ(WholeCharacters("x" + ending), 1 + expected) << testing::PrintToString(ending);
    ASSERT_EQ(WholeCharacters(ending), expected) << testing::PrintToString(ending);
  };
  const int edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                       0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  for (int first = 0; first < 256; ++first) {
    const std::string one(1, static_cast<char>(first));
    check(one);
    for (int second = 0; second < 256; ++second) {
      const std::string two = one + static_cast<char>(second);
      check(two);
      if (first < 0xE0) continue;
      for (const int third : edges) check(two + static_cast<char>(third));
    }
  }
  for (const int first : edges) {
    for (const int second : edges) {
      for (const int third : edges) {
        for (const int fourth : edges) {
          check({static_cast<char>(first), static_cast<char>(second), static_cast<char>(third),
                 static_cast<char>(fourth)});
        }
      }
    }
  }
}

TEST(WholeCharacters, OfAStreamOfTokensAreTheText) {
  const engine::Tokenizer tokenizer = support::LoadTokenizer("smollm2.gguf");
  int split = 0;
  for (const std::string& text : support::ReadTexts("tokenizer/texts.txt")) {
    std::string bytes;
    std::string shown;
    for (const engine::TokenId token : support::Encode(tokenizer, text)) {
      bytes += tokenizer.TokenBytes(token);
      const std::size_t end = WholeCharacters(bytes);
      if (end < bytes.size()) ++split;
      ASSERT_GE(end, shown.size());
      const std::string piece = bytes.substr(shown.size(), end - shown.size());
      if (engine::IsValidUtf8(text) && text.find("\xF3") == std::string::npos) {
        ASSERT_TRUE(engine::IsValidUtf8(piece)) << testing::PrintToString(piece);
      }
      shown += piece;
    }
    EXPECT_EQ(shown, bytes);
  }
  EXPECT_GT(split, 200);  // tokens that end inside a character
}

}  // namespace
