#include "tests/support/vocabulary.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace support {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string Unescape(std::string_view line) {
  std::string bytes;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      bytes.push_back(line[i]);
      continue;
    }
    switch (line.at(++i)) {
      case 'n':
        bytes.push_back('\n');
        break;
      case 'r':
        bytes.push_back('\r');
        break;
      case 't':
        bytes.push_back('\t');
        break;
      case '\\':
        bytes.push_back('\\');
        break;
      case 'x':
        bytes.push_back(
            static_cast<char>(std::stoi(std::string(line.substr(i + 1, 2)), nullptr, 16)));
        i += 2;
        break;
      default:
        throw std::runtime_error("unknown escape in: " + std::string(line));
    }
  }
  return bytes;
}

VocabularyFile Parse(std::vector<std::byte> bytes, const std::string& name) {
  auto file = engine::GgufFile::Parse(bytes, name);
  if (!file) throw std::runtime_error(file.error());
  return {std::move(bytes), std::move(*file)};
}

}  // namespace

std::string ReadDataFile(std::string_view name) {
  const std::string path = std::string(INGLENOOK_SOURCE_DIR "/tests/data/") + std::string(name);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("no such file: " + path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> ReadTexts(std::string_view name) {
  std::vector<std::string> texts;
  for (const std::string& line : LinesOf(ReadDataFile(name))) {
    if (!line.starts_with("# ")) texts.push_back(Unescape(line));
  }
  return texts;
}

std::vector<std::vector<engine::TokenId>> ReadIdLists(std::string_view name) {
  std::vector<std::vector<engine::TokenId>> lists;
  for (const std::string& line : LinesOf(ReadDataFile(name))) {
    std::istringstream numbers(line);
    lists.emplace_back();
    for (std::int32_t id = 0; numbers >> id;) lists.back().push_back(engine::TokenId{id});
  }
  return lists;
}

VocabularyFile LoadVocabularyFile(std::string_view name) {
  const std::string content = ReadDataFile("vocab/" + std::string(name));
  std::vector<std::byte> bytes(content.size());
  std::ranges::transform(content, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return Parse(std::move(bytes), std::string(name));
}

VocabularyFile ParseVocabulary(const GgufWriter& writer) { return Parse(writer.Bytes(), "a.gguf"); }

engine::Tokenizer LoadTokenizer(std::string_view name) {
  auto tokenizer = engine::Tokenizer::From(LoadVocabularyFile(name).file);
  if (!tokenizer) throw std::runtime_error(tokenizer.error());
  return std::move(*tokenizer);
}

std::string SpellBytes(std::string_view bytes) {
  std::string spelled;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    // The bytes that are no printable Latin-1 are spelled U+0100, U+0101, ... in their order.
    unsigned code_point = byte;
    if (byte <= 0x20) code_point = 0x100U + byte;
    if (byte >= 0x7F && byte <= 0xA0) code_point = 0x121U + (byte - 0x7FU);
    if (byte == 0xAD) code_point = 0x143;
    if (code_point < 0x80) {
      spelled.push_back(static_cast<char>(code_point));
    } else {
      spelled.push_back(static_cast<char>(0xC0 | (code_point >> 6)));
      spelled.push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
    }
  }
  return spelled;
}

GgufWriter MakeVocabulary(const std::vector<Merge>& merges,
                          const std::vector<std::string>& specials) {
  std::vector<std::string> tokens;
  std::vector<std::string> spelled_merges;
  tokens.reserve(256 + merges.size() + specials.size());
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(SpellBytes(std::string(1, static_cast<char>(byte))));
  }
  for (const Merge& merge : merges) {
    tokens.push_back(SpellBytes(merge.left + merge.right));
    spelled_merges.push_back(SpellBytes(merge.left) + " " + SpellBytes(merge.right));
  }
  std::vector<std::int32_t> types(tokens.size(), 1);
  tokens.insert(tokens.end(), specials.begin(), specials.end());
  types.resize(tokens.size(), 3);
  GgufWriter writer;
  writer.Set("tokenizer.ggml.model", std::string("gpt2"));
  writer.Set("tokenizer.ggml.pre", std::string("smollm"));
  writer.Set("tokenizer.ggml.tokens", tokens);
  writer.Set("tokenizer.ggml.token_type", types);
  writer.Set("tokenizer.ggml.merges", spelled_merges);
  return writer;
}

std::vector<engine::TokenId> Encode(const engine::Tokenizer& tokenizer, std::string_view text) {
  std::vector<engine::TokenId> tokens;
  tokenizer.Encode(text, tokens);
  return tokens;
}

std::string Decode(const engine::Tokenizer& tokenizer, const std::vector<engine::TokenId>& tokens) {
  std::string bytes;
  for (const engine::TokenId token : tokens) bytes += tokenizer.TokenBytes(token);
  return bytes;
}

}  // namespace support
