#include "engine/prompt.h"

#include <cstddef>
#include <span>

#include "engine/digest.h"

namespace engine {

TokenizedPrefix EncodePrefix(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                             const PrefixSource& source) {
  TokenizedPrefix prefix;
  std::vector<TokenId>& tokens = prefix.tokens;
  std::size_t counted = 0;
  const auto count_section = [&](const std::string& name) {
    prefix.sections.push_back({name, static_cast<int>(tokens.size() - counted)});
    counted = tokens.size();
  };
  chat_template.BeginTurn(Role::kSystem, tokens);
  for (const PrefixSection& section : source.sections) {
    tokenizer.Encode(section.text, tokens);
    count_section(section.name);
  }
  chat_template.EndTurn(tokens);
  for (const PrefixExample& example : source.examples) {
    chat_template.BeginTurn(Role::kUser, tokens);
    tokenizer.Encode(example.utterance, tokens);
    chat_template.EndTurn(tokens);
    chat_template.BeginTurn(Role::kAssistant, tokens);
    tokenizer.Encode(example.answer, tokens);
    chat_template.EndTurn(tokens);
  }
  chat_template.BeginTurn(Role::kUser, tokens);
  count_section("examples");
  return prefix;
}

void EncodeRequest(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                   std::string_view utterance, std::vector<TokenId>& out) {
  tokenizer.Encode(utterance, out);
  chat_template.EndTurn(out);
  chat_template.BeginTurn(Role::kAssistant, out);
}

std::string PrefixVersion(std::string_view versions, const std::vector<TokenId>& tokens) {
  constexpr std::size_t kDigits = 12;
  const std::string digest = DigestHex(std::as_bytes(std::span(tokens)));
  return std::string(versions) + "-" + digest.substr(0, kDigits);
}

}  // namespace engine
