#include "engine/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text_automaton.h"
#include "tests/support/vocabulary.h"

namespace {

using engine::IsValidUtf8;
using engine::NormalizeNfc;
using testing::ElementsAre;

bool IsSurrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

const std::vector<std::string>& Broken() {
  static const std::vector<std::string> texts = {"\x80",
                                                 "\xBF",
                                                 "\xC3",
                                                 "\xC3(",
                                                 "\xC0\x80",
                                                 "\xC1\xBF",
                                                 "\xE2\x82",
                                                 "\xE2(\xA1",
                                                 "\xE0\x9F\xBF",
                                                 "\xED\xA0\x80",
                                                 "\xED\xBF\xBF",
                                                 "\xF0\x9F\x92",
                                                 "\xF0\x8F\xBF\xBF",
                                                 "\xF4\x90\x80\x80",
                                                 "\xF5\x80\x80\x80",
                                                 "\xF8\x88\x80\x80\x80",
                                                 "\xFE",
                                                 "\xFF"};
  return texts;
}

TEST(Unicode, EveryCharacterIsWrittenAndReadBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (IsSurrogate(c)) continue;
    std::string bytes;
    engine::AppendUtf8(c, bytes);
    ASSERT_TRUE(IsValidUtf8(bytes)) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(engine::DecodeUtf8(bytes), std::vector<char32_t>{c});
  }
}

TEST(Unicode, WhatIsNoUtf8IsToldApart) {
  EXPECT_TRUE(IsValidUtf8(""));
  for (const std::string& text : Broken()) {
    EXPECT_FALSE(IsValidUtf8(text)) << testing::PrintToString(text);
    EXPECT_FALSE(IsValidUtf8("ab" + text + "c")) << testing::PrintToString(text);
    EXPECT_EQ(NormalizeNfc("ab" + text), std::nullopt) << testing::PrintToString(text);
  }
}

TEST(Unicode, EachByteOfNoCharacterReadsAsAReplacementCharacter) {
  EXPECT_THAT(engine::DecodeUtf8("a\xE2\x82"
                                 "b"),
              ElementsAre(U'a', 0xFFFD, 0xFFFD, U'b'));
  EXPECT_THAT(engine::DecodeUtf8("\xFF\xC3\xA4\xA4"), ElementsAre(0xFFFD, U'ä', 0xFFFD));
  EXPECT_THAT(engine::DecodeUtf8("\xED\xA0\x80"), ElementsAre(0xFFFD, 0xFFFD, 0xFFFD));
  EXPECT_THAT(engine::DecodeUtf8("\xEF\xBF\xBD"), ElementsAre(0xFFFD));
}

TEST(Unicode, NfcComposes) {
  EXPECT_EQ(NormalizeNfc(""), "");
  EXPECT_EQ(NormalizeNfc("Turn on"), "Turn on");
  EXPECT_EQ(NormalizeNfc("Ku\u0308che"), "K\u00FCche");
  EXPECT_EQ(NormalizeNfc("K\u00FCche"), "K\u00FCche");
  EXPECT_EQ(NormalizeNfc("\u1112\u1161\u11AB"), "\uD55C");    // Hangul
  EXPECT_EQ(NormalizeNfc("\u304B\u3099"), "\u304C");          // kana
  EXPECT_EQ(NormalizeNfc("\u212B \u2126"), "\u00C5 \u03A9");  // Ångström, ohm
  EXPECT_EQ(NormalizeNfc("q\u0307\u0323"), "q\u0323\u0307");  // order of marks
  EXPECT_EQ(NormalizeNfc("\u0958"), "\u0915\u093C");          // excluded from composition
  EXPECT_EQ(NormalizeNfc("\uFB01 \u00B2 \uFF21"),
            "\uFB01 \u00B2 \uFF21");  // not compatibility forms
  const std::string nul("a\0b", 3);
  EXPECT_EQ(NormalizeNfc(nul), nul);
}

TEST(Unicode, NfcOfNfcIsTheSame) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (IsSurrogate(c)) continue;
    std::string text = "e";
    engine::AppendUtf8(c, text);
    text += "\u0301\u0323";
    const auto once = NormalizeNfc(text);
    ASSERT_TRUE(once) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(NormalizeNfc(*once), once) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(Unicode, WhiteSpaceIsThePropertyOfThatName) {
  std::vector<char32_t> found;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (engine::IsWhiteSpace(c)) found.push_back(c);
  }
  EXPECT_THAT(found, ElementsAre(0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000,
                                 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000));
}

TEST(Unicode, LettersAndNumbersAreOfAllScripts) {
  for (const char32_t c : U"azAZäßſǅʰªºжΩשعकกあ漢한𝕬𐍈ⅎ") {
    if (c != 0) {
      EXPECT_TRUE(engine::IsLetter(c) && !engine::IsNumber(c)) << static_cast<unsigned>(c);
    }
  }
  for (const char32_t c : U"09²½٣३Ⅷ①㊿𝟙௰") {
    if (c != 0) {
      EXPECT_TRUE(engine::IsNumber(c) && !engine::IsLetter(c)) << static_cast<unsigned>(c);
    }
  }
  // Punctuation, symbols, marks, controls, unassigned, private, past the end.
  for (const char32_t c : {0x00, 0x20, 0x21, 0x27, 0x5F, 0xA9, 0x301, 0x93F, 0x200B, 0x200D, 0x378,
                           0xE000, 0xFFFD, 0x1F4A1, 0x10FFFF, 0x110000}) {
    EXPECT_FALSE(engine::IsLetter(c) || engine::IsNumber(c)) << static_cast<unsigned>(c);
  }
}

TEST(Unicode, NoCharacterIsOfTwoClasses) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const int classes = engine::IsLetter(c) + engine::IsNumber(c) + engine::IsWhiteSpace(c);
    ASSERT_LE(classes, 1) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(Unicode, PrintableIsWhatAnAnswerMayHold) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string text;
    engine::AppendUtf8(c, text);
    ASSERT_EQ(engine::IsPrintable(c), !IsSurrogate(c) && engine::IsPrintableLine(text))
        << std::hex << static_cast<unsigned>(c);
  }
  for (const char32_t c : U"👨‍👩‍👧‍👦❤️🫠") {
    if (c != 0) {
      EXPECT_TRUE(engine::IsPrintable(c));
    }
  }
}

}  // namespace
