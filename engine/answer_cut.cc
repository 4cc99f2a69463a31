#include "engine/answer_cut.h"

#include <algorithm>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "engine/catalog_automaton.h"
#include "engine/text_automaton.h"

namespace engine {
namespace {

bool IsDigit(std::uint8_t byte) { return byte >= '0' && byte <= '9'; }

// Whether a number from `least` to `most` (not negative) begins with the digits of `prefix`.
bool SomeBeginsWith(std::int64_t prefix, std::int64_t least, std::int64_t most) {
  if (prefix == 0) return least <= 0 && most >= 0;
  std::int64_t first = prefix;
  std::int64_t last = prefix;
  while (first <= most) {
    if (last >= least) return true;
    first *= 10;
    last = last * 10 + 9;
  }
  return false;
}

// The same for the value of a head.
bool SomeValueBeginsWith(const CallHead& head, bool negative, std::int64_t prefix) {
  if (negative && prefix == 0) return false;  // no "-0"
  const std::int64_t least = negative ? -std::int64_t{head.value_max} : head.value_min;
  const std::int64_t most = negative ? -std::int64_t{head.value_min} : head.value_max;
  return SomeBeginsWith(prefix, std::max<std::int64_t>(least, 0), most);
}

bool IsValue(const CallHead& head, const AnswerCut::State& state) {
  if (state.digit_count == 0) return false;
  const std::int64_t value = state.negative ? -state.magnitude : state.magnitude;
  return value >= head.value_min && value <= head.value_max;
}

}  // namespace

AnswerCut::AnswerCut(const CatalogAutomaton& automaton, const AllowedAnswers& allowed)
    : automaton_(&automaton) {
  assert(std::ranges::is_sorted(allowed.heads, std::ranges::less_equal()));
  assert(allowed.heads.empty() || allowed.heads.back() < automaton.language().heads.size());
  assert(allowed.priors.empty() || allowed.priors.size() == allowed.heads.size());
  // Sorted by rank in one pass: a place for every entry, then those that are taken.
  std::vector<std::uint32_t> chosen(automaton.entry_count(), 0);  // 1 + index in allowed.heads
  const auto words = static_cast<std::uint32_t>(allowed.heads.size() + 1);
  for (std::uint32_t i = 0; i + 1 < words; ++i) chosen[automaton.rank(allowed.heads[i])] = i + 1;
  if (allowed.words) chosen[automaton.rank(automaton.words_entry())] = words;
  if (allowed.ask) chosen[automaton.rank(automaton.ask_entry())] = words;
  entries_.reserve(allowed.heads.size() + 2);
  if (!allowed.priors.empty()) priors_.reserve(allowed.heads.size() + 2);
  for (std::uint32_t rank = 0; rank < chosen.size(); ++rank) {
    if (chosen[rank] == 0) continue;
    entries_.push_back(automaton.entry(rank));
    if (allowed.priors.empty()) continue;
    priors_.push_back(chosen[rank] == words ? 0.0f : allowed.priors[chosen[rank] - 1]);
  }
  assert(!entries_.empty());
}

AnswerCut::State AnswerCut::Start() const {
  return {.last = static_cast<std::uint32_t>(entries_.size())};
}

bool AnswerCut::IsDead(const State& state) {
  return state.first == state.last && !state.in_value && state.text == TextState::kDead;
}

AnswerCut::State AnswerCut::Step(const State& state, std::uint8_t byte) const {
  if (state.text != TextState::kDead) return StepText(state, byte);
  State next;
  if (state.in_value) StepValue(state, byte, next);
  if (state.first < state.last) StepHeads(state, byte, next);
  return next;
}

AnswerCut::State AnswerCut::StepText(const State& state, std::uint8_t byte) const {
  State next;
  next.text = engine::StepText(state.text, byte);
  next.text_bytes_left = state.text_bytes_left - 1;
  if (next.text_bytes_left < BytesToBoundary(next.text)) next.text = TextState::kDead;
  return next;
}

void AnswerCut::StepHeads(const State& state, std::uint8_t byte, State& next) const {
  const auto begin = entries_.begin();
  const auto byte_of = [&](std::uint32_t entry) {
    const std::string_view text = automaton_->text(entry);
    return text.size() == state.depth ? -1 : int{static_cast<std::uint8_t>(text[state.depth])};
  };
  const auto run =
      std::ranges::equal_range(begin + state.first, begin + state.last, int{byte}, {}, byte_of);
  next.first = static_cast<std::uint32_t>(run.begin() - begin);
  next.last = static_cast<std::uint32_t>(run.end() - begin);
  next.depth = state.depth + 1;
  // The shortest text of a run comes first.
  if (byte == ' ' && SizeAt(state.first) == state.depth && TakesValue(state.first)) {
    next.in_value = true;
    next.valued = state.first;
  }
  if (next.first < next.last && IsWords(next.first) && SizeAt(next.first) == next.depth) {
    assert(next.last == next.first + 1);  // no head begins with the words' lead
    next.first = next.last = 0;
    next.text = TextState::kFirst;
    next.text_bytes_left = automaton_->language().words_bytes_max;
  }
}

void AnswerCut::StepValue(const State& state, std::uint8_t byte, State& next) const {
  const CallHead& head = HeadAt(state.valued);
  if (byte == '-') {
    if (state.digit_count > 0 || state.negative || head.value_min >= 0) return;
    next.in_value = next.negative = true;
    next.valued = state.valued;
    return;
  }
  if (!IsDigit(byte)) return;
  if (state.digit_count > 0 && state.magnitude == 0) return;  // no leading zero
  const std::int64_t magnitude = state.magnitude * 10 + (byte - '0');
  if (!SomeValueBeginsWith(head, state.negative, magnitude)) return;
  next.in_value = true;
  next.valued = state.valued;
  next.negative = state.negative;
  next.magnitude = magnitude;
  next.digit_count = static_cast<std::uint8_t>(state.digit_count + 1);
}

bool AnswerCut::MayEnd(const State& state) const {
  if (state.text != TextState::kDead) return state.text == TextState::kBoundary;
  if (state.in_value && IsValue(HeadAt(state.valued), state)) return true;
  if (state.first == state.last || SizeAt(state.first) != state.depth) return false;
  return !TakesValue(state.first);
}

std::uint32_t AnswerCut::EntryAtEnd(const State& state) const {
  assert(MayEnd(state));
  if (state.text != TextState::kDead) return automaton_->words_entry();
  return entries_[PositionAtEnd(state)];
}

std::uint32_t AnswerCut::PositionAtEnd(const State& state) const {
  // A number that is whole here is the only meaning: the catalog has no head that runs into it.
  return state.in_value && IsValue(HeadAt(state.valued), state) ? state.valued : state.first;
}

std::bitset<256> AnswerCut::NextBytes(const State& state) const {
  std::bitset<256> bytes;
  if (state.text != TextState::kDead) return bytes.set();
  if (state.in_value) {
    for (std::uint8_t byte = '0'; byte <= '9'; ++byte) bytes.set(byte);
    bytes.set('-');
  }
  std::uint32_t position = state.first;
  while (position < state.last) {
    const int byte = ByteAt(position, state.depth);
    if (byte < 0) {
      if (TakesValue(position)) bytes.set(' ');
      ++position;
      continue;
    }
    bytes.set(static_cast<std::size_t>(byte));
    const auto after = std::ranges::partition_point(
        entries_.begin() + position, entries_.begin() + state.last, [&](std::uint32_t entry) {
          return static_cast<std::uint8_t>(automaton_->text(entry)[state.depth]) == byte;
        });
    position = static_cast<std::uint32_t>(after - entries_.begin());
  }
  return bytes;
}

float AnswerCut::PriorAfter(const State& state) const {
  if (priors_.empty() || state.text != TextState::kDead) return 0;
  float prior = -std::numeric_limits<float>::infinity();
  for (std::uint32_t i = state.first; i < state.last; ++i) prior = std::max(prior, priors_[i]);
  if (state.in_value) prior = std::max(prior, priors_[state.valued]);
  return prior;
}

float AnswerCut::PriorAtEnd(const State& state) const {
  assert(MayEnd(state));
  if (priors_.empty() || state.text != TextState::kDead) return 0;
  return priors_[PositionAtEnd(state)];
}

const CallHead& AnswerCut::HeadAt(std::uint32_t position) const {
  assert(entries_[position] < automaton_->words_entry());
  return automaton_->language().heads[entries_[position]];
}

bool AnswerCut::TakesValue(std::uint32_t position) const {
  return entries_[position] < automaton_->words_entry() && HeadAt(position).has_value;
}

bool AnswerCut::IsWords(std::uint32_t position) const {
  return entries_[position] == automaton_->words_entry();
}

std::size_t AnswerCut::SizeAt(std::uint32_t position) const {
  return automaton_->text(entries_[position]).size();
}

// -1 at the end of the text.
int AnswerCut::ByteAt(std::uint32_t position, std::uint32_t depth) const {
  const std::string_view text = automaton_->text(entries_[position]);
  return depth < text.size() ? int{static_cast<std::uint8_t>(text[depth])} : -1;
}

}  // namespace engine
