// Any bytes as a model file: parsed, described and checked as a model without a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "engine/gguf_file.h"
#include "engine/model_config.h"
#include "engine/model_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(bytes), size);
  const auto file = engine::GgufFile::Parse(input, "fuzz.gguf");
  if (!file) {
    if (!file.error().starts_with("fuzz.gguf: ")) std::abort();
    return 0;
  }
  for (const engine::TensorInfo& tensor : file->tensors()) {
    if (tensor.content.size() != tensor.bytes) std::abort();
    (void)engine::CheckFinite(*file, tensor).has_value();
  }
  if (engine::DescribeModelFile(*file).empty()) std::abort();
  const auto config = engine::ModelConfig::From(*file);
  if (config) {
    (void)engine::UnusedTensors(*file, *config).size();
  } else if (config.error().find("fuzz.gguf") == std::string::npos) {
    std::abort();
  }
  return 0;
}
