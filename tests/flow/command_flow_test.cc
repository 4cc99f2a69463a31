// Goal: a command over MQTT does what the topic tree promises, whatever it holds.
// Method: the real program with a small home and a tiny model, on a real Mosquitto.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/test_service.h"

namespace {

using nlohmann::json;
using support::RequestText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class CommandFlow : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    broker_ = new support::TestBroker();
    service_ = new support::TestService({broker_->url()});
    support::TestClient client(broker_->url(), "setup", {"inglenook/t/state"});
    ASSERT_TRUE(support::WaitUntilReady(client, *service_)) << service_->process().Output();
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(service_->Stop(), 0) << service_->process().Output();
    delete service_;
    delete broker_;
  }

  CommandFlow()
      : client_(broker_->url(), "tester",
                {"inglenook/t/#", "test/#", "homeassistant/#", "tester/#"}) {
    EXPECT_TRUE(client_.Connect(10));
    // Retained topics arrive once the subscription stands.
    EXPECT_TRUE(client_.WaitUntil(10, [&] { return !client_.On(Topic("status")).empty(); }));
  }

  static std::string Topic(const std::string& name) { return service_->Topic(name); }
  static std::string Response(const std::string& id) { return Topic("response/tester/" + id); }
  static std::string NewId() { return "id-" + std::to_string(++id_count_); }

  void Send(const std::string& payload) { client_.Publish(Topic("request/tester"), payload); }
  // The last event of a command.
  json Await(const std::string& response_topic) {
    EXPECT_TRUE(client_.WaitUntil(20, [&] { return client_.Last(response_topic).has_value(); }))
        << response_topic << '\n'
        << service_->process().Output();
    const auto last = client_.Last(response_topic);
    return last ? json::parse(*last) : json{{"type", "none"}, {"error", "none"}};
  }
  json Ask(const std::string& text, const std::string& more = "") {
    const std::string id = NewId();
    Send(RequestText(id, text, more));
    return Await(Response(id));
  }
  json Snapshot() {
    const auto all = client_.On(Topic("metrics"));
    return all.empty() ? json::object() : json::parse(all.back());
  }

  static support::TestBroker* broker_;
  static support::TestService* service_;
  static int id_count_;
  support::TestClient client_;
};

support::TestBroker* CommandFlow::broker_ = nullptr;
support::TestService* CommandFlow::service_ = nullptr;
int CommandFlow::id_count_ = 0;

TEST_F(CommandFlow, ACommandReachesItsDeviceAndIsAnsweredAfterIt) {
  const std::string id = NewId();
  Send(RequestText(id, "turn on the kitchen light"));
  const json last = Await(Response(id));
  EXPECT_EQ(last.at("type"), "final");
  EXPECT_EQ(last.at("text"), "Turned on the kitchen light.");
  ASSERT_THAT(last.at("actions"), SizeIs(1));
  EXPECT_EQ(last.at("actions")[0].at("tool"), "turn_on");
  EXPECT_EQ(last.at("actions")[0].at("device"), "kitchen light");
  EXPECT_EQ(last.at("actions")[0].at("status"), "done");
  EXPECT_THAT(client_.On("test/kitchen_light/set"), ElementsAre("ON"));
  std::vector<std::string> types;
  int sequence = 0;
  for (const std::string& event : client_.Events(Response(id))) {
    types.push_back(json::parse(event).at("type"));
    EXPECT_EQ(json::parse(event).at("seq"), sequence++);
    EXPECT_EQ(json::parse(event).at("v"), 1);
  }
  EXPECT_THAT(types, ElementsAre("accepted", "call", "final"));
}

TEST_F(CommandFlow, AWarmCommandPrefillsTheTokensAfterThePrefixAndNoOther) {
  Ask("turn on the hall light");
  ASSERT_TRUE(client_.WaitUntil(5, [&] { return Snapshot().contains("cache_hits"); }));
  for (const char* text :
       {"turn off the hall light", "nice weather", "turn on the kitchen light"}) {
    const auto snapshots = client_.On(Topic("metrics")).size();
    const json before = Snapshot();
    const json usage = Ask(text).at("usage");
    ASSERT_TRUE(
        client_.WaitUntil(5, [&] { return client_.On(Topic("metrics")).size() > snapshots; }));
    const json after = Snapshot();
    const int prefix_tokens = after.at("prefix_tokens");
    EXPECT_GT(prefix_tokens, 100);
    EXPECT_EQ(usage.at("reused"), prefix_tokens);
    EXPECT_EQ(usage.at("prefilled").get<int>(), usage.at("prompt").get<int>() - prefix_tokens);
    EXPECT_EQ(after.at("cache_hits").get<int>(), before.at("cache_hits").get<int>() + 1);
    EXPECT_EQ(after.at("cache_lookups").get<int>(), before.at("cache_lookups").get<int>() + 1);
  }
  EXPECT_GT(Snapshot().at("hit_rate").get<double>(), 50);
}

TEST_F(CommandFlow, InReturnModeTheClientActsAndTheServiceDoesNot) {
  const json last = Ask("turn off the hall light", R"("mode":"return")");
  EXPECT_EQ(last.at("actions")[0].at("status"), "returned");
  client_.Listen(0.2);
  EXPECT_THAT(client_.On("test/hall_light/set"), SizeIs(0));
}

TEST_F(CommandFlow, WhatIsForbiddenUnconfirmedOrOutOfReachIsNotDone) {
  for (const auto& [text, status] :
       {std::pair{"open the garage door", "denied"}, std::pair{"unlock the front door", "confirm"},
        std::pair{"turn on the porch light", "unreachable"}}) {
    const json last = Ask(text);
    ASSERT_THAT(last.at("actions"), SizeIs(1)) << last;
    EXPECT_EQ(last.at("actions")[0].at("status"), status);
    EXPECT_FALSE(last.at("text").get<std::string>().empty());
  }
  client_.Listen(0.2);
  EXPECT_THAT(client_.On("test/garage/set"), SizeIs(0));
  EXPECT_THAT(client_.On("test/front_door/set"), SizeIs(0));
}

TEST_F(CommandFlow, PlainTextOnAskIsAnsweredOnSay) {
  client_.Publish(Topic("ask"), "turn on the hall light");
  ASSERT_TRUE(client_.WaitUntil(10, [&] { return !client_.On(Topic("say")).empty(); }));
  EXPECT_THAT(client_.On(Topic("say")), ElementsAre("Turned on the hall light."));
  EXPECT_THAT(client_.On("test/hall_light/set"), ElementsAre("ON"));
}

TEST_F(CommandFlow, TheSameIdActsOnceAndGetsTheSameFinalAgain) {
  const std::string id = NewId();
  Send(RequestText(id, "turn on the kitchen light"));
  Await(Response(id));
  for (int i = 0; i < 3; ++i) Send(RequestText(id, "turn on the kitchen light"));
  ASSERT_TRUE(client_.WaitUntil(10, [&] {
    const auto all = client_.On(Response(id));
    return std::count(all.begin(), all.end(), all.back()) == 4;
  }));
  EXPECT_THAT(client_.Events(Response(id), "final"), SizeIs(1));
  EXPECT_THAT(client_.On("test/kitchen_light/set"), SizeIs(1));
}

TEST_F(CommandFlow, ARetainedCommandIsIgnored) {
  const std::string id = NewId();
  service::OutboundMessage message;
  message.topic = Topic("request/tester");
  message.payload = RequestText(id, "turn on the kitchen light");
  message.retained = true;
  client_.Publish(message);
  message.payload = "";  // takes the retained one away again
  client_.Publish(message);
  Ask("nice weather");  // behind it in the queue
  EXPECT_THAT(client_.On(Response(id)), SizeIs(0));
  EXPECT_THAT(client_.On("test/kitchen_light/set"), SizeIs(0));
}

TEST_F(CommandFlow, AnExpiredCommandIsRefused) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto sent = [&](int age) {
    return R"("ttl_ms":5000,"sent_at":)" + std::to_string(now - age);
  };
  EXPECT_EQ(Ask("turn on the hall light", sent(6000)).at("error"), "expired");
  EXPECT_EQ(Ask("turn on the hall light", sent(0)).at("type"), "final");
  EXPECT_THAT(client_.On("test/hall_light/set"), SizeIs(1));
}

TEST_F(CommandFlow, WhatIsNoRequestIsRefusedWithAWord) {
  const std::string nowhere = Response("-");
  for (const std::string& payload : {std::string("\xff\xfe"), std::string("no json"), std::string(),
                                     std::string("[]"), R"({"v":1,"text":"no id"})" + std::string(),
                                     std::string(R"({"v":1,"id":"a/b","text":"x"})"),
                                     std::string(2000, '['), "{\"a\":\xff}" + std::string()}) {
    client_.Forget();
    Send(payload);
    EXPECT_EQ(Await(nowhere).at("error"), "bad_request") << payload;
  }
  client_.Forget();
  Send(R"({"id":"x","text":")" + std::string(20'000, 'x') + "\"}");
  EXPECT_EQ(Await(nowhere).at("error"), "too_long");
  EXPECT_EQ(Ask(std::string(1001, 'x')).at("error"), "too_long");
  EXPECT_EQ(Ask(" \\n\\t ").at("error"), "bad_request");
  EXPECT_EQ(Ask("hello", R"("mode":"maybe")").at("error"), "bad_request");
  const std::string id = NewId();
  Send(R"({"v":2,"id":")" + id + R"(","text":"hello"})");
  EXPECT_EQ(Await(Response(id)).at("error"), "unsupported_version");
}

TEST_F(CommandFlow, AResponseTopicIsHonouredOnlyWhereItIsAllowed) {
  service::OutboundMessage message;
  message.topic = Topic("request/tester");
  message.correlation = std::string("\x00\x01\xff", 3);
  const std::string nodered = NewId();
  message.payload = RequestText(nodered, "nice weather");
  message.response_topic = "tester/answers";
  client_.Publish(message);
  EXPECT_EQ(Await("tester/answers").at("id"), nodered);
  EXPECT_THAT(client_.On(Response(nodered)), SizeIs(0));
  const std::string hostile = NewId();
  message.payload = RequestText(hostile, "nice weather");
  message.response_topic = "test/front_door/set";
  client_.Publish(message);
  EXPECT_EQ(Await(Response(hostile)).at("id"), hostile);
  EXPECT_THAT(client_.On("test/front_door/set"), SizeIs(0));
  for (const auto& arrived : client_.arrived()) {
    if (arrived.topic != "tester/answers" && arrived.topic != Response(hostile)) continue;
    EXPECT_EQ(arrived.correlation, message.correlation);
  }
}

TEST_F(CommandFlow, CommandsAreAnsweredInTheirOrder) {
  std::vector<std::string> sent;
  for (int i = 0; i < 10; ++i) {
    sent.push_back(NewId());
    Send(RequestText(sent.back(),
                     i % 2 == 0 ? "turn on the hall light" : "turn off the kitchen light"));
  }
  for (const std::string& id : sent) Await(Response(id));
  std::vector<std::string> answered;
  for (const auto& message : client_.arrived()) {
    const auto event = json::parse(message.payload, nullptr, false);
    if (event.is_object() && event.value("type", "") == "final") answered.push_back(event.at("id"));
  }
  EXPECT_EQ(answered, sent);
}

TEST_F(CommandFlow, MoreCommandsThanTheQueueHoldsAreAnsweredBusy) {
  std::vector<std::string> sent;
  for (int i = 0; i < 60; ++i) {
    sent.push_back(NewId());
    Send(RequestText(sent.back(), "nice weather"));
  }
  int finals = 0;
  int busy = 0;
  for (const std::string& id : sent) {
    const json last = Await(Response(id));
    finals += last.at("type") == "final" ? 1 : 0;
    busy += last.value("error", "") == "busy" ? 1 : 0;
  }
  EXPECT_EQ(finals + busy, 60);
  EXPECT_GE(finals, 16);
  EXPECT_GT(busy, 0);
}

TEST_F(CommandFlow, ACancelledCommandIsNotDone) {
  std::vector<std::string> sent;
  for (int i = 0; i < 8; ++i) {
    sent.push_back(NewId());
    Send(RequestText(sent.back(), i == 7 ? "turn off the kitchen light" : "nice weather"));
  }
  client_.Publish(Topic("cancel/tester/" + sent.back()), "");
  client_.Publish(Topic("cancel/somebody/" + sent.front()), "");
  EXPECT_EQ(Await(Response(sent.back())).at("finish"), "cancelled");
  EXPECT_EQ(Await(Response(sent.front())).at("finish"), "complete");
  EXPECT_THAT(client_.On("test/kitchen_light/set"), SizeIs(0));
}

TEST_F(CommandFlow, ACommandThatTakesTooLongEndsWithAnError) {
  std::vector<std::string> sent;
  for (int i = 0; i < 8; ++i) {
    sent.push_back(NewId());
    Send(RequestText(sent.back(), "turn off the kitchen light", i == 7 ? R"("ttl_ms":1)" : ""));
  }
  EXPECT_THAT(Await(Response(sent.back())).at("error").get<std::string>(),
              testing::AnyOf("timeout", "expired"));
}

TEST_F(CommandFlow, ItShowsItselfToHomeAssistantAndToClients) {
  ASSERT_TRUE(client_.WaitUntil(10, [&] {
    return !client_.On("homeassistant/device/inglenook_t/config").empty() &&
           !client_.On(Topic("info")).empty();
  }));
  const json discovery = json::parse(client_.On("homeassistant/device/inglenook_t/config").back());
  Ask("nice weather");
  ASSERT_TRUE(client_.WaitUntil(5, [&] { return !client_.On(Topic("metrics")).empty(); }));
  const json snapshot = Snapshot();
  for (const auto& [key, component] : discovery.at("components").items()) {
    if (component.contains("state_topic")) continue;  // not from the snapshot
    EXPECT_TRUE(snapshot.contains(key)) << key;
  }
  const json info = json::parse(client_.On(Topic("info")).back());
  EXPECT_EQ(info.at("proto"), 1);
  EXPECT_EQ(info.at("prefix").at("version"), snapshot.at("prefix_version"));
  EXPECT_EQ(client_.On(Topic("status")).back(), "online");
}

TEST_F(CommandFlow, AskPrintsTheEventsAndTheTokens) {
  const auto [result, output] = service_->RunBeside({"ask", "turn on the hall light"});
  EXPECT_EQ(result, 0) << output;
  EXPECT_THAT(output, HasSubstr("call hall light: turn_on"));
  EXPECT_THAT(output, HasSubstr("Turned on the hall light."));
  EXPECT_THAT(output,
              testing::ContainsRegex("prompt [0-9]+, reused [0-9]+, prefilled [0-9]+, TTFT"));
}

}  // namespace
