// A llama of a few kilobytes with random weights, as a GGUF writer: for tests that need a valid
// model, or one that is wrong in one place.
#pragma once

#include <cstdint>

#include "engine/gguf_value.h"
#include "tests/support/gguf_writer.h"

namespace support {

struct TinyModelOptions {
  int layer_count = 1;
  int width = 32;
  int head_count = 2;
  int kv_head_count = 1;
  int head_dim = 16;
  int ffn_width = 32;
  int vocab_count = 8;
  int context_tokens_max = 64;
  engine::TensorType matrix_type = engine::TensorType::kF32;
  bool tied_output = true;
  std::uint64_t seed = 1;
};

// Has no tokenizer: the caller sets its keys where a test needs them. Norm weights lie near 1,
// matrices are small enough that logits stay moderate.
[[nodiscard]] GgufWriter TinyModel(const TinyModelOptions& options = {});

}  // namespace support
