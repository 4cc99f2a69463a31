// Bytes choose a catalog, a cut of it, a vocabulary and a walk; the constraint must agree with the
// naive oracle about each mask and bias, and the walk must end in a valid answer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/answer_oracle.h"

namespace {

void Expect(const std::string& differs) {
  if (differs.empty()) return;
  std::fprintf(stderr, "%s\n", differs.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  answer_oracle::Draw draw({bytes, size});
  const engine::AnswerLanguage language = answer_oracle::MakeLanguage(draw);
  const auto automaton = engine::CatalogAutomaton::Compile(language);
  if (!automaton) return 0;
  const engine::AllowedAnswers allowed = answer_oracle::MakeAllowed(draw, language);
  const answer_oracle::Vocabulary vocabulary = answer_oracle::MakeVocabulary(draw, language);
  const engine::TokenTrie trie(vocabulary.entries, vocabulary.end_ids);
  Expect(engine::CheckSpellable(*automaton, trie));
  const answer_oracle::Oracle oracle(language, allowed);
  engine::TokenConstraint constraint(*automaton, trie, allowed);
  while (!constraint.Finished()) {
    Expect(oracle.Compare(constraint, vocabulary));
    const auto ids = constraint.Allowed();
    // When the bytes are used up the last id is taken, which is the end's where it is allowed.
    constraint.Accept(draw.empty() ? ids.back() : ids[draw.Below(ids.size())]);
  }
  const auto answer = oracle.AnswerOf(constraint.text());
  if (!answer || answer->index != constraint.answer_index()) Expect("another answer");
  return 0;
}
