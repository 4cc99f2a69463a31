// Text to token ids: byte-level byte-pair encoding as the model file describes it.
//
// The text is cut into pieces (engine/pre_tokenizer.h), a piece into bytes, and in each piece the
// neighbouring pair with the lowest merge rank is joined again and again, leftmost first. A queue
// of pairs keeps that at n log n for a piece of n bytes.
//
// Text never becomes a special token, whatever it spells: special tokens come from SpecialToken
// only, which chat templates call. (llama.cpp also finds user-defined tokens in text; here they
// are special, too, since a house name or a sentence must not be able to write one.)
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/pre_tokenizer.h"
#include "engine/token_id.h"

namespace engine {

// Thread: any; never changes. Keeps nothing of the file.
class Tokenizer {
 public:
  // Returns: a sentence naming the key, what was found and what was expected.
  [[nodiscard]] static std::expected<Tokenizer, std::string> From(const GgufFile& file);

  // Appends the text's tokens. Bytes that are no UTF-8 are encoded as U+FFFD each; bytes that the
  // vocabulary has no token for (SmolLM2 lacks some control characters) are left out.
  void Encode(std::string_view text, std::vector<TokenId>& out) const;

  // The control or user-defined token spelled like this.
  [[nodiscard]] std::optional<TokenId> SpecialToken(std::string_view spelling) const;
  // The token that begins every prompt, where the file says that prompts begin with one.
  [[nodiscard]] std::optional<TokenId> begin_token() const { return begin_token_; }

  int token_count() const { return static_cast<int>(bytes_.size()); }
  // What the token adds to the text; of a special one, its spelling.
  const std::string& TokenBytes(TokenId token) const;
  // Whether it is ordinary text, which an answer may contain.
  bool IsPlain(TokenId token) const;

 private:
  Tokenizer() = default;
  std::expected<void, std::string> ReadTokens(const GgufFile& file);
  std::expected<void, std::string> ReadMerges(const GgufFile& file);
  std::expected<void, std::string> ReadBegin(const GgufFile& file);
  void EncodePiece(std::string_view piece, std::vector<TokenId>& out) const;

  PreTokenizer pre_tokenizer_ = PreTokenizer::kGpt2;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> plain_;
  std::unordered_map<std::string, std::int32_t> specials_;
  std::unordered_map<std::uint64_t, std::uint32_t> merges_;  // left id << 32 | right id to rank
  std::vector<std::int32_t> joined_;                         // by rank: what the two make
  std::array<std::int32_t, 256> byte_tokens_{};              // -1: none
  std::optional<TokenId> begin_token_;
};

}  // namespace engine
