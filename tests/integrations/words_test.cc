#include "integrations/home_assistant/words.h"

#include <gtest/gtest.h>

#include <string>

namespace integrations::home_assistant {
namespace {

std::string Split(std::string_view utterance) {
  std::string text;
  for (const Word& word : SplitWords(utterance)) {
    if (!text.empty()) text += '|';
    text += word.text;
    if (word.after != '\0') text += word.after;
  }
  return text;
}

std::string Digits(std::string_view utterance) {
  return WithDigits(utterance, SplitWords(utterance));
}

TEST(Words, AreLowerCaseAndKnowTheirPunctuation) {
  EXPECT_EQ(Split("Turn ON the Lamp, please!"), "turn|on|the|lamp,|please!");
  EXPECT_EQ(Split("on-off"), "on|off");
  EXPECT_EQ(Split("  ... "), "");
  EXPECT_EQ(Split(""), "");
}

TEST(Words, OpenContractionsWithEitherApostrophe) {
  EXPECT_EQ(Split("don't"), "do|not");
  EXPECT_EQ(Split("don\u2019t"), "do|not");
  EXPECT_EQ(Split("isn't it"), "is|not|it");
  EXPECT_EQ(Split("I'd let's tv's"), "i|would|let|us|tv|'s");
}

TEST(Words, ReadNumbersAndUnits) {
  EXPECT_EQ(Split("to 40% or 21\u00b0C"), "to|40|percent|or|21|degrees");
  EXPECT_EQ(Split("twenty-five percent"), "25|percent");
  EXPECT_EQ(Split("one hundred"), "100");
  EXPECT_EQ(Split("the other one"), "the|other|one");
  EXPECT_FALSE(SplitWords("21.5")[0].is_whole);
  EXPECT_FALSE(SplitWords("1234567")[0].is_number);
}

TEST(Words, SpelledNumbersAreRewrittenAndNothingElse) {
  EXPECT_EQ(Digits("set it to Thirty two degrees!"), "set it to 32 degrees!");
  EXPECT_EQ(Digits("Set it to 32 degrees!"), "Set it to 32 degrees!");
  EXPECT_EQ(Digits("open it half way."), "open it to 50 percent.");
}

TEST(Words, SimilarityForgivesPluralsAndSmallMistakes) {
  EXPECT_EQ(Similarity("lamp", "lamp"), 1);
  EXPECT_EQ(Similarity("lamps", "lamp"), 0.95);
  EXPECT_EQ(Similarity("ktichen", "kitchen"), 0.8);
  EXPECT_EQ(Similarity("thermostatt", "thermostat"), 0.8);
  EXPECT_EQ(Similarity("damp", "lamp"), 0);
  EXPECT_EQ(Similarity("fan", "fun"), 0);
  EXPECT_EQ(Similarity("garage", "garden"), 0);
  EXPECT_EQ(Similarity("", "lamp"), 0);
}

}  // namespace
}  // namespace integrations::home_assistant
