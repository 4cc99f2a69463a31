// An utterance as words: lower case, contractions opened, numbers read.
//
// "Don't set it to twenty-five%" becomes do, not, set, it, to, 25, percent. Words know where they
// stand, so that the text can be rewritten, and which punctuation follows them. English.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace integrations::home_assistant {

struct Word {
  std::string text;  // lower case; a number in decimal
  bool is_number = false;
  bool is_whole = true;  // a number without a fraction
  int number = 0;
  bool spelled = false;   // a number that was said in words
  char after = '\0';      // punctuation that follows: one of , . ; ! ? or none
  std::size_t begin = 0;  // bytes of the utterance
  std::size_t end = 0;
};

// Limit: numbers up to 999,999; longer runs of digits are words.
std::vector<Word> SplitWords(std::string_view utterance);

// The utterance with spelled numbers in digits ("halfway" is 50 percent).
std::string WithDigits(std::string_view utterance, const std::vector<Word>& words);

// How well a heard word fits a known one: 1 the same, 0.95 another number (plural), 0.8 a likely
// typing or hearing mistake, 0 another word.
double Similarity(std::string_view heard, std::string_view known);

}  // namespace integrations::home_assistant
