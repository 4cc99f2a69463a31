#include "integrations/home_assistant/discovery.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace integrations::home_assistant {
namespace {

using nlohmann::json;

TEST(Discovery, IsOneRetainedDeviceMessage) {
  const Message message = DiscoveryMessage({});
  EXPECT_EQ(message.topic, "homeassistant/device/inglenook_home/config");
  EXPECT_TRUE(message.retained);
  const json payload = json::parse(message.payload);
  EXPECT_EQ(payload["device"]["identifiers"], json::array({"inglenook_home"}));
  EXPECT_EQ(payload["origin"]["name"], "Inglenook");
  EXPECT_EQ(payload["state_topic"], "inglenook/home/metrics");
  EXPECT_EQ(payload["availability"][0]["topic"], "inglenook/home/status");
}

TEST(Discovery, ShowsTheNumbersThatMatter) {
  const json components = json::parse(DiscoveryMessage({}).payload)["components"];
  for (const char* key : {"state", "hit_rate", "reused_tokens", "ttft_p50", "ttft_p95", "kv_memory",
                          "evictions", "denied", "prefix_version"}) {
    EXPECT_TRUE(components.contains(key)) << key;
  }
}

TEST(Discovery, EverySensorHasWhatHomeAssistantRequires) {
  DiscoveryOptions options;
  options.metrics_seconds = 20;
  std::set<std::string> ids;
  const json payload = json::parse(DiscoveryMessage(options).payload);
  for (const auto& [key, sensor] : payload["components"].items()) {
    EXPECT_EQ(sensor["platform"], "sensor") << key;
    EXPECT_TRUE(ids.insert(sensor["unique_id"].get<std::string>()).second) << key;
    EXPECT_EQ(sensor["default_entity_id"], "sensor.inglenook_home_" + key);
    EXPECT_EQ(sensor["entity_category"], "diagnostic");
    if (key == "state") {
      EXPECT_EQ(sensor["state_topic"], "inglenook/home/state");
      EXPECT_EQ(sensor["options"].size(), 6U);
      EXPECT_FALSE(sensor.contains("expire_after"));
      continue;
    }
    EXPECT_EQ(sensor["value_template"], "{{ value_json." + key + " }}");
    EXPECT_EQ(sensor["expire_after"], 60);
  }
}

TEST(Discovery, TopicsFollowBaseNodeAndPrefix) {
  DiscoveryOptions options;
  options.prefix = "ha";
  options.base = "warm";
  options.node = "attic";
  options.model = "a \"model\"\n";
  options.software_version = "1.2.3";
  const Message message = DiscoveryMessage(options);
  EXPECT_EQ(message.topic, "ha/device/warm_attic/config");
  const json payload = json::parse(message.payload);
  EXPECT_EQ(payload["state_topic"], "warm/attic/metrics");
  EXPECT_EQ(payload["device"]["model"], "a \"model\"\n");
  EXPECT_EQ(payload["device"]["sw_version"], "1.2.3");
}

TEST(Discovery, IsTheSameEachTime) {
  EXPECT_EQ(DiscoveryMessage({}).payload, DiscoveryMessage({}).payload);
}

}  // namespace
}  // namespace integrations::home_assistant
