#include "engine/tokenizer.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/gguf_file.h"
#include "engine/gguf_value.h"
#include "engine/pre_tokenizer.h"
#include "engine/token_id.h"
#include "engine/unicode.h"

namespace engine {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

// Values of tokenizer.ggml.token_type.
constexpr std::int64_t kNormal = 1;
constexpr std::int64_t kControl = 3;
constexpr std::int64_t kUserDefined = 4;

constexpr std::string_view kConvertAgain = "; convert the model again or use another file of it";

std::string Missing(const GgufFile& file, std::string_view key) {
  return file.name() + ": key '" + std::string(key) +
         "' is missing or empty, so that text can't be turned into tokens" +
         std::string(kConvertAgain);
}

// The alphabet in which GPT-2 style files spell bytes: printable Latin-1 as itself, the other
// bytes in order from U+0100 on.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool itself =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      bytes_[itself ? static_cast<char32_t>(byte) : next++] = byte;
    }
  }
  // Nothing when a character is not of the alphabet.
  std::optional<std::string> BytesOf(std::string_view spelled) const {
    std::string bytes;
    for (const char32_t c : DecodeUtf8(spelled)) {
      const auto found = bytes_.find(c);
      if (found == bytes_.end()) return std::nullopt;
      bytes.push_back(static_cast<char>(found->second));
    }
    return bytes;
  }

 private:
  std::unordered_map<char32_t, int> bytes_;
};

std::uint64_t PairKey(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

// A possible merge of the symbol at `left` with the one after it.
struct Candidate {
  std::uint64_t order = 0;  // rank << 32 | left: the lowest rank first, then the leftmost
  std::uint64_t key = 0;    // of the two ids, to notice when one has changed since
  bool operator<(const Candidate& other) const { return order > other.order; }  // top: the least
};

struct Symbol {
  std::int32_t id = 0;
  std::int32_t previous = 0;  // -1: none
  std::int32_t next = 0;      // -1: none
};

}  // namespace

std::expected<Tokenizer, std::string> Tokenizer::From(const GgufFile& file) {
  const auto found_model = file.String(kModelKey);
  if (!found_model) return std::unexpected(found_model.error());
  const std::optional<std::string_view> model = *found_model;
  if (!model) return std::unexpected(Missing(file, kModelKey));
  if (*model != "gpt2") {
    return std::unexpected(file.Where(*file.FindEntry(kModelKey)) + " is '" + Printable(*model) +
                           "', but only 'gpt2' (byte-level BPE) is supported; use a model of the "
                           "SmolLM2 family");
  }
  const auto found_pre = file.String(kPreKey);
  if (!found_pre) return std::unexpected(found_pre.error());
  const std::optional<std::string_view> pre = *found_pre;
  if (!pre) return std::unexpected(Missing(file, kPreKey));
  const auto pre_tokenizer = PreTokenizerNamed(*pre);
  if (!pre_tokenizer) {
    return std::unexpected(file.Where(*file.FindEntry(kPreKey)) + " is '" + Printable(*pre) +
                           "', but only 'smollm' and 'gpt-2' are supported; a model cut another "
                           "way would answer badly");
  }
  Tokenizer tokenizer;
  tokenizer.pre_tokenizer_ = *pre_tokenizer;
  for (const auto read : {&Tokenizer::ReadTokens, &Tokenizer::ReadMerges, &Tokenizer::ReadBegin}) {
    const auto done = (tokenizer.*read)(file);
    if (!done) return std::unexpected(done.error());
  }
  return tokenizer;
}

std::expected<void, std::string> Tokenizer::ReadTokens(const GgufFile& file) {
  const auto found_tokens = file.Strings(kTokensKey);
  if (!found_tokens) return std::unexpected(found_tokens.error());
  const std::vector<std::string_view> tokens =
      found_tokens->value_or(std::vector<std::string_view>());
  if (tokens.empty()) return std::unexpected(Missing(file, kTokensKey));
  const auto found_types = file.Ints(kTypesKey);
  if (!found_types) return std::unexpected(found_types.error());
  const std::vector<std::int64_t> types =
      found_types->value_or(std::vector<std::int64_t>(tokens.size(), kNormal));
  if (types.size() != tokens.size()) {
    return std::unexpected(file.Where(*file.FindEntry(kTypesKey)) + " has " +
                           std::to_string(types.size()) + " entries, but there are " +
                           std::to_string(tokens.size()) + " tokens" + std::string(kConvertAgain));
  }
  const ByteAlphabet alphabet;
  std::ranges::fill(byte_tokens_, -1);
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view spelled = tokens[i];
    const auto [before, is_new] = seen.emplace(spelled, i);
    if (!is_new && !spelled.empty()) {
      return std::unexpected(file.Where(*file.FindEntry(kTokensKey)) + ": found '" +
                             Printable(spelled) + "' at the indexes " +
                             std::to_string(before->second) + " and " + std::to_string(i) +
                             ", expected each token once" + std::string(kConvertAgain));
    }
    const std::int64_t type = types[i];
    const auto id = static_cast<std::int32_t>(i);
    std::optional<std::string> bytes;
    if (type == kNormal) bytes = alphabet.BytesOf(spelled);
    plain_.push_back(bytes.has_value() && !bytes->empty());
    bytes_.push_back(bytes ? *bytes : std::string(spelled));
    if (type == kControl || type == kUserDefined) specials_.emplace(spelled, id);
    if (bytes && bytes->size() == 1) byte_tokens_[static_cast<unsigned char>((*bytes)[0])] = id;
  }
  return {};
}

std::expected<void, std::string> Tokenizer::ReadMerges(const GgufFile& file) {
  const auto found_merges = file.Strings(kMergesKey);
  if (!found_merges) return std::unexpected(found_merges.error());
  const std::optional<std::vector<std::string_view>>& merges = *found_merges;
  if (!merges) return std::unexpected(Missing(file, kMergesKey));
  // Of plain tokens only: no merge may make a special one out of text.
  const auto found_tokens = file.Strings(kTokensKey);
  if (!found_tokens) return std::unexpected(found_tokens.error());
  const std::vector<std::string_view> tokens =
      found_tokens->value_or(std::vector<std::string_view>());
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (plain_[i]) ids.emplace(tokens[i], static_cast<std::int32_t>(i));
  }
  const auto id_of = [&](std::string_view spelled) {
    const auto found = ids.find(spelled);
    return found == ids.end() ? -1 : found->second;
  };
  for (std::size_t rank = 0; rank < merges->size(); ++rank) {
    const std::string_view merge = (*merges)[rank];
    const std::size_t blank = std::min(merge.find(' '), merge.size());
    const std::string_view left = merge.substr(0, blank);
    const std::string_view right = merge.substr(std::min(blank + 1, merge.size()));
    const std::int32_t left_id = id_of(left);
    const std::int32_t right_id = id_of(right);
    const std::int32_t joined = id_of(std::string(left) + std::string(right));
    if (left_id < 0 || right_id < 0 || joined < 0) {
      return std::unexpected(file.Where(*file.FindEntry(kMergesKey)) + ": entry " +
                             std::to_string(rank) + " is '" + Printable(merge) +
                             "', expected two ordinary tokens that make a third" +
                             std::string(kConvertAgain));
    }
    merges_.emplace(PairKey(left_id, right_id), static_cast<std::uint32_t>(rank));
    joined_.push_back(joined);
  }
  return {};
}

std::expected<void, std::string> Tokenizer::ReadBegin(const GgufFile& file) {
  const auto wanted = file.Bool("tokenizer.ggml.add_bos_token");
  if (!wanted) return std::unexpected(wanted.error());
  if (!wanted->value_or(false)) return {};
  const auto found = file.Uint("tokenizer.ggml.bos_token_id");
  if (!found) return std::unexpected(found.error());
  const std::optional<std::uint64_t> id = *found;
  if (!id || *id >= bytes_.size()) {
    return std::unexpected(file.name() +
                           ": prompts begin with a token (tokenizer.ggml.add_bos_token), but "
                           "'tokenizer.ggml.bos_token_id' names none" +
                           std::string(kConvertAgain));
  }
  begin_token_ = TokenId{static_cast<std::int32_t>(*id)};
  return {};
}

std::optional<TokenId> Tokenizer::SpecialToken(std::string_view spelling) const {
  const auto found = specials_.find(std::string(spelling));
  if (found == specials_.end()) return std::nullopt;
  return TokenId{found->second};
}

const std::string& Tokenizer::TokenBytes(TokenId token) const {
  return bytes_[static_cast<std::size_t>(token)];
}

bool Tokenizer::IsPlain(TokenId token) const { return plain_[static_cast<std::size_t>(token)]; }

void Tokenizer::Encode(std::string_view text, std::vector<TokenId>& out) const {
  const std::vector<char32_t> code_points = DecodeUtf8(text);
  std::size_t at = 0;
  std::string piece;
  for (const std::size_t end : SplitPieces(pre_tokenizer_, code_points)) {
    piece.clear();
    for (; at < end; ++at) AppendUtf8(code_points[at], piece);
    EncodePiece(piece, out);
  }
}

void Tokenizer::EncodePiece(std::string_view piece, std::vector<TokenId>& out) const {
  assert(piece.size() <= std::numeric_limits<std::int32_t>::max());
  const auto count = static_cast<std::int32_t>(piece.size());
  std::vector<Symbol> symbols(piece.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
    symbols[static_cast<std::size_t>(i)] = {byte_tokens_[byte], i - 1, i + 1 < count ? i + 1 : -1};
  }
  const auto symbol = [&](std::int32_t i) -> Symbol& {
    return symbols[static_cast<std::size_t>(i)];
  };
  const auto candidate_at = [&](std::int32_t left) -> std::optional<Candidate> {
    if (left < 0 || symbol(left).next < 0) return std::nullopt;
    const std::uint64_t key = PairKey(symbol(left).id, symbol(symbol(left).next).id);
    const auto merge = merges_.find(key);
    if (merge == merges_.end()) return std::nullopt;
    return Candidate{PairKey(static_cast<std::int32_t>(merge->second), left), key};
  };
  std::vector<Candidate> first;
  for (std::int32_t i = 0; i < count; ++i) {
    if (const auto candidate = candidate_at(i)) first.push_back(*candidate);
  }
  std::priority_queue<Candidate> candidates({}, std::move(first));
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const auto at = static_cast<std::int32_t>(best.order & 0xFFFFFFFF);
    Symbol& left = symbol(at);
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbol(left.next);
    if (PairKey(left.id, right.id) != best.key) continue;
    left.id = joined_[best.order >> 32];
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbol(left.next).previous = at;
    for (const std::int32_t changed : {left.previous, at}) {
      if (const auto candidate = candidate_at(changed)) candidates.push(*candidate);
    }
  }
  for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = symbol(i).next) {
    if (symbol(i).id >= 0) out.push_back(TokenId{symbol(i).id});
  }
}

}  // namespace engine
