// Prompt in, completion out. The only engine header that service/ sees.
//
// The engine owns the model, the cache, the scheduler and the current prefix. One thread calls it:
// Submit the waiting requests, Step until idle, take what came out. Step advances the sequence in
// turn by one prefill chunk or one token, so that the caller stays responsive between steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog_automaton.h"

namespace engine {

using Clock = std::chrono::steady_clock;
// Called now and then during long work; fraction in 0..1.
using Progress = std::function<void(std::string_view what, double fraction)>;

struct EngineOptions {
  std::string model_path;
  std::string chat_template;        // empty: from the file
  int workers = 0;                  // 0: one per usable physical core
  int context_tokens_max = 0;       // 0: the model's own; prompt + answer must fit
  std::uint64_t kv_pool_bytes = 0;  // 0: two prefixes + one worst-case command, computed
  int utterance_tokens_max = 256;   // longer requests are refused
  int answer_tokens_max = 64;
  int queue_length_max = 16;  // submitted and not finished
};

struct PrefixSection {
  std::string name;
  std::string text;  // canonical; a whole number of lines
};

struct PrefixExample {
  std::string utterance;
  std::string answer;
};

struct PrefixSource {
  std::vector<PrefixSection> sections;  // one system turn
  std::vector<PrefixExample> examples;  // user and assistant turns after it
  std::string versions;                 // the documents' version numbers, e.g. "3.1.7"
};

struct PrefixInfo {
  std::string version;  // versions + digest of the tokens
  int tokens = 0;
  struct Section {
    std::string name;
    int tokens = 0;
  };
  std::vector<Section> sections;  // the examples as the last one
  double warm_seconds = 0;        // time to compute its keys and values
};

struct Request {
  std::uint64_t id = 0;
  std::string utterance;  // NFC, one line, trimmed, not empty
  AllowedAnswers allowed;
  Clock::time_point received;
  Clock::time_point deadline;
  bool force_miss = false;
};

enum class Rejection { kNotReady, kBusy, kTooLong };
enum class FinishReason { kComplete, kTimeout, kCancelled, kNoRoom };

struct Completion {
  std::uint64_t id = 0;
  FinishReason finish = FinishReason::kComplete;
  std::string text;      // the whole answer
  int answer_index = 0;  // head index, TokenConstraint::kWords or kAsk; valid when complete
  struct Usage {
    int prompt = 0;     // tokens of prefix and request
    int reused = 0;     // of these, taken from the cache
    int prefilled = 0;  // rows that entered the transformer before the first answer token
    int generated = 0;  // answer tokens, the end token included
    int forced = 0;     // of these, the only allowed one
  } usage;
  double queue_ms = 0;  // received to first prefill
  double ttft_ms = 0;   // received to first answer token
  double total_ms = 0;  // received to the end
  std::string prefix_version;
};

// A piece of a sentence in words, as it is generated (calls are only reported when complete).
struct Delta {
  std::uint64_t id = 0;
  std::string text;
};

struct StepOutput {
  std::vector<Delta> deltas;
  std::vector<Completion> completions;
};

struct EngineStats {
  std::uint64_t kv_bytes_total = 0;
  std::uint64_t kv_bytes_pinned = 0;
  std::uint64_t kv_bytes_shared = 0;
  std::uint64_t kv_bytes_kept = 0;
  std::uint64_t kv_bytes_free = 0;
  std::uint64_t evictions = 0;
  std::uint64_t lookups = 0;
  std::uint64_t hits = 0;
  std::uint64_t tokens_asked = 0;
  std::uint64_t tokens_reused = 0;
  std::uint64_t rows_computed = 0;  // rows that entered the transformer, ever
  int queue_length = 0;
};

struct ModelInfo {
  std::string name;
  std::string architecture;
  std::string instruction_set;  // kernels in force
  int workers = 0;
  int context_tokens_max = 0;
  std::uint64_t weight_bytes = 0;
};

class Engine {
 public:
  // Reads, checks and packs the model. Returns: a sentence naming what is wrong and the way out.
  [[nodiscard]] static std::expected<std::unique_ptr<Engine>, std::string> Load(
      const EngineOptions& options, const Progress& progress);
  ~Engine();

  // Tokenizes the prefix, checks that prefix + worst command fit context and pool, compiles the
  // answer language, computes the prefix's keys and values (unless reused) and pins them.
  // An earlier prefix is unpinned afterwards. Requires: no request is running.
  [[nodiscard]] std::expected<PrefixInfo, std::string> SetPrefix(const PrefixSource& source,
                                                                 AnswerLanguage language,
                                                                 const Progress& progress);
  // Tokenizes and checks only (`check`, `prefix tokens`); loads nothing into the cache.
  [[nodiscard]] std::expected<PrefixInfo, std::string> CheckPrefix(
      const PrefixSource& source) const;
  // The prefix as the model sees it, special tokens spelled; the tokens' ids.
  std::string RenderPrefix(const PrefixSource& source) const;
  std::vector<std::int32_t> PrefixTokens(const PrefixSource& source) const;

  [[nodiscard]] std::expected<void, Rejection> Submit(Request request);
  // Stops a submitted request at once; its completion (kCancelled) comes with the next Step.
  bool Cancel(std::uint64_t id);
  bool Idle() const;
  StepOutput Step(Clock::time_point now);

  EngineStats stats() const;
  const ModelInfo& model() const;

 private:
  struct Parts;
  explicit Engine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace engine
