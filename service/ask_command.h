// `inglenook ask "…"`: sends one command to a running service and prints its events as they come.
//
// Thread: one. Limit: kAcceptPatience until somebody accepts the command, then its time to live.
#pragma once

#include <chrono>
#include <expected>
#include <ostream>
#include <string>

#include "service/config.h"

namespace service {

struct AskOptions {
  std::string text;
  std::string area;
  std::string mode;  // "execute", "return" or empty for the service's own
  std::string url;   // empty: the configured broker, or the private one of the running service
  bool prints_json = false;  // the events as they are, one a line
};

constexpr std::chrono::seconds kAcceptPatience{5};

// Returns: whether the command was answered, or a sentence when it could not be sent.
[[nodiscard]] std::expected<bool, std::string> Ask(const Config& config, const AskOptions& options,
                                                   std::ostream& out);

}  // namespace service
