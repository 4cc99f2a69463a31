// The language of valid answers, as a byte automaton.
//
// An answer is one call, a sentence in words, or the fixed text that asks back. Calls are
// enumerated: each head is one string (target × tool × enum value), some followed by " " and a
// bounded integer without leading zeros. The automaton is a byte trie over the heads, a number
// automaton, and a free-text state for words (printable UTF-8, one line, bounded length).
// Compiled once per catalog; a request narrows it by head indexes, so a cut costs no compile.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace engine {

struct CallHead {
  std::string text;  // printable UTF-8, one line
  bool has_value = false;
  int value_min = 0;  // inclusive; may be negative
  int value_max = 0;
};

// Everything that may ever be answered.
struct AnswerLanguage {
  std::vector<CallHead> heads;
  std::string words_lead;   // what a sentence begins with, e.g. "say: "
  int words_bytes_max = 160;
  std::string ask_text;     // the whole "ask back" answer, e.g. "ask"
};

// What one request may be answered with.
struct AllowedAnswers {
  std::vector<std::uint32_t> heads;  // ascending
  std::vector<float> priors;         // per head, natural-log units; empty: none
  bool words = true;
  bool ask = false;
};

class CatalogAutomaton {
 public:
  // Returns: a sentence naming the two heads where one answer would have two meanings (equal
  // heads, or one that runs into another's value), or an empty or unprintable one.
  [[nodiscard]] static std::expected<CatalogAutomaton, std::string> Compile(
      AnswerLanguage language);

  const AnswerLanguage& language() const;
};

}  // namespace engine
