#include "service/home_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <random>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include "engine/digest.h"
#include "integrations/home_assistant/home_assistant.h"
#include "integrations/integration.h"

namespace service {
namespace {

using ::testing::HasSubstr;

const std::string kConfig = std::string(INGLENOOK_SOURCE_DIR) + "/config";

constexpr const char* kPolicy =
    "version: 1\n"
    "language: en\n"
    "persona: You are the voice.\n"
    "rules: [Answer with one call.]\n"
    "ask: Which one?\n"
    "unclear: I did not understand.\n"
    "confirm: 'Shall I {call} the {name}?'\n"
    "denied: No.\n"
    "failed: It failed.\n"
    "examples:\n"
    "  - {user: turn on the lamp, device: lamp, tool: turn_on}\n";
constexpr const char* kTools =
    "version: 2\n"
    "tools:\n"
    "  - name: turn_on\n"
    "    does: switch on\n"
    "    classes: [light]\n"
    "    risk: allow\n"
    "    words: {en: [turn on]}\n"
    "    say: Done.\n"
    "    payload: ON\n"
    "  - name: dim\n"
    "    does: dim\n"
    "    classes: [light]\n"
    "    needs: brightness\n"
    "    argument: {name: percent, type: number, min: 1, max: 100}\n"
    "    risk: allow\n"
    "    words: {en: [dim]}\n"
    "    say: 'Set to {value}.'\n"
    "    payload: '{value}'\n";
constexpr const char* kHouse =
    "version: 3\n"
    "name: the house\n"
    "floors: [ground]\n"
    "areas:\n"
    "  - {name: hall, floor: ground}\n"
    "devices:\n"
    "  - {name: lamp, area: hall, class: light, can: [brightness], command_topic: a/b}\n";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

std::string ErrorOf(const std::string& policy, const std::string& tools, const std::string& house) {
  const auto home = ParseHome({"p.yaml", policy}, {"t.yaml", tools}, {"h.yaml", house});
  return home ? "no error" : home.error();
}

TEST(HomeLoader, ReadsTheThreeDocuments) {
  const auto home = ParseHome({"p.yaml", kPolicy}, {"t.yaml", kTools}, {"h.yaml", kHouse});
  ASSERT_TRUE(home.has_value()) << home.error();
  EXPECT_EQ(home->policy.version, 1);
  EXPECT_EQ(home->tools.tools[1].argument->max, 100);
  EXPECT_EQ(home->house.devices[0].command_topic, "a/b");
  EXPECT_EQ(home->house.devices[0].place.line, 7);
  EXPECT_EQ(home->policy.examples[0].place.line, 11);
}

struct Bad {
  const char* document;  // p, t or h
  const char* what;
  const char* with;
  const char* error;
};

class BadHome : public testing::TestWithParam<Bad> {};

TEST_P(BadHome, IsRefusedWithPlaceReasonAndWayOut) {
  const Bad& bad = GetParam();
  std::string policy = kPolicy;
  std::string tools = kTools;
  std::string house = kHouse;
  std::string& text = bad.document[0] == 'p' ? policy : bad.document[0] == 't' ? tools : house;
  text = Replaced(text, bad.what, bad.with);
  EXPECT_EQ(ErrorOf(policy, tools, house), bad.error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadHome,
    testing::Values(
        Bad{"h", "class: light", "klass: light",
            "h.yaml:7:30: unknown key \"klass\" in a device; known are name, area, class, aliases, "
            "can, confirm, deny, command_topic, payloads"},
        Bad{"h", "area: hall,", "area: attic,",
            "h.yaml:7:5: the device \"lamp\" is in the area \"attic\", which is not listed under "
            "\"areas\"; add it there"},
        Bad{"h", "floor: ground", "floor: cellar",
            "h.yaml:5:5: the area \"hall\" is on the floor \"cellar\", which is not listed under "
            "\"floors\"; add it there"},
        Bad{"h", "class: light", "class: toaster",
            "t.yaml:3:5: the tool \"turn_on\" fits no device of h.yaml; check its classes and what "
            "it needs"},
        Bad{"h", "version: 3", "version: three",
            "h.yaml:1:10: \"version\" must be a whole number from 1 to 1000000000, found "
            "\"three\""},
        Bad{"h", "version: 3", "version: 0",
            "h.yaml:1:10: \"version\" must be a whole number from 1 to 1000000000, found \"0\""},
        Bad{"h", "name: lamp", "name: a lamp with a name that is longer than any name may be",
            "h.yaml:7:12: name \"a lamp with a name that is longer than any name may be\" has 54 "
            "characters, the limit is 48; shorten it"},
        Bad{"h", "name: lamp", "name: \"two\\nlines\"",
            "h.yaml:7:12: name must be one line of printable characters"},
        Bad{"h", "name: lamp", "name: \"back\\u202ewards\"",
            "h.yaml:7:12: name must be one line of printable characters"},
        Bad{"h", "name: lamp", "name: \" lamp\"",
            "h.yaml:7:12: name \" lamp\" begins or ends with a blank; remove it"},
        Bad{"h", "class: light", "class: light, aliases: [Lamp]",
            "h.yaml:7:5: the device name \"Lamp\" is already in line 7; choose another name"},
        Bad{"h", "command_topic: a/b", "command_topic: a/+/b",
            "h.yaml:7:78: \"command_topic\" must be a topic to publish to, without +, # and a "
            "leading $, found \"a/+/b\""},
        Bad{"h", "class: light", "class: light, deny: [explode]",
            "h.yaml:7:5: the device \"lamp\" names the tool \"explode\", which is not in t.yaml; "
            "correct it"},
        Bad{"t", "risk: allow", "risk: maybe",
            "t.yaml:6:11: \"risk\" must be allow, confirm or deny, found \"maybe\""},
        Bad{"t", "name: dim", "name: turn_on",
            "t.yaml:10:5: the tool \"turn_on\" is already in line 3; choose another name"},
        Bad{"t", "say: Done.", "say: 'Set to {value}.'",
            "t.yaml:3:5: the tool \"turn_on\" uses {value} but takes no argument; add one or "
            "remove "
            "{value}"},
        Bad{"t", "min: 1, max: 100", "min: 9, max: 3",
            "t.yaml:14:58: \"max\" must be a whole number from 9 to 1000000, found \"3\""},
        Bad{"t", "words: {en: [dim]}", "words: {de: [dimme]}",
            "t.yaml:10:5: the tool \"dim\" has no words in \"en\", the language of p.yaml; add "
            "them"},
        Bad{"p", "device: lamp", "device: lump",
            "p.yaml:11:5: the example names the device \"lump\", which is not in h.yaml; correct "
            "it"},
        Bad{"p", "tool: turn_on", "tool: dim",
            "p.yaml:11:5: the example uses the tool \"dim\", which takes a whole number from 1 to "
            "100, found \"\""},
        Bad{"p", "tool: turn_on", "tool: dim, value: 101",
            "p.yaml:11:5: the example uses the tool \"dim\", which takes a whole number from 1 to "
            "100, found \"101\""},
        Bad{"p", "tool: turn_on", "say: Hello.",
            "p.yaml:11:5: an example has either \"device\" and \"tool\" (and perhaps \"value\"), "
            "or "
            "\"say\", or \"ask: true\""},
        Bad{"p", "persona: You are the voice.\n", "",
            "p.yaml:1:1: the key \"persona\" is missing; add it"},
        Bad{"p", "rules: [Answer with one call.]", "rules: Answer with one call.",
            "p.yaml:4:8: \"rules\" must be a list, found \"Answer with one call.\""}));

TEST(HomeLoader, NamesOfFortyEightCharactersAreAllowedWhateverTheirBytes) {
  std::string name;
  for (int i = 0; i < 48; ++i) name += "\u00e9";
  const std::string policy = Replaced(kPolicy, "device: lamp", "device: " + name);
  EXPECT_EQ(ErrorOf(policy, kTools, Replaced(kHouse, "name: lamp", "name: " + name)), "no error");
  EXPECT_THAT(ErrorOf(policy, kTools, Replaced(kHouse, "name: lamp", "name: " + name + "x")),
              HasSubstr("has 49 characters, the limit is 48"));
}

TEST(HomeLoader, TheExampleHomeIsValidAndLargeEnough) {
  const auto home = LoadHome(kConfig);
  ASSERT_TRUE(home.has_value()) << home.error();
  EXPECT_GE(home->house.areas.size(), 6U);
  EXPECT_GE(home->house.devices.size(), 35U);
  EXPECT_GE(home->tools.tools.size(), 12U);
  EXPECT_GE(home->policy.examples.size(), 30U);
  std::vector<std::string> classes;
  for (const auto& device : home->house.devices) classes.push_back(device.device_class);
  std::ranges::sort(classes);
  const auto again = std::ranges::unique(classes);
  classes.erase(again.begin(), again.end());
  EXPECT_GE(classes.size(), 8U);
  EXPECT_TRUE(std::ranges::any_of(home->house.devices, [](const auto& device) {
    return device.name == "kitchen ceiling light";
  }));
}

// A digest of everything that reaches the model.
std::string DigestOf(integrations::Home home) {
  const auto made = integrations::home_assistant::Create(std::move(home));
  EXPECT_TRUE(made.has_value()) << made.error();
  std::string text = (*made)->prefix().versions;
  for (const auto& section : (*made)->prefix().sections) text += "\n" + section.text;
  for (const auto& turn : (*made)->prefix().examples) {
    text += "\n" + turn.utterance + "\n" + turn.answer;
  }
  for (const auto& head : (*made)->language().heads) text += "\n" + head.text;
  return engine::DigestHex(std::as_bytes(std::span(text)));
}

std::string DigestOf(const std::string& tools, const std::string& house) {
  const auto home = ParseHome({"p.yaml", kPolicy}, {"t.yaml", tools}, {"h.yaml", house});
  EXPECT_TRUE(home.has_value()) << home.error();
  return home ? DigestOf(*home) : "";
}

TEST(HomeLoader, KeyOrderCommentsQuotesAndLineEndsLeaveTheDigest) {
  const std::string digest = DigestOf(kTools, kHouse);
  EXPECT_EQ(DigestOf(kTools, "# a comment\n" + std::string(kHouse) + "# the end\n"), digest);
  EXPECT_EQ(DigestOf(kTools, std::regex_replace(kHouse, std::regex("\n"), "\r\n")), digest);
  EXPECT_EQ(
      DigestOf(kTools, Replaced(kHouse, "name: lamp, area: hall", "area: hall, name: 'lamp'")),
      digest);
  EXPECT_EQ(DigestOf(kTools, Replaced(Replaced(kHouse, "name: the house\n", ""),
                                      "devices:", "name: \"the house\"\ndevices:")),
            digest);
  EXPECT_NE(DigestOf(kTools, Replaced(kHouse, "the house", "the home")), digest);
  EXPECT_NE(DigestOf(kTools, Replaced(kHouse, "version: 3", "version: 4")), digest);
}

TEST(HomeLoader, LocaleAndTimeZoneLeaveTheDigest) {
  const auto home = LoadHome(kConfig);
  ASSERT_TRUE(home.has_value()) << home.error();
  const std::string digest = DigestOf(*home);
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"C.UTF-8", "tr_TR.UTF-8", "de_DE.UTF-8", "POSIX"}) {
    std::setlocale(LC_ALL, name);
    setenv("TZ", "Asia/Kathmandu", 1);
    const auto again = LoadHome(kConfig);
    EXPECT_TRUE(again.has_value());
    if (again) {
      EXPECT_EQ(DigestOf(*again), digest) << name;
    }
  }
  std::setlocale(LC_ALL, locale.c_str());
  unsetenv("TZ");
}

TEST(HomeLoader, NoCutOrChangeOfBytesStopsTheProgram) {
  // Goal: whatever is in the files gives a home or a sentence.
  // Method: the example house cut at, and changed in, random places; the seed is fixed.
  std::mt19937 random(11);
  const std::string house = kHouse;
  for (int round = 0; round < 2000; ++round) {
    std::string text = house.substr(0, random() % (house.size() + 1));
    for (int i = 0; i < 3 && !text.empty(); ++i) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    const auto home = ParseHome({"p.yaml", kPolicy}, {"t.yaml", kTools}, {"h.yaml", text});
    ASSERT_TRUE(home.has_value() || !home.error().empty());
  }
}

}  // namespace
}  // namespace service
