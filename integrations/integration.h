// What the words mean in a home: the interface that service/ talks to, and the structs they pass.
//
// Text in, text out. An integration gives the prefix that all commands share and the language of
// valid answers (both once per home), the prompt of one utterance with the answers that its words
// allow, and the meaning of a completed answer. It knows no model and no broker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace integrations {

struct PrefixSection {
  std::string name;
  std::string text;  // whole lines
};

struct PrefixTurn {
  std::string utterance;
  std::string answer;
};

// The same for every command. Equal homes give equal bytes.
struct Prefix {
  std::vector<PrefixSection> sections;  // policy, tools, house
  std::vector<PrefixTurn> examples;
  std::string versions;  // the documents' numbers: policy.tools.house
};

// One call, without its number if it takes one.
struct CallHead {
  std::string text;
  bool has_value = false;
  int value_min = 0;  // inclusive
  int value_max = 0;
};

// Everything that may ever be answered.
struct AnswerLanguage {
  std::vector<CallHead> heads;
  std::string words_lead;
  int words_bytes_max = 160;
  std::string ask_text;
};

// What one command may be answered with.
struct AllowedAnswers {
  std::vector<std::uint32_t> heads;  // ascending
  std::vector<float> priors;         // per head, natural-log units against words and asking back
  bool words = true;
  bool ask = false;
};

struct Prompt {
  std::string request;  // what follows the prefix
  AllowedAnswers allowed;
};

struct Message {
  std::string topic;
  std::string payload;
  bool retained = false;
};

enum class ActionStatus {
  kAllowed,  // may be done
  kConfirm,  // waits for a yes; nothing is done
  kDenied,   // the policy forbids it
};

struct Action {
  std::string tool;
  std::string device;
  std::map<std::string, std::string> arguments;  // by name; numbers in decimal
  ActionStatus status = ActionStatus::kDenied;
  Message message;  // what execute mode publishes; no topic: the device can't be reached
};

// What a completed answer means.
struct Answer {
  enum class Kind { kAction, kWords, kAsk, kInvalid };
  Kind kind = Kind::kInvalid;
  std::vector<Action> actions;  // one for kAction, else none
  std::string sentence;         // what to say, never empty
};

// `answer_index` is the index of a head, or one of these.
inline constexpr int kWordsAnswer = -1;
inline constexpr int kAskAnswer = -2;

// Thread: any; never changes.
class Integration {
 public:
  virtual ~Integration() = default;

  virtual const Prefix& prefix() const = 0;
  virtual const AnswerLanguage& language() const = 0;

  // `utterance`: NFC, one line, trimmed, not empty. `area`: where the speaker is, or empty.
  virtual Prompt PromptFor(std::string_view utterance, std::string_view area) const = 0;

  // The meaning of a completed answer to `utterance`. Text that is no valid answer gives kInvalid
  // with a sentence, never an action.
  virtual Answer AnswerFrom(std::string_view utterance, std::string_view area, int answer_index,
                            std::string_view text) const = 0;

  // The sentence for an action that was denied or could not be done.
  virtual std::string FailureSentence(const Action& action) const = 0;
};

}  // namespace integrations
