#include "integrations/home_assistant/action.h"

#include <gtest/gtest.h>

#include <string>

#include "integrations/home_assistant/action_catalog.h"
#include "integrations/home_assistant/policy.h"
#include "integrations/home_assistant/prefix.h"
#include "tests/integrations/home_fixture.h"

namespace integrations::home_assistant {
namespace {

int IndexOf(const ActionCatalog& catalog, const std::string& text) {
  const auto& heads = catalog.language().heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].text == text) return static_cast<int>(i);
  }
  return -100;
}

class ActionTest : public testing::Test {
 protected:
  Home home_ = Sorted(SmallHome());
  ActionCatalog catalog_{home_};

  Action Do(const std::string& head, const std::string& text) {
    const auto call = catalog_.CallFrom(IndexOf(catalog_, head), text);
    EXPECT_TRUE(call.has_value()) << text;
    return ActionOf(home_, *call);
  }
};

TEST_F(ActionTest, TheCatalogHoldsWhatFitsClassAndCapabilityAndNothingElse) {
  std::string heads;
  for (const CallHead& head : catalog_.language().heads) {
    heads += head.text + (head.has_value ? " N\n" : "\n");
  }
  EXPECT_EQ(heads,
            "ceiling light: set_brightness N\n"
            "ceiling light: turn_off\n"
            "ceiling light: turn_on\n"
            "desk lamp: set_brightness N\n"
            "desk lamp: set_color blue\n"
            "desk lamp: set_color red\n"
            "desk lamp: turn_off\n"
            "desk lamp: turn_on\n"
            "front door: unlock\n"
            "study blind: open\n");
}

TEST_F(ActionTest, EveryHeadComesBackAsItsCall) {
  const auto& heads = catalog_.language().heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::string text = heads[i].text + (heads[i].has_value ? " 7" : "");
    const auto call = catalog_.CallFrom(static_cast<int>(i), text);
    ASSERT_TRUE(call.has_value()) << text;
    EXPECT_EQ(CallText(home_.house.devices[call->device].name, home_.tools.tools[call->tool].name,
                       call->value),
              text);
  }
}

TEST_F(ActionTest, TextThatIsNoCallIsNone) {
  const int brightness = IndexOf(catalog_, "desk lamp: set_brightness");
  for (const char* text : {"desk lamp: set_brightness", "desk lamp: set_brightness ",
                           "desk lamp: set_brightness 0", "desk lamp: set_brightness 101",
                           "desk lamp: set_brightness 07", "desk lamp: set_brightness +7",
                           "desk lamp: set_brightness 7 ", "desk lamp: set_brightness 7.5",
                           "desk lamp: set_brightness 99999999999", "desk lamp: turn_on", ""}) {
    EXPECT_FALSE(catalog_.CallFrom(brightness, text).has_value()) << text;
  }
  EXPECT_FALSE(catalog_.CallFrom(-1, "desk lamp: turn_on").has_value());
  EXPECT_FALSE(catalog_.CallFrom(1000, "desk lamp: turn_on").has_value());
  EXPECT_FALSE(catalog_.CallFrom(IndexOf(catalog_, "desk lamp: turn_off"), "desk lamp: turn_on")
                   .has_value());
}

TEST_F(ActionTest, ValuesReachTheMessageAndTheSentence) {
  const Action action = Do("desk lamp: set_brightness", "desk lamp: set_brightness 40");
  EXPECT_EQ(action.device, "desk lamp");
  EXPECT_EQ(action.tool, "set_brightness");
  EXPECT_EQ(action.arguments.at("percent"), "40");
  EXPECT_EQ(action.status, ActionStatus::kAllowed);
  EXPECT_EQ(action.message.topic, "home/light/set");
  EXPECT_EQ(action.message.payload, "40 %");
  EXPECT_FALSE(action.message.retained);
}

TEST_F(ActionTest, ADevicesOwnPayloadReplacesTheTools) {
  EXPECT_EQ(Do("desk lamp: turn_on", "desk lamp: turn_on").message.payload, "{\"on\": true}");
  EXPECT_EQ(Do("ceiling light: turn_on", "ceiling light: turn_on").message.payload, "ON");
}

TEST_F(ActionTest, ADeviceWithoutATopicHasNoMessage) {
  home_.house.devices[0].command_topic = "";
  EXPECT_EQ(Do("ceiling light: turn_on", "ceiling light: turn_on").message.topic, "");
}

TEST_F(ActionTest, RiskDecidesAndTheSentenceSaysIt) {
  const auto call =
      catalog_.CallFrom(IndexOf(catalog_, "front door: unlock"), "front door: unlock");
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(ActionOf(home_, *call).status, ActionStatus::kConfirm);
  EXPECT_EQ(SentenceOf(home_, *call, ActionStatus::kConfirm), "Shall I unlock the front door?");
  EXPECT_EQ(SentenceOf(home_, *call, ActionStatus::kDenied), "I may not touch the front door.");
  EXPECT_EQ(SentenceOf(home_, *call, ActionStatus::kAllowed), "Unlocked the front door.");
}

TEST(Policy, ADeviceMayRaiseARiskAndNeverLowerIt) {
  Tool tool;
  tool.name = "open";
  Device device;
  EXPECT_EQ(Decide(tool, device), ActionStatus::kAllowed);
  device.confirm = {"open"};
  EXPECT_EQ(Decide(tool, device), ActionStatus::kConfirm);
  device.deny = {"open"};
  EXPECT_EQ(Decide(tool, device), ActionStatus::kDenied);
  device = {};
  tool.risk = Risk::kDeny;
  device.confirm = {"open"};
  EXPECT_EQ(Decide(tool, device), ActionStatus::kDenied);
  tool.risk = Risk::kConfirm;
  device = {};
  device.deny = {"close"};
  EXPECT_EQ(Decide(tool, device), ActionStatus::kConfirm);
}

TEST(Filled, ReplacesEveryHoleOnceAndSearchesNotWhatItPutIn) {
  EXPECT_EQ(Filled("{x} and {x}, {y}", "x", "{x}"), "{x} and {x}, {y}");
  EXPECT_EQ(Filled("no hole", "x", "1"), "no hole");
  EXPECT_EQ(Filled("", "x", "1"), "");
}

TEST_F(ActionTest, FailureNamesTheDevice) {
  Action action;
  action.device = "desk lamp";
  action.status = ActionStatus::kAllowed;
  EXPECT_EQ(FailureSentenceOf(home_, action), "I could not reach the desk lamp.");
  action.status = ActionStatus::kDenied;
  EXPECT_EQ(FailureSentenceOf(home_, action), "I may not touch the desk lamp.");
}

}  // namespace
}  // namespace integrations::home_assistant
