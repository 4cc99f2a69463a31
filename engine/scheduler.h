// Which rows run in the next step: admit, prefill the suffix, decode.
//
// Requests are served in the order they came, one at a time; a prompt is prefilled in chunks of at
// most the transformer's step rows, so that the caller stays responsive. Tokens that the answer
// language forces cost no step of their own: they run with the next undecided token.
//
// Thread: the engine thread. Owns the waiting and the running sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/kv_cache.h"
#include "engine/engine.h"
#include "engine/sequence.h"
#include "engine/token_trie.h"
#include "engine/transformer.h"

namespace engine {

class Scheduler {
 public:
  struct Limits {
    int queue_length_max = 16;
    int answer_tokens_max = 64;
  };
  Scheduler(Transformer& transformer, cache::KvCache& cache, const TokenTrie& trie,
            const Limits& limits);

  // What answers may be from now on. Requires: Idle().
  void SetLanguage(const CatalogAutomaton* automaton, std::string prefix_version);

  // prompt: prefix and request tokens.
  [[nodiscard]] std::expected<void, Rejection> Submit(Request request, std::vector<TokenId> prompt);
  bool Cancel(std::uint64_t id);
  bool Idle() const { return queue_.empty(); }
  int queue_length() const { return static_cast<int>(queue_.size()); }

  // One prefill chunk or one decision of the sequence in turn.
  StepOutput Step(Clock::time_point now);

 private:
  bool Admit(Sequence& sequence, Clock::time_point now);
  // Runs the next tokens whose keys and values are missing. Returns: whether logits are ready.
  bool RunPending(Sequence& sequence);
  void Decide(Sequence& sequence, StepOutput& output);
  void Append(Sequence& sequence, TokenId token, bool forced);
  void ReportWords(Sequence& sequence, StepOutput& output) const;
  void Finish(std::size_t index, FinishReason finish, StepOutput& output);

  Transformer& transformer_;
  cache::KvCache& cache_;
  const TokenTrie& trie_;
  Limits limits_;
  const CatalogAutomaton* automaton_ = nullptr;
  std::string prefix_version_;
  std::deque<std::unique_ptr<Sequence>> queue_;  // the first one runs
};

// Computes keys and values of all tokens that a reservation lacks, without logits.
void Prefill(Transformer& transformer, std::span<const TokenId> tokens, int stored_tokens,
             std::span<std::byte* const> bases, const Progress& progress);

}  // namespace engine
