// The words of a home: what its names, areas and tools are called.
//
// Built once from the documents and a small English list of what people call a class of devices
// ("curtain" for a cover). Knows no utterance.
//
// Thread: any; never changes. Ownership: the home outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/home.h"

namespace integrations::home_assistant {

// A name or a phrase, word by word.
using Phrase = std::vector<std::string>;

struct DeviceWords {
  std::vector<Phrase> variants;       // name, aliases
  std::set<std::string> own;          // all words of the variants
  std::set<std::string> place;        // words of its area and floor, aliases too
  std::vector<std::string> synonyms;  // what its class is also called
};

struct ToolWords {
  std::vector<Phrase> phrases;  // verb, perhaps a particle; or a noun: "volume"
};

class Lexicon {
 public:
  // Requires: a sorted home (home_assistant/prefix.h).
  explicit Lexicon(const Home& home);

  const std::vector<DeviceWords>& devices() const { return devices_; }
  const std::vector<ToolWords>& tools() const { return tools_; }
  const std::vector<std::vector<Phrase>>& areas() const { return areas_; }  // name, aliases

  // The base form of a verb that may begin a command; heard with a typing mistake too.
  // Returns: empty when it is none.
  std::string VerbOf(std::string_view heard) const;
  bool IsVerb(std::string_view word) const;
  // A word of some name, area, floor or class.
  bool IsNoun(std::string_view heard) const;
  // A value of some tool (a color, a speed), or a state ("on", "closed").
  bool IsValue(std::string_view word) const;
  bool IsState(std::string_view word) const;
  // A word of some tool's phrases.
  bool IsToolWord(std::string_view word) const;
  // Rare words say more: 1 for a word of one or two devices, less for common ones.
  double Weight(const std::string& noun) const;
  // The noun that was heard, as it is spelled in the home; empty: none.
  std::string NounOf(std::string_view heard) const;

 private:
  void AddDevices(const Home& home);
  void AddTools(const Home& home);

  std::vector<DeviceWords> devices_;
  std::vector<ToolWords> tools_;
  std::vector<std::vector<Phrase>> areas_;
  std::map<std::string, int, std::less<>> nouns_;  // and how many devices have it
  std::set<std::string, std::less<>> verbs_;
  std::set<std::string, std::less<>> tool_words_;
  std::set<std::string, std::less<>> values_;
};

Phrase PhraseOf(std::string_view text);

// Words that carry no meaning of their own here: articles, prepositions, politeness.
bool IsSmallWord(std::string_view word);
// Words that may be left out at the beginning: "hey", "please", "now".
bool IsFiller(std::string_view word);

}  // namespace integrations::home_assistant
