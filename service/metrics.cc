#include "service/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

namespace service {
namespace {

double Rounded(double value) { return std::round(value * 10) / 10; }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double Mebibytes(std::uint64_t bytes) {
  return Rounded(static_cast<double>(bytes) / (1024.0 * 1024.0));
}

}  // namespace

void Window::Add(double value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kLength;
  count_ = std::min(count_ + 1, kLength);
}

double Window::Percentile(double share) const {
  assert(share > 0);
  assert(share <= 1);
  if (count_ == 0) return 0;
  std::array<double, kLength> sorted = values_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count_);
  std::sort(sorted.begin(), end);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count_)));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double Window::Sum() const {
  double sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += values_[i];
  return sum;
}

void Metrics::NoteCompletion(const engine::Completion& completion, int prefix_tokens,
                             std::int64_t now_unix_ms) {
  const auto& usage = completion.usage;
  ++requests_;
  last_command_unix_ms_ = now_unix_ms;
  prefilled_tokens_ += static_cast<std::uint64_t>(usage.prefilled);
  forced_tokens_ += static_cast<std::uint64_t>(usage.forced);
  generated_tokens_ += static_cast<std::uint64_t>(usage.generated);
  if (usage.generated == 0) return;  // it ended before it began
  prompt_.Add(usage.prompt);
  reused_.Add(usage.reused);
  (usage.reused >= prefix_tokens ? ttft_hit_ : ttft_miss_).Add(completion.ttft_ms);
  ttft_last_ = completion.ttft_ms;
  total_.Add(completion.total_ms);
  prefilled_.Add(usage.prefilled);
  prefill_seconds_.Add(std::max(0.0, completion.ttft_ms - completion.queue_ms) / 1000);
  generated_.Add(usage.generated - 1);
  decode_seconds_.Add(std::max(0.0, completion.total_ms - completion.ttft_ms) / 1000);
}

std::string Metrics::Snapshot(const Facts& facts) const {
  const engine::EngineStats& engine = facts.engine;
  nlohmann::ordered_json out = {
      {"state", facts.state},
      {"hit_rate", Rounded(100 * Ratio(reused_.Sum(), prompt_.Sum()))},
      {"cache_lookups", engine.lookups},
      {"cache_hits", engine.hits},
      {"reused_tokens", engine.tokens_reused},
      {"prefilled_tokens", prefilled_tokens_},
      {"generated_tokens", generated_tokens_},
      {"forced_tokens", forced_tokens_},
      {"ttft_p50", Rounded(ttft_hit_.Percentile(0.50))},
      {"ttft_p95", Rounded(ttft_hit_.Percentile(0.95))},
      {"ttft_miss_p50", Rounded(ttft_miss_.Percentile(0.50))},
      {"ttft_miss_p95", Rounded(ttft_miss_.Percentile(0.95))},
      {"ttft_last", Rounded(ttft_last_)},
      {"total_p50", Rounded(total_.Percentile(0.50))},
      {"total_p95", Rounded(total_.Percentile(0.95))},
      {"prefill_rate", Rounded(Ratio(prefilled_.Sum(), prefill_seconds_.Sum()))},
      {"decode_rate", Rounded(Ratio(generated_.Sum(), decode_seconds_.Sum()))},
      {"kv_memory", Mebibytes(engine.kv_bytes_total)},
      {"kv_pinned", Mebibytes(engine.kv_bytes_pinned)},
      {"kv_shared", Mebibytes(engine.kv_bytes_shared)},
      {"kv_kept", Mebibytes(engine.kv_bytes_kept)},
      {"kv_free", Mebibytes(engine.kv_bytes_free)},
      {"evictions", engine.evictions},
      {"eviction_rate",
       Rounded(Ratio(static_cast<double>(engine.evictions) * 3600, facts.uptime_seconds))},
      {"queue_depth", engine.queue_length},
      {"requests", requests_},
      {"failed", failed_},
      {"rejected", rejected_},
      {"denied", denied_},
      {"ignored", ignored_},
      {"duplicates", duplicates_},
      {"dropped", facts.dropped},
      {"prefix_version", facts.prefix_version},
      {"prefix_tokens", facts.prefix_tokens},
      {"prefix_seconds", Rounded(facts.warm_seconds)},
      {"model", facts.model},
      {"uptime", std::floor(facts.uptime_seconds)}};
  if (last_command_unix_ms_ > 0) out["last_command"] = UtcTime(last_command_unix_ms_);
  return out.dump();
}

std::string UtcTime(std::int64_t unix_ms) {
  if (unix_ms == 0) return {};
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, length);
}

}  // namespace service
