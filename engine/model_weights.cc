#include "engine/model_weights.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

namespace engine {
namespace {

kernels::WeightFormat FormatOf(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return kernels::WeightFormat::kF32;
    case TensorType::kF16:
      return kernels::WeightFormat::kF16;
    case TensorType::kBF16:
      return kernels::WeightFormat::kBF16;
    case TensorType::kQ8_0:
      return kernels::WeightFormat::kQ8_0;
    case TensorType::kQ4_0:
      return kernels::WeightFormat::kQ4_0;
    case TensorType::kQ4_1:
      return kernels::WeightFormat::kQ4_1;
  }
  assert(false);
  return kernels::WeightFormat::kF32;
}

// A matrix to be packed: where its rows are in the file, where the result is noted.
struct Plan {
  kernels::PackedMatrix* target = nullptr;
  std::vector<const std::byte*> rows;  // padded with null to whole panels
};

// Where stored row `row` of a rotated matrix belongs: the file pairs dimensions (2i, 2i + 1) of a
// head, the kernels pair (i, i + rope_dims / 2).
int RotatedRow(const ModelConfig& config, int row) {
  const int inside = row % config.head_dim;
  if (inside >= config.rope_dims) return row;
  return row - inside + inside / 2 + (inside % 2) * (config.rope_dims / 2);
}

class Planner {
 public:
  Planner(const GgufFile& file, const ModelConfig& config) : file_(file), config_(config) {}

  struct Source {
    std::string name;
    bool rotated = false;
  };

  // Fuses the sources into one part where their formats agree.
  void Add(Projection& projection, const std::vector<Source>& sources) {
    projection = Projection{};
    for (const Source& source : sources) {
      const TensorInfo* tensor = file_.FindTensor(source.name);
      assert(tensor != nullptr);
      const kernels::WeightFormat format = FormatOf(tensor->type);
      const int columns = static_cast<int>(tensor->dims[0]);
      const int rows = static_cast<int>(tensor->dims[1]);
      const bool fuses =
          projection.part_count > 0 &&
          projection.parts[static_cast<std::size_t>(projection.part_count - 1)].format == format;
      if (!fuses) ++projection.part_count;
      auto& part = projection.parts[static_cast<std::size_t>(projection.part_count - 1)];
      if (!fuses) {
        part = {format, 0, columns, nullptr};
        plans_.push_back({&part, {}});
      }
      AppendRows(*tensor, source.rotated, rows, kernels::StoredRowBytes(format, columns));
      part.rows += rows;
      projection.rows += rows;
    }
  }

  std::vector<Plan>& plans() { return plans_; }

 private:
  void AppendRows(const TensorInfo& tensor, bool rotated, int rows, std::size_t row_bytes) {
    auto& pointers = plans_.back().rows;
    const std::size_t first = pointers.size();
    pointers.resize(first + static_cast<std::size_t>(rows));
    for (int row = 0; row < rows; ++row) {
      const int place = rotated ? RotatedRow(config_, row) : row;
      pointers[first + static_cast<std::size_t>(place)] =
          tensor.content.data() + static_cast<std::size_t>(row) * row_bytes;
    }
  }

  const GgufFile& file_;
  const ModelConfig& config_;
  std::vector<Plan> plans_;
};

std::vector<float> FloatTensor(const GgufFile& file, const std::string& name) {
  const TensorInfo* tensor = file.FindTensor(name);
  if (tensor == nullptr) return {};
  assert(tensor->type == TensorType::kF32);
  std::vector<float> values(tensor->content.size() / sizeof(float));
  std::memcpy(values.data(), tensor->content.data(), values.size() * sizeof(float));
  return values;
}

std::size_t MatrixBytes(const kernels::PackedMatrix& matrix) {
  return static_cast<std::size_t>(kernels::PanelCount(matrix.rows)) *
         kernels::PanelBytes(matrix.format, matrix.columns);
}

void PackAll(std::vector<Plan>& plans, std::byte* base, kernels::Team& team,
             const std::function<void(double)>& progress) {
  std::size_t done = 0;
  for (Plan& plan : plans) {
    kernels::PackedMatrix& matrix = *plan.target;
    const int panels = kernels::PanelCount(matrix.rows);
    const std::size_t panel_bytes = kernels::PanelBytes(matrix.format, matrix.columns);
    plan.rows.resize(static_cast<std::size_t>(panels) * kernels::kPanelRows, nullptr);
    matrix.panels = base;
    kernels::PrepareMatmul(matrix, team.worker_count());
    team.Run([&](kernels::Worker& worker) {
      const kernels::Range share = worker.Share(panels);
      for (int panel = share.begin; panel < share.end; ++panel) {
        kernels::PackPanel(matrix.format,
                           &plan.rows[static_cast<std::size_t>(panel) * kernels::kPanelRows],
                           matrix.columns, base + static_cast<std::size_t>(panel) * panel_bytes);
      }
    });
    base += static_cast<std::size_t>(panels) * panel_bytes;
    progress(static_cast<double>(++done) / static_cast<double>(plans.size()));
  }
}

}  // namespace

std::expected<ModelWeights, std::string> ModelWeights::Pack(
    const GgufFile& file, const ModelConfig& config, kernels::Team& team,
    const std::function<void(double)>& progress) {
  for (const TensorInfo& tensor : file.tensors()) {
    const auto finite = CheckFinite(file, tensor);
    if (!finite) return std::unexpected(finite.error());
  }
  ModelWeights weights;
  weights.layers_.resize(static_cast<std::size_t>(config.layer_count));
  weights.output_norm_ = FloatTensor(file, "output_norm.weight");
  weights.rope_factors_ = FloatTensor(file, "rope_freqs.weight");

  Planner planner(file, config);
  Projection embedding;
  planner.Add(embedding, {{"token_embd.weight"}});
  if (!config.tied_output) planner.Add(weights.head_, {{"output.weight"}});
  for (int i = 0; i < config.layer_count; ++i) {
    LayerWeights& layer = weights.layers_[static_cast<std::size_t>(i)];
    const std::string prefix = "blk." + std::to_string(i) + ".";
    layer.attention_norm = FloatTensor(file, prefix + "attn_norm.weight");
    layer.ffn_norm = FloatTensor(file, prefix + "ffn_norm.weight");
    planner.Add(layer.query_key_value, {{prefix + "attn_q.weight", true},
                                        {prefix + "attn_k.weight", true},
                                        {prefix + "attn_v.weight"}});
    planner.Add(layer.attention_output, {{prefix + "attn_output.weight"}});
    planner.Add(layer.gate_up, {{prefix + "ffn_gate.weight"}, {prefix + "ffn_up.weight"}});
    planner.Add(layer.ffn_down, {{prefix + "ffn_down.weight"}});
  }

  std::size_t bytes = 0;
  for (const Plan& plan : planner.plans()) bytes += MatrixBytes(*plan.target);
  auto memory = kernels::NumaMemory::Allocate(bytes, -1);
  if (!memory) {
    return std::unexpected("no memory for the weights of " + file.name() + ": " + memory.error());
  }
  weights.memory_ = std::move(*memory);
  PackAll(planner.plans(), weights.memory_.bytes(), team, progress);
  weights.embedding_ = embedding.parts[0];
  if (config.tied_output) weights.head_ = embedding;
  return weights;
}

}  // namespace engine
