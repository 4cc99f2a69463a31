// Writes the seeds of the GGUF fuzz target: gguf_seeds FOLDER
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tests/support/tiny_model.h"

namespace {

using engine::TensorType;
using support::GgufWriter;

GgufWriter Model(TensorType type) {
  support::TinyModelOptions options;
  options.matrix_type = type;
  return support::TinyModel(options);
}

GgufWriter EveryValueType() {
  GgufWriter writer;
  writer.Set("a.u8", std::uint8_t{1});
  writer.Set("a.i8", std::int8_t{-1});
  writer.Set("a.u16", std::uint16_t{1});
  writer.Set("a.i16", std::int16_t{-1});
  writer.Set("a.u32", std::uint32_t{1});
  writer.Set("a.i32", -1);
  writer.Set("a.f32", 1.0F);
  writer.Set("a.bool", true);
  writer.Set("a.string", std::string("text"));
  writer.Set("a.u64", std::uint64_t{1});
  writer.Set("a.i64", std::int64_t{-1});
  writer.Set("a.f64", 1.0);
  writer.Set("a.strings", std::vector<std::string>{"one", "", "three"});
  writer.Set("a.ints", std::vector<std::int32_t>{1, -2, 3});
  writer.Set("a.floats", std::vector<float>{1, 2});
  writer.Set("a.bools", std::vector<bool>{true, false});
  writer.Set("general.alignment", std::uint32_t{64});
  writer.alignment = 64;
  writer.AddTensor("t", TensorType::kF32, {2, 2, 2, 2}, std::vector<std::byte>(64));
  return writer;
}

void WriteSeeds(const std::string& folder) {
  for (const TensorType type : {TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0,
                                TensorType::kQ4_0, TensorType::kQ4_1}) {
    Model(type).WriteFile(folder + "/model_" + std::string(engine::TypeName(type)));
  }
  GgufWriter yarn = Model(TensorType::kQ4_0);
  yarn.Set("llama.rope.scaling.type", std::string("yarn"));
  yarn.Set("llama.rope.scaling.factor", 4.0F);
  yarn.Set("llama.attention.head_count_kv", std::vector<std::int32_t>{1});
  yarn.AddTensor("rope_freqs.weight", TensorType::kF32, {8}, std::vector<std::byte>(32));
  yarn.WriteFile(folder + "/model_yarn");
  EveryValueType().WriteFile(folder + "/values");
  GgufWriter nested;
  nested.SetRaw("a.nested", 9, support::ByteString().U32(9).U64(1).U32(9).U64(1).bytes());
  nested.WriteFile(folder + "/nested");
  GgufWriter wrapping;
  wrapping.AddTensor("t", TensorType::kF32, {1ull << 32, 1ull << 32}, {});
  wrapping.WriteFile(folder + "/wrapping");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gguf_seeds FOLDER\n";
    return 2;
  }
  try {
    WriteSeeds(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
