#include "engine/scheduler.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "engine/detokenizer.h"
#include "engine/sampler.h"

namespace engine {
namespace {

double Milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

void Prefill(Transformer& transformer, std::span<const TokenId> tokens, int stored_tokens,
             std::span<std::byte* const> bases, const Progress& progress) {
  const auto chunk_max = static_cast<std::size_t>(transformer.limits().step_rows_max);
  auto stored = static_cast<std::size_t>(stored_tokens);
  const std::size_t missing = tokens.size() - stored;
  while (stored < tokens.size()) {
    const std::size_t chunk = std::min(chunk_max, tokens.size() - stored);
    const StepSlice slice{tokens.subspan(stored, chunk), static_cast<int>(stored), bases,
                          StepSlice::Logits::kNone};
    transformer.Step({&slice, 1});
    stored += chunk;
    const std::size_t done = missing - (tokens.size() - stored);
    if (progress) progress("prefix", static_cast<double>(done) / static_cast<double>(missing));
  }
}

Scheduler::Scheduler(Transformer& transformer, cache::KvCache& cache, const TokenTrie& trie,
                     const Limits& limits)
    : transformer_(transformer), cache_(cache), trie_(trie), limits_(limits) {}

void Scheduler::SetLanguage(const CatalogAutomaton* automaton, std::string prefix_version) {
  assert(Idle());
  automaton_ = automaton;
  prefix_version_ = std::move(prefix_version);
}

std::expected<void, Rejection> Scheduler::Submit(Request request, std::vector<TokenId> prompt) {
  assert(automaton_ != nullptr);
  if (queue_length() >= limits_.queue_length_max) return std::unexpected(Rejection::kBusy);
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens = std::move(prompt);
  sequence->prompt_tokens = static_cast<int>(sequence->tokens.size());
  sequence->tokens.reserve(sequence->tokens.size() +
                           static_cast<std::size_t>(limits_.answer_tokens_max));
  sequence->completion.id = request.id;
  sequence->completion.prefix_version = prefix_version_;
  sequence->completion.usage.prompt = sequence->prompt_tokens;
  sequence->request = std::move(request);
  queue_.push_back(std::move(sequence));
  return {};
}

bool Scheduler::Cancel(std::uint64_t id) {
  for (auto& sequence : queue_) {
    if (sequence->request.id != id) continue;
    sequence->cancelled = true;
    return true;
  }
  return false;
}

StepOutput Scheduler::Step(Clock::time_point now) {
  StepOutput output;
  for (std::size_t i = 0; i < queue_.size();) {
    const Sequence& waiting = *queue_[i];
    if (waiting.cancelled) {
      Finish(i, FinishReason::kCancelled, output);
    } else if (now >= waiting.request.deadline) {
      Finish(i, FinishReason::kTimeout, output);
    } else {
      ++i;
    }
  }
  if (queue_.empty()) return output;
  Sequence& sequence = *queue_.front();
  if (!sequence.blocks && !Admit(sequence, now)) {
    Finish(0, FinishReason::kNoRoom, output);
  } else if (RunPending(sequence)) {
    Decide(sequence, output);
  }
  return output;
}

bool Scheduler::Admit(Sequence& sequence, Clock::time_point now) {
  auto blocks =
      cache_.MatchAndReserve(sequence.tokens, limits_.answer_tokens_max,
                             {.force_miss = sequence.request.force_miss, .cache_salt = 0});
  if (!blocks) return false;
  sequence.stored_tokens = blocks->reused_tokens();
  for (const cache::BlockId block : blocks->ids()) {
    sequence.bases.push_back(cache_.BlockBase(block));
  }
  sequence.blocks.emplace(std::move(*blocks));
  sequence.constraint.emplace(*automaton_, trie_, sequence.request.allowed);
  sequence.rows_at_start = transformer_.rows_computed();
  sequence.completion.usage.reused = sequence.stored_tokens;
  sequence.completion.queue_ms = Milliseconds(sequence.request.received, now);
  return true;
}

bool Scheduler::RunPending(Sequence& sequence) {
  const auto stored = static_cast<std::size_t>(sequence.stored_tokens);
  const std::size_t pending = sequence.tokens.size() - stored;
  assert(pending > 0);
  const auto chunk =
      std::min(pending, static_cast<std::size_t>(transformer_.limits().step_rows_max));
  const bool last = chunk == pending;
  const StepSlice slice{std::span<const TokenId>(sequence.tokens).subspan(stored, chunk),
                        sequence.stored_tokens, sequence.bases,
                        last ? StepSlice::Logits::kLast : StepSlice::Logits::kNone};
  transformer_.Step({&slice, 1});
  sequence.stored_tokens += static_cast<int>(chunk);
  return last;
}

// Takes the best allowed token, then every token that is the only allowed one.
void Scheduler::Decide(Sequence& sequence, StepOutput& output) {
  TokenConstraint& constraint = *sequence.constraint;
  Completion& completion = sequence.completion;
  if (completion.usage.generated == 0) {
    completion.usage.prefilled =
        static_cast<int>(transformer_.rows_computed() - sequence.rows_at_start);
    completion.ttft_ms = Milliseconds(sequence.request.received, Clock::now());
  }
  const std::span<const TokenId> allowed = constraint.Allowed();
  const bool forced = allowed.size() == 1;
  Append(sequence,
         forced ? allowed[0] : Greedy(transformer_.Logits(0), allowed, constraint.Biases()),
         forced);
  while (!constraint.Finished() && completion.usage.generated < limits_.answer_tokens_max) {
    const std::span<const TokenId> next = constraint.Allowed();
    if (next.size() != 1) break;
    Append(sequence, next[0], true);
  }
  ReportWords(sequence, output);
  const bool full = completion.usage.generated >= limits_.answer_tokens_max;
  if (constraint.Finished()) {
    completion.answer_index = constraint.answer_index();
    Finish(0, FinishReason::kComplete, output);
  } else if (full && constraint.text().starts_with(automaton_->language().words_lead)) {
    completion.answer_index = TokenConstraint::kWords;  // a sentence may be cut short
    Finish(0, FinishReason::kComplete, output);
  } else if (full) {
    Finish(0, FinishReason::kNoRoom, output);
  }
}

void Scheduler::Append(Sequence& sequence, TokenId token, bool forced) {
  sequence.constraint->Accept(token);
  sequence.tokens.push_back(token);
  ++sequence.completion.usage.generated;
  if (forced) ++sequence.completion.usage.forced;
}

// Gives out the new whole characters of a sentence in words.
void Scheduler::ReportWords(Sequence& sequence, StepOutput& output) const {
  const std::string& text = sequence.constraint->text();
  const std::string& lead = automaton_->language().words_lead;
  if (!text.starts_with(lead)) return;
  const std::size_t from = std::max(sequence.reported_bytes, lead.size());
  const std::size_t end = WholeCharacters(text);
  if (end <= from) return;
  output.deltas.push_back({sequence.request.id, text.substr(from, end - from)});
  sequence.reported_bytes = end;
}

// Completes the index-th sequence of the queue; its blocks go back to the pool.
void Scheduler::Finish(std::size_t index, FinishReason finish, StepOutput& output) {
  Sequence& sequence = *queue_[index];
  Completion& completion = sequence.completion;
  completion.finish = finish;
  if (sequence.constraint) {
    completion.text = sequence.constraint->text();
    completion.text.resize(WholeCharacters(completion.text));  // it may be cut short
  }
  completion.total_ms = Milliseconds(sequence.request.received, Clock::now());
  output.completions.push_back(std::move(completion));
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace engine
