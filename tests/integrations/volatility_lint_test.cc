#include "integrations/home_assistant/volatility_lint.h"

#include <gtest/gtest.h>

#include "tests/integrations/home_fixture.h"

namespace integrations::home_assistant {
namespace {

TEST(VolatilityLint, FindsClocks) {
  EXPECT_EQ(FindVolatile("It is 7:30 now"), "a clock (\"7:30\")");
  EXPECT_EQ(FindVolatile("at 23:05:59"), "a clock (\"23:05\")");
  EXPECT_EQ(FindVolatile("at 7 pm"), "a clock (\"7 pm\")");
}

TEST(VolatilityLint, FindsDates) {
  EXPECT_EQ(FindVolatile("since 2026-08-01."), "a date (\"2026-08-01\")");
  EXPECT_EQ(FindVolatile("since 1.8.2026"), "a date (\"1.8.2026\")");
  EXPECT_EQ(FindVolatile("on 3 August"), "a date (\"3 August\")");
  EXPECT_EQ(FindVolatile("on August 3"), "a date (\"August 3\")");
  EXPECT_EQ(FindVolatile("today the kids are here"), "a word that speaks of now (\"today\")");
}

TEST(VolatilityLint, FindsUuids) {
  EXPECT_EQ(FindVolatile("id 123e4567-e89b-12d3-a456-426614174000"),
            "a UUID (\"123e4567-e89b-12d3-a456-426614174000\")");
}

TEST(VolatilityLint, FindsCounters) {
  EXPECT_EQ(FindVolatile("request 17"), "a counter (\"request 17\")");
  EXPECT_EQ(FindVolatile("as of 1767225600"), "a counter (\"1767225600\")");
}

TEST(VolatilityLint, LeavesWhatStaysAsItIs) {
  for (const char* text : {"set the desk lamp to 40 percent", "The garden may be wet.",
                           "turn up the heating to 22", "floor 2, built in 1998", "1 to 100",
                           "the kids room stays quiet in the evening", "March to the gate"}) {
    EXPECT_EQ(FindVolatile(text), "") << text;
  }
}

TEST(VolatilityLint, NamesFileAndLine) {
  Home home = SmallHome();
  EXPECT_EQ(LintHome(home), "");
  home.house.notes.push_back({"The time is 12:00.", {21, 5}});
  EXPECT_EQ(LintHome(home),
            "house.yaml:21:5: the text looks as if it held a clock (\"12:00\"), which would make "
            "every command compute the whole prefix again; remove it");
}

TEST(VolatilityLint, LooksAtAllThreeDocuments) {
  Home home = SmallHome();
  home.policy.rules.push_back({"Today is Monday.", {6, 5}});
  EXPECT_EQ(LintHome(home).substr(0, 17), "policy.yaml:6:5: ");
  home = SmallHome();
  home.tools.tools[1].does = "done 1234567 times";
  home.tools.tools[1].place = {9, 5};
  EXPECT_EQ(LintHome(home).substr(0, 16), "tools.yaml:9:5: ");
  home = SmallHome();
  home.policy.examples[0].user = "wake me at 6:45";
  EXPECT_EQ(LintHome(home).substr(0, 18), "policy.yaml:12:5: ");
}

}  // namespace
}  // namespace integrations::home_assistant
