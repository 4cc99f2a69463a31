#include "engine/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/unicode.h"

namespace engine {
namespace {

enum class Kind : std::uint8_t { kLetter, kNumber, kSpace, kOther };

Kind KindOf(char32_t c) {
  if (IsWhiteSpace(c)) return Kind::kSpace;
  if (IsLetter(c)) return Kind::kLetter;
  return IsNumber(c) ? Kind::kNumber : Kind::kOther;
}

// The first index from `at` on whose kind is another; text.size() when there is none.
std::size_t EndOfRun(std::span<const char32_t> text, std::size_t at, Kind kind) {
  while (at < text.size() && KindOf(text[at]) == kind) ++at;
  return at;
}

// The length of an English contraction at `at`: 's 't 'm 'd 're 've 'll; else 0.
std::size_t ContractionAt(std::span<const char32_t> text, std::size_t at) {
  if (text[at] != U'\'' || at + 1 >= text.size()) return 0;
  const char32_t first = text[at + 1];
  if (first == U's' || first == U't' || first == U'm' || first == U'd') return 2;
  if (at + 2 >= text.size()) return 0;
  const char32_t second = text[at + 2];
  const bool pair = (first == U'r' && second == U'e') || (first == U'v' && second == U'e') ||
                    (first == U'l' && second == U'l');
  return pair ? 3 : 0;
}

// The end of the piece that begins at `at`.
std::size_t EndOfPiece(std::span<const char32_t> text, std::size_t at) {
  const std::size_t contraction = ContractionAt(text, at);
  if (contraction > 0) return at + contraction;
  // A blank belongs to the run that follows it.
  const std::size_t start = text[at] == U' ' && at + 1 < text.size() ? at + 1 : at;
  const Kind kind = KindOf(text[start]);
  if (kind != Kind::kSpace) return EndOfRun(text, start, kind);
  const std::size_t end = EndOfRun(text, at, Kind::kSpace);
  // The last white space of a run is left to what follows it.
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

void SplitGpt2(std::span<const char32_t> text, std::size_t offset, std::vector<std::size_t>& ends) {
  for (std::size_t at = 0; at < text.size();) {
    at = EndOfPiece(text, at);
    ends.push_back(offset + at);
  }
}

}  // namespace

std::optional<PreTokenizer> PreTokenizerNamed(std::string_view name) {
  if (name == "gpt-2") return PreTokenizer::kGpt2;
  if (name == "smollm") return PreTokenizer::kSmolLm;
  return std::nullopt;
}

std::vector<std::size_t> SplitPieces(PreTokenizer pre_tokenizer, std::span<const char32_t> text) {
  std::vector<std::size_t> ends;
  if (pre_tokenizer == PreTokenizer::kGpt2) {
    SplitGpt2(text, 0, ends);
    return ends;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !IsNumber(text[end])) ++end;
    SplitGpt2(text.subspan(at, end - at), at, ends);
    if (end < text.size()) ends.push_back(++end);
    at = end;
  }
  return ends;
}

}  // namespace engine
