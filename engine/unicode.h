// What the engine knows about Unicode: UTF-8, NFC and three character classes.
//
// Source: Unicode 15 through utf8proc, which only this file's .cc includes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsValidUtf8(std::string_view text);

// Code points of any bytes; each byte that is part of no character gives U+FFFD.
std::vector<char32_t> DecodeUtf8(std::string_view text);

void AppendUtf8(char32_t code_point, std::string& out);

// The composed normal form; nothing for what is not UTF-8.
std::optional<std::string> NormalizeNfc(std::string_view text);

bool IsLetter(char32_t code_point);      // general category L*
bool IsNumber(char32_t code_point);      // general category N*
bool IsWhiteSpace(char32_t code_point);  // property White_Space
// What a line of text may hold: the same characters as in engine/text_automaton.h. Joiners are
// among them, which emoji and Persian need.
bool IsPrintable(char32_t code_point);

}  // namespace engine
