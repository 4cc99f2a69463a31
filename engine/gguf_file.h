// A GGUF model file: bytes in, metadata and tensor directory out.
//
// The idea: everything the file declares (counts, lengths, types, dims, offsets) is compared with
// the bytes that are really there before it is used, in checked 64-bit arithmetic. Opens no file,
// recurses nowhere and allocates at most a few bytes per byte of the file, hence fuzzable. Strings
// and tensors are views into the bytes.
//
//   magic "GGUF" | version | tensor count | metadata count
//   metadata:  key, value type, value             (repeated)
//   tensors:   name, dims, type, offset           (repeated)
//   zero bytes up to the alignment | tensor contents, each aligned
//
// Reads versions 2 and 3, little-endian. Split files are refused. Whether the contents make a
// model that the engine can run is ModelConfig's question.
// Source: ggml docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf_value.h"

namespace engine {

// Limits; a real model stays far below each.
inline constexpr std::uint64_t kMetadataCountMax = 65'536;
inline constexpr std::uint64_t kTensorCountMax = 65'536;
inline constexpr std::uint64_t kKeyBytesMax = 65'535;
inline constexpr std::uint64_t kStringBytesMax = 16u << 20;
inline constexpr std::uint64_t kTensorNameBytesMax = 63;
inline constexpr std::uint64_t kTensorDimsMax = 4;
inline constexpr std::uint64_t kAlignmentMax = 65'536;

// A value, nothing when the file has no such key, or a sentence when its type is another.
template <typename T>
using Found = std::expected<std::optional<T>, std::string>;

// Thread: any; constant after Parse. Ownership: the bytes must outlive it and all it returns.
class GgufFile {
 public:
  // `file_name` appears in messages only.
  // Returns: a sentence naming file, key or tensor, byte offset, what was found, what was expected
  // and the way out.
  [[nodiscard]] static std::expected<GgufFile, std::string> Parse(std::span<const std::byte> bytes,
                                                                  std::string file_name);

  const std::string& name() const { return name_; }  // printable
  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  std::uint64_t file_bytes() const { return bytes_.size(); }

  // In the order of the file.
  const std::vector<MetadataEntry>& metadata() const { return metadata_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  // Null when there is none.
  [[nodiscard]] const MetadataEntry* FindEntry(std::string_view key) const;
  [[nodiscard]] const TensorInfo* FindTensor(std::string_view name) const;

  // Scalars. Integers of any width and sign are accepted where the value fits; f64 where f32 is
  // meant if it fits. Not a number is a value: the caller checks ranges.
  [[nodiscard]] Found<std::uint64_t> Uint(std::string_view key) const;
  [[nodiscard]] Found<std::int64_t> Int(std::string_view key) const;
  [[nodiscard]] Found<float> Float(std::string_view key) const;
  [[nodiscard]] Found<bool> Bool(std::string_view key) const;
  [[nodiscard]] Found<std::string_view> String(std::string_view key) const;  // any bytes

  // Arrays. The views of Strings point into the file and may be any bytes.
  [[nodiscard]] Found<std::vector<std::string_view>> Strings(std::string_view key) const;
  [[nodiscard]] Found<std::vector<std::int64_t>> Ints(std::string_view key) const;
  [[nodiscard]] Found<std::vector<float>> Floats(std::string_view key) const;

  // "models/a.gguf: key 'llama.block_count' at byte 120": how a sentence about a key begins.
  [[nodiscard]] std::string Where(const MetadataEntry& entry) const;
  [[nodiscard]] std::string Where(const TensorInfo& tensor) const;

 private:
  friend class GgufReader;
  GgufFile() = default;

  std::string name_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::span<const std::byte> bytes_;
  std::vector<MetadataEntry> metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::uint32_t> metadata_by_key_;  // indexes, sorted by key
  std::vector<std::uint32_t> tensors_by_name_;
};

// Looks for scales or values that are not finite. Reads the whole tensor.
// Returns: a sentence naming the first one.
[[nodiscard]] std::expected<void, std::string> CheckFinite(const GgufFile& file,
                                                           const TensorInfo& tensor);

}  // namespace engine
