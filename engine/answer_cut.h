// The answers that one request allows, as a byte automaton: a narrowed view of the catalog.
//
// A state is a run of the allowed entries that begin with the bytes so far, or a number after a
// head, or free text after the words' lead. Every state can still reach a whole answer: entries
// that are not allowed are not in the list, a number is only followed while a value in bounds
// begins with it, and text never begins a character that its limit can't hold.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/catalog_automaton.h"
#include "engine/text_automaton.h"

namespace engine {

// Thread: one. Ownership: the automaton outlives it. Cost: one pass over the catalog to make.
class AnswerCut {
 public:
  // Requires: allowed.heads are valid, ascending; priors are none or as many (asserted).
  AnswerCut(const CatalogAutomaton& automaton, const AllowedAnswers& allowed);

  struct State {
    // The run [first, last) of positions in the cut whose text has these `depth` bytes.
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t depth = 0;
    // The head whose value is being written, and what is there of it.
    bool in_value = false;
    bool negative = false;
    std::uint8_t digit_count = 0;
    std::uint32_t valued = 0;  // position in the cut
    std::int64_t magnitude = 0;
    // A sentence in words.
    TextState text = TextState::kDead;
    std::int32_t text_bytes_left = 0;
  };
  State Start() const;
  // Returns: the state after one more byte, dead when no answer goes on with it.
  State Step(const State& state, std::uint8_t byte) const;
  static bool IsDead(const State& state);
  // Whether the bytes so far are a whole answer.
  bool MayEnd(const State& state) const;
  // The entry of that answer. Requires: MayEnd(state).
  std::uint32_t EntryAtEnd(const State& state) const;

  // The bytes that may come next, and for free text perhaps some that may not.
  std::bitset<256> NextBytes(const State& state) const;

  bool has_priors() const { return !priors_.empty(); }
  // The largest prior among the answers that can still come; 0 for words and asking back.
  float PriorAfter(const State& state) const;
  // The same if the answer ends here. Requires: MayEnd(state).
  float PriorAtEnd(const State& state) const;

 private:
  const CallHead& HeadAt(std::uint32_t position) const;
  bool TakesValue(std::uint32_t position) const;
  bool IsWords(std::uint32_t position) const;
  std::size_t SizeAt(std::uint32_t position) const;
  int ByteAt(std::uint32_t position, std::uint32_t depth) const;
  State StepText(const State& state, std::uint8_t byte) const;
  void StepHeads(const State& state, std::uint8_t byte, State& next) const;
  void StepValue(const State& state, std::uint8_t byte, State& next) const;
  std::uint32_t PositionAtEnd(const State& state) const;

  const CatalogAutomaton* automaton_;
  std::vector<std::uint32_t> entries_;  // the allowed ones, in the order of their bytes
  std::vector<float> priors_;           // as entries_, or empty
};

}  // namespace engine
