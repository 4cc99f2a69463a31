#include "service/health.h"

#include <array>
#include <cassert>
#include <nlohmann/json.hpp>

namespace service {

std::string_view StateWord(State state) {
  constexpr std::array<std::string_view, 6> kWords = {"loading", "warming",  "ready",
                                                      "busy",    "degraded", "error"};
  const auto index = static_cast<std::size_t>(state);
  assert(index < kWords.size());
  return kWords[index];
}

std::string InfoText(const InfoFacts& facts) {
  nlohmann::ordered_json sections = nlohmann::ordered_json::object();
  for (const auto& section : facts.prefix.sections) sections[section.name] = section.tokens;
  const nlohmann::ordered_json out = {{"proto", 1},
                                      {"version", facts.software_version},
                                      {"model",
                                       {{"name", facts.model.name},
                                        {"architecture", facts.model.architecture},
                                        {"context", facts.model.context_tokens_max},
                                        {"weight_bytes", facts.model.weight_bytes},
                                        {"instruction_set", facts.model.instruction_set},
                                        {"workers", facts.model.workers}}},
                                      {"prefix",
                                       {{"version", facts.prefix.version},
                                        {"tokens", facts.prefix.tokens},
                                        {"sections", sections}}},
                                      {"limits",
                                       {{"queue", facts.queue_length_max},
                                        {"utterance_bytes", facts.utterance_bytes_max},
                                        {"ttl_ms", facts.ttl_ms}}},
                                      {"mode", facts.mode}};
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace service
