#include "tests/support/model_run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

#include "engine/gguf_file.h"
#include "engine/mapped_file.h"

namespace support {
namespace {

constexpr std::size_t kAlignment = 64;

template <typename T>
T OrThrow(std::expected<T, std::string> result) {
  if (!result) throw std::runtime_error(result.error());
  return std::move(*result);
}

template <typename P, typename Q>
double Divergence(std::span<const P> p, std::span<const Q> q) {
  const auto log_sum = [](auto logits) {
    double largest = -1e300;
    for (const auto logit : logits) largest = std::max(largest, static_cast<double>(logit));
    double sum = 0;
    for (const auto logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    return largest + std::log(sum);
  };
  const double p_sum = log_sum(p);
  const double q_sum = log_sum(q);
  double divergence = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = static_cast<double>(p[i]) - p_sum;
    divergence += std::exp(log_p) * (log_p - (static_cast<double>(q[i]) - q_sum));
  }
  return divergence;
}

}  // namespace

std::string ModelPath(const std::string& file_name) {
  if (const char* folder = std::getenv("INGLENOOK_MODELS")) {
    return std::string(folder) + "/" + file_name;
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string base =
      cache != nullptr ? std::string(cache) : std::string(home != nullptr ? home : "") + "/.cache";
  return base + "/inglenook/models/" + file_name;
}

std::string TestFile(const std::string& relative_path) {
  return std::string(INGLENOOK_SOURCE_DIR) + "/tests/data/" + relative_path;
}

std::unique_ptr<ModelRun> ModelRun::Load(const std::string& path, const Options& options) {
  const auto mapped = OrThrow(engine::MappedFile::Open(path));
  const auto file = OrThrow(engine::GgufFile::Parse(mapped.bytes(), path));
  auto run = std::unique_ptr<ModelRun>(new ModelRun);
  run->config_ = OrThrow(engine::ModelConfig::From(file));
  run->team_ = std::make_unique<kernels::Team>(options.workers);
  run->weights_ = std::make_unique<engine::ModelWeights>(
      OrThrow(engine::ModelWeights::Pack(file, run->config_, *run->team_, [](double) {})));
  const int context =
      options.context_tokens_max > 0 ? options.context_tokens_max : run->config_.context_tokens_max;
  run->transformer_ = OrThrow(engine::Transformer::Create(
      run->config_, *run->weights_, {options.step_rows_max, options.logit_rows_max, context},
      *run->team_));
  const std::size_t block_bytes = run->transformer_->kv_layout().block_bytes();
  const auto count = static_cast<std::size_t>(cache::BlocksFor(context));
  // All ones are NaN: what a block holds beyond the stored tokens must never matter.
  run->memory_.assign(count * block_bytes + kAlignment, std::byte{0xFF});
  auto address = reinterpret_cast<std::uintptr_t>(run->memory_.data());
  address = (address + kAlignment - 1) & ~(kAlignment - 1);
  for (std::size_t i = 0; i < count; ++i) {
    run->bases_.push_back(reinterpret_cast<std::byte*>(address) + i * block_bytes);
  }
  if (options.block_seed != 0) {
    std::mt19937_64 random(options.block_seed);
    std::shuffle(run->bases_.begin(), run->bases_.end(), random);
  }
  return run;
}

void ModelRun::Prefill(std::span<const engine::TokenId> tokens, int chunk_rows) {
  while (stored_ < static_cast<int>(tokens.size())) {
    const int count = std::min(chunk_rows, static_cast<int>(tokens.size()) - stored_);
    const bool last = stored_ + count == static_cast<int>(tokens.size());
    const engine::StepSlice slice{
        tokens.subspan(static_cast<std::size_t>(stored_), static_cast<std::size_t>(count)), stored_,
        bases_, last ? engine::StepSlice::Logits::kLast : engine::StepSlice::Logits::kNone};
    transformer_->Step({&slice, 1});
    stored_ += count;
  }
}

std::vector<float> ModelRun::AllLogits(std::span<const engine::TokenId> tokens, int chunk_rows) {
  std::vector<float> all;
  while (stored_ < static_cast<int>(tokens.size())) {
    const int count = std::min(chunk_rows, static_cast<int>(tokens.size()) - stored_);
    const engine::StepSlice slice{
        tokens.subspan(static_cast<std::size_t>(stored_), static_cast<std::size_t>(count)), stored_,
        bases_, engine::StepSlice::Logits::kAll};
    transformer_->Step({&slice, 1});
    stored_ += count;
    for (int i = 0; i < count; ++i) {
      const auto logits = transformer_->Logits(i);
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }
  return all;
}

std::vector<float> ModelRun::LastLogits() const {
  const auto logits = transformer_->Logits(transformer_->logit_row_count() - 1);
  return {logits.begin(), logits.end()};
}

std::vector<std::byte> ModelRun::StoredKeysAndValues() const {
  return KeysAndValues(transformer_->kv_layout(), bases_, stored_);
}

std::vector<std::byte> KeysAndValues(const cache::KvLayout& layout,
                                     std::span<std::byte* const> bases, int token_count) {
  const auto dim = static_cast<std::size_t>(layout.head_dim);
  constexpr std::size_t kSlots = cache::KvLayout::kBlockTokens;
  constexpr std::size_t kBytes = cache::KvLayout::kElementBytes;
  std::vector<std::byte> out;
  for (std::size_t token = 0; token < static_cast<std::size_t>(token_count); ++token) {
    for (int layer = 0; layer < layout.layer_count; ++layer) {
      for (int head = 0; head < layout.kv_head_count; ++head) {
        const std::byte* base = bases[token / kSlots] + layout.HeadOffset(layer, head);
        const std::size_t slot = token % kSlots;
        for (std::size_t d = 0; d < dim; ++d) {
          const std::byte* key = base + (d * kSlots + slot) * kBytes;
          out.insert(out.end(), key, key + kBytes);
        }
        const std::byte* value = base + (dim * kSlots + slot * dim) * kBytes;
        out.insert(out.end(), value, value + dim * kBytes);
      }
    }
  }
  return out;
}

std::vector<engine::TokenId> TokenIds(std::span<const int> ids) {
  std::vector<engine::TokenId> tokens;
  for (const int id : ids) tokens.push_back(engine::TokenId{id});
  return tokens;
}

double KlDivergence(std::span<const float> p, std::span<const float> q) { return Divergence(p, q); }
double KlDivergence(std::span<const double> p, std::span<const float> q) {
  return Divergence(p, q);
}

}  // namespace support
