#include "integrations/home_assistant/word_match.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <set>

#include "integrations/home_assistant/words.h"

namespace integrations::home_assistant {
namespace {

// Scores are in natural-log units, as the priors are.
constexpr double kNever = -1e9;
constexpr double kExplained = 2.0;
constexpr double kUnexplained = 4.0;
constexpr double kMissing = 1.5;
constexpr double kWholeName = 2.0;
constexpr double kNear = 1;          // for the speaker's area
constexpr double kMargin = 6.0;      // calls further behind the best are cut
constexpr double kPriorScale = 1.5;  // of scores, to outweigh the habits of a small model
constexpr double kLeastEvidence = 1.0;
constexpr double kUnknownWord = 0.4;
constexpr double kTie = 0.6;          // devices nearer than this are named alike
constexpr double kSurePrior = 8.0;    // a plain command: act
constexpr double kUnsurePrior = 1.0;  // something is missing or unknown: the model may ask
constexpr double kSynonym = 0.6;      // what a class is called beside its name

bool IsArticle(std::string_view word) {
  return word == "the" || word == "a" || word == "an" || word == "my" || word == "our" ||
         word == "its" || word == "this";
}

constexpr std::array kHelpers = std::to_array<std::string_view>(
    {"make", "get", "have", "put", "bring", "give", "set", "turn", "switch", "let", "change",
     "adjust", "move", "flip", "crank", "bump", "drop"});

// "closed" for "close", "locked" for "lock".
bool IsStateOf(std::string_view word, const std::string& verb) {
  return word == verb || word == verb + "ed" || word == verb + "d";
}

}  // namespace

struct WordMatch::Said {
  std::string verb;  // empty: a wish
  std::vector<Word> words;
  std::set<std::string> nouns;      // of the home, as they are spelled there
  std::vector<std::string> spoken;  // all nouns in their order, for whole names
  std::set<std::string> places;     // words of areas that were named whole
  std::vector<const Word*> numbers;
  std::set<std::string> values;  // of enum arguments
  std::string unit;              // "percent", "degrees" or empty
  int unknown = 0;               // words that mean nothing here
  bool guessed = false;
};

WordMatch::WordMatch(const Home& home, const ActionCatalog& catalog)
    : home_(&home), catalog_(&catalog), lexicon_(home) {}

// The verb's particle or another word of a phrase, not part of a name.
bool WordMatch::IsPartOfPhrase(const std::vector<Word>& words, std::size_t i) const {
  return lexicon_.IsToolWord(words[i].text) && !lexicon_.IsNoun(words[i].text);
}

void WordMatch::AddNouns(const std::vector<Word>& words, std::size_t begin, Said& said) const {
  for (std::size_t i = begin; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.is_number || lexicon_.IsValue(word.text)) continue;
    const std::string noun = lexicon_.NounOf(word.text);
    if (!noun.empty() && !(IsSmallWord(word.text) && noun != word.text)) {
      said.nouns.insert(noun);
      said.spoken.push_back(noun);
    } else if (!IsSmallWord(word.text) && !lexicon_.IsState(word.text) &&
               !lexicon_.IsToolWord(word.text) && !IsFiller(word.text)) {
      ++said.unknown;
    }
  }
  for (const std::vector<Phrase>& area : lexicon_.areas()) {
    const bool named = std::ranges::any_of(area, [&](const Phrase& variant) {
      return std::ranges::search(said.spoken, variant).size() == variant.size();
    });
    if (!named) continue;
    for (const Phrase& variant : area) said.places.insert(variant.begin(), variant.end());
  }
}

void WordMatch::AddValues(const std::vector<Word>& words, Said& said) const {
  for (const Word& word : words) {
    if (word.is_number) said.numbers.push_back(&word);
    if (lexicon_.IsValue(word.text)) said.values.insert(word.text);
    if (word.text == "percent") said.unit = "percent";
    if (word.text == "degrees" || word.text == "degree") said.unit = "degrees";
  }
}

// The correction's words take the place of their kind: device, value, verb.
WordMatch::Said WordMatch::SaidIn(const Reading& reading) const {
  Said said;
  said.verb = reading.verb;
  said.guessed = reading.guessed_verb;
  said.words = reading.words;
  const std::vector<Word>& fix = reading.correction;
  const bool verb_fixed = !fix.empty() && lexicon_.IsVerb(fix[0].text);
  if (verb_fixed) {
    said.verb = fix[0].text;
    said.words = fix;
  }
  AddNouns(fix, verb_fixed ? 1 : 0, said);
  if (said.nouns.empty()) {
    said.unknown = 0;
    AddNouns(reading.words, reading.verb.empty() ? 0 : 1, said);
  }
  AddValues(fix, said);
  if (said.numbers.empty() && said.values.empty()) AddValues(reading.words, said);
  // "turn the lamp on, no, off"
  for (const Word& word : fix) {
    if (verb_fixed || !lexicon_.IsState(word.text)) continue;
    std::erase_if(said.words, [&](const Word& old) { return lexicon_.IsState(old.text); });
    said.words.push_back(word);
  }
  for (const std::string& noun : reading.excluded) {
    if (std::ranges::count(said.spoken, noun) == 0) said.nouns.erase(noun);
  }
  return said;
}

WordMatch::DeviceScore WordMatch::ScoreDevice(std::uint32_t device, const Said& said,
                                              std::string_view area) const {
  const DeviceWords& words = lexicon_.devices()[device];
  DeviceScore result;
  bool own = false;
  for (const std::string& noun : said.nouns) {
    const double weight = lexicon_.Weight(noun);
    const bool synonym = std::ranges::find(words.synonyms, noun) != words.synonyms.end();
    if (words.own.contains(noun) || words.place.contains(noun)) {
      result.score += kExplained * weight;
      own = own || words.own.contains(noun) || synonym;
    } else if (synonym) {
      result.score += kExplained * weight * kSynonym;
      own = true;
    } else {
      result.unexplained += weight;
    }
  }
  double missing = std::numeric_limits<double>::max();
  for (const Phrase& variant : words.variants) {
    double here = 0;
    for (const std::string& word : variant) {
      const bool in_place = said.places.contains(word) && words.place.contains(word);
      if (!said.nouns.contains(word) && !in_place) here += lexicon_.Weight(word);
    }
    missing = std::min(missing, here);
    const bool whole = std::ranges::search(said.spoken, variant).size() == variant.size();
    result.named = result.named || whole;
  }
  result.missing = missing;
  result.score -= kMissing * missing + kUnexplained * result.unexplained;
  if (result.named) result.score += kWholeName;
  if (!own) result.score = kNever;  // only its area was named
  const bool near = !area.empty() && home_->house.devices[device].area == area;
  if (near && !result.named) result.score += kNear;
  return result;
}

std::vector<WordMatch::DeviceScore> WordMatch::ScoreDevices(const Said& said,
                                                            std::string_view area) const {
  std::vector<DeviceScore> scores;
  for (std::uint32_t device = 0; device < lexicon_.devices().size(); ++device) {
    scores.push_back(ScoreDevice(device, said, area));
  }
  LevelUnnamed(area, scores);
  return scores;
}

// "the light", where all are called something light: a short name is no reason to take it. Those
// in the speaker's area go before.
void WordMatch::LevelUnnamed(std::string_view area, std::vector<DeviceScore>& scores) const {
  const auto fits = [](const DeviceScore& score) {
    return score.score > kNever / 2 && score.unexplained == 0;
  };
  for (const DeviceScore& score : scores) {
    if (fits(score) && (score.named || score.missing == 0)) return;
  }
  for (std::size_t device = 0; device < scores.size(); ++device) {
    if (!fits(scores[device])) continue;
    const bool near = !area.empty() && home_->house.devices[device].area == area;
    scores[device].score += kMissing * scores[device].missing + (near ? kMargin : 0);
  }
}

double WordMatch::ToolScore(std::uint32_t tool, const Said& said) const {
  double verb_score = 0;
  double noun_score = 0;
  const auto& words = said.words;
  const auto stands_as_particle = [&](std::size_t i, bool beside_verb) {
    if (beside_verb) return true;
    // "on the desk" is a place; "the lamp on", "on please" is not.
    return i + 1 == words.size() || words[i].after != '\0' ||
           (!IsArticle(words[i + 1].text) && !lexicon_.IsNoun(words[i + 1].text));
  };
  const bool helper = said.verb.empty() || std::ranges::find(kHelpers, said.verb) != kHelpers.end();
  for (const Phrase& phrase : lexicon_.tools()[tool].phrases) {
    const bool verb_fits = phrase[0] == said.verb;
    if (phrase.size() == 1) {
      if (verb_fits) verb_score = std::max(verb_score, helper ? 1.0 : 2.0);
      for (std::size_t i = said.verb.empty() ? 0 : 1; i < words.size(); ++i) {
        const bool state = helper && lexicon_.IsState(words[i].text) &&
                           IsStateOf(words[i].text, phrase[0]) && stands_as_particle(i, false);
        if (state) verb_score = std::max(verb_score, 2.0);
        const bool noun = words[i].text == phrase[0] && !lexicon_.IsState(words[i].text) &&
                          !lexicon_.IsNoun(words[i].text);
        if (noun) noun_score = 1.5;
      }
      continue;
    }
    for (std::size_t i = said.verb.empty() ? 0 : 1; i < words.size(); ++i) {
      if (words[i].text != phrase[1] || !stands_as_particle(i, i == 1 && !said.verb.empty())) {
        continue;
      }
      if (verb_fits) verb_score = std::max(verb_score, 3.0);
      // "get the lamp off": another verb with the same particle.
      if (helper && !verb_fits && lexicon_.IsState(phrase[1])) {
        verb_score = std::max(verb_score, 1.5);
      }
    }
  }
  if (verb_score == 0 && helper) verb_score = 0.5;
  // "stop" pauses a player and turns off a switch: a tool made for one class goes before.
  if (verb_score >= 2 && home_->tools.tools[tool].classes.size() == 1) verb_score += 0.7;
  return verb_score + noun_score;
}

double WordMatch::ValueScore(const CatalogEntry& entry, const Said& said) const {
  const Tool& tool = home_->tools.tools[entry.tool];
  if (!tool.argument) {
    double score = said.values.empty() ? 0 : -1.5;
    if (!said.numbers.empty()) score -= 3;
    return score;
  }
  if (tool.argument->type == Argument::Type::kEnum) {
    if (!said.values.contains(entry.value)) return kNever;
    return said.numbers.empty() ? 3 : 1;
  }
  if (said.numbers.empty()) return -4;
  for (const Word* word : said.numbers) {
    const bool fits =
        word->is_whole && word->number >= tool.argument->min && word->number <= tool.argument->max;
    if (!fits) return kNever;
  }
  double score = 2;
  if (!said.unit.empty()) score += tool.argument->name == said.unit ? 1 : -3;
  return score;
}

std::vector<WordMatch::Candidate> WordMatch::Candidates(const Said& said, std::string_view area,
                                                        bool& sure) const {
  const std::vector<DeviceScore> devices = ScoreDevices(said, area);
  std::vector<Candidate> candidates;
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    if (devices[device].score <= kNever / 2) continue;
    const ActionCatalog::Range range = catalog_->EntriesOf(device);
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      const CatalogEntry& entry = catalog_->entries()[i];
      const double tool = ToolScore(entry.tool, said);
      const double value = ValueScore(entry, said);
      // Something must speak for the tool: a verb of its own, or a helper with a value or state.
      // Every word that means nothing here speaks against it.
      if (tool <= 0 || value <= kNever / 2) continue;
      const bool likely = tool + value >= kLeastEvidence + kUnknownWord * said.unknown;
      if (!likely && tool < kLeastEvidence) continue;
      candidates.push_back({i, devices[device].score + tool + value, likely});
    }
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.entry < b.entry;
  });
  sure = false;
  // What is less likely only stands beside something likely.
  if (candidates.empty() || !candidates.front().likely) return {};
  const double best = candidates.front().score;
  std::erase_if(candidates, [&](const Candidate& c) { return c.score < best - kMargin; });
  const std::uint32_t device = catalog_->entries()[candidates.front().entry].device;
  const bool tied = std::ranges::any_of(candidates, [&](const Candidate& c) {
    return catalog_->entries()[c.entry].device != device && c.score > best - kTie;
  });
  const DeviceScore& score = devices[device];
  sure = !tied && !said.guessed && score.unexplained == 0 && (score.named || said.unknown == 0) &&
         said.unknown <= 2;
  return candidates;
}

AllowedAnswers WordMatch::Match(std::string_view utterance, std::string_view area) const {
  AllowedAnswers allowed;
  const Reading reading = Read(SplitWords(utterance), lexicon_);
  if (reading.mood == Mood::kNoCommand) return allowed;
  allowed.ask = true;
  const Said said = SaidIn(reading);
  bool sure = false;
  std::vector<Candidate> candidates = Candidates(said, area, sure);
  if (candidates.empty()) return allowed;
  if (candidates.size() > kCandidatesMax) {
    // So many that are named alike: there is nothing to choose by.
    if (candidates[kCandidatesMax].score > candidates.front().score - kTie) return allowed;
    candidates.resize(kCandidatesMax);
  }
  const double best = candidates.front().score;
  const double base = sure ? kSurePrior : kUnsurePrior;
  std::ranges::sort(candidates, {}, &Candidate::entry);
  for (const Candidate& candidate : candidates) {
    allowed.heads.push_back(candidate.entry);
    allowed.priors.push_back(static_cast<float>(base + kPriorScale * (candidate.score - best)));
  }
  allowed.ask = !sure;
  return allowed;
}

std::vector<std::uint32_t> WordMatch::DevicesNamed(std::string_view utterance,
                                                   std::string_view area) const {
  const Reading reading = Read(SplitWords(utterance), lexicon_);
  std::vector<std::uint32_t> named;
  if (reading.mood == Mood::kNoCommand) return named;
  const Said said = SaidIn(reading);
  bool sure = false;
  const std::vector<Candidate> candidates = Candidates(said, area, sure);
  for (const Candidate& candidate : candidates) {
    if (candidate.score < candidates.front().score - kTie) break;
    const std::uint32_t device = catalog_->entries()[candidate.entry].device;
    if (std::ranges::find(named, device) == named.end()) named.push_back(device);
  }
  std::ranges::sort(named);
  return named;
}

}  // namespace integrations::home_assistant
