#include "engine/transformer.h"

#include <cassert>
#include <utility>
#include <vector>

#include "engine/activations.h"
#include "engine/rotation.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/matmul.h"

namespace engine {
namespace {

using kernels::ActivationRows;
using kernels::Worker;

bool TakesQuantized(const Projection& projection) {
  for (int i = 0; i < projection.part_count; ++i) {
    if (kernels::TakesQuantizedRows(projection.parts[static_cast<std::size_t>(i)].format)) {
      return true;
    }
  }
  return false;
}

void Project(const Projection& projection, const ActivationRows& x, float* y, std::size_t stride,
             const Worker& worker) {
  for (int i = 0; i < projection.part_count; ++i) {
    const kernels::PackedMatrix& part = projection.parts[static_cast<std::size_t>(i)];
    kernels::Matmul(part, x, y, stride, worker);
    y += part.rows;
  }
}

// One row of the step: its token and where it stands.
struct Row {
  TokenId token{};
  int position = 0;
  int slice = 0;
};

}  // namespace

struct Transformer::Parts {
  ModelConfig config;
  const ModelWeights* weights = nullptr;
  kernels::Team* team = nullptr;
  Limits limits;
  cache::KvLayout layout;
  kernels::AttentionShape shape;
  Activations activations;
  std::vector<Row> rows;        // of the current step
  std::vector<int> logit_rows;  // indexes into rows
  std::span<const StepSlice> slices;
  std::uint64_t rows_computed = 0;

  std::size_t query_width() const {
    return static_cast<std::size_t>(config.head_count * config.head_dim);
  }
  std::size_t key_width() const {
    return static_cast<std::size_t>(config.kv_head_count * config.head_dim);
  }
  float* RowOf(float* base, int row, std::size_t width) const {
    return base + static_cast<std::size_t>(row) * width;
  }
  int row_count() const { return static_cast<int>(rows.size()); }

  void Gather(std::span<const StepSlice> step_slices);
  void Run(Worker& worker);
  void Embed(const Worker& worker);
  void NormRows(const std::vector<float>& weight, const float* added, bool quantize,
                ActivationRows& x, const Worker& worker);
  void StoreAndRotate(int layer, const Worker& worker);
  void Attend(int layer, Worker& worker);
  void FeedForward(const LayerWeights& layer, ActivationRows& normed, Worker& worker);
  void Head(Worker& worker);
};

// Lists the step's rows; the only work outside the team.
void Transformer::Parts::Gather(std::span<const StepSlice> step_slices) {
  slices = step_slices;
  rows.clear();
  logit_rows.clear();
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const StepSlice& slice = slices[s];
    assert(!slice.tokens.empty());
    const int count = static_cast<int>(slice.tokens.size());
    assert(slice.first_position + count <= limits.context_tokens_max);
    assert(static_cast<int>(slice.blocks.size()) >= cache::BlocksFor(slice.first_position + count));
    for (int i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      if (slice.logits == StepSlice::Logits::kAll ||
          (last && slice.logits == StepSlice::Logits::kLast)) {
        logit_rows.push_back(row_count());
      }
      rows.push_back({slice.tokens[static_cast<std::size_t>(i)], slice.first_position + i,
                      static_cast<int>(s)});
    }
  }
  assert(row_count() <= limits.step_rows_max);
  assert(static_cast<int>(logit_rows.size()) <= limits.logit_rows_max);
}

void Transformer::Parts::Embed(const Worker& worker) {
  const kernels::Range share = worker.Share(row_count());
  for (int row = share.begin; row < share.end; ++row) {
    const int token = static_cast<int>(rows[static_cast<std::size_t>(row)].token);
    assert(token >= 0 && token < config.vocab_count);
    kernels::UnpackRow(weights->embedding(), token,
                       RowOf(activations.residual, row, static_cast<std::size_t>(config.width)));
  }
}

// residual += added (when given); normed = norm(residual), also quantized when asked.
void Transformer::Parts::NormRows(const std::vector<float>& weight, const float* added,
                                  bool quantize, ActivationRows& x, const Worker& worker) {
  const auto width = static_cast<std::size_t>(config.width);
  const kernels::Range share = worker.Share(row_count());
  for (int row = share.begin; row < share.end; ++row) {
    float* residual = RowOf(activations.residual, row, width);
    if (added != nullptr) {
      kernels::AddInPlace(added + static_cast<std::size_t>(row) * width, config.width, residual);
    }
    float* normed = RowOf(activations.normed, row, width);
    kernels::RmsNorm(residual, weight.data(), config.rms_epsilon, config.width, normed);
    if (quantize) kernels::QuantizeRow(normed, row, x);
  }
}

// Rotates the rows' queries and keys in place and writes keys and values to their blocks.
void Transformer::Parts::StoreAndRotate(int layer, const Worker& worker) {
  const std::size_t stride = query_width() + 2 * key_width();
  const auto head_dim = static_cast<std::size_t>(config.head_dim);
  const auto pairs = static_cast<std::size_t>(config.rope_dims / 2);
  const int group = config.head_count / config.kv_head_count;
  const kernels::Range share = worker.Share(row_count() * config.kv_head_count);
  for (int item = share.begin; item < share.end; ++item) {
    const Row& row = rows[static_cast<std::size_t>(item / config.kv_head_count)];
    const int kv_head = item % config.kv_head_count;
    float* values = RowOf(activations.query_key_value, item / config.kv_head_count, stride);
    const float* cosines = activations.cosines + static_cast<std::size_t>(row.position) * pairs;
    const float* sines = activations.sines + static_cast<std::size_t>(row.position) * pairs;
    for (int g = 0; g < group; ++g) {
      const auto head = static_cast<std::size_t>(kv_head * group + g);
      kernels::RotateHead(cosines, sines, config.rope_dims, values + head * head_dim);
    }
    float* key = values + query_width() + static_cast<std::size_t>(kv_head) * head_dim;
    kernels::RotateHead(cosines, sines, config.rope_dims, key);
    const StepSlice& slice = slices[static_cast<std::size_t>(row.slice)];
    const int block = row.position / cache::KvLayout::kBlockTokens;
    std::byte* base = slice.blocks[static_cast<std::size_t>(block)];
    kernels::StoreKeyValue(key, key + key_width(), config.head_dim,
                           base + layout.HeadOffset(layer, kv_head),
                           row.position % cache::KvLayout::kBlockTokens);
  }
}

void Transformer::Parts::Attend(int layer, Worker& worker) {
  const std::size_t stride = query_width() + 2 * key_width();
  const auto each_slice = [&](auto&& phase) {
    float* scratch = activations.attention_scratch;
    int first_row = 0;
    for (const StepSlice& slice : slices) {
      const int count = static_cast<int>(slice.tokens.size());
      kernels::AttentionInput input;
      input.blocks = slice.blocks.data();
      input.layer_offset = layout.HeadOffset(layer, 0);
      input.head_stride = layout.head_bytes();
      input.first_position = slice.first_position;
      input.row_count = count;
      input.queries = RowOf(activations.query_key_value, first_row, stride);
      input.query_stride = stride;
      phase(input, scratch, first_row);
      scratch += kernels::AttentionScratchFloats(shape, count, slice.first_position + count);
      first_row += count;
    }
  };
  each_slice([&](const kernels::AttentionInput& input, float* scratch, int) {
    kernels::AttentionPartials(shape, input, scratch, worker);
  });
  worker.Barrier();
  each_slice([&](const kernels::AttentionInput& input, float* scratch, int first_row) {
    kernels::AttentionMerge(shape, input, scratch,
                            RowOf(activations.attention, first_row, query_width()), query_width(),
                            worker);
  });
  worker.Barrier();
}

void Transformer::Parts::FeedForward(const LayerWeights& layer, ActivationRows& normed,
                                     Worker& worker) {
  const auto ffn = static_cast<std::size_t>(config.ffn_width);
  Project(layer.gate_up, normed, activations.gate_up, 2 * ffn, worker);
  worker.Barrier();
  ActivationRows hidden = activations.Rows(activations.hidden, row_count(), config.ffn_width);
  const bool quantize = TakesQuantized(layer.ffn_down);
  const kernels::Range share = worker.Share(row_count());
  for (int row = share.begin; row < share.end; ++row) {
    const float* gate = RowOf(activations.gate_up, row, 2 * ffn);
    float* out = RowOf(activations.hidden, row, ffn);
    kernels::SwiGlu(gate, gate + ffn, config.ffn_width, out);
    if (quantize) kernels::QuantizeRow(out, row, hidden);
  }
  worker.Barrier();
  Project(layer.ffn_down, hidden, activations.projected, static_cast<std::size_t>(config.width),
          worker);
  worker.Barrier();
}

void Transformer::Parts::Head(Worker& worker) {
  const auto width = static_cast<std::size_t>(config.width);
  const int count = static_cast<int>(logit_rows.size());
  ActivationRows x = activations.Rows(activations.normed, count, config.width);
  const bool quantize = TakesQuantized(weights->head());
  const kernels::Range share = worker.Share(count);
  for (int i = share.begin; i < share.end; ++i) {
    const int row = logit_rows[static_cast<std::size_t>(i)];
    float* normed = RowOf(activations.normed, i, width);
    kernels::RmsNorm(RowOf(activations.residual, row, width), weights->output_norm().data(),
                     config.rms_epsilon, config.width, normed);
    if (quantize) kernels::QuantizeRow(normed, i, x);
  }
  worker.Barrier();
  Project(weights->head(), x, activations.logits, static_cast<std::size_t>(config.vocab_count),
          worker);
}

// The whole step, run by every worker; barriers stand where one's output is another's input.
void Transformer::Parts::Run(Worker& worker) {
  const auto width = static_cast<std::size_t>(config.width);
  const std::size_t qkv_stride = query_width() + 2 * key_width();
  const float* added = nullptr;
  Embed(worker);
  for (int i = 0; i < config.layer_count; ++i) {
    const LayerWeights& layer = weights->layers()[static_cast<std::size_t>(i)];
    ActivationRows normed = activations.Rows(activations.normed, row_count(), config.width);
    NormRows(layer.attention_norm, added, TakesQuantized(layer.query_key_value), normed, worker);
    worker.Barrier();
    Project(layer.query_key_value, normed, activations.query_key_value, qkv_stride, worker);
    worker.Barrier();
    StoreAndRotate(i, worker);
    worker.Barrier();
    Attend(i, worker);

    const int attention_width = static_cast<int>(query_width());
    ActivationRows attended = activations.Rows(activations.attention, row_count(), attention_width);
    if (TakesQuantized(layer.attention_output)) {
      const kernels::Range share = worker.Share(row_count());
      for (int row = share.begin; row < share.end; ++row) {
        kernels::QuantizeRow(RowOf(activations.attention, row, query_width()), row, attended);
      }
      worker.Barrier();
    }
    Project(layer.attention_output, attended, activations.projected, width, worker);
    worker.Barrier();
    NormRows(layer.ffn_norm, activations.projected, TakesQuantized(layer.gate_up), normed, worker);
    worker.Barrier();
    FeedForward(layer, normed, worker);
    added = activations.projected;
  }
  const kernels::Range share = worker.Share(row_count());
  for (int row = share.begin; row < share.end; ++row) {
    kernels::AddInPlace(added + static_cast<std::size_t>(row) * width, config.width,
                        RowOf(activations.residual, row, width));
  }
  if (logit_rows.empty()) return;
  worker.Barrier();
  Head(worker);
}

std::expected<std::unique_ptr<Transformer>, std::string> Transformer::Create(
    const ModelConfig& config, const ModelWeights& weights, const Limits& limits,
    kernels::Team& team) {
  auto activations = Activations::Allocate(config, limits.step_rows_max, limits.logit_rows_max,
                                           limits.context_tokens_max);
  if (!activations) return std::unexpected("no memory for a step: " + activations.error());
  auto parts = std::make_unique<Parts>();
  parts->config = config;
  parts->weights = &weights;
  parts->team = &team;
  parts->limits = limits;
  parts->layout = {config.layer_count, config.kv_head_count, config.head_dim};
  parts->shape = {config.head_count, config.kv_head_count, config.head_dim, config.attention_scale};
  parts->activations = std::move(*activations);
  parts->rows.reserve(static_cast<std::size_t>(limits.step_rows_max));
  parts->logit_rows.reserve(static_cast<std::size_t>(limits.step_rows_max));
  const Rotation rotation = RotationOf(config, weights.rope_factors());
  kernels::FillRotationTables(rotation.frequencies.data(), config.rope_dims,
                              limits.context_tokens_max, rotation.magnitude,
                              parts->activations.cosines, parts->activations.sines);
  return std::unique_ptr<Transformer>(new Transformer(std::move(parts)));
}

Transformer::Transformer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Transformer::~Transformer() = default;

void Transformer::Step(std::span<const StepSlice> slices) {
  parts_->Gather(slices);
  parts_->team->Run([this](Worker& worker) { parts_->Run(worker); });
  parts_->rows_computed += parts_->rows.size();
}

std::span<const float> Transformer::Logits(int index) const {
  assert(index >= 0 && index < logit_row_count());
  const auto vocab = static_cast<std::size_t>(parts_->config.vocab_count);
  return {parts_->activations.logits + static_cast<std::size_t>(index) * vocab, vocab};
}

int Transformer::logit_row_count() const { return static_cast<int>(parts_->logit_rows.size()); }
std::uint64_t Transformer::rows_computed() const { return parts_->rows_computed; }
const cache::KvLayout& Transformer::kv_layout() const { return parts_->layout; }
const Transformer::Limits& Transformer::limits() const { return parts_->limits; }

}  // namespace engine
