#include "tests/support/answer_oracle.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace answer_oracle {
namespace {

using engine::TokenConstraint;
using engine::TokenId;

template <std::size_t kSize>
std::string Pieces(Draw& draw, const std::array<const char*, kSize>& pieces, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += pieces[draw.Below(kSize)];
  return text;
}

constexpr std::array<const char*, 12> kHeadPieces = {"a", "b",  "ab", " ", "1",    "-",
                                                     "é", "on", "0",  ":", "a 12", "☃"};
constexpr std::array<const char*, 14> kTextPieces = {
    "a", " ", "b", "é", "☃", "😀", "12", "\n", "\xC3", "\xE2\x80", "\xA8", "\xF0\x9F", "ab c", "-"};

// Every beginning of every printable character, and how many bytes it lacks.
const std::map<std::string, std::size_t, std::less<>>& CharacterBeginnings() {
  static const auto* const beginnings = [] {
    auto* made = new std::map<std::string, std::size_t, std::less<>>;
    for (std::uint32_t character = 0; character <= 0x10FFFF; ++character) {
      if (!IsPrintable(character)) continue;
      const std::string bytes = EncodeUtf8(character);
      for (std::size_t i = 1; i < bytes.size(); ++i) {
        made->emplace(bytes.substr(0, i), bytes.size() - i);
      }
      // The last byte makes whole characters; of long ones only the beginnings are kept.
      if (bytes.size() <= 3) made->emplace(bytes, 0);
    }
    return made;
  }();
  return *beginnings;
}

}  // namespace

std::size_t Draw::Below(std::size_t end) {
  assert(end >= 1);
  assert(end <= 65536);
  std::size_t drawn = 0;
  for (std::size_t range = 1; range < end && !bytes_.empty(); range *= 256) {
    drawn = drawn * 256 + bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return drawn % end;
}

std::vector<std::uint8_t> RandomBytes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes(1000);
  std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
  return bytes;
}

engine::AnswerLanguage MakeLanguage(Draw& draw) {
  engine::AnswerLanguage language;
  const std::size_t head_count = draw.Below(9);
  for (std::size_t i = 0; i < head_count; ++i) {
    engine::CallHead head;
    // Often a longer form of an earlier one.
    if (i > 0 && draw.Below(2) == 0) head.text = language.heads[draw.Below(i)].text;
    head.text += Pieces(draw, kHeadPieces, 1 + draw.Below(3));
    head.has_value = draw.Below(2) == 0;
    head.value_min = static_cast<int>(draw.Below(60)) - 30;
    head.value_max = head.value_min + static_cast<int>(draw.Below(150));
    language.heads.push_back(head);
  }
  constexpr std::array<const char*, 4> kLeads = {"say: ", "s", "ab ", "é"};
  language.words_lead = kLeads[draw.Below(kLeads.size())];
  language.words_bytes_max = 1 + static_cast<int>(draw.Below(12));
  language.ask_text = draw.Below(2) == 0 ? "ask" : "a";
  return language;
}

engine::AllowedAnswers MakeAllowed(Draw& draw, const engine::AnswerLanguage& language) {
  engine::AllowedAnswers allowed;
  const bool has_priors = draw.Below(2) == 0;
  for (std::uint32_t i = 0; i < language.heads.size(); ++i) {
    if (draw.Below(3) == 0) continue;
    allowed.heads.push_back(i);
    if (has_priors) allowed.priors.push_back(static_cast<float>(draw.Below(16)) * 0.5f - 4.0f);
  }
  allowed.ask = draw.Below(2) == 0;
  allowed.words = draw.Below(2) == 0 || (allowed.heads.empty() && !allowed.ask);
  return allowed;
}

Vocabulary MakeVocabulary(Draw& draw, const engine::AnswerLanguage& language) {
  Vocabulary vocabulary;
  std::vector<std::string> texts{language.words_lead, language.ask_text, " -12", "0123"};
  for (const engine::CallHead& head : language.heads) texts.push_back(head.text + " 12");
  std::int32_t id = static_cast<std::int32_t>(draw.Below(5));
  const auto add = [&](const std::string& bytes) {
    vocabulary.entries.push_back({TokenId{id}, bytes});
    id += 1 + static_cast<std::int32_t>(draw.Below(2));
  };
  const std::size_t piece_count = draw.Below(60);
  for (std::size_t i = 0; i < piece_count; ++i) {
    const std::string& text = texts[draw.Below(texts.size())];
    const std::size_t begin = draw.Below(text.size());
    std::string piece = text.substr(begin, 1 + draw.Below(6));
    if (draw.Below(4) == 0) piece += Pieces(draw, kTextPieces, 1 + draw.Below(3));
    if (draw.Below(4) == 0) piece = Pieces(draw, kTextPieces, 1 + draw.Below(4));
    add(piece);
  }
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  add("");
  vocabulary.end_ids = {TokenId{id + 2}, TokenId{id}};
  return vocabulary;
}

bool IsPrintable(std::uint32_t character) {
  if (character < 0x20) return false;
  if (character >= 0x7F && character <= 0x9F) return false;
  if (character >= 0x2028 && character <= 0x202E) return false;
  if (character >= 0x2066 && character <= 0x2069) return false;
  if (character >= 0xD800 && character <= 0xDFFF) return false;
  return character <= 0x10FFFF;
}

std::string EncodeUtf8(std::uint32_t character) {
  const auto more = [&](int shift) {
    return static_cast<char>(0x80 | ((character >> shift) & 0x3F));
  };
  if (character < 0x80) return {static_cast<char>(character)};
  if (character < 0x800) return {static_cast<char>(0xC0 | (character >> 6)), more(0)};
  if (character < 0x10000) {
    return {static_cast<char>(0xE0 | (character >> 12)), more(6), more(0)};
  }
  return {static_cast<char>(0xF0 | (character >> 18)), more(12), more(6), more(0)};
}

std::optional<std::size_t> MissingBytes(std::string_view bytes) {
  const auto& beginnings = CharacterBeginnings();
  while (!bytes.empty()) {
    std::size_t size = 1;
    auto found = beginnings.find(bytes.substr(0, size));
    if (found == beginnings.end()) return std::nullopt;
    while (found->second > 0) {
      if (size == bytes.size()) return found->second;
      ++size;
      if (found->second == 1 && size == 4) {  // the last of four
        if ((static_cast<std::uint8_t>(bytes[3]) & 0xC0) != 0x80) return std::nullopt;
        break;
      }
      found = beginnings.find(bytes.substr(0, size));
      if (found == beginnings.end()) return std::nullopt;
    }
    bytes.remove_prefix(size);
  }
  return 0;
}

Oracle::Oracle(const engine::AnswerLanguage& language, const engine::AllowedAnswers& allowed)
    : words_(allowed.words),
      has_priors_(!allowed.priors.empty()),
      lead_(language.words_lead),
      words_bytes_max_(static_cast<std::size_t>(language.words_bytes_max)) {
  for (std::size_t i = 0; i < allowed.heads.size(); ++i) {
    const engine::CallHead& head = language.heads[allowed.heads[i]];
    const auto index = static_cast<int>(allowed.heads[i]);
    const float prior = has_priors_ ? allowed.priors[i] : 0;
    if (!head.has_value) calls_.push_back({head.text, index, prior});
    for (int value = head.value_min; head.has_value && value <= head.value_max; ++value) {
      calls_.push_back({head.text + " " + std::to_string(value), index, prior});
    }
  }
  if (allowed.ask) calls_.push_back({language.ask_text, TokenConstraint::kAsk, 0});
}

bool Oracle::IsWordsBeginning(std::string_view text) const {
  if (!words_) return false;
  if (std::string_view(lead_).starts_with(text)) return true;
  if (!text.starts_with(lead_)) return false;
  const std::string_view sentence = text.substr(lead_.size());
  const auto missing = MissingBytes(sentence);
  return sentence.front() != ' ' && missing && sentence.size() + *missing <= words_bytes_max_;
}

std::optional<Answer> Oracle::AnswerOf(std::string_view text) const {
  for (const Answer& call : calls_) {
    if (call.text == text) return call;
  }
  if (text.size() <= lead_.size() || !IsWordsBeginning(text)) return std::nullopt;
  if (MissingBytes(text.substr(lead_.size())) != 0) return std::nullopt;
  return Answer{std::string(text), TokenConstraint::kWords, 0};
}

bool Oracle::IsBeginning(std::string_view text) const {
  return IsWordsBeginning(text) || std::ranges::any_of(calls_, [&](const Answer& call) {
           return std::string_view(call.text).starts_with(text);
         });
}

float Oracle::PriorOf(std::string_view text) const {
  float prior = IsWordsBeginning(text) ? 0 : -std::numeric_limits<float>::infinity();
  for (const Answer& call : calls_) {
    if (std::string_view(call.text).starts_with(text)) prior = std::max(prior, call.prior);
  }
  return prior;
}

std::vector<TokenId> Oracle::Allowed(std::string_view text, const Vocabulary& vocabulary) const {
  std::vector<TokenId> ids;
  for (const auto& entry : vocabulary.entries) {
    if (entry.bytes.empty()) continue;
    if (IsBeginning(std::string(text) + entry.bytes)) ids.push_back(entry.id);
  }
  if (AnswerOf(text)) ids.push_back(*std::ranges::min_element(vocabulary.end_ids));
  std::ranges::sort(ids);
  return ids;
}

std::string Oracle::Compare(TokenConstraint& constraint, const Vocabulary& vocabulary) const {
  const std::string& text = constraint.text();
  const auto allowed = constraint.Allowed();
  const std::vector<TokenId> expected = Allowed(text, vocabulary);
  const std::string after = " after \"" + text + "\"";
  if (allowed.empty()) return "nothing is allowed" + after;
  if (!std::ranges::equal(allowed, expected)) {
    return std::to_string(allowed.size()) + " ids are allowed instead of " +
           std::to_string(expected.size()) + after;
  }
  const auto biases = constraint.Biases();
  if (!biases.empty() && biases.size() != allowed.size()) return "a wrong number of biases" + after;
  const TokenId end_id = *std::ranges::min_element(vocabulary.end_ids);
  for (const auto& entry : vocabulary.entries) {
    const auto place = std::ranges::lower_bound(allowed, entry.id);
    if (place == allowed.end() || *place != entry.id || entry.bytes.empty()) continue;
    const float bias =
        biases.empty() ? 0 : biases[static_cast<std::size_t>(place - allowed.begin())];
    if (bias != PriorOf(text + entry.bytes) - PriorOf(text)) return "a wrong bias" + after;
  }
  if (allowed.back() == end_id && !biases.empty() &&
      biases.back() != AnswerOf(text)->prior - PriorOf(text)) {
    return "a wrong bias of the end" + after;
  }
  return {};
}

}  // namespace answer_oracle
