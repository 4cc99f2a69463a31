#include "service/config_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "service/instance.h"
#include "service/metrics.h"
#include "service/mqtt_transport.h"
#include "service/progress.h"
#include "tests/support/child_process.h"

namespace {

using service::Config;
using service::ParseConfig;
using testing::HasSubstr;

std::expected<Config, std::string> Parse(const std::string& text) {
  return ParseConfig("assistant.yaml", text, "/etc/inglenook", "/models");
}

TEST(ConfigLoader, AnEmptyFileGivesTheDefaults) {
  const auto config = Parse("");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->mqtt.url, "");
  EXPECT_EQ(config->topics.base, "inglenook");
  EXPECT_EQ(config->documents.house, "/etc/inglenook/house.yaml");
  EXPECT_EQ(config->engine.model_path, "/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_EQ(config->engine.queue_length_max, 16);
  EXPECT_EQ(config->commands.ttl, std::chrono::seconds(15));
}

TEST(ConfigLoader, TheFileInConfigHoldsTheDefaults) {
  const std::string folder = std::string(INGLENOOK_SOURCE_DIR) + "/config";
  const auto loaded = service::LoadConfig(folder);
  ASSERT_TRUE(loaded) << loaded.error();
  const auto defaults = Parse("");
  EXPECT_EQ(loaded->topics.response_prefixes, defaults->topics.response_prefixes);
  EXPECT_EQ(loaded->engine.utterance_tokens_max, defaults->engine.utterance_tokens_max);
  EXPECT_EQ(loaded->engine.answer_tokens_max, defaults->engine.answer_tokens_max);
  EXPECT_EQ(loaded->commands.utterance_bytes_max, defaults->commands.utterance_bytes_max);
  EXPECT_EQ(loaded->commands.ttl, defaults->commands.ttl);
  EXPECT_EQ(loaded->commands.mode, defaults->commands.mode);
}

TEST(ConfigLoader, ReadsEveryKey) {
  const auto config = Parse(
      "mqtt: {url: 'ssl://b:8883', username: u, password_file: p, ca_file: /ca, base: b, node: n,\n"
      "       response_prefixes: [x/, '{client}/r/']}\n"
      "home_assistant: {discovery: false, prefix: ha}\n"
      "home: {policy: /p.yaml, tools: t.yaml}\n"
      "model: {file: m.gguf, chat_template: chatml}\n"
      "engine: {workers: 3, kv_pool_bytes: 5000000000}\n"
      "commands: {mode: return, queue_length_max: 2, ttl_ms: 500}\n");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->mqtt.password_file, "/etc/inglenook/p");
  EXPECT_EQ(config->mqtt.ca_file, "/ca");
  EXPECT_EQ(config->topics.node, "n");
  EXPECT_EQ(config->topics.response_prefixes.size(), 2U);
  EXPECT_FALSE(config->home_assistant_discovery);
  EXPECT_EQ(config->documents.policy, "/p.yaml");
  EXPECT_EQ(config->engine.kv_pool_bytes, 5'000'000'000U);
  EXPECT_EQ(config->commands.mode, service::ActionMode::kReturn);
}

TEST(ConfigLoader, RefusesWhatItDoesNotKnowWithFileLineAndColumn) {
  for (const auto& [text, place] : {std::pair{"mqtt:\n  ulr: x\n", "assistant.yaml:2:3"},
                                    std::pair{"engin: {}\n", "assistant.yaml:1:1"},
                                    std::pair{"mqtt: {node: 'a/b'}\n", "assistant.yaml:1:14"},
                                    std::pair{"commands:\n  mode: maybe\n", "assistant.yaml:2:9"},
                                    std::pair{"engine:\n  workers: -1\n", "assistant.yaml:2:12"},
                                    std::pair{"commands: {ttl_ms: fast}\n", "assistant.yaml:1:20"},
                                    std::pair{"mqtt: [\n", "assistant.yaml:"}}) {
    const auto config = Parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_THAT(config.error(), HasSubstr(place)) << text;
  }
  EXPECT_THAT(service::LoadConfig("/nowhere").error(), HasSubstr("--config"));
}

TEST(ConfigLoader, APasswordThatOthersMayReadIsRefused) {
  const support::TestFolder folder;
  Config config;
  EXPECT_EQ(service::LoadPassword(config), "");
  config.mqtt.password_file = folder.Write("password", "secret\n");
  chmod(config.mqtt.password_file.c_str(), 0644);
  EXPECT_THAT(service::LoadPassword(config).error(), HasSubstr("chmod 600"));
  chmod(config.mqtt.password_file.c_str(), 0600);
  EXPECT_EQ(service::LoadPassword(config), "secret");
}

TEST(ConfigLoader, APasswordFileThatIsNoneIsNamed) {
  const support::TestFolder folder;
  Config config;
  for (const char* name : {"/missing", ""}) {
    config.mqtt.password_file = folder.path() + name;
    EXPECT_THAT(service::LoadPassword(config).error(),
                testing::AllOf(HasSubstr("mqtt.password_file"), HasSubstr("is no file")));
  }
}

TEST(ConfigLoader, AFolderInAFilesPlaceIsRefused) {
  EXPECT_THAT(service::LoadConfig("/dev/null").error(), HasSubstr("--config"));
  EXPECT_THAT(service::LoadDocuments({"/", "/", "/"}).error(),
              HasSubstr("/ can't be read (it is a folder); check the paths"));
  EXPECT_THAT(service::LoadDocuments({"/dev/zero", "/", "/"}).error(), HasSubstr("it is no file"));
}

TEST(ConfigLoader, AnEmptyModelFileIsRefused) {
  EXPECT_THAT(Parse("model: {file: ''}").error(),
              HasSubstr("assistant.yaml:1:15: \"file\" is empty"));
}

TEST(MqttOptions, APasswordCrossesNoNetworkInTheClear) {
  service::MqttOptions options;
  options.password = "secret";
  for (const char* url : {"tcp://localhost:1883", "tcp://127.0.0.1:1883", "tcp://[::1]:1883",
                          "ssl://broker.lan:8883"}) {
    options.url = url;
    EXPECT_TRUE(CheckMqttOptions(options)) << url;
  }
  for (const char* url : {"tcp://broker.lan:1883", "tcp://localhost.lan:1883",
                          "tcp://127.0.0.1.evil.example:1883", "tcp://192.168.1.2:1883"}) {
    options.url = url;
    EXPECT_FALSE(CheckMqttOptions(options)) << url;
  }
  options.allow_insecure_password = true;
  EXPECT_TRUE(CheckMqttOptions(options));
  for (const char* url : {"", "localhost", "tcp://localhost", "http://localhost:1", "tcp://:1883",
                          "tcp://localhost:0", "tcp://localhost:65536"}) {
    options.url = url;
    EXPECT_FALSE(CheckMqttOptions(options)) << url;
  }
}

TEST(Instance, OneServicePerNodeAndAskFindsItsBroker) {
  const support::TestFolder folder;
  {
    const auto first = service::Instance::Acquire(folder.path(), "home");
    ASSERT_TRUE(first) << first.error();
    const auto second = service::Instance::Acquire(folder.path(), "home");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error(), HasSubstr(std::to_string(getpid())));
    EXPECT_TRUE(service::Instance::Acquire(folder.path(), "other"));
    EXPECT_FALSE(service::Instance::BrokerUrl(folder.path(), "home"));
    ASSERT_TRUE(first->WriteBrokerUrl("tcp://127.0.0.1:1"));
    EXPECT_EQ(service::Instance::BrokerUrl(folder.path(), "home"), "tcp://127.0.0.1:1");
  }
  EXPECT_FALSE(service::Instance::BrokerUrl(folder.path(), "home"));
  EXPECT_TRUE(service::Instance::Acquire(folder.path(), "home"));
}

TEST(Window, PercentilesAreOfTheLastFifty) {
  service::Window window;
  EXPECT_EQ(window.Percentile(0.5), 0);
  for (int i = 1; i <= 100; ++i) window.Add(i);
  EXPECT_EQ(window.count(), 50U);
  EXPECT_EQ(window.Percentile(0.5), 75);
  EXPECT_EQ(window.Percentile(0.95), 98);
  EXPECT_EQ(window.Percentile(1), 100);
}

TEST(Metrics, TheHitRateIsWeightedByTokens) {
  service::Metrics metrics;
  engine::Completion completion;
  completion.usage = {1000, 900, 100, 5, 2};
  metrics.NoteCompletion(completion, 900, 1);
  completion.usage = {3000, 0, 3000, 5, 2};
  metrics.NoteCompletion(completion, 900, 1);
  service::Metrics::Facts facts;
  EXPECT_THAT(metrics.Snapshot(facts), HasSubstr("\"hit_rate\":22.5,"));
  EXPECT_THAT(metrics.Snapshot(facts), HasSubstr("\"forced_tokens\":4,"));
}

TEST(ProgressBar, ShowsWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(service::ProgressBar::Line("prefix", 0.5, 3.2),
            "prefix [################................] 50 %, 4 s left");
  EXPECT_EQ(service::ProgressBar::Line("model", 1, 0),
            "model [################################] 100 %");
}

}  // namespace
