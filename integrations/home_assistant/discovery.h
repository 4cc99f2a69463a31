// The message that makes this service appear in Home Assistant: one device with its sensors.
//
// Names of the numbers are those of the metrics snapshot (`<base>/<node>/metrics`, a JSON object).
// Source: Home Assistant, MQTT integration, device discovery.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/integration.h"

namespace integrations::home_assistant {

struct DiscoveryOptions {
  std::string prefix = "homeassistant";
  std::string base = "inglenook";
  std::string node = "home";
  std::string software_version;
  std::string model;
  int metrics_seconds = 30;  // how often a snapshot is published at least
};

// The keys of the metrics snapshot that sensors read, and how they are shown.
struct Sensor {
  std::string_view key;  // in the snapshot and in unique_id
  std::string_view name;
  std::string_view unit;          // empty: none
  std::string_view device_class;  // empty: none
  std::string_view state_class;   // empty: none
};
const std::vector<Sensor>& Sensors();

// Retained, QoS 1. Topic: <prefix>/device/<base>_<node>/config.
Message DiscoveryMessage(const DiscoveryOptions& options);

}  // namespace integrations::home_assistant
