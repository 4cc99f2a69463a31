#include "integrations/home_assistant/sentence.h"

#include <gtest/gtest.h>

#include <string>

#include "integrations/home_assistant/lexicon.h"
#include "integrations/home_assistant/prefix.h"
#include "tests/integrations/home_fixture.h"

namespace integrations::home_assistant {
namespace {

class SentenceTest : public testing::Test {
 protected:
  // "verb: words" for a command, "wish: words", or "-".
  std::string Form(const char* utterance) const {
    const Reading reading = Read(SplitWords(utterance), lexicon_);
    if (reading.mood == Mood::kNoCommand) return "-";
    std::string text = reading.mood == Mood::kWish ? "wish:" : reading.verb + ":";
    for (const Word& word : reading.words) text += " " + word.text;
    if (!reading.correction.empty()) text += " /";
    for (const Word& word : reading.correction) text += " " + word.text;
    return text;
  }

  Home home_ = Sorted(SmallHome());
  Lexicon lexicon_{home_};
};

TEST_F(SentenceTest, AVerbInItsBaseFormAtTheBeginningIsACommand) {
  EXPECT_EQ(Form("turn on the desk lamp"), "turn: turn on the desk lamp");
  EXPECT_EQ(Form("Dim the desk lamp!"), "dim: dim the desk lamp");
}

TEST_F(SentenceTest, PolitenessIsLeftOut) {
  EXPECT_EQ(Form("hey inglenook, please turn on the desk lamp"), "turn: turn on the desk lamp");
  EXPECT_EQ(Form("could you please open the study blind?"), "open: open the study blind");
  EXPECT_EQ(Form("would you mind opening the study blind?"), "open: open the study blind");
  EXPECT_EQ(Form("I want you to open the study blind"), "open: open the study blind");
}

TEST_F(SentenceTest, AThingAndItsStateIsAWish) {
  EXPECT_EQ(Form("desk lamp off"), "wish: desk lamp off");
  EXPECT_EQ(Form("desk lamp to 40 percent"), "wish: desk lamp to 40 percent");
  EXPECT_EQ(Form("I want the desk lamp off"), "wish: the desk lamp off");
  EXPECT_EQ(Form("desk lamp off, thank you"), "wish: desk lamp off");
  EXPECT_EQ(Form("the desk lamp in my dream"), "-");
  EXPECT_EQ(Form("desk lamp"), "-");
}

TEST_F(SentenceTest, NegationsAreNone) {
  EXPECT_EQ(Form("don't turn on the desk lamp"), "-");
  EXPECT_EQ(Form("please do not open the study blind"), "-");
  EXPECT_EQ(Form("never unlock the front door"), "-");
  EXPECT_EQ(Form("leave the desk lamp on"), "-");
  EXPECT_EQ(Form("turn on the desk lamp, never mind"), "-");
}

TEST_F(SentenceTest, QuestionsAreNone) {
  EXPECT_EQ(Form("is the desk lamp on?"), "-");
  EXPECT_EQ(Form("what is the study blind"), "-");
  EXPECT_EQ(Form("did you open the front door"), "-");
  EXPECT_EQ(Form("can the study blind open?"), "-");
}

TEST_F(SentenceTest, RemarksAndThePastAreNone) {
  EXPECT_EQ(Form("the desk lamp is nice"), "-");
  EXPECT_EQ(Form("I love the desk lamp"), "-");
  EXPECT_EQ(Form("I turned off the desk lamp"), "-");
  EXPECT_EQ(Form("turned off the desk lamp"), "-");
  EXPECT_EQ(Form("open the study blind sounds like a plan"), "-");
}

TEST_F(SentenceTest, ConditionsAndLaterTimesAreNone) {
  EXPECT_EQ(Form("turn on the desk lamp if it is dark"), "-");
  EXPECT_EQ(Form("open the study blind tomorrow"), "-");
  EXPECT_EQ(Form("turn off the desk lamp in 5 minutes"), "-");
  EXPECT_EQ(Form("if you turn on the desk lamp I wake up"), "-");
}

TEST_F(SentenceTest, ReasonsAreCutOff) {
  EXPECT_EQ(Form("open the study blind, it is dark"), "open: open the study blind");
  EXPECT_EQ(Form("open the study blind because it is dark"), "open: open the study blind");
}

TEST_F(SentenceTest, TwoCommandsAreNone) {
  EXPECT_EQ(Form("turn on the desk lamp and open the study blind"), "-");
  EXPECT_EQ(Form("turn on the desk lamp, then open the study blind"), "-");
}

TEST_F(SentenceTest, ARemarkMayComeFirst) {
  EXPECT_EQ(Form("it's getting late, open the study blind"), "open: open the study blind");
  EXPECT_EQ(Form("I'm cold, could you open the study blind"), "open: open the study blind");
  EXPECT_EQ(Form("the postman is here so open the study blind"), "open: open the study blind");
  EXPECT_EQ(Form("she said, open the study blind"), "-");
  EXPECT_EQ(Form("I am not sure, open the study blind"), "-");
  EXPECT_EQ(Form("it's late, the study blind is open"), "-");
}

TEST_F(SentenceTest, TheThingMayComeFirstAndBeMeantByIt) {
  EXPECT_EQ(Form("the study blind, could you open it"), "open: open the study blind");
  EXPECT_EQ(Form("the study blind, I love it"), "-");
}

TEST_F(SentenceTest, ACorrectionIsKeptApart) {
  EXPECT_EQ(Form("turn on the desk lamp, no, the ceiling light"),
            "turn: turn on the desk lamp / the ceiling light");
  EXPECT_EQ(Form("turn on the desk lamp I mean the ceiling light"),
            "turn: turn on the desk lamp / the ceiling light");
}

TEST_F(SentenceTest, ThePlaceMayComeFirst) {
  EXPECT_EQ(Form("in the study, open the blind"), "open: open the blind in the study");
}

TEST_F(SentenceTest, AMistypedVerbIsGuessedAndSaysSo) {
  EXPECT_EQ(Form("trun on the desk lamp"), "turn: turn on the desk lamp");
  EXPECT_TRUE(Read(SplitWords("trun on the desk lamp"), lexicon_).guessed_verb);
  EXPECT_FALSE(Read(SplitWords("turn on the desk lamp"), lexicon_).guessed_verb);
}

TEST_F(SentenceTest, NothingAndNoiseAreNone) {
  for (const char* text : {"", "?", "please", "hey", "turn", "on", "1 2 3", "not", "no no no"}) {
    const Reading reading = Read(SplitWords(text), lexicon_);
    EXPECT_TRUE(reading.mood == Mood::kNoCommand || reading.verb == "turn") << text;
  }
}

}  // namespace
}  // namespace integrations::home_assistant
