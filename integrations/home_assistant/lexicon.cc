#include "integrations/home_assistant/lexicon.h"

#include <algorithm>
#include <array>

#include "integrations/home_assistant/words.h"

namespace integrations::home_assistant {
namespace {

template <std::size_t count>
bool Contains(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::array kSmallWords = std::to_array<std::string_view>(
    {"the",         "a",       "an",    "my",     "our",     "your",       "its",
     "it",          "this",    "that",  "these",  "those",   "in",         "on",
     "at",          "to",      "of",    "for",    "by",      "from",       "with",
     "into",        "onto",    "and",   "please", "thanks",  "thank",      "you",
     "now",         "then",    "just",  "again",  "right",   "away",       "all",
     "bit",         "little",  "quick", "up",     "down",    "off",        "out",
     "over",        "back",    "me",    "us",     "so",      "be",         "quickly",
     "immediately", "kindly",  "level", "value",  "percent", "degrees",    "degree",
     "there",       "here",    "some",  "whole",  "way",     "completely", "fully",
     "who",         "which",   "is",    "are",    "'s",      "setting",    "mode",
     "one",         "only",    "about", "around", "exactly", "inglenook",  "everything",
     "both",        "everyone"});
constexpr std::array kFillers = std::to_array<std::string_view>(
    {"hey",       "hi",     "hello", "ok",     "okay",   "please", "inglenook", "well",
     "um",        "uh",     "so",    "now",    "just",   "then",   "and",       "alright",
     "quickly",   "kindly", "yes",   "oh",     "yeah",   "house",  "home",      "computer",
     "assistant", "listen", "right", "also",   "next",   "first",  "finally",   "quick",
     "dear",      "great",  "good",  "thanks", "simply", "maybe"});
// Verbs that need a value or a state beside them.
constexpr std::array kHelpers = std::to_array<std::string_view>(
    {"make",   "get",  "have", "put",  "bring", "give", "set",  "turn", "switch", "let", "change",
     "adjust", "move", "send", "flip", "crank", "bump", "drop", "tell", "take",   "shut"});
constexpr std::array kStates =
    std::to_array<std::string_view>({"on", "off", "open", "opened", "closed", "close", "shut",
                                     "locked", "unlocked", "up", "down", "paused", "running"});

struct ClassWords {
  std::string_view device_class;
  std::array<std::string_view, 8> words;
};
constexpr std::array kClassWords = std::to_array<ClassWords>({
    {"light", {"light", "lamp", "lighting", "bulb", "spotlight"}},
    {"cover", {"blind", "curtain", "shade", "shutter", "drapes", "cover", "door", "gate"}},
    {"lock", {"lock", "door"}},
    {"fan", {"fan", "ventilator", "ventilation"}},
    {"climate", {"thermostat", "heating", "heater", "radiator", "heat"}},
    {"media_player", {"speaker", "music", "stereo", "radio", "player", "tv", "song", "track"}},
    {"vacuum", {"robot", "vacuum", "mower"}},
    {"humidifier", {"humidifier"}},
    {"switch", {"plug", "switch", "outlet", "socket"}},
    {"scene", {"scene"}},
});
// What people call a floor beside its name.
struct FloorWords {
  std::string_view word;
  std::string_view floor;
};
constexpr std::array kFloorWords = std::to_array<FloorWords>({{"upstairs", "upper"},
                                                              {"downstairs", "ground"},
                                                              {"outdoors", "outside"},
                                                              {"outdoor", "outside"}});

void Add(const Phrase& phrase, std::set<std::string>& words) {
  words.insert(phrase.begin(), phrase.end());
}

}  // namespace

Phrase PhraseOf(std::string_view text) {
  Phrase phrase;
  for (Word& word : SplitWords(text)) phrase.push_back(std::move(word.text));
  return phrase;
}

bool IsSmallWord(std::string_view word) { return Contains(kSmallWords, word); }
bool IsFiller(std::string_view word) { return Contains(kFillers, word); }

Lexicon::Lexicon(const Home& home) {
  AddDevices(home);
  AddTools(home);
}

void Lexicon::AddDevices(const Home& home) {
  std::map<std::string, std::set<std::string>> places;
  for (const Area& area : home.house.areas) {
    std::set<std::string>& words = places[area.name];
    std::vector<Phrase> variants = {PhraseOf(area.name)};
    for (const std::string& alias : area.aliases) variants.push_back(PhraseOf(alias));
    for (const Phrase& variant : variants) Add(variant, words);
    Add(PhraseOf(area.floor), words);
    for (const FloorWords& floor : kFloorWords) {
      if (area.floor.find(floor.floor) != std::string::npos) words.emplace(floor.word);
    }
    areas_.push_back(std::move(variants));
  }
  for (const Device& device : home.house.devices) {
    DeviceWords words;
    words.variants.push_back(PhraseOf(device.name));
    for (const std::string& alias : device.aliases) words.variants.push_back(PhraseOf(alias));
    for (const Phrase& variant : words.variants) Add(variant, words.own);
    words.place = places[device.area];
    for (const ClassWords& entry : kClassWords) {
      if (entry.device_class != device.device_class) continue;
      for (const std::string_view word : entry.words) {
        if (!word.empty()) words.synonyms.emplace_back(word);
      }
    }
    std::set<std::string> all = words.own;
    all.insert(words.place.begin(), words.place.end());
    for (const std::string& word : all) ++nouns_[word];
    for (const std::string& word : words.synonyms) {
      if (!all.contains(word)) ++nouns_[word];
    }
    devices_.push_back(std::move(words));
  }
}

void Lexicon::AddTools(const Home& home) {
  for (const std::string_view helper : kHelpers) verbs_.emplace(helper);
  for (const Tool& tool : home.tools.tools) {
    ToolWords words;
    // "set_volume": its second word is a noun.
    Phrase name = PhraseOf("");
    std::string spaced = tool.name;
    std::ranges::replace(spaced, '_', ' ');
    name = PhraseOf(spaced);
    const auto spoken = tool.words.find(home.policy.language);
    if (spoken != tool.words.end()) {
      for (const std::string& text : spoken->second) {
        Phrase phrase = PhraseOf(text);
        if (phrase.empty()) continue;
        tool_words_.insert(phrase.begin(), phrase.end());
        const bool noun = phrase.size() == 1 && name.size() > 1 && name.front() == "set" &&
                          std::ranges::find(name, phrase[0]) != name.end() && phrase[0] != "set";
        if (!noun) verbs_.insert(phrase.front());
        words.phrases.push_back(std::move(phrase));
      }
    }
    if (tool.argument) values_.insert(tool.argument->values.begin(), tool.argument->values.end());
    tools_.push_back(std::move(words));
  }
}

bool Lexicon::IsVerb(std::string_view word) const { return verbs_.contains(word); }

std::string Lexicon::VerbOf(std::string_view heard) const {
  if (IsVerb(heard)) return std::string(heard);
  if (heard.size() < 4 || nouns_.contains(heard) || IsSmallWord(heard)) return "";
  if (heard.ends_with('s') || heard.ends_with("ed") || heard.ends_with("ing")) return "";
  for (const std::string& verb : verbs_) {
    std::string sorted_verb = verb;
    std::string sorted_heard(heard);
    std::ranges::sort(sorted_verb);
    std::ranges::sort(sorted_heard);
    const bool swapped = sorted_verb == sorted_heard && verb[0] == heard[0];
    const bool close = verb.size() >= 5 && heard.size() >= 5 && verb[0] == heard[0] &&
                       Similarity(heard, verb) >= 0.8;
    if (swapped || close) return verb;
  }
  return "";
}

std::string Lexicon::NounOf(std::string_view heard) const {
  if (nouns_.contains(heard)) return std::string(heard);
  if (heard.size() < 3 || IsSmallWord(heard) || IsVerb(heard) || values_.contains(heard)) return "";
  std::string best;
  double similarity = 0;
  for (const auto& [noun, count] : nouns_) {
    const double fit = Similarity(heard, noun);
    if (fit <= similarity) continue;
    similarity = fit;
    best = noun;
  }
  return best;
}

bool Lexicon::IsNoun(std::string_view heard) const { return !NounOf(heard).empty(); }
bool Lexicon::IsValue(std::string_view word) const { return values_.contains(word); }
bool Lexicon::IsState(std::string_view word) const { return Contains(kStates, word); }
bool Lexicon::IsToolWord(std::string_view word) const { return tool_words_.contains(word); }

double Lexicon::Weight(const std::string& noun) const {
  const auto found = nouns_.find(noun);
  if (found == nouns_.end() || found->second <= 2) return 1;
  return found->second <= 7 ? 0.7 : 0.45;
}

}  // namespace integrations::home_assistant
