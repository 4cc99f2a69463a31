// The model's weights after load: packed in panels, each kept once.
//
// Projections that take the same input (query, key, value; gate, up) are fused into one matrix
// where their formats agree. The rows of query and key are reordered so that rotation pairs are
// (i, i + rope_dims / 2) for every architecture. After Pack the file's bytes are not needed.
//
// Thread: packed by the team, read-only afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/model_config.h"
#include "kernels/matmul.h"
#include "kernels/numa_memory.h"
#include "kernels/parallel.h"

namespace engine {

// One to three matrices with the same input; their outputs lie side by side.
struct Projection {
  std::array<kernels::PackedMatrix, 3> parts;
  int part_count = 0;
  int rows = 0;  // of all parts
};

struct LayerWeights {
  std::vector<float> attention_norm;  // [width]
  std::vector<float> ffn_norm;        // [width]
  Projection query_key_value;
  Projection attention_output;
  Projection gate_up;
  Projection ffn_down;
};

class ModelWeights {
 public:
  // Packs all tensors. Returns: a sentence when the memory can't be had, or a number or scale is
  // not finite.
  [[nodiscard]] static std::expected<ModelWeights, std::string> Pack(
      const GgufFile& file, const ModelConfig& config, kernels::Team& team,
      const std::function<void(double)>& progress);

  const std::vector<LayerWeights>& layers() const { return layers_; }
  const std::vector<float>& output_norm() const { return output_norm_; }
  const kernels::PackedMatrix& embedding() const { return embedding_; }
  const Projection& head() const { return head_; }
  const std::vector<float>& rope_factors() const { return rope_factors_; }
  std::uint64_t bytes() const { return memory_.size(); }

 private:
  std::vector<LayerWeights> layers_;
  std::vector<float> output_norm_;
  std::vector<float> rope_factors_;
  kernels::PackedMatrix embedding_;
  Projection head_;  // the embedding again when tied
  kernels::NumaMemory memory_;
};

}  // namespace engine
