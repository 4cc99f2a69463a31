// Content digests: 128 bits of XXH3, the same on every machine. Not for secrets.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace engine {

// 32 hexadecimal digits.
std::string DigestHex(std::span<const std::byte> bytes);

}  // namespace engine
