// One line of printable UTF-8, byte by byte.
//
// Printable leaves out the control characters (C0, DEL, C1), the line and paragraph separators and
// the characters that change the direction of text (U+202A to U+202E, U+2066 to U+2069): what is
// shown must be what is there. Surrogates, overlong forms and numbers above U+10FFFF are not UTF-8.
#pragma once

#include <cstdint>
#include <string_view>

namespace engine {

// What was read so far. Between characters: kFirst and kBoundary. The others name the bytes that
// may come next inside a character, and how many of them.
enum class TextState : std::uint8_t {
  kDead,      // no text
  kFirst,     // no character yet; a space may not be the first one
  kBoundary,  // after a character
  kOneMore,   // any continuation byte ends the character
  kTwoMore,
  kThreeMore,
  kAfterC2,    // not a C1 control
  kAfterE0,    // not overlong
  kAfterE2,    // general punctuation ahead
  kAfterE280,  // not a separator, not a direction
  kAfterE281,  // not an isolate
  kAfterED,    // not a surrogate
  kAfterF0,    // not overlong
  kAfterF4,    // not above U+10FFFF
};
inline constexpr int kTextStateCount = 14;

// Returns: the state after one more byte; kDead when the text can't go on with it.
TextState StepText(TextState state, std::uint8_t byte);
// The state after these bytes.
TextState StepText(TextState state, std::string_view bytes);

// The least number of bytes to the end of the character that was begun; 0 between characters.
int BytesToBoundary(TextState state);

// Whether this is a line of printable text; it may begin with a space, and be empty.
bool IsPrintableLine(std::string_view text);

}  // namespace engine
