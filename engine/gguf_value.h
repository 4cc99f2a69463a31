// What a GGUF file is made of: value types, tensor types, metadata entries and tensor infos.
//
// Plain structs whose views point into the file's bytes; nothing here owns memory. GgufFile makes
// them and guarantees what the comments promise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace engine {

// The type ids of metadata values, as stored.
enum class ValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// The type ids of tensors that the engine computes with, as stored.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ8_0 = 8,
  kBF16 = 30,
};

// One metadata value. Of an array, `element_type` is never kArray and `content` holds the
// elements; of a scalar, element_type equals type and count is 1. The content of a string is its
// characters; strings in an array still carry their 8-byte lengths (checked).
struct MetadataEntry {
  std::string_view key;
  ValueType type = ValueType::kUint8;
  ValueType element_type = ValueType::kUint8;
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  // of the content, from the start of the file
  std::span<const std::byte> content;
};

// One tensor. dims[0] is the contiguous row length; dims past dim_count are 1; none is 0.
// content.size() == bytes == product of dims / BlockElements * BlockBytes.
struct TensorInfo {
  std::string_view name;
  TensorType type = TensorType::kF32;
  std::array<std::uint64_t, 4> dims = {1, 1, 1, 1};
  int dim_count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // of the content, from the start of the file; aligned
  std::span<const std::byte> content;
};

// "Q4_1"; "u32".
[[nodiscard]] std::string_view TypeName(TensorType type);
[[nodiscard]] std::string_view TypeName(ValueType type);
// Weights per block and bytes per block; F32, F16 and BF16 have blocks of one weight.
[[nodiscard]] int BlockElements(TensorType type);
[[nodiscard]] int BlockBytes(TensorType type);

// Of a stored type id: whether it is a TensorType; else the name that other programs give it, empty
// when it is unknown.
[[nodiscard]] bool IsTensorType(std::uint32_t type);
[[nodiscard]] std::string_view UnsupportedTypeName(std::uint32_t type);
// Of a stored type id: bytes of a value, at least these for strings and arrays; 0 when unknown.
[[nodiscard]] std::uint64_t ValueBytes(std::uint32_t type);

// "[576, 49152]", as stored: row length first.
[[nodiscard]] std::string ShapeText(const TensorInfo& tensor);

// Text from outside made safe for one line of a message: control bytes, bytes that are not UTF-8,
// quotes and backslashes as \xNN; cut with "..." past bytes_max.
[[nodiscard]] std::string Printable(std::string_view text, std::size_t bytes_max = 96);

}  // namespace engine
