#include "engine/detokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace engine {
namespace {

// Bytes of the character that begins with this one; 1 when none begins with it.
std::size_t CharacterBytes(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 1;
}

// Whether a character can go on with this second byte.
bool CanFollow(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;  // else overlong
    case 0xED:
      return second >= 0x80 && second <= 0x9F;  // else a surrogate
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;  // else overlong
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;  // else above U+10FFFF
    default:
      return second >= 0x80 && second <= 0xBF;
  }
}

}  // namespace

std::size_t WholeCharacters(std::string_view text) {
  const auto byte_at = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  constexpr std::size_t kHeldBytesMax = 3;
  for (std::size_t held = 1; held <= std::min(kHeldBytesMax, text.size()); ++held) {
    const std::size_t start = text.size() - held;
    const unsigned char first = byte_at(start);
    if (first >= 0x80 && first <= 0xBF) continue;  // the first byte lies further back
    const bool is_begun =
        CharacterBytes(first) > held && (held == 1 || CanFollow(first, byte_at(start + 1)));
    return is_begun ? start : text.size();
  }
  return text.size();
}

}  // namespace engine
