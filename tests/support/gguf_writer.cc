#include "tests/support/gguf_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace support {
namespace {

using engine::ValueType;

template <typename T>
constexpr ValueType TypeOf() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return ValueType::kUint8;
  if constexpr (std::is_same_v<T, std::int8_t>) return ValueType::kInt8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return ValueType::kUint16;
  if constexpr (std::is_same_v<T, std::int16_t>) return ValueType::kInt16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return ValueType::kUint32;
  if constexpr (std::is_same_v<T, std::int32_t>) return ValueType::kInt32;
  if constexpr (std::is_same_v<T, float>) return ValueType::kFloat32;
  if constexpr (std::is_same_v<T, bool>) return ValueType::kBool;
  if constexpr (std::is_same_v<T, std::string>) return ValueType::kString;
  if constexpr (std::is_same_v<T, std::uint64_t>) return ValueType::kUint64;
  if constexpr (std::is_same_v<T, std::int64_t>) return ValueType::kInt64;
  if constexpr (std::is_same_v<T, double>) return ValueType::kFloat64;
  return ValueType::kArray;
}

template <typename T>
void AppendScalar(ByteString& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    out.Text(value);
  } else {
    const auto raw = std::bit_cast<std::array<char, sizeof(T)>>(value);
    out.Raw({raw.data(), raw.size()});
  }
}

struct Encoder {
  template <typename T>
  std::uint32_t operator()(const std::vector<T>& values) {
    out.U32(static_cast<std::uint32_t>(TypeOf<T>())).U64(values.size());
    for (const auto& value : values) AppendScalar<T>(out, value);
    return static_cast<std::uint32_t>(ValueType::kArray);
  }
  template <typename T>
  std::uint32_t operator()(const T& value) {
    AppendScalar(out, value);
    return static_cast<std::uint32_t>(TypeOf<T>());
  }
  ByteString out;
};

std::uint64_t AlignUp(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

ByteString& ByteString::Number(std::uint64_t value, int byte_count) {
  for (int i = 0; i < byte_count; ++i) {
    bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  return *this;
}

ByteString& ByteString::Raw(std::string_view text) {
  for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  return *this;
}

ByteString& ByteString::Text(std::string_view text) { return U64(text.size()).Raw(text); }

ByteString& ByteString::Pad(std::size_t multiple) {
  bytes_.resize(static_cast<std::size_t>(AlignUp(bytes_.size(), multiple)));
  return *this;
}

void GgufWriter::Set(std::string_view key, const GgufValue& value) {
  Encoder encoder;
  const std::uint32_t type = std::visit(encoder, value);
  SetRaw(key, type, encoder.out.bytes());
}

void GgufWriter::SetRaw(std::string_view key, std::uint32_t type, std::vector<std::byte> value) {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  if (entry == entries.end()) {
    entries.push_back({std::string(key), std::nullopt, type, std::move(value)});
  } else {
    entry->type = type;
    entry->value = std::move(value);
  }
}

void GgufWriter::Remove(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
}

void GgufWriter::AddTensor(std::string_view name, engine::TensorType type,
                           std::vector<std::uint64_t> dims, std::vector<std::byte> content) {
  Tensor tensor;
  tensor.name = name;
  tensor.dims = std::move(dims);
  tensor.type = static_cast<std::uint32_t>(type);
  tensor.content = std::move(content);
  tensors.push_back(std::move(tensor));
}

GgufWriter::Tensor& GgufWriter::FindTensor(std::string_view name) {
  const auto tensor = std::ranges::find(tensors, name, &Tensor::name);
  if (tensor == tensors.end()) throw std::out_of_range("no tensor " + std::string(name));
  return *tensor;
}

void GgufWriter::RemoveTensor(std::string_view name) {
  std::erase_if(tensors, [&](const Tensor& tensor) { return tensor.name == name; });
}

std::vector<std::byte> GgufWriter::Directory() const {
  ByteString out;
  out.Raw(magic).U32(version);
  out.U64(tensor_count.value_or(tensors.size())).U64(metadata_count.value_or(entries.size()));
  for (const Entry& entry : entries) {
    out.U64(entry.key_bytes.value_or(entry.key.size())).Raw(entry.key).U32(entry.type);
    out.Raw({reinterpret_cast<const char*>(entry.value.data()), entry.value.size()});
  }
  std::uint64_t next = 0;
  for (const Tensor& tensor : tensors) {
    out.U64(tensor.name_bytes.value_or(tensor.name.size())).Raw(tensor.name);
    out.U32(tensor.dim_count.value_or(static_cast<std::uint32_t>(tensor.dims.size())));
    for (const std::uint64_t dim : tensor.dims) out.U64(dim);
    out.U32(tensor.type).U64(tensor.offset.value_or(next));
    next = AlignUp(next + tensor.content.size(), alignment);
  }
  return out.bytes();
}

std::vector<std::byte> GgufWriter::Bytes() const {
  std::vector<std::byte> bytes = Directory();
  for (const Tensor& tensor : tensors) {
    bytes.resize(static_cast<std::size_t>(AlignUp(bytes.size(), alignment)));
    bytes.insert(bytes.end(), tensor.content.begin(), tensor.content.end());
  }
  return bytes;
}

// Piece by piece: a real model is large.
void GgufWriter::WriteFile(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  std::uint64_t written = 0;
  const auto write = [&](const std::vector<std::byte>& bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    written += bytes.size();
  };
  write(Directory());
  for (const Tensor& tensor : tensors) {
    write(std::vector<std::byte>(static_cast<std::size_t>(AlignUp(written, alignment) - written)));
    write(tensor.content);
  }
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

}  // namespace support
