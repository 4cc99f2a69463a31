#include "integrations/home_assistant/discovery.h"

#include <nlohmann/json.hpp>

namespace integrations::home_assistant {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMissedSnapshots = 3;

Json SensorJson(const Sensor& sensor, const DiscoveryOptions& options, const std::string& id) {
  const std::string key(sensor.key);
  Json json = {{"platform", "sensor"},
               {"unique_id", id + "_" + key},
               {"object_id", id + "_" + key},
               {"default_entity_id", "sensor." + id + "_" + key},
               {"name", sensor.name},
               {"value_template", "{{ value_json." + key + " }}"},
               {"entity_category", "diagnostic"},
               {"expire_after", kMissedSnapshots * options.metrics_seconds}};
  if (!sensor.unit.empty()) json["unit_of_measurement"] = sensor.unit;
  if (!sensor.device_class.empty()) json["device_class"] = sensor.device_class;
  if (!sensor.state_class.empty()) json["state_class"] = sensor.state_class;
  return json;
}

// The service's state: retained, so it never expires.
Json StateJson(const std::string& topics, const std::string& id) {
  return {{"platform", "sensor"},
          {"unique_id", id + "_state"},
          {"object_id", id + "_state"},
          {"default_entity_id", "sensor." + id + "_state"},
          {"name", "State"},
          {"state_topic", topics + "/state"},
          {"device_class", "enum"},
          {"options", {"loading", "warming", "ready", "busy", "degraded", "error"}},
          {"entity_category", "diagnostic"}};
}

}  // namespace

const std::vector<Sensor>& Sensors() {
  static const std::vector<Sensor> kSensors = {
      {"hit_rate", "Hit rate", "%", "", "measurement"},
      {"reused_tokens", "Reused tokens", "tokens", "", "total_increasing"},
      {"prefilled_tokens", "Prefilled tokens", "tokens", "", "total_increasing"},
      {"forced_tokens", "Forced tokens", "tokens", "", "total_increasing"},
      {"ttft_p50", "Time to first token, median", "ms", "duration", "measurement"},
      {"ttft_p95", "Time to first token, 95 %", "ms", "duration", "measurement"},
      {"total_p50", "Time to the answer, median", "ms", "duration", "measurement"},
      {"total_p95", "Time to the answer, 95 %", "ms", "duration", "measurement"},
      {"prefill_rate", "Prefill rate", "tok/s", "", "measurement"},
      {"decode_rate", "Decode rate", "tok/s", "", "measurement"},
      {"kv_memory", "KV memory", "MiB", "data_size", "measurement"},
      {"kv_pinned", "KV memory, pinned", "MiB", "data_size", "measurement"},
      {"kv_shared", "KV memory, shared", "MiB", "data_size", "measurement"},
      {"kv_free", "KV memory, free", "MiB", "data_size", "measurement"},
      {"evictions", "Evictions", "events", "", "total_increasing"},
      {"eviction_rate", "Eviction rate", "1/h", "", "measurement"},
      {"queue_depth", "Queue depth", "requests", "", "measurement"},
      {"requests", "Requests", "requests", "", "total_increasing"},
      {"failed", "Failed", "requests", "", "total_increasing"},
      {"denied", "Denied", "requests", "", "total_increasing"},
      {"prefix_version", "Prefix version", "", "", ""},
      {"prefix_tokens", "Prefix tokens", "tokens", "", "measurement"},
      {"model", "Model", "", "", ""},
  };
  return kSensors;
}

Message DiscoveryMessage(const DiscoveryOptions& options) {
  const std::string id = options.base + "_" + options.node;
  const std::string topics = options.base + "/" + options.node;
  Json components = Json::object();
  components["state"] = StateJson(topics, id);
  for (const Sensor& sensor : Sensors()) {
    components[std::string(sensor.key)] = SensorJson(sensor, options, id);
  }
  Json origin = {{"name", "Inglenook"}};
  Json device = {{"identifiers", Json::array({id})},
                 {"name", options.node == "home" ? "Inglenook" : "Inglenook " + options.node},
                 {"manufacturer", "Inglenook"}};
  if (!options.model.empty()) device["model"] = options.model;
  if (!options.software_version.empty()) {
    origin["sw_version"] = options.software_version;
    device["sw_version"] = options.software_version;
  }
  const Json payload = {{"device", device},
                        {"origin", origin},
                        {"availability", Json::array({Json{{"topic", topics + "/status"}}})},
                        {"state_topic", topics + "/metrics"},
                        {"qos", 1},
                        {"components", components}};
  return {options.prefix + "/device/" + id + "/config",
          payload.dump(-1, ' ', false, Json::error_handler_t::replace), true};
}

}  // namespace integrations::home_assistant
