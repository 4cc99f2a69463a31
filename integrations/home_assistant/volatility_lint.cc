#include "integrations/home_assistant/volatility_lint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "integrations/home_assistant/words.h"

namespace integrations::home_assistant {
namespace {

constexpr std::size_t kCounterDigits = 6;  // more digits than any value of a home has

constexpr std::array kMonths = std::to_array<std::string_view>(
    {"january",   "february", "march",    "april",    "may",  "june", "july", "august",
     "september", "october",  "november", "december", "jan",  "feb",  "mar",  "apr",
     "jun",       "jul",      "aug",      "sep",      "sept", "oct",  "nov",  "dec"});
// Words that speak of now.
constexpr std::array kNow =
    std::to_array<std::string_view>({"currently", "today", "yesterday", "tomorrow", "tonight"});
constexpr std::array kCounted = std::to_array<std::string_view>(
    {"count", "counter", "uptime", "request", "requests", "revision", "build", "updated"});

template <std::size_t count>
bool Contains(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The length of what matches `pattern` at `i`: '0' a digit, 'x' a hexadecimal digit, '1' a digit or
// nothing, else itself. 0: no match.
std::size_t Match(std::string_view text, std::size_t i, std::string_view pattern) {
  const std::size_t begin = i;
  for (const char want : pattern) {
    const char c = i < text.size() ? text[i] : '\0';
    if (want == '1') {
      if (IsDigit(c)) ++i;
    } else if (want == '0' ? IsDigit(c) : want == 'x' ? IsHex(c) : c == want) {
      ++i;
    } else {
      return 0;
    }
  }
  return i - begin;
}

std::string Found(std::string_view what, std::string_view text) {
  return std::string(what) + " (\"" + std::string(text) + "\")";
}

// Shapes of digits that begin at `i`.
std::string FindShape(std::string_view text, std::size_t i) {
  const std::size_t uuid = Match(text, i, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
  if (uuid > 0) return Found("a UUID", text.substr(i, uuid));
  if (!IsDigit(text[i])) return "";
  for (const std::string_view date :
       {"0000-01-01", "01.01.0000", "01/01/0000", "01/01/00", "0000/01/01"}) {
    const std::size_t size = Match(text, i, date);
    if (size > 0) return Found("a date", text.substr(i, size));
  }
  const std::size_t clock = Match(text, i, "01:00");
  if (clock > 0) return Found("a clock", text.substr(i, clock));
  std::size_t end = i;
  while (end < text.size() && IsDigit(text[end])) ++end;
  if (end - i >= kCounterDigits) return Found("a counter", text.substr(i, end - i));
  return "";
}

bool IsMeridiem(std::string_view word) {
  return word == "am" || word == "pm" || word == "clock" || word == "oclock";
}

std::string FindInWords(std::string_view text) {
  const std::vector<Word> words = SplitWords(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto phrase = [&](std::size_t count) {
      return text.substr(words[i].begin, words[i + count - 1].end - words[i].begin);
    };
    const bool last = i + 1 == words.size();
    if (Contains(kNow, words[i].text)) return Found("a word that speaks of now", phrase(1));
    if (last) break;
    const Word& next = words[i + 1];
    const bool number = words[i].is_number || next.is_number;
    if (words[i].is_number && IsMeridiem(next.text)) return Found("a clock", phrase(2));
    const bool month = Contains(kMonths, words[i].text) || Contains(kMonths, next.text);
    if (number && month && words[i].after == '\0') return Found("a date", phrase(2));
    if (next.is_number && Contains(kCounted, words[i].text)) return Found("a counter", phrase(2));
  }
  return "";
}

// Checks one text of one file.
class Linter {
 public:
  explicit Linter(std::string file) : file_(std::move(file)) {}

  void Check(const std::string& text, const Place& place) {
    if (!error_.empty()) return;
    const std::string found = FindVolatile(text);
    if (found.empty()) return;
    error_ = file_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
             ": the text looks as if it held " + found +
             ", which would make every command compute the whole prefix again; remove it";
  }
  const std::string& error() const { return error_; }

 private:
  std::string file_;
  std::string error_;
};

std::string LintPolicy(const Policy& policy) {
  Linter linter(policy.file);
  linter.Check(policy.persona.text, policy.persona.place);
  for (const Text& rule : policy.rules) linter.Check(rule.text, rule.place);
  for (const Example& example : policy.examples) {
    linter.Check(example.user, example.place);
    linter.Check(example.say, example.place);
  }
  return linter.error();
}

std::string LintTools(const Tools& tools) {
  Linter linter(tools.file);
  for (const Tool& tool : tools.tools) {
    linter.Check(tool.name, tool.place);
    linter.Check(tool.does, tool.place);
    for (const std::string& name : tool.classes) linter.Check(name, tool.place);
    if (!tool.argument) continue;
    for (const std::string& value : tool.argument->values) linter.Check(value, tool.place);
  }
  return linter.error();
}

std::string LintHouse(const House& house) {
  Linter linter(house.file);
  linter.Check(house.name, {1, 1});
  for (const Area& area : house.areas) {
    linter.Check(area.name, area.place);
    linter.Check(area.floor, area.place);
  }
  for (const Device& device : house.devices) {
    linter.Check(device.name, device.place);
    linter.Check(device.device_class, device.place);
  }
  for (const Text& note : house.notes) linter.Check(note.text, note.place);
  return linter.error();
}

}  // namespace

std::string FindVolatile(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A shape begins where no digit or letter stands before.
    const bool inside = i > 0 && IsHex(text[i - 1]);
    if (inside || !IsHex(text[i])) continue;
    std::string found = FindShape(text, i);
    if (!found.empty()) return found;
  }
  return FindInWords(text);
}

std::string LintHome(const Home& home) {
  std::string wrong = LintPolicy(home.policy);
  if (wrong.empty()) wrong = LintTools(home.tools);
  if (wrong.empty()) wrong = LintHouse(home.house);
  return wrong;
}

}  // namespace integrations::home_assistant
