#include "engine/catalog_automaton.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/answer_oracle.h"

namespace engine {
namespace {

AnswerLanguage LanguageOf(std::vector<CallHead> heads) {
  AnswerLanguage language;
  language.heads = std::move(heads);
  language.words_lead = "say: ";
  language.ask_text = "ask";
  return language;
}

// The sentence of a refusal; empty when the language compiles.
std::string RefusalOf(const AnswerLanguage& language) {
  const auto compiled = CatalogAutomaton::Compile(language);
  return compiled ? std::string() : compiled.error();
}

TEST(CatalogAutomaton, EntriesAreRankedByTheirBytes) {
  const auto automaton =
      CatalogAutomaton::Compile(LanguageOf({{"é: on"}, {"zebra"}, {"a b"}, {"a"}}));
  ASSERT_TRUE(automaton.has_value());
  std::vector<std::string_view> texts;
  for (std::uint32_t rank = 0; rank < automaton->entry_count(); ++rank) {
    EXPECT_EQ(automaton->rank(automaton->entry(rank)), rank);
    texts.push_back(automaton->text(automaton->entry(rank)));
  }
  EXPECT_EQ(texts, (std::vector<std::string_view>{"a", "a b", "ask", "say: ", "zebra", "é: on"}));
  EXPECT_EQ(automaton->text(automaton->words_entry()), "say: ");
  EXPECT_EQ(automaton->text(automaton->ask_entry()), "ask");
}

// Goal: exactly the languages in which an answer has two meanings are refused. Method: all answers
// are written out.
TEST(CatalogAutomaton, RefusesExactlyTheLanguagesWithTwoMeanings) {
  int refused = 0;
  int compiled = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto bytes = answer_oracle::RandomBytes(seed);
    answer_oracle::Draw draw(bytes);
    const AnswerLanguage language = answer_oracle::MakeLanguage(draw);
    AllowedAnswers all{.heads = {}, .priors = {}, .words = true, .ask = true};
    std::multiset<std::string> texts{language.words_lead, language.ask_text};
    for (std::uint32_t i = 0; i < language.heads.size(); ++i) {
      all.heads.push_back(i);
      texts.insert(language.heads[i].text);
    }
    bool two_meanings = false;
    for (const auto& text : texts) two_meanings |= texts.count(text) > 1;
    std::set<std::string> answers;
    const answer_oracle::Oracle oracle(language, all);
    for (const auto& call : oracle.calls()) {
      two_meanings |= !answers.insert(call.text).second;
      two_meanings |= call.text.starts_with(language.words_lead);
    }
    EXPECT_EQ(!RefusalOf(language).empty(), two_meanings) << seed << ": " << RefusalOf(language);
    ++(two_meanings ? refused : compiled);
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(compiled, 300);
}

TEST(CatalogAutomaton, NamesBothAnswersOfAClash) {
  EXPECT_EQ(RefusalOf(LanguageOf({{"lamp: on"}, {"fan: on"}, {"lamp: on"}})),
            "Of the answers call 1, \"lamp: on\", and call 3, \"lamp: on\", are alike; rename one "
            "of them.");
  EXPECT_EQ(RefusalOf(LanguageOf({{"lamp: dim", true, 0, 100}, {"lamp: dim 40"}})),
            "Of the answers call 2, \"lamp: dim 40\", can also be read as call 1, \"lamp: dim\", "
            "with a value; rename one of them.");
  EXPECT_NE(RefusalOf(LanguageOf({{"dim", true, 0, 100}, {"dim 1x"}, {"dim 2x"}, {"dim 40"}})), "")
      << "not the next one in the order of bytes";
  EXPECT_NE(RefusalOf(LanguageOf({{"say: hello"}})).find("begins as a sentence does"),
            std::string::npos);
  EXPECT_EQ(RefusalOf(LanguageOf({{"lamp: dim", true, 0, 100}, {"lamp: dim 040"}})), "");
  EXPECT_EQ(RefusalOf(LanguageOf({{"lamp: dim", true, 0, 100}, {"lamp: dim 400"}})), "");
  EXPECT_EQ(RefusalOf(LanguageOf({{"lamp: dim", true, 0, 100}, {"lamp: dim 40", true, 1, 2}})), "");
}

TEST(CatalogAutomaton, RefusesALeadThatAValueCanBeginWith) {
  struct Bounds {
    int least;
    int most;
  };
  const auto clashes = [](const char* lead, Bounds bounds) {
    AnswerLanguage language = LanguageOf({{"x", true, bounds.least, bounds.most}});
    language.words_lead = lead;
    return !RefusalOf(language).empty();
  };
  EXPECT_TRUE(clashes("x ", {5, 5}));
  EXPECT_TRUE(clashes("x -", {-5, 5}));
  EXPECT_FALSE(clashes("x -", {0, 5}));
  EXPECT_TRUE(clashes("x -1", {-15, -12}));
  EXPECT_FALSE(clashes("x -1", {-25, -22}));
  EXPECT_TRUE(clashes("x 1", {112, 115}));
  EXPECT_FALSE(clashes("x 1", {212, 215}));
  EXPECT_TRUE(clashes("x 0", {-1, 1}));
  EXPECT_FALSE(clashes("x 0", {1, 10}));
  EXPECT_FALSE(clashes("x 01", {1, 10}));
  EXPECT_FALSE(clashes("x 1: ", {1, 10}));
}

TEST(CatalogAutomaton, RefusesTextsThatAreEmptyTooLongOrUnprintable) {
  EXPECT_NE(RefusalOf(LanguageOf({{""}})).find("call 1 is empty"), std::string::npos);
  EXPECT_EQ(RefusalOf(LanguageOf({{std::string(1024, 'a')}})), "");
  EXPECT_NE(RefusalOf(LanguageOf({{std::string(1025, 'a')}})).find("1025 bytes"),
            std::string::npos);
  for (const char* text : {"a\nb", "a\x7F", "a\xC3", "\xE2\x80\xAE evil", "\xFF"}) {
    const std::string refusal = RefusalOf(LanguageOf({{"fine"}, {text}}));
    EXPECT_NE(refusal.find("call 2 is not one line of printable UTF-8"), std::string::npos);
    EXPECT_EQ(refusal.find(text), std::string::npos) << "it isn't printed either";
  }
  AnswerLanguage language = LanguageOf({});
  language.ask_text = "";
  EXPECT_NE(RefusalOf(language).find("the text that asks back is empty"), std::string::npos);
  language = LanguageOf({});
  language.words_lead = "";
  EXPECT_NE(RefusalOf(language).find("the lead of a sentence is empty"), std::string::npos);
}

TEST(CatalogAutomaton, RefusesBoundsThatHoldNothing) {
  EXPECT_NE(RefusalOf(LanguageOf({{"dim", true, 5, 4}})).find("from 5 to 4"), std::string::npos);
  EXPECT_EQ(RefusalOf(LanguageOf({{"dim", true, 5, 5}})), "");
  EXPECT_EQ(RefusalOf(LanguageOf({{"dim", false, 5, 4}})), "") << "takes no value";
  AnswerLanguage language = LanguageOf({});
  for (const auto& [bytes_max, fits] :
       std::vector<std::pair<int, bool>>{{0, false}, {1, true}, {4096, true}, {4097, false}}) {
    language.words_bytes_max = bytes_max;
    EXPECT_EQ(RefusalOf(language).empty(), fits) << bytes_max;
  }
}

}  // namespace
}  // namespace engine
