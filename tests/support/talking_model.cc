#include "tests/support/talking_model.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tests/support/tiny_model.h"

namespace support {
namespace {

void AppendUtf8(int code_point, std::string& out) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else {
    out += static_cast<char>(0xC0 | code_point >> 6);
    out += static_cast<char>(0x80 | (code_point & 0x3F));
  }
}

// The byte-level alphabet of GPT-2: printable bytes stand for themselves, the others for U+0100 on.
std::vector<std::string> ByteTokens() {
  std::vector<std::string> tokens;
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool stands_for_itself =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    std::string token;
    AppendUtf8(stands_for_itself ? byte : 0x100 + others++, token);
    tokens.push_back(token);
  }
  return tokens;
}

GgufWriter TalkingModel() {
  std::vector<std::string> tokens = ByteTokens();
  std::vector<std::int32_t> types(tokens.size(), 1);
  for (const char* special : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(special);
    types.push_back(3);
  }
  TinyModelOptions options;
  options.vocab_count = static_cast<int>(tokens.size());
  options.context_tokens_max = 4096;
  GgufWriter writer = TinyModel(options);
  writer.Set("tokenizer.ggml.model", std::string("gpt2"));
  writer.Set("tokenizer.ggml.pre", std::string("gpt-2"));
  writer.Set("tokenizer.ggml.tokens", tokens);
  writer.Set("tokenizer.ggml.token_type", types);
  writer.Set("tokenizer.ggml.merges", std::vector<std::string>{});
  writer.Set("tokenizer.ggml.eos_token_id", std::uint32_t{258});
  writer.Set("tokenizer.chat_template",
             std::string("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' "
                         "+ message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"));
  return writer;
}

}  // namespace

std::string TalkingModelFile() {
  static const std::string kPath = [] {
    const std::string path = (std::filesystem::temp_directory_path() /
                              ("inglenook-talking-" + std::to_string(getpid()) + ".gguf"))
                                 .string();
    TalkingModel().WriteFile(path);
    return path;
  }();
  return kPath;
}

}  // namespace support
