// How the service is: the state topic and the info topic.
#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"

namespace service {

enum class State {
  kLoading,   // reads the model
  kWarming,   // computes the prefix
  kReady,     // the prefix is in memory
  kBusy,      // ready, but the queue is full: new commands are refused
  kDegraded,  // serves, but something that should work does not
  kError,     // can't serve
};
std::string_view StateWord(State state);

struct InfoFacts {
  std::string_view software_version;
  engine::ModelInfo model;
  engine::PrefixInfo prefix;
  int queue_length_max = 0;
  std::size_t utterance_bytes_max = 0;
  std::int64_t ttl_ms = 0;
  std::string_view mode;
};
// The payload of <base>/<node>/info.
std::string InfoText(const InfoFacts& facts);

}  // namespace service
