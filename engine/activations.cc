#include "engine/activations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace engine {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

// Hands out aligned parts; with a null base it only adds up their sizes.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  std::byte* Bytes(std::size_t bytes) {
    std::byte* part = base_ == nullptr ? nullptr : base_ + used_;
    used_ += Aligned(bytes);
    return part;
  }
  float* Floats(std::size_t count) {
    return reinterpret_cast<float*>(Bytes(count * sizeof(float)));
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace

std::expected<Activations, std::string> Activations::Allocate(const ModelConfig& config,
                                                              int step_rows_max, int logit_rows_max,
                                                              int context_tokens_max) {
  const auto rows = static_cast<std::size_t>(step_rows_max);
  const auto width = static_cast<std::size_t>(config.width);
  const auto ffn = static_cast<std::size_t>(config.ffn_width);
  const auto query = static_cast<std::size_t>(config.head_count * config.head_dim);
  const auto key_value = static_cast<std::size_t>(2 * config.kv_head_count * config.head_dim);
  const auto context = static_cast<std::size_t>(context_tokens_max);
  const auto pairs = static_cast<std::size_t>(config.rope_dims / 2);
  const int widest =
      std::max({config.width, config.ffn_width, config.head_count * config.head_dim});
  const kernels::AttentionShape shape{config.head_count, config.kv_head_count, config.head_dim,
                                      config.attention_scale};
  Activations result;
  const auto carve = [&](std::byte* base) {
    Carver carver(base);
    result.residual = carver.Floats(rows * width);
    result.normed = carver.Floats(rows * width);
    result.projected = carver.Floats(rows * width);
    result.query_key_value = carver.Floats(rows * (query + key_value));
    result.attention = carver.Floats(rows * query);
    result.gate_up = carver.Floats(rows * 2 * ffn);
    result.hidden = carver.Floats(rows * ffn);
    // Each slice of a step has its own part, rounded up: no more than that of single rows.
    result.attention_scratch =
        carver.Floats(rows * kernels::AttentionScratchFloats(shape, 1, context_tokens_max));
    result.cosines = carver.Floats(context * pairs);
    result.sines = carver.Floats(context * pairs);
    result.logits = carver.Floats(static_cast<std::size_t>(logit_rows_max) *
                                  static_cast<std::size_t>(config.vocab_count));
    result.quantized = carver.Bytes(kernels::QuantizedRowsBytes(step_rows_max, widest));
    return carver.used();
  };
  auto memory = kernels::NumaMemory::Allocate(carve(nullptr), -1);
  if (!memory) return std::unexpected(memory.error());
  result.memory = std::move(*memory);
  result.memory.Touch();
  carve(result.memory.bytes());
  return result;
}

kernels::ActivationRows Activations::Rows(float* floats, int row_count, int columns) const {
  const std::size_t blocks = static_cast<std::size_t>(columns / kernels::kQuantBlock) *
                             static_cast<std::size_t>(row_count);
  Carver carver(quantized);
  kernels::ActivationRows rows;
  rows.values = reinterpret_cast<std::int8_t*>(carver.Bytes(blocks * kernels::kQuantBlock));
  rows.scales = carver.Floats(blocks);
  rows.sums = reinterpret_cast<std::int32_t*>(carver.Bytes(blocks * sizeof(std::int32_t)));
  rows.floats = floats;
  rows.row_count = row_count;
  rows.columns = columns;
  return rows;
}

}  // namespace engine
