#include "engine/catalog_automaton.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/text_automaton.h"

namespace engine {
namespace {

constexpr int kDigitsMax = 10;  // of an int

// Whether `text` is a value of the head as it is written: no plus sign, no leading zeros.
bool IsValueText(const CallHead& head, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  return value >= head.value_min && value <= head.value_max && std::to_string(value) == text;
}

// Whether some value of the head begins with `text`.
bool SomeValueBeginsWith(const CallHead& head, std::string_view text) {
  if (text.empty()) return true;
  if (text == "-") return head.value_min < 0;
  std::int64_t first = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), first);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (std::to_string(first) != text) return false;
  if (first == 0) return head.value_min <= 0 && head.value_max >= 0;
  const bool negative = first < 0;
  std::int64_t last = first;
  for (int i = 0; i < kDigitsMax; ++i) {
    const auto [least, most] = std::minmax(first, last);
    if (least <= head.value_max && most >= head.value_min) return true;
    first *= 10;
    last = last * 10 + (negative ? -9 : 9);
  }
  return false;
}

}  // namespace

std::expected<CatalogAutomaton, std::string> CatalogAutomaton::Compile(AnswerLanguage language) {
  if (language.heads.size() > kHeadsMax) {
    return std::unexpected("The catalog has " + std::to_string(language.heads.size()) +
                           " calls; at most " + std::to_string(kHeadsMax) +
                           " are possible. Name fewer devices or tools.");
  }
  if (language.words_bytes_max < 1 || language.words_bytes_max > kWordsBytesMax) {
    return std::unexpected("The longest sentence is " + std::to_string(language.words_bytes_max) +
                           " bytes; it must be 1 to " + std::to_string(kWordsBytesMax) + ".");
  }
  CatalogAutomaton automaton(std::move(language));
  std::string broken = automaton.CheckEntries();
  if (broken.empty()) broken = automaton.CheckMeanings();
  if (!broken.empty()) return std::unexpected(std::move(broken));
  return automaton;
}

CatalogAutomaton::CatalogAutomaton(AnswerLanguage language) : language_(std::move(language)) {
  entries_.resize(entry_count());
  std::iota(entries_.begin(), entries_.end(), 0u);
  std::ranges::sort(entries_, [this](std::uint32_t a, std::uint32_t b) {
    const int order = text(a).compare(text(b));  // as unsigned bytes
    return order < 0 || (order == 0 && a < b);
  });
  ranks_.resize(entries_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) ranks_[entries_[i]] = i;
}

std::string_view CatalogAutomaton::text(std::uint32_t entry) const {
  assert(entry < entry_count());
  if (entry == words_entry()) return language_.words_lead;
  if (entry == ask_entry()) return language_.ask_text;
  return language_.heads[entry].text;
}

std::string CatalogAutomaton::Role(std::uint32_t entry) const {
  if (entry == words_entry()) return "the lead of a sentence";
  if (entry == ask_entry()) return "the text that asks back";
  return "call " + std::to_string(entry + 1);
}

std::string CatalogAutomaton::Name(std::uint32_t entry) const {
  return Role(entry) + ", \"" + std::string(text(entry)) + "\",";
}

// Each entry by itself.
std::string CatalogAutomaton::CheckEntries() const {
  for (std::uint32_t entry = 0; entry < entry_count(); ++entry) {
    const std::string_view bytes = text(entry);
    if (bytes.empty()) return "Of the answers " + Role(entry) + " is empty; give it a text.";
    if (bytes.size() > kHeadBytesMax) {
      return "Of the answers " + Role(entry) + " has " + std::to_string(bytes.size()) +
             " bytes; at most " + std::to_string(kHeadBytesMax) + " are possible. Shorten it.";
    }
    if (!IsPrintableLine(bytes)) {
      return "Of the answers " + Role(entry) +
             " is not one line of printable UTF-8; remove control characters and line breaks.";
    }
    if (entry >= words_entry() || !language_.heads[entry].has_value) continue;
    const CallHead& head = language_.heads[entry];
    if (head.value_min > head.value_max) {
      return "Of the answers " + Name(entry) + " takes a value from " +
             std::to_string(head.value_min) + " to " + std::to_string(head.value_max) +
             ", so none; swap the bounds.";
    }
  }
  return {};
}

// One answer may not have two meanings.
std::string CatalogAutomaton::CheckMeanings() const {
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (text(entries_[i - 1]) != text(entries_[i])) continue;
    return "Of the answers " + Name(entries_[i - 1]) + " and " + Name(entries_[i]) +
           " are alike; rename one of them.";
  }
  // In the order of bytes, those that begin with a text follow it.
  const std::uint32_t after_lead = rank(words_entry()) + 1;
  if (after_lead < entries_.size() &&
      text(entries_[after_lead]).starts_with(language_.words_lead)) {
    return "Of the answers " + Name(entries_[after_lead]) + " begins as a sentence does, with \"" +
           language_.words_lead + "\"; rename it or change the lead.";
  }
  for (std::uint32_t head = 0; head < words_entry(); ++head) {
    if (!language_.heads[head].has_value) continue;
    std::string broken = CheckValueClash(head);
    if (!broken.empty()) return broken;
  }
  return {};
}

// Whether another entry can be read as this head and its value.
std::string CatalogAutomaton::CheckValueClash(std::uint32_t head) const {
  const CallHead& valued = language_.heads[head];
  for (std::uint32_t i = rank(head) + 1; i < entries_.size(); ++i) {
    const std::string_view other = text(entries_[i]);
    if (!other.starts_with(valued.text)) break;
    if (other[valued.text.size()] != ' ') continue;
    const std::string_view rest = other.substr(valued.text.size() + 1);
    const bool is_words = entries_[i] == words_entry();
    const bool takes_value =
        !is_words && entries_[i] != ask_entry() && language_.heads[entries_[i]].has_value;
    const bool clash =
        is_words ? SomeValueBeginsWith(valued, rest) : !takes_value && IsValueText(valued, rest);
    if (!clash) continue;
    return "Of the answers " + Name(entries_[i]) + " can also be read as " + Name(head) +
           " with a value; rename one of them.";
  }
  return {};
}

}  // namespace engine
