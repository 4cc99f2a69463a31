// How a conversation is written for the model: turns between special tokens.
//
// Built-in families, chosen by the template in the file or by config; no Jinja. Special tokens come
// from here alone; what stands between them is encoded as plain text.
//
//   ChatML   <|im_start|>user\n ... <|im_end|>\n
//
// Source: tokenizer.chat_template of the SmolLM2 and Qwen2.5 model files.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/token_id.h"
#include "engine/tokenizer.h"

namespace engine {

enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

// Thread: any; never changes. Ownership: the tokenizer outlives it.
class ChatTemplate {
 public:
  // `forced` names a family; empty: the one that the file's template belongs to.
  // Returns: a sentence when the family is unknown or the vocabulary lacks its tokens.
  [[nodiscard]] static std::expected<ChatTemplate, std::string> From(const GgufFile& file,
                                                                     const Tokenizer& tokenizer,
                                                                     std::string_view forced);

  // A system turn stands first and carries what begins the prompt.
  void BeginTurn(Role role, std::vector<TokenId>& out) const;
  void EndTurn(std::vector<TokenId>& out) const;
  // What the model writes when its turn is over.
  TokenId end_of_turn() const { return end_; }

 private:
  explicit ChatTemplate(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const Tokenizer* tokenizer_;
  TokenId start_{};
  TokenId end_{};
};

}  // namespace engine
