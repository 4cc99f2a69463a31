// A model loaded for tests, with plain memory for its blocks and no cache in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model_weights.h"
#include "engine/transformer.h"
#include "kernels/parallel.h"

namespace support {

// The folder of real models: INGLENOOK_MODELS, or where scripts/get-model puts them.
std::string ModelPath(const std::string& file_name);
// A file under tests/data.
std::string TestFile(const std::string& relative_path);

class ModelRun {
 public:
  struct Options {
    int workers = 2;
    int step_rows_max = 64;
    int logit_rows_max = 1;
    int context_tokens_max = 0;    // 0: the model's own
    std::uint64_t block_seed = 0;  // shuffles which memory each block takes; 0: in order
  };
  // Fails the running test and throws when the file can't be loaded.
  static std::unique_ptr<ModelRun> Load(const std::string& path, const Options& options);

  // Runs tokens[stored()..) in steps of chunk_rows rows.
  void Prefill(std::span<const engine::TokenId> tokens, int chunk_rows);
  // As Prefill, and gives the logits of every token it ran, [tokens][vocab_count].
  std::vector<float> AllLogits(std::span<const engine::TokenId> tokens, int chunk_rows);
  std::vector<float> LastLogits() const;
  // Of the stored tokens: what memcmp may compare.
  std::vector<std::byte> StoredKeysAndValues() const;
  int stored() const { return stored_; }
  void Forget() { stored_ = 0; }

  const engine::ModelConfig& config() const { return config_; }
  engine::Transformer& transformer() { return *transformer_; }
  std::span<std::byte* const> bases() const { return bases_; }

 private:
  ModelRun() = default;

  engine::ModelConfig config_;
  std::unique_ptr<kernels::Team> team_;
  std::unique_ptr<engine::ModelWeights> weights_;
  std::unique_ptr<engine::Transformer> transformer_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> bases_;
  int stored_ = 0;
};

// Keys and values of the first token_count tokens, token by token, of a sequence's blocks.
std::vector<std::byte> KeysAndValues(const cache::KvLayout& layout,
                                     std::span<std::byte* const> bases, int token_count);

std::vector<engine::TokenId> TokenIds(std::span<const int> ids);

// KL(p || q) of the distributions of two rows of logits, in nats.
double KlDivergence(std::span<const float> p, std::span<const float> q);
double KlDivergence(std::span<const double> p, std::span<const float> q);

}  // namespace support
