#include "engine/sampler.h"

#include <cassert>
#include <cmath>
#include <cstddef>
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
  float best_logit = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const float logit =
        logits[static_cast<std::size_t>(allowed[i])] + (biases.empty() ? 0.0f : biases[i]);
    assert(!std::isnan(logit));
    if (i > 0 && !(logit > best_logit)) continue;
    best = allowed[i];
    best_logit = logit;
  }
  return best;
}

}  // namespace engine
