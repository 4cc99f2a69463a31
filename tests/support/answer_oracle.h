// What valid answers are, said naively, with random catalogs and vocabularies to compare by.
//
// Every call with every value is written out as a string; sentences are decoded character by
// character. Nothing is shared with the engine's automata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog_automaton.h"
#include "engine/token_constraint.h"
#include "engine/token_trie.h"

namespace answer_oracle {

// Choices from bytes; 0 when they are used up.
class Draw {
 public:
  explicit Draw(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  // 0 to end - 1; end is at most 65,536.
  std::size_t Below(std::size_t end);
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

// A thousand random bytes to draw from.
std::vector<std::uint8_t> RandomBytes(std::uint64_t seed);

// Few heads over few letters, so that they begin alike. May be one that can't be compiled.
engine::AnswerLanguage MakeLanguage(Draw& draw);
engine::AllowedAnswers MakeAllowed(Draw& draw, const engine::AnswerLanguage& language);
struct Vocabulary {
  std::vector<engine::TokenTrie::Entry> entries;
  std::vector<engine::TokenId> end_ids;
};
// All bytes, and pieces of the language's texts and of sentences.
Vocabulary MakeVocabulary(Draw& draw, const engine::AnswerLanguage& language);

// A character that may be shown, as the header of engine/text_automaton.h says.
bool IsPrintable(std::uint32_t character);
std::string EncodeUtf8(std::uint32_t character);
// Whether `bytes` is printable characters and then perhaps a part of one.
// Returns: the number of bytes that are missing of that part.
std::optional<std::size_t> MissingBytes(std::string_view bytes);

struct Answer {
  std::string text;
  int index = 0;  // head, TokenConstraint::kWords or kAsk
  float prior = 0;
};

class Oracle {
 public:
  Oracle(const engine::AnswerLanguage& language, const engine::AllowedAnswers& allowed);

  // All but the sentences in words.
  const std::vector<Answer>& calls() const { return calls_; }
  std::optional<Answer> AnswerOf(std::string_view text) const;
  bool IsBeginning(std::string_view text) const;
  // The largest prior of an answer that begins so. Requires: IsBeginning(text).
  float PriorOf(std::string_view text) const;

  // The ids that may follow `text`, ascending, by trying each.
  std::vector<engine::TokenId> Allowed(std::string_view text, const Vocabulary& vocabulary) const;

  // Compares the constraint, whose text may be any beginning, with all of the above.
  // Returns: an empty string, or what differs.
  std::string Compare(engine::TokenConstraint& constraint, const Vocabulary& vocabulary) const;

 private:
  bool IsWordsBeginning(std::string_view text) const;

  std::vector<Answer> calls_;
  bool words_ = false;
  bool has_priors_ = false;
  std::string lead_;
  std::size_t words_bytes_max_ = 0;
};

}  // namespace answer_oracle
