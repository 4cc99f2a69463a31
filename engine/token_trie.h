// The vocabulary as a byte trie, built once per model.
//
// Nodes lie in preorder and know where their subtree ends, so that a walk that a byte forbids
// jumps over everything below it. Beside the trie: for each state inside free text the ids that
// may come next, since there nearly the whole vocabulary may and a walk would be long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text_automaton.h"
#include "engine/token_id.h"

namespace engine {

// Thread: any; never changes. Cost: about 12 bytes per node, 2 nodes per token.
class TokenTrie {
 public:
  struct Entry {
    TokenId id{};
    std::string bytes;  // what the token spells; empty: never generated
  };
  // `entries`: the tokens that may be generated, special ones left out; no id twice.
  // `end_ids`: those that end generation; of these only the lowest is ever offered.
  TokenTrie(std::span<const Entry> entries, std::span<const TokenId> end_ids);

  struct Node {
    std::uint32_t subtree_end = 0;  // index of the first node after this one's subtree
    std::uint32_t first_id = 0;     // the ids that end here: id_count of them in ids()
    std::uint16_t id_count = 0;     // more than one where tokens are spelled alike
    std::uint8_t byte = 0;
  };
  // In preorder, without the root; siblings by byte.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const TokenId> ids(const Node& node) const;

  // What may come next in free text. `needed[i]` is how many bytes ids[i] takes of the text's
  // limit: its own and those that end the character it begins.
  struct TextChoices {
    std::vector<TokenId> ids;  // ascending; the end id is among them where text may end
    std::vector<std::uint32_t> needed;
    std::uint32_t needed_max = 0;
  };
  const TextChoices& text_choices(TextState state) const;

  bool has_end_id() const { return end_id_ >= TokenId{0}; }
  TokenId end_id() const { return end_id_; }
  // The bytes of a token; empty for an id that is no entry.
  std::string_view bytes(TokenId id) const;
  std::size_t token_count() const { return ids_.size(); }
  std::size_t bytes_max() const { return bytes_max_; }  // of the longest token

 private:
  void AddNodes(std::span<const std::string_view> sorted);
  void FillTextChoices(TextState state);

  TokenId end_id_{-1};
  std::size_t bytes_max_ = 0;
  std::vector<Node> nodes_;
  std::vector<TokenId> ids_;  // in the order of their bytes
  std::string spellings_;     // all bytes, by id
  std::vector<std::uint32_t> spelling_ends_;
  std::array<TextChoices, kTextStateCount> text_choices_;
};

}  // namespace engine
