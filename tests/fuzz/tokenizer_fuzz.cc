// Any bytes as text: encoded without a special token, and decoded to what was said.
//
// The vocabulary is a small one made here: all bytes, some merges, two special tokens.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/detokenizer.h"
#include "engine/text_automaton.h"
#include "engine/tokenizer.h"
#include "engine/unicode.h"
#include "tests/support/vocabulary.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

engine::Tokenizer MakeTokenizer(const char* pre) {
  support::GgufWriter writer = support::MakeVocabulary({{"t", "h"},
                                                        {"th", "e"},
                                                        {" ", "the"},
                                                        {"<", "|"},
                                                        {"<|", "e"},
                                                        {" ", " "},
                                                        {"  ", "  "},
                                                        {"\xC3", "\xA4"},
                                                        {"a", "a"},
                                                        {"aa", "aa"},
                                                        {"1", "2"},
                                                        {"\n", "\n"},
                                                        {"'", "s"}},
                                                       {"<|end|>", "<|e\n"});
  writer.Set("tokenizer.ggml.pre", std::string(pre));
  auto tokenizer = engine::Tokenizer::From(support::ParseVocabulary(writer).file);
  Require(tokenizer.has_value());
  return std::move(*tokenizer);
}

// Valid text as it is; U+FFFD for each byte of no character.
std::string Repaired(std::string_view text) {
  std::string repaired;
  for (const char32_t code_point : engine::DecodeUtf8(text)) {
    engine::AppendUtf8(code_point, repaired);
  }
  return repaired;
}

void CheckStream(const engine::Tokenizer& tokenizer, const std::vector<engine::TokenId>& tokens) {
  std::string bytes;
  std::size_t shown = 0;
  for (const engine::TokenId token : tokens) {
    bytes += tokenizer.TokenBytes(token);
    const std::size_t end = engine::WholeCharacters(bytes);
    Require(end >= shown && bytes.size() - end <= 3);
    Require(engine::IsValidUtf8(std::string_view(bytes).substr(shown, end - shown)));
    shown = end;
  }
  Require(shown == bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const engine::Tokenizer tokenizers[] = {MakeTokenizer("smollm"), MakeTokenizer("gpt-2")};
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::string repaired = Repaired(text);
  Require(engine::IsValidUtf8(repaired));
  Require((repaired == text) == engine::IsValidUtf8(text));
  for (const engine::Tokenizer& tokenizer : tokenizers) {
    const std::vector<engine::TokenId> tokens = support::Encode(tokenizer, text);
    Require(std::ranges::all_of(tokens, [&](auto token) { return tokenizer.IsPlain(token); }));
    Require(support::Decode(tokenizer, tokens) == repaired);
    CheckStream(tokenizer, tokens);
    // The seam of prompt and utterance: a line end, then no white space.
    if (!repaired.empty() && !engine::IsWhiteSpace(engine::DecodeUtf8(repaired).front())) {
      std::vector<engine::TokenId> parts = support::Encode(tokenizer, "user\n");
      parts.insert(parts.end(), tokens.begin(), tokens.end());
      Require(support::Encode(tokenizer, "user\n" + text) == parts);
    }
  }
  const auto normal = engine::NormalizeNfc(text);
  Require(normal.has_value() == engine::IsValidUtf8(text));
  if (normal) Require(engine::NormalizeNfc(*normal) == normal);
  return 0;
}
