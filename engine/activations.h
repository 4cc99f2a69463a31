// Scratch memory of a step, for the largest step, allocated once.
#pragma once

#include <expected>
#include <string>

#include "engine/model_config.h"
#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/numa_memory.h"

namespace engine {

struct Activations {
  float* residual = nullptr;         // [rows][width]
  float* normed = nullptr;           // [rows][width]
  float* projected = nullptr;        // [rows][width], what a layer half adds to the residual
  float* query_key_value = nullptr;  // [rows][(heads + 2 * kv_heads) * head_dim]
  float* attention = nullptr;        // [rows][heads * head_dim]
  float* gate_up = nullptr;          // [rows][2 * ffn_width]
  float* hidden = nullptr;           // [rows][ffn_width]
  float* attention_scratch = nullptr;
  float* cosines = nullptr;  // [context_tokens_max][rope_dims / 2]
  float* sines = nullptr;
  float* logits = nullptr;         // [logit_rows_max][vocab_count]
  std::byte* quantized = nullptr;  // of the widest input, step_rows_max rows
  kernels::NumaMemory memory;

  // Returns: a sentence when the memory can't be had.
  [[nodiscard]] static std::expected<Activations, std::string> Allocate(const ModelConfig& config,
                                                                        int step_rows_max,
                                                                        int logit_rows_max,
                                                                        int context_tokens_max);

  // The quantized form laid out for this many rows, beside the float form at `floats`.
  kernels::ActivationRows Rows(float* floats, int row_count, int columns) const;
};

}  // namespace engine
