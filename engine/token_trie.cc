#include "engine/token_trie.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "engine/text_automaton.h"
#include "engine/token_id.h"

namespace engine {

TokenTrie::TokenTrie(std::span<const Entry> entries, std::span<const TokenId> end_ids) {
  for (const TokenId id : end_ids) {
    assert(id >= TokenId{0});
    if (!has_end_id() || id < end_id_) end_id_ = id;
  }
  std::vector<const Entry*> by_id;
  by_id.reserve(entries.size());
  for (const Entry& entry : entries) {
    assert(entry.id >= TokenId{0});
    const bool ends = std::ranges::find(end_ids, entry.id) != end_ids.end();
    if (!entry.bytes.empty() && !ends) by_id.push_back(&entry);
  }
  std::ranges::sort(by_id, {}, [](const Entry* entry) { return entry->id; });
  for (const Entry* entry : by_id) {
    const auto index = static_cast<std::size_t>(entry->id);
    assert(index >= spelling_ends_.size());  // no id twice
    spelling_ends_.resize(index, static_cast<std::uint32_t>(spellings_.size()));
    spellings_ += entry->bytes;
    assert(spellings_.size() <= std::numeric_limits<std::uint32_t>::max());
    spelling_ends_.push_back(static_cast<std::uint32_t>(spellings_.size()));
    bytes_max_ = std::max(bytes_max_, entry->bytes.size());
  }

  std::vector<const Entry*> by_bytes = by_id;
  std::ranges::sort(by_bytes, [](const Entry* a, const Entry* b) {
    const int order = a->bytes.compare(b->bytes);  // as unsigned bytes
    return order < 0 || (order == 0 && a->id < b->id);
  });
  std::vector<std::string_view> sorted;
  sorted.reserve(by_bytes.size());
  ids_.reserve(by_bytes.size());
  for (const Entry* entry : by_bytes) {
    sorted.emplace_back(entry->bytes);
    ids_.push_back(entry->id);
  }
  AddNodes(sorted);
  for (int i = 1; i < kTextStateCount; ++i) FillTextChoices(static_cast<TextState>(i));
}

// Adds the nodes in preorder; the nodes from the root to the latest one are open, their subtrees
// not ended yet.
void TokenTrie::AddNodes(std::span<const std::string_view> sorted) {
  std::vector<std::uint32_t> open;
  const auto close_to = [&](std::size_t depth) {
    while (open.size() > depth) {
      nodes_[open.back()].subtree_end = static_cast<std::uint32_t>(nodes_.size());
      open.pop_back();
    }
  };
  std::string_view before;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string_view bytes = sorted[i];
    const auto difference = std::ranges::mismatch(before, bytes);
    close_to(static_cast<std::size_t>(difference.in1 - before.begin()));
    for (std::size_t depth = open.size(); depth < bytes.size(); ++depth) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.first_id = static_cast<std::uint32_t>(i),
                        .byte = static_cast<std::uint8_t>(bytes[depth])});
    }
    Node& last = nodes_[open.back()];
    if (last.id_count == 0) last.first_id = static_cast<std::uint32_t>(i);
    ++last.id_count;
    before = bytes;
  }
  close_to(0);
}

void TokenTrie::FillTextChoices(TextState state) {
  TextChoices& choices = text_choices_[static_cast<std::size_t>(state)];
  for (std::size_t i = 0; i < spelling_ends_.size(); ++i) {
    const TokenId id{static_cast<std::int32_t>(i)};
    const std::string_view spelled = bytes(id);
    if (spelled.empty()) continue;
    const TextState after = StepText(state, spelled);
    if (after == TextState::kDead) continue;
    const std::size_t needed = spelled.size() + static_cast<std::size_t>(BytesToBoundary(after));
    choices.ids.push_back(id);
    choices.needed.push_back(static_cast<std::uint32_t>(needed));
    choices.needed_max = std::max(choices.needed_max, choices.needed.back());
  }
  if (state != TextState::kBoundary || !has_end_id()) return;
  const auto place = std::ranges::lower_bound(choices.ids, end_id_);
  choices.needed.insert(choices.needed.begin() + (place - choices.ids.begin()), 0);
  choices.ids.insert(place, end_id_);
}

std::span<const TokenId> TokenTrie::ids(const Node& node) const {
  return std::span(ids_).subspan(node.first_id, node.id_count);
}

const TokenTrie::TextChoices& TokenTrie::text_choices(TextState state) const {
  assert(state != TextState::kDead);
  return text_choices_[static_cast<std::size_t>(state)];
}

std::string_view TokenTrie::bytes(TokenId id) const {
  const auto index = static_cast<std::size_t>(id);
  if (id < TokenId{0} || index >= spelling_ends_.size()) return {};
  const std::uint32_t begin = index == 0 ? 0 : spelling_ends_[index - 1];
  return std::string_view(spellings_).substr(begin, spelling_ends_[index] - begin);
}

}  // namespace engine
