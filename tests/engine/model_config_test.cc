// Goal: a model that the engine would compute wrongly, or not at all, is refused by name.
// Method: a valid tiny model, wrong in one key or tensor at a time.
#include "engine/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/mapped_file.h"
#include "tests/support/model_run.h"
#include "tests/support/tiny_model.h"

namespace {

using engine::GgufFile;
using engine::ModelConfig;
using engine::TensorType;
using support::GgufValue;
using support::GgufWriter;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::expected<ModelConfig, std::string> ConfigOf(std::span<const std::byte> bytes) {
  const auto file = GgufFile::Parse(bytes, "a.gguf");
  if (!file) return std::unexpected("parser: " + file.error());
  return ModelConfig::From(*file);
}

std::string ErrorOf(const GgufWriter& writer) {
  const auto config = ConfigOf(writer.Bytes());
  return config ? std::string() : config.error();
}

ModelConfig Accepted(const GgufWriter& writer) {
  const auto config = ConfigOf(writer.Bytes());
  EXPECT_TRUE(config) << config.error();
  return config.value_or(ModelConfig{});
}

std::string ErrorWith(std::string_view key, const GgufValue& value) {
  GgufWriter writer = support::TinyModel();
  writer.Set(key, value);
  return ErrorOf(writer);
}

std::uint32_t U32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

// The sentence names file, key and byte, what was found, and the way out.
auto Says(const std::string& key, const std::string& found) {
  return AllOf(HasSubstr("a.gguf: key '" + key + "' at byte "), HasSubstr(found),
               HasSubstr("use another"));
}

std::vector<std::byte> Zeros(std::size_t floats) { return std::vector<std::byte>(floats * 4); }

TEST(ModelConfig, ReadsWhatTheFileSays) {
  support::TinyModelOptions options;
  options.layer_count = 2;
  options.width = 64;
  options.head_count = 6;
  options.kv_head_count = 2;
  options.head_dim = 32;
  options.ffn_width = 96;
  options.vocab_count = 11;
  options.context_tokens_max = 4096;
  const ModelConfig config = Accepted(support::TinyModel(options));
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.vocab_count, 11);
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.layer_count, 2);
  EXPECT_EQ(config.head_count, 6);
  EXPECT_EQ(config.kv_head_count, 2);
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_EQ(config.ffn_width, 96);
  EXPECT_EQ(config.context_tokens_max, 4096);
  EXPECT_EQ(config.rope_dims, 32);
  EXPECT_EQ(config.rope_base, 10'000.0F);
  EXPECT_EQ(config.rms_epsilon, 1e-5F);
  EXPECT_FLOAT_EQ(config.attention_scale, 1 / std::sqrt(32.0F));
  EXPECT_TRUE(config.tied_output);
  EXPECT_EQ(config.rope_scaling, ModelConfig::RopeScaling::kNone);
  options.tied_output = false;
  EXPECT_FALSE(Accepted(support::TinyModel(options)).tied_output);
}

TEST(ModelConfig, FillsInWhatOldFilesLeaveOut) {
  GgufWriter writer = support::TinyModel();
  for (const char* key : {"attention.key_length", "attention.value_length", "rope.dimension_count",
                          "rope.freq_base", "vocab_size"}) {
    writer.Remove(std::string("llama.") + key);
  }
  writer.Remove("general.name");
  const ModelConfig config = Accepted(writer);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rope_dims, 16);
  EXPECT_EQ(config.rope_base, 10'000.0F);
  EXPECT_EQ(config.name, "");
  // Without its own number, as many KV heads as heads: then the matrices are too small.
  writer.Remove("llama.attention.head_count_kv");
  EXPECT_THAT(ErrorOf(writer), HasSubstr("tensor 'blk.0.attn_k.weight'"));
}

TEST(ModelConfig, TakesWholeNumbersOfAnyWidthThatFit) {
  for (const GgufValue& value :
       {GgufValue(std::uint8_t{1}), GgufValue(1), GgufValue(std::uint64_t{1})}) {
    GgufWriter writer = support::TinyModel();
    writer.Set("llama.block_count", value);
    EXPECT_EQ(Accepted(writer).layer_count, 1);
  }
  EXPECT_THAT(ErrorWith("llama.block_count", 1.0F), HasSubstr("has type f32"));
  EXPECT_THAT(ErrorWith("llama.block_count", -1), HasSubstr("expected 0 or more"));
  EXPECT_THAT(ErrorWith("llama.block_count", (std::uint64_t{1} << 32) + 1),
              Says("llama.block_count", "found 4294967297"));
}

TEST(ModelConfig, RefusesOtherArchitecturesByName) {
  for (const std::string name : {"gemma3", "lfm2", "falcon-mamba", "", "LLAMA", "llama\n"}) {
    const std::string error = ErrorWith("general.architecture", name);
    EXPECT_THAT(error, AllOf(Says("general.architecture", "is not supported"),
                             HasSubstr("expected one of: llama"), Not(HasSubstr("\n"))));
  }
  EXPECT_THAT(ErrorWith("general.architecture", std::string("gemma3")), HasSubstr("'gemma3'"));
  EXPECT_THAT(ErrorWith("general.architecture", 3), HasSubstr("expected string"));
}

TEST(ModelConfig, NamesTheRequiredKeyThatIsMissing) {
  for (const std::string key :
       {"general.architecture", "llama.block_count", "llama.context_length",
        "llama.embedding_length", "llama.feed_forward_length", "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon"}) {
    GgufWriter writer = support::TinyModel();
    writer.Remove(key);
    EXPECT_THAT(ErrorOf(writer), HasSubstr("a.gguf: key '" + key + "' is missing"));
  }
}

TEST(ModelConfig, RefusesSizesOutsideItsLimits) {
  struct Lie {
    std::string key;
    std::uint64_t value;
  };
  const Lie lies[] = {{"block_count", 0},
                      {"block_count", 1025},
                      {"block_count", 0x80000000},
                      {"context_length", 0},
                      {"context_length", 0x80000000},
                      {"embedding_length", 0},
                      {"embedding_length", 33},
                      {"embedding_length", 65'568},
                      {"feed_forward_length", 0},
                      {"feed_forward_length", 40},
                      {"attention.head_count", 0},
                      {"attention.head_count", 1025},
                      {"attention.head_count_kv", 0},
                      {"attention.head_count_kv", 3},
                      {"attention.key_length", 0},
                      {"attention.key_length", 257},
                      {"attention.key_length", 24},
                      {"attention.value_length", 32},
                      {"rope.dimension_count", 0},
                      {"rope.dimension_count", 7},
                      {"rope.dimension_count", 18},
                      {"attention.sliding_window", 0},
                      {"attention.sliding_window", 32},
                      {"expert_count", 8},
                      {"vocab_size", 9}};
  for (const Lie& lie : lies) {
    const std::string key = "llama." + lie.key;
    GgufWriter writer = support::TinyModel();
    writer.Set(key, U32(lie.value));
    if (lie.key == "attention.key_length") {
      writer.Set("llama.attention.value_length", U32(lie.value));
    }
    EXPECT_THAT(ErrorOf(writer), HasSubstr("a.gguf: key '" + key + "' at byte ")) << lie.value;
  }
}

TEST(ModelConfig, AHeadMustBeSmallEvenWhenItsLengthIsDerived) {
  GgufWriter writer = support::TinyModel();
  writer.Remove("llama.attention.key_length");
  writer.Remove("llama.attention.value_length");
  writer.Set("llama.attention.head_count", U32(5));
  writer.Set("llama.attention.head_count_kv", U32(5));
  EXPECT_THAT(ErrorOf(writer), Says("llama.attention.head_count", "divisor of the width 32"));
  writer.Set("llama.attention.head_count", U32(1));
  writer.Set("llama.attention.head_count_kv", U32(1));
  writer.Set("llama.embedding_length", U32(288));
  EXPECT_THAT(ErrorOf(writer), Says("llama.attention.head_count", "288 dims"));
  writer.Set("llama.attention.head_count", U32(4));
  writer.Set("llama.embedding_length", U32(96));
  EXPECT_THAT(ErrorOf(writer), Says("llama.attention.head_count", "24 dims, expected a multiple"));
}

TEST(ModelConfig, RefusesNumbersThatAreNotFiniteOrNotAbove0) {
  const float wrong[] = {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (const char* rest :
       {"attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scaling.factor",
        "rope.scale_linear", "rope.scaling.attn_factor", "attention.scale"}) {
    for (const float value : wrong) {
      const std::string key = std::string("llama.") + rest;
      EXPECT_THAT(ErrorWith(key, value), Says(key, "expected a finite number above 0"));
    }
  }
  EXPECT_THAT(ErrorWith("llama.rope.freq_base", 0.5F), Says("llama.rope.freq_base", "above 1"));
}

TEST(ModelConfig, LayersThatDifferAreRefused) {
  support::TinyModelOptions options;
  options.layer_count = 2;
  const auto with = [&](const GgufValue& value) {
    GgufWriter writer = support::TinyModel(options);
    writer.Set("llama.attention.head_count_kv", value);
    return ErrorOf(writer);
  };
  const std::string key = "llama.attention.head_count_kv";
  EXPECT_EQ(with(std::vector<std::uint32_t>{1, 1}), "");
  EXPECT_THAT(with(std::vector<std::uint32_t>{1, 2}), Says(key, "layers that differ"));
  EXPECT_THAT(with(std::vector<std::uint32_t>{1}), Says(key, "found 1 elements"));
  EXPECT_THAT(with(std::vector<std::uint32_t>{0, 0}), Says(key, "found 0"));
  EXPECT_THAT(with(std::vector<std::int32_t>{-1, -1}), Says(key, "found -1"));
  EXPECT_THAT(with(std::vector<float>{1, 1}), HasSubstr("array of whole numbers"));
}

TEST(ModelConfig, RefusesWhatWouldChangeTheComputation) {
  for (const char* rest : {"attn_logit_softcapping", "final_logit_softcapping", "logit_scale",
                           "residual_scale", "embedding_scale", "attention.clamp_kqv",
                           "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_beta_fast"}) {
    const std::string key = std::string("llama.") + rest;
    EXPECT_THAT(ErrorWith(key, 2.5F), Says(key, "not supported"));
  }
  EXPECT_EQ(ErrorWith("llama.logit_scale", 1.0F), "");
  for (const char* name : {"blk.0.attn_q.bias", "blk.0.attn_qkv.weight", "blk.0.attn_q_norm.weight",
                           "blk.0.ffn_gate_inp.weight", "blk.0.ffn_up_exps.weight",
                           "rope_factors_long.weight", "blk.0.post_attention_norm.weight"}) {
    GgufWriter writer = support::TinyModel();
    writer.AddTensor(name, TensorType::kF32, {32}, Zeros(32));
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr(std::string("a.gguf: tensor '") + name),
                                       HasSubstr("not supported")));
  }
}

TEST(ModelConfig, ReadsEveryRopeScaling) {
  GgufWriter writer = support::TinyModel();
  const auto set = [&](const char* rest, const GgufValue& value) {
    writer.Set(std::string("llama.rope.") + rest, value);
  };
  set("scale_linear", 8.0F);
  EXPECT_EQ(Accepted(writer).rope_scaling, ModelConfig::RopeScaling::kLinear);
  EXPECT_EQ(Accepted(writer).rope_factor, 8.0F);
  set("scaling.type", std::string("linear"));
  set("scaling.factor", 4.0F);
  EXPECT_EQ(Accepted(writer).rope_factor, 4.0F);
  set("scaling.type", std::string("none"));
  EXPECT_EQ(Accepted(writer).rope_scaling, ModelConfig::RopeScaling::kNone);
  EXPECT_EQ(Accepted(writer).rope_factor, 1.0F);
  set("scaling.type", std::string("yarn"));
  set("scaling.original_context_length", U32(32));
  EXPECT_EQ(Accepted(writer).rope_scaling, ModelConfig::RopeScaling::kYarn);
  EXPECT_EQ(Accepted(writer).rope_original_context, 32);
  set("scaling.original_context_length", U32(0));
  EXPECT_THAT(ErrorOf(writer), Says("llama.rope.scaling.original_context_length", "found 0"));
  writer.Remove("llama.rope.scaling.original_context_length");
  writer.Remove("llama.rope.scaling.factor");
  EXPECT_THAT(ErrorOf(writer), HasSubstr("key 'llama.rope.scaling.factor' is missing"));
  set("scaling.type", std::string("longrope"));
  EXPECT_THAT(ErrorOf(writer), Says("llama.rope.scaling.type", "'longrope' is not supported"));
}

TEST(ModelConfig, RopeFactorsAreCheckedOneByOne) {
  const auto with = [](std::vector<float> factors) {
    std::vector<std::byte> content(factors.size() * sizeof(float));
    std::memcpy(content.data(), factors.data(), content.size());
    GgufWriter writer = support::TinyModel();
    writer.AddTensor("rope_freqs.weight", TensorType::kF32, {factors.size()}, content);
    return ErrorOf(writer);
  };
  EXPECT_EQ(with({1, 1, 2, 2, 3, 3, 4, 4}), "");
  EXPECT_THAT(with({1, 1, 2, 0, 3, 3, 4, 4}),
              AllOf(HasSubstr("tensor 'rope_freqs.weight'"), HasSubstr("index 3")));
  EXPECT_THAT(with({1, 1, 2, 2, 3, 3, 4, std::nanf("")}), HasSubstr("index 7"));
  EXPECT_THAT(with({1, 1}), HasSubstr("found shape [2], expected [8]"));
}

TEST(ModelConfig, NamesEveryTensorThatIsMissing) {
  const GgufWriter whole = support::TinyModel();
  ASSERT_EQ(whole.tensors.size(), 11u);
  for (const GgufWriter::Tensor& tensor : whole.tensors) {
    GgufWriter writer = whole;
    writer.RemoveTensor(tensor.name);
    EXPECT_THAT(ErrorOf(writer), HasSubstr("a.gguf: tensor '" + tensor.name + "' is missing"));
  }
}

TEST(ModelConfig, RefusesTensorsOfAnotherShapeOrType) {
  GgufWriter writer = support::TinyModel();
  writer.FindTensor("blk.0.attn_k.weight").dims = {16, 32};  // transposed
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tensor 'blk.0.attn_k.weight' at byte"),
                                     HasSubstr("found shape [16, 32], expected [32, 16]")));
  writer = support::TinyModel();
  writer.FindTensor("blk.0.attn_norm.weight").type = 1;
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("'blk.0.attn_norm.weight'"),
                                     HasSubstr("found type F16, expected F32")));
  writer.FindTensor("blk.0.attn_norm.weight").type = 8;
  EXPECT_THAT(ErrorOf(writer), HasSubstr("found type Q8_0, expected F32"));
}

TEST(ModelConfig, ALayerCountThatIsNotTheFilesIsRefused) {
  EXPECT_THAT(ErrorWith("llama.block_count", U32(2)),
              HasSubstr("tensor 'blk.1.attn_norm.weight' is missing"));
  support::TinyModelOptions options;
  options.layer_count = 2;
  GgufWriter writer = support::TinyModel(options);
  writer.Set("llama.block_count", U32(1));
  EXPECT_THAT(ErrorOf(writer), Says("llama.block_count", "'blk.1.attn_norm.weight' of one more"));
}

TEST(ModelConfig, TheVocabularyMayBePaddedButNotCut) {
  GgufWriter writer = support::TinyModel();
  writer.Set("tokenizer.ggml.tokens", std::vector<std::string>(7, "t"));
  EXPECT_EQ(Accepted(writer).vocab_count, 8);
  writer.Set("tokenizer.ggml.tokens", std::vector<std::string>(9, "t"));
  EXPECT_THAT(ErrorOf(writer), Says("tokenizer.ggml.tokens", "at most the 8 rows"));
}

TEST(ModelConfig, AnUnknownTensorIsHarmlessAndListed) {
  GgufWriter writer = support::TinyModel();
  writer.AddTensor("note.weight", TensorType::kF32, {4}, Zeros(4));
  const auto bytes = writer.Bytes();
  const auto file = GgufFile::Parse(bytes, "a.gguf");
  ASSERT_TRUE(file) << file.error();
  const auto config = ModelConfig::From(*file);
  ASSERT_TRUE(config) << config.error();
  EXPECT_THAT(engine::UnusedTensors(*file, *config), ElementsAre("note.weight"));
}

TEST(ModelConfig, AcceptsMatricesOfAllSixTypes) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16,
                                TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1}) {
    support::TinyModelOptions options;
    options.matrix_type = type;
    EXPECT_EQ(ErrorOf(support::TinyModel(options)), "") << engine::TypeName(type);
  }
}

TEST(ModelConfig, AcceptsTheTinyFilesAndKnowsTheirScaling) {
  const std::pair<const char*, ModelConfig::RopeScaling> files[] = {
      {"tiny.gguf", ModelConfig::RopeScaling::kNone},
      {"tiny_freqs.gguf", ModelConfig::RopeScaling::kNone},
      {"tiny_linear.gguf", ModelConfig::RopeScaling::kLinear},
      {"tiny_linear_old.gguf", ModelConfig::RopeScaling::kLinear},
      {"tiny_yarn.gguf", ModelConfig::RopeScaling::kYarn},
      {"tiny_long.gguf", ModelConfig::RopeScaling::kNone}};
  for (const auto& [name, scaling] : files) {
    const auto mapped = engine::MappedFile::Open(support::TestFile(std::string("tiny/") + name));
    ASSERT_TRUE(mapped) << mapped.error();
    const auto config = ConfigOf(mapped->bytes());
    ASSERT_TRUE(config) << config.error();
    EXPECT_EQ(config->rope_scaling, scaling) << name;
  }
}

}  // namespace
