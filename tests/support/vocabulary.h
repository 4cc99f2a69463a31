// Vocabularies for the tokenizer's tests: those of tests/data/vocab, and ones made to measure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/token_id.h"
#include "engine/tokenizer.h"
#include "tests/support/gguf_writer.h"

namespace support {

// These throw when something is not as they need it.

[[nodiscard]] std::string ReadDataFile(std::string_view name);  // below tests/data/
// The lines of a file below tests/data/ without headings ("# "), \n \r \t \\ \xNN unescaped.
[[nodiscard]] std::vector<std::string> ReadTexts(std::string_view name);
// Numbers, one list per line.
[[nodiscard]] std::vector<std::vector<engine::TokenId>> ReadIdLists(std::string_view name);

// A file with its bytes.
struct VocabularyFile {
  std::vector<std::byte> bytes;
  engine::GgufFile file;
};
[[nodiscard]] VocabularyFile LoadVocabularyFile(std::string_view name);  // in tests/data/vocab/
[[nodiscard]] VocabularyFile ParseVocabulary(const GgufWriter& writer);
// The bytes of the file are gone when it returns.
[[nodiscard]] engine::Tokenizer LoadTokenizer(std::string_view name);

// How GPT-2 style files spell bytes.
[[nodiscard]] std::string SpellBytes(std::string_view bytes);
struct Merge {
  std::string left, right;  // bytes
};
// The 256 bytes in order, then what the merges make in theirs, then special tokens (control).
[[nodiscard]] GgufWriter MakeVocabulary(const std::vector<Merge>& merges,
                                        const std::vector<std::string>& specials);

[[nodiscard]] std::vector<engine::TokenId> Encode(const engine::Tokenizer& tokenizer,
                                                  std::string_view text);
[[nodiscard]] std::string Decode(const engine::Tokenizer& tokenizer,
                                 const std::vector<engine::TokenId>& tokens);

}  // namespace support
