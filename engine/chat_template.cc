#include "engine/chat_template.h"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/gguf_value.h"
#include "engine/token_id.h"
#include "engine/tokenizer.h"

namespace engine {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";
constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";
constexpr std::string_view kWayOut =
    "; use a model with a ChatML template, or set model.chat_template to chatml if it was trained "
    "with one";

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "";
}

bool IsChatMl(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  return has(kStart) && has(kEnd) && !has("<|im_sep|>") && !has("<end_of_utterance>");
}

// The families that are known and not built in, to name what was found.
std::string_view FamilyOf(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("<|start_header_id|>")) return " (Llama 3)";
  if (has("<start_of_turn>")) return " (Gemma)";
  if (has("[INST]")) return " (Mistral)";
  if (has("<|assistant|>")) return " (Phi-3)";
  return "";
}

}  // namespace

std::expected<ChatTemplate, std::string> ChatTemplate::From(const GgufFile& file,
                                                            const Tokenizer& tokenizer,
                                                            std::string_view forced) {
  if (forced.empty()) {
    const auto found = file.String(kTemplateKey);
    if (!found) return std::unexpected(found.error());
    const std::optional<std::string_view> text = *found;
    if (!text) {
      return std::unexpected(file.name() + ": key '" + std::string(kTemplateKey) +
                             "' is missing, so that it is unknown how the model takes turns" +
                             std::string(kWayOut));
    }
    if (!IsChatMl(*text)) {
      return std::unexpected(file.Where(*file.FindEntry(kTemplateKey)) +
                             " is of a family that isn't supported" + std::string(FamilyOf(*text)) +
                             std::string(kWayOut));
    }
  } else if (forced != "chatml") {
    return std::unexpected("model.chat_template is '" + Printable(forced) +
                           "', but only 'chatml' is known; leave it out to take the one in " +
                           file.name());
  }
  const auto start = tokenizer.SpecialToken(kStart);
  const auto end = tokenizer.SpecialToken(kEnd);
  if (!start || !end) {
    return std::unexpected(file.name() + ": the vocabulary has no token '" +
                           std::string(start ? kEnd : kStart) +
                           "', which ChatML needs; use an instruct model");
  }
  ChatTemplate result(tokenizer);
  result.start_ = *start;
  result.end_ = *end;
  return result;
}

void ChatTemplate::BeginTurn(Role role, std::vector<TokenId>& out) const {
  const std::optional<TokenId> begin = tokenizer_->begin_token();
  if (role == Role::kSystem && begin) out.push_back(*begin);
  out.push_back(start_);
  tokenizer_->Encode(std::string(NameOf(role)) + "\n", out);
}

void ChatTemplate::EndTurn(std::vector<TokenId>& out) const {
  out.push_back(end_);
  tokenizer_->Encode("\n", out);
}

}  // namespace engine
