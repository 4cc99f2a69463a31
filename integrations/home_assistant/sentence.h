// Is it a command? What an utterance is, before anything is looked up in it.
//
// Only two forms are commands: a verb in its base form at the beginning (after politeness: "could
// you please …"), or a device with the state it shall have ("kitchen light off"). All else is no
// command: negations, questions, remarks, what happened, conditions, what shall happen later.
// English. Knows verbs and nouns of the home, not which device is meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "integrations/home_assistant/lexicon.h"
#include "integrations/home_assistant/words.h"

namespace integrations::home_assistant {

enum class Mood {
  kCommand,    // words begin with a verb
  kWish,       // no verb: a thing and the state it shall have
  kNoCommand,  // nothing may be done
};

struct Reading {
  Mood mood = Mood::kNoCommand;
  std::string verb;                   // its base form
  std::vector<Word> words;            // the clause with the command, from the verb on
  std::vector<Word> correction;       // what replaces parts of it: "… no, the floor lamp"
  std::vector<std::string> excluded;  // "not the floor lamp"
  bool guessed_verb = false;          // it was heard with a typing mistake
};

Reading Read(std::vector<Word> words, const Lexicon& lexicon);

}  // namespace integrations::home_assistant
