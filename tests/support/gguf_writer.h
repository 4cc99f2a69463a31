// Writes GGUF bytes for tests: valid ones by default, and every lie a test asks for.
//
//   support::GgufWriter writer;
//   writer.Set("general.architecture", "llama");
//   writer.AddTensor("token_embd.weight", engine::TensorType::kF32, {32, 8}, content);
//   writer.tensors.back().offset = 7;  // a lie
//   std::vector<std::byte> bytes = writer.Bytes();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/gguf_value.h"

namespace support {

// A metadata value; its C++ type decides the stored type (an int literal is stored as i32).
using GgufValue =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                 std::int32_t, float, bool, std::string, std::uint64_t, std::int64_t, double,
                 std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

// Little-endian bytes, appended piece by piece.
class ByteString {
 public:
  ByteString& U8(std::uint8_t value) { return Number(value, 1); }
  ByteString& U32(std::uint32_t value) { return Number(value, 4); }
  ByteString& U64(std::uint64_t value) { return Number(value, 8); }
  ByteString& Raw(std::string_view text);
  ByteString& Text(std::string_view text);  // with its length before it
  ByteString& Pad(std::size_t multiple);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  ByteString& Number(std::uint64_t value, int byte_count);

  std::vector<std::byte> bytes_;
};

class GgufWriter {
 public:
  struct Entry {
    std::string key;
    std::optional<std::uint64_t> key_bytes;  // a lie about the key's length
    std::uint32_t type = 0;
    std::vector<std::byte> value;
  };
  struct Tensor {
    std::string name;
    std::optional<std::uint64_t> name_bytes;
    std::optional<std::uint32_t> dim_count;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;
    std::optional<std::uint64_t> offset;  // without: after the tensor before, aligned
    std::vector<std::byte> content;
  };

  // Replaces the value of a key that is there already.
  void Set(std::string_view key, const GgufValue& value);
  // A value of any type and any bytes.
  void SetRaw(std::string_view key, std::uint32_t type, std::vector<std::byte> value);
  void Remove(std::string_view key);
  void AddTensor(std::string_view name, engine::TensorType type, std::vector<std::uint64_t> dims,
                 std::vector<std::byte> content);
  Tensor& FindTensor(std::string_view name);  // throws when there is none
  void RemoveTensor(std::string_view name);

  [[nodiscard]] std::vector<std::byte> Bytes() const;
  void WriteFile(const std::string& path) const;  // throws when it can't be written

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint32_t alignment = 32;  // of the contents; the key is the caller's to set
  std::optional<std::uint64_t> tensor_count;
  std::optional<std::uint64_t> metadata_count;
  std::vector<Entry> entries;
  std::vector<Tensor> tensors;

 private:
  [[nodiscard]] std::vector<std::byte> Directory() const;  // all before the tensors' contents
};

}  // namespace support
