#include "service/bench_command.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/cores.h"
#include "service/progress.h"
#include "service/run_service.h"

namespace service {
namespace {

using engine::Clock;
using nlohmann::ordered_json;

constexpr std::size_t kUtterancesMax = 5;
constexpr std::chrono::minutes kPatience{30};

std::string CpuName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

struct Series {
  std::vector<double> ms;
  double Median() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  ordered_json Json() const {
    const auto tenths = [](double value) { return std::round(value * 10) / 10; };
    return {{"median", tenths(Median())},
            {"min", tenths(*std::min_element(ms.begin(), ms.end()))},
            {"max", tenths(*std::max_element(ms.begin(), ms.end()))},
            {"runs", ms.size()}};
  }
};

struct Results {
  Series cold;
  Series warm;
  Series reuse_off;
  Series warm_total;
  Series decode_rate;   // tokens per second, not milliseconds
  Series prefill_rate;  // of the cold prefix
  int prompt_tokens = 0;
  int prefix_tokens = 0;
  int prefilled_warm = 0;
  bool equal_answers = true;
  engine::ModelInfo model;
};

engine::Completion Answer(engine::Engine& engine, const integrations::Integration& integration,
                          const std::string& utterance, bool force_miss) {
  integrations::Prompt prompt = integration.PromptFor(utterance, "");
  engine::Request request;
  request.id = 1;
  request.utterance = std::move(prompt.request);
  request.allowed = {std::move(prompt.allowed.heads), std::move(prompt.allowed.priors),
                     prompt.allowed.words, prompt.allowed.ask};
  request.received = Clock::now();
  request.deadline = request.received + kPatience;
  request.force_miss = force_miss;
  if (!engine.Submit(std::move(request))) return {};
  while (!engine.Idle()) {
    auto output = engine.Step(Clock::now());
    if (!output.completions.empty()) return std::move(output.completions.front());
  }
  return {};
}

// One engine from nothing: the cold command, then each utterance warm and with reuse off.
std::expected<void, std::string> Measure(const Config& config,
                                         const integrations::Integration& integration,
                                         const std::vector<std::string>& utterances,
                                         ProgressBar& progress, Results& results) {
  const auto show = [&](std::string_view what, double fraction) { progress.Show(what, fraction); };
  UseAllCores();
  auto loaded = engine::Engine::Load(config.engine, show);
  UseOwnCore();
  if (!loaded) return std::unexpected(loaded.error());
  engine::Engine& engine = **loaded;
  const auto prefix =
      engine.SetPrefix(PrefixSourceOf(integration), AnswerLanguageOf(integration), nullptr);
  if (!prefix) return std::unexpected(prefix.error());
  results.model = engine.model();
  results.prefix_tokens = prefix->tokens;
  results.prefill_rate.ms.push_back(prefix->tokens / prefix->warm_seconds);
  for (std::size_t i = 0; i < utterances.size(); ++i) {
    const engine::Completion warm = Answer(engine, integration, utterances[i], false);
    if (warm.usage.generated == 0) {
      return std::unexpected("\"" + utterances[i] + "\" is too long to be answered; shorten it.");
    }
    if (i == 0) results.cold.ms.push_back(prefix->warm_seconds * 1000 + warm.ttft_ms);
    results.warm.ms.push_back(warm.ttft_ms);
    results.warm_total.ms.push_back(warm.total_ms);
    results.prompt_tokens = warm.usage.prompt;
    results.prefilled_warm = warm.usage.prefilled;
    const double decode_seconds = (warm.total_ms - warm.ttft_ms) / 1000;
    if (warm.usage.generated > 1 && decode_seconds > 0) {
      results.decode_rate.ms.push_back((warm.usage.generated - 1) / decode_seconds);
    }
    if (warm.usage.reused != prefix->tokens) {
      return std::unexpected("a warm command reused " + std::to_string(warm.usage.reused) +
                             " tokens of a prefix of " + std::to_string(prefix->tokens) +
                             ": this is a bug, please report it.");
    }
    if (i > 0) continue;  // computing everything is slow: once per engine
    const engine::Completion off = Answer(engine, integration, utterances[i], true);
    results.reuse_off.ms.push_back(off.ttft_ms);
    results.equal_answers = results.equal_answers && off.text == warm.text;
  }
  return {};
}

void Print(const Results& results, bool prints_json, std::ostream& out) {
  const std::string cpu = CpuName();
  if (prints_json) {
    ordered_json json = {{"cpu", cpu},
                         {"instruction_set", results.model.instruction_set},
                         {"workers", results.model.workers},
                         {"model", results.model.name},
                         {"prefix_tokens", results.prefix_tokens},
                         {"prompt_tokens", results.prompt_tokens},
                         {"prefilled_warm", results.prefilled_warm},
                         {"ttft_ms",
                          {{"cold", results.cold.Json()},
                           {"warm", results.warm.Json()},
                           {"reuse_off", results.reuse_off.Json()}}},
                         {"total_ms", {{"warm", results.warm_total.Json()}}},
                         {"prefix_tokens_per_second", results.prefill_rate.Json()},
                         {"equal_answers", results.equal_answers}};
    if (!results.decode_rate.ms.empty()) {
      json["answer_tokens_per_second"] = results.decode_rate.Json();
    }
    out << json.dump(2) << '\n';
    return;
  }
  out << results.model.name << ", " << results.model.workers << " workers, "
      << results.model.instruction_set << ", " << cpu << '\n'
      << "prefix " << results.prefix_tokens << " tokens, prefilled by a warm command "
      << results.prefilled_warm << '\n'
      << std::fixed << std::setprecision(1);
  const auto row = [&out](const char* name, const Series& series) {
    out << std::left << std::setw(26) << name << std::right << std::setw(10) << series.Median()
        << " ms   (median of " << series.ms.size() << ")\n";
  };
  row("TTFT cold", results.cold);
  row("TTFT with reuse off", results.reuse_off);
  row("TTFT warm", results.warm);
  row("whole answer, warm", results.warm_total);
  out << "answers with and without reuse are " << (results.equal_answers ? "equal" : "DIFFERENT")
      << '\n';
}

}  // namespace

std::expected<void, std::string> Bench(const Config& config,
                                       const integrations::Integration& integration,
                                       const BenchOptions& options, std::ostream& out) {
  assert(options.repeats > 0);
  std::vector<std::string> utterances = options.utterances;
  for (const auto& turn : integration.prefix().examples) {
    if (!options.utterances.empty() || utterances.size() >= kUtterancesMax) break;
    utterances.push_back(turn.utterance);
  }
  if (utterances.empty()) {
    return std::unexpected(
        "There is nothing to measure: policy.yaml has no examples. Name a "
        "command, such as: inglenook bench \"turn on the light\"");
  }
  ProgressBar progress;
  Results results;
  for (int i = 0; i < options.repeats; ++i) {
    // A first command that is not the same each time.
    std::rotate(utterances.begin(), utterances.begin() + 1, utterances.end());
    const auto measured = Measure(config, integration, utterances, progress, results);
    if (!measured) return measured;
  }
  progress.Finish();
  Print(results, options.prints_json, out);
  if (!results.equal_answers) {
    return std::unexpected("Reuse changed an answer: this is a bug, please report it.");
  }
  return {};
}

}  // namespace service
