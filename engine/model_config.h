// The hyperparameters of a model, read from its metadata and checked.
//
// After From every number is inside the limits below, and every tensor that the transformer needs
// is in the file with the right shape. One architecture so far: llama (SmolLM2, Llama 3.x and their
// kin). A model that would need more (biases, experts, fused projections, another RoPE scaling) is
// refused by name, never run wrong.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf_file.h"

namespace engine {

inline constexpr int kWidthMax = 65'536;  // width, ffn_width, heads * head_dim; multiples of 32
inline constexpr int kWidthMultiple = 32;
inline constexpr int kLayerCountMax = 1'024;
inline constexpr int kHeadCountMax = 1'024;
inline constexpr int kHeadDimMax = 256;
inline constexpr int kHeadDimMultiple = 16;
inline constexpr int kVocabCountMax = 1 << 20;
inline constexpr int kContextTokensMax = 1 << 24;

struct ModelConfig {
  std::string architecture;
  std::string name;     // general.name; empty when absent
  int vocab_count = 0;  // rows of the embedding; may exceed the tokenizer's tokens (padding)
  int width = 0;
  int layer_count = 0;
  int head_count = 0;
  int kv_head_count = 0;  // divides head_count
  int head_dim = 0;
  int ffn_width = 0;
  int context_tokens_max = 0;
  int rope_dims = 0;  // even, <= head_dim
  float rope_base = 0;
  enum class RopeScaling : std::uint8_t { kNone, kLinear, kYarn } rope_scaling = RopeScaling::kNone;
  float rope_factor = 1;          // of kLinear and kYarn
  int rope_original_context = 0;  // of kYarn
  // Multiplies cosines and sines, before YaRN's own 1 + 0.1 ln(factor).
  float rope_attention_factor = 1;
  float rms_epsilon = 0;
  float attention_scale = 0;  // multiplies query-key products
  bool tied_output = false;   // the embedding serves as output matrix

  // Llama 3's RoPE factors are no number but the tensor rope_freqs.weight [rope_dims / 2], F32.
  // Returns: a sentence naming file, key or tensor, what was found and what was expected.
  [[nodiscard]] static std::expected<ModelConfig, std::string> From(const GgufFile& file);
};

// Tensors in the file that the transformer does not read, in the file's order. Harmless, but worth
// a line in the log.
[[nodiscard]] std::vector<std::string_view> UnusedTensors(const GgufFile& file,
                                                          const ModelConfig& config);

}  // namespace engine
