// Streaming text: what of the bytes so far may be shown.
#pragma once

#include <cstddef>
#include <string_view>

namespace engine {

// Bytes of the leading part of `text` that ends with a whole character: at most 3 less than all.
// A token may end inside a character; its rest comes with the next one.
std::size_t WholeCharacters(std::string_view text);

}  // namespace engine
