#include "engine/token_constraint.h"

#include <algorithm>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/answer_cut.h"
#include "engine/catalog_automaton.h"
#include "engine/text_automaton.h"
#include "engine/token_id.h"
#include "engine/token_trie.h"

namespace engine {

TokenConstraint::TokenConstraint(const CatalogAutomaton& automaton, const TokenTrie& trie,
                                 const AllowedAnswers& allowed)
    : automaton_(&automaton), trie_(&trie), cut_(automaton, allowed), state_(cut_.Start()) {
  levels_.reserve(trie.bytes_max() + 1);
}

std::span<const TokenId> TokenConstraint::Allowed() {
  Fill();
  return allowed_;
}

std::span<const float> TokenConstraint::Biases() {
  Fill();
  return biases_;
}

void TokenConstraint::Fill() {
  assert(!finished_);
  if (filled_) return;
  filled_ = true;
  allowed_ids_.clear();
  biases_.clear();
  if (state_.text != TextState::kDead) {
    FillFromText();
  } else {
    choices_.clear();
    WalkTrie();
    if (cut_.MayEnd(state_) && trie_->has_end_id()) {
      choices_.push_back({trie_->end_id(), cut_.PriorAtEnd(state_)});
    }
    std::ranges::sort(choices_, {}, &Choice::id);
    for (const Choice& choice : choices_) allowed_ids_.push_back(choice.id);
    allowed_ = allowed_ids_;
    if (cut_.has_priors()) {
      const float now = cut_.PriorAfter(state_);
      for (const Choice& choice : choices_) biases_.push_back(choice.prior - now);
    }
  }
  assert(!allowed_.empty());  // CheckSpellable
}

// The trie's list, or of it what the text's limit has room for.
void TokenConstraint::FillFromText() {
  const TokenTrie::TextChoices& choices = trie_->text_choices(state_.text);
  const auto left = static_cast<std::uint32_t>(state_.text_bytes_left);
  if (choices.needed_max <= left) {
    allowed_ = choices.ids;
    return;
  }
  for (std::size_t i = 0; i < choices.ids.size(); ++i) {
    if (choices.needed[i] <= left) allowed_ids_.push_back(choices.ids[i]);
  }
  allowed_ = allowed_ids_;
}

// Walks the trie and the cut together; a byte that no answer goes on with skips a subtree.
void TokenConstraint::WalkTrie() {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  const auto end = static_cast<std::uint32_t>(nodes.size());
  levels_.clear();
  levels_.push_back({state_, cut_.NextBytes(state_), end});
  for (std::uint32_t i = 0; i < end;) {
    while (i >= levels_.back().subtree_end) levels_.pop_back();
    const TokenTrie::Node& node = nodes[i];
    const Level& level = levels_.back();
    if (!level.next_bytes[node.byte]) {
      i = node.subtree_end;
      continue;
    }
    const AnswerCut::State after = cut_.Step(level.state, node.byte);
    if (AnswerCut::IsDead(after)) {
      i = node.subtree_end;
      continue;
    }
    if (node.id_count > 0) {
      const float prior = cut_.PriorAfter(after);
      for (const TokenId id : trie_->ids(node)) choices_.push_back({id, prior});
    }
    ++i;
    if (i < node.subtree_end) levels_.push_back({after, cut_.NextBytes(after), node.subtree_end});
  }
}

void TokenConstraint::Accept(TokenId token) {
  assert(!finished_);
  assert(std::ranges::binary_search(Allowed(), token));
  filled_ = false;
  if (trie_->has_end_id() && token == trie_->end_id()) {
    finished_ = true;
    return;
  }
  const std::string_view bytes = trie_->bytes(token);
  for (const char byte : bytes) state_ = cut_.Step(state_, static_cast<std::uint8_t>(byte));
  assert(!AnswerCut::IsDead(state_));
  text_ += bytes;
}

int TokenConstraint::answer_index() const {
  assert(finished_);
  const std::uint32_t entry = cut_.EntryAtEnd(state_);
  if (entry == automaton_->words_entry()) return kWords;
  return entry == automaton_->ask_entry() ? kAsk : static_cast<int>(entry);
}

namespace {

std::string ByteName(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

// Which bytes are tokens by themselves.
std::bitset<256> SingleBytes(const TokenTrie& trie) {
  std::bitset<256> single;
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (std::uint32_t i = 0; i < nodes.size(); i = nodes[i].subtree_end) {
    if (nodes[i].id_count > 0) single.set(nodes[i].byte);
  }
  return single;
}

std::string CheckBytes(std::string_view text, const std::bitset<256>& single) {
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (single[byte]) continue;
    return "The model has no token for the byte " + ByteName(byte) + " of the answer \"" +
           std::string(text) + "\"; rename it, or use another model.";
  }
  return {};
}

// Inside a sentence: whatever the tokens begin, they can end, in the least number of bytes. A token
// that comes from the lead reaches no other state than its bytes inside a sentence do.
std::string CheckText(const TokenTrie& trie) {
  std::vector<TextState> reached{TextState::kFirst};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const TokenTrie::TextChoices& choices = trie.text_choices(reached[i]);
    const auto least = static_cast<std::uint32_t>(
        reached[i] == TextState::kFirst ? 1 : BytesToBoundary(reached[i]));
    if (std::ranges::find(choices.needed, least) == choices.needed.end()) {
      return "The model has no token that ends every character it can begin, so it can't answer "
             "in words; use another model.";
    }
    for (const TokenId id : choices.ids) {
      const TextState after = StepText(reached[i], trie.bytes(id));
      if (std::ranges::find(reached, after) == reached.end()) reached.push_back(after);
    }
  }
  return {};
}

}  // namespace

// Where every byte of an answer is a token by itself, it can be spelled from anywhere.
std::string CheckSpellable(const CatalogAutomaton& automaton, const TokenTrie& trie) {
  if (!trie.has_end_id()) {
    return "The model has no token that ends its answer; use another model.";
  }
  const std::bitset<256> single = SingleBytes(trie);
  for (std::uint32_t entry = 0; entry < automaton.entry_count(); ++entry) {
    std::string needed(automaton.text(entry));
    std::string broken = CheckBytes(needed, single);
    if (!broken.empty()) return broken;
    if (entry >= automaton.words_entry()) continue;
    const CallHead& head = automaton.language().heads[entry];
    if (!head.has_value) continue;
    needed += head.value_min < 0 ? " -0123456789" : " 0123456789";
    broken = CheckBytes(needed, single);
    if (!broken.empty()) return broken;
  }
  return CheckText(trie);
}

}  // namespace engine
