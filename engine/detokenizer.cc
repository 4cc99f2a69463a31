#include "engine/detokenizer.h"

namespace engine {

std::size_t WholeCharacters(std::string_view text) {
  const std::size_t lookback = text.size() < 3 ? text.size() : 3;
  for (std::size_t back = 1; back <= lookback; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return text.size();
    if (byte < 0xC0) continue;  // inside a character
    const std::size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return needed > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace engine
