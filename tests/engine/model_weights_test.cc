// Goal: weights that would make every answer nonsense are refused when the model is loaded.
#include "engine/model_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "tests/support/tiny_model.h"

namespace {

using engine::TensorType;
using support::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;

std::string ErrorOf(const GgufWriter& writer) {
  const auto bytes = writer.Bytes();
  const auto file = engine::GgufFile::Parse(bytes, "a.gguf");
  EXPECT_TRUE(file) << file.error();
  const auto config = engine::ModelConfig::From(*file);
  EXPECT_TRUE(config) << config.error();
  kernels::Team team(1);
  const auto weights = engine::ModelWeights::Pack(*file, *config, team, [](double) {});
  return weights ? std::string() : weights.error();
}

TEST(ModelWeights, TakesMatricesOfAllSixTypes) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16,
                                TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1}) {
    support::TinyModelOptions options;
    options.matrix_type = type;
    EXPECT_EQ(ErrorOf(support::TinyModel(options)), "") << engine::TypeName(type);
  }
}

TEST(ModelWeights, AScaleThatIsNotFiniteIsRefusedByTensorAndByte) {
  support::TinyModelOptions options;
  options.matrix_type = TensorType::kQ4_1;
  GgufWriter writer = support::TinyModel(options);
  const std::uint16_t infinity = 0x7C00;
  std::memcpy(writer.FindTensor("blk.0.ffn_up.weight").content.data() + 20, &infinity, 2);
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("a.gguf: tensor 'blk.0.ffn_up.weight' at byte"),
                                     HasSubstr("block 1"), HasSubstr("fetch it again")));
}

TEST(ModelWeights, ANormWeightThatIsNotANumberIsRefused) {
  GgufWriter writer = support::TinyModel();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(writer.FindTensor("output_norm.weight").content.data() + 12, &nan, sizeof nan);
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("'output_norm.weight'"), HasSubstr("block 3")));
}

}  // namespace
