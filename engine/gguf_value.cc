#include "engine/gguf_value.h"

#include <cassert>
#include <iterator>

namespace engine {
namespace {

// Bytes of the UTF-8 character at the start of the text, or 0 when it is a control character or no
// well-formed one (overlong forms and surrogates included).
std::size_t PrintableCharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
  if (first < 0xC2 || first > 0xF4 || !continues(1)) return 0;
  if (first < 0xE0) return first == 0xC2 && byte(1) < 0xA0 ? 0 : 2;  // C1 control characters
  if (!continues(2)) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first < 0xF0) {
    // U+2028..U+202E and U+2066..U+2069 break lines or turn the direction of writing.
    const bool steers = first == 0xE2 && ((byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
                                          (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9));
    return steers ? 0 : 3;
  }
  if (!continues(3)) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return 4;
}

}  // namespace

std::string_view TypeName(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return "F32";
    case TensorType::kF16:
      return "F16";
    case TensorType::kQ4_0:
      return "Q4_0";
    case TensorType::kQ4_1:
      return "Q4_1";
    case TensorType::kQ8_0:
      return "Q8_0";
    case TensorType::kBF16:
      return "BF16";
  }
  return "unknown";
}

std::string_view TypeName(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
      return "u8";
    case ValueType::kInt8:
      return "i8";
    case ValueType::kUint16:
      return "u16";
    case ValueType::kInt16:
      return "i16";
    case ValueType::kUint32:
      return "u32";
    case ValueType::kInt32:
      return "i32";
    case ValueType::kFloat32:
      return "f32";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kArray:
      return "array";
    case ValueType::kUint64:
      return "u64";
    case ValueType::kInt64:
      return "i64";
    case ValueType::kFloat64:
      return "f64";
  }
  return "unknown";
}

int BlockElements(TensorType type) {
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return 1;
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
    case TensorType::kQ8_0:
      return 32;
  }
  assert(false);
  return 1;
}

int BlockBytes(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return 4;
    case TensorType::kF16:
    case TensorType::kBF16:
      return 2;
    case TensorType::kQ4_0:
      return 2 + 16;
    case TensorType::kQ4_1:
      return 2 + 2 + 16;
    case TensorType::kQ8_0:
      return 2 + 32;
  }
  assert(false);
  return 1;
}

bool IsTensorType(std::uint32_t type) {
  switch (static_cast<TensorType>(type)) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
    case TensorType::kQ8_0:
    case TensorType::kBF16:
      return true;
  }
  return false;
}

std::string_view UnsupportedTypeName(std::uint32_t type) {
  static constexpr std::string_view kNames[] = {
      "",      "",           "",           "",           "Q4_2",     "Q4_3",     "Q5_0",
      "Q5_1",  "",           "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
      "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
      "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
      "F64",   "IQ1_M",      "",           "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
      "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4"};
  return type < std::size(kNames) ? kNames[type] : "";
}

std::uint64_t ValueBytes(std::uint32_t type) {
  // A string is at least its length, an array its element type and count.
  static constexpr std::uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

std::string ShapeText(const TensorInfo& tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.dim_count; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(tensor.dims[static_cast<std::size_t>(i)]);
  }
  return text + "]";
}

std::string Printable(std::string_view text, std::size_t bytes_max) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    if (result.size() >= bytes_max) return result + "...";
    std::size_t bytes = PrintableCharacterBytes(text);
    if (text[0] == '\'' || text[0] == '\\') bytes = 0;
    if (bytes == 0) {
      const auto value = static_cast<unsigned char>(text[0]);
      result += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
      bytes = 1;
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace engine
