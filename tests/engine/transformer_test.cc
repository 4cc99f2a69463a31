// Goal: the forward pass is the reference formula, whatever RoPE scaling, format and chunking.
// Method: tiny random models with logits from a plain double-precision formula.
#include "engine/transformer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/model_run.h"

namespace {

using support::ModelRun;

struct Expected {
  std::vector<engine::TokenId> tokens;
  std::vector<double> logits;
};

Expected ReadExpected(const std::string& file, const std::string& model) {
  std::ifstream stream(support::TestFile(file));
  EXPECT_TRUE(stream) << file;
  const auto entry = nlohmann::json::parse(stream).at(model);
  const auto ids = entry.at("ids").get<std::vector<int>>();
  return {support::TokenIds(ids), entry.at("logits").get<std::vector<double>>()};
}

class TinyLlama : public testing::TestWithParam<const char*> {};

TEST_P(TinyLlama, AgreesWithTheReferenceFormula) {
  const std::string model = GetParam();
  const Expected expected = ReadExpected("tiny/logits.json", model);
  const auto run = ModelRun::Load(support::TestFile("tiny/" + model), {});
  run->Prefill(expected.tokens, 64);
  const std::vector<float> logits = run->LastLogits();
  ASSERT_EQ(logits.size(), expected.logits.size());
  EXPECT_LT(support::KlDivergence(expected.logits, logits), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(RopeScalings, TinyLlama,
                         testing::Values("tiny.gguf", "tiny_freqs.gguf", "tiny_linear.gguf",
                                         "tiny_linear_old.gguf", "tiny_yarn.gguf"));

class Chunking : public testing::TestWithParam<int> {};

TEST_P(Chunking, NeverChangesABit) {
  const Expected expected = ReadExpected("tiny/logits.json", "tiny.gguf");
  std::vector<engine::TokenId> tokens;
  while (tokens.size() < 200) {
    tokens.insert(tokens.end(), expected.tokens.begin(), expected.tokens.end());
  }
  const auto whole = ModelRun::Load(support::TestFile("tiny/tiny.gguf"), {.workers = 2});
  whole->Prefill(tokens, 64);
  const auto pieces = ModelRun::Load(support::TestFile("tiny/tiny.gguf"),
                                     {.workers = 1, .block_seed = 7});
  pieces->Prefill(tokens, GetParam());
  const auto a = whole->LastLogits();
  const auto b = pieces->LastLogits();
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  EXPECT_EQ(whole->StoredKeysAndValues(), pieces->StoredKeysAndValues());
  EXPECT_EQ(pieces->transformer().rows_computed(), tokens.size());
}

INSTANTIATE_TEST_SUITE_P(Rows, Chunking, testing::Values(1, 2, 3, 7, 16, 33, 63, 64));

}  // namespace
