// The language of valid answers, as a byte automaton.
//
// An answer is one call, a sentence in words, or the fixed text that asks back. Calls are
// enumerated: each head is one string (target × tool × enum value), some followed by " " and a
// bounded integer without leading zeros. The automaton is a byte trie over the heads, a number
// automaton, and a free-text state for words (printable UTF-8, one line, bounded length).
// Compiled once per catalog; a request narrows it by head indexes (engine/answer_cut.h), so a cut
// costs no compile.
//
// The trie is kept as the sorted list of its strings: a node is the run of those that begin with
// the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
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
  std::string words_lead;  // what a sentence begins with, e.g. "say: "
  int words_bytes_max = 160;
  std::string ask_text;  // the whole "ask back" answer, e.g. "ask"
};

// What one request may be answered with.
struct AllowedAnswers {
  std::vector<std::uint32_t> heads;  // ascending
  std::vector<float> priors;         // per head, natural-log units; empty: none
  bool words = true;
  bool ask = false;
};

// Thread: any; never changes. Cost: 20,000 heads compile in 20 ms and take 8 bytes each beside
// their text.
class CatalogAutomaton {
 public:
  static constexpr std::size_t kHeadsMax = 1 << 20;
  static constexpr std::size_t kHeadBytesMax = 1024;
  static constexpr int kWordsBytesMax = 4096;

  // Returns: a sentence naming the two heads where one answer would have two meanings (equal
  // heads, or one that runs into another's value), or an empty or unprintable one.
  [[nodiscard]] static std::expected<CatalogAutomaton, std::string> Compile(
      AnswerLanguage language);

  const AnswerLanguage& language() const { return language_; }

  // An entry is what an answer begins with: a head's index, or one of these two.
  std::uint32_t words_entry() const { return static_cast<std::uint32_t>(language_.heads.size()); }
  std::uint32_t ask_entry() const { return words_entry() + 1; }
  std::size_t entry_count() const { return language_.heads.size() + 2; }
  std::string_view text(std::uint32_t entry) const;
  // An entry's place among all in the order of their bytes, and back.
  std::uint32_t rank(std::uint32_t entry) const { return ranks_[entry]; }
  std::uint32_t entry(std::uint32_t rank) const { return entries_[rank]; }

 private:
  explicit CatalogAutomaton(AnswerLanguage language);
  std::string CheckEntries() const;
  std::string CheckMeanings() const;
  std::string CheckValueClash(std::uint32_t head) const;
  std::string Role(std::uint32_t entry) const;
  std::string Name(std::uint32_t entry) const;

  AnswerLanguage language_;
  std::vector<std::uint32_t> entries_;  // by rank
  std::vector<std::uint32_t> ranks_;    // by entry
};

}  // namespace engine
