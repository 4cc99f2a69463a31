#include "integrations/home_assistant/home_assistant.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/home_assistant/action.h"
#include "integrations/home_assistant/action_catalog.h"
#include "integrations/home_assistant/policy.h"
#include "integrations/home_assistant/prefix.h"
#include "integrations/home_assistant/volatility_lint.h"
#include "integrations/home_assistant/word_match.h"
#include "integrations/home_assistant/words.h"

namespace integrations::home_assistant {
namespace {

// More are not read out when asking back.
constexpr std::size_t kAskedMax = 4;

class HomeAssistant : public Integration {
 public:
  explicit HomeAssistant(Home home)
      : home_(std::move(home)),
        prefix_(RenderPrefix(home_)),
        catalog_(home_),
        match_(home_, catalog_) {}
  HomeAssistant(const HomeAssistant&) = delete;
  HomeAssistant& operator=(const HomeAssistant&) = delete;

  const Prefix& prefix() const override { return prefix_; }
  const AnswerLanguage& language() const override { return catalog_.language(); }

  Prompt PromptFor(std::string_view utterance, std::string_view area) const override {
    return {WithDigits(utterance, SplitWords(utterance)), match_.Match(utterance, area)};
  }

  Answer AnswerFrom(std::string_view utterance, std::string_view area, int answer_index,
                    std::string_view text) const override {
    Answer answer;
    answer.sentence = home_.policy.unclear.text;
    if (answer_index == kAskAnswer && text == kAskText) {
      answer.kind = Answer::Kind::kAsk;
      answer.sentence = AskSentence(utterance, area);
    } else if (answer_index == kWordsAnswer && text.starts_with(kWordsLead)) {
      text.remove_prefix(std::string_view(kWordsLead).size());
      answer.kind = Answer::Kind::kWords;
      if (!text.empty()) answer.sentence = std::string(text);
    } else if (const std::optional<Call> call = catalog_.CallFrom(answer_index, text)) {
      answer.kind = Answer::Kind::kAction;
      answer.actions.push_back(ActionOf(home_, *call));
      answer.sentence = SentenceOf(home_, *call, answer.actions.front().status);
    }
    return answer;
  }

  std::string FailureSentence(const Action& action) const override {
    return FailureSentenceOf(home_, action);
  }

 private:
  // "Which device do you mean? Desk lamp or floor lamp?"
  std::string AskSentence(std::string_view utterance, std::string_view area) const {
    const std::vector<std::uint32_t> devices = match_.DevicesNamed(utterance, area);
    if (devices.empty()) return home_.policy.unclear.text;
    std::string sentence = home_.policy.ask.text;
    if (devices.size() < 2 || devices.size() > kAskedMax) return sentence;
    std::string names;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (i > 0) names += i + 1 == devices.size() ? " or " : ", ";
      names += "the " + home_.house.devices[devices[i]].name;
    }
    names[0] = 'T';
    return sentence + " " + names + "?";
  }

  Home home_;
  Prefix prefix_;
  ActionCatalog catalog_;
  WordMatch match_;
};

}  // namespace

std::expected<std::unique_ptr<Integration>, std::string> Create(Home home) {
  std::string wrong = LintHome(home);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  auto created = std::make_unique<HomeAssistant>(Sorted(std::move(home)));
  if (created->language().heads.empty()) {
    return std::unexpected(
        std::string("the home offers no call: no tool fits a device; check the "
                    "classes in tools.yaml and house.yaml"));
  }
  return created;
}

}  // namespace integrations::home_assistant
