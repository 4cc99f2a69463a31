#include "engine/unicode.h"

#include <utf8proc.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 0: no character begins here
};

// The character that begins at `at`.
Decoded DecodeAt(std::string_view text, std::size_t at) {
  utf8proc_int32_t code_point = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const auto left = static_cast<utf8proc_ssize_t>(text.size() - at);
  const utf8proc_ssize_t used = utf8proc_iterate(bytes, left, &code_point);
  if (used <= 0) return {};
  return {static_cast<char32_t>(code_point), static_cast<std::size_t>(used)};
}

utf8proc_category_t CategoryOf(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = DecodeAt(text, at);
    if (next.bytes == 0) return false;
    at += next.bytes;
  }
  return true;
}

std::vector<char32_t> DecodeUtf8(std::string_view text) {
  std::vector<char32_t> code_points;
  code_points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = DecodeAt(text, at);
    code_points.push_back(next.bytes == 0 ? kReplacement : next.code_point);
    at += next.bytes == 0 ? 1 : next.bytes;
  }
  return code_points;
}

void AppendUtf8(char32_t code_point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

std::optional<std::string> NormalizeNfc(std::string_view text) {
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): the enumerators are flags.
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped, kOptions);
  if (bytes < 0) return std::nullopt;
  std::string composed(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(bytes));
  std::free(mapped);
  return composed;
}

bool IsLetter(char32_t code_point) {
  const utf8proc_category_t category = CategoryOf(code_point);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsNumber(char32_t code_point) {
  const utf8proc_category_t category = CategoryOf(code_point);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsPrintable(char32_t c) {
  const bool is_control = c < 0x20 || (c >= 0x7F && c <= 0x9F);
  const bool is_separator = c == 0x2028 || c == 0x2029;
  const bool is_direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  const bool is_character = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
  return is_character && !is_control && !is_separator && !is_direction;
}

}  // namespace engine
