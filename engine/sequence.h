// One request inside the engine, from admission to completion.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cache/sequence_blocks.h"
#include "engine/detokenizer.h"
#include "engine/engine.h"
#include "engine/token_constraint.h"
#include "engine/token_id.h"

namespace engine {

struct Sequence {
  Request request;
  std::vector<TokenId> tokens;  // the history: prompt, then answer; append-only
  int prompt_tokens = 0;
  int stored_tokens = 0;  // the first ones, whose keys and values are in the blocks
  std::optional<cache::SequenceBlocks> blocks;
  std::vector<std::byte*> bases;  // of the blocks, in order
  std::optional<TokenConstraint> constraint;
  std::size_t reported_bytes = 0;  // of the answer's words, already given out as deltas
  bool cancelled = false;
  std::uint64_t rows_at_start = 0;
  Completion completion;
};

}  // namespace engine
