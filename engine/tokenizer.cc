#include "engine/tokenizer.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <queue>
#include <utility>

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

std::string Missing(const GgufFile& file, std::string_view key) {
  return file.name() + ": key '" + std::string(key) +
         "' is missing, so that text can't be turned into tokens; convert the model again";
}

// The alphabet in which GPT-2 style files spell bytes: printable Latin-1 as itself, the other
// bytes in order from U+0100 on.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
                          byte >= 0xAE;
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
  std::uint32_t rank = 0;
  std::uint32_t left = 0;
  std::uint64_t key = 0;  // of the two ids, to notice when one has changed since
  std::int32_t joined = 0;
  bool operator<(const Candidate& other) const {  // the queue's top is the largest
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

struct Symbol {
  std::int32_t id = 0;
  std::int32_t previous = 0;  // -1: none
  std::int32_t next = 0;      // -1: none
};

}  // namespace

std::expected<Tokenizer, std::string> Tokenizer::From(const GgufFile& file) {
  const auto model = file.String(kModelKey);
  if (!model) return std::unexpected(model.error());
  if (!*model) return std::unexpected(Missing(file, kModelKey));
  if (**model != "gpt2") {
    return std::unexpected(file.Where(*file.FindEntry(kModelKey)) + " is '" +
                           std::string(**model) +
                           "', but only 'gpt2' (byte-level BPE) is supported; use a model of the "
                           "SmolLM2 family");
  }
  const auto pre = file.String(kPreKey);
  if (!pre) return std::unexpected(pre.error());
  if (!*pre) return std::unexpected(Missing(file, kPreKey));
  const auto pre_tokenizer = PreTokenizerNamed(**pre);
  if (!pre_tokenizer) {
    return std::unexpected(file.Where(*file.FindEntry(kPreKey)) + " is '" + std::string(**pre) +
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
  const auto tokens = file.Strings(kTokensKey);
  if (!tokens) return std::unexpected(tokens.error());
  if (!*tokens || (*tokens)->empty()) return std::unexpected(Missing(file, kTokensKey));
  const auto types = file.Ints(kTypesKey);
  if (!types) return std::unexpected(types.error());
  if (*types && (*types)->size() != (*tokens)->size()) {
    return std::unexpected(file.Where(*file.FindEntry(kTypesKey)) + " has " +
                           std::to_string((*types)->size()) + " entries, but there are " +
                           std::to_string((*tokens)->size()) + " tokens; the file is damaged");
  }
  const ByteAlphabet alphabet;
  std::fill(std::begin(byte_tokens_), std::end(byte_tokens_), -1);
  for (std::size_t i = 0; i < (*tokens)->size(); ++i) {
    const std::string_view spelled = (**tokens)[i];
    const std::int64_t type = *types ? (**types)[i] : kNormal;
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
  const auto merges = file.Strings(kMergesKey);
  if (!merges) return std::unexpected(merges.error());
  if (!*merges) return std::unexpected(Missing(file, kMergesKey));
  std::unordered_map<std::string_view, std::int32_t> ids;
  const auto tokens = file.Strings(kTokensKey);
  for (std::size_t i = 0; i < (*tokens)->size(); ++i) {
    ids.emplace((**tokens)[i], static_cast<std::int32_t>(i));
  }
  for (std::size_t rank = 0; rank < (*merges)->size(); ++rank) {
    const std::string_view merge = (**merges)[rank];
    const std::size_t blank = merge.find(' ', 1);
    const auto left = ids.find(merge.substr(0, blank));
    const auto right =
        blank == std::string_view::npos ? ids.end() : ids.find(merge.substr(blank + 1));
    std::string joined(merge);
    if (blank != std::string_view::npos) joined.erase(blank, 1);
    const auto whole = ids.find(joined);
    if (left == ids.end() || right == ids.end() || whole == ids.end()) {
      return std::unexpected(file.Where(*file.FindEntry(kMergesKey)) + ": entry " +
                             std::to_string(rank) +
                             " doesn't join two tokens to a third; convert the model again");
    }
    merges_.emplace(PairKey(left->second, right->second),
                    Merge{static_cast<std::uint32_t>(rank), whole->second});
  }
  return {};
}

std::expected<void, std::string> Tokenizer::ReadBegin(const GgufFile& file) {
  const auto wanted = file.Bool("tokenizer.ggml.add_bos_token");
  if (!wanted) return std::unexpected(wanted.error());
  if (!wanted->value_or(false)) return {};
  const auto id = file.Uint("tokenizer.ggml.bos_token_id");
  if (!id) return std::unexpected(id.error());
  if (!*id || **id >= bytes_.size()) {
    return std::unexpected(file.name() +
                           ": prompts begin with a token (tokenizer.ggml.add_bos_token), but "
                           "'tokenizer.ggml.bos_token_id' names none; convert the model again");
  }
  begin_token_ = TokenId{static_cast<std::int32_t>(**id)};
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
  std::vector<Symbol> symbols(piece.size());
  const auto count = static_cast<std::int32_t>(piece.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
    symbols[static_cast<std::size_t>(i)] = {byte_tokens_[byte], i - 1, i + 1 < count ? i + 1 : -1};
  }
  const auto symbol = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  std::priority_queue<Candidate> candidates;
  const auto offer = [&](std::int32_t left) {
    if (left < 0 || symbol(left).next < 0) return;
    const std::uint64_t key = PairKey(symbol(left).id, symbol(symbol(left).next).id);
    const auto merge = merges_.find(key);
    if (merge == merges_.end()) return;
    candidates.push(
        {merge->second.rank, static_cast<std::uint32_t>(left), key, merge->second.joined});
  };
  for (std::int32_t i = 0; i < count; ++i) offer(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = symbol(static_cast<std::int32_t>(best.left));
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbol(left.next);
    if (PairKey(left.id, right.id) != best.key) continue;
    left.id = best.joined;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbol(left.next).previous = static_cast<std::int32_t>(best.left);
    offer(left.previous);
    offer(static_cast<std::int32_t>(best.left));
  }
  for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = symbol(i).next) {
    if (symbol(i).id >= 0) out.push_back(TokenId{symbol(i).id});
  }
}

}  // namespace engine
