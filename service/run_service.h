// `inglenook run`: joins broker, transport, assistant and engine, and runs until told to stop.
//
// The service is on the broker before the model is loaded, so that everybody can see what it is
// doing; commands that come too early are answered not_ready.
//
// Thread: the caller becomes the engine thread. SIGINT and SIGTERM end it in an orderly way.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "engine/engine.h"
#include "integrations/integration.h"
#include "service/config.h"

namespace service {

struct RunOptions {
  std::string software_version;
  integrations::Message discovery;  // no topic: none
  std::chrono::milliseconds metrics_interval{30'000};
};

// What the integration offers, in the engine's terms.
engine::PrefixSource PrefixSourceOf(const integrations::Integration& integration);
engine::AnswerLanguage AnswerLanguageOf(const integrations::Integration& integration);

// Returns: when it was told to stop, or a sentence for people.
[[nodiscard]] std::expected<void, std::string> RunService(
    const Config& config, const integrations::Integration& integration, const RunOptions& options);

}  // namespace service
