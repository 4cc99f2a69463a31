// Which tokens may come next, so that an answer is always a valid one.
//
// The catalog is a byte automaton (engine/catalog_automaton.h); the model's vocabulary is a byte
// trie (TokenTrie, once per model). At a state the allowed token ids come from walking both
// together. One request sees only the heads that its words allow.
//
// Thread: the engine thread. Ownership: the automaton and the trie outlive the constraint.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/catalog_automaton.h"
#include "engine/token_id.h"
#include "engine/token_trie.h"

namespace engine {

class TokenConstraint {
 public:
  // Requires: allowed.heads holds valid indexes; something is allowed (asserted).
  TokenConstraint(const CatalogAutomaton& automaton, const TokenTrie& trie,
                  const AllowedAnswers& allowed);

  // The ids that may come next, ascending, never empty before Finished(). An end-of-generation id
  // is among them exactly where the answer may end. Valid until Accept.
  std::span<const TokenId> Allowed();
  // A number to add to the logit of each allowed id (same order), from the heads' priors: the
  // largest prior reachable after the id minus the largest reachable now. Empty: all zero.
  std::span<const float> Biases();

  // Requires: token is in Allowed() (asserted).
  void Accept(TokenId token);
  bool Finished() const;

  // The bytes accepted so far, without the end token.
  const std::string& text() const;
  // Which answer the finished text is: the head's index, or kWords / kAsk.
  static constexpr int kWords = -1;
  static constexpr int kAsk = -2;
  int answer_index() const;
};

}  // namespace engine
