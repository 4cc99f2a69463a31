#include "engine/gguf_file.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace engine {
namespace {

// A stored integer of any width: its value modulo 2^64, and whether it is below 0.
struct Whole {
  std::uint64_t bits = 0;
  bool is_negative = false;
};

template <typename T>
T Load(std::span<const std::byte> content, std::size_t index) {
  T value;
  assert((index + 1) * sizeof value <= content.size());
  std::memcpy(&value, content.data() + index * sizeof value, sizeof value);
  return value;
}

template <typename T>
Whole LoadWhole(std::span<const std::byte> content, std::size_t index) {
  const T value = Load<T>(content, index);
  return {static_cast<std::uint64_t>(value), value < T{0}};
}

bool IsWhole(ValueType type) {
  return type != ValueType::kFloat32 && type != ValueType::kFloat64 && type != ValueType::kBool &&
         type != ValueType::kString && type != ValueType::kArray;
}

// Requires: IsWhole(entry.element_type), index < entry.count.
Whole WholeAt(const MetadataEntry& entry, std::size_t index) {
  switch (entry.element_type) {
    case ValueType::kUint8:
      return LoadWhole<std::uint8_t>(entry.content, index);
    case ValueType::kInt8:
      return LoadWhole<std::int8_t>(entry.content, index);
    case ValueType::kUint16:
      return LoadWhole<std::uint16_t>(entry.content, index);
    case ValueType::kInt16:
      return LoadWhole<std::int16_t>(entry.content, index);
    case ValueType::kUint32:
      return LoadWhole<std::uint32_t>(entry.content, index);
    case ValueType::kInt32:
      return LoadWhole<std::int32_t>(entry.content, index);
    case ValueType::kUint64:
      return LoadWhole<std::uint64_t>(entry.content, index);
    case ValueType::kInt64:
      return LoadWhole<std::int64_t>(entry.content, index);
    default:
      assert(false);
      return {};
  }
}

bool FitsInt64(const Whole& whole) {
  return whole.is_negative || whole.bits <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

// The value as f32; nothing when a finite f64 is outside f32's range.
std::optional<float> FloatAt(const MetadataEntry& entry, std::size_t index) {
  if (entry.element_type == ValueType::kFloat32) return Load<float>(entry.content, index);
  const auto value = Load<double>(entry.content, index);
  if (std::isfinite(value) && std::abs(value) > double{std::numeric_limits<float>::max()}) {
    return std::nullopt;
  }
  return static_cast<float>(value);
}

bool IsFloat(ValueType type) { return type == ValueType::kFloat32 || type == ValueType::kFloat64; }

std::string_view Text(std::span<const std::byte> content) {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

std::unexpected<std::string> WrongType(const GgufFile& file, const MetadataEntry& entry,
                                       std::string_view expected) {
  std::string found(TypeName(entry.element_type));
  if (entry.type == ValueType::kArray) found = "an array of " + found;
  return std::unexpected(file.Where(entry) + " has type " + found + ", expected " +
                         std::string(expected) + "; convert the model again or use another file");
}

std::unexpected<std::string> OutOfRange(const GgufFile& file, const MetadataEntry& entry,
                                        std::string_view expected) {
  return std::unexpected(file.Where(entry) + " is out of range, expected " + std::string(expected) +
                         "; convert the model again or use another file");
}

bool IsFiniteHalf(std::uint16_t bits) { return (bits & 0x7C00u) != 0x7C00u; }

// Whether the values, or for quantized types the scales, of one block are finite.
bool IsFiniteBlock(TensorType type, const std::byte* block) {
  const auto half = [&](std::size_t index) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, block + 2 * index, sizeof bits);
    return bits;
  };
  switch (type) {
    case TensorType::kF32: {
      float value = 0;
      std::memcpy(&value, block, sizeof value);
      return std::isfinite(value);
    }
    case TensorType::kBF16:
      return (half(0) & 0x7F80u) != 0x7F80u;
    case TensorType::kF16:
    case TensorType::kQ8_0:
    case TensorType::kQ4_0:
      return IsFiniteHalf(half(0));
    case TensorType::kQ4_1:
      return IsFiniteHalf(half(0)) && IsFiniteHalf(half(1));
  }
  return false;
}

}  // namespace

const MetadataEntry* GgufFile::FindEntry(std::string_view key) const {
  const auto at = std::ranges::lower_bound(metadata_by_key_, key, {},
                                           [&](std::uint32_t i) { return metadata_[i].key; });
  if (at == metadata_by_key_.end() || metadata_[*at].key != key) return nullptr;
  return &metadata_[*at];
}

const TensorInfo* GgufFile::FindTensor(std::string_view name) const {
  const auto at = std::ranges::lower_bound(tensors_by_name_, name, {},
                                           [&](std::uint32_t i) { return tensors_[i].name; });
  if (at == tensors_by_name_.end() || tensors_[*at].name != name) return nullptr;
  return &tensors_[*at];
}

Found<std::uint64_t> GgufFile::Uint(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (!IsWhole(entry->type)) return WrongType(*this, *entry, "a whole number");
  const Whole whole = WholeAt(*entry, 0);
  if (whole.is_negative) return OutOfRange(*this, *entry, "0 or more");
  return whole.bits;
}

Found<std::int64_t> GgufFile::Int(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (!IsWhole(entry->type)) return WrongType(*this, *entry, "a whole number");
  const Whole whole = WholeAt(*entry, 0);
  if (!FitsInt64(whole)) return OutOfRange(*this, *entry, "less than 2^63");
  return static_cast<std::int64_t>(whole.bits);
}

Found<float> GgufFile::Float(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (!IsFloat(entry->type)) return WrongType(*this, *entry, "f32");
  const std::optional<float> value = FloatAt(*entry, 0);
  if (!value) return OutOfRange(*this, *entry, "a number that fits f32");
  return value;
}

Found<bool> GgufFile::Bool(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kBool) return WrongType(*this, *entry, "bool");
  return entry->content[0] != std::byte{0};
}

Found<std::string_view> GgufFile::String(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kString) return WrongType(*this, *entry, "string");
  return Text(entry->content);
}

Found<std::vector<std::string_view>> GgufFile::Strings(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || entry->element_type != ValueType::kString) {
    return WrongType(*this, *entry, "an array of string");
  }
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<std::size_t>(entry->count));
  std::span<const std::byte> rest = entry->content;
  for (std::uint64_t i = 0; i < entry->count; ++i) {
    const auto bytes = static_cast<std::size_t>(Load<std::uint64_t>(rest, 0));
    rest = rest.subspan(sizeof(std::uint64_t));
    assert(bytes <= rest.size());  // Parse has walked over them.
    strings.push_back(Text(rest.first(bytes)));
    rest = rest.subspan(bytes);
  }
  return strings;
}

Found<std::vector<std::int64_t>> GgufFile::Ints(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || !IsWhole(entry->element_type)) {
    return WrongType(*this, *entry, "an array of whole numbers");
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(entry->count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Whole whole = WholeAt(*entry, i);
    if (!FitsInt64(whole)) return OutOfRange(*this, *entry, "elements less than 2^63");
    values[i] = static_cast<std::int64_t>(whole.bits);
  }
  return values;
}

Found<std::vector<float>> GgufFile::Floats(std::string_view key) const {
  const MetadataEntry* entry = FindEntry(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || !IsFloat(entry->element_type)) {
    return WrongType(*this, *entry, "an array of f32");
  }
  std::vector<float> values(static_cast<std::size_t>(entry->count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<float> value = FloatAt(*entry, i);
    if (!value) return OutOfRange(*this, *entry, "numbers that fit f32");
    values[i] = *value;
  }
  return values;
}

std::string GgufFile::Where(const MetadataEntry& entry) const {
  return name_ + ": key '" + Printable(entry.key) + "' at byte " + std::to_string(entry.offset);
}

std::string GgufFile::Where(const TensorInfo& tensor) const {
  return name_ + ": tensor '" + Printable(tensor.name) + "' at byte " +
         std::to_string(tensor.offset);
}

std::expected<void, std::string> CheckFinite(const GgufFile& file, const TensorInfo& tensor) {
  const auto block_bytes = static_cast<std::size_t>(BlockBytes(tensor.type));
  const std::size_t block_count = tensor.content.size() / block_bytes;
  for (std::size_t i = 0; i < block_count; ++i) {
    if (IsFiniteBlock(tensor.type, tensor.content.data() + i * block_bytes)) continue;
    return std::unexpected(file.Where(tensor) + ": block " + std::to_string(i) + " at byte " +
                           std::to_string(tensor.offset + i * block_bytes) +
                           " holds a number that is not finite; the file is damaged, fetch it "
                           "again");
  }
  return {};
}

}  // namespace engine
