#include "engine/text_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/answer_oracle.h"

namespace engine {
namespace {

using answer_oracle::EncodeUtf8;
using answer_oracle::IsPrintable;

TEST(TextAutomaton, EveryCharacterIsTextExactlyWhenItIsPrintable) {
  std::size_t printable = 0;
  for (std::uint32_t character = 0; character <= 0x10FFFF; ++character) {
    const bool is_text = IsPrintableLine(EncodeUtf8(character));
    ASSERT_EQ(is_text, IsPrintable(character)) << std::hex << character;
    printable += is_text ? 1 : 0;
  }
  EXPECT_EQ(printable, 0x110000u - 0x20 - 0x21 - 0x800 - 7 - 4);
}

// Goal: nothing but the shortest UTF-8 form is text. Method: every sequence of two and of three
// bytes is text exactly when the oracle, which encodes characters, can make it.
TEST(TextAutomaton, EverySequenceOfTwoAndThreeBytesIsTextExactlyWhenItIsUtf8) {
  std::string bytes(3, 0);
  for (int a = 0; a < 256; ++a) {
    bytes[0] = static_cast<char>(a);
    for (int b = 0; b < 256; ++b) {
      bytes[1] = static_cast<char>(b);
      const std::string_view two = std::string_view(bytes).substr(0, 2);
      ASSERT_EQ(IsPrintableLine(two), answer_oracle::MissingBytes(two) == 0) << a << ' ' << b;
      if (a < 0xC0) continue;  // a second character: seen with two bytes
      for (int c = 0; c < 256; c += c < 0x7E || c > 0xC0 ? 7 : 1) {
        bytes[2] = static_cast<char>(c);
        ASSERT_EQ(IsPrintableLine(bytes), answer_oracle::MissingBytes(bytes) == 0)
            << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TEST(TextAutomaton, FormsOfUtf8ThatAreNoneAreRefused) {
  for (const std::string_view bytes :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF5\x80\x80\x80", "\x80", "\xFF", "\xC3", "a\xE2\x82",
        "\xC3\xC3"}) {
    EXPECT_FALSE(IsPrintableLine(bytes)) << bytes.size();
  }
  EXPECT_TRUE(IsPrintableLine(""));
  EXPECT_TRUE(IsPrintableLine(" Küche 21 °C 😀"));
  EXPECT_FALSE(IsPrintableLine("two\nlines"));
}

// The least number of bytes from each state to a boundary, by trying all.
int LeastBytes(TextState state, int most) {
  if (state == TextState::kBoundary) return 0;
  if (most == 0) return 100;
  int least = 100;
  for (int byte = 0; byte < 256; ++byte) {
    const TextState after = StepText(state, static_cast<std::uint8_t>(byte));
    if (after != TextState::kDead) least = std::min(least, 1 + LeastBytes(after, most - 1));
  }
  return least;
}

TEST(TextAutomaton, BytesToBoundaryIsTheShortestWay) {
  for (int i = 0; i < kTextStateCount; ++i) {
    const auto state = static_cast<TextState>(i);
    if (state == TextState::kDead || state == TextState::kFirst) {
      EXPECT_EQ(BytesToBoundary(state), 0);
    } else {
      EXPECT_EQ(BytesToBoundary(state), LeastBytes(state, 3)) << i;
    }
  }
}

TEST(TextAutomaton, ASentenceBeginsWithNoSpace) {
  EXPECT_EQ(StepText(TextState::kFirst, ' '), TextState::kDead);
  EXPECT_EQ(StepText(TextState::kFirst, 'a'), TextState::kBoundary);
  EXPECT_EQ(StepText(TextState::kBoundary, ' '), TextState::kBoundary);
}

TEST(TextAutomaton, NothingComesAfterDeath) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(StepText(TextState::kDead, static_cast<std::uint8_t>(byte)), TextState::kDead);
  }
}

}  // namespace
}  // namespace engine
