#include "tests/support/tiny_model.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace support {
namespace {

using engine::TensorType;

class Filler {
 public:
  Filler(GgufWriter& writer, std::uint64_t seed) : writer_(writer), random_(seed) {}

  void Norm(const std::string& name, int length) {
    writer_.AddTensor(name, TensorType::kF32, {static_cast<std::uint64_t>(length)},
                      Floats(length, 1.0F, 0.1F));
  }

  struct Shape {
    int columns = 0;
    int rows = 0;
  };
  void Matrix(const std::string& name, TensorType type, Shape shape, float deviation) {
    const int count = shape.columns * shape.rows;
    writer_.AddTensor(
        name, type,
        {static_cast<std::uint64_t>(shape.columns), static_cast<std::uint64_t>(shape.rows)},
        type == TensorType::kF32 ? Floats(count, 0.0F, deviation) : Blocks(type, count));
  }

 private:
  std::vector<std::byte> Floats(int count, float mean, float deviation) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(float));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      // A sum of uniform numbers, because normal_distribution differs between libraries.
      float value = 0;
      for (int j = 0; j < 12; ++j) value += static_cast<float>(random_() >> 11) * 0x1p-53F - 0.5F;
      value = mean + deviation * value;
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return bytes;
  }

  // Random quants with a constant scale; F16 and BF16 between 1/64 and 1/32 with random signs.
  std::vector<std::byte> Blocks(TensorType type, int count) {
    const auto block_bytes = static_cast<std::size_t>(engine::BlockBytes(type));
    const std::size_t blocks =
        static_cast<std::size_t>(count) / static_cast<std::size_t>(engine::BlockElements(type));
    std::vector<std::byte> bytes(blocks * block_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_() >> 56);
    for (std::size_t i = 0; i < blocks; ++i) SetScales(type, bytes.data() + i * block_bytes);
    return bytes;
  }

  static void SetScales(TensorType type, std::byte* block) {
    const auto set = [&](std::size_t index, std::uint16_t bits) {
      std::memcpy(block + 2 * index, &bits, sizeof bits);
    };
    std::uint16_t bits = 0;
    std::memcpy(&bits, block, sizeof bits);
    switch (type) {
      case TensorType::kF16:
        set(0, static_cast<std::uint16_t>((bits & 0x83FFu) | 0x2400u));
        break;
      case TensorType::kBF16:
        set(0, static_cast<std::uint16_t>((bits & 0x807Fu) | 0x3C80u));
        break;
      case TensorType::kQ8_0:
        set(0, 0x1000);  // 2^-11
        break;
      case TensorType::kQ4_0:
        set(0, 0x2000);  // 2^-7
        break;
      case TensorType::kQ4_1:
        set(0, 0x2000);
        set(1, 0xAC00);  // -2^-4: quants 0 to 15 become about -1/16 to 1/16
        break;
      case TensorType::kF32:
        break;
    }
  }

  GgufWriter& writer_;
  std::mt19937_64 random_;
};

void SetHyperparameters(GgufWriter& writer, const TinyModelOptions& options) {
  const auto set = [&](const std::string& key, int value) {
    writer.Set("llama." + key, static_cast<std::uint32_t>(value));
  };
  writer.Set("general.architecture", "llama");
  writer.Set("general.name", "tiny");
  set("block_count", options.layer_count);
  set("context_length", options.context_tokens_max);
  set("embedding_length", options.width);
  set("feed_forward_length", options.ffn_width);
  set("attention.head_count", options.head_count);
  set("attention.head_count_kv", options.kv_head_count);
  set("attention.key_length", options.head_dim);
  set("attention.value_length", options.head_dim);
  set("rope.dimension_count", options.head_dim);
  set("vocab_size", options.vocab_count);
  writer.Set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.Set("llama.rope.freq_base", 10'000.0F);
}

}  // namespace

GgufWriter TinyModel(const TinyModelOptions& options) {
  GgufWriter writer;
  SetHyperparameters(writer, options);
  Filler fill(writer, options.seed);
  const TensorType type = options.matrix_type;
  const int query_width = options.head_count * options.head_dim;
  const int key_width = options.kv_head_count * options.head_dim;
  fill.Matrix("token_embd.weight", type, {options.width, options.vocab_count}, 0.5F);
  fill.Norm("output_norm.weight", options.width);
  if (!options.tied_output) {
    fill.Matrix("output.weight", type, {options.width, options.vocab_count}, 0.5F);
  }
  for (int i = 0; i < options.layer_count; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    fill.Norm(layer + "attn_norm.weight", options.width);
    fill.Matrix(layer + "attn_q.weight", type, {options.width, query_width}, 0.08F);
    fill.Matrix(layer + "attn_k.weight", type, {options.width, key_width}, 0.08F);
    fill.Matrix(layer + "attn_v.weight", type, {options.width, key_width}, 0.08F);
    fill.Matrix(layer + "attn_output.weight", type, {query_width, options.width}, 0.08F);
    fill.Norm(layer + "ffn_norm.weight", options.width);
    fill.Matrix(layer + "ffn_gate.weight", type, {options.width, options.ffn_width}, 0.08F);
    fill.Matrix(layer + "ffn_up.weight", type, {options.width, options.ffn_width}, 0.08F);
    fill.Matrix(layer + "ffn_down.weight", type, {options.ffn_width, options.width}, 0.08F);
  }
  return writer;
}

}  // namespace support
