#include "engine/sampler.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "engine/token_id.h"

namespace engine {

TokenId Greedy(std::span<const float> logits, std::span<const TokenId> allowed,
               std::span<const float> biases) {
  assert(!allowed.empty());
  assert(biases.empty() || biases.size() == allowed.size());
  assert(allowed.front() >= TokenId{0});
  assert(static_cast<std::size_t>(allowed.back()) < logits.size());
  TokenId best = allowed.front();
  float best_logit = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const float logit =
        logits[static_cast<std::size_t>(allowed[i])] + (biases.empty() ? 0.0f : biases[i]);
    // A broken weight must not bring the house down: what is NaN is passed over.
    if (std::isnan(logit) || logit <= best_logit) continue;
    best = allowed[i];
    best_logit = logit;
  }
  return best;
}

}  // namespace engine
