#include "engine/model_config.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

namespace engine {
namespace {

constexpr std::string_view kSupportedArchitectures = "llama";
constexpr std::string_view kUseAnother = "; use another file of this model or another model";

// A tensor that the transformer reads.
struct Wanted {
  std::string name;
  std::array<std::uint64_t, 4> dims = {1, 1, 1, 1};
  bool is_vector = false;  // stored as F32, never quantized
  bool is_optional = false;
};

Wanted Vector(std::string name, int length) {
  return {std::move(name), {static_cast<std::uint64_t>(length), 1, 1, 1}, true, false};
}

struct MatrixShape {
  int columns = 0;
  int rows = 0;
};

Wanted Matrix(std::string name, MatrixShape shape) {
  return {std::move(name),
          {static_cast<std::uint64_t>(shape.columns), static_cast<std::uint64_t>(shape.rows), 1, 1},
          false,
          false};
}

std::vector<Wanted> WantedTensors(const ModelConfig& config) {
  const int query_width = config.head_count * config.head_dim;
  const int key_width = config.kv_head_count * config.head_dim;
  std::vector<Wanted> wanted;
  wanted.push_back(Matrix("token_embd.weight", {config.width, config.vocab_count}));
  wanted.push_back(Vector("output_norm.weight", config.width));
  wanted.push_back(Matrix("output.weight", {config.width, config.vocab_count}));
  wanted.back().is_optional = true;
  wanted.push_back(Vector("rope_freqs.weight", config.rope_dims / 2));
  wanted.back().is_optional = true;
  for (int i = 0; i < config.layer_count; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    wanted.push_back(Vector(layer + "attn_norm.weight", config.width));
    wanted.push_back(Matrix(layer + "attn_q.weight", {config.width, query_width}));
    wanted.push_back(Matrix(layer + "attn_k.weight", {config.width, key_width}));
    wanted.push_back(Matrix(layer + "attn_v.weight", {config.width, key_width}));
    wanted.push_back(Matrix(layer + "attn_output.weight", {query_width, config.width}));
    wanted.push_back(Vector(layer + "ffn_norm.weight", config.width));
    wanted.push_back(Matrix(layer + "ffn_gate.weight", {config.width, config.ffn_width}));
    wanted.push_back(Matrix(layer + "ffn_up.weight", {config.width, config.ffn_width}));
    wanted.push_back(Matrix(layer + "ffn_down.weight", {config.ffn_width, config.width}));
  }
  return wanted;
}

// Parts of tensor names that would change the computation if they were read. An unknown tensor is
// harmless, these are not.
constexpr std::string_view kUnsupportedTensorParts[] = {
    ".bias",           ".scale",         ".attn_qkv.", ".attn_q_norm.", ".attn_k_norm.",
    "_sub_norm.",      ".ffn_gate_inp.", "_exps.",     ".ffn_gate_up",  ".post_attention_norm.",
    ".post_ffw_norm.", "rope_factors_"};

// Numbers that change the computation unless they have this value. After "llama.".
struct FixedNumber {
  std::string_view key;
  float value = 0;
};
constexpr FixedNumber kFixedNumbers[] = {
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 1},
    {"residual_scale", 1},
    {"embedding_scale", 1},
    {"attention.clamp_kqv", 0},
    {"rope.scaling.yarn_ext_factor", 1},
    {"rope.scaling.yarn_attn_factor", 1},
    {"rope.scaling.yarn_beta_fast", 32},
    {"rope.scaling.yarn_beta_slow", 1},
    {"rope.scaling.yarn_log_multiplier", 0},
};

struct Range {
  int min = 0;
  int max = 0;
};

// Every Read… and Check… returns whether to go on; on false, error_ is the sentence.
class ConfigReader {
 public:
  explicit ConfigReader(const GgufFile& file) : file_(file) {}

  std::expected<ModelConfig, std::string> Read() {
    if (!ReadArchitecture() || !ReadSizes() || !ReadHeads() || !ReadRope() || !ReadRopeScaling() ||
        !ReadAttention() || !CheckUnsupported() || !ReadVocabulary() || !CheckTensors()) {
      assert(!error_.empty());
      return std::unexpected(std::move(error_));
    }
    return std::move(config_);
  }

 private:
  bool Fail(std::string sentence) {
    assert(error_.empty());
    error_ = std::move(sentence);
    return false;
  }

  // A sentence about a key that is in the file.
  bool FailKey(std::string_view key, std::string_view found_and_expected) {
    const MetadataEntry* entry = file_.FindEntry(key);
    assert(entry != nullptr);
    return Fail(file_.Where(*entry) + ": " + std::string(found_and_expected) +
                std::string(kUseAnother));
  }

  bool FailMissing(std::string_view key, std::string_view expected) {
    return Fail(file_.name() + ": key '" + std::string(key) + "' is missing, expected " +
                std::string(expected) + std::string(kUseAnother));
  }

  std::string Key(std::string_view rest) const {
    return config_.architecture + "." + std::string(rest);
  }

  bool CheckRange(std::string_view key, std::uint64_t value, Range range) {
    if (value >= static_cast<std::uint64_t>(range.min) &&
        value <= static_cast<std::uint64_t>(range.max)) {
      return true;
    }
    return FailKey(key, "found " + std::to_string(value) + ", expected " +
                            std::to_string(range.min) + " to " + std::to_string(range.max));
  }

  // A whole number; `value` stays when the key is absent, which must be allowed by 0 < value.
  bool ReadWhole(std::string_view rest, Range range, int& value);
  // The same, or an array of one number per layer that are all equal.
  bool ReadWholePerLayer(std::string_view rest, Range range, int& value);
  // A number above 0 and finite; `value` stays when the key is absent, see ReadWhole.
  bool ReadPositive(std::string_view rest, float& value);

  bool ReadArchitecture();
  bool ReadSizes();
  bool ReadHeads();
  bool ReadRope();
  bool ReadRopeScaling();
  bool ReadLinearScaling();
  bool ReadAttention();
  bool CheckUnsupported();
  bool ReadVocabulary();
  bool CheckTensors();
  bool CheckTensor(const Wanted& wanted);
  bool CheckRopeFactors();

  const GgufFile& file_;
  ModelConfig config_;
  std::string error_;
};

bool ConfigReader::ReadWhole(std::string_view rest, Range range, int& value) {
  const std::string key = Key(rest);
  const Found<std::uint64_t> found = file_.Uint(key);
  if (!found) return Fail(found.error());
  if (!*found) return value > 0 || FailMissing(key, "a whole number");
  if (!CheckRange(key, **found, range)) return false;
  value = static_cast<int>(**found);
  return true;
}

bool ConfigReader::ReadWholePerLayer(std::string_view rest, Range range, int& value) {
  const std::string key = Key(rest);
  const MetadataEntry* entry = file_.FindEntry(key);
  if (entry == nullptr || entry->type != ValueType::kArray) return ReadWhole(rest, range, value);
  const Found<std::vector<std::int64_t>> found = file_.Ints(key);
  if (!found) return Fail(found.error());
  const std::vector<std::int64_t>& values = **found;
  if (values.size() != static_cast<std::size_t>(config_.layer_count)) {
    return FailKey(key, "found " + std::to_string(values.size()) +
                            " elements, expected one for each of the " +
                            std::to_string(config_.layer_count) + " layers");
  }
  for (const std::int64_t element : values) {
    if (element < 0)
      return FailKey(key, "found " + std::to_string(element) + ", expected 1 or more");
    if (!CheckRange(key, static_cast<std::uint64_t>(element), range)) return false;
    if (element != values.front()) {
      return FailKey(key, "found layers with " + std::to_string(values.front()) + " and with " +
                              std::to_string(element) +
                              "; layers that differ are not supported yet");
    }
  }
  value = static_cast<int>(values.front());
  return true;
}

bool ConfigReader::ReadPositive(std::string_view rest, float& value) {
  const std::string key = Key(rest);
  const Found<float> found = file_.Float(key);
  if (!found) return Fail(found.error());
  if (!*found) return value > 0 || FailMissing(key, "a number above 0");
  if (!std::isfinite(**found) || **found <= 0) {
    return FailKey(key, "found " + std::to_string(**found) + ", expected a finite number above 0");
  }
  value = **found;
  return true;
}

bool ConfigReader::ReadArchitecture() {
  const Found<std::string_view> architecture = file_.String("general.architecture");
  if (!architecture) return Fail(architecture.error());
  if (!*architecture) return FailMissing("general.architecture", "the name of an architecture");
  if (**architecture != "llama") {
    return FailKey("general.architecture", "architecture '" + Printable(**architecture) +
                                               "' is not supported yet, expected one of: " +
                                               std::string(kSupportedArchitectures));
  }
  config_.architecture = **architecture;
  const Found<std::string_view> name = file_.String("general.name");
  if (!name) return Fail(name.error());
  if (*name) config_.name = Printable(**name);
  return true;
}

bool ConfigReader::ReadSizes() {
  if (!ReadWhole("block_count", {1, kLayerCountMax}, config_.layer_count) ||
      !ReadWhole("context_length", {1, kContextTokensMax}, config_.context_tokens_max) ||
      !ReadWhole("embedding_length", {1, kWidthMax}, config_.width) ||
      !ReadWholePerLayer("feed_forward_length", {1, kWidthMax}, config_.ffn_width)) {
    return false;
  }
  const std::string expected = ", expected a multiple of " + std::to_string(kWidthMultiple);
  if (config_.width % kWidthMultiple != 0) {
    return FailKey(Key("embedding_length"), "found " + std::to_string(config_.width) + expected);
  }
  if (config_.ffn_width % kWidthMultiple != 0) {
    return FailKey(Key("feed_forward_length"),
                   "found " + std::to_string(config_.ffn_width) + expected);
  }
  return true;
}

bool ConfigReader::ReadHeads() {
  if (!ReadWholePerLayer("attention.head_count", {1, kHeadCountMax}, config_.head_count)) {
    return false;
  }
  config_.kv_head_count = config_.head_count;
  if (!ReadWholePerLayer("attention.head_count_kv", {1, kHeadCountMax}, config_.kv_head_count)) {
    return false;
  }
  if (config_.head_count % config_.kv_head_count != 0) {
    return FailKey(Key("attention.head_count_kv"),
                   "found " + std::to_string(config_.kv_head_count) +
                       ", expected a divisor of the " + std::to_string(config_.head_count) +
                       " heads");
  }
  // Read before the default is made, which needs a width that the heads divide.
  const bool has_length = file_.FindEntry(Key("attention.key_length")) != nullptr;
  if (!has_length && config_.width % config_.head_count != 0) {
    return FailKey(Key("attention.head_count"), "found " + std::to_string(config_.head_count) +
                                                    " heads, expected a divisor of the width " +
                                                    std::to_string(config_.width));
  }
  config_.head_dim = has_length ? 0 : config_.width / config_.head_count;
  if (!ReadWhole("attention.key_length", {1, kHeadDimMax}, config_.head_dim)) return false;
  int value_dim = config_.head_dim;
  if (!ReadWhole("attention.value_length", {1, kHeadDimMax}, value_dim)) return false;
  if (value_dim != config_.head_dim) {
    return FailKey(Key("attention.value_length"), "found " + std::to_string(value_dim) +
                                                      ", expected the key length " +
                                                      std::to_string(config_.head_dim));
  }
  const std::string shaping_key = Key(has_length ? "attention.key_length" : "attention.head_count");
  if (config_.head_dim > kHeadDimMax || config_.head_dim % kHeadDimMultiple != 0) {
    return FailKey(shaping_key, "the heads have " + std::to_string(config_.head_dim) +
                                    " dims, expected a multiple of " +
                                    std::to_string(kHeadDimMultiple) + " up to " +
                                    std::to_string(kHeadDimMax));
  }
  const int query_width = config_.head_count * config_.head_dim;
  if (query_width > kWidthMax || query_width % kWidthMultiple != 0) {
    return FailKey(shaping_key, "all heads together have " + std::to_string(query_width) +
                                    " dims, expected a multiple of " +
                                    std::to_string(kWidthMultiple) + " up to " +
                                    std::to_string(kWidthMax));
  }
  return true;
}

bool ConfigReader::ReadRope() {
  config_.rope_dims = config_.head_dim;
  if (!ReadWhole("rope.dimension_count", {2, config_.head_dim}, config_.rope_dims)) return false;
  if (config_.rope_dims % 2 != 0) {
    return FailKey(Key("rope.dimension_count"),
                   "found " + std::to_string(config_.rope_dims) + ", expected an even number");
  }
  config_.rope_base = 10'000;
  if (!ReadPositive("rope.freq_base", config_.rope_base)) return false;
  if (config_.rope_base <= 1) {
    return FailKey(Key("rope.freq_base"),
                   "found " + std::to_string(config_.rope_base) + ", expected a number above 1");
  }
  return true;
}

bool ConfigReader::ReadRopeScaling() {
  if (!ReadPositive("rope.scaling.attn_factor", config_.rope_attention_factor)) return false;
  const std::string key = Key("rope.scaling.type");
  const Found<std::string_view> type = file_.String(key);
  if (!type) return Fail(type.error());
  // Files from before the key existed scale linearly, if at all.
  const std::string_view name = type->value_or("linear");
  if (name == "none") return true;
  if (name == "linear") return ReadLinearScaling();
  if (name != "yarn") {
    return FailKey(key, "RoPE scaling '" + Printable(name) +
                            "' is not supported yet, expected one of: none, linear, yarn");
  }
  config_.rope_scaling = ModelConfig::RopeScaling::kYarn;
  config_.rope_factor = 0;  // required
  config_.rope_original_context = config_.context_tokens_max;
  return ReadPositive("rope.scaling.factor", config_.rope_factor) &&
         ReadWhole("rope.scaling.original_context_length", {1, kContextTokensMax},
                   config_.rope_original_context);
}

// The factor has an old key, too; where both are present the new one counts.
bool ConfigReader::ReadLinearScaling() {
  if (!ReadPositive("rope.scale_linear", config_.rope_factor) ||
      !ReadPositive("rope.scaling.factor", config_.rope_factor)) {
    return false;
  }
  if (config_.rope_factor != 1) config_.rope_scaling = ModelConfig::RopeScaling::kLinear;
  return true;
}

bool ConfigReader::ReadAttention() {
  if (!ReadPositive("attention.layer_norm_rms_epsilon", config_.rms_epsilon)) return false;
  config_.attention_scale = 1 / std::sqrt(static_cast<float>(config_.head_dim));
  if (!ReadPositive("attention.scale", config_.attention_scale)) return false;
  int window = config_.context_tokens_max;
  if (!ReadWhole("attention.sliding_window", {1, kContextTokensMax}, window)) return false;
  if (window < config_.context_tokens_max) {
    return FailKey(Key("attention.sliding_window"),
                   "a sliding window of " + std::to_string(window) +
                       " tokens is not supported yet, expected none");
  }
  return true;
}

// Whatever would change the computation and is not computed.
bool ConfigReader::CheckUnsupported() {
  for (const FixedNumber& number : kFixedNumbers) {
    const std::string key = Key(number.key);
    const Found<float> found = file_.Float(key);
    if (!found) return Fail(found.error());
    if (found->value_or(number.value) == number.value) continue;
    return FailKey(key, "found " + std::to_string(**found) + ", which is not supported yet, " +
                            "expected " + std::to_string(number.value));
  }
  const std::string experts = Key("expert_count");
  const Found<std::uint64_t> expert_count = file_.Uint(experts);
  if (!expert_count) return Fail(expert_count.error());
  if (expert_count->value_or(0) != 0) {
    return FailKey(experts, "a mixture of experts is not supported yet, expected 0");
  }
  for (const TensorInfo& tensor : file_.tensors()) {
    for (const std::string_view part : kUnsupportedTensorParts) {
      if (tensor.name.find(part) == std::string_view::npos) continue;
      return Fail(file_.Where(tensor) + ": tensors with '" + std::string(part) +
                  "' in their names are not supported yet by architecture " + config_.architecture +
                  std::string(kUseAnother));
    }
  }
  return true;
}

// The rows of the embedding; more than the tokenizer has tokens is padding, fewer is a lie.
bool ConfigReader::ReadVocabulary() {
  const TensorInfo* embedding = file_.FindTensor("token_embd.weight");
  if (embedding == nullptr) {
    return Fail(file_.name() + ": tensor 'token_embd.weight' is missing (the file has " +
                std::to_string(file_.tensors().size()) + " tensors)" + std::string(kUseAnother));
  }
  const std::uint64_t rows = embedding->dims[1];
  if (rows > static_cast<std::uint64_t>(kVocabCountMax)) {
    return Fail(file_.Where(*embedding) + ": found " + std::to_string(rows) +
                " rows, expected at most " + std::to_string(kVocabCountMax) +
                std::string(kUseAnother));
  }
  config_.vocab_count = static_cast<int>(rows);
  const std::string too_few =
      ", expected at most the " + std::to_string(rows) + " rows of tensor 'token_embd.weight'";
  const MetadataEntry* tokens = file_.FindEntry("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->count > rows) {
    return FailKey(tokens->key, "found " + std::to_string(tokens->count) + " tokens" + too_few);
  }
  const std::string key = Key("vocab_size");
  const Found<std::uint64_t> size = file_.Uint(key);
  if (!size) return Fail(size.error());
  if (size->value_or(0) > rows) return FailKey(key, "found " + std::to_string(**size) + too_few);
  return true;
}

bool ConfigReader::CheckTensors() {
  config_.tied_output = file_.FindTensor("output.weight") == nullptr;
  for (const Wanted& wanted : WantedTensors(config_)) {
    if (!CheckTensor(wanted)) return false;
  }
  const std::string beyond = "blk." + std::to_string(config_.layer_count) + ".";
  for (const TensorInfo& tensor : file_.tensors()) {
    if (!tensor.name.starts_with(beyond)) continue;
    return FailKey(Key("block_count"), "found " + std::to_string(config_.layer_count) +
                                           " layers, but also tensor '" + Printable(tensor.name) +
                                           "' of one more");
  }
  return CheckRopeFactors();
}

bool ConfigReader::CheckTensor(const Wanted& wanted) {
  const TensorInfo* tensor = file_.FindTensor(wanted.name);
  if (tensor == nullptr) {
    if (wanted.is_optional) return true;
    return Fail(file_.name() + ": tensor '" + wanted.name + "' is missing, the model has " +
                std::to_string(config_.layer_count) + " layers by '" + Key("block_count") + "'" +
                std::string(kUseAnother));
  }
  if (tensor->dims != wanted.dims) {
    TensorInfo expected;
    expected.dims = wanted.dims;
    expected.dim_count = wanted.is_vector ? 1 : 2;
    return Fail(file_.Where(*tensor) + ": found shape " + ShapeText(*tensor) + ", expected " +
                ShapeText(expected) + std::string(kUseAnother));
  }
  if (wanted.is_vector && tensor->type != TensorType::kF32) {
    return Fail(file_.Where(*tensor) + ": found type " + std::string(TypeName(tensor->type)) +
                ", expected F32 for a tensor of one row" + std::string(kUseAnother));
  }
  return true;
}

// Frequencies are divided by these.
bool ConfigReader::CheckRopeFactors() {
  const TensorInfo* tensor = file_.FindTensor("rope_freqs.weight");
  if (tensor == nullptr) return true;
  for (std::size_t i = 0; i < tensor->dims[0]; ++i) {
    float factor = 0;
    std::memcpy(&factor, tensor->content.data() + i * sizeof factor, sizeof factor);
    if (std::isfinite(factor) && factor > 0) continue;
    return Fail(file_.Where(*tensor) + ": found factor " + std::to_string(factor) + " at index " +
                std::to_string(i) + ", expected finite numbers above 0" + std::string(kUseAnother));
  }
  return true;
}

}  // namespace

std::expected<ModelConfig, std::string> ModelConfig::From(const GgufFile& file) {
  return ConfigReader(file).Read();
}

std::vector<std::string_view> UnusedTensors(const GgufFile& file, const ModelConfig& config) {
  std::unordered_set<std::string> used;
  for (Wanted& wanted : WantedTensors(config)) used.insert(std::move(wanted.name));
  std::vector<std::string_view> unused;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!used.contains(std::string(tensor.name))) unused.push_back(tensor.name);
  }
  return unused;
}

}  // namespace engine
