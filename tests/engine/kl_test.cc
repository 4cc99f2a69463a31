// Goal: on a real model our F32 arithmetic is llama.cpp's, and quantized weights cost no more
// accuracy here than they do there.
// Method: 1,354 tokens of prose as one sequence. Our F32 run of the dequantized weights is compared
// with llama.cpp's (its top 64 tokens at every fourth position, its top token at all), and our Q4_1
// run with our F32 run over the whole vocabulary. tests/oracle/README.md says how the figures of
// llama.cpp were made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/mapped_file.h"
#include "tests/support/f32_model.h"
#include "tests/support/model_run.h"

namespace {

using support::ModelRun;

constexpr int kChunkRows = 64;
constexpr std::size_t kTop = 64;
constexpr const char* kModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";

nlohmann::json Json(const std::string& file) {
  std::ifstream stream(support::TestFile(file));
  if (!stream) throw std::runtime_error("can't read " + support::TestFile(file));
  return nlohmann::json::parse(stream);
}

std::vector<engine::TokenId> Tokens() {
  return support::TokenIds(Json("kl/tokens.json").get<std::vector<int>>());
}

// The model with F32 weights, as a file that lives as long as this object.
class F32File {
 public:
  F32File()
      : path_(std::filesystem::temp_directory_path() /
              ("inglenook_kl_" + std::to_string(::getpid()) + ".gguf")) {
    const std::string source = support::ModelPath(kModelFile);
    const auto mapped = engine::MappedFile::Open(source);
    if (!mapped) {
      throw std::runtime_error(mapped.error() + " (scripts/get-model smollm2-135m fetches it)");
    }
    const auto file = engine::GgufFile::Parse(mapped->bytes(), source);
    if (!file) throw std::runtime_error(file.error());
    support::F32Model(*file).WriteFile(path_.string());
  }
  F32File(const F32File&) = delete;
  F32File& operator=(const F32File&) = delete;
  ~F32File() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::unique_ptr<ModelRun> Load(const std::string& path, std::size_t token_count) {
  return ModelRun::Load(path, {.workers = 2,
                               .step_rows_max = kChunkRows,
                               .logit_rows_max = kChunkRows,
                               .context_tokens_max = static_cast<int>(token_count)});
}

// Calls see(position, logits of each run) for every token, a chunk at a time.
template <typename See>
void ForEachPosition(std::span<const engine::TokenId> tokens, std::vector<ModelRun*> runs,
                     See see) {
  for (std::size_t begin = 0; begin < tokens.size(); begin += kChunkRows) {
    const std::size_t end = std::min(tokens.size(), begin + kChunkRows);
    std::vector<std::vector<float>> chunks;
    for (ModelRun* run : runs) chunks.push_back(run->AllLogits(tokens.first(end), kChunkRows));
    const auto vocabulary = static_cast<std::size_t>(runs[0]->config().vocab_count);
    std::vector<std::span<const float>> rows(runs.size());
    for (std::size_t position = begin; position < end; ++position) {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        rows[i] =
            std::span<const float>(chunks[i]).subspan((position - begin) * vocabulary, vocabulary);
      }
      see(position, rows);
    }
  }
}

std::size_t Top(std::span<const float> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

// What llama.cpp's F32 run says after one position: its top tokens, and all others together.
struct Sample {
  std::int32_t position = 0;
  std::array<std::int32_t, kTop> ids{};
  std::array<float, kTop> log_probabilities{};
  float log_rest = 0;
};
static_assert(sizeof(Sample) == 4 + 8 * kTop + 4);

std::vector<Sample> Samples() {
  std::ifstream stream(support::TestFile("kl/top64.bin"), std::ios::binary);
  std::vector<Sample> samples;
  Sample sample;
  while (stream.read(reinterpret_cast<char*>(&sample), sizeof sample)) samples.push_back(sample);
  return samples;
}

// KL(sample || logits) in nats over its tokens and one bucket for the rest.
double KlDivergence(const Sample& sample, std::span<const float> logits) {
  double sum = 0;
  const double largest = logits[Top(logits)];
  for (const float logit : logits) sum += std::exp(logit - largest);
  double divergence = 0;
  double rest = 1;
  for (std::size_t i = 0; i < kTop; ++i) {
    const double log_p = sample.log_probabilities[i];
    const double log_q = logits[static_cast<std::size_t>(sample.ids[i])] - largest - std::log(sum);
    divergence += std::exp(log_p) * (log_p - log_q);
    rest -= std::exp(log_q);
  }
  const double log_rest = sample.log_rest;
  return divergence + std::exp(log_rest) * (log_rest - std::log(std::max(rest, 1e-12)));
}

TEST(RealModel, OurF32RunIsLlamaCppsF32Run) {
  const std::vector<engine::TokenId> tokens = Tokens();
  const std::vector<Sample> samples = Samples();
  const auto top = Json("kl/figures.json").at("f32_top1").get<std::vector<std::size_t>>();
  ASSERT_GE(samples.size(), 256u);
  ASSERT_EQ(top.size(), tokens.size());
  const F32File file;
  const auto run = Load(file.path(), tokens.size());
  std::size_t same_top = 0;
  double divergence = 0;
  double worst = 0;
  auto sample = samples.begin();
  ForEachPosition(tokens, {run.get()}, [&](std::size_t position, const auto& rows) {
    if (Top(rows[0]) == top[position]) ++same_top;
    if (sample == samples.end() || sample->position != static_cast<int>(position)) return;
    const double here = KlDivergence(*sample++, rows[0]);
    divergence += here;
    worst = std::max(worst, here);
  });
  ASSERT_EQ(sample, samples.end());
  divergence /= static_cast<double>(samples.size());
  const double agreement = static_cast<double>(same_top) / static_cast<double>(tokens.size());
  std::cout << "F32: mean KL(llama.cpp || ours) " << divergence << ", largest " << worst
            << ", same top token " << 100 * agreement << " %\n";
  EXPECT_GE(agreement, 0.995);
  EXPECT_LE(divergence, 1e-4);
  EXPECT_GT(divergence, -1e-7);  // less would mean that the figures are none
}

TEST(RealModel, Q4_1CostsAtMost1Point2TimesWhatItCostsLlamaCpp) {
  const std::vector<engine::TokenId> tokens = Tokens();
  const auto theirs = Json("kl/figures.json").at("kl_f32_to_q4_1").at("mean").get<double>();
  ASSERT_GE(tokens.size(), 1'000u);
  std::unique_ptr<ModelRun> exact;
  {
    const F32File file;
    exact = Load(file.path(), tokens.size());
  }
  const auto quantized = Load(support::ModelPath(kModelFile), tokens.size());
  double ours = 0;
  double worst = 0;
  std::size_t same_top = 0;
  ForEachPosition(tokens, {exact.get(), quantized.get()}, [&](std::size_t, const auto& rows) {
    const double here = support::KlDivergence(rows[0], rows[1]);
    ours += here;
    worst = std::max(worst, here);
    if (Top(rows[0]) == Top(rows[1])) ++same_top;
  });
  ours /= static_cast<double>(tokens.size());
  std::cout << "Q4_1: mean KL(F32 || Q4_1) ours " << ours << ", llama.cpp's " << theirs
            << ", ratio " << ours / theirs << ", largest " << worst << ", same top token "
            << 100.0 * static_cast<double>(same_top) / static_cast<double>(tokens.size()) << " %\n";
  EXPECT_LE(ours, 1.2 * theirs);
  EXPECT_GT(ours, 0.1 * theirs);  // less would mean that both runs took the same weights
}

}  // namespace
