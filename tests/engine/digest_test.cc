#include "engine/digest.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string DigestOf(std::string_view text) {
  return engine::DigestHex(std::as_bytes(std::span(text)));
}

// Source: xxhsum -H2 of the xxHash project.
TEST(Digest, IsXxh128WithTheHighDigitsFirst) {
  EXPECT_EQ(DigestOf(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(DigestOf("a"), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(DigestOf("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(Digest, ChangesWithEveryBitAndWithTheLength) {
  std::vector<std::byte> bytes(300);
  std::set<std::string> seen;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    seen.insert(engine::DigestHex(std::span(bytes).first(size)));
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    seen.insert(engine::DigestHex(bytes));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_EQ(seen.size(), 301 + 300 * 8);
  EXPECT_EQ(seen.begin()->size(), 32u);
}

}  // namespace
