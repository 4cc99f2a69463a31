// Which tokens may come next, so that an answer is always a valid one.
//
// The catalog is a byte automaton (engine/catalog_automaton.h); the model's vocabulary is a byte
// trie (TokenTrie, once per model). At a state the allowed token ids come from walking both
// together. One request sees only the heads that its words allow. Inside a sentence in words
// nearly every token may come next: those lists are the trie's and shared by all requests. Other
// states are met once per request, each with its own cut, so that there is nothing to memoise.
//
// Thread: the engine thread. Ownership: the automaton and the trie outlive the constraint.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/answer_cut.h"
#include "engine/catalog_automaton.h"
#include "engine/token_id.h"
#include "engine/token_trie.h"

namespace engine {

class TokenConstraint {
 public:
  // Requires: allowed.heads holds valid indexes, ascending; something is allowed; CheckSpellable
  // has nothing to say (asserted, the last one when it matters).
  TokenConstraint(const CatalogAutomaton& automaton, const TokenTrie& trie,
                  const AllowedAnswers& allowed);

  // The ids that may come next, ascending, never empty before Finished(). An end-of-generation id
  // is among them exactly where the answer may end. Valid until Accept.
  std::span<const TokenId> Allowed();
  // A number to add to the logit of each allowed id (same order), from the heads' priors: the
  // largest prior reachable after the id minus the largest reachable now. Words and asking back
  // have the prior 0. Empty: all zero.
  std::span<const float> Biases();

  // Requires: token is in Allowed() (asserted).
  void Accept(TokenId token);
  bool Finished() const { return finished_; }

  // The bytes accepted so far, without the end token.
  const std::string& text() const { return text_; }
  // Which answer the finished text is: the head's index, or kWords / kAsk.
  static constexpr int kWords = -1;
  static constexpr int kAsk = -2;
  // Requires: Finished().
  int answer_index() const;

 private:
  struct Choice {
    TokenId id{};
    float prior = 0;  // the largest one reachable after the id
  };
  // A node of the trie on the way down: what follows it, and where its subtree ends.
  struct Level {
    AnswerCut::State state;
    std::bitset<256> next_bytes;
    std::uint32_t subtree_end = 0;
  };
  void Fill();
  void FillFromText();
  void WalkTrie();

  const CatalogAutomaton* automaton_;
  const TokenTrie* trie_;
  AnswerCut cut_;
  AnswerCut::State state_;
  bool finished_ = false;
  std::string text_;

  bool filled_ = false;               // the members below belong to state_
  std::span<const TokenId> allowed_;  // allowed_ids_, or a list of the trie's
  std::vector<TokenId> allowed_ids_;
  std::vector<float> biases_;
  std::vector<Choice> choices_;
  std::vector<Level> levels_;
};

// Whether the vocabulary can spell every answer from every point that its tokens can reach.
// Returns: an empty string, or a sentence naming the byte that no token spells, and an answer that
// needs it.
std::string CheckSpellable(const CatalogAutomaton& automaton, const TokenTrie& trie);

}  // namespace engine
