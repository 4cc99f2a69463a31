// Cuts text into the pieces that byte-pair encoding never merges across.
//
// The pieces are those of the regular expressions that the model was trained with; scanners by hand
// do the same in one pass. Together the pieces are the whole text.
//
//   gpt-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm   \p{N} first, then gpt-2 on what lies between
//
// Source: llama.cpp's vocabulary types of the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace engine {

enum class PreTokenizer : std::uint8_t { kGpt2, kSmolLm };

// By the name in tokenizer.ggml.pre; nothing for one that isn't built in.
std::optional<PreTokenizer> PreTokenizerNamed(std::string_view name);

// Returns: the end index of each piece, ascending; the last one is text.size().
std::vector<std::size_t> SplitPieces(PreTokenizer pre_tokenizer, std::span<const char32_t> text);

}  // namespace engine
