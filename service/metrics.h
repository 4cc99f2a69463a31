// Counters and windows over the last commands, as one JSON snapshot.
//
// Names follow Home Assistant's conventions; integrations/home_assistant/discovery.h makes sensors
// of them. No words that a person said are in it.
//
// Thread: the engine thread. Memory: fixed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace service {

// The last values, in a ring.
class Window {
 public:
  static constexpr std::size_t kLength = 50;
  void Add(double value);
  // The smallest value that at least `share` of the values do not exceed. 0 when empty.
  double Percentile(double share) const;
  double Sum() const;
  std::size_t count() const { return count_; }

 private:
  std::array<double, kLength> values_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

class Metrics {
 public:
  void NoteCompletion(const engine::Completion& completion, int prefix_tokens,
                      std::int64_t now_unix_ms);
  void NoteFailed() { ++failed_; }
  void NoteRejected() { ++rejected_; }
  void NoteDenied() { ++denied_; }
  void NoteIgnored() { ++ignored_; }
  void NoteDuplicate() { ++duplicates_; }

  struct Facts {
    std::string_view state;
    std::string_view model;
    std::string_view prefix_version;
    int prefix_tokens = 0;
    double warm_seconds = 0;    // what computing the prefix took
    std::uint64_t dropped = 0;  // messages that the outbox had no room for
    double uptime_seconds = 0;
    engine::EngineStats engine;
  };
  std::string Snapshot(const Facts& facts) const;

 private:
  Window prompt_;
  Window reused_;
  Window ttft_hit_;
  Window ttft_miss_;
  Window total_;
  Window prefilled_;
  Window prefill_seconds_;
  Window generated_;
  Window decode_seconds_;
  double ttft_last_ = 0;
  std::int64_t last_command_unix_ms_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t denied_ = 0;
  std::uint64_t ignored_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t prefilled_tokens_ = 0;
  std::uint64_t forced_tokens_ = 0;
  std::uint64_t generated_tokens_ = 0;
};

// "2026-01-31T12:00:00Z"; empty for 0.
std::string UtcTime(std::int64_t unix_ms);

}  // namespace service
