// Prefix and request as tokens, with a seam that never moves.
//
// The prefix is one system turn (its sections are encoded one by one), the worked examples as user
// and assistant turns, and the head of the user turn. The request part is the utterance and what
// makes the model answer. Special tokens come from the chat template only; text never makes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/chat_template.h"
#include "engine/engine.h"
#include "engine/token_id.h"
#include "engine/tokenizer.h"

namespace engine {

struct TokenizedPrefix {
  std::vector<TokenId> tokens;
  std::vector<PrefixInfo::Section> sections;
};

TokenizedPrefix EncodePrefix(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                             const PrefixSource& source);

// Appends the request part to `out`.
void EncodeRequest(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                   std::string_view utterance, std::vector<TokenId>& out);

// The version of a prefix: the documents' numbers and a digest of the tokens.
std::string PrefixVersion(std::string_view versions, const std::vector<TokenId>& tokens);

}  // namespace engine
