#include "engine/answer_cut.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/token_constraint.h"
#include "tests/support/answer_oracle.h"

namespace engine {
namespace {

using answer_oracle::Draw;
using answer_oracle::Oracle;

AnswerCut::State StepAll(const AnswerCut& cut, std::string_view bytes) {
  AnswerCut::State state = cut.Start();
  for (const char byte : bytes) {
    if (AnswerCut::IsDead(state)) break;
    state = cut.Step(state, static_cast<std::uint8_t>(byte));
  }
  return state;
}

// Compares the state after `text`, and all its next bytes, with the oracle.
void ExpectAgreement(const AnswerCut& cut, const CatalogAutomaton& automaton, const Oracle& oracle,
                     const std::string& text) {
  SCOPED_TRACE("after \"" + text + "\"");
  const AnswerCut::State state = StepAll(cut, text);
  ASSERT_FALSE(AnswerCut::IsDead(state));
  const auto answer = oracle.AnswerOf(text);
  ASSERT_EQ(cut.MayEnd(state), answer.has_value());
  if (answer) {
    const std::uint32_t entry = cut.EntryAtEnd(state);
    if (answer->index >= 0) {
      EXPECT_EQ(entry, static_cast<std::uint32_t>(answer->index));
    } else {
      EXPECT_EQ(entry, answer->index == TokenConstraint::kWords ? automaton.words_entry()
                                                                : automaton.ask_entry());
    }
    EXPECT_EQ(cut.PriorAtEnd(state), answer->prior);
  }
  EXPECT_EQ(cut.PriorAfter(state), oracle.PriorOf(text));
  const auto next_bytes = cut.NextBytes(state);
  for (int byte = 0; byte < 256; ++byte) {
    const bool alive = oracle.IsBeginning(text + static_cast<char>(byte));
    ASSERT_EQ(AnswerCut::IsDead(cut.Step(state, static_cast<std::uint8_t>(byte))), !alive) << byte;
    ASSERT_TRUE(next_bytes[static_cast<std::size_t>(byte)] || !alive) << byte;
  }
}

// Goal: a state lives exactly while an answer begins with its bytes. Method: random answers are
// followed byte by byte; at each the oracle is asked about every next byte.
TEST(AnswerCut, StatesLiveEndAndWeighAsTheAnswersWrittenOut) {
  int states = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto bytes = answer_oracle::RandomBytes(seed);
    Draw draw(bytes);
    const AnswerLanguage language = answer_oracle::MakeLanguage(draw);
    const auto automaton = CatalogAutomaton::Compile(language);
    if (!automaton) continue;
    const AllowedAnswers allowed = answer_oracle::MakeAllowed(draw, language);
    const AnswerCut cut(*automaton, allowed);
    const Oracle oracle(language, allowed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 4; ++i) {
      std::string text;
      while (!::testing::Test::HasFatalFailure()) {
        ExpectAgreement(cut, *automaton, oracle, text);
        ++states;
        std::vector<char> next;
        for (int byte = 0; byte < 256; ++byte) {
          if (oracle.IsBeginning(text + static_cast<char>(byte))) {
            next.push_back(static_cast<char>(byte));
          }
        }
        if (next.empty()) break;
        text += next[random() % next.size()];
      }
    }
  }
  EXPECT_GT(states, 1000);
}

struct Bounds {
  int least;
  int most;
};

TEST(AnswerCut, ValuesAreThoseOfTheirBoundsAsTheyAreWritten) {
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const auto& [least, most] : std::vector<Bounds>{{0, 0},
                                                       {0, 9},
                                                       {5, 5},
                                                       {1, 100},
                                                       {-10, -5},
                                                       {-3, 12},
                                                       {95, 1005},
                                                       {-120, -99},
                                                       {kLeast, kMost},
                                                       {kMost, kMost},
                                                       {kLeast, kLeast}}) {
    AnswerLanguage language;
    language.heads = {{"x", true, least, most}};
    language.words_lead = "say: ";
    language.ask_text = "ask";
    const auto automaton = CatalogAutomaton::Compile(language);
    ASSERT_TRUE(automaton.has_value());
    const AnswerCut cut(*automaton, {.heads = {0}, .priors = {}, .words = false});
    const auto ends = [&](const std::string& value) {
      const AnswerCut::State state = StepAll(cut, "x " + value);
      return !AnswerCut::IsDead(state) && cut.MayEnd(state);
    };
    for (std::int64_t value = -1300; value <= 1300; ++value) {
      EXPECT_EQ(ends(std::to_string(value)), value >= least && value <= most) << value;
    }
    for (const std::int64_t end : {std::int64_t{least}, std::int64_t{most}}) {
      EXPECT_TRUE(ends(std::to_string(end)));
    }
    EXPECT_FALSE(ends(std::to_string(std::int64_t{least} - 1)));
    EXPECT_FALSE(ends(std::to_string(std::int64_t{most} + 1)));
    for (const char* value : {"", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1.0", "0x1"}) {
      EXPECT_FALSE(ends(value)) << value;
    }
  }
}

// "x 50" is the first head's value 50; "x 500" is the second head; "x 5" is a value, too.
TEST(AnswerCut, AHeadMayGoOnWhereAnothersValueEnds) {
  AnswerLanguage language;
  language.heads = {{"x", true, 0, 99}, {"x 500"}, {"x 5 fast"}};
  language.words_lead = "say: ";
  language.ask_text = "ask";
  const auto automaton = CatalogAutomaton::Compile(language);
  ASSERT_TRUE(automaton.has_value()) << automaton.error();
  const AnswerCut cut(*automaton,
                      {.heads = {0, 1, 2}, .priors = {1, 2, 4}, .words = true, .ask = true});
  const auto entry_of = [&](const char* text) {
    const AnswerCut::State state = StepAll(cut, text);
    return cut.MayEnd(state) ? static_cast<int>(cut.EntryAtEnd(state)) : -1;
  };
  EXPECT_EQ(entry_of("x 5"), 0);
  EXPECT_EQ(entry_of("x 50"), 0);
  EXPECT_EQ(entry_of("x 500"), 1);
  EXPECT_EQ(entry_of("x 5 fast"), 2);
  EXPECT_EQ(entry_of("x 5 fas"), -1);
  EXPECT_EQ(entry_of("x"), -1);
  EXPECT_EQ(cut.PriorAtEnd(StepAll(cut, "x 500")), 2);
  EXPECT_EQ(cut.PriorAfter(StepAll(cut, "x 5")), 4);
  EXPECT_EQ(cut.PriorAfter(StepAll(cut, "x 50")), 2);
  EXPECT_EQ(cut.PriorAfter(StepAll(cut, "x 51")), 1);
}

TEST(AnswerCut, AssertsOnHeadsThatAreNotAscendingOrNotThere) {
  AnswerLanguage language;
  language.heads = {{"a"}, {"b"}};
  language.words_lead = "say: ";
  language.ask_text = "ask";
  const auto automaton = CatalogAutomaton::Compile(language);
  ASSERT_TRUE(automaton.has_value());
  const auto make = [&](const AllowedAnswers& allowed) { AnswerCut(*automaton, allowed); };
  EXPECT_DEATH(make({.heads = {1, 0}, .priors = {}}), "is_sorted");
  EXPECT_DEATH(make({.heads = {0, 0}, .priors = {}}), "is_sorted");
  EXPECT_DEATH(make({.heads = {2}, .priors = {}}), "heads.size");
  EXPECT_DEATH(make({.heads = {0}, .priors = {1, 2}}), "priors.size");
  EXPECT_DEATH(make({.heads = {}, .priors = {}, .words = false}), "empty");
}

}  // namespace
}  // namespace engine
