// One entry of a model's vocabulary.
#pragma once

#include <cstdint>

namespace cache {

enum class TokenId : std::int32_t {};

}  // namespace cache
