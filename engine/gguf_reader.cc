// GgufFile::Parse: one pass over header, metadata and tensor infos, then the placing of contents.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/gguf_file.h"

namespace engine {
namespace {

static_assert(kMetadataCountMax <= std::numeric_limits<std::uint32_t>::max());
static_assert(kTensorCountMax <= std::numeric_limits<std::uint32_t>::max());

constexpr std::string_view kFetchAgain = "; the file is damaged or incomplete, fetch it again";
constexpr std::string_view kConvertAgain =
    "; the file was not written to the format, convert the model again or use another file";
constexpr std::string_view kUseAnother = "use a file quantized as Q4_0, Q4_1 or Q8_0";

// The smallest encodings: a key of one byte with a value of one; a name of one byte, one dim.
constexpr std::uint64_t kMetadataBytesMin = 8 + 1 + 4 + 1;
constexpr std::uint64_t kTensorInfoBytesMin = 8 + 1 + 4 + 8 + 4 + 8;

bool Multiplies(std::uint64_t& product, std::uint64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

std::string Count(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace

// Every Read… and Check… returns whether to go on; on false, error_ is the sentence.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, std::string_view name) {
    file_.bytes_ = bytes;
    file_.name_ = Printable(name, 4096);
  }

  std::expected<GgufFile, std::string> Read() {
    if (!ReadHeader() || !ReadMetadata() || !SortMetadata() || !CheckSplit() || !ReadAlignment() ||
        !ReadTensors() || !SortTensors() || !PlaceTensors() || !CheckOverlaps()) {
      return std::unexpected(std::move(error_));
    }
    return std::move(file_);
  }

 private:
  std::uint64_t Remaining() const { return file_.bytes_.size() - position_; }

  bool Fail(std::uint64_t offset, std::string_view found, std::string_view way_out) {
    assert(error_.empty());
    error_ = file_.name_ + ": " + subject_ + " at byte " + std::to_string(offset) + ": ";
    error_.append(found).append(way_out);
    return false;
  }

  template <typename T>
  bool Take(T& value, std::string_view what) {
    if (Remaining() < sizeof value) {
      return Fail(position_,
                  "found " + Count(Remaining(), "byte") + ", expected " +
                      std::to_string(sizeof value) + " for " + std::string(what),
                  kFetchAgain);
    }
    std::memcpy(&value, file_.bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return true;
  }

  bool TakeText(std::string_view& text, std::string_view what, std::uint64_t bytes_max) {
    const std::uint64_t offset = position_;
    std::uint64_t bytes = 0;
    if (!Take(bytes, std::string("the length of ") + std::string(what))) return false;
    if (bytes > bytes_max) {
      return Fail(offset,
                  std::string(what) + " is declared " + Count(bytes, "byte") +
                      " long, expected at most " + std::to_string(bytes_max),
                  kConvertAgain);
    }
    if (bytes > Remaining()) {
      return Fail(offset,
                  std::string(what) + " is declared " + Count(bytes, "byte") +
                      " long, found only " + std::to_string(Remaining()) + " before the file ends",
                  kFetchAgain);
    }
    text = {reinterpret_cast<const char*>(file_.bytes_.data() + position_),
            static_cast<std::size_t>(bytes)};
    position_ += bytes;
    return true;
  }

  // A key or tensor name: 1 to bytes_max printable ASCII characters.
  bool TakeName(std::string_view& name, std::string_view what, std::uint64_t bytes_max) {
    const std::uint64_t offset = position_;
    if (!TakeText(name, what, bytes_max)) return false;
    if (name.empty()) {
      return Fail(offset, std::string(what) + " is empty, expected at least one character",
                  kConvertAgain);
    }
    const bool clean = std::ranges::all_of(name, [](char c) { return c > 0x20 && c < 0x7F; });
    if (!clean) {
      return Fail(offset,
                  std::string(what) + " is '" + Printable(name) +
                      "', expected printable ASCII characters without blanks",
                  kConvertAgain);
    }
    return true;
  }

  bool ReadHeader();
  bool CheckCount(std::uint64_t offset, std::uint64_t count, std::string_view noun,
                  std::uint64_t count_max, std::uint64_t bytes_min);
  bool ReadMetadata();
  bool ReadEntry(MetadataEntry& entry);
  bool ReadArray(MetadataEntry& entry);
  bool ReadValue(MetadataEntry& entry);
  bool SortMetadata();
  bool CheckSplit();
  bool ReadAlignment();
  bool ReadTensors();
  bool ReadTensor(TensorInfo& tensor);
  bool ReadDims(TensorInfo& tensor);
  bool ReadTensorType(TensorInfo& tensor);
  bool SortTensors();
  bool PlaceTensors();
  bool CheckOverlaps();

  GgufFile file_;
  std::uint64_t position_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t metadata_count_ = 0;
  std::string subject_ = "header";  // what is being read, for the sentence
  std::string error_;
};

bool GgufReader::ReadHeader() {
  const std::span<const std::byte> bytes = file_.bytes_;
  if (bytes.empty()) return Fail(0, "the file is empty, expected a GGUF model", kFetchAgain);
  static constexpr char kMagic[] = {'G', 'G', 'U', 'F'};
  const std::size_t magic_bytes = std::min(bytes.size(), sizeof kMagic);
  if (std::memcmp(bytes.data(), kMagic, magic_bytes) != 0) {
    const std::string_view found(reinterpret_cast<const char*>(bytes.data()), magic_bytes);
    return Fail(0, "found '" + Printable(found) + "', expected 'GGUF'",
                "; this is no GGUF model, give the path of one");
  }
  if (bytes.size() < sizeof kMagic) {
    return Fail(0, "the file has only " + Count(bytes.size(), "byte"), kFetchAgain);
  }
  position_ = sizeof kMagic;
  if (!Take(file_.version_, "the version")) return false;
  const std::uint32_t version = file_.version_;
  if (version != 0 && (version & 0xFFFF) == 0) {
    return Fail(4, "the version is stored in the other byte order (big-endian)",
                "; use the little-endian file of this model");
  }
  if (version != 2 && version != 3) {
    return Fail(4, "found version " + std::to_string(version) + ", expected 2 or 3",
                version > 3 ? "; the file is newer than this program, update it"
                            : "; convert the model again with a current converter");
  }
  if (!Take(tensor_count_, "the number of tensors")) return false;
  if (!Take(metadata_count_, "the number of metadata entries")) return false;
  return CheckCount(16, metadata_count_, "metadata entries", kMetadataCountMax,
                    kMetadataBytesMin) &&
         CheckCount(8, tensor_count_, "tensors", kTensorCountMax, kTensorInfoBytesMin);
}

// What a count declares must fit the bytes that follow it, before anything is allocated for it.
bool GgufReader::CheckCount(std::uint64_t offset, std::uint64_t count, std::string_view noun,
                            std::uint64_t count_max, std::uint64_t bytes_min) {
  const std::string found = std::to_string(count) + " " + std::string(noun) + " are declared, ";
  if (count > Remaining() / bytes_min) {
    return Fail(offset,
                found + "but the " + Count(Remaining(), "byte") + " that follow hold at most " +
                    std::to_string(Remaining() / bytes_min),
                kFetchAgain);
  }
  if (count > count_max) {
    return Fail(offset, found + "expected at most " + std::to_string(count_max), kConvertAgain);
  }
  return true;
}

bool GgufReader::ReadMetadata() {
  file_.metadata_.resize(static_cast<std::size_t>(metadata_count_));
  for (std::size_t i = 0; i < file_.metadata_.size(); ++i) {
    subject_ = "metadata entry " + std::to_string(i);
    if (!ReadEntry(file_.metadata_[i])) return false;
  }
  return true;
}

bool GgufReader::ReadEntry(MetadataEntry& entry) {
  if (!TakeName(entry.key, "the key", kKeyBytesMax)) return false;
  subject_ = "key '" + Printable(entry.key) + "'";
  const std::uint64_t type_offset = position_;
  std::uint32_t type = 0;
  if (!Take(type, "the value's type")) return false;
  if (ValueBytes(type) == 0) {
    return Fail(type_offset, "found value type " + std::to_string(type) + ", expected 0 to 12",
                kFetchAgain);
  }
  entry.type = static_cast<ValueType>(type);
  entry.element_type = entry.type;
  entry.count = 1;
  if (entry.type == ValueType::kArray && !ReadArray(entry)) return false;
  return ReadValue(entry);
}

// Element type and count of an array.
bool GgufReader::ReadArray(MetadataEntry& entry) {
  const std::uint64_t offset = position_;
  std::uint32_t type = 0;
  if (!Take(type, "the type of the array's elements")) return false;
  if (type == static_cast<std::uint32_t>(ValueType::kArray)) {
    return Fail(offset, "found an array of arrays, expected an array of plain values",
                kConvertAgain);
  }
  const std::uint64_t bytes_min = ValueBytes(type);
  if (bytes_min == 0) {
    return Fail(offset, "found element type " + std::to_string(type) + ", expected 0 to 12",
                kFetchAgain);
  }
  if (!Take(entry.count, "the number of the array's elements")) return false;
  entry.element_type = static_cast<ValueType>(type);
  return CheckCount(offset + sizeof type, entry.count, "array elements",
                    std::numeric_limits<std::uint64_t>::max(), bytes_min);
}

// The content of a scalar or of an array whose count is known to be plausible.
bool GgufReader::ReadValue(MetadataEntry& entry) {
  const bool is_array = entry.type == ValueType::kArray;
  entry.offset = position_;
  if (entry.element_type == ValueType::kString) {
    std::string_view text;
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      const std::string what =
          is_array ? "the string with index " + std::to_string(i) : std::string("the string");
      if (!TakeText(text, what, kStringBytesMax)) return false;
    }
    if (!is_array) entry.offset = position_ - text.size();
    entry.content = file_.bytes_.subspan(static_cast<std::size_t>(entry.offset),
                                         static_cast<std::size_t>(position_ - entry.offset));
    return true;
  }
  const std::uint64_t element_bytes = ValueBytes(static_cast<std::uint32_t>(entry.element_type));
  // An array's count was compared with the remaining bytes; so this can't overflow.
  const std::uint64_t bytes = entry.count * element_bytes;
  if (bytes > Remaining()) {
    return Fail(position_,
                "found " + Count(Remaining(), "byte") + ", expected " + std::to_string(bytes) +
                    " for the value",
                kFetchAgain);
  }
  entry.content =
      file_.bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(bytes));
  if (entry.element_type == ValueType::kBool) {
    const auto wrong = std::ranges::find_if(
        entry.content, [](std::byte value) { return std::to_integer<int>(value) > 1; });
    if (wrong != entry.content.end()) {
      const auto index = static_cast<std::uint64_t>(wrong - entry.content.begin());
      return Fail(position_ + index,
                  "found " + std::to_string(std::to_integer<int>(*wrong)) +
                      " as a boolean, expected 0 or 1",
                  kFetchAgain);
    }
  }
  position_ += bytes;
  return true;
}

bool GgufReader::SortMetadata() {
  const std::vector<MetadataEntry>& entries = file_.metadata_;
  std::vector<std::uint32_t>& order = file_.metadata_by_key_;
  order.resize(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(entries[i].key, i); });
  const auto twin =
      std::ranges::adjacent_find(order, {}, [&](std::uint32_t i) { return entries[i].key; });
  if (twin == order.end()) return true;
  const MetadataEntry& entry = entries[*(twin + 1)];
  subject_ = "key '" + Printable(entry.key) + "'";
  return Fail(entry.offset,
              "found a second value, expected one; the first is at byte " +
                  std::to_string(entries[*twin].offset),
              kConvertAgain);
}

// A part of a split model has metadata or weights missing.
bool GgufReader::CheckSplit() {
  const MetadataEntry* entry = file_.FindEntry("split.count");
  if (entry == nullptr) return true;
  const Found<std::uint64_t> count = file_.Uint("split.count");
  if (!count) {
    error_ = count.error();
    return false;
  }
  if (**count <= 1) return true;
  subject_ = "key 'split.count'";
  return Fail(entry->offset,
              "this is one of " + std::to_string(**count) + " parts of a split model",
              ", which are not supported; merge them with llama-gguf-split --merge");
}

bool GgufReader::ReadAlignment() {
  const MetadataEntry* entry = file_.FindEntry("general.alignment");
  if (entry == nullptr) return true;
  subject_ = "key 'general.alignment'";
  if (entry->type != ValueType::kUint32) {
    return Fail(entry->offset,
                "found a value of type " + std::string(TypeName(entry->type)) + ", expected u32",
                kConvertAgain);
  }
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, entry->content.data(), sizeof alignment);
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || alignment < 8 || alignment > kAlignmentMax) {
    return Fail(entry->offset,
                "found " + std::to_string(alignment) + ", expected a power of two from 8 to " +
                    std::to_string(kAlignmentMax),
                kConvertAgain);
  }
  file_.alignment_ = alignment;
  return true;
}

bool GgufReader::ReadTensors() {
  subject_ = "tensor directory";
  // Checked again, because the metadata has used up some of the bytes that the header saw.
  if (!CheckCount(position_, tensor_count_, "tensors", kTensorCountMax, kTensorInfoBytesMin)) {
    return false;
  }
  file_.tensors_.resize(static_cast<std::size_t>(tensor_count_));
  for (std::size_t i = 0; i < file_.tensors_.size(); ++i) {
    subject_ = "tensor " + std::to_string(i);
    if (!ReadTensor(file_.tensors_[i])) return false;
  }
  return true;
}

bool GgufReader::ReadTensor(TensorInfo& tensor) {
  if (!TakeName(tensor.name, "the tensor's name", kTensorNameBytesMax)) return false;
  subject_ = "tensor '" + Printable(tensor.name) + "'";
  if (!ReadDims(tensor) || !ReadTensorType(tensor)) return false;
  const std::uint64_t offset = position_;
  // Relative to the contents until PlaceTensors.
  if (!Take(tensor.offset, "the tensor's offset")) return false;
  if (tensor.offset % file_.alignment_ == 0) return true;
  return Fail(offset,
              "found offset " + std::to_string(tensor.offset) + ", expected a multiple of " +
                  std::to_string(file_.alignment_),
              kConvertAgain);
}

bool GgufReader::ReadDims(TensorInfo& tensor) {
  const std::uint64_t offset = position_;
  std::uint32_t dim_count = 0;
  if (!Take(dim_count, "the number of dims")) return false;
  if (dim_count < 1 || dim_count > kTensorDimsMax) {
    return Fail(offset, "found " + std::to_string(dim_count) + " dims, expected 1 to 4",
                kFetchAgain);
  }
  tensor.dim_count = static_cast<int>(dim_count);
  for (std::uint32_t i = 0; i < dim_count; ++i) {
    const std::uint64_t dim_offset = position_;
    std::uint64_t& dim = tensor.dims[i];
    if (!Take(dim, "a dim")) return false;
    if (dim == 0 || dim > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return Fail(dim_offset,
                  "dim " + std::to_string(i) + " is " + std::to_string(dim) +
                      ", expected at least 1 and less than 2^63",
                  kFetchAgain);
    }
  }
  return true;
}

// The type, and with it the size of the content.
bool GgufReader::ReadTensorType(TensorInfo& tensor) {
  const std::uint64_t offset = position_;
  std::uint32_t type = 0;
  if (!Take(type, "the tensor's type")) return false;
  if (!IsTensorType(type)) {
    const std::string_view name = UnsupportedTypeName(type);
    const std::string way_out = "; " + std::string(kUseAnother);
    if (name.empty()) {
      return Fail(offset, "found tensor type " + std::to_string(type) + ", which is unknown",
                  way_out);
    }
    return Fail(offset, std::string(name) + " is not supported yet", way_out);
  }
  tensor.type = static_cast<TensorType>(type);
  const auto block_elements = static_cast<std::uint64_t>(BlockElements(tensor.type));
  if (tensor.dims[0] % block_elements != 0) {
    return Fail(offset,
                "found rows of " + std::to_string(tensor.dims[0]) + " weights, expected for " +
                    std::string(TypeName(tensor.type)) + " a multiple of " +
                    std::to_string(block_elements),
                kConvertAgain);
  }
  std::uint64_t bytes = tensor.dims[0] / block_elements;
  bool fits = Multiplies(bytes, static_cast<std::uint64_t>(BlockBytes(tensor.type)));
  for (std::size_t i = 1; i < kTensorDimsMax; ++i) fits = fits && Multiplies(bytes, tensor.dims[i]);
  if (!fits || bytes > file_.bytes_.size()) {
    return Fail(offset,
                "the shape " + ShapeText(tensor) + " needs " +
                    (fits ? std::to_string(bytes) : std::string("2^64 or more")) +
                    " bytes, but the file has " + std::to_string(file_.bytes_.size()),
                kFetchAgain);
  }
  tensor.bytes = bytes;
  return true;
}

bool GgufReader::SortTensors() {
  const std::vector<TensorInfo>& tensors = file_.tensors_;
  std::vector<std::uint32_t>& order = file_.tensors_by_name_;
  order.resize(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(tensors[i].name, i); });
  const auto twin =
      std::ranges::adjacent_find(order, {}, [&](std::uint32_t i) { return tensors[i].name; });
  if (twin == order.end()) return true;
  subject_ = "tensor directory";
  return Fail(position_,
              "found two tensors named '" + Printable(tensors[*twin].name) + "', with indexes " +
                  std::to_string(*twin) + " and " + std::to_string(*(twin + 1)) +
                  ", expected different names",
              kConvertAgain);
}

bool GgufReader::PlaceTensors() {
  const std::uint64_t contents = (position_ + file_.alignment_ - 1) & ~(file_.alignment_ - 1);
  const std::uint64_t file_bytes = file_.bytes_.size();
  for (TensorInfo& tensor : file_.tensors_) {
    std::uint64_t begin = 0;
    const bool fits = !__builtin_add_overflow(contents, tensor.offset, &begin) &&
                      begin <= file_bytes && tensor.bytes <= file_bytes - begin;
    if (!fits) {
      subject_ = "tensor '" + Printable(tensor.name) + "'";
      return Fail(contents,
                  "its " + Count(tensor.bytes, "byte") + " at offset " +
                      std::to_string(tensor.offset) + " of the contents that begin here end " +
                      "past the file's " + std::to_string(file_bytes) + " bytes",
                  kFetchAgain);
    }
    tensor.offset = begin;
    tensor.content = file_.bytes_.subspan(static_cast<std::size_t>(begin),
                                          static_cast<std::size_t>(tensor.bytes));
  }
  return true;
}

// Gaps are harmless, but two tensors that share bytes are a lie.
bool GgufReader::CheckOverlaps() {
  const std::vector<TensorInfo>& tensors = file_.tensors_;
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return tensors[i].offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& after = tensors[order[i]];
    if (before.offset + before.bytes <= after.offset) continue;
    subject_ = "tensor '" + Printable(after.name) + "'";
    return Fail(after.offset,
                "it overlaps tensor '" + Printable(before.name) + "', whose " +
                    Count(before.bytes, "byte") + " begin at byte " + std::to_string(before.offset),
                kConvertAgain);
  }
  return true;
}

std::expected<GgufFile, std::string> GgufFile::Parse(std::span<const std::byte> bytes,
                                                     std::string file_name) {
  return GgufReader(bytes, file_name).Read();
}

}  // namespace engine
