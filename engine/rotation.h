// How fast each pair of dimensions turns: RoPE frequencies with their scaling.
//
// Computed with this file's own logarithm and exponential (only + - * /), so that the tables have
// the same bits on every machine and C library.
// Source: reference formulas of RoPE, linear scaling, Llama 3 factors and YaRN.
#pragma once

#include <span>
#include <vector>

#include "engine/model_config.h"

namespace engine {

struct Rotation {
  std::vector<double> frequencies;  // [rope_dims / 2] radians per position
  float magnitude = 1.0F;           // multiplies cosine and sine
};

// factors: the tensor rope_freqs.weight ([rope_dims / 2], divides the frequencies), or empty.
Rotation RotationOf(const ModelConfig& config, std::span<const float> factors);

}  // namespace engine
