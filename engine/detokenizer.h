// Streaming text: what of the bytes so far may be shown.
//
// The text of an answer is the bytes of its tokens, one after the other. A token may end inside a
// character, whose rest comes with the next token.
#pragma once

#include <cstddef>
#include <string_view>

namespace engine {

// Bytes of the leading part of `text` that doesn't end inside a character: at most 3 less than all.
// Bytes that can't become a character are not waited for; who shows them writes U+FFFD for each, as
// DecodeUtf8 does.
std::size_t WholeCharacters(std::string_view text);

}  // namespace engine
