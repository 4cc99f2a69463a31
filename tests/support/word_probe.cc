// How often words alone, and words and a model together, find the right call.
//
//   word_probe CONFIG COMMANDS.jsonl NO_COMMANDS.jsonl [MODEL.gguf] [-v]
//   word_probe CONFIG COMMANDS.jsonl NO_COMMANDS.jsonl --require RIGHT RIGHT SEVERAL
//
// Prints each miss and a summary. Without a model the call with the largest prior is taken. With
// --require the model is the tests' SmolLM2, and the program fails unless so many lines of each
// file are answered rightly and so many commands left the model a choice.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "integrations/home_assistant/home_assistant.h"
#include "integrations/integration.h"
#include "service/home_loader.h"
#include "tests/support/model_run.h"

namespace {

struct Line {
  std::string text;
  std::string device;  // empty: no command
  std::string tool;
  std::string value;
};

std::vector<Line> ReadLines(const char* path) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const auto json = nlohmann::json::parse(text);
    Line line{json.at("text"), json.value("device", ""), json.value("tool", ""), ""};
    if (json.contains("value")) {
      line.value = json["value"].is_string() ? json["value"].get<std::string>()
                                             : std::to_string(json["value"].get<int>());
    }
    lines.push_back(line);
  }
  return lines;
}

// Answers with the model, or with the largest prior.
class Answerer {
 public:
  Answerer(const integrations::Integration& home, const char* model) : home_(home) {
    if (model == nullptr) return;
    engine::EngineOptions options;
    options.model_path = model;
    auto engine = engine::Engine::Load(options, {});
    if (!engine) Stop(engine.error());
    engine_ = std::move(*engine);
    engine::PrefixSource source;
    for (const auto& section : home.prefix().sections) {
      source.sections.push_back({section.name, section.text});
    }
    for (const auto& turn : home.prefix().examples) {
      source.examples.push_back({turn.utterance, turn.answer});
    }
    source.versions = home.prefix().versions;
    engine::AnswerLanguage language;
    for (const auto& head : home.language().heads) {
      language.heads.push_back({head.text, head.has_value, head.value_min, head.value_max});
    }
    language.words_lead = home.language().words_lead;
    language.ask_text = home.language().ask_text;
    const auto info = engine_->SetPrefix(source, language, {});
    if (!info) Stop(info.error());
    std::printf("prefix %d tokens in %.1f s:", info->tokens, info->warm_seconds);
    for (const auto& section : info->sections) {
      std::printf(" %s %d", section.name.c_str(), section.tokens);
    }
    std::printf("\n");
  }

  integrations::Answer AnswerTo(const std::string& text, const integrations::Prompt& prompt) {
    const auto& allowed = prompt.allowed;
    if (engine_ == nullptr) return BestPrior(text, allowed);
    engine::Request request;
    request.id = ++id_;
    request.utterance = prompt.request;
    request.allowed = {allowed.heads, allowed.priors, allowed.words, allowed.ask};
    request.received = engine::Clock::now();
    request.deadline = request.received + std::chrono::minutes(1);
    if (!engine_->Submit(std::move(request))) Stop("rejected: " + text);
    while (true) {
      const auto output = engine_->Step(engine::Clock::now());
      if (output.completions.empty()) continue;
      raw_ = output.completions.front().text;
      return home_.AnswerFrom(text, "", output.completions.front().answer_index, raw_);
    }
  }
  const std::string& raw() const { return raw_; }

 private:
  [[noreturn]] static void Stop(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    std::exit(1);
  }
  integrations::Answer BestPrior(const std::string& text,
                                 const integrations::AllowedAnswers& allowed) {
    raw_.clear();
    if (allowed.heads.empty()) return home_.AnswerFrom(text, "", -1, "say: no");
    std::size_t best = 0;
    for (std::size_t i = 1; i < allowed.heads.size(); ++i) {
      if (allowed.priors[i] > allowed.priors[best]) best = i;
    }
    const auto& head = home_.language().heads[allowed.heads[best]];
    raw_ = head.text;
    if (head.has_value) raw_ += " " + NumberIn(text, head);
    return home_.AnswerFrom(text, "", static_cast<int>(allowed.heads[best]), raw_);
  }
  // The last number of the request, as a model would copy it.
  std::string NumberIn(const std::string& text, const integrations::CallHead& head) {
    const std::string request = home_.PromptFor(text, "").request;
    const std::size_t last = request.find_last_of("0123456789");
    if (last == std::string::npos) return std::to_string(head.value_min);
    std::size_t first = last;
    while (first > 0 && std::isdigit(static_cast<unsigned char>(request[first - 1])) != 0) --first;
    return request.substr(first, last - first + 1);
  }

  const integrations::Integration& home_;
  std::unique_ptr<engine::Engine> engine_;
  std::uint64_t id_ = 0;
  std::string raw_;
};

bool IsRight(const Line& line, const integrations::Answer& answer) {
  if (line.device.empty()) return answer.actions.empty();
  if (answer.actions.size() != 1) return false;
  const auto& action = answer.actions.front();
  const std::string value = action.arguments.empty() ? "" : action.arguments.begin()->second;
  return action.device == line.device && action.tool == line.tool && value == line.value;
}

struct Score {
  int right = 0;
  int several = 0;  // commands whose words leave several candidates
};

Score Run(const char* path, const integrations::Integration& home, Answerer& answerer,
          bool verbose) {
  int right = 0;
  int several = 0;
  int several_right = 0;
  const auto lines = ReadLines(path);
  for (const Line& line : lines) {
    const auto prompt = home.PromptFor(line.text, "");
    const auto answer = answerer.AnswerTo(line.text, prompt);
    const bool good = IsRight(line, answer);
    right += good ? 1 : 0;
    const bool open = prompt.allowed.heads.size() > 1;
    several += open ? 1 : 0;
    several_right += open && good ? 1 : 0;
    if (good && !verbose) continue;
    std::printf("%s \"%s\" -> %s\n", good ? "ok  " : "MISS", prompt.request.c_str(),
                answerer.raw().c_str());
    for (std::size_t i = 0; i < prompt.allowed.heads.size(); ++i) {
      std::printf("       %5.1f %s\n", static_cast<double>(prompt.allowed.priors[i]),
                  home.language().heads[prompt.allowed.heads[i]].text.c_str());
    }
  }
  std::printf("%s: %d of %zu right; several candidates: %d of %d right\n", path, right,
              lines.size(), several_right, several);
  return {right, several};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  auto home = service::LoadHome(argv[1]);
  if (!home) return std::fprintf(stderr, "%s\n", home.error().c_str()), 1;
  auto integration = integrations::home_assistant::Create(std::move(*home));
  if (!integration) return std::fprintf(stderr, "%s\n", integration.error().c_str()), 1;
  const std::vector<std::string> rest(argv + 4, argv + argc);
  const bool require = rest.size() == 4 && rest[0] == "--require";
  const std::string tests_model = support::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  const bool named = !rest.empty() && rest[0][0] != '-';
  Answerer answerer(**integration, require ? tests_model.c_str()
                                   : named ? rest[0].c_str()
                                           : nullptr);
  const bool verbose = !rest.empty() && rest.back() == "-v";
  const Score commands = Run(argv[2], **integration, answerer, verbose);
  const Score others = Run(argv[3], **integration, answerer, verbose);
  if (!require) return 0;
  const bool good = commands.right >= std::stoi(rest[1]) && others.right >= std::stoi(rest[2]) &&
                    commands.several >= std::stoi(rest[3]);
  std::printf("required: %s, %s right, %s with several candidates: %s\n", rest[1].c_str(),
              rest[2].c_str(), rest[3].c_str(), good ? "met" : "NOT met");
  return good ? 0 : 1;
}
