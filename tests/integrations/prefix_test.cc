#include "integrations/home_assistant/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/integrations/home_fixture.h"

namespace integrations::home_assistant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const Prefix& prefix) {
  std::string text = prefix.versions + "\n";
  for (const PrefixSection& section : prefix.sections) {
    text += "[" + section.name + "]\n" + section.text;
  }
  for (const PrefixTurn& turn : prefix.examples) {
    text += "> " + turn.utterance + "\n< " + turn.answer + "\n";
  }
  return text;
}

TEST(Prefix, RendersTheThreeDocumentsAndTheExamples) {
  EXPECT_EQ(TextOf(RenderPrefix(Sorted(SmallHome()))),
            "3.2.7\n"
            "[policy]\n"
            "You are the voice of this home.\n"
            "- Answer with one call.\n"
            "[tools]\n"
            "Tools:\n"
            "open: open a device (cover)\n"
            "set_brightness 1 to 100: set_brightness a device (light)\n"
            "set_color blue, red: set_color a device (light)\n"
            "turn_off: turn_off a device (light)\n"
            "turn_on: turn_on a device (light)\n"
            "unlock: unlock a device (lock)\n"
            "[house]\n"
            "Devices of the test house:\n"
            "hall (ground floor): lock front door\n"
            "study (ground floor): cover study blind; light ceiling light, desk lamp\n"
            "Note: The study is quiet.\n"
            "> turn on the desk lamp\n< desk lamp: turn_on\n"
            "> nice lamp\n< say: Thank you.\n"
            "> turn it on\n< ask\n");
}

TEST(Prefix, KnowsNoOrderOfToolsDevicesAreasAndValues) {
  Home home = SmallHome();
  std::ranges::reverse(home.tools.tools);
  std::ranges::reverse(home.house.devices);
  std::ranges::reverse(home.house.areas);
  for (Tool& tool : home.tools.tools) {
    if (tool.argument) std::ranges::reverse(tool.argument->values);
  }
  EXPECT_EQ(TextOf(RenderPrefix(Sorted(home))), TextOf(RenderPrefix(Sorted(SmallHome()))));
}

TEST(Prefix, KnowsNoPlacesAndNoFileNames) {
  Home home = SmallHome();
  home.policy.file = "elsewhere/p.yaml";
  for (Example& example : home.policy.examples) example.place = {1000, 1};
  for (Device& device : home.house.devices) device.place = {1, 77};
  EXPECT_EQ(TextOf(RenderPrefix(Sorted(home))), TextOf(RenderPrefix(Sorted(SmallHome()))));
}

TEST(Prefix, ShowsNeitherTopicsNorPayloads) {
  EXPECT_THAT(TextOf(RenderPrefix(Sorted(SmallHome()))), Not(HasSubstr("home/light/set")));
}

TEST(Prefix, KeepsTheOrderOfExamplesAndRules) {
  Home home = SmallHome();
  std::ranges::reverse(home.policy.examples);
  EXPECT_NE(TextOf(RenderPrefix(Sorted(home))), TextOf(RenderPrefix(Sorted(SmallHome()))));
}

TEST(Prefix, HasNoTrailingBlanksAndEndsItsLines) {
  for (const PrefixSection& section : RenderPrefix(Sorted(SmallHome())).sections) {
    EXPECT_THAT(section.text, Not(HasSubstr(" \n")));
    EXPECT_THAT(section.text, Not(HasSubstr("\r")));
    EXPECT_EQ(section.text.back(), '\n');
  }
}

}  // namespace
}  // namespace integrations::home_assistant
