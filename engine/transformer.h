// One forward step: rows of tokens and their KV blocks → keys and values stored, logits.
//
// The value of a row depends on its sequence's tokens up to itself and on nothing else: not on the
// other rows of the step, on how a prompt was cut into steps, or on the number of workers.
//
// Thread: the engine thread calls; the team works inside. A step allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>

#include "cache/kv_layout.h"
#include "engine/model_config.h"
#include "engine/model_weights.h"
#include "engine/token_id.h"
#include "kernels/parallel.h"

namespace engine {

// Consecutive tokens of one sequence.
struct StepSlice {
  std::span<const TokenId> tokens;     // not empty
  int first_position = 0;              // of tokens[0]
  std::span<std::byte* const> blocks;  // bases, for all positions up to the last token
  enum class Logits { kNone, kLast, kAll } logits = Logits::kLast;
};

class Transformer {
 public:
  struct Limits {
    int step_rows_max = 64;
    int logit_rows_max = 1;
    int context_tokens_max = 0;
  };
  // Returns: a sentence when the memory can't be had.
  [[nodiscard]] static std::expected<std::unique_ptr<Transformer>, std::string> Create(
      const ModelConfig& config, const ModelWeights& weights, const Limits& limits,
      kernels::Team& team);
  ~Transformer();

  // Requires: at most step_rows_max rows and logit_rows_max logit rows in all (asserted).
  void Step(std::span<const StepSlice> slices);

  // Logits of the step's i-th row that asked for them, [vocab_count]. Valid until the next Step.
  std::span<const float> Logits(int index) const;
  int logit_row_count() const;
  // Rows that ever entered a step: the truth behind every "prefilled" count.
  std::uint64_t rows_computed() const;
  const cache::KvLayout& kv_layout() const;
  const Limits& limits() const;

 private:
  struct Parts;
  explicit Transformer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace engine
