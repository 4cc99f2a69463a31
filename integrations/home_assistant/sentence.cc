#include "integrations/home_assistant/sentence.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace integrations::home_assistant {
namespace {

using Words = std::vector<Word>;

template <std::size_t count>
bool Contains(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Whether these words stand at `i`.
bool Stands(const Words& words, std::size_t i, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    if (i >= words.size() || words[i].text != text) return false;
    ++i;
  }
  return true;
}

bool Anywhere(const Words& words, std::initializer_list<std::string_view> texts) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (Stands(words, i, texts)) return true;
  }
  return false;
}

// Words that make an action depend on something, or put it off.
constexpr std::array kConditions = std::to_array<std::string_view>(
    {"if",      "when",      "whenever", "unless",    "until", "till",     "once",   "before",
     "after",   "later",     "tomorrow", "yesterday", "every", "daily",    "weekly", "imagine",
     "suppose", "supposing", "pretend",  "whether",   "wish",  "otherwise"});
constexpr std::array kTimeUnits =
    std::to_array<std::string_view>({"second", "seconds", "minute", "minutes", "hour", "hours",
                                     "day", "days", "am", "pm", "week", "weeks", "o"});
// Verbs with a subject: what stands with them is a statement.
constexpr std::array kFinite = std::to_array<std::string_view>(
    {"is",    "are",    "was",     "were",   "am",     "been",   "'s",    "sounds", "looks",
     "seems", "feels",  "has",     "had",    "costs",  "made",   "makes", "takes",  "took",
     "works", "worked", "broke",   "needs",  "needed", "does",   "did",   "said",   "says",
     "keeps", "kept",   "used",    "went",   "goes",   "got",    "gets",  "came",   "comes",
     "would", "should", "could",   "might",  "must",   "will",   "can",   "cannot", "became",
     "helps", "uses",   "matters", "smells", "wakes",  "annoys", "beats"});
constexpr std::array kRelatives =
    std::to_array<std::string_view>({"that", "which", "who", "it", "what", "whatever"});
constexpr std::array kReasons =
    std::to_array<std::string_view>({"because", "since", "as", "while", "cause", "cuz", "but"});
constexpr std::array kSubjects = std::to_array<std::string_view>({"i", "we", "he", "she", "they"});
constexpr std::array kArticles =
    std::to_array<std::string_view>({"the", "a", "an", "my", "our", "your", "this", "that"});
constexpr std::array kPrepositions = std::to_array<std::string_view>(
    {"in", "on", "at", "to", "of", "for", "by", "from", "please", "up", "down", "all"});

bool TakesItBack(const Words& words) {
  return Anywhere(words, {"never", "mind"}) || Anywhere(words, {"nevermind"}) ||
         Anywhere(words, {"forget", "it"}) || Anywhere(words, {"forget", "that"}) ||
         Anywhere(words, {"just", "kidding"}) || Anywhere(words, {"second", "thought"}) ||
         Anywhere(words, {"second", "thoughts"}) || Anywhere(words, {"changed", "my", "mind"}) ||
         Anywhere(words, {"cancel", "that"});
}

bool Depends(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (Contains(kConditions, words[i].text)) return true;
    const bool time =
        words[i].is_number && i + 1 < words.size() && Contains(kTimeUnits, words[i + 1].text);
    if (time) return true;
  }
  return Anywhere(words, {"an", "hour"}) || Anywhere(words, {"a", "minute"}) ||
         Anywhere(words, {"as", "soon"}) || Anywhere(words, {"next", "time"});
}

// How many words at `i` say that what follows replaces what was said; 0: none.
std::size_t CorrectionAt(const Words& words, std::size_t i) {
  const auto one_of = [&](std::initializer_list<std::initializer_list<std::string_view>> markers) {
    for (const auto& marker : markers) {
      if (Stands(words, i, marker)) return marker.size();
    }
    return std::size_t{0};
  };
  return one_of({{"no", "wait"},
                 {"wait", "no"},
                 {"no", "sorry"},
                 {"sorry", "no"},
                 {"sorry", "i", "mean"},
                 {"sorry", "i", "meant"},
                 {"no", "i", "mean"},
                 {"no", "i", "meant"},
                 {"i", "mean"},
                 {"i", "meant"},
                 {"or", "rather"},
                 {"or", "actually"},
                 {"no", "actually"},
                 {"scratch", "that"},
                 {"make", "that"},
                 {"make", "it"},
                 {"correction"},
                 {"sorry"},
                 {"actually"},
                 {"rather"},
                 {"wait"},
                 {"no"}});
}

// Removes the endings of a clause: reasons, new subjects.
void CutTail(Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool new_subject =
        Contains(kSubjects, words[i].text) && !Contains(kRelatives, words[i - 1].text);
    const bool it_is =
        words[i].text == "it" && i + 1 < words.size() && Contains(kFinite, words[i + 1].text);
    const bool there_is =
        words[i].text == "there" && i + 1 < words.size() && Contains(kFinite, words[i + 1].text);
    const bool so_that =
        words[i].text == "so" && i + 1 < words.size() &&
        (Contains(kSubjects, words[i + 1].text) || Contains(kArticles, words[i + 1].text));
    if (!new_subject && !it_is && !there_is && !so_that && !Contains(kReasons, words[i].text)) {
      continue;
    }
    words.resize(i);
    return;
  }
}

// A statement hides in it: "open the awning sounds like a good idea".
bool HasStatement(const Words& words, const Lexicon& lexicon) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (Contains(kRelatives, words[i - 1].text)) continue;
    // "the children's room" owns, "the light's on" tells.
    const bool owns = text == "'s" && i + 1 < words.size() && lexicon.IsNoun(words[i + 1].text);
    if (Contains(kFinite, text) && !owns) return true;
    const bool third_person = text.size() > 3 && text.ends_with('s') && !lexicon.IsNoun(text) &&
                              (lexicon.IsVerb(text.substr(0, text.size() - 1)) ||
                               lexicon.IsVerb(text.substr(0, text.size() - 2)));
    if (third_person && !lexicon.IsVerb(text)) return true;
  }
  return false;
}

// Takes an utterance apart from left to right.
class Reader {
 public:
  Reader(Words words, const Lexicon& lexicon) : words_(std::move(words)), lexicon_(lexicon) {}

  Reading Run() {
    if (words_.empty() || TakesItBack(words_)) return {};
    SkipFillers();
    if (i_ == words_.size()) return {};
    question_ = words_.back().after == '?';
    if (SkipMakeSure() || SkipWant()) return Wish(true);
    const bool asked = SkipRequest();
    if (Depends(words_)) return {};
    SkipFillers();
    SkipPlace();
    if (i_ == words_.size()) return {};
    const std::string verb = lexicon_.VerbOf(words_[i_].text);
    if (verb.empty() || StartsWithNoun()) return Wish(false);
    const bool polite =
        std::ranges::any_of(words_, [](const Word& w) { return w.text == "please"; });
    if (question_ && !asked && !polite) return {};
    return Command(verb);
  }

 private:
  bool At(std::initializer_list<std::string_view> texts) const { return Stands(words_, i_, texts); }
  bool Skip(std::initializer_list<std::string_view> texts) {
    if (!At(texts)) return false;
    i_ += texts.size();
    return true;
  }
  void SkipFillers() {
    while (i_ < words_.size()) {
      if (Skip({"go", "ahead", "and"}) || Skip({"go", "and"}) || Skip({"i", "said"})) continue;
      // "next track on the radio" begins with its verb, "home theater" with its name.
      const bool meaning = words_[i_].text == "next" || words_[i_].text == "home" ||
                           words_[i_].text == "good" || words_[i_].text == "maybe" ||
                           words_[i_].text == "house";
      if (!IsFiller(words_[i_].text) || (meaning && words_[i_].after == '\0')) return;
      ++i_;
    }
  }

  // "make sure the back door is locked": the rest is a wish.
  bool SkipMakeSure() {
    const std::size_t begin = i_;
    for (const std::string_view modal : {"can", "could", "would", "will"}) {
      if (Skip({modal, "you"})) break;
    }
    SkipFillers();
    if (Skip({"make", "sure"}) || Skip({"see", "to", "it", "that"})) {
      Skip({"that"});
      return true;
    }
    i_ = begin;
    return false;
  }

  // "i want the fan on": the rest is a wish. "i want you to open …": the rest is a command.
  bool SkipWant() {
    const std::size_t begin = i_;
    const bool want = Skip({"i", "want"}) || Skip({"i", "need"}) || Skip({"i", "would", "like"}) ||
                      Skip({"we", "want"}) || Skip({"we", "need"}) || Skip({"can", "i", "have"}) ||
                      Skip({"could", "i", "have"}) || Skip({"can", "we", "have"}) ||
                      Skip({"could", "we", "have"}) || Skip({"can", "i", "get"});
    if (!want) return false;
    if (Skip({"you", "to"}) || Skip({"to", "have"})) {
      // A command follows, or the wish goes on.
      return false;
    }
    if (i_ < words_.size() && Contains(kArticles, words_[i_].text)) return true;
    if (Skip({"to"})) return false;
    i_ = begin;
    return false;
  }

  // Returns: whether somebody was asked to do something.
  bool SkipRequest() {
    for (const std::string_view modal : {"can", "could", "would", "will"}) {
      if (!At({modal, "you"}) && !At({modal, "somebody"}) && !At({modal, "someone"}) &&
          !At({modal, "we"})) {
        continue;
      }
      i_ += 2;
      SkipFillers();
      if (Skip({"mind"}) && i_ < words_.size()) words_[i_].text = FromGerund(words_[i_].text);
      return true;
    }
    return Skip({"let", "us"}) || Skip({"time", "to"}) || Skip({"it", "'s", "time", "to"}) ||
           Skip({"it", "is", "time", "to"}) || Skip({"do", "me", "a", "favor", "and"}) ||
           Skip({"do", "me", "a", "favour", "and"}) || Skip({"be", "so", "kind", "and"});
  }

  std::string FromGerund(const std::string& word) const {
    if (!word.ends_with("ing")) return word;
    const std::string stem = word.substr(0, word.size() - 3);
    if (lexicon_.IsVerb(stem)) return stem;
    if (lexicon_.IsVerb(stem + "e")) return stem + "e";
    const bool doubled = stem.size() > 2 && stem.back() == stem[stem.size() - 2];
    if (doubled && lexicon_.IsVerb(stem.substr(0, stem.size() - 1))) {
      return stem.substr(0, stem.size() - 1);
    }
    return word;
  }

  // "in the kitchen, turn on …": the place is moved to the end.
  void SkipPlace() {
    if (i_ < words_.size() && !StartsWithNoun() && !lexicon_.VerbOf(words_[i_].text).empty())
      return;
    std::size_t end = i_;
    bool noun = false;
    while (end < words_.size()) {
      const Word& word = words_[end];
      const bool place = lexicon_.IsNoun(word.text);
      if (noun && !place && lexicon_.IsVerb(word.text)) break;
      if (!place && !Contains(kArticles, word.text) && !Contains(kPrepositions, word.text)) return;
      noun = noun || place;
      ++end;
    }
    if (end == words_.size() || !noun || end == i_) return;
    // A state at the end is a wish, not a verb: "garage door open".
    if (end + 1 >= words_.size()) return;
    // Only the last word keeps its punctuation: it ends the whole.
    for (std::size_t i = i_; i < end; ++i) words_[i].after = '\0';
    std::swap(words_.back().after, words_[end - 1].after);
    std::rotate(words_.begin() + static_cast<std::ptrdiff_t>(i_),
                words_.begin() + static_cast<std::ptrdiff_t>(end), words_.end());
  }

  // "light in the kitchen on", "open" is a verb but "lights" is not.
  bool StartsWithNoun() const {
    const std::string& text = words_[i_].text;
    return lexicon_.NounOf(text) == text && !lexicon_.IsVerb(text);
  }

  Words Rest() const { return {words_.begin() + static_cast<std::ptrdiff_t>(i_), words_.end()}; }

  // Drops "not the floor lamp". Returns: false when what is negated is the command itself.
  bool TakeExclusions(Words& words, Reading& reading) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].text == "never" || words[i].text == "nothing") return false;
      if (words[i].text != "not") continue;
      if (i == 0 || words[i - 1].text == "do") return false;
      std::size_t end = i + 1;
      while (end < words.size() && words[end - 1].after == '\0' &&
             (Contains(kArticles, words[end].text) || lexicon_.IsNoun(words[end].text))) {
        if (lexicon_.IsNoun(words[end].text)) {
          reading.excluded.push_back(lexicon_.NounOf(words[end].text));
        }
        ++end;
      }
      if (reading.excluded.empty()) return false;
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                  words.begin() + static_cast<std::ptrdiff_t>(end));
      return true;
    }
    return true;
  }

  // Splits at "no, the …"; what follows goes into `correction`.
  void TakeCorrection(Words& words, Reading& reading) const {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t count = CorrectionAt(words, i);
      if (count == 0 || i + count >= words.size()) continue;
      reading.correction.assign(words.begin() + static_cast<std::ptrdiff_t>(i + count),
                                words.end());
      words.resize(i);
      return;
    }
  }

  // Leaves out later clauses that are remarks. Returns: false when one is a second command.
  bool KeepFirstClause(Words& words) const {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string& next = words[i + 1].text;
      const bool joined = next == "and" || next == "then";
      const std::size_t after = joined ? i + 2 : i + 1;
      // "and open the blind" is a second command, "and off" is none.
      const bool thing_follows =
          after + 1 < words.size() &&
          (Contains(kArticles, words[after + 1].text) || lexicon_.IsNoun(words[after + 1].text));
      const bool verb_after = after < words.size() && lexicon_.IsVerb(words[after].text) &&
                              !lexicon_.IsNoun(words[after].text) &&
                              (thing_follows || !lexicon_.IsState(words[after].text));
      if (joined && verb_after) return false;
      if (words[i].after == '\0') continue;
      if (verb_after) return false;
      if (Contains(kPrepositions, next)) continue;
      words.resize(i + 1);
      return true;
    }
    return true;
  }

  Reading Command(const std::string& verb) const {
    Reading reading;
    Words words = Rest();
    reading.guessed_verb = words[0].text != verb;
    words[0].text = verb;
    if (Stands(words, 0, {"tell", "me"}) || Stands(words, 0, {"give", "me"}) ||
        Stands(words, 0, {"let", "me"}) || Stands(words, 0, {"get", "me"})) {
      return {};
    }
    if (!TakeExclusions(words, reading)) return {};
    TakeCorrection(words, reading);
    if (!KeepFirstClause(words)) return {};
    CutTail(words);
    if (HasStatement(words, lexicon_)) return {};
    reading.mood = Mood::kCommand;
    reading.verb = verb;
    reading.words = std::move(words);
    return reading;
  }

  // A thing and its state, and nothing that is unknown.
  Reading Wish(bool wanted) const {
    if (Depends(words_) || (question_ && !wanted)) return {};
    Reading reading;
    Words words = Rest();
    CutTail(words);
    bool state = false;
    bool thing = false;
    const bool polite =
        std::ranges::any_of(words, [](const Word& w) { return w.text == "please"; });
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& text = words[i].text;
      if (text == "not" || text == "never" || text == "no") return {};
      if (!wanted && Contains(kFinite, text)) return {};
      const bool noun = lexicon_.IsNoun(text);
      const bool change = text == "on" || text == "off" || text == "out" || words[i].is_number ||
                          lexicon_.IsValue(text) || text == "up" || text == "down" ||
                          ((wanted || polite) && lexicon_.IsState(text));
      state = state || change;
      thing = thing || noun;
      const bool known = noun || change || IsSmallWord(text) || IsFiller(text) ||
                         lexicon_.IsToolWord(text) || lexicon_.IsState(text);
      if (!known) return {};
    }
    if (!state || !thing || words.size() < 2) return {};
    // "the lamp on my desk": nothing is wanted of it.
    const std::string& last = words.back().text;
    const bool ends = lexicon_.IsState(last) || words.back().is_number || last == "out" ||
                      lexicon_.IsValue(last) || last == "percent" || last == "degrees" || polite;
    const bool begins = words.size() > 2 && (lexicon_.IsState(words[1].text));
    if (!wanted && !ends && !begins) return {};
    reading.mood = Mood::kWish;
    reading.words = std::move(words);
    return reading;
  }

  Words words_;
  const Lexicon& lexicon_;
  std::size_t i_ = 0;
  bool question_ = false;
};

// Words that make a remark more than a remark: it takes something back or tells what others say.
constexpr std::array kNoRemark = std::to_array<std::string_view>(
    {"not", "n't", "no", "never", "nothing", "nobody", "said", "says", "say", "told", "tells",
     "asked", "asks", "called", "reads", "written", "wrote", "means"});

bool Has(const Words& words, bool (*test)(const Word&)) { return std::ranges::any_of(words, test); }

// "the blind in the office, …": names a thing and tells nothing of it.
bool IsTopic(const Words& words, const Lexicon& lexicon) {
  const std::string& first = words.front().text;
  if (!Contains(kArticles, first) && !Contains(kPrepositions, first) && !lexicon.IsNoun(first)) {
    return false;
  }
  if (Has(words, [](const Word& w) { return Contains(kSubjects, w.text); })) return false;
  return !HasStatement(words, lexicon) &&
         std::ranges::any_of(words, [&](const Word& w) { return lexicon.IsNoun(w.text); });
}

// "it is getting dark, …": a statement, or an order that names nothing ("warm it up, …").
bool IsRemark(const Words& words, const Lexicon& lexicon) {
  if (Has(words, [](const Word& w) { return Contains(kNoRemark, w.text); })) return false;
  const std::string& first = words.front().text;
  if (Contains(kSubjects, first) || first == "it" || first == "there") return true;
  return std::ranges::none_of(
      words, [&](const Word& w) { return w.text != "'s" && lexicon.IsNoun(w.text); });
}

bool IsThanks(const Word& word) {
  return word.text == "thanks" || word.text == "thank" || word.text == "you" ||
         word.text == "cheers";
}

// The command after a first clause that is none; "it" in it means the clause's thing.
Words CommandAfter(const Words& clause, Words rest, const Lexicon& lexicon) {
  if (IsRemark(clause, lexicon)) return rest;
  if (!IsTopic(clause, lexicon)) return {};
  const auto pronoun = std::ranges::find_if(
      rest, [](const Word& w) { return w.text == "it" || w.text == "them" || w.text == "that"; });
  if (pronoun == rest.end()) return {};
  const char after = pronoun->after;
  const auto at = rest.erase(pronoun);
  const auto begin = rest.insert(at, clause.begin(), clause.end());
  (begin + static_cast<std::ptrdiff_t>(clause.size()) - 1)->after = after;
  return rest;
}

}  // namespace

Reading Read(std::vector<Word> words, const Lexicon& lexicon) {
  while (words.size() > 2 && IsThanks(words.back())) {
    words[words.size() - 2].after = words.back().after;
    words.pop_back();
  }
  Reading whole = Reader(words, lexicon).Run();
  if (whole.mood != Mood::kNoCommand || TakesItBack(words) || Depends(words)) return whole;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool so = words[i + 1].text == "so" && i + 2 < words.size();
    if (words[i].after == '\0' && !so) continue;
    if (words[i].after == '?') return whole;
    const auto border = words.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const Words command =
        CommandAfter({words.begin(), border}, {border + (so ? 1 : 0), words.end()}, lexicon);
    if (command.empty()) return whole;
    Reading later = Reader(command, lexicon).Run();
    return later.mood == Mood::kCommand ? later : whole;
  }
  return whole;
}

}  // namespace integrations::home_assistant
