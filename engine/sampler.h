// Which of the allowed tokens comes next.
#pragma once

#include <span>

#include "engine/token_id.h"

namespace engine {

// Takes the allowed token with the largest logit + bias; of equal ones the lowest id.
//
//   logits   [vocabulary] float32, by token id; NaN counts as less than any number
//   allowed  ids, ascending, at least one
//   biases   [allowed], or empty: all zero
TokenId Greedy(std::span<const float> logits, std::span<const TokenId> allowed,
               std::span<const float> biases);

}  // namespace engine
