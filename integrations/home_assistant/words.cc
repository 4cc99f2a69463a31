#include "integrations/home_assistant/words.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <utility>

namespace integrations::home_assistant {
namespace {

constexpr std::size_t kDigitsMax = 6;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct Spelled {
  std::string_view word;
  int number;
};
constexpr std::array kUnits = std::to_array<Spelled>(
    {{"zero", 0},     {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
     {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
     {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
     {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19}});
constexpr std::array kTens = std::to_array<Spelled>({{"twenty", 20},
                                                     {"thirty", 30},
                                                     {"forty", 40},
                                                     {"fifty", 50},
                                                     {"sixty", 60},
                                                     {"seventy", 70},
                                                     {"eighty", 80},
                                                     {"ninety", 90}});

template <std::size_t count>
int Find(const std::array<Spelled, count>& table, std::string_view word) {
  for (const Spelled& entry : table) {
    if (entry.word == word) return entry.number;
  }
  return -1;
}

// The length of an apostrophe (plain or curly) at `i`; 0: none.
std::size_t ApostropheAt(std::string_view text, std::size_t i) {
  if (text[i] == '\'') return 1;
  return text.substr(i, 3) == "\u2019" ? 3 : 0;
}

// Letters and apostrophes from `i` on, lower case, curly apostrophes plain.
std::string ReadLetters(std::string_view text, std::size_t& i) {
  std::string word;
  while (i < text.size()) {
    const std::size_t apostrophe = ApostropheAt(text, i);
    if (apostrophe > 0) {
      const bool inside = i + apostrophe < text.size() && IsWordByte(text[i + apostrophe]);
      if (!inside || word.empty()) {
        i += apostrophe;
        break;
      }
      word += '\'';
      i += apostrophe;
    } else if (text.substr(i, 2) == "\u00b0") {
      break;
    } else if (IsWordByte(text[i])) {
      word += Lower(text[i++]);
    } else {
      break;
    }
  }
  return word;
}

// "don't" → do, not; "i'd" → i, would; "it's" → it, 's.
void AppendOpened(const std::string& word, std::size_t begin, std::size_t end,
                  std::vector<Word>& words) {
  const auto add = [&](std::string text) {
    Word opened;
    opened.text = std::move(text);
    opened.begin = begin;
    opened.end = end;
    words.push_back(std::move(opened));
  };
  const std::size_t apostrophe = word.find('\'');
  if (apostrophe == std::string::npos) {
    if (word == "dont" || word == "don") {
      add("do");
      add("not");
    } else {
      add(word);
    }
    return;
  }
  const std::string stem = word.substr(0, apostrophe);
  const std::string tail = word.substr(apostrophe + 1);
  if (tail == "t" && stem.size() > 1 && stem.back() == 'n') {
    if (stem == "won") {
      add("will");
    } else if (stem == "can") {
      add("can");
    } else {
      add(stem.substr(0, stem.size() - 1));
    }
    add("not");
  } else if (stem == "let" && tail == "s") {
    add("let");
    add("us");
  } else {
    add(stem);
    if (tail == "d") add("would");
    if (tail == "ll") add("will");
    if (tail == "ve") add("have");
    if (tail == "re") add("are");
    if (tail == "m") add("am");
    if (tail == "s") add("'s");
  }
}

void AppendNumber(std::string_view text, std::size_t& i, std::vector<Word>& words) {
  Word word;
  word.begin = i;
  while (i < text.size() && IsDigit(text[i])) word.text += text[i++];
  word.is_number = word.text.size() <= kDigitsMax;
  if (word.is_number) word.number = std::atoi(word.text.c_str());
  const bool fraction =
      i + 1 < text.size() && (text[i] == '.' || text[i] == ',') && IsDigit(text[i + 1]);
  if (fraction) {
    word.text += text[i++];
    while (i < text.size() && IsDigit(text[i])) word.text += text[i++];
    word.is_whole = false;
  }
  word.end = i;
  words.push_back(std::move(word));
}

// One spelled number at `i`. Returns: how many words it takes; 0: none.
std::size_t SpelledAt(const std::vector<Word>& words, std::size_t i, int& number) {
  const auto text = [&](std::size_t k) {
    return k < words.size() ? std::string_view(words[k].text) : std::string_view();
  };
  const bool amount = text(i + 1) == "percent" || text(i + 1) == "degrees" ||
                      text(i + 1) == "hundred" || (i > 0 && text(i - 1) == "to");
  if (text(i) == "one" && !amount) return 0;  // "the other one"
  if (text(i) == "halfway") return number = 50, 1;
  if (text(i) == "half" && i > 0 && text(i - 1) != "a") {
    return number = 50, text(i + 1) == "way" ? 2 : 1;
  }
  if (text(i) == "three" && text(i + 1) == "quarters") return number = 75, 2;
  if (text(i) == "hundred") return number = 100, 1;
  const int tens = Find(kTens, text(i));
  if (tens >= 0) {
    const int unit = i + 1 < words.size() ? Find(kUnits, text(i + 1)) : -1;
    number = tens + (unit >= 1 && unit <= 9 ? unit : 0);
    return unit >= 1 && unit <= 9 ? 2 : 1;
  }
  number = Find(kUnits, text(i));
  if (number < 0) return 0;
  if (text(i + 1) == "hundred") {
    number *= 100;
    return 2;
  }
  return 1;
}

std::vector<Word> ReadSpelled(std::vector<Word> words) {
  std::vector<Word> read;
  for (std::size_t i = 0; i < words.size();) {
    int number = 0;
    const std::size_t count = words[i].is_number ? 0 : SpelledAt(words, i, number);
    if (count == 0) {
      read.push_back(std::move(words[i++]));
      continue;
    }
    Word word = words[i];
    word.text = std::to_string(number);
    word.is_number = true;
    word.spelled = true;
    word.number = number;
    word.after = words[i + count - 1].after;
    word.end = words[i + count - 1].end;
    read.push_back(std::move(word));
    i += count;
  }
  for (std::size_t i = 0; i + 3 < read.size(); ++i) {
    const bool and_half = read[i].is_number && read[i + 1].text == "and" &&
                          read[i + 2].text == "a" && read[i + 3].text == "half";
    if (and_half) read[i].is_whole = false;
  }
  return read;
}

// Edit distance with swaps of neighbours, at most `limit`; more gives limit + 1.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  constexpr std::size_t kLengthMax = 32;
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit || a.size() > kLengthMax || b.size() > kLengthMax) return limit + 1;
  std::array<std::array<std::size_t, kLengthMax + 1>, kLengthMax + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return std::min(cost[a.size()][b.size()], limit + 1);
}

// Without the ending of a plural.
std::string_view Stem(std::string_view word) {
  if (word.size() > 4 && word.ends_with("ches")) return word.substr(0, word.size() - 2);
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) {
    return word.substr(0, word.size() - 1);
  }
  return word;
}

}  // namespace

std::vector<Word> SplitWords(std::string_view utterance) {
  std::vector<Word> words;
  std::size_t i = 0;
  while (i < utterance.size()) {
    const char c = utterance[i];
    if (IsDigit(c)) {
      AppendNumber(utterance, i, words);
    } else if (c == '%' || utterance.substr(i, 2) == "\u00b0") {
      Word unit;
      unit.text = c == '%' ? "percent" : "degrees";
      unit.begin = i;
      i += c == '%' ? 1 : 2;
      if (c != '%' && i < utterance.size() && Lower(utterance[i]) == 'c') ++i;
      unit.end = i;
      words.push_back(std::move(unit));
    } else if (IsWordByte(c)) {
      const std::size_t begin = i;
      const std::string word = ReadLetters(utterance, i);
      AppendOpened(word, begin, i, words);
    } else {
      if (std::string_view(",.;!?:").find(c) != std::string_view::npos && !words.empty()) {
        char& after = words.back().after;
        if (after == '\0' || c == '?') after = c == ':' ? ',' : c;
      }
      ++i;
    }
  }
  return ReadSpelled(std::move(words));
}

std::string WithDigits(std::string_view utterance, const std::vector<Word>& words) {
  std::string text;
  std::size_t copied = 0;
  for (const Word& word : words) {
    if (!word.spelled) continue;
    assert(word.begin >= copied);
    text += utterance.substr(copied, word.begin - copied);
    const std::string_view said = utterance.substr(word.begin, word.end - word.begin);
    const bool way =
        said.find("half") != std::string_view::npos || said.find("Half") != std::string_view::npos;
    text += (way && said.find("way") != std::string_view::npos ? "to " : "") + word.text +
            (way ? " percent" : "");
    copied = word.end;
  }
  text += utterance.substr(copied);
  return text;
}

double Similarity(std::string_view heard, std::string_view known) {
  if (heard == known) return 1;
  if (heard.empty() || known.empty()) return 0;
  if (Stem(heard) == Stem(known)) return 0.95;
  const std::size_t length = std::min(heard.size(), known.size());
  if (length < 4 || IsDigit(heard[0])) return 0;
  const std::size_t limit = length >= 8 ? 2 : 1;
  // Short words must begin alike: "lamp" and "damp" are two words.
  if (length < 6 && heard[0] != known[0]) return 0;
  return EditDistance(heard, known, limit) <= limit ? 0.8 : 0;
}

}  // namespace integrations::home_assistant
