#include "tests/support/f32_model.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace support {
namespace {

using engine::TensorType;

std::uint16_t Bits16(const std::byte* at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) |
                                    std::to_integer<unsigned>(at[1]) << 8);
}

float Bf16(const std::byte* at) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(Bits16(at)) << 16);
}

float Half(const std::byte* at) {
  const unsigned bits = Bits16(at);
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const auto fraction = static_cast<float>(bits & 1023u);
  const float sign = (bits & 0x8000u) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) throw std::runtime_error("an F16 number is not finite");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0F + fraction, exponent - 25);
}

// Element j of a block of 32 four-bit numbers: the low halves come first.
float Nibble(const std::byte* quants, std::size_t j) {
  const unsigned pair = std::to_integer<unsigned>(quants[j % 16]);
  return static_cast<float>(j < 16 ? pair & 15u : pair >> 4);
}

float Element(TensorType type, const std::byte* block, std::size_t j) {
  switch (type) {
    case TensorType::kF32: {
      float value = 0;
      std::memcpy(&value, block, sizeof value);
      return value;
    }
    case TensorType::kF16:
      return Half(block);
    case TensorType::kBF16:
      return Bf16(block);
    case TensorType::kQ8_0:
      return static_cast<float>(std::to_integer<std::int8_t>(block[2 + j])) * Half(block);
    case TensorType::kQ4_0:
      return (Nibble(block + 2, j) - 8) * Half(block);
    case TensorType::kQ4_1:
      return Nibble(block + 4, j) * Half(block) + Half(block + 2);
  }
  throw std::runtime_error("a tensor type without a formula");
}

ByteString& AppendRaw(ByteString& out, std::span<const std::byte> bytes) {
  return out.Raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The value as it stands in the file, whose view leaves out what precedes the content.
std::vector<std::byte> StoredValue(const engine::MetadataEntry& entry) {
  ByteString out;
  if (entry.type == engine::ValueType::kString) out.U64(entry.content.size());
  if (entry.type == engine::ValueType::kArray) {
    out.U32(static_cast<std::uint32_t>(entry.element_type)).U64(entry.count);
  }
  return AppendRaw(out, entry.content).bytes();
}

}  // namespace

std::vector<float> Dequantized(const engine::TensorInfo& tensor) {
  const auto elements = static_cast<std::size_t>(engine::BlockElements(tensor.type));
  const auto block_bytes = static_cast<std::size_t>(engine::BlockBytes(tensor.type));
  const std::size_t block_count = tensor.content.size() / block_bytes;
  std::vector<float> values(block_count * elements);
  for (std::size_t i = 0; i < block_count; ++i) {
    const std::byte* block = tensor.content.data() + i * block_bytes;
    for (std::size_t j = 0; j < elements; ++j) {
      values[i * elements + j] = Element(tensor.type, block, j);
    }
  }
  return values;
}

GgufWriter F32Model(const engine::GgufFile& file) {
  GgufWriter writer;
  writer.alignment = static_cast<std::uint32_t>(file.alignment());
  for (const engine::MetadataEntry& entry : file.metadata()) {
    writer.SetRaw(entry.key, static_cast<std::uint32_t>(entry.type), StoredValue(entry));
  }
  writer.Set("general.file_type", std::uint32_t{0});
  for (const engine::TensorInfo& tensor : file.tensors()) {
    const std::vector<float> values = Dequantized(tensor);
    std::vector<std::byte> content(values.size() * sizeof(float));
    std::memcpy(content.data(), values.data(), content.size());
    const auto dims = tensor.dims.begin();
    writer.AddTensor(tensor.name, TensorType::kF32, {dims, dims + tensor.dim_count},
                     std::move(content));
  }
  return writer;
}

}  // namespace support
