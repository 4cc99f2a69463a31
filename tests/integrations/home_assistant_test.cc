#include "integrations/home_assistant/home_assistant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "integrations/integration.h"
#include "tests/integrations/home_fixture.h"

namespace integrations::home_assistant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Integration> Made(Home home) {
  auto made = Create(std::move(home));
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

class HomeAssistantTest : public testing::Test {
 protected:
  std::vector<std::string> HeadsFor(const char* utterance, const char* area = "") const {
    std::vector<std::string> texts;
    for (const std::uint32_t head : home_->PromptFor(utterance, area).allowed.heads) {
      texts.push_back(home_->language().heads[head].text);
    }
    return texts;
  }
  // The head with the largest prior.
  std::string Favourite(const char* utterance, const char* area = "") const {
    const AllowedAnswers allowed = home_->PromptFor(utterance, area).allowed;
    if (allowed.heads.empty()) return "";
    const auto best = std::ranges::max_element(allowed.priors) - allowed.priors.begin();
    return home_->language().heads[allowed.heads[static_cast<std::size_t>(best)]].text;
  }
  int IndexOf(const std::string& text) const {
    const auto& heads = home_->language().heads;
    const auto found = std::ranges::find(heads, text, &CallHead::text);
    return static_cast<int>(found - heads.begin());
  }

  std::unique_ptr<Integration> home_ = Made(SmallHome());
};

TEST_F(HomeAssistantTest, APlainCommandFavoursItsCall) {
  EXPECT_EQ(Favourite("turn on the desk lamp"), "desk lamp: turn_on");
  EXPECT_EQ(Favourite("turn the work lamp off"), "desk lamp: turn_off");
  EXPECT_EQ(Favourite("make the desk lamp red"), "desk lamp: set_color red");
  EXPECT_EQ(Favourite("set the desk lamp to 30"), "desk lamp: set_brightness");
  EXPECT_EQ(Favourite("open the blind in the office"), "study blind: open");
  EXPECT_EQ(Favourite("turn on the desk lapm"), "desk lamp: turn_on");
}

TEST_F(HomeAssistantTest, ACommandThatIsPlainDoesNotAskBackButMayBeWords) {
  const AllowedAnswers allowed = home_->PromptFor("turn on the desk lamp", "").allowed;
  EXPECT_TRUE(allowed.words);
  EXPECT_FALSE(allowed.ask);
  EXPECT_GT(*std::ranges::max_element(allowed.priors), 4);
}

TEST_F(HomeAssistantTest, WordsThatNameSeveralDevicesLeaveThemAndMayAskBack) {
  EXPECT_THAT(HeadsFor("turn on the light in the study"),
              testing::Contains("ceiling light: turn_on"));
  const AllowedAnswers allowed = home_->PromptFor("turn on the study lights", "").allowed;
  EXPECT_GE(allowed.heads.size(), 1U);
}

TEST_F(HomeAssistantTest, OfDevicesNamedAlikeNoneIsFavouredButTheSpeakersAreaIs) {
  Home home = SmallHome();
  home.house.devices.push_back(home.house.devices.front());
  home.house.devices.back().name = "very old standing desk lamp";
  home.house.devices.back().aliases = {};
  home.house.devices.front().name = "small desk lamp";
  home.house.devices.front().aliases = {};
  home.house.devices.front().area = "";
  home.policy.examples.clear();
  home_ = Made(std::move(home));
  const auto allowed = home_->PromptFor("turn on the lamp", "").allowed;
  EXPECT_TRUE(allowed.ask);
  const float largest = *std::ranges::max_element(allowed.priors);
  EXPECT_EQ(std::ranges::count(allowed.priors, largest), 2);
  EXPECT_EQ(Favourite("turn on the lamp", "study"), "very old standing desk lamp: turn_on");
}

TEST_F(HomeAssistantTest, WordsThatNameNoDeviceLeaveWordsAndAskingBack) {
  const AllowedAnswers allowed = home_->PromptFor("turn on the rocket", "").allowed;
  EXPECT_THAT(allowed.heads, IsEmpty());
  EXPECT_TRUE(allowed.words);
  EXPECT_TRUE(allowed.ask);
}

TEST_F(HomeAssistantTest, WhatIsNoCommandLeavesWordsOnly) {
  for (const char* text :
       {"don't turn on the desk lamp", "is the desk lamp on?", "I love the desk lamp",
        "I turned on the desk lamp", "turn on the desk lamp if it rains"}) {
    const AllowedAnswers allowed = home_->PromptFor(text, "").allowed;
    EXPECT_THAT(allowed.heads, IsEmpty()) << text;
    EXPECT_TRUE(allowed.words) << text;
    EXPECT_FALSE(allowed.ask) << text;
  }
}

TEST_F(HomeAssistantTest, ANumberOutOfBoundsLeavesNoCall) {
  EXPECT_THAT(HeadsFor("set the desk lamp to 500"), IsEmpty());
  EXPECT_THAT(HeadsFor("set the desk lamp to 30.5"), IsEmpty());
}

TEST_F(HomeAssistantTest, ACorrectionReplacesWhatItNames) {
  EXPECT_EQ(Favourite("turn on the desk lamp, no, the ceiling light"), "ceiling light: turn_on");
  EXPECT_EQ(Favourite("turn on the ceiling light, not the desk lamp"), "ceiling light: turn_on");
}

TEST_F(HomeAssistantTest, HeadsAscendAndHaveOnePriorEach) {
  for (const char* text : {"set the lamp", "turn on the light", "set the desk lamp to 30"}) {
    const AllowedAnswers allowed = home_->PromptFor(text, "study").allowed;
    EXPECT_TRUE(std::ranges::is_sorted(allowed.heads)) << text;
    EXPECT_EQ(allowed.heads.size(), allowed.priors.size()) << text;
  }
}

TEST_F(HomeAssistantTest, SpelledNumbersReachTheModelAsDigits) {
  EXPECT_EQ(home_->PromptFor("set the desk lamp to thirty five", "").request,
            "set the desk lamp to 35");
}

TEST_F(HomeAssistantTest, ACallBecomesAnActionAndASentence) {
  const Answer answer =
      home_->AnswerFrom("", "", IndexOf("desk lamp: turn_on"), "desk lamp: turn_on");
  ASSERT_EQ(answer.kind, Answer::Kind::kAction);
  ASSERT_EQ(answer.actions.size(), 1U);
  EXPECT_EQ(answer.actions[0].device, "desk lamp");
  EXPECT_EQ(answer.sentence, "Turned on the desk lamp.");
}

TEST_F(HomeAssistantTest, ADangerousCallAsksForAYes) {
  const Answer answer =
      home_->AnswerFrom("", "", IndexOf("front door: unlock"), "front door: unlock");
  ASSERT_EQ(answer.actions.size(), 1U);
  EXPECT_EQ(answer.actions[0].status, ActionStatus::kConfirm);
  EXPECT_EQ(answer.sentence, "Shall I unlock the front door?");
}

TEST_F(HomeAssistantTest, WordsAreSaidWithoutTheirLead) {
  const Answer answer = home_->AnswerFrom("hello", "", kWordsAnswer, "say: Hello there.");
  EXPECT_EQ(answer.kind, Answer::Kind::kWords);
  EXPECT_EQ(answer.sentence, "Hello there.");
  EXPECT_THAT(answer.actions, IsEmpty());
}

TEST_F(HomeAssistantTest, AskingBackNamesTheDevices) {
  const Answer answer = home_->AnswerFrom("turn on the rocket", "", kAskAnswer, "ask");
  EXPECT_EQ(answer.kind, Answer::Kind::kAsk);
  EXPECT_EQ(answer.sentence, "I did not understand that.");
  Home home = SmallHome();
  home.house.devices[1].name = "floor lamp";
  const auto lamps = Made(home);
  EXPECT_EQ(lamps->AnswerFrom("turn on the lamp", "", kAskAnswer, "ask").sentence,
            "Which device do you mean? The desk lamp or the floor lamp?");
}

TEST_F(HomeAssistantTest, TextThatIsNoAnswerIsInvalidAndNeverAnAction) {
  for (const auto& [index, text] :
       std::vector<std::pair<int, std::string>>{{0, "desk lamp: explode"},
                                                {kWordsAnswer, "desk lamp: turn_on"},
                                                {kAskAnswer, "asks"},
                                                {99, "desk lamp: turn_on"},
                                                {-5, ""}}) {
    const Answer answer = home_->AnswerFrom("x", "", index, text);
    EXPECT_EQ(answer.kind, Answer::Kind::kInvalid) << text;
    EXPECT_THAT(answer.actions, IsEmpty());
    EXPECT_EQ(answer.sentence, "I did not understand that.");
  }
}

TEST_F(HomeAssistantTest, AnyBytesGiveValidAnswers) {
  // Goal: no utterance stops the program or names a head that does not exist.
  // Method: words of the home, noise and punctuation in random order; the seed is fixed.
  std::mt19937 random(7);
  const std::vector<std::string> parts = {
      "turn", "on", "the",    "desk", "lamp",     "not", "no",     "study", "40",   "%",
      ",",    "?",  "twenty", "half", "\xc3\xa9", "'s",  "I mean", "and",   "open", "blind"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    const std::size_t count = 1 + random() % 12;
    for (std::size_t i = 0; i < count; ++i) text += parts[random() % parts.size()] + " ";
    const Prompt prompt = home_->PromptFor(text, "");
    ASSERT_TRUE(prompt.allowed.words);
    ASSERT_LE(prompt.allowed.heads.size(), 8U);
    for (const std::uint32_t head : prompt.allowed.heads) {
      ASSERT_LT(head, home_->language().heads.size());
    }
    ASSERT_FALSE(home_->AnswerFrom(text, "", kAskAnswer, "ask").sentence.empty());
  }
}

TEST(HomeAssistant, VolatileTextIsRefused) {
  Home home = SmallHome();
  home.house.notes.push_back({"It is 7:30.", {30, 5}});
  const auto made = Create(home);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().substr(0, 17), "house.yaml:30:5: ");
}

TEST(HomeAssistant, AHomeWithoutCallsIsRefused) {
  Home home = SmallHome();
  home.house.devices.clear();
  const auto made = Create(home);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error(),
            "the home offers no call: no tool fits a device; check the classes in "
            "tools.yaml and house.yaml");
}

}  // namespace
}  // namespace integrations::home_assistant
